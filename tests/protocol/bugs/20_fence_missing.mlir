// BUGS 20: no proxy fence between the writes of threads and wgmma, TMA or tcgen05; no fence behind the initialisation of
// mbarriers (FlashKDA#24, sglang#39124, TileOPs#1574).

!mma = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x64x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
!operand = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((64,16),1,4):((64,1),0,16)">
!desc = !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4):(0,0,2)">
!acc = !cute.memref<f32, rmem, align<32>, "((2,2,8),1,1):((1,2,4),0,0)">
!row = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "4096:1">
gpu.module @kernels {
  cuda.kernel @k(%mma: !mma, %value: f16) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %smem_a_bytes = cute.memref.alloca() {smem.struct_fields = ["smem_a:8192:0"]} : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_a_raw = cute.get_iter(%smem_a_bytes) : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_a = cute.recast_iter(%smem_a_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %smem_b_bytes = cute.memref.alloca() {smem.struct_fields = ["smem_b:8192:0"]} : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_b_raw = cute.get_iter(%smem_b_bytes) : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_b = cute.recast_iter(%smem_b_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %row_a_layout = cute.make_layout() : !cute.layout<"4096:1">
    %row_a = cute.make_view(%smem_a, %row_a_layout) : !row
    %a_layout = cute.make_layout() : !cute.layout<"((64,16),1,4):((64,1),0,16)">
    %a = cute.make_view(%smem_a, %a_layout) : !operand
    %b_layout = cute.make_layout() : !cute.layout<"((64,16),1,4):((64,1),0,16)">
    %b = cute.make_view(%smem_b, %b_layout) : !operand
    %desc_a = cute.mma.make_fragment A (%mma, %a) : (!mma, !operand) -> !desc
    %desc_b = cute.mma.make_fragment B (%mma, %b) : (!mma, !operand) -> !desc
    %acc = cute.memref.alloca() : !acc
    %at = cute.make_coord(%tid) : (i32) -> !cute.coord<"?">
    // expected-error@+1 {{RAW hazard across proxies on 'smem_a': the read by wgmma uses the async proxy, and no proxy fence follows the write by threads: nothing stands after this that orders it}}
    cute.memref.store(%row_a, %at, %value) : (!row, !cute.coord<"?">, f16) -> ()
    nvvm.barrier
    nvvm.wgmma.fence.aligned
    cute.gemm(%mma, %acc, %desc_a, %desc_b, %acc) : (!mma, !acc, !desc, !desc, !acc)
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    return
  }
}

// -----

!mma = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x64x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
!operand = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((64,16),1,4):((64,1),0,16)">
!desc = !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4):(0,0,2)">
!acc = !cute.memref<f32, rmem, align<32>, "((2,2,8),1,1):((1,2,4),0,0)">
!row = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "4096:1">
gpu.module @kernels {
  cuda.kernel @k(%mma: !mma, %value: f16) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %smem_a_bytes = cute.memref.alloca() {smem.struct_fields = ["smem_a:8192:0"]} : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_a_raw = cute.get_iter(%smem_a_bytes) : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_a = cute.recast_iter(%smem_a_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %smem_b_bytes = cute.memref.alloca() {smem.struct_fields = ["smem_b:8192:0"]} : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_b_raw = cute.get_iter(%smem_b_bytes) : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_b = cute.recast_iter(%smem_b_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %row_a_layout = cute.make_layout() : !cute.layout<"4096:1">
    %row_a = cute.make_view(%smem_a, %row_a_layout) : !row
    %a_layout = cute.make_layout() : !cute.layout<"((64,16),1,4):((64,1),0,16)">
    %a = cute.make_view(%smem_a, %a_layout) : !operand
    %b_layout = cute.make_layout() : !cute.layout<"((64,16),1,4):((64,1),0,16)">
    %b = cute.make_view(%smem_b, %b_layout) : !operand
    %desc_a = cute.mma.make_fragment A (%mma, %a) : (!mma, !operand) -> !desc
    %desc_b = cute.mma.make_fragment B (%mma, %b) : (!mma, !operand) -> !desc
    %acc = cute.memref.alloca() : !acc
    %at = cute.make_coord(%tid) : (i32) -> !cute.coord<"?">
    cute.memref.store(%row_a, %at, %value) : (!row, !cute.coord<"?">, f16) -> ()
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    nvvm.barrier
    nvvm.wgmma.fence.aligned
    cute.gemm(%mma, %acc, %desc_a, %desc_b, %acc) : (!mma, !acc, !desc, !desc, !acc)
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    return
  }
}

// -----

!outmap = !cute_nvgpu.atom.non_exec_tiled_tma_store<f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>
!out = !cute_nvgpu.atom.tma_store<f16, copy_bits = 65536, mode = tiled, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
!coords = !cute.coord_tensor<"(0,0)", "(((64,64),1),(1)):(((1@1,1@0),0),(0))">
!tile = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),(1)):((1,0),(0))">
!row = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "4096:1">
gpu.module @kernels {
  cuda.kernel @k(%map: !outmap, %to: !coords, %value: f16) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %smem_a_bytes = cute.memref.alloca() {smem.struct_fields = ["smem_a:8192:0"]} : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_a_raw = cute.get_iter(%smem_a_bytes) : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_a = cute.recast_iter(%smem_a_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %row_a_layout = cute.make_layout() : !cute.layout<"4096:1">
    %row_a = cute.make_view(%smem_a, %row_a_layout) : !row
    %tile_a_layout = cute.make_layout() : !cute.layout<"((4096,1),(1)):((1,0),(0))">
    %tile_a = cute.make_view(%smem_a, %tile_a_layout) : !tile
    %at = cute.make_coord(%tid) : (i32) -> !cute.coord<"?">
    // expected-error@+1 {{RAW hazard across proxies on 'smem_a': the read by a bulk store uses the async proxy, and no proxy fence follows the write by threads: nothing stands after this that orders it}}
    cute.memref.store(%row_a, %at, %value) : (!row, !cute.coord<"?">, f16) -> ()
    nvvm.barrier
    scf.if %first {
      %exec = cute_nvgpu.atom.make_exec_tma(%map) : (!outmap) -> !out
      cute.copy(%exec, %tile_a, %to) : (!out, !tile, !coords)
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0 {read}
    }
    return
  }
}

// -----

!outmap = !cute_nvgpu.atom.non_exec_tiled_tma_store<f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>
!out = !cute_nvgpu.atom.tma_store<f16, copy_bits = 65536, mode = tiled, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
!coords = !cute.coord_tensor<"(0,0)", "(((64,64),1),(1)):(((1@1,1@0),0),(0))">
!tile = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),(1)):((1,0),(0))">
!row = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "4096:1">
gpu.module @kernels {
  cuda.kernel @k(%map: !outmap, %to: !coords, %value: f16) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %smem_a_bytes = cute.memref.alloca() {smem.struct_fields = ["smem_a:8192:0"]} : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_a_raw = cute.get_iter(%smem_a_bytes) : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_a = cute.recast_iter(%smem_a_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %row_a_layout = cute.make_layout() : !cute.layout<"4096:1">
    %row_a = cute.make_view(%smem_a, %row_a_layout) : !row
    %tile_a_layout = cute.make_layout() : !cute.layout<"((4096,1),(1)):((1,0),(0))">
    %tile_a = cute.make_view(%smem_a, %tile_a_layout) : !tile
    %at = cute.make_coord(%tid) : (i32) -> !cute.coord<"?">
    cute.memref.store(%row_a, %at, %value) : (!row, !cute.coord<"?">, f16) -> ()
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    nvvm.barrier
    scf.if %first {
      %exec = cute_nvgpu.atom.make_exec_tma(%map) : (!outmap) -> !out
      cute.copy(%exec, %tile_a, %to) : (!out, !tile, !coords)
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0 {read}
    }
    return
  }
}

// -----

!mma = !cute.tiled_mma<!cute_nvgpu.sm100.mma<128x64x16, num_cta = 1, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss, c_scale_exp = 0>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
!operand_a = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((128,16),1,4):((64,1),0,16)">
!operand_b = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((64,16),1,4):((64,1),0,16)">
!desc = !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4):(0,0,2)">
!acc = !cute.memref<f32, tmem, align<16>, "((128,64),1,1):((65536,1),0,0)">
!ld = !cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x64>
!part = !cute.memref<f32, tmem, align<16>, "(((64,32),1),(1)):(((1,65536),0),(0))">
!regs = !cute.memref<f32, rmem, align<32>, "((64,1),(1)):((1,0),(0))">
!row = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "4096:1">
gpu.module @kernels {
  cuda.kernel @k(%mma: !mma, %value: f16) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c10000000 = arith.constant 10000000 : i32
    %c64 = arith.constant 64 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %smem_a_bytes = cute.memref.alloca() {smem.struct_fields = ["smem_a:16384:0"]} : !cute.memref<i8, smem, align<1024>, "16384:1">
    %smem_a_raw = cute.get_iter(%smem_a_bytes) : !cute.memref<i8, smem, align<1024>, "16384:1">
    %smem_a = cute.recast_iter(%smem_a_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %smem_b_bytes = cute.memref.alloca() {smem.struct_fields = ["smem_b:8192:0"]} : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_b_raw = cute.get_iter(%smem_b_bytes) : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_b = cute.recast_iter(%smem_b_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %slot_bytes = cute.memref.alloca() {smem.struct_fields = ["tmem_slot:4:0"]} : !cute.memref<i8, smem, align<8>, "4:1">
    %slot_raw = cute.get_iter(%slot_bytes) : !cute.memref<i8, smem, align<8>, "4:1">
    %slot = cute.recast_iter(%slot_raw) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i32, smem, align<8>>
    %done_bytes = cute.memref.alloca() {smem.struct_fields = ["done_mbar:8:0"]} : !cute.memref<i8, smem, align<8>, "8:1">
    %done_raw = cute.get_iter(%done_bytes) : !cute.memref<i8, smem, align<8>, "8:1">
    %done_iter = cute.recast_iter(%done_raw) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i64, smem>
    %done = builtin.unrealized_conversion_cast %done_iter : !cute.ptr<i64, smem> to !llvm.ptr<3>
    scf.if %first {
      %one = nvvm.elect.sync -> i1
      scf.if %one {
        nvvm.mbarrier.init %done, %c1 : !llvm.ptr<3>, i32
      }
    }
    nvvm.fence.mbarrier.init
    nvvm.barrier
    %row_a_layout = cute.make_layout() : !cute.layout<"4096:1">
    %row_a = cute.make_view(%smem_a, %row_a_layout) : !row
    %a_layout = cute.make_layout() : !cute.layout<"((128,16),1,4):((64,1),0,16)">
    %a = cute.make_view(%smem_a, %a_layout) : !operand_a
    %b_layout = cute.make_layout() : !cute.layout<"((64,16),1,4):((64,1),0,16)">
    %b = cute.make_view(%smem_b, %b_layout) : !operand_b
    %desc_a = cute.mma.make_fragment A (%mma, %a) : (!mma, !operand_a) -> !desc
    %desc_b = cute.mma.make_fragment B (%mma, %b) : (!mma, !operand_b) -> !desc
    scf.if %first {
      cute_nvgpu.arch.sm100.alloc_tmem(%c64, %slot) [ cta_1] : i32, !cute.ptr<i32, smem, align<8>>
      cute_nvgpu.arch.sm100.relinquish_tmem_alloc_permit [ cta_1]
    }
    nvvm.barrier
    %tmem = cute_nvgpu.arch.sm100.retrieve_tmem_ptr(%slot) : !cute.ptr<i32, smem, align<8>> -> !cute.ptr<f32, tmem, align<16>>
    %acc_layout = cute.make_layout() : !cute.layout<"((128,64),1,1):((65536,1),0,0)">
    %acc = cute.make_view(%tmem, %acc_layout) : !acc
    %part_layout = cute.make_layout() : !cute.layout<"(((64,32),1),(1)):(((1,65536),0),(0))">
    %part = cute.make_view(%tmem, %part_layout) : !part
    %regs = cute.memref.alloca() : !regs
    %ld = cute.make_atom() : () -> !ld
    %at = cute.make_coord(%tid) : (i32) -> !cute.coord<"?">
    // expected-error@+1 {{RAW hazard across proxies on 'smem_a': the read by tcgen05.mma uses the async proxy, and no proxy fence follows the write by threads: nothing stands after this that orders it}}
    cute.memref.store(%row_a, %at, %value) : (!row, !cute.coord<"?">, f16) -> ()
    nvvm.barrier
    scf.if %first {
      cute.gemm(%mma, %acc, %desc_a, %desc_b, %acc) : (!mma, !acc, !desc, !desc, !acc)
      %leader = nvvm.elect.sync -> i1
      scf.if %leader {
        nvvm.tcgen05.commit %done : !llvm.ptr<3>
      }
    }
    nvvm.mbarrier.try_wait.parity %done, %c0, %c10000000 : !llvm.ptr<3>, i32, i32
    cute.copy(%ld, %part, %regs) : (!ld, !part, !regs)
    nvvm.barrier
    scf.if %first {
      cute_nvgpu.arch.sm100.dealloc_tmem(%tmem, %c64) [ cta_1] : !cute.ptr<f32, tmem, align<16>>, i32
    }
    return
  }
}

// -----

!mma = !cute.tiled_mma<!cute_nvgpu.sm100.mma<128x64x16, num_cta = 1, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss, c_scale_exp = 0>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
!operand_a = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((128,16),1,4):((64,1),0,16)">
!operand_b = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((64,16),1,4):((64,1),0,16)">
!desc = !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4):(0,0,2)">
!acc = !cute.memref<f32, tmem, align<16>, "((128,64),1,1):((65536,1),0,0)">
!ld = !cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x64>
!part = !cute.memref<f32, tmem, align<16>, "(((64,32),1),(1)):(((1,65536),0),(0))">
!regs = !cute.memref<f32, rmem, align<32>, "((64,1),(1)):((1,0),(0))">
!row = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "4096:1">
gpu.module @kernels {
  cuda.kernel @k(%mma: !mma, %value: f16) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c10000000 = arith.constant 10000000 : i32
    %c64 = arith.constant 64 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %smem_a_bytes = cute.memref.alloca() {smem.struct_fields = ["smem_a:16384:0"]} : !cute.memref<i8, smem, align<1024>, "16384:1">
    %smem_a_raw = cute.get_iter(%smem_a_bytes) : !cute.memref<i8, smem, align<1024>, "16384:1">
    %smem_a = cute.recast_iter(%smem_a_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %smem_b_bytes = cute.memref.alloca() {smem.struct_fields = ["smem_b:8192:0"]} : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_b_raw = cute.get_iter(%smem_b_bytes) : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_b = cute.recast_iter(%smem_b_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %slot_bytes = cute.memref.alloca() {smem.struct_fields = ["tmem_slot:4:0"]} : !cute.memref<i8, smem, align<8>, "4:1">
    %slot_raw = cute.get_iter(%slot_bytes) : !cute.memref<i8, smem, align<8>, "4:1">
    %slot = cute.recast_iter(%slot_raw) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i32, smem, align<8>>
    %done_bytes = cute.memref.alloca() {smem.struct_fields = ["done_mbar:8:0"]} : !cute.memref<i8, smem, align<8>, "8:1">
    %done_raw = cute.get_iter(%done_bytes) : !cute.memref<i8, smem, align<8>, "8:1">
    %done_iter = cute.recast_iter(%done_raw) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i64, smem>
    %done = builtin.unrealized_conversion_cast %done_iter : !cute.ptr<i64, smem> to !llvm.ptr<3>
    scf.if %first {
      %one = nvvm.elect.sync -> i1
      scf.if %one {
        nvvm.mbarrier.init %done, %c1 : !llvm.ptr<3>, i32
      }
    }
    nvvm.fence.mbarrier.init
    nvvm.barrier
    %row_a_layout = cute.make_layout() : !cute.layout<"4096:1">
    %row_a = cute.make_view(%smem_a, %row_a_layout) : !row
    %a_layout = cute.make_layout() : !cute.layout<"((128,16),1,4):((64,1),0,16)">
    %a = cute.make_view(%smem_a, %a_layout) : !operand_a
    %b_layout = cute.make_layout() : !cute.layout<"((64,16),1,4):((64,1),0,16)">
    %b = cute.make_view(%smem_b, %b_layout) : !operand_b
    %desc_a = cute.mma.make_fragment A (%mma, %a) : (!mma, !operand_a) -> !desc
    %desc_b = cute.mma.make_fragment B (%mma, %b) : (!mma, !operand_b) -> !desc
    scf.if %first {
      cute_nvgpu.arch.sm100.alloc_tmem(%c64, %slot) [ cta_1] : i32, !cute.ptr<i32, smem, align<8>>
      cute_nvgpu.arch.sm100.relinquish_tmem_alloc_permit [ cta_1]
    }
    nvvm.barrier
    %tmem = cute_nvgpu.arch.sm100.retrieve_tmem_ptr(%slot) : !cute.ptr<i32, smem, align<8>> -> !cute.ptr<f32, tmem, align<16>>
    %acc_layout = cute.make_layout() : !cute.layout<"((128,64),1,1):((65536,1),0,0)">
    %acc = cute.make_view(%tmem, %acc_layout) : !acc
    %part_layout = cute.make_layout() : !cute.layout<"(((64,32),1),(1)):(((1,65536),0),(0))">
    %part = cute.make_view(%tmem, %part_layout) : !part
    %regs = cute.memref.alloca() : !regs
    %ld = cute.make_atom() : () -> !ld
    %at = cute.make_coord(%tid) : (i32) -> !cute.coord<"?">
    cute.memref.store(%row_a, %at, %value) : (!row, !cute.coord<"?">, f16) -> ()
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    nvvm.barrier
    scf.if %first {
      cute.gemm(%mma, %acc, %desc_a, %desc_b, %acc) : (!mma, !acc, !desc, !desc, !acc)
      %leader = nvvm.elect.sync -> i1
      scf.if %leader {
        nvvm.tcgen05.commit %done : !llvm.ptr<3>
      }
    }
    nvvm.mbarrier.try_wait.parity %done, %c0, %c10000000 : !llvm.ptr<3>, i32, i32
    cute.copy(%ld, %part, %regs) : (!ld, !part, !regs)
    nvvm.barrier
    scf.if %first {
      cute_nvgpu.arch.sm100.dealloc_tmem(%tmem, %c64) [ cta_1] : !cute.ptr<f32, tmem, align<16>>, i32
    }
    return
  }
}

// -----

!map = !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>
!tma = !cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
!coords = !cute.coord_tensor<"(0,0)", "(((64,64),1),(1)):(((1@1,1@0),0),(0))">
!tile = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),(1)):((1,0),(0))">
gpu.module @kernels {
  cuda.kernel @k(%map: !map, %from: !coords) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c10000000 = arith.constant 10000000 : i32
    %c8192 = arith.constant 8192 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %smem_a_bytes = cute.memref.alloca() {smem.struct_fields = ["smem_a:8192:0"]} : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_a_raw = cute.get_iter(%smem_a_bytes) : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_a = cute.recast_iter(%smem_a_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %full_bytes = cute.memref.alloca() {smem.struct_fields = ["full_mbar:8:0"]} : !cute.memref<i8, smem, align<8>, "8:1">
    %full_raw = cute.get_iter(%full_bytes) : !cute.memref<i8, smem, align<8>, "8:1">
    %full_iter = cute.recast_iter(%full_raw) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i64, smem>
    %full = builtin.unrealized_conversion_cast %full_iter : !cute.ptr<i64, smem> to !llvm.ptr<3>
    scf.if %first {
      %one = nvvm.elect.sync -> i1
      scf.if %one {
        // expected-error@+1 {{the initialisation of barrier 'full_mbar'[0] is not fenced: the async proxy and other CTAs may not see it: nothing stands after this that orders it}}
        nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
      }
    }
    nvvm.barrier
    %tile_a_layout = cute.make_layout() : !cute.layout<"((4096,1),(1)):((1,0),(0))">
    %tile_a = cute.make_view(%smem_a, %tile_a_layout) : !tile
    scf.if %first {
      %chosen1 = nvvm.elect.sync -> i1
      scf.if %chosen1 {
        %token1 = nvvm.mbarrier.arrive.expect_tx %full, %c8192 : !llvm.ptr<3>, i32 -> i64
      }
      %exec1 = cute_nvgpu.atom.make_exec_tma(%map) : (!map) -> !tma
      %atom1 = cute_nvgpu.atom.set_value<tma_bar>(%exec1, %full_iter) : (!tma, !cute.ptr<i64, smem>)
      cute.copy(%atom1, %from, %tile_a) : (!tma, !coords, !tile)
    }
    nvvm.mbarrier.try_wait.parity %full, %c0, %c10000000 : !llvm.ptr<3>, i32, i32
    return
  }
}

// -----

!map = !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>
!tma = !cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
!coords = !cute.coord_tensor<"(0,0)", "(((64,64),1),(1)):(((1@1,1@0),0),(0))">
!tile = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),(1)):((1,0),(0))">
gpu.module @kernels {
  cuda.kernel @k(%map: !map, %from: !coords) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c10000000 = arith.constant 10000000 : i32
    %c8192 = arith.constant 8192 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %smem_a_bytes = cute.memref.alloca() {smem.struct_fields = ["smem_a:8192:0"]} : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_a_raw = cute.get_iter(%smem_a_bytes) : !cute.memref<i8, smem, align<1024>, "8192:1">
    %smem_a = cute.recast_iter(%smem_a_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
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
    %tile_a_layout = cute.make_layout() : !cute.layout<"((4096,1),(1)):((1,0),(0))">
    %tile_a = cute.make_view(%smem_a, %tile_a_layout) : !tile
    scf.if %first {
      %chosen1 = nvvm.elect.sync -> i1
      scf.if %chosen1 {
        %token1 = nvvm.mbarrier.arrive.expect_tx %full, %c8192 : !llvm.ptr<3>, i32 -> i64
      }
      %exec1 = cute_nvgpu.atom.make_exec_tma(%map) : (!map) -> !tma
      %atom1 = cute_nvgpu.atom.set_value<tma_bar>(%exec1, %full_iter) : (!tma, !cute.ptr<i64, smem>)
      cute.copy(%atom1, %from, %tile_a) : (!tma, !coords, !tile)
    }
    nvvm.mbarrier.try_wait.parity %full, %c0, %c10000000 : !llvm.ptr<3>, i32, i32
    return
  }
}
