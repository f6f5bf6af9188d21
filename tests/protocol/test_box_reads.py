"""Bytes that an mbarrier expects against those that are read of what its copies deliver, where no box is known."""

# ruff: noqa: E501  lines of PTX

from __future__ import annotations

from pathlib import Path

import pytest
from test_ptx_kernels import RING
from test_ptx_practices import edited

import tileproof
from tileproof.base.source import Source
from tileproof.evaluate import bitfields
from tileproof.mlir.ir import Operation
from tileproof.protocol.access_sets import AccessSet, Touched
from tileproof.protocol.box_reads import BoxReads
from tileproof.protocol.matrix_reads import MatrixReads
from tileproof.protocol.memory import Access
from tileproof.protocol.state import Barrier, Box, Deliveries, Delivery
from tileproof.protocol.values import Address, Allocation
from tileproof.ptx.graph import Graphs
from tileproof.ptx.module import read_module

BOOK = tileproof.load_rules()
PTX = Path(__file__).with_name("ptx")
SMEM = Allocation("smem", "smem", 1)
MEMORY = (0, SMEM.serial)


def found(text: str) -> set[str]:
    return {one.code for one in tileproof.check(text).diagnostics if one.severity.value == "error"}


def reasons(text: str) -> list[str]:
    (kernel,) = tileproof.check(text).files[0].kernels
    return [one.case for one in kernel.reasons]


# -- threads read

# A ring of two stages of 4096 bytes; each lane reads 16 bytes eight times, 512 bytes apart.
_READS = "".join(f"  ld.shared.v4.b32 {{%r30, %r31, %r32, %r33}}, [%r25+{512 * i}];\n" for i in range(8))
WHOLE = (
    RING.replace(".param .u32 tiles)", ".param .u32 tiles, .param .u64 other)")
    .replace("%r<30>", "%r<40>")
    .replace("  ld.param.u32 %r4, [tiles];\n", "  ld.param.u32 %r4, [tiles];\n  ld.param.u64 %rd3, [other];\n")
    .replace("  shl.b32 %r24, %r1, 2;", "  and.b32 %r24, %r1, 31;\n  shl.b32 %r24, %r24, 4;")
    .replace("  ld.shared.b32 %r26, [%r25];\n", _READS)
)
FILLED = "done, [%r21], %r7;\n  @done bra OVER;\n  bra AGAIN;\n  OVER:\n  }\n"  # the end of the wait for a stage
HALF = WHOLE.replace("_, [%r11], 4096;", "_, [%r11], 2048;")


@pytest.mark.parametrize(("expected", "codes"), [(4096, set()), (4080, {"PR139"}), (2048, {"PR139"}), (16, {"PR139"})])
def test_fewer_bytes_than_threads_read_are_an_error(expected: int, codes: set[str]):
    text = WHOLE.replace("_, [%r11], 4096;", f"_, [%r11], {expected};")
    assert (found(text), reasons(text)) == (codes, [])


def test_it_says_how_many_bytes_are_read_and_where():
    (one,) = [one for one in tileproof.check(HALF).diagnostics if one.code == "PR139"]
    assert "expects 2048 bytes, and 4096 bytes of what its copies deliver are read after it" in one.message
    assert one.hint == "expect all bytes that the copies of the phase deliver: 4096 or more"
    places = [HALF[span.start : span.end] for span in (one.span, *(place.span for place in one.related))]
    assert places == ["mbarrier.arrive.expect_tx.shared::cta.b64", "ld.shared.v4.b32"]


def test_what_nothing_reads_may_be_no_part_of_the_box():
    assert (
        found(
            HALF.replace("+2048]", "+1536]")
            .replace("+2560]", "+1536]")
            .replace("+3072]", "+1536]")
            .replace("+3584]", "+1536]")
        )
        == set()
    )


def test_what_is_behind_a_gap_may_be_no_part_of_the_box():
    """A row of 512 bytes that nothing reads, and more behind it."""
    assert found(HALF.replace("[%r25+2048]", "[%r25+1536]")) == set()


WRITTEN = {
    "by threads": "  st.shared.v4.b32 [%r36+{}], {{%r1, %r1, %r1, %r1}};\n",
    "by cp.async": "  cp.async.cg.shared.global [%r36+{}], [%rd3], 16;\n",
}


@pytest.mark.parametrize("how", WRITTEN)
def test_what_threads_wrote_before_is_not_of_the_copy(how: str):
    """Padding behind each box, which is cleared once."""
    clear = "  and.b32 %r35, %r1, 31;\n  shl.b32 %r35, %r35, 4;\n  add.s32 %r36, %r2, %r35;\n"
    for stage in (0, 4096):
        clear += "".join(WRITTEN[how].format(stage + 2048 + 512 * i) for i in range(4))
    waits = "  cp.async.wait_all;\n" if "cp.async" in clear else ""
    text = HALF.replace("  bar.sync 0;\n", f"{clear}{waits}  bar.sync 0;\n", 1)
    assert found(text) == set()
    assert found(HALF.replace("  bar.sync 0;\n", f"{waits}  bar.sync 0;\n", 1)) == {"PR139"}


def test_a_write_to_a_place_that_is_not_known_may_have_filled_the_rest():
    write = "  ld.shared.b32 %r35, [%r2+9000];\n  add.s32 %r36, %r2, %r35;\n  st.shared.b32 [%r36], %r1;\n"
    assert "PR139" not in found(HALF.replace("  bar.sync 0;\n", f"{write}  bar.sync 0;\n", 1))


_RELEASE = "  mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n"
_LAST = "  ld.shared.v4.b32 {%r30, %r31, %r32, %r33}, [%r25+3584];\n"


def test_a_copy_overwrites_all_of_its_box():
    """Only the first bytes of a box are known to be written until it is known how many it has: as many as are expected
    and read."""
    early = WHOLE.replace(_LAST + _RELEASE, _RELEASE + _LAST)
    assert early != WHOLE
    assert found(early) == {"PR112"}
    (one,) = [one for one in tileproof.check(early).diagnostics if one.code == "PR112"]
    assert early[one.span.start : one.span.end].startswith("cp.async.bulk.tensor")
    more = early.replace("_, [%r11], 4096;", "_, [%r11], 4112;")  # then it may be shorter than what is behind it
    assert "PR112" not in found(more)


def test_two_copies_to_one_barrier_bring_all_that_is_read():
    copy = "  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r14], [%rd2, {%r5, %r5}], [%r11];\n"
    both = WHOLE.replace(copy, copy + copy.replace("[%r14]", "[%r14+2048]"))
    assert found(both) == set()
    assert found(both.replace("_, [%r11], 4096;", "_, [%r11], 2048;")) == {"PR139"}


def test_a_barrier_expects_what_its_own_copies_bring():
    """The second half of each stage completes on a barrier of its own, which the consumer waits for as well."""
    copy = "  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r14], [%rd2, {%r5, %r5}], [%r11];\n"
    second = copy.replace("[%r14]", "[%r14+2048]").replace("[%r11]", "[%r11+32]")
    expect = "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11+32], BYTES;\n"
    init = "".join(f"  mbarrier.init.shared::cta.b64 [%r3+{at}], 1;\n" for at in (32, 40))
    wait = "OTHER:\n  mbarrier.try_wait.parity.shared::cta.b64 %p8, [%r21+32], %r7;\n  @!%p8 bra OTHER;\n"
    text = (
        HALF.replace(copy, copy + expect + second)
        .replace("  fence.mbarrier_init", init + "  fence.mbarrier_init")
        .replace(FILLED, FILLED + wait)
    )
    assert found(text.replace("BYTES", "2048")) == set()
    assert found(text.replace("BYTES", "1024").replace("_, [%r11], 2048;", "_, [%r11], 1024;")) == {"PR139"}


def test_bytes_of_copies_of_known_size_are_no_part_of_the_boxes():
    """A bulk copy without a tensor map brings the second half of each stage."""
    copy = "  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r14], [%rd2, {%r5, %r5}], [%r11];\n"
    bulk = "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r14+2048], [%rd3], 2048, [%r11];\n"
    text = WHOLE.replace(copy, bulk + copy)
    assert found(text) == set()
    assert found(text.replace("_, [%r11], 4096;", "_, [%r11], 3072;")) == {"PR139"}


def test_bytes_that_a_kernel_gets_may_be_the_right_ones():
    """As the tma_transaction_bytes of CUTLASS."""
    text = WHOLE.replace(".param .u32 tiles", ".param .u32 tiles, .param .u32 bytes").replace(
        "_, [%r11], 4096;", "_, [%r11], %r39;"
    )
    text = text.replace(
        "  ld.param.u32 %r4, [tiles];\n", "  ld.param.u32 %r4, [tiles];\n  ld.param.u32 %r39, [bytes];\n"
    )
    assert (found(text), reasons(text)) == (set(), [])


# The reader goes round so often a stage as an integer says: which part of it is read is no matter of the text.
def test_how_much_is_read_where_a_loop_decides_it_is_open():
    loop = """  ld.param.u64 %rd4, [other];
  cvt.u32.u64 %r37, %rd4;
  mov.b32 %r38, 0;
PIECE:
  shl.b32 %r39, %r38, 9;
  add.s32 %r34, %r25, %r39;
  ld.shared.v4.b32 {%r30, %r31, %r32, %r33}, [%r34];
  add.s32 %r38, %r38, 1;
  setp.lt.s32 %p8, %r38, %r37;
  @%p8 bra PIECE;
"""
    text = WHOLE.replace(_READS, loop).replace("_, [%r11], 4096;", "_, [%r11], 1024;")
    assert "PR139" not in found(text)


# Who asks for a stage arrives there itself, and readers free all stages first (fast.cu): in the end each barrier has all
# arrivals of a phase but that one.
ASKED = edited(
    WHOLE,
    ("[%r3+16], 32;", "[%r3+16], 33;"),
    ("[%r3+24], 32;", "[%r3+24], 33;"),
    (
        "CONSUMER:\n",
        "CONSUMER:\n  mbarrier.arrive.shared::cta.b64 _, [%r3+16];\n  mbarrier.arrive.shared::cta.b64 _, [%r3+24];\nTAKE:\n",
    ),
    ("  @%p7 bra CONSUMER;", "  @%p7 bra TAKE;"),
    (
        "  AGAIN:\n  mbarrier.try_wait.parity.shared::cta.b64 done, [%r11+16], %r12;",
        "  mbarrier.arrive.shared::cta.b64 %rd5, [%r11+16];\n  AGAIN:\n"
        "  mbarrier.try_wait.shared::cta.b64 done, [%r11+16], %rd5;",
    ),
)


@pytest.mark.parametrize(("expected", "codes"), [(4096, set()), (4080, {"PR139"}), (2048, {"PR139"})])
def test_phases_that_nobody_waits_for_any_more_do_not_matter(expected: int, codes: set[str]):
    text = ASKED.replace("_, [%r11], 4096;", f"_, [%r11], {expected};")
    assert (found(text), reasons(text)) == (codes, [])


# -- MMAs read

MULTIPLIED = (
    (PTX / "released_stage.ptx")
    .read_text()
    .replace("add.s32 %r3, %r2, 8192;", "add.s32 %r3, %r2, 16384;")
    .replace("shl.b32 %r13, %r6, 12;", "shl.b32 %r13, %r6, 13;")
    .replace("shl.b32 %r22, %r6, 12;", "shl.b32 %r22, %r6, 13;")
    .replace("_, [%r11], 4096;", "_, [%r11], 8192;")
)
_STEP = "  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd4, %rd4, 1, 1, 1, 0, 0;\n"
MULTIPLIED = MULTIPLIED.replace(
    _STEP,
    _STEP
    + "".join(f"  add.s64 %rd5, %rd4, {2 * i};\n" + _STEP.replace("%rd4, %rd4", "%rd5, %rd5") for i in range(1, 4)),
)


@pytest.mark.parametrize(("expected", "codes"), [(8192, set()), (4096, {"PR139"})])
def test_fewer_bytes_than_wgmma_read_are_an_error(expected: int, codes: set[str]):
    """64 rows of 128 bytes, of which each wgmma reads 32."""
    text = MULTIPLIED.replace("_, [%r11], 8192;", f"_, [%r11], {expected};")
    assert (found(text), reasons(text)) == (codes, [])


@pytest.mark.parametrize(("by", "codes"), [(6, set()), (64 + 6, {"PR111"}), (64 * 4 + 6, {"PR111"})])
def test_a_descriptor_that_begins_some_rows_too_late_reads_of_the_next_stage(by: int, codes: set[str]):
    """Eight rows of 128 bytes, or 32: another phase of another barrier says that they are there."""
    assert "add.s64 %rd5, %rd4, 6;" in MULTIPLIED
    assert found(MULTIPLIED.replace("add.s64 %rd5, %rd4, 6;", f"add.s64 %rd5, %rd4, {by};")) == codes


# As many columns as rows: no more of them are read than there are.
WIDE = MULTIPLIED.replace("m64n8k16", "m64n64k16").replace("%f<5>", "%f<33>")
WIDE = WIDE.replace("{%f1, %f2, %f3, %f4}", f"{{{', '.join(f'%f{i}' for i in range(1, 33))}}}")
WIDE = WIDE.replace("  wgmma.fence", "".join(f"  mov.f32 %f{i}, 0f00000000;\n" for i in range(5, 33)) + "  wgmma.fence")


@pytest.mark.parametrize(
    ("step", "by", "first"), [(3, 0, 96), (3, 2, 96), (3, 4, 96), (1, 4, 32), (1, 0, 32), (2, 6, 64)]
)
def test_bytes_of_a_tile_that_no_mma_reads_while_others_are_read_twice(step: int, by: int, first: int):
    """64 rows of 128 bytes in four steps of 32 along K, of which one begins where another does."""
    right = f"add.s64 %rd5, %rd4, {2 * step};"
    assert WIDE.count(right) == 1 and tileproof.check(WIDE).diagnostics == ()
    wrong = f"add.s64 %rd5, %rd4, {by}; "
    text = WIDE.replace(right, wrong)
    (one,) = tileproof.check(text).diagnostics
    assert (one.code, one.severity.value) == ("PR194", "warning"), one.message
    assert f"nothing reads 2048 bytes of this tile, from byte {first} on" in one.message
    assert one.span.start == text.index("wgmma", text.index(wrong))


def test_parts_of_a_tile_that_several_mmas_read_each():
    """Each step is multiplied twice; the second time the last one begins where the one before does."""
    lines = WIDE.splitlines(True)
    twice = (line + line.replace("%rd5, %rd5", "%rd6, %rd6") if "wgmma.mma_async" in line else line for line in lines)
    text = "".join(twice)
    again = "  add.s64 %rd5, %rd4, 6;\n  add.s64 %rd6, %rd4, 6;\n"
    for step in (2, 4, 6):
        one = f"  add.s64 %rd5, %rd4, {step};\n"
        text = text.replace(one, one + one.replace("%rd5", "%rd6"))
    assert text.count(again) == 1 and tileproof.check(text).diagnostics == ()
    wrong = text.replace(again, again.replace("%rd6, %rd4, 6", "%rd6, %rd4, 4"))
    (one,) = tileproof.check(wrong).diagnostics
    assert one.code == "PR194" and "fewer MMAs read 2048 bytes of this tile, from byte 96 on" in one.message


def test_a_tile_of_two_boxes_of_which_one_mma_reads():
    """The second box brings the last 32 rows of 64."""
    (copy,) = [line for line in WIDE.splitlines(True) if "cp.async.bulk.tensor" in line]
    text = WIDE.replace(copy, f"{copy}  add.s32 %r29, %r14, 4096;\n{copy.replace('[%r14]', '[%r29]')}")
    assert tileproof.check(text).diagnostics == ()
    (one,) = tileproof.check(text.replace("%rd5, %rd4, 6;", "%rd5, %rd4, 4;")).diagnostics
    assert one.code == "PR194" and "nothing reads 2048 bytes of this tile, from byte 96 on" in one.message


def test_a_descriptor_that_begins_before_all_memory_is_followed():
    text = WIDE.replace("add.s64 %rd5, %rd4, 2;", "add.s64 %rd5, %rd4, -2;")
    (kernel,) = tileproof.check(text).files[0].kernels
    assert (kernel.executed, kernel.reasons) == (kernel.steps, ())


def test_a_part_of_a_tile_that_is_read_with_another_swizzle():
    """Bits that are flipped above the start address do not move it."""
    right = "add.s64 %rd5, %rd4, 4;"
    text = WIDE.replace(right, f"xor.b64 %rd5, %rd4, 0x4000000000000000; {right.replace('%rd4', '%rd5')}")
    report = tileproof.check(text)
    assert [one.code for one in report.diagnostics] == ["DS148", "DS148", "PR194"]
    assert all(text[one.span.start :].startswith(("%rd5", "wgmma")) for one in report.diagnostics)
    (kernel,) = report.files[0].kernels
    assert (kernel.executed, kernel.reasons) == (kernel.steps, ())


def test_rows_that_are_shorter_than_a_box_are_none_that_is_partly_read():
    """A head of 32 elements in a box of 64: the rest of each row is zero."""
    steps = [line for line in WIDE.splitlines(True) if "add.s64 %rd5" in line]
    text = WIDE
    for step in steps[1:]:
        first = text.index(step)
        text = text[:first] + text[text.index("\n", text.index("wgmma", first)) + 1 :]
    assert text.count("wgmma.mma_async") == 2 and tileproof.check(text).diagnostics == ()


# Scale factors: 32 rows of 16 bytes, which tcgen05.cp brings to the lanes of all warps.
SCALES = """.version 8.7
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry scales(.param .align 64 .b8 map[128])
.reqntid 32, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<9>; .reg .b64 %rd<5>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.b32 %r3, 0;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  setp.ne.s32 %p1, %r1, 0;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2+1040], 32;
  ld.shared.b32 %r4, [%r2+1040];
  @%p1 bra FILLED;
  mbarrier.init.shared::cta.b64 [%r2+1024], 1;
  mbarrier.init.shared::cta.b64 [%r2+1032], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+1024], 512;
  cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r2], [%rd2, {%r3, %r3}], [%r2+1024];
FILLED:
  bar.warp.sync -1;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2+1024], 0;
  @!%p2 bra WAIT;
  shr.u32 %r5, %r2, 4;
  and.b32 %r6, %r5, 16383;
  cvt.u64.u32 %rd3, %r6;
  or.b64 %rd4, %rd3, 0x400800010000;
  @%p1 bra DONE;
  tcgen05.cp.cta_group::1.32x128b.warpx4 [%r4], %rd4;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2+1032];
DONE:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2+1032], 0;
  @!%p3 bra DONE;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 32;
  ret;
}
"""


@pytest.mark.parametrize(
    ("expected", "codes"), [(1024, []), (1008, ["PR182"]), (640, ["PR182"]), (512, ["PR139"]), (256, ["PR139"])]
)
def test_fewer_bytes_than_tcgen05_cp_reads_are_an_error(expected: int, codes: list[str]):
    """Two pieces of 512 bytes; of the last one a kernel may have fewer scale factors (DeepGEMM)."""
    (copy,) = [line for line in SCALES.splitlines(True) if "tcgen05.cp" in line]
    text = SCALES.replace(copy, f"{copy}  add.s64 %rd4, %rd4, 32;\n{copy.replace('[%r4]', '[%r4+4]')}")
    text = text.replace("%r2+10", "%r2+20").replace("_, [%r2+2024], 512;", f"_, [%r2+2024], {expected};")
    report = tileproof.check(text)
    assert ([one.code for one in report.diagnostics], reasons(text)) == (codes, [])
    assert all("fewer scale factors" in one.message for one in report.diagnostics if one.code == "PR182")


# Two warpgroups, each with half of the rows of A, and of B in its place (fast.cu).
PAIR = edited(
    MULTIPLIED,
    ("add.s32 %r3, %r2, 16384;", "add.s32 %r3, %r2, 32768;"),
    ("shl.b32 %r13, %r6, 13;", "shl.b32 %r13, %r6, 14;"),
    ("shl.b32 %r22, %r6, 13;", "shl.b32 %r22, %r6, 14;"),
    (".reqntid 160", ".reqntid 288"),
    ("[%r3+16], 128;", "[%r3+16], 256;"),
    ("[%r3+24], 128;", "[%r3+24], 256;"),
    ("setp.lt.u32 %p2, %r1, 128;", "setp.lt.u32 %p2, %r1, 256;"),
    (
        "  shr.u32 %r24, %r23, 4;",
        "  shr.u32 %r26, %r1, 7;\n  shl.b32 %r26, %r26, 13;\n  add.s32 %r23, %r23, %r26;\n  shr.u32 %r24, %r23, 4;",
    ),
)


@pytest.mark.parametrize(("expected", "codes"), [(16384, set()), (16368, {"PR139"}), (8192, {"PR139"})])
def test_each_warpgroup_reads_its_own_part_of_a_box(expected: int, codes: set[str]):
    text = PAIR.replace("_, [%r11], 8192;", f"_, [%r11], {expected};")
    assert (found(text), reasons(text)) == (codes, [])


def test_a_descriptor_whose_address_is_not_known_says_nothing():
    text = MULTIPLIED.replace("_, [%r11], 8192;", "_, [%r11], 4096;")
    change = "  ld.shared.b32 %r26, [%r3+40];\n  add.s32 %r23, %r23, %r26;\n  shr.u32 %r24, %r23, 4;"
    text = edited(text, ("  shr.u32 %r24, %r23, 4;", change))
    assert (found(text), reasons(text)) == (set(), ["accessed_steps"])


def test_a_descriptor_whose_strides_are_not_known_says_nothing():
    text = MULTIPLIED.replace("_, [%r11], 8192;", "_, [%r11], 4096;")
    open_ = text.replace(".param .u32 tiles)", ".param .u32 tiles, .param .u64 fields)").replace(
        "  or.b64 %rd4, %rd3, 0x4000004000010000;", "  ld.param.u64 %rd6, [fields];\n  or.b64 %rd4, %rd3, %rd6;"
    )
    assert "PR139" not in found(open_)


OPERANDS = (PTX / "two_operands.ptx").read_text()


def test_an_mma_that_adds_is_issued_by_one_thread():
    """By all lanes of the warp each product is added 32 times; where none adds all write the same."""
    lanes = edited(
        OPERANDS,
        ("  @%p1 bra DONE;\n  mov.b64 %rd1, a;", "  @%p2 bra DONE;\n  @%p1 bra WAIT_A;\n  mov.b64 %rd1, a;"),
        ("  tcgen05.commit", "  @!%p1 tcgen05.commit"),
    )
    (one,) = tileproof.check(lanes).diagnostics
    assert (one.code, len(one.related)) == ("PR192", 2)
    assert "32 threads issue this MMA" in one.message
    assert found(lanes.replace("  tcgen05.mma", "  @!%p1 tcgen05.mma")) == set()
    assert found(lanes.replace("mov.pred %p5, -1;", "mov.pred %p5, 0;")) == set()


def test_columns_that_no_load_reads_while_several_read_others():
    """64 columns in two loads, of which the second is to begin at 32; a kernel that needs one column reads one."""
    loads = "".join(
        f"  tcgen05.ld.sync.aligned.32x32b.x32.b32 {{{', '.join(f'%r{at + i}' for i in range(32))}}}, [%r14+{column}];\n"
        for at, column in ((31, 0), (63, 32))
    )
    text = edited(
        OPERANDS.replace("%r<30>", "%r<100>"),
        ("  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r15}, [%r14];\n", loads + "  mov.b32 %r15, %r94;\n"),
    )
    assert tileproof.check(text).diagnostics == tileproof.check(OPERANDS).diagnostics == ()
    (one,) = tileproof.check(text.replace("[%r14+32]", "[%r14+16]")).diagnostics
    assert (one.code, one.severity.value) == ("PR193", "warning")
    assert "columns 48 to 63 of the 64" in one.message


@pytest.mark.parametrize(
    ("operand", "bytes_", "codes"),
    [("", 16384, set()), ("", 8192, {"PR139"}), ("+8", 8192, set()), ("+8", 4096, {"PR139"}), ("+8", 8176, {"PR139"})],
)
def test_fewer_bytes_than_tcgen05_mma_reads_are_an_error(operand: str, bytes_: int, codes: set[str]):
    """128 rows of A, 64 of B, 128 bytes each; A and B complete on barriers of their own."""
    expect = f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3{operand}], "
    before, _, rest = OPERANDS.partition(expect)
    text = f"{before}{expect}{bytes_};{rest.partition(';')[2]}"
    assert (found(text), reasons(text)) == (codes, [])


# The same with room behind A and B.
ROOMY = edited(
    OPERANDS,
    ("add.s32 %r3, %r2, 24576;", "add.s32 %r3, %r2, 65536;"),
    ("[%r2+16384], [%rd4", "[%r2+32768], [%rd4"),
    ("add.s32 %r9, %r2, 16384;", "add.s32 %r9, %r2, 32768;"),
)
ELSEWHERE = {"A": ("[%r2], [%rd2", "[%r2+1024], [%rd2"), "B": ("[%r2+32768], [%rd4", "[%r2+40960], [%rd4")}


@pytest.mark.parametrize(("operand", "start"), [("A", 0), ("B", 32768)])
def test_an_operand_that_is_copied_to_another_place_is_an_error(operand: str, start: int):
    """A box has no more bytes than its barrier expects: nothing fills where the operand begins."""
    assert found(ROOMY) == set()
    text = edited(ROOMY, ELSEWHERE[operand])
    (one,) = tileproof.check(text).diagnostics
    assert one.code == "PR183" and f"reads smem from byte {start} on" in one.message
    assert text[one.span.start :].startswith("tcgen05.mma")
    assert text[one.related[0].span.start :].startswith("cp.async.bulk.tensor")


def test_what_another_box_or_threads_may_have_written_is_no_such_operand():
    write = "  st.shared.b32 [%r2], 0;\n  fence.proxy.async.shared::cta;\n  fence.mbarrier_init"
    assert found(edited(ROOMY, ELSEWHERE["A"], ("  fence.mbarrier_init", write))) == set()
    # Data decide where threads write: a run goes one way, another launch may go the other one.
    by_data = """  .reg .pred %p30;
  .reg .f32 %f<32>;
  ld.global.f32 %f30, [%rd2];
  ex2.approx.f32 %f31, %f30;
  setp.gt.f32 %p30, %f31, 0f3F800000;
  @%p30 bra OTHER;
  st.shared.b32 [%r2], 0;
  bra PAST;
OTHER:
  st.shared.b32 [%r3+40], 0;
PAST:
  fence.proxy.async.shared::cta;
  fence.mbarrier_init"""
    assert found(edited(ROOMY, ELSEWHERE["A"], ("  fence.mbarrier_init", by_data))) == set()
    # A's box may be as large as its barrier expects, and then it fills where B begins.
    assert found(edited(ROOMY, ELSEWHERE["B"], ("_, [%r3], 16384;", "_, [%r3], 36864;"))) == set()


def test_a_box_that_is_copied_later_has_not_filled_an_operand():
    """The first copy to each stage goes elsewhere."""
    copy = "  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r14], [%rd2, {%r5, %r5}], [%r11];\n"
    late = "  setp.lt.s32 %p7, %r5, 2;\n  selp.b32 %r29, 1024, 0, %p7;\n  add.s32 %r14, %r14, %r29;\n"
    text = edited(
        MULTIPLIED,
        ("add.s32 %r3, %r2, 16384;", "add.s32 %r3, %r2, 65536;"),
        ("shl.b32 %r13, %r6, 13;", "shl.b32 %r13, %r6, 14;"),
        ("shl.b32 %r22, %r6, 13;", "shl.b32 %r22, %r6, 14;"),
    )
    assert found(text) == set()
    assert found(edited(text, (copy, late + copy))) == {"PR183"}


@pytest.mark.parametrize(("bytes_", "code"), [(16256, "PR182"), (15488, "PR182"), (15360, "PR139"), (16320, "PR139")])
def test_a_few_rows_that_no_copy_brings_are_no_error(bytes_: int, code: str):
    """125 rows of queries are read as 128; of what is below a group of eight rows, or no whole row, that is not so."""
    before, _, rest = OPERANDS.partition("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], ")
    text = f"{before}mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {bytes_};{rest.partition(';')[2]}"
    assert [one.code for one in tileproof.check(text).diagnostics] == [code]


@pytest.mark.parametrize("operand", ["A", "B"])
def test_both_operands_are_waited_for_before_tcgen05_mma(operand: str):
    before, _, rest = OPERANDS.partition(f"WAIT_{operand}:\n")
    _, _, rest = rest.partition(f"bra WAIT_{operand};\n")
    assert rest and found(before + rest) == {"PR111"}


def units(statement: str, before: str = "", word: int | None = None) -> dict[int, int]:
    """How many units of 16 bytes an MMA reads, by operand."""
    target = "sm_90a" if statement.startswith("wgmma") else "sm_100a"
    text = f""".version 8.7
.target {target}
.address_size 64
.visible .entry kernel(.param .b64 start, .param .b32 word)
{{
  .reg .pred %p<9>; .reg .b32 %r<9>; .reg .f32 %f<129>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [start];
  and.b64 %rd1, %rd1, 16383;
  ld.param.u32 %r1, [word];
{before}
  {statement}
  ret;
}}
"""
    module = read_module(BOOK, Source("kernel.ptx", text))
    assert not module.faults
    reads = MatrixReads(BOOK, Graphs(BOOK, module).of(module.functions[0]))
    number = next(i for i, one in enumerate(module.instructions) if ".mma" in one.opcode)
    return {place: one.units.bit_count() for place, one in reads.of(number, word).items() if not one.padded}


_D = ", ".join(f"%f{i}" for i in range(32))
_K128, _MN128, _PLAIN = 0x4000004000010000, 0x4000004004000000, 0x0000000800400000
_UMMA = 0x4000404000010000  # SBO 1024, version 1, 128-byte swizzle


@pytest.mark.parametrize(
    ("fields", "flags", "rows"),
    [(_K128, "0, 0", 64), (_PLAIN, "0, 0", 64), (_MN128, "1, 1", 64)],
    ids=["K-major", "no swizzle", "MN-major"],
)
def test_what_a_wgmma_reads(fields: int, flags: str, rows: int):
    """Two operands of 64 rows and 16 elements of 16 bits: 2 KiB each."""
    statement = f"wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{_D}}}, %rd2, %rd2, 1, 1, 1, {flags};"
    assert units(statement, f"  or.b64 %rd2, %rd1, {fields};") == {1: 2 * rows, 2: 2 * rows}


def test_of_a_sparse_operand_a_wgmma_reads_every_second_element():
    statement = f"wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.bf16.bf16 {{{_D}}}, %rd2, %rd2, %r1, 0, 1, 1, 1, 0, 0;"
    assert units(statement, f"  or.b64 %rd2, %rd1, {_K128};") == {1: 128, 2: 256}


def test_a_wgmma_reads_no_memory_for_what_is_in_registers():
    statement = (
        f"wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{_D}}}, {{%r1, %r1, %r1, %r1}}, %rd2, 1, 1, 1, 0;"
    )
    assert units(statement, f"  or.b64 %rd2, %rd1, {_K128};") == {2: 128}


def word(rows: int, columns: int, **fields: str) -> int:
    """An instruction descriptor of kind::f16 or of another."""
    facts = {"kind": ".f16", "a.type": ".bf16", "b.type": ".bf16", "d.type": ".f32", "selector": 0, "max_shift": 0}
    facts |= {
        "a.major": ".k",
        "b.major": ".k",
        "sparse": ".no",
        "saturate": ".no",
        "a.negate": ".no",
        "b.negate": ".no",
    }
    found = bitfields.pack(
        BOOK.under("ptx"), "tcgen05.instruction_descriptor", {**facts, "M": rows, "N": columns, **fields}
    )
    assert isinstance(found, int)
    return found


@pytest.mark.parametrize(("ctas", "rows", "read"), [(1, 128, {1: 256, 2: 128}), (2, 256, {1: 256, 2: 64})])
def test_what_a_tcgen05_mma_reads_in_each_cta(ctas: int, rows: int, read: dict[int, int]):
    statement = f"tcgen05.mma.cta_group::{ctas}.kind::f16 [%r2], %rd2, %rd2, %r1, %p1;"
    before = f"  or.b64 %rd2, %rd1, {_UMMA};"
    assert units(statement, before) == {}
    assert units(statement, before, word(rows, 64)) == read
    constant = statement.replace("%r1", "%r3")
    assert units(constant, f"{before}\n  mov.b32 %r3, {word(rows, 64)};") == read


@pytest.mark.parametrize(("columns", "read"), [(16, {1: 256}), (32, {1: 256, 2: 64})])
def test_rows_of_b_may_be_missing_where_there_is_no_smaller_mma(columns: int, read: dict[int, int]):
    """Mirage multiplies batches of fewer rows than N has, and copies only these."""
    statement, before = (
        "tcgen05.mma.cta_group::1.kind::f16 [%r2], %rd2, %rd2, %r1, %p1;",
        f"  or.b64 %rd2, %rd1, {_UMMA};",
    )
    assert units(statement, before, word(128, columns)) == read
    small = f"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{{_D[:18]}}}, %rd2, %rd2, 1, 1, 1, 0, 0;"
    assert units(small, f"  or.b64 %rd2, %rd1, {_K128};") == {1: 128}


def test_elements_that_a_copy_unpacks_say_nothing():
    statement = "tcgen05.mma.cta_group::1.kind::f8f6f4 [%r2], %rd2, %rd2, %r1, %p1;"
    before = f"  or.b64 %rd2, %rd1, {_UMMA};"
    kinds = [{"a.type": ".e4m3", "b.type": one} for one in (".e4m3", ".e2m1")]
    read = [units(statement, before, word(128, 64, kind=".f8f6f4", **one)) for one in kinds]
    assert read == [{1: 256, 2: 128}, {1: 256}]


# -- the record of boxes

READER = Operation("read", (), (), (), (), (), (), (), False, ("",))


def box(offset: int, cta: int = 0) -> Box:
    return Box("map", cta, Address(SMEM, offset, 8), READER)


def test_boxes_of_one_operation_have_one_size_where_their_tensor_map_is_not_known():
    """That of the last stage, behind which nothing lies that is known, is as large as those of the others."""
    stages = [Box(None, 0, Address(SMEM, 4096 * n, 8), READER) for n in range(3)]
    full = {
        (0, SMEM.serial, 65536 + 8 * n): Barrier("full", 1, READER, 1, Access(0, 8, (), 0, "", True, READER), bytes=1)
        for n in range(3)
    }
    for barrier, stage in zip(full.values(), stages, strict=True):
        barrier.boxes = [stage]
    deliveries = Deliveries()
    deliveries.look(full)
    assert deliveries.room == {id(READER): 4096}


def delivered(*boxes: Box) -> Delivery:
    return Delivery(0, 0, READER, boxes)


def test_a_read_counts_for_the_last_box_that_was_copied_there():
    reads, first, second = BoxReads(16, 8), box(1024), box(1024)
    reads.fill(first)
    reads.read(MEMORY, 1024, 0b1111, READER)
    reads.fill(second)
    reads.read(MEMORY, 1024, 0b11, READER)
    assert [reads.of_phase(delivered(one), {}) for one in (first, second)] == [(64, READER), (32, READER)]


def test_a_read_across_two_boxes_counts_for_both():
    reads, first, second = BoxReads(16, 8), box(0), box(32)
    for one in (first, second):
        reads.fill(one)
    reads.read(MEMORY, 16, 0b111, READER)
    reads.read(MEMORY, 0, 0b1, READER)
    assert reads.of_phase(delivered(first), {}) == (32, READER)
    assert reads.of_phase(delivered(first, second), {}) == (64, READER)


def test_a_box_ends_where_another_one_or_a_barrier_begins():
    reads, one = BoxReads(16, 8), box(0)
    reads.fill(one)
    reads.read(MEMORY, 0, 0b11111111, READER)
    reads.bound([(0, SMEM.serial, 96), (1, SMEM.serial, 16)])
    assert reads.of_phase(delivered(one), {}) == (96, READER)
    reads.fill(box(64))
    assert reads.of_phase(delivered(one), {}) == (64, READER)


def test_lines_that_anything_else_wrote_before_do_not_count():
    reads, one = BoxReads(16, 8), box(0)
    reads.fill(one)
    reads.write(MEMORY, 130, 132)
    reads.read(MEMORY, 0, (1 << 16) - 1, READER)
    assert reads.of_phase(delivered(one), {}) == (128, READER)
    reads.write(MEMORY, 0, 16)  # what is stored later takes nothing away
    assert reads.of_phase(delivered(one), {}) == (128, READER)


def test_they_do_where_the_box_has_brought_what_is_behind_them():
    """Triton leaves the address of tensor memory where a copy begins later."""
    reads, one = BoxReads(16, 8), box(0)
    reads.write(MEMORY, 0, 4)
    reads.fill(one)
    reads.read(MEMORY, 0, 0b11111111, READER)
    assert reads.of_phase(delivered(one), {}) is None
    reads.read(MEMORY, 0, 0b111111111, READER)
    assert reads.of_phase(delivered(one), {}) == (144, READER)


def test_threads_that_read_a_byte_read_a_unit_of_the_copy():
    reads, one = BoxReads(16, 8), box(32)
    reads.fill(one)
    touched = 1 | 1 << 20 | 1 << 24  # from byte 40 on: in the third, the fourth and the fifth unit
    reads.read_by_threads(MEMORY, AccessSet(40, Touched({0: touched}, touched), None), READER)
    assert reads.of_phase(delivered(one), {}) == (48, READER)


def test_a_copy_to_a_place_that_is_not_known_is_lost():
    reads, one = BoxReads(16, 8), Box("map", 0, Address(SMEM, None, 8), READER)
    reads.fill(one)
    assert reads.lost and reads.of_phase(delivered(one), {}) is None
