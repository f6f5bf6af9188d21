"""wgmma on descriptors that the kernel assembles: what it reads is known, as an operation and in inline assembly."""

from __future__ import annotations

import pytest

import tileproof

D = "!llvm.struct<(f32, f32, f32, f32)>"
OPERATION = (
    "%r = nvvm.wgmma.mma_async %da, %db, %d, <m = 64, n = 8, k = 16>, D[<f32>, <zero>], A[<f16>, <one>, <row>],"
    f" B[<f16>, <one>, <col>] : {D} -> {D}"
)
ASSEMBLY = (
    '%r = llvm.inline_asm has_side_effects asm_dialect = att "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16'
    f' {{$0, $1, $2, $3}}, $4, $5, 0, 1, 1, 0, 0;", "=f,=f,=f,=f,l,l" %da, %db : (i64, i64) -> {D}'
)
KERNEL = """\
gpu.module @kernels {{
  llvm.mlir.global internal @bars() {{addr_space = 3 : i32}} : !llvm.array<8 x i64>
  llvm.mlir.global internal @tiles() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<65536 x i8>
  cuda.kernel @k(%src: !llvm.ptr<1>) attributes {{gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.cluster_dim = array<i32: 1, 1, 1>}} {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c4 = arith.constant 4 : i32
    %c32 = arith.constant 32 : i32
    %bytes = arith.constant 16384 : i32
    %long = arith.constant 10000000 : i32
    %mask = arith.constant 262143 : i32
    %fields = arith.constant 4611686293305294848 : i64
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %bar = llvm.mlir.addressof @bars : !llvm.ptr<3>
    %a = llvm.mlir.addressof @tiles : !llvm.ptr<3>
    scf.if %first {{
      %one = nvvm.elect.sync -> i1
      scf.if %one {{
        nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
      }}
    }}
    nvvm.fence.mbarrier.init
    nvvm.barrier
    %b = llvm.getelementptr %a[8192] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %a0 = llvm.ptrtoint %a : !llvm.ptr<3> to i32
    %a1 = arith.andi %a0, %mask : i32
    %a2 = arith.shrui %a1, %c4 : i32
    %a3 = arith.extui %a2 : i32 to i64
    %da = arith.ori %a3, %fields : i64
    %b0 = llvm.ptrtoint %b : !llvm.ptr<3> to i32
    %b1 = arith.shrui %b0, %c4 : i32
    %b2 = arith.extui %b1 : i32 to i64
    %db = arith.ori %fields, %b2 : i64
    %d = llvm.mlir.undef : {d}
    scf.for %turn = %c0 to %c2 step %c1 : i32 {{
      scf.if %first {{
        %one2 = nvvm.elect.sync -> i1
        scf.if %one2 {{
          %t = nvvm.mbarrier.arrive.expect_tx %bar, %bytes : !llvm.ptr<3>, i32 -> i64
          nvvm.cp.async.bulk.shared.cluster.global %a, %src, %bar, %bytes : !llvm.ptr<3>, !llvm.ptr<1>
        }}
      }}
      nvvm.mbarrier.try_wait.parity %bar, %turn, %long : !llvm.ptr<3>, i32, i32
      nvvm.wgmma.fence.aligned
      {wgmma}
      nvvm.wgmma.commit.group.sync.aligned
      nvvm.wgmma.wait.group.sync.aligned {pending}
      nvvm.barrier
    }}
    nvvm.wgmma.wait.group.sync.aligned 0
    return
  }}
}}
"""  # noqa: E501

both = pytest.mark.parametrize("wgmma", [OPERATION, ASSEMBLY], ids=["operation", "assembly"])


def found(wgmma: str, pending: int) -> list[tuple[str, str]]:
    text = KERNEL.format(d=D, wgmma=wgmma, pending=pending)
    return [(one.code, one.message) for one in tileproof.check(text, target="sm_90a").diagnostics]


@both
def test_memory_that_wgmma_has_read_may_be_copied_to_again(wgmma):
    assert found(wgmma, 0) == []


@both
def test_memory_that_wgmma_still_reads_is_not_to_be_copied_to(wgmma):
    ((code, message),) = found(wgmma, 1)
    assert code == "PR112"
    assert "not ordered after the read by wgmma: this wait leaves 1 in flight" in message
