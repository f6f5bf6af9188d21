"""Pictures of who holds what agree with the figures of the PTX ISA."""

from __future__ import annotations

import re

from drawing.drawn import draw, says
from tileproof.drawing.holders import ranges

MMA = "!cute_nvgpu.sm80.mma<16x8x16, elem_type = (f16, f16, f32)>"
WGMMA = "!cute_nvgpu.sm90.mma<64x{n}x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>"


def held(*arguments: str) -> dict[tuple[int, int], tuple[int, int]]:
    """The thread and the value of each element."""
    found = {}
    for said in says(draw("tv", *arguments, "--format", "svg")):
        row, column, thread, value = map(int, re.fullmatch(r"\((\d+),(\d+)\) -> T(\d+) V(\d+)", said).groups())
        found[row, column] = thread, value
    return found


def test_the_accumulators_of_mma_m16n8k16_are_those_of_the_ptx_isa():
    """PTX ISA, mma.m16n8k16, figure of C: row = groupID (+ 8 for c2, c3), column = 2 * threadID_in_group + (i & 1)."""
    wanted = {}
    for lane in range(32):
        for i in range(4):
            wanted[lane // 4 + 8 * (i >= 2), 2 * (lane % 4) + (i & 1)] = lane, i
    assert held(MMA, "--operand", "C") == wanted


def test_a_of_mma_m16n8k16_is_that_of_the_ptx_isa():
    """row = groupID for a0, a1, a4, a5, else + 8; column = 2 * threadID_in_group + (i & 1), + 8 from a4 on."""
    wanted = {}
    for lane in range(32):
        for i in range(8):
            row = lane // 4 + (0 if i in (0, 1, 4, 5) else 8)
            wanted[row, 2 * (lane % 4) + (i & 1) + 8 * (i >= 4)] = lane, i
    assert held(MMA, "--operand", "A") == wanted


def test_the_accumulators_of_wgmma_are_those_of_the_ptx_isa():
    """PTX ISA, wgmma .m64nNk16, figure of D: 16 rows a warp, within them as mma, 8 columns after 8."""
    found = held(WGMMA.format(n=16), "--operand", "C")
    assert len(found) == 64 * 16
    for (row, column), (thread, value) in found.items():
        assert thread == 32 * (row // 16) + 4 * (row % 8) + column % 8 // 2
        assert value == 4 * (column // 8) + 2 * (row % 16 // 8) + column % 2


def test_what_all_threads_hold_names_them_as_a_range():
    assert all("T0-127" in said for said in says(draw("tv", WGMMA.format(n=8), "--operand", "A", "--format", "svg")))
    assert [ranges(one) for one in ([3], [0, 1, 2], [0, 1, 4], [0, 2, 4])] == ["3", "0-2", "0-1,4", "0,..x3"]


def test_a_large_operand_is_cut_and_says_so():
    drawn = draw("tv", WGMMA.format(n=256), "--format", "text")
    assert "cut: 12,288 of 16,384 elements are not shown" in drawn
