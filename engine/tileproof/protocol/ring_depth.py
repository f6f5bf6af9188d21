"""How deep the rings of stages of a kernel are, by the mbarriers that a run initialised.

A parity that is wrong shows only when a barrier is used again: a run whose loops have fewer turns than a ring has
stages says nothing of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from tileproof.protocol.machine import Machine
from tileproof.protocol.state import Barrier


def deepest_ring(machine: Machine) -> int:
    """The most mbarriers of a CTA that lie at equal distances and are used alike, as the stages of a ring are.

    Neighbours are used alike where one operation arrives at both, by an index; where compilers unrolled a loop into its
    stages none does, and it is no ring. Those behind them that nothing used belong to stages that the run did not come
    to.
    """
    arrays: dict[tuple[int, int, int, bool], list[tuple[int, Barrier]]] = defaultdict(list)
    for (cta, serial, offset), barrier in sorted({**machine.invalidated, **machine.barriers}.items()):
        for copied in (True, False):
            if not barrier.sources or (barrier.expecting is not None) is copied:
                arrays[cta, serial, barrier.count, copied].append((offset, barrier))
    return max(map(_longest, arrays.values()), default=0)


def _longest(array: Sequence[tuple[int, Barrier]]) -> int:
    """The length of the longest part of an array of mbarriers with equal distances that is used alike."""
    longest = length = 0
    distance = None
    for (before, one), (offset, other) in pairwise(array):
        alike = not one.sources.isdisjoint(other.sources)
        if length and offset - before == distance and (alike or not other.sources):
            length += 1
        else:
            distance, length = offset - before, 2 if alike else 0
        longest = max(longest, length)
    return longest
