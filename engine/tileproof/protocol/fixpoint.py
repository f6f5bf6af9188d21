"""When loops of unknown length behave alike from some number of iterations on.

A run supposes that its loops have n iterations. Take its state between two rounds of the scheduler (at the head of a
loop where all threads have one role): where each thread set is, the values that its loops carry, the barriers with
their phase parity, pending counts and bytes, the groups in flight, what is in memory, and for each access who is
ordered after it. Of moments only their order counts. Let the state come again d iterations later, in all roles
together, but for *counters*: integers that decide nothing except how often loops go round. From the second state on, a
run of n + d iterations then does what the run of n does from the first state on: as many iterations are left in either.
So when all numbers of iterations below the one at which the state came again were run, and d more, every larger number
does what one of these did.

A counter enters conditions only by sums, differences and comparisons, and is compared with no constant that it has not
passed. No barrier, address in shared memory, parity, count or number of bytes is computed from it. Where that does not
hold, or no state comes again, nothing is concluded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeAlias

from tileproof.base.records import dataclass, field
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction, Program
from tileproof.protocol.state import acquired, come_past
from tileproof.protocol.values import Lanes, Supposed, Value
from tileproof.protocol.vector_clock import Agent, Clock
from tileproof.protocol.warps import Queue, ThreadSet

_LINEAR = {"addi", "subi", "cmpi", "icmp", "add", "sub", "select", "minsi", "maxsi"}
_CASTS = {"extui", "extsi", "trunci", "index_cast", "index_castui", "zext", "sext", "trunc"}
_TUPLES = {"cute.make_int_tuple", "cute.make_coord", "cute.get_scalars", "cute.get_leaves", "cute.to_int_tuple"}
_COMPARISONS = {"arith.cmpi", "llvm.icmp"}

Ranks: TypeAlias = "Callable[[Clock], Hashable]"


@dataclass(frozen=True, slots=True)
class Period:
    """A state that came again.

    Attributes:
        reached: iterations of the loops when it did.
        length: iterations between the two states.
    """

    reached: int
    length: int


@dataclass(slots=True)
class Watch:
    """Looks at a machine now and then, and finds a state that comes again.

    Attributes:
        most: how many states it looks at.
        found: the first period, where there is one.
    """

    program: Program
    most: int
    found: Period | None = None
    states: dict[Hashable, tuple[int | None, ...]] = field(default_factory=dict)
    slots: tuple[int, ...] = ()
    counters: frozenset[int] = frozenset()

    def __call__(self, machine: Machine) -> None:
        """Look at a machine."""
        if self.found is not None or len(self.states) >= self.most:
            return
        if not self.slots:
            self.slots = tuple(_carried(self.program.code))
            self.counters = frozenset(self.slots) - _sensitive(self.program.code)
        rigid, counts = self.state(machine)
        before = self.states.setdefault(rigid, counts)
        if before is not counts:
            self.found = self.period(machine, before, counts)

    def state(self, machine: Machine) -> tuple[Hashable, tuple[int | None, ...]]:
        """What must come again, and the counters."""
        moments = _moments(machine)

        def known(clock: Clock) -> Hashable:
            return tuple(
                frozenset(
                    (agent, rank)
                    for agent, moment in half.items()
                    if agent in moments and (rank := bisect_right(moments[agent], moment))
                )
                for half in (clock.known, clock.fenced)
            )

        every = sorted({moment for one in moments.values() for moment in one})
        counts: list[int | None] = []
        rigid = (
            tuple(self.thread_set(machine, one, known, counts) for one in machine.thread_sets),
            tuple(
                (
                    key,
                    one.count,
                    one.pending,
                    one.bytes,
                    one.unsized_copies > 0,
                    one.phase & 1,
                    one.published or machine.releases.next(key[0], one.initialised.moment) is None,
                    one.published,
                    frozenset(one.passed),
                    known(one.gathered),
                    known(one.done),
                )
                for key, one in sorted(machine.barriers.items())
            ),
            tuple(
                (
                    key,
                    *(
                        (a.low, a.high, a.agents, a.kind, a.writes, id(a.operation), a.shape, a.vague, a.lanes)
                        for a in log.accesses
                    ),
                )
                for key, log in sorted(machine.accesses.items())
            ),
            tuple(sorted((event, bisect_right(every, moment)) for event, moment in machine.marks.items())),
            frozenset(bisect_right(every, when) for when, _ in _wide_releases(machine)),
            tuple(sorted((cta, bisect_right(every, when)) for cta, (when, _) in machine.releases.cta_scope.items())),
            tuple((warp, known(clock)) for warp, clock in sorted(machine.releases.fenced.items())),
            tuple(
                (name, len(there), tuple(known(one.clock) for one in there))
                for name, there in sorted(machine.named.waiting.items(), key=str)
            ),
            tuple(
                (name, one.wanted, tuple(sorted(one.warps)), self.ordered(machine, name[0], one.complete))
                for name, one in sorted(machine.named.uses.items(), key=str)
            ),
            (
                machine.cluster.threads,
                machine.cluster.used,
                known(machine.cluster.gathered),
                known(machine.cluster.done),
            ),
            tuple(sorted((cta, len(held)) for cta, held in machine.tensor.allocated.items())),
            tuple(sorted(map(str, machine.tensor.writes))),
            tuple(sorted((str(place), one.offset, one.lane) for place, one in machine.tensor.addresses.items())),
            tuple((key, tuple(sorted(held.items()))) for key, held in sorted(machine.mailboxes.items())),
            tuple(sorted(machine.granted.items())),
            len(machine.taint.reasons),
            tuple((warp, frozenset(stores)) for warp, stores in sorted(machine.lanes.stored.items())),
            _maps(machine, every),
        )
        return rigid, tuple(counts)

    @staticmethod
    def ordered(machine: Machine, cta: int, moment: int | None) -> Hashable:
        """Which thread sets are ordered after a moment at which a named barrier was complete."""
        if moment is None:
            return None
        return tuple(
            tuple(warp for (*home, warp), known in one.clock.known.items() if home == [cta] and known > moment)
            for one in machine.thread_sets
        )

    def thread_set(self, machine: Machine, one: ThreadSet, known: Ranks, counts: list[int | None]) -> Hashable:
        """What must come again of a thread set; its counters are added to ``counts``."""
        held: list[Hashable] = []
        for slot in self.slots:
            value = _of(one, slot)
            if slot in self.counters and isinstance(value, int):
                counts.append(int(value))
            else:
                held.append(value)
        arrived = one.values[0]
        return (
            (one.cta, one.threads, one.place, one.blocked, one.parked, one.passed, one.fenced, id(one.arrived)),
            tuple(sorted(one.touched)),
            tuple((kind, _queue(queue)) for kind, queue in sorted(one.queues.items())),
            known(one.clock),
            known(Clock(one.own)),
            machine.cluster.phase - arrived if isinstance(arrived, int) else None,
            tuple(held),
        )

    def period(self, machine: Machine, before: Sequence[int | None], after: Sequence[int | None]) -> Period | None:
        """The period between two states, if what differs is a counter of iterations everywhere."""
        steps = [0 if a is None or b is None else abs(b - a) for a, b in zip(before, after, strict=True)]
        moved = {slot for slot, step in zip(self.slots_of(machine), steps, strict=True) if step}
        decisive = _deciding(self.program.code, moved)
        if decisive is None:
            return None
        lengths = {step for slot, step in zip(self.slots_of(machine), steps, strict=True) if step and slot in decisive}
        reached = [
            abs(b)
            for slot, b in zip(self.slots_of(machine), after, strict=True)
            if b is not None and slot in decisive & moved
        ]
        if len(lengths) != 1 or not self.passed(machine, decisive, min(reached)):
            return None
        turns = max(max(one.turns.values(), default=0) for one in machine.thread_sets)
        return Period(max(turns, *reached), lengths.pop())

    def slots_of(self, machine: Machine) -> list[int]:
        """The slots of the counters, as ``state`` lists them."""
        return [
            slot
            for one in machine.thread_sets
            for slot in self.slots
            if slot in self.counters and isinstance(_of(one, slot), int)
        ]

    def passed(self, machine: Machine, decisive: set[int], reached: int) -> bool:
        """Whether the counters have passed every constant that they are compared with."""
        for one in self.program.code:
            if one.operation.name not in _COMPARISONS or decisive.isdisjoint(one.inputs):
                continue
            for thread_set in machine.thread_sets:
                for slot in one.inputs:
                    value = thread_set.values[slot]
                    constant = slot not in decisive and isinstance(value, int) and not isinstance(value, Supposed)
                    if constant and abs(value) > reached:  # type: ignore[arg-type]
                        return False
        return True


def _moments(machine: Machine) -> dict[Agent, list[int]]:
    """The moments of each agent that what is still to come may ask about, in order."""
    found: dict[Agent, list[int]] = {}

    def asked(moment: int, agents: Iterable[Agent]) -> None:
        for agent in agents:
            found.setdefault(agent, []).append(moment)

    for log in machine.accesses.values():
        for access in log.accesses:
            asked(access.moment, access.agents)
    for moment, agents in _wide_releases(machine):
        asked(moment, agents)
    for barrier in machine.barriers.values():
        for warp, (moment, _) in barrier.passed.items():
            asked(moment, come_past(warp))
    for (cta, key), write in machine.maps.writes.items():
        asked(write.moment, (acquired(cta, key), *((cta, warp) for warp in write.warps)))
        if write.released is not None:
            warps, moment = write.released
            asked(moment, ((cta, warp) for warp in warps))
    for uses in machine.maps.uses.values():
        for use in uses.values():
            for agent, moment in use.ends:
                asked(moment, (agent,))
    for one in found.values():
        one.sort()
    return found


def _wide_releases(machine: Machine) -> Iterator[tuple[int, tuple[Agent, ...]]]:
    """The first release of cluster scope behind each access, where others have less: when, and for whom it counts."""
    for log in machine.accesses.values() if machine.releases.cta_scope else ():
        for access in log.accesses:
            home = access.agents[0][-2] if access.agents else None
            moment = machine.releases.next(home, access.moment) if isinstance(home, int) else None
            if moment is not None:
                yield moment, access.agents


def _maps(machine: Machine, every: Sequence[int]) -> Hashable:
    """What is known of tensor maps that the kernel modifies; of moments their order."""
    maps = machine.maps
    return (
        tuple(
            (place, write.warps, write.released is None, id(write.operation), bisect_right(every, write.moment))
            for place, write in sorted(maps.writes.items())
        ),
        tuple((place, frozenset(uses)) for place, uses in sorted(maps.uses.items())),
        tuple(
            (warp, frozenset(bisect_right(every, moment) for moment in moments))
            for warp, moments in sorted(maps.commits.items())
        ),
        tuple((cta, frozenset(stored)) for cta, stored in sorted(maps.stored.items())),
    )


def _of(thread_set: ThreadSet, slot: int) -> Value:
    """What the threads of a thread set have in a slot: one integer where they all have the same."""
    value = thread_set.values[slot]
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    return value.on(thread_set.threads) if isinstance(value, Lanes) else value


def _queue(queue: Queue) -> Hashable:
    groups = [*queue.committed, queue.open]
    return tuple((tuple(map(id, group.operations)), tuple(sorted(group.registers))) for group in groups)


def _carried(code: Sequence[Instruction]) -> Iterable[int]:
    """The slots that may differ from iteration to iteration: all else is computed from them anew."""
    found: set[int] = set()
    for one in code:
        if one.kind in ("move", "meet", "enter", "effect") or (one.kind == "jump" and one.other):
            found.update(one.outputs)
    return sorted(found)


def _sensitive(code: Sequence[Instruction]) -> set[int]:
    """The slots from which barriers, addresses, parities, counts and bytes are computed."""
    found: set[int] = set()
    for one in code:
        if one.kind == "effect":
            types = one.types or ("",) * len(one.inputs)
            found.update(
                slot
                for slot, text in zip(one.inputs, types, strict=False)
                if "gmem" not in text and "arith_tuple" not in text and "coord_tensor" not in text
            )
    return _backwards(code, found)


def _backwards(code: Sequence[Instruction], found: set[int]) -> set[int]:
    """These slots and all from which they are computed."""
    before = -1
    while before != len(found):
        before = len(found)
        for one in reversed(code):
            if one.kind == "move":
                found.update(source for to, source in zip(one.outputs, one.inputs, strict=True) if to in found)
            elif one.kind in ("compute", "effect") and not found.isdisjoint(one.outputs):
                found.update(one.inputs)
            elif one.kind == "jump" and one.other and one.outputs[0] in found:
                found.add(one.inputs[2])
    return found - {0}


def _deciding(code: Sequence[Instruction], moved: set[int]) -> set[int] | None:
    """The slots that are computed from counters that moved and that decide something; None where not by sums alone."""
    decided: set[int] = set()
    for one in code:
        if one.kind in ("branch", "check"):
            decided.update(one.inputs)
        elif one.kind == "test":
            decided.update((*one.inputs, *one.outputs))
    decided = _backwards(code, decided)
    derived, before = set(moved), -1
    while before != len(derived):
        before = len(derived)
        for one in code:
            if one.kind == "move":
                derived.update(to for to, source in zip(one.outputs, one.inputs, strict=True) if source in derived)
            elif (
                one.kind == "compute" and one.operation.name not in _COMPARISONS and not derived.isdisjoint(one.inputs)
            ):
                derived.update(one.outputs)  # what a comparison says is the same in every period
    for one in code:
        if one.kind == "compute" and not derived.isdisjoint(one.inputs) and not decided.isdisjoint(one.outputs):
            name = one.operation.name
            short = name.partition(".")[2]
            if name not in _TUPLES and short not in _LINEAR and short not in _CASTS:
                return None
    return derived & decided


__all__ = ["Period", "Watch"]
