"""The extension for VS Code says what the server serves."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from tileproof.base.resources import PACKAGE
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


def activated(command: list[str], file: Path) -> dict:
    """What came of activating the extension, restarting it by its command and deactivating it."""
    script = Path(__file__).with_name("activated.js")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    arguments = ["node", script, FOLDER / MANIFEST["main"], json.dumps(command), file]
    done = subprocess.run(arguments, capture_output=True, check=False, env=environment, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)


@pytest.mark.sweep
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_extension_starts_the_server_restarts_it_and_stops_it(tmp_path: Path):
    """VS Code is a stub here, and its client for language servers too; the server is ours."""
    pytest.importorskip("pygls", reason="pygls is not installed (the extra `lsp`)")
    path = tmp_path / "k.ptx"
    path.write_text(".version 8.0\n.target sm_90a\n.address_size 64\n.entry f() { nosuch.f16; ret; }\n")
    seen = activated([sys.executable, "-m", "tileproof.cli", "lsp"], path)
    assert (seen["started"], seen["stopped"], seen["shown"]) == (2, 2, [])
    assert seen["diagnostics"] == ["PT016"]
    assert seen["selector"] == [one["id"] for one in MANIFEST["contributes"]["languages"]]
    assert seen["registered"] == [one["command"] for one in MANIFEST["contributes"]["commands"]]
    assert seen["subscriptions"] == 2
    assert [one for one in seen["watched"] if "tileproof.toml" in one]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_server_that_does_not_start_is_shown_with_what_to_do(tmp_path: Path):
    seen = activated(["no-such-program", "lsp"], tmp_path)
    assert (seen["started"], seen["stopped"]) == (0, 0)
    said, again = seen["shown"]
    assert said == again, "by the restart, which is not hindered"
    assert said.startswith("tileproof: 'no-such-program lsp' does not start (")
    assert "pip install 'tileproof[lsp]'" in said
