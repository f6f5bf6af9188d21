"""What commands write: whole or not at all, with one line and status 2 where it cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import EXAMPLES, command
from tileproof.base import cache, files
from tileproof.base.resources import PACKAGE

needs_full = pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no /dev/full here")
BROKEN = str(EXAMPLES / "hopper_gemm_broken.mlir")


@needs_full
def test_a_full_disk_at_the_end_of_the_output_is_one_line_and_status_2():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tileproof.cli", "explain", "WG101"],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, b"tileproof: standard output: No space left on device\n")


@needs_full
@pytest.mark.parametrize("option", ["--output-file", "--write-baseline"])
def test_a_device_is_written_to_and_stays_one(option: str):
    done = command("check", option, "/dev/full", BROKEN)
    assert (done.returncode, done.stderr) == (2, "tileproof: /dev/full: No space left on device\n")
    assert Path("/dev/full").is_char_device()


def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nor does what was written of it stay."""
    report = tmp_path / "r.html"
    report.write_text("the old one")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.Path, "replace", full)
    done = command("check", "--format", "html", "--output-file", str(report), BROKEN)
    assert (done.returncode, done.stderr) == (2, f"tileproof: {report}: No space left on device\n")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("r.html", "the old one")]


def test_an_entry_of_the_cache_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(files.Path, "replace", full)
    assert cache.made("kind", ["content"], lambda: 7) == 7
    assert list(tmp_path.iterdir()) == []
