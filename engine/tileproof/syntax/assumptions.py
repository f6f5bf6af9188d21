"""Assumptions about dynamic leaves, ``ld - k == 8``, as trees, by grammar/assumption.lark."""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

from lark import Lark, Token, Transformer

from tileproof.base.records import dataclass
from tileproof.syntax.driver import compile_grammar, run


@dataclass(frozen=True, slots=True)
class Name:
    """A dynamic leaf or a defined value, without a question mark."""

    text: str


@dataclass(frozen=True, slots=True)
class Operation:
    """``left + right``; the operators are ``+ - * / %``."""

    operator: str
    left: Expression
    right: Expression


Expression: TypeAlias = int | Name | Operation


@dataclass(frozen=True, slots=True)
class Relation:
    """``left == right``; the operators are ``== != <= >= < >``."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Definition:
    """``name = value``."""

    name: str
    value: Expression


class _Builder(Transformer[Token, "Expression | Relation | Definition"]):
    """Reductions of grammar/assumption.lark."""

    def relation(self, items: list[Expression | Token]) -> Relation:
        left, operator, right = items
        return Relation(str(operator), left, right)  # type: ignore[arg-type]

    def definition(self, items: list[Expression | Token]) -> Definition:
        return Definition(str(items[0]).removeprefix("?"), items[1])  # type: ignore[arg-type]

    def name(self, items: list[Token]) -> Name:
        return Name(items[0].removeprefix("?"))

    def integer(self, items: list[Token]) -> int:
        return int(items[0])

    def negative(self, items: list[Expression]) -> Expression:
        return Operation("-", 0, items[0])

    def add(self, items: list[Expression]) -> Expression:
        return Operation("+", *items)

    def subtract(self, items: list[Expression]) -> Expression:
        return Operation("-", *items)

    def multiply(self, items: list[Expression]) -> Expression:
        return Operation("*", *items)

    def quotient(self, items: list[Expression]) -> Expression:
        return Operation("/", *items)

    def remainder(self, items: list[Expression]) -> Expression:
        return Operation("%", *items)


@cache
def _assumptions() -> Lark:
    return compile_grammar("assumption", ["assumption"], _Builder())


def parse(text: str) -> Relation | Definition:
    """The tree of an assumption.

    Raises:
        SyntaxFault: the text is not in grammar/assumption.lark.
    """
    found: Relation | Definition = run(_assumptions(), text, "assumption")
    return found
