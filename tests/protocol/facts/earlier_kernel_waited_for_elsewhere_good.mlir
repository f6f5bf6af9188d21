// The second of two kernels may begin early: the warp that reads what the first one writes waits for it.

gpu.module @kernels {
  llvm.mlir.global internal @slot() {addr_space = 3 : i32} : !llvm.array<4 x i32>
  llvm.mlir.global internal @bars() {addr_space = 3 : i32} : !llvm.array<8 x i64>
  llvm.mlir.global internal @tiles() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<65536 x i8>
  cuda.kernel @first(%out: !llvm.ptr<1>, %value: f32) attributes {gpu.kernel} {
    llvm.store %value, %out {alignment = 4 : i64} : f32, !llvm.ptr<1>
    return
  }
  cuda.kernel @k(%out: !llvm.ptr<1>, %value: f32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.cluster_dim = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %c128 = arith.constant 128 : i32
    %c4096 = arith.constant 4096 : i32
    %long = arith.constant 10000000 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %bar = llvm.mlir.addressof @bars : !llvm.ptr<3>
    %bar2 = llvm.getelementptr %bar[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %a = llvm.mlir.addressof @tiles : !llvm.ptr<3>
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
      %one2 = nvvm.elect.sync -> i1
      scf.if %one2 {
        nvvm.griddepcontrol wait
        %t = nvvm.mbarrier.arrive.expect_tx %bar, %c4096 : !llvm.ptr<3>, i32 -> i64
        nvvm.cp.async.bulk.shared.cluster.global %a, %out, %bar, %c4096 : !llvm.ptr<3>, !llvm.ptr<1>
      }
    }
    nvvm.mbarrier.try_wait.parity %bar, %c0, %long : !llvm.ptr<3>, i32, i32
    return
  }
}
  func.func @host(%stream: !cuda.stream, %out: !llvm.ptr<1>, %value: f32) attributes {llvm.emit_c_interface} {
    %c1 = arith.constant 1 : i32
    %c128 = arith.constant 128 : i32
    %bytes = arith.constant 0 : i64
    %launch = cuda.launch_cfg.create<max_attrs = 2 : i32> (blockDim = (%c128, %c1, %c1), dynamicSmemBytes = %bytes, gridDim = (%c1, %c1, %c1), stream = %stream) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 2>
    cuda.launch_cfg.programmatic_stream_serialization_allowed[%launch] %c1 : !cuda.launch_cfg<max_attrs = 2>, i32
    %plain = cuda.launch_cfg.create<max_attrs = 2 : i32> (blockDim = (%c128, %c1, %c1), dynamicSmemBytes = %bytes, gridDim = (%c1, %c1, %c1), stream = %stream) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 2>
    %before = cuda.launch_ex @kernels::@first<%plain> (%out, %value) : !cuda.launch_cfg<max_attrs = 2>, (!llvm.ptr<1>, f32) -> !cuda.result
    %done = cuda.launch_ex @kernels::@k<%launch> (%out, %value) : !cuda.launch_cfg<max_attrs = 2>, (!llvm.ptr<1>, f32) -> !cuda.result
    return
  }
