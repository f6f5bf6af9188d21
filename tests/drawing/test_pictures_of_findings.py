"""The pictures in a report: each finding has that of what it is about, and a page stays small."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import tileproof
from conftest import EXAMPLES, command
from drawing.drawn import SVG
from tileproof.drawing import findings
from tileproof.drawing.findings import pictures_of

ROOT = Path(__file__).parents[1]
PARITY = ROOT / "protocol" / "bugs" / "23_ring_parity.mlir"
PTX = ROOT / "protocol" / "ptx" / "released_stage.ptx"
UNCOMMITTED = PTX.read_text(encoding="utf-8").replace("  wgmma.commit_group.sync.aligned;\n", "")
GEMM = (EXAMPLES / "hopper_gemm.mlir").read_text(encoding="utf-8")


def drawn(text: str) -> dict[str, list[str]]:
    """The titles of the pictures of each finding that has any, by its code."""
    report = tileproof.check(text=text)
    found = pictures_of(report).by_finding
    return {one.code: [title for title, _ in found.get(i, ())] for i, one in enumerate(report.diagnostics)}


@pytest.mark.parametrize(
    "text",
    [PARITY.read_text(encoding="utf-8"), UNCOMMITTED],
    ids=["IR", "PTX"],
)
def test_a_finding_of_the_protocol_has_the_run_around_it_with_its_step_outlined(text: str):
    report = tileproof.check(text=text)
    found = pictures_of(report)
    wrong = [i for i, one in enumerate(report.diagnostics) if one.severity.value == "error"]
    assert wrong and set(wrong) <= set(found.by_finding)
    for i in wrong:
        [(title, svg)] = found.by_finding[i]
        assert title.startswith("protocol of ")
        root = ElementTree.fromstring(svg)
        line = report.diagnostics[i].source.position(report.diagnostics[i].span.start).line
        marked = [
            one.findtext(f"{SVG}title") or ""
            for one in root.iter(f"{SVG}g")
            if any("bad" in rect.get("class", "").split() for rect in one.iter(f"{SVG}rect"))
        ]
        assert any(f"at line {line}:" in one or "waits for ever at line" in one for one in marked)


def test_an_operand_is_drawn_as_its_descriptor_states_it_or_as_it_is_laid_out():
    assert drawn(GEMM.replace("align<1024>", "align<512>"))["DS124"] == ["wgmma.descriptor, 128 x 16, swizzle 128"]
    of_other = drawn(GEMM.replace("S<3,4,3>", "S<2,4,3>"))["DS121"]
    assert of_other == ["(128,16):(64,1)", "((8,16),(8,2)):((32,512),(1,8))"]


@pytest.mark.sweep
def test_a_page_has_so_many_pictures_and_says_how_many_findings_have_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(findings, "_PICTURES", 1)
    other = UNCOMMITTED[UNCOMMITTED.index(".visible") :].replace("released_stage", "other")
    report = tileproof.check(text=UNCOMMITTED + other)
    found = pictures_of(report)
    assert len(found.by_finding) == 1
    assert found.left_out == sum(one.severity.value != "note" for one in report.diagnostics) - 1
    monkeypatch.setattr(findings, "_BYTES", 100)
    assert pictures_of(report).by_finding == {}


def test_the_page_that_the_command_writes_has_the_pictures_and_loads_nothing():
    page = command("check", "-", "--format", "html", stdin=UNCOMMITTED.encode()).stdout
    assert page.count("<details><summary>protocol of ") == page.count("<svg") == 1
    assert "url(" not in page and " src=" not in page and 'href="http:' not in page


def test_pictures_with_other_palettes_on_one_page_keep_their_colours():
    wrong = GEMM.replace("align<1024>", "align<512>")
    wrong = "".join(line for line in wrong.splitlines(keepends=True) if "wgmma.fence" not in line)
    page = command("check", "-", "--format", "html", stdin=wrong.encode()).stdout
    colours: dict[tuple[str, str], set[str]] = {}
    for palette, hue, colour in re.findall(r"(\.tileproof[.\w]*) \.(h\d+)\{fill:(#\w+)", page):
        colours.setdefault((palette, hue), set()).add(colour)
    assert {palette for palette, _ in colours} == {".tileproof.wheel16", ".tileproof.wheel32"}
    assert all(len(some) == 1 for some in colours.values())
