"""What the abstract machine says of a plan, hundreds of times over.

Fences, commits and waits do not change which way a kernel goes. So the kernel is compiled once, with a *slot* between
any two steps; a plan fills slots, and a slot does what the plan inserts there. The study of the strongest plan says
which runs there are. Any other plan is right if none of these runs has a finding that the strongest plan does not have
there. A trial takes only those runs that have told a plan wrong before, the cheapest first, and ends at the first
finding; at first it takes the cheapest runs that together show all that the kernel lacks and come to all that was
inserted. So what a trial says is provisional: the text that comes of it is verified as ``check`` does it, and a run
that finds a fault in it is one of those from then on.

Waiting for more never makes an order of accesses missing. So a plan is wrong if a stronger one is, and right if a
weaker one is; what is known of others is not asked again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from functools import cached_property
from typing import TypeAlias

from tileproof.base.records import dataclass, replace
from tileproof.base.source import Source
from tileproof.mlir.ir import Operation
from tileproof.mlir.scanner import scan
from tileproof.protocol.actions import ACTIONS, Action
from tileproof.protocol.faults import ProtocolFault
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction, Program
from tileproof.protocol.runs import Ran, Run
from tileproof.protocol.steps import Step, effects
from tileproof.protocol.study import Study
from tileproof.protocol.warps import ThreadSet
from tileproof.rulebase.book import Rulebook
from tileproof.scheduling.edits import Gap
from tileproof.scheduling.fences import FenceRecorder
from tileproof.scheduling.forms import FILLED, TextForm
from tileproof.scheduling.needs import Need, Recorder, Timeline
from tileproof.scheduling.order import QUEUES, Flights
from tileproof.scheduling.plan import Insertable, Insertion, Plan, insertables

_DEAR = 20  # a run of more than this share of all runs is left out where others show what it does
Runs: TypeAlias = "Sequence[tuple[Study, Ran]]"


class Trials:
    """The slots of a text, and the runs of its kernels.

    Attributes:
        count: how many plans were tried on the machine.
        spent: the instructions that trials took.
        most: how many they may take; then each plan is told wrong.
        uneven: the conditions that threads decide each in its own way, or may decide so.
        divided: the slots that some threads of a warp come to without the others.
        visited: how often warps came to each slot, in runs that showed what waits are for.
        plan: the strongest one.
        strongest: the slots that the strongest plan fills, by ``id``.
        possible: whether there is a slot for all of the strongest plan; else there are no runs.
    """

    def __init__(
        self,
        book: Rulebook,
        form: TextForm,
        acts: Callable[[Operation], bool],
        heeded: Set[str],
        strongest: Plan,
        progress: Callable[[], None] = lambda: None,
    ) -> None:
        """Compile the kernels that a plan is for, and run them with it.

        Args:
            acts: whether an operation is a step of the protocol.
            heeded: the codes of findings that matter.
        """
        self.book = book
        self.form = form
        self.plan = strongest
        self.points = form.points
        self.heeded = heeded
        self.progress = progress
        self.count = 0
        self.spent = 0
        self.most = 0
        self.filled: dict[int, list[Instruction]] = {}
        self.planned: dict[int, list[Insertion]] = {}
        self.right: list[tuple[Strengths, Set[int]]] = []  # with the runs, by ``id``, that find nothing
        self.wrong: list[Strengths] = []
        self.step = effects(book, {})
        self.operations: dict[tuple[str, int], Operation] = {}
        self.effects: dict[str, Step] = {}
        self._recorded: dict[tuple[Plan, int], tuple[Recorder, bool]] = {}
        self._compiled: dict[int, Program] = {}
        self._programs: dict[int, Program] = {}
        gaps = self._gaps(acts, strongest)
        self.bounds = {block: sorted(one.index for one in found) for block, found in gaps.items()}
        ordered = sorted((gap for found in gaps.values() for gap in found), key=lambda gap: gap.offset)
        self.slotted = form.slotted(ordered)
        edited = self.slotted.edited
        self._slots = list(zip(self.slotted.slots, ordered, strict=True))
        self.slots = {(gap.block, gap.index): op for op, gap in self._slots}
        self.edited = edited
        self.runs: list[tuple[Study, Ran]] = []
        self.active: list[tuple[Study, Ran]] = []
        self.uneven: set[int] = set()
        self.divided: set[int] = set()
        self.visited: Counter[int] = Counter()
        self.possible = self.fill(strongest)
        self.strongest = [id(op) for op, _ in self._slots if op.span.start in self.filled]
        registers = any(one.kind.queue == "wgmma" for one in strongest)
        self.known = {(one.code, one.operation.span.start) for one in self.lacking()}
        actions = self.actions(ACTIONS)
        found = self.slotted.studies(actions, self.concerned, registers, self._without_slots) if self.possible else ()
        for study in found:
            self.runs += [(study, ran) for ran in study.ran]
            code = study.compiled.code
            uneven = (code[place].operation.span.start for place in study.reached.uneven)
            self.uneven |= {edited.origin(start) for start in uneven}
        self.whole = sum(ran.steps for _, ran in self.runs)
        self.runs.sort(key=lambda one: one[1].steps)

    def _gaps(self, acts: Callable[[Operation], bool], plan: Plan) -> dict[int, list[Gap]]:
        """The last place before each step, or operation that holds steps, and at the end of each block with steps."""
        kernels = {id(one): one for i in plan if (one := self.points.kernel_of(i.subject)) is not None}
        found: dict[int, list[Gap]] = {}

        def enter(operation: Operation) -> bool:
            result = acts(operation) or self.form.touches(operation)
            for region in operation.regions:
                for block in region.blocks:
                    held = [i for i, op in enumerate(block.operations) if enter(op)]
                    if not held:
                        continue
                    result = True
                    end = len(block.operations)  # before the terminator, if there is one
                    wanted = [*held, end if held[-1] == end - 1 else end - 1]
                    gaps = (self.points.gap(block, index) for index in wanted)
                    found[block.operations[0].span.start] = [gap for gap in gaps if gap is not None]
            return result

        for kernel in kernels.values():
            enter(kernel)
        self.kernels = {op.name_span.start for op in kernels.values()}
        return found

    def concerned(self, kernel: Operation) -> bool:
        """Whether a plan inserts something into a kernel of the text with slots."""
        return self.edited.origin(kernel.name_span.start) in self.kernels

    def actions(
        self, table: Mapping[str, Action], recorder: Recorder | FenceRecorder | None = None
    ) -> dict[str, Action]:
        """Actions of the machine, with that of a slot."""

        def slot(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
            start = instruction.operation.span.start
            waits = any(one.effect and one.effect.name in machine.gathering for one in self.filled.get(start, ()))
            if waits and not machine.gathers(thread_set):
                return -1
            for one in self.filled.get(start, ()):
                assert one.effect is not None
                table[one.effect.name](machine, thread_set, one)
            if recorder is not None:
                recorder.visit(machine, thread_set, start)
            return thread_set.place + 1

        return {**table, "slot": slot}

    def _without_slots(self, compiled: Program) -> Program:
        """A program that passes by the slots that are not filled: its places are those of the program with slots."""
        self._compiled[id(compiled.kernel)] = compiled
        return _passing(compiled, self.filled)

    def again(
        self,
        study: Study,
        ran: Ran,
        ends: Callable[[str, int], bool] | None = None,
    ) -> Run:
        """A run with what fills the slots now."""
        kernel = id(study.kernel)
        if kernel not in self._programs:
            self._programs[kernel] = self._without_slots(self._compiled[kernel])
        done = study.again(ran.recipe, ends, program=self._programs[kernel])
        self.spent += done.machine.steps
        return done

    def slot(self, gap: Gap) -> Operation | None:
        """The slot that a place is at: no step is between them."""
        bounds = self.bounds.get(gap.block, [])
        at = bisect_left(bounds, gap.index)
        return self.slots.get((gap.block, bounds[at])) if at < len(bounds) else None

    def fill(self, plan: Plan) -> bool:
        """Let the slots do what a plan inserts; whether there is a slot for all of it.

        What all threads of a warp execute together is in no slot that only some of them come to.
        """
        self.filled, self.planned = {}, {}
        self._programs.clear()
        for one in sorted(plan, key=lambda i: (i.gap.offset, i.kind.rank)):
            slot = self.slot(one.gap)
            if slot is None or (self.together(one.kind) and slot.span.start in self.divided):
                return False
            self.filled.setdefault(slot.span.start, []).append(self.instruction(one, slot))
            self.planned.setdefault(slot.span.start, []).append(one)
        return True

    def together(self, kind: Insertable) -> bool:
        """Whether all threads of a warp execute an operation together."""
        return f".{self.effect(kind).name}" in self.book.enums["together_step"].members

    def instruction(self, one: Insertion, slot: Operation) -> Instruction:
        """What an insertion does, at the place of a slot."""
        operation = replace(self.operation(one.kind, one.pending), span=slot.span, name_span=slot.name_span)
        return Instruction("effect", operation, effect=self.effect(one.kind))

    def operation(self, kind: Insertable, pending: int) -> Operation:
        """An operation as it is inserted."""
        known = (kind.name, pending)
        if known not in self.operations:
            text = kind.text("custom", pending) + "\n"
            self.operations[known] = scan(Source("", text)).module.operations[0]
        return self.operations[known]

    def effect(self, kind: Insertable) -> Step:
        """What an insertion does in the protocol."""
        if kind.name not in self.effects:
            step = self.step(self.operation(kind, 0), ())
            assert isinstance(step, Step)
            self.effects[kind.name] = step
        return self.effects[kind.name]

    # -- verdicts

    def fits(self, plan: Plan, runs: Runs | None = None) -> bool:
        """Whether no run that matters finds more than it finds of the strongest plan.

        Args:
            runs: only these of them; that some find nothing is not yet an answer for all.
        """
        strengths = Strengths.of(plan)
        asked = self.active if runs is None else runs
        ids = {id(ran) for _, ran in asked}
        if any(ids <= told and one.weaker(strengths) for one, told in self.right):
            return True
        if any(strengths.weaker(one) for one in self.wrong) or self.spent > self.most or not self.fill(plan):
            return False
        self.count += 1
        self.progress()
        fine = not any(self.fails(study, ran) for study, ran in asked) and not self.lacks()
        if fine:
            self.right.append((strengths, ids))
        else:
            self.wrong.append(strengths)
        return fine

    def fails(self, study: Study, ran: Ran) -> bool:
        """Whether a run has a finding that matters and that it does not have with the strongest plan."""
        found = False

        def ends(code: str, place: int) -> bool:
            nonlocal found
            found |= code in self.heeded and (code, place) not in ran.places
            return found

        self.again(study, ran, ends)
        return found

    def lacking(self) -> Sequence[ProtocolFault]:
        """What is wrong with the filled slots that no run shows, and that matters."""
        return [one for one in self.slotted.lacking(self.planned) if one.code in self.heeded]

    def lacks(self) -> bool:
        """Whether more of that is wrong than with the strongest plan."""
        return any((one.code, one.operation.span.start) not in self.known for one in self.lacking())

    def begin(self, lacking: Plan, wanted: Set[tuple[str, int]]) -> None:
        """Add to the runs that matter the cheapest that show what a plan lacks.

        Args:
            wanted: the findings of that plan, by code and the place in the text without slots.
        """
        if not self.fill(lacking):
            return
        left = set(wanted)
        seen = {(one.code, self.edited.origin(one.operation.span.start)) for one in self.lacking()}
        left -= seen
        known = {id(ran) for _, ran in self.active}
        shows: dict[int, Set[tuple[str, int]]] = {}
        for study, ran in sorted(self.runs, key=lambda each: (id(each[1]) not in known, each[1].steps)):
            if not left:
                break
            done = self.again(study, ran)
            shown = {(code, self.edited.origin(place)) for code, place in done.places() - ran.places}
            if left & shown and id(ran) not in known:
                self.active.append((study, ran))
            shows[id(ran)] = wanted & shown
            left -= shown
        for one in [each for each in self.active if id(each[1]) in shows.keys() - known]:
            rest = [shows[id(ran)] for _, ran in self.active if ran is not one[1] and id(ran) in shows]
            if one[1].steps * _DEAR > self.whole and shows[id(one[1])] <= set[tuple[str, int]]().union(*rest):
                self.active.remove(one)
        if seen and not self.active:
            self.active += self.runs[:1]  # it says where threads come by
        self.active.sort(key=lambda each: each[1].steps)

    def cover(self) -> None:
        """Add to the runs that matter the cheapest that come to slots of the strongest plan to which none comes."""
        left = set(self.strongest)
        for _, ran in self.active:
            left -= ran.executed
        for one in self.runs:
            if one[1].executed & left:
                self.active.append(one)
                left -= one[1].executed
        self.active.sort(key=lambda each: each[1].steps)

    def refuted(self, plan: Plan, told: bool = True) -> bool:
        """Find a run that tells a plan wrong, which matters from then on; whether there is one.

        Args:
            told: whether runs count that were told which way to go: what they find may rest on that.
        """
        if not self.fill(plan):
            return False
        for one in self.runs:
            if (told or not one[1].recipe.forced) and one not in self.active and self.fails(*one):
                self.active.append(one)
                self.active.sort(key=lambda each: each[1].steps)
                self.wrong.append(Strengths.of(plan))
                return True
        return False

    def flights(self, plan: Plan) -> Flights | None:
        """How long operations are in flight, and what is executed, in the longest run of each study.

        None where there is no slot for all of the plan.
        """
        if not self.fill(plan):
            return None
        whole = Flights()
        longest = {id(study): (study, ran) for study, ran in self.runs if not ran.recipe.forced}
        for study, ran in longest.values():
            usual, study.actions = study.actions, self.actions(whole.actions)
            self.again(study, ran)
            study.actions = usual
        return whole

    def needed(self, plan: Plan) -> Needed | None:
        """What a plan lacks, as the runs that matter show it; timelines are those of the longest runs.

        None where there is no slot for all of the plan.
        """
        if not self.fill(plan):
            return None
        self.count += 1
        self.progress()
        needs: dict[str, set[Need]] = {queue: set() for queue in QUEUES}
        for queue, more in self.slotted.needed(self.planned).items():
            needs[queue] |= more
        timelines: dict[str, list[Timeline]] = {queue: [] for queue in QUEUES}
        right = not self.lacks()
        longest = max((ran.steps for _, ran in self.active), default=0)
        for study, ran in self.active:
            key = plan, id(ran)
            if key not in self._recorded:
                self._recorded[key] = self.recorded(study, ran)
            recorder, fine = self._recorded[key]
            right &= fine
            for queue in QUEUES:
                needs[queue] |= recorder.needs[queue]
            if ran.steps == longest:
                for (queue, _, _), held in recorder.timelines.items():
                    timelines[queue].append(held)
        return Needed(needs, timelines, right)

    def recorded(self, study: Study, ran: Ran) -> tuple[Recorder, bool]:
        """What a run shows of the filled slots that waits would repair, and whether it finds nothing."""
        recorder = Recorder({one.queue for one in insertables(self.book).values() if self.together(one)})
        usual, study.actions = study.actions, self.actions(recorder.watched(ACTIONS), recorder)
        done = study.again(ran.recipe, missed=recorder.missed, program=self._compiled[id(study.kernel)])
        study.actions = usual
        self.divided |= recorder.divided
        self.visited += recorder.visited
        self.spent += done.machine.steps
        return recorder, not any(code in self.heeded for code, _ in done.places() - ran.places)

    def lacked(self, plan: Plan) -> list[tuple[Sequence[ProtocolFault], Runs]]:
        """All that is found of a plan, each time that it happens, by what each run that matters finds.

        Places are those with slots. Nothing where there is no slot for all of the plan.
        """
        if not self.fill(plan):
            return []
        self.count += 1
        self.progress()
        found: list[tuple[Sequence[ProtocolFault], Runs]] = [(self.lacking(), ())]
        found += [(self.again(study, ran).machine.faults, ((study, ran),)) for study, ran in self.active]
        return found

    def unfenced(self, plan: Plan, fences: Plan, runs: Runs) -> set[frozenset[int]] | None:
        """What a plan without proxy fences needs of some: sets of slots, of each of which one must have a fence.

        None where there is no slot for all of the plan.
        """
        if not self.fill(plan):
            return None
        self.count += 1
        self.progress()
        slots = {slot.span.start for one in fences if (slot := self.slot(one.gap)) is not None}
        recorder = FenceRecorder()
        for study, ran in runs:
            program = _passing(self._compiled[id(study.kernel)], self.filled.keys() | slots)
            usual, study.actions = study.actions, self.actions(ACTIONS, recorder)
            done = study.again(ran.recipe, unseen=recorder.unseen, program=program)
            study.actions = usual
            self.spent += done.machine.steps
        return recorder.needs

    @cached_property
    def places(self) -> dict[int, Gap]:
        """The place of each slot."""
        return {op.span.start: gap for op, gap in self._slots}


def _passing(program: Program, filled: Collection[int]) -> Program:
    """A program that passes by its slots, apart from some, by where they are."""
    code = [
        Instruction("jump", one.operation, target=place + 1)
        if one.effect is FILLED and one.operation.span.start not in filled
        else one
        for place, one in enumerate(program.code)
    ]
    return replace(program, code=code)


@dataclass(frozen=True, slots=True)
class Needed:
    """What a plan lacks.

    Attributes:
        needs, timelines: by queue.
        right: whether it lacks nothing.
    """

    needs: Mapping[str, Set[Need]]
    timelines: Mapping[str, Sequence[Timeline]]
    right: bool


class Strengths:
    """How strong each operation of a plan is, by kind and place, and which commits make the groups."""

    __slots__ = ("commits", "held")

    def __init__(self, commits: frozenset[tuple[str, int]], held: Mapping[tuple[str, int], int]) -> None:
        self.commits = commits
        self.held = held

    @classmethod
    def of(cls, plan: Iterable[Insertion]) -> Strengths:
        commits = frozenset((one.kind.name, one.gap.offset) for one in plan if one.commits)
        held = {(one.kind.name, one.gap.offset): one.kind.most + 1 - one.pending for one in plan if not one.commits}
        return cls(commits, held)

    def weaker(self, other: Strengths) -> bool:
        """Whether nothing of it is stronger than what the other has at that place."""
        return self.commits == other.commits and all(
            power <= other.held.get(place, 0) for place, power in self.held.items()
        )


__all__ = ["Runs", "Strengths", "Trials"]
