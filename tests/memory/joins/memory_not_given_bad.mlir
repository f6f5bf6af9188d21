// The kernel allocates more shared memory than its launch gives it.
// target: sm_90a

module {
  gpu.module @kernels {
    cuda.kernel @kernel(%source: !llvm.ptr<1>) attributes {gpu.kernel} {
      %c1_i32 = arith.constant 1 : i32
      %size = arith.constant 1024 : i32
      %mask = arith.constant 3 : i16
      // expected-error@+1 {{The kernel allocates 8192 bytes of dynamic shared memory, and its launch gives 4096}}
      %a = cute.memref.alloca() : !cute.memref<i8, smem, align<128>, "8192:1">
      %iter = cute.get_iter(%a) : !cute.memref<i8, smem, align<128>, "8192:1">
      %bar = builtin.unrealized_conversion_cast %iter : !cute.ptr<i8, smem, align<128>> to !llvm.ptr<3>
      %to = llvm.getelementptr %bar[128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      %far = llvm.addrspacecast %to : !llvm.ptr<3> to !llvm.ptr<7>
      nvvm.cp.async.bulk.shared.cluster.global %far, %source, %bar, %size multicast_mask = %mask : !llvm.ptr<7>, !llvm.ptr<1>
      return
    }
  }
  func.func @host(%source: !llvm.ptr<1>, %stream: !cuda.stream) {
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %threads = arith.constant 128 : i32
    %given = arith.constant 4096 : i64
    %cfg = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%threads, %one, %one), dynamicSmemBytes = %given, gridDim = (%two, %one, %one), stream = %stream) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 17>
    cuda.launch_cfg.cluster_dim[%cfg] (%two, %one, %one) : !cuda.launch_cfg<max_attrs = 17>, i32, i32, i32
    %result = cuda.launch_ex @kernels::@kernel<%cfg> (%source) : !cuda.launch_cfg<max_attrs = 17>, (!llvm.ptr<1>) -> !cuda.result
    return
  }
}
