"""What the site has besides docs/: a page for each rule, the other documents of the repository, files they link to.

A page below docs/ keeps its name in the site, any other file its path in the repository, so that a link of the
repository becomes a link of the site by one rule. ``site_files`` needs no mkdocs: a test reads its links.
"""

from __future__ import annotations

import os.path
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "rules/README.md")
RULES = "reference"  # the folder of the rule pages
LINK = re.compile(r"(?<=\]\()([^()\s#:]+)(?=[)#])")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`[^`\n]*`")


def site_files() -> dict[str, str | bytes]:
    """Every file of the site by its path there: pages as text, with the links of the site, and other files as bytes."""
    sources = {_in_site(name): name for name in (*DOCUMENTS, *_guides())}
    made: dict[str, str | bytes] = {at: _moved_links(name, at) for at, name in sources.items()}
    for name in sorted({link for source in sources.values() for link in _linked(source)}):
        if _in_site(name) not in made and (ROOT / name).is_file():
            made[_in_site(name)] = (ROOT / name).read_bytes()
    return made | {f"{RULES}/{name}": text for name, text in _rule_pages().items()}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Called by mkdocs: put everything in place of what it found below docs/."""
    from mkdocs.structure.files import File, InclusionLevel  # noqa: PLC0415  a test reads the site without mkdocs

    for name, content in site_files().items():
        if known := files.get_file_from_path(name):
            files.remove(known)
        listed: dict[str, Any] = {"inclusion": InclusionLevel.NOT_IN_NAV} if name.startswith(f"{RULES}/") else {}
        if name == f"{RULES}/index.md":
            listed = {}
        files.append(File.generated(config, name, content=content, **listed))
    return files


def _guides() -> list[str]:
    return [f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))]


def _rule_pages() -> dict[str, str]:
    from tileproof.checking.implemented import load_implemented  # noqa: PLC0415
    from tileproof.reference.pages import pages  # noqa: PLC0415
    from tileproof.rulebase.load import shipped_files  # noqa: PLC0415

    return pages(load_implemented(shipped_files()))


def _in_site(name: str) -> str:
    return name.removeprefix("docs/")


def _linked(name: str) -> list[str]:
    """The files that a document links to, as paths in the repository."""
    text = _SPAN.sub("", _FENCE.sub("", (ROOT / name).read_text(encoding="utf-8")))
    return [_resolved(name, link) for link in LINK.findall(text)]


def _resolved(name: str, link: str) -> str:
    return os.path.normpath(PurePosixPath(name).parent / link)


def _moved_links(name: str, at: str) -> str:
    """The text of a document with its links as they are in the site; what stands in code is no link."""

    def moved(match: re.Match[str]) -> str:
        target = _resolved(name, match[1])
        return os.path.relpath(_in_site(target), PurePosixPath(at).parent)

    text = (ROOT / name).read_text(encoding="utf-8")
    parts = re.split(r"(^```.*?^```$|`[^`\n]*`)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if i % 2 else LINK.sub(moved, part) for i, part in enumerate(parts))
