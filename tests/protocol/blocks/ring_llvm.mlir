// sound: a ring of one stage, as the LLVM dialect has it.
llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
llvm.func @k(%source: !llvm.ptr<1>, %turns: i32) attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c5 = llvm.mlir.constant(5 : i32) : i32
  %warps = llvm.mlir.constant(2 : i32) : i32
  %bytes = llvm.mlir.constant(1024 : i32) : i32
  %mask = llvm.mlir.constant(-1 : i32) : i32
  %ticks = llvm.mlir.constant(10000000 : i32) : i32
  %smem = llvm.mlir.addressof @smem : !llvm.ptr<3>
  %full = llvm.getelementptr %smem[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %empty = llvm.getelementptr %smem[1032] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %tid = nvvm.read.ptx.sreg.tid.x range <i32, 0, 64> : i32
  %warp = llvm.lshr %tid, %c5 : i32
  %first = llvm.icmp "eq" %tid, %c0 : i32
  llvm.cond_br %first, ^init, ^ready
^init:
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32
  llvm.br ^ready
^ready:
  nvvm.fence.mbarrier.init
  nvvm.barrier
  %loads = llvm.icmp "eq" %warp, %c0 : i32
  llvm.cond_br %loads, ^load(%c0 : i32), ^use(%c0 : i32)
^load(%i: i32):
  %more = llvm.icmp "slt" %i, %turns : i32
  llvm.cond_br %more, ^fill, ^end
^fill:
  %low = llvm.and %i, %c1 : i32
  %parity = llvm.xor %low, %c1 : i32
  llvm.br ^spin
^spin:
  %free = nvvm.mbarrier.try_wait.parity.timelimit %empty, %parity, %ticks : !llvm.ptr<3>, i32, i32 -> i1
  llvm.cond_br %free, ^send, ^spin
^send:
  %elected = nvvm.elect.sync -> i1
  llvm.cond_br %elected, ^copy, ^sent
^copy:
  %state = nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32 -> i64
  nvvm.cp.async.bulk.shared.cluster.global %smem, %source, %full, %bytes : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.br ^sent
^sent:
  %i2 = llvm.add %i, %c1 : i32
  llvm.br ^load(%i2 : i32)
^use(%j: i32):
  %again = llvm.icmp "slt" %j, %turns : i32
  llvm.cond_br %again, ^wait, ^end
^wait:
  %phase = llvm.and %j, %c1 : i32
  llvm.br ^look
^look:
  %came = nvvm.mbarrier.try_wait.parity.timelimit %full, %phase, %ticks : !llvm.ptr<3>, i32, i32 -> i1
  llvm.cond_br %came, ^read, ^look
^read:
  %value = llvm.load %smem : !llvm.ptr<3> -> f32
  nvvm.bar.warp.sync %mask : i32
  %one = nvvm.elect.sync -> i1
  llvm.cond_br %one, ^release, ^released
^release:
  %done = nvvm.mbarrier.arrive %empty : !llvm.ptr<3> -> i64
  llvm.br ^released
^released:
  %j2 = llvm.add %j, %c1 : i32
  llvm.br ^use(%j2 : i32)
^end:
  llvm.return
}

// -----

// faulty: no wait for the phase in which the copy completes.
llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
llvm.func @k(%source: !llvm.ptr<1>, %turns: i32) attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c5 = llvm.mlir.constant(5 : i32) : i32
  %warps = llvm.mlir.constant(2 : i32) : i32
  %bytes = llvm.mlir.constant(1024 : i32) : i32
  %mask = llvm.mlir.constant(-1 : i32) : i32
  %ticks = llvm.mlir.constant(10000000 : i32) : i32
  %smem = llvm.mlir.addressof @smem : !llvm.ptr<3>
  %full = llvm.getelementptr %smem[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %empty = llvm.getelementptr %smem[1032] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %tid = nvvm.read.ptx.sreg.tid.x range <i32, 0, 64> : i32
  %warp = llvm.lshr %tid, %c5 : i32
  %first = llvm.icmp "eq" %tid, %c0 : i32
  llvm.cond_br %first, ^init, ^ready
^init:
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32
  llvm.br ^ready
^ready:
  nvvm.fence.mbarrier.init
  nvvm.barrier
  %loads = llvm.icmp "eq" %warp, %c0 : i32
  llvm.cond_br %loads, ^load(%c0 : i32), ^use(%c0 : i32)
^load(%i: i32):
  %more = llvm.icmp "slt" %i, %turns : i32
  llvm.cond_br %more, ^fill, ^end
^fill:
  %low = llvm.and %i, %c1 : i32
  %parity = llvm.xor %low, %c1 : i32
  llvm.br ^spin
^spin:
  %free = nvvm.mbarrier.try_wait.parity.timelimit %empty, %parity, %ticks : !llvm.ptr<3>, i32, i32 -> i1
  llvm.cond_br %free, ^send, ^spin
^send:
  %elected = nvvm.elect.sync -> i1
  llvm.cond_br %elected, ^copy, ^sent
^copy:
  %state = nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32 -> i64
  nvvm.cp.async.bulk.shared.cluster.global %smem, %source, %full, %bytes : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.br ^sent
^sent:
  %i2 = llvm.add %i, %c1 : i32
  llvm.br ^load(%i2 : i32)
^use(%j: i32):
  %again = llvm.icmp "slt" %j, %turns : i32
  llvm.cond_br %again, ^wait, ^end
^wait:
  %phase = llvm.and %j, %c1 : i32
  llvm.br ^read
^read:
  %value = llvm.load %smem : !llvm.ptr<3> -> f32
  nvvm.bar.warp.sync %mask : i32
  %one = nvvm.elect.sync -> i1
  llvm.cond_br %one, ^release, ^released
^release:
  %done = nvvm.mbarrier.arrive %empty : !llvm.ptr<3> -> i64
  llvm.br ^released
^released:
  %j2 = llvm.add %j, %c1 : i32
  llvm.br ^use(%j2 : i32)
^end:
  llvm.return
}

// -----

// faulty: nothing releases the stage.
llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
llvm.func @k(%source: !llvm.ptr<1>, %turns: i32) attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c5 = llvm.mlir.constant(5 : i32) : i32
  %warps = llvm.mlir.constant(2 : i32) : i32
  %bytes = llvm.mlir.constant(1024 : i32) : i32
  %mask = llvm.mlir.constant(-1 : i32) : i32
  %ticks = llvm.mlir.constant(10000000 : i32) : i32
  %smem = llvm.mlir.addressof @smem : !llvm.ptr<3>
  %full = llvm.getelementptr %smem[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %empty = llvm.getelementptr %smem[1032] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %tid = nvvm.read.ptx.sreg.tid.x range <i32, 0, 64> : i32
  %warp = llvm.lshr %tid, %c5 : i32
  %first = llvm.icmp "eq" %tid, %c0 : i32
  llvm.cond_br %first, ^init, ^ready
^init:
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32
  llvm.br ^ready
^ready:
  nvvm.fence.mbarrier.init
  nvvm.barrier
  %loads = llvm.icmp "eq" %warp, %c0 : i32
  llvm.cond_br %loads, ^load(%c0 : i32), ^use(%c0 : i32)
^load(%i: i32):
  %more = llvm.icmp "slt" %i, %turns : i32
  llvm.cond_br %more, ^fill, ^end
^fill:
  %low = llvm.and %i, %c1 : i32
  %parity = llvm.xor %low, %c1 : i32
  llvm.br ^spin
^spin:
  %free = nvvm.mbarrier.try_wait.parity.timelimit %empty, %parity, %ticks : !llvm.ptr<3>, i32, i32 -> i1
  llvm.cond_br %free, ^send, ^spin
^send:
  %elected = nvvm.elect.sync -> i1
  llvm.cond_br %elected, ^copy, ^sent
^copy:
  %state = nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32 -> i64
  nvvm.cp.async.bulk.shared.cluster.global %smem, %source, %full, %bytes : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.br ^sent
^sent:
  %i2 = llvm.add %i, %c1 : i32
  llvm.br ^load(%i2 : i32)
^use(%j: i32):
  %again = llvm.icmp "slt" %j, %turns : i32
  llvm.cond_br %again, ^wait, ^end
^wait:
  %phase = llvm.and %j, %c1 : i32
  llvm.br ^look
^look:
  %came = nvvm.mbarrier.try_wait.parity.timelimit %full, %phase, %ticks : !llvm.ptr<3>, i32, i32 -> i1
  llvm.cond_br %came, ^read, ^look
^read:
  %value = llvm.load %smem : !llvm.ptr<3> -> f32
  nvvm.bar.warp.sync %mask : i32
  %one = nvvm.elect.sync -> i1
  llvm.cond_br %one, ^release, ^released
^release:
  llvm.br ^released
^released:
  %j2 = llvm.add %j, %c1 : i32
  llvm.br ^use(%j2 : i32)
^end:
  llvm.return
}
