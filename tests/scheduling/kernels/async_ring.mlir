// without: nvvm\.cp\.async\.(commit|wait)\.group
!tile = !cute.memref<f16, smem, align<128>, "1024:1">
!whole = !cute.memref<f16, smem, align<128>, "(32,32):(32,1)">
!from = !cute.memref<f16, gmem, align<16>, "1024:1">
!atom = !cute_nvgpu.atom.simt_async_copy<f16, cache = global, 128 b>
module {
  gpu.module @kernels {
    cuda.kernel @copies(%arg0: !cute.ptr<f16, gmem, align<16>>) attributes {nvvm.reqntid = array<i32: 128, 1, 1>} {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c8 = arith.constant 8 : i32
      %atom = cute.make_atom() : () -> !atom
      %from = cute.make_view(%arg0) : !from
      %layout = cute.make_layout() : !cute.layout<"(32,32):(32,1)">
      %s0 = cute.memref.alloca() : !tile
      %i0 = cute.get_iter(%s0) : !tile
      %whole0 = cute.make_view(%i0, %layout) : !whole
      %s1 = cute.memref.alloca() : !tile
      %i1 = cute.get_iter(%s1) : !tile
      %whole1 = cute.make_view(%i1, %layout) : !whole
      %s2 = cute.memref.alloca() : !tile
      %i2 = cute.get_iter(%s2) : !tile
      %whole2 = cute.make_view(%i2, %layout) : !whole
      cute.copy_atom_call(%atom, %from, %s0) : (!atom, !from, !tile)
      nvvm.cp.async.commit.group
      cute.copy_atom_call(%atom, %from, %s1) : (!atom, !from, !tile)
      nvvm.cp.async.commit.group
      nvvm.cp.async.wait.group 1
      nvvm.barrier
      %v0 = cute.memref.load_vec(%whole0) : (!whole) -> vector<1024xf16>
      cute.copy_atom_call(%atom, %from, %s2) : (!atom, !from, !tile)
      nvvm.cp.async.commit.group
      nvvm.cp.async.wait.group 1
      nvvm.barrier
      %v1 = cute.memref.load_vec(%whole1) : (!whole) -> vector<1024xf16>
      nvvm.cp.async.wait.group 0
      nvvm.barrier
      %v2 = cute.memref.load_vec(%whole2) : (!whole) -> vector<1024xf16>
      cuda.return
    }
  }
}
