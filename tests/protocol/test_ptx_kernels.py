"""Kernels in PTX on the abstract machine: small kernels, right and with one mistake."""

# ruff: noqa: E501  lines of PTX

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path

import pytest

import tileproof
from conftest import EXAMPLES, corpus_files
from tileproof.checking import kept_outcomes
from tileproof.protocol import endings, study
from tileproof.protocol.budget import limit
from tileproof.protocol.folding import Extents
from tileproof.protocol.machine import Machine
from tileproof.protocol.ptx_kernels import _loaded
from tileproof.protocol.study import Study
from tileproof.protocol.warps import Awaited
from tileproof.rulebase.book import Rulebook

HEAD = """.version 8.7
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
"""

# A ring of two stages: one thread loads, the others read. FULL and EMPTY are the barriers.
RING = (
    HEAD
    + """.visible .entry ring(.param .align 64 .b8 map[128], .param .u32 tiles)
.reqntid 64, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  add.s32 %r3, %r2, 8192;
  ld.param.u32 %r4, [tiles];
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r3], 1;
  mbarrier.init.shared::cta.b64 [%r3+8], 1;
  mbarrier.init.shared::cta.b64 [%r3+16], 32;
  mbarrier.init.shared::cta.b64 [%r3+24], 32;
  fence.mbarrier_init.release.cluster;
INITIALISED:
  bar.sync 0;
  mov.b32 %r5, 0;
  mov.b32 %r6, 0;
  mov.b32 %r7, 0;
  shr.u32 %r8, %r1, 5;
  shfl.sync.idx.b32 %r9, %r8, 0, 31, -1;
  setp.eq.s32 %p2, %r9, 0;
  @%p2 bra CONSUMER;
  elect.sync _|%p3, -1;
  @!%p3 bra END;
PRODUCER:
  shl.b32 %r10, %r6, 3;
  add.s32 %r11, %r3, %r10;
  xor.b32 %r12, %r7, 1;
  {
  .reg .pred done;
  AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 done, [%r11+16], %r12;
  @done bra OVER;
  bra AGAIN;
  OVER:
  }
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], 4096;
  shl.b32 %r13, %r6, 12;
  add.s32 %r14, %r2, %r13;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r14], [%rd2, {%r5, %r5}], [%r11];
  add.s32 %r15, %r6, 1;
  setp.eq.s32 %p4, %r15, 2;
  selp.b32 %r6, 0, %r15, %p4;
  selp.b32 %r16, 1, 0, %p4;
  xor.b32 %r7, %r7, %r16;
  add.s32 %r5, %r5, 1;
  setp.lt.s32 %p5, %r5, %r4;
  @%p5 bra PRODUCER;
  bra.uni END;
CONSUMER:
  shl.b32 %r20, %r6, 3;
  add.s32 %r21, %r3, %r20;
  {
  .reg .pred done;
  AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 done, [%r21], %r7;
  @done bra OVER;
  bra AGAIN;
  OVER:
  }
  shl.b32 %r22, %r6, 12;
  add.s32 %r23, %r2, %r22;
  shl.b32 %r24, %r1, 2;
  add.s32 %r25, %r23, %r24;
  ld.shared.b32 %r26, [%r25];
  mbarrier.arrive.shared::cta.b64 _, [%r21+16];
  add.s32 %r27, %r6, 1;
  setp.eq.s32 %p6, %r27, 2;
  selp.b32 %r6, 0, %r27, %p6;
  selp.b32 %r28, 1, 0, %p6;
  xor.b32 %r7, %r7, %r28;
  add.s32 %r5, %r5, 1;
  setp.lt.s32 %p7, %r5, %r4;
  @%p7 bra CONSUMER;
END:
  ret;
}
"""
)

# Threads write a tile, and TMA stores it.
STORE = (
    HEAD
    + """.visible .entry store(.param .align 64 .b8 map[128])
.reqntid 128, 1, 1
{
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<3>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  shl.b32 %r3, %r1, 4;
  add.s32 %r4, %r2, %r3;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  st.shared.v4.b32 [%r4], {%r1, %r1, %r1, %r1};
  fence.proxy.async.shared::cta;
  bar.sync 0;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra END;
  cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {%r1, %r1}], [%r2];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
END:
  ret;
}
"""
)

# Each thread reads what another thread wrote.
EXCHANGE = (
    HEAD
    + """.visible .entry exchange(.param .u64 out)
.reqntid 128, 1, 1
{
  .reg .b32 %r<9>; .reg .b64 %rd<3>;
  .shared .align 8 .b8 bar[8];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.b32 %r8, bar;
  shl.b32 %r3, %r1, 2;
  add.s32 %r4, %r2, %r3;
  st.shared.b32 [%r4], %r1;
  bar.sync 0;
  xor.b32 %r5, %r3, 256;
  add.s32 %r6, %r2, %r5;
  ld.shared.b32 %r7, [%r6];
  cp.async.commit_group;
  cp.async.wait_group 0;
  ret;
}
"""
)

# The text, what is replaced in it and by what, and what is found then.
MISTAKES = {
    "an arrival less": (RING, "  mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n", "", {"PR126"}),
    "a count too high": (RING, "init.shared::cta.b64 [%r3+16], 32", "init.shared::cta.b64 [%r3+16], 33", {"PR125"}),
    "a count too low": (RING, "init.shared::cta.b64 [%r3+24], 32", "init.shared::cta.b64 [%r3+24], 16", {"PR122"}),
    "the wrong parity": (RING, "done, [%r11+16], %r12", "done, [%r11+16], %r7", {"PR126"}),
    "a barrier that is not initialised": (RING, "  mbarrier.init.shared::cta.b64 [%r3+8], 1;\n", "", {"PR120"}),
    "no barrier behind the initialisation": (RING, "  bar.sync 0;\n", "", {"PR121"}),
    "no copy": (RING, "  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r14], [%rd2, {%r5, %r5}], [%r11];\n", "", {"PR124"}),
    "no proxy fence": (STORE, "  fence.proxy.async.shared::cta;\n", "", {"PR110"}),
    "no barrier before the store": (STORE, "  bar.sync 0;\n", "", {"PR111"}),
    "no barrier before the read": (EXCHANGE, "  bar.sync 0;\n", "", {"PR116"}),
}  # fmt: skip


def found(text: str) -> set[str]:
    return {one.code for one in tileproof.check(text).diagnostics if one.severity.value == "error"}


@pytest.mark.parametrize("text", [RING, STORE, EXCHANGE], ids=["ring", "store", "exchange"])
def test_a_right_kernel_is_followed_without_a_finding(text):
    report = tileproof.check(text)
    assert [str(one.message) for one in report.diagnostics] == []
    (kernel,) = report.files[0].kernels
    assert kernel.status == "followed"
    assert kernel.executed == kernel.steps > 3


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name):
    text, right, wrong, expected = MISTAKES[name]
    assert text.count(right) == 1
    assert found(text.replace(right, wrong)) == expected


# Each CTA of a pair arrives at the barrier of the first one, which waits for both: one for itself, the other twice.
PAIR = (
    HEAD
    + """.visible .entry pair()
.reqntid 32, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.u32 %r3, %cluster_ctarank;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2], 3;
  fence.mbarrier_init.release.cluster;
INITIALISED:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mapa.shared::cluster.u32 %r4, %r2, 0;
  @%p1 bra ARRIVED;
  add.s32 %r5, %r3, 1;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4], %r5;
ARRIVED:
  setp.ne.s32 %p2, %r3, 0;
  @%p2 bra END;
  mov.pred %p3, -1;
  not.pred %p4, %p3;
  @%p4 bra END;
AGAIN:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p5, [%r2], 0;
  @!%p5 bra AGAIN;
END:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
"""
)


@pytest.mark.parametrize(("expected", "codes"), [(4096, set()), (4112, {"PR138"}), (4100, {"PR124"})])
def test_bytes_that_no_box_can_deliver(expected: int, codes: set[str]):
    """The stages are 4096 bytes apart, and a bulk copy delivers a multiple of 16."""
    assert found(RING.replace("_, [%r11], 4096;", f"_, [%r11], {expected};")) == codes


def test_bytes_of_copies_of_known_size_are_counted():
    copy = "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r14+16384], [%rd2], 1024, [%r11];\n"
    tensor = "  cp.async.bulk.tensor.2d.shared::cluster.global"
    assert tensor in RING
    both = RING.replace(tensor, copy + tensor).replace("_, [%r11], 4096;", "_, [%r11], 5136;")
    said = [one.message for one in tileproof.check(both).diagnostics if one.code == "PR138"]
    assert said and all("expects 5136 bytes: its copies deliver at most 5120" in one for one in said)


# One thread copies a box three times; the mbarrier is invalidated and initialised in between (Triton, two loops).
_AGAIN = """  @%p1 bra WAIT{n};
  mbarrier.init.shared::cta.b64 [%r3], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], BYTES{n};
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2, {{%r5, %r5}}], [%r3];
WAIT{n}:
  bar.sync 0;
LOOP{n}:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
  @!%p2 bra LOOP{n};
  bar.sync 0;
  @!%p1 mbarrier.inval.shared::cta.b64 [%r3];
"""
AGAIN = (
    RING[: RING.index("  ld.param.u32")]
    + "  mov.b32 %r5, 0;\n  mov.b64 %rd1, map;\n  cvta.param.u64 %rd2, %rd1;\n  setp.ne.s32 %p1, %r1, 0;\n"
    + "".join(_AGAIN.format(n=n) for n in range(3))
    + "  ret;\n}\n"
)


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_bytes_of_a_barrier_that_is_initialised_again(wrong: int):
    """It is the phase that expects something else than the two others do."""

    def text(bytes_: int) -> str:
        return re.sub(r"BYTES(\d)", lambda n: str(bytes_ if int(n[1]) == wrong else 4096), AGAIN)

    assert found(text(4096)) == set()
    (one,) = [one for one in tileproof.check(text(2048)).diagnostics if one.severity.value == "error"]
    assert (one.code, "expects 2048 bytes: elsewhere" in one.message, "deliver 4096" in one.message) == (
        "PR138",
        True,
        True,
    )


_OTHER = (
    "  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd4, {%r5, %r5}], [%r3];\n"
)
TWO_MAPS = (
    AGAIN.replace("map[128],", "map[128], .param .align 64 .b8 second[128],")
    .replace(
        "cvta.param.u64 %rd2, %rd1;\n",
        "cvta.param.u64 %rd2, %rd1;\n  mov.b64 %rd3, second;\n  cvta.param.u64 %rd4, %rd3;\n",
    )
    .replace("complete_tx::bytes [%r2]", "complete_tx::bytes [%r2+4096]")
)


@pytest.mark.parametrize(
    ("both", "wrong", "said"),
    [
        ((0, 1, 2), None, None),
        ((1, 2), 0, "its copies and others together deliver 4096"),
        ((0, 2), 1, "its copies and others together deliver 4096"),
        ((1,), 1, "some of its copies alone deliver 4096"),
        ((), None, None),
    ],
)
def test_phases_that_expect_the_same_of_fewer_copies(both: tuple[int, ...], wrong: int | None, said: str | None):
    """Whatever the boxes of two tensor maps are, one alone is less than both."""
    text = re.sub(r"BYTES\d", "4096", TWO_MAPS)
    parts = re.split(r"(?=WAIT\d:)", text)
    text = "".join(part + (_OTHER if at in both else "") for at, part in enumerate(parts[:-1])) + parts[-1]
    errors = [one for one in tileproof.check(text).diagnostics if one.severity.value == "error"]
    if wrong is None:
        assert errors == []
        return
    (one,) = errors
    assert one.code == "PR138" and "expects 4096 bytes: elsewhere" in one.message and str(said) in one.message
    assert text[: one.span.start].count("expect_tx") == wrong


def test_a_ring_that_is_not_released_hangs_in_long_loops():
    assert found(RING.replace("  mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n", "")) == {"PR126"}


@pytest.mark.parametrize(("count", "codes"), [(1, set()), (2, {"PR125"})])
def test_a_ring_hangs_at_a_stage_that_short_loops_do_not_reach(count: int, codes: set[str]):
    """The only integer counts elements, 64 a turn, and the producer is done when the second stage is waited for."""
    turns = "".join(
        f"  {one};\n" for one in ("ld.param.u32 %r4, [tiles]", "add.s32 %r4, %r4, 63", "shr.u32 %r4, %r4, 6")
    )
    turns += "  min.u32 %r4, %r4, 2;\n"
    text = RING.replace("  ld.param.u32 %r4, [tiles];\n", turns)
    assert found(text.replace("[%r3+8], 1;", f"[%r3+8], {count};")) == codes


# The same with eight stages, and an integer that counts elements, 128 a turn.
_INIT = """  mbarrier.init.shared::cta.b64 [%r3], 1;
  mbarrier.init.shared::cta.b64 [%r3+8], 1;
  mbarrier.init.shared::cta.b64 [%r3+16], 32;
  mbarrier.init.shared::cta.b64 [%r3+24], 32;
"""
DEEP = (
    RING.replace(
        _INIT, "".join(f"  mbarrier.init.shared::cta.b64 [%r3+{8 * i}], {(1, 32)[i // 8]};\n" for i in range(16))
    )
    .replace("  ld.param.u32 %r4, [tiles];\n", "  ld.param.u32 %r4, [tiles];\n  shr.u32 %r4, %r4, 7;\n")
    .replace("%r2, 8192;", "%r2, 32768;")
    .replace("[%r11+16]", "[%r11+64]")
    .replace("[%r21+16]", "[%r21+64]")
    .replace("%p4, %r15, 2;", "%p4, %r15, 8;")
    .replace("%p6, %r27, 2;", "%p6, %r27, 8;")
)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("xor.b32 %r7, %r7, %r16;", "or.b32 %r7, %r7, %r16;"),  # right the first time that the ring is gone around
        ("xor.b32 %r7, %r7, %r28;", "or.b32 %r7, %r7, %r28;"),
        ("xor.b32 %r7, %r7, %r16;", "mov.b32 %r7, %r7;"),
        ("%p6, %r27, 8;", "%p6, %r27, 7;"),
        ("_, [%r21+64];", "_, [%r3+64];"),
    ],
)
def test_the_long_run_goes_around_deep_rings(right: str, wrong: str):
    assert found(DEEP) == set()
    assert right in DEEP
    assert found(DEEP.replace(right, wrong))


@pytest.mark.parametrize(("expected", "codes"), [(4096, set()), (4112, {"PR138"})])
def test_a_longer_run_that_does_nothing_is_not_the_one_that_counts(expected: int, codes: set[str]):
    """Sixteen tiles and more are left to another kernel: of so many a run shows nothing."""
    count = "  shr.u32 %r4, %r4, 7;\n"
    few = f"{count}  setp.gt.s32 %p8, %r4, 15;\n  @%p8 bra END;\n"
    assert DEEP.count(count) == 1
    assert found(DEEP.replace(count, few).replace("_, [%r11], 4096;", f"_, [%r11], {expected};")) == codes


def test_the_cluster_is_the_one_that_the_kernel_goes_right_with():
    report = tileproof.check(PAIR)
    assert [one.message for one in report.diagnostics] == []
    (kernel,) = report.files[0].kernels
    assert (kernel.status, kernel.executed) == ("followed", kernel.steps)


def test_what_is_wrong_with_every_cluster_is_wrong():
    wrong = PAIR.replace("[%r2], 3;", "[%r2], 200;")
    assert found(wrong) == {"PR125"}
    (kernel,) = tileproof.check(wrong).files[0].kernels
    assert "any_cluster" in {reason.case for reason in kernel.reasons}
    for ctas in range(3, 9):
        assert found(PAIR.replace("[%r2], 3;", f"[%r2], {ctas * (ctas + 1) // 2};")) == set()


# Every thread arrives at an mbarrier and waits for it; nothing says how many threads there are.
ANY_BLOCK = (
    HEAD
    + """.visible .entry any_block()
{
  .reg .pred %p<3>; .reg .b32 %r<3>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  setp.ne.s32 %p1, %r1, 0;
  @!%p1 mbarrier.init.shared::cta.b64 [%r2], 416;
  bar.sync 0;
  mbarrier.arrive.shared::cta.b64 _, [%r2];
AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra AGAIN;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  ret;
}
"""
)


WRONG_BLOCK = ANY_BLOCK.replace("416", "200")
RANKED = WRONG_BLOCK.replace("%r<3>", "%r<9>").replace(
    "  mov.u32 %r1, %tid.x;\n",
    """  mov.u32 %r3, %tid.z;
  mov.u32 %r4, %tid.y;
  mov.u32 %r5, %ntid.y;
  mad.lo.s32 %r6, %r5, %r3, %r4;
  mov.u32 %r7, %ntid.x;
  mov.u32 %r8, %tid.x;
  mad.lo.s32 %r1, %r6, %r7, %r8;
""",
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (ANY_BLOCK, "assumed_block"),  # right with a number of threads that nothing else asks for
        (WRONG_BLOCK, "any_block"),
        # Without whole warps there are as many threads as a barrier counts.
        (WRONG_BLOCK.replace("wgmma", "//"), "assumed_block"),
        (WRONG_BLOCK.replace("wgmma", "//").replace("b64 [%r2], 200", "b64 [%r2], 2000"), "any_block"),
        # Nobody has to meet, and in more dimensions there are more blocks than those that are tried.
        (WRONG_BLOCK.replace("wgmma", "//").replace("bar.sync", "// "), "assumed_block"),
        (WRONG_BLOCK.replace("%tid.x", "%tid.y"), "assumed_block"),
        (RANKED, "any_block"),  # not where only the rank of a thread among all of them matters
        (RANKED.replace("  setp.ne", "  setp.lt.u32 %p2, %r4, 2;\n  @%p2 bar.sync 1, 64;\n  setp.ne"), "assumed_block"),
    ],
)
def test_what_is_wrong_with_every_block_is_wrong(text: str, reason: str):
    report = tileproof.check(text)
    errors = [one.code for one in report.diagnostics if one.severity.value == "error"]
    assert bool(errors) == (reason == "any_block")
    assert reason in {one.case for one in report.files[0].kernels[0].reasons}


def test_where_blocks_take_too_long_the_first_is_assumed(monkeypatch: pytest.MonkeyPatch):
    """No other is tried then, and nothing is wrong in any."""

    def shorter(book: Rulebook, name: str, thorough: bool = False, ptx: bool = False) -> int:
        return 0 if name in ("block_steps", "cluster_steps") else limit(book, name, thorough, ptx)

    monkeypatch.setattr("tileproof.protocol.verify.limit", shorter)
    for threads in ("201", "417"):  # texts of its own: what is known of a kernel is kept
        report = tileproof.check(ANY_BLOCK.replace("416", threads))
        assert [one.code for one in report.diagnostics] == ["PR190"]
        assert "assumed_block" in {one.case for one in report.files[0].kernels[0].reasons}


ONE_ARRIVAL = (
    (Path(__file__).with_name("ptx") / "released_stage.ptx")
    .read_text()
    .replace("+16], 128;", "+16], 1;")
    .replace("+24], 128;", "+24], 1;")
    .replace(
        "  mbarrier.arrive.shared::cta.b64 _", "  setp.eq.u32 %p8, %r1, 64;\n  @%p8 mbarrier.arrive.shared::cta.b64 _"
    )
)


@pytest.mark.parametrize(("left", "codes"), [(0, set()), (1, {"PR112"})])
def test_one_thread_of_a_warpgroup_says_that_its_wgmma_are_complete(left: int, codes: set[str]):
    """CUTLASS, include/cutlass/pipeline/sm90_pipeline.hpp: one thread of each warpgroup signals a CTA."""
    wait = "  wgmma.wait_group.sync.aligned {};\n  setp.eq.u32 %p8"
    assert wait.format(0) in ONE_ARRIVAL
    assert found(ONE_ARRIVAL.replace(wait.format(0), wait.format(left))) == codes


@pytest.mark.parametrize(
    ("behind", "access", "codes"),
    [
        (False, "ld.shared.b32 %r26, [%r29]", set()),
        (True, "ld.shared.b32 %r26, [%r29]", {"PR112"}),
        (False, "st.shared.b32 [%r29], %r1", {"PR111"}),
    ],
)
def test_it_says_as_well_that_the_warpgroup_has_read_what_the_wgmma_needs(behind: bool, access: str, codes: set[str]):
    """As the metadata of a sparse operand: what threads write, or read behind the wait, is another matter."""
    read = f"  shl.b32 %r29, %r1, 2;\n  add.s32 %r29, %r23, %r29;\n  {access};\n"
    place = "  setp.eq.u32 %p8" if behind else "  wgmma.fence.sync.aligned;\n  wgmma.mma_async"
    assert ONE_ARRIVAL.count(place) == 1
    assert found(ONE_ARRIVAL.replace(place, read + place)) == codes


# A warp copies and another one reads: the copies are complete when the phase is.
COPIES = (
    HEAD
    + """.visible .entry copies(.param .u64 from, .param .u64 to)
.reqntid 64, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [from];
  ld.param.u64 %rd2, [to];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2+4096], 32;
INITIALISED:
  bar.sync 0;
  setp.ge.u32 %p2, %r1, 32;
  @%p2 bra READER;
  shl.b32 %r3, %r1, 4;
  add.s32 %r4, %r2, %r3;
  cp.async.cg.shared.global [%r4], [%rd1], 16;
  cp.async.mbarrier.arrive.shared::cta.b64 [%r2+4096];
  mbarrier.arrive.shared::cta.b64 _, [%r2+4096];
  bra.uni END;
READER:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2+4096], 0;
  @!%p3 bra READER;
  ld.shared.b32 %r5, [%r2+16];
  st.global.b32 [%rd2], %r5;
END:
  ret;
}
"""
)
_TRACKED = "  cp.async.mbarrier.arrive.shared::cta.b64 [%r2+4096];\n"
_COUNTED = "  mbarrier.arrive.shared::cta.b64 _, [%r2+4096];\n"


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("", "", set()),
        (_TRACKED + _COUNTED, _TRACKED.replace("arrive.shared", "arrive.noinc.shared"), set()),
        (_TRACKED, "", {"PR108", "PR111"}),
        (_COUNTED, "", {"PR126"}),
    ],
    ids=["counted twice and back", "noinc", "not tracked", "not counted"],
)
def test_copies_that_an_mbarrier_tracks(old: str, new: str, codes: set[str]):
    assert old in COPIES
    assert found(COPIES.replace(old, new)) == codes


# Whether the elected thread copies depends on a scale factor, which is supposed not to be 0; the other threads of its warp never do.
OPTIONAL_COPY = (
    HEAD
    + """.visible .entry k(.param .align 64 .b8 map[128], .param .f32 beta)
.reqntid 64, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<9>; .reg .f32 %f<4>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  ld.param.f32 %f1, [beta];
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2+4096], 1;
  fence.mbarrier_init.release.cluster;
INITIALISED:
  bar.sync 0;
  setp.ge.u32 %p2, %r1, 32;
  @%p2 bra READER;
  mov.u32 %r5, 0;
  {
  .reg .pred px;
  elect.sync _|px, -1;
  @px mov.s32 %r5, 1;
  }
  setp.ne.s32 %p3, %r5, 0;
  setp.eq.f32 %p4, %f1, 0f00000000;
  not.pred %p5, %p4;
  and.pred %p6, %p3, %p5;
  not.pred %p7, %p6;
  @%p7 bra NONE;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2, {%r5, %r5}], [%r2+4096];
  mbarrier.expect_tx.shared::cta.b64 [%r2+4096], 4096;
NONE:
  @!%p3 bra END;
  mbarrier.arrive.shared::cta.b64 _, [%r2+4096];
  bra.uni END;
READER:
  mbarrier.try_wait.parity.shared::cta.b64 %p8, [%r2+4096], 0;
  @!%p8 bra READER;
END:
  ret;
}
"""
)


def test_what_a_scale_factor_decides_of_one_thread_is_executed():
    (kernel,) = tileproof.check(OPTIONAL_COPY).files[0].kernels
    assert (kernel.executed, kernel.reasons) == (kernel.steps, ())
    assert found(OPTIONAL_COPY.replace("[%r2+4096], 4096;", "[%r2+4096], 4100;")) == {"PR124"}


def test_what_data_decide_of_one_thread_is_taken_both_ways():
    data = OPTIONAL_COPY.replace("[beta];", "[beta];\n  ex2.approx.f32 %f1, %f1;")
    (kernel,) = tileproof.check(data).files[0].kernels
    assert (kernel.executed, kernel.reasons) == (kernel.steps, ())
    (kernel,) = tileproof.check(data.replace("[%r2+4096], 4096;", "[%r2+4096], 4100;")).files[0].kernels
    assert {reason.case for reason in kernel.reasons} == {"guessed_steps"}


def test_a_hazard_of_roles_that_load_how_far_they_go_is_found_where_they_agree():
    early = RING.replace("  mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n", "")
    early = early.replace("  ld.shared.b32", "  mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n  ld.shared.b32")
    assert found(early) == {"PR112"}
    loading = early.replace("ld.param.u32 %r4, [tiles];", "mov.b64 %rd3, 0;\n  ld.global.u32 %r4, [%rd3];")
    assert found(loading) == {"PR112"}
    apart = loading.replace("  @%p2 bra CONSUMER;\n", "  @%p2 ld.global.u32 %r4, [%rd3+4];\n  @%p2 bra CONSUMER;\n")
    assert found(apart) == set()  # the other role goes further, perhaps: it may meet what it never does
    (kernel,) = tileproof.check(apart).files[0].kernels
    assert kernel.reasons


# One length sends all threads past what another one asks for.
LENGTHS = (
    HEAD
    + """.visible .entry lengths(.param .u32 first, .param .u32 second)
.reqntid 32, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<9>;
  .shared .align 8 .b8 bar[8];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  shl.b32 %r6, %r1, 2;
  add.s32 %r3, %r2, %r6;
  ld.param.u32 %r4, [first];
  ld.param.u32 %r5, [second];
  setp.eq.s32 %p1, %r4, 0;
  @%p1 bra NOTHING;
  setp.ne.s32 %p2, %r5, 0;
  @%p2 bra DONE;
  st.shared.b32 [%r3], %r1;
DONE:
  cp.async.commit_group;
  cp.async.wait_group 0;
  ret;
NOTHING:
  st.shared.b32 [%r3], %r1;
  ret;
}
"""
)


PTX = Path(__file__).with_name("ptx")
RELEASED, FREED = (PTX / f"{name}.ptx" for name in ("released_stage", "tensor_memory"))


@pytest.mark.parametrize(
    ("path", "line", "lines", "reason"),
    [
        (RELEASED, 82, "{}\n  setp.ne.s32 %p8, %r5, 1000;\n  @%p8 bra SKIP;\n  bar.sync 3, 160;\nSKIP:", "not_executed"),
        (RELEASED, 28, "{}\n  mov.u32 %r29, %ctaid.x;\n  setp.ne.s32 %p8, %r29, 5;\n  @%p8 bra SKIP;\n  bar.sync 3, 192;\nSKIP:",
         "guessed_steps"),
    ],
    ids=["a late turn", "one CTA"],
)  # fmt: skip
def test_what_the_runs_do_not_show_is_not_verified(path: Path, line: int, lines: str, reason: str):
    text = path.read_text().split("\n")
    assert tileproof.check("\n".join(text)).files[0].kernels[0].reasons == ()
    text[line - 1] = lines.format(text[line - 1])
    (kernel,) = tileproof.check("\n".join(text)).files[0].kernels
    assert [one.case for one in kernel.reasons] == [reason]


def test_a_fence_that_no_run_comes_to_leaves_nothing_unseen():
    """It would only add an order: locks of split-K kernels, which CTAs in the middle of a slice release."""
    text = RELEASED.read_text().split("\n")
    text[81] += "\n  setp.ne.s32 %p8, %r5, 1000;\n  @%p8 bra SKIP;\n  fence.acq_rel.gpu;\nSKIP:"
    (kernel,) = tileproof.check("\n".join(text)).files[0].kernels
    assert (kernel.status, kernel.reasons) == ("followed", ())


def test_copies_that_each_thread_waits_for_are_no_hazard_of_the_wgmma_of_their_warpgroup():
    """Kernels of CUTLASS have no barrier there; stores by the threads need one."""
    stored = (EXAMPLES / "hopper_multiply.ptx").read_text()
    store = "st.shared.v4.u32 \t[%r4], {%r1, %r1, %r1, %r1};"
    copies = "cvta.to.global.u64 \t%rd8, %rd1;\n cp.async.ca.shared.global \t[%r4], [%rd8], 16;\n cp.async.wait_all;"
    copied = stored.replace(store, copies)
    assert copied != stored
    assert found(stored) == found(copied) == set()
    assert found(stored.replace("bar.sync \t0;", "")) == {"PR111"}
    without = tileproof.check(copied.replace("bar.sync \t0;", ""))
    assert [one.code for one in without.diagnostics] == ["PR190"]
    assert "PR111 may be here" in without.diagnostics[0].message


def test_a_decision_that_another_keeps_a_run_from_is_taken_in_one_more():
    (kernel,) = tileproof.check(LENGTHS).files[0].kernels
    assert (kernel.status, kernel.executed) == ("followed", kernel.steps)


TWINS = [path for path in corpus_files("corpus/*/*.ptx") if path.with_suffix(".mlir").exists()]
FEW = ("dense_gemm_persistent__default", "dense_gemm__f16_mnn", "tensorop_gemm__bf16_bf16_f32_mkn")


def agree(path: Path) -> tuple[int, int]:
    """Compare a kernel of the corpus with its PTX: how many steps of the PTX there are, and were executed."""
    texts = (path, path.with_suffix(".mlir"))
    ptx, ir = (tileproof.check(one) for one in texts)
    errors = [{one.code for one in report.diagnostics if one.severity.value == "error"} for report in (ptx, ir)]
    assert errors == [set(), set()], path.name
    kernels = ptx.files[0].kernels
    return sum(one.steps for one in kernels), sum(one.executed for one in kernels)


@pytest.mark.sweep
@pytest.mark.skipif(not TWINS, reason="no ../shared beside this checkout")
def test_some_kernels_of_the_corpus_are_followed_in_both_forms():
    chosen = [path for path in TWINS if path.stem in FEW]
    assert chosen
    for path in chosen:
        steps, executed = agree(path)
        assert executed == steps > 20, path.name


@pytest.mark.sweep
@pytest.mark.skipif(not TWINS, reason="no ../shared beside this checkout")
def test_the_kernels_of_the_corpus_are_judged_alike_in_both_forms():
    counted = [agree(path) for path in TWINS[::5]]
    whole = sum(executed >= 0.95 * steps for steps, executed in counted if steps)
    assert whole >= 0.85 * sum(steps > 0 for steps, _ in counted)


@pytest.mark.parametrize("bound", [".maxntid 128, 1, 1", ""])
def test_the_largest_block_is_the_block_and_any_other_goes_right(bound):
    report = tileproof.check(STORE.replace(".reqntid 128, 1, 1", bound))
    assert not [one for one in report.diagnostics if one.severity.value == "error"]
    (kernel,) = report.files[0].kernels
    assert not kernel.reasons
    assert kernel.executed == kernel.steps


# From the fifteenth turn on the warps meet in the middle of a turn; and after an odd number of turns once more. In tiles of 64.
LATE = (
    HEAD
    + """.visible .entry late(.param .u32 length)
.reqntid 64, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<20>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  shr.u32 %r3, %r1, 5;
  shl.b32 %r4, %r1, 2;
  add.s32 %r5, %r2, %r4;
  ld.param.u32 %r6, [length];
  add.s32 %r7, %r6, 63;
  shr.s32 %r8, %r7, 6;
  setp.lt.s32 %p1, %r8, 1;
  @%p1 bra END;
  mov.b32 %r9, 0;
  setp.ne.s32 %p3, %r3, 0;
AGAIN:
  setp.lt.s32 %p2, %r9, 14;
  @%p2 bra EARLY;
  @%p3 bra READ;
  st.shared.b32 [%r2], %r9;
READ:
  bar.sync 1, 64;
  ld.shared.b32 %r11, [%r2];
EARLY:
  bar.sync 2, 64;
  add.s32 %r9, %r9, 1;
  setp.lt.s32 %p4, %r9, %r8;
  @%p4 bra AGAIN;
  and.b32 %r12, %r8, 1;
  setp.eq.s32 %p5, %r12, 0;
  @%p5 bra END;
  bar.sync 3, 64;
END:
  cp.async.commit_group;
  cp.async.wait_group 0;
  ret;
}
"""
)


# The same of as many tiles as CTAs come before this one, as in causal attention.
BY_PLACE = "mov.u32 %r6, %ctaid.x;\n  shl.b32 %r6, %r6, 6;"


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        (("", ""), []),
        (("bar.sync 1, 64;", "bar.sync 1, 96;"), ["PR131"]),
        (("bar.sync 3, 64;", "bar.sync 3, 33;"), ["PR131"]),
    ],
)
@pytest.mark.parametrize("length", ["ld.param.u32 %r6, [length];", BY_PLACE], ids=["argument", "place"])
def test_what_only_longer_or_odd_loops_reach_is_followed(change: tuple[str, str], codes: list[str], length: str):
    result = tileproof.check(LATE.replace(*change).replace("ld.param.u32 %r6, [length];", length))
    (kernel,) = result.files[0].kernels
    assert [one.code for one in result.diagnostics] == codes
    assert (kernel.executed, kernel.reasons) == (kernel.steps, ())


@pytest.mark.parametrize(
    ("length", "codes"),
    [("ld.param.u32 %r6, [length];", ["PR190", "PR130"]), (BY_PLACE, ["PR190", "PR130"])],
    ids=["argument", "place"],
)
def test_a_warp_that_is_missing_in_later_turns_is_not_silent(length: str, codes: list[str]):
    """It is an error where runs of several lengths come so far: those of CTAs late in the grid do."""
    text = LATE.replace("@%p3 bra READ;\n", "@%p3 bra EARLY;\n")
    result = tileproof.check(text.replace("ld.param.u32 %r6, [length];", length))
    (kernel,) = result.files[0].kernels
    assert [one.code for one in result.diagnostics] == codes
    assert kernel.executed < kernel.steps


STORED = """
  @%p3 bra NEVER;
  st.shared.b32 [%r2+512], {};
  ld.shared.b32 %r13, [%r2+512];
  setp.ne.s32 %p8, %r13, 1000;
  @%p8 bra NEVER;
  cp.async.wait_group 0;
NEVER:"""


@pytest.mark.parametrize(
    ("lines", "never"),
    [
        ("\n  setp.ne.s32 %p8, %r3, 7;\n  @%p8 bra NEVER;\n  bar.sync 4, 64;\nNEVER:", True),
        ("\n  setp.ne.s32 %p8, %r9, 1000;\n  @%p8 bra NEVER;\n  bar.sync 4, 64;\nNEVER:", False),
        (STORED.format("%r3"), True),
        (STORED.format("%r9"), False),
    ],
    ids=["warp", "counter", "stored warp", "stored counter"],
)
def test_a_step_of_a_loop_is_never_executed_only_where_no_counter_decides_it(lines: str, never: bool):
    (kernel,) = (
        tileproof.check(LATE.replace("[%r2], %r9", "[%r2], %r3").replace("EARLY:", "EARLY:" + lines)).files[0].kernels
    )
    assert [reason.case for reason in kernel.reasons] == ([] if never else ["not_executed"])


@pytest.mark.parametrize(("beside", "never"), [(0, True), (508, True), (512, False), (514, False)])
def test_what_is_stored_in_other_bytes_decides_nothing(beside: int, never: bool):
    text = LATE.replace("[%r2], %r9", f"[%r2+{beside}], %r9").replace(
        "ld.shared.b32 %r11, [%r2]", f"ld.shared.b32 %r11, [%r2+{beside}]"
    )
    (kernel,) = tileproof.check(text.replace("EARLY:", "EARLY:" + STORED.format("%r3"))).files[0].kernels
    assert [reason.case for reason in kernel.reasons if reason.case != "unconfirmed"] == (
        [] if never else ["not_executed"]
    )


# How long a sequence is says the difference of two integers in memory; the loop computes it in each turn.
SEQUENCE = (
    HEAD
    + """.visible .entry sequence(.param .u64 starts)
.reqntid 64, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  shr.u32 %r3, %r1, 5;
  ld.param.u64 %rd1, [starts];
  cvta.to.global.u64 %rd2, %rd1;
  ld.global.nc.b64 %rd3, [%rd2];
  ld.global.nc.b64 %rd4, [%rd2+8];
  cvt.u32.u64 %r4, %rd3;
  cvt.u32.u64 %r5, %rd4;
  sub.s32 %r6, %r5, %r4;
  setp.lt.s32 %p1, %r6, 1;
  @%p1 bra END;
  mov.b32 %r9, 0;
AGAIN:
  setp.lt.u32 %p2, %r9, 3;
  @%p2 bra EARLY;
  bar.sync 1, 64;
EARLY:
  bar.sync 2, 64;
  add.s32 %r9, %r9, 1;
  cvt.u32.u64 %r7, %rd3;
  cvt.u32.u64 %r8, %rd4;
  sub.s32 %r10, %r8, %r7;
  add.s32 %r11, %r10, 15;
  shr.u32 %r12, %r11, 4;
  setp.ne.b32 %p4, %r9, %r12;
  @%p4 bra AGAIN;
END:
  cp.async.commit_group;
  cp.async.wait_group 0;
  ret;
}
"""
)


@pytest.mark.parametrize("change", [("", ""), ("bar.sync 1, 64;", "bar.sync 1, 96;"), ("%r9, 3;", "%r9, 1000;")])
def test_what_a_later_turn_of_a_loop_reaches_whose_length_is_loaded_is_followed(change: tuple[str, str]):
    result = tileproof.check(SEQUENCE.replace(*change))
    (kernel,) = result.files[0].kernels
    if change[0]:
        assert kernel.reasons or result.diagnostics
    else:
        assert (kernel.executed, kernel.reasons, result.diagnostics) == (kernel.steps, (), ())


# One thread stores a tile from shared memory, and waits before the tile is written again.
STORES = (
    HEAD
    + """.visible .entry stores(.param .u64 to)
.reqntid 64, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 4;
  mov.b32 %r3, smem;
  add.s32 %r4, %r3, %r2;
  mov.b32 %r7, 0;
  setp.ne.s32 %p1, %r1, 0;
AGAIN:
  st.shared.v4.u32 [%r4], {%r1, %r1, %r1, %r1};
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p1 bra OTHERS;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 1024;
  cp.async.bulk.commit_group;
OTHERS:
  @%p1 bra WAITED;
  cp.async.bulk.wait_group.read 0;
WAITED:
  bar.sync 0;
  add.s32 %r7, %r7, 1;
  setp.ne.s32 %p3, %r7, 6;
  @%p3 bra AGAIN;
  ret;
}
"""
)


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        (("", ""), set()),
        (("OTHERS:\n  @%p1 bra WAITED;", "OTHERS:"), set()),  # all threads wait, the one among them
        (("OTHERS:\n  @%p1 bra WAITED;", "OTHERS:\n  @!%p1 bra WAITED;"), {"PR112"}),
        (("%r7, 6;", "%r7, 1;"), set()),
        (("OTHERS:\n  @%p1 bra WAITED;", "OTHERS:\n  @!%p1 bra WAITED;", "%r7, 6;", "%r7, 1;"), {"PR107"}),
    ],
)
def test_a_wait_for_bulk_stores_is_one_of_the_threads_that_issued_them(change: tuple[str, ...], codes: set[str]):
    text = STORES
    for old, new in zip(change[::2], change[1::2], strict=True):
        text = text.replace(old, new)
    result = tileproof.check(text)
    (kernel,) = result.files[0].kernels
    assert {one.code for one in result.diagnostics if one.code != "PR190"} == codes
    assert codes == {"PR112"} or kernel.reasons == ()


@pytest.mark.parametrize(("count", "codes"), [(192, {"PR131"}), (160, set())])
def test_a_number_that_is_wrong_for_the_hardware_is_found_where_one_cta_alone_goes(count: int, codes: set[str]):
    text = RELEASED.read_text().split("\n")
    text[27] += (
        f"\n  mov.u32 %r29, %ctaid.x;\n  setp.ne.s32 %p8, %r29, 5;\n  @%p8 bra SKIP;\n  bar.sync 3, {count};\nSKIP:"
    )
    found = tileproof.check("\n".join(text)).diagnostics
    assert {one.code for one in found if one.code != "PR190"} == codes


_FILLING, _READING = "  mov.b32 %r7, 1;", "CONSUMER:\n  mov.b32 %r7, 0;"


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({}, set()),
        ({_FILLING: "bar.sync 2, 64;", _READING: "bar.sync 2, 33;"}, {"PR131"}),
        pytest.param({_FILLING: "bar.sync 2, 64;", _READING: "bar.sync 2, 64;"}, set(), marks=pytest.mark.sweep),
        pytest.param({_FILLING: "bar.arrive 2, 64;", _READING: "bar.sync 2, 64;"}, set(), marks=pytest.mark.sweep),
        ({_FILLING: "bar.arrive 2, 64;", _READING: "bar.sync 2, 32;"}, {"PR133"}),
    ],
)
def test_a_wrong_number_is_found_where_loops_of_other_lengths_hang(changes: dict[str, str], codes: set[str]):
    text = (PTX / "persistent_ring.ptx").read_text()
    for place, line in changes.items():
        assert text.count(place) == 1
        text = text.replace(place, f"{place}\n  {line}")
    assert found(text) == codes


def test_a_hang_that_only_one_cta_for_all_tiles_shows_is_not_passed_over():
    """The producer waits for no release: with few tiles for each CTA it does not come around its ring."""
    text = (PTX / "persistent_ring.ptx").read_text()
    wait = "  mbarrier.try_wait.parity.shared::cta.b64 done, [%r11+16], %r7;\n"
    assert text.count(wait) == 1
    (kernel,) = tileproof.check(text.replace(wait, "  setp.eq.u32 done, 0, 0;\n")).files[0].kernels
    assert [reason.case for reason in kernel.reasons] == ["loop_turns"]


@pytest.mark.parametrize(
    ("step", "code"), [("tcgen05.alloc", "PR157"), ("tcgen05.dealloc", "PR154"), ("tcgen05.wait::ld", None)]
)
def test_tensor_memory_that_is_allocated_or_freed_twice(step: str, code: str | None):
    lines = FREED.read_text().splitlines()
    text = "\n".join(f"{line}\n{line}" if line.strip().startswith(f"{step}.") else line for line in lines)
    assert found(text) == {code} - {None}


# Four warps write a tile in each turn, one row a thread, and the first one stores it.
TILES = (
    HEAD
    + """.visible .entry tiles(.param .align 64 .b8 map[128], .param .u32 tiles)
.reqntid 128, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<19>; .reg .b64 %rd<3>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  shl.b32 %r3, %r1, 4;
  add.s32 %r4, %r2, %r3;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  ld.param.u32 %r5, [tiles];
  shr.u32 %r5, %r5, 7;
  mov.b32 %r6, 0;
  shr.u32 %r8, %r1, 5;
  shfl.sync.idx.b32 %r9, %r8, 0, 31, -1;
  setp.ne.s32 %p1, %r9, 0;
TILE:
  st.shared.v4.b32 [%r4], {%r1, %r1, %r1, %r1};
  fence.proxy.async.shared::cta;
  bar.sync 1, 128;
  @%p1 bra STORED;
  elect.sync _|%p3, -1;
  @!%p3 bra LEFT;
  cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {%r1, %r1}], [%r2];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
LEFT:
  bar.warp.sync -1;
STORED:
  bar.sync 2, 128;
  add.s32 %r6, %r6, 1;
  setp.lt.s32 %p2, %r6, %r5;
  @%p2 bra TILE;
  ret;
}
"""
)
# Threads write beside the tile, another instruction, what no store reads.
BESIDE = ("  fence.proxy.async", "  st.shared.b32 [%r4+2048], %r1;\n  fence.proxy.async")


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ([], set()),
        ([("  bar.sync 2, 128;\n", "")], {"PR112"}),
        ([("  bar.sync 1, 128;\n", "")], {"PR111"}),
        ([BESIDE], set()),
        ([BESIDE, ("LEFT:", "LEFT:\n  st.shared.b32 [%r4+2048], %r1;")], set()),
    ],
)
def test_a_store_reads_the_tile_that_was_written(changes: list[tuple[str, str]], codes: set[str]):
    """The host made the tensor map: how large its box is the text does not say."""
    text = TILES
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    assert found(text) == codes


def test_tensor_memory_that_a_warp_frees_which_is_not_there():
    text = FREED.read_text()
    free = "  @%p1 bra END;\n  tcgen05.fence::after_thread_sync;\n  tcgen05.dealloc"
    assert free in text
    assert found(text.replace(free, f"  setp.ne.s32 %p1, %r4, 7;\n{free}")) == {"PR157"}


@pytest.mark.parametrize("condition", ["  setp.ge.s32 %p8, %r5, %r29;\n  @%p8 bra END;\n", ""])
def test_a_loop_that_no_run_goes_around_is_no_reason_for_a_hang(condition: str):
    """A run supposes both limits to be equal, so that the consumers have next to nothing to do; the caller may not."""
    enter = f"CONSUMER:\n  ld.param.u32 %r5, [first];\n  ld.param.u32 %r29, [limit];\n{condition}READ:\n"
    text = RING.replace(".u32 tiles)", ".u32 tiles, .param .u32 first, .param .u32 limit)")
    text = text.replace("CONSUMER:\n", enter).replace("@%p7 bra CONSUMER", "@%p7 bra READ")
    text = text.replace("%p7, %r5, %r4;\n  @%p7 bra READ", "%p7, %r5, %r29;\n  @%p7 bra READ")
    result = tileproof.check(text)
    assert [one.code for one in result.diagnostics] == ["PR190"]
    assert "loop_turns" in {one.case for one in result.files[0].kernels[0].reasons}
    # Where they count to the limit of the producer, the same hang is one.
    agreed = text.replace("[first]", "[tiles]").replace("[limit]", "[tiles]").replace(condition, "")
    agreed = agreed.replace("ld.param.u32 %r5, [tiles];", "mov.b32 %r5, 0;")
    silent = agreed.replace("  mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n", "")
    assert [one.code for one in tileproof.check(agreed).diagnostics] == []
    assert [one.code for one in tileproof.check(silent).diagnostics if one.severity.value == "error"] == ["PR126"]


# Nothing is before the wait at which the loop of the second warp begins: of both loops one block is the head. How often
# they go round says an integer that the first warp loads for both.
BEGINS = (
    HEAD
    + """.visible .entry begins(.param .u64 work)
.reqntid 64, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  add.s32 %r3, %r2, 8;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra MADE;
  mbarrier.init.shared::cta.b64 [%r2], 32;
  mbarrier.init.shared::cta.b64 [%r3], 32;
  ld.param.u64 %rd1, [work];
  cvta.to.global.u64 %rd2, %rd1;
  atom.relaxed.gpu.global.add.u32 %r4, [%rd2], 1;
  st.shared.b32 [%r2+64], %r4;
MADE:
  bar.sync 0;
  ld.shared.b32 %r5, [%r2+64];
  add.s32 %r6, %r5, 2;
  mov.b32 %r7, 0;
  mov.b32 %r8, 0;
  shr.u32 %r9, %r1, 5;
  setp.ne.s32 %p2, %r9, 0;
  @%p2 bra SECOND;
FIRST:
  mbarrier.arrive.shared::cta.b64 _, [%r2];
AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3], %r8;
  @%p3 bra OVER;
  bra.uni AGAIN;
OVER:
  xor.b32 %r8, %r8, 1;
  add.s32 %r7, %r7, 1;
  setp.ne.s32 %p4, %r7, %r6;
  @%p4 bra FIRST;
  bra.uni END;
SECOND:
  mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r2], %r8;
  @%p5 bra PASSED;
  bra.uni SECOND;
PASSED:
  xor.b32 %r8, %r8, 1;
  mbarrier.arrive.shared::cta.b64 _, [%r3];
  add.s32 %r7, %r7, 1;
  setp.ne.s32 %p6, %r7, %r6;
  @%p6 bra SECOND;
END:
  cp.async.commit_group;
  cp.async.wait_group 0;
  ret;
}
"""
)


def test_a_loop_that_begins_with_a_wait_is_followed():
    result = tileproof.check(BEGINS)
    (kernel,) = result.files[0].kernels
    assert (kernel.executed, kernel.reasons, result.diagnostics) == (kernel.steps, (), ())


@pytest.mark.parametrize("change", [("[%r2], 32;", "[%r2], 33;"), ("PASSED:\n  xor.b32 %r8, %r8, 1;", "PASSED:")])
def test_a_hang_in_a_loop_that_begins_with_a_wait_is_found(change: tuple[str, str]):
    assert found(BEGINS.replace(*change)) & {"PR125", "PR126"}


# The first lane of each warp copies to a barrier of its warp: one instruction that threads of both execute together.
EACH = (
    HEAD
    + """.visible .entry each(.param .u64 from)
.reqntid 64, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.b32 %r7, 0;
  shr.u32 %r3, %r1, 5;
  and.b32 %r4, %r1, 31;
  shl.b32 %r5, %r3, 3;
  add.s32 %r5, %r5, %r2;
  shl.b32 %r6, %r3, 10;
  add.s32 %r6, %r6, %r2;
  ld.param.u64 %rd1, [from];
  setp.ne.s32 %p1, %r4, 0;
  @%p1 bra MADE;
  mbarrier.init.shared::cta.b64 [%r5+4096], 1;
MADE:
  fence.mbarrier_init.release.cluster;
  bar.sync 0;
  @%p1 bra COPIED;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5+4096], 1024;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r6], [%rd1], 1024, [%r5+4096];
COPIED:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5+4096], %r7;
  @%p2 bra OVER;
  bra.uni COPIED;
OVER:
  ld.shared.b32 %r8, [%r6];
  ret;
}
"""
)


def test_each_warp_may_copy_to_a_barrier_of_its_own():
    result = tileproof.check(EACH)
    (kernel,) = result.files[0].kernels
    assert (kernel.executed, kernel.reasons, result.diagnostics) == (kernel.steps, (), ())


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("], 1024;\n  cp", "], 2048;\n  cp"), ("1024, [%r5+4096]", "1024, [%r2+4096]"), ("+4096], 1;", "+4096], 2;")],
)
def test_a_copy_to_the_barrier_of_another_warp_is_found(right: str, wrong: str):
    assert found(EACH.replace(right, wrong)) & {"PR124", "PR125", "PR126"}


ALONE = "  ld.global.nc.b32 %r6, [%rd3+4];"
VECTOR = "  ld.global.nc.v2.b32 {%r10, %r6}, [%rd3];"
VOTED = """
  mov.b32 %r6, 1;
  setp.ne.s32 %p7, %r9, 100;
  vote.sync.ballot.b32 %r11, %p7, -1;
  setp.eq.b32 %p8, %r11, 0;
  @%p8 bra NONE;
  ld.global.nc.b32 %r6, [%rd3+4];
NONE:"""  # whether there is any is in a word that the warp collects


@pytest.mark.parametrize("load", [ALONE, VECTOR, VOTED], ids=["alone", "vector", "voted"])
def test_roles_agree_on_an_integer_that_each_loads_in_its_way(load: str):
    text = BEGINS.replace(
        "  ld.shared.b32 %r5, [%r2+64];\n  add.s32 %r6, %r5, 2;",
        "  ld.param.u64 %rd1, [work];\n  cvta.to.global.u64 %rd3, %rd1;",
    )
    text = text.replace("@%p2 bra SECOND;\n", f"@%p2 bra ENTER;\n{load}\n")
    text = text.replace("  bra.uni END;\n", f"  bra.uni END;\nENTER:\n{ALONE}\n")
    (kernel,) = tileproof.check(text).files[0].kernels
    assert (kernel.executed, [one.case for one in kernel.reasons], found(text)) == (kernel.steps, [], set())
    wrong = text.replace("%r7, 1;\n  setp.ne.s32 %p6", "%r7, 2;\n  setp.ne.s32 %p6")
    assert found(wrong) == {"PR126"}


CUT = "  and.b32 %r25, %r24, 16383;\n"
HOLES = "  and.b32 %r25, %r24, 16336;\n"  # what an alignment says is zero is not kept
BY_WARPGROUP = "  shr.u32 %r29, %r1, 7;\n  shl.b32 %r29, %r29, 8;\n  add.s32 %r25, %r24, %r29;\n"
OTHER_FIELD = """  and.b32 %r25, %r24, 16320;
  shl.b32 %r29, %r23, 12;
  and.b32 %r29, %r29, 1069547520;
  or.b32 %r25, %r25, %r29;
"""
# Each lane has the descriptor of a stage, as far as there are any, and all take that of one lane (DeepGEMM).
BY_LANE = """  and.b32 %r25, %r24, 16383;
  and.b32 %r29, %r1, 31;
  setp.lt.u32 %p8, %r29, 4;
  shl.b32 %r29, %r29, 10;
  add.s32 %r29, %r29, %r25;
  selp.b32 %r29, %r29, 0, %p8;
  shfl.sync.idx.b32 %r25, %r29, 0, 31, -1;
"""


@pytest.mark.parametrize(
    "made",
    [
        HOLES,
        BY_LANE,
        pytest.param(BY_WARPGROUP, marks=pytest.mark.sweep),
        pytest.param(OTHER_FIELD, marks=pytest.mark.sweep),
    ],
    ids=["holes", "by lane", "by warpgroup", "other field"],
)
def test_the_address_in_a_descriptor_is_followed_however_it_is_made(made: str):
    right = RELEASED.read_text().replace(CUT, made)
    assert right.count(made) == 1
    (kernel,) = tileproof.check(right).files[0].kernels
    assert (kernel.executed, kernel.reasons) == (kernel.steps, ())
    assert found(right) == set()
    assert found(right.replace("  wgmma.wait_group.sync.aligned 0;\n  mbarrier", "  mbarrier")) & {"PR112"}


@pytest.mark.parametrize("row", [64, 128, 256, 1024])
def test_rows_of_any_length_are_swizzled_by_bits_of_their_address(row: int):
    """Eight rows follow each other in bits of the address that lie below what the allocation is aligned to."""
    plain = "  shl.b32 %r3, %r1, 2;\n  add.s32 %r4, %r2, %r3;\n"
    swizzled = f"""  shl.b32 %r3, %r1, 4;
  add.s32 %r4, %r2, %r3;
  shr.u32 %r5, %r4, {row.bit_length() - 5};
  and.b32 %r5, %r5, 112;
  xor.b32 %r4, %r4, %r5;
"""
    assert EXCHANGE.count(plain) == EXCHANGE.count("%r3, 256;") == 1
    text = EXCHANGE.replace(plain, swizzled).replace("%r3, 256;", "%r3, 512;")  # what another warp writes
    (kernel,) = tileproof.check(text).files[0].kernels
    assert kernel.reasons == ()
    assert found(text) == set()
    assert found(text.replace("  bar.sync 0;\n", "")) == {"PR116"}


def test_a_swizzle_may_be_put_together_from_bits_of_the_address_and_of_the_thread():
    swizzled = """  shl.b32 %r3, %r1, 4;
  add.s32 %r4, %r2, %r3;
  shr.u32 %r5, %r4, 3;
  xor.b32 %r5, %r5, %r3;
  and.b32 %r5, %r5, 112;
  add.s32 %r4, %r4, %r5;
"""
    plain = "  shl.b32 %r3, %r1, 2;\n  add.s32 %r4, %r2, %r3;\n"
    assert EXCHANGE.count(plain) == 1
    text = EXCHANGE.replace(plain, swizzled)
    (kernel,) = tileproof.check(text).files[0].kernels
    assert kernel.reasons == ()
    assert found(text) == set()
    assert found(text.replace("  bar.sync 0;\n", "")) == {"PR116"}


def test_what_reads_memory_that_is_not_known_is_not_verified():
    text = RELEASED.read_text()
    for old, new in (
        (".param .u32 tiles)", ".param .u32 tiles, .param .u64 where)"),
        (CUT, "  ld.param.u64 %rd4, [where];\n"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    text = text.replace("  cvt.u64.u32 %rd3, %r25;\n  or.b64 %rd4, %rd3, 0x4000004000010000;\n", "")
    (kernel,) = tileproof.check(text).files[0].kernels
    (reason,) = kernel.reasons
    assert reason.case == "accessed_steps"
    assert reason.message.startswith("accesses from here on whose address is not known: 1;")


@pytest.mark.parametrize(
    "line",
    [
        *("ld.global.nc %r26, [%rd2];", "ld.global.b %r26, [%rd2];", "ld.global.b32x %r26, [%rd2];"),
        *("ld.param.u %r26, [tiles];", "shr.u32 %r26, %r23, -1;"),
        *("shl.b32 %r26, %r23, 2147483647;", "bfe.u32 %r26, %r23, 2147483647, 3;", "bfe.u32 %r26, %r23, 3, -1;"),
    ],
)
def test_an_instruction_that_makes_no_sense_leaves_its_result_unknown(line: str):
    """The loop depends on it, so that the verdict is open; nothing else happens."""
    text = RING.replace("  ld.shared.b32 %r26, [%r25];", f"  {line}\n  add.s32 %r5, %r5, %r26;")
    text = text.replace("ld.param.u32 %r4, [tiles];", "mov.b32 %r4, 12;")
    assert line in text
    assert "PR190" in {one.code for one in tileproof.check(text).diagnostics}


# Whether the consumer arrives a second time, and how many arrivals are counted, is said by a number that is no integer.
SCALED = (
    RING.replace(".param .u32 tiles)", ".param .u32 tiles, .param .u64 scale)")
    .replace(
        "  mov.b64 %rd1, map;\n",
        "  LOAD\n  setp.eq.f32 %p8, %r17, 0f00000000;\n  selp.b32 %r18, 32, 64, %p8;\n  mov.b64 %rd1, map;\n",
    )
    .replace("[%r3+16], 32;", "[%r3+16], %r18;")
    .replace("[%r3+24], 32;", "[%r3+24], %r18;")
    .replace("  add.s32 %r27", "  @!%p8 mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n  add.s32 %r27")
)
SCALES = {
    "parameter": "ld.param.b32 %r17, [scale];",
    "memory": "ld.param.u64 %rd3, [scale];\n  cvta.to.global.u64 %rd3, %rd3;\n  ld.global.b32 %r17, [%rd3];",
}


@pytest.mark.parametrize("load", SCALES)
def test_roles_agree_on_a_number_that_each_compares(load: str):
    text = SCALED.replace("LOAD", SCALES[load])
    (kernel,) = tileproof.check(text).files[0].kernels
    assert (kernel.executed, kernel.reasons, found(text)) == (kernel.steps, (), set())
    assert found(text.replace("selp.b32 %r18, 32, 64", "selp.b32 %r18, 64, 32")) == {"PR126"}
    assert found(text.replace("@!%p8 mbarrier", "@%p8 mbarrier")) == {"PR125"}


def test_a_hazard_stands_where_what_is_loaded_leaves_nothing_out():
    text = SCALED.replace("LOAD", SCALES["memory"])
    arrives = "  mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n"
    second = "  @!%p8 mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n"
    early = (
        text.replace(second, "").replace(arrives, "").replace("  ld.shared.b32", f"{arrives}{second}  ld.shared.b32")
    )
    assert early.count(arrives) == early.count(second) == 1
    assert found(early) == {"PR112"}


# The lower half of a warp arrives, at an address that only these lanes have.
GUARDED = (
    RING.replace(".reqntid 64, 1, 1", ".reqntid 64, 1, 1\n.reqnctapercluster 1, 1, 1")
    .replace("], 32;", "], 16;")
    .replace(
        "  mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n",
        """  {
  .reg .pred half; .reg .b32 at, lane, remote;
  and.b32 lane, %r1, 31;
  setp.lt.u32 half, lane, 16;
  add.s32 at, %r21, 16;
  @half mapa.shared::cluster.u32 remote, at, 0;
  @half mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];
  }
""",
    )
)


def test_an_address_that_is_computed_under_a_guard_is_that_of_an_arrival_under_it():
    (kernel,) = tileproof.check(GUARDED).files[0].kernels
    assert (kernel.executed, kernel.reasons, found(GUARDED)) == (kernel.steps, (), set())
    assert found(GUARDED.replace("lane, 16;", "lane, 15;")) == {"PR125"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@half mbarrier", "mbarrier"),
        ("  @half mbarrier", "  setp.lt.u32 half, lane, 20;\n  @half mbarrier"),
        ("@half mbarrier", "@!half mbarrier"),
    ],
    ids=["no guard", "another predicate", "the contrary"],
)
def test_an_address_that_is_computed_under_another_guard_is_not_known(old: str, new: str):
    (kernel,) = tileproof.check(GUARDED.replace(old, new)).files[0].kernels
    assert "barrier_address" in {reason.case for reason in kernel.reasons}


# All threads go on as long as the hardware has more work for them.
ANSWERED = (
    HEAD.replace("sm_90a", "sm_100a")
    + """.visible .entry answered()
.reqntid 64, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.b32 %r3, 0;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r2+64], 1;
  mbarrier.init.shared::cta.b64 [%r2+72], 64;
  fence.mbarrier_init.release.cluster;
READY:
  bar.sync 0;
MORE:
  xor.b32 %r4, %r3, 1;
  @%p1 bra ASKED;
  {
  .reg .pred done;
  AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 done, [%r2+72], %r4;
  @done bra OVER;
  bra AGAIN;
  OVER:
  }
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+64], 16;
  clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r2], [%r2+64];
ASKED:
  {
  .reg .pred done;
  AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 done, [%r2+64], %r3;
  @done bra OVER;
  bra AGAIN;
  OVER:
  }
  {
  .reg .pred more; .reg .b128 answer;
  ld.shared.b128 answer, [%r2];
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 more, answer;
  selp.u32 %r5, 1, 0, more;
  }
  fence.proxy.async.shared::cta;
  mbarrier.arrive.shared::cta.b64 _, [%r2+72];
  mov.b32 %r3, %r4;
  setp.eq.b32 %p2, %r5, 1;
  @%p2 bra MORE;
  ret;
}
"""
)


def test_threads_that_read_one_answer_go_the_same_way():
    (kernel,) = tileproof.check(ANSWERED).files[0].kernels
    assert (kernel.executed, kernel.reasons, found(ANSWERED)) == (kernel.steps, (), set())
    assert found(ANSWERED.replace("[%r2+72], 64;", "[%r2+72], 65;")) == {"PR125"}
    assert found(ANSWERED.replace("  mbarrier.arrive.shared::cta.b64 _, [%r2+72];\n", "")) == {"PR126"}


def test_an_answer_is_one_for_all_however_it_is_loaded():
    """As two words of 64 bits, and in a role that asks once more before it leaves."""
    words = ANSWERED.replace(
        "ld.shared.b128 answer, [%r2];", "ld.shared.v2.b64 {%rd1, %rd2}, [%r2];\n  mov.b128 answer, {%rd1, %rd2};"
    )
    text = words.replace(".reg .b32 %r<9>;", ".reg .b32 %r<9>; .reg .b64 %rd<3>;")
    (kernel,) = tileproof.check(text).files[0].kernels
    assert (kernel.executed, kernel.reasons, found(text)) == (kernel.steps, (), set())
    assert found(text.replace("[%r2+72], 64;", "[%r2+72], 65;")) == {"PR125"}


def test_a_copy_is_issued_by_as_many_threads_as_expect_its_bytes():
    """All lanes of the warp run the loop, and one is elected for each operation, as Triton writes it."""
    lanes = RING.replace("  @!%p3 bra END;\n", "").replace("  mbarrier.arrive.expect", "  @%p3 mbarrier.arrive.expect")
    elected = lanes.replace("  cp.async.bulk", "  @%p3 cp.async.bulk")
    (kernel,) = tileproof.check(elected).files[0].kernels
    assert (kernel.executed, kernel.reasons, found(elected)) == (kernel.steps, (), set())
    assert found(lanes) == {"PR185"}
    assert "PR185" not in found(lanes.replace("  @%p3 mbarrier.arrive.expect", "  mbarrier.arrive.expect"))
    own = "  and.b32 %r28, %r1, 31;\n  shl.b32 %r28, %r28, 7;\n  add.s32 %r14, %r14, %r28;\n"  # a row for each lane
    assert found(lanes.replace("  cp.async.bulk", f"{own}  cp.async.bulk")) == set()


@pytest.mark.parametrize(
    ("place", "what", "why", "hint"),
    [
        (
            "[%r29], %r7",
            "  xor.b32 %r29, %r20, 8;\n  add.s32 %r29, %r3, %r29;\n",
            "asks another barrier",
            "try the barrier",
        ),
        ("[%r21], %r29", "  xor.b32 %r29, %r7, 1;\n", "asks for another parity", "try the parity"),
    ],
)
def test_a_try_wait_for_another_phase_than_the_wait_behind_it(place, what, why, hint):
    """It succeeds once that one is there, and the wait is skipped: the finding is at the try_wait."""
    wait = "  {\n  .reg .pred done;\n  AGAIN:\n  mbarrier.try_wait.parity.shared::cta.b64 done, [%r21], %r7;"
    over = "  OVER:\n  }\n  shl.b32 %r22"
    assert RING.count(wait) == RING.count(over) == 1
    tried = "  mbarrier.try_wait.parity.shared::cta.b64 %p8, [%r21], %r7;\n  @%p8 bra THERE;\n"
    text = RING.replace(wait, tried + wait).replace(over, over.replace("  shl", "THERE:\n  shl"))
    (kernel,) = tileproof.check(text).files[0].kernels
    assert (kernel.executed, kernel.reasons, found(text)) == (kernel.steps, (), set())
    text = text.replace(tried, what + tried.replace("[%r21], %r7", place))
    (fault,) = tileproof.check(text).diagnostics
    assert (fault.code, fault.hint.startswith(hint), why in fault.message) == ("PR111", True, True)
    assert text[fault.span.start :].split("\n")[0].endswith(f" %p8, {place};")
    assert [text[one.span.start :].split(" ")[0].split(".")[0] for one in fault.related] == ["ld", "cp"]


def test_a_copy_by_all_threads_is_found_on_a_barrier_that_is_invalidated():
    (copy,) = re.findall(r"  cp\.async\.bulk.*\n", _AGAIN)
    text = re.sub(r"BYTES\d", "4096", AGAIN)
    (line,) = set(re.findall(r"  cp\.async\.bulk.*\n", text))
    assert found(text) == set() and copy.format() == line
    by_all = text.replace(line, "", 1).replace("WAIT0:\n  bar.sync 0;\n", f"WAIT0:\n  bar.sync 0;\n{line}")
    assert found(by_all) == {"PR185"}


def test_no_warp_is_sent_where_a_store_goes_to_one_of_two_other_places():
    """An integer decides which; neither is that of the numbers by which warps are sent to their work (Triton)."""
    text = (PTX / "dispatcher.ptx").read_text()
    stored = """  ld.param.u32 %r20, [rows];
  mov.b32 %r21, 8192;
  setp.lt.s32 %p9, %r20, 1;
  @%p9 bra PLACED;
  mov.b32 %r23, 0;
ROW:
  ld.shared.b32 %r24, [%r3+64];
  add.s32 %r23, %r23, 128;
  setp.lt.s32 %p10, %r23, %r20;
  @%p10 bra ROW;
  mov.b32 %r21, 8448;
PLACED:
  add.s32 %r22, %r2, %r21;
  st.shared.b32 [%r22], %r20;
"""
    init = "  mbarrier.init.shared::cta.b64 [%r3], 1;\n"
    assert text.count(init) == 1
    text = text.replace("map[128])", "map[128], .param .u32 rows)").replace(init, init + stored)
    (kernel,) = tileproof.check(text).files[0].kernels
    assert (kernel.executed, kernel.reasons, found(text)) == (kernel.steps, (), set())
    (kernel,) = tileproof.check(text.replace("%r21, 8448;", "%r21, 4112;")).files[0].kernels
    assert kernel.reasons  # it is the place of the numbers


# Warps share out the rows of a tile, of which the first one has one more (FlashKDA's chunks).
SHARED_OUT = (
    HEAD
    + """.visible .entry shared_out(.param .align 64 .b8 map[128])
.reqntid 64, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<16>; .reg .b64 %rd<3>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  mov.b32 %r3, 0;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r2+4096], 1;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+4096], 640;
  cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r2], [%rd2, {%r3, %r3}], [%r2+4096];
READY:
  bar.sync 0;
FILLED:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2+4096], 0;
  @!%p2 bra FILLED;
  and.b32 %r4, %r1, 31;
  shr.u32 %r5, %r1, 5;
  shr.u32 %r7, 8, %r5;
  mov.b32 %r8, %r5;
ROW:
  shl.b32 %r9, %r8, 7;
  shl.b32 %r10, %r4, 2;
  add.s32 %r11, %r2, %r9;
  add.s32 %r12, %r11, %r10;
  ld.shared.b32 %r13, [%r12];
  add.s32 %r13, %r13, 1;
  st.shared.b32 [%r12], %r13;
  add.s32 %r8, %r8, 2;
  shr.u32 %r7, %r7, 1;
  setp.ne.s32 %p3, %r7, 1;
  @%p3 bra ROW;
  shl.b32 %r14, %r8, 7;
  add.s32 %r15, %r2, %r14;
  st.shared.b32 [%r15+8192], %r4;
  bar.sync 0;
  ret;
}
"""
)


def test_what_warps_have_that_go_on_in_a_loop_others_leave_is_theirs():
    (kernel,) = tileproof.check(SHARED_OUT).files[0].kernels
    assert (kernel.executed, kernel.reasons, found(SHARED_OUT)) == (kernel.steps, (), set())
    # The last row of the first warp is the one of the other warp.
    assert found(SHARED_OUT.replace("add.s32 %r8, %r8, 2;", "add.s32 %r8, %r8, 1;")) == {"PR116"}


# A warp asks for work, another one does it in the loop of a dispatcher: in a loop by an integer that may be short.
DISPATCHED = (
    HEAD.replace("sm_90a", "sm_100a")
    + """.visible .entry dispatched(.param .u32 rows)
.reqntid 64, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<12>; .reg .b128 %rq<3>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.b32 %r3, 0;
  ld.param.u32 %r4, [rows];
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r2+64], 1;
  mbarrier.init.shared::cta.b64 [%r2+72], 32;
READY:
  bar.sync 0;
  setp.gt.u32 %p2, %r1, 31;
  @%p2 bra DISPATCH;
ASK:
  xor.b32 %r5, %r3, 1;
FREE:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2+72], %r5;
  @!%p3 bra FREE;
  bar.warp.sync -1;
  @!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+64], 16;
  @!%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r2], [%r2+64];
ANSWER:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2+64], %r3;
  @!%p3 bra ANSWER;
  ld.shared.b128 %rq1, [%r2];
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p4, %rq1;
  fence.proxy.async.shared::cta;
  mov.b32 %r3, %r5;
  @%p4 bra ASK;
  ret;
DISPATCH:
  mov.b32 %r6, 0;
PART:
  add.s32 %r6, %r6, 1;
MORE:
  mov.b32 %r7, 0;
ROW:
  add.s32 %r7, %r7, 128;
  ld.shared.b32 %r8, [%r2+128];
  setp.lt.s32 %p5, %r7, %r4;
  @%p5 bra ROW;
TOLD:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2+64], %r3;
  @!%p3 bra TOLD;
  ld.shared.b128 %rq2, [%r2];
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p6, %rq2;
  fence.proxy.async.shared::cta;
  mbarrier.arrive.shared::cta.b64 _, [%r2+72];
  xor.b32 %r3, %r3, 1;
  @%p6 bra MORE;
  setp.lt.s32 %p7, %r6, 1;
  @%p7 bra PART;
  ret;
}
"""
)


def test_answers_are_as_many_for_a_loop_in_a_loop():
    (kernel,) = tileproof.check(DISPATCHED).files[0].kernels
    assert (kernel.executed, kernel.reasons, found(DISPATCHED)) == (kernel.steps, (), set())
    assert found(DISPATCHED.replace("[%r2+72], 32;", "[%r2+72], 33;")) == {"PR125"}


def test_the_place_of_the_work_of_an_answer_is_one_for_all():
    """One warp goes on where the tile is in the grid, another ends where it is not (Transformer Engine's scheduler)."""
    first = "  @more clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r6, %r7, %r8, _}, answer;\n"
    tested = """  setp.eq.b32 %p2, %r5, 1;
  setp.lt.u32 %p3, %r6, %r9;
  setp.lt.u32 %p4, %r7, %r10;
  and.pred %p5, %p3, %p4;
  and.pred %p2, %p5, %p2;
  setp.ge.u32 %p6, %r1, 32;
  @%p6 bra OTHERS;
  @%p2 bra MORE;
  ret;
OTHERS:
  not.pred %p7, %p2;
  @%p7 bra END;
  bra MORE;
END:
"""
    text = (
        ANSWERED.replace("answered()", "answered(.param .u32 rows, .param .u32 columns)")
        .replace("%r<9>", "%r<12>")
        .replace(
            "  mov.u32 %r1, %tid.x;\n",
            "  ld.param.u32 %r9, [rows];\n  ld.param.u32 %r10, [columns];\n  mov.u32 %r1, %tid.x;\n",
        )
        .replace("  selp.u32 %r5, 1, 0, more;\n", f"  selp.u32 %r5, 1, 0, more;\n{first}")
        .replace("  setp.eq.b32 %p2, %r5, 1;\n  @%p2 bra MORE;\n", tested)
    )
    (kernel,) = tileproof.check(text).files[0].kernels
    assert (kernel.executed, kernel.reasons, found(text)) == (kernel.steps, (), set())
    assert found(text.replace("[%r2+72], 64;", "[%r2+72], 65;")) == {"PR125"}


def test_the_work_of_a_late_cta_is_followed_where_tiles_are_counted_to_a_number():
    text = (
        RING.replace(", .param .u32 tiles)", ")")
        .replace("ld.param.u32 %r4, [tiles];", "mov.b32 %r4, 16000;")
        .replace("  mov.b32 %r5, 0;\n", "  mov.u32 %r5, %ctaid.x;\n")
    )
    (kernel,) = tileproof.check(text).files[0].kernels
    assert (kernel.executed, [one.case for one in kernel.reasons]) == (kernel.steps, ["late_ctas"])
    assert "CTAs from number 15000 " in kernel.reasons[0].message  # a sixteenth of 16000 tiles is left for them
    assert found(text) == set()
    # What is found there stands: the threads that end first store where a stage is filled and read.
    assert found(text.replace("@!%p3 bra END;", "@%p3 bra PRODUCER;\n  st.shared.b32 [%r2], %r1;\n  bra END;")) == {
        "PR112",
        "PR116",
    }


MATRICES = RING.replace("shl.b32 %r24, %r1, 2", "shl.b32 %r24, %r1, 4").replace(
    "ld.shared.b32 %r26, [%r25];", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r26}, [%r25];"
)


def test_matrices_are_read_before_their_memory_is_released():
    (kernel,) = tileproof.check(MATRICES).files[0].kernels
    assert (kernel.executed, kernel.reasons, found(MATRICES)) == (kernel.steps, (), set())
    arrives = "  mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n"
    assert found(MATRICES.replace(arrives, "").replace("  ldmatrix", f"{arrives}  ldmatrix")) == {"PR112"}


def test_only_the_lanes_that_give_the_address_of_a_row_read_it():
    """The ninth lane names the other stage: with one matrix it gives no address, with two it does."""
    moved = "  setp.eq.s32 %p8, %r1, 8;\n  selp.b32 %r24, 4096, %r24, %p8;\n  add.s32 %r25, %r23, %r24;\n"
    one = MATRICES.replace("  add.s32 %r25, %r23, %r24;\n", moved)
    assert moved in one
    assert found(one) == set()
    assert "PR111" in found(one.replace("m8n8.x1.shared.b16 {%r26}", "m8n8.x2.shared.b16 {%r26, %r29}"))


def test_a_copy_whose_bytes_nobody_expects_is_found():
    announced = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], 4096;\n"
    copy = "  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r14], [%rd2, {%r5, %r5}], [%r11];\n"
    text = RING.replace(f"  {announced}", "").replace(copy, f"{copy}  mbarrier.arrive.shared::cta.b64 _, [%r11];\n")
    assert "PR138" in found(text)
    late = RING.replace(f"  {announced}", "").replace(copy, f"{copy}  {announced}")
    assert found(late) == set()


def test_the_bytes_that_a_kernel_gets_are_such_as_copies_can_deliver():
    text = RING.replace(".param .u32 tiles)", ".param .u32 tiles, .param .u32 bytes)")
    text = text.replace("[%r11], 4096;", "[%r11], %r17;").replace(
        "  mov.b64 %rd1", "  ld.param.u32 %r17, [bytes];\n  mov.b64 %rd1"
    )
    (kernel,) = tileproof.check(text).files[0].kernels
    assert (kernel.executed, kernel.reasons, found(text)) == (kernel.steps, (), set())
    assert found(text.replace("  mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n", "")) == {"PR126"}


# Each warp leaves a word in a part of its own; one thread, and its copy, fill what lies between the first two.
BETWEEN = (
    HEAD
    + """.visible .entry between(.param .u64 source)
.reqntid 96, 1, 1
{
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<3>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  ld.param.u64 %rd1, [source];
  shr.u32 %r3, %r1, 5;
  and.b32 %r4, %r1, 31;
  mad.lo.s32 %r5, %r3, 1024, %r2;
  setp.ne.s32 %p1, %r4, 0;
  @%p1 bra LEFT;
  st.shared.b32 [%r5], %r1;
LEFT:
  setp.ne.s32 %p2, %r1, 95;
  @%p2 bra END;
  cp.async.cg.shared.global [%r2+512], [%rd1], 16;
  cp.async.wait_all;
END:
  ret;
}
"""
)


@pytest.mark.parametrize(("place", "codes"), [(512, set()), (1024, {"PR112"})])
def test_what_lies_between_the_places_of_threads_is_not_theirs(place: int, codes: set[str]):
    assert found(BETWEEN.replace("+512", f"+{place}")) == codes


# In the fourth turn and later ones threads exchange a word.
TURNS = SEQUENCE.replace(
    "  bar.sync 1, 64;\n",
    """  shl.b32 %r13, %r1, 2;
  add.s32 %r14, %r2, %r13;
  st.shared.b32 [%r14], %r1;
  bar.sync 1, 64;
  xor.b32 %r15, %r13, 128;
  add.s32 %r16, %r2, %r15;
  ld.shared.b32 %r17, [%r16];
""",
)


@pytest.mark.parametrize(("barrier", "codes"), [("  bar.sync 1, 64;\n", set()), ("", {"PR116"})])
def test_a_hazard_that_only_longer_loops_show_is_found(barrier: str, codes: set[str]):
    text = TURNS.replace("  bar.sync 1, 64;\n", barrier)
    assert found(text) == codes
    (kernel,) = tileproof.check(text).files[0].kernels
    assert (kernel.executed, kernel.reasons) == (kernel.steps, ())


# Two loops, each as long as an integer that the kernel gets: with many elements there is no end of it.
NESTED = (
    EXCHANGE.replace("exchange(.param", "exchange(.param .u32 rows, .param .u32 columns, .param")
    .replace(".reg .b32 %r<9>;", ".reg .b32 %r<12>; .reg .pred %p<3>;")
    .replace("  st.shared", "  ld.param.u32 %r9, [rows];\nROW:\n  ld.param.u32 %r10, [columns];\nCOLUMN:\n  st.shared")
    .replace(
        "  cp.async.commit_group;\n",
        """  bar.sync 1;
  add.s32 %r10, %r10, -1;
  setp.gt.s32 %p2, %r10, 0;
  @%p2 bra COLUMN;
  add.s32 %r9, %r9, -1;
  setp.gt.s32 %p2, %r9, 0;
  @%p2 bra ROW;
  cp.async.commit_group;
""",
    )
)


@pytest.mark.parametrize(
    ("barrier", "codes"), [pytest.param("  bar.sync 0;\n", set(), marks=pytest.mark.sweep), ("", {"PR116"})]
)
def test_what_goes_wrong_in_all_runs_that_come_to_an_end_is_found(barrier: str, codes: set[str]):
    assert found(NESTED.replace("  bar.sync 0;\n", barrier)) == codes


# The first length that is loaded is one by itself; four tiles of it are one turn.
FIRST = SEQUENCE.replace("  sub.s32 %r6, %r5, %r4;\n", "  mov.b32 %r6, %r4;\n").replace(
    "  setp.lt.u32 %p2, %r9, 3;\n",
    "  add.s32 %r18, %r4, 255;\n  shr.u32 %r18, %r18, 8;\n  setp.lt.u32 %p2, %r18, 4;\n",
)


def test_a_length_that_stands_at_the_beginning_of_what_is_loaded_is_long_in_some_run():
    result = tileproof.check(FIRST)
    (kernel,) = result.files[0].kernels
    assert (kernel.executed, kernel.reasons, result.diagnostics) == (kernel.steps, (), ())


# A list of tiles, and of each of them how long it is: with many tiles as long as the sequences no run ends.
LISTED = (
    SEQUENCE.replace("(.param .u64 starts)", "(.param .u64 starts, .param .u64 list)")
    .replace("%r<20>", "%r<24>")
    .replace(
        "  ld.global.nc.b64 %rd3",
        """  ld.param.u64 %rd5, [list];
  cvta.to.global.u64 %rd6, %rd5;
  ld.global.nc.b32 %r20, [%rd6];
  ld.global.nc.b32 %r21, [%rd6+4];
  setp.ge.s32 %p1, %r20, %r21;
  @%p1 bra END;
TILE:
  ld.global.nc.b64 %rd3""",
    )
    .replace("  @%p1 bra END;\n  mov.b32 %r9, 0;", "  @%p1 bra NEXT;\n  mov.b32 %r9, 0;")
    .replace("%r9, 3;", "%r9, 6;")
    .replace(
        "END:\n",
        """NEXT:
  add.s32 %r20, %r20, 1;
  setp.ne.s32 %p5, %r20, %r21;
  @%p5 bra TILE;
END:
""",
    )
)


def test_integers_of_one_word_may_be_nearer_to_each_other_than_longer_ones():
    (near,) = _loaded(8, 8, 0, 1, Extents(2, 2, apart=60, near=2))()
    assert near == 2 + 2 * 60
    assert _loaded(4, 4, 0, 1, Extents(2, 2, apart=60, near=2))() == (4,)
    assert _loaded(4, 4, 0, 1, Extents(2, 2, apart=60))() == (62,)
    assert _loaded(4, 4, 2, 1, Extents(200, 2, apart=60, uneven=-7))() == (200 - 14 + 60 - 14,)


def test_few_tiles_with_much_in_each_are_followed():
    result = tileproof.check(LISTED)
    (kernel,) = result.files[0].kernels
    assert (kernel.executed, kernel.reasons, result.diagnostics) == (kernel.steps, (), ())


def test_a_ring_that_hangs_in_all_long_loops_of_several_integers_is_found():
    two = RING.replace(".param .u32 tiles)", ".param .u32 tiles, .param .u32 most)").replace(
        "ld.param.u32 %r4, [tiles];",
        """ld.param.u32 %r4, [tiles];
  ld.param.u32 %r29, [most];
  min.u32 %r4, %r4, %r29;
  shr.u32 %r4, %r4, 3;
  add.s32 %r4, %r4, 1;""",
    )
    assert found(two) == set()
    assert found(two.replace("  mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n", "")) == {"PR126"}


# Warps of a branch meet again in a block that has more of them; then threads compute by their own number.
MEETING = (
    HEAD
    + """.visible .entry meeting(.param .u64 data)
.reqntid 384, 1, 1
{
  .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  shr.u32 %r3, %r1, 5;
  shfl.sync.idx.b32 %r4, %r3, 0, 31, -1;
  setp.gt.u32 %p1, %r4, 3;
  @%p1 bra REST;
  setp.gt.u32 %p2, %r4, 1;
  mov.b32 %r5, 16;
  @%p2 bra MET;
  mov.b32 %r5, 32;
MET:
  mad.lo.s32 %r6, %r5, %r1, %r1;
  add.s32 %r7, %r2, %r6;
  cp.async.ca.shared.global [%r7], [%rd1], 4;
  cp.async.commit_group;
  cp.async.wait_group 0;
REST:
  bar.sync 0;
  ret;
}
"""
)


def test_what_some_warps_have_is_an_integer_for_each_thread_of_the_block():
    report = tileproof.check(MEETING)
    assert (report.diagnostics, report.files[0].kernels[0].executed) == ((), 4)


# Where there are few rows threads pass by the wait, and write to what the copy may still fill.
PASSING = (
    HEAD
    + """.visible .entry passing(.param .align 64 .b8 map[128], .param .u32 rows)
.reqntid 64, 1, 1
{
  .reg .pred %p<4>; .reg .b32 %r<7>; .reg .b64 %rd<3>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  ld.param.u32 %r4, [rows];
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r2+8192], 1;
  fence.mbarrier_init.release.cluster;
READY:
  bar.sync 0;
  @%p1 bra LOADED;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+8192], 4096;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], 4096, [%r2+8192];
LOADED:
  setp.lt.s32 %p2, %r4, 100000;
  @%p2 bra PASSED;
AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2+8192], 0;
  @!%p3 bra AGAIN;
  ld.shared.b32 %r6, [%r2];
PASSED:
  bar.sync 0;
  shl.b32 %r5, %r1, 4;
  add.s32 %r5, %r2, %r5;
  st.shared.v4.b32 [%r5], {%r1, %r1, %r1, %r1};
  ret;
}
"""
)


def test_a_hazard_that_only_those_have_who_pass_by_their_work_is_no_error():
    report = tileproof.check(PASSING)
    (kernel,) = report.files[0].kernels
    assert [(one.severity.value, one.code) for one in report.diagnostics] == [("warning", "PR117")]
    assert (kernel.reasons, kernel.executed) == ((), kernel.steps)
    wrong = tileproof.check(PASSING.replace("  @!%p3 bra AGAIN;\n", ""))  # nobody waits
    assert {one.code for one in wrong.diagnostics if one.severity.value == "error"} == {"PR112"}


RELEASE = "  mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n"


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("ended", ["", "  bar.sync 4, 64;\n"], ids=["none", "another"])
def test_threads_that_nobody_meets_are_why_others_wait_for_ever(
    ended: str, turned: bool, monkeypatch: pytest.MonkeyPatch
):
    """The producer waits for the release, and comes to no such barrier; in whatever order they are looked at."""

    def deadlocks(machine: Machine, lacking: Set[Awaited] = frozenset()) -> None:
        machine.thread_sets.sort(key=lambda one: one.warps, reverse=turned)
        endings.deadlocks(machine, lacking)

    monkeypatch.setattr(study, "deadlocks", deadlocks)
    monkeypatch.setattr(Study, "causes", lambda study, standing, line, plain: standing)
    text = RING.replace(RELEASE, f"  bar.sync 3, 64;\n{RELEASE}").replace("END:\n", f"END:\n{ended}")
    kept_outcomes.memory.cache_clear()
    wrong = [one for one in tileproof.check(text).diagnostics if one.severity.value == "error"]
    kept_outcomes.memory.cache_clear()
    assert [(one.code, one.message) for one in wrong] == [
        ("PR130", "Deadlock: barrier 3 expects 64 threads, 32 reach it")
    ]


def test_stores_over_what_one_copy_may_still_write_are_one_finding():
    """A wait for it orders them all, as those of an unrolled loop; another copy may have another wait."""
    store = "  st.shared.v4.b32 [%r5], {%r1, %r1, %r1, %r1};\n"
    copy = PASSING[PASSING.index("  cp.async.bulk.shared::cluster") : PASSING.index("LOADED:\n")]
    text = PASSING.replace(store, store + store.replace("[%r5]", "[%r5+1024]"))
    (one,) = tileproof.check(text).diagnostics
    assert one.span.start == text.index("st.shared.v4")
    assert [place.span.start for place in one.related] == [text.index("cp.async.bulk"), text.rindex("st.shared.v4")]
    two = copy.replace("4096", "1024") + copy.replace("4096", "3072").replace("[%r2],", "[%r2+1024],")
    assert [one.code for one in tileproof.check(text.replace(copy, two)).diagnostics] == ["PR117", "PR117"]


def test_what_a_run_with_a_chosen_integer_finds_is_not_lost():
    """Only where there are more rows than the text compares with do threads come to a barrier that counts 33."""
    text = PASSING.replace("  ld.shared.b32 %r6, [%r2];\n", "  ld.shared.b32 %r6, [%r2];\n  bar.sync 3, 33;\n")
    assert "PR131" in found(text)
