"""Files and kernels that several processes share: the same report, and each kernel studied once."""

from __future__ import annotations

from pathlib import Path

import pytest

from checking.test_kept_functions import kernel as function
from checking.test_kept_functions import module
from checking.test_kept_kernels import HEADER, kernel
from tileproof.api import check_all
from tileproof.base.source import Source
from tileproof.checking import kept_outcomes, results
from tileproof.checking.implemented import load_implemented
from tileproof.checking.processes import check_in_processes
from tileproof.checking.reading import kernels_named
from tileproof.checking.studies import Studies, remember
from tileproof.judge.outcome import FileReport, Options
from tileproof.rulebase.load import default_files

FILES = default_files()
BOOK = load_implemented(FILES)
OPTIONS = Options("ptx")
COUNTS = (64, 65, 66)
PTX = HEADER + "".join(kernel(f"k{at}", count, at) for at, count in enumerate(COUNTS))
IR = module(*(function(f"k{at}", count) for at, count in enumerate(COUNTS)))
TEXTS = pytest.mark.parametrize(("suffix", "text"), [(".ptx", PTX), (".mlir", IR)], ids=["ptx", "ir"])


@pytest.fixture(autouse=True)
def _nothing_known():
    kept_outcomes.memory.cache_clear()
    yield
    kept_outcomes.memory.cache_clear()


def codes(report: object) -> list[str]:
    assert isinstance(report, FileReport)
    return [one.code for one in report.diagnostics]


def shared(names: list[str], options: Options = OPTIONS, jobs: int = 2) -> tuple[list[object], list[int], int]:
    """The reports of some files, how many kernels of each were shared, and the steps that were done."""
    told: list[int] = []
    steps: list[None] = []
    found = check_in_processes(jobs, names, FILES, options, lambda: steps.append(None), told.append)
    return list(found), told, len(steps)


@TEXTS
def test_the_kernels_of_a_file_are_studied_each_by_itself(suffix: str, text: str, tmp_path: Path):
    path = tmp_path / f"kernels{suffix}"
    path.write_text(text, encoding="utf-8")
    ((report,), told, steps) = shared([str(path)])
    assert (told, steps) == ([3], 4)  # three kernels, then the file
    assert codes(report).count("PR125") == 2
    assert [report] == list(check_all(BOOK, [str(path)], OPTIONS).files)


@TEXTS
def test_what_others_studied_is_not_studied_again(
    suffix: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    source = Source(f"kernels{suffix}", text)
    studies = Studies(BOOK, source, OPTIONS)
    assert studies.unknown() == (0, 1, 2)
    found = [studies.study(number) for number in studies.unknown()]
    assert [len(one) for one in found] == [1, 1, 1]
    kept_outcomes.memory.cache_clear()
    for one in found:
        remember(BOOK, one)
    assert Studies(BOOK, source, OPTIONS).unknown() == ()

    def none(*_: object) -> None:
        raise AssertionError("a kernel is studied again")

    monkeypatch.setattr("tileproof.checking.kept_kernels.verify_function", none)
    monkeypatch.setattr("tileproof.protocol.verify._studied", none)
    (report,) = check_all(BOOK, [source], OPTIONS).files
    assert codes(report).count("PR125") == 2


@pytest.mark.parametrize(
    "source",
    [
        Source("k.ptx", HEADER + "".join(kernel(f"k{at}", 65, at) for at in range(3))),
        Source("k.mlir", module(*(function(f"k{at}") for at in range(3)))),
    ],
    ids=["ptx", "ir"],
)
def test_kernels_that_are_alike_are_one_study(source: Source):
    assert Studies(BOOK, source, OPTIONS).unknown() == (0,)


@pytest.mark.parametrize(
    "source",
    [Source("k.ptx", PTX.replace("bar.sync 0;", "bar.sync 0")), Source("k.mlir", IR.replace("nvvm.barrier\n", "%\n"))],
    ids=["ptx", "ir"],
)
def test_malformed_texts_have_no_studies(source: Source):
    assert Studies(BOOK, source, OPTIONS).kernels == []


@TEXTS
def test_a_kernel_that_a_file_has_no_more_is_no_fault(suffix: str, text: str):
    assert Studies(BOOK, Source(f"k{suffix}", text), OPTIONS).study(3) == {}


def test_one_small_file_among_large_ones_is_not_shared(tmp_path: Path):
    small, large = tmp_path / "small.ptx", tmp_path / "large.ptx"
    small.write_text(PTX, encoding="utf-8")
    large.write_text(PTX + "//" + " " * 10 * len(PTX), encoding="utf-8")
    reports, told, steps = shared([str(small), str(tmp_path / "none.ptx"), str(large)])
    assert (told, steps) == ([3], 6)
    assert [getattr(one, "reason", None) for one in reports] == [None, "No such file or directory", None]
    assert codes(reports[0]) == codes(reports[2])


def test_a_file_that_the_cache_knows_is_not_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(results, "folder", lambda: tmp_path)
    path = tmp_path / "kernels.ptx"
    path.write_text(PTX, encoding="utf-8")
    options = Options("ptx", state="these rules")
    first, told, _ = shared([str(path)], options)
    again, untold, _ = shared([str(path)], options)
    assert (told, untold) == ([3], [])
    assert first == again


@pytest.mark.parametrize(
    ("suffix", "text", "named"), [(".ptx", PTX, 3), (".mlir", IR, 3), (".ptx", HEADER, 1), (".ptx", None, 1)]
)
def test_how_many_kernels_there_are_is_told_by_words(suffix: str, text: str | None, named: int, tmp_path: Path):
    path = tmp_path / f"kernels{suffix}"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    assert kernels_named(str(path)) == named
