// A CTA ends while its peer still reads its shared memory.

gpu.module @kernels {
  llvm.mlir.global internal @slot() {addr_space = 3 : i32} : !llvm.array<4 x i32>
  llvm.mlir.global internal @bars() {addr_space = 3 : i32} : !llvm.array<8 x i64>
  llvm.mlir.global internal @tiles() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<65536 x i8>
  cuda.kernel @k(%out: !llvm.ptr<1>, %value: f32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.cluster_dim = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
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
    nvvm.cluster.arrive.relaxed
    nvvm.cluster.wait
    %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %peer = arith.xori %rank, %c1 : i32
    %mine_at = llvm.getelementptr %a[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %value, %mine_at {alignment = 4 : i64} : f32, !llvm.ptr<3>
    nvvm.cluster.arrive
    nvvm.cluster.wait
    %there = nvvm.mapa %mine_at, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
    // expected-warning@+1 {{this accesses shared memory of another CTA, which may have ended}}
    %got = llvm.load %there {alignment = 4 : i64} : !llvm.ptr<7> -> f32
    return
  }
}
