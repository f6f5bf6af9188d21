"""Reports as GitHub workflow commands, which GitHub shows beside the changed lines."""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.report.origins import file_of
from tileproof.report.text import clause
from tileproof.report.values import Report

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report) -> Iterator[str]:
    """One command a diagnostic, one for each input that could not be checked, and what was verified of the kernels."""
    for diagnostic in report.diagnostics:
        start = diagnostic.source.position(diagnostic.span.start)
        end = diagnostic.source.position(diagnostic.span.end)
        properties: dict[str, str | int] = {"file": diagnostic.source.name, "line": start.line}
        # GitHub accepts columns within one line only, and counts the last one in.
        if diagnostic.origins:
            origin = diagnostic.origins[0]
            properties = {"file": file_of(origin), "line": origin.line}
            properties |= {"col": origin.column} if origin.column else {}
        elif end.line == start.line:
            properties |= {"col": start.column, "endColumn": max(end.column - 1, start.column)}
        else:
            properties |= {"endLine": end.line}
        properties |= {"title": f"{diagnostic.code} {diagnostic.name}"}
        listed = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
        text = f"{diagnostic.message}\nhint: {diagnostic.hint}" if diagnostic.hint else diagnostic.message
        yield f"::{_COMMANDS[diagnostic.severity.value]} {listed}::{_data(text)}"
    for unread in report.unread:
        yield f"::error file={_property(unread.name)}::{_data(unread.reason)}"
    if verified := clause(report.coverage):
        yield f"::notice title=tileproof::{_data(verified)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
