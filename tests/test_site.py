"""The documents as a site: what is in it, its links, and that it builds without a warning."""

from __future__ import annotations

import importlib.util
import os.path
import re
import subprocess
import sys
import unicodedata
from pathlib import Path, PurePosixPath
from types import ModuleType

import pytest

from conftest import ROOT
from tileproof.base.resources import PACKAGE

SITE = ROOT / "docs" / "site"
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]*)\)")


def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_hook", SITE / "hook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def files() -> dict[str, str | bytes]:
    return hook().site_files()


def anchors(page: str) -> set[str]:
    """The anchors of the headings of a page, as Python-Markdown makes them."""
    outside = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    titles = (title.replace("\\", "").replace("`", "") for title in re.findall(r"^#+ (.*)$", outside, re.MULTILINE))
    plain = (unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode() for title in titles)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in plain}


def broken(files: dict[str, str | bytes]) -> list[str]:
    """The links that lead nowhere, each with its page."""
    found = []
    for name, page in files.items():
        if name.endswith(".md"):
            for link in LINK.findall(CODE.sub("", page)):
                target, _, anchor = link.partition("#")
                if link.startswith("https://"):
                    continue
                there = os.path.normpath(PurePosixPath(name).parent / target) if target else name
                if there not in files or (anchor and anchor not in anchors(files[there])):
                    found.append(f"{name}: {link}")
    return found


@pytest.mark.sweep
def test_every_link_of_the_site_leads_somewhere(files):
    assert broken(files) == []


@pytest.mark.parametrize("link", ["gone.md", "b.md#gone", "#gone", "../a.md"])
def test_a_link_that_leads_nowhere_is_found(link: str):
    assert broken({"a.md": f"# A\n[x]({link}) [y](b.md#the-b)", "b.md": "# The `b`\n"}) == [f"a.md: {link}"]


def test_the_site_has_the_guides_the_rules_and_the_files_they_link_to(files):
    guides = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert guides | {"README.md", "rules/README.md", "reference/WG101.md", "examples/hopper_gemm.py"} <= set(files)
    assert "(check.md#what-verified-means)" in files["README.md"]
    assert "(rules/README.md)" in files["rule-authors.md"]


def test_the_navigation_has_every_page_but_those_of_the_rules(files):
    nav = (SITE / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"(\S+\.md)$", nav, re.MULTILINE)
    shown = {name for name in files if name.endswith(".md") and not name.startswith("reference/")}
    assert sorted(listed) == sorted(shown | {"reference/index.md"})


@pytest.mark.oracle
@pytest.mark.skipif(importlib.util.find_spec("material") is None, reason="mkdocs-material (extra `docs`) is missing")
def test_the_site_builds_without_a_warning(tmp_path: Path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(SITE / "mkdocs.yml"), "-d", str(tmp_path)]
    search = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH", ""))))
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": search}, check=False)
    assert done.returncode == 0, done.stderr
    assert not re.search(r"^(WARNING|ERROR)", done.stderr, re.MULTILINE), done.stderr
    page = (tmp_path / "reference" / "WG101.html").read_text(encoding="utf-8")
    assert "use a multiple of 8 from 8 to 256" in page
    assert (tmp_path / "tour.html").is_file()
