"""Whether threads wait for ever because of the kernel, and not because of what a run supposes.

A run supposes what the text leaves open. Where each role computes for itself how often its loops run, a run may suppose
numbers on which the roles of a launch would never disagree: one goes round once more than the other, and waits for a
phase that nobody completes. Such a hang says nothing of the kernel.

It does where the roles agree and the phase is not complete all the same. To see that, the kernel is run again and
helped at one wait alone: whenever no thread can go on, the barrier that threads wait for there is completed for them.
What is missing at that barrier has no other effect then.

- If the roles disagree, the barrier completes by itself as long as they go round together, and help is wanted for the
  rest only; or other mbarriers are left in the middle of a phase, or threads wait for ever for those.
- If they agree, every thread comes to its end, and no other mbarrier is in the middle of a phase.

So where a barrier never completes by itself, in runs of several lengths that come to such an end and in which every
step is executed that may complete one, it lacks arrivals or bytes in each launch. The same holds of a few together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from typing import TypeVar

from tileproof.base.records import dataclass, field
from tileproof.protocol.actions import MEETING
from tileproof.protocol.machine import Machine
from tileproof.protocol.values import Supposed
from tileproof.protocol.warps import Awaited, OnBarrier

Size = TypeVar("Size")

_ARRIVING = frozenset(
    {"arrive", "arrive_expect", "async_arrive", "bulk_load", "cancel", "complete", "copy", "mma_commit", "raw_copy"}
)  # steps that may complete the phase of an mbarrier
_LENGTHS = 2  # of runs that agree
_TOGETHER = 3  # waits that are helped in one run
_MOST = 24  # runs that are made for one hang


@dataclass(slots=True)
class Help:
    """Completes barriers for which threads wait for ever.

    Attributes:
        places: the waits that are helped.
        given: how often it completed each barrier that was waited for there: such a barrier is helped wherever threads
            wait for it.
        needless: whether one of them completes by itself, or by what is supposed.
    """

    places: frozenset[int]
    given: dict[Awaited, int] = field(default_factory=dict)
    needless: bool = False

    def __call__(self, machine: Machine) -> bool:
        """Complete a barrier once; whether there was one to complete."""
        for thread_set in machine.thread_sets:
            wanted = thread_set.awaited
            if wanted is None or not (thread_set.place in self.places or wanted in self.given):
                continue
            times, rounds = self.given.get(wanted, 0), _rounds(machine, wanted)
            if rounds is None:
                continue
            self.needless |= rounds != times
            if isinstance(wanted, OnBarrier):
                machine.named.complete(wanted.name, machine.now)
            else:
                barrier = machine.barriers[wanted.key]
                self.needless |= barrier.supposed or isinstance(barrier.count, Supposed)
                barrier.pending = barrier.bytes = 0
                barrier.settle()
            self.given[wanted] = times + 1
            return not self.needless
        return False

    def suffices(self, machine: Machine) -> bool:
        """Whether a run came to its end by this help, and the roles in it agree."""
        self.needless |= any(_rounds(machine, one) not in (None, times) for one, times in self.given.items())
        coverage, taint = machine.coverage, machine.taint
        open_ = coverage.unknown or taint.reasons or taint.released or any(one.blocked for one in machine.thread_sets)
        if self.needless or not self.given or not coverage.complete or open_:
            return False
        helped = {one.key for one in self.given if not isinstance(one, OnBarrier)}
        return all(one.even for key, one in machine.barriers.items() if key not in helped)


def _rounds(machine: Machine, wanted: Awaited) -> int | None:
    """How often a barrier was complete; None of an mbarrier that is no more."""
    if isinstance(wanted, OnBarrier):
        return machine.named.rounds.get(wanted.name, 0)
    barrier = machine.barriers.get(wanted.key)
    return None if barrier is None else barrier.phase


def unmet(
    machine: Machine, sizes: Sequence[Size], run: Callable[[Size, Help], Machine], open_: bool, budget: int
) -> Set[Awaited]:
    """The barriers that lack arrivals or bytes whatever a run supposes; none where that is not known of any.

    Args:
        machine: after a run in which threads wait for ever.
        sizes: of runs of several lengths; the first is that of this run.
        open_: whether there is a loop whose length the text does not say: else all runs are of one length.
        budget: the instructions of all runs, but for those of the last wait that is helped.
    """
    arriving, meeting = (_steps(machine, names) for names in (_ARRIVING, MEETING))
    left = [frozenset({place}) for place in _waits(machine)]
    made = 0
    while left and made < _MOST and budget > 0:
        places = left.pop(0)
        lengths: set[int] = set()
        executed: set[int] = set()
        lacking: set[Awaited] = set()
        for size in sizes:
            help_ = Help(places)
            ended = run(size, help_)
            made, budget = made + 1, budget - ended.steps
            if help_.suffices(ended):
                lengths.add(ended.steps)
                executed |= ended.coverage.executed
                lacking |= help_.given.keys()
                completing = meeting if any(isinstance(one, OnBarrier) for one in lacking) else arriving
                if len(lengths) >= (_LENGTHS if open_ else 1) and completing <= executed:
                    return lacking
                continue
            if not help_.needless and help_.given and len(places) < _TOGETHER:
                more = [places | {place} for place in _waits(ended) if place not in places]
                left += [one for one in more if one not in left]
            if help_.needless or not lengths:
                break
    return frozenset()


def _steps(machine: Machine, names: Set[str]) -> set[int]:
    """The steps of some kinds, by ``id`` of their operations."""
    return {id(one.operation) for one in machine.program.code if one.effect is not None and one.effect.name in names}


def _waits(machine: Machine) -> Iterator[int]:
    """The places where threads wait for ever at barriers, in order."""
    yield from sorted({one.place for one in machine.thread_sets if one.awaited is not None})


__all__ = ["Help", "unmet"]
