"""Which of two right plans is the better one, by place, and how the best is found.

A wait is there for an order, and costs what could have been done meanwhile. So what counts is not how many waits a
text has but where they stand and how much they leave in flight. The *flight* of an asynchronous operation is what its
threads do between its issue and its completion: steps of the protocol that the abstract machine counts, without the
fences, commits and waits themselves. A wait that is moved later, that leaves more groups in flight, or that is not
there makes flights longer or leaves them as they are, never shorter; one before independent work makes them shorter. At
each place the better plan is

- for the waits of a queue (wgmma, bulk stores, cp.async, tcgen05.ld, tcgen05.st) the one whose operations are longer in
  flight, all of them together; of equal ones the one whose waits are executed less often, by fewer threads;
- for a fence the one that executes it less often: it completes nothing, so where it stands between what it orders is
  indifferent;
- for a commit neither: it costs nothing, and the groups that it makes decide what waits can leave in flight.

Flights are sums over the whole run, so two plans compare even where they group operations differently. Since no change
for the weaker makes a flight shorter, a best plan is among those from which nothing can be removed and in which nothing
can be weakened without a finding: the *minimal* ones.

What each wait is for is asked of the machine, which knows for every order that is missing where a wait would give it
(``needs``). Where few places come into question all minimal choices that meet the needs are enumerated, and Z3 shows
that there are no others; else the search (``placing``) begins with the latest place of each need, and with all places
in many orders of removal, and exchanges places as long as that is better. A choice counts only if the machine then
finds nothing (``trials``), and the result only if the verifier of ``check`` does.

How operations are grouped is tried in a few ways: one group for an outermost loop without synchronization or one for
each of its iterations, inside of a condition or behind it. Of the groups that no wait tells apart one is made.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tileproof.protocol.actions import ACTIONS, Action
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.steps import words
from tileproof.protocol.warps import ThreadSet

GROUPED = ("wgmma", "bulk", "async")
QUEUES = (*GROUPED, "load", "store")  # tcgen05.ld and tcgen05.st complete as a whole
_FREE = frozenset({"wgmma_fence", "proxy_fence", "init_fence", "thread_fence", "tmem_wait"})
_FREE |= {f"{queue}_{end}" for queue in GROUPED for end in ("commit", "wait")}
Warp: TypeAlias = "tuple[int, int, int]"  # the machine, by ``id``, the CTA and the number


class Flights:
    """Watches the machine: how long operations are in flight, and how often fences and waits are executed.

    Attributes:
        steps: for each queue, the steps between issue and completion, or the end where nothing completes them, of each
            warp: which warps go together is no matter of a schedule.
        executed: how often each step that costs no flight is executed, by its name, in warps.
    """

    def __init__(self) -> None:
        self.steps: Counter[str] = Counter()
        self.executed: Counter[str] = Counter()
        self._now: Counter[Warp] = Counter()
        self._issued: dict[tuple[str, Warp], deque[int]] = {}

    @property
    def actions(self) -> dict[str, Action]:
        """The actions of the machine, watched."""
        return {name: self._watched(name, action) for name, action in ACTIONS.items()}

    def _watched(self, name: str, action: Action) -> Action:
        if name == "finish":
            return self._finishing(action)
        if name in _FREE:
            return self._waiting(name, action)

        def run(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
            before = _opened(thread_set)
            went = action(machine, thread_set, instruction)
            warps = _warps(machine, thread_set)
            if name == "tmem_used":
                self._completed("load", warps)
            if went >= 0:
                for warp in warps:
                    self._now[warp] += 1
            for queue, was, now in zip(QUEUES, before, _opened(thread_set), strict=True):
                issued = now - was if queue in GROUPED else int(now != was)
                for warp in warps if issued > 0 else ():
                    self._issued.setdefault((queue, warp), deque()).extend([self._now[warp]] * issued)
            return went

        return run

    def _waiting(self, name: str, action: Action) -> Action:
        queue, _, does = name.partition("_")
        grouped = queue in GROUPED and does == "wait"

        def run(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
            warps = _warps(machine, thread_set)
            before = _held(thread_set, queue) if grouped else 0
            went = action(machine, thread_set, instruction)
            counted = name
            if grouped:
                self._completed(queue, warps, before - _held(thread_set, queue))
            elif name == "tmem_wait":
                kind = "load" if "load" in words(instruction.operation) else "store"
                counted = f"{kind}_wait"
                self._completed(kind, warps)
            self.executed[counted] += len(thread_set.warps)
            return went

        return run

    def _finishing(self, action: Action) -> Action:
        def run(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
            for queue in QUEUES:
                self._completed(queue, _warps(machine, thread_set))
            return action(machine, thread_set, instruction)

        return run

    def _completed(self, queue: str, warps: Sequence[Warp], count: int | None = None) -> None:
        """Operations of each warp complete: the oldest ones, or all."""
        for warp in warps:
            issued = self._issued.get((queue, warp), deque())
            for _ in range(len(issued) if count is None else min(count, len(issued))):
                self.steps[queue] += self._now[warp] - issued.popleft()

    def worse(self, other: Flights) -> list[str]:
        """Where this is worse than other flights of the same kernel: queues by name, and fences."""
        found = [queue for queue in QUEUES if self.steps[queue] < other.steps[queue]]
        fences = (name for name in sorted(self.executed) if name.endswith("_fence"))
        return [*found, *(name for name in fences if self.executed[name] > other.executed[name])]


def _warps(machine: Machine, thread_set: ThreadSet) -> list[Warp]:
    return [(id(machine), thread_set.cta, warp) for warp in thread_set.warps]


def _held(thread_set: ThreadSet, queue: str) -> int:
    """How many operations of a queue are not known to be complete."""
    return sum(len(group.operations) for group in thread_set.queue(queue).in_flight())


def _opened(thread_set: ThreadSet) -> tuple[int, ...]:
    """What is issued and not committed, by queue; of tensor memory the moment of the last one."""
    queues = thread_set.queues
    grouped = (len(queues[name].open.operations) if name in queues else 0 for name in GROUPED)
    return (*grouped, *(queues[f"tmem_{name}"].open.moment if f"tmem_{name}" in queues else -1 for name in QUEUES[3:]))


def needed(places: Sequence[int], fits: Callable[[Sequence[int]], bool]) -> Sequence[int] | None:
    """Which of some places are needed: none of those that are left can be removed.

    They are removed in halves, those that come first before those that come last.

    Args:
        fits: whether some of the places are enough; more are, if fewer are.

    Returns:
        None where all of them are not enough.
    """
    left = list(places)
    if not fits(left):
        return None

    def removed(some: Sequence[int]) -> None:
        nonlocal left
        rest = [one for one in left if one not in some]
        if not some:
            return
        if fits(rest):
            left = rest
        elif len(some) > 1:
            half = len(some) // 2
            removed(some[:half])
            removed(some[half:])

    removed(list(places))
    return left


__all__ = ["GROUPED", "QUEUES", "Flights", "needed"]
