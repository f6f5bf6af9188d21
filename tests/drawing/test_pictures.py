"""Pictures as they are expected, byte for byte; well-formed; and the errors of bad input."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conftest import command
from drawing.drawn import SVG, cells, draw, says

WGMMA = "!cute_nvgpu.sm90.mma<64x64x16, ab_major = (k, mn), elem_type = (f16, f16, f32), frag_kind = ss>"
HERE = Path(__file__).parent
BUGS = HERE.parent / "protocol" / "bugs"
CASES = tomllib.loads((HERE / "cases.toml").read_text(encoding="utf-8"))["case"]


@pytest.mark.parametrize("form", ["text", "svg"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_picture_is_as_expected_byte_for_byte(case: dict, form: str, request: pytest.FixtureRequest, monkeypatch):
    monkeypatch.chdir(HERE.parents[1])
    expected = HERE / "expected" / f"{case['name']}.{'txt' if form == 'text' else form}"
    drawn = draw(*case["draw"], "--format", form)
    if request.config.getoption("--regenerate"):
        expected.write_text(drawn, encoding="utf-8")
    assert drawn == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_picture_is_well_formed_and_each_colour_is_declared(case: dict):
    drawn = (HERE / "expected" / f"{case['name']}.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(drawn)
    width, height = float(root.get("width")), float(root.get("height"))
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    style = root.findtext(f"{SVG}style")
    used = set()
    for rectangle in root.iter(f"{SVG}rect"):
        used |= {one for one in rectangle.get("class").split() if one[0] == "h" and one[1:].isdigit()}
        reach = [float(rectangle.get(a, 0)) + float(rectangle.get(b)) for a, b in (("x", "width"), ("y", "height"))]
        assert reach[0] <= width + 0.01 and reach[1] <= height + 0.01, "a cell is outside of the picture"
    for hue in used:
        assert re.search(rf"\.tileproof\.[a-z]+\d+ \.{hue}{{fill:#", style) and style.count(f"--{hue[0:]}:") == 2, (
            "light and dark"
        )
    where = [one.get("data-at") for one in cells(drawn)]
    assert len(set(where)) == len(where)
    assert all(says(drawn))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("layout", "(4,8"), "column 5: unexpected end"),
        (("layout", "(?,8):(1,4)"), "(?,8):(1,4) has dynamic leaves: only a static layout has a picture"),
        (("layout", "20"), "20 is no layout, which has a shape and strides"),
        (("layout", "S<3,4,3>"), "S<3,4,3> is a swizzle: `tileproof draw swizzle` draws it"),
        (("layout", "size((4,8))"), "32 is no layout, which has a shape and strides"),
        (("layout", "(4,8):(1,4)", "--colour", "bank"), "colours by bank require the type of an element: --element"),
        (("swizzle", "(4,8)"), "(4,8) has no swizzle: use one such as S<3,4,3>"),
        (("swizzle", "S<3,4,1>"), "the swizzle S<3,4,1> reads bits that it changes"),
        (("swizzle", "S<1,0,3>"), "are not contiguous after the swizzle"),
        (("swizzle", "S<3,40,3>"), "S<3,40,3> changes bits far above a row"),
        (("swizzle", "S<3,4,3>", "--vector", "3"), "a lane moves 1, 2, 4, 8, 16 bytes, not 3 elements of 16 bits"),
        (("swizzle", "S<3,4,3>", "--element", "f17"), "unknown element type 'f17'"),
        (("swizzle", "S<3,4,3>", "--element", "e2m1"), "elements of 4 bits are no whole bytes"),
        (("swizzle", "S<3,3,3> o 0 o (8,20):(20,1)", "--vector", "8"), "do not divide the 20 elements along mode 1"),
        (("swizzle", "S<3,3,3> o 0 o (8,(2,4)):(8,(1,?))"), "is not a static layout of rows and columns"),
        (("tv", "nonsense"), "'nonsense' is not the type of an atom"),
        (("tv", "!cute_nvgpu.sm999.mma<1x1x1>"), "who holds the operands of cute_nvgpu.sm999.mma is not known"),
        (
            ("tv", "!cute_nvgpu.sm80.mma<16x8x16, elem_type = (f16, f16, f32)>", "--operand", "Q"),
            "known operands: A, B",
        ),
        (("descriptor", WGMMA), "missing element type: use --element, such as --element f16"),
        (
            ("descriptor", WGMMA, "--element", "f16", "--swizzle", "7"),
            "no canonical layout of the operand has the swizzle",
        ),
        (("descriptor", WGMMA, "--element", "f16", "--layout", "(64,64):(63,1)"), "is not canonical"),
        (("descriptor", WGMMA, "--element", "f16", "--layout", "(64"), "column 4: unexpected end"),
        (
            ("descriptor", "!cute_nvgpu.sm80.mma<16x8x16, elem_type = (f16, f16, f32)>", "--element", "f16"),
            "descriptor",
        ),
        (("protocol", "no/such/file.mlir"), "no/such/file.mlir: No such file or directory"),
        (("protocol", str(BUGS / "23_ring_parity.mlir"), "--format", "svg"), "2 pictures, and an SVG file has one"),
        (
            ("protocol", str(BUGS / "23_ring_parity.mlir"), "--kernel", "other"),
            "no kernel 'other' that uses a protocol",
        ),
        (("protocol", str(BUGS)), "files; draw one"),
        (("smem", "no/such/file.mlir"), "no/such/file.mlir: No such file or directory"),
        (("tmem", str(BUGS / "23_ring_parity.mlir")), "no kernel of which the use of tensor memory can be followed"),
        (
            ("protocol", str(BUGS.parents[1] / "report" / "data" / "unfollowed.ptx")),
            "no kernel that uses a protocol and can be followed",
        ),
        (("smem", "-"), "tileproof: -: holds no IR"),
        (("layout", "(4,8):(1,4)", "--format", "svg", "-o", "no/such/folder/a.svg"), "No such file or directory"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_input_is_one_line_and_status_2(arguments: tuple[str, ...], said: str):
    done = command("draw", *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr


def test_malformed_ptx_is_named_with_its_place():
    done = command("draw", "protocol", "-", stdin=b".version 8.0\n.target sm_90a\n.address_size 64\n.entry f() {")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tileproof: -:4:")


def test_the_form_is_that_of_the_file(tmp_path: Path):
    for name, begins in (("a.svg", "<svg"), ("a.html", "<!doctype html>"), ("a.htm", "<!doctype"), ("a.txt", "(4,8)")):
        draw("layout", "(4,8):(8,1)", "-o", str(tmp_path / name))
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(begins)
