gpu.module @kernels {
  cuda.kernel @in_part() attributes {gpu.kernel} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %c32 = arith.constant 32 : i32
    %long = arith.constant 10000000 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %fifth = arith.cmpi eq, %warp, %c4 : i32
    %bytes = cute.memref.alloca() {smem.struct_fields = ["full_mbar:8:0"]} : !cute.memref<i8, smem, align<8>, "8:1">
    %raw = cute.get_iter(%bytes) : !cute.memref<i8, smem, align<8>, "8:1">
    %iter = cute.recast_iter(%raw) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i64, smem>
    %full = builtin.unrealized_conversion_cast %iter : !cute.ptr<i64, smem> to !llvm.ptr<3>
    scf.if %first {
      %one = nvvm.elect.sync -> i1
      scf.if %one {
        nvvm.mbarrier.init %full, %c32 : !llvm.ptr<3>, i32
      }
    }
    nvvm.fence.mbarrier.init
    nvvm.barrier
    scf.if %fifth {
      %token = nvvm.mbarrier.arrive %full, %c1 : !llvm.ptr<3> -> i64
    } else {
      nvvm.mbarrier.try_wait.parity %full, %c0, %long : !llvm.ptr<3>, i32, i32
    }
    %none = arith.xori %tid, %tid : i32
    %never = arith.cmpi sgt, %none, %c0 : i32
    scf.if %never {
      nvvm.barrier
      %late = nvvm.mbarrier.arrive %full, %c1 : !llvm.ptr<3> -> i64
    }
    "nvvm.not_an_operation"() : () -> ()
    return
  }
}
