// All threads of the warp wait.

gpu.module @kernels {
  cuda.kernel @k() attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c32 = arith.constant 32 : i32
    %c0 = arith.constant 0 : i32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %which = arith.divsi %thread, %c32 : i32
    %first = arith.cmpi eq, %which, %c0 : i32
    nvvm.wgmma.fence.aligned
    nvvm.wgmma.commit.group.sync.aligned
    scf.if %first {
      nvvm.wgmma.wait.group.sync.aligned 0
    }
    return
  }
}
