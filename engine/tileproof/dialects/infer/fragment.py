"""``mma.make_fragment``: where one thread, or the tensor core, keeps an operand of a tiled MMA.

In registers a fragment is compact: the values of one atom first, in their own order, then those of the other atoms, of
A and B in the order of the strides that they have in the tensor they come from. In shared memory it is a view of
descriptors, one an atom, whose addresses count 16 bytes. In tensor memory an address is ``lane << 16 | column``, a
column holds 32 bits, and an accumulator has one value a column.
"""

from __future__ import annotations

from itertools import repeat

from tileproof import layout as algebra
from tileproof.dialects.fragments import shipped
from tileproof.dialects.infer.call import (
    Call,
    Results,
    Unknown,
    infers,
    layout_operand,
    of_layout,
    operand,
    tuple_operand,
)
from tileproof.dialects.infer.partition import known, role_of
from tileproof.dialects.values import Atom, Descriptor, Pointer, Tensor, TiledMma, Type, element_bits
from tileproof.evaluate.hardware import descriptor_unit, limit
from tileproof.layout import LayoutError
from tileproof.layout.basics import concatenate, modes
from tileproof.layout.leaves import Integer, is_zero, multiply_integers
from tileproof.layout.tuples import leaves, product, transform
from tileproof.layout.values import ComposedLayout, Dynamic, Layout, Tuple
from tileproof.mlir.types import Node
from tileproof.rulebase.book import Rulebook

_HOMES = {"A": "a", "B": "b", "C": "d"}  # the columns of the table mma_operands
_SOURCES = {"ss": ".smem_desc", "ts": ".tmem"}  # where A is, by the atom's frag_kind


@infers("mma.make_fragment")
def make_fragment(call: Call) -> Results:
    mma, given, role = operand(call, 0), operand(call, 1), role_of(call)
    if not isinstance(mma, TiledMma):
        raise Unknown
    kind = mma.atom.node.parameter("frag_kind")
    book = shipped() if call.book is None else call.book
    homes = _homes(book, mma.atom, role)
    if role == "A":
        homes &= {_SOURCES.get("" if kind is None else kind.text, ".rmem")}
    if ".tmem" in homes:
        return (_tensor_memory(mma, given, role, book),)
    if ".smem_desc" in homes:
        return (_descriptors(mma, given, role, book),)
    return (_registers(mma, given, role, book),)


def _homes(book: Rulebook, atom: Atom, role: str) -> set[str]:
    """Where an operand of an atom may live, by the rules; in registers where they say nothing of the atom."""
    table = book.shared_table("mma_operands")
    member = book.enums["atom"].by_spelling.get(atom.node.text.lstrip("!"))
    row = table.rows.get((member or "",))
    homes = row[table.columns.index(_HOMES[role])] if row is not None else None
    return {str(home) for home in homes} if isinstance(homes, frozenset) else {".rmem"}


def _element(atom: Atom, role: str) -> str:
    """The element type that the atom has for an operand."""
    types = atom.node.parameter("elem_type")
    words = [child.text for child in (types.children if types is not None else ())]
    if not words:
        words = _signature(atom.node)
    index = "ABC".index(role)
    if index >= len(words) or element_bits(words[index]) is None:
        raise Unknown
    return words[index]


def _signature(node: Node) -> list[str]:
    """The types of ``(f32, f32) -> f32``."""
    return [child.text for child in node.walk() if element_bits(child.text) is not None and not child.children]


def _descriptors(mma: TiledMma, given: Type, role: str, book: Rulebook) -> Tensor:
    """One descriptor an atom: the other modes step from one to the next."""
    tiles = known(mma, book).layouts
    match given:
        case Tensor(Pointer(element=element, space="smem"), Layout() as layout):
            bits = element_bits(element)
            if bits is None or role not in tiles or algebra.size(layout, [0]) != algebra.size(tiles[role], [1]):
                raise Unknown
            recast = algebra.recast_layout(layout, 8 * descriptor_unit(book), bits)
            assert isinstance(recast, Layout)
            _, *rest = modes(recast)
            if any(stride < 0 for stride in leaves(recast.stride) if isinstance(stride, int)):
                raise Unknown
            return Tensor(Descriptor(), concatenate([Layout(1, 0), *rest]))
        case Tensor(Pointer(space="smem"), ComposedLayout()):
            raise Unknown
    raise LayoutError("expect shared based input memref with smem related frag type.")


def _parts(given: Type) -> tuple[Tuple, Tuple | None]:
    """Shape and, of a tensor, stride of what a fragment is made for."""
    match given:
        case Tensor(Pointer(), layout):
            outer = layout.outer if isinstance(layout, ComposedLayout) else layout
            return outer.shape, outer.stride
        case Tensor():
            raise Unknown
    return tuple_operand(Call("", (given,), {}, ()), 0), None


def _registers(mma: TiledMma, given: Type, role: str, book: Rulebook) -> Tensor:
    known(mma, book)
    element = _element(mma.atom, role)
    if element == "tf32" and mma.atom.node.text == "!cute_nvgpu.sm80.mma":
        element = "i32"  # what mma.sync takes in a register
    shape, stride = _parts(given)
    if not isinstance(shape, tuple) or len(shape) < 2:
        raise Unknown
    if role == "C" or not isinstance(stride, tuple):
        layout = Layout(shape, _compact(shape, None)[0])
    else:
        first, count = _compact(shape[0], stride[0])
        layout = Layout(shape, (first, *_ordered(shape[1:], stride[1:], count)))
    bits = element_bits(element)
    held = algebra.size(Layout(shape[0], 0 if not isinstance(shape[0], tuple) else transform(lambda _: 0, shape[0])))
    if bits is None or not isinstance(held, int) or held * bits % 8:
        raise Unknown
    return Tensor(Pointer(element, "rmem", held * bits), layout)


@infers("make_fragment_like")
def make_fragment_like(call: Call) -> Results:
    """A compact layout of the same shape, the first mode in its own order, the others in that of their strides."""
    given = layout_operand(call, 0)
    outer = given.outer if isinstance(given, ComposedLayout) else given
    shape, stride = outer.shape, outer.stride
    if not isinstance(shape, tuple) or not isinstance(stride, tuple) or len(shape) < 2:
        return (of_layout(Layout(shape, _compact(shape, None)[0])),)
    first, count = _compact(shape[0], stride[0])
    steps = [d for s, d in zip(leaves(shape[1:]), leaves(stride[1:]), strict=True) if s != 1]
    if any(isinstance(extent, Dynamic) for extent in leaves(shape)) or len(set(steps)) < len(steps):
        raise Unknown  # equal strides have no order; the dialect lets such modes overlap
    return (of_layout(Layout(shape, (first, *_ordered(shape[1:], stride[1:], count)))),)


def _compact(shape: Tuple, like: Tuple | None) -> tuple[Tuple, Integer]:
    """Column-major strides, zero for an extent of one and for a stride of zero in ``like``; and the elements."""
    running: Integer = 1
    steps = iter(leaves(like) if like is not None else repeat(1))

    def stride(extent: object) -> Integer:
        nonlocal running
        still = is_zero(next(steps))
        if extent == 1 or still or not isinstance(extent, int | Dynamic):
            return 0
        before, running = running, multiply_integers(running, extent)
        return before

    return transform(stride, shape), running


def _ordered(shape: tuple[Tuple, ...], stride: tuple[Tuple, ...], first: Integer) -> tuple[Tuple, ...]:
    """Compact strides from ``first`` up, in the order of the strides given; dynamic ones are the largest."""
    extents, steps = tuple(leaves(shape)), tuple(leaves(stride))
    if any(not isinstance(extent, int) for extent in extents):
        raise Unknown
    keys = [(isinstance(step, Dynamic), step if isinstance(step, int) else 0, i) for i, step in enumerate(steps)]
    if any(isinstance(step, int) and step < 0 for step in steps):
        raise Unknown
    found: dict[int, Integer] = {}
    running = first
    for *_, i in sorted(keys):
        extent = extents[i]
        assert isinstance(extent, int)
        found[i] = 0 if extent == 1 else running
        running = multiply_integers(running, extent)
    counter = iter(range(len(extents)))
    result = transform(lambda _: found[next(counter)], shape)
    assert isinstance(result, tuple)
    return result


def _tensor_memory(mma: TiledMma, given: Type, role: str, book: Rulebook) -> Tensor:
    """A tile over all lanes, the other tiles after it in the columns. How fewer lanes are packed is not known."""
    element = _element(mma.atom, role)
    bits, column = element_bits(element), limit(book, "column_bits")
    shape, _ = _parts(given)
    if bits is None or column % bits or not isinstance(shape, tuple):
        raise Unknown
    match shape[0]:
        case (int() as lanes, int() as columns) if lanes == limit(book, "tmem_lanes"):
            pass
        case _:
            raise Unknown
    found = known(mma, book)
    if role not in found.layouts or found.layouts[role].shape[1] != shape[0]:  # type: ignore[index]
        raise Unknown
    each = column // bits
    step = each if role == "C" else 1
    rest, _ = _compact(shape[1:], None)
    if not isinstance(product(shape), int):
        raise Unknown
    scaled = transform(lambda d: d * columns * step if isinstance(d, int) else d, rest)
    assert isinstance(scaled, tuple)
    layout = Layout(shape, (((each << limit(book, "lane_bit")), step), *scaled))
    return Tensor(Pointer(element, "tmem", 8), layout)
