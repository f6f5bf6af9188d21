"""The extension for VS Code says what the server serves."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from conftest import ROOT
from tileproof.cli import COMMANDS

FOLDER = ROOT / "editors" / "vscode"
MANIFEST = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))


def test_the_manifest_names_what_there_is():
    serving = pytest.importorskip("tileproof.server.serving", reason="pygls is not installed (the extra `lsp`)")
    contributed = MANIFEST["contributes"]
    assert tuple(one["id"] for one in contributed["languages"]) == serving.LANGUAGES
    assert tuple(end for one in contributed["languages"] for end in one["extensions"]) == serving.SUFFIXES
    program, command = contributed["configuration"]["properties"]["tileproof.command"]["default"]
    assert (program, command in COMMANDS) == ("tileproof", True)
    source = (FOLDER / MANIFEST["main"]).read_text(encoding="utf-8")
    for one in contributed["commands"]:
        assert f'"{one["command"]}"' in source
    assert all(f'language: "{language}"' in source for language in serving.LANGUAGES)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_extension_is_javascript():
    done = subprocess.run(["node", "--check", FOLDER / MANIFEST["main"]], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
