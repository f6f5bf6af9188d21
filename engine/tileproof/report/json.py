"""Reports for programs: one JSON object, version 1."""

from __future__ import annotations

import json
from typing import Any

from tileproof.base.diagnostic import Diagnostic, Fix, Origin, Related, Severity
from tileproof.base.source import Source
from tileproof.judge.coverage import KernelCoverage
from tileproof.report.coverage import Coverage
from tileproof.report.statistics import statistics
from tileproof.report.values import Report


def render(report: Report) -> str:
    """The report as JSON text. Lines and columns count from 1; the end column is one past the last character."""
    counted = {"statistics": statistics(report)} if report.options.statistics else {}
    return json.dumps(
        {
            "version": 1,
            "diagnostics": [_diagnostic(diagnostic, report) for diagnostic in report.diagnostics],
            "files": [
                {"file": file.source.name, "kernels": [kernel_json(file.source, one) for one in file.kernels]}
                for file in report.files
            ],
            "summary": {
                "files": len(report.files),
                "errors": report.count(Severity.ERROR),
                "warnings": report.count(Severity.WARNING),
                "notes": report.count(Severity.NOTE),
                "contract": report.options.contract,
                "targets": [
                    {
                        "file": file.source.name,
                        "target": str(file.target) if file.target else None,
                        "reason": file.target.reason if file.target else "no target has all features used",
                    }
                    for file in report.files
                ],
                "unread": [{"file": unread.name, "reason": unread.reason} for unread in report.unread],
                "coverage": coverage_json(report.coverage),
            },
            **counted,
        },
        indent=2,
    )


def kernel_json(source: Source, kernel: KernelCoverage) -> dict[str, Any]:
    """What was verified of a kernel. ``trip_counts``: ``all``, or the most iterations of loops of unknown length."""
    return {
        "name": kernel.name,
        "line": source.position(kernel.span.start).line,
        "status": kernel.status,
        "steps": kernel.steps,
        "executed": kernel.executed,
        "trip_counts": kernel.iterations,
        "reasons": [
            {
                "case": reason.case,
                "message": reason.message,
                "line": source.position(reason.span.start).line if reason.span is not None else None,
            }
            for reason in kernel.reasons
        ],
    }


def coverage_json(coverage: Coverage) -> dict[str, int]:
    """How much was verified in all."""
    return {
        "kernels": coverage.kernels,
        "followed": coverage.followed,
        "steps": coverage.steps,
        "executed": coverage.executed,
        "unjudged": coverage.unjudged,
    }


def _diagnostic(diagnostic: Diagnostic, report: Report) -> dict[str, Any]:
    placed = report.options.explain_path or diagnostic.severity is not Severity.NOTE
    related = {"related": [_related(diagnostic.source, place) for place in diagnostic.related]}
    cited = report.book.named(diagnostic.code)
    urls = dict(zip(cited.sources, cited.urls, strict=True)) if cited else {}
    start = diagnostic.source.position(diagnostic.span.start)
    end = diagnostic.source.position(diagnostic.span.end)
    return {
        "file": diagnostic.source.name,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
        "sources": list(diagnostic.sources),
        "source_urls": [urls.get(source) or None for source in diagnostic.sources],
        **_origins(diagnostic.origins),
        **({"fix": _fix(diagnostic.source, diagnostic.fix)} if diagnostic.fix is not None else {}),
        **(related if placed and (diagnostic.related or report.options.explain_path) else {}),
    }


def _origins(places: tuple[Origin, ...]) -> dict[str, Any]:
    """``origin``, the place in the user's own source, and ``frames``, all places, where inlined code has several."""
    listed = [{"file": one.file, "line": one.line, "column": one.column} for one in places]
    return {"origin": listed[0], **({"frames": listed} if len(listed) > 1 else {})} if listed else {}


def _fix(source: Source, fix: Fix) -> dict[str, Any]:
    """What to replace, in lines and columns as those of the finding."""
    edits = []
    for edit in fix.edits:
        start, end = source.position(edit.span.start), source.position(edit.span.end)
        place = {"line": start.line, "column": start.column, "end_line": end.line, "end_column": end.column}
        edits.append({**place, "text": edit.text})
    return {"what": fix.what, "safe": fix.safe, "edits": edits}


def _related(source: Source, place: Related) -> dict[str, Any]:
    line, column = source.position(place.span.start)
    return {"line": line, "column": column, "message": place.message, **_origins(place.origins)}
