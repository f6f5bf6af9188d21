"""Ways that no thread takes, whatever integers a kernel gets: what is behind them is no step of the kernel."""

from __future__ import annotations

import pytest

import tileproof
from tileproof.protocol import judging

# Threads wait for a phase of an mbarrier that nobody completes where a window has so many tiles.
WINDOW = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry window(.param .u32 length)
.reqntid 64, 1, 1
{
  .reg .pred %p<5>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<2>;
  .shared .align 8 .b8 full[8];
  mov.u32 %r1, %tid.x;
  mov.b32 %r10, full;
  setp.ne.u32 %p2, %r1, 0;
  @%p2 bra READY;
  mbarrier.init.shared::cta.b64 [%r10], 64;
READY:
  bar.sync 0;
  mbarrier.arrive.shared::cta.b64 _, [%r10];
FIRST:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r10], 0;
  @!%p2 bra FIRST;
COMPUTED
  setp.lt.s32 %p1, %r9, COUNT;
  @%p1 bra SHORT;
SECOND:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r10], 1;
  @!%p4 bra SECOND;
SHORT:
  ret;
}
"""
STEPS = 4
# Tiles from max(x - 2, 0) to x, of the place of the CTA: three at most.
OF_THREE = """  mov.u32 %r2, %ctaid.x;
  add.s32 %r3, %r2, -2;
  max.s32 %r4, %r3, 0;
  sub.s32 %r8, %r2, %r4;
  add.s32 %r9, %r8, 1;"""
# n - min(n, max(k, 0)) of n = min(m, 0): none, whatever m and k are.
OF_NONE = """  ld.param.u32 %r2, [length];
  mov.u32 %r3, %ctaid.y;
  sub.s32 %r4, %r3, 5;
  min.s32 %r5, %r2, 0;
  max.s32 %r6, %r4, 0;
  min.s32 %r7, %r5, %r6;
  sub.s32 %r9, %r5, %r7;"""
# By a register that one way of a branch writes: the larger of n and 4, less n where that is below 4.
BY_BRANCH = """  mov.u32 %r2, %ctaid.x;
  mov.b32 %r8, %r2;
  setp.ge.s32 %p3, %r2, 4;
  @%p3 bra LARGE;
  mov.b32 %r8, 4;
LARGE:
  sub.s32 %r9, %r8, %r2;"""
# As many as the kernel is told, within a condition that leaves few of them.
WITHIN = """  ld.param.u32 %r9, [length];
  setp.gt.s32 %p3, %r9, 6;
  @%p3 bra SHORT;"""


# 7 by a number that may be 0: then there is none, and nothing follows from it.
DIVIDED = """  ld.param.u32 %r2, [length];
  div.s32 %r3, %r2, %r2;
  setp.eq.s32 %p3, %r2, 0;
  selp.b32 %r9, 7, %r3, %p3;"""
# What a mask leaves, and what it does not; the lowest bits of a sum of which they are known.
LOWEST = "  ld.param.u32 %r2, [length];\n  and.b32 %r9, %r2, 3;"
HIGHEST = "  ld.param.u32 %r2, [length];\n  and.b32 %r3, %r2, -4;\n  sub.s32 %r9, %r2, %r3;"
SUMMED = "  ld.param.u32 %r2, [length];\n  mad.lo.s32 %r3, %r2, 4, 2;\n  and.b32 %r9, %r3, 3;"
# Operations that have the name of another one, each where that would leave too little: high words of products, bytes,
# words without a sign, and a selection, whose predicate is last. The way to them is within what the kernel gets.
ANOTHER = {
    "high word": ("gt.s32 %p3, %r2, 1000000", "mul.hi.u32 %r3, %r2, 16;\n  sub.s32 %r9, 7, %r3;"),
    "byte": ("gt.s32 %p3, %r2, 255", "cvt.u32.u8 %r3, %r2;\n  sub.s32 %r9, 10, %r3;"),
    "without a sign": ("gt.s32 %p3, %r2, 1000000", "max.u32 %r3, %r2, -3;\n  sub.s32 %r9, 2, %r3;"),
    "selected": ("ge.s32 %p3, %r2, 0", "setp.eq.s32 %p4, %r2, 0;\n  selp.b32 %r9, 7, 1, %p4;"),
    "wide": ("lt.s32 %p3, %r2, 0", "cvt.u64.u32 %rd1, %r2;\n  shr.u64 %rd1, %rd1, 28;\n  cvt.u32.u64 %r9, %rd1;"),
}
# 0 where it is compared first, and what the kernel gets where it is compared again.
CHANGING = """  mov.b32 %r9, 0;
AGAIN:
  setp.gt.s32 %p3, %r9, 6;
  @%p3 bra SHORT;
  ld.param.u32 %r9, [length];
  setp.eq.s32 %p3, %r9, 5;
  @%p3 bra AGAIN;"""


def judged(computed: str, count: int) -> tuple[set[str], list[str], int]:
    """The codes of the errors, why the kernel is not verified, and how many steps it has."""
    report = tileproof.check(WINDOW.replace("COMPUTED", computed).replace("COUNT", str(count)))
    (kernel,) = report.files[0].kernels
    errors = {one.code for one in report.diagnostics if one.severity.value == "error"}
    return errors, [one.case for one in kernel.reasons], kernel.steps


MOST = [
    *((OF_THREE, 3), (OF_NONE, 0), (BY_BRANCH, 4), (WITHIN, 6)),
    *((LOWEST, 3), (HIGHEST, 3), (SUMMED, 2)),
]


@pytest.mark.parametrize(("computed", "most"), MOST)
def test_what_no_number_leads_to_is_no_step(computed: str, most: int):
    assert judged(computed, most + 1) == (set(), [], STEPS)


@pytest.mark.parametrize(("computed", "most"), MOST)
def test_what_some_number_leads_to_is_one(computed: str, most: int):
    errors, reasons, steps = judged(computed, most)
    assert steps == STEPS + 1
    assert errors == {"PR126"} or reasons


def test_nothing_follows_from_a_quotient_that_there_is_not():
    assert judged(DIVIDED, 5)[2] == STEPS + 1


@pytest.mark.parametrize("how", ANOTHER)
def test_the_name_of_an_operation_does_not_say_what_it_computes(how: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(judging, "chosen_runs", lambda *_: None)  # which come there
    within, computed = ANOTHER[how]
    text = f"  ld.param.u32 %r2, [length];\n  setp.{within};\n  @!%p3 bra SHORT;\n  {computed}"
    assert judged(text, 5)[2] == STEPS + 1


def test_a_register_that_changes_is_no_number():
    errors, reasons, steps = judged(CHANGING, 8)
    assert steps == STEPS + 1
    assert errors or reasons


# The branch to the second wait is left by the threads that the predicate is for, of which one is elected.
ELECTED = (
    WINDOW.replace("COMPUTED", OF_THREE)
    .replace("%p<5>", "%p<8>")
    .replace(
        "  @%p1 bra SHORT;\n",
        "  elect.sync _|%p5, -1;\n  not.pred %p6, %p1;\n  and.pred %p7, %p5, %p6;\n  @!%p7 bra SHORT;\n",
    )
)


@pytest.mark.parametrize(("count", "steps"), [(4, STEPS), (3, STEPS + 1)])
def test_who_is_elected_does_not_go_where_no_number_leads(count: int, steps: int):
    """Triton's prefetches: one thread issues them where there is another tile."""
    (kernel,) = tileproof.check(ELECTED.replace("COUNT", str(count))).files[0].kernels
    assert kernel.steps == steps


# A loop that is written out four times, and its tail: what is done in the last turn of all, by where that is.
UNROLLED = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry unrolled(.param .u32 length)
.reqntid 32, 1, 1
{
  .reg .pred %p<9>;
  .reg .b32 %r<20>;
  ld.param.u32 %r1, [length];
  add.s32 %r2, %r1, -1;
  and.b32 %r3, %r1, 3;
  and.b32 %r4, %r1, 2147483644;
  setp.lt.s32 %p1, %r1, 1;
  @%p1 bra DONE;
  setp.lt.u32 %p1, %r1, 4;
  mov.b32 %r5, 0;
  mov.b32 %r6, 0;
  @%p1 bra TAIL;
AROUND:
  cp.async.commit_group;
  add.s32 %r7, %r5, AHEAD;
  setp.ne.s32 %p2, %r7, %r2;
  @%p2 bra OTHERS;
  cp.async.wait_group 0;
OTHERS:
  add.s32 %r5, %r5, 4;
  setp.ne.s32 %p3, %r5, %r4;
  mov.u32 %r6, %r4;
  @%p3 bra AROUND;
TAIL:
  setp.eq.s32 %p4, %r3, 0;
  @%p4 bra DONE;
  setp.ne.s32 %p5, %r6, %r2;
  @%p5 bra DONE;
  cp.async.wait_group 1;
DONE:
  ret;
}
"""


def steps_of_unrolled(text: str) -> tuple[str, int]:
    (kernel,) = tileproof.check(text).files[0].kernels
    return kernel.status, kernel.steps


@pytest.mark.parametrize(("ahead", "steps"), [(0, 2), (1, 2), (2, 2), (3, 3)])
def test_the_last_turn_is_the_last_of_four_where_no_tail_follows(ahead: int, steps: int):
    """The counter is a multiple of four below a bound: only three ahead of it comes to the last turn."""
    assert steps_of_unrolled(UNROLLED.replace("AHEAD", str(ahead))) == ("followed", steps)


def test_a_counter_that_goes_by_five_comes_to_it():
    text = UNROLLED.replace("AHEAD", "1").replace("add.s32 %r5, %r5, 4", "add.s32 %r5, %r5, 5")
    assert steps_of_unrolled(text)[1] == 3


@pytest.mark.parametrize("compare", ["lt.s32", "lt.u32"])
def test_a_loop_that_goes_on_below_a_bound_ends_there(compare: str):
    """A counter that goes by four below a multiple of four comes to the last turn three before it, no sooner."""
    text = UNROLLED.replace("setp.ne.s32 %p3, %r5, %r4", f"setp.{compare} %p3, %r5, %r4")
    assert [steps_of_unrolled(text.replace("AHEAD", str(ahead)))[1] for ahead in (1, 3)] == [2, 3]
