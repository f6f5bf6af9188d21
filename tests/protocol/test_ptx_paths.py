"""Paths that no thread takes, and threads of which some go on before others."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

import tileproof
from protocol.test_ptx_practices import HEAD, edited, mistaken, verified
from tileproof.protocol.machine import Machine
from tileproof.protocol.vector_clock import Clock
from tileproof.protocol.warps import Reconvergence, ThreadSet

SM_90 = HEAD.replace("sm_100a", "sm_90a")

# Each turn waits for the wgmma of the one before, and the last one issues none (SGLang, qprep_bf16_fp8).
ISSUED_AHEAD = (
    SM_90
    + """.visible .entry ahead(.param .u64 to)
.reqntid 128, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
  mov.u32 %r2, %tid.x;
  shl.b32 %r3, %r2, 4;
  mov.b32 %r4, smem;
  add.s32 %r5, %r4, %r3;
  st.shared.v4.b32 [%r5], {%r2, %r2, %r2, %r2};
  fence.proxy.async.shared::cta;
  bar.sync 0;
  shr.u32 %r10, %r4, 4;
  and.b32 %r11, %r10, 16383;
  cvt.u64.u32 %rd2, %r11;
  or.b64 %rd3, %rd2, 4611686293305360384;
  mov.b32 %r7, 0;
TURN:
  wgmma.wait_group.sync.aligned 0;
  setp.gt.u32 %p1, %r7, 6;
  @%p1 bra NEXT;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd3, %rd3, 0, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
NEXT:
  add.s32 %r7, %r7, 1;
  setp.ne.s32 %p2, %r7, 8;
  @%p2 bra TURN;
  ret;
}
"""
)


def test_what_the_last_turn_does_not_issue_needs_no_wait():
    verified(ISSUED_AHEAD)
    mistaken(ISSUED_AHEAD, "%r7, 6;", "%r7, 7;", {"PR104"})


# The rest of a loop that is unrolled has no next turn to copy for, which only its numbers say (cuBLASDx, two stages).
REST = (
    SM_90
    + """.visible .entry rest(.param .u64 from, .param .u32 tiles)
.reqntid 128, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [from];
  ld.param.u32 %r1, [tiles];
  shr.u32 %r1, %r1, 7;
  mov.u32 %r2, %tid.x;
  shl.b32 %r3, %r2, 4;
  mov.b32 %r4, smem;
  add.s32 %r5, %r4, %r3;
  and.b32 %r6, %r1, 2147483646;
  mov.b32 %r7, 0;
PAIR:
  setp.ge.s32 %p1, %r7, %r6;
  @%p1 bra LAST;
  cp.async.cg.shared.global [%r5], [%rd1], 16;
  cp.async.commit_group;
  cp.async.wait_all;
  bar.sync 0;
  add.s32 %r7, %r7, 2;
  bra PAIR;
LAST:
  and.b32 %r8, %r1, 1;
  setp.eq.s32 %p2, %r8, 0;
  @%p2 bra END;
  bar.sync 0;
  add.s32 %r9, %r7, 1;
  setp.ge.s32 %p3, %r9, %r1;
  @%p3 bra END;
  cp.async.cg.shared.global [%r5+2048], [%rd1], 16;
END:
  ret;
}
"""
)


def test_a_copy_that_nobody_comes_to_is_named_not_wrong():
    report = tileproof.check(REST)
    assert {one.code for one in report.diagnostics} == {"PR190"}
    assert {one.case for one in report.files[0].kernels[0].reasons} == {"unconfirmed"}
    assert "PR108 may be here" in report.diagnostics[0].message
    mistaken(REST, "setp.ge.s32 %p3", "setp.gt.s32 %p3", {"PR108"})


def test_it_is_wrong_where_another_kernel_comes_to_it():
    """The copy is in a function that two kernels call."""
    copy = "  cp.async.cg.shared.global [%r5+2048], [%rd1], 16;\n"
    function = """.func copies(.param .b32 to, .param .b64 from)
{
  .reg .b32 %r<9>; .reg .b64 %rd<9>;
  ld.param.b32 %r5, [to];
  ld.param.b64 %rd1, [from];
  cp.async.cg.shared.global [%r5+2048], [%rd1], 16;
  ret;
}
"""
    call = """  { .param .b32 to; st.param.b32 [to], %r5; .param .b64 from; st.param.b64 [from], %rd1;
  call.uni copies, (to, from); }
"""
    never = edited(REST, (copy, call), (".visible", function + ".visible"))
    comes = (
        never[never.index(".visible") :]
        .replace("entry rest", "entry comes")
        .replace("setp.ge.s32 %p3", "setp.gt.s32 %p3")
    )
    for text, codes in ((never, set()), (never + comes, {"PR108"})):
        report = tileproof.check(text)
        assert {one.code for one in report.diagnostics if one.severity.value == "error"} == codes


# Threads initialise the barriers of two rings that lie one behind the other; lanes of one warp leave the loop before
# others (CUB, DeviceScan).
RINGS = (
    SM_90
    + """.visible .entry rings(.param .u32 stages)
.reqntid 64, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<20>;
  ld.param.u32 %r1, [stages];
  add.s32 %r1, %r1, -1;
  mov.u32 %r2, %tid.x;
  mov.b32 %r4, smem;
  shl.b32 %r5, %r1, 3;
  add.s32 %r6, %r4, %r5;
  shl.b32 %r7, %r2, 3;
  setp.ge.s32 %p1, %r2, %r1;
  @%p1 bra END;
  add.s32 %r8, %r4, %r7;
  mov.b32 %r9, %r2;
FULL:
  mbarrier.init.shared::cta.b64 [%r8], 1;
  add.s32 %r9, %r9, 64;
  add.s32 %r8, %r8, 512;
  setp.lt.s32 %p2, %r9, %r1;
  @%p2 bra FULL;
  add.s32 %r8, %r6, %r7;
  mov.b32 %r9, %r2;
EMPTY:
  mbarrier.init.shared::cta.b64 [%r8], 1;
  add.s32 %r9, %r9, 64;
  add.s32 %r8, %r8, 512;
  setp.lt.s32 %p2, %r9, %r1;
  @%p2 bra EMPTY;
END:
  ret;
}
"""
)


def test_each_lane_leaves_a_loop_when_its_own_turns_are_over():
    verified(RINGS)
    mistaken(RINGS, "add.s32 %r6, %r4, %r5;", "add.s32 %r6, %r4, 0;", {"PR129"})


# Every warp arrives once a turn, each behind a wait of its own.
ARRIVALS = (
    SM_90
    + """.visible .entry arrivals()
.reqntid 128, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<20>; .reg .b64 %rd<3>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  shr.u32 %r3, %r1, 5;
  shl.b32 %r4, %r3, 3;
  add.s32 %r5, %r2, %r4;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2], 32;
  mbarrier.init.shared::cta.b64 [%r2+8], 32;
  mbarrier.init.shared::cta.b64 [%r2+16], 32;
  mbarrier.init.shared::cta.b64 [%r2+24], 32;
  mbarrier.init.shared::cta.b64 [%r2+32], 4;
INITIALISED:
  bar.sync 0;
  mov.b32 %r6, 0;
TURN:
  mbarrier.arrive.shared::cta.b64 %rd1, [%r5];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], %r6;
  @!%p2 bra WAIT;
  elect.sync _|%p3, -1;
  @%p3 mbarrier.arrive.shared::cta.b64 _, [%r2+32];
  add.s32 %r6, %r6, 1;
  setp.lt.s32 %p4, %r6, 2;
  @%p4 bra TURN;
  ret;
}
"""
)


def test_a_phase_has_room_for_all_that_arrive_together():
    verified(ARRIVALS)
    verified(edited(ARRIVALS, ("[%r2+32], 4;", "[%r2+32], 2;")))
    verified(edited(ARRIVALS, ("[%r2+32], 4;", "[%r2+32], 8;")))
    mistaken(ARRIVALS, "[%r2+32], 4;", "[%r2+32], 3;", {"PR122"})


def waiting(cta: int, threads: range, missing: int) -> ThreadSet:
    """Threads that wait at a place where they come together with others."""
    point = Reconvergence(7, missing)
    one = ThreadSet(cta, tuple(threads), [], Clock(), 32, 128, parked=True, reconvergences=[point])
    point.parked.append(one)
    return one


@pytest.mark.parametrize(
    ("among", "order"),
    [(None, [(0, 32), (1, 64), (0, 31), (1, 1)]), ({1}, [(1, 64), (1, 1)])],
)
def test_whole_warps_go_on_before_those_that_wait_for_the_rest_of_theirs(
    among: set[int] | None, order: list[tuple[int, int]]
):
    sets = [
        waiting(0, range(1, 32), 2),
        waiting(1, range(1), 2),
        waiting(0, range(32, 64), 2),
        waiting(1, range(64, 128), 2),
    ]
    machine = SimpleNamespace(thread_sets=sets, diverge=lambda part, more: None)
    found = []
    while Machine.release_parked(machine, among=among):
        found += [(one.cta, len(one.threads)) for one in sets if not one.parked]
        sets[:] = [one for one in sets if one.parked]
    assert found == order


# A part that is for one CTA alone, in a kernel that does not say its cluster (DeepGEMM).
ALONE = (
    SM_90
    + """.visible .entry alone(.param .u64 to)
.reqntid 32, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<20>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.u32 %r3, %cluster_nctarank;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  setp.ne.s32 %p1, %r3, 1;
  @%p1 bra END;
  shl.b32 %r4, %r1, 2;
  add.s32 %r5, %r2, %r4;
  st.shared.b32 [%r5], %r1;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  setp.ne.s32 %p2, %r1, 0;
  @%p2 bra END;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 128;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
END:
  ret;
}
"""
)


def test_a_proxy_fence_that_is_missing_does_not_tell_which_cluster_a_kernel_is_made_for():
    verified(ALONE)
    mistaken(ALONE, "  fence.proxy.async.shared::cta;\n", "", {"PR110"})


def test_a_proxy_fence_that_is_missing_is_so_with_any_number_of_threads():
    """Of the other mistakes it is not known that they are: a warp has nobody to wait for."""
    unsaid = edited(ALONE, (".reqntid 32, 1, 1\n", ""), ("mov.u32 %r3, %cluster_nctarank;", "mov.u32 %r3, 1;"))
    unsaid = re.sub(r"  barrier.cluster.*\n", "", unsaid).replace(", 128;", ", 256;")
    fence, barrier = "  fence.proxy.async.shared::cta;\n", "  bar.sync 0;\n"
    for wrong, codes, cases in ((fence, {"PR110"}, set()), (barrier, set(), {"assumed_block"})):
        report = tileproof.check(edited(unsaid, (wrong, "")))
        assert {one.code for one in report.diagnostics if one.severity.value == "error"} == codes
        assert {one.case for one in report.files[0].kernels[0].reasons} == cases
