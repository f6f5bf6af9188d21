"""Reports in SARIF 2.1.0, which code-scanning services read."""

from __future__ import annotations

import json
import os
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from tileproof import __version__
from tileproof.base.diagnostic import Diagnostic, Fix, Origin
from tileproof.base.patterns import regex
from tileproof.base.source import Source, Span
from tileproof.report.fingerprints import fingerprints
from tileproof.report.json import coverage_json, kernel_json
from tileproof.report.origins import file_of
from tileproof.report.values import Report
from tileproof.rulebase.declarations import Finding, Rule

_ROOT = "SRCROOT"
_HOLE = regex(r"\{[^{}]*\}")
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
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder in which tileproof ran"}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, index, mark) for mark, one in fingerprints(report.diagnostics, os.curdir)],
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
        "fullDescription": {"text": rule.why or _HOLE.sub("\N{HORIZONTAL ELLIPSIS}", rule.message)},
        "defaultConfiguration": {"level": _LEVELS[rule.severity.value]},
    }
    lines = [rule.hint] * bool(rule.hint) + [f"Source: {source}" for source in rule.sources]
    if lines:
        described["help"] = {"text": "\n".join(lines)}
    if url := next(filter(None, rule.urls), None):
        described["helpUri"] = url
    return described


def _result(diagnostic: Diagnostic, index: dict[str, int], mark: str) -> dict[str, Any]:
    text = f"{diagnostic.message}. {diagnostic.hint}" if diagnostic.hint else diagnostic.message
    here = _location(diagnostic.source, diagnostic.span)
    places = [(place.message, _location(diagnostic.source, place.span)) for place in diagnostic.related]
    compiled = [("compiled to this", here)] if diagnostic.origins else []
    compiled += [("in this, which was inlined or calls it", _origin(one)) for one in diagnostic.origins[1:]]
    related = [{"id": i, "message": {"text": said}, **place} for i, (said, place) in enumerate([*places, *compiled])]
    steps = [{"location": {"message": {"text": said}, **place}} for said, place in places]
    steps.append({"location": {"message": {"text": diagnostic.message}, **here}})
    return {
        "ruleId": diagnostic.code,
        "ruleIndex": index[diagnostic.code],
        "level": _LEVELS[diagnostic.severity.value],
        "message": {"text": text},
        "locations": [_origin(diagnostic.origins[0]) if diagnostic.origins else here],
        **({"fixes": [_fix(diagnostic.source, diagnostic.fix)]} if diagnostic.fix is not None else {}),
        "partialFingerprints": {"tileproof/v1": mark},
        **({"codeFlows": [{"threadFlows": [{"locations": steps}]}]} if places else {}),
        **({"relatedLocations": related} if related else {}),
    }


def _fix(source: Source, fix: Fix) -> dict[str, Any]:
    replacements = [
        {"deletedRegion": _region(source, edit.span), "insertedContent": {"text": edit.text}} for edit in fix.edits
    ]
    changes = [{"artifactLocation": _artifact(source.name), "replacements": replacements}]
    return {"description": {"text": fix.what}, "artifactChanges": changes}


def _location(source: Source, span: Span) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": _artifact(source.name), "region": _region(source, span)}}


def _region(source: Source, span: Span) -> dict[str, Any]:
    start, end = source.position(span.start), source.position(span.end)
    return {"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column}


def _origin(origin: Origin) -> dict[str, Any]:
    column = {"startColumn": origin.column} if origin.column else {}
    region = {"startLine": origin.line, **column}
    return {"physicalLocation": {"artifactLocation": _artifact(file_of(origin)), "region": region}}


def _artifact(name: str) -> dict[str, Any]:
    """A file, from the root of the run unless its path is absolute."""
    return {"uri": _uri(name), **({} if PurePath(name).is_absolute() or name == "-" else {"uriBaseId": _ROOT})}


def _uri(name: str) -> str:
    path = PurePath(name)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))
