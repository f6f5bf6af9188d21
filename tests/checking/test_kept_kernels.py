"""Outcomes of kernels in PTX that are kept: the same report as without, and never that of something else."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from conftest import corpus
from tileproof.base.source import Source
from tileproof.checking import kept_kernels, kept_outcomes, results
from tileproof.checking.implemented import load_implemented
from tileproof.checking.ptx import check_ptx
from tileproof.judge.launches import StatedLaunch
from tileproof.judge.outcome import FileReport, Options
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.load import default_files

PTX = Path(__file__).parents[1] / "protocol" / "ptx"
BUGS = tomllib.loads((PTX / "bugs.toml").read_text(encoding="utf-8"))["bug"]
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(PTX.glob("*.ptx"))}
TEXTS |= {bug["report"]: TEXTS[bug["kernel"]].replace(bug["right"], bug["wrong"]) for bug in BUGS}

HEADER = """.version 8.7
.target sm_90a
.address_size 64
.file 1 "kernel.cu"
.extern .shared .align 1024 .b8 smem[];
"""
KERNEL = """.visible .entry NAME(.param .u64 NAME_param_0)
.reqntid 64, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<4>;
  .loc 1 7 3
  ld.param.u64 %rd1, [NAME_param_0];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra $L__BB0_1;
  mbarrier.init.shared::cta.b64 [%r2], COUNT;
$L__BB0_1:
  bar.sync 0;
  .loc 1 9 3
  mbarrier.arrive.shared::cta.b64 _, [%r2];
$L__BB0_2:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra $L__BB0_2;
  ret;
}
"""


def kernel(name: str, count: int = 65, function: int = 0) -> str:
    """A kernel that waits for ever where the barrier wants another count than 64."""
    return KERNEL.replace("NAME", name).replace("COUNT", str(count)).replace("BB0_", f"BB{function}_")


@pytest.fixture
def book() -> Rulebook:
    return load_implemented(default_files())


@pytest.fixture
def studied(book: Rulebook, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that are studied, in order, and nothing known at first."""
    names: list[str] = []
    real = kept_kernels.verify_function

    def verify(book: Rulebook, graph, *given: object, **said: object):
        names.append(graph.function.name)
        return real(book, graph, *given, **said)

    kept_outcomes.memory.cache_clear()
    monkeypatch.setattr(kept_kernels, "verify_function", verify)
    return names


def check(book: Rulebook, text: str, options: Options | None = None) -> FileReport:
    return check_ptx(book, Source("k.ptx", text), options or Options("ptx"))


def fresh(book: Rulebook, text: str, options: Options | None = None) -> FileReport:
    kept_outcomes.memory.cache_clear()
    found = check(book, text, options)
    kept_outcomes.memory.cache_clear()
    return found


def codes(report: FileReport) -> list[str]:
    return [one.code for one in report.diagnostics]


def moved(text: str) -> str:
    """The same kernels at other lines and offsets, with another comment inside."""
    first = text.index(";", text.index("{")) + 1
    return f"// moved\n\n\n{text[:first]}\n  // and on\n{text[first:]}"


def often(number: int, explain: bool) -> pytest.MarkDecorator | tuple[()]:
    """The plain run takes every eighth text, the sweep the others and that one with its paths."""
    if number % 8:
        return pytest.mark.long if explain else pytest.mark.sweep
    return pytest.mark.sweep if explain else ()


@pytest.mark.parametrize(
    ("name", "explain"),
    [
        pytest.param(name, explain, marks=often(i, explain), id=f"{name}-explained" if explain else name)
        for i, name in enumerate(TEXTS)
        for explain in (False, True)
    ],
)
def test_what_is_kept_is_what_a_study_finds(book: Rulebook, studied: list[str], name: str, explain: bool):
    text, options = TEXTS[name], Options("ptx", explain_path=explain)
    expected, there = fresh(book, text, options), fresh(book, moved(text), options)
    assert there.kernels[0].span != expected.kernels[0].span
    check(book, text, options)
    studied.clear()
    assert check(book, text, options) == expected
    assert check(book, moved(text), options) == there
    assert studied == []


def test_equal_kernels_are_studied_once_and_each_has_the_findings(book: Rulebook, studied: list[str]):
    text = HEADER + kernel("alpha") + kernel("omegas", function=1)
    found = check(book, text)
    assert studied == ["alpha"]
    alone = [check(book, HEADER + one) for one in (kernel("alpha"), kernel("omegas", function=1))]
    assert codes(found) == codes(alone[0]) + codes(alone[1]) == ["PR125"] * 2
    assert [one.name for one in found.kernels] == ["alpha", "omegas"]
    messages = [one.message for one in found.diagnostics]
    lines = [one.source.position(one.span.start).line for one in found.diagnostics]
    apart = len(kernel("alpha").splitlines())
    assert lines[1] - lines[0] == apart
    assert messages[1] == re.sub(r"line (\d+)", lambda one: f"line {int(one[1]) + apart}", messages[0])
    assert [one.origins[0].line for one in found.diagnostics] == [7, 7]
    spans = [[(other.span.start, other.span.end) for other in one.related] for one in found.diagnostics]
    shift = text.index(".visible .entry omegas") - text.index(".visible .entry alpha")
    longer = len("omegas") - len("alpha")  # in the name, the parameter, and its use
    assert spans[1] == [(start + shift + 3 * longer, end + shift + 3 * longer) for start, end in spans[0]]


def test_the_kernel_that_was_edited_is_studied_alone(book: Rulebook, studied: list[str]):
    check(book, HEADER + kernel("alpha") + kernel("omegas", 66))
    studied.clear()
    edited = HEADER + kernel("alpha", 64) + kernel("omegas", 66)
    found = check(book, edited)
    assert studied == ["alpha"]
    assert codes(found) == ["PR125"]
    assert found == fresh(book, edited)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("bar.sync 0;", "bar.sync 1;"),
        (".reqntid 64", ".reqntid 96"),
        (".extern .shared .align 1024 .b8 smem[]", ".shared .align 1024 .b8 smem[64]"),
        (".target sm_90a", ".target sm_100a"),
        ("bra $L__BB0_2", "bra $L__BB0_1"),
    ],
)
def test_another_text_around_or_inside_is_another_kernel(book: Rulebook, studied: list[str], right: str, wrong: str):
    text = HEADER + kernel("alpha")
    assert text.count(right) == 1
    check(book, text)
    studied.clear()
    check(book, text.replace(right, wrong))
    assert studied == ["alpha"]


def test_places_in_the_source_may_change_and_are_those_of_the_file(book: Rulebook, studied: list[str]):
    check(book, HEADER + kernel("alpha"))
    studied.clear()
    text = (HEADER + kernel("alpha")).replace(".loc 1 7 3", ".loc 1 1234 3").replace("kernel.cu", "other.cu")
    found = check(book, text)
    assert studied == []
    assert [str(one.origins[0]) for one in found.diagnostics] == ["other.cu:1234:3"]


def test_a_device_function_that_is_called_is_read(book: Rulebook, studied: list[str]):
    helper = ".func helper()\n{\n  .reg .b32 %r<3>;\n  add.s32 %r1, %r2, 1;\n  ret;\n}\n"
    text = HEADER + helper + kernel("alpha").replace("  ret;", "  call helper, ();\n  ret;")
    other = text.replace("add.s32", "sub.s32")
    check(book, text)
    check(book, other)
    assert studied == ["alpha", "alpha"]
    unused = HEADER + helper + kernel("alpha")
    check(book, unused)
    studied.clear()
    check(book, unused.replace("add.s32", "sub.s32"))
    assert studied == []


def test_options_of_the_study_are_part_of_what_is_kept(book: Rulebook, studied: list[str]):
    text = HEADER + kernel("alpha")
    launches = (StatedLaunch("alpha", (64, 1, 1)),)
    others = ({"explain_path": True}, {"thorough": True}, {"launches": launches})
    for options in (Options("ptx"), *(Options("ptx", **one) for one in others)):
        check(book, text, options)
    assert len(studied) == 4


def test_a_name_that_is_said_in_words_is_not_said_of_another(book: Rulebook, studied: list[str]):
    """`mbarrier` is in the text of its findings, so what is known of it is of no use to a kernel of another name."""
    check(book, HEADER + kernel("mbarrier") + kernel("omegas"))
    assert studied == ["mbarrier", "omegas"]


def test_the_cache_keeps_kernels_for_other_processes(
    book: Rulebook, studied: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(results, "folder", lambda: tmp_path)
    text, options = HEADER + kernel("alpha") + kernel("omegas", 66), Options("ptx", state="these rules")
    expected = fresh(book, text, options)
    studied.clear()
    assert check(book, text, options) == expected
    assert studied == []
    kept_outcomes.memory.cache_clear()
    check(book, text, Options("ptx", state="other rules"))
    kept_outcomes.memory.cache_clear()
    check(book, text, Options("ptx"))
    assert studied == ["alpha", "omegas"] * 2
    for path in tmp_path.glob("*.kernel"):
        path.write_bytes(path.read_bytes()[:-9])
    assert fresh(book, text, options) == expected
    assert studied == ["alpha", "omegas"] * 3


@pytest.mark.sweep
@corpus("ptx/*.ptx", every=24)
def test_real_kernels_have_the_same_report(book: Rulebook, path: Path):
    text = path.read_text(encoding="utf-8")
    expected = fresh(book, moved(text))
    check(book, text)
    assert check(book, moved(text)) == expected
