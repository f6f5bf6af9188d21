"""How much the bulk stores of a kernel read whose tensor map the host makes: what PTX says of it.

The box of the map is not in the text. But a tile is written before it is stored, nothing else reads it, and what one
store does not read of it another one does. So a store reads from its address on what threads wrote without a gap by
the same instruction, up to where the next store begins. It is asked when a run has ended: then all is written, and the
addresses of all stores are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tileproof.protocol.machine import Machine
from tileproof.protocol.memory import Access


def stored_tiles(machine: Machine) -> Mapping[tuple[int, int], int]:
    """The bytes that stores read, by the serial number of the allocation and the first byte."""
    found: dict[tuple[int, int], int] = {}
    for cta, serial, start in sorted(machine.stores.starts):
        log = machine.accesses.get((cta, serial))
        later = [one for home, memory, one in machine.stores.starts if (home, memory) == (cta, serial) and one > start]
        end = min(_written(log.accesses if log else (), start), *later, 1 << 40)
        if end > start:
            found[serial, start] = min(end - start, found.get((serial, start), 1 << 40))
    return found


def _written(accesses: Iterable[Access], start: int) -> int:
    """Where the piece ends that threads wrote from a byte on, without a gap, by the instruction that wrote the byte."""
    written = sorted(
        (one.low, one.high, one.operation.name) for one in accesses if one.writes and one.kind == ".generic"
    )
    names = {name for low, high, name in written if low <= start < high}
    end = start
    for low, high, name in written:
        if name in names and low <= end < high:
            end = high
    return end


__all__ = ["stored_tiles"]
