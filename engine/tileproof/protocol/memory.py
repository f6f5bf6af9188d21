"""The accesses to memory that a later one may conflict with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tileproof.base.records import dataclass
from tileproof.mlir.ir import Operation
from tileproof.protocol.access_sets import AccessSet
from tileproof.protocol.vector_clock import Agent


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


@dataclass(slots=True)
class AccessLog:
    """The accesses to one allocation that still matter."""

    accesses: list[Access] = field(default_factory=list)

    def overlapping(self, low: int, high: int, lanes: int = -1) -> Iterator[Access]:
        for access in self.accesses:
            if access.low < high and low < access.high and access.lanes & lanes:
                yield access

    def add(self, access: Access, over: set[int]) -> None:
        """Remember an access; forget those (by ``id``) that it is ordered after and covers."""
        low, high = access.low, access.high
        kept = []
        for old in self.accesses:
            if low <= old.low and old.high <= high and not old.lanes & ~access.lanes:
                same = old.low == low and old.high == high and old.agents == access.agents
                if id(old) in over or (same and old.kind == access.kind and old.writes == access.writes):
                    continue
            kept.append(old)
        kept.append(access)
        self.accesses = kept
