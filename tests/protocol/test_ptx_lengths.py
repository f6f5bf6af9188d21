"""Faults that show where a loop goes around its ring, in kernels whose loops take more elements in a turn than a tile has.

Each kernel is right as it is written, and wrong where one thing of it is missing.
"""

# ruff: noqa: E501  lines of PTX

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import tileproof
from protocol.test_ptx_kernels import RING
from protocol.test_ptx_practices import HEAD, edited, mistaken, verified
from tileproof.base.records import replace
from tileproof.base.source import Span
from tileproof.mlir.ir import Operation
from tileproof.protocol import hangs, judging, lengths
from tileproof.protocol.explore import Exploration
from tileproof.protocol.faults import ProtocolFault
from tileproof.protocol.folding import Extents
from tileproof.protocol.hangs import hangs_alone
from tileproof.protocol.lengths import over_tiles
from tileproof.protocol.runs import Run
from tileproof.protocol.study import Study
from tileproof.protocol.terms import PLACES

RELEASE = "  mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n"
EMPTY = "  mbarrier.try_wait.parity.shared::cta.b64 done, [%r11+16], %r12;\n  @done bra OVER;\n  bra AGAIN;\n"
FLIP = "  xor.b32 %r7, %r7, %r16;\n"

# A ring of two stages whose loops take 1024 elements in a turn (FlashInfer, tinygemm2).
LARGE = RING.replace("[tiles];\n", "[tiles];\n  add.s32 %r4, %r4, 1023;\n  shr.u32 %r4, %r4, 10;\n")

# The same where each role goes by an integer of its own (ThunderKittens: the extents of two tensors).
APART = (
    LARGE.replace(".param .u32 tiles)", ".param .u32 tiles, .param .u32 others)")
    .replace("%r<30>", "%r<40>")
    .replace(
        "CONSUMER:\n",
        "CONSUMER:\n  ld.param.u32 %r30, [others];\n  add.s32 %r30, %r30, 1023;\n  shr.u32 %r30, %r30, 10;\nTAKE:\n",
    )
)
APART, TAKEN = re.subn(r"(%r5, )%r4(;\n  @%p\d bra )CONSUMER", r"\1%r30\2TAKE", APART)


def errors(text: str) -> set[str]:
    return {one.code for one in tileproof.check(text).diagnostics if one.severity.value == "error"}


def test_loops_of_large_turns_go_around_their_ring():
    verified(LARGE)
    mistaken(LARGE, RELEASE, "", {"PR126"})
    mistaken(LARGE, EMPTY, "  bra OVER;\n", {"PR122"})
    assert errors(LARGE.replace(FLIP, "", 1)) == {"PR122"}


def test_roles_that_go_by_different_integers_go_around_it_together():
    assert TAKEN == 1
    verified(APART)
    mistaken(APART, RELEASE, "", {"PR126"})
    mistaken(APART, EMPTY, "  bra OVER;\n", {"PR122"})


# Another integer decides which threads store to global memory, or how often roles go around.
GUARDED = LARGE.replace(".param .u32 tiles)", ".param .u32 tiles, .param .u32 rows)").replace(
    "  ld.shared.b32 %r26, [%r25];\n",
    "  ld.shared.b32 %r26, [%r25];\n  ld.param.u32 %r29, [rows];\n  setp.ge.s32 %p8, %r1, %r29;\n"
    "  @%p8 bra NONE;\n  st.global.b32 [%rd2], %r26;\nNONE:\n",
)
AROUND = re.sub(
    r"  @!%p3 bra END;\nPRODUCER:\n(.*?)  bra.uni END;\nCONSUMER:\n",
    r"  @!%p3 bra END;\n  mov.b32 %r29, 0;\nNEXT:\n  mov.b32 %r5, 0;\nPRODUCER:\n\1  add.s32 %r29, %r29, 1;\n"
    r"  ld.param.u32 %r19, [rows];\n  setp.lt.s32 %p8, %r29, %r19;\n  @%p8 bra NEXT;\n  bra.uni END;\nCONSUMER:\n",
    LARGE.replace(".param .u32 tiles)", ".param .u32 tiles, .param .u32 rows)"),
    flags=re.DOTALL,
)


@pytest.mark.parametrize(
    ("text", "one", "alike"),
    [(LARGE, True, True), (GUARDED, True, True), (APART, False, False), (AROUND, False, False)],
    ids=["one", "guarded", "apart", "around"],
)
def test_roles_may_disagree_only_where_their_loops_go_by_different_integers(
    text: str, one: bool, alike: bool, monkeypatch: pytest.MonkeyPatch
):
    seen: list[Study] = []
    around = Study.around
    monkeypatch.setattr(Study, "around", lambda study: [seen.append(study), around(study)][1])
    tileproof.check(
        text.replace(".reqntid 64, 1, 1\n", ".reqntid 64, 1, 1\n.maxnreg 96\n")
    )  # not what another test kept
    assert {(study.one_number(), study.alike()) for study in seen} == {(one, alike)}


def test_a_hang_of_one_length_between_others_is_an_error():
    """Who asks for no more than four turns asks for two as well, and seven are no multiple of what these are."""
    kept = (
        f"  mad.lo.s32 %r29, %r4, 16, %r5;\n  setp.eq.s32 %p8, %r29, {4 * 16 + 1};\n  @%p8 bra KEPT;\n{RELEASE}KEPT:\n"
    )
    (one,) = tileproof.check(edited(RING, (RELEASE, kept))).diagnostics
    assert one.code == "PR126"


# Each role goes by an integer of its own, and the consumer keeps a stage where LEFT of so many turns are left over.
LEFT_OVER = edited(
    APART,
    ("  add.s32 %r4, %r4, 1023;\n  shr.u32 %r4, %r4, 10;\n", ""),
    ("  add.s32 %r30, %r30, 1023;\n  shr.u32 %r30, %r30, 10;\n", ""),
    (
        RELEASE,
        "  and.b32 %r31, %r30, MASK;\n  mad.lo.s32 %r31, %r31, 4096, %r5;\n  setp.eq.s32 %p8, %r31, LEFT;\n"
        f"  @%p8 bra KEPT;\n{RELEASE}KEPT:\n",
    ),
)


@pytest.mark.parametrize(("mask", "left", "alone"), [(3, 12289, [True]), (1, 4096, [])], ids=["seven", "odd"])
def test_a_hang_of_the_long_run_alone_is_no_matter_of_its_length(
    mask: int, left: int, alone: list[bool], monkeypatch: pytest.MonkeyPatch
):
    """With seven turns threads wait for ever, and not with two, five or fourteen; or with each odd number: then the
    long run has whole tiles of elements, and goes right."""
    said: list[bool] = []
    monkeypatch.setattr(judging, "hangs_anyhow", lambda study, first: False)
    monkeypatch.setattr(
        judging, "hangs_alone", lambda study, first: [said.append(hangs_alone(study, first)), said[-1]][1]
    )
    text = LEFT_OVER.replace("MASK", str(mask)).replace("LEFT", str(left))
    found = errors(
        text.replace(".reqntid 64, 1, 1\n", ".reqntid 64, 1, 1\n.maxnreg 104\n")
    )  # not what another test kept
    assert said == alone
    assert found == ({"PR126"} if alone else set())


def test_such_a_kernel_is_right_where_it_keeps_no_stage():
    verified(LEFT_OVER.replace("MASK", "3").replace("LEFT", "-1"))


@pytest.mark.parametrize(
    ("calm", "turns", "wrong"),
    [
        ({1, 3, 7}, 2, True),
        ({2, 4, 6}, 3, False),
        ({1, 2, 4, 6}, 3, False),
        ({4, 7}, 2, False),
        ({1, 2}, 4, False),
        (set(), 2, False),
    ],
    ids=["between", "multiples", "one", "few", "many", "none"],
)
def test_a_caller_may_ask_for_multiples_or_for_no_few_turns(calm: set[int], turns: int, wrong: bool):
    fault = ProtocolFault("PR126", Operation("wait", (), (), (), (), (), (), (), True, ("wait",)), "")
    run = SimpleNamespace(faults=(fault,), certain=True)
    doubts: list[int] = []
    study = SimpleNamespace(shown=None, doubt=lambda case, operation, turns: doubts.append(turns))
    faults: list[ProtocolFault] = []
    lengths._hung_between(study, calm, {turns: run}, faults)
    assert (faults, doubts) == (([fault], []) if wrong else ([], [turns]))


# Each CTA has every 132nd tile of a matrix, of which one loop goes through all pieces (Triton's persistent matmul): rows
# and columns must be many, and the depth small, for the ring of two tiles to go round.
SHARED = (
    RING.replace(".param .u32 tiles)", ".param .u32 rows, .param .u32 columns, .param .u32 depth)")
    .replace("%r<30>", "%r<50>")
    .replace(
        "  ld.param.u32 %r4, [tiles];\n",
        """  ld.param.u32 %r30, [rows];
  add.s32 %r30, %r30, 127;
  shr.s32 %r30, %r30, 7;
  ld.param.u32 %r31, [columns];
  add.s32 %r31, %r31, 127;
  shr.s32 %r31, %r31, 7;
  mul.lo.s32 %r32, %r30, %r31;
  mov.u32 %r33, %ctaid.x;
  sub.s32 %r32, %r32, %r33;
  add.s32 %r32, %r32, 131;
  div.s32 %r32, %r32, 132;
  ld.param.u32 %r34, [depth];
  add.s32 %r34, %r34, 63;
  shr.s32 %r34, %r34, 6;
  mul.lo.s32 %r4, %r32, %r34;
  setp.lt.s32 %p8, %r4, 1;
  @%p8 bra END;
""",
    )
    .replace(
        "  fence.mbarrier_init",
        "  mbarrier.init.shared::cta.b64 [%r3+32], 32;\n  mbarrier.init.shared::cta.b64 [%r3+40], 32;\n  fence.mbarrier_init",
    )
    .replace(
        "PRODUCER:\n",
        """PRODUCER:
  rem.u32 %r35, %r5, %r34;
  setp.ne.s32 %p7, %r35, 0;
  @%p7 bra FILL;
  div.u32 %r36, %r5, %r34;
  and.b32 %r37, %r36, 1;
  shl.b32 %r37, %r37, 3;
  add.s32 %r38, %r3, %r37;
  shr.u32 %r39, %r36, 1;
  and.b32 %r39, %r39, 1;
  xor.b32 %r39, %r39, 1;
FREE:
  mbarrier.try_wait.parity.shared::cta.b64 %p7, [%r38+32], %r39;
  @!%p7 bra FREE;
FILL:
""",
        1,
    )
    .replace(
        RELEASE,
        RELEASE
        + """  add.s32 %r35, %r5, 1;
  rem.u32 %r35, %r35, %r34;
  setp.ne.s32 %p7, %r35, 0;
  @%p7 bra TAKEN;
  div.u32 %r36, %r5, %r34;
  and.b32 %r37, %r36, 1;
  shl.b32 %r37, %r37, 3;
  add.s32 %r38, %r3, %r37;
  mbarrier.arrive.shared::cta.b64 _, [%r38+32];
TAKEN:
""",
    )
)


def test_a_cta_has_several_of_the_tiles_that_the_text_shares_out():
    verified(SHARED)
    mistaken(SHARED, "  mbarrier.arrive.shared::cta.b64 _, [%r38+32];\n", "", {"PR126"})
    mistaken(SHARED, "[%r3+40], 32;", "[%r3+40], 33;", {"PR125"})


# The number of the tile is computed from how many groups of 2048 elements there are (fast.cu): with none there is no tile.
GROUPED = (
    RING.replace(".param .u32 tiles)", ".param .u32 tiles, .param .u32 others)")
    .replace("%r<30>", "%r<40>")
    .replace(
        "  bar.sync 0;\n",
        """  bar.sync 0;
  ld.param.u32 %r30, [others];
  shr.u32 %r31, %r30, 11;
  mov.u32 %r32, %ctaid.x;
  div.s32 %r33, %r32, %r31;
  setp.lt.s32 %p8, %r33, 0;
  @%p8 bra END;
""",
    )
)


def test_an_extent_is_as_large_as_the_groups_of_its_tiles():
    verified(GROUPED)
    mistaken(GROUPED, RELEASE, "", {"PR126"})
    mistaken(GROUPED, EMPTY, "  bra OVER;\n", {"PR122"})
    assert errors(GROUPED.replace("%r11], 4096", "%r11], 4112")) == {"PR138"}


# A loop for four tiles at once, of a number that is three at most (ThunderKittens): no thread goes around it.
DEAD = RING.replace("%r<30>", "%r<40>").replace(
    "PRODUCER:\n",
    """  neg.s32 %r30, %r4;
  max.u32 %r31, %r30, -3;
  setp.ne.s32 %p8, %r31, -4;
  @%p8 bra PRODUCER;
FOUR:
  mbarrier.arrive.shared::cta.b64 _, [%r3];
  add.s32 %r31, %r31, 1;
  setp.ne.s32 %p8, %r31, 0;
  @%p8 bra FOUR;
PRODUCER:
""",
)


def test_what_no_thread_comes_to_is_no_step_that_is_missing():
    verified(DEAD)
    mistaken(DEAD, RELEASE, "", {"PR126"})
    (kernel,) = tileproof.check(DEAD.replace("r31, -4", "r31, -3")).files[0].kernels
    assert kernel.steps == tileproof.check(RING).files[0].kernels[0].steps + 1


# In each turn a thread whose index is a root of five arrives as well.
ALONE = RING.replace("%r<30>", "%r<40>").replace(
    "PRODUCER:\n",
    """PRODUCER:
  mov.u32 %r30, %tid.x;
  mul.lo.u32 %r30, %r30, %r30;
  setp.ne.u32 %p8, %r30, 5;
  @%p8 bra FIRST;
  mbarrier.arrive.shared::cta.b64 _, [%r3];
FIRST:
""",
)


def test_no_larger_sizes_are_tried_for_what_no_thread_comes_to(monkeypatch: pytest.MonkeyPatch):
    tried: list[Extents] = []
    over = lengths.over_tiles
    monkeypatch.setattr(lengths, "over_tiles", lambda *given: tried.append(given[2]) or over(*given))
    verified(ALONE)
    assert tried == []


# Each role reads what its job is, two integers in a register of 64 bits (FlashMLA): the first and the last batch, and
# the first block, in which a large number leaves nothing to do.
JOBS, JOBBED = re.subn(
    r"(PRODUCER|CONSUMER):\n",
    r"""\1:
  mov.u32 %r30, %ctaid.x;
  mul.wide.u32 %rd5, %r30, 16;
  add.s64 %rd6, %rd4, %rd5;
  ld.global.nc.v2.u64 {%rd7, %rd8}, [%rd6];
  mov.b64 {%r31, %r32}, %rd7;
  setp.gt.s32 %p8, %r31, %r32;
  @%p8 bra END;
  mov.b64 {%r5, %r33}, %rd8;
  setp.ge.s32 %p8, %r5, %r4;
  @%p8 bra END;
TURN_\1:
""",
    RING.replace(".param .u32 tiles)", ".param .u32 tiles, .param .u64 .ptr .global .align 16 jobs)")
    .replace("%r<30>", "%r<40>")
    .replace("[tiles];\n", "[tiles];\n  add.s32 %r4, %r4, 127;\n  shr.u32 %r4, %r4, 7;\n")
    .replace("  bar.sync 0;\n", "  bar.sync 0;\n  ld.param.u64 %rd3, [jobs];\n  cvta.to.global.u64 %rd4, %rd3;\n"),
)
JOBS = re.sub(r"(setp.lt.s32 %p\d, %r5, %r4;\n  @%p\d bra )", r"\1TURN_", JOBS)


def test_a_job_that_is_loaded_has_something_to_do():
    assert JOBBED == 2
    verified(JOBS)
    mistaken(JOBS, RELEASE, "", {"PR126"})
    mistaken(JOBS, EMPTY, "  bra OVER;\n", {"PR122"})
    assert errors(JOBS.replace(FLIP, "", 1)) == {"PR122", "PR126"}


# How far both roles go each loads for itself, or one loads for both: a number that counts elements of a tile, the
# difference of two neighbours (grouped GEMMs, paged attention), or one that the text bounds.
LOADED = edited(
    RING, (".param .u32 tiles)", ".param .u64 jobs)"), ("%r<30>", "%r<40>"), ("u32 %r4, [tiles]", "u64 %rd3, [jobs]")
)
LOADED = re.sub(r"\n(PRODUCER|CONSUMER):\n", r"\n\1:\nLOAD\nTURN_\1:\n", LOADED)
LOADED = re.sub(r"(setp.lt.s32 %p\d, %r5, %r4;\n  @%p\d bra )", r"\1TURN_", LOADED)
TILES = "  add.s32 %r4, %r4, 1023;\n  shr.u32 %r4, %r4, 10;\n"


def loaded(load: str, before: str = "") -> str:
    return LOADED.replace("LOAD\n", load + TILES).replace("INITIALISED:\n", f"{before}INITIALISED:\n")


LOADS = {
    "number": loaded("  ld.global.u32 %r4, [%rd3+12];\n"),
    "short": loaded("  ld.global.nc.u16 %r4, [%rd3+8];\n"),
    "difference": loaded("  ld.global.v2.u32 {%r30, %r31}, [%rd3];\n  sub.s32 %r4, %r31, %r30;\n"),
    "bounded": loaded("  ld.global.u32 %r30, [%rd3+8];\n  min.s32 %r4, %r30, 16384;\n"),
    "shared": loaded(
        "  ld.shared.u32 %r4, [%r2+16384];\n", "  ld.global.u32 %r30, [%rd3];\n  st.shared.u32 [%r2+16384], %r30;\n"
    ),
    "copied": loaded(
        "  ld.shared.u32 %r4, [%r2+16384];\n",
        "  cp.async.ca.shared.global [%r2+16384], [%rd3], 4;\n  cp.async.wait_all;\n",
    ),
}


@pytest.fixture
def unsought(monkeypatch: pytest.MonkeyPatch):
    """Without the runs that come to each step as well, in kernels as small as these."""
    monkeypatch.setattr(judging, "chosen_runs", lambda *_: None)
    monkeypatch.setattr(judging, "_seek_steps", lambda *_: set())


# What is loaded is a length of many tiles, of which a few CTAs have a part each, and only the first turn has no fence.
PART = """  ld.param.u32 %r31, [parts];
  ld.global.u32 %r30, [%rd3];
  shr.u32 %r30, %r30, 7;
  add.s32 %r30, %r30, %r31;
  sub.s32 %r30, %r30, 1;
  div.s32 %r4, %r30, %r31;
"""
PARTED = edited(
    LOADED.replace("LOAD\n", PART),
    (".param .u64 jobs)", ".param .u64 jobs, .param .u32 parts)"),
    (
        "  shl.b32 %r22, %r6, 12;\n",
        "  setp.eq.s32 %p7, %r5, 0;\n  @%p7 bra FIRST;\n  fence.proxy.async;\nFIRST:\n  shl.b32 %r22, %r6, 12;\n",
    ),
)


def test_a_length_that_ctas_share_gives_each_of_them_several_turns():
    verified(PARTED)
    mistaken(PARTED, RELEASE, "", {"PR126"})


@pytest.mark.parametrize("chunk", [16, 32, 64])
@pytest.mark.usefixtures("unsought")
def test_what_is_left_of_an_unrolled_loop_is_come_to_by_lengths_that_are_loaded(chunk: int):
    """Of a loop that goes by four chunks at once: three that are left, behind others."""
    load = f"""  ld.global.v2.u32 {{%r30, %r31}}, [%rd3];
  sub.s32 %r4, %r31, %r30;
  add.s32 %r4, %r4, {chunk - 1};
  shr.u32 %r4, %r4, {chunk.bit_length() - 1};
  and.b32 %r32, %r4, 3;
  setp.ne.s32 %p7, %r32, 3;
  setp.lt.s32 %p8, %r4, 4;
  or.pred %p7, %p7, %p8;
  @!%p7 fence.proxy.async;
"""
    verified(LOADED.replace("LOAD\n", load))


# Keys beyond those of the first query are masked, and both warps meet before the masked tiles: each finds by itself, in a
# way of its own, that there are some. The two lengths are given, or each that of a sequence whose ends are loaded.
MASK = """  add.s32 %r31, %r4, 127;
  shr.s32 %r31, %r31, 7;
  sub.s32 %r32, %r4, %r30;
  shr.s32 %r33, %r32, 7;
  max.s32 %r33, %r33, 0;
  add.s32 %r32, %r32, 255;
  shr.s32 %r32, %r32, 7;
  min.s32 %r31, %r31, %r32;
  setp.eq.s32 %p7, %r9, 0;
  @%p7 bra FIRST;
  add.s32 %r33, %r33, 1;
  setp.ge.s32 %p8, %r33, %r31;
  @%p8 bra UNMASKED;
  bar.sync 1, 64;
  bra UNMASKED;
FIRST:
  sub.s32 %r31, %r31, %r33;
  setp.lt.s32 %p8, %r31, 2;
  @%p8 bra UNMASKED;
  bar.sync 1, 64;
UNMASKED:
  add.s32 %r4, %r4, 1023;
  shr.u32 %r4, %r4, 10;
"""
LENGTHS_OF = {
    "given": ("tiles, .param .u32 queries", "  ld.param.u32 %r4, [tiles];\n  ld.param.u32 %r30, [queries];\n"),
    "loaded": (
        "tiles, .param .u64 keys, .param .u64 queries",
        """  ld.param.u64 %rd3, [keys];
  ld.param.u64 %rd4, [queries];
  ld.global.v2.u32 {%r33, %r34}, [%rd4];
  sub.s32 %r30, %r34, %r33;
  ld.global.v2.u32 {%r35, %r36}, [%rd3];
  sub.s32 %r4, %r36, %r35;
""",
    ),
    "bounded": (  # where a sequence begins and where it ends, neither beyond all there is (DeepGEMM)
        "tiles, .param .u64 keys, .param .u64 queries",
        """  ld.param.u64 %rd3, [keys];
  ld.param.u64 %rd4, [queries];
  ld.global.u32 %r33, [%rd3];
  ld.global.u32 %r34, [%rd4];
  ld.param.u32 %r30, [tiles];
  min.u32 %r33, %r33, %r30;
  min.u32 %r34, %r34, %r30;
  sub.s32 %r4, %r34, %r33;
  mov.b32 %r30, 65;
""",
    ),
}


def masked(how: str) -> str:
    parameters, lengths = LENGTHS_OF[how]
    return edited(
        RING,
        ("tiles)", f"{parameters})"),
        ("%r<30>", "%r<40>"),
        ("  ld.param.u32 %r4, [tiles];\n", lengths),
        ("  setp.eq.s32 %p2, %r9, 0;\n", f"{MASK}  setp.eq.s32 %p2, %r9, 0;\n"),
    )


@pytest.mark.parametrize("how", ["given", "loaded"])
@pytest.mark.usefixtures("unsought")
def test_lengths_that_differ_by_no_whole_tiles_are_tried(how: str):
    verified(masked(how))
    mistaken(masked(how), RELEASE, "", {"PR126"})


@pytest.mark.usefixtures("unsought")
def test_lengths_within_a_bound_that_the_kernel_gets_are_tried():
    verified(masked("bounded"))


@pytest.mark.parametrize("how", LOADS)
def test_loops_as_long_as_what_is_loaded_go_around_their_ring(how: str):
    verified(LOADS[how])
    mistaken(LOADS[how], RELEASE, "", {"PR126"})
    mistaken(LOADS[how], EMPTY, "  bra OVER;\n", {"PR122"})
    assert errors(LOADS[how].replace(FLIP, "", 1)) == {"PR122"}


# A branch asks at once whether there is a tile and whether this is the other role (CuTe DSL, grouped GEMM).
EITHER = edited(
    RING,
    ("  @!%p3 bra END;\n", "  @!%p3 bra OTHERS;\n"),
    ("  @%p2 bra CONSUMER;\n", "  setp.lt.s32 %p8, %r4, 1;\n  or.pred %p7, %p2, %p8;\n  @%p7 bra OTHERS;\n"),
    (
        "  bra.uni END;\nCONSUMER:\n",
        "OTHERS:\n  setp.ne.s32 %p7, %r9, 0;\n  or.pred %p7, %p7, %p8;\n  @%p7 bra END;\nCONSUMER:\n",
    ),
)


def test_who_goes_past_a_loop_by_its_role_does_not_go_by_what_is_supposed(monkeypatch: pytest.MonkeyPatch):
    """Nobody goes past a loop by the number of tiles, unless there is none."""
    runs, own = list[Run](), Study.run

    def run(self: Study, *told: object, **more: object) -> Run:
        runs.append(own(self, *told, **more))  # type: ignore[arg-type]
        return runs[-1]

    monkeypatch.setattr(Study, "run", run)
    verified(EITHER)
    passed = {one.machine.shape.extents.argument: one.passes_loops() for one in runs}
    assert passed == {tiles: not tiles for tiles in passed}
    assert 0 in passed


# After each job the readers leave a result in the second stage. Who loads waits for that in the second turn of the next
# job, which is the second stage only where jobs have a whole number of rounds (ThunderKittens, gemm_rs).
RESULT = """  {
  .reg .pred done;
  AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 done, [%r3+32], %r33;
  @done bra OVER;
  bra AGAIN;
  OVER:
  }
"""
ROUNDS = edited(
    RING,
    (".param .u32 tiles)", ".param .u32 tiles, .param .u32 jobs)"),
    ("%r<30>", "%r<40>"),
    ("[tiles];\n", "[tiles];\n  ld.param.u32 %r30, [jobs];\n  mov.b32 %r31, 0;\n  mov.b32 %r33, 1;\n"),
    ("[%r3+24], 32;\n", "[%r3+24], 32;\n  mbarrier.init.shared::cta.b64 [%r3+32], 32;\n"),
    ("PRODUCER:\n", "LOADED:\n  mov.b32 %r5, 0;\nPRODUCER:\n"),
    (
        "  mbarrier.arrive.expect_tx",
        f"  setp.ne.s32 %p8, %r5, 1;\n  @%p8 bra LOAD;\n{RESULT}  xor.b32 %r33, %r33, 1;\nLOAD:\n  mbarrier.arrive.expect_tx",
    ),
    (
        "  @%p5 bra PRODUCER;\n",
        "  @%p5 bra PRODUCER;\n  add.s32 %r31, %r31, 1;\n  setp.lt.s32 %p5, %r31, %r30;\n  @%p5 bra LOADED;\n",
    ),
    ("\nCONSUMER:\n", "\nCONSUMER:\n  mov.b32 %r5, 0;\nTURN:\n"),
    (
        "  @%p7 bra CONSUMER;\n",
        """  @%p7 bra TURN;
  bar.warp.sync -1;
  shl.b32 %r34, %r1, 2;
  add.s32 %r35, %r2, %r34;
  st.shared.b32 [%r35+4096], %r26;
  fence.proxy.async.shared::cta;
  mbarrier.arrive.shared::cta.b64 _, [%r3+32];
  add.s32 %r31, %r31, 1;
  setp.lt.s32 %p7, %r31, %r30;
  @%p7 bra CONSUMER;
""",
    ),
)


def test_a_hazard_of_jobs_without_whole_rounds_is_none_of_the_text():
    (kernel,) = tileproof.check(ROUNDS).files[0].kernels
    assert (kernel.status, {one.case for one in kernel.reasons}, errors(ROUNDS)) == ("partly", {"loop_turns"}, set())
    mistaken(ROUNDS, RESULT, "", {"PR112"})


def copy_at(at: int) -> Operation:
    return Operation("copy", (), (), (), (), (), (), (), True, ("copy",), span=Span(at, at + 1))


class Rounded:
    """A study whose run of whole groups has these hazards, and that keeps what it doubts."""

    def __init__(self, hazards: list[ProtocolFault], executed: set[int]) -> None:
        self.doubts: list[ProtocolFault] = []
        coverage = SimpleNamespace(lengths={}, executed=executed)
        machine = SimpleNamespace(coverage=coverage)
        self.one = SimpleNamespace(machine=machine, calm=not hazards, hangs=False, faults=hazards)

    def limit(self, name: str) -> int:
        return 128

    def share(self, name: str, machine: object) -> int:
        return 100

    def run(self, *_: object, **__: object) -> SimpleNamespace:
        return self.one

    def doubt(self, case: str, operation: Operation, fault: ProtocolFault) -> None:
        self.doubts.append(fault)


@pytest.mark.parametrize(("there", "stand"), [([], 0), ([2], 2)])
def test_hazards_of_a_kernel_that_has_others_with_whole_groups_stand(
    there: list[int], stand: int, monkeypatch: pytest.MonkeyPatch
):
    """Two runs have one hazard each, and no doubt is lost where both are left out (ThunderKittens, fp8 GEMM)."""
    monkeypatch.setattr(lengths, "even", lambda _: True)
    hazards = [ProtocolFault("PR112", copy_at(at), "") for at in range(3)]
    study = Rounded([hazards[at] for at in there], {id(one.operation) for one in hazards})
    machine = SimpleNamespace(
        shape=SimpleNamespace(extents=Extents(7, 7), extent=7), tiles=8, coverage=SimpleNamespace(lengths={})
    )
    runs = [
        SimpleNamespace(machine=machine, by_text=False, places=lambda one=one: {lengths.key_of(one)})
        for one in hazards[:2]
    ]
    faults = hazards[:2]
    lengths.of_round_lengths(study, runs, faults)
    assert (len(faults), len(study.doubts)) == (stand, 2 - stand)


# One row is written without a copy: there is nothing to wait for then, and nothing that hangs.
ROWS = (
    HEAD.replace("sm_100a", "sm_90a")
    + """.visible .entry rows(.param .u64 .ptr .global .align 16 from, .param .u32 rows)
.reqntid 32, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  ld.param.u64 %rd1, [from];
  ld.param.u32 %r3, [rows];
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2+8192], 1;
INITIALISED:
  bar.sync 0;
  setp.lt.s32 %p2, %r3, 2;
  @%p2 bra ONE;
  @%p1 bra WAIT;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+8192], 4096;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 4096, [%r2+8192];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2+8192], 0;
  @!%p3 bra WAIT;
  ld.shared.b32 %r6, [%r2];
  bra.uni END;
ONE:
  shl.b32 %r4, %r1, 2;
  add.s32 %r5, %r2, %r4;
"""
    + "".join(f"  st.shared.b32 [%r5+{128 * i}], %r1;\n" for i in range(16))
    + "END:\n  ret;\n}\n"
)


def test_numbers_that_leave_out_what_threads_wait_for_do_not_take_a_hang_away(monkeypatch: pytest.MonkeyPatch):
    entered, own = [], Study.enters

    def enters(self: Study, first: Run) -> bool:
        entered.append(own(self, first))
        return entered[-1]

    monkeypatch.setattr(Study, "enters", enters)
    verified(ROWS)
    assert errors(ROWS.replace("8192], 4096;", "8192], 4112;")) == {"PR124"}
    assert entered[-1] is False


# Each turn takes so long that no larger integer brings a run to its end.
SLOW = LARGE.replace(
    RELEASE,
    """  mov.b32 %r29, 0;
SPIN:
  bar.warp.sync -1;
  add.s32 %r29, %r29, 1;
  setp.lt.s32 %p8, %r29, 4000;
  @%p8 bra SPIN;
"""
    + RELEASE,
)


def test_the_verdict_holds_for_no_more_turns_than_loops_went_around():
    def trip_counts(text: str) -> int | str | None:
        (kernel,) = tileproof.check(text).files[0].kernels
        assert kernel.status == "followed"
        return kernel.trip_counts

    assert trip_counts(SLOW) == 1
    assert trip_counts(LARGE) == 14


# Threads copy a tile while the wgmma on the one before is in flight (Triton, matrix multiplication of sm_90).
IN_FLIGHT = (
    HEAD.replace("sm_100a", "sm_90a")
    + """.visible .entry multiply(.param .u64 from, .param .u64 to, .param .u32 depth)
.reqntid 128, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [from];
  ld.param.u64 %rd5, [to];
  ld.param.u32 %r1, [depth];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r2, %tid.x;
  shl.b32 %r3, %r2, 4;
  mov.b32 %r4, smem;
  add.s32 %r5, %r4, %r3;
  cp.async.cg.shared.global [%r5], [%rd1], 16;
  cp.async.commit_group;
  mov.b32 %r6, 0;
  mov.b32 %r7, 0;
LOOP:
  cp.async.wait_group 0;
  bar.sync 0;
  fence.proxy.async.shared::cta;
  shl.b32 %r8, %r6, 11;
  add.s32 %r9, %r4, %r8;
  shr.u32 %r10, %r9, 4;
  and.b32 %r11, %r10, 16383;
  cvt.u64.u32 %rd2, %r11;
  or.b64 %rd3, %rd2, 4611686293305360384;
  setp.ne.s32 %p1, %r7, 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd3, %rd3, %p1, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 1;
  bar.sync 0;
  xor.b32 %r6, %r6, 1;
  shl.b32 %r12, %r6, 11;
  add.s32 %r13, %r5, %r12;
  cp.async.cg.shared.global [%r13], [%rd1], 16;
  cp.async.commit_group;
  add.s32 %r7, %r7, 16;
  setp.lt.s32 %p2, %r7, %r1;
  @%p2 bra LOOP;
  wgmma.wait_group.sync.aligned 0;
  cp.async.wait_group 0;
  st.global.f32 [%rd5], %f1;
  ret;
}
"""
)


def test_threads_copy_over_what_their_own_wgmma_reads_only_after_they_have_waited():
    """It is an error where not even they wait; other warps of the warpgroup may be behind, which is named."""
    verified(IN_FLIGHT)
    mistaken(IN_FLIGHT, "wgmma.wait_group.sync.aligned 1;", "wgmma.wait_group.sync.aligned 2;", {"PR112"})
    mistaken(IN_FLIGHT, "  wgmma.wait_group.sync.aligned 1;\n", "", {"PR112"})
    apart = tileproof.check(IN_FLIGHT.replace("aligned 1;\n  bar.sync 0;\n", "aligned 1;\n"))
    assert [one.code for one in apart.diagnostics] == ["PR190"]
    assert "PR112 may be here, unless the warps of a warpgroup meet" in apart.diagnostics[0].message


def test_a_wgmma_reads_copies_only_after_those_who_made_them_have_waited():
    """It is an error where not even they wait; a warpgroup may meet at its wgmma, which is named."""
    waits = "LOOP:\n  cp.async.wait_group 0;\n  bar.sync 0;\n"
    mistaken(IN_FLIGHT, waits, "LOOP:\n  bar.sync 0;\n", {"PR111"})
    apart = tileproof.check(edited(IN_FLIGHT, (waits, "LOOP:\n  cp.async.wait_group 0;\n")))
    assert [one.code for one in apart.diagnostics] == ["PR190"]
    assert "PR111 may be here, unless the warps of a warpgroup meet" in apart.diagnostics[0].message


# Data decide whether a role stores a tile: that completes no phase, and nobody waits for it (CuTe DSL, grouped GEMM).
STORED = RING.replace(
    RELEASE,
    """  ld.global.b32 %r27, [%rd2];
  setp.eq.s32 %p7, %r27, 0;
  @%p7 bra KEPT;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
KEPT:
"""
    + RELEASE,
)


@pytest.mark.parametrize("text", [RING, STORED], ids=["always", "by data"])
def test_what_only_data_decide_takes_no_hang_away_where_nobody_waits_for_it(text: str):
    verified(text)
    assert errors(text.replace(RELEASE, "")) == {"PR126"}


# The halves of two warps come to a numbered barrier from two places, and a third warp as a whole: it is complete when all
# are there (tests/hardware).
HALVES = (
    HEAD
    + """.visible .entry halves()
.reqntid 96, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<20>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  shl.b32 %r3, %r1, 2;
  add.s32 %r4, %r2, %r3;
  and.b32 %r5, %r1, 31;
  setp.gt.u32 %p2, %r1, 63;
  @%p2 bra FIRST;
  setp.lt.u32 %p1, %r5, 16;
  @%p1 bra FIRST;
  st.shared.b32 [%r4], %r1;
  barrier.sync 1, 96;
  bra READ;
FIRST:
  st.shared.b32 [%r4], %r5;
  barrier.sync 1, 96;
READ:
  ld.shared.b32 %r8, [%r2+64];
  cp.async.commit_group;
  cp.async.wait_group 0;
  ret;
}
"""
)


def test_a_numbered_barrier_waits_for_both_halves_of_a_warp():
    verified(HALVES)
    assert errors(HALVES.replace("  barrier.sync 1, 96;\nREAD", "READ")) != set()


# How often loops go around where all integers are 3, and where they are 7: one that fills a ring of two stages, one that
# goes by the integers, one that takes many elements in a turn, one that does so only where it has any.
LENGTHS = {3: {1: 2, 2: 3, 3: 1}, 7: {1: 2, 2: 7, 3: 1, 4: 2}}


def test_a_loop_that_larger_integers_do_not_lengthen_is_bounded():
    reached = Exploration(by_size={Extents(0, 0): LENGTHS})
    assert set(reached.bounded(lambda at: frozenset({at}))) == {1}
    nearer = {one: {1: 2} for one in (4, 7)}  # a quotient may be 2 of both
    assert not set(Exploration(by_size={Extents(0, 0): nearer}).bounded(lambda at: frozenset({at})))


def test_what_is_chosen_for_a_run_does_not_grow_and_bounds_nothing():
    reached = Exploration(by_size={Extents(0, 0, given=((1, 5),)): LENGTHS})
    assert not set(reached.bounded(lambda at: frozenset({at})))


# ------------------------------------------------------------------------------------------- tiles, counted and told

COUNTED = [  # a counted loop with one inside, and a loop that goes on while there is another tile
    SimpleNamespace(kind="test", target=3),
    SimpleNamespace(kind="test", target=2),
    SimpleNamespace(kind="effect", target=0),
    SimpleNamespace(kind="check", target=4),
]


class Recorded:
    """A study whose runs end where loops over tiles go on for so many, and are kept: the sizes of each."""

    def __init__(self, enough: int, lengths: dict[int, int]) -> None:
        self.enough, self.lengths, self.asked = enough, lengths, list[int]()
        self.compiled, self.shape = SimpleNamespace(code=COUNTED), SimpleNamespace(extent=7)
        self.doubts, self.unseen, self.ran, self.fills = {}, {}, [], None

    def noted(self) -> tuple[object, ...]:
        return dict(self.doubts), dict(self.unseen), list(self.ran), self.fills

    def forget(self, noted: tuple[object, ...]) -> None:
        self.doubts, self.unseen, self.ran, self.fills = noted

    def run(self, size: Extents, turns: int, tiles: int, **_: object) -> SimpleNamespace:
        self.asked.append(tiles)
        self.ran.append(tiles)
        coverage = SimpleNamespace(abandoned={3} if tiles < self.enough else set(), lengths=self.lengths)
        return SimpleNamespace(hangs=tiles < self.enough, machine=SimpleNamespace(coverage=coverage))


@pytest.mark.parametrize(
    ("enough", "lengths", "asked", "kept"),
    [
        (2, {0: 5}, [2], [2]),  # nothing waits for ever
        (5, {0: 5, 1: 900}, [2, 8], [8]),  # a role counts five tiles: as many as the long run has, that is more
        (20, {0: 20}, [2, 20], [20]),
        (90, {0: 90}, [2], [2]),  # too many
        (5, {1: 5}, [2, 8], [8]),
        (5, {3: 5}, [2], [2]),  # nobody counts
    ],
)
def test_loops_over_tiles_are_as_long_as_a_role_counts_them(enough, lengths, asked, kept):
    study = Recorded(enough, lengths)
    long = SimpleNamespace(machine=SimpleNamespace(tiles=8))
    over_tiles(study, long, Extents(2, 2), 2, 100)
    assert (study.asked, study.ran) == (asked, kept)


def ran(calm: bool, *codes: str, forced: bool = False) -> SimpleNamespace:
    recipe = SimpleNamespace(forced={1: True} if forced else {})
    return SimpleNamespace(calm=calm, places=frozenset((code, 0) for code in codes), recipe=recipe)


@pytest.mark.parametrize(
    ("complete", "runs", "stand"),
    [
        (False, [ran(False, "PR126"), ran(False, "PR125")], False),
        (False, [ran(False, "PR126"), ran(False, "PR125"), ran(True)], True),  # some launch is right
        (False, [ran(False, "PR126"), ran(False, "PR110")], True),  # one that waits for ever is none
        (False, [ran(False, "PR126"), ran(False, "PR126", forced=True)], True),
        (True, [ran(False, "PR126"), ran(False, "PR125")], True),
    ],
)
def test_hazards_of_a_run_without_an_end_are_doubts_where_all_others_wait_for_ever(complete, runs, stand):
    operation = Operation("a", (), (), (), (), (), (), (), False, ("",))
    faults = [ProtocolFault("PR110", operation, ""), ProtocolFault("PR106", operation, "")]
    doubts: list[str] = []
    study = SimpleNamespace(ran=runs, doubt=lambda case, *_: doubts.append(case))
    long = SimpleNamespace(machine=SimpleNamespace(coverage=SimpleNamespace(complete=complete)))
    judging._of_endless(study, long, faults)
    assert ([one.code for one in faults], doubts) == (
        (["PR110", "PR106"], []) if stand else (["PR106"], ["loop_turns"])
    )


# Each producer of a pair of CTAs also waits at each tile for the readers of both.
IN_PAIRS = edited(
    (Path(__file__).with_name("ptx") / "persistent_ring.ptx").read_text(),
    (".reqntid 64, 1, 1\n", ".reqntid 64, 1, 1\n.reqnctapercluster 2, 1, 1\n"),
    (
        "  mul.lo.s32 %r40, %r40, %r40;\n",
        "  shr.u32 %r49, %r40, 8;\n  shr.u32 %r40, %r40, 7;\n  mul.lo.s32 %r40, %r40, %r49;\n",
    ),
    ("[%r3+24], 32;\n", "[%r3+24], 32;\n  mbarrier.init.shared::cta.b64 [%r3+32], 64;\n"),
    (
        "  bar.sync 0;\n  mov.b32 %r6, 0;\n",
        """  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  mov.u32 %r45, %cluster_ctarank;
  xor.b32 %r45, %r45, 1;
  mapa.shared::cluster.u32 %r46, %r3, %r45;
  mov.b32 %r48, 0;
  mov.b32 %r6, 0;
""",
    ),
    (
        "PRODUCER_NEXT:\n",
        """PRODUCER_NEXT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p16, [%r3+32], %r48;
  @!%p16 bra PRODUCER_NEXT;
  xor.b32 %r48, %r48, 1;
""",
    ),
    (
        "CONSUMER_NEXT:\n",
        """CONSUMER_NEXT:
  mbarrier.arrive.shared::cta.b64 _, [%r3+32];
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r46+32];
""",
    ),
    ("END:\n", "END:\n  barrier.cluster.arrive.release.aligned;\n  barrier.cluster.wait.acquire.aligned;\n"),
)


def test_the_ctas_of_a_cluster_have_as_many_tiles_where_few_of_them_have_all():
    """A grid of one cluster shows barriers that are used once a tile; an odd number of tiles is none of two CTAs."""
    verified(IN_PAIRS)
    mistaken(IN_PAIRS, "[%r3+32], 64;", "[%r3+32], 65;", {"PR125"})
    mistaken(IN_PAIRS, "  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r46+32];\n", "", {"PR125"})


def hung(extents: Extents, *given: tuple[tuple[int, int], ...]) -> list[Extents]:
    """The sizes in which a hang of a run is looked for again, after runs with some integers given."""
    machine = SimpleNamespace(shape=SimpleNamespace(extents=extents, extent=7), tiles=2)
    ran = [SimpleNamespace(recipe=SimpleNamespace(extents=replace(extents, given=one), forced={})) for one in given]
    study = SimpleNamespace(limit={"wide_turns": 15, "tile_elements": 128}.__getitem__, ran=ran)
    return [size for size, *_ in hangs._sizes(study, SimpleNamespace(machine=machine))]  # type: ignore[arg-type]


def test_the_place_of_a_cta_stays_where_lengths_are_larger():
    place, length = min(PLACES), 5
    found = hung(Extents(2, 2, given=((place, 15), (length, 1920))))
    assert {dict(size.given)[place] for size in found} == {15}
    assert [dict(size.given)[length] // 1920 for size in found] == [1, 2, 8, 16]


def test_few_ctas_that_wait_for_ever_do_so_with_integers_that_lead_to_more_steps():
    given = (), ((5, 1920),), ((5, 960),)
    assert [size.given for size in hung(Extents(3, 4, grid=1), *given)[-2:]] == [((5, 1920),), ((5, 960),)]
    assert all(not size.given for size in hung(Extents(3, 4), *given))


# Each CTA has as many tiles as it has of 132; it loads the first piece of the next tile while it reads the last of this one.
LOAD = """  @%p1 bra ISSUED_WHERE;
  add.s32 %r15, %r12, 1;
  and.b32 %r15, %r15, 1;
  mad.lo.s32 %r16, %r15, 8, %r3;
  mad.lo.s32 %r17, %r15, 4096, %r2;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r16], 4096;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r17], [%rd2, {%r20, %r20}], [%r16];
ISSUED_WHERE:
"""
TAKE = """  and.b32 %r18, %r12, 1;
  shr.u32 %r19, %r12, 1;
  and.b32 %r19, %r19, 1;
  mad.lo.s32 %r21, %r18, 8, %r3;
  mad.lo.s32 %r22, %r18, 4096, %r2;
  mad.lo.s32 %r22, %r1, 4, %r22;
WAIT_WHERE:
  mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r21], %r19;
  @!%p6 bra WAIT_WHERE;
  ld.shared.b32 %r23, [%r22];
  bar.sync 0;
  add.s32 %r12, %r12, 1;
"""
PERSISTENT = (
    HEAD.replace("sm_100a", "sm_90a")
    + """.visible .entry persistent(.param .align 64 .b8 map[128], .param .u32 rows, .param .u32 columns, .param .u32 depth)
.reqntid 32, 1, 1
{
  .reg .pred %p<10>; .reg .b32 %r<40>; .reg .b64 %rd<4>;
  .shared .align 128 .b8 tile[8192];
  .shared .align 8 .b8 full[16];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, tile;
  mov.b32 %r3, full;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  setp.ne.s32 %p1, %r1, 0;
  ld.param.u32 %r4, [rows];
  add.s32 %r4, %r4, 127;
  shr.u32 %r4, %r4, 7;
  ld.param.u32 %r5, [columns];
  add.s32 %r5, %r5, 255;
  shr.u32 %r5, %r5, 8;
  mul.lo.s32 %r6, %r4, %r5;
  mov.u32 %r7, %nctaid.x;
  mov.u32 %r8, %ctaid.x;
  add.s32 %r9, %r6, %r7;
  not.b32 %r10, %r8;
  add.s32 %r9, %r9, %r10;
  div.s32 %r9, %r9, %r7;
  ld.param.u32 %r11, [depth];
  add.s32 %r11, %r11, 63;
  shr.u32 %r11, %r11, 6;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r3], 1;
  mbarrier.init.shared::cta.b64 [%r3+8], 1;
  fence.mbarrier_init.release.cluster;
READY:
  bar.sync 0;
  mov.b32 %r12, -1;
  mov.b32 %r13, 0;
  mov.b32 %r20, 0;
  setp.lt.s32 %p2, %r9, 1;
  @%p2 bra END;
"""
    + LOAD.replace("WHERE", "FIRST")
    + """  add.s32 %r12, %r12, 1;
TILE:
  mov.b32 %r14, 1;
DEPTH:
  setp.ge.s32 %p3, %r14, %r11;
  @%p3 bra LAST;
"""
    + (LOAD + TAKE).replace("WHERE", "DEPTH")
    + """  add.s32 %r14, %r14, 1;
  bra DEPTH;
LAST:
  add.s32 %r13, %r13, 1;
  setp.ge.s32 %p4, %r13, %r9;
  @%p4 bra NONE;
"""
    + LOAD.replace("WHERE", "NEXT")
    + "NONE:\n"
    + TAKE.replace("WHERE", "LAST")
    + "  setp.lt.s32 %p5, %r13, %r9;\n  @%p5 bra TILE;\nEND:\n  ret;\n}\n"
)


def test_a_second_tile_is_followed_where_each_of_many_ctas_has_one():
    """132 CTAs have 120 tiles of 1920 rows and columns: what is done for a next tile only one CTA of few does."""
    verified(PERSISTENT)
    at = PERSISTENT.index("  cp.async.bulk", PERSISTENT.index("bra ISSUED_NEXT"))
    without = PERSISTENT[:at] + PERSISTENT[PERSISTENT.index("\n", at) + 1 :]
    report = tileproof.check(without)
    (kernel,) = report.files[0].kernels
    assert kernel.status == "partly"
    assert "PR124 may be here" in report.diagnostics[0].message
