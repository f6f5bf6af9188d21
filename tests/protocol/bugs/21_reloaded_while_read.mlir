// BUGS 21: shared memory is reloaded by TMA while threads still read it (DeepEP#642, tilelang#2613).

!map = !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>
!tma = !cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
!coords = !cute.coord_tensor<"(0,0)", "(((64,64),1),(1)):(((1@1,1@0),0),(0))">
!tile = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),(1)):((1,0),(0))">
!row = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "4096:1">
!sum = !cute.memref<f16, gmem, align<16>, "4096:1">
gpu.module @kernels {
  cuda.kernel @k(%map: !map, %from: !coords, %sum: !sum, %k_tiles: i32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
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
    %row_a_layout = cute.make_layout() : !cute.layout<"4096:1">
    %row_a = cute.make_view(%smem_a, %row_a_layout) : !row
    %tile_a_layout = cute.make_layout() : !cute.layout<"((4096,1),(1)):((1,0),(0))">
    %tile_a = cute.make_view(%smem_a, %tile_a_layout) : !tile
    %last = scf.for %k = %c0 to %k_tiles step %c1 iter_args(%phase = %c0) -> (i32) : i32 {
      scf.if %first {
        %chosen1 = nvvm.elect.sync -> i1
        scf.if %chosen1 {
          %token1 = nvvm.mbarrier.arrive.expect_tx %full, %c8192 : !llvm.ptr<3>, i32 -> i64
        }
        %exec1 = cute_nvgpu.atom.make_exec_tma(%map) : (!map) -> !tma
        %atom1 = cute_nvgpu.atom.set_value<tma_bar>(%exec1, %full_iter) : (!tma, !cute.ptr<i64, smem>)
        cute.copy(%atom1, %from, %tile_a) : (!tma, !coords, !tile)
      }
      nvvm.mbarrier.try_wait.parity %full, %phase, %c10000000 : !llvm.ptr<3>, i32, i32
      %at = cute.make_coord(%tid) : (i32) -> !cute.coord<"?">
      // expected-error@+1 {{WAR hazard on 'smem_a': the write by a bulk copy is not ordered after the read by threads: nothing stands after this that orders it}}
      %value = cute.memref.load(%row_a, %at) : (!row, !cute.coord<"?">) -> f16
      cute.memref.store(%sum, %at, %value) : (!sum, !cute.coord<"?">, f16) -> ()

      %next = arith.xori %phase, %c1 : i32
      scf.yield %next : i32
    }
    return
  }
}

// -----

!map = !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>
!tma = !cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
!coords = !cute.coord_tensor<"(0,0)", "(((64,64),1),(1)):(((1@1,1@0),0),(0))">
!tile = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),(1)):((1,0),(0))">
!row = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "4096:1">
!sum = !cute.memref<f16, gmem, align<16>, "4096:1">
gpu.module @kernels {
  cuda.kernel @k(%map: !map, %from: !coords, %sum: !sum, %k_tiles: i32) attributes {gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
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
    %row_a_layout = cute.make_layout() : !cute.layout<"4096:1">
    %row_a = cute.make_view(%smem_a, %row_a_layout) : !row
    %tile_a_layout = cute.make_layout() : !cute.layout<"((4096,1),(1)):((1,0),(0))">
    %tile_a = cute.make_view(%smem_a, %tile_a_layout) : !tile
    %last = scf.for %k = %c0 to %k_tiles step %c1 iter_args(%phase = %c0) -> (i32) : i32 {
      scf.if %first {
        %chosen1 = nvvm.elect.sync -> i1
        scf.if %chosen1 {
          %token1 = nvvm.mbarrier.arrive.expect_tx %full, %c8192 : !llvm.ptr<3>, i32 -> i64
        }
        %exec1 = cute_nvgpu.atom.make_exec_tma(%map) : (!map) -> !tma
        %atom1 = cute_nvgpu.atom.set_value<tma_bar>(%exec1, %full_iter) : (!tma, !cute.ptr<i64, smem>)
        cute.copy(%atom1, %from, %tile_a) : (!tma, !coords, !tile)
      }
      nvvm.mbarrier.try_wait.parity %full, %phase, %c10000000 : !llvm.ptr<3>, i32, i32
      %at = cute.make_coord(%tid) : (i32) -> !cute.coord<"?">
      %value = cute.memref.load(%row_a, %at) : (!row, !cute.coord<"?">) -> f16
      cute.memref.store(%sum, %at, %value) : (!sum, !cute.coord<"?">, f16) -> ()
      nvvm.barrier
      %next = arith.xori %phase, %c1 : i32
      scf.yield %next : i32
    }
    return
  }
}
