// An MMA of a warp adds to its accumulator always: threads fill it with zeros first.

!mma = !cute.tiled_mma<!cute_nvgpu.sm80.mma<16x8x16, elem_type = (f16, f16, f32)>, atom_layout_MNK = <"(2,2,1):(1,2,0)">, permutation_MNK = <"[32:1;32:1;16:1]">>
!acc = !cute.memref<f32, rmem, align<32>, "((2,2),1,2):((1,2),0,4)">
!afrag = !cute.memref<f16, rmem, align<32>, "((2,2,2),1,1):((1,2,4),0,0)">
!bfrag = !cute.memref<f16, rmem, align<32>, "((2,2),2,1):((1,2),4,0)">
gpu.module @kernels {
  cuda.kernel @k(%mma: !mma, %a: vector<8xf16>, %b: vector<8xf16>) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %acc = cute.memref.alloca() : !acc
    %afrag = cute.memref.alloca() : !afrag
    %bfrag = cute.memref.alloca() : !bfrag
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    cute.memref.store_vec(%a, %afrag) : (vector<8xf16>, !afrag) -> ()
    cute.memref.store_vec(%b, %bfrag) : (vector<8xf16>, !bfrag) -> ()
    // expected-error@+1 {{this MMA accumulates into registers %acc, which nobody has filled before}}
    cute.gemm(%mma, %acc, %afrag, %bfrag, %acc) : (!mma, !acc, !afrag, !bfrag, !acc)
    %sums = cute.memref.load_vec(%acc) : (!acc) -> vector<8xf32>
    return
  }
}
