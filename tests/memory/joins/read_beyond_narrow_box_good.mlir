// The box is half as wide as the rows of the swizzle, and the MMAs read that half alone.
// target: sm_100a

module {
  gpu.module @kernels {
    cuda.kernel @kernel(%arg0: !cuda.tensor_map, %arg1: !cuda.tensor_map) attributes {gpu.kernel} {
      %c4_i32 = arith.constant 4 : i32
      %c32_i64 = arith.constant 32 : i64
      %lbo = arith.constant 1 : i32
      %sbo = arith.constant 64 : i32
      %version = arith.constant 1 : i8
      %swizzle = arith.constant 2 : i8
      %c0_i8 = arith.constant 0 : i8
      %false = arith.constant false
      %c0_i32 = arith.constant 0 : i32
      %idesc = arith.constant 136314896 : i32
      %a = cute.memref.alloca() : !cute.memref<i8, smem, align<1024>, "16384:1">
      %a_iter = cute.get_iter(%a) : !cute.memref<i8, smem, align<1024>, "16384:1">
      %a_ptr = builtin.unrealized_conversion_cast %a_iter : !cute.ptr<i8, smem, align<1024>> to !llvm.ptr<3>
      %b = cute.memref.alloca() : !cute.memref<i8, smem, align<1024>, "16384:1">
      %b_iter = cute.get_iter(%b) : !cute.memref<i8, smem, align<1024>, "16384:1">
      %b_ptr = builtin.unrealized_conversion_cast %b_iter : !cute.ptr<i8, smem, align<1024>> to !llvm.ptr<3>
      %bar = "test.barrier"() : () -> !llvm.ptr<3>
      %d = "test.tmem"() : () -> !llvm.ptr<6>
      %map_a = cast %arg0 : !cuda.tensor_map -> !llvm.ptr
      %map_b = cast %arg1 : !cuda.tensor_map -> !llvm.ptr
      nvvm.cp.async.bulk.tensor.shared.cluster.global %a_ptr, %map_a, %bar, box[%c0_i32, %c0_i32] : !llvm.ptr<3>, !llvm.ptr
      nvvm.cp.async.bulk.tensor.shared.cluster.global %b_ptr, %map_b, %bar, box[%c0_i32, %c0_i32] : !llvm.ptr<3>, !llvm.ptr
      %0 = llvm.ptrtoint %a_ptr : !llvm.ptr<3> to i32
      %1 = arith.shrsi %0, %c4_i32 : i32
      %2 = nvvm.tcgen05_mma_smem_desc_v2(%1, %lbo, %sbo, %version, %c0_i8, %false, %false, %swizzle) : (i32, i32, i32, i8, i8, i1, i1, i8) -> i64
      %3 = llvm.ptrtoint %b_ptr : !llvm.ptr<3> to i32
      %4 = arith.shrsi %3, %c4_i32 : i32
      %5 = nvvm.tcgen05_mma_smem_desc_v2(%4, %lbo, %sbo, %version, %c0_i8, %false, %false, %swizzle) : (i32, i32, i32, i8, i8, i1, i1, i8) -> i64
      %by_a0 = arith.constant 0 : i64
      %a0 = arith.addi %2, %by_a0 : i64
      %by_b0 = arith.constant 0 : i64
      %b0 = arith.addi %5, %by_b0 : i64
      nvvm.tcgen05.mma %d, %a0, %b0, %idesc, %false {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1)
      %by_a1 = arith.constant 2 : i64
      %a1 = arith.addi %2, %by_a1 : i64
      %by_b1 = arith.constant 2 : i64
      %b1 = arith.addi %5, %by_b1 : i64
      nvvm.tcgen05.mma %d, %a1, %b1, %idesc, %false {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1)
      return
    }
  }
  func.func @host(%base: !ptr.ptr<#ptr.generic_space>, %sizes: !llvm.ptr) {
    %type = arith.constant 6 : i32
    %rank = arith.constant 2 : i32
    %zero = arith.constant 0 : i32
    %mode = arith.constant 3 : i32
    %inner = arith.constant 32 : i32
    %outer = arith.constant 128 : i32
    %box = llvm.alloca %rank x i32 {alignment = 4 : i64} : (i32) -> !llvm.ptr
    llvm.store %inner, %box {alignment = 4 : i64} : i32, !llvm.ptr
    %next = llvm.getelementptr %box[1] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %outer, %next {alignment = 4 : i64} : i32, !llvm.ptr
    %done, %map = cuda.tensor_map_encode_tiled data_type = %type, rank = %rank, global_address = %base, global_dim = %sizes, global_strides = %sizes, box_dim = %box, element_strides = %sizes, interleave = %zero, swizzle = %mode, l2_promotion = %zero, oob_fill = %zero : <#ptr.generic_space> -> !cuda.result, !cuda.tensor_map
    %cfg = "test.config"() : () -> !cuda.launch_cfg<max_attrs = 17>
    %result = cuda.launch_ex @kernels::@kernel<%cfg> (%map, %map) : !cuda.launch_cfg<max_attrs = 17>, (!cuda.tensor_map, !cuda.tensor_map) -> !cuda.result
    return
  }
}
