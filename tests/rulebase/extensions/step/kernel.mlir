// Threads write A, cross a barrier that only the rule file beside this one knows, and wgmma reads A.

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
    vendor.cta_barrier
    nvvm.wgmma.fence.aligned
    cute.gemm(%mma, %acc, %desc_a, %desc_b, %acc) : (!mma, !acc, !desc, !desc, !acc)
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    return
  }
}
