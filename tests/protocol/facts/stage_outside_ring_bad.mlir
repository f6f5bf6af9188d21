// A ring of two stages whose index goes round one stage too late.

gpu.module @kernels {
  llvm.mlir.global internal @slot() {addr_space = 3 : i32} : !llvm.array<4 x i32>
  llvm.mlir.global internal @bars() {addr_space = 3 : i32} : !llvm.array<8 x i64>
  llvm.mlir.global internal @tiles() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<65536 x i8>
  cuda.kernel @k(%out: !llvm.ptr<1>, %value: f32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.cluster_dim = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %c4 = arith.constant 4 : i32
    %c32 = arith.constant 32 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %bar = llvm.mlir.addressof @bars : !llvm.ptr<3>
    %bar2 = llvm.getelementptr %bar[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %a = llvm.mlir.addressof @tiles : !llvm.ptr<3>
    scf.if %first {
      %one = nvvm.elect.sync -> i1
      scf.if %one {
        nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
        nvvm.mbarrier.init %bar2, %c1 : !llvm.ptr<3>, i32
      }
    }
    nvvm.fence.mbarrier.init
    nvvm.barrier
    %raw = builtin.unrealized_conversion_cast %a : !llvm.ptr<3> to !cute.ptr<f32, smem, align<1024>>
    %ring_layout = cute.make_layout() : !cute.layout<"(128,2):(1,128)">
    %ring = cute.make_view(%raw, %ring_layout) : !cute.memref<f32, smem, align<1024>, "(128,2):(1,128)">
    %at = cute.make_coord(%tid) : (i32) -> !cute.coord<"?">
    %last = scf.for %k = %c0 to %c4 step %c1 iter_args(%stage = %c0) -> (i32) : i32 {
      %where = cute.make_coord(%stage) : (i32) -> !cute.coord<"(_,?)">
      %tile = cute.slice(%ring, %where) : !cute.memref<f32, smem, align<1024>, "(128,2):(1,128)">, !cute.coord<"(_,?)">
      // expected-error@+1 {{the write by threads is at index 2 of a mode that has 2: the last index is 1}}
      cute.memref.store(%tile, %at, %value) : (!cute.memref<f32, smem, align<512>, "(128):(1)">, !cute.coord<"?">, f32) -> ()
      nvvm.barrier
      %next = arith.addi %stage, %c1 : i32
      %wraps = arith.cmpi eq, %next, %c3 : i32
      %index = arith.select %wraps, %c0, %next : i32
      scf.yield %index : i32
    }
    return
  }
}
