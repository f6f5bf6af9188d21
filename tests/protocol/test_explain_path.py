"""``--explain-path``: the way from the cause of a finding to where it shows."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

import tileproof
from tileproof.cli import main

RELEASED_EARLY = Path(__file__).parent / "bugs" / "18_released_before_wait.mlir"


def steps(explain: bool) -> list[tuple[str, str]]:
    """The first finding's places, each with the operation that stands there."""
    found = tileproof.check(RELEASED_EARLY, explain_path=explain).diagnostics[0]
    text = found.source.text
    return [(place.message, text[place.span.start : place.span.end]) for place in found.related]


def test_a_finding_names_the_place_of_its_cause():
    shows, read, *others = steps(explain=False)
    assert shows == ("what goes wrong", "cute.copy")
    assert read == ("the read by wgmma", "cute.gemm")
    assert [operation for _, operation in others] == ["cute.copy", "nvvm.mbarrier.arrive"]


def test_the_path_goes_from_the_reader_over_the_barrier_to_the_writer():
    path = steps(explain=True)[len(steps(explain=False)) :]
    assert path == [
        ("warps 0 to 3 of CTA 0: cute.gemm", "cute.gemm"),
        ("warps 0 to 3 of CTA 0: nvvm.wgmma.commit.group.sync.aligned", "nvvm.wgmma.commit.group.sync.aligned"),
        ("warps 0 to 3 of CTA 0: nvvm.mbarrier.arrive", "nvvm.mbarrier.arrive"),
        ("warp 4 of CTA 0: nvvm.mbarrier.try_wait.parity", "nvvm.mbarrier.try_wait.parity"),
        ("warp 4 of CTA 0: nvvm.mbarrier.arrive.expect_tx", "nvvm.mbarrier.arrive.expect_tx"),
    ]


def run(*arguments: str) -> str:
    return CliRunner().invoke(main, ["check", str(RELEASED_EARLY), *arguments]).stdout


def test_text_shows_the_path_where_it_is_asked_for():
    assert "= path:" not in run()
    assert "= path: 67:18: warps 0 to 3 of CTA 0: nvvm.mbarrier.arrive\n" in run("--explain-path")


def test_programs_get_the_same_places():
    places = json.loads(run("--explain-path", "--format", "json"))["diagnostics"][0]["related"]
    assert places[6] == {"line": 67, "column": 18, "message": "warps 0 to 3 of CTA 0: nvvm.mbarrier.arrive"}
    (result, *_) = json.loads(run("--format", "sarif"))["runs"][0]["results"]
    _, place, *_ = result["relatedLocations"]
    assert place["message"]["text"] == "the read by wgmma"
    assert place["physicalLocation"]["region"]["startLine"] == 64
