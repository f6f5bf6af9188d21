"""What goes wrong only where a lane, a warp or a CTA is late: waits that are lapped, lanes that have not met."""

from __future__ import annotations

import pytest

import tileproof

# Four warps wait for each tile and one of them hands it back: triton-lang/triton#10035, PyFR/GiMMiK#23.
MET = "  barrier.sync 1, 128; // waited\n"
TILES = f""".version 8.7
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry tiles(.param .u32 count)
.reqntid 160, 1, 1
{{
  .reg .pred %p<9>; .reg .b32 %r<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  ld.param.u32 %r4, [count];
  mov.b32 %r3, 0;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2], 1;
  mbarrier.init.shared::cta.b64 [%r2+8], 1;
INITIALISED:
  bar.sync 0;
  setp.ge.u32 %p2, %r1, 128;
  @%p2 bra PRODUCER;
TILE:
  and.b32 %r5, %r3, 1;
FULL:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2], %r5;
  @!%p3 bra FULL;
{MET}  @!%p1 mbarrier.arrive.shared::cta.b64 _, [%r2+8];
  add.s32 %r3, %r3, 1;
  setp.lt.s32 %p4, %r3, %r4;
  @%p4 bra TILE;
  ret;
PRODUCER:
  setp.ne.s32 %p5, %r1, 128;
  @%p5 ret;
FILL:
  and.b32 %r5, %r3, 1;
  xor.b32 %r5, %r5, 1;
EMPTY:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2+8], %r5;
  @!%p3 bra EMPTY;
  mbarrier.arrive.shared::cta.b64 _, [%r2];
  add.s32 %r3, %r3, 1;
  setp.lt.s32 %p4, %r3, %r4;
  @%p4 bra FILL;
  ret;
}}
"""

# The barrier counts the four warps instead.
COUNTED = (
    TILES.replace(MET, "").replace("[%r2+8], 1;", "[%r2+8], 128;").replace("@!%p1 mbarrier.arrive", "mbarrier.arrive")
)


def codes(text: str) -> list[tuple[str, str]]:
    return [(one.code, one.severity.value) for one in tileproof.check(text).diagnostics]


@pytest.mark.parametrize("text", [TILES, COUNTED], ids=["met", "counted"])
def test_a_wait_that_the_next_phase_comes_after_is_fine(text: str) -> None:
    assert codes(text) == []


def test_a_wait_that_nothing_in_the_next_phase_comes_after() -> None:
    (found,) = tileproof.check(TILES.replace(MET, "")).diagnostics
    assert (found.code, found.severity.value) == ("PR188", "warning")
    assert "barrier smem + 0 comes after this wait" in found.message


def test_all_such_waits_of_a_kernel_are_one_finding() -> None:
    twice = TILES.replace(MET, "").replace(
        "  add.s32 %r3, %r3, 1;\n  setp.lt.s32 %p4, %r3, %r4;\n  @%p4 bra TILE;\n",
        "  add.s32 %r3, %r3, 1;\n  and.b32 %r5, %r3, 1;\nAGAIN:\n"
        "  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2], %r5;\n  @!%p3 bra AGAIN;\n"
        "  @!%p1 mbarrier.arrive.shared::cta.b64 _, [%r2+8];\n"
        "  add.s32 %r3, %r3, 1;\n  setp.lt.s32 %p4, %r3, %r4;\n  @%p4 bra TILE;\n",
        1,
    )
    (found,) = tileproof.check(twice).diagnostics
    assert found.code == "PR188"
    assert "other waits of this kernel alike: 1" in found.message


def test_a_relaxed_arrival_still_comes_after_the_wait() -> None:
    assert (
        codes(
            COUNTED.replace(
                "mbarrier.arrive.shared::cta.b64 _, [%r2+8]", "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%r2+8]"
            )
        )
        == []
    )


def test_a_hang_behind_phases_that_went_by_says_so() -> None:
    """Nothing holds the producer back: to wait for the other parity would repair nothing."""
    empty = TILES[TILES.index("EMPTY:") : TILES.index("  mbarrier.arrive.shared::cta.b64 _, [%r2];\n")]
    (found,) = (one for one in tileproof.check(TILES.replace(empty, "")).diagnostics if one.code == "PR126")
    assert "(2 stages) were complete before this waits for the first of them" in found.message
    assert "let what completes the next phase wait" in found.hint


# A thread stores into the memory of the other CTA of its cluster.
STORED = """.version 8.7
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry stored()
.reqntid 32, 1, 1
.reqnctapercluster 2, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<9>;
  mov.b32 %r2, smem;
  mov.u32 %r3, %cluster_ctarank;
  xor.b32 %r4, %r3, 1;
  barrier.cluster.arrive.relaxed.aligned;
  barrier.cluster.wait.aligned;
  mapa.shared::cluster.u32 %r5, %r2, %r4;
  st.shared::cluster.u32 [%r5], %r3;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
"""


def test_a_cta_is_reached_after_it_has_started() -> None:
    assert codes(STORED) == []
    first = "  barrier.cluster.arrive.relaxed.aligned;\n  barrier.cluster.wait.aligned;\n"
    assert codes(STORED.replace(first, "")) == [("PR189", "warning")]


# All lanes of a warp store what another warp reads, and one of them arrives for all: NVIDIA/cudnn-frontend#426.
SYNC = "  bar.warp.sync -1;\n"
ARRIVAL = "  @!%p1 mbarrier.arrive.shared::cta.b64 _, [%r2+1024];\n"
HANDED_ON = f""".version 8.7
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry handed_on()
.reqntid 64, 1, 1
{{
  .reg .pred %p<9>; .reg .b32 %r<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  setp.ne.s32 %p1, %r1, 0;
  @!%p1 mbarrier.init.shared::cta.b64 [%r2+1024], 1;
  bar.sync 0;
  and.b32 %r3, %r1, 31;
  shl.b32 %r3, %r3, 2;
  add.s32 %r3, %r2, %r3;
  setp.ge.u32 %p2, %r1, 32;
  @%p2 bra READ;
  st.shared.b32 [%r3], %r1;
{SYNC}{ARRIVAL}  ret;
READ:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2+1024], 0;
  @!%p3 bra READ;
  ld.shared.b32 %r4, [%r3];
  ret;
}}
"""


def test_a_lane_arrives_for_lanes_that_it_has_met() -> None:
    assert codes(HANDED_ON) == []
    assert codes(HANDED_ON.replace(SYNC, "")) == [("PR162", "warning")]


def test_lanes_that_meet_after_the_arrival_and_then_other_warps() -> None:
    """What orders the read is the barrier behind."""
    met = HANDED_ON.replace(SYNC + ARRIVAL, ARRIVAL + SYNC + "  bar.sync 1, 64;\n").replace(
        "  ld.shared.b32 %r4", "  bar.sync 1, 64;\n  ld.shared.b32 %r4"
    )
    assert codes(met) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (ARRIVAL, "  mbarrier.arrive.shared::cta.b64 _, [%r2+1024];\n"),  # each lane for itself
        ("  st.shared.b32", "  @!%p1 st.shared.b32"),  # what the lane that arrives stored itself
        ("  ld.shared.b32 %r4, [%r3];", "  ld.shared.b32 %r4, [%r3+128];"),  # what is read nobody stored
    ],
)
def test_lanes_that_need_not_meet(old: str, new: str) -> None:
    text = HANDED_ON.replace(SYNC, "").replace(old, new)
    counted = text.replace("[%r2+1024], 1;", "[%r2+1024], 32;") if old is ARRIVAL else text
    assert codes(counted) == []


# A warp reads, and meets a second one, which arrives so that a third one writes there.
TOLD = """.version 8.7
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry told()
.reqntid 96, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  setp.ne.s32 %p1, %r1, 0;
  @!%p1 mbarrier.init.shared::cta.b64 [%r2+1024], 32;
  bar.sync 0;
  and.b32 %r3, %r1, 31;
  shl.b32 %r3, %r3, 2;
  add.s32 %r3, %r2, %r3;
  setp.ge.u32 %p2, %r1, 64;
  @%p2 bra WAIT;
  setp.ge.u32 %p3, %r1, 32;
  @%p3 bra SECOND;
  ld.shared.b32 %r4, [%r3];
  bar.sync 1, 64;
  ret;
SECOND:
  bar.sync 1, 64;
  mbarrier.arrive.release.cta.shared::cta.b64 _, [%r2+1024];
  ret;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r2+1024], 0;
  @!%p4 bra WAIT;
  st.shared.b32 [%r3], %r1;
  ret;
}
"""


def test_a_relaxed_arrival_releases_no_read_of_others() -> None:
    assert codes(TOLD) == []
    assert codes(TOLD.replace("arrive.release", "arrive.relaxed")) == [("PR116", "error")]
