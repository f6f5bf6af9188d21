"""Reports for people: the line, a caret under the piece of text that is wrong, and the fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from tileproof.base.diagnostic import Diagnostic, Severity
from tileproof.judge.outcome import FileReport
from tileproof.report.coverage import Coverage
from tileproof.report.origins import line_of, place_of
from tileproof.report.values import Report

WIDTH = 118  # characters of a source line that are shown; type signatures run to thousands

Style = Callable[[str, str], str]

_COLOURS = {"error": "1;31", "warning": "1;33", "note": "1;36", "caret": "1;32", "strong": "1", "faint": "2"}


def plain(text: str, role: str) -> str:
    """No colour."""
    return text


def coloured(text: str, role: str) -> str:
    """ANSI colours for a terminal."""
    return f"\x1b[{_COLOURS[role]}m{text}\x1b[0m"


def linked(text: str, url: str) -> str:
    """A text that terminals open as a link (OSC 8); others show it as it is."""
    return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\"


def render(report: Report, style: Style = plain) -> Iterator[str]:
    """The lines of a report."""
    for diagnostic in report.diagnostics:
        rule = report.book.named(diagnostic.code) if style is coloured else None
        yield from _diagnostic(diagnostic, style, next(filter(None, rule.urls), "") if rule is not None else "")
        if report.options.explain_path:
            yield from _path(diagnostic, style)
        elif diagnostic.severity is not Severity.NOTE:
            yield from _places(diagnostic, style)
        yield ""
    if report.options.statistics:
        from tileproof.report.statistics import table  # noqa: PLC0415

        yield from table(report)
        yield ""
    if report.files:
        yield summary(report, style)


def _diagnostic(diagnostic: Diagnostic, style: Style, url: str) -> Iterator[str]:
    source, span = diagnostic.source, diagnostic.span
    line, column = source.position(span.start)
    severity = diagnostic.severity.value
    place = f"{source.name}:{line}:{column}"
    origins = diagnostic.origins
    head = style(f"{place_of(origins[0]) if origins else place}:", "strong")
    rule = f"{diagnostic.code} {diagnostic.name}"
    yield f"{head} {style(severity, severity)}: {diagnostic.message} [{linked(rule, url) if url else rule}]"
    for origin in origins[:1]:
        written = line_of(origin)
        if written.strip():
            yield from _shown(written, origin.line, origin.column or _indent(written) + 1, 1, style)
    for origin in origins[1:]:
        yield f"{' ' * 5} {style('=', 'faint')} {style('by', 'strong')}: {place_of(origin)}"
    if origins:
        yield f"{' ' * 5} {style('=', 'faint')} {style('in', 'strong')}: {place}"
    text = source.line(line)
    yield from _shown(text, line, column, min(span.end - span.start, len(text) - column + 1), style)
    for label, value in (("hint", diagnostic.hint), ("source", "; ".join(diagnostic.sources))):
        if value:
            yield f"{' ' * 5} {style('=', 'faint')} {style(label, 'strong')}: {value}"


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _shown(text: str, line: int, column: int, length: int, style: Style) -> Iterator[str]:
    """A line of a source, and below it what is meant."""
    length = max(1, length)
    shown, at = window(text, column - 1, length)
    bar = style("|", "faint")
    yield f"{style(str(line).rjust(5), 'faint')} {bar} {shown}"
    caret = "^" + "~" * (min(length, len(shown) - at) - 1)
    yield f"{' ' * 5} {bar} {' ' * at}{style(caret, 'caret')}"


def _places(diagnostic: Diagnostic, style: Style) -> Iterator[str]:
    """The other places of a finding that its message does not name."""
    for place in diagnostic.related:
        line, column = diagnostic.source.position(place.span.start)
        if f": line {line}" not in diagnostic.message:
            yield f"{' ' * 5} {style('=', 'faint')} {style('see', 'strong')}: {line}:{column}: {place.message}"


def _path(diagnostic: Diagnostic, style: Style) -> Iterator[str]:
    for place in diagnostic.related:
        line, column = diagnostic.source.position(place.span.start)
        yield f"{' ' * 5} {style('=', 'faint')} {style('path', 'strong')}: {line}:{column}: {place.message}"


def window(text: str, at: int, length: int) -> tuple[str, int]:
    """The part of a line around the caret, at most WIDTH characters, and the position of the caret in it."""
    if len(text) <= WIDTH:
        return _printable(text), at
    start = max(0, min(at - (WIDTH - min(length, WIDTH)) // 2, len(text) - WIDTH))
    piece = _printable(text[start : start + WIDTH])
    at -= start
    if start:
        piece = "..." + piece[3:] if at >= 3 else piece
    if start + WIDTH < len(text):
        piece = piece[:-3] + "..."
    return piece, at


def _printable(text: str) -> str:
    """The text with a space for each character that would move the caret or talk to the terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def summary(report: Report, style: Style = plain) -> str:
    """The last line: what was found, and what was verified."""
    counts = [(report.count(severity), severity.value) for severity in Severity]
    found = ", ".join(
        style(plural(count, name), name if count else "strong") for count, name in counts if count or name == "error"
    )
    files = plural(len(report.files), "file")
    verified = clause(report.coverage)
    parts = [f"{found} in {files}", *([verified] if verified else []), f"target {_targets(report.files)}"]
    return "; ".join((*parts, f"contract {report.options.contract}"))


def clause(coverage: Coverage) -> str:
    """What was verified of the kernels that use a protocol; empty where none does.

    A kernel that was followed is not called verified where its file has an error.
    """
    if not coverage.kernels:
        return ""
    counts = [
        (coverage.verified, "verified"),
        (coverage.followed - coverage.verified, "followed"),
        (coverage.partly, "verified in part"),
        (coverage.unfollowed, "not verified"),
    ]
    (first, word), *others = [(count, word) for count, word in counts if count]
    kernels = ", ".join((f"{plural(first, 'kernel')} {word}", *(f"{count} {word}" for count, word in others)))
    bound = coverage.trip_counts
    up_to = f" for up to {plural(bound, 'iteration')}" if bound is not None else ""
    steps = f"{coverage.executed} of {plural(coverage.steps, 'protocol step')}"
    return f"{kernels}{up_to}: {steps}, {plural(coverage.multiplies, 'MMA')}"


def _targets(files: Sequence[FileReport]) -> str:
    """Why the target is the one it is, for one file; how many files have which, for several."""
    if len(files) == 1:
        target = files[0].target
        return f"{target} ({target.reason})" if target else "none (no target has all features used)"
    counted = Counter(str(file.target) if file.target else "none" for file in files)
    return ", ".join(f"{name} x {count}" for name, count in sorted(counted.items()))


def plural(count: int, noun: str) -> str:
    """A count and its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
