// without: nvvm\.wgmma\.(fence|commit|wait)
!tile = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),(1)):((1,0),(0))">
!mma = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x64x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
!operand = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((64,16),1,4):((64,1),0,16)">
!desc = !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4):(0,0,2)">
!acc = !cute.memref<f32, rmem, align<32>, "((2,2,8),1,1):((1,2,4),0,0)">
!row = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "4096:1">
gpu.module @kernels {
  cuda.kernel @k(%mma: !mma, %value: f16) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %where = cute.make_coord(%tid) : (i32) -> !cute.coord<"?">
    %layout = cute.make_layout() : !cute.layout<"((64,16),1,4):((64,1),0,16)">
    %flat = cute.make_layout() : !cute.layout<"4096:1">
    %raw0 = cute.memref.alloca() : !cute.memref<i8, smem, align<1024>, "16384:1">
    %at0 = cute.get_iter(%raw0) : !cute.memref<i8, smem, align<1024>, "16384:1">
    %iter0 = cute.recast_iter(%at0) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %view0 = cute.make_view(%iter0, %layout) : !operand
    %row0 = cute.make_view(%iter0, %flat) : !row
    %desc0 = cute.mma.make_fragment A (%mma, %view0) : (!mma, !operand) -> !desc
    %acc0 = cute.memref.alloca() : !acc
    %raw1 = cute.memref.alloca() : !cute.memref<i8, smem, align<1024>, "16384:1">
    %at1 = cute.get_iter(%raw1) : !cute.memref<i8, smem, align<1024>, "16384:1">
    %iter1 = cute.recast_iter(%at1) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %view1 = cute.make_view(%iter1, %layout) : !operand
    %row1 = cute.make_view(%iter1, %flat) : !row
    %desc1 = cute.mma.make_fragment A (%mma, %view1) : (!mma, !operand) -> !desc
    %acc1 = cute.memref.alloca() : !acc
    nvvm.wgmma.fence.aligned
    cute.gemm(%mma, %acc0, %desc0, %desc0, %acc0) : (!mma, !acc, !desc, !desc, !acc)
    nvvm.wgmma.commit.group.sync.aligned
    cute.gemm(%mma, %acc1, %desc1, %desc1, %acc1) : (!mma, !acc, !desc, !desc, !acc)
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 1
    cute.memref.store(%row0, %where, %value) : (!row, !cute.coord<"?">, f16) -> ()
    nvvm.wgmma.wait.group.sync.aligned 0
    cute.memref.store(%row1, %where, %value) : (!row, !cute.coord<"?">, f16) -> ()
    return
  }
}
