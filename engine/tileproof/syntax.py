"""From text to trees: every grammar under ``grammar/`` is read here, and nothing else imports Lark.

Each grammar is compiled on first use. A fault in the text is a ``SyntaxFault`` that knows where it is. Nesting and the
size of integers are limited before Lark sees the text: hostile input ends in a fault, not in a stack overflow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import LarkError, UnexpectedInput, UnexpectedToken
from lark.visitors import merge_transformers

from tileproof import resources
from tileproof.layout.values import Basis, ComposedLayout, Dynamic, Layout, Swizzle, Tile, Tuple, Value, Wildcard

MAX_NESTING = 64
MAX_DIGITS = 19  # of a 64-bit integer

_BRACKET = re.compile(r"[(\[{<]|[)\]}]|(?<!-)>")
_LONG_INTEGER = re.compile(rf"(?<![\w.])[0-9]{{{MAX_DIGITS + 1},}}")


class SyntaxFault(ValueError):
    """Text that its grammar does not accept.

    Attributes:
        start, end: offsets into the text, in characters.
    """

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.start = start
        self.end = max(end, start)


def _guard(text: str) -> None:
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth += 1 if bracket[0] in "([{<" else -1
        if depth > MAX_NESTING:
            raise SyntaxFault(f"brackets nest deeper than {MAX_NESTING}", bracket.start(), bracket.end())
    if number := _LONG_INTEGER.search(text):
        raise SyntaxFault("an integer does not fit in 64 bits", number.start(), number.end())


def run(parser: Lark, text: str, start: str) -> Any:
    """Parse ``text`` from the nonterminal ``start``.

    Raises:
        SyntaxFault: with the place and the piece of text that was not expected.
    """
    _guard(text)
    try:
        return parser.parse(text, start=start)
    except UnexpectedToken as fault:
        if fault.token.type == "$END":
            raise SyntaxFault("unexpected end", len(text), len(text)) from None
        at = fault.token.start_pos or 0
        raise SyntaxFault(f"unexpected '{fault.token}'", at, at + len(fault.token)) from None
    except UnexpectedInput as fault:
        at = fault.pos_in_stream or 0
        raise SyntaxFault(f"unexpected '{text[at : at + 1]}'", at, at + 1) from None
    except LarkError as fault:
        if isinstance(cause := fault.__cause__ or fault.__context__, SyntaxFault):
            raise cause from None
        raise SyntaxFault(str(fault), 0, len(text)) from None


def compile_grammar(name: str, start: list[str], transformer: Transformer[Token, Any] | None = None) -> Lark:
    """``grammar/NAME.lark`` as an LALR parser that applies the transformer while it parses."""
    return Lark(
        resources.grammar(name),
        start=start,
        parser="lalr",
        lexer="contextual",
        transformer=transformer,
        maybe_placeholders=False,
        propagate_positions=False,
        import_paths=[str(resources.folder("grammar"))],
    )


class _LayoutBuilder(Transformer[Token, Any]):
    """Reductions of grammar/layout.lark to the values of ``tileproof.layout``."""

    def integer(self, items: list[Token]) -> int:
        return int(items[0])

    def ratio(self, items: list[Token]) -> Fraction:
        if int(items[1]) == 0:
            raise SyntaxFault("a ratio needs a positive denominator", items[1].start_pos or 0, items[1].end_pos or 0)
        return Fraction(int(items[0]), int(items[1]))

    def dynamic(self, items: list[dict[str, int]]) -> Dynamic:
        return Dynamic(**{name: value for item in items for name, value in item.items()})

    def constraint(self, items: list[Token]) -> dict[str, int]:
        token = items[-1]
        if token.type == "WIDTH":
            return {"width": int(token[1:])}
        if int(token) == 0:
            raise SyntaxFault("a divisor is positive", token.start_pos or 0, token.end_pos or 0)
        return {"div": int(token)}

    def wildcard(self, items: list[Token]) -> Wildcard:
        return Wildcard.ALL

    def basis(self, items: list[Any]) -> Basis:
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
    return compile_grammar("layout", ["value"], _LayoutBuilder())


@lru_cache(maxsize=65536)
def layout(text: str) -> Value:
    """The value that a piece of layout text denotes: a tuple, a layout, a swizzle, a composed layout or a tile.

    Raises:
        SyntaxFault: the text is not in grammar/layout.lark.
    """
    value: Value = run(_layouts(), text, "value")
    return value


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the layout algebra and its arguments, with the place of its name in the text."""

    name: str
    arguments: tuple[Call | Value, ...]
    start: int
    end: int


class _ExpressionBuilder(Transformer[Token, Any]):
    """Reductions of grammar/expression.lark; those of layout.lark are merged in."""

    def call(self, items: list[Any]) -> Call:
        name, *arguments = items
        return Call(str(name), tuple(arguments), name.start_pos or 0, name.end_pos or 0)


@cache
def _expressions() -> Lark:
    builder: Transformer[Token, Any] = merge_transformers(_ExpressionBuilder(), layout=_LayoutBuilder())  # type: ignore[no-untyped-call]
    return compile_grammar("expression", ["expression"], builder)


def expression(text: str) -> Call | Value:
    """A call of the layout algebra, or the value that the text denotes.

    Raises:
        SyntaxFault: the text is not in grammar/expression.lark.
    """
    tree: Call | Value = run(_expressions(), text, "expression")
    return tree
