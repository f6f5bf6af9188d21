"""Rules as documentation: the same text serves ``explain``, ``rules list`` and ``rules show``."""

from __future__ import annotations

import json
from collections.abc import Iterable

from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import Example, Finding, Rule
from tileproof.rulebase.expression import Scalar


def is_deviation(item: Rule | Finding) -> bool:
    """Whether a rule tells of a deliberate deviation, such as a hole in ptxas: one of its sources says so."""
    return any(source.startswith("deviation: ") for source in item.sources)


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
                "sources": list(item.sources),
            }
            for item in items
        ],
        indent=2,
    )


def text_of(item: Rule | Finding) -> str:
    """The rule as it stands in its file, from its first word to its closing brace."""
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


def explanation(book: Rulebook, item: Rule | Finding) -> str:
    """What a rule demands and why, its sources and its examples."""
    lines = [f"{item.code} {item.name}", "", item.message]
    if item.hint:
        lines += ["", f"Hint: {item.hint}"]
    if isinstance(item, Rule):
        lines += ["", *_terms(item)]
        instance = book.schemas[item.schema].instance
        lines += [f"  Passes: {_example(item, example, instance)}" for example in item.passing]
        lines += [f"  Fails:  {_example(item, example, instance)}" for example in item.failing]
    lines += ["", *(f"Source: {source}" for source in item.sources)]
    lines += ["", f"Silence one line with  // tileproof: ignore[{item.code}] reason"]
    return "\n".join(lines)


def _terms(rule: Rule) -> list[str]:
    text = rule.place.source.text
    conditions = [("when", rule.when)] if rule.when is not None else []
    lines = [f"  On {rule.schema}, {'contract ' + rule.contract if rule.contract else 'both contracts'}"]
    if rule.replaces:
        lines.append(f"  On '{rule.schema}' instead of {', '.join(rule.replaces)}")
    if rule.refines:
        lines.append(f"  Silent where one of {', '.join(rule.refines)} reports")
    for keyword, condition in (*conditions, ("require", rule.require)):
        words = " ".join(text[condition.span.start : condition.span.end].split())
        lines.append(f"  {keyword.capitalize()}: {words}")
    return lines


def _example(rule: Rule, example: Example, instance: dict[str, Scalar]) -> str:
    """The facts that decide the rule, those of the example first."""
    facts = {**example.facts, **{name: instance[name] for name in sorted(rule.facts) if name not in example.facts}}
    return ", ".join(f"{name} = {str(value).removeprefix('.')}" for name, value in facts.items())
