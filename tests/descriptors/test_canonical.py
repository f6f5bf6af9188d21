"""Canonical layouts: every form describes what it says, element by element, and nothing else is taken for one."""

from __future__ import annotations

import random
from itertools import product

import pytest

import tileproof
from conftest import some
from tileproof.descriptors.canonical import (
    Attempt,
    NoDescriptor,
    Tile,
    Undecided,
    canonical_forms,
    describe,
    fitting,
    match,
    operand,
    swizzle_mode,
)
from tileproof.layout import Layout, Swizzle, crd2idx
from tileproof.syntax.layouts import layout

BOOK = tileproof.load_rules()
WORDS = {".b128_atom32": "tcgen05.descriptor"}


def reference(major: str, swizzle: str, t: int, lbo: int, sbo: int, mn: int, k: int) -> int:
    """The element offset of (mn,k), from the words of the PTX ISA: core matrices, then the strides between them."""
    width = {".none": 1, ".b32": 2, ".b64": 4, ".b128": 8, ".b128_atom32": 8}[swizzle]
    if major == ".k":  # a row of a core matrix is 16 bytes along K, eight rows make one
        row, block, element, unit = mn % 8, mn // 8, k % t, k // t
        inside, behind = (unit % width, unit // width) if swizzle in (".none", ".b32") else (unit, 0)
        return row * t * width + block * sbo + element + inside * t + behind * lbo
    rows = 4 if swizzle == ".b128_atom32" else 8
    element, unit, block = mn % t, mn // t % width, mn // (t * width)
    row, group = k % rows, k // rows
    across, along = (sbo, lbo) if swizzle == ".none" else (lbo, sbo)
    return element + unit * t + block * across + row * t * width + group * along


CASES = [
    (major, swizzle, bits, rows, columns)
    for (major, swizzle), bits, rows, units in product(
        [(".k", s) for s in (".none", ".b32", ".b64", ".b128")]
        + [(".mn", s) for s in (".none", ".b32", ".b64", ".b128", ".b128_atom32")],
        (4, 8, 16, 32),
        (1, 2, 4),
        (1, 2, 4),
    )
    if (major, swizzle, units) != (".k", ".b32", 1)  # a swizzle has two units, and an MMA reads no fewer
    for rows, columns in [(8 * rows, 128 // bits * units) if major == ".k" else (128 // bits * 8 * rows, 8 * units)]
]


@pytest.mark.parametrize("largest", [256, pytest.param(None, marks=pytest.mark.long)], ids=["small", "all"])
@pytest.mark.parametrize("form", some(canonical_forms(BOOK, None, None), 6), ids=lambda form: form.major + form.swizzle)
def test_strides_are_recovered_and_describe_every_element_DSC05(form, largest):
    """A layout written element by element as the manual says; LBO and SBO must be found again."""
    rng = random.Random(form.major + form.swizzle)
    tried = 0
    for major, swizzle, bits, rows, columns in CASES:
        if (major, swizzle) != (form.major, form.swizzle) or (largest is not None and rows * columns > largest * 8):
            continue
        t = 128 // bits
        lbo, sbo = (rng.randrange(1, 64) * 64 * t for _ in "ls")
        values = [[reference(major, swizzle, t, lbo, sbo, mn, k) for k in range(columns)] for mn in range(rows)]
        tile = as_layout(values, t, major, swizzle)
        if tile is None:
            continue
        found = match(BOOK, form, Tile(tile, bits, swizzle))
        assert not isinstance(found, Attempt), found
        found_lbo, found_sbo, unread = found.lbo, found.sbo, found.unread
        for mn, k in product(range(rows), range(columns)):
            elements = (found_lbo * 8 // bits, found_sbo * 8 // bits)
            assert reference(major, swizzle, t, *elements, mn, k) == values[mn][k]
        assert "lbo" in unread or found_lbo == lbo * bits // 8
        assert "sbo" in unread or found_sbo == sbo * bits // 8
        tried += 1
    assert tried >= (20 if largest is None else 8)


def as_layout(values: list[list[int]], t: int, major: str, swizzle: str) -> Layout | None:
    """The layout with these offsets, found by doubling extents: what a kernel might have written down."""
    rows, columns = len(values), len(values[0])

    def axis(offsets: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        shape, stride, at = [], [], 1
        while at < len(offsets):
            shape.append(2)
            stride.append(offsets[at])
            at *= 2
        return tuple(shape) or (1,), tuple(stride) or (0,)

    (m, dm), (k, dk) = axis([row[0] for row in values]), axis(values[0])
    made = Layout((m, k), (dm, dk))
    same = all(crd2idx((i, j), made) == values[i][j] for i, j in product(range(rows), range(columns)))
    return made if same else None


@pytest.mark.parametrize("count", [120, pytest.param(800, marks=pytest.mark.sweep)])
def test_verdicts_equal_enumeration(count):
    """Random layouts: ``match`` says yes exactly where some LBO and SBO give every offset."""
    rng = random.Random(5)
    yes = 0
    for _ in range(count):
        form = rng.choice(list(canonical_forms(BOOK, None, None)))
        bits = rng.choice((4, 8, 16, 32))
        t = 128 // bits
        shape = tuple(tuple(rng.choice((1, 2, 4, 8, t)) for _ in range(rng.randint(1, 3))) for _ in "mk")
        steps = (0, 1, t, 2 * t, 4 * t, 8 * t, 64 * t, 128 * t)
        tile = Layout(shape, tuple(tuple(rng.choice(steps) for _ in mode) for mode in shape))
        if rng.random() < 0.5:  # near a form, else hardly any is one
            tile = layout(near(form.major, form.swizzle, t, rng))
        assert isinstance(tile, Layout)
        found = match(BOOK, form, Tile(tile, bits, form.swizzle))
        rows, columns = (size_of(mode) for mode in tile.shape)
        if isinstance(found, Attempt):
            if found.coordinate is not None:
                mn, k = found.coordinate
                assert crd2idx((mn, k), tile) == found.found != found.expected
            else:
                along = 2 * t if form.swizzle == ".b32" else t
                step = (
                    (8, along)
                    if form.major == ".k"
                    else (t * WIDTH[form.swizzle], 4 if "32" in form.swizzle[4:] else 8)
                )
                strides = "would be" in found.reason
                assert strides or rows % step[0] or columns % step[1], found
            continue
        yes += 1
        lbo, sbo = (value * 8 // bits for value in (found.lbo, found.sbo))
        for mn, k in product(range(rows), range(columns)):
            assert reference(form.major, form.swizzle, t, lbo, sbo, mn, k) == crd2idx((mn, k), tile)
    assert yes > count // 8


WIDTH = {".none": 1, ".b32": 2, ".b64": 4, ".b128": 8, ".b128_atom32": 8}


def near(major: str, swizzle: str, t: int, rng: random.Random) -> str:
    w, lbo, sbo = WIDTH[swizzle], rng.choice((64, 128)) * t, rng.choice((64, 256)) * t
    wrong = rng.choice((0, 0, t, 1))
    if major == ".k":
        inner = lbo if swizzle == ".none" else t
        return f"((8,4),({t},2)):(({w * t + wrong},{sbo}),(1,{inner}))"
    rows = 4 if swizzle == ".b128_atom32" else 8
    across, along = (sbo, lbo) if swizzle == ".none" else (lbo, sbo)
    return f"(({t},{w},2),({rows},2)):((1,{t},{across}),({w * t + wrong},{along}))"


def size_of(mode: object) -> int:
    if isinstance(mode, tuple):
        product_ = 1
        for part in mode:
            product_ *= size_of(part)
        return product_
    assert isinstance(mode, int)
    return mode


@pytest.mark.parametrize(
    ("swizzle", "bits", "of_bytes", "mode"),
    [
        ((3, 4, 3), 16, True, ".b128"),
        ((3, 3, 3), 16, False, ".b128"),
        ((3, 2, 3), 32, False, ".b128"),
        ((3, 5, 3), 4, False, ".b128"),
        ((2, 4, 3), 8, False, ".b64"),
        ((1, 3, 3), 16, False, ".b32"),
        ((2, 4, 2), 16, False, ".b128_atom32"),
        ((0, 0, 0), 16, False, ".none"),
        ((3, 4, 3), 16, False, None),
        ((3, 3, 3), 16, True, None),
        ((4, 4, 3), 16, True, None),
    ],
)
def test_swizzles_of_bytes_and_of_elements(swizzle, bits, of_bytes, mode):
    assert swizzle_mode(BOOK, Swizzle(*swizzle), bits, of_bytes) == mode


def test_divided_and_whole_layouts_have_the_same_tile():
    whole = operand(BOOK, layout("S<3,3,3> o 0 o (128,64,4):(64,1,8192)"), 16, (64, 16))
    parted = operand(BOOK, layout("((64,16),2,4,4):((64,1),4096,16,8192)"), 16, (64, 16), Swizzle(3, 4, 3))
    for one in (whole, parted):
        found = describe(BOOK.under("ptx"), "wgmma.descriptor", one.tile, ".k")
        assert found.value == 0x4000004000010000
        assert str(one.view) == "(2,4,4):(512,2,1024)"


@pytest.mark.parametrize(
    ("text", "swizzle", "major", "message"),
    [
        ("((64,16),4):((64,1),16)", (2, 4, 3), ".k", r"at \(mn,k\) = \(1,0\) the layout is at byte 128"),
        ("((60,16),4):((64,1),16)", (3, 4, 3), ".k", "the extent 60 of MN is not a multiple of 8"),
        ("((64,16),4):((64,1),16)", (3, 5, 3), ".k", "S<3,5,3> on byte addresses is not a swizzle"),
        ("((64,16),4):((64,1),16)", (2, 5, 2), ".k", "no canonical K-major layout has the swizzle 128b32"),
        ("((64,16),4):((64,1),16)", (3, 4, 3), ".mn", r"\(1,0\)"),
        ("((32,16),4):((1,32),16)", (3, 4, 3), ".mn", "the extent 32 of MN is not a multiple of 64"),
        ("(8,5):(1,8)", (3, 4, 3), ".k", "has no tiles of 64x16"),
        ("64:1", (3, 4, 3), ".k", "has no tiles of 64x16"),
    ],
)
def test_where_there_is_no_descriptor(text, swizzle, major, message):
    extents = (60, 16) if text.startswith("((60") else (32, 16) if text.startswith("((32") else (64, 16)
    with pytest.raises(NoDescriptor, match=message):
        one = operand(BOOK, layout(text), 16, extents, Swizzle(*swizzle))
        describe(BOOK.under("ptx"), "wgmma.descriptor", one.tile, major)


def test_dynamic_strides_are_not_decided():
    one = operand(BOOK, layout("((64,16),4):((?{div=64},1),16)"), 16, (64, 16), Swizzle(3, 4, 3))
    with pytest.raises(Undecided, match="dynamic strides"):
        describe(BOOK.under("ptx"), "wgmma.descriptor", one.tile, ".k")


def test_tiles_between_units_cannot_be_reached():
    one = operand(BOOK, layout("((64,16),4):((64,1),12)"), 16, (64, 16))
    with pytest.raises(NoDescriptor, match="a step of 24 bytes"):
        _ = one.view


def test_what_would_fit_is_named():
    tile = Tile(layout("(64,16):(64,1)"), 16, ".b64")  # type: ignore[arg-type]
    assert fitting(BOOK, tile) == [("k", "128")]
