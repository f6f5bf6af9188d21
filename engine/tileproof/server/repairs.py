"""Edits that remove what a finding is about. Each was tried: the text with it has less that is wrong, and nothing new.

Two findings say what should stand where something else stands: an illegal atom for which a legal one is near, and an
operation that declares other result types than it has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from tileproof.base.diagnostic import Severity
from tileproof.base.source import Source
from tileproof.checking.file import check_source
from tileproof.mlir.types import Kind
from tileproof.server.hover import enclosing, type_at
from tileproof.server.project import Project
from tileproof.server.replies import Edit, Found

_NEAREST = re.compile(r"the nearest legal atom is (\S.*)$")
_INFERRED = re.compile(r"inferred type\(s\) '(.+)' are incompatible with return type\(s\) of operation ")


def repairs(project: Project, source: Source, found: Found) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    """Each repair of a finding, with its title."""
    for title, edits in _proposed(source, found):
        if edits and _better(project, source, _edited(source, edits), found):
            yield title, edits


def _proposed(source: Source, found: Found) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    atom = _NEAREST.search(found.hint)
    if atom is not None:
        there = type_at(source, found.start)
        around = enclosing(there.tree, Kind.TYPE, found.start - there.start) if there is not None else []
        name = atom[1].partition("<")[0]
        for node in around:
            if there is not None and node.text == name:
                yield f"Replace by {atom[1]}", tuple(_everywhere(source, there.text[node.start : node.end], atom[1]))
    inferred = _INFERRED.search(found.message)
    if inferred is not None:
        types = inferred[1].replace("', '", ", ")
        yield f"Declare the result as {types}", (Edit(found.start, found.end, types),)


def _everywhere(source: Source, old: str, new: str) -> Iterator[Edit]:
    """All places of a type: it is one type wherever it is written."""
    at = source.text.find(old)
    while at >= 0:
        yield Edit(at, at + len(old), new)
        at = source.text.find(old, at + len(old))


def _edited(source: Source, edits: tuple[Edit, ...]) -> Source:
    pieces, at = [], 0
    for edit in edits:
        pieces += [source.text[at : edit.start], edit.text]
        at = edit.end
    return Source(source.name, "".join([*pieces, source.text[at:]]))


def _better(project: Project, before: Source, after: Source, found: Found) -> bool:
    """Whether a text has fewer findings of this rule than another, and of no rule more."""
    options = replace(project.options, mend=False)
    old, new = (
        Counter(one.code for one in check_source(project.book, text, options).diagnostics if _counts(one.severity))
        for text in (before, after)
    )
    return new[found.code] < old[found.code] and all(old[code] >= count for code, count in new.items())


def _counts(severity: Severity) -> bool:
    return severity is not Severity.NOTE
