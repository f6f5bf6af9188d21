"""Edits that remove what a finding is about. Each was tried: the text with it has fewer errors, and no new ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tileproof.base.source import Source
from tileproof.checking.file import check_source
from tileproof.checking.fixing import better
from tileproof.server.project import Project
from tileproof.server.replies import Edit, Found


def repairs(project: Project, source: Source, found: Found) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    """Each repair of a finding, with its title."""
    if not found.edits:
        return
    pieces, at = [], 0
    for edit in sorted(found.edits, key=lambda edit: edit.start):
        pieces += [source.text[at : edit.start], edit.text]
        at = edit.end
    edited = Source(source.name, "".join([*pieces, source.text[at:]]))
    options = replace(project.options, mend=False)
    before, after = (check_source(project.book, text, options) for text in (source, edited))
    if better(before, after):
        yield found.repair[:1].upper() + found.repair[1:], found.edits
