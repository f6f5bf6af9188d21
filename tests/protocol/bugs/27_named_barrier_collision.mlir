// BUGS 27: two roles use one named barrier for different things (flashinfer#4533).

gpu.module @kernels {
  cuda.kernel @k(%unused: i32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %other = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %c2 = arith.constant 2 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %load = arith.cmpi slt, %warp, %c2 : i32
    scf.if %load {
      nvvm.barrier id = %c1 number_of_threads = %c64
    } else {
      // expected-error@+1 {{this use of named barrier 1 is not ordered after its last use: either may release the threads of the other}}
      nvvm.barrier id = %other number_of_threads = %c64
    }
    return
  }
}

// -----

gpu.module @kernels {
  cuda.kernel @k(%unused: i32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %other = arith.constant 2 : i32
    %c64 = arith.constant 64 : i32
    %c2 = arith.constant 2 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %load = arith.cmpi slt, %warp, %c2 : i32
    scf.if %load {
      nvvm.barrier id = %c1 number_of_threads = %c64
    } else {
      nvvm.barrier id = %other number_of_threads = %c64
    }
    return
  }
}

// -----

gpu.module @kernels {
  cuda.kernel @k(%unused: i32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %full = arith.constant 128 : i32
    %count = arith.constant 64 : i32
    %c2 = arith.constant 2 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %load = arith.cmpi slt, %warp, %c2 : i32
    scf.if %load {
      nvvm.barrier.arrive id = %c1 number_of_threads = %full
    } else {
      // expected-error@+1 {{named barrier 1 expects 64 threads here and 128 in another use that overlaps}}
      nvvm.barrier id = %c1 number_of_threads = %count
    }
    return
  }
}

// -----

gpu.module @kernels {
  cuda.kernel @k(%unused: i32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %full = arith.constant 128 : i32
    %count = arith.constant 128 : i32
    %c2 = arith.constant 2 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %load = arith.cmpi slt, %warp, %c2 : i32
    scf.if %load {
      nvvm.barrier.arrive id = %c1 number_of_threads = %full
    } else {
      nvvm.barrier id = %c1 number_of_threads = %count
    }
    return
  }
}
