// The registers that the warpgroups of a CTA ask for, of which it has 65536.

gpu.module @kernels {
  cuda.kernel @k(%unused: i32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 384, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %c4 = arith.constant 4 : i32
    %load = arith.cmpi slt, %warp, %c4 : i32
    scf.if %load {
      nvvm.setmaxregister decrease 40
    } else {
      // expected-error@+1 {{the warps of a CTA request 66560 registers in all, 240 for each thread here}}
      nvvm.setmaxregister increase 240
    }
    return
  }
}

// -----

gpu.module @kernels {
  cuda.kernel @k(%unused: i32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 384, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %c4 = arith.constant 4 : i32
    %load = arith.cmpi slt, %warp, %c4 : i32
    scf.if %load {
      nvvm.setmaxregister decrease 24
    } else {
      // expected-error@+1 {{Invalid register count 236 for setmaxnreg: use a multiple of 8 from 24 to 256}}
      nvvm.setmaxregister increase 236
    }
    return
  }
}

// -----

gpu.module @kernels {
  cuda.kernel @k(%unused: i32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 384, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %c4 = arith.constant 4 : i32
    %load = arith.cmpi slt, %warp, %c4 : i32
    scf.if %load {
      nvvm.setmaxregister decrease 24
    } else {
      nvvm.setmaxregister increase 240
    }
    return
  }
}
