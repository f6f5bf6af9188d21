// The atom reads A and B as bf16, and their memory holds f16.
// target: sm_90a

!mma = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x128x16, ab_major = (k, k), elem_type = (bf16, bf16, f32), frag_kind = ss>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
!tile_a = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((64,16),1,4):((64,1),0,16)">
!tile_b = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((128,16),1,4):((64,1),0,16)">
!sums = !cute.memref<f32, rmem, align<32>, "((2,2,16),1,1):((1,2,4),0,0)">
!fragment = !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4):(0,0,2)">
!block = !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">
gpu.module @kernels {
  cuda.kernel @kernel(%mma: !mma, %a: !tile_a, %b: !tile_b, %sums: !sums) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    // expected-error@+1 {{The MMA reads A as bf16, and its shared memory holds f16}}
    %whole_a = cute.mma.make_fragment A (%mma, %a) : (!mma, !tile_a) -> !fragment
    %whole_b = cute.mma.make_fragment B (%mma, %b) : (!mma, !tile_b) -> !fragment
    %at = cute.make_coord() : () -> !cute.coord<"(_,_,0)">
    %at_b = cute.make_coord() : () -> !cute.coord<"(_,_,0)">
    %block_a = cute.slice(%whole_a, %at) : !fragment, !cute.coord<"(_,_,0)">
    %block_b = cute.slice(%whole_b, %at_b) : !fragment, !cute.coord<"(_,_,0)">
    nvvm.wgmma.fence.aligned
    cute.gemm(%mma, %sums, %block_a, %block_b, %sums) : (!mma, !sums, !block, !block, !sums)
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    return
  }
}
