// Kernels of primitives cut a descriptor in words, add to the lower one and put both together. What is added counts 16
// bytes: a stage of 16384 bytes is 1024 further.

gpu.module @kernels {
  cuda.kernel @k(%from: !llvm.ptr<1>, %turns: i32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c4 = arith.constant 4 : i32
    %c64 = arith.constant 64 : i32
    %c8192 = arith.constant 8192 : i32
    %c16384 = arith.constant 16384 : i32
    %c10000000 = arith.constant 10000000 : i32
    %high = arith.constant 32 : i64
    %sbo = arith.constant 64 : i32
    %version = arith.constant 1 : i8
    %base = arith.constant 0 : i8
    %swizzle = arith.constant 2 : i8
    %idesc = arith.constant 135266320 : i32
    %false = arith.constant false
    %true = arith.constant true
    %tiles = cute.memref.alloca() {smem.struct_fields = ["tiles:32768:0"]} : !cute.memref<i8, smem, align<1024>, "32768:1">
    %tile_iter = cute.get_iter(%tiles) : !cute.memref<i8, smem, align<1024>, "32768:1">
    %tile = builtin.unrealized_conversion_cast %tile_iter : !cute.ptr<i8, smem, align<1024>> to !llvm.ptr<3>
    %bars = cute.memref.alloca() {smem.struct_fields = ["full:16:0", "done:16:16"]} : !cute.memref<i64, smem, align<8>, "4:1">
    %bars_iter = cute.get_iter(%bars) : !cute.memref<i64, smem, align<8>, "4:1">
    %full = builtin.unrealized_conversion_cast %bars_iter : !cute.ptr<i64, smem, align<8>> to !llvm.ptr<3>
    %done = llvm.getelementptr %full[2] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %slot_bytes = cute.memref.alloca() {smem.struct_fields = ["slot:4:0"]} : !cute.memref<i32, smem, align<4>, "1:1">
    %slot_iter = cute.get_iter(%slot_bytes) : !cute.memref<i32, smem, align<4>, "1:1">
    %slot = builtin.unrealized_conversion_cast %slot_iter : !cute.ptr<i32, smem, align<4>> to !llvm.ptr<3>
    %one = nvvm.elect.sync -> i1
    scf.if %one {
      scf.for %i = %c0 to %c4 step %c1 : i32 {
        %bar = llvm.getelementptr %full[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
      }
    }
    nvvm.fence.mbarrier.init
    nvvm.tcgen05.alloc %slot, %c64 : !llvm.ptr<3>, i32
    nvvm.barrier
    %column = llvm.load %slot {alignment = 4 : i64} : !llvm.ptr<3> -> i32
    %acc = llvm.inttoptr %column : i32 to !llvm.ptr<6>
    nvvm.tcgen05.relinquish_alloc_permit
    %address = llvm.ptrtoint %tile : !llvm.ptr<3> to i32
    %start = arith.shrsi %address, %c4 : i32
    %desc = nvvm.tcgen05_mma_smem_desc_v2(%start, %c1, %sbo, %version, %base, %false, %false, %swizzle) : (i32, i32, i32, i8, i8, i1, i1, i8) -> i64
    scf.for %turn = %c0 to %turns step %c1 : i32 {
      %stage = arith.remsi %turn, %c2 : i32
      %round = arith.divsi %turn, %c2 : i32
      %phase = arith.andi %round, %c1 : i32
      %before = arith.xori %phase, %c1 : i32
      %my_full = llvm.getelementptr %full[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %my_done = llvm.getelementptr %done[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %load = nvvm.elect.sync -> i1
      scf.if %load {
        %bytes = arith.muli %stage, %c16384 : i32
        %to = llvm.getelementptr %tile[%bytes] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
        // expected-error@+1 {{WAR hazard on 'tiles': the write by a bulk copy is not ordered after the read by tcgen05.mma}}
        nvvm.mbarrier.arrive.expect_tx %my_full, %c16384 : !llvm.ptr<3>, i32
        nvvm.cp.async.bulk.shared.cluster.global %to, %from, %my_full, %c16384 : !llvm.ptr<3>, !llvm.ptr<1>
      }
      nvvm.mbarrier.try_wait.parity %my_full, %phase, %c10000000 : !llvm.ptr<3>, i32, i32
      %bytes_on = arith.muli %stage, %c16384 : i32
      %on = arith.shrsi %bytes_on, %c4 : i32
      %low = arith.trunci %desc : i64 to i32
      %moved = arith.addi %low, %on : i32
      %fields = arith.shrui %desc, %high : i64
      %fields_high = arith.shli %fields, %high : i64
      %start_of_stage = arith.extui %moved : i32 to i64
      %mine = arith.ori %fields_high, %start_of_stage : i64
      %multiply = nvvm.elect.sync -> i1
      scf.if %multiply {
        nvvm.tcgen05.mma %acc, %mine, %mine, %idesc, %false {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1)
        nvvm.tcgen05.commit %my_done : !llvm.ptr<3>
      }
    }
    %last = arith.subi %turns, %c1 : i32
    %last_stage = arith.remsi %last, %c2 : i32
    %last_round = arith.divsi %last, %c2 : i32
    %last_phase = arith.andi %last_round, %c1 : i32
    %last_done = llvm.getelementptr %done[%last_stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.try_wait.parity %last_done, %last_phase, %c10000000 : !llvm.ptr<3>, i32, i32
    nvvm.tcgen05.dealloc %acc, %c64 : !llvm.ptr<6>, i32
    cuda.return
  }
}

// -----

gpu.module @kernels {
  cuda.kernel @k(%from: !llvm.ptr<1>, %turns: i32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c4 = arith.constant 4 : i32
    %c64 = arith.constant 64 : i32
    %c8192 = arith.constant 8192 : i32
    %c16384 = arith.constant 16384 : i32
    %c10000000 = arith.constant 10000000 : i32
    %high = arith.constant 32 : i64
    %sbo = arith.constant 64 : i32
    %version = arith.constant 1 : i8
    %base = arith.constant 0 : i8
    %swizzle = arith.constant 2 : i8
    %idesc = arith.constant 135266320 : i32
    %false = arith.constant false
    %true = arith.constant true
    %tiles = cute.memref.alloca() {smem.struct_fields = ["tiles:32768:0"]} : !cute.memref<i8, smem, align<1024>, "32768:1">
    %tile_iter = cute.get_iter(%tiles) : !cute.memref<i8, smem, align<1024>, "32768:1">
    %tile = builtin.unrealized_conversion_cast %tile_iter : !cute.ptr<i8, smem, align<1024>> to !llvm.ptr<3>
    %bars = cute.memref.alloca() {smem.struct_fields = ["full:16:0", "done:16:16"]} : !cute.memref<i64, smem, align<8>, "4:1">
    %bars_iter = cute.get_iter(%bars) : !cute.memref<i64, smem, align<8>, "4:1">
    %full = builtin.unrealized_conversion_cast %bars_iter : !cute.ptr<i64, smem, align<8>> to !llvm.ptr<3>
    %done = llvm.getelementptr %full[2] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %slot_bytes = cute.memref.alloca() {smem.struct_fields = ["slot:4:0"]} : !cute.memref<i32, smem, align<4>, "1:1">
    %slot_iter = cute.get_iter(%slot_bytes) : !cute.memref<i32, smem, align<4>, "1:1">
    %slot = builtin.unrealized_conversion_cast %slot_iter : !cute.ptr<i32, smem, align<4>> to !llvm.ptr<3>
    %one = nvvm.elect.sync -> i1
    scf.if %one {
      scf.for %i = %c0 to %c4 step %c1 : i32 {
        %bar = llvm.getelementptr %full[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
      }
    }
    nvvm.fence.mbarrier.init
    nvvm.tcgen05.alloc %slot, %c64 : !llvm.ptr<3>, i32
    nvvm.barrier
    %column = llvm.load %slot {alignment = 4 : i64} : !llvm.ptr<3> -> i32
    %acc = llvm.inttoptr %column : i32 to !llvm.ptr<6>
    nvvm.tcgen05.relinquish_alloc_permit
    %address = llvm.ptrtoint %tile : !llvm.ptr<3> to i32
    %start = arith.shrsi %address, %c4 : i32
    %desc = nvvm.tcgen05_mma_smem_desc_v2(%start, %c1, %sbo, %version, %base, %false, %false, %swizzle) : (i32, i32, i32, i8, i8, i1, i1, i8) -> i64
    scf.for %turn = %c0 to %turns step %c1 : i32 {
      %stage = arith.remsi %turn, %c2 : i32
      %round = arith.divsi %turn, %c2 : i32
      %phase = arith.andi %round, %c1 : i32
      %before = arith.xori %phase, %c1 : i32
      %my_full = llvm.getelementptr %full[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %my_done = llvm.getelementptr %done[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      nvvm.mbarrier.try_wait.parity %my_done, %before, %c10000000 : !llvm.ptr<3>, i32, i32
      %load = nvvm.elect.sync -> i1
      scf.if %load {
        %bytes = arith.muli %stage, %c16384 : i32
        %to = llvm.getelementptr %tile[%bytes] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
        nvvm.mbarrier.arrive.expect_tx %my_full, %c16384 : !llvm.ptr<3>, i32
        nvvm.cp.async.bulk.shared.cluster.global %to, %from, %my_full, %c16384 : !llvm.ptr<3>, !llvm.ptr<1>
      }
      nvvm.mbarrier.try_wait.parity %my_full, %phase, %c10000000 : !llvm.ptr<3>, i32, i32
      %bytes_on = arith.muli %stage, %c16384 : i32
      %on = arith.shrsi %bytes_on, %c4 : i32
      %low = arith.trunci %desc : i64 to i32
      %moved = arith.addi %low, %on : i32
      %fields = arith.shrui %desc, %high : i64
      %fields_high = arith.shli %fields, %high : i64
      %start_of_stage = arith.extui %moved : i32 to i64
      %mine = arith.ori %fields_high, %start_of_stage : i64
      %multiply = nvvm.elect.sync -> i1
      scf.if %multiply {
        nvvm.tcgen05.mma %acc, %mine, %mine, %idesc, %false {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1)
        nvvm.tcgen05.commit %my_done : !llvm.ptr<3>
      }
    }
    %last = arith.subi %turns, %c1 : i32
    %last_stage = arith.remsi %last, %c2 : i32
    %last_round = arith.divsi %last, %c2 : i32
    %last_phase = arith.andi %last_round, %c1 : i32
    %last_done = llvm.getelementptr %done[%last_stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.try_wait.parity %last_done, %last_phase, %c10000000 : !llvm.ptr<3>, i32, i32
    nvvm.tcgen05.dealloc %acc, %c64 : !llvm.ptr<6>, i32
    cuda.return
  }
}
