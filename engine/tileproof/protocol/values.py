"""What the machine computes with: integers, integers that differ between threads, tuples of integers, addresses.

``None`` is a value that is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from tileproof.records import dataclass


@dataclass(frozen=True, slots=True)
class Lanes:
    """One integer for each thread of a CTA."""

    each: tuple[int | None, ...]

    def on(self, threads: Sequence[int]) -> int | Lanes | None:
        """The integer that all these threads have; itself where they differ."""
        first = self.each[threads[0]]
        return first if all(self.each[t] == first for t in threads) else self


@dataclass(frozen=True, slots=True)
class Memory:
    """An allocation.

    Attributes:
        name: as diagnostics call it.
        space: ``smem``, ``rmem``, ``tmem`` or ``gmem``.
        serial: tells allocations apart.
        fields: ``(name, bytes, offset)`` of its parts.
    """

    name: str
    space: str
    serial: int
    fields: tuple[tuple[str, int, int], ...] = ()

    def field_at(self, offset: int) -> str:
        """The name of what lies at an offset."""
        for name, size, start in self.fields:
            if start <= offset < start + size:
                return name
        return self.name


@dataclass(frozen=True, slots=True)
class Address:
    """A place in an allocation.

    Attributes:
        offset: bytes; columns in tensor memory; bits in registers. None where it is not known.
        unit: bits of what an offset counts: those of an element, 128 for a descriptor.
        cta: the rank of the CTA in the cluster, where it is not that of the thread.
        extent: how far what is accessed there reaches, in the units of the offset.
        vague: whether the part of a warpgroup lies somewhere behind it.
        sharers: the threads of a tiled copy that divided it among themselves: it is the first one's part.
        leader: whether it lies in the even CTA of a pair, whichever of the two the thread is in.
    """

    memory: Memory
    offset: int | None
    unit: int
    cta: int | Lanes | None = None
    extent: int | None = None
    leader: bool = False
    vague: bool = False
    sharers: int = 0

    def moved(self, steps: int | None) -> Address:
        """The address ``steps`` elements further."""
        if steps is None or self.offset is None:
            return replace(self, offset=None, extent=None)
        if self.memory.space == "tmem":
            steps = (steps & 0xFFFF) * min(self.unit, 32) // 32
        elif self.memory.space == "rmem":
            steps *= self.unit
        else:
            steps = steps * self.unit // 8
        return replace(self, offset=self.offset + steps, extent=None)


@dataclass(frozen=True, slots=True)
class Fields:
    """What was set on an atom: the barrier on which a copy completes, and the CTAs that it writes to."""

    barrier: Address | None = None
    mask: int | Lanes | None = None


Integers: TypeAlias = "tuple[int | Lanes | None, ...]"
Value: TypeAlias = "int | Lanes | Integers | Address | Fields | None"


def lift(function: Callable[..., int | None]) -> Callable[..., Value]:
    """A function of integers on values, thread by thread where they differ; of something unknown it is unknown."""

    def lifted(*operands: Value) -> Value:
        wide = False
        for operand in operands:
            if isinstance(operand, Lanes):
                wide = True
            elif not isinstance(operand, int):
                return None
        if not wide:
            return function(*operands)
        count = next(len(o.each) for o in operands if isinstance(o, Lanes))
        columns = [o.each if isinstance(o, Lanes) else (o,) * count for o in operands]
        cells: list[int | None] = []
        for row in zip(*columns, strict=True):
            cells.append(None if None in row else function(*row))
        return Lanes(tuple(cells))

    return lifted


def integers(value: Value) -> Integers:
    """The leaves of a value."""
    return value if isinstance(value, tuple) else (value if isinstance(value, int | Lanes) else None,)
