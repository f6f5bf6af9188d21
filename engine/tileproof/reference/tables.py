"""Rows of tables by the names of their columns, for what reads whole tables and not single cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Value

Row = Mapping[str, Value]


@lru_cache(maxsize=256)
def rows(book: Rulebook, table: str) -> Mapping[str, Row]:
    """The rows of a table with one key, by the key.

    Raises:
        KeyError: no table of both contracts has the name.
    """
    declared = book.shared_table(table)
    return {key[0]: dict(zip(declared.columns, cells, strict=True)) for key, cells in declared.rows.items()}


def spelled(book: Rulebook, enum: str, member: Value) -> str:
    """A member as we print it."""
    return book.enums[enum].members[str(member)][0]


def number(cell: Value) -> int:
    """A cell that the table states as an integer."""
    assert isinstance(cell, int), "a number in rules/"
    return cell


def numbers(cell: Value) -> frozenset[int]:
    """A cell that the table states as a set of integers."""
    assert isinstance(cell, frozenset), "a set in rules/"
    return frozenset(item for item in cell if isinstance(item, int))


def within(book: Rulebook, table: str, identifier: int) -> Iterator[tuple[str, Row]]:
    """The rows of a table of ranges, from ``first`` to ``last``, that an id is in."""
    for key, row in rows(book, table).items():
        if number(row["first"]) <= identifier <= number(row["last"]):
            yield key, row
