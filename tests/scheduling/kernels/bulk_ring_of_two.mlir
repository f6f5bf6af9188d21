// without: nvvm\.cp\.async\.bulk\.(commit\.group|wait_group)
!tile = !cute.memref<f16, smem, align<128>, "1024:1">
module {
  gpu.module @kernels {
    cuda.kernel @stores(%out: !llvm.ptr<1>, %values: vector<1024xf16>)
        attributes {nvvm.reqntid = array<i32: 128, 1, 1>} {
      %c0 = arith.constant 0 : i32
      %bytes = arith.constant 2048 : i32
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %first = arith.cmpi eq, %tid, %c0 : i32
      %smem0 = cute.memref.alloca() : !tile
      %iter0 = cute.get_iter(%smem0) : !tile
      %from0 = builtin.unrealized_conversion_cast %iter0 : !cute.ptr<f16, smem, align<128>> to !llvm.ptr<3>
      %smem1 = cute.memref.alloca() : !tile
      %iter1 = cute.get_iter(%smem1) : !tile
      %from1 = builtin.unrealized_conversion_cast %iter1 : !cute.ptr<f16, smem, align<128>> to !llvm.ptr<3>
      cute.memref.store_vec(%values, %smem0) : (vector<1024xf16>, !tile) -> ()
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.barrier
      scf.if %first {
        nvvm.cp.async.bulk.global.shared.cta %out, %from0, %bytes : !llvm.ptr<1>, !llvm.ptr<3>
        nvvm.cp.async.bulk.commit.group
      }
      nvvm.barrier
      cute.memref.store_vec(%values, %smem1) : (vector<1024xf16>, !tile) -> ()
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.barrier
      scf.if %first {
        nvvm.cp.async.bulk.global.shared.cta %out, %from1, %bytes : !llvm.ptr<1>, !llvm.ptr<3>
        nvvm.cp.async.bulk.commit.group
        nvvm.cp.async.bulk.wait_group 1 {read}
      }
      nvvm.barrier
      cute.memref.store_vec(%values, %smem0) : (vector<1024xf16>, !tile) -> ()
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.barrier
      scf.if %first {
        nvvm.cp.async.bulk.global.shared.cta %out, %from0, %bytes : !llvm.ptr<1>, !llvm.ptr<3>
        nvvm.cp.async.bulk.commit.group
        nvvm.cp.async.bulk.wait_group 1 {read}
      }
      nvvm.barrier
      cute.memref.store_vec(%values, %smem1) : (vector<1024xf16>, !tile) -> ()
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.barrier
      scf.if %first {
        nvvm.cp.async.bulk.global.shared.cta %out, %from1, %bytes : !llvm.ptr<1>, !llvm.ptr<3>
        nvvm.cp.async.bulk.commit.group
        nvvm.cp.async.bulk.wait_group 0 {read}
      }
      cuda.return
    }
  }
}
