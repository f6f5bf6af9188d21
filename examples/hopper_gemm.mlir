!memref_gmem_f16 = !cute.memref<f16, gmem, align<16>, "(1024,1024):(1024,1)">
!memref_gmem_f16_1 = !cute.memref<f16, gmem, align<16>, "(128,128):(1024,1)">
!memref_gmem_f16_2 = !cute.memref<f16, gmem, align<4>, "((2,2,16),2,1):((1,8192,8),65536,0)">
!memref_gmem_f16_3 = !cute.memref<f16, gmem, align<4>, "(2,(2,16,2)):(1,(8192,8,65536))">
!memref_gmem_f16_4 = !cute.memref<f16, gmem, align<16>, "(1024,512):(512,1)">
!memref_rmem_f16 = !cute.memref<f16, rmem, align<32>, "((2,2,16),2,1):((1,2,4),64,0)">
!memref_rmem_f16_1 = !cute.memref<f16, rmem, align<32>, "(2,64):(1,2)">
!memref_rmem_f32 = !cute.memref<f32, rmem, align<256>, "((2,2,16),2,1):((1,2,4),64,0)">
!memref_smem_f16 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))">
!memref_smem_f16_1 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "(((8,16),(64,1)),(1,4)):(((64,512),(1,0)),(0,8192))">
!memref_smem_f16_2 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((8192,1),(1,4)):((1,0),(0,8192))">
!memref_smem_f16_3 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((64,16),2,4,(1,4)):((64,1),4096,16,(0,8192))">
!memref_smem_f16_4 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((128,16),1,4,(1,4)):((64,1),0,16,(0,8192))">
!memref_smem_f16_5 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((8192,1)):((1,0))">
!memref_smem_f16_6 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((8192,1),1):((1,0),0)">
!memref_smem_f16_7 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((8192,1),(1)):((1,0),(0))">
!memref_smem_i8 = !cute.memref<i8, smem, align<8>, "64:1">
!memref_smem_i8_1 = !cute.memref<i8, smem, align<1024>, "65536:1">
!mma_f16_f16_f32_64x128x16 = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x128x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
#loop_unroll = #llvm.loop_unroll<disable = true, count = 1 : i32>
#loop_annotation = #llvm.loop_annotation<unroll = #loop_unroll>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    cuda.kernel @kernel_cutlass_kernel_Float16_TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK6412816_TVLayoutA12864160164_TVLayoutB1281281601128_TVLayoutC4842216128116648512_0(%arg0: !mma_f16_f16_f32_64x128x16, %arg1: !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN> {cute_nvgpu.grid_constant}, %arg2: !cute.coord_tensor<"(0,0)", "(1024,512):(1@1,1@0)">, %arg3: !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN> {cute_nvgpu.grid_constant}, %arg4: !cute.coord_tensor<"(0,0)", "(1024,512):(1@1,1@0)">, %arg5: !memref_gmem_f16, %arg6: !cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))">, %arg7: !cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))">) attributes {cu_attrs = {max_dynamic_shared_size_bytes = #cuda.dev_max_shared_memory_optin, non_portable_cluster_size_allowed = 1 : i32}, cute.kernel, cutlass_launch_facts = {cluster_launch = false, cooperative_launch = false, exact_block_dim = array<i64: 128, 1, 1>, exact_grid_dim = array<i64: 8, 8, 1>, schema_version = 1 : i64}, gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, smem.hint_smem_base_uniform, smem.partition_num = 2 : i32} {
      %c8_i32 = arith.constant 8 : i32
      %c32768_i32 = arith.constant 32768 : i32
      %c10000000_i32 = arith.constant 10000000 : i32
      %c3_i32 = arith.constant 3 : i32
      %true = arith.constant true
      %false = arith.constant false
      %c4_i32 = arith.constant 4 : i32
      %c1_i32 = arith.constant 1 : i32
      %c0_i32 = arith.constant 0 : i32
      %c32_i32 = arith.constant 32 : i32
      %0 = nvvm.read.ptx.sreg.tid.x : i32
      %1 = nvvm.read.ptx.sreg.ctaid.x : i32
      %2 = nvvm.read.ptx.sreg.ctaid.y : i32
      %3 = nvvm.read.ptx.sreg.tid.y : i32
      %4 = nvvm.read.ptx.sreg.tid.z : i32
      %5 = nvvm.read.ptx.sreg.ntid.x : i32
      %6 = nvvm.read.ptx.sreg.ntid.y : i32
      %7 = arith.muli %3, %5 : i32
      %8 = arith.addi %0, %7 : i32
      %9 = arith.muli %4, %5 : i32
      %10 = arith.muli %9, %6 : i32
      %11 = arith.addi %8, %10 : i32
      %12 = arith.floordivsi %11, %c32_i32 : i32
      %13 = cute_nvgpu.arch.make_warp_uniform(%12) : i32
      %14 = cute_nvgpu.arch.make_warp_uniform(%13) : i32
      %smem = cute.memref.alloca() {smem.partition_id = 1 : i32} : !memref_smem_i8
      %iter = cute.get_iter(%smem) : !memref_smem_i8
      %iter_0 = cute.recast_iter(%iter) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i64, smem>
      %15 = cute.composed_get_outer(%arg6) : (!cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))">) -> !cute.layout<"((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))">
      %smem_1 = cute.memref.alloca() {smem.partition_id = 1 : i32} : !memref_smem_i8_1
      %iter_2 = cute.get_iter(%smem_1) : !memref_smem_i8_1
      %iter_3 = cute.recast_iter(%iter_2) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
      %view = cute.make_view(%iter_3, %15) : !memref_smem_f16
      %16 = cute.composed_get_outer(%arg7) : (!cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))">) -> !cute.layout<"((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))">
      %smem_4 = cute.memref.alloca() {smem.partition_id = 1 : i32} : !memref_smem_i8_1
      %iter_5 = cute.get_iter(%smem_4) : !memref_smem_i8_1
      %iter_6 = cute.recast_iter(%iter_5) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
      %view_7 = cute.make_view(%iter_6, %16) : !memref_smem_f16
      %17 = arith.cmpi eq, %14, %c0_i32 : i32
      scf.if %17 {
        %27 = nvvm.elect.sync -> i1
        scf.if %27 {
          %28 = builtin.unrealized_conversion_cast %iter_0 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %28, %c1_i32 : !llvm.ptr<3>, i32
          %int_tuple_28 = cute.make_int_tuple() : () -> !cute.int_tuple<"1">
          %ptr_29 = cute.add_offset(%iter_0, %int_tuple_28) : (!cute.ptr<i64, smem>, !cute.int_tuple<"1">) -> !cute.ptr<i64, smem>
          %29 = builtin.unrealized_conversion_cast %ptr_29 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %29, %c1_i32 : !llvm.ptr<3>, i32
          %int_tuple_30 = cute.make_int_tuple() : () -> !cute.int_tuple<"2">
          %ptr_31 = cute.add_offset(%iter_0, %int_tuple_30) : (!cute.ptr<i64, smem>, !cute.int_tuple<"2">) -> !cute.ptr<i64, smem>
          %30 = builtin.unrealized_conversion_cast %ptr_31 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %30, %c1_i32 : !llvm.ptr<3>, i32
          %int_tuple_32 = cute.make_int_tuple() : () -> !cute.int_tuple<"3">
          %ptr_33 = cute.add_offset(%iter_0, %int_tuple_32) : (!cute.ptr<i64, smem>, !cute.int_tuple<"3">) -> !cute.ptr<i64, smem>
          %31 = builtin.unrealized_conversion_cast %ptr_33 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %31, %c1_i32 : !llvm.ptr<3>, i32
        }
      }
      %int_tuple = cute.make_int_tuple() : () -> !cute.int_tuple<"4">
      %ptr = cute.add_offset(%iter_0, %int_tuple) : (!cute.ptr<i64, smem>, !cute.int_tuple<"4">) -> !cute.ptr<i64, smem>
      scf.if %17 {
        %27 = nvvm.elect.sync -> i1
        scf.if %27 {
          %28 = builtin.unrealized_conversion_cast %ptr : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %28, %c4_i32 : !llvm.ptr<3>, i32
          %int_tuple_28 = cute.make_int_tuple() : () -> !cute.int_tuple<"5">
          %ptr_29 = cute.add_offset(%iter_0, %int_tuple_28) : (!cute.ptr<i64, smem>, !cute.int_tuple<"5">) -> !cute.ptr<i64, smem>
          %29 = builtin.unrealized_conversion_cast %ptr_29 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %29, %c4_i32 : !llvm.ptr<3>, i32
          %int_tuple_30 = cute.make_int_tuple() : () -> !cute.int_tuple<"6">
          %ptr_31 = cute.add_offset(%iter_0, %int_tuple_30) : (!cute.ptr<i64, smem>, !cute.int_tuple<"6">) -> !cute.ptr<i64, smem>
          %30 = builtin.unrealized_conversion_cast %ptr_31 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %30, %c4_i32 : !llvm.ptr<3>, i32
          %int_tuple_32 = cute.make_int_tuple() : () -> !cute.int_tuple<"7">
          %ptr_33 = cute.add_offset(%iter_0, %int_tuple_32) : (!cute.ptr<i64, smem>, !cute.int_tuple<"7">) -> !cute.ptr<i64, smem>
          %31 = builtin.unrealized_conversion_cast %ptr_33 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %31, %c4_i32 : !llvm.ptr<3>, i32
        }
      }
      %18 = arith.remsi %0, %c32_i32 : i32
      %19 = arith.cmpi slt, %18, %c1_i32 : i32
      nvvm.fence.mbarrier.init
      nvvm.barrier
      %tile = cute.make_tile() : () -> !cute.tile<"[128:1;64:1]">
      %coord = cute.make_coord(%1) : (i32) -> !cute.coord<"(?,_)">
      %tiled_view = cute.local_tile(%arg2, %tile, %coord) : (!cute.coord_tensor<"(0,0)", "(1024,512):(1@1,1@0)">, !cute.tile<"[128:1;64:1]">, !cute.coord<"(?,_)">) -> !cute.coord_tensor<"(0,?{div=128})", "(128,64,8):(1@1,1@0,64@0)">
      %coord_8 = cute.make_coord(%2) : (i32) -> !cute.coord<"(?,_)">
      %tiled_view_9 = cute.local_tile(%arg4, %tile, %coord_8) : (!cute.coord_tensor<"(0,0)", "(1024,512):(1@1,1@0)">, !cute.tile<"[128:1;64:1]">, !cute.coord<"(?,_)">) -> !cute.coord_tensor<"(0,?{div=128})", "(128,64,8):(1@1,1@0,64@0)">
      %shape = cute.make_shape() : () -> !cute.shape<"1">
      %lay = cute.make_layout(%shape) : !cute.layout<"1:0">
      %grouped = cute.group_modes(%view) <0, 2> : (!memref_smem_f16) -> !memref_smem_f16_1
      %grouped_10 = cute.group_modes(%tiled_view) <0, 2> : (!cute.coord_tensor<"(0,?{div=128})", "(128,64,8):(1@1,1@0,64@0)">) -> !cute.coord_tensor<"(0,?{div=128})", "((128,64),8):((1@1,1@0),64@0)">
      %coord_11 = cute.make_coord() : () -> !cute.coord<"0">
      %res_smem_tensor, %res_target_tensors = cute_nvgpu.atom.tma_partition(%arg1, %coord_11, %lay, %grouped, %grouped_10) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord<"0">, !cute.layout<"1:0">, !memref_smem_f16_1, !cute.coord_tensor<"(0,?{div=128})", "((128,64),8):((1@1,1@0),64@0)">) -> (!memref_smem_f16_2, !cute.coord_tensor<"(0,?{div=128})", "(((64,128),1),8):(((1@0,1@1),0),64@0)">)
      %grouped_12 = cute.group_modes(%view_7) <0, 2> : (!memref_smem_f16) -> !memref_smem_f16_1
      %grouped_13 = cute.group_modes(%tiled_view_9) <0, 2> : (!cute.coord_tensor<"(0,?{div=128})", "(128,64,8):(1@1,1@0,64@0)">) -> !cute.coord_tensor<"(0,?{div=128})", "((128,64),8):((1@1,1@0),64@0)">
      %res_smem_tensor_14, %res_target_tensors_15 = cute_nvgpu.atom.tma_partition(%arg3, %coord_11, %lay, %grouped_12, %grouped_13) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord<"0">, !cute.layout<"1:0">, !memref_smem_f16_1, !cute.coord_tensor<"(0,?{div=128})", "((128,64),8):((1@1,1@0),64@0)">) -> (!memref_smem_f16_2, !cute.coord_tensor<"(0,?{div=128})", "(((64,128),1),8):(((1@0,1@1),0),64@0)">)
      %coord_16 = cute.make_coord(%0) : (i32) -> !cute.coord<"?">
      %ptn_A = cute.tiled.mma.partition A (%arg0, %view, %coord_16) : (!mma_f16_f16_f32_64x128x16, !memref_smem_f16, !cute.coord<"?">) -> !memref_smem_f16_3
      %frg_A = cute.mma.make_fragment A (%arg0, %ptn_A) : (!mma_f16_f16_f32_64x128x16, !memref_smem_f16_3) -> !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,2,4,(1,4)):(0,512,2,(0,1024))">
      %ptn_B = cute.tiled.mma.partition B (%arg0, %view_7, %coord_16) : (!mma_f16_f16_f32_64x128x16, !memref_smem_f16, !cute.coord<"?">) -> !memref_smem_f16_4
      %frg_B = cute.mma.make_fragment B (%arg0, %ptn_B) : (!mma_f16_f16_f32_64x128x16, !memref_smem_f16_4) -> !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,4)):(0,0,2,(0,1024))">
      %tile_17 = cute.make_tile() : () -> !cute.tile<"[128:1;128:1]">
      %coord_18 = cute.make_coord(%1, %2) : (i32, i32) -> !cute.coord<"(?,?)">
      %tiled_view_19 = cute.local_tile(%arg5, %tile_17, %coord_18) : (!memref_gmem_f16, !cute.tile<"[128:1;128:1]">, !cute.coord<"(?,?)">) -> !memref_gmem_f16_1
      %ptn_C = cute.tiled.mma.partition C (%arg0, %tiled_view_19, %coord_16) : (!mma_f16_f16_f32_64x128x16, !memref_gmem_f16_1, !cute.coord<"?">) -> !memref_gmem_f16_2
      %lay_20 = cute.get_layout(%ptn_C) : !memref_gmem_f16_2
      %shape_21 = cute.make_shape() : () -> !cute.shape<"((2,2,16),2,1)">
      %frg_C = cute.mma.make_fragment C (%arg0, %shape_21) : (!mma_f16_f16_f32_64x128x16, !cute.shape<"((2,2,16),2,1)">) -> !memref_rmem_f32
      %20 = cute_nvgpu.atom.set_value<accum_c>(%arg0, %false) : (!mma_f16_f16_f32_64x128x16, i1)
      %21:3 = scf.if %17 -> (i32, i32, i32) {
        %27:3 = scf.for %arg8 = %c0_i32 to %c3_i32 step %c1_i32 iter_args(%arg9 = %c0_i32, %arg10 = %c0_i32, %arg11 = %c1_i32) -> (i32, i32, i32)  : i32 {
          %int_tuple_28 = cute.make_int_tuple(%arg10) : (i32) -> !cute.int_tuple<"?">
          %ptr_29 = cute.add_offset(%ptr, %int_tuple_28) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %28 = builtin.unrealized_conversion_cast %ptr_29 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.try_wait.parity %28, %arg11, %c10000000_i32 : !llvm.ptr<3>, i32, i32
          %29 = nvvm.elect.sync -> i1
          scf.if %29 {
            %ptr_61 = cute.add_offset(%iter_0, %int_tuple_28) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
            %39 = builtin.unrealized_conversion_cast %ptr_61 : !cute.ptr<i64, smem> to !llvm.ptr<3>
            %40 = nvvm.mbarrier.arrive.expect_tx %39, %c32768_i32 : !llvm.ptr<3>, i32 -> i64
          }
          %30 = arith.addi %arg10, %c1_i32 : i32
          %31 = arith.addi %arg9, %c1_i32 : i32
          %32 = arith.cmpi eq, %30, %c4_i32 : i32
          %33 = arith.select %32, %c0_i32, %30 : i32
          %34 = scf.if %32 -> (i32) {
            %39 = arith.xori %arg11, %c1_i32 : i32
            scf.yield %39 : i32
          } else {
            scf.yield %arg11 : i32
          }
          %coord_30 = cute.make_coord(%arg8) : (i32) -> !cute.coord<"(_,?)">
          %slice = cute.slice(%res_target_tensors, %coord_30) : !cute.coord_tensor<"(0,?{div=128})", "(((64,128),1),8):(((1@0,1@1),0),64@0)">, !cute.coord<"(_,?)">
          %iter_31 = cute.get_iter(%slice) : !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1)):(((1@0,1@1),0))">
          %tup = cute.deref_arith_tuple_iter(%iter_31) : !cute.arith_tuple_iter<"(?{div=64},?{div=128})">
          %e0, %e1 = cute.get_leaves(%tup) : !cute.int_tuple<"(?{div=64},?{div=128})">
          %coord_32 = cute.make_coord(%arg10) : (i32) -> !cute.coord<"(_,?)">
          %slice_33 = cute.slice(%res_smem_tensor, %coord_32) : !memref_smem_f16_2, !cute.coord<"(_,?)">
          %iter_34 = cute.get_iter(%slice_33) : !memref_smem_f16_5
          %ptr_35 = cute.add_offset(%iter_0, %int_tuple_28) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %lay_36 = cute.get_layout(%slice) : !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1)):(((1@0,1@1),0))">
          %lay_37 = cute.get_layout(%slice_33) : !memref_smem_f16_5
          %append = cute.append_to_rank<2> (%lay_36, %lay) : !cute.layout<"(((64,128),1)):(((1@0,1@1),0))">, !cute.layout<"1:0">
          %int_tuple_38 = cute.make_int_tuple(%e0, %e1) : (!cute.int_tuple<"?{div=64}">, !cute.int_tuple<"?{div=128}">) -> !cute.int_tuple<"(?{div=64},?{div=128})">
          %int_tup_iter = cute.make_arith_tuple_iter(%int_tuple_38) : (!cute.int_tuple<"(?{div=64},?{div=128})">) -> !cute.arith_tuple_iter<"(?{div=64},?{div=128})">
          %view_39 = cute.make_view(%int_tup_iter, %append) : !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1),1):(((1@0,1@1),0),0)">
          %grouped_40 = cute.group_modes(%view_39) <1, 2> : (!cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1),1):(((1@0,1@1),0),0)">) -> !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1),(1)):(((1@0,1@1),0),(0))">
          %append_41 = cute.append_to_rank<2> (%lay_37, %lay) : !cute.layout<"((8192,1)):((1,0))">, !cute.layout<"1:0">
          %view_42 = cute.make_view(%iter_34, %append_41) : !memref_smem_f16_6
          %grouped_43 = cute.group_modes(%view_42) <1, 2> : (!memref_smem_f16_6) -> !memref_smem_f16_7
          %35 = cute_nvgpu.atom.make_exec_tma(%arg1) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN>) -> !cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,128):(1@1,1@0)">>
          %36 = cute_nvgpu.atom.set_value<tma_bar>(%35, %ptr_35) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,128):(1@1,1@0)">>, !cute.ptr<i64, smem>)
          cute.copy(%36, %grouped_40, %grouped_43) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,128):(1@1,1@0)">>, !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1),(1)):(((1@0,1@1),0),(0))">, !memref_smem_f16_7)
          %slice_44 = cute.slice(%res_target_tensors_15, %coord_30) : !cute.coord_tensor<"(0,?{div=128})", "(((64,128),1),8):(((1@0,1@1),0),64@0)">, !cute.coord<"(_,?)">
          %iter_45 = cute.get_iter(%slice_44) : !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1)):(((1@0,1@1),0))">
          %tup_46 = cute.deref_arith_tuple_iter(%iter_45) : !cute.arith_tuple_iter<"(?{div=64},?{div=128})">
          %e0_47, %e1_48 = cute.get_leaves(%tup_46) : !cute.int_tuple<"(?{div=64},?{div=128})">
          %slice_49 = cute.slice(%res_smem_tensor_14, %coord_32) : !memref_smem_f16_2, !cute.coord<"(_,?)">
          %iter_50 = cute.get_iter(%slice_49) : !memref_smem_f16_5
          %lay_51 = cute.get_layout(%slice_44) : !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1)):(((1@0,1@1),0))">
          %lay_52 = cute.get_layout(%slice_49) : !memref_smem_f16_5
          %append_53 = cute.append_to_rank<2> (%lay_51, %lay) : !cute.layout<"(((64,128),1)):(((1@0,1@1),0))">, !cute.layout<"1:0">
          %int_tuple_54 = cute.make_int_tuple(%e0_47, %e1_48) : (!cute.int_tuple<"?{div=64}">, !cute.int_tuple<"?{div=128}">) -> !cute.int_tuple<"(?{div=64},?{div=128})">
          %int_tup_iter_55 = cute.make_arith_tuple_iter(%int_tuple_54) : (!cute.int_tuple<"(?{div=64},?{div=128})">) -> !cute.arith_tuple_iter<"(?{div=64},?{div=128})">
          %view_56 = cute.make_view(%int_tup_iter_55, %append_53) : !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1),1):(((1@0,1@1),0),0)">
          %grouped_57 = cute.group_modes(%view_56) <1, 2> : (!cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1),1):(((1@0,1@1),0),0)">) -> !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1),(1)):(((1@0,1@1),0),(0))">
          %append_58 = cute.append_to_rank<2> (%lay_52, %lay) : !cute.layout<"((8192,1)):((1,0))">, !cute.layout<"1:0">
          %view_59 = cute.make_view(%iter_50, %append_58) : !memref_smem_f16_6
          %grouped_60 = cute.group_modes(%view_59) <1, 2> : (!memref_smem_f16_6) -> !memref_smem_f16_7
          %37 = cute_nvgpu.atom.make_exec_tma(%arg3) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN>) -> !cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,128):(1@1,1@0)">>
          %38 = cute_nvgpu.atom.set_value<tma_bar>(%37, %ptr_35) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,128):(1@1,1@0)">>, !cute.ptr<i64, smem>)
          cute.copy(%38, %grouped_57, %grouped_60) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,128):(1@1,1@0)">>, !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1),(1)):(((1@0,1@1),0),(0))">, !memref_smem_f16_7)
          scf.yield %31, %33, %34 : i32, i32, i32
        } {loop_annotation = #loop_annotation}
        scf.yield %27#0, %27#1, %27#2 : i32, i32, i32
      } else {
        scf.yield %c0_i32, %c0_i32, %c1_i32 : i32, i32, i32
      }
      %22:7 = scf.for %arg8 = %c0_i32 to %c8_i32 step %c1_i32 iter_args(%arg9 = %c0_i32, %arg10 = %c0_i32, %arg11 = %c0_i32, %arg12 = %20, %arg13 = %21#0, %arg14 = %21#1, %arg15 = %21#2) -> (i32, i32, i32, !mma_f16_f16_f32_64x128x16, i32, i32, i32)  : i32 {
        %int_tuple_28 = cute.make_int_tuple(%arg10) : (i32) -> !cute.int_tuple<"?">
        %ptr_29 = cute.add_offset(%iter_0, %int_tuple_28) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
        %27 = builtin.unrealized_conversion_cast %ptr_29 : !cute.ptr<i64, smem> to !llvm.ptr<3>
        nvvm.mbarrier.try_wait.parity %27, %arg11, %c10000000_i32 : !llvm.ptr<3>, i32, i32
        %28 = arith.addi %arg10, %c1_i32 : i32
        %29 = arith.addi %arg9, %c1_i32 : i32
        %30 = arith.cmpi eq, %28, %c4_i32 : i32
        %31 = arith.select %30, %c0_i32, %28 : i32
        %32 = scf.if %30 -> (i32) {
          %41 = arith.xori %arg11, %c1_i32 : i32
          scf.yield %41 : i32
        } else {
          scf.yield %arg11 : i32
        }
        nvvm.wgmma.fence.aligned
        %coord_30 = cute.make_coord(%arg10) : (i32) -> !cute.coord<"(_,_,0,?)">
        %slice = cute.slice(%frg_A, %coord_30) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,2,4,(1,4)):(0,512,2,(0,1024))">, !cute.coord<"(_,_,0,?)">
        %slice_31 = cute.slice(%frg_B, %coord_30) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,4)):(0,0,2,(0,1024))">, !cute.coord<"(_,_,0,?)">
        cute.gemm(%arg12, %frg_C, %slice, %slice_31, %frg_C) : (!mma_f16_f16_f32_64x128x16, !memref_rmem_f32, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,2):(0,512)">, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !memref_rmem_f32)
        %33 = cute_nvgpu.atom.set_value<accum_c>(%arg12, %true) : (!mma_f16_f16_f32_64x128x16, i1)
        %coord_32 = cute.make_coord(%arg10) : (i32) -> !cute.coord<"(_,_,1,?)">
        %slice_33 = cute.slice(%frg_A, %coord_32) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,2,4,(1,4)):(0,512,2,(0,1024))">, !cute.coord<"(_,_,1,?)">
        %slice_34 = cute.slice(%frg_B, %coord_32) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,4)):(0,0,2,(0,1024))">, !cute.coord<"(_,_,1,?)">
        cute.gemm(%33, %frg_C, %slice_33, %slice_34, %frg_C) : (!mma_f16_f16_f32_64x128x16, !memref_rmem_f32, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,2):(0,512)">, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !memref_rmem_f32)
        %34 = cute_nvgpu.atom.set_value<accum_c>(%33, %true) : (!mma_f16_f16_f32_64x128x16, i1)
        %coord_35 = cute.make_coord(%arg10) : (i32) -> !cute.coord<"(_,_,2,?)">
        %slice_36 = cute.slice(%frg_A, %coord_35) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,2,4,(1,4)):(0,512,2,(0,1024))">, !cute.coord<"(_,_,2,?)">
        %slice_37 = cute.slice(%frg_B, %coord_35) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,4)):(0,0,2,(0,1024))">, !cute.coord<"(_,_,2,?)">
        cute.gemm(%34, %frg_C, %slice_36, %slice_37, %frg_C) : (!mma_f16_f16_f32_64x128x16, !memref_rmem_f32, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,2):(0,512)">, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !memref_rmem_f32)
        %35 = cute_nvgpu.atom.set_value<accum_c>(%34, %true) : (!mma_f16_f16_f32_64x128x16, i1)
        %coord_38 = cute.make_coord(%arg10) : (i32) -> !cute.coord<"(_,_,3,?)">
        %slice_39 = cute.slice(%frg_A, %coord_38) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,2,4,(1,4)):(0,512,2,(0,1024))">, !cute.coord<"(_,_,3,?)">
        %slice_40 = cute.slice(%frg_B, %coord_38) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,4)):(0,0,2,(0,1024))">, !cute.coord<"(_,_,3,?)">
        cute.gemm(%35, %frg_C, %slice_39, %slice_40, %frg_C) : (!mma_f16_f16_f32_64x128x16, !memref_rmem_f32, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,2):(0,512)">, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !memref_rmem_f32)
        %36 = cute_nvgpu.atom.set_value<accum_c>(%35, %true) : (!mma_f16_f16_f32_64x128x16, i1)
        nvvm.wgmma.commit.group.sync.aligned
        nvvm.wgmma.wait.group.sync.aligned 0
        scf.if %19 {
          %ptr_41 = cute.add_offset(%ptr, %int_tuple_28) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %41 = builtin.unrealized_conversion_cast %ptr_41 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          %42 = nvvm.mbarrier.arrive %41, %c1_i32 : !llvm.ptr<3> -> i64
        }
        %37 = arith.addi %arg8, %c3_i32 : i32
        %38 = arith.cmpi slt, %37, %c8_i32 : i32
        %39 = arith.andi %17, %38 : i1
        %40:3 = scf.if %39 -> (i32, i32, i32) {
          %int_tuple_41 = cute.make_int_tuple(%arg14) : (i32) -> !cute.int_tuple<"?">
          %ptr_42 = cute.add_offset(%ptr, %int_tuple_41) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %41 = builtin.unrealized_conversion_cast %ptr_42 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.try_wait.parity %41, %arg15, %c10000000_i32 : !llvm.ptr<3>, i32, i32
          %42 = nvvm.elect.sync -> i1
          scf.if %42 {
            %ptr_75 = cute.add_offset(%iter_0, %int_tuple_41) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
            %52 = builtin.unrealized_conversion_cast %ptr_75 : !cute.ptr<i64, smem> to !llvm.ptr<3>
            %53 = nvvm.mbarrier.arrive.expect_tx %52, %c32768_i32 : !llvm.ptr<3>, i32 -> i64
          }
          %43 = arith.addi %arg14, %c1_i32 : i32
          %44 = arith.addi %arg13, %c1_i32 : i32
          %45 = arith.cmpi eq, %43, %c4_i32 : i32
          %46 = arith.select %45, %c0_i32, %43 : i32
          %47 = scf.if %45 -> (i32) {
            %52 = arith.xori %arg15, %c1_i32 : i32
            scf.yield %52 : i32
          } else {
            scf.yield %arg15 : i32
          }
          %coord_43 = cute.make_coord(%37) : (i32) -> !cute.coord<"(_,?)">
          %slice_44 = cute.slice(%res_target_tensors, %coord_43) : !cute.coord_tensor<"(0,?{div=128})", "(((64,128),1),8):(((1@0,1@1),0),64@0)">, !cute.coord<"(_,?)">
          %iter_45 = cute.get_iter(%slice_44) : !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1)):(((1@0,1@1),0))">
          %tup = cute.deref_arith_tuple_iter(%iter_45) : !cute.arith_tuple_iter<"(?{div=64},?{div=128})">
          %e0, %e1 = cute.get_leaves(%tup) : !cute.int_tuple<"(?{div=64},?{div=128})">
          %coord_46 = cute.make_coord(%arg14) : (i32) -> !cute.coord<"(_,?)">
          %slice_47 = cute.slice(%res_smem_tensor, %coord_46) : !memref_smem_f16_2, !cute.coord<"(_,?)">
          %iter_48 = cute.get_iter(%slice_47) : !memref_smem_f16_5
          %ptr_49 = cute.add_offset(%iter_0, %int_tuple_41) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %lay_50 = cute.get_layout(%slice_44) : !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1)):(((1@0,1@1),0))">
          %lay_51 = cute.get_layout(%slice_47) : !memref_smem_f16_5
          %append = cute.append_to_rank<2> (%lay_50, %lay) : !cute.layout<"(((64,128),1)):(((1@0,1@1),0))">, !cute.layout<"1:0">
          %int_tuple_52 = cute.make_int_tuple(%e0, %e1) : (!cute.int_tuple<"?{div=64}">, !cute.int_tuple<"?{div=128}">) -> !cute.int_tuple<"(?{div=64},?{div=128})">
          %int_tup_iter = cute.make_arith_tuple_iter(%int_tuple_52) : (!cute.int_tuple<"(?{div=64},?{div=128})">) -> !cute.arith_tuple_iter<"(?{div=64},?{div=128})">
          %view_53 = cute.make_view(%int_tup_iter, %append) : !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1),1):(((1@0,1@1),0),0)">
          %grouped_54 = cute.group_modes(%view_53) <1, 2> : (!cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1),1):(((1@0,1@1),0),0)">) -> !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1),(1)):(((1@0,1@1),0),(0))">
          %append_55 = cute.append_to_rank<2> (%lay_51, %lay) : !cute.layout<"((8192,1)):((1,0))">, !cute.layout<"1:0">
          %view_56 = cute.make_view(%iter_48, %append_55) : !memref_smem_f16_6
          %grouped_57 = cute.group_modes(%view_56) <1, 2> : (!memref_smem_f16_6) -> !memref_smem_f16_7
          %48 = cute_nvgpu.atom.make_exec_tma(%arg1) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN>) -> !cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,128):(1@1,1@0)">>
          %49 = cute_nvgpu.atom.set_value<tma_bar>(%48, %ptr_49) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,128):(1@1,1@0)">>, !cute.ptr<i64, smem>)
          cute.copy(%49, %grouped_54, %grouped_57) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,128):(1@1,1@0)">>, !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1),(1)):(((1@0,1@1),0),(0))">, !memref_smem_f16_7)
          %slice_58 = cute.slice(%res_target_tensors_15, %coord_43) : !cute.coord_tensor<"(0,?{div=128})", "(((64,128),1),8):(((1@0,1@1),0),64@0)">, !cute.coord<"(_,?)">
          %iter_59 = cute.get_iter(%slice_58) : !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1)):(((1@0,1@1),0))">
          %tup_60 = cute.deref_arith_tuple_iter(%iter_59) : !cute.arith_tuple_iter<"(?{div=64},?{div=128})">
          %e0_61, %e1_62 = cute.get_leaves(%tup_60) : !cute.int_tuple<"(?{div=64},?{div=128})">
          %slice_63 = cute.slice(%res_smem_tensor_14, %coord_46) : !memref_smem_f16_2, !cute.coord<"(_,?)">
          %iter_64 = cute.get_iter(%slice_63) : !memref_smem_f16_5
          %lay_65 = cute.get_layout(%slice_58) : !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1)):(((1@0,1@1),0))">
          %lay_66 = cute.get_layout(%slice_63) : !memref_smem_f16_5
          %append_67 = cute.append_to_rank<2> (%lay_65, %lay) : !cute.layout<"(((64,128),1)):(((1@0,1@1),0))">, !cute.layout<"1:0">
          %int_tuple_68 = cute.make_int_tuple(%e0_61, %e1_62) : (!cute.int_tuple<"?{div=64}">, !cute.int_tuple<"?{div=128}">) -> !cute.int_tuple<"(?{div=64},?{div=128})">
          %int_tup_iter_69 = cute.make_arith_tuple_iter(%int_tuple_68) : (!cute.int_tuple<"(?{div=64},?{div=128})">) -> !cute.arith_tuple_iter<"(?{div=64},?{div=128})">
          %view_70 = cute.make_view(%int_tup_iter_69, %append_67) : !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1),1):(((1@0,1@1),0),0)">
          %grouped_71 = cute.group_modes(%view_70) <1, 2> : (!cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1),1):(((1@0,1@1),0),0)">) -> !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1),(1)):(((1@0,1@1),0),(0))">
          %append_72 = cute.append_to_rank<2> (%lay_66, %lay) : !cute.layout<"((8192,1)):((1,0))">, !cute.layout<"1:0">
          %view_73 = cute.make_view(%iter_64, %append_72) : !memref_smem_f16_6
          %grouped_74 = cute.group_modes(%view_73) <1, 2> : (!memref_smem_f16_6) -> !memref_smem_f16_7
          %50 = cute_nvgpu.atom.make_exec_tma(%arg3) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN>) -> !cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,128):(1@1,1@0)">>
          %51 = cute_nvgpu.atom.set_value<tma_bar>(%50, %ptr_49) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,128):(1@1,1@0)">>, !cute.ptr<i64, smem>)
          cute.copy(%51, %grouped_71, %grouped_74) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,128):(1@1,1@0)">>, !cute.coord_tensor<"(?{div=64},?{div=128})", "(((64,128),1),(1)):(((1@0,1@1),0),(0))">, !memref_smem_f16_7)
          scf.yield %44, %46, %47 : i32, i32, i32
        } else {
          scf.yield %arg13, %arg14, %arg15 : i32, i32, i32
        }
        scf.yield %29, %31, %32, %36, %40#0, %40#1, %40#2 : i32, i32, i32, !mma_f16_f16_f32_64x128x16, i32, i32, i32
      } {loop_annotation = #loop_annotation}
      %rmem = cute.memref.alloca() : !memref_rmem_f16
      %23 = cute.memref.load_vec(%frg_C) : (!memref_rmem_f32) -> vector<128xf32>
      %24 = arith.truncf %23 : vector<128xf32> to vector<128xf16>
      %lay_22 = cute.get_layout(%rmem) : !memref_rmem_f16
      cute.memref.store_vec(%24, %rmem) : (vector<128xf16>, !memref_rmem_f16) -> ()
      %rinv = cute.right_inverse(%lay_20) : (!cute.layout<"((2,2,16),2,1):((1,8192,8),65536,0)">) -> !cute.layout<"2:1">
      %25 = cute.composition(%lay_22, %rinv) : (!cute.layout<"((2,2,16),2,1):((1,2,4),64,0)">, !cute.layout<"2:1">) -> !cute.layout<"2:1">
      %coalesce = cute.coalesce(%25) : (!cute.layout<"2:1">) -> !cute.layout<"2:1">
      %26 = cute.composition(%rinv, %coalesce) : (!cute.layout<"2:1">, !cute.layout<"2:1">) -> !cute.layout<"2:1">
      %div = cute.logical_divide(%rmem, %26) : !memref_rmem_f16, !cute.layout<"2:1">
      %div_23 = cute.logical_divide(%ptn_C, %26) : !memref_gmem_f16_2, !cute.layout<"2:1">
      %shape_24 = cute.make_shape() : () -> !cute.shape<"2">
      %lay_25 = cute.make_layout(%shape_24) : !cute.layout<"2:1">
      %div_26 = cute.logical_divide(%div, %lay_25) : !memref_rmem_f16_1, !cute.layout<"2:1">
      %div_27 = cute.logical_divide(%div_23, %lay_25) : !memref_gmem_f16_3, !cute.layout<"2:1">
      %atom = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<f16, 32 b>
      cute.copy(%atom, %div_26, %div_27) : (!cute_nvgpu.atom.universal_copy<f16, 32 b>, !memref_rmem_f16_1, !memref_gmem_f16_3)
      return
    }
  }
  func.func @cutlass_gemm_FakeTensorFloat1610245125121_FakeTensorFloat1610245125121_FakeTensorFloat161024102410241(%arg0: !memref_gmem_f16_4, %arg1: !memref_gmem_f16_4, %arg2: !memref_gmem_f16) -> i32 attributes {llvm.emit_c_interface} {
    %c0_i32 = arith.constant 0 : i32
    %c8_i32 = arith.constant 8 : i32
    %c1_i32 = arith.constant 1 : i32
    %c128_i32 = arith.constant 128 : i32
    %c0_i64 = arith.constant 0 : i64
    %c232448_i64 = arith.constant 232448 : i64
    %0 = cute.static : !cute.swizzle<"S<3,4,3>">
    %false = arith.constant false
    %atom = cute.make_atom(%false) : (i1) -> !cute_nvgpu.sm90.mma<64x128x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>
    %1 = cute.make_tiled_mma(%atom) : !mma_f16_f16_f32_64x128x16
    %shape = cute.make_shape() : () -> !cute.shape<"(8,64)">
    %stride = cute.make_stride() : () -> !cute.stride<"(64,1)">
    %lay = cute.make_layout(%shape, %stride) : !cute.layout<"(8,64):(64,1)">
    %int_tuple = cute.make_int_tuple() : () -> !cute.int_tuple<"0">
    %lay_0 = cute.make_composed_layout(%0, %int_tuple, %lay) : !cute.composed_layout<"S<3,4,3> o 0 o (8,64):(64,1)">
    %shape_1 = cute.make_shape() : () -> !cute.shape<"(128,64,4)">
    %int_tuple_2 = cute.make_int_tuple() : () -> !cute.int_tuple<"(0,1,2)">
    %tile_to_shape = cute.tile_to_shape(%lay_0, %shape_1, %int_tuple_2) : (!cute.composed_layout<"S<3,4,3> o 0 o (8,64):(64,1)">, !cute.shape<"(128,64,4)">, !cute.int_tuple<"(0,1,2)">) -> !cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))">
    %coord = cute.make_coord() : () -> !cute.coord<"(_,_,0)">
    %slice = cute.slice(%tile_to_shape, %coord) : !cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))">, !cute.coord<"(_,_,0)">
    %shape_3 = cute.make_shape() : () -> !cute.shape<"(1024,512)">
    %2 = cute.make_identity_layout(%shape_3) : !cute.layout<"(1024,512):(1@0,1@1)">
    %tile = cute.make_tile() : () -> !cute.tile<"[128:1;64:1]">
    %3 = cute.composition(%2, %tile) : (!cute.layout<"(1024,512):(1@0,1@1)">, !cute.tile<"[128:1;64:1]">) -> !cute.layout<"(128,64):(1@0,1@1)">
    %non_exec_atom, %tma_tensor = cute_nvgpu.atom.make_non_exec_tiled_tma_load(%arg0, %slice, %3) <{kind = <sm_90> num_multicast = 1}> : (!memref_gmem_f16_4, !cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1)):((64,512),(1,0))">, !cute.layout<"(128,64):(1@0,1@1)">) -> (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(1024,512):(1@1,1@0)">)
    %non_exec_atom_4, %tma_tensor_5 = cute_nvgpu.atom.make_non_exec_tiled_tma_load(%arg1, %slice, %3) <{kind = <sm_90> num_multicast = 1}> : (!memref_gmem_f16_4, !cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1)):((64,512),(1,0))">, !cute.layout<"(128,64):(1@0,1@1)">) -> (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(1024,512):(1@1,1@0)">)
    %4 = cute.kernel_smem_size @kernels::@kernel_cutlass_kernel_Float16_TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK6412816_TVLayoutA12864160164_TVLayoutB1281281601128_TVLayoutC4842216128116648512_0 : i64
    %5 = arith.cmpi sgt, %4, %c232448_i64 : i64
    scf.if %5 {
      cute.print("\0AError: kernel '@kernels::@kernel_cutlass_kernel_Float16_TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK6412816_TVLayoutA12864160164_TVLayoutB1281281601128_TVLayoutC4842216128116648512_0' launch shared memory exceeds current GPU arch sm_90a allowed. Allocated: {} bytes. Max: 232448 bytes.\0A\0A", %4) : i64
    }
    %6 = cuda.cast %c0_i64 : i64 -> !cuda.stream
    %7 = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%c128_i32, %c1_i32, %c1_i32), dynamicSmemBytes = %4, gridDim = (%c8_i32, %c8_i32, %c1_i32), stream = %6) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 17>
    cuda.launch_cfg.programmatic_stream_serialization_allowed[%7] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    cuda.launch_cfg.cooperative[%7] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    %8 = cuda.launch_ex @kernels::@kernel_cutlass_kernel_Float16_TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK6412816_TVLayoutA12864160164_TVLayoutB1281281601128_TVLayoutC4842216128116648512_0<%7> (%1, %non_exec_atom, %tma_tensor, %non_exec_atom_4, %tma_tensor_5, %arg2, %tile_to_shape, %tile_to_shape) {assume_kernel_attr = #cuda.assume_kernel_attr<true>} : !cuda.launch_cfg<max_attrs = 17>, (!mma_f16_f16_f32_64x128x16, !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(1024,512):(1@1,1@0)">, !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(1024,512):(1@1,1@0)">, !memref_gmem_f16, !cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))">, !cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))">) -> !cuda.result
    %9 = cuda.cast %8 : !cuda.result -> i32
    cuda.return_if_error %9 : i32
    return %c0_i32 : i32
  }
}

