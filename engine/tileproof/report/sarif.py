"""Reports in SARIF 2.1.0, which code-scanning services read."""

from __future__ import annotations

import json
import os
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from tileproof import __version__
from tileproof.base.diagnostic import Diagnostic
from tileproof.base.source import Source, Span
from tileproof.report.json import coverage_json, kernel_json
from tileproof.report.values import Report
from tileproof.rulebase.declarations import Finding, Rule

_LEVELS = {"error": "error", "warning": "warning", "note": "note"}


def render(report: Report) -> str:
    """The report as a SARIF log with one run. Rules that reported are described in the run's tool."""
    documented = report.book.documented()
    codes = sorted({diagnostic.code for diagnostic in report.diagnostics})
    index = {code: i for i, code in enumerate(codes)}
    invocation = {
        "executionSuccessful": not report.unread,
        "toolExecutionNotifications": [
            {
                "level": "error",
                "message": {"text": unread.reason},
                "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(unread.name)}}}],
            }
            for unread in report.unread
        ],
    }
    driver = {
        "name": "tileproof",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(documented[code]) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": [_result(diagnostic, index) for diagnostic in report.diagnostics],
        "properties": {
            "coverage": coverage_json(report.coverage),
            "kernels": [
                {"uri": _uri(file.source.name), **kernel_json(file.source, kernel)}
                for file in report.files
                for kernel in file.kernels
            ],
        },
    }
    return json.dumps(
        {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}, indent=2
    )


def _rule(rule: Rule | Finding) -> dict[str, Any]:
    described: dict[str, Any] = {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.name.replace("-", " ")},
        "fullDescription": {"text": rule.message},
        "defaultConfiguration": {"level": _LEVELS[rule.severity.value]},
    }
    lines = [rule.hint] * bool(rule.hint) + [f"Source: {source}" for source in rule.sources]
    if lines:
        described["help"] = {"text": "\n".join(lines)}
    if url := next(filter(None, rule.urls), None):
        described["helpUri"] = url
    return described


def _result(diagnostic: Diagnostic, index: dict[str, int]) -> dict[str, Any]:
    text = f"{diagnostic.message}. {diagnostic.hint}" if diagnostic.hint else diagnostic.message
    related = [
        {"id": i, "message": {"text": place.message}, **_location(diagnostic.source, place.span)}
        for i, place in enumerate(diagnostic.related)
    ]
    return {
        "ruleId": diagnostic.code,
        "ruleIndex": index[diagnostic.code],
        "level": _LEVELS[diagnostic.severity.value],
        "message": {"text": text},
        "locations": [_location(diagnostic.source, diagnostic.span)],
        **({"relatedLocations": related} if related else {}),
    }


def _location(source: Source, span: Span) -> dict[str, Any]:
    start, end = source.position(span.start), source.position(span.end)
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(source.name)},
            "region": {
                "startLine": start.line,
                "startColumn": start.column,
                "endLine": end.line,
                "endColumn": end.column,
            },
        }
    }


def _uri(name: str) -> str:
    path = PurePath(name)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))
