"""What the machine computes with: integers, integers that differ between threads, tuples of integers, addresses.

What the text does not decide (an argument, the extent of a tensor, a loaded integer) is *supposed*: a run gives it a
number, all that is computed from it is supposed as well, and a branch or a loop that it decides is taken both ways in
other runs. A supposed integer has a *term*, a number that stands for how it was computed: two thread sets that compute
a trip count alike have one term, and so one decision. ``None`` is an unknown value without a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias
from zlib import crc32

from tileproof.base.records import dataclass


class Supposed(int):
    """An integer that this run supposes.

    Attributes:
        term: stands for how it was computed; equal terms are equal values in every run.
    """

    term: int

    def __new__(cls, value: int, term: int) -> Supposed:
        self = super().__new__(cls, value)
        self.term = term
        return self


@dataclass(frozen=True, slots=True)
class Lanes:
    """One integer for each thread of a CTA.

    Attributes:
        term: where they are supposed, what stands for how they were computed.
    """

    each: tuple[int | None, ...]
    term: int | None = None

    def on(self, threads: Sequence[int]) -> int | Lanes | None:
        """The integer that all these threads have; itself where they differ."""
        first = self.each[threads[0]]
        if not all(self.each[t] == first for t in threads):
            return self
        return first if self.term is None or first is None else Supposed(first, self.term)


@dataclass(frozen=True, slots=True)
class Allocation:
    """An allocation.

    Attributes:
        name: as diagnostics call it.
        space: ``smem``, ``rmem``, ``tmem`` or ``gmem``.
        serial: tells allocations apart.
        fields: ``(name, bytes, offset)`` of its parts.
        lane: of tensor memory, the lowest bit of the lane in an address; the column is below.
        column: of tensor memory, the bits that one lane of a column holds.
    """

    name: str
    space: str
    serial: int
    fields: tuple[tuple[str, int, int], ...] = ()
    lane: int = 0
    column: int = 0

    @property
    def columns(self) -> int:
        """The bits of the column in an address of tensor memory."""
        return (1 << self.lane) - 1

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
        vague: whether the part of a warpgroup is somewhere after it.
        sharers: the threads of a tiled copy that partition it: it is the first one's part.
        leader: whether it lies in the even CTA of a pair, whichever of the two the thread is in.
        parts: for each thread of the CTA the byte where its own part starts; empty where they have one place.
        origin: the type of a thread's part where the tile was shared out, before the swizzle.
        loose: whether it is cut from a larger part at a coordinate that was not followed.
        lane: of tensor memory, where each thread has one of its own; None where it is not known.
        outside: an index that is cut out of a mode which has no more than so many, and that number.
    """

    memory: Allocation
    offset: int | None
    unit: int
    cta: int | Lanes | None = None
    extent: int | None = None
    leader: bool = False
    vague: bool = False
    sharers: int = 0
    parts: tuple[int | None, ...] = ()
    origin: str = ""
    loose: bool = False
    lane: int | Lanes | None = 0
    outside: tuple[int, int] | None = None

    def at(
        self,
        offset: int | None,
        unit: int,
        extent: int | None = None,
        parts: tuple[int | None, ...] = (),
        origin: str = "",
    ) -> Address:
        """Another place of the allocation; faster than ``replace``, for the machine does this most often."""
        return Address(
            self.memory,
            offset,
            unit,
            self.cta,
            extent,
            self.leader,
            self.vague,
            self.sharers,
            parts,
            origin,
            self.loose,
            self.lane,
            self.outside,
        )

    def shared_out(self, distances: Sequence[int | None]) -> Address:
        """The same with the part of each thread so many bytes further; the offset stays."""
        starts = self.parts or (self.offset,) * len(distances)
        both = zip(starts, distances, strict=True)
        parts = tuple(None if a is None or b is None else a + b for a, b in both)
        return self.at(self.offset, self.unit, self.extent, parts, self.origin)

    def moved(self, steps: int | Lanes | None) -> Address:
        """The address ``steps`` elements further."""
        if isinstance(steps, Lanes) and self.memory.space == "smem" and self.unit % 8 == 0:
            apart = self.shared_out([None if one is None else one * self.unit // 8 for one in steps.each])
            return self.at(None, self.unit, None, apart.parts)
        if not isinstance(steps, int):
            return self.at(None, self.unit)
        if self.memory.space == "tmem":
            width = self.memory.column
            if steps >> self.memory.lane:
                return replace(self, lane=_lower(self.lane, steps >> self.memory.lane, self.unit == width)).moved(
                    steps & self.memory.columns
                )
            steps = (steps & self.memory.columns) * min(self.unit, width) // width
        elif self.memory.space == "rmem":
            steps *= self.unit
        else:
            steps = steps * self.unit // 8
        parts = tuple(None if part is None else part + steps for part in self.parts)
        return self.at(None if self.offset is None else self.offset + steps, self.unit, None, parts, self.origin)


def _lower(lane: int | Lanes | None, steps: int, known: bool) -> int | Lanes | None:
    """A lane of tensor memory so many further down; ``known``: whether the steps are lanes."""
    if not known or lane is None:
        return None
    if isinstance(lane, Lanes):
        return Lanes(tuple(None if one is None else one + steps for one in lane.each))
    return lane + steps


@dataclass(frozen=True, slots=True)
class Fields:
    """What was set on an atom.

    Attributes:
        barrier: on which a copy completes.
        mask: the CTAs that it writes to.
        accumulates: whether an MMA adds to its accumulator, 1 or 0; None where it is not known.
        scales: the scale factors of an MMA in tensor memory, of A and of B.
    """

    barrier: Address | None = None
    mask: int | Lanes | None = None
    accumulates: int | Lanes | None = None
    scales: tuple[Address | None, Address | None] = (None, None)


Integers: TypeAlias = "tuple[int | Lanes | None, ...]"
Value: TypeAlias = "int | Lanes | Integers | Address | Fields | None"


def term_of(value: Value) -> int | None:
    """The term of a value; None where it is not supposed."""
    return value.term if isinstance(value, Supposed | Lanes) else None


def lift(function: Callable[..., int | None], name: str = "") -> Callable[..., Value]:
    """A function of integers on values, thread by thread where they differ; of something unknown it is unknown.

    Args:
        name: of the function, for terms: two functions of one name compute the same.
    """
    code = crc32(name.encode())

    def lifted(*operands: Value) -> Value:
        wide = supposed = False
        for operand in operands:
            if isinstance(operand, Lanes):
                wide = True
                supposed |= operand.term is not None
            elif isinstance(operand, int):
                supposed |= type(operand) is Supposed
            else:
                return None
        if not wide:
            found = function(*operands)
            return found if found is None or not supposed else Supposed(found, _term(code, operands))
        count = next(len(o.each) for o in operands if isinstance(o, Lanes))
        columns = [o.each if isinstance(o, Lanes) else (o,) * count for o in operands]
        cells: list[int | None] = []
        for row in zip(*columns, strict=True):
            cells.append(None if None in row else function(*row))
        return Lanes(tuple(cells), _term(code, operands) if supposed else None)

    return lifted


def _term(code: int, operands: Sequence[Value]) -> int:
    """What stands for a function of these operands. Integers only: hashes of texts differ from process to process."""
    return hash((code, *(hash(one) if (term := term_of(one)) is None else term for one in operands)))


def integers(value: Value) -> Integers:
    """The leaves of a value."""
    return value if isinstance(value, tuple) else (value if isinstance(value, int | Lanes) else None,)
