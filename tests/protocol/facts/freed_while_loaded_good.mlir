// All warps have loaded from tensor memory when one of them frees it.

gpu.module @kernels {
  llvm.mlir.global internal @slot() {addr_space = 3 : i32} : !llvm.array<4 x i32>
  llvm.mlir.global internal @bars() {addr_space = 3 : i32} : !llvm.array<8 x i64>
  llvm.mlir.global internal @tiles() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<65536 x i8>
  cuda.kernel @k(%out: !llvm.ptr<1>, %value: f32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.cluster_dim = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c16 = arith.constant 16 : i32
    %c32 = arith.constant 32 : i32
    %c128 = arith.constant 128 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %slot = llvm.mlir.addressof @slot : !llvm.ptr<3>
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
    scf.if %first {
      nvvm.tcgen05.alloc %slot, %c128 : !llvm.ptr<3>, i32
      nvvm.tcgen05.relinquish_alloc_permit
    }
    nvvm.barrier
    %tmem = llvm.load %slot {alignment = 4 : i64} : !llvm.ptr<3> -> i32
    %d = llvm.inttoptr %tmem : i32 to !llvm.ptr<6>
    %data = arith.constant dense<0> : vector<16xi32>
    %lanes = arith.muli %warp, %c32 : i32
    %row = arith.shli %lanes, %c16 : i32
    %mine = arith.ori %row, %tmem : i32
    %from = llvm.inttoptr %mine : i32 to !llvm.ptr<6>
    nvvm.tcgen05.st %from, %data {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : !llvm.ptr<6>, vector<16xi32>
    nvvm.tcgen05.wait <store>
    %loaded = nvvm.tcgen05.ld %from {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<16xi32>
    nvvm.tcgen05.wait <load>
    nvvm.tcgen05.fence <before>
    nvvm.barrier
    scf.if %first {
      nvvm.tcgen05.fence <after>
      nvvm.tcgen05.dealloc %d, %c128 : !llvm.ptr<6>, i32
    }
    return
  }
}
