"""How much the bulk stores of a kernel read whose tensor map the host makes: what PTX says of it.

The box of the map is not in the text. But a tile is written before it is stored, nothing else reads it, and what one
store does not read of it another one does. So a store reads from its address on what threads wrote without a gap by
the same instruction, but no more than lies between two stores: the tiles of a ring, or of warps, are of one size, and a
run may leave stores out; nor what lies behind it and threads read, by which they exchange data; nor more than warps
wrote between two fences of the async proxy, where they store tiles of their own. It is asked when a run has ended: then
all is written, and the addresses of stores are known.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from tileproof.protocol.machine import Machine
from tileproof.protocol.memory import Access

_FAR = 1 << 40  # bytes, more than any memory has


def stored_tiles(machine: Machine) -> Mapping[tuple[int, int], int]:
    """The bytes that stores read, by the serial number of the allocation and the first byte."""
    found: dict[tuple[int, int], int] = {}
    for (cta, serial), starts in machine.stores.starts.items():
        log = machine.accesses.get((cta, serial))
        written = _written(log.accesses if log else ())
        longest = max((high - low for low, high, _ in written), default=0)
        read = _read(log.accesses if log else ())
        apart = min((after - start for start, after in pairwise(sorted(starts))), default=_FAR)
        for start in starts:
            most = min(apart, _next_read(read, start) - start, machine.stores.most.get((serial, start), apart))
            size = min(_reached(written, longest, start, start + most) - start, most, found.get((serial, start), most))
            if size > 0:
                found[serial, start] = size
    return found


def _written(accesses: Iterable[Access]) -> list[tuple[int, int, tuple[str, ...]]]:
    """What threads wrote, in order: the first byte, the one behind the last, and the instruction with its modifiers."""
    mine = (one for one in accesses if one.writes and one.kind == ".generic")
    return sorted((one.low, one.high, one.operation.pieces) for one in mine)


def _read(accesses: Iterable[Access]) -> list[tuple[int, int]]:
    """What threads read, in order: the first byte and the one behind the last."""
    return sorted({(one.low, one.high) for one in accesses if not one.writes and one.kind == ".generic"})


def _next_read(read: Sequence[tuple[int, int]], start: int) -> int:
    """Where what threads read begins behind a byte; far away where they read that byte: it is not a tile alone."""
    if any(low <= start < high for low, high in read):
        return start + _FAR
    return next((low for low, _ in read if low > start), start + _FAR)


def _reached(written: Sequence[tuple[int, int, tuple[str, ...]]], longest: int, start: int, most: int) -> int:
    """Where the piece ends that threads wrote from a byte on, without a gap, by the instruction that wrote the byte.

    Args:
        longest: the most bytes of one write: none that begins further in front of a byte covers it.
        most: where it does not matter any more whether the piece goes on.
    """
    names, end = set[tuple[str, ...]](), start
    behind = bisect_right(written, start - longest, key=_low)
    for _, high, name in written[behind : bisect_right(written, start, key=_low)]:
        if start < high:
            names.add(name)
    for place in range(behind, len(written)):
        low, high, name = written[place]
        if low > end or end >= most:
            break
        if name in names and end < high:
            end = high
    return end


def _low(one: tuple[int, int, tuple[str, ...]]) -> int:
    return one[0]


__all__ = ["stored_tiles"]
