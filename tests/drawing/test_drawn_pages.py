"""Pictures as HTML pages, in a browser: the keyboard moves between cells, and what they are is read out."""

from __future__ import annotations

import re
from pathlib import Path

import chromium
import pytest

from drawing.drawn import draw
from tileproof.drawing.page import page

OUTPUT = re.compile(r"<output[^>]*>(.*?)</output>")


def read_out(shown: str) -> str:
    return OUTPUT.search(shown)[1].replace("&gt;", ">")


@chromium.needed
@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ((), "Move over a cell, or press an arrow key."),
        (("ArrowDown",), "(0,0) -> 0, byte 0, bank 0"),
        (("ArrowDown", "ArrowRight", "ArrowRight", "ArrowDown"), "(1,2) -> 10, byte 40, bank 10"),
        (("End",), "(3,7) -> 31, byte 124, bank 31"),
        (("End", "ArrowDown", "ArrowUp"), "(2,7) -> 23, byte 92, bank 23"),
    ],
)
def test_arrows_move_between_cells(keys: tuple[str, ...], said: str, tmp_path: Path):
    drawn = draw("layout", "(4,8):(8,1)", "--element", "f32", "--format", "html")
    shown = chromium.dom(drawn, tmp_path, chromium.press(*keys))
    assert read_out(shown) == said
    assert "SCRIPT ERROR" not in shown


@chromium.needed
def test_cells_are_reached_by_tab_and_across_panels_and_gaps(tmp_path: Path):
    drawn = draw("layout", "(2,2,2):(1,2,4)", "--format", "html")
    shown = chromium.dom(drawn, tmp_path, chromium.press("Home", "ArrowRight", "ArrowRight"))
    assert read_out(shown) == "(0,0,1) -> 4"
    assert shown.count('tabindex="0"') == 8


def test_a_page_needs_nothing_else_and_escapes_its_title():
    drawn = page("<script>alert(1)</script>", [])
    assert "<script>alert" not in drawn
    assert not re.search(r"\b(src|href)=|https?:|url\(|@import", drawn)
    assert "default-src 'none'" in drawn


def test_the_only_address_in_a_picture_is_the_name_of_svg():
    drawn = draw("layout", "(4,8):(8,1)", "--format", "html")
    assert set(re.findall(r"https?://[^\"' ]+", drawn)) == {"http://www.w3.org/2000/svg"}
