// The leader of a cluster copies a tile for both CTAs, and its mask names itself only.

gpu.module @kernels {
  llvm.mlir.global internal @slot() {addr_space = 3 : i32} : !llvm.array<4 x i32>
  llvm.mlir.global internal @bars() {addr_space = 3 : i32} : !llvm.array<8 x i64>
  llvm.mlir.global internal @tiles() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<65536 x i8>
  cuda.kernel @k(%map: !cuda.tensor_map) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.cluster_dim = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c4 = arith.constant 4 : i32
    %c32 = arith.constant 32 : i32
    %long = arith.constant 10000000 : i32
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
    %leads = arith.cmpi eq, %rank, %c0 : i32
    %bytes = arith.constant 4096 : i32
    %mask = arith.constant 3 : i16
    %tensor = cast %map : !cuda.tensor_map -> !llvm.ptr
    scf.if %first {
      %one2 = nvvm.elect.sync -> i1
      scf.if %one2 {
        %t = nvvm.mbarrier.arrive.expect_tx %bar, %bytes : !llvm.ptr<3>, i32 -> i64
        scf.if %leads {
          nvvm.cp.async.bulk.tensor.shared.cluster.global %a, %tensor, %bar, box[%c0, %c0] multicast_mask = %mask : !llvm.ptr<3>, !llvm.ptr
        }
      }
    }
    nvvm.mbarrier.try_wait.parity %bar, %c0, %long : !llvm.ptr<3>, i32, i32
    nvvm.cluster.arrive
    nvvm.cluster.wait
    return
  }
}
