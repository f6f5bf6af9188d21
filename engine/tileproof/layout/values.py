"""The values of the layout algebra: layouts, shapes, coordinates and tiles.

A *tuple* is a hierarchy of leaves. It is a plain Python ``tuple`` of tuples, and a leaf is one of

- ``int``          a static integer;
- ``Dynamic``      an integer known only when the kernel runs, of which its width and a divisor are known;
- ``Fraction``     a ratio of integers; only ever a step of a scaled basis (``1/2@0``: sub-byte elements);
- ``Basis``        ``value@m@n``: ``value`` steps along mode ``m`` of mode ``n`` of a coordinate tensor;
- ``Wildcard``     ``_``: the whole mode.

A one-tuple is not its leaf: CuTe prints ``(7):(1)`` and ``7:1`` differently, and so do we.

All values are frozen, compare by value and print (``str``) exactly as the ``cute`` dialect prints them.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from tileproof.base.records import dataclass
from tileproof.base.shown import drawn

if TYPE_CHECKING:
    from fractions import Fraction  # few layouts have one: it is loaded, with `decimal`, where one is made


@dataclass(frozen=True, slots=True)
class Dynamic:
    """A leaf known only at run time: ``?``, ``?{i64}``, ``?{div=16}``, ``?{i64 div=128}``.

    Attributes:
        width: bits of the integer that carries it.
        div: a positive integer that is known to divide it.
    """

    width: int = 32
    div: int = 1

    def __str__(self) -> str:
        facts = [f"i{self.width}"] * (self.width != 32) + [f"div={self.div}"] * (self.div != 1)
        return "?{" + " ".join(facts) + "}" if facts else "?"


class Wildcard(Enum):
    """``_``, the whole of a mode. An enum with one member, so that ``is`` works after pickling."""

    ALL = "_"

    def __str__(self) -> str:
        return "_"


@dataclass(frozen=True, slots=True)
class Basis:
    """A scaled basis element ``value@path[0]@path[1]...``: a stride that moves along one mode of a coordinate.

    The path reads outward: ``1@2@0`` steps along mode 2 of mode 0.
    """

    value: int | Fraction | Dynamic
    path: tuple[int, ...]

    def __str__(self) -> str:
        return "@".join((str(self.value), *map(str, self.path)))


Leaf: TypeAlias = "int | Dynamic | Fraction | Basis | Wildcard"
Tuple: TypeAlias = "Leaf | tuple[Tuple, ...]"


def show(value: Tuple) -> str:
    """The text of a tuple, without spaces, as the dialect prints it."""
    if isinstance(value, tuple):
        return "(" + ",".join(map(show, value)) + ")"
    return str(value)


@dataclass(frozen=True, slots=True)
class Swizzle:
    """``S<bits,base,shift>``: xor ``bits`` bits of an offset, from ``base + shift`` up, into those from ``base`` up.

    A negative shift xors the low bits into the high ones.
    """

    bits: int
    base: int
    shift: int

    def __str__(self) -> str:
        return f"S<{self.bits},{self.base},{self.shift}>"


@dataclass(frozen=True, slots=True)
class Layout:
    """``shape:stride``, a function from coordinates to offsets. Shape and stride have one profile."""

    shape: Tuple
    stride: Tuple

    def __str__(self) -> str:
        return f"{show(self.shape)}:{show(self.stride)}"

    def _repr_svg_(self) -> str | None:
        return drawn(self, "svg")

    def _repr_html_(self) -> str | None:
        return drawn(self, "html")


@dataclass(frozen=True, slots=True)
class ComposedLayout:
    """``inner o offset o outer``: ``inner(offset + outer(c))``, or without an inner part ``offset + outer(c)``."""

    inner: Swizzle | Layout | None
    offset: Tuple
    outer: Layout

    def __str__(self) -> str:
        parts = [show(self.offset), str(self.outer)]
        return " o ".join(([str(self.inner)] if self.inner is not None else []) + parts)

    def _repr_svg_(self) -> str | None:
        return drawn(self, "svg")

    def _repr_html_(self) -> str | None:
        return drawn(self, "html")


@dataclass(frozen=True, slots=True)
class Tile:
    """``[mode;mode;...]``: one tiler a mode, each a layout, a tile, an extent or ``_``."""

    modes: tuple[Layout | Tile | Tuple, ...]

    def __str__(self) -> str:
        return "[" + ";".join(map(show_value, self.modes)) + "]"


Value: TypeAlias = "Tuple | Layout | Swizzle | ComposedLayout | Tile"


def show_value(value: Value) -> str:
    """The text of any value of the algebra."""
    return show(value) if isinstance(value, tuple) else str(value)
