"""A shared-memory descriptor as the machine has it: an address that counts in units of 16 bytes.

The start address is in the lowest bits of a descriptor, so that kernels compute with the whole word: they add to it,
cut it in halves and put these together again. The other fields say how a tile is laid out there, not where.
"""

from __future__ import annotations

from dataclasses import replace

from tileproof.protocol.values import Address, Value

_BYTE = 8


def described(memory: Value, unit: int) -> Value:
    """The descriptor of the beginning of some memory; ``unit``: the bytes that it counts in."""
    return replace(memory, unit=_BYTE * unit, extent=1) if isinstance(memory, Address) else None


def is_descriptor(base: Address, unit: int) -> bool:
    """Whether an address is held as the first bits of a descriptor, which count so many bytes."""
    return base.memory.space == "smem" and base.unit == _BYTE * unit and base.extent == 1


def displaced_descriptor(base: Address, distance: Value, reach: int) -> Value:
    """The sum of a descriptor and an integer.

    Args:
        reach: what a start address is less than, in the units of the descriptor.
    """
    if not isinstance(distance, int):
        return None
    steps = int(distance) if abs(distance) < reach else distance & reach - 1
    return base.counted(_BYTE, base.extent).moved(steps * base.unit // _BYTE).counted(base.unit, 1)


__all__ = ["described", "displaced_descriptor", "is_descriptor"]
