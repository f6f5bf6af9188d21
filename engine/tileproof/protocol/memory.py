"""The accesses to memory that a later one may conflict with."""

from __future__ import annotations

from collections.abc import Sequence, ValuesView

from tileproof.base.records import dataclass, field
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
    """The accesses to one allocation that still matter, in order; by ``id``, so that one is forgotten at once."""

    held: dict[int, Access] = field(default_factory=dict)
    last: dict[Agent, int] | None = None  # the last moment of each agent in them, where that was asked for

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

    def overlapping(self, low: int, high: int, lanes: int = -1) -> list[Access]:
        """Those that have a unit in common with a piece."""
        return [one for one in self.held.values() if one.low < high and low < one.high and one.lanes & lanes]

    def add(self, access: Access, over: set[int], met: Sequence[Access]) -> None:
        """Remember an access; forget those (by ``id``) that it is ordered after and covers.

        Args:
            met: those that it overlaps, which all that it covers are among.
        """
        low, high = access.low, access.high
        for old in met:
            if low <= old.low and old.high <= high and not old.lanes & ~access.lanes:
                same = old.low == low and old.high == high and old.agents == access.agents
                if id(old) in over or (same and old.kind == access.kind and old.writes == access.writes):
                    del self.held[id(old)]
                    self.last = None
        self.held[id(access)] = access
        if self.last is not None:
            _note(self.last, access)


def _note(last: dict[Agent, int], access: Access) -> None:
    for agent in access.agents:
        if last.get(agent, -1) < access.moment:
            last[agent] = access.moment
