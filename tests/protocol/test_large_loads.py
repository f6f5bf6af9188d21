"""Kernels whose lengths are loaded and are larger than the integers that they get: schedulers of attention."""

from __future__ import annotations

import pytest

import tileproof
from protocol.test_never import WINDOW
from protocol.test_ptx_practices import mistaken, verified
from tileproof.checking import kept_outcomes
from tileproof.protocol import judging

# A thread goes through what is left of a length beside all queries of all heads, and arrives in its last turn. With as
# many queries as tokens there is none.
SHARES = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry shares(.param .u64 lengths, .param .u32 queries, .param .u32 heads)
.reqntid 64, 1, 1
{
  .reg .pred %p<9>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<4>;
  .shared .align 8 .b8 full[8];
  mov.u32 %r1, %tid.x;
  mov.b32 %r10, full;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r10], 1;
READY:
  bar.sync 0;
  ld.param.u64 %rd1, [lengths];
  ld.global.nc.u32 %r2, [%rd1];
  ld.param.u32 %r3, [queries];
  ld.param.u32 %r7, [heads];
  mul.lo.s32 %r3, %r3, %r7;
  sub.s32 %r4, %r2, %r3;
  add.s32 %r4, %r4, -64;
  setp.ne.u32 %p2, %r1, 32;
  @%p2 bra CONSUMER;
  mov.b32 %r5, 0;
  setp.lt.s32 %p3, %r4, 0;
  @%p3 bra OVER;
TURN:
  add.s32 %r6, %r5, 64;
  setp.le.s32 %p4, %r6, %r4;
  @%p4 bra NEXT;
  mbarrier.arrive.shared::cta.b64 _, [%r10];
NEXT:
  add.s32 %r5, %r5, 64;
  setp.le.s32 %p5, %r5, %r4;
  @%p5 bra TURN;
  bra.uni OVER;
CONSUMER:
  setp.gt.u32 %p6, %r1, 31;
  @%p6 bra OVER;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p7, [%r10], 0;
  @!%p7 bra WAIT;
OVER:
  ret;
}
"""
COUNT = "mbarrier.init.shared::cta.b64 [%r10], 1;"


def test_a_length_may_be_larger_than_what_the_kernel_gets(monkeypatch: pytest.MonkeyPatch):
    verified(SHARES)
    monkeypatch.setattr(judging, "_of_large_loads", lambda *_: None)
    kept_outcomes.memory.cache_clear()
    (found,) = tileproof.check(SHARES).diagnostics
    assert (found.code, found.severity.value) == ("PR190", "note")
    assert "PR126 may be here" in found.message
    kept_outcomes.memory.cache_clear()


def test_what_no_length_helps_is_an_error():
    mistaken(SHARES, COUNT, COUNT.replace("1;", "2;"), {"PR126"})


# One thread leaves a number in shared memory, and all of them change others beside it.
BESIDE = WINDOW.replace("full[8]", "full[1024]").replace(
    "COMPUTED",
    """  setp.ne.u32 %p3, %r1, 0;
  @%p3 bra SAID;
  mov.b32 %r2, 3;
  st.shared.b32 [%r10+16], %r2;
SAID:
  bar.sync 0;
  shl.b32 %r3, %r1, 2;
  add.s32 %r3, %r3, %r10;
  atom.shared.add.u32 %r4, [%r3+OFFSET], 1;
  bar.sync 0;
  ld.shared.b32 %r9, [%r10+16];""",
)


@pytest.mark.parametrize(("offset", "wrong"), [(20, set()), (16, {"PR126"}), (12, {"PR126"})])
def test_an_atomic_operation_changes_only_where_its_threads_are(offset: int, wrong: set[str]):
    """The second wait lasts for ever; who finds four in place of three comes to it."""
    report = tileproof.check(BESIDE.replace("OFFSET", str(offset)).replace("COUNT", "4"))
    (kernel,) = report.files[0].kernels
    assert kernel.status == "followed"
    assert {one.code for one in report.diagnostics} == wrong
