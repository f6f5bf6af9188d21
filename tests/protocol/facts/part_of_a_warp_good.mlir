// All threads of each warp wait.

gpu.module @kernels {
  cuda.kernel @k() attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    nvvm.wgmma.fence.aligned
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    return
  }
}
