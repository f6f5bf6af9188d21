"""``check --fix``: edits that are proved by a check, whole files or nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tileproof
from conftest import EXAMPLES, command

GOOD = (EXAMPLES / "hopper_gemm.mlir").read_text()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def without(*words: str) -> str:
    return "".join(line for line in GOOD.splitlines(keepends=True) if not any(word in line for word in words))


def test_a_result_type_is_declared_as_it_follows(here: Path):
    line = next(line for line in GOOD.splitlines() if "cute.composed_get_outer" in line)
    at = line.rindex("1")
    broken = GOOD.replace(line, f"{line[:at]}3{line[at + 1 :]}", 1)
    (here / "k.mlir").write_text(broken)
    assert command("check", "k.mlir").returncode == 1
    done = command("check", "--fix", "k.mlir")
    assert (done.returncode, (here / "k.mlir").read_text()) == (0, GOOD), done.stdout
    assert re.fullmatch(r"tileproof: k\.mlir: line \d+: declare .* \[IR020\]\n", done.stderr)


def test_fences_commits_and_waits_are_inserted(here: Path):
    (here / "k.mlir").write_text(without("wgmma.fence"))
    done = command("check", "--fix", "k.mlir")
    assert done.returncode == 0, done.stdout
    assert "inserted nvvm.wgmma.fence.aligned" in done.stderr
    assert "0 errors in 1 file; 1 kernel verified" in done.stdout


def test_a_diff_changes_nothing(here: Path):
    text = without("wgmma.fence")
    (here / "k.mlir").write_text(text)
    done = command("check", "--diff", "k.mlir")
    assert done.returncode == 1
    assert done.stdout.startswith("--- k.mlir\n+++ k.mlir\n@@ ")
    assert [line for line in done.stdout.splitlines() if line.startswith("+ ")] != []
    assert (here / "k.mlir").read_text() == text
    (here / "k.mlir").write_text(GOOD)
    assert (command("check", "--diff", "k.mlir").returncode, command("check", "--diff", "k.mlir").stdout) == (0, "")


def test_another_atom_is_chosen_only_where_asked(here: Path):
    text = (EXAMPLES / "hopper_gemm_broken.mlir").read_text()
    (here / "k.mlir").write_text(text)
    done = command("check", "--fix", "k.mlir")
    assert (done.returncode, (here / "k.mlir").read_text()) == (1, text)


def test_what_is_fine_stays_byte_for_byte(here: Path):
    path = here / "k.mlir"
    path.write_bytes(GOOD.replace("\n", "\r\n").encode())
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    assert command("check", "--fix", "k.mlir").returncode == 0
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_a_file_that_cannot_be_written_is_named_and_stays(here: Path, monkeypatch: pytest.MonkeyPatch):
    from tileproof.base import files  # noqa: PLC0415

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    text = without("wgmma.fence")
    (here / "k.mlir").write_text(text)
    monkeypatch.setattr(files.Path, "replace", full)
    done = command("check", "--fix", "k.mlir")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("tileproof: k.mlir: No space left on device\n")
    assert [path.name for path in here.iterdir()] == ["k.mlir"]
    assert (here / "k.mlir").read_text() == text


def test_a_fix_that_no_check_confirms_is_not_made(here: Path, monkeypatch: pytest.MonkeyPatch):
    """The kernel lacks a barrier that no insertion of the scheduler gives: it stays as it is."""
    text = re.sub(r"(?m)^.*mbarrier\.arrive\.expect_tx.*\n", "", GOOD, count=1)
    assert text != GOOD
    (here / "k.mlir").write_text(text)
    done = command("check", "--fix", "k.mlir")
    assert (done.returncode, (here / "k.mlir").read_text()) == (1, text)


def test_standard_input_cannot_be_fixed():
    done = command("check", "--fix", "-", stdin=GOOD.encode())
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("wrong", ["32760", "16384", "65536"])
def test_the_bytes_that_a_barrier_expects_are_those_that_come(here: Path, wrong: str):
    """The constant has other uses in general: it stays, and the operation gets one of its own."""
    line = next(line for line in GOOD.splitlines() if "arith.constant 32768 : i32" in line)
    broken = GOOD.replace(line, line.replace("32768 : i32", f"{wrong} : i32"), 1)
    (here / "k.mlir").write_text(broken)
    assert command("check", "k.mlir").returncode == 1
    done = command("check", "--fix", "k.mlir")
    assert done.returncode == 0, done.stdout
    assert f": 32768 for {wrong} [PR" in done.stderr
    assert re.search(r"(?m)^ +%tileproof_\d+ = arith\.constant 32768 : i32$", (here / "k.mlir").read_text())


JOINS = Path(__file__).parents[1] / "memory" / "joins"


@pytest.mark.parametrize(
    ("name", "edited"),
    [
        ("strides_of_other_box", "constant 64 : i32"),
        ("strides_of_plain_boxes", "constant 128 : i32"),
        ("wgmma_strides_of_other_box", "constant 4611686293305360384 : i64"),
        ("base_offset_of_other_pattern", "constant 0 : i8"),
    ],
)
def test_the_fields_of_a_descriptor_are_made_those_that_its_memory_needs(here: Path, name: str, edited: str):
    """The constant of the field, or the word around it: a use of it gets one of its own, and all else stays."""
    text = (JOINS / f"{name}_bad.mlir").read_text(encoding="utf-8")
    (here / "k.mlir").write_text(text, encoding="utf-8")
    wrong = [one.code for one in tileproof.check(text=text).diagnostics if one.code in ("DS142", "DS173")]
    done = command("check", "--fix", "k.mlir")
    assert wrong and done.stderr.count("tileproof: k.mlir: line ") == len(wrong)
    fixed = (here / "k.mlir").read_text(encoding="utf-8")
    assert fixed.count(edited) == text.count(edited) + len(wrong)
    assert not {one.code for one in tileproof.check(text=fixed).diagnostics} & {"DS142", "DS173"}
    kept = [line for line in fixed.splitlines() if "%tileproof_" not in line]
    assert [line for line in text.splitlines() if line in kept] == kept
    assert len(fixed.splitlines()) == len(text.splitlines()) + len(wrong)
