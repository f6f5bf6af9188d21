"""What the machine computes with: integers, integers that differ between threads, tuples of integers, addresses.

What the text does not decide (an argument, the extent of a tensor, a loaded integer) is *supposed*: a run gives it a
number, all that is computed from it is supposed as well, and a branch or a loop that it decides is taken both ways in
other runs. A supposed integer has a *term*, a number that stands for how it was computed: two thread sets that compute
a trip count alike have one term, and so one decision. ``None`` is an unknown value without a number.

What threads find in memory where the machine does not know what was stored is *open*: it decides a branch like what is
supposed, so that all who look at it decide alike, but no address, extent or parity is computed from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import TypeAlias

from tileproof.base.records import dataclass, replace


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


class Truth(Supposed):
    """Whether something supposed holds: 0 or 1. The term of what holds where it does not is ``~term``."""


@dataclass(frozen=True, slots=True)
class Open:
    """An integer that nothing says, and that only decides.

    Attributes:
        number: what a run supposes it to be.
        term: as that of what is supposed.
        truth: whether it is a ``Truth``.
    """

    number: int
    term: int
    truth: bool = False


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
        low, high, count = threads[0], threads[-1] + 1, len(threads)
        mine = self.each[low:high] if high - low == count else [self.each[t] for t in threads]
        first = self.each[low]
        if mine.count(first) != count:
            return self
        return first if self.term is None or first is None else Supposed(first, self.term)


@dataclass(frozen=True, slots=True)
class Allocation:
    """An allocation.

    Attributes:
        name: as diagnostics call it.
        space: ``smem``, ``rmem``, ``tmem`` or ``gmem``.
        serial: tells allocations apart; 0 of the tensor memory of fragments that nobody gave a place: it begins at
            column 0 of what is allocated.
        fields: ``(name, bytes, offset)`` of its parts.
        lane: of tensor memory, the lowest bit of the lane in an address; the column is below.
        column: of tensor memory, the bits that one lane of a column holds.
        quarter: of tensor memory, the lanes that one warp reaches.
        numbers: of tensor memory, whether numbers are addresses in it: a CTA allocates all of it, or once.
    """

    name: str
    space: str
    serial: int
    fields: tuple[tuple[str, int, int], ...] = ()
    lane: int = 0
    column: int = 0
    quarter: int = 0
    numbers: bool = False

    def steps(self, distance: int) -> tuple[int, int]:
        """A distance in tensor memory as lanes and columns; a small negative one goes back by columns."""
        if -self.columns <= distance < 0:
            return 0, distance
        return distance >> self.lane, distance & self.columns

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
        unit: bits of what an offset counts: those of an element, 128 for a descriptor; -8 for a number less an address,
            and twice that for each bit by which an address is shifted right.
        cta: the rank of the CTA in the cluster, where it is not that of the thread.
        extent: how far what is accessed there reaches, in the units of the offset.
        vague: whether the part of a warpgroup is somewhere after it.
        sharers: the threads of a tiled copy that partition it: it is the first one's part.
        leader: whether it lies in the even CTA of a pair, whichever of the two the thread is in; ``peer``: in the other
            one than the thread, or for which threads it does.
        parts: for each thread of the CTA the byte where its own part starts, of tensor memory the column; empty where
            they have one place.
        origin: the type of a thread's part where the tile was shared out, before the swizzle.
        loose: whether it is cut from a larger part at a coordinate that was not followed.
        lane: of tensor memory, the first lane within the quarter of a warp; None where it is not known.
        lanes: of tensor memory, a bit for each lane of a quarter, from the first one, that is reached; 0: any.
        first_lane: of tensor memory, where the part of each thread begins; None where it is not known.
        outside: an index that is cut out of a mode which has no more than so many, and that number.
        apart: whether it is the place of some threads alone, and others have one of their own.
    """

    memory: Allocation
    offset: int | None
    unit: int
    cta: int | Lanes | None = None
    extent: int | None = None
    leader: bool = False
    peer: bool | Lanes = False
    vague: bool = False
    sharers: int = 0
    parts: tuple[int | None, ...] = ()
    origin: str = ""
    loose: bool = False
    lane: int | None = 0
    lanes: int = 0
    first_lane: int | Lanes | None = 0
    outside: tuple[int, int] | None = None
    apart: bool = False

    def at(
        self,
        offset: int | None,
        unit: int,
        extent: int | None = None,
        parts: tuple[int | None, ...] = (),
        origin: str = "",
        lanes: int = 0,
    ) -> Address:
        """Another place of the allocation; faster than ``replace``, for the machine does this most often."""
        return Address(
            self.memory,
            offset,
            unit,
            self.cta,
            extent,
            self.leader,
            self.peer,
            self.vague,
            self.sharers,
            parts,
            origin,
            self.loose,
            self.lane,
            lanes,
            self.first_lane,
            self.outside,
            self.apart,
        )

    def counted(self, unit: int, extent: int | None) -> Address:
        """The same place as one in other units."""
        return self.at(self.offset, unit, extent, self.parts, self.origin, self.lanes)

    def of_threads(self, which: Sequence[bool | None]) -> Address:
        """The same address where some threads have it; of the others it is not known."""
        parts = self.parts or (self.offset,) * len(which)
        theirs = tuple([part if mine else None for mine, part in zip(which, parts, strict=False)])
        return self.at(None, self.unit, self.extent, theirs, self.origin)

    def of_lane(self, lane: int, warp: int) -> Address:
        """What one lane of each warp has, for all threads of it; ``warp``: the threads of one."""
        count = len(self.parts)
        at = [thread // warp * warp + lane for thread in range(count)]
        parts = tuple([self.parts[one] if one < count else None for one in at])
        alike = len(set(parts)) == 1
        return self.at(parts[0] if alike else None, self.unit, self.extent, () if alike else parts, self.origin)

    def rounded_down(self, to: int) -> Address:
        """The last place up to this one that is a multiple of so many bytes; the allocation begins at one."""
        parts = tuple(None if part is None else part & -to for part in self.parts)
        return self.at(None if self.offset is None else self.offset & -to, self.unit, None, parts)

    def exactly(self, offset: int, extent: int) -> Address:
        """A piece that begins and ends where it is known to; ``replace`` is slower here as well."""
        found = self.at(offset, self.unit, extent, self.parts, self.origin, self.lanes)
        return replace(found, vague=False) if self.vague else found

    def shared_out(self, distances: Sequence[int | None]) -> Address:
        """The same with the part of each thread so many bytes further; the offset stays."""
        starts = self.parts or (self.offset,) * len(distances)
        parts = _added(starts, tuple(distances))
        return self.at(self.offset, self.unit, self.extent, parts, self.origin)

    def moved(self, steps: int | Lanes | None) -> Address:
        """The address ``steps`` elements further."""
        if isinstance(steps, Lanes) and self.memory.space == "smem" and self.unit % 8 == 0:
            apart = self.shared_out(_in_bytes(steps.each, self.unit))
            return self.at(None, self.unit, None, apart.parts)
        if self.memory.space == "tmem" and isinstance(steps, Lanes):
            return self._by_thread(steps)
        if not isinstance(steps, int):
            return self.at(None, self.unit)
        if self.memory.space == "tmem":
            return self._in_columns(steps)
        if self.memory.space == "rmem":
            steps *= self.unit
        else:
            steps = steps * self.unit // 8
        parts = _moved(self.parts, int(steps)) if self.parts else ()
        return self.at(None if self.offset is None else self.offset + steps, self.unit, None, parts, self.origin)

    def _in_columns(self, steps: int) -> Address:
        """``moved`` in tensor memory; of an element that is narrower than a column the lane is not followed."""
        memory = self.memory
        down, beside = memory.steps(steps)
        columns = beside * min(self.unit, memory.column) // memory.column
        parts = _moved(self.parts, columns) if self.parts else ()
        moved = self.at(None if self.offset is None else self.offset + columns, self.unit, None, parts)
        if down and memory.quarter:
            known = self.lane is not None and self.unit == memory.column
            lane = (self.lane + down) % memory.quarter if known else None  # type: ignore[operator]
            first = _lower(self.first_lane, down, self.unit == memory.column)
            return replace(moved, lane=lane, first_lane=first)
        return moved

    def _by_thread(self, steps: Lanes) -> Address:
        """``moved`` in tensor memory, where threads go each their own distance: warps share out lanes and columns."""
        memory = self.memory
        lanes, columns = _lanes_and_columns(memory, steps.each)
        if self.unit != memory.column:
            columns = tuple(
                None if one is None else one * min(self.unit, memory.column) // memory.column for one in columns
            )
        parts = _added(self.parts or (self.offset,) * len(columns), columns)
        alike = len(set(parts)) == 1
        moved = self.at(parts[0] if alike else None, self.unit, None, () if alike else parts)
        known = self.unit == memory.column
        first = _lanes_below(self.first_lane, lanes) if known else None
        within = {one % memory.quarter for one in lanes if one is not None} if memory.quarter and known else {0}
        lane = None if self.lane is None or len(within) != 1 else self.lane + within.pop()
        return replace(moved, lane=lane if lane is None or not lane else lane % memory.quarter, first_lane=first)

    def reached_lanes(self) -> int:
        """A bit for each lane of a quarter of tensor memory that an access here may touch; -1 for all."""
        quarter = self.memory.quarter
        if not self.lanes or self.lane is None or not quarter:
            return -1
        turned = self.lanes << self.lane
        return (turned | turned >> quarter) & (1 << quarter) - 1


# The parts of the threads of a CTA are moved alike in each turn of a loop and in each run of a kernel.


@lru_cache(maxsize=2048)
def everywhere(offset: int, threads: int) -> tuple[int, ...]:
    """One place for each of so many threads."""
    return (offset,) * threads


@lru_cache(maxsize=2048)
def _moved(parts: tuple[int | None, ...], steps: int) -> tuple[int | None, ...]:
    return tuple([None if part is None else part + steps for part in parts])


@lru_cache(maxsize=2048)
def _added(parts: tuple[int | None, ...], distances: tuple[int | None, ...]) -> tuple[int | None, ...]:
    return tuple([None if a is None or b is None else a + b for a, b in zip_longest(parts, distances)])


@lru_cache(maxsize=2048)
def _in_bytes(each: tuple[int | None, ...], bits: int) -> tuple[int | None, ...]:
    return tuple([None if one is None else one * bits // 8 for one in each])


@lru_cache(maxsize=2048)
def _lanes_and_columns(
    memory: Allocation, each: tuple[int | None, ...]
) -> tuple[tuple[int | None, ...], tuple[int | None, ...]]:
    """Distances of threads in tensor memory, as lanes and as columns."""
    apart = [(None, None) if one is None else memory.steps(one) for one in each]
    return tuple([lanes for lanes, _ in apart]), tuple([columns for _, columns in apart])


def _lanes_below(lane: int | Lanes | None, down: tuple[int | None, ...]) -> int | Lanes | None:
    """A lane of tensor memory, for each thread so many further down; 0 where that is the lane of all."""
    if lane is None:
        return None
    found = _added(lane.each if isinstance(lane, Lanes) else (lane,) * len(down), down)
    return Lanes(found) if any(found) else 0


def _lower(lane: int | Lanes | None, steps: int, known: bool) -> int | Lanes | None:
    """A lane of tensor memory so many further down; ``known``: whether the steps are lanes."""
    if not known or lane is None:
        return None
    if isinstance(lane, Lanes):
        return Lanes(tuple(None if one is None else one + steps for one in lane.each))
    return lane + steps


def numbered(memory: Allocation, value: Value) -> Value:
    """A number as an address of tensor memory; itself where it is none.

    The allocation begins at column 0, as that of all columns can only, and the first one of an SM does: kernels that
    write out numbers rest on it.
    """
    known = type(value) is int or (isinstance(value, Lanes) and value.term is None)
    return Address(memory, 0, memory.column).moved(value) if memory.numbers and known else value  # type: ignore[arg-type]


def by_thread(first: Sequence[bool | None], one: Value, other: Value) -> Address | None:
    """A place in tensor or shared memory where some threads have one address and others another.

    Of those that have 0 in place of one in shared memory, which is no address, theirs is not known.

    Args:
        first: for each thread of the CTA whether it has the first one; None where that is not known.
    """
    if isinstance(one, Address) and type(other) is int and not other and one.memory.space == "smem":
        return one.of_threads(first)
    if isinstance(other, Address) and type(one) is int and not one and other.memory.space == "smem":
        return other.of_threads([None if each is None else not each for each in first])
    memory = next((each.memory for each in (one, other) if isinstance(each, Address)), None)
    if memory is None or memory.space not in ("tmem", "smem"):
        return None
    a, b = numbered(memory, one), numbered(memory, other)
    if not isinstance(a, Address) or not isinstance(b, Address) or a.memory != b.memory:
        return None
    if (a.unit, a.cta, a.leader, a.vague) != (b.unit, b.cta, b.leader, b.vague):
        return None
    count = len(first)
    if memory.space == "smem":
        kinds = [(one.peer, one.sharers, one.origin, one.loose, one.outside, one.apart) for one in (a, b)]
        if kinds[0] != kinds[1]:
            return None
        parts = _picked(first, a.parts or (a.offset,) * count, b.parts or (b.offset,) * count)
        return a.at(None, a.unit, a.extent if a.extent == b.extent else None, parts, a.origin)
    columns = _picked(first, a.parts or (a.offset,) * count, b.parts or (b.offset,) * count)
    lanes = _picked(
        first, *(each.each if isinstance(each, Lanes) else (each,) * count for each in (a.first_lane, b.first_lane))
    )
    alike = len(set(columns)) == 1
    found = a.at(columns[0] if alike else None, a.unit, None, () if alike else columns)
    alone = lanes[0] if len(set(lanes)) == 1 else Lanes(lanes)
    return replace(found, lane=a.lane if a.lane == b.lane else None, first_lane=alone)


def _picked(
    first: Sequence[bool | None], one: tuple[int | None, ...], other: tuple[int | None, ...]
) -> tuple[int | None, ...]:
    both = zip(first, one, other, strict=False)
    return tuple([None if mine is None else a if mine else b for mine, a, b in both])


@dataclass(frozen=True, slots=True)
class Fields:
    """What was set on an atom.

    Attributes:
        barrier: on which a copy completes.
        mask: the CTAs that it writes to.
        accumulates: whether an MMA adds to its accumulator, 1 or 0; None where it is not known.
        scales: the scale factors of an MMA in tensor memory, of A and of B.
        map: where the tensor map of a copy is, if it is not the one that its atom was made with.
    """

    barrier: Address | None = None
    mask: int | Lanes | None = None
    accumulates: int | Lanes | None = None
    scales: tuple[Address | None, Address | None] = (None, None)
    map: Address | None = None


@dataclass(frozen=True, slots=True)
class Local:
    """What threads keep in their local memory, each at the same places.

    Attributes:
        cells: the address, the bytes and the value of each that is known, by address.
    """

    cells: tuple[tuple[int, int, Value], ...]

    def met(self, other: Local) -> Local:
        """What is the same in both."""
        return Local(tuple(one for one in self.cells if one in other.cells))


Integers: TypeAlias = "tuple[int | Lanes | None, ...]"
Value: TypeAlias = "int | Open | Lanes | Integers | Address | Fields | Local | None"


def term_of(value: Value) -> int | None:
    """The term of a value; None where it is not supposed."""
    return value.term if isinstance(value, Supposed | Lanes | Open) else None


def same(one: Value, other: Value) -> bool:
    """Whether a function of the one is that of the other: equal, and computed alike. It may say no of what is."""
    if one is other:
        return True
    kind = one.__class__
    if kind is not other.__class__:
        return False
    if kind is tuple:
        return len(one) == len(other) and all(map(same, one, other))  # type: ignore[arg-type]
    if kind is int or kind is Address or kind is Lanes or kind is Open:
        return one == other
    return isinstance(one, Supposed) and isinstance(other, Supposed) and one == other and one.term == other.term


def integers(value: Value) -> Integers:
    """The leaves of a value."""
    return value if isinstance(value, tuple) else (value if isinstance(value, int | Lanes) else None,)
