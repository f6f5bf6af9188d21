"""What each wait is for: which waits, at which places, leaving how much in flight, would give an order that is missing.

An asynchronous operation has to be complete before the last release by its thread that what is ordered after it
acquired: before the moment up to which that knows its warp. Where it is of the same threads, and surely of no others,
it is enough that it is complete before the access itself; the machine gives kernels the benefit of the doubt that each
thread has its own part of a tile, and a schedule does not rest on that if there is a release in between.
So each missing order that a run shows is a *need*: of the places that the warp came to in between one must have a wait,
and it may leave no more groups in flight than were committed after that of the operation. A plan is right only if it
meets all needs, and which plans do can be said without the machine. A run of such a plan either finds nothing, or shows
more needs.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TypeAlias

from tileproof.base.records import dataclass, field
from tileproof.protocol.actions import Action
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.vector_clock import Agent
from tileproof.protocol.warps import ThreadSet
from tileproof.scheduling.order import GROUPED, QUEUES

Need: TypeAlias = "tuple[tuple[int, int], ...]"
"""Places, the latest first, and the groups that a wait there may leave in flight at most."""

Chosen: TypeAlias = "Mapping[int, int]"  # places with the groups that waits there leave in flight
_NEVER = 1 << 60
_LATEST = 512  # places of a need that are kept
_AGENTS = {"ld": "load", "st": "store"}


@dataclass(slots=True)
class Timeline:
    """What a warp did of one queue, in order.

    Attributes:
        issues: the moments of its operations; ``groups`` has the group of each, ``steps`` the step.
        visits: the slots that it came to, with the moment, the groups committed by then, and the step.
        commits: what committed each group, by its place; a slot, where it was inserted.
        known: the operations that are needed, each with the moment by which; to say each need once.
    """

    issues: list[int] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    visits: list[tuple[int, int, int, int]] = field(default_factory=list)
    commits: list[int] = field(default_factory=list)
    known: set[tuple[int, int]] = field(default_factory=set)


class Recorder:
    """Watches a run and writes down what is needed.

    Attributes:
        whole: the queues for which only all threads of a warp together can wait.
        divided: the slots that some threads of a warp come to without the others.
        visited: how often warps came to each slot.
    """

    def __init__(self, whole: Set[str] = frozenset()) -> None:
        self.whole = whole
        self.needs: dict[str, set[Need]] = {queue: set() for queue in QUEUES}
        self.timelines: dict[tuple[str, int, int], Timeline] = {}
        self.now: dict[tuple[int, int], int] = {}
        self.divided: set[int] = set()
        self.visited: Counter[int] = Counter()

    def timeline(self, queue: str, cta: int, warp: int) -> Timeline:
        return self.timelines.setdefault((queue, cta, warp), Timeline())

    def watched(self, table: Mapping[str, Action]) -> dict[str, Action]:
        """Actions of the machine, watched."""
        return {name: self._watched(name, action) for name, action in table.items()}

    def _watched(self, name: str, action: Action) -> Action:
        queue, _, does = name.partition("_")
        if does == "commit" and queue in GROUPED:

            def commit(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
                for warp in thread_set.warps:
                    self.timeline(queue, thread_set.cta, warp).commits.append(instruction.operation.span.start)
                return action(machine, thread_set, instruction)

            return commit

        def run(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
            before = _moments(thread_set)
            went = action(machine, thread_set, instruction)
            if went >= 0:
                for warp in thread_set.warps:
                    self.now[thread_set.cta, warp] = self.now.get((thread_set.cta, warp), 0) + 1
            for kind, was, moment in zip(QUEUES, before, _moments(thread_set), strict=True):
                if moment > was:
                    for warp in thread_set.warps:
                        held = self.timeline(kind, thread_set.cta, warp)
                        held.issues.append(moment)
                        held.groups.append(len(held.commits))
                        held.steps.append(self.now[thread_set.cta, warp])
            return went

        return run

    def visit(self, machine: Machine, thread_set: ThreadSet, slot: int) -> None:
        """A thread set comes to a slot."""
        cta = thread_set.cta
        divided = machine.divided(thread_set)
        if divided:
            self.divided.add(slot)
        self.visited[slot] += len(thread_set.warps)
        for warp in thread_set.warps:
            for queue in QUEUES:
                if queue in self.whole and warp in divided:
                    continue
                held = self.timelines.get((queue, cta, warp))
                if held is not None:
                    held.visits.append((slot, machine.now, len(held.commits), self.now.get((cta, warp), 0)))

    def missed(self, thread_set: ThreadSet, agents: Sequence[Agent], moment: int, alone: Callable[[int], bool]) -> None:
        """An order is missing."""
        for agent in agents:
            name, cta, warp = agent[0], *agent[-2:]
            queue = _AGENTS.get(str(name), str(name))
            held = self.timelines.get((queue, cta, warp)) if isinstance(cta, int) and isinstance(warp, int) else None
            if held is None or not isinstance(warp, int):
                continue  # what no wait completes
            at = bisect_right(held.issues, moment) - 1
            if at < 0:
                continue
            own = cta == thread_set.cta and warp in thread_set.warps
            end = thread_set.clock.known.get((cta, warp), -1)
            if own and (alone(warp) or len(thread_set.warps) == 1):
                end = _NEVER
            found = self._between(queue, held, at, end)
            if own and not found:
                found = self._between(queue, held, at, _NEVER)
            if found and (at, end) not in held.known:
                held.known.add((at, end))
                self.needs[queue].add(tuple(found.items()))

    @staticmethod
    def _between(queue: str, held: Timeline, at: int, end: int) -> dict[int, int]:
        """The slots that a warp came to after an operation and before a moment, with what a wait there may leave."""
        grouped = queue in GROUPED
        found: dict[int, int] = {}
        if (at, end) in held.known:
            return found
        visits = held.visits
        last = len(visits) if end == _NEVER else bisect_left(visits, end, key=_when)
        for i in range(last - 1, -1, -1):
            slot, when, committed, _ = visits[i]
            if when < held.issues[at] or (grouped and committed <= held.groups[at]) or len(found) >= _LATEST:
                break
            found.setdefault(slot, committed - held.groups[at] - 1 if grouped else 0)  # the latest leaves most
        return found


def _when(visit: tuple[int, int, int, int]) -> int:
    """The moment of a visit."""
    return visit[1]


def _moments(thread_set: ThreadSet) -> tuple[int, ...]:
    queues = thread_set.queues
    grouped = (queues[name].open.moment if name in queues else -1 for name in GROUPED)
    return (*grouped, *(queues[f"tmem_{name}"].open.moment if f"tmem_{name}" in queues else -1 for name in QUEUES[3:]))


def meets(chosen: Chosen, needs: Iterable[Iterable[tuple[int, int]]]) -> bool:
    """Whether waits meet all needs."""
    return all(any(chosen.get(place, most + 1) <= most for place, most in need) for need in needs)


def among(timelines: Iterable[Timeline], places: Set[int]) -> list[Timeline]:
    """Timelines that visit nothing but some places, and the last place of each."""
    found = []
    for held in timelines:
        visits = [one for one in held.visits[:-1] if one[0] in places] + held.visits[-1:]
        found.append(Timeline(held.issues, held.groups, held.steps, visits, held.commits, held.known))
    return found


def flown(chosen: Chosen, timelines: Iterable[Timeline], grouped: bool) -> int:
    """How long the operations of a queue are in flight, in steps of their warps."""
    whole = 0
    for held in timelines:
        done, last = 0, held.visits[-1][3] if held.visits else 0
        for slot, _, committed, step in held.visits:
            left = chosen.get(slot)
            if left is None:
                continue
            while done < len(held.issues) and held.steps[done] <= step:
                if grouped and held.groups[done] >= committed - left:
                    break
                whole += step - held.steps[done]
                done += 1
        whole += sum(max(last - step, 0) for step in held.steps[done:])
    return whole


def merged(chosen: Chosen, timelines: Sequence[Timeline], commits: Sequence[int]) -> tuple[set[int], Chosen]:
    """Which commits make groups that no wait tells apart from the next one, and what waits leave without these."""
    gone: set[int] = set()
    left = dict(chosen)
    for one in commits:
        fewer = _without(chosen, timelines, gone | {one})
        if fewer is not None:
            gone.add(one)
            left = fewer
    return gone, left


def _without(chosen: Chosen, timelines: Sequence[Timeline], gone: set[int]) -> dict[int, int] | None:
    """What waits leave in flight if some commits are not there; None where they would complete something else."""
    found: dict[int, int] = {}
    for held in timelines:
        for slot, _, committed, _ in held.visits:
            if slot not in chosen:
                continue
            bound = max(committed - chosen[slot], 0)
            if bound and held.commits[bound - 1] in gone:
                return None
            left = sum(one not in gone for one in held.commits[bound:committed])
            if found.setdefault(slot, left) != left and bound:
                return None
    return {slot: found.get(slot, left) for slot, left in chosen.items()}


__all__ = ["Chosen", "Need", "Recorder", "Timeline", "among", "flown", "meets", "merged"]
