// wgmma reads A as bf16, its tensor map copies f16.
// target: sm_90a
module {
  gpu.module @kernels {
    cuda.kernel @kernel(%arg0: !cuda.tensor_map, %arg1: !cuda.tensor_map) attributes {gpu.kernel} {
      %c0_i32 = arith.constant 0 : i32
      %c4_i32 = arith.constant 4 : i32
      %mask = arith.constant 262143 : i32
      %fields = arith.constant 4611686293305360384 : i64
      %by1 = arith.constant 2 : i64
      %by2 = arith.constant 4 : i64
      %by3 = arith.constant 6 : i64
      %a = cute.memref.alloca() : !cute.memref<i8, smem, align<1024>, "8192:1">
      %a_iter = cute.get_iter(%a) : !cute.memref<i8, smem, align<1024>, "8192:1">
      %a_ptr = builtin.unrealized_conversion_cast %a_iter : !cute.ptr<i8, smem, align<1024>> to !llvm.ptr<3>
      %b = cute.memref.alloca() : !cute.memref<i8, smem, align<1024>, "2048:1">
      %b_iter = cute.get_iter(%b) : !cute.memref<i8, smem, align<1024>, "2048:1">
      %b_ptr = builtin.unrealized_conversion_cast %b_iter : !cute.ptr<i8, smem, align<1024>> to !llvm.ptr<3>
      %bar = "test.barrier"() : () -> !llvm.ptr<3>
      %map_a = cast %arg0 : !cuda.tensor_map -> !llvm.ptr
      %map_b = cast %arg1 : !cuda.tensor_map -> !llvm.ptr
      nvvm.cp.async.bulk.tensor.shared.cluster.global %a_ptr, %map_a, %bar, box[%c0_i32, %c0_i32] : !llvm.ptr<3>, !llvm.ptr
      nvvm.cp.async.bulk.tensor.shared.cluster.global %b_ptr, %map_b, %bar, box[%c0_i32, %c0_i32] : !llvm.ptr<3>, !llvm.ptr
      %a0 = llvm.ptrtoint %a_ptr : !llvm.ptr<3> to i32
      %a1 = arith.andi %a0, %mask : i32
      %a2 = arith.shrui %a1, %c4_i32 : i32
      %a3 = arith.extui %a2 : i32 to i64
      %a4 = arith.ori %a3, %fields : i64
      %b0 = llvm.ptrtoint %b_ptr : !llvm.ptr<3> to i32
      %b1 = arith.andi %b0, %mask : i32
      %b2 = arith.shrui %b1, %c4_i32 : i32
      %b3 = arith.extui %b2 : i32 to i64
      %b4 = arith.ori %b3, %fields : i64
      %d = llvm.mlir.undef : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
      %d0 = nvvm.wgmma.mma_async %a4, %b4, %d, <m = 64, n = 16, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
      %a_k1 = arith.addi %a4, %by1 : i64
      %b_k1 = arith.addi %b4, %by1 : i64
      %d1 = nvvm.wgmma.mma_async %a_k1, %b_k1, %d0, <m = 64, n = 16, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
      %a_k2 = arith.addi %a4, %by2 : i64
      %b_k2 = arith.addi %b4, %by2 : i64
      %d2 = nvvm.wgmma.mma_async %a_k2, %b_k2, %d1, <m = 64, n = 16, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
      %a_k3 = arith.addi %a4, %by3 : i64
      %b_k3 = arith.addi %b4, %by3 : i64
      %d3 = nvvm.wgmma.mma_async %a_k3, %b_k3, %d2, <m = 64, n = 16, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32, f32, f32, f32, f32)>
      return
    }
  }
  func.func @host(%base: !ptr.ptr<#ptr.generic_space>, %sizes: !llvm.ptr) {
    %type_a = arith.constant 9 : i32
    %type_b = arith.constant 9 : i32
    %rank = arith.constant 2 : i32
    %zero = arith.constant 0 : i32
    %mode = arith.constant 3 : i32
    %inner = arith.constant 64 : i32
    %outer_a = arith.constant 64 : i32
    %outer_b = arith.constant 16 : i32
    %box_a = llvm.alloca %rank x i32 {alignment = 4 : i64} : (i32) -> !llvm.ptr
    llvm.store %inner, %box_a {alignment = 4 : i64} : i32, !llvm.ptr
    %next_a = llvm.getelementptr %box_a[1] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %outer_a, %next_a {alignment = 4 : i64} : i32, !llvm.ptr
    %done_a, %map_a = cuda.tensor_map_encode_tiled data_type = %type_a, rank = %rank, global_address = %base, global_dim = %sizes, global_strides = %sizes, box_dim = %box_a, element_strides = %sizes, interleave = %zero, swizzle = %mode, l2_promotion = %zero, oob_fill = %zero : <#ptr.generic_space> -> !cuda.result, !cuda.tensor_map
    %box_b = llvm.alloca %rank x i32 {alignment = 4 : i64} : (i32) -> !llvm.ptr
    llvm.store %inner, %box_b {alignment = 4 : i64} : i32, !llvm.ptr
    %next_b = llvm.getelementptr %box_b[1] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %outer_b, %next_b {alignment = 4 : i64} : i32, !llvm.ptr
    %done_b, %map_b = cuda.tensor_map_encode_tiled data_type = %type_b, rank = %rank, global_address = %base, global_dim = %sizes, global_strides = %sizes, box_dim = %box_b, element_strides = %sizes, interleave = %zero, swizzle = %mode, l2_promotion = %zero, oob_fill = %zero : <#ptr.generic_space> -> !cuda.result, !cuda.tensor_map
    %cfg = "test.config"() : () -> !cuda.launch_cfg<max_attrs = 17>
    %result = cuda.launch_ex @kernels::@kernel<%cfg> (%map_a, %map_b) : !cuda.launch_cfg<max_attrs = 17>, (!cuda.tensor_map, !cuda.tensor_map) -> !cuda.result
    return
  }
}
