"""Hazards that rest on how many threads take part, and steps that only some numbers or one CTA come to.

A kernel is right for all launches that are meant, and the text does not say which those are.
"""

from __future__ import annotations

import pytest

import tileproof
from protocol.test_never import WINDOW
from tileproof.report.values import Report

SHARED = "  .shared .align 8 .b8 full[8];\n"
OPEN = WINDOW.replace("  setp.lt.s32 %p1, %r9, COUNT;\n  @%p1 bra SHORT;\nSECOND:", "  bra SHORT;\nSECOND:")
SECOND = """SECOND:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r10], 1;
  @!%p4 bra SECOND;
"""


def errors(report: Report) -> set[str]:
    return {one.code for one in report.diagnostics if one.severity.value == "error"}


def reasons(report: Report) -> list[str]:
    (kernel,) = report.files[0].kernels
    return [one.case for one in kernel.reasons]


# Threads store into a list of 8 words if they are below a number; each has read one of the words from OFFSET on.
LIST = OPEN.replace(SHARED, SHARED + "  .shared .align 16 .b8 list[1024];\n").replace(
    "COMPUTED",
    """  ld.param.u32 %r2, [length];
  ld.shared.b32 %r3, [list+OFFSET];
  setp.ge.u32 %p3, %r1, %r2;
  @%p3 bra NONE;
  shl.b32 %r5, %r1, 2;
  mov.b32 %r6, list;
  add.s32 %r6, %r6, %r5;
  st.shared.b32 [%r6], %r3;
NONE:""",
)


def test_threads_that_store_behind_their_list_are_more_than_a_caller_gives():
    report = tileproof.check(LIST.replace("OFFSET", "32"))
    assert (errors(report), reasons(report)) == (set(), ["bounded_threads"])
    (note,) = report.diagnostics
    assert "PR116 is here where an integer that the kernel gets is 896: where it is 3, fewer threads" in note.message


def test_a_hazard_within_the_list_is_one_of_few_threads_as_well():
    report = tileproof.check(LIST.replace("OFFSET", "0"))
    assert (errors(report), reasons(report)) == ({"PR116"}, [])


def test_a_hazard_that_another_number_takes_away_stands_where_the_accesses_meet():
    """Threads meet at a barrier where there are few; where there are more they do not."""
    wait = "  setp.gt.u32 %p2, %r2, 100;\n  @%p2 bra UNMET;\n  bar.sync 0;\nUNMET:\n"
    text = LIST.replace("OFFSET", "0").replace(
        "  setp.ge.u32 %p3, %r1, %r2;\n", wait + "  setp.ge.u32 %p3, %r1, %r2;\n"
    )
    report = tileproof.check(text)
    assert ([one.code for one in report.diagnostics], reasons(report)) == (["PR117"], [])


# The CTA that comes last says so in shared memory, and all its threads meet once more.
LAST = (
    OPEN.replace(SHARED, SHARED + "  .shared .align 8 .b8 last[8];\n")
    .replace("(.param .u32 length)", "(.param .u32 length, .param .u64 counter)")
    .replace("  bra SHORT;\nSECOND:", "SECOND:")
    .replace(
        "COMPUTED",
        """  setp.ne.u32 %p2, %r1, 0;
  @%p2 bra TOLD;
  ld.param.u64 %rd1, [counter];
  mov.b32 %r2, 1;
  atom.acq_rel.gpu.global.add.u32 %r3, [%rd1], %r2;
  ld.param.u32 %r4, [length];
  add.s32 %r4, %r4, -1;
  setp.ne.s32 %p3, %r3, %r4;
  mov.b32 %r5, 0;
  @%p3 bra LATER;
  mov.b32 %r5, 1;
LATER:
  mov.b32 %r6, last;
  st.shared.b32 [%r6], %r5;
TOLD:
  bar.sync 0;
  ld.shared.b32 %r7, [last];
  setp.eq.s32 %p3, %r7, 0;
  @%p3 bra SHORT;
  mbarrier.arrive.shared::cta.b64 _, [%r10];""",
    )
)


def test_a_step_of_the_cta_that_comes_last_is_executed():
    report = tileproof.check(LAST)
    (kernel,) = report.files[0].kernels
    assert (kernel.status, kernel.executed, errors(report)) == ("followed", kernel.steps, set())


def test_a_kernel_in_which_something_is_wrong_there_is_not_followed():
    without = LAST.replace("@%p3 bra SHORT;\n  mbarrier.arrive.shared::cta.b64 _, [%r10];", "@%p3 bra SHORT;")
    assert reasons(tileproof.check(without)) == ["guessed_steps"]


MEETING = """  mbarrier.arrive.shared::cta.b64 _, [%r10];
FIRST:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r10], 0;
  @!%p2 bra FIRST;
"""
DATA = """  ex2.approx.f32 %f1, %f2;
  setp.gt.f32 %p2, %f1, 0f3F000000;
  mov.b32 %r7, 0;
  @%p2 bra SMALL;
  mov.b32 %r7, 1;
SMALL:
  st.shared.b32 [%r8+16], %r7;
"""

# A length that is loaded is shared out to 148 CTAs; from the second tile of a CTA on its threads fence.
SHARED_OUT = (
    OPEN.replace("(.param .u32 length)", "(.param .u32 length, .param .u64 lengths)")
    .replace("  bra SHORT;\nSECOND:", "SECOND:")
    .replace(SECOND, "")
    .replace(
        "COMPUTED",
        """  ld.param.u64 %rd1, [lengths];
  ld.global.u32 %r2, [%rd1];
  add.s32 %r3, %r2, 127;
  shr.u32 %r3, %r3, 7;
  div.u32 %r4, %r3, 148;
  mov.b32 %r5, 0;
AROUND:
  setp.ge.u32 %p3, %r5, %r4;
  @%p3 bra SHORT;
  setp.eq.u32 %p3, %r5, 0;
  @%p3 bra FIRST_TILE;
  fence.proxy.async.shared::cta;
FIRST_TILE:
  add.s32 %r5, %r5, 1;
  bra AROUND;""",
    )
)


def test_a_length_is_so_large_that_each_of_many_ctas_has_several_tiles():
    report = tileproof.check(SHARED_OUT)
    (kernel,) = report.files[0].kernels
    assert (kernel.status, kernel.executed) == ("followed", kernel.steps)


# The same where threads go round a barrier from the second tile on, and meet at another behind all tiles: only data
# decide what they store before.
RINGS = (
    SHARED_OUT.replace("full[8]", "full[1024]")
    .replace("%p<5>", "%p<6>")
    .replace("  .reg .b64", "  .reg .f32 %f<3>;\n  .reg .b64")
    .replace("[%r10], 64;\n", "[%r10], BEHIND;\n  mbarrier.init.shared::cta.b64 [%r10+8], WITHIN;\n")
    .replace(MEETING, "  shl.b32 %r8, %r1, 2;\n  add.s32 %r8, %r8, %r10;\n" + DATA)
    .replace("SHORT:\n", "SHORT:\n" + MEETING)
    .replace(
        "  fence.proxy.async.shared::cta;\n",
        """  mbarrier.arrive.shared::cta.b64 _, [%r10+8];
  and.b32 %r9, %r5, 1;
  xor.b32 %r9, %r9, 1;
AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r10+8], %r9;
  @!%p5 bra AGAIN;
""",
    )
)


def rings(behind: int, within: int) -> Report:
    return tileproof.check(RINGS.replace("BEHIND", str(behind)).replace("WITHIN", str(within)))


def test_a_barrier_behind_the_tiles_lacks_an_arrival_however_many_there_are():
    (kernel,) = rings(64, 64).files[0].kernels
    assert (kernel.status, kernel.executed) == ("followed", kernel.steps)
    assert errors(rings(65, 64)) == {"PR125"}


def test_what_threads_wait_for_in_many_tiles_alone_is_named():
    """None of these runs may be one that somebody asks for."""
    report = rings(64, 65)
    (note,) = report.diagnostics
    may = "PR125 may be here, if it does not rest on how often loops run"
    assert f"{may}: Deadlock: barrier full + 8 expects 65 arrivals" in note.message
    assert reasons(report) == ["not_executed", "loop_turns"]


@pytest.mark.parametrize(
    "opcode", ["red.async.release.gpu.global.add.u64 [%rd1], %rd1", "st.async.release.gpu.global.b64 [%rd1], %rd1"]
)
def test_an_asynchronous_store_to_global_memory_completes_on_no_mbarrier(opcode: str):
    text = (
        OPEN.replace(".target sm_90a", ".target sm_100a")
        .replace("8.7", "9.0")
        .replace("COMPUTED", f"  mov.b64 %rd1, 4096;\n  {opcode};")
    )
    report = tileproof.check(text)
    assert (errors(report), reasons(report)) == (set(), [])


# A loop of open length over a ring of two barriers, which threads may leave in the middle; one more phase behind it.
RING_OF_TWO = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry ring(.param .u32 length, .param .u32 step, .param .u64 data)
.reqntid 64, 1, 1
{
  .reg .pred %p<6>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<3>;
  .shared .align 8 .b8 full[16];
  mov.u32 %r1, %tid.x;
  mov.b32 %r10, full;
  setp.ne.u32 %p2, %r1, 0;
  @%p2 bra READY;
  mbarrier.init.shared::cta.b64 [%r10], 64;
  mbarrier.init.shared::cta.b64 [%r10+8], 64;
READY:
  bar.sync 0;
  ld.param.u32 %r2, [length];
  ld.param.u32 %r3, [step];
  ld.param.u64 %rd1, [data];
  mov.b32 %r4, 0;
  mov.b32 %r5, 0;
  mov.b32 %r6, 0;
AROUND:
  shl.b32 %r7, %r5, 3;
  add.s32 %r8, %r10, %r7;
  mbarrier.arrive.shared::cta.b64 _, [%r8];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r8], %r6;
  @!%p1 bra WAIT;
  add.s32 %r9, %r5, 1;
  setp.eq.s32 %p3, %r9, 2;
  selp.b32 %r5, 0, %r9, %p3;
  selp.u32 %r11, 1, 0, %p3;
  xor.b32 %r6, %r6, %r11;
  LEAVE
  add.s32 %r4, %r4, %r3;
  setp.lt.s32 %p4, %r4, %r2;
  @%p4 bra AROUND;
BEHIND:
  shl.b32 %r12, %r5, 3;
  add.s32 %r13, %r10, %r12;
  mbarrier.arrive.shared::cta.b64 _, [%r13];
LAST:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r13], %r6;
  @!%p1 bra LAST;
  ret;
}
"""


@pytest.mark.parametrize("leave", ["", "ld.global.u32 %r14, [%rd1];\n  setp.eq.u32 %p5, %r14, 99;\n  @%p5 bra BEHIND;"])
def test_what_a_loop_carries_is_known_where_a_run_leaves_it_by_guess(leave: str):
    report = tileproof.check(RING_OF_TWO.replace("LEAVE", leave))
    (kernel,) = report.files[0].kernels
    assert (errors(report), kernel.status, kernel.executed) == (set(), "followed", kernel.steps)


# Half of the threads take as many phases as there are tiles; the others complete two, in a loop that has two turns.
TWO_PHASES = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry two(.param .u32 length)
.reqntid 64, 1, 1
{
  .reg .pred %p<6>;
  .reg .b32 %r<20>;
  .shared .align 8 .b8 full[16];
  mov.u32 %r1, %tid.x;
  mov.b32 %r10, full;
  setp.ne.u32 %p2, %r1, 0;
  @%p2 bra READY;
  mbarrier.init.shared::cta.b64 [%r10], 32;
READY:
  bar.sync 0;
  ld.param.u32 %r2, [length];
  mov.b32 %r4, 0;
  mov.b32 %r6, 0;
  setp.lt.u32 %p3, %r1, 32;
  @%p3 bra TAKE;
ARRIVE:
  mbarrier.arrive.shared::cta.b64 _, [%r10];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r10], %r6;
  @!%p1 bra WAIT;
  xor.b32 %r6, %r6, 1;
  add.s32 %r4, %r4, 1;
  setp.lt.u32 %p4, %r4, TURNS;
  @%p4 bra ARRIVE;
  bra DONE;
TAKE:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r10], %r6;
  @!%p1 bra TAKE;
  xor.b32 %r6, %r6, 1;
  add.s32 %r4, %r4, 1;
  setp.lt.u32 %p4, %r4, %r2;
  @%p4 bra TAKE;
DONE:
  bar.sync 0;
  ret;
}
"""


def test_a_role_without_a_loop_over_tiles_makes_a_kernel_for_few_of_them():
    report = tileproof.check(TWO_PHASES.replace("TURNS", "2"))
    assert (errors(report), reasons(report)) == (set(), ["loop_turns"])


def test_one_that_goes_by_another_number_waits_for_ever():
    report = tileproof.check(TWO_PHASES.replace("%r4, TURNS;", "%r4, %r2;").replace("@%p4 bra ARRIVE;", "", 1))
    assert errors(report) == {"PR126"}
