"""Expressions of the layout algebra, ``composition((20):(2), (5,4):(4,1))``, by grammar/layout_expression.lark."""

from __future__ import annotations

from functools import cache
from typing import Any

from lark import Lark, Token, Transformer
from lark.visitors import merge_transformers

from tileproof.base.records import dataclass
from tileproof.layout.values import Value
from tileproof.syntax.driver import compile_grammar, end_of, run, start_of
from tileproof.syntax.layout_grammar import LayoutBuilder


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the layout algebra and its arguments, with the place of its name in the text."""

    name: str
    arguments: tuple[Call | Value, ...]
    start: int
    end: int


class _ExpressionBuilder(Transformer[Token, Any]):
    """Reductions of grammar/layout_expression.lark; those of layout.lark are merged in."""

    def call(self, items: list[Any]) -> Call:
        name, *arguments = items
        return Call(str(name), tuple(arguments), start_of(name), end_of(name))


@cache
def _expressions() -> Lark:
    builder: Transformer[Token, Any] = merge_transformers(_ExpressionBuilder(), layout=LayoutBuilder())  # type: ignore[no-untyped-call]
    return compile_grammar("layout_expression", ["expression"], builder)


def expression(text: str) -> Call | Value:
    """A call of the layout algebra, or the value that the text denotes.

    Raises:
        SyntaxFault: the text is not in grammar/layout_expression.lark.
    """
    tree: Call | Value = run(_expressions(), text, "expression")
    return tree
