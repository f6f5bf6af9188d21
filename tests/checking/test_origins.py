"""The user's own line of a finding, by the locations of MLIR and of PTX."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import tileproof
from conftest import EXAMPLES, command
from tileproof.base.diagnostic import Origin
from tileproof.checking.origins import own_first
from tileproof.protocol.diagnosis.search import Search
from tileproof.syntax import SyntaxFault
from tileproof.syntax.locations import aliases, frames

NAMED = {
    "#loc": "loc(unknown)",
    "#loc1": 'loc("kernel.py":57:9)',
    "#loc2": 'loc("c = a + b"(#loc1))',
    "#loc3": "loc(callsite(#loc4 at #loc2))",
    "#loc4": 'loc("helper.py":3:0)',
    "#round": "loc(callsite(#round at #loc1))",
}
USER, HELPER = Origin("kernel.py", 57, 10), Origin("helper.py", 3, 0)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ('loc("kernel.py":57:9)', [USER]),
        ('loc("a \\"b\\".cu":1:2)', [Origin('a "b".cu', 1, 2)]),
        ('loc("k.cu":1:2 to :9)', [Origin("k.cu", 1, 2)]),
        ('loc("k.cu":1:2 to 3:9)', [Origin("k.cu", 1, 2)]),
        ("loc(#loc1)", [USER]),
        ("loc(#loc2)", [USER]),
        ('loc("x(")', []),
        ("loc(unknown)", []),
        ("loc(#loc)", []),
        ("loc(#missing)", []),
        ("loc(#loc3)", [HELPER, USER]),
        ('loc(callsite("helper.py":3:0 at callsite(#loc4 at "kernel.py":57:9)))', [HELPER, USER]),
        ('loc(fused["helper.py":3:0, #loc2])', [HELPER, USER]),
        ('loc(fused<"why">[#loc1])', [USER]),
        ('loc(fused<#llvm.di_subprogram<id = distinct[0]<>, name = "<">>[#loc1])', [USER]),
        ("loc(#round)", [USER]),
    ],
)
def test_places_of_a_location(text: str, places: list[Origin]):
    assert list(frames(text, NAMED)) == places


@pytest.mark.parametrize("text", ["loc(", 'loc("a":1)', "loc(callsite(#a))", "loc(fused[#a)", 'loc("a":1:2) loc(#b)'])
def test_what_is_no_location(text: str):
    with pytest.raises(SyntaxFault):
        frames(text, NAMED)


def test_names_of_locations():
    text = 'module {\n} loc(#loc)\n#loc = loc(unknown)\n#loc1 = loc("a)":1:2)  \n!x = !cute.layout<"1:0">\n'
    assert aliases(text) == {"#loc": "loc(unknown)", "#loc1": 'loc("a)":1:2)'}


def test_the_users_own_file_comes_before_a_library():
    library = Origin("/usr/lib/python3.11/site-packages/quack/gemm.py", 9, 1)
    assert own_first([library, HELPER, USER]) == (HELPER, library, USER)
    assert own_first([library]) == (library,)
    assert own_first([]) == ()


def located(text: str) -> str:
    """IR with a location at each line that has an operation: line N of it comes from line N of kernel.py."""
    lines = text.splitlines()
    opened = [i for i, line in enumerate(lines) if line.rstrip().endswith("{")]
    assert opened, "it has regions"
    out = [
        f'{line} loc("kernel.py":{i}:0)'
        if line.strip() and not line.rstrip().endswith("{") and line[:1] == " "
        else line
        for i, line in enumerate(lines, 1)
    ]
    return "\n".join(out) + "\n"


def test_a_finding_of_a_module_with_locations():
    text = (EXAMPLES / "hopper_gemm.mlir").read_text()
    bare = "\n".join(line for line in text.splitlines() if "wgmma.fence" not in line) + "\n"
    (expected,) = [one for one in tileproof.check(bare).diagnostics if one.severity.value == "error"]
    (found,) = [one for one in tileproof.check(located(bare)).diagnostics if one.severity.value == "error"]
    line = expected.source.position(expected.span.start).line
    assert (found.code, found.origin) == (expected.code, Origin("kernel.py", line, 0))
    assert expected.origins == ()


def test_the_json_has_the_frames_and_the_text_shows_the_source(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernel.py").write_text("a = 1\n    b = mma(a)\n")
    where = 'loc(callsite("/x/site-packages/lib.py":7:4 at "kernel.py":2:8))'
    text = (EXAMPLES / "hopper_gemm.mlir").read_text()
    lines = [line for line in text.splitlines() if "wgmma.fence" not in line]
    (tmp_path / "k.mlir").write_text(
        "\n".join(f"{line} {where}" if line.lstrip().startswith("cute.gemm") else line for line in lines) + "\n"
    )
    done = command("check", "--format", "json", "--select", "PR102", "k.mlir")
    (found,) = json.loads(done.stdout)["diagnostics"]
    own = {"file": "kernel.py", "line": 2, "column": 9}
    assert found["origin"] == own
    assert found["frames"] == [own, {"file": "/x/site-packages/lib.py", "line": 7, "column": 5}]
    shown = command("check", "--select", "PR102", "k.mlir").stdout.splitlines()
    assert shown[0].startswith("kernel.py:2:9: error: ")
    assert shown[1:5] == [
        "    2 |     b = mma(a)",
        "      |         ^",
        "      = by: /x/site-packages/lib.py:7:5",
        f"      = in: k.mlir:{found['line']}:{found['column']}",
    ]
    annotation = command("check", "--format", "github", "--select", "PR102", "k.mlir").stdout
    assert annotation.startswith("::error file=kernel.py,line=2,col=9,title=PR102")


UNROLLED = """.version 8.3
.target sm_90a
.address_size 64
.file 1 "ring.cu"
.visible .entry FIRST() .reqntid 32, 1, 1
{
  .reg .b64 %rd<2>;
  .shared .align 8 .b64 full[8];
  bar.sync 0;
  .loc 1 7 3
  mbarrier.arrive.shared::cta.b64 %rd0, [full];
  .loc 1 7 3
  mbarrier.arrive.shared::cta.b64 %rd0, [full+8];
  .loc 1 9 3
  mbarrier.arrive.shared::cta.b64 %rd0, [full+16];
  .loc 1 7 3
  mbarrier.arrive.shared::cta.b64 %rd0, [full+24];
  ret;
}
"""


def test_copies_of_one_line_of_the_source_are_one_finding_in_each_kernel(monkeypatch: pytest.MonkeyPatch):
    """A loop that the compiler unrolled; another kernel is written by itself."""
    monkeypatch.setattr(Search, "repairs", lambda *_: ([], set()))  # each barrier that is not initialised for itself
    first, second = UNROLLED.replace("FIRST", "one"), UNROLLED[UNROLLED.index(".visible") :].replace("FIRST", "two")
    found = [one for one in tileproof.check(first + second).diagnostics if one.code == "PR120"]
    assert [one.origin.line if one.origin else 0 for one in found] == [7, 9, 7, 9]
    lines = [[place.origins[0].line for place in one.related if place.message == "likewise"] for one in found]
    assert lines == [[7, 7], [], [7, 7], []]
    apart = tileproof.check(re.sub(r"  \.loc.*\n", "", first)).diagnostics
    assert [one.code for one in apart].count("PR120") == 4
