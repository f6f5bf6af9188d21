"""README and docs: every `$ ` example prints what is shown, every Python example runs; the files ship with them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from conftest import EXAMPLES, ROOT
from tileproof.cli import main

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(*languages: str) -> list[tuple[str, str]]:
    """The fenced blocks of these languages, with the page and the line where each begins."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            if match[1] in languages:
                line = text.count("\n", 0, match.start()) + 1
                found.append((f"{page.relative_to(ROOT)}:{line}", match[2]))
    return found


def examples(block: str) -> list[tuple[str, str]]:
    """The commands of a block, each with the output that is shown below it."""
    joined = re.sub(r"\\\n +(?=-)", "", block)
    parts = re.split(r"^\$ (.*)\n", joined, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


SESSIONS = [(where, block) for where, block in blocks("", "console") if block.startswith("$ ")]


def run(command: str, folder: Path) -> str:
    words = shlex.split(command)
    if words[0] == "tileproof":
        return CliRunner().invoke(main, words[1:], catch_exceptions=False).output
    return subprocess.run(command, shell=True, cwd=folder, check=True, capture_output=True, text=True).stdout


def pattern(shown: str) -> str:
    """The output as a regular expression; a line ``...`` stands for any lines."""
    lines = shown.splitlines(keepends=True)
    return "".join(r"(?:.*\n)*" if line == "...\n" else re.escape(line) for line in lines)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples, as in a checkout."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("block", [block for _, block in SESSIONS], ids=[where for where, _ in SESSIONS])
def test_an_example_prints_what_is_shown(folder: Path, block: str):
    for command, shown in examples(block):
        output = run(command, folder)
        assert re.fullmatch(pattern(shown), output), f"$ {command}\n{output}"


def test_there_are_examples():
    assert len(SESSIONS) >= 15
    assert {where.partition(":")[0] for where, _ in SESSIONS} >= {"README.md", "docs/prove.md", "docs/suggest.md"}


PROGRAMS = blocks("python")


@pytest.mark.parametrize("program", [program for _, program in PROGRAMS], ids=[where for where, _ in PROGRAMS])
def test_a_program_runs(program: str):
    made: dict[str, object] = {}
    exec(compile(program, "example", "exec"), made)
    assert made.keys() - {"__builtins__"}


def test_the_readme_has_the_two_commands_that_ci_runs():
    found = [block for where, block in blocks("sh") if where.startswith("README.md")]
    assert len(found) == 2
    assert all(block.count("\n") == 1 for block in found)


def test_the_rule_that_is_shown_is_the_one_in_the_rule_base():
    rule = next(
        block for where, block in blocks("") if where.startswith("README.md") and block.startswith("rule WG101")
    )
    text = (ROOT / "rules" / "mma" / "sm90.rule").read_text(encoding="utf-8")
    for word in ("rule", "require", "error", "hint"):
        shown = next(line for line in rule.splitlines() if line.split()[0] == word)
        assert shown.split() in [line.split() for line in text.splitlines()]


def test_the_picture_is_what_its_command_draws():
    drawn = CliRunner().invoke(main, ["draw", "swizzle", "S<3,4,3>", "--format", "svg"]).stdout
    assert drawn == (ROOT / "docs" / "pictures" / "swizzle.svg").read_text(encoding="utf-8")
