// The warps that give registers back first wait for those that ask for them.

gpu.module @kernels {
  llvm.mlir.global internal @slot() {addr_space = 3 : i32} : !llvm.array<4 x i32>
  llvm.mlir.global internal @bars() {addr_space = 3 : i32} : !llvm.array<8 x i64>
  llvm.mlir.global internal @tiles() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<65536 x i8>
  cuda.kernel @k(%out: !llvm.ptr<1>, %value: f32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 384, 1, 1>, nvvm.cluster_dim = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %c32 = arith.constant 32 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %bar = llvm.mlir.addressof @bars : !llvm.ptr<3>
    %bar2 = llvm.getelementptr %bar[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    scf.if %first {
      %one = nvvm.elect.sync -> i1
      scf.if %one {
        nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
        nvvm.mbarrier.init %bar2, %c1 : !llvm.ptr<3>, i32
      }
    }
    nvvm.fence.mbarrier.init
    nvvm.barrier
    %group = arith.divsi %warp, %c4 : i32
    %loads = arith.cmpi eq, %group, %c0 : i32
    scf.if %loads {
      nvvm.setmaxregister decrease 24
      nvvm.barrier
    } else {
      nvvm.setmaxregister increase 240
      nvvm.barrier
    }
    return
  }
}
