"""Launches that the user states: on the command line, in the settings, in Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import command
from protocol.test_launch_trials import copies

SETTINGS = """\
[launch]
"ker*" = { block = [256, 1] }
"*" = { block = 128 }
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "few.ptx").write_text(copies("few"))
    (tmp_path / "stated.ptx").write_text(copies("few", ".reqntid 128"))
    (tmp_path / "bounded.ptx").write_text(copies("few", ".maxntid 192"))
    return tmp_path


def judged(*arguments: str) -> tuple[str, bool]:
    """The status of the kernel, and whether it has an error."""
    found = json.loads(command("check", "--format", "json", *arguments).stdout)
    return found["files"][0]["kernels"][0]["status"], found["summary"]["errors"] > 0


@pytest.mark.parametrize("again", [False, True])
def test_the_command_line_says_the_block(here: Path, again: bool):
    """Also where the cache has the kernel as it is with another one."""
    for _ in range(1 + again):
        assert judged("few.ptx") == ("partly", False)
        assert judged("--block", "128", "few.ptx") == ("followed", False)
        assert judged("--block=256x1", "few.ptx") == ("followed", True)


def test_what_the_text_says_holds(here: Path):
    assert judged("--block", "256", "stated.ptx") == ("followed", False)
    assert judged("--block", "128", "bounded.ptx") == ("followed", False)
    assert judged("--block", "256", "bounded.ptx") == ("followed", True)  # as with the 192 threads that it may have


def test_the_settings_say_it_by_kernel_and_the_command_line_comes_first(here: Path):
    (here / "tileproof.toml").write_text(SETTINGS)
    assert judged("few.ptx") == ("followed", True)
    assert judged("--block", "128", "few.ptx") == ("followed", False)
    assert judged("--cluster", "1", "few.ptx") == ("followed", True)


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("--block=no", "--block: 'no' is not one to 3 positive numbers, such as 128, 32,4 or 2x1x1"),
        ("--cluster=1,2,3,4", "--cluster: '1,2,3,4' is not one to 3 positive numbers, such as 128, 32,4 or 2x1x1"),
        ("--block=64,32", "a block of 64 x 32 x 1 is too large: there are at most 1024 threads in a CTA"),
        ("--cluster=32", "a cluster of 32 x 1 x 1 is too large: there are at most 16 CTAs in a cluster"),
    ],
)
def test_what_no_launch_can_have_is_named(here: Path, option: str, problem: str):
    done = command("check", option, "few.ptx")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"tileproof: {problem}\n")


def test_settings_that_no_launch_can_have_are_named(here: Path):
    (here / "tileproof.toml").write_text('[launch]\n"*" = { block = 2048 }\n')
    done = command("check", "few.ptx")
    assert (done.returncode, done.stdout) == (2, "")
    assert "a block of 2048 x 1 x 1 is too large" in done.stderr


def test_schedule_takes_it(here: Path):
    """With a block that the kernel goes wrong with, and without one, it is left as it is."""
    assert command("schedule", "--block", "128", "few.ptx").returncode == 0
    assert [command("schedule", *more, "few.ptx").returncode for more in ((), ("--block=256",))] == [1, 1]
    (here / "tileproof.toml").write_text('[launch]\n"*" = { block = 128 }\n')
    assert command("schedule", "few.ptx").returncode == 0
    assert command("schedule", "--block=no", "few.ptx").returncode == 2


def test_a_picture_of_its_protocol_takes_it(here: Path):
    right, wrong = (command("draw", "protocol", f"--block={block}", "few.ptx") for block in (128, 256))
    assert (right.returncode, wrong.returncode) == (0, 0)
    assert "PR111" not in right.stdout and "PR111" in wrong.stdout
    assert command("draw", "smem", "--cluster=32", "few.ptx").returncode == 2
