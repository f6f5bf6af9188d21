"""Which piece of a configuration's text a violated rule is about."""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.base.source import Span
from tileproof.dialects.configuration import Facts
from tileproof.rulebase.declarations import Rule
from tileproof.rulebase.expression import Expression, Fact, Lookup, parts


def span_of(rule: Rule, facts: Facts) -> Span:
    """The text to underline: the facts that the requirement compares, else the whole configuration."""
    spans = [facts.spans[name] for name in _compared(rule.require) if name in facts.spans]
    return Span(min(s.start for s in spans), max(s.end for s in spans)) if spans else facts.span


def _compared(expression: Expression) -> Iterator[str]:
    """Facts that an expression reads directly, not as the key of a table."""
    if isinstance(expression, Fact):
        yield expression.name
    elif not isinstance(expression, Lookup):
        for part in parts(expression):
            yield from _compared(part)
