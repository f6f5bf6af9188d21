"""What a value of the ``cute`` dialect is, by its type: the values of the layout algebra with what surrounds them.

A *tensor* is an iterator and a layout: a pointer and a layout make a ``!cute.memref``, a coordinate and a layout a
``!cute.coord_tensor``, a shared-memory descriptor and a layout a ``!cute_nvgpu.smem_desc_view``. Operations on tensors
work on the two parts, so that is how the types are taken apart here. Each type prints (``str``) as the dialect does.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field
from tileproof.dialects.wellformed import malformed
from tileproof.layout.values import ComposedLayout, Layout, Swizzle, Tile, Tuple, Value, Wildcard, show, show_value
from tileproof.mlir.types import Kind, Node
from tileproof.syntax import SyntaxFault
from tileproof.syntax.layouts import layout as parse_layout
from tileproof.syntax.types import type_tree

TUPLES = ("shape", "stride", "coord", "int_tuple")
LAYOUTS = ("layout", "composed_layout")
ALGEBRA = (*TUPLES, *LAYOUTS, "tile", "swizzle")

_UNPERMUTED = Tile((Wildcard.ALL,) * 3)


@dataclass(frozen=True, slots=True)
class Algebraic:
    """``!cute.KIND<"VALUE">``: a shape, stride, coord, int_tuple, tile, layout, composed_layout or swizzle."""

    kind: str
    value: Value

    def __str__(self) -> str:
        return f'!cute.{self.kind}<"{show_value(self.value)}">'


@dataclass(frozen=True, slots=True)
class Pointer:
    """``!cute.ptr``.

    Attributes:
        alignment: of the address, in bits: an element may be smaller than a byte. The text gives bytes, and leaves out
            the element's own size.
        swizzle: of the addresses, applied after the layout.
    """

    element: str
    space: str
    alignment: int
    swizzle: Swizzle | None = None

    @property
    def parameters(self) -> str:
        """What a pointer and a memory reference write alike."""
        parts = [self.element, self.space]
        if self.alignment != natural_alignment(self.element):
            parts.append(f"align<{self.alignment // 8}>")
        if self.swizzle is not None:
            parts.append(str(self.swizzle))
        return ", ".join(parts)

    def __str__(self) -> str:
        return f"!cute.ptr<{self.parameters}>"


@dataclass(frozen=True, slots=True)
class CoordIterator:
    """``!cute.arith_tuple_iter``: the coordinate at which a coordinate tensor starts."""

    start: Tuple

    def __str__(self) -> str:
        return f'!cute.arith_tuple_iter<"{show(self.start)}">'


@dataclass(frozen=True, slots=True)
class Descriptor:
    """``!cute_nvgpu.smem_desc``: the 64-bit descriptor of an operand in shared memory."""

    def __str__(self) -> str:
        return "!cute_nvgpu.smem_desc"


Iterator: TypeAlias = Pointer | CoordIterator | Descriptor


@dataclass(frozen=True, slots=True)
class Tensor:
    """An iterator and the layout of what it leads to."""

    iterator: Iterator
    layout: Layout | ComposedLayout

    def __str__(self) -> str:
        match self.iterator:
            case Pointer():
                return f'!cute.memref<{self.iterator.parameters}, "{self.layout}">'
            case CoordIterator(start):
                return f'!cute.coord_tensor<"{show(start)}", "{self.layout}">'
            case Descriptor():
                return f'!cute_nvgpu.smem_desc_view<{self.iterator}, "{self.layout}">'


@dataclass(frozen=True, slots=True)
class Atom:
    """``!cute_nvgpu.sm90.mma<...>``, ``!cute_nvgpu.atom.ldsm<...>``: one hardware instruction with its parameters.

    Attributes:
        node: the type; two texts of one type are equal however they are spaced.
    """

    node: Node
    text: str = field(compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class TiledMma:
    """``!cute.tiled_mma``: atoms side by side along M, N and K, and how their tile is permuted in each.

    Attributes:
        stated: the permutation that the type states; None for one that leaves it out, which is another type.
    """

    atom: Atom
    atoms: Layout
    stated: Tile | None

    @property
    def permutation(self) -> Tile:
        """How the tile is permuted along M, N and K: not at all where the type says nothing."""
        return _UNPERMUTED if self.stated is None else self.stated

    def __str__(self) -> str:
        permutation = "" if self.stated is None else f', permutation_MNK = <"{self.stated}">'
        return f'!cute.tiled_mma<{self.atom}, atom_layout_MNK = <"{self.atoms}">{permutation}>'


@dataclass(frozen=True, slots=True)
class TiledCopy:
    """``!cute.tiled_copy``: a copy atom, which thread has which value of a tile, and the shape of the tile."""

    atom: Atom
    thread_values: Layout
    tiler: Tile

    def __str__(self) -> str:
        return f'!cute.tiled_copy<{self.atom}, layout_copy_tv = <"{self.thread_values}">, tiler_mn = <"{self.tiler}">>'


@dataclass(frozen=True, slots=True)
class Divisor:
    """``!cute.fast_divmod_divisor``: what dividing by one number quickly takes."""

    width: int

    def __str__(self) -> str:
        return f"!cute.fast_divmod_divisor<{self.width}>"


@dataclass(frozen=True, slots=True)
class Scalar:
    """``i32`` or ``!cute.i32<divby 8>``: an integer of a known divisor."""

    width: int
    div: int = 1
    assumed: bool = False

    def __str__(self) -> str:
        if not self.assumed:
            return f"i{self.width}"
        return f"!cute.i{self.width}" + (f"<divby {self.div}>" if self.div != 1 else "")


@dataclass(frozen=True, slots=True)
class Other:
    """A type of which only its text matters here."""

    text: str

    def __str__(self) -> str:
        return self.text


Tiled: TypeAlias = TiledMma | TiledCopy
Type: TypeAlias = (
    Algebraic | Pointer | CoordIterator | Descriptor | Tensor | Scalar | Atom | TiledMma | TiledCopy | Divisor | Other
)

_BITS = regex(r"(?:f|bf|tf|i|si|ui)(\d+)")


@lru_cache(maxsize=4096)
def element_bits(element: str) -> int | None:
    """The width of an element in memory: ``f8E4M3FN`` has 8 bits, ``i1`` as well; None where the name does not say."""
    found = _BITS.match(element)
    return None if found is None else 8 if found[1] == "1" else int(found[1])


def natural_alignment(element: str) -> int:
    """The bits of one element: the alignment that a pointer has without saying so."""
    return element_bits(element) or 8


@lru_cache(maxsize=65536)
def read_type(text: str) -> Type:
    """The type that a text, free of aliases, stands for. What cannot be read is ``Other``: it is judged elsewhere."""
    try:
        return _read(text)
    except (SyntaxFault, _Unreadable):
        return Other(text)


class _Unreadable(Exception):
    """A type whose parameters do not have the form expected here."""


_INTEGER = regex(r"i(\d{1,3})")


def _read(text: str) -> Type:
    if (plain := _INTEGER.fullmatch(text)) is not None:
        return Scalar(int(plain[1]))
    if not text.startswith("!cute"):
        return Other(text)
    node = type_tree(text)
    name = node.text
    if name == "!cute_nvgpu.smem_desc":
        return Descriptor()
    if name == "!cute_nvgpu.smem_desc_view":
        return Tensor(Descriptor(), _layout(node))
    if name.startswith("!cute_nvgpu."):
        return _atom(node, text)
    kind = name.removeprefix("!cute.")
    if kind in ALGEBRA:
        return Algebraic(kind, _of_kind(kind, _text(node)))
    if kind == "ptr":
        return _pointer(node)
    if kind == "memref":
        return Tensor(_pointer(node), _layout(node))
    if kind == "arith_tuple_iter":
        return CoordIterator(_tuple(_text(node)))
    if kind == "coord_tensor":
        return Tensor(CoordIterator(_tuple(_text(node))), _layout(node))
    if kind in ("i32", "i64"):
        numbers = [int(child.text) for child in node.walk() if child.kind is Kind.NUMBER]
        return Scalar(int(kind[1:]), numbers[0] if numbers else 1, assumed=True)
    if kind == "tiled_mma":
        stated = None if node.parameter("permutation_MNK") is None else _tile_of(node, "permutation_MNK")
        return TiledMma(_atom(_first(node), text), _layout_of(node, "atom_layout_MNK"), stated)
    if kind == "tiled_copy":
        return TiledCopy(_atom(_first(node), text), _layout_of(node, "layout_copy_tv"), _tile_of(node, "tiler_mn"))
    if kind == "fast_divmod_divisor":
        widths = [int(child.text) for child in node.walk() if child.kind is Kind.NUMBER]
        if len(widths) == 1:
            return Divisor(widths[0])
    return Other(text)


_ATOM = regex(r"!cute_nvgpu\.(?:atom\.\w+|\w+\.(?:sparse_)?mma\w*)$")


def _first(node: Node) -> Node:
    if not node.positional:
        raise _Unreadable
    return node.positional[0]


def _atom(node: Node, text: str) -> Atom:
    """The atom that a node of a type's text is. An alias inside it stands for something that is not known here."""
    if not _ATOM.match(node.text) or any(child.text.startswith(("!", "#")) for child in node.walk() if child != node):
        raise _Unreadable
    return Atom(node, text[node.start : node.end])


def _layout_of(node: Node, name: str) -> Layout:
    value = _parameter(node, name)
    if not isinstance(value, Layout):
        raise _Unreadable
    return value


def _tile_of(node: Node, name: str) -> Tile:
    value = _parameter(node, name)
    if not isinstance(value, Tile):
        raise _Unreadable
    return value


def _parameter(node: Node, name: str) -> Value:
    """A parameter ``name = <"...">``."""
    parameter = node.parameter(name)
    if parameter is None:
        raise _Unreadable
    return _text(parameter)


def _text(node: Node, index: int = 0) -> Value:
    texts = [child.text for child in node.positional if child.kind is Kind.TEXT]
    if not -len(texts) <= index < len(texts):
        raise _Unreadable
    value = parse_layout(texts[index])
    if malformed("", value, published=False):
        raise _Unreadable
    return value


def _tuple(value: Value) -> Tuple:
    return _of_kind("int_tuple", value)  # type: ignore[return-value]


def _of_kind(kind: str, value: Value) -> Value:
    """The value, if it is what a type of this kind holds. A composed layout without inner part is one layout."""
    match kind:
        case "layout":
            fits = isinstance(value, Layout)
        case "composed_layout":
            fits = isinstance(value, Layout | ComposedLayout)
        case "swizzle":
            fits = isinstance(value, Swizzle)
        case "tile":
            fits = not isinstance(value, Swizzle | ComposedLayout)
        case _:
            fits = not isinstance(value, Layout | ComposedLayout | Swizzle | Tile)
    if not fits:
        raise _Unreadable
    return value


def _layout(node: Node) -> Layout | ComposedLayout:
    value = _text(node, -1)
    if not isinstance(value, Layout | ComposedLayout):
        raise _Unreadable
    return value


def _pointer(node: Node) -> Pointer:
    named = [child for child in node.positional if child.kind is Kind.TYPE]
    if len(named) < 2:
        raise _Unreadable
    element, space, *rest = named
    alignment, swizzle = natural_alignment(element.text), None
    for item in rest:
        numbers = [int(child.text) for child in item.walk() if child.kind is Kind.NUMBER]
        if item.text == "align" and len(numbers) == 1:
            alignment = 8 * numbers[0]
        elif item.text == "S" and len(numbers) == 3:
            swizzle = Swizzle(*numbers)
        else:
            raise _Unreadable
    if element.children:
        raise _Unreadable
    return Pointer(element.text, space.text, alignment, swizzle)
