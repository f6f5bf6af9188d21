// A pair of CTAs copies to tensor memory what threads of either wrote: the peer arrives with the scope of the cluster.

gpu.module @kernels {
  llvm.mlir.global internal @slot() {addr_space = 3 : i32} : !llvm.array<4 x i32>
  llvm.mlir.global internal @bars() {addr_space = 3 : i32} : !llvm.array<8 x i64>
  llvm.mlir.global internal @tiles() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<65536 x i8>
  cuda.kernel @k(%out: !llvm.ptr<1>, %value: f32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.cluster_dim = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %c32 = arith.constant 32 : i32
    %c128 = arith.constant 128 : i32
    %c256 = arith.constant 256 : i32
    %long = arith.constant 10000000 : i32
    %false = arith.constant false
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %slot = llvm.mlir.addressof @slot : !llvm.ptr<3>
    %bar = llvm.mlir.addressof @bars : !llvm.ptr<3>
    %bar2 = llvm.getelementptr %bar[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %a = llvm.mlir.addressof @tiles : !llvm.ptr<3>
    %s = llvm.getelementptr %a[32768] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    scf.if %first {
      %one = nvvm.elect.sync -> i1
      scf.if %one {
        nvvm.mbarrier.init %bar, %c256 : !llvm.ptr<3>, i32
        nvvm.mbarrier.init %bar2, %c1 : !llvm.ptr<3>, i32
      }
    }
    nvvm.fence.mbarrier.init
    nvvm.cluster.arrive.relaxed
    nvvm.cluster.wait
    %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %leads = arith.cmpi eq, %rank, %c0 : i32
    %byte = arith.muli %tid, %c4 : i32
    %mine_at = llvm.getelementptr %s[%byte] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    llvm.store %value, %mine_at {alignment = 4 : i64} : f32, !llvm.ptr<3>
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    %there = nvvm.mapa %bar, %c0 : !llvm.ptr<3> -> !llvm.ptr<7>
    nvvm.inline_ptx "mbarrier.arrive.release.cta.shared::cluster.b64 _, [{$r0}], {$r1};" ro(%there, %c1 : !llvm.ptr<7>, i32)
    scf.if %first {
      nvvm.tcgen05.alloc %slot, %c128 {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<3>, i32
      nvvm.tcgen05.relinquish_alloc_permit {group = #nvvm.cta_group<cta_2>}
    }
    nvvm.barrier
    %tmem = llvm.load %slot {alignment = 4 : i64} : !llvm.ptr<3> -> i32
    %d = llvm.inttoptr %tmem : i32 to !llvm.ptr<6>
    %one8 = arith.constant 1 : i8
    %zero8 = arith.constant 0 : i8
    %c8 = arith.constant 8 : i32
    %s_at = llvm.ptrtoint %s : !llvm.ptr<3> to i32
    %s_word = arith.shrsi %s_at, %c4 : i32
    %s_desc = nvvm.tcgen05_mma_smem_desc_v2(%s_word, %c1, %c8, %one8, %zero8, %false, %false, %zero8) : (i32, i32, i32, i8, i8, i1, i1, i8) -> i64
    %mask = arith.constant 3 : i16
    %copies = arith.andi %leads, %first : i1
    scf.if %copies {
      nvvm.mbarrier.try_wait.parity %bar, %c0, %long : !llvm.ptr<3>, i32, i32
      %issues = nvvm.elect.sync -> i1
      scf.if %issues {
        // expected-error@+1 {{the arrival that orders this read after the write by another CTA has CTA scope}}
        nvvm.tcgen05.cp %d, %s_desc {group = #nvvm.cta_group<cta_2>, multicast = #nvvm.tcgen05_cp_multicast<warpx4>, shape = #nvvm.tcgen05_cp_shape<shape_32x128b>}
        nvvm.tcgen05.commit %bar2, multicast_mask = %mask {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<3>, i16
      }
    }
    nvvm.mbarrier.try_wait.parity %bar2, %c0, %long : !llvm.ptr<3>, i32, i32
    nvvm.cluster.arrive
    nvvm.cluster.wait
    scf.if %first {
      nvvm.tcgen05.dealloc %d, %c128 {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<6>, i32
    }
    return
  }
}
