// sound: one role returns early.
gpu.module @kernels {
  cuda.kernel @k(%kind: i32, %some: i1) attributes {gpu.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %false = arith.constant false
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp = arith.divui %tid, %c32 : i32
    %smem = cute.memref.alloca() : !cute.memref<i64, smem, align<8>, "2:1">
    %bar_iter = cute.get_iter(%smem) : !cute.memref<i64, smem, align<8>, "2:1">
    %bar = builtin.unrealized_conversion_cast %bar_iter : !cute.ptr<i64, smem, align<8>> to !llvm.ptr<3>
    %leads = arith.cmpi eq, %tid, %c0 : i32
    cf.cond_br %leads, ^init, ^ready
  ^init:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    cf.br ^ready
  ^ready:
    nvvm.fence.mbarrier.init
    nvvm.barrier
    %arrives = arith.cmpi eq, %warp, %c0 : i32
    cf.cond_br %arrives, ^arrive, ^spin0
  ^arrive:
    %one = nvvm.elect.sync %c1 -> i1
    cf.cond_br %one, ^do, ^gone
  ^do:
    %state = nvvm.mbarrier.arrive %bar : !llvm.ptr<3> -> i64
    cf.br ^gone
  ^gone:
    cuda.return
  ^spin0:
    %came0 = nvvm.mbarrier.wait.parity %bar, %c0 {kind = #nvvm.mbar_wait<try>} : !llvm.ptr<3>, i32 -> i1
    cf.cond_br %came0, ^end, ^spin0
  ^end:
    cuda.return
  }
}

// -----

// faulty: the role that returns does not arrive.
gpu.module @kernels {
  cuda.kernel @k(%kind: i32, %some: i1) attributes {gpu.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %false = arith.constant false
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp = arith.divui %tid, %c32 : i32
    %smem = cute.memref.alloca() : !cute.memref<i64, smem, align<8>, "2:1">
    %bar_iter = cute.get_iter(%smem) : !cute.memref<i64, smem, align<8>, "2:1">
    %bar = builtin.unrealized_conversion_cast %bar_iter : !cute.ptr<i64, smem, align<8>> to !llvm.ptr<3>
    %leads = arith.cmpi eq, %tid, %c0 : i32
    cf.cond_br %leads, ^init, ^ready
  ^init:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    cf.br ^ready
  ^ready:
    nvvm.fence.mbarrier.init
    nvvm.barrier
    %arrives = arith.cmpi eq, %warp, %c0 : i32
    cf.cond_br %arrives, ^arrive, ^spin0
  ^arrive:
    %one = nvvm.elect.sync %c1 -> i1
    cf.cond_br %one, ^do, ^gone
  ^do:
    cf.br ^gone
  ^gone:
    cuda.return
  ^spin0:
    %came0 = nvvm.mbarrier.wait.parity %bar, %c0 {kind = #nvvm.mbar_wait<try>} : !llvm.ptr<3>, i32 -> i1
    cf.cond_br %came0, ^end, ^spin0
  ^end:
    cuda.return
  }
}

// -----

// sound: a switch chooses the role.
gpu.module @kernels {
  cuda.kernel @k(%kind: i32, %some: i1) attributes {gpu.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %false = arith.constant false
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp = arith.divui %tid, %c32 : i32
    %smem = cute.memref.alloca() : !cute.memref<i64, smem, align<8>, "2:1">
    %bar_iter = cute.get_iter(%smem) : !cute.memref<i64, smem, align<8>, "2:1">
    %bar = builtin.unrealized_conversion_cast %bar_iter : !cute.ptr<i64, smem, align<8>> to !llvm.ptr<3>
    %leads = arith.cmpi eq, %tid, %c0 : i32
    cf.cond_br %leads, ^init, ^ready
  ^init:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    cf.br ^ready
  ^ready:
    nvvm.fence.mbarrier.init
    nvvm.barrier
    cf.switch %warp : i32, [
      default: ^end,
      0: ^arrive(%tid : i32),
      1: ^spin0
    ]
  ^arrive(%who: i32):
    %mine = arith.cmpi eq, %who, %c0 : i32
    cf.cond_br %mine, ^do, ^end
  ^do:
    %state = nvvm.mbarrier.arrive %bar : !llvm.ptr<3> -> i64
    cf.br ^end
  ^spin0:
    %came0 = nvvm.mbarrier.wait.parity %bar, %c0 {kind = #nvvm.mbar_wait<try>} : !llvm.ptr<3>, i32 -> i1
    cf.cond_br %came0, ^end, ^spin0
  ^end:
    cuda.return
  }
}

// -----

// faulty: the role that a switch chooses does not arrive.
gpu.module @kernels {
  cuda.kernel @k(%kind: i32, %some: i1) attributes {gpu.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %false = arith.constant false
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp = arith.divui %tid, %c32 : i32
    %smem = cute.memref.alloca() : !cute.memref<i64, smem, align<8>, "2:1">
    %bar_iter = cute.get_iter(%smem) : !cute.memref<i64, smem, align<8>, "2:1">
    %bar = builtin.unrealized_conversion_cast %bar_iter : !cute.ptr<i64, smem, align<8>> to !llvm.ptr<3>
    %leads = arith.cmpi eq, %tid, %c0 : i32
    cf.cond_br %leads, ^init, ^ready
  ^init:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    cf.br ^ready
  ^ready:
    nvvm.fence.mbarrier.init
    nvvm.barrier
    cf.switch %warp : i32, [
      default: ^end,
      0: ^arrive(%tid : i32),
      1: ^spin0
    ]
  ^arrive(%who: i32):
    %mine = arith.cmpi eq, %who, %c0 : i32
    cf.cond_br %mine, ^do, ^end
  ^do:
    cf.br ^end
  ^spin0:
    %came0 = nvvm.mbarrier.wait.parity %bar, %c0 {kind = #nvvm.mbar_wait<try>} : !llvm.ptr<3>, i32 -> i1
    cf.cond_br %came0, ^end, ^spin0
  ^end:
    cuda.return
  }
}

// -----

// sound: a loop that is left at two places.
gpu.module @kernels {
  cuda.kernel @k(%kind: i32, %some: i1) attributes {gpu.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %false = arith.constant false
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp = arith.divui %tid, %c32 : i32
    %smem = cute.memref.alloca() : !cute.memref<i64, smem, align<8>, "2:1">
    %bar_iter = cute.get_iter(%smem) : !cute.memref<i64, smem, align<8>, "2:1">
    %bar = builtin.unrealized_conversion_cast %bar_iter : !cute.ptr<i64, smem, align<8>> to !llvm.ptr<3>
    %leads = arith.cmpi eq, %tid, %c0 : i32
    cf.cond_br %leads, ^init, ^ready
  ^init:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    cf.br ^ready
  ^ready:
    nvvm.fence.mbarrier.init
    nvvm.barrier
    cf.br ^turn(%c0 : i32)
  ^turn(%i: i32):
    %c4 = arith.constant 4 : i32
    %more = arith.cmpi slt, %i, %c4 : i32
    cf.cond_br %more, ^body, ^after
  ^body:
    %here = arith.cmpi eq, %tid, %c0 : i32
    cf.cond_br %here, ^do, ^waits
  ^do:
    %state = nvvm.mbarrier.arrive %bar : !llvm.ptr<3> -> i64
    cf.br ^waits
  ^waits:
    %low = arith.andi %i, %c1 : i32
    cf.br ^spin0
  ^spin0:
    %came0 = nvvm.mbarrier.wait.parity %bar, %low {kind = #nvvm.mbar_wait<try>} : !llvm.ptr<3>, i32 -> i1
    cf.cond_br %came0, ^next, ^spin0
  ^next:
    %three = arith.constant 2 : i32
    %last = arith.cmpi eq, %i, %three : i32
    cf.cond_br %last, ^left(%i : i32), ^again
  ^again:
    %i2 = arith.addi %i, %c1 : i32
    cf.br ^turn(%i2 : i32)
  ^left(%at: i32):
    nvvm.barrier
    cuda.return
  ^after:
    cuda.return
  }
}

// -----

// faulty: nothing arrives in a loop that is left at two places.
gpu.module @kernels {
  cuda.kernel @k(%kind: i32, %some: i1) attributes {gpu.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %false = arith.constant false
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp = arith.divui %tid, %c32 : i32
    %smem = cute.memref.alloca() : !cute.memref<i64, smem, align<8>, "2:1">
    %bar_iter = cute.get_iter(%smem) : !cute.memref<i64, smem, align<8>, "2:1">
    %bar = builtin.unrealized_conversion_cast %bar_iter : !cute.ptr<i64, smem, align<8>> to !llvm.ptr<3>
    %leads = arith.cmpi eq, %tid, %c0 : i32
    cf.cond_br %leads, ^init, ^ready
  ^init:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    cf.br ^ready
  ^ready:
    nvvm.fence.mbarrier.init
    nvvm.barrier
    cf.br ^turn(%c0 : i32)
  ^turn(%i: i32):
    %c4 = arith.constant 4 : i32
    %more = arith.cmpi slt, %i, %c4 : i32
    cf.cond_br %more, ^body, ^after
  ^body:
    %here = arith.cmpi eq, %tid, %c0 : i32
    cf.cond_br %here, ^do, ^waits
  ^do:
    cf.br ^waits
  ^waits:
    %low = arith.andi %i, %c1 : i32
    cf.br ^spin0
  ^spin0:
    %came0 = nvvm.mbarrier.wait.parity %bar, %low {kind = #nvvm.mbar_wait<try>} : !llvm.ptr<3>, i32 -> i1
    cf.cond_br %came0, ^next, ^spin0
  ^next:
    %three = arith.constant 2 : i32
    %last = arith.cmpi eq, %i, %three : i32
    cf.cond_br %last, ^left(%i : i32), ^again
  ^again:
    %i2 = arith.addi %i, %c1 : i32
    cf.br ^turn(%i2 : i32)
  ^left(%at: i32):
    nvvm.barrier
    cuda.return
  ^after:
    cuda.return
  }
}

// -----

// unfollowed: a loop with two entries.
gpu.module @kernels {
  cuda.kernel @k(%kind: i32, %some: i1) attributes {gpu.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %false = arith.constant false
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp = arith.divui %tid, %c32 : i32
    %smem = cute.memref.alloca() : !cute.memref<i64, smem, align<8>, "2:1">
    %bar_iter = cute.get_iter(%smem) : !cute.memref<i64, smem, align<8>, "2:1">
    %bar = builtin.unrealized_conversion_cast %bar_iter : !cute.ptr<i64, smem, align<8>> to !llvm.ptr<3>
    %leads = arith.cmpi eq, %tid, %c0 : i32
    cf.cond_br %leads, ^init, ^ready
  ^init:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    cf.br ^ready
  ^ready:
    nvvm.fence.mbarrier.init
    nvvm.barrier
    cf.cond_br %some, ^left, ^right
  ^left:
    nvvm.barrier
    cf.br ^right
  ^right:
    %stop = arith.cmpi eq, %tid, %kind : i32
    cf.cond_br %stop, ^end, ^left
  ^end:
    cuda.return
  }
}
