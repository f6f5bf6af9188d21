// The wait of a warpgroup is .sync.aligned: what one elected thread executes leaves the others without it.

gpu.module @kernels {
  cuda.kernel @k() attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c32 = arith.constant 32 : i32
    %c0 = arith.constant 0 : i32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %which = arith.remsi %thread, %c32 : i32
    %first = arith.cmpi eq, %which, %c0 : i32
    nvvm.wgmma.fence.aligned
    nvvm.wgmma.commit.group.sync.aligned
    scf.if %first {
      // expected-error@+1 {{1 of the 32 threads of warp 0 execute this, which is .sync.aligned: all of them must execute it together}}
      nvvm.wgmma.wait.group.sync.aligned 0
    }
    return
  }
}
