"""A plain check reads its command line without click, and reads the same."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import EXAMPLES
from tileproof.base.resources import PACKAGE
from tileproof.cli.check import check
from tileproof.cli.checking import Wanted
from tileproof.cli.plain import understood

BROKEN = str(EXAMPLES / "hopper_gemm_broken.mlir")
OWN = {"fix": False, "unsafe": False, "diff": False, "watch": False}  # of check alone: nothing for Wanted
WORDS = st.sampled_from(
    [
        *("a.mlir", "-", "x=y", "./b c.ptx", "--no-cache", "--statistics", "--thorough", "--explain-path"),
        *("--require-verified", "--format", "json", "--format=html", "--format=xml", "--fail-on", "note"),
        *("--fail-on=error", "--no-cache=1", "--", "-j", "2", "--form", "--help", "--select", "WG101", "--format="),
    ]
)


@pytest.fixture(autouse=True, scope="module")
def no_setting() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TILEPROOF_NO_CACHE", raising=False)
        yield


def by_click(arguments: list[str]) -> dict[str, object]:
    return check.make_context("check", list(arguments)).params


@given(st.lists(WORDS, max_size=6))
def test_it_reads_what_click_reads_or_nothing(arguments: list[str]):
    said = understood(["check", *arguments])
    if said is not None:
        files, wanted = said
        usual = by_click(["a.mlir"])
        assert by_click(arguments) == {**usual, "files": files, **wanted}


def test_what_is_not_said_is_as_click_has_it():
    """The defaults of ``Wanted.of`` are those of the options."""
    usual = {name: value for name, value in by_click(["a.mlir"]).items() if name not in {"files", *OWN}}
    assert Wanted.of.__kwdefaults__ == usual


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["check", "--help"],
        ["check", "--format", "xml", "a.mlir"],
        ["check", "a.mlir", "--format"],
        ["check", "--fix", "a.mlir"],
        ["legal", "a.mlir"],
        ["--verbose", "check", "a.mlir"],
        [],
    ],
)
def test_all_else_is_left_to_click(arguments: list[str]):
    assert understood(arguments) is None


def test_a_setting_in_the_environment_is_left_to_click(monkeypatch: pytest.MonkeyPatch):
    assert understood(["check", "a.mlir"]) == (("a.mlir",), {})
    monkeypatch.setenv("TILEPROOF_NO_CACHE", "0")
    assert understood(["check", "a.mlir"]) is None


def test_values_are_those_of_the_options():
    """A format that is new is one here as well."""
    choices = {one.name: one.type.choices for one in check.params if isinstance(one.type, click.Choice)}
    for option, values in (("--format", choices["form"]), ("--fail-on", choices["fail_on"])):
        assert [understood(["check", option, value, "a"]) is not None for value in values] == [True] * len(values)


def program(*arguments: str, **streams: object) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-m", "tileproof.cli", *arguments]
    return subprocess.run(command, env=environment, check=False, timeout=60, **streams)  # type: ignore[call-overload]


@pytest.mark.parametrize("form", ["text", "json", "github"])
def test_both_ways_write_the_same(form: str):
    """``--jobs`` is click's."""
    plain = program("check", "--format", form, BROKEN, capture_output=True)
    other = program("check", "--format", form, "--jobs", "1", BROKEN, capture_output=True)
    assert plain.returncode == other.returncode == 1
    assert (plain.stdout, plain.stderr) == (other.stdout, other.stderr)


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no /dev/full here")
def test_a_full_disk_is_one_line_and_status_2():
    with Path("/dev/full").open("w") as full:
        done = program("check", BROKEN, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, b"tileproof: standard output: No space left on device\n")


def test_what_an_old_encoding_has_no_letter_for_is_written(tmp_path: Path):
    file = tmp_path / "k\u00e9.mlir"
    file.write_text("a.b )\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "tileproof.cli", "check", str(file)]
    done = subprocess.run(command, env=environment, check=False, timeout=60, capture_output=True)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert ".mlir:1:5: error:" in done.stdout.decode()
