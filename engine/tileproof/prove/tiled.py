"""Proofs about tiled atoms: do the threads, each with its values, cover the tile exactly once?"""

from __future__ import annotations

from math import prod

from tileproof.dialects.infer.call import Unknown as NotKnown
from tileproof.dialects.infer.partition import mma_operand
from tileproof.dialects.values import TiledCopy, TiledMma
from tileproof.held import Operand
from tileproof.layout import Layout, LayoutError, Tuple, cosize, make_layout, size
from tileproof.layout.basics import flat_modes, modes
from tileproof.layout.tiled import MmaOperand, divided_among_threads
from tileproof.layout.values import Tile
from tileproof.prove.fragments import ALGEBRA, covers
from tileproof.verdict import Refuted, Unknown, Verdict

MMA_OPERANDS = ("A", "B", "C")


def tile_of(operand: MmaOperand) -> tuple[int, int]:
    """Rows and columns of the tile of one operand of a tiled MMA: the atoms side by side, or more by the permutation.

    Raises:
        LayoutError: the extents are dynamic.
    """
    found = []
    for extent, atoms, tiler in zip(operand.extents, operand.threads[1:], operand.permutation, strict=True):
        natural = extent * _count(atoms)
        found.append(max(natural, _extent(tiler)))
    return found[0], found[1]


def mma_covers(mma: TiledMma, role: str) -> Verdict:
    """Do the threads of a tiled MMA hold every element of its tile of an operand once?

    Threads that only differ along the mode that the operand does not have hold the same, and count as one.
    """
    try:
        operand = mma_operand(mma, role)
        tile = tile_of(operand)
        divided = divided_among_threads(make_layout(tile), operand)
    except NotKnown:
        return Unknown("no rule file says who holds what of this atom")
    except LayoutError as fault:
        return Unknown(str(fault))
    assert isinstance(divided, Layout)
    return covers(Operand(role, divided, tile))


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
    return covers(Operand("tile", copy.thread_values, (tile,)))


def _extent(tiler: Layout | Tile | Tuple) -> int:
    """How far a tiler reaches along its mode; 0 for ``_``."""
    if isinstance(tiler, int):
        return tiler
    if isinstance(tiler, Layout):
        reach = cosize(tiler)
        return reach if isinstance(reach, int) else 0
    return 0


def _count(layout: Layout) -> int:
    count = size(layout)
    if not isinstance(count, int):
        raise LayoutError(f"the number of elements of {layout} is not known")
    return count
