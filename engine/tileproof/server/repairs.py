"""Edits that remove what a finding is about. Each was tried: the text with it has fewer errors, and no new ones."""

from __future__ import annotations

from tileproof.base.diagnostic import Fix
from tileproof.base.records import replace
from tileproof.base.source import Source
from tileproof.checking.file import check_source
from tileproof.checking.fixing import better, edited
from tileproof.server.project import Project
from tileproof.server.replies import Found


def repair(project: Project, source: Source, found: Found) -> Fix | None:
    """The repair of a finding, where one is known and holds."""
    if found.fix is None:
        return None
    options = replace(project.options, mend=False)
    texts = (source, edited(source, found.fix.edits))
    before, after = (check_source(project.book, text, options) for text in texts)
    return found.fix if better(before, after) else None
