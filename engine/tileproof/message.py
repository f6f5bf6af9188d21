"""Messages and hints: the text of a rule with its placeholders filled in, in the words of the file that is checked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tileproof.evaluate import Judge, function
from tileproof.facts import Facts
from tileproof.resolve import MESSAGE_FUNCTIONS, PLACEHOLDER, Kind, Scope, SetOf
from tileproof.rule import Expression, Fact, Lookup, Rule, Scalar
from tileproof.syntax import rules as syntax

MOST = 8  # values that a list names before it is cut


class _Nothing(Exception):
    """A placeholder has no value, so the text that holds it says nothing."""


def render(judge: Judge, rule: Rule, text: str, facts: Facts) -> str:
    """Fill the placeholders of a message or a hint; empty where one of them has no value to show."""

    def fill(placeholder: re.Match[str]) -> str:
        return _fill(judge, rule, syntax.expression(placeholder[1]), facts)

    try:
        return PLACEHOLDER.sub(fill, text)
    except (_Nothing, KeyError):
        return ""


def _fill(judge: Judge, rule: Rule, expression: Expression, facts: Facts) -> str:
    if isinstance(expression, Fact) and expression.name in facts.spelled:
        return facts.spelled[expression.name]
    scope = Scope(judge.book, judge.book.schemas[judge.schema], judge.contract)
    if isinstance(expression, Lookup) and expression.table in MESSAGE_FUNCTIONS:
        (fact,) = expression.arguments
        assert isinstance(fact, Fact), "checked when the rulebook was loaded"
        find = judge.nearest if expression.table == "nearest" else judge.legal
        return _listed([_spell(judge, scope.kind(fact), value) for value in find(facts.values, fact.name, rule)])
    kind = scope.kind(expression)
    value = function(judge.book, judge.contract, expression)(facts.values)
    if isinstance(value, (int, str)):
        return _spell(judge, kind, value)
    of = kind.of if isinstance(kind, SetOf) else None
    return _listed([_spell(judge, of, item) for item in sorted(value, key=str)])


def _spell(judge: Judge, kind: Kind, value: Scalar) -> str:
    enum = judge.book.enums.get(kind) if isinstance(kind, str) else None
    spellings = enum.members.get(str(value)) if enum else None
    if spellings:
        return spellings[0]
    text = str(value) if isinstance(value, str) or abs(value) < 10**20 else f"an integer of {value.bit_length()} bits"
    return text.removeprefix(".")


def _listed(items: Sequence[str]) -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    if not items:
        raise _Nothing
    if len(items) > MOST:
        return ", ".join(items[:MOST]) + f", ... ({len(items)} in all)"
    return " or ".join(filter(None, (", ".join(items[:-1]), items[-1])))
