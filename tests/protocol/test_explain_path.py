"""``--explain-path``: the way from the cause of a finding to where it shows."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from test_ptx_kernels import MISTAKES

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


PROXY = ['.file 1 "store.cu"\n', "  .loc 1 7 3\n", "  .loc 1 9 5\n"]


def spoilt_ptx() -> str:
    """PTX of lines 7 and 9 of a source, in which threads write and TMA reads without a proxy fence."""
    text, right, wrong, _ = MISTAKES["no proxy fence"]
    names, write, read = PROXY
    text = text.replace(right, wrong).replace("  st.shared.v4", write + "  st.shared.v4")
    return text.replace("  cp.async.bulk.tensor", read + "  cp.async.bulk.tensor").replace(".extern", names + ".extern")


def test_the_path_of_a_finding_in_ptx_has_the_opcodes_as_written_and_the_lines_of_the_source():
    found = next(one for one in tileproof.check(text=spoilt_ptx(), explain_path=True).diagnostics if one.origins)
    assert (found.code, str(found.origins[0])) == ("PR110", "store.cu:7:3")
    write, *path = [(one.message, one.origins[0].line) for one in found.related]
    assert write == ("what goes wrong", 9)
    assert path == [("warps 0 to 3 of CTA 0: bar.sync", 7)]


def test_ptx_keeps_no_path_that_nobody_asked_for():
    (found,) = (one for one in tileproof.check(text=spoilt_ptx()).diagnostics if one.code == "PR110")
    assert [one.message for one in found.related] == ["what goes wrong"]


def test_the_command_shows_the_path_of_ptx(tmp_path: Path):
    text, right, wrong, _ = MISTAKES["a count too low"]
    file = tmp_path / "ring.ptx"
    file.write_text(text.replace(right, wrong), encoding="utf-8")
    shown = CliRunner().invoke(main, ["check", str(file), "--explain-path"]).stdout
    assert "= path: 74:3: warp 0 of CTA 0: mbarrier.arrive.shared::cta.b64\n" in shown
    assert "= path:" not in CliRunner().invoke(main, ["check", str(file)]).stdout
