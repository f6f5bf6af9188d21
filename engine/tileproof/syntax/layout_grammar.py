"""Layout text to values of the layout algebra, by grammar/layout.lark."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

from lark import Lark, Token, Transformer

from tileproof.layout.values import Basis, ComposedLayout, Dynamic, Layout, Swizzle, Tile, Tuple, Value, Wildcard
from tileproof.syntax import SyntaxFault
from tileproof.syntax.driver import compile_grammar, end_of, run, start_of


class LayoutBuilder(Transformer[Token, Any]):
    """Reductions of grammar/layout.lark to the values of ``tileproof.layout``."""

    def integer(self, items: list[Token]) -> int:
        return int(items[0])

    def ratio(self, items: list[Token]) -> Fraction:
        if int(items[1]) == 0:
            raise SyntaxFault("a ratio requires a positive denominator", start_of(items[1]), end_of(items[1]))
        return Fraction(int(items[0]), int(items[1]))

    def dynamic(self, items: list[dict[str, int]]) -> Dynamic:
        return Dynamic(**{name: value for item in items for name, value in item.items()})

    def constraint(self, items: list[Token]) -> dict[str, int]:
        token = items[-1]
        if token.type == "WIDTH":
            return {"width": int(token[1:])}
        if int(token) == 0:
            raise SyntaxFault("a divisor must be positive", token.start_pos or 0, token.end_pos or 0)
        return {"div": int(token)}

    def wildcard(self, items: list[Token]) -> Wildcard:
        return Wildcard.ALL

    def basis(self, items: list[Any]) -> Basis:
        for index in items[1:]:
            if len(index) > 3:
                raise SyntaxFault("a coordinate has no mode of that index", start_of(index), end_of(index))
        return Basis(items[0], tuple(map(int, items[1:])))

    def nested(self, items: list[Tuple]) -> Tuple:
        return tuple(items)

    def layout(self, items: list[Tuple]) -> Layout:
        return Layout(items[0], items[1])

    def swizzle(self, items: list[Token]) -> Swizzle:
        return Swizzle(int(items[0]), int(items[1]), int(items[2]))

    def composed(self, items: list[Any]) -> ComposedLayout:
        *inner, offset, outer = items
        return ComposedLayout(inner[0] if inner else None, offset, outer)

    def tile(self, items: list[Any]) -> Tile:
        return Tile(tuple(items))


@cache
def _layouts() -> Lark:
    return compile_grammar("layout", ["value"], LayoutBuilder())


def parsed(text: str) -> Value:
    """The value that a piece of layout text denotes.

    Raises:
        SyntaxFault: the text is not in grammar/layout.lark.
    """
    value: Value = run(_layouts(), text, "value")
    return value
