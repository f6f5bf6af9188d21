// A warpgroup executes wgmma together: one of its warps goes past it.

!mma = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x64x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
!operand = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((64,16),1,4):((64,1),0,16)">
!desc = !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4):(0,0,2)">
!acc = !cute.memref<f32, rmem, align<32>, "((2,2,8),1,1):((1,2,4),0,0)">
gpu.module @kernels {
  cuda.kernel @k(%mma: !mma) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %true = arith.constant true
    %false = arith.constant false
    %bytes = cute.memref.alloca() {smem.struct_fields = ["smem_a:8192:0", "smem_b:8192:8192"]} : !cute.memref<i8, smem, align<1024>, "16384:1">
    %raw = cute.get_iter(%bytes) : !cute.memref<i8, smem, align<1024>, "16384:1">
    %behind = cute.make_int_tuple() : () -> !cute.int_tuple<"8192">
    %raw_b = cute.add_offset(%raw, %behind) : (!cute.ptr<i8, smem, align<1024>>, !cute.int_tuple<"8192">) -> !cute.ptr<i8, smem, align<1024>>
    %smem_a = cute.recast_iter(%raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %smem_b = cute.recast_iter(%raw_b) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %layout = cute.make_layout() : !cute.layout<"((64,16),1,4):((64,1),0,16)">
    %a = cute.make_view(%smem_a, %layout) : !operand
    %b = cute.make_view(%smem_b, %layout) : !operand
    %desc_a = cute.mma.make_fragment A (%mma, %a) : (!mma, !operand) -> !desc
    %desc_b = cute.mma.make_fragment B (%mma, %b) : (!mma, !operand) -> !desc
    %acc = cute.memref.alloca() : !acc
    %begun = cute_nvgpu.atom.set_value<accum_c>(%mma, %false) : (!mma, i1)
    %c3 = arith.constant 3 : i32
    %c32 = arith.constant 32 : i32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %warp_of = arith.divsi %thread, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %mine = arith.cmpi slt, %warp, %c3 : i32
    scf.if %mine {
      %last = scf.for %k = %c0 to %c4 step %c1 iter_args(%atom = %begun) -> (!mma) : i32 {
        nvvm.wgmma.fence.aligned
        // expected-error@+1 {{warp 3 of warpgroup 0 executes this wgmma 0 times where another warp of it executes it 4 times}}
        cute.gemm(%atom, %acc, %desc_a, %desc_b, %acc) : (!mma, !acc, !desc, !desc, !acc)
        nvvm.wgmma.commit.group.sync.aligned
        nvvm.wgmma.wait.group.sync.aligned 0
        %adds = cute_nvgpu.atom.set_value<accum_c>(%atom, %true) : (!mma, i1)
        scf.yield %adds : !mma
      }
    }
    return
  }
}
