"""Launches that the text of a kernel in PTX leaves open, told by how its runs go."""

from __future__ import annotations

import re

import pytest

import tileproof
from protocol.test_ptx_kernels import PAIR
from protocol.test_ptx_practices import REUSED, edited
from tileproof.checking import kept_outcomes
from tileproof.protocol import judging
from tileproof.protocol.folding import Extents, Shape
from tileproof.protocol.launch import Launch, in_ranges
from tileproof.protocol.launch_trials import Trial, fewer_threads, narrowed

BOOK = tileproof.load_rules()

# Each thread copies a word, waits for it and reads it.
COPIES = """\
.version 8.7
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 in)BOUND
{
  .reg .pred %p<3>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<4>;
  .shared .align 16 .b8 tile[4096];
  .shared .align 4 .b8 flag[4];
  ld.param.b64 %rd1, [in];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, tile;
  OWN
  shl.b32 %r4, %r3, 2;
  add.s32 %r5, %r2, %r4;
  cp.async.ca.shared.global [%r5], [%rd1], 4;
  cp.async.commit_group;
  cp.async.wait_group 0;
  ld.shared.b32 %r8, [%r5];
  bar.sync 0;
  ret;
}
"""
OWN = {
    "any": "mov.b32 %r3, %r1;",
    "few": "and.b32 %r3, %r1, 127;",  # the fifth warp copies to the place of the first
    "pairs": "shr.u32 %r3, %r1, 6;",  # no two warps may copy to one place
    "rank": "mov.u32 %r6, %ntid.x;\n  mov.u32 %r7, %tid.y;\n  mad.lo.s32 %r3, %r6, %r7, %r1;",
    "sixteen": "mov.u32 %r7, %tid.y;\n  shl.b32 %r7, %r7, 4;\n  add.s32 %r3, %r7, %r1;",  # in each row
    # Threads of the fifth warp read a word, and the first of them writes the next one.
    "fifth": "mov.b32 %r3, %r1;\n  setp.lt.u32 %p1, %r1, 128;\n  @%p1 bra ON;\n  mov.b32 %r6, flag;\n"
    "  ld.shared.b32 %r7, [%r6];\n  bar.warp.sync -1;\n  setp.eq.s32 %p2, %r1, 128;\n"
    "  @%p2 st.shared.b32 [%r6], %r7;\nON:",
    # All warps copy to one place, but where the fifth warp leaves word that it is there.
    "told": "mov.b32 %r6, flag;\n  setp.eq.s32 %p1, %r1, 128;\n  mov.b32 %r7, 0;\n  setp.eq.s32 %p2, %r1, 0;\n"
    "  @%p2 st.shared.b32 [%r6], %r7;\n  bar.sync 0;\n  mov.b32 %r7, 1;\n  @%p1 st.shared.b32 [%r6], %r7;\n"
    "  bar.sync 0;\n  ld.shared.b32 %r7, [%r6];\n  setp.eq.s32 %p1, %r7, 1;\n  and.b32 %r6, %r1, 31;\n"
    "  selp.b32 %r3, %r1, %r6, %p1;",
}
WHOLE_WARPS = range(32, 1025, 32)


def copies(own: str, bound: str = "") -> str:
    return COPIES.replace("OWN", OWN[own]).replace("BOUND", bound)


def errors(text: str, block: int | None = None) -> set[str]:
    return {one.code for one in tileproof.check(text, block=block).diagnostics if one.severity.value == "error"}


@pytest.mark.parametrize(("own", "known"), [("any", True), ("few", False), ("pairs", False), ("told", False)])
def test_what_is_said_of_blocks_is_so_in_each(own: str, known: bool):
    """One run stands for others; each number of threads that the user says is run by itself."""
    (kernel,) = tileproof.check(copies(own)).files[0].kernels
    wrong = [threads for threads in WHOLE_WARPS if errors(copies(own), threads)]
    right = [threads for threads in WHOLE_WARPS if threads not in wrong]
    assert bool(right)
    assert (kernel.status == "followed") is known is (not wrong)
    for reason in kernel.reasons:
        assert f"goes right with {in_ranges(right, 32)} threads" in reason.message
        assert f"wrong with {in_ranges(wrong, 32)} (PR1" in reason.message


# Warp w of each warpgroup reads lanes 32 * w to 32 * w + 31 of an accumulator.
LANES = """\
.version 8.7
.target sm_100a
.address_size 64
.visible .entry kernel()
{
  .reg .pred %p<2>;
  .reg .b32 %r<9>;
  .shared .align 8 .b8 place[8];
  mov.u32 %r1, %tid.x;
  shr.u32 %r2, %r1, 5;
  setp.ne.u32 %p1, %r2, 0;
  mov.u32 %r3, place;
  @%p1 bra $MADE;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 32;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
$MADE:
  bar.sync 0;
  ld.shared.b32 %r4, [%r3];
  LANE
  shl.b32 %r6, %r5, 21;
  add.s32 %r7, %r4, %r6;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r7], {%r1};
  tcgen05.wait::st.sync.aligned;
  bar.sync 0;
  @%p1 bra $DONE;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 32;
$DONE:
  ret;
}
"""


def test_a_kernel_is_not_made_for_warps_that_reach_for_lanes_of_others():
    by_warp = LANES.replace("LANE", "mov.b32 %r5, %r2;")
    assert [one.status for one in tileproof.check(by_warp).files[0].kernels] == ["followed"]
    assert "PR175" in errors(by_warp, 160)
    by_quarter = LANES.replace("LANE", "and.b32 %r5, %r2, 3;")  # warpgroups overwrite each other
    assert not errors(by_quarter, 128)
    by_pair = LANES.replace("LANE", "and.b32 %r5, %r2, 1;")  # so with all that have a whole warpgroup
    assert "PR175" in errors(by_pair, 128)
    (kernel,) = tileproof.check(by_pair).files[0].kernels
    assert kernel.status == "partly"


@pytest.mark.parametrize(
    ("right", "budget", "known"),
    [({(4, 4)}, 9000, True), ({(4, 4)}, 900, False), ({(4, 4), (2, 8)}, 9000, True), ({(4, 4), (4, 2)}, 9000, False)],
)
def test_the_only_rare_cluster_in_which_a_kernel_goes_right_is_the_one(
    right: set[tuple[int, int]], budget: int, known: bool
):
    """Others with as many CTAs may be right as well."""
    usual = [Shape((128, 1, 1), (x, 1, 1), 7, Extents(7, 7), 32) for x in (1, 2)]

    def tried(shape: Shape, short: bool) -> Trial:
        good = shape.cluster[:2] in right
        return Trial(10 * shape.ctas, 30, int(not good), good)

    launched = narrowed(BOOK, Launch(tuple(usual), True, False), tried, budget)
    assert launched.shapes[0].cluster[:2] in right
    assert launched.known is known


@pytest.mark.parametrize("errors", [0, 1])
@pytest.mark.parametrize(("right", "found"), [((4, 4, 1), True), ((4, 2, 1), True), ((3, 5, 1), False)])
def test_clusters_of_powers_of_two_are_tried_before_others(right: tuple[int, int, int], found: bool, errors: int):
    usual = [Shape((128, 1, 1), (x, 1, 1), 7, Extents(7, 7), 32) for x in (1, 2)]

    def tried(shape: Shape, short: bool) -> Trial:
        good = shape.cluster == right
        return Trial(10 * shape.ctas, 30 if good else 3, errors if good else 1, good and not errors)

    launched = narrowed(BOOK, Launch(tuple(usual), True, False), tried, budget=1500)
    assert (launched.shapes[0].cluster == right) is found
    assert not launched.known


def test_what_is_wrong_in_all_clusters_is_reported_in_one_that_somebody_takes():
    """A run in a rare one ends at its first error, and does not come to where threads wait for ever."""
    usual = [Shape((128, 1, 1), (x, 1, 1), 7, Extents(7, 7), 32) for x in (1, 2)]

    def tried(shape: Shape, short: bool) -> Trial:
        return Trial(10 * shape.ctas, 100 if shape.ctas == 2 else 90, 1, False, hangs=shape.ctas.bit_count() == 1)

    launched = narrowed(BOOK, Launch(tuple(usual), True, False), tried, 5000)
    assert (launched.wrong_anyhow, launched.shapes[0].cluster) == (True, (2, 1, 1))


@pytest.mark.parametrize(("budget", "every"), [(5000, True), (4000, False)])
def test_clusters_that_cannot_all_be_tried_are_not_begun(budget: int, every: bool):
    """Those of powers of two are, for the kernel may be right in one."""
    usual = [Shape((128, 1, 1), (x, 1, 1), 7, Extents(7, 7), 32) for x in (1, 2)]
    asked: list[Shape] = []

    def tried(shape: Shape, short: bool) -> Trial:
        asked.append(shape)
        return Trial(10 * shape.ctas, 3, 1, False)

    launched = narrowed(BOOK, Launch(tuple(usual), True, False), tried, budget)
    assert launched.wrong_anyhow is every
    powers = {(x, y, 1) for x in (1, 2, 4, 8, 16) for y in (1, 2, 4, 8, 16) if x * y <= 16}
    meant = {shape.cluster for shape in (launched.shapes[0], *launched.others)}
    assert meant == (powers if every else {(1, 1, 1)})
    assert (4, 4, 1) in {shape.cluster for shape in asked}
    assert ((3, 5, 1) in {shape.cluster for shape in asked}) is every


@pytest.mark.parametrize(
    ("unsure", "block", "codes"),
    [(set(), True, {"PR125"}), ({8}, True, set()), ({4}, True, set()), (set(), False, set())],
)
def test_a_hang_in_a_cluster_that_nothing_says_must_be_sure_in_all(
    unsure: set[int], block: bool, codes: set[str], monkeypatch: pytest.MonkeyPatch
):
    """A wrong cluster hangs whatever the integers are; in the right one a hang may rest on them."""
    monkeypatch.setattr(judging, "hangs_anyhow", lambda study, run: study.shape.ctas not in unsure)
    for other in ("hangs_alone", "named_hang", "wrong_early"):
        monkeypatch.setattr(judging, other, lambda *_, **__: None)
    kept_outcomes.memory.cache_clear()
    text = PAIR.replace("[%r2], 3;", "[%r2], 200;")
    report = tileproof.check(text if block else re.sub(r"\.reqntid .*\n", "", text))
    kept_outcomes.memory.cache_clear()
    assert {one.code for one in report.diagnostics if one.severity.value == "error"} == codes


@pytest.mark.parametrize(("unnamed", "codes"), [(set(), {"PR125"}), ({8}, set())])
def test_what_a_hang_lacks_in_a_cluster_that_nothing_says_must_be_lacking_in_all(
    unnamed: set[int], codes: set[str], monkeypatch: pytest.MonkeyPatch
):
    """A wrong cluster lacks what other CTAs would do."""
    for other in ("hangs_anyhow", "hangs_alone", "wrong_early"):
        monkeypatch.setattr(judging, other, lambda *_: None)
    monkeypatch.setattr(
        judging, "named_hang", lambda one, run, repair=False: None if one.shape.ctas in unnamed else run
    )
    kept_outcomes.memory.cache_clear()
    report = tileproof.check(PAIR.replace("[%r2], 3;", "[%r2], 200;"))
    kept_outcomes.memory.cache_clear()
    assert {one.code for one in report.diagnostics if one.severity.value == "error"} == codes


@pytest.mark.parametrize(("wrong", "chosen"), [({1, 2}, 4), (set(), 2)])
def test_a_cluster_that_lacks_a_cta_is_not_the_one(wrong: set[int], chosen: int):
    """One CTA and clusters of three lack the one that threads name; there nothing goes wrong, for nothing is done."""
    usual = [Shape((128, 1, 1), (x, 1, 1), 7, Extents(7, 7), 32) for x in (1, 2)]
    asked: list[tuple[int, int, int]] = []

    def tried(shape: Shape, short: bool) -> Trial:
        asked.append(shape.cluster)
        bad = shape.ctas in wrong
        return Trial(10 * shape.ctas, 30, int(bad), not bad, shape.ctas % 2 == 1)

    launched = narrowed(BOOK, Launch(tuple(usual), True, False), tried, budget=5000)
    assert launched.shapes[0].ctas == chosen
    assert len(asked) == len(set(asked))


def test_what_is_wrong_in_all_clusters_is_reported_in_one_that_has_all_ctas_that_are_named():
    """A kernel for eight CTAs, with a mistake: what it does to the ones that a smaller cluster lacks is none."""
    usual = [Shape((128, 1, 1), (x, 1, 1), 7, Extents(7, 7), 32) for x in (1, 2)]

    def tried(shape: Shape, short: bool) -> Trial:
        return Trial(10 * shape.ctas, 200 // shape.ctas, 1, False, beyond=shape.ctas < 8)

    launched = narrowed(BOOK, Launch(tuple(usual), True, False), tried, budget=9000)
    assert (launched.wrong_anyhow, launched.shapes[0].ctas) == (True, 8)
    assert all(shape.ctas >= 8 for shape in launched.others)


def test_a_cta_whose_warpgroups_multiply_is_no_smaller_than_one():
    text = edited(REUSED, (".reqntid 128, 1, 1\n", ""))
    (kernel,) = tileproof.check(text).files[0].kernels
    assert [reason.case for reason in kernel.reasons] == ["assumed_block"]
    report = tileproof.check(edited(text, ("  bar.sync 0;\n", "")))  # one warp alone would need no barrier
    assert [reason.case for reason in report.files[0].kernels[0].reasons] == ["any_block"]
    assert {one.code for one in report.diagnostics if one.severity.value == "error"} == {"PR111"}


@pytest.mark.parametrize(
    ("brief", "hanging", "known"), [(True, {1, 4}, True), (False, {1, 4}, False), (True, {1}, False)]
)
def test_the_only_cluster_in_which_a_short_run_ends_is_the_one(brief: bool, hanging: set[int], known: bool):
    """Of a kernel whose long runs have no end; an error in it does not make it one for other clusters."""
    usual = [Shape((128, 1, 1), (x, 1, 1), 7, Extents(7, 7), 32) for x in (1, 2, 4)]

    def tried(shape: Shape, short: bool) -> Trial:
        hangs = shape.ctas in hanging
        return Trial(10 * shape.ctas, 40 if hangs else 30, 1, False, False, hangs, brief)

    launched = narrowed(BOOK, Launch(tuple(usual), True, False), tried, budget=100)
    assert launched.cluster_known is known
    assert not known or launched.shapes[0].ctas == 2


@pytest.mark.parametrize(("right", "clusters"), [({192}, {1}), (set(), {1, 2, 3, 4, 5})])
def test_a_block_in_which_a_kernel_goes_right_comes_before_rare_clusters(right: set[int], clusters: set[int]):
    """With too few threads nothing goes right, whatever the cluster is; other blocks are tried once."""
    usual = [Shape((128, 1, 1), (x, 1, 1), 7, Extents(7, 7), 32) for x in (1, 2)]
    others = [Shape((threads, 1, 1), (1, 1, 1), 7, Extents(7, 7), 32) for threads in (160, 192)]
    asked: list[Shape] = []

    def tried(shape: Shape, short: bool) -> Trial:
        asked.append(shape)
        good = shape.threads in right and shape.ctas == 1
        return Trial(10 * shape.ctas, 30, int(not good), good)

    launched = narrowed(BOOK, Launch((*usual, *others), False, False), tried, budget=5000)
    assert launched.shapes[0].block == ((192, 1, 1) if right else (128, 1, 1))
    assert {one.block for one in launched.shapes} == {(128, 1, 1), (160, 1, 1), (192, 1, 1)}
    assert clusters <= {one.ctas for one in asked}
    assert bool(launched.wrong_anyhow) is not bool(right)
    assert [one.threads for one in asked].count(160) == 1


_TWO = "  shr.u32 %r6, %r1, 6;\n  setp.eq.u32 %p1, %r6, 2;\n  @%p1 bar.sync 1, 64;\n"
_SIX = "  setp.lt.u32 %p1, %r1, 192;\n  @%p1 bar.sync 1, 192;\n"


@pytest.mark.parametrize(("meet", "code"), [(_TWO, "PR130"), (_SIX, "PR131")], ids=["two warps", "six warps"])
def test_a_kernel_is_not_made_for_as_many_threads_as_wait_for_ever(meet: str, code: str):
    """Some warps meet, which are not all there in small blocks: more have nothing to do with it."""
    meeting = edited(copies("any"), ("  bar.sync 0;\n", meet))
    assert errors(meeting, 160) == {code}
    assert errors(meeting, 192) == errors(meeting, 224) == set()
    (kernel,) = tileproof.check(meeting).files[0].kernels
    assert (kernel.status, kernel.reasons) == ("followed", ())
    few = meeting.replace(OWN["any"], OWN["few"])  # the fifth warp copies to the place of the first
    (kernel,) = tileproof.check(few).files[0].kernels
    assert {reason.case for reason in kernel.reasons} <= {"assumed_block", "any_block"} and kernel.status == "partly"


@pytest.mark.parametrize(("waiting", "known"), [({(1, 2, 1)}, True), (set(), False)])
def test_a_cluster_in_which_threads_only_wait_for_ever_is_none_that_is_meant(
    waiting: set[tuple[int, int, int]], known: bool
):
    """It goes right with one CTA and with two along x: FlashAttention 3."""
    usual = [Shape((128, 1, 1), cluster, 7, Extents(7, 7), 32) for cluster in ((1, 1, 1), (2, 1, 1), (1, 2, 1))]

    def tried(shape: Shape, short: bool) -> Trial:
        good = shape.cluster != (1, 2, 1)
        return Trial(10, 30, int(not good), good, hangs=not good, waiting=shape.cluster in waiting)

    launched = narrowed(BOOK, Launch(tuple(usual), True, False), tried, budget=5000)
    assert (launched.shapes[0].cluster, launched.known) == ((1, 1, 1), known)


@pytest.mark.parametrize(
    ("own", "bound", "reasons"),
    [
        ("rank", ".maxntid 256, 1, 1", []),
        ("rank", "", []),
        ("sixteen", ".maxntid 256, 1, 1", ["assumed_block"]),
        ("sixteen", "", ["assumed_block"]),
    ],
)
def test_nothing_is_assumed_of_rows_where_only_the_rank_of_a_thread_counts(own: str, bound: str, reasons: list[str]):
    report = tileproof.check(copies(own, bound))
    assert [reason.case for reason in report.files[0].kernels[0].reasons] == reasons
    assert not any(one.severity.value == "error" for one in report.diagnostics)


@pytest.mark.parametrize("own", ["rank", "sixteen"])
def test_what_is_wrong_in_rows_of_every_length_is_an_error(own: str):
    """No thread waits for its copy."""
    text = edited(copies(own, ".maxntid 256, 1, 1"), ("  cp.async.wait_group 0;\n", "  cp.async.wait_group 1;\n"))
    report = tileproof.check(text)
    (reason,) = report.files[0].kernels[0].reasons
    assert reason.case == "any_block"
    assert "32 x 8 x 1 threads" in reason.message
    assert "PR111" in {one.code for one in report.diagnostics if one.severity.value == "error"}


@pytest.mark.parametrize(
    ("bound", "reasons", "codes"),
    [
        (".maxntid 160, 1, 1", [], set()),
        (".maxntid 192, 1, 1", ["assumed_block"], set()),
        (".maxntid 256, 1, 1", [], {"PR116"}),  # hardly a kernel is launched with so many less
        (".reqntid 192, 1, 1", [], {"PR116"}),
        (".maxntid 32, 6, 1", [], {"PR111"}),  # six rows, which copy to one place
    ],
)
def test_a_kernel_may_be_launched_with_fewer_threads_than_it_allows(bound: str, reasons: list[str], codes: set[str]):
    """Kernels of lmdeploy allow a warp more than they have, for the registers that ptxas gives a thread then."""
    report = tileproof.check(copies("fifth", bound))
    assert [reason.case for reason in report.files[0].kernels[0].reasons] == reasons
    assert {one.code for one in report.diagnostics if one.severity.value == "error"} == codes


@pytest.mark.parametrize(("threads", "fewer"), [(64, []), (96, []), (128, [96]), (192, [160]), (384, [352, 320, 288])])
def test_no_fewer_threads_are_tried_than_three_quarters(threads: int, fewer: list[int]):
    assert list(fewer_threads(Shape((threads, 1, 1), (1, 1, 1), 7, Extents(7, 7), 32))) == fewer
