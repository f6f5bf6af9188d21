"""The accesses to memory that a later one may conflict with."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import ValuesView
from operator import attrgetter
from typing import TypeAlias

from tileproof.base.records import dataclass, field
from tileproof.mlir.ir import Operation
from tileproof.protocol.access_sets import AccessSet
from tileproof.protocol.vector_clock import Agent

# CTA and serial number of an allocation, the first unit and that behind the last.
Span: TypeAlias = "tuple[int, int, int, int]"


@dataclass(slots=True)
class Access:
    """One access to a piece of memory.

    Attributes:
        low, high: the first unit and the one after the last.
        agents: the warps or streams that access.
        moment: when, as each of the agents counts.
        kind: what makes it, a row of the table ``protocol_access``: ``.generic``, ``.tma``, ``.mma`` and so on.
        shape: the type that partitions the piece over threads; accesses of one type to one place are by one thread.
        vague: whether it is the part of a warpgroup, somewhere after ``low``.
        touched_bytes: which bytes each warp touches, where that is known.
        lanes: of tensor memory, a bit for each lane of a quarter that it may touch; -1 for all.
        number: its place in the order of its log.
    """

    low: int
    high: int
    agents: tuple[Agent, ...]
    moment: int
    kind: str
    writes: bool
    operation: Operation
    shape: str = ""
    vague: bool = False
    touched_bytes: AccessSet | None = None
    lanes: int = -1
    number: int = 0


@dataclass(slots=True)
class _Piece:
    """A piece of memory that was accessed or asked about, with the accesses to just it, by ``id`` and in order.

    Attributes:
        near: the pieces that have a unit in common with it, itself among them.
        covered: those of them that lie in it as a whole.
    """

    low: int
    high: int
    lanes: int
    reads: dict[int, Access] = field(default_factory=dict)
    writes: dict[int, Access] = field(default_factory=dict)
    near: list[_Piece] = field(default_factory=list)
    covered: list[_Piece] = field(default_factory=list)


@dataclass(slots=True)
class AccessLog:
    """The accesses to one allocation that still matter, in order; by ``id``, so that one is forgotten at once.

    A kernel accesses few pieces of memory, each of them again and again. Which pieces meet is looked up once.
    """

    held: dict[int, Access] = field(default_factory=dict)
    last: dict[Agent, int] | None = None  # the last moment of each agent in them, where that was asked for
    pieces: dict[tuple[int, int, int], _Piece] = field(default_factory=dict)
    by_start: list[_Piece] = field(default_factory=list)
    longest: int = 0  # of the pieces, in units
    added: int = 0

    @property
    def accesses(self) -> ValuesView[Access]:
        """All of them, in order."""
        return self.held.values()

    def latest(self) -> dict[Agent, int]:
        """The last moment of each agent among the accesses."""
        if self.last is None:
            self.last = {}
            for access in self.held.values():
                _note(self.last, access)
        return self.last

    def overlapping(self, low: int, high: int, lanes: int = -1, writes: bool = False) -> list[Access]:
        """Those that have a unit in common with a piece, in order; ``writes``: only those that write."""
        found: list[Access] = []
        met = 0
        for one in self._piece(low, high, lanes).near:
            if one.writes:
                found.extend(one.writes.values())
                met += 1
            if one.reads and not writes:
                found.extend(one.reads.values())
                met += 1
        if met > 1:
            found.sort(key=_number)
        return found

    def add(self, access: Access, over: set[int]) -> None:
        """Remember an access; forget those (by ``id``) that it is ordered after and covers."""
        piece = self._piece(access.low, access.high, access.lanes)
        for one in piece.covered:
            mine = one.writes if access.writes else one.reads
            gone = [key for held in (one.reads, one.writes) for key in held if key in over] if over else []
            if mine and one.low == access.low and one.high == access.high:  # it stands for those that are just like it
                for key, old in mine.items():
                    if key not in over and old.agents == access.agents and old.kind == access.kind:
                        gone.append(key)
            for key in gone:
                del (one.writes if self.held.pop(key).writes else one.reads)[key]
                self.last = None
        self.added += 1
        access.number = self.added
        self.held[id(access)] = access
        (piece.writes if access.writes else piece.reads)[id(access)] = access
        if self.last is not None:
            _note(self.last, access)

    def _piece(self, low: int, high: int, lanes: int) -> _Piece:
        key = low, high, lanes
        found = self.pieces.get(key)
        if found is None:
            found = self.pieces[key] = _Piece(low, high, lanes)
            near, covered = found.near, found.covered
            self.longest = max(self.longest, high - low)
            first = bisect_left(self.by_start, low - self.longest, key=_start)
            last = bisect_left(self.by_start, high, first, key=_start)
            for one in self.by_start[first:last]:
                if low < one.high and one.lanes & lanes:
                    near.append(one)
                    one.near.append(found)
                    if low <= one.low and one.high <= high and not one.lanes & ~lanes:
                        covered.append(one)
                    if one.low <= low and high <= one.high and not lanes & ~one.lanes:
                        one.covered.append(found)
            near.append(found)
            covered.append(found)
            self.by_start.insert(bisect_left(self.by_start, low, first, last, key=_start), found)
        return found


_number, _start = attrgetter("number"), attrgetter("low")


def _note(last: dict[Agent, int], access: Access) -> None:
    for agent in access.agents:
        if last.get(agent, -1) < access.moment:
            last[agent] = access.moment
