"""The memory in pictures of descriptors is that of the layout that the descriptor is of."""

from __future__ import annotations

import re

import pytest

import tileproof
from drawing.drawn import draw, says
from tileproof.layout import crd2idx
from tileproof.syntax.layouts import layout as parsed

ATOM = "!cute_nvgpu.sm90.mma<64x{n}x16, ab_major = ({a}, {b}), elem_type = (f16, f16, f32), frag_kind = ss>"
SAID = re.compile(r"\(mn (\d+)(?:-(\d+))?, k (\d+)(?:-(\d+))?\) at bytes (\d+) to (\d+)(.*)")


def read(*arguments: str) -> list[list[int | None]]:
    found = [SAID.fullmatch(one) for one in says(draw("descriptor", *arguments, "--format", "svg"))]
    return [[*(None if v is None else int(v) for v in one.groups()[:6]), "banks" in one[7]] for one in found if one]


@pytest.mark.parametrize(
    ("operand", "majors", "swizzle", "layout"),
    [
        ("A", ("k", "k"), "128", "S<3,3,3> o 0 o (64,64):(64,1)"),
        ("A", ("k", "k"), "64", "S<2,3,3> o 0 o (64,32):(32,1)"),
        ("A", ("k", "k"), "32", "S<1,3,3> o 0 o (64,16):(16,1)"),
        ("B", ("k", "mn"), "128", "S<3,3,3> o 0 o (64,16):(1,64)"),
        ("B", ("k", "mn"), "64", "S<2,3,3> o 0 o ((32,2),(8,2)):((1,256),(32,512))"),
    ],
)
def test_each_16_bytes_hold_the_elements_of_the_layout(operand: str, majors: tuple, swizzle: str, layout: str):
    """By hand: the canonical layouts of CUTLASS as composed layouts of elements, evaluated at each coordinate."""
    atom = ATOM.format(n=64, a=majors[0], b=majors[1])
    found = read(atom, "--operand", operand, "--element", "f16", "--swizzle", swizzle)
    assert len(found) == 2 * 64 * 16 * 2 // 16
    assert found == read(atom, "--operand", operand, "--element", "f16", "--layout", layout)
    for mn, last_mn, k, last_k, byte, end, _ in found:
        assert end == byte + 15
        elements = [(i, j) for j in range(k, (last_k or k) + 1) for i in range(mn, (last_mn or mn) + 1)]
        offsets = [2 * crd2idx(at, parsed(layout)) for at in elements]
        assert offsets == list(range(byte, byte + 16, 2))
    memory = [(one[0], one[2]) for one in found if one[6]]
    assert len(set(memory)) == len(memory) == len(found) // 2


def test_the_notes_have_the_descriptor_and_its_strides():
    atom = ATOM.format(n=64, a="k", b="k")
    made = tileproof.descriptor("(64,64):(64,1)", atom, "A", "f16", "S<3,4,3>")
    drawn = draw("descriptor", atom, "--element", "f16")
    assert f"0x{made.value:016x}: swizzle 128, SBO {made.sbo} bytes, LBO is not read" in drawn
    assert "SBO 1024: byte 0, + 0 to byte 1024, + 0" in drawn


def test_both_strides_are_arrows_where_both_are_read():
    drawn = draw(
        "descriptor", ATOM.format(n=64, a="k", b="k"), "--element", "f16", "--swizzle", "none", "--format", "svg"
    )
    assert re.findall(r">((?:LBO|SBO) \d+)<", drawn) == ["LBO 1024", "SBO 128"]
    assert drawn.count('class="tip"') == 2
