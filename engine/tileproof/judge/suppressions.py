"""Suppression comments: ``tileproof: ignore[WG101] reason`` on the line of a diagnostic or on the line above it.

They stand in the text that is checked, after ``//``, or in the source that it was compiled from, after ``#`` or ``//``.
``tileproof: ignore-file[WG101] reason`` speaks for the whole of its file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tileproof.base.diagnostic import Diagnostic
from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.base.source import Source, Span
from tileproof.rulebase.book import Rulebook

_COMMENT = regex(r"(?://|#)\s*tileproof:\s*ignore(-file)?\s*\[([^\]\n]*)\]")


@dataclass(frozen=True, slots=True)
class Suppression:
    """One code or name in a suppression comment.

    Attributes:
        source: the text that has the comment.
        lines: the lines (counted from 1) whose diagnostics it silences; None for all.
    """

    source: Source
    code: str
    lines: tuple[int, ...] | None
    span: Span

    def silences(self, book: Rulebook, diagnostic: Diagnostic) -> bool:
        """Whether a diagnostic is of this rule and stands, or comes from, where the comment says."""
        if diagnostic.source.name == self.source.name:
            here = [diagnostic.source.position(diagnostic.span.start).line]
        else:
            here = [one.line for one in diagnostic.origins if one.file == self.source.name]
        known = book.named(self.code)
        named = self.code == diagnostic.code or (known is not None and known.code == diagnostic.code)
        return named and any(self.lines is None or line in self.lines for line in here)


def suppressions(source: Source, comments: Iterable[tuple[int, str]]) -> tuple[Suppression, ...]:
    """The suppressions in a file's comments. A comment alone on its line also speaks for the next line."""
    matched = ((offset, _COMMENT.match(text)) for offset, text in comments)
    return tuple(one for offset, found in matched if found is not None for one in _of(source, offset, found))


def suppressions_anywhere(source: Source) -> tuple[Suppression, ...]:
    """The suppressions in a text of another language."""
    return tuple(one for found in _COMMENT.finditer(source.text) for one in _of(source, 0, found))


def _of(source: Source, offset: int, comment: re.Match[str]) -> Iterator[Suppression]:
    start = offset + comment.start()
    line = source.position(start).line
    alone = not source.text[source.line_start(line) : start].strip()
    lines = None if comment[1] else (line, line + 1) if alone else (line,)
    for code in re.finditer(r"[^,\s]+", comment[2]):
        start = offset + comment.start(2) + code.start()
        yield Suppression(source, code[0], lines, Span(start, start + len(code[0])))


def apply(
    book: Rulebook, diagnostics: Iterable[Diagnostic], found: tuple[Suppression, ...]
) -> tuple[list[Diagnostic], list[Suppression]]:
    """The diagnostics that stay, and the suppressions that silenced nothing."""
    kept: list[Diagnostic] = []
    used: set[int] = set()
    for diagnostic in diagnostics:
        silencing = [i for i, one in enumerate(found) if one.silences(book, diagnostic)]
        used.update(silencing)
        if not silencing:
            kept.append(diagnostic)
    return kept, [one for i, one in enumerate(found) if i not in used]
