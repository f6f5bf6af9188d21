"""Timelines: the findings of a kernel are in its picture, and what comes to barriers adds up."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import tileproof
from conftest import command, corpus, some
from drawing.drawn import SVG, cells, draw, says

BUGS = sorted((Path(__file__).parents[1] / "protocol" / "bugs").glob("*.mlir"))
PARITY = next(path for path in BUGS if path.name == "23_ring_parity.mlir")


def marked(drawn: str) -> list[str]:
    """What the outlined cells of a picture say."""
    return [
        one.findtext(f"{SVG}title") or ""
        for one in cells(drawn)
        if "bad" in one.find(f"{SVG}rect").get("class", "").split()
    ]


@pytest.mark.parametrize("path", BUGS, ids=lambda path: path.stem)
def test_the_first_findings_of_each_kernel_are_in_its_picture(path: Path):
    done = command("draw", "protocol", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    drawn = " ".join(done.stdout.split())
    found = [one for one in tileproof.check(path).diagnostics if one.code.startswith("PR1") and one.code != "PR190"]
    by_code = {(one.code, one.source.position(one.span.start).line) for one in found}
    shown = {(code, int(line)) for code, line in re.findall(r"(PR\d+) at line (\d+):", drawn)}
    assert shown <= by_code
    assert shown or not found


def test_threads_that_wait_for_ever_are_outlined_with_their_barriers():
    found = marked(draw("protocol", str(PARITY), "--kernel", "1", "--format", "svg"))
    assert sum("waits for ever at line" in one for one in found) == 3
    assert "'full_mbar'[0] at the end, phase 1: 1 of 1 to come" in found
    assert marked(draw("protocol", str(PARITY), "--kernel", "2", "--format", "svg")) == []


def test_the_bytes_that_copies_bring_are_those_that_were_announced():
    said = [one for one in says(draw("protocol", str(PARITY), "--kernel", "2", "--format", "svg")) if "phase" in one]
    for phase in (0, 1):
        mine = " ".join(one for one in said if f"'full_mbar'[0], phase {phase}:" in one)
        expected = sum(map(int, re.findall(r"expect (\d+)", mine)))
        assert expected == sum(map(int, re.findall(r"copy (\d+)", mine))) == 8192


PTX = BUGS[0].parents[1] / "ptx"
PTX_BUGS = tomllib.loads((PTX / "bugs.toml").read_text(encoding="utf-8"))["bug"]


@pytest.mark.parametrize("bug", some(PTX_BUGS, 4), ids=lambda bug: bug["report"])
def test_what_check_finds_in_ptx_is_in_its_picture(bug: dict):
    text = (PTX / f"{bug['kernel']}.ptx").read_text(encoding="utf-8").replace(bug["right"], bug["wrong"])
    found = [
        one for one in tileproof.check(text=text).diagnostics if one.code.startswith("PR1") and one.code != "PR190"
    ]
    done = command("draw", "protocol", "-", stdin=text.encode())
    assert (done.returncode, done.stderr) == (0, "")
    shown = re.findall(r"(PR\d+) at line (\d+):", " ".join(done.stdout.split()))
    at = {(one.code, str(one.source.position(one.span.start).line)) for one in found}
    assert set(shown) == at, "all that check reports, and no more"
    assert "not confirmed" not in done.stdout


@corpus("corpus/*/dense_gemm__default.mlir")
def test_a_real_kernel_is_drawn_within_its_bounds(path: Path):
    drawn = draw("protocol", str(path), "--format", "svg")
    assert len(drawn) < 1_000_000
    found = {one.code for one in tileproof.check(path).diagnostics if one.code.startswith("PR1")}
    assert set(re.findall(r"(PR\d+) at line", drawn)) == found
    assert ("no finding" in drawn) == (not found)
    assert all("waits for ever" not in one for one in marked(drawn))
