"""Kernels with a ring of stages, written for tests: one warp fills the stages, another empties them."""

from __future__ import annotations

_FRAME = """
gpu.module @kernels {{
  llvm.mlir.global internal @bars() {{addr_space = 3 : i32}} : !llvm.array<64 x i64>
  cuda.kernel @ring(%n: i32, %flag: i1, %data: !llvm.ptr<1>) attributes {{gpu.kernel,
      nvvm.reqntid = array<i32: 64, 1, 1>, nvvm.cluster_dim = array<i32: 1, 1, 1>}} {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %stages = arith.constant {stages} : i32
    %full = llvm.mlir.addressof @bars : !llvm.ptr<3>
    %empty = llvm.getelementptr %full[{stages}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %fills = arith.cmpi eq, %warp, %c0 : i32
    %first = arith.cmpi eq, %tid, %c0 : i32
    scf.if %first {{
      scf.for %i = %c0 to %stages step %c1 : i32 {{
        %f = llvm.getelementptr %full[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %e = llvm.getelementptr %empty[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        nvvm.mbarrier.init %f, %c32 : !llvm.ptr<3>, i32
        nvvm.mbarrier.init %e, %c32 : !llvm.ptr<3>, i32
      }}
    }}
    nvvm.fence.mbarrier.init
    nvvm.barrier
    scf.if %fills {{
{fill}
    }} else {{
{drain}
    }}
    cuda.return
  }}
}}
"""

_LOOP = """
      %{who}:2 = scf.for %k = %c0 to %n step %c1 iter_args(%stage = %c0, %parity = %{parity}) -> (i32, i32) : i32 {{
        %at = llvm.getelementptr %{waits}[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        nvvm.mbarrier.try_wait.parity.shared %at, %parity, %c32 : !llvm.ptr<3>, i32, i32
        %to = llvm.getelementptr %{arrives}[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
{arrival}
        %next = arith.addi %stage, %c1 : i32
        %wraps = arith.cmpi eq, %next, %stages : i32
        %index = arith.select %wraps, %c0, %next : i32
        %flipped = arith.xori %parity, %c1 : i32
        %phase = arith.select %wraps, %flipped, %parity : i32
        scf.yield %index, %phase : i32, i32
      }}
"""

ARRIVAL = "        %token = nvvm.mbarrier.arrive.shared %to, %c1 : !llvm.ptr<3>, i32 -> i64"


def ring(stages: int, fill: str = ARRIVAL, drain: str = ARRIVAL, before: str = "", after: str = "") -> str:
    """The text of a kernel.

    Args:
        stages: of the ring.
        fill, drain: what the two warps do instead of arriving in each iteration.
        before, after: what the warp that drains does before and after its loop.
    """
    fills = _LOOP.format(who="filled", parity="c1", waits="empty", arrives="full", arrival=fill)
    drains = _LOOP.format(who="drained", parity="c0", waits="full", arrives="empty", arrival=drain)
    return _FRAME.format(stages=stages, fill=fills, drain=f"{before}\n{drains}\n{after}")
