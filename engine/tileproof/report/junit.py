"""Reports as JUnit XML, which CI services show as tests: one test a file, failed where it has an error."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from tileproof.base.diagnostic import Diagnostic, Severity
from tileproof.base.xml import writable
from tileproof.report.origins import place_of
from tileproof.report.values import Report


def render(report: Report) -> Iterator[str]:
    """A suite with a case for each file; what could not be checked is an error of its case."""
    failed = sum(file.wrong for file in report.files)
    counts = f'tests="{len(report.files) + len(report.unread)}" failures="{failed}" errors="{len(report.unread)}"'
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<testsuites name="tileproof" {counts}>'
    yield f'  <testsuite name="tileproof check" {counts}>'
    for file in report.files:
        yield f'    <testcase classname="tileproof" name={_attribute(file.source.name)}>'
        errors = [one for one in file.diagnostics if one.severity is Severity.ERROR]
        others = [one for one in file.diagnostics if one.severity is not Severity.ERROR]
        for one in errors[:1]:
            more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
            kind = f"{one.code} {one.name}"
            yield f"      <failure type={_attribute(kind)} message={_attribute(one.message + more)}>"
            yield from (f"{_text(_line(each))}" for each in errors)
            yield "      </failure>"
        if others:
            yield "      <system-out>"
            yield from (_text(_line(each)) for each in others)
            yield "      </system-out>"
        yield "    </testcase>"
    for unread in report.unread:
        yield f'    <testcase classname="tileproof" name={_attribute(unread.name)}>'
        yield f'      <error type="unread" message={_attribute(unread.reason)}/>'
        yield "    </testcase>"
    yield "  </testsuite>"
    yield "</testsuites>"


def _line(diagnostic: Diagnostic) -> str:
    line, column = diagnostic.source.position(diagnostic.span.start)
    origin = diagnostic.origin
    place = place_of(origin) if origin is not None else f"{diagnostic.source.name}:{line}:{column}"
    hint = f" ({diagnostic.hint})" if diagnostic.hint else ""
    return f"{place}: {diagnostic.severity.value}: {diagnostic.message}{hint} [{diagnostic.code} {diagnostic.name}]"


def _text(text: str) -> str:
    return escape(writable(text))


def _attribute(text: str) -> str:
    return quoteattr(writable(text))
