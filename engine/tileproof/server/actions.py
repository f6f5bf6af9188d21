"""Changes that the editor offers for findings: repairs, and comments that silence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tileproof.base.diagnostic import Edit
from tileproof.base.source import Source, Span
from tileproof.checking.silencing import mark_of, silenced_line
from tileproof.server.project import project_of
from tileproof.server.repairs import repair
from tileproof.server.replies import Action, Away, Document, Found, LineEdit


def actions(document: Document, findings: Sequence[Found]) -> list[Action]:
    """What can be done about findings of a text, repairs first.

    Raises:
        Unusable: the settings or the rules of the project cannot be used.
    """
    project = project_of(document.file)
    source = Source(document.file, document.text)
    offered = [
        Action(fix.what[:1].upper() + fix.what[1:], i, True, fix.edits)
        for i, found in enumerate(findings)
        if (fix := repair(project, source, found)) is not None
    ]
    return offered + [one for i, found in enumerate(findings) if not found.unused for one in _silence(source, i, found)]


def _silence(source: Source, number: int, found: Found) -> Iterator[Action]:
    """Comments at the line that a finding comes from, and at its line in the text."""
    if found.related and isinstance(away := found.related[0], Away):
        edit = _in_file(away, found.code)
        if edit is not None:
            yield Action(f"Silence {found.code} in {Path(away.file).name}, line {away.line}", number, False, (edit,))
    line = source.position(found.start).line
    changed = silenced_line(source.text, line, [found.code], "//")
    if changed is not None:
        before, removed, text = _difference(*changed)
        start = source.line_start(line) + len(before)
        edit_here = Edit(Span(start, start + len(removed)), text)
        yield Action(f"Silence {found.code} in this line", number, False, (edit_here,))


def _in_file(place: Away, code: str) -> LineEdit | None:
    try:
        text = Path(place.file).read_bytes().decode("utf-8")
    except (OSError, ValueError):  # not there, no UTF-8
        return None
    changed = silenced_line(text, place.line, [code], mark_of(place.file))
    return None if changed is None else LineEdit(place.file, place.line, *_difference(*changed))


def _difference(old: str, new: str) -> tuple[str, str, str]:
    """What a line keeps in front, what of it is replaced, and by what."""
    start = _alike(old, new)
    rest_old, rest_new = old[start:], new[start:]
    same = _alike(rest_old[::-1], rest_new[::-1])
    return old[:start], rest_old[: len(rest_old) - same], rest_new[: len(rest_new) - same]


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin alike with."""
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
