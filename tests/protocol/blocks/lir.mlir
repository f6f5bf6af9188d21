// unfollowed: operations of the lir dialect, which become waits and copies when it is lowered.
gpu.module @kernels {
  lir.func @k(%stage: i32) attributes {gpu.kernel} {
    %0 = arith.constant 0 : i32
    "lir.consumer_wait"(%stage) : (i32) -> ()
    lir.return
  }
}
