"""Results in the cache: the same bytes as without, and never those of something else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from conftest import EXAMPLES, command
from tileproof.base import cache
from tileproof.base.resources import PACKAGE
from tileproof.base.source import Source
from tileproof.checking import results
from tileproof.judge.outcome import FileReport, Options
from tileproof.rulebase.load import default_files

KERNEL = EXAMPLES / "hopper_gemm_broken.mlir"


@pytest.fixture
def kept_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A cache of its own for results; the rules stay where they are."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(results, "folder", lambda: folder if folder.is_dir() else None)
    monkeypatch.delenv("TILEPROOF_NO_CACHE", raising=False)
    folder.mkdir()
    return folder


def refuse(*_: object) -> None:
    raise AssertionError("the file was checked")


def checked(*arguments: str) -> tuple[str, int]:
    done = command("check", "--format", "json", *arguments)
    return done.stdout, done.returncode


def test_a_second_run_checks_nothing_and_says_the_same(kept_in: Path, monkeypatch: pytest.MonkeyPatch):
    first = checked(str(KERNEL))
    assert len(list(kept_in.glob("*.result"))) == 1
    monkeypatch.setattr("tileproof.checking.mlir.check_ir", refuse)
    assert checked(str(KERNEL)) == first
    assert first[1] == 1
    with pytest.raises(AssertionError, match="was checked"):
        command("check", "--no-cache", str(KERNEL))


@pytest.mark.parametrize(
    "changed", [("--target", "sm_80"), ("--contract", "tileiras"), ("--select", "WG"), ("--thorough",)]
)
def test_other_options_are_another_result(kept_in: Path, changed: tuple[str, ...]):
    plain = checked("--no-cache", *changed, str(KERNEL))
    checked(str(KERNEL))
    assert checked(*changed, str(KERNEL)) == plain
    assert len(list(kept_in.iterdir())) == 2


def test_another_text_by_the_same_name_is_another_result(kept_in: Path, tmp_path: Path):
    path = tmp_path / "k.mlir"
    path.write_bytes(KERNEL.read_bytes())
    assert checked(str(path))[1] == 1
    path.write_bytes((EXAMPLES / "hopper_gemm.mlir").read_bytes())
    assert checked(str(path))[1] == 0


def test_the_same_text_by_another_name_is_reported_by_that_name(kept_in: Path, tmp_path: Path):
    checked(str(KERNEL))
    path = tmp_path / "renamed.mlir"
    path.write_bytes(KERNEL.read_bytes())
    assert str(path) in checked(str(path))[0]
    assert len(list(kept_in.iterdir())) == 1


def test_comments_and_settings_hold_although_the_text_is_as_before(
    kept_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert checked(str(KERNEL))[1] == 1
    (tmp_path / "tileproof.toml").write_text('[per-file-ignores]\n"*" = ["WG", "PR"]\n')
    assert checked(str(KERNEL))[1] == 0
    (tmp_path / "tileproof.toml").write_text('[severity]\nWG101 = "note"\n')
    assert checked(str(KERNEL))[1] == 0


@pytest.mark.parametrize("damage", [b"", b"\x80\x05garbage"])
def test_a_damaged_entry_is_made_anew(kept_in: Path, damage: bytes):
    first = checked(str(KERNEL))
    [entry] = kept_in.iterdir()
    entry.write_bytes(damage)
    assert checked(str(KERNEL)) == first
    assert entry.read_bytes() != damage


def test_a_cache_that_cannot_be_written_is_no_error(kept_in: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    expected = checked("--no-cache", str(KERNEL))
    monkeypatch.setattr(results, "replace_bytes", full)
    assert checked(str(KERNEL)) == expected


def test_what_was_not_used_for_longest_goes(kept_in: Path):
    for number in range(5):
        path = kept_in / f"{number}.result"
        path.write_bytes(bytes(100))
        os.utime(path, ns=(number * 10**9, number * 10**9))
    results.prune(250)
    assert sorted(path.name for path in kept_in.iterdir()) == ["3.result", "4.result"]


def test_rules_and_code_are_part_of_the_state():
    files = default_files()
    assert results.state_of(files) == results.state_of(files)
    changed = (replace(files[0], text=files[0].text + "\n"), *files[1:])
    assert results.state_of(changed) != results.state_of(files)


def test_without_a_state_nothing_is_kept(kept_in: Path):
    source = Source("k", "text")
    report = FileReport(source, (), None)
    assert results.kept(source, Options("ptx"), False, lambda: report) is report
    assert list(kept_in.iterdir()) == []
    assert cache.folder() != kept_in


def test_watch_checks_again_what_changed(tmp_path: Path):
    path = tmp_path / "k.mlir"
    path.write_bytes(KERNEL.read_bytes())
    command_line = [sys.executable, "-m", "tileproof.cli", "check", "--watch", str(path)]
    search = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))
    with subprocess.Popen(
        command_line,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": search},
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  a shell ignores it in the background
    ) as process:
        try:
            said = iter(process.stdout.readline, "")
            first = next(line for line in said if " in 1 file" in line)
            path.write_bytes((EXAMPLES / "hopper_gemm.mlir").read_bytes())
            second = next(line for line in said if " in 1 file" in line)
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    assert (first[:2], second[:8]) == ("1 ", "0 errors")
