// BUGS 25: an arrival that releases writes to the threads of another CTA says the scope of one CTA (cutlass#3643).

!row = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "4096:1">
gpu.module @kernels {
  cuda.kernel @k(%value: f32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.cluster_dim = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c10000000 = arith.constant 10000000 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %smem_a_bytes = cute.memref.alloca() {smem.struct_fields = ["smem_a:8192:0"]} : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_a_raw = cute.get_iter(%smem_a_bytes) : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_a = cute.recast_iter(%smem_a_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %full_bytes = cute.memref.alloca() {smem.struct_fields = ["full_mbar:8:0"]} : !cute.memref<i8, smem, align<8>, "8:1">
    %full_raw = cute.get_iter(%full_bytes) : !cute.memref<i8, smem, align<8>, "8:1">
    %full_iter = cute.recast_iter(%full_raw) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i64, smem>
    %full = builtin.unrealized_conversion_cast %full_iter : !cute.ptr<i64, smem> to !llvm.ptr<3>
    %row_a_layout = cute.make_layout() : !cute.layout<"4096:1">
    %row_a = cute.make_view(%smem_a, %row_a_layout) : !row
    %c128 = arith.constant 128 : i32
    scf.if %first {
      %one = nvvm.elect.sync -> i1
      scf.if %one {
        nvvm.mbarrier.init %full, %c128 : !llvm.ptr<3>, i32
      }
    }
    nvvm.fence.mbarrier.init
    nvvm.cluster.arrive.relaxed
    nvvm.cluster.wait
    %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %peer = arith.xori %rank, %c1 : i32
    %here = builtin.unrealized_conversion_cast %smem_a : !cute.ptr<f16, smem, align<1024>, S<3,4,3>> to !llvm.ptr<3>
    %there = nvvm.mapa %here, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
    %writer = arith.cmpi eq, %tid, %c0 : i32
    scf.if %writer {
      llvm.store %value, %there {alignment = 4 : i64} : f32, !llvm.ptr<7>
    }
    nvvm.barrier
    %remote = nvvm.mapa %full, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
    nvvm.mbarrier.arrive %remote, %c1 {scope = #nvvm.mem_scope<cta>} : !llvm.ptr<7>
    nvvm.mbarrier.try_wait.parity %full, %c0, %c10000000 : !llvm.ptr<3>, i32, i32
    // expected-error@+1 {{the arrival that orders this read after the write by another CTA has CTA scope}}
    %got = llvm.load %here {alignment = 4 : i64} : !llvm.ptr<3> -> f32
    nvvm.cluster.arrive
    nvvm.cluster.wait
    return
  }
}

// -----

!row = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "4096:1">
gpu.module @kernels {
  cuda.kernel @k(%value: f32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.cluster_dim = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c10000000 = arith.constant 10000000 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %smem_a_bytes = cute.memref.alloca() {smem.struct_fields = ["smem_a:8192:0"]} : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_a_raw = cute.get_iter(%smem_a_bytes) : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_a = cute.recast_iter(%smem_a_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %full_bytes = cute.memref.alloca() {smem.struct_fields = ["full_mbar:8:0"]} : !cute.memref<i8, smem, align<8>, "8:1">
    %full_raw = cute.get_iter(%full_bytes) : !cute.memref<i8, smem, align<8>, "8:1">
    %full_iter = cute.recast_iter(%full_raw) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i64, smem>
    %full = builtin.unrealized_conversion_cast %full_iter : !cute.ptr<i64, smem> to !llvm.ptr<3>
    %row_a_layout = cute.make_layout() : !cute.layout<"4096:1">
    %row_a = cute.make_view(%smem_a, %row_a_layout) : !row
    %c128 = arith.constant 128 : i32
    scf.if %first {
      %one = nvvm.elect.sync -> i1
      scf.if %one {
        nvvm.mbarrier.init %full, %c128 : !llvm.ptr<3>, i32
      }
    }
    nvvm.fence.mbarrier.init
    nvvm.cluster.arrive.relaxed
    nvvm.cluster.wait
    %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %peer = arith.xori %rank, %c1 : i32
    %here = builtin.unrealized_conversion_cast %smem_a : !cute.ptr<f16, smem, align<1024>, S<3,4,3>> to !llvm.ptr<3>
    %there = nvvm.mapa %here, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
    %writer = arith.cmpi eq, %tid, %c0 : i32
    scf.if %writer {
      llvm.store %value, %there {alignment = 4 : i64} : f32, !llvm.ptr<7>
    }
    nvvm.barrier
    %remote = nvvm.mapa %full, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
    nvvm.mbarrier.arrive %remote, %c1 {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
    nvvm.mbarrier.try_wait.parity %full, %c0, %c10000000 : !llvm.ptr<3>, i32, i32
    %got = llvm.load %here {alignment = 4 : i64} : !llvm.ptr<3> -> f32
    nvvm.cluster.arrive
    nvvm.cluster.wait
    return
  }
}
