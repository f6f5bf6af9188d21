"""What is wrong in PTX stands at the instruction to change, and its hint spells what to write as PTX does."""

from __future__ import annotations

import re

import pytest
from test_ptx_kernels import HEAD, RING, TILES
from test_unmet import COPY, RELEASE, ROLES

import tileproof
from tileproof.base.diagnostic import Diagnostic

WAIT = "  mbarrier.try_wait.parity.shared::cta.b64 done, [%r21], %r7;"
EXPECT = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], 4096;"
INIT = "mbarrier.init.shared::cta.b64 [%r3+16], 32;"

# The ring with tiles that all CTAs of the grid share: each has few of them.
PERSISTENT = (
    RING.replace("  mov.b32 %r5, 0;\n", "  mov.u32 %r5, %ctaid.x;\n  mov.u32 %r29, %nctaid.x;\n")
    .replace("add.s32 %r5, %r5, 1;", "add.s32 %r5, %r5, %r29;")
    .replace("[tiles];\n", "[tiles];\n  add.s32 %r4, %r4, 127;\n  shr.u32 %r4, %r4, 7;\n")
)


def errors(text: str) -> list[Diagnostic]:
    return [one for one in tileproof.check(text).diagnostics if one.severity.value == "error"]


def one_error(text: str) -> tuple[Diagnostic, str]:
    """The only error, and the line that it stands at."""
    (found,) = errors(text)
    assert not re.search(r"nvvm\.|cute\.|%\d", found.message + found.hint)
    return found, text.splitlines()[found.source.position(found.span.start).line - 1].strip()


@pytest.mark.parametrize(
    ("right", "wrong", "code", "hint"),
    [
        (WAIT, WAIT.replace("[%r21]", "[%r21+8]"), "PR111", "wait at barrier full[0]"),
        (COPY, COPY.replace("[%r11]", "[%r11+8]"), "PR124", "let it complete on barrier full[0]"),
        (EXPECT, EXPECT.replace("[%r11]", "[%r11+8]"), "PR125", "arrive at barrier full[0]"),
        (INIT, INIT.replace("32;", "33;"), "PR125", "initialise barrier empty[0] of ring 'smem' (2 stages) with 32"),
    ],
)
def test_an_operation_at_the_wrong_barrier_or_with_a_wrong_number_is_named(
    right: str, wrong: str, code: str, hint: str
):
    assert ROLES.count(right) == 1
    found, line = one_error(ROLES.replace(right, wrong))
    assert (found.code, line) == (code, wrong.strip())
    assert found.hint.startswith(hint)


@pytest.mark.parametrize(
    ("barrier", "code", "hint"),
    [("1", "PR112", "a bulk store"), ("2", "PR111", "insert bar.sync 2, 128 after line 22")],
)
def test_a_barrier_of_threads_is_inserted_as_it_is_written_elsewhere(barrier: str, code: str, hint: str):
    found, _ = one_error(TILES.replace(f"  bar.sync {3 - int(barrier)}, 128;\n", ""))
    assert found.code == code
    assert hint in found.message + found.hint


def test_lines_in_hints_are_those_of_the_file_wherever_an_equal_kernel_stands():
    wrong = PERSISTENT.replace(RELEASE, "")
    first, moved = (one_error(text)[0].hint for text in (wrong, wrong.replace(HEAD, f"{HEAD}// moved\n\n")))
    before, after = (int(re.findall(r"line (\d+)", one)[0]) for one in (first, moved))
    assert after == before + 2


# -- runs that have what others have not


def test_barriers_that_few_tiles_use_once_are_used_again_where_one_cta_has_all_tiles():
    assert tileproof.check(PERSISTENT).diagnostics == ()
    found, line = one_error(PERSISTENT.replace(RELEASE, ""))
    assert (found.code, line) == ("PR126", "ld.shared.b32 %r26, [%r25];")
    assert found.hint.startswith("insert mbarrier.arrive at barrier empty[0]")
    found, line = one_error(PERSISTENT.replace(RELEASE, RELEASE.replace("+16", "+24")))
    assert (found.code, line) == ("PR126", RELEASE.replace("+16", "+24"))


# Of a sum over nothing zeros are stored, tile by tile.
NOTHING = (
    HEAD
    + """.visible .entry sums(.param .align 64 .b8 map[128], .param .u32 rows, .param .u32 depth)
.reqntid 160, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  ld.param.u32 %r3, [rows];
  ld.param.u32 %r4, [depth];
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  shl.b32 %r5, %r1, 4;
  add.s32 %r6, %r2, %r5;
  setp.gt.u32 %p1, %r1, 127;
  @%p1 bra END;
  add.s32 %r7, %r4, 63;
  setp.gt.s32 %p2, %r7, 63;
  mov.u32 %r8, %ctaid.x;
  add.s32 %r9, %r3, 127;
  shr.u32 %r9, %r9, 7;
  @%p2 bra SUMS;
  setp.ge.s32 %p3, %r8, %r9;
  @%p3 bra END;
ZEROS:
  cp.async.bulk.wait_group.read 0;
  bar.sync 1, 128;
  mov.b32 %r10, 0;
  st.shared.v4.b32 [%r6], {%r10, %r10, %r10, %r10};
  fence.proxy.async.shared::cta;
  bar.sync 1, 128;
  setp.ne.s32 %p4, %r1, 0;
  @%p4 bra STORED;
  cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {%r8, %r8}], [%r2];
  cp.async.bulk.commit_group;
STORED:
  add.s32 %r8, %r8, 132;
  setp.lt.s32 %p5, %r8, %r9;
  @%p5 bra ZEROS;
  cp.async.bulk.wait_group.read 0;
  bra.uni END;
SUMS:
  bar.sync 1, 128;
  add.s32 %r8, %r8, 132;
  setp.lt.s32 %p5, %r8, %r9;
  @%p5 bra SUMS;
END:
  ret;
}
"""
)


@pytest.mark.parametrize(
    ("right", "wrong", "codes"),
    [
        ("  fence.proxy.async.shared::cta;\n", "", ["PR110"]),
        ("async.shared::cta;\n  bar.sync 1, 128;", "async.shared::cta;\n  bar.sync 1, 96;", ["PR136"]),
        ("", "", []),
    ],
)
def test_what_one_number_keeps_a_run_from_is_followed_where_the_others_are_large(
    right: str, wrong: str, codes: list[str]
):
    assert right in NOTHING
    result = tileproof.check(NOTHING.replace(right, wrong) if right else NOTHING)
    assert [one.code for one in result.diagnostics] == codes
    (kernel,) = result.files[0].kernels
    assert (kernel.executed, kernel.reasons) == (kernel.steps, ())


# -- what is no finding

OVER = (
    HEAD
    + """.visible .entry over(.param .u64 from)
.reqntid 128, 1, 1
{
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<6>; .reg .f32 %f<5>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  ld.param.u64 %rd1, [from];
  shl.b32 %r3, %r1, 4;
  add.s32 %r4, %r2, %r3;
  st.shared.v4.b32 [%r4], {%r1, %r1, %r1, %r1};
  bar.sync 0;
  cp.async.cg.shared.global [%r4], [%rd1], 16;
  cp.async.commit_group;
  cp.async.wait_group 0;
  bar.sync 0;
  mov.b64 %rd2, 4611686293305294848;
  and.b32 %r5, %r2, 262143;
  shr.u32 %r5, %r5, 4;
  cvt.u64.u32 %rd3, %r5;
  or.b64 %rd4, %rd2, %rd3;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd4, %rd4, 0, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  ret;
}
"""
)


def test_copies_over_what_threads_wrote_are_what_is_read():
    """cp.async writes in the proxy of threads; who leaves the fence out there does so in all kernels of its kind."""
    assert "PR110" not in {one.code for one in tileproof.check(OVER).diagnostics}
    part = OVER.replace(
        "  cp.async.cg.shared.global [%r4]", "  setp.ge.u32 %p1, %r1, 32;\n  @%p1 cp.async.cg.shared.global [%r4]"
    )
    assert "PR110" in {one.code for one in tileproof.check(part).diagnostics}


# Each of two lanes of the leader arrives at the barrier of one CTA of the pair.
PAIR = (
    HEAD.replace("sm_90a", "sm_100a")
    + """.visible .entry pair()
.reqntid 64, 1, 1
.reqnctapercluster 2, 1, 1
.explicitcluster
{
  .reg .pred %p<9>; .reg .b32 %r<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.u32 %r3, %cluster_ctarank;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r2], 1;
  fence.mbarrier_init.release.cluster;
READY:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  setp.lt.u32 %p2, %r1, 2;
  setp.eq.s32 %p3, %r3, 0;
  and.pred %p4, %p2, %p3;
  shl.b32 %r4, %r1, 24;
  and.b32 %r5, %r4, 16777216;
  xor.b32 %r6, %r5, %r2;
  @%p4 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p5, [%r2], 0;
  @!%p5 bra WAIT;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
"""
)


def test_lanes_may_name_a_barrier_of_either_cta_of_a_pair():
    result = tileproof.check(PAIR)
    assert result.diagnostics == ()
    assert result.files[0].kernels[0].reasons == ()
    one = errors(PAIR.replace("  setp.lt.u32 %p2, %r1, 2;", "  setp.lt.u32 %p2, %r1, 1;"))
    assert [error.message[:8] for error in one] == ["Deadlock"]


UNKNOWN = PAIR.replace("and.b32 %r5, %r4, 16777216;", "ld.param.u32 %r5, [flip];").replace(
    "pair()", "pair(.param .u32 flip)"
)


def test_threads_that_wait_for_what_an_unknown_place_may_be_given_are_no_error():
    assert errors(UNKNOWN) == []
    assert "barrier_address" in [one.case for one in tileproof.check(UNKNOWN).files[0].kernels[0].reasons]
