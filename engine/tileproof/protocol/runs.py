"""One run of a kernel: what it was told, what it shows; and what all runs say together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from math import gcd

from tileproof.base.records import dataclass
from tileproof.mlir.ir import Operation
from tileproof.protocol.deciding import rests_on_values
from tileproof.protocol.endings import unfinished
from tileproof.protocol.explore import Decisions
from tileproof.protocol.faults import DEADLOCKS, HANGS, HAZARDS, UNORDERED, ProtocolFault
from tileproof.protocol.folding import Extents
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Program, goes_past, loops_at
from tileproof.protocol.warps import OnBarrier, OnMbarrier


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known of one kernel.

    Attributes:
        doubts: what was not verified, and why: cases of finding PR190.
        steps: the operations that take part in its protocol.
        executed: those of them that were executed in some run, by ``id``.
        trip_counts: loops of unknown length were run with up to so many iterations; None where the verdict holds for
            all numbers of them.
        guessed: those that only runs executed which were told which way to go, and whose roles disagreed.
        exact: whether the findings are those of one run in which nothing was guessed or left out before threads waited
            for ever: what comes behind cannot take them away.
        early: whether the findings are those that threads come to before any leaves a loop: how often loops run takes
            none away, nor does what comes behind.
        told: the steps that only runs executed which were told which way to go, or guessed how often loops run, where
            others were not: nobody may come to them.
        anyway: the hazards that runs with other loaded integers have as well.
        explained: of a kernel in PTX the findings that stand by themselves, by their causes.
    """

    kernel: Operation
    faults: tuple[ProtocolFault, ...]
    doubts: tuple[Doubt, ...]
    steps: tuple[Operation, ...] = ()
    executed: frozenset[int] = frozenset()
    trip_counts: int | None = None
    guessed: frozenset[int] = frozenset()
    exact: bool = False
    early: bool = False
    told: tuple[Operation, ...] = ()
    anyway: tuple[ProtocolFault, ...] = ()
    explained: tuple[ProtocolFault, ...] = ()


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that is not verified: a case of finding PR190, where, and its words.

    Attributes:
        fault: the finding that is in doubt, where there is one.
    """

    case: str
    operation: Operation
    message: str
    hint: str = ""
    fault: ProtocolFault | None = None

    @property
    def assumed(self) -> bool:
        """Whether it is an assumption about the launch, under which all may be verified."""
        return self.case.startswith("assumed_")


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a run was told: it is run again so, of this program or of one with the same control flow."""

    extents: Extents
    turns: int
    tiles: int
    forced: Decisions
    agreed: Decisions
    budget: int | None


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that there was.

    Attributes:
        recipe: what it was told.
        steps: how many instructions it took.
        places: its findings by code and place.
        executed: the steps that it executed, by ``id`` of their operations.
        calm: whether it came to its end without a hazard, and nothing waits for ever.
        certain: whether it came to its end, and nothing in it was guessed, left out or told.
    """

    recipe: Recipe
    steps: int
    places: frozenset[tuple[str, int]]
    executed: frozenset[int]
    calm: bool
    certain: bool


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a kernel, and what it found."""

    machine: Machine
    faults: tuple[ProtocolFault, ...]

    @property
    def calm(self) -> bool:
        """Whether it came to its end without a hazard, and no thread waits for ever or went on without a reason."""
        serious = any(fault.code in HAZARDS or fault.code in DEADLOCKS for fault in self.faults)
        return not serious and self.machine.coverage.complete and not self.machine.taint.released

    @property
    def agreed(self) -> bool:
        """Whether all roles came to its end together, and in step.

        They did where nothing was guessed and no loop passed, or where no mbarrier is in the middle of a phase, and
        each of its phases but the last was waited for.
        """
        if not even(self) or self.machine.coverage.unknown or self.machine.taint.reasons:
            return False
        return (self.certain and not self.passes_loops()) or all(
            one.even and one.phase - one.seen <= 1 and not one.overrun for one in self.machine.barriers.values()
        )

    @property
    def certain(self) -> bool:
        """Whether it came to its end, and nothing in it was guessed or left out."""
        coverage = self.machine.coverage
        left = coverage.guessed or coverage.unknown or coverage.skipped or coverage.cut or coverage.passed_by
        return coverage.complete and not left and not self.machine.taint.reasons

    @property
    def by_text(self) -> bool:
        """Whether the text alone decided which way threads went: with other integers they go the same way."""
        coverage = self.machine.coverage
        return not (coverage.doubtful or coverage.turned or coverage.unknown or coverage.cut or coverage.guessed)

    @property
    def hangs(self) -> bool:
        """Whether threads wait for ever."""
        return any(fault.code in DEADLOCKS for fault in self.faults)

    def stuck(self) -> frozenset[str]:
        """The kinds of its deadlocks."""
        return frozenset(one.code for one in self.faults if one.code in DEADLOCKS)

    def left_loop(self) -> bool:
        """Whether a loop that takes part in the protocol was left, or not entered, by what is supposed or unknown."""
        coverage, code = self.machine.coverage, self.machine.program.code
        return any(loops_at(code, place) for place in coverage.doubtful & coverage.left)

    def passed_loops(self) -> frozenset[int]:
        """The places of such loops that no thread went around, or of a branch past them.

        All left the loop at once, or none went the way of the branch where it is; the other way has no loop, for that
        may be the same work in another form.
        """
        coverage, code = self.machine.coverage, self.machine.program.code

        def passes(place: int) -> bool:
            if code[place].kind != "branch":
                return place in coverage.left and place not in coverage.circled and loops_at(code, place)
            return len(coverage.went[place]) == 1 and self.goes_past(place)

        return frozenset(filter(passes, coverage.doubtful))

    def goes_past(self, place: int) -> bool:
        """Whether threads took a way of a branch that has no such loop where the other way has one."""
        code = self.machine.program.code
        return any(goes_past(code, place, way) for way in self.machine.coverage.went[place])

    def passes_loops(self) -> bool:
        """Whether threads ever went past such a loop by what is supposed: then others may have gone around theirs."""
        return bool(self.machine.coverage.passed)

    def by_data(self) -> bool:
        """Whether only data, of which nothing is known, decided on steps, or on a value that decides on steps."""
        if self.steps_by_data():
            return True
        code, undecided = self.machine.program.code, self.machine.coverage.undecided
        values = {slot for place in undecided for slot in code[place].outputs}
        return bool(values) and rests_on_values(code, list(filter(self._matters, range(len(code)))), values)

    def steps_by_data(self) -> bool:
        """Whether only data, of which nothing is known, decided on steps that others may wait for, or that threads wait
        at."""
        return any(map(self._matters, self.machine.coverage.undecided))

    def _matters(self, place: int) -> bool:
        """Whether it matters to other threads, or to those that wait, which way a branch or a loop is taken."""
        code, enums = self.machine.program.code, self.machine.book.enums
        if code[place].kind not in ("branch", "test", "check"):
            return False
        target = code[place].target
        idle = not any(place < one.place < target for one in self.machine.thread_sets)
        lone, holding = enums["lone_step"].members, enums["holding_step"].members
        names = {f".{one.effect.name}" for one in code[place:target] if one.effect and not one.effect.pure}
        return not names.issubset({*lone, *holding} if idle else lone)

    def places(self) -> frozenset[tuple[str, int]]:
        """The findings by code and place."""
        return frozenset((fault.code, fault.operation.span.start) for fault in self.faults)

    def early(self) -> tuple[ProtocolFault, ...]:
        """Its findings before any thread left or passed a loop by a number that is supposed: longer loops have them.

        Roles that suppose different numbers have done nothing different until then. What threads wait for at the end,
        for ever, others may do that went another way.
        """
        machine = self.machine
        if self.steps_by_data() or machine.taint.reasons or machine.taint.released:
            return ()
        found = machine.faults if machine.prior is None else machine.faults[: machine.prior]
        return tuple(one for one in found if one.code not in HANGS)

    def goes_round(self, operation: Operation) -> bool:
        """Whether the innermost loop around an operation comes back to an mbarrier: threads arrived there again.

        Where it does not, the text has an mbarrier for each turn, and no launch has more turns than that.
        """
        code = self.machine.program.code
        places = [at for at, one in enumerate(code) if one.operation is operation]
        loops = [at for at, one in enumerate(code) if one.kind in ("test", "check") and loops_at(code, at)]
        around = [at for at in loops if any(at < place < code[at].target for place in places)]
        inside = code[around[-1] : code[around[-1]].target] if around else ()
        mine = {id(one.operation) for one in inside}
        barriers = self.machine.barriers.values()
        return any(key[0] in mine and n > 1 for one in barriers for key, n in one.arrivals.items())

    def awaited(self) -> frozenset[object]:
        """What threads wait for, for ever: mbarriers, barriers of threads, or that of the cluster."""
        blocked = [one.blocked for one in self.machine.thread_sets]
        return frozenset(
            one.key if isinstance(one, OnMbarrier) else one.name if isinstance(one, OnBarrier) else "cluster"
            for one in blocked
            if one is not None
        )

    def waits(self) -> frozenset[tuple[int, int, int, int]]:
        """Where threads wait for ever: CTA, first thread, place, and how many phases of the barrier are complete."""
        found = set()
        for thread_set in self.machine.thread_sets:
            wait = thread_set.blocked
            phase = self.machine.barriers[wait.key].phase if isinstance(wait, OnMbarrier) else 0
            found.add((thread_set.cta, thread_set.threads[0], thread_set.place, phase))
        return frozenset(found)


def even(run: Run) -> bool:
    """Whether all roles of a run came to its end together, whatever hazards are in it."""
    wrong = any(fault.code in DEADLOCKS for fault in run.faults) or any(unfinished(run.machine))
    return run.machine.coverage.complete and not run.machine.taint.released and not wrong


def between(turns: int, calm: Set[int]) -> bool:
    """Whether a hang in loops of so many turns says something, by those numbers with which a kernel goes right.

    A caller may never ask for so few turns, or only for multiples of a number; not where what goes right are none. One
    turn may go right as well where only multiples are meant.
    """
    more = [one for one in calm if one > 1]
    return bool(more) and min(calm) < turns < max(calm) and gcd(*more) == 1


def hung_between(turns: int, counted: Callable[[int], Run]) -> bool:
    """The same of runs with fewer turns and with more, which are made as far as it takes."""
    calm: set[int] = set()
    for length in (2, 2 * turns, turns - 2, 3, 2 * turns - 1):  # some leave nothing over of unrolled loops
        calm |= {length} if counted(length).calm else set()
        if between(turns, calm):
            return True
    return False


def rests_on(fault: ProtocolFault, before: frozenset[int], disagreed: bool) -> bool:
    """Whether a finding is one of the steps that only a run executes that was told which way to go.

    Args:
        before: the steps that other runs execute: those that were told nothing, or whose roles agreed.
        disagreed: whether roles of that run waited for each other for ever: then all its steps must be such, and only
            an order that is missing counts.
    """
    if disagreed and fault.code not in UNORDERED:
        return False  # threads that were let go meet others where they never would, or before these did their part
    new = [id(one) not in before for one in (fault.operation, *(place for _, place in fault.trace))]
    return all(new) if disagreed else any(new)


def key_of(fault: ProtocolFault) -> tuple[str, int]:
    return fault.code, fault.operation.span.start


def each_once(faults: Sequence[ProtocolFault]) -> Iterator[ProtocolFault]:
    seen = set()
    for fault in faults:
        key = (fault.code, fault.operation.span)
        if key not in seen:
            seen.add(key)
            yield fault


def steps_of(program: Program) -> Iterator[Operation]:
    """The operations of a program that take part in the protocol, in textual order, each once."""
    seen = set()
    for one in program.code:
        if one.effect is not None and not one.effect.pure and id(one.operation) not in seen:
            seen.add(id(one.operation))
            yield one.operation
