"""Files with comments for their expected diagnostics, by MLIR's conventions.

``// -----`` on a line of its own splits a file into texts that are checked each for itself. A comment
``expected-error@+1 {{text}}`` expects an error that contains the text one line below. Instead of an error it may expect
a ``warning`` or a ``note``; instead of ``@+1`` it may say ``@-2``, ``@above`` or ``@below`` (the nearest line without
expectations) or nothing (its own line); with ``-re`` after the severity, ``{{...}}`` inside the text is a regular
expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tileproof.base.diagnostic import Diagnostic, Severity
from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.base.source import Source, Span

_SPLIT = regex(r"^// -----[^\n]*$", re.M)
_EXPECTED = regex(
    r"expected-(?P<severity>error|warning|note|remark)(?P<re>-re)? *"
    r"(?:@(?P<where>[+-]\d{1,9}|above|below|unknown))? *\{\{(?P<text>.*)\}\}[^\n]*$",
    re.M,
)
_PATTERN = regex(r"\{\{(.*?)\}\}")


@dataclass(frozen=True, slots=True)
class Expectation:
    """A diagnostic that a comment expects.

    Attributes:
        line: of the diagnostic, from 1; None for any.
        span: of the comment.
    """

    severity: str
    line: int | None
    pattern: re.Pattern[str]
    text: str
    span: Span


def split(source: Source) -> list[Source]:
    """The texts between ``// -----``, each with empty lines before it so that lines keep their numbers."""
    parts, start = [], 0
    for mark in (*_SPLIT.finditer(source.text), None):
        end = len(source.text) if mark is None else mark.start()
        parts.append(Source(source.name, "\n" * source.text.count("\n", 0, start) + source.text[start:end]))
        start = end
    return parts


def expectations(source: Source) -> list[Expectation]:
    """The diagnostics that the comments of a text expect."""
    found = list(_EXPECTED.finditer(source.text))
    lines = [source.position(match.start()).line for match in found]
    speaking = set(lines)
    return [_expectation(match, line, speaking) for match, line in zip(found, lines, strict=True)]


def _expectation(match: re.Match[str], line: int, speaking: set[int]) -> Expectation:
    where = match["where"]
    step = {"above": -1, "below": 1}.get(where or "")
    target: int | None = line
    if where == "unknown":
        target = None
    elif step is not None:
        target = line + step
        while target in speaking:
            target += step
    elif where is not None:
        target = line + int(where)
    literal = match["text"]
    if match["re"]:
        pieces = _PATTERN.split(literal)
        pattern = "".join(piece if i % 2 else re.escape(piece) for i, piece in enumerate(pieces))
    else:
        pattern = re.escape(literal)
    try:
        compiled = re.compile(pattern)
    except re.error:
        compiled = re.compile(re.escape(literal))
    return Expectation(match["severity"], target, compiled, literal, Span(*match.span()))


@dataclass(frozen=True, slots=True)
class Unmet:
    """A diagnostic that was produced and not expected, or expected and not produced."""

    span: Span
    produced: bool
    severity: str
    message: str


def verify(source: Source, found: Sequence[Diagnostic]) -> Iterator[Unmet]:
    """Where expectations and diagnostics of a text differ."""
    open_ = expectations(source)
    for diagnostic in found:
        line = source.position(diagnostic.place).line
        said = [(diagnostic.message, True), *((echo, False) for echo in diagnostic.echoes)]
        for message, needed in said:
            met = next((e for e in open_ if _meets(e, diagnostic.severity, line, message)), None)
            if met is not None:
                open_.remove(met)
            elif needed:
                yield Unmet(diagnostic.span, True, diagnostic.severity.value, message)
    for expectation in open_:
        yield Unmet(expectation.span, False, expectation.severity, expectation.text)


def _meets(expectation: Expectation, severity: Severity, line: int, message: str) -> bool:
    return (
        expectation.severity == severity.value
        and expectation.line in (None, line)
        and expectation.pattern.search(message) is not None
    )
