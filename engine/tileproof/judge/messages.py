"""Messages and hints: the text of a rule with its placeholders filled in, in the words of the file that is checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import TypeAlias

from tileproof.dialects.configuration import Facts
from tileproof.evaluate.python import Judge, function
from tileproof.rulebase.declarations import Rule
from tileproof.rulebase.expression import Expression, Fact, Lookup, Scalar
from tileproof.rulebase.placeholder import parsed
from tileproof.rulebase.resolve import MESSAGE_FUNCTIONS, PLACEHOLDER, VERSION, Kind, OneOf, Scope, SetOf

MOST = 8  # values that a list names before it is cut

Filler: TypeAlias = "Callable[[Facts], str]"


class _Nothing(Exception):
    """A placeholder has no value, so its text is omitted."""


def render(judge: Judge, rule: Rule, text: str, facts: Facts) -> str:
    """Fill the placeholders of a message or a hint; empty where one of them has no value to show."""
    try:
        return "".join([piece if isinstance(piece, str) else piece(facts) for piece in _pieces(judge, rule, text)])
    except (_Nothing, KeyError):
        return ""


@lru_cache(maxsize=4096)
def _pieces(judge: Judge, rule: Rule, text: str) -> tuple[str | Filler, ...]:
    """A text cut at its placeholders, each of them made a function once."""
    pieces: list[str | Filler] = []
    for i, piece in enumerate(PLACEHOLDER.split(text)):  # captures of the pattern are at the odd places
        pieces.append(_filler(judge, rule, parsed(piece)) if i % 2 else piece)
    return tuple(pieces)


def _filler(judge: Judge, rule: Rule, expression: Expression) -> Filler:
    """A function that shows the value of a placeholder, as the user spelled it where it is a fact."""
    scope = Scope(judge.ruleset.book, judge.ruleset.book.schemas[judge.schema], judge.ruleset.contract)
    if isinstance(expression, Lookup) and expression.table in MESSAGE_FUNCTIONS:
        (fact,) = expression.arguments
        assert isinstance(fact, Fact), "checked when the rulebook was loaded"
        name, kind = fact.name, scope.kind(fact)
        find = judge.nearest if expression.table == "nearest" else judge.legal
        return lambda facts: _listed([_spell(judge, kind, value) for value in find(facts.values, name, rule)])
    if isinstance(expression, Lookup) and expression.table == VERSION:
        number = function(judge.ruleset, expression.arguments[0])
        return lambda facts: version_text(number(facts.values))
    compute = itemgetter(expression.name) if isinstance(expression, Fact) else function(judge.ruleset, expression)
    kind = scope.kind(expression)

    def show(facts: Facts) -> str:
        if isinstance(expression, Fact) and expression.name in facts.spelled:
            return facts.spelled[expression.name]
        value = compute(facts.values)
        if isinstance(value, (int, str)):
            return _spell(judge, kind, value)
        of = kind.of if isinstance(kind, SetOf) else None
        return _listed([_spell(judge, of, item) for item in sorted(value, key=str)])

    return show


def version_text(number: object) -> str:
    """806 as ``8.6``."""
    assert isinstance(number, int), "checked when the rulebook was loaded"
    return f"{number // 100}.{number % 100}"


def _spell(judge: Judge, kind: Kind, value: Scalar) -> str:
    name = kind.enums[0] if isinstance(kind, OneOf) else kind
    enum = judge.ruleset.book.enums.get(name) if isinstance(name, str) else None
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
