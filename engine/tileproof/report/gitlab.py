"""Reports as GitLab's code quality artifact: a list of issues that merge requests show."""

from __future__ import annotations

import json
import os

from tileproof.report.fingerprints import fingerprints
from tileproof.report.origins import file_of
from tileproof.report.values import Report

_SEVERITIES = {"error": "critical", "warning": "minor", "note": "info"}


def render(report: Report) -> str:
    """The issues; a file that could not be checked is one too."""
    issues = []
    for mark, one in fingerprints(report.diagnostics, os.curdir):
        origin = one.origin
        line = one.source.position(one.span.start).line
        path, line = (file_of(origin), origin.line) if origin is not None else (one.source.name, line)
        issues.append(
            {
                "description": f"{one.message} ({one.hint})" if one.hint else one.message,
                "check_name": f"{one.code} {one.name}",
                "fingerprint": mark,
                "severity": _SEVERITIES[one.severity.value],
                "location": {"path": path, "lines": {"begin": line}},
            }
        )
    for unread in report.unread:
        issues.append(
            {
                "description": unread.reason,
                "check_name": "unread",
                "fingerprint": f"unread:{unread.name}",
                "severity": "blocker",
                "location": {"path": unread.name, "lines": {"begin": 1}},
            }
        )
    return json.dumps(issues, indent=2)
