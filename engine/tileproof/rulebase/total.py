"""Tables that say ``total``: each combination of their keys has a row, so that no rule is silent for want of one."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import CONTRACTS, Table
from tileproof.rulebase.expression import (
    Arithmetic,
    Comparison,
    Connective,
    Expression,
    Fact,
    Lookup,
    Members,
    Membership,
    Not,
    Number,
    Place,
    Range,
    Symbol,
    Value,
)
from tileproof.rulebase.fault import RuleFault

_NAMED = 8  # missing rows that a message lists
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **{"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv, "%": operator.mod},
}


def missing_rows(book: Rulebook) -> Iterator[RuleFault]:
    """What total tables lack: at the table, or at the member that an extension added and that has no row."""
    for table in dict.fromkeys(book.tables.values()):
        if table.total is None or any(enum not in book.enums for _, enum in table.keys):
            continue
        missing: dict[Place, list[tuple[str, ...]]] = {}
        wanted = _asked(book, table)
        for key in product(*(book.enums[enum].members for _, enum in table.keys)):
            if key not in table.rows and (wanted is None or key in wanted) and _wanted(book, table, key):
                missing.setdefault(_place(book, table, key), []).append(key)
        for place, keys in missing.items():
            named = ", ".join(map(" ".join, keys[:_NAMED])) + (f" and {len(keys) - _NAMED} more" * (len(keys) > _NAMED))
            row = "  ".join((*keys[0], *(f"<{column}>" for column in table.columns)))
            verb = f"extend table {table.name} {{ {row}; }}" if place is not table.place else f"{row};"
            yield RuleFault(place, f"table '{table.name}' is total and has no row for {named}: write `{verb}`")


def _asked(book: Rulebook, table: Table) -> set[tuple[Value, ...]] | None:
    """The keys that the rows of another table have, where a table is ``total of`` that one."""
    other = book.tables.get((table.total.of or "", table.contract or CONTRACTS[0])) if table.total is not None else None
    if other is None:
        return None
    columns = [other.columns.index(name) for name, _ in table.keys]
    return {tuple(row[i] for i in columns) for row in other.rows.values()}


def _place(book: Rulebook, table: Table, key: tuple[str, ...]) -> Place:
    for (_, name), member in zip(table.keys, key, strict=True):
        enum = book.enums[name]
        if enum.places[member].source is not enum.place.source:
            return enum.places[member]
    return table.place


def _wanted(book: Rulebook, table: Table, key: tuple[str, ...]) -> bool:
    if table.total is None or table.total.when is None:
        return True
    facts = {name: member for (name, _), member in zip(table.keys, key, strict=True)}
    try:
        return bool(_value(book.under(table.contract or CONTRACTS[0]), table.total.when, facts))
    except KeyError:  # the condition reads a table that lacks a row itself: reported there, if that one is total
        return False


def _value(ruleset: Ruleset, expression: Expression, facts: dict[str, str]) -> Value | bool:
    def value(one: Expression) -> Value | bool:
        return _value(ruleset, one, facts)

    match expression:
        case Number(number):
            return number
        case Symbol(name):
            return name
        case Fact(name):
            return facts[name]
        case Members(items):
            return frozenset(value(item) for item in items)  # type: ignore[misc]
        case Range(first, last, step):
            return range(first, last + 1, step)
        case Lookup(name, arguments, column):
            table = ruleset.table(name)
            return table.rows[tuple(str(value(one)) for one in arguments)][table.column(column) or 0]
        case Arithmetic(symbol, left, right) | Comparison(symbol, left, right):
            found: Value | bool = _OPERATORS[symbol](value(left), value(right))
            return found
        case Membership(item, collection):
            return value(item) in value(collection)  # type: ignore[operator]
        case Not(operand):
            return not value(operand)
        case Connective(symbol, operands):
            return (all if symbol == "and" else any)(map(value, operands))
