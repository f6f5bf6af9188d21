"""Vector clocks with a second half for the async proxy.

A clock holds, for each warp and each asynchronous stream, up to which moment its accesses happened before now. The
machine counts moments. A stream is a queue that completes in order (the groups of a warp, the phases of a barrier), so
one number says which of its operations are complete.
"""

from __future__ import annotations

from typing import TypeAlias

from tileproof.base.records import dataclass, field

Agent: TypeAlias = "tuple[str | int, ...]"  # a warp ``(cta, warp)``, a stream ``(kind, cta, warp)``, a barrier


@dataclass(slots=True)
class Clock:
    """What happened before the present of one thread set.

    Attributes:
        known: for each agent the last moment whose accesses are ordered before.
        fenced: the same for writes that are visible to the async proxy.
    """

    known: dict[Agent, int] = field(default_factory=dict)
    fenced: dict[Agent, int] = field(default_factory=dict)

    def copy(self) -> Clock:
        return Clock(dict(self.known), dict(self.fenced))

    def join(self, other: Clock) -> None:
        """Join with another clock."""
        _join(self.known, other.known)
        _join(self.fenced, other.fenced)

    def learn(self, agent: Agent, moment: int) -> None:
        if self.known.get(agent, -1) < moment:
            self.known[agent] = moment

    def reads(self) -> Clock:
        """What is known of reads by threads alone, of tensor memory as well, and of proxy fences.

        What they read they have, whatever a later write does, and a fence is over.
        """
        found: dict[Agent, int] = {}
        for agent, moment in self.known.items():
            if isinstance(agent[0], int):
                found["read", *agent] = moment
            elif agent[0] in ("ld", "past"):  # who is past a wait stays so
                found[agent] = moment
        return Clock(found, {agent: moment for agent, moment in self.fenced.items() if isinstance(agent[0], int)})

    def past(self) -> Clock:
        """What is known of how far warps have come, and of nothing that they did."""
        warps = {agent: moment for agent, moment in self.known.items() if isinstance(agent[0], int)}
        found: dict[Agent, int] = {("past", *agent): moment for agent, moment in warps.items()}
        _join(found, {agent: moment for agent, moment in self.known.items() if agent[0] == "past"})
        return Clock(found)

    def fence(self) -> None:
        """A proxy fence: all that is known is now visible to the async proxy as well."""
        _join(self.fenced, self.known)


def _join(mine: dict[Agent, int], theirs: dict[Agent, int]) -> None:
    if not mine:
        mine.update(theirs)
        return
    if mine == theirs:  # of parts that did nothing since they were one
        return
    known = mine.get
    for agent, moment in theirs.items():
        if known(agent, -1) < moment:
            mine[agent] = moment
