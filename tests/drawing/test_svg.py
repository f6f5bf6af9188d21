"""SVG is well-formed whatever a picture says."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from drawing.drawn import SVG, says
from tileproof.drawing.grids import to_svg, to_text
from tileproof.drawing.palette import oklch, ramp, wheel
from tileproof.drawing.picture import Cell, Panel, Picture
from tileproof.drawing.svg import escape, number

HOSTILE = "</text><script>alert('x')</script>\"&amp;\x00\x1b]]>\ud800"


def shown(text: str) -> Picture:
    cell = Cell((text,), 1, text)
    return Picture(text, (text,), (Panel(text, (text,), (text,), ((cell,),)),), wheel(4), ((2, text),), text)


def test_hostile_names_are_text():
    root = ElementTree.fromstring(to_svg(shown(HOSTILE)).encode())
    assert not root.findall(f".//{SVG}script")
    assert root.find(f".//{SVG}g/{SVG}title").text == HOSTILE.translate(dict.fromkeys((0, 27, 0xD800), "\ufffd"))


@given(st.text())
def test_any_text_is_well_formed(text: str):
    drawn = to_svg(shown(text))
    assert len(says(drawn)) == 1
    drawn.encode("utf-8")
    assert len(list(to_text(shown(text)))) >= 4


def test_numbers_are_short():
    assert [number(one) for one in (1.0, 0.5, 2.349, 100)] == ["1", "0.5", "2.35", "100"]
    assert escape("<&>\"'") == "&lt;&amp;&gt;&quot;&#39;"


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    linear = []
    for at in (1, 3, 5):
        value = int(colour[at : at + 2], 16) / 255
        linear.append(value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_is_legible_on_every_colour():
    """WCAG 2, AA: a contrast of 4.5 to 1."""
    for palette in (wheel(32), wheel(16), ramp(24)):
        for ink, colours in (("#1f2328", palette.light), ("#e6edf3", palette.dark)):
            for colour in colours:
                bright, dark = sorted((luminance(ink), luminance(colour)), reverse=True)
                assert (bright + 0.05) / (dark + 0.05) >= 4.5, (ink, colour)


def test_colours_without_chroma_are_grey():
    assert (oklch(0, 0, 0), oklch(1, 0, 0)) == ("#000000", "#ffffff")
