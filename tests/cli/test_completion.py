"""What TAB offers, as docs/completion.md sets it up."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from conftest import ROOT
from tileproof.base.resources import PACKAGE

PROGRAM = "from tileproof.cli import main; main(prog_name='tileproof')"


def asked(instruction: str, words: str = "") -> str:
    search = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH", ""))))
    variables = {"_TILEPROOF_COMPLETE": instruction, "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | variables | {"PYTHONPATH": search},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [("tileproof che", "check"), ("tileproof rules sh", "show"), ("tileproof check --require", "--require-verified")],
)
def test_commands_and_options_are_offered(words: str, offered: str):
    assert asked("bash_complete", words) == f"plain,{offered}\n"


def test_the_guide_names_the_variable_that_click_reads():
    page = (ROOT / "docs" / "completion.md").read_text(encoding="utf-8")
    shells = set(re.findall(r"_TILEPROOF_COMPLETE=(\w+)_source tileproof\b", page))
    assert shells == {"bash", "zsh", "fish"}
    for shell in shells - {"bash"}:  # click asks the bash of the machine for its version
        assert f"_TILEPROOF_COMPLETE={shell}_complete" in asked(f"{shell}_source")
