"""Contradictions of the reference pages as rule files state them: what one place says, what stands against it, and how
that is proved.

A page may contradict itself, another page, or the hardware. Each contradiction names its proof, which ``audit`` makes:
a configuration for which a claim fails, or that there is none for which it holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias, cast

from tileproof.base.records import dataclass, field, replace
from tileproof.rulebase.declarations import Table
from tileproof.rulebase.expression import Expression, Fact, Lookup, Number, Place, Scalar
from tileproof.rulebase.references import Citation, Cited

ROWS = "rows"
"""``rows(TABLE)`` in a claim: how many rows the table has."""


@dataclass(frozen=True, slots=True)
class Always:
    """The claim is that an expression is true of all configurations: one for which it is false refutes it."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class Some:
    """The claim needs a configuration for which an expression is true: that there is none refutes it."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class Accepts:
    """One contract accepts what a rule of the other one rejects, for configurations with these facts among others."""

    accepting: str
    code: str
    facts: tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True, slots=True)
class Notes:
    """A rule of severity note has the other reading of contract tileiras: legal configurations violate it."""

    code: str


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two fields of a word share bits: codes of the two that cannot both be read back."""

    word: str
    fields: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Differ:
    """Two declarations pack the same facts into different words, each of a name and a contract."""

    words: tuple[tuple[str, str], tuple[str, str]]


Proof: TypeAlias = "Always | Some | Accepts | Notes | Overlap | Differ"


@dataclass(frozen=True, eq=False)
class Contradiction(Cited):
    """One contradiction.

    Attributes:
        schema: of the facts that the proof is about; None where it says by itself.
        claim, against: what one place says, and what stands against it.
    """

    code: str
    name: str
    schema: str | None
    claim: str
    against: str
    proof: Proof
    citations: tuple[Citation, ...]
    place: Place = field(repr=False)


def counted(tables: Mapping[tuple[str, str], Table], contract: str, expression: Expression) -> Expression:
    """An expression with the number of rows for each ``rows(TABLE)``; of a table that there is not it is kept."""
    match expression:
        case Lookup(table=name, arguments=(Fact(counted_table, _),)) if name == ROWS:
            table = tables.get((counted_table, contract))
            return expression if table is None else Number(len(table.rows), expression.span)
    if not is_dataclass(expression):
        return expression
    changed: dict[str, Any] = {}
    for one in fields(expression):
        value = getattr(expression, one.name)
        if isinstance(value, tuple) and one.name != "span":
            changed[one.name] = tuple(counted(tables, contract, cast(Expression, item)) for item in value)
        elif is_dataclass(value) and one.name != "span":
            changed[one.name] = counted(tables, contract, cast(Expression, value))
    return replace(expression, **changed)
