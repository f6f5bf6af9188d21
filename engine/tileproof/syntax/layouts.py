"""Layout text to values of the layout algebra: what is well-formed here, every other text by grammar/layout.lark."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from tileproof.base.patterns import regex
from tileproof.layout.values import Basis, ComposedLayout, Dynamic, Layout, Swizzle, Tile, Tuple, Value, Wildcard
from tileproof.syntax import MAX_DIGITS, MAX_NESTING

if TYPE_CHECKING:
    from fractions import Fraction  # few layouts have one: it is loaded, with `decimal`, where one is made

_NUMBER = rf"\d{{1,{MAX_DIGITS}}}"
_INTEGER = rf"-?{_NUMBER}(?!\d)"
_BOUND = r"\?(?:\{(?:i\d{1,3}|(?:i\d{1,3} )?div=[1-9]\d{0,17})\})?(?![{\d])"
_LEAF = rf"(?:{_INTEGER}(?:/[1-9]\d{{0,17}}(?!\d))?|{_BOUND})(?:@\d{{1,3}}(?!\d))*|_"
_TOKEN = regex(rf"({_LEAF})|[(),:;\[\]]", re.ASCII)
_SWIZZLE = regex(rf"S<({_NUMBER}),({_NUMBER}),(-?{_NUMBER})>", re.ASCII)


@lru_cache(maxsize=65536)
def layout(text: str) -> Value:
    """The value that a piece of layout text denotes: a tuple, a layout, a swizzle, a composed layout or a tile.

    Raises:
        SyntaxFault: the text is not in grammar/layout.lark.
    """
    try:
        return _value(text.split(" o "))
    except _Unlike:
        from tileproof.syntax.layout_grammar import parsed  # noqa: PLC0415  Lark is imported only for such text

        return parsed(text)


class _Unlike(Exception):
    """Text that is not in the usual form: it may be wrong, or only written in another way."""


def _value(parts: list[str]) -> Value:
    swizzle = _SWIZZLE.fullmatch(parts[0])
    inner: Value | None = None
    if swizzle is not None:
        inner = Swizzle(*map(int, swizzle.groups()))
        if len(parts) == 1:
            return inner
    if len(parts) == 1:
        return _Reader(parts[0]).whole(tile=True)
    if len(parts) == 3 and inner is None:
        inner = _Reader(parts[0]).whole()
    offset, outer = (_Reader(part).whole() for part in parts[-2:])
    if not isinstance(outer, Layout) or isinstance(offset, Layout | Tile):
        raise _Unlike
    if len(parts) == 2 and inner is None:
        return ComposedLayout(None, offset, outer)
    if len(parts) == 3 and isinstance(inner, Swizzle | Layout):
        return ComposedLayout(inner, offset, outer)
    raise _Unlike


class _Reader:
    """The tokens of one text, and how many of them are read."""

    __slots__ = ("at", "tokens")

    def __init__(self, text: str) -> None:
        found = [*_TOKEN.finditer(text)]
        self.tokens = [one[0] for one in found]
        self.at = 0
        if sum(map(len, self.tokens)) != len(text) or text.count("(") + text.count("[") > MAX_NESTING:
            raise _Unlike

    def whole(self, tile: bool = False) -> Layout | Tile | Tuple:
        """All of the text: a tuple or a layout, or a tile."""
        value = self.mode(tile)
        if self.at != len(self.tokens):
            raise _Unlike
        return value

    def next(self) -> str:
        """The next token; none at the end, which every form refuses."""
        at, self.at = self.at, self.at + 1
        return self.tokens[at] if at < len(self.tokens) else ""

    def mode(self, tile: bool) -> Layout | Tile | Tuple:
        """A tuple or a layout, or a tile where there may be one."""
        token = self.next()
        if token == "[" and tile:
            modes = [self.mode(tile)]
            while (token := self.next()) == ";":
                modes.append(self.mode(tile))
            if token != "]":
                raise _Unlike
            return Tile(tuple(modes))
        shape = self.tuple(token)
        if self.at == len(self.tokens) or self.tokens[self.at] != ":":
            return shape
        self.at += 1
        return Layout(shape, self.tuple(self.next()))

    def tuple(self, token: str) -> Tuple:
        """The tuple that begins with a token."""
        if token != "(":
            return _leaf(token)
        token = self.next()
        if token == ")":
            return ()
        items = [self.tuple(token)]
        while (token := self.next()) == ",":
            items.append(self.tuple(self.next()))
        if token != ")":
            raise _Unlike
        return tuple(items)


@lru_cache(maxsize=4096)
def _leaf(text: str) -> Tuple:
    if text in "(),:;[]":
        raise _Unlike
    if text == "_":
        return Wildcard.ALL
    value, *path = text.split("@")
    number: int | Fraction | Dynamic
    if value[0] == "?":
        width, _, divisor = value[2:-1].rpartition("div=") if "=" in value else (value[2:-1], "", "")
        number = Dynamic(int(width[1:] or 32), int(divisor or 1))
    elif "/" in value:
        from fractions import Fraction  # noqa: PLC0415

        number = Fraction(value)
    else:
        number = int(value)
    return Basis(number, tuple(map(int, path))) if path else number
