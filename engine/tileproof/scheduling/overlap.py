"""Waits as late and as weak as the verifier allows at each place, so that what is in flight overlaps what comes next.

A wait beside the operation that it is about is right and may be slow: directly behind a prefetch nothing overlaps it.
What a wait completes is needed by other threads, behind what synchronizes with them, or by its own thread, at the
operation where the verifier finds a hazard. So the places for the waits of a queue are those before what synchronizes
and before such operations. All of them waiting for everything is enough where waiting helps at all; then waits are
removed, the first ones in time before the last ones, and those that stay leave as many groups in flight as possible.
In a loop time begins behind its last commit: what stands before it in the text waits an iteration later.

Of two plans the better one keeps groups longer in flight, counted on the abstract machine: for each group the
operations that its threads execute between its commit and the wait that completes it. That number compares plans by
place, where the count of their waits does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from tileproof.protocol.actions import ACTIONS
from tileproof.protocol.actions.base import Action
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.warps import Group, ThreadSet

QUEUES = ("wgmma", "bulk", "async")


class Flights:
    """Watches the machine: how long groups are in flight, by queue.

    Attributes:
        steps: for each queue, the operations of the protocol that threads executed while a group of theirs was between
            its commit and the wait that completed it, or the end where none did, over all groups and runs.
    """

    def __init__(self) -> None:
        self.steps: Counter[str] = Counter()
        self._now: Counter[tuple[int, int, int]] = Counter()
        self._committed: dict[int, tuple[Group, int]] = {}

    @property
    def actions(self) -> dict[str, Action]:
        """The actions of the machine, watched."""
        return {name: self._watched(name, action) for name, action in ACTIONS.items()}

    def _watched(self, name: str, action: Action) -> Action:
        kind, _, end = name.partition("_")
        counted = kind in QUEUES and end in ("commit", "wait")

        def run(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
            threads = (id(machine), thread_set.cta, thread_set.warps[0])
            if name == "finish":
                for queue in QUEUES:
                    self._completed(queue, thread_set.queue(queue).committed, threads)
            if not counted:
                went = action(machine, thread_set, instruction)
                self._now[threads] += went >= 0
                return went
            before = list(thread_set.queue(kind).committed)
            went = action(machine, thread_set, instruction)
            after = thread_set.queue(kind).committed
            if end == "commit":
                self._committed.update((id(group), (group, self._now[threads])) for group in after[len(before) :])
            self._completed(kind, before[: len(before) - len(after)], threads)
            return went

        return run

    def _completed(self, queue: str, groups: Sequence[Group], threads: tuple[int, int, int]) -> None:
        for group in groups:
            found = self._committed.pop(id(group), None)
            self.steps[queue] += self._now[threads] - found[1] if found is not None else 0


def needed(
    count: int, fits: Callable[[Sequence[int]], bool], most: int, weakest: int
) -> tuple[tuple[int, int], ...] | None:
    """Which of the places for a wait are needed, and how many groups each may leave in flight.

    Places are removed in halves, those that come first before those that come last; what is left is weakened in turn.

    Args:
        count: the places, in the order of time.
        fits: whether waits that leave so many groups in flight at each place are enough; -1: none there.
        most: how often ``fits`` may be asked.
        weakest: the groups that a wait may leave in flight at most.

    Returns:
        Places with their numbers; None where all of them are not enough, or ``fits`` was asked too often.
    """
    pending = [0] * count
    asked = 0

    def holds(places: Iterable[int], value: int) -> bool:
        """Whether the places may have a value; then they have it."""
        nonlocal asked
        asked += 1
        changed = dict.fromkeys(places, value)
        if asked > most or not fits([changed.get(place, held) for place, held in enumerate(pending)]):
            return False
        for place in changed:
            pending[place] = value
        return True

    def removed(places: range) -> None:
        if len(places) and not holds(places, -1) and len(places) > 1:
            half = len(places) // 2
            removed(places[:half])
            removed(places[half:])

    if not holds(range(count), 0):
        return None
    removed(range(count))
    for place in range(count):
        low, high = pending[place], weakest if pending[place] == 0 else -1
        while low < high:
            middle = (low + high + 1) // 2
            if holds([place], middle):
                low = middle
            else:
                high = middle - 1
    return tuple((place, held) for place, held in enumerate(pending) if held >= 0) if asked <= most else None


__all__ = ["QUEUES", "Flights", "needed"]
