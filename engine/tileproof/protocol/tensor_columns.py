"""Which columns and lanes of tensor memory a layout reaches."""

from __future__ import annotations

from functools import lru_cache, reduce
from operator import or_

from tileproof.layout import tuples
from tileproof.layout.basics import outer
from tileproof.layout.values import ComposedLayout, Layout
from tileproof.protocol.values import Allocation

_MOST_PIECES = 16  # beyond them what a layout reaches counts as a whole


def columns_of(layout: Layout | ComposedLayout, bits: int, memory: Allocation) -> int | None:
    """How many columns of tensor memory a layout reaches: the strides below that of a lane."""
    part = outer(layout)
    reach = 0
    for extent, stride in zip(tuples.leaves(part.shape), tuples.leaves(part.stride), strict=False):
        if not isinstance(extent, int) or not isinstance(stride, int):
            return None
        if stride <= memory.columns:
            reach += (extent - 1) * stride
    return reach * min(bits, memory.column) // memory.column + 1


def lanes_of(layout: Layout | ComposedLayout, bits: int, memory: Allocation) -> int:
    """A bit for each lane of a quarter of tensor memory that a layout reaches from its start; 0 where not known.

    An accumulator of 64 rows is in half of the lanes of each quarter, and another one may be in the other half.
    """
    if bits != memory.column or not memory.quarter:
        return 0
    found, step = {0}, memory.columns + 1
    part = outer(layout)
    for extent, stride in zip(tuples.leaves(part.shape), tuples.leaves(part.stride), strict=False):
        if not isinstance(extent, int) or not isinstance(stride, int) or (stride > memory.columns and stride % step):
            return 0
        if stride > memory.columns:
            rows = range(min(extent, memory.quarter))
            found = {(one + i * (stride // step)) % memory.quarter for one in found for i in rows}
    return sum(1 << one for one in found) if len(found) > 1 else 0


@lru_cache(maxsize=1024)
def pieces_of(layout: Layout | ComposedLayout, bits: int, memory: Allocation) -> tuple[tuple[int, int], ...]:
    """The columns that a layout reaches, from its start: where each run of them begins and how many it has.

    Warpgroups may take turns in them, each every second eight. Empty where the layout is not static or has many runs.

    Args:
        bits: of an element.
    """
    part, elements = outer(layout), 1
    for extent, stride in zip(tuples.leaves(part.shape), tuples.leaves(part.stride), strict=False):
        if not isinstance(extent, int) or not isinstance(stride, int) or stride < 0:
            return ()
        if 0 < stride <= memory.columns:
            if extent * stride > memory.columns + 1:  # beyond what an address can name
                return ()
            elements = reduce(or_, (elements << i * stride for i in range(extent)))
    found: list[tuple[int, int]] = []
    column, share = 0, memory.column // min(bits, memory.column)
    while elements:
        if elements & (1 << share) - 1:
            if found and sum(found[-1]) == column:
                found[-1] = (found[-1][0], found[-1][1] + 1)
            else:
                found.append((column, 1))
        elements >>= share
        column += 1
    return tuple(found) if len(found) <= _MOST_PIECES else ()


__all__ = ["columns_of", "lanes_of", "pieces_of"]
