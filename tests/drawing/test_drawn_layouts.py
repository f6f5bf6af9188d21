"""The picture of a layout has each element once, at its offset, in its bank."""

from __future__ import annotations

import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tileproof
from drawing.drawn import draw, says
from tileproof.drawing.layouts import picture_of
from tileproof.drawing.picture import CELLS, COLUMNS, PANELS, ROWS
from tileproof.layout import ComposedLayout, Layout, Swizzle, crd2idx, make_layout, size
from tileproof.syntax.layouts import layout as parsed

LAYOUTS = [
    "(4,8):(8,1)",
    "((2,2),8):((1,16),2)",
    "(4,8,3):(24,1,8)",
    "(3,5,2,2):(1,-3,15,30)",
    "S<3,3,3> o 0 o (8,64):(64,1)",
    "(0,0) o (4,4):(1@0,1@1)",
    "(37):(3)",
    "7:1",
]


@pytest.mark.parametrize("text", LAYOUTS)
def test_each_element_is_there_once_with_its_offset(text: str):
    value = parsed(text)
    shown = [(cell.lines[0], cell.says) for panel in picture_of(value).panels for cell in panel.all_cells()]
    assert len(shown) == size(value)
    found = {}
    for label, said in shown:
        coordinate, _, offset = said.partition(" -> ")
        assert offset == label
        found[eval(coordinate.partition(" = ")[0])] = eval(offset)
    assert len(found) == len(shown)
    assert all(found[at] == crd2idx(at, value) for at in found)


def test_banks_are_words_of_four_bytes_modulo_32():
    for said in says(draw("layout", "S<3,3,3> o 0 o (8,64):(64,1)", "--element", "f16", "--format", "svg")):
        offset, byte, bank = map(int, re.search(r"-> (\d+), byte (\d+), bank (\d+)", said).groups())
        assert (byte, bank) == (2 * offset, (offset % 64) // 2)


def test_sub_byte_elements_have_fractions_of_bytes():
    said = says(draw("layout", "(2,3):(3,1)", "--element", "e2m1", "--format", "svg"))
    assert said[1] == "(0,1) -> 1, byte 0.5, bank 0"


@pytest.mark.parametrize("text", ["(100000,100000):(1,100000)", "(2,3,100000,100000):(1,2,6,7)", "999999937:1"])
def test_a_large_layout_is_cut_and_says_so(text: str):
    drawn = picture_of(parsed(text))
    assert len(drawn.panels) <= PANELS
    assert all(len(panel.rows) <= ROWS and len(panel.columns) <= COLUMNS for panel in drawn.panels)
    shown = sum(1 for panel in drawn.panels for _ in panel.all_cells())
    assert shown <= CELLS
    assert f"cut: {size(parsed(text)) - shown:,} of {size(parsed(text)):,} elements are not shown" in drawn.notes


def extents() -> st.SearchStrategy:
    return st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)


@settings(deadline=None)
@given(extents(), st.data())
def test_the_notes_count_as_enumeration_does(shape: tuple[int, ...], data: st.DataObject):
    strides = tuple(data.draw(st.integers(0, 40)) for _ in shape)
    value = make_layout(shape, strides)
    offsets = [crd2idx(i, value) for i in range(size(value))]
    drawn = picture_of(value)
    shown = [int(cell.lines[0]) for panel in drawn.panels for cell in panel.all_cells()]
    if len(shown) == len(offsets):
        assert sorted(shown) == sorted(offsets)
        distinct = len(set(offsets))
        assert (f"{distinct:,} distinct" in drawn.notes[0]) == (distinct < len(offsets))


def test_notebooks_show_the_picture():
    value = tileproof.Layout((4, 8), (8, 1))
    ElementTree.fromstring(value._repr_svg_())
    assert value._repr_svg_() in value._repr_html_()
    composed = ComposedLayout(Swizzle(1, 0, 2), 0, Layout((4, 4), (4, 1)))
    assert composed._repr_svg_().count('class="cell"') == 16
    dynamic = parsed("(?,8):(1,4)")
    assert (dynamic._repr_svg_(), dynamic._repr_html_()) == (None, None)


def test_the_package_lists_its_public_names_and_draws_only_when_asked():
    program = (
        "import sys, tileproof; assert set(tileproof.__all__) <= set(dir(tileproof)); tileproof.Layout;"
        "assert not any('drawing' in name for name in sys.modules);"
        "tileproof.Layout((2, 2), (1, 2))._repr_svg_(); assert 'tileproof.drawing.layouts' in sys.modules;"
        "assert 'rich' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
