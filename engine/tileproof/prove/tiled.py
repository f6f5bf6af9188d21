"""Proofs about tiled atoms: do the threads, each with its values, cover the tile exactly once?"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tileproof.base.verdict import Refuted, Unknown, Verdict
from tileproof.dialects.fragments import shipped
from tileproof.dialects.infer.call import Unknown as NotKnown
from tileproof.dialects.infer.partition import known, mma_operand
from tileproof.dialects.values import TiledCopy, TiledMma
from tileproof.evaluate.fragments import FragmentOperand
from tileproof.evaluate.hardware import limit
from tileproof.layout import (
    Dynamic,
    Layout,
    LayoutError,
    Tuple,
    complement,
    composition,
    cosize,
    crd2idx,
    idx2crd,
    is_static_layout,
    make_layout,
    right_inverse,
    show,
    size,
)
from tileproof.layout.basics import concatenate, flat_modes, modes
from tileproof.layout.tiled import MmaOperand, divided_among_threads, thread_layout
from tileproof.layout.tuples import leaves
from tileproof.layout.values import Tile
from tileproof.prove.fragments import ALGEBRA, ENUMERATION, covers

MMA_OPERANDS = ("A", "B", "C")
_ALONG = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}  # the modes of (M,N,K) that an operand has


def tile_of(operand: MmaOperand) -> tuple[int, int]:
    """Rows and columns of the tile of one operand of a tiled MMA: the atom layout, or more by the permutation.

    Raises:
        LayoutError: the extents are dynamic, or the permutation leaves room that nothing fills.
    """
    found = []
    for extent, atoms, tiler in zip(operand.extents, operand.threads[1:], operand.permutation, strict=True):
        natural = extent * _count(atoms)
        found.append(max(natural, _extent(tiler)))
    return found[0], found[1]


def mma_covers(mma: TiledMma, role: str) -> Verdict:
    """Do the threads of a tiled MMA hold every element of its tile of an operand once?

    Each atom has threads of its own. Threads that only differ along the mode that the operand does not have hold the
    same, and count as one.
    """
    try:
        shared = atoms_share_threads(mma)
        if shared is not None:
            return shared
        held = mma_operand(mma, role)
        tile = tile_of(held)
        divided = divided_among_threads(make_layout(tile), held)
    except NotKnown:
        return Unknown("no fragment is declared for this atom")
    except LayoutError as fault:
        if is_static_layout(mma.atoms) and not any(isinstance(leaf, Dynamic) for leaf in _leaves(mma.permutation)):
            return Refuted(ALGEBRA, str(fault), {"permutation": str(mma.permutation)})
        return Unknown(str(fault))
    assert isinstance(divided, Layout)
    return covers(FragmentOperand(role, divided, tile))


def held_by_threads(mma: TiledMma, role: str) -> FragmentOperand:
    """Which element of its tile each thread of a tiled MMA, by its number, holds as each of its values.

    Raises:
        Unknown: no fragment of the atom is declared (``infer.call.Unknown``).
        LayoutError: the threads are not numbered evenly, or something is dynamic.
    """
    held = mma_operand(mma, role)
    tile = tile_of(held)
    divided = divided_among_threads(make_layout(tile), held)
    assert isinstance(divided, Layout)
    threads, values = modes(divided)
    within, along = modes(threads)
    first, second = modes(along)
    numbered = thread_layout(known(mma).threads, mma.atoms)
    sizes = [size(mode) for mode in modes(numbered)]
    places: list[Layout] = [within, *(Layout(extent, 0) for extent in sizes[1:])]
    for place, mode in zip(_ALONG[role], (first, second), strict=True):
        places[1 + place] = mode
    by_number = composition(concatenate(places), right_inverse(numbered))
    assert isinstance(by_number, Layout)
    return FragmentOperand(role, concatenate([by_number, values]), tile)


def atoms_share_threads(mma: TiledMma) -> Refuted | None:
    """Two atoms of a tiled MMA that are executed by the same threads, if there are such.

    Raises:
        LayoutError: the layout of the atoms is dynamic.
    """
    count = _count(mma.atoms)
    if count > limit(shipped(), "cta_threads"):
        raise LayoutError(f"{count} atoms are more than a CTA has warps")
    seen: dict[int, int] = {}
    for index in range(count):
        place = crd2idx(index, mma.atoms)
        if not isinstance(place, int):
            raise LayoutError(f"the layout of the atoms {mma.atoms} is not known")
        if place in seen:
            first, second = (idx2crd(number, mma.atoms.shape) for number in (seen[place], index))
            message = f"the atoms at {show(first)} and {show(second)} have the same threads"
            return Refuted(ENUMERATION, message, {"atoms": str(mma.atoms), "place": place})
        seen[place] = index
    return None


def copy_covers(copy: TiledCopy) -> Verdict:
    """Do the threads of a tiled copy move every element of its tile once?

    Several threads may copy the same, where the layout has a step of 0 among the threads; one thread may not.
    """
    try:
        tile = prod(_count(mode) if isinstance(mode, Layout) else _extent(mode) for mode in copy.tiler.modes)
        _, values = modes(copy.thread_values)
    except LayoutError as fault:
        return Unknown(str(fault))
    repeated = prod(extent for extent, stride in flat_modes(values) if stride == 0 and isinstance(extent, int))
    if repeated > 1:
        message = f"each thread copies the same element {repeated} times"
        return Refuted(ALGEBRA, message, {"values": str(values)})
    return covers(FragmentOperand("tile", copy.thread_values, (tile,)))


def _extent(tiler: Layout | Tile | Tuple) -> int:
    """How far a tiler reaches along its mode, with the room that it leaves for others; 0 for ``_``."""
    if isinstance(tiler, Layout):
        return _count(tiler) * _count(complement(tiler, cosize(tiler)))
    return tiler if isinstance(tiler, int) else 0


def _count(layout: Layout) -> int:
    count = size(layout)
    if not isinstance(count, int):
        raise LayoutError(f"the number of elements of {layout} is not known")
    return count


def _leaves(tile: Tile) -> Iterator[object]:
    for mode in tile.modes:
        if isinstance(mode, Layout):
            yield from (*leaves(mode.shape), *leaves(mode.stride))
        elif not isinstance(mode, Tile):
            yield from leaves(mode)
