"""What each proxy fence is for: at which places a fence would make what threads wrote visible to the async proxy.

A proxy fence makes all visible that its threads know of when they execute it, and whoever they release to afterwards
sees it too. So of an access by threads that the async proxy does not see a run can say which places would have done:
the threads that came there knew of the access, and what the async proxy does is ordered after their coming. This is a
*need* as for waits (``needs``): one of these places must have a fence. All needs come of one run without fences; which
of many fences are enough for them is then said without the machine, which tries only the choice.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.base.records import dataclass
from tileproof.protocol.machine import Machine
from tileproof.protocol.vector_clock import Agent
from tileproof.protocol.warps import ThreadSet


@dataclass(frozen=True, slots=True)
class Visit:
    """Warps of a CTA came to a slot, at a moment, and what they knew by then: of each agent up to which moment."""

    slot: int
    cta: int
    warps: tuple[int, ...]
    moment: int
    known: dict[Agent, int]

    def before(self, thread_set: ThreadSet) -> bool:
        """Whether it is ordered before what a thread set does now."""
        if self.cta == thread_set.cta and not set(self.warps).isdisjoint(thread_set.warps):
            return True
        known = thread_set.clock.known
        return any(known.get((self.cta, warp), -1) >= self.moment for warp in self.warps)


class FenceRecorder:
    """Watches a run without fences and writes down which are needed.

    Attributes:
        needs: sets of slots, of each of which one must have a fence.
    """

    def __init__(self) -> None:
        self.needs: set[frozenset[int]] = set()
        self._visits: list[Visit] = []

    def visit(self, machine: Machine, thread_set: ThreadSet, slot: int) -> None:
        """A thread set comes to a slot that may have a fence."""
        moment = machine.tick()
        known = dict(thread_set.clock.known)
        for agent, done in thread_set.own.items():
            known[agent] = max(known.get(agent, -1), done)
        known |= {(thread_set.cta, warp): moment for warp in thread_set.warps}
        self._visits.append(Visit(slot, thread_set.cta, thread_set.warps, moment, known))

    def unseen(self, thread_set: ThreadSet, agents: Sequence[Agent], moment: int) -> None:
        """What agents accessed at a moment is not visible to what a thread set has the async proxy do."""
        left: dict[Agent, set[int]] = {agent: set() for agent in agents}
        for one in reversed(self._visits):
            if one.moment < moment:
                break
            wanting = [agent for agent in agents if one.slot not in left[agent] and one.known.get(agent, -1) >= moment]
            if wanting and one.before(thread_set):
                for agent in wanting:
                    left[agent].add(one.slot)
        self.needs |= set(map(frozenset, left.values()))


__all__ = ["FenceRecorder", "Visit"]
