"""Operations that make the atom of a bulk tensor copy, before it runs, and the coordinates that it is given."""

from __future__ import annotations

import re

from tileproof import layout as algebra
from tileproof.base.patterns import regex
from tileproof.dialects.infer.call import Call, Results, Unknown, infers, layout_operand, operand
from tileproof.dialects.values import Atom, CoordIterator, Pointer, Tensor, element_bits, read_type
from tileproof.layout import LayoutError
from tileproof.layout.basics import modes
from tileproof.layout.bulk import LARGEST_EXTENT, map_coordinates, tensor_map
from tileproof.layout.tuples import equal, leaves, product_each, transform
from tileproof.layout.values import Basis, ComposedLayout, Dynamic, Layout, Leaf, Swizzle
from tileproof.syntax import SyntaxFault
from tileproof.syntax.layouts import layout as parse_layout

_WORD = regex(r"(?:#?[\w.]*)<(\w+)>")
_KINDS = {"load": "kind", "reduce": "kind", "store": None}


def _tiled(what: str) -> None:
    @infers(f"atom.make_non_exec_tiled_tma_{what}", dialect="cute_nvgpu")
    def make(call: Call) -> Results:
        remote = operand(call, 0)
        (shared, swizzle), (tile, _) = _outer(call, 1), _outer(call, 2)
        if not isinstance(remote, Tensor) or not isinstance(remote.iterator, Pointer):
            raise Unknown
        if not isinstance(remote.layout, Layout) or not isinstance(remote.layout.shape, tuple):
            raise Unknown
        _multicast(call)
        _same_tile(call, shared, tile)
        element = remote.iterator.element
        moved = call.parameters.get("internal_type", element)  # up to 4.3; a format says it since then
        bits, format_ = element_bits(element), _word(call, "tma_format") or default_format(moved)
        if bits is None or element == "i1" or not isinstance(shared.shape, tuple) or not isinstance(tile.shape, tuple):
            raise Unknown
        wide = format_bits(format_)
        try:
            widest = 8 << (swizzle.bits + swizzle.base) if swizzle is not None else LARGEST_EXTENT * bits
            box = tensor_map(remote.layout, shared, tile, bits, wide, widest // bits)
            coordinates = map_coordinates(remote.layout, box, bits, wide)
        except LayoutError:
            raise Unknown from None
        each = algebra.size(box)
        if not isinstance(each, int) or each * wide >= 1 << 31:
            raise Unknown
        kind = _KINDS[what]
        name = "" if kind is None else f"{_word(call, kind)}, "
        about = f'copy_bits = {each * wide}, tma_gbasis = <"{box}">, tma_format = {format_}'
        atom = read_type(f"!cute_nvgpu.atom.non_exec_tiled_tma_{what}<{name}{element}, {about}>")
        return (atom, Tensor(CoordIterator((0,) * len(modes(box))), coordinates))


for _what in _KINDS:
    _tiled(_what)


def _outer(call: Call, index: int) -> tuple[Layout, Swizzle | None]:
    """A layout, or what a swizzle acts on and the swizzle."""
    match layout_operand(call, index):
        case ComposedLayout(Swizzle() as swizzle, _, outer):
            return outer, swizzle
        case Layout() as plain:
            return plain, None
    raise Unknown


def _multicast(call: Call) -> None:
    """A copy to several CTAs is of a kind that says so."""
    count = call.integer("num_multicast") if "num_multicast" in call.parameters else 1
    if count > 1 and "multicast" not in (_word(call, "kind") or "multicast"):
        raise LayoutError(
            f"expects a return TMA load type with multicast for num_multicast of {count} "
            "but got a return TMA load type does not support multicast"
        )


def _same_tile(call: Call, shared: Layout, tile: Layout) -> None:
    types = f"but got '{operand(call, 1)}' and '{operand(call, 2)}'"
    if not all(map(algebra.is_static_layout, (shared, tile))):
        raise LayoutError(f"expected the SMEM layout and the CTA V-map to be static, {types}")
    if not equal(product_each(shared.shape), product_each(tile.shape)):
        raise LayoutError(f"expected top-level shape equivalence between the SMEM layout and the CTA V-map, {types}")


def _word(call: Call, name: str) -> str | None:
    """An enumerated parameter, with or without the name of its attribute: ``#cute_nvgpu.NAME<WORD>``, ``<WORD>``."""
    text = call.parameters.get(name)
    if text is None:
        return None
    found = _WORD.fullmatch(text.strip())
    if found is None:
        raise Unknown
    return found[1]


def default_format(element: str) -> str:
    """The format of a map over elements of a type."""
    bits = element_bits(element)
    if bits == 6:
        return "U6_UNPACK_U8"
    if "i" not in element and bits is not None and bits >= 16:
        return f"{element.upper()}_RN"
    return f"S{bits}" if element in ("si32", "si64") else f"U{bits}"


def format_bits(name: str) -> int:
    """The bits of one element of a format: ``F16_RN``, ``TF32_RN``, ``U6_UNPACK_U8``."""
    digits = re.search(r"\d+", name)
    if digits is None:
        raise Unknown
    return int(digits[0])


@infers("atom.make_tma_residue_tensor", dialect="cute_nvgpu")
def residue_tensor(call: Call) -> Results:
    """What of the tensor is left at a coordinate: its extents by mode of the map, and every step takes away."""
    atom, remote = operand(call, 0), operand(call, 1)
    if not isinstance(atom, Atom) or not isinstance(remote, Tensor) or not isinstance(remote.iterator, Pointer):
        raise Unknown
    box, bits = _parameter(atom, "tma_gbasis"), element_bits(remote.iterator.element)
    format_ = atom.node.parameter("tma_format")
    if bits is None or format_ is None or not isinstance(remote.layout, Layout):
        raise Unknown
    if format_bits(format_.text if not format_.children else format_.children[0].text) != bits:
        raise Unknown
    try:
        coordinates = map_coordinates(remote.layout, box, bits, bits)
    except LayoutError:
        raise Unknown from None
    extents = dict(zip(leaves(algebra.make_identity_layout(remote.layout.shape).stride), leaves(remote.layout.shape),
                       strict=True))  # fmt: skip
    start: list[Leaf] = []
    for mode in modes(box):
        bases = tuple(leaves(mode.stride))
        if len(bases) != 1 or bases[0] not in extents:
            raise Unknown
        start.append(extents[bases[0]])
    return (Tensor(CoordIterator(tuple(start)), Layout(coordinates.shape, transform(_negated, coordinates.stride))),)


def _negated(stride: Leaf) -> Leaf:
    match stride:
        case Basis(value, path) if not isinstance(value, Dynamic):
            return Basis(-value, path)
        case 0:
            return 0
    raise Unknown


def _parameter(atom: Atom, name: str) -> Layout:
    """A parameter of the atom that is a layout."""
    found = atom.node.parameter(name)
    texts = [] if found is None else [child.text for child in found.walk() if not child.children]
    try:
        value = parse_layout(texts[0]) if len(texts) == 1 else None
    except SyntaxFault:
        value = None
    if not isinstance(value, Layout) or not isinstance(value.shape, tuple):
        raise Unknown
    return value
