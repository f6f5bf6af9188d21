"""Tensor maps: the box of a tensor that one bulk copy moves, and the relation of its coordinates to the tensor's.

A tensor map addresses a tensor by at most five coordinates. Its *box*, the part that one copy moves, is walked in the
order of shared memory: from the first element on as long as neighbours there are neighbours in some mode of the tensor.
Each mode of the box runs along a mode of the tensor, given by scaled bases: ``(64,128):(1@1,1@0)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tileproof.layout.basics import coalesce, flat_modes, from_flat, is_static_layout, modes
from tileproof.layout.composing import composition
from tileproof.layout.constructors import make_identity_layout
from tileproof.layout.errors import LayoutError
from tileproof.layout.inverse import right_inverse
from tileproof.layout.leaves import Integer, whole
from tileproof.layout.recast import recast_layout
from tileproof.layout.tuples import equal, leaves, product_each, transform
from tileproof.layout.values import Basis, Dynamic, Layout, Leaf, Tuple

if TYPE_CHECKING:
    from fractions import Fraction  # few layouts have one: it is loaded, with `decimal`, where one is made

LARGEST_EXTENT = 256
RANK = 5


def tensor_map(
    remote: Layout, shared: Layout, tile: Layout, old_bits: int, new_bits: int, widest: int = LARGEST_EXTENT
) -> Layout:
    """The box of the map by which a tile of ``remote`` is copied to or from shared memory.

    Its extents count elements of the map. Modes of the tensor that follow each other in memory, and all beyond the
    fourth, share one mode of the box.

    Args:
        remote: the tensor, of elements of ``old_bits``.
        shared: coordinates of the tile to offsets in shared memory.
        tile: the same coordinates to coordinates of the tensor, as scaled bases.
        new_bits: the bits of one element of the map.
        widest: elements of the tensor that the first mode of the box may have: a swizzle's pattern is that wide.

    Raises:
        LayoutError: the two layouts of the tile are dynamic or differ in shape, or the box does not follow the modes
            of the tensor.
    """
    if not is_static_layout(shared) or not is_static_layout(tile):
        raise LayoutError(f"the tile of a tensor map must be static, but got {shared} and {tile}")
    if not equal(product_each(shared.shape), product_each(tile.shape)):
        raise LayoutError(f"the modes of the tile have different sizes in {shared} and {tile}")
    walk = composition(tile, right_inverse(shared))
    assert isinstance(walk, Layout)
    steps = _unit_steps(walk, widest)
    identity = make_identity_layout(remote.shape)
    parts: list[list[tuple[int, Basis]]] = []
    if steps:
        order = from_flat(steps)
        bases = flat_modes(_plain(composition(identity, order)))
        memory = recast_layout(composition(remote, order), new_bits, old_bits)
        parts = _grouped(bases, flat_modes(_plain(memory)), min(LARGEST_EXTENT, widest))
    reached = {basis for part in parts for _, basis in part}
    recast = recast_layout(remote, new_bits, old_bits)
    for (extent, stride), basis in zip(flat_modes(_plain(recast)), leaves(identity.stride), strict=True):
        if isinstance(basis, Basis) and basis not in reached and extent != 1 and stride != 0:
            parts.append([(1, basis)])
    return _box(parts)


def _plain(layout: object) -> Layout:
    assert isinstance(layout, Layout)
    return layout


def _unit_steps(walk: Layout, widest: int) -> list[tuple[Integer, Leaf]]:
    """The modes that go on by one along some mode of the tensor; a box ends before the first that does not.

    A mode that is too large is cut into equal pieces, and the first then ends the box.
    """
    steps: list[tuple[Integer, Leaf]] = []
    for extent, stride in flat_modes(_plain(coalesce(walk))):
        if not isinstance(stride, Basis) or stride.value != 1 or not isinstance(extent, int):
            break
        largest = LARGEST_EXTENT if steps else min(widest, LARGEST_EXTENT)
        pieces = next(n for n in range(1, extent + 1) if extent % n == 0 and extent // n <= largest)
        if pieces > LARGEST_EXTENT:
            raise LayoutError(f"{extent} elements cannot be divided into pieces of at most {largest}")
        steps.append((extent // pieces, stride))
        if pieces > 1 and len(steps) == 1:
            break
    return steps


def _grouped(
    bases: list[tuple[Integer, Leaf]], memory: list[tuple[Integer, Leaf]], widest: int
) -> list[list[tuple[int, Basis]]]:
    """The steps, those taken together that follow each other in memory, as far as one mode of the box reaches."""
    if len(bases) != len(memory):
        raise LayoutError("the box of a tensor map does not match the modes of the tensor")
    parts: list[list[tuple[int, Basis]]] = []
    last, reached = 1, None
    for (_, basis), (extent, stride) in zip(bases, memory, strict=True):
        if not isinstance(basis, Basis) or not isinstance(extent, int) or extent == 1:
            raise LayoutError("the box of a tensor map does not match the modes of the tensor")
        most = widest if len(parts) == 1 else LARGEST_EXTENT
        if parts and isinstance(stride, int) and stride == reached and last * extent <= most:
            parts[-1].append((extent, basis))
            last *= extent
        else:
            parts.append([(extent, basis)])
            last = extent
        reached = extent * stride if isinstance(stride, int) else None
    return parts


def _box(parts: list[list[tuple[int, Basis]]]) -> Layout:
    found: list[tuple[Tuple, Tuple]] = []
    for part in parts:
        extents, steps = zip(*part, strict=True)
        found.append((extents, steps) if len(part) > 1 else (extents[0], steps[0]))
    first, rest = found[: RANK - 1], found[RANK - 1 :]
    if rest:
        first.append((tuple(shape for shape, _ in rest), tuple(stride for _, stride in rest)))
    return Layout(tuple(shape for shape, _ in first), tuple(stride for _, stride in first))


def map_coordinates(remote: Layout, box: Layout, old_bits: int, new_bits: int) -> Layout:
    """The tensor's coordinate to that of the map: by elements of the map along its first mode, zero for what the map
    does not reach. The extent of one step along a mode that modes of the tensor share is a run-time value.

    Raises:
        LayoutError: a dynamic stride does not count elements of the map.
    """
    places = {basis: place for place, mode in enumerate(modes(box)) for basis in leaves(mode.stride)}
    shared = {place for place, mode in enumerate(modes(box)) if len(tuple(leaves(mode.stride))) > 1}
    strides, extents = iter(leaves(remote.stride)), iter(leaves(remote.shape))

    def stride(basis: Leaf) -> Leaf:
        along, extent, place = next(strides), next(extents), places.get(basis)
        if place is None:
            return 0
        if extent == 1:
            raise LayoutError(f"a mode of extent one of {remote} is part of the map")
        if place == 0:
            from fractions import Fraction  # noqa: PLC0415

            return Basis(_scaled(along, Fraction(old_bits, new_bits)), (0,))
        if place not in shared:
            return Basis(1, (place,))
        return Basis(Dynamic(along.width if isinstance(along, Dynamic) else 32), (place,))

    return Layout(remote.shape, transform(stride, make_identity_layout(remote.shape).stride))


def _scaled(stride: Leaf, ratio: Fraction) -> Integer | Fraction:
    if ratio == 1 and isinstance(stride, int | Dynamic):
        return stride
    if isinstance(stride, int):
        return whole(stride * ratio)
    raise LayoutError(f"a dynamic stride {stride} has no known multiple in elements of another width")
