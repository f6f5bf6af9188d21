"""What a report has, in numbers: findings by rule, kernels by status, steps of protocols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tileproof.report.values import Report


def statistics(report: Report) -> dict[str, Any]:
    """The numbers of a report; rules with the most findings first, then by code."""
    counted = Counter((found.code, found.name, found.severity.value) for found in report.diagnostics)
    coverage = report.coverage
    return {
        "rules": [
            {"code": code, "name": name, "severity": severity, "count": count}
            for (code, name, severity), count in sorted(counted.items(), key=lambda one: (-one[1], one[0]))
        ],
        "kernels": {
            "followed": coverage.followed,
            "partly": coverage.partly,
            "unfollowed": coverage.unfollowed,
        },
        "steps": {"executed": coverage.executed, "not_executed": coverage.steps - coverage.executed},
    }


def table(report: Report) -> Iterator[str]:
    """The same as lines of text: a number, and what it counts."""
    numbers = statistics(report)
    rows = [(rule["count"], f"{rule['code']} {rule['name']} ({rule['severity']})") for rule in numbers["rules"]]
    for group, words in (("kernels", _KERNELS), ("steps", _STEPS)):
        rows += [(numbers[group][key], word) for key, word in words.items()]
    width = max(len(str(count)) for count, _ in rows)
    yield from (f"{count:>{width}}  {word}" for count, word in rows)


_KERNELS = {
    "followed": "kernels wholly followed",
    "partly": "kernels followed in part",
    "unfollowed": "kernels not followed",
}
_STEPS = {"executed": "protocol steps executed", "not_executed": "protocol steps not executed"}
