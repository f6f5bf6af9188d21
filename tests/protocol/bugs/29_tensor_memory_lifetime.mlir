// BUGS 29: tensor memory that is not allocated, freed under a reader, used again before the last load, or whose address
// lies under a tile (cutlass#2230, flash-attention#138, triton#11634, facebookexperimental/triton#1449).

!mma = !cute.tiled_mma<!cute_nvgpu.sm100.mma<128x64x16, num_cta = 1, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss, c_scale_exp = 0>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
!operand_a = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((128,16),1,4):((64,1),0,16)">
!operand_b = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((64,16),1,4):((64,1),0,16)">
!desc = !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4):(0,0,2)">
!acc = !cute.memref<f32, tmem, align<16>, "((128,64),1,1):((65536,1),0,0)">
!ld = !cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x64>
!part = !cute.memref<f32, tmem, align<16>, "(((64,32),1),(1)):(((1,65536),0),(0))">
!regs = !cute.memref<f32, rmem, align<32>, "((64,1),(1)):((1,0),(0))">
gpu.module @kernels {
  cuda.kernel @k(%mma: !mma) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
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
    %a_layout = cute.make_layout() : !cute.layout<"((128,16),1,4):((64,1),0,16)">
    %a = cute.make_view(%smem_a, %a_layout) : !operand_a
    %b_layout = cute.make_layout() : !cute.layout<"((64,16),1,4):((64,1),0,16)">
    %b = cute.make_view(%smem_b, %b_layout) : !operand_b
    %desc_a = cute.mma.make_fragment A (%mma, %a) : (!mma, !operand_a) -> !desc
    %desc_b = cute.mma.make_fragment B (%mma, %b) : (!mma, !operand_b) -> !desc
    // expected-error@+1 {{the address of tensor memory is read before an allocation writes it}}
    %tmem = cute_nvgpu.arch.sm100.retrieve_tmem_ptr(%slot) : !cute.ptr<i32, smem, align<8>> -> !cute.ptr<f32, tmem, align<16>>
    %acc_layout = cute.make_layout() : !cute.layout<"((128,64),1,1):((65536,1),0,0)">
    %acc = cute.make_view(%tmem, %acc_layout) : !acc
    %part_layout = cute.make_layout() : !cute.layout<"(((64,32),1),(1)):(((1,65536),0),(0))">
    %part = cute.make_view(%tmem, %part_layout) : !part
    %regs = cute.memref.alloca() : !regs
    %ld = cute.make_atom() : () -> !ld
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
gpu.module @kernels {
  cuda.kernel @k(%mma: !mma) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
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
gpu.module @kernels {
  cuda.kernel @k(%mma: !mma) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
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
    scf.if %first {
      cute.gemm(%mma, %acc, %desc_a, %desc_b, %acc) : (!mma, !acc, !desc, !desc, !acc)
      %leader = nvvm.elect.sync -> i1
      scf.if %leader {
        nvvm.tcgen05.commit %done : !llvm.ptr<3>
      }
    }
    nvvm.mbarrier.try_wait.parity %done, %c0, %c10000000 : !llvm.ptr<3>, i32, i32
    cute.copy(%ld, %part, %regs) : (!ld, !part, !regs)
    // expected-error@+1 {{WAR hazard on tensor memory: tcgen05.dealloc is not ordered after the read by tcgen05.ld}}
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
gpu.module @kernels {
  cuda.kernel @k(%mma: !mma) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
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
gpu.module @kernels {
  cuda.kernel @k(%mma: !mma, %tiles: i32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
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
    %last = scf.for %tile = %c0 to %tiles step %c1 iter_args(%phase = %c0) -> (i32) : i32 {
      scf.if %first {
        // expected-error@+1 {{WAR hazard on tensor memory: the write by tcgen05.mma is not ordered after the read by tcgen05.ld}}
        cute.gemm(%mma, %acc, %desc_a, %desc_b, %acc) : (!mma, !acc, !desc, !desc, !acc)
        %leader = nvvm.elect.sync -> i1
        scf.if %leader {
          nvvm.tcgen05.commit %done : !llvm.ptr<3>
        }
      }
      nvvm.mbarrier.try_wait.parity %done, %phase, %c10000000 : !llvm.ptr<3>, i32, i32
      cute.copy(%ld, %part, %regs) : (!ld, !part, !regs)

      %next = arith.xori %phase, %c1 : i32
      scf.yield %next : i32
    }
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
gpu.module @kernels {
  cuda.kernel @k(%mma: !mma, %tiles: i32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
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
    %last = scf.for %tile = %c0 to %tiles step %c1 iter_args(%phase = %c0) -> (i32) : i32 {
      scf.if %first {
        cute.gemm(%mma, %acc, %desc_a, %desc_b, %acc) : (!mma, !acc, !desc, !desc, !acc)
        %leader = nvvm.elect.sync -> i1
        scf.if %leader {
          nvvm.tcgen05.commit %done : !llvm.ptr<3>
        }
      }
      nvvm.mbarrier.try_wait.parity %done, %phase, %c10000000 : !llvm.ptr<3>, i32, i32
      cute.copy(%ld, %part, %regs) : (!ld, !part, !regs)
      nvvm.tcgen05.fence <before>
      nvvm.barrier
      nvvm.tcgen05.fence <after>
      %next = arith.xori %phase, %c1 : i32
      scf.yield %next : i32
    }
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
    %c64 = arith.constant 64 : i32
    %c8192 = arith.constant 8192 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %bytes = cute.memref.alloca() {smem.struct_fields = ["smem_c:8192:0", "tmem_slot:4:8192"]} : !cute.memref<i8, smem, align<1024>, "9216:1">
    %bytes_raw = cute.get_iter(%bytes) : !cute.memref<i8, smem, align<1024>, "9216:1">
    %smem_c = cute.recast_iter(%bytes_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %slot_offset = cute.make_int_tuple() : () -> !cute.int_tuple<"4096">
    %slot_raw = cute.add_offset(%bytes_raw, %slot_offset) : (!cute.ptr<i8, smem, align<1024>>, !cute.int_tuple<"4096">) -> !cute.ptr<i8, smem, align<1024>>
    %slot = cute.recast_iter(%slot_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<i32, smem, align<1024>>
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
    %tile_c_layout = cute.make_layout() : !cute.layout<"((4096,1),(1)):((1,0),(0))">
    %tile_c = cute.make_view(%smem_c, %tile_c_layout) : !tile
    scf.if %first {
      cute_nvgpu.arch.sm100.alloc_tmem(%c64, %slot) [ cta_1] : i32, !cute.ptr<i32, smem, align<1024>>
      cute_nvgpu.arch.sm100.relinquish_tmem_alloc_permit [ cta_1]
    }
    nvvm.barrier
    scf.if %first {
      %chosen1 = nvvm.elect.sync -> i1
      scf.if %chosen1 {
        %token1 = nvvm.mbarrier.arrive.expect_tx %full, %c8192 : !llvm.ptr<3>, i32 -> i64
      }
      %exec1 = cute_nvgpu.atom.make_exec_tma(%map) : (!map) -> !tma
      %atom1 = cute_nvgpu.atom.set_value<tma_bar>(%exec1, %full_iter) : (!tma, !cute.ptr<i64, smem>)
      cute.copy(%atom1, %from, %tile_c) : (!tma, !coords, !tile)
    }
    nvvm.mbarrier.try_wait.parity %full, %c0, %c10000000 : !llvm.ptr<3>, i32, i32
    // expected-error@+1 {{the address of tensor memory is read here after its shared memory was overwritten}}
    %tmem = cute_nvgpu.arch.sm100.retrieve_tmem_ptr(%slot) : !cute.ptr<i32, smem, align<1024>> -> !cute.ptr<f32, tmem, align<16>>
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
    %c64 = arith.constant 64 : i32
    %c8192 = arith.constant 8192 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = arith.constant 32 : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %bytes = cute.memref.alloca() {smem.struct_fields = ["smem_c:8192:0", "tmem_slot:4:8192"]} : !cute.memref<i8, smem, align<1024>, "9216:1">
    %bytes_raw = cute.get_iter(%bytes) : !cute.memref<i8, smem, align<1024>, "9216:1">
    %smem_c = cute.recast_iter(%bytes_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %slot_offset = cute.make_int_tuple() : () -> !cute.int_tuple<"8192">
    %slot_raw = cute.add_offset(%bytes_raw, %slot_offset) : (!cute.ptr<i8, smem, align<1024>>, !cute.int_tuple<"8192">) -> !cute.ptr<i8, smem, align<1024>>
    %slot = cute.recast_iter(%slot_raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<i32, smem, align<1024>>
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
    %tile_c_layout = cute.make_layout() : !cute.layout<"((4096,1),(1)):((1,0),(0))">
    %tile_c = cute.make_view(%smem_c, %tile_c_layout) : !tile
    scf.if %first {
      cute_nvgpu.arch.sm100.alloc_tmem(%c64, %slot) [ cta_1] : i32, !cute.ptr<i32, smem, align<1024>>
      cute_nvgpu.arch.sm100.relinquish_tmem_alloc_permit [ cta_1]
    }
    nvvm.barrier
    scf.if %first {
      %chosen1 = nvvm.elect.sync -> i1
      scf.if %chosen1 {
        %token1 = nvvm.mbarrier.arrive.expect_tx %full, %c8192 : !llvm.ptr<3>, i32 -> i64
      }
      %exec1 = cute_nvgpu.atom.make_exec_tma(%map) : (!map) -> !tma
      %atom1 = cute_nvgpu.atom.set_value<tma_bar>(%exec1, %full_iter) : (!tma, !cute.ptr<i64, smem>)
      cute.copy(%atom1, %from, %tile_c) : (!tma, !coords, !tile)
    }
    nvvm.mbarrier.try_wait.parity %full, %c0, %c10000000 : !llvm.ptr<3>, i32, i32
    %tmem = cute_nvgpu.arch.sm100.retrieve_tmem_ptr(%slot) : !cute.ptr<i32, smem, align<1024>> -> !cute.ptr<f32, tmem, align<16>>
    nvvm.barrier
    scf.if %first {
      cute_nvgpu.arch.sm100.dealloc_tmem(%tmem, %c64) [ cta_1] : !cute.ptr<f32, tmem, align<16>>, i32
    }
    return
  }
}
