"""A shared-memory descriptor as the machine has it: an address that counts in units of 16 bytes.

The start address is in the lowest bits of a descriptor, so that kernels compute with the whole word: they add to it,
cut it in halves and put these together again. The other fields say how a tile is laid out there, not where.
"""

from __future__ import annotations

from tileproof.base.records import replace
from tileproof.protocol.values import Address, Lanes, Value

_BYTE = 8


def described(memory: Value, unit: int) -> Value:
    """The descriptor of the beginning of some memory; ``unit``: the bytes that it counts in."""
    return replace(memory, unit=_BYTE * unit, extent=1) if isinstance(memory, Address) else None


def is_descriptor(base: Address, unit: int) -> bool:
    """Whether an address is held as the first bits of a descriptor, which count so many bytes."""
    return base.memory.space == "smem" and base.unit == _BYTE * unit and base.extent == 1


def displaced_descriptor(base: Address, distance: Value, reach: int) -> Value:
    """The sum of a descriptor and an integer, which may differ between the warpgroups of a CTA.

    Args:
        reach: what a start address is less than, in the units of the descriptor.
    """

    def further(steps: int) -> int:
        return (int(steps) if abs(steps) < reach else steps & reach - 1) * base.unit // _BYTE

    if isinstance(distance, Lanes):
        steps: int | Lanes = Lanes(tuple(None if one is None else further(one) for one in distance.each))
    elif isinstance(distance, int):
        steps = further(distance)
    else:
        return None
    return base.counted(_BYTE, base.extent).moved(steps).counted(base.unit, 1)


__all__ = ["described", "displaced_descriptor", "is_descriptor"]
