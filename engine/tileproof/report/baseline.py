"""Findings that are known: written once, and not reported again."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tileproof.base.diagnostic import Diagnostic, Severity
from tileproof.base.records import replace
from tileproof.judge.outcome import FileReport, errors_in
from tileproof.report.fingerprints import fingerprints
from tileproof.report.values import Report

_VERSION = 1


class BadBaseline(ValueError):
    """A text that is no baseline."""


def baseline_of(report: Report, folder: str) -> str:
    """The baseline of a report, as JSON: errors and warnings by their fingerprints, each with its message."""
    known = {
        mark: {"code": one.code, "file": one.origin.file if one.origin else one.source.name, "message": one.message}
        for mark, one in fingerprints(report.diagnostics, folder)
        if one.severity is not Severity.NOTE
    }
    return json.dumps({"version": _VERSION, "findings": known}, indent=2, sort_keys=True) + "\n"


def read_baseline(text: str) -> frozenset[str]:
    """The fingerprints of a baseline.

    Raises:
        BadBaseline: with the line where that is known.
    """
    try:
        read = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadBaseline(f"line {error.lineno}: {error.msg}") from None
    found = read.get("findings") if isinstance(read, Mapping) else None
    if not isinstance(found, Mapping) or read.get("version") != _VERSION:
        raise BadBaseline(f"not a baseline of version {_VERSION}")
    return frozenset(found)


def without(report: Report, known: frozenset[str], folder: str) -> tuple[Report, int]:
    """The report without what is known, and how many of the known findings are gone."""
    marked = list(fingerprints(report.diagnostics, folder))
    old = {id(one) for mark, one in marked if mark in known}
    kept = replace(
        report,
        files=tuple(
            _reporting(file, tuple(one for one in file.diagnostics if id(one) not in old)) for file in report.files
        ),
        strays=tuple(one for one in report.strays if id(one) not in old),
        known=len(old),
    )
    return kept, len(known.difference(mark for mark, _ in marked))


def _reporting(file: FileReport, left: tuple[Diagnostic, ...]) -> FileReport:
    """The report of a file with these findings alone."""
    return replace(file, diagnostics=left, silenced=file.silenced or (file.wrong and not errors_in(left)))
