// The atom of a tensor map has the box of another tile than its copies move.
// target: sm_90a
!load = !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,32):(1@1,1@0)">, tma_format = F16_RN>
module {
  gpu.module @kernels {
    cuda.kernel @kernel(%arg0: !load) attributes {gpu.kernel} {
      %a = cute.memref.alloca() : !cute.memref<i8, smem, align<1024>, "8192:1">
      return
    }
  }
  func.func @host(%arg0: !cute.memref<f16, gmem, "(?,?):(?{i64},1)">) {
    %swizzle = cute.static : !cute.swizzle<"S<3,4,3>">
    %zero = cute.make_int_tuple() : () -> !cute.int_tuple<"0">
    %shape = cute.make_shape() : () -> !cute.shape<"(64,64)">
    %stride = cute.make_stride() : () -> !cute.stride<"(64,1)">
    %rows = cute.make_layout(%shape, %stride) : !cute.layout<"(64,64):(64,1)">
    %tile = cute.make_composed_layout(%swizzle, %zero, %rows) : !cute.composed_layout<"S<3,4,3> o 0 o (64,64):(64,1)">
    %lay = cute.get_layout(%arg0) : !cute.memref<f16, gmem, "(?,?):(?{i64},1)">
    %0 = cute.get_shape(%lay) : (!cute.layout<"(?,?):(?{i64},1)">) -> !cute.shape<"(?,?)">
    %whole = cute.make_identity_layout(%0) : !cute.layout<"(?,?):(1@0,1@1)">
    %cut = cute.make_tile() : () -> !cute.tile<"[64:1;64:1]">
    %box = cute.composition(%whole, %cut) : (!cute.layout<"(?,?):(1@0,1@1)">, !cute.tile<"[64:1;64:1]">) -> !cute.layout<"(64,64):(1@0,1@1)">
    // expected-error@+1 {{The box of the tensor map has 4096 bytes, and its atom says that a copy moves 8192}}
    %atom, %tensor = cute_nvgpu.atom.make_non_exec_tiled_tma_load(%arg0, %tile, %box) <{kind = <sm_90>}> : (!cute.memref<f16, gmem, "(?,?):(?{i64},1)">, !cute.composed_layout<"S<3,4,3> o 0 o (64,64):(64,1)">, !cute.layout<"(64,64):(1@0,1@1)">) -> (!load, !cute.coord_tensor<"(0,0)", "(?,?):(1@1,1@0)">)
    %cfg = "test.config"() : () -> !cuda.launch_cfg<max_attrs = 17>
    %result = cuda.launch_ex @kernels::@kernel<%cfg> (%atom) : !cuda.launch_cfg<max_attrs = 17>, (!load) -> !cuda.result
    return
  }
}
