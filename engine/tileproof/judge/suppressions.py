"""Suppression comments: ``// tileproof: ignore[WG101] reason`` on the line of a diagnostic or on the line above it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tileproof.base.diagnostic import Diagnostic
from tileproof.base.records import dataclass
from tileproof.base.source import Source, Span
from tileproof.rulebase.book import Rulebook

_COMMENT = re.compile(r"//\s*tileproof:\s*ignore\s*\[([^\]\n]*)\]")


@dataclass(frozen=True, slots=True)
class Suppression:
    """One code or name in a suppression comment.

    Attributes:
        lines: the lines (counted from 1) whose diagnostics it silences.
    """

    code: str
    lines: tuple[int, ...]
    span: Span


def suppressions(source: Source, comments: Iterable[tuple[int, str]]) -> tuple[Suppression, ...]:
    """The suppressions in a file's comments. A comment alone on its line also speaks for the next line."""
    found = []
    for offset, text in comments:
        comment = _COMMENT.match(text)
        if comment is None:
            continue
        line = source.position(offset).line
        alone = not source.text[source.line_start(line) : offset].strip()
        lines = (line, line + 1) if alone else (line,)
        for code in re.finditer(r"[^,\s]+", comment[1]):
            start = offset + comment.start(1) + code.start()
            found.append(Suppression(code[0], lines, Span(start, start + len(code[0]))))
    return tuple(found)


def apply(
    book: Rulebook, diagnostics: Iterable[Diagnostic], found: tuple[Suppression, ...]
) -> tuple[list[Diagnostic], list[Suppression]]:
    """The diagnostics that stay, and the suppressions that silenced nothing."""
    kept: list[Diagnostic] = []
    used: set[Suppression] = set()
    for diagnostic in diagnostics:
        line = diagnostic.source.position(diagnostic.span.start).line
        silencing = [s for s in found if line in s.lines and _names(book, s.code, diagnostic)]
        used.update(silencing)
        if not silencing:
            kept.append(diagnostic)
    return kept, [suppression for suppression in found if suppression not in used]


def _names(book: Rulebook, text: str, diagnostic: Diagnostic) -> bool:
    known = book.named(text)
    return text == diagnostic.code or (known is not None and known.code == diagnostic.code)
