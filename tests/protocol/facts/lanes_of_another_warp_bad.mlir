// A warp that takes its lanes from another number than its own rank in the warpgroup.

gpu.module @kernels {
  llvm.mlir.global internal @slot() {addr_space = 3 : i32} : !llvm.array<4 x i32>
  llvm.mlir.global internal @bars() {addr_space = 3 : i32} : !llvm.array<8 x i64>
  llvm.mlir.global internal @tiles() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<65536 x i8>
  cuda.kernel @k(%out: !llvm.ptr<1>, %value: f32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.cluster_dim = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %c16 = arith.constant 16 : i32
    %c32 = arith.constant 32 : i32
    %c128 = arith.constant 128 : i32
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
    %b = llvm.getelementptr %a[16384] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
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
    %one8 = arith.constant 1 : i8
    %zero8 = arith.constant 0 : i8
    %two8 = arith.constant 2 : i8
    %c8 = arith.constant 8 : i32
    %c64 = arith.constant 64 : i32
    %a_at = llvm.ptrtoint %a : !llvm.ptr<3> to i32
    %a_word = arith.shrsi %a_at, %c4 : i32
    %a_desc = nvvm.tcgen05_mma_smem_desc_v2(%a_word, %c8, %c64, %one8, %zero8, %false, %false, %two8) : (i32, i32, i32, i8, i8, i1, i1, i8) -> i64
    %b_at = llvm.ptrtoint %b : !llvm.ptr<3> to i32
    %b_word = arith.shrsi %b_at, %c4 : i32
    %b_desc = nvvm.tcgen05_mma_smem_desc_v2(%b_word, %c8, %c64, %one8, %zero8, %false, %false, %two8) : (i32, i32, i32, i8, i8, i1, i1, i8) -> i64
    scf.if %first {
      %issues = nvvm.elect.sync -> i1
      scf.if %issues {
        %idesc = arith.constant 136314896 : i32
        scf.for %k = %c0 to %c4 step %c1 : i32 {
          %more = arith.cmpi ne, %k, %c0 : i32
          nvvm.tcgen05.mma %d, %a_desc, %b_desc, %idesc, %more {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1)
        }
        nvvm.tcgen05.commit %bar : !llvm.ptr<3>
      }
    }
    nvvm.mbarrier.try_wait.parity %bar, %c0, %long : !llvm.ptr<3>, i32, i32
    nvvm.tcgen05.fence <after>
    %next_warp = arith.addi %warp, %c1 : i32
    %role = arith.remsi %next_warp, %c4 : i32
    %lanes = arith.muli %role, %c32 : i32
    // expected-error@+1 {{warp 0 accesses tensor memory from lane 32 on}}
    %row = arith.shli %lanes, %c16 : i32
    %mine = arith.ori %row, %tmem : i32
    %from = llvm.inttoptr %mine : i32 to !llvm.ptr<6>
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
