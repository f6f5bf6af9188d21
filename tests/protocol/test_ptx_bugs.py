"""Mistakes of the field in PTX: each kernel of ptx/ is right, and wrong after a change that ptx/bugs.toml describes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from ptxas import assembled, needs_ptxas

import tileproof

FOLDER = Path(__file__).parent / "ptx"
BUGS = tomllib.loads((FOLDER / "bugs.toml").read_text(encoding="utf-8"))["bug"]
KERNELS = sorted(FOLDER.glob("*.ptx"))


def text_of(bug: dict) -> str:
    text = (FOLDER / f"{bug['kernel']}.ptx").read_text(encoding="utf-8")
    assert text.count(bug["right"]) == 1
    return text.replace(bug["right"], bug["wrong"])


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_the_right_kernel_is_verified(path: Path):
    report = tileproof.check(path.read_text(encoding="utf-8"))
    assert [one.message for one in report.diagnostics] == []
    (kernel,) = report.files[0].kernels
    assert (kernel.status, kernel.executed) == ("followed", kernel.steps)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug["report"])
def test_the_mistake_is_found(bug: dict):
    text = text_of(bug)
    errors = [one for one in tileproof.check(text).diagnostics if one.severity.value == "error"]
    lines = text.splitlines()
    shown = [(one.code, lines[one.source.position(one.span.start).line - 1].strip()) for one in errors]
    assert [code for code, _ in shown] == [code for code, _ in bug["found"]], [one.message for one in errors]
    for (_, line), (_, expected) in zip(shown, bug["found"], strict=True):
        assert line.startswith(expected)


@needs_ptxas
def test_ptxas_assembles_right_and_wrong(tmp_path: Path):
    for text in [*map(text_of, BUGS), *(path.read_text(encoding="utf-8") for path in KERNELS)]:
        done = assembled(text, tmp_path)
        assert done.returncode == 0, (text, done.stderr)
