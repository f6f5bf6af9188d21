"""Expressions of rule files as values, and where in a rule file something is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from tileproof.base.records import dataclass, field
from tileproof.base.source import Source, Span

Scalar: TypeAlias = "int | str"  # an enum member is its name, leading dot included: ".f16"


Value: TypeAlias = "int | str | frozenset[int] | frozenset[str] | frozenset[int | str] | range"


NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Number:
    """An integer. A version such as ``8.6`` is the integer 806."""

    value: int
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A member of an enum, leading dot included."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Fact:
    """The value of a field of the schema."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Lookup:
    """``table(arguments).column``; in messages also ``nearest(fact)`` and ``legal(fact)``."""

    table: str
    arguments: tuple[Expression, ...]
    column: str | None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``+ - * / %``; division rounds down."""

    operator: str
    left: Expression
    right: Expression
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """``== != < <= > >=``."""

    operator: str
    left: Expression
    right: Expression
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Members:
    """``{a, b, c}``."""

    items: tuple[Expression, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Range:
    """``first..last step s``, both ends included, constants all three."""

    first: int
    last: int
    step: int
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Membership:
    """``item in collection``."""

    item: Expression
    collection: Expression
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    """``not operand``."""

    operand: Expression
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Connective:
    """``and`` / ``or``, left to right: the right side is not read where the left one decides."""

    operator: str
    operands: tuple[Expression, ...]
    span: Span = field(default=NOWHERE, compare=False)


Expression: TypeAlias = (
    "Number | Symbol | Fact | Lookup | Arithmetic | Comparison | Members | Range | Membership | Not | Connective"
)


def parts(expression: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside an expression."""
    match expression:
        case Arithmetic() | Comparison():
            return (expression.left, expression.right)
        case Lookup():
            return expression.arguments
        case Members():
            return expression.items
        case Membership():
            return (expression.item, expression.collection)
        case Not():
            return (expression.operand,)
        case Connective():
            return expression.operands
        case _:
            return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """An expression and all inside it."""
    yield expression
    for part in parts(expression):
        yield from walk(part)


def facts_of(expression: Expression) -> frozenset[str]:
    """The names of the facts that an expression reads."""
    return frozenset(part.name for part in walk(expression) if isinstance(part, Fact))


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a rule file."""

    source: Source
    span: Span

    def __str__(self) -> str:
        line, column = self.source.position(self.span.start)
        return f"{self.source.name}:{line}:{column}"
