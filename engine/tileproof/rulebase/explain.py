"""Rules as documentation: the text of ``rules list`` and ``rules show``."""

from __future__ import annotations

import json
from collections.abc import Iterable

from tileproof.rulebase.declarations import Finding, Rule
from tileproof.rulebase.references import DEVIATION


def is_deviation(item: Rule | Finding) -> bool:
    """Whether a rule states a deliberate deviation, such as a hole in ptxas: one of its sources says so."""
    return any(source.startswith(DEVIATION) for source in item.sources)


def contract_of(item: Rule | Finding) -> str | None:
    """The contract of a rule; None for both."""
    return item.contract if isinstance(item, Rule) else None


def listing(items: Iterable[Rule | Finding]) -> str:
    """One aligned line a rule: code, name, severity, contract, what it is about."""
    rows = [
        (
            item.code,
            item.name,
            item.severity.value,
            contract_of(item) or "both",
            item.schema if isinstance(item, Rule) else "text",
        )
        for item in items
    ]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(5)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def as_json(items: Iterable[Rule | Finding]) -> str:
    """The rules as a JSON array."""
    return json.dumps(
        [
            {
                "code": item.code,
                "name": item.name,
                "severity": item.severity.value,
                "contract": contract_of(item),
                "schema": item.schema if isinstance(item, Rule) else None,
                "message": item.message,
                "hint": item.hint,
                "why": item.why,
                "sources": list(item.sources),
                "source_urls": [url or None for url in item.urls],
            }
            for item in items
        ],
        indent=2,
    )


def text_of(item: Rule | Finding) -> str:
    """The rule as written in its file, from its first word to its closing brace."""
    text, at = item.place.source.text, item.place.span.start
    start = max(text.rfind("rule", 0, at), text.rfind("finding", 0, at))
    start = text.rfind("\n", 0, start) + 1
    depth, quoted, end = 0, False, at
    while end < len(text):
        character = text[end]
        if quoted:
            end += character == "\\"
            quoted = character != '"'
        elif character == '"':
            quoted = True
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                break
        end += 1
    line, _ = item.place.source.position(at)
    return f"# {item.place.source.name}:{line}\n{text[start : end + 1]}"
