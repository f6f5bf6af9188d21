// BUGS 19: the register operand of a wgmma is overwritten while it is pending (triton#9433, #8964).

!map = !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>
!tma = !cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
!coords = !cute.coord_tensor<"(0,0)", "(((64,64),1),(1)):(((1@1,1@0),0),(0))">
!tile = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),(1)):((1,0),(0))">
!mma = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x64x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = rs>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
!operand = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((64,16),1,4):((64,1),0,16)">
!desc = !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4):(0,0,2)">
!acc = !cute.memref<f32, rmem, align<32>, "((2,2,8),1,1):((1,2,4),0,0)">
!afrag = !cute.memref<f16, rmem, align<32>, "((2,2,2),1,4):((1,2,4),0,8)">
gpu.module @kernels {
  cuda.kernel @k(%mma: !mma, %map: !map, %from: !coords, %converted: vector<32xf16>, %k_tiles: i32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c10000000 = arith.constant 10000000 : i32
    %c8192 = arith.constant 8192 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %smem_b_bytes = cute.memref.alloca() {smem.struct_fields = ["smem_b:8192:0"]} : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_b_raw = cute.get_iter(%smem_b_bytes) : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_b = cute.recast_iter(%smem_b_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %full_bytes = cute.memref.alloca() {smem.struct_fields = ["full_mbar:8:0"]} : !cute.memref<i8, smem, align<8>, "8:1">
    %full_raw = cute.get_iter(%full_bytes) : !cute.memref<i8, smem, align<8>, "8:1">
    %full_iter = cute.recast_iter(%full_raw) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i64, smem>
    %full = builtin.unrealized_conversion_cast %full_iter : !cute.ptr<i64, smem> to !llvm.ptr<3>
    scf.if %first {
      %one = nvvm.elect.sync -> i1
      scf.if %one {
        nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
      }
    }
    nvvm.fence.mbarrier.init
    nvvm.barrier
    %tile_b_layout = cute.make_layout() : !cute.layout<"((4096,1),(1)):((1,0),(0))">
    %tile_b = cute.make_view(%smem_b, %tile_b_layout) : !tile
    %b_layout = cute.make_layout() : !cute.layout<"((64,16),1,4):((64,1),0,16)">
    %b = cute.make_view(%smem_b, %b_layout) : !operand
    %desc_b = cute.mma.make_fragment B (%mma, %b) : (!mma, !operand) -> !desc
    %acc = cute.memref.alloca() : !acc
    %afrag = cute.memref.alloca() : !afrag
    scf.if %first {
      %chosen1 = nvvm.elect.sync -> i1
      scf.if %chosen1 {
        %token1 = nvvm.mbarrier.arrive.expect_tx %full, %c8192 : !llvm.ptr<3>, i32 -> i64
      }
      %exec1 = cute_nvgpu.atom.make_exec_tma(%map) : (!map) -> !tma
      %atom1 = cute_nvgpu.atom.set_value<tma_bar>(%exec1, %full_iter) : (!tma, !cute.ptr<i64, smem>)
      cute.copy(%atom1, %from, %tile_b) : (!tma, !coords, !tile)
    }
    nvvm.mbarrier.try_wait.parity %full, %c0, %c10000000 : !llvm.ptr<3>, i32, i32
    scf.for %k = %c0 to %k_tiles step %c1 : i32 {
      cute.memref.store_vec(%converted, %afrag) : (vector<32xf16>, !afrag) -> ()
      nvvm.wgmma.fence.aligned
      cute.gemm(%mma, %acc, %afrag, %desc_b, %acc) : (!mma, !acc, !afrag, !desc, !acc)
      nvvm.wgmma.commit.group.sync.aligned
      // expected-error@+1 {{threads access registers %afrag while a wgmma that uses them is in flight: this wait leaves 1 in flight}}
      nvvm.wgmma.wait.group.sync.aligned 1
    }
    nvvm.wgmma.wait.group.sync.aligned 0
    return
  }
}

// -----

!map = !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>
!tma = !cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
!coords = !cute.coord_tensor<"(0,0)", "(((64,64),1),(1)):(((1@1,1@0),0),(0))">
!tile = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),(1)):((1,0),(0))">
!mma = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x64x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = rs>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
!operand = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((64,16),1,4):((64,1),0,16)">
!desc = !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4):(0,0,2)">
!acc = !cute.memref<f32, rmem, align<32>, "((2,2,8),1,1):((1,2,4),0,0)">
!afrag = !cute.memref<f16, rmem, align<32>, "((2,2,2),1,4):((1,2,4),0,8)">
gpu.module @kernels {
  cuda.kernel @k(%mma: !mma, %map: !map, %from: !coords, %converted: vector<32xf16>, %k_tiles: i32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c10000000 = arith.constant 10000000 : i32
    %c8192 = arith.constant 8192 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %smem_b_bytes = cute.memref.alloca() {smem.struct_fields = ["smem_b:8192:0"]} : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_b_raw = cute.get_iter(%smem_b_bytes) : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_b = cute.recast_iter(%smem_b_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %full_bytes = cute.memref.alloca() {smem.struct_fields = ["full_mbar:8:0"]} : !cute.memref<i8, smem, align<8>, "8:1">
    %full_raw = cute.get_iter(%full_bytes) : !cute.memref<i8, smem, align<8>, "8:1">
    %full_iter = cute.recast_iter(%full_raw) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i64, smem>
    %full = builtin.unrealized_conversion_cast %full_iter : !cute.ptr<i64, smem> to !llvm.ptr<3>
    scf.if %first {
      %one = nvvm.elect.sync -> i1
      scf.if %one {
        nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
      }
    }
    nvvm.fence.mbarrier.init
    nvvm.barrier
    %tile_b_layout = cute.make_layout() : !cute.layout<"((4096,1),(1)):((1,0),(0))">
    %tile_b = cute.make_view(%smem_b, %tile_b_layout) : !tile
    %b_layout = cute.make_layout() : !cute.layout<"((64,16),1,4):((64,1),0,16)">
    %b = cute.make_view(%smem_b, %b_layout) : !operand
    %desc_b = cute.mma.make_fragment B (%mma, %b) : (!mma, !operand) -> !desc
    %acc = cute.memref.alloca() : !acc
    %afrag = cute.memref.alloca() : !afrag
    scf.if %first {
      %chosen1 = nvvm.elect.sync -> i1
      scf.if %chosen1 {
        %token1 = nvvm.mbarrier.arrive.expect_tx %full, %c8192 : !llvm.ptr<3>, i32 -> i64
      }
      %exec1 = cute_nvgpu.atom.make_exec_tma(%map) : (!map) -> !tma
      %atom1 = cute_nvgpu.atom.set_value<tma_bar>(%exec1, %full_iter) : (!tma, !cute.ptr<i64, smem>)
      cute.copy(%atom1, %from, %tile_b) : (!tma, !coords, !tile)
    }
    nvvm.mbarrier.try_wait.parity %full, %c0, %c10000000 : !llvm.ptr<3>, i32, i32
    scf.for %k = %c0 to %k_tiles step %c1 : i32 {
      cute.memref.store_vec(%converted, %afrag) : (vector<32xf16>, !afrag) -> ()
      nvvm.wgmma.fence.aligned
      cute.gemm(%mma, %acc, %afrag, %desc_b, %acc) : (!mma, !acc, !afrag, !desc, !acc)
      nvvm.wgmma.commit.group.sync.aligned
      // expected-error@+1 {{threads access registers %afrag while a wgmma that uses them is in flight: this wait leaves 7 in flight}}
      nvvm.wgmma.wait.group.sync.aligned 7
    }
    nvvm.wgmma.wait.group.sync.aligned 0
    return
  }
}

// -----

!map = !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>
!tma = !cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
!coords = !cute.coord_tensor<"(0,0)", "(((64,64),1),(1)):(((1@1,1@0),0),(0))">
!tile = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),(1)):((1,0),(0))">
!mma = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x64x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = rs>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
!operand = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((64,16),1,4):((64,1),0,16)">
!desc = !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4):(0,0,2)">
!acc = !cute.memref<f32, rmem, align<32>, "((2,2,8),1,1):((1,2,4),0,0)">
!afrag = !cute.memref<f16, rmem, align<32>, "((2,2,2),1,4):((1,2,4),0,8)">
gpu.module @kernels {
  cuda.kernel @k(%mma: !mma, %map: !map, %from: !coords, %converted: vector<32xf16>, %k_tiles: i32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c10000000 = arith.constant 10000000 : i32
    %c8192 = arith.constant 8192 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %smem_b_bytes = cute.memref.alloca() {smem.struct_fields = ["smem_b:8192:0"]} : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_b_raw = cute.get_iter(%smem_b_bytes) : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_b = cute.recast_iter(%smem_b_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %full_bytes = cute.memref.alloca() {smem.struct_fields = ["full_mbar:8:0"]} : !cute.memref<i8, smem, align<8>, "8:1">
    %full_raw = cute.get_iter(%full_bytes) : !cute.memref<i8, smem, align<8>, "8:1">
    %full_iter = cute.recast_iter(%full_raw) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i64, smem>
    %full = builtin.unrealized_conversion_cast %full_iter : !cute.ptr<i64, smem> to !llvm.ptr<3>
    scf.if %first {
      %one = nvvm.elect.sync -> i1
      scf.if %one {
        nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
      }
    }
    nvvm.fence.mbarrier.init
    nvvm.barrier
    %tile_b_layout = cute.make_layout() : !cute.layout<"((4096,1),(1)):((1,0),(0))">
    %tile_b = cute.make_view(%smem_b, %tile_b_layout) : !tile
    %b_layout = cute.make_layout() : !cute.layout<"((64,16),1,4):((64,1),0,16)">
    %b = cute.make_view(%smem_b, %b_layout) : !operand
    %desc_b = cute.mma.make_fragment B (%mma, %b) : (!mma, !operand) -> !desc
    %acc = cute.memref.alloca() : !acc
    %afrag = cute.memref.alloca() : !afrag
    scf.if %first {
      %chosen1 = nvvm.elect.sync -> i1
      scf.if %chosen1 {
        %token1 = nvvm.mbarrier.arrive.expect_tx %full, %c8192 : !llvm.ptr<3>, i32 -> i64
      }
      %exec1 = cute_nvgpu.atom.make_exec_tma(%map) : (!map) -> !tma
      %atom1 = cute_nvgpu.atom.set_value<tma_bar>(%exec1, %full_iter) : (!tma, !cute.ptr<i64, smem>)
      cute.copy(%atom1, %from, %tile_b) : (!tma, !coords, !tile)
    }
    nvvm.mbarrier.try_wait.parity %full, %c0, %c10000000 : !llvm.ptr<3>, i32, i32
    scf.for %k = %c0 to %k_tiles step %c1 : i32 {
      cute.memref.store_vec(%converted, %afrag) : (vector<32xf16>, !afrag) -> ()
      nvvm.wgmma.fence.aligned
      cute.gemm(%mma, %acc, %afrag, %desc_b, %acc) : (!mma, !acc, !afrag, !desc, !acc)
      nvvm.wgmma.commit.group.sync.aligned
      nvvm.wgmma.wait.group.sync.aligned 0
    }
    nvvm.wgmma.wait.group.sync.aligned 0
    return
  }
}
