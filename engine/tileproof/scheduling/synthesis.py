"""The search for insertions: enough of them first, then as few, as late and as weak as the verifier allows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import product
from typing import TypeAlias

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass, field, replace
from tileproof.base.source import Source
from tileproof.mlir.ir import Operation
from tileproof.protocol.budget import limit
from tileproof.protocol.counterparts import relevant
from tileproof.protocol.faults import ProtocolFault
from tileproof.protocol.runs import Outcome, Ran
from tileproof.protocol.steps import Step
from tileproof.protocol.study import Study
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import state
from tileproof.scheduling.edits import Edited, Gap, InsertedLine
from tileproof.scheduling.forms import IrForm, TextForm
from tileproof.scheduling.needs import Chosen, Need, merged
from tileproof.scheduling.order import needed
from tileproof.scheduling.placing import place
from tileproof.scheduling.plan import Insertable, Insertion, Plan, insertables
from tileproof.scheduling.trials import Needed, Runs, Trials

_LOOPS = ("scf.for", "scf.while")
_SMALL, _SHORT, _ENDS = 4, 20_000, 16  # fences, characters and choices up to which Z3 is asked for all choices
_PEERS = 64  # accesses by threads of one name
_ROUNDS = 8  # searches, each with one more run of the machine that matters
Found: TypeAlias = "Sequence[tuple[Outcome, Callable[[int], int]]]"
"""What is known of each kernel of a text, and where in the text that was given an offset of that text comes from."""
Key: TypeAlias = "tuple[str, int]"  # the code of a finding and the offset, in the text that was given, where it is


@dataclass(frozen=True, slots=True)
class Left:
    """A finding that no insertion repairs, at a place of the resulting text."""

    code: str
    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True)
class Scheduled:
    """The text with what it lacked; the text as it was where that does not verify.

    Attributes:
        inserted: the lines, counted from 1 in the new text, with the operation of each.
        left: what the verifier finds after all, warnings included; where the text stays as it was, what no insertion
            repairs.
        trials: how many plans were judged.
        verified: whether the verifier follows all kernels to their end and finds no error; there may be warnings, and
            steps that it executed only where roles disagree on what the text leaves open.
        minimal: whether Z3 showed that no other plan from the places that were tried is better.
        complete: whether the search came to its end within its budget.
    """

    source: Source
    inserted: tuple[tuple[int, str], ...]
    left: tuple[Left, ...]
    trials: int
    verified: bool
    minimal: bool
    complete: bool


class Unseen(Exception):
    """It is not known what a step accesses, at an offset of the text, and waits that are missing depend on it."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


class Scheduler:
    """Looks for the insertions of one text."""

    def __init__(
        self,
        book: Rulebook,
        source: Source,
        progress: Callable[[], None] = lambda: None,
        form: TextForm | None = None,
    ) -> None:
        """Read the text.

        Args:
            form: what the text is, where it is not IR.
        """
        self.book = book
        self.source = source
        self.progress = progress
        self.form = form or IrForm(book, source)
        self.points = self.form.points
        self.trials = 0
        self.judged: dict[frozenset[InsertedLine], tuple[Edited, tuple[Outcome, ...]]] = {}
        self.lacking: list[tuple[Plan, frozenset[Key]]] = []  # plans that are not enough, and what is found then
        self.wanted: frozenset[Key] = frozenset()  # those that no insertion repairs
        self.slotted: Trials | None = None  # of the plan that was studied last
        self._stepping: dict[int, Step | None] = {}
        self._producers: dict[int, str] = {}
        self._issuing: dict[tuple[int, str], list[int]] = {}
        self._present: dict[tuple[str, int], bool] = {}

    # -- rule data

    @cached_property
    def bounds(self) -> frozenset[str]:
        return frozenset(name[1:] for (name,) in self.book.shared_table("schedule_boundary").rows)

    def producer(self, operation: Operation) -> str:
        """What issues an operation, a member of ``schedule_producer``."""
        start = operation.span.start
        if start not in self._producers:
            self._producers[start] = self._producer(operation) if self.stepping(operation) else ".threads"
        return self._producers[start]

    def _producer(self, operation: Operation) -> str:
        text = self.form.issuer(operation)
        pieces = self.book.enums["schedule_producer"].by_spelling
        return next((member for piece, member in pieces.items() if piece in text), ".threads")

    def stepping(self, operation: Operation) -> Step | None:
        """What an operation does in the protocol."""
        start = operation.span.start
        if start not in self._stepping:
            self._stepping[start] = self.form.step(operation)
        return self._stepping[start]

    def acts(self, operation: Operation) -> bool:
        """Whether an operation is a step of the protocol that does more than have a result."""
        step = self.stepping(operation)
        return step is not None and not step.pure

    def repairs(self, fault: ProtocolFault, origin: Callable[[int], int]) -> Iterator[tuple[int, Insertable]]:
        """Which operations a finding asks for, and next to which operation; none where no insertion helps."""
        rows, kinds = self.book.shared_table("schedule_repair").rows, insertables(self.book)
        subjects = {".here": fault.operation, ".there": fault.trace[0][1] if fault.trace else None}
        for where, operation in subjects.items():
            if operation is None:
                continue
            mine = self.points.operations.get(origin(operation.span.start))
            if mine is None:
                continue
            issued = self._producer(operation)  # of inline assembly what is in it
            row = rows.get((f".{fault.code}", self.producer(mine) if issued == ".threads" else issued, where))
            if row is not None:
                names = row[0]
                assert isinstance(names, frozenset)
                for name, kind in kinds.items():
                    if name in names:
                        yield mine.span.start, kind

    @cached_property
    def heeded(self) -> frozenset[str]:
        """The findings that matter: errors, and what the rule data repair; other warnings are practice and stay."""
        errors = {code for code, finding in self.book.findings.items() if finding.severity is Severity.ERROR}
        return frozenset(errors | self.book.enums["schedule_finding"].by_spelling.keys())

    # -- the verdict of the verifier

    def judge(self, plan: Sequence[Insertion]) -> tuple[Edited, tuple[Outcome, ...]]:
        """What the verifier says of the text with insertions."""
        lines = frozenset(one.line for one in plan)
        if lines not in self.judged:
            self.trials += 1
            edited = Edited(self.source.text, [one.line for one in plan])
            self.judged[lines] = edited, self.form.outcomes(edited.text)
            self.progress()
        return self.judged[lines]

    def judgement(self, plan: Plan) -> Found:
        """The same by kernels."""
        edited, outcomes = self.judge(plan)
        return [(one, edited.origin) for one in outcomes]

    def studied(self, plan: Plan) -> Found | None:
        """The same of the text with slots, whose study the trials need anyway; None where there is no such study."""
        if not plan:
            return None
        self.slotted = trials = Trials(self.book, self.form, self.acts, self.heeded, plan, self.progress)
        if not trials.possible:
            return None
        self.trials += 1
        self.progress()
        edited, before = self.judge(())
        others = [(one, edited.origin) for one in before if one.kernel.name_span.start not in trials.kernels]
        return [*((one, trials.edited.origin) for one in trials.slotted.outcomes), *others]

    def keys(self, found: Found) -> frozenset[Key]:
        """What matters of what is found."""
        keys = set()
        for outcome, origin in found:
            heeded = (fault for fault in outcome.faults if fault.code in self.heeded)
            keys |= {(fault.code, origin(fault.operation.span.start)) for fault in heeded}
            left = (doubt for doubt in outcome.doubts if not self.form.tolerates(doubt))
            keys |= {(f"unfollowed: {doubt.message}", origin(doubt.operation.span.start)) for doubt in left}
        return frozenset(keys)

    # -- the search

    def run(self) -> Scheduled:
        """Search."""
        start, right = self.enough() if relevant(self.book, self.source.text) else ((), True)
        plan, minimal, complete = start, True, True
        if start and right:
            try:
                plan, minimal, complete = self.relaxed(start)
            except Unseen as unseen:
                left = (
                    Left("PR190", *self.source.position(unseen.offset), state(self.book, "PR190", "accessed").message),
                )
                return Scheduled(self.source, (), left, self.trials, False, False, False)
        edited, outcomes = self.judge(plan)
        verified = all(map(self._passes, outcomes))
        if not verified:
            minimal = complete = False
        if not all(outcome.faults == () for outcome in outcomes):
            outcomes = self.by_causes(edited, verified)
        place = (lambda offset: offset) if verified else edited.origin
        source = Source(self.source.name, edited.text) if verified else self.source
        inserted = _numbered(edited, plan) if verified else ()
        return Scheduled(
            source, inserted, tuple(self.left(source, place, outcomes)), self.trials, verified, minimal, complete
        )

    def _passes(self, outcome: Outcome) -> bool:
        severities = {self.book.findings[fault.code].severity for fault in outcome.faults}
        return all(map(self.form.tolerates, outcome.doubts)) and Severity.ERROR not in severities

    def left(self, source: Source, place: Callable[[int], int], outcomes: Sequence[Outcome]) -> Iterator[Left]:
        """What is left to find, at its places."""
        for outcome in outcomes:
            found = [(fault.code, fault.operation, fault.message) for fault in outcome.faults]
            found += [("PR190", doubt.operation, doubt.message) for doubt in outcome.doubts]
            for code, operation, message in found:
                at = place(operation.name_span.start)
                yield Left(code, *source.position(at if at >= 0 else -at - 1), message)

    def by_causes(self, edited: Edited, verified: bool) -> tuple[Outcome, ...]:
        """What is left to find in a text, each mistake once and where it is to be changed, as ``check`` reports it.

        Args:
            verified: whether the text stands; else places are those of the source.
        """
        source, whole = self.source, Source(self.source.name, edited.text)

        def line(operation: Operation) -> int:
            if verified:
                return whole.position(operation.name_span.start).line
            at = edited.origin(operation.name_span.start)
            return source.position(at if at >= 0 else -at - 1).line

        return self.form.outcomes(edited.text, line)

    def enough(self) -> tuple[Plan, bool]:
        """Insertions after which no finding remains that an insertion repairs: each next to its subject.

        With them, whether nothing is left that keeps the text from being verified.
        """
        plan: dict[tuple[str, int], Insertion] = {}
        by_study = self.form.studied
        while True:
            start, before = tuple(plan.values()), len(plan)
            found = (self.studied(start) if by_study else None) or self.judgement(start)
            for fault, origin in _to_repair(found):
                asked = list(self.repairs(fault, origin))
                for subject, kind in asked:
                    alone = sum(other == subject for other, _ in asked) == 1
                    for other in (subject, *self.peers(subject)):
                        wanted = other == subject and (kind.role != ".commit" or alone)
                        if wanted or kind.role == ".fence" or not self.present(kind, other):
                            for one in self.beside(kind, other):
                                plan.setdefault((kind.name, one.gap.offset), one)
            right, keys = all(self._passes(outcome) for outcome, _ in found), self.keys(found)
            if len(plan) > before or right or not by_study:
                self.lacking.append((start, keys))
            if len(plan) == before and (right or not by_study):
                self.wanted = keys
                return start, right
            by_study &= len(plan) > before  # the budget of a study may end sooner: what is left is what the text has

    def beside(self, kind: Insertable, subject: int) -> Iterator[Insertion]:
        """An operation next to its subject, a wait behind the commit of it; a wait also after each enclosing loop."""
        gap = self.points.beside(self.committed(kind, subject), kind.after)
        if gap is not None:
            yield Insertion(kind, subject, gap)
        if kind.role == ".wait" and kind.most:
            for around in self.points.enclosing(subject):
                if around.name in _LOOPS and (gap := self.points.beside(around.span.start, True)) is not None:
                    yield Insertion(kind, subject, gap)

    def committed(self, kind: Insertable, subject: int) -> int:
        """What a wait for a subject is to follow: the commit that the text has behind it, in its block."""
        name = next((one.custom for one in insertables(self.book).values() if one.commits_for(kind)), None)
        home = self.points.homes[subject]
        for sibling in home.block.operations[home.index + 1 :] if name is not None else ():
            if sibling.name == name:
                return sibling.span.start
            if self.synchronises([sibling]):
                break
        return subject

    def peers(self, subject: int) -> list[int]:
        """The other operations of the kernel that are likely to need the same.

        Those that issue what this one does: groups are counted over all of them. Of accesses by threads those of the
        same name, if they are few: each would be found only when the one before it is fenced.
        """
        operation, kernel = self.points.operations[subject], self.points.kernel_of(subject)
        if kernel is None:
            return []
        issued = self.producer(operation)
        if issued == ".threads":
            step = self.stepping(operation)  # a copy by threads is no copy by the TMA unit
            named = (op for op in kernel.walk() if op.name == operation.name and self.producer(op) == issued)
            alike = [op.span.start for op in named if self.stepping(op) == step]
            return [start for start in alike if start != subject] if len(alike) <= _PEERS else []
        key = (kernel.span.start, issued)
        if key not in self._issuing:
            self._issuing[key] = [op.span.start for op in kernel.walk() if self.producer(op) == issued]
        return [start for start in self._issuing[key] if start != subject]

    def present(self, kind: Insertable, subject: int) -> bool:
        """Whether the text already has such an operation after a subject, before anything synchronizes."""
        key = (kind.name, subject)
        if key not in self._present:
            self._present[key] = self._is_present(kind.custom.partition(" ")[0], subject)
        return self._present[key]

    def _is_present(self, name: str, subject: int) -> bool:
        known = self.named.get(name, [])
        for start in (subject, *(op.span.start for op in self.points.enclosing(subject))):
            home = self.points.homes[start]
            for sibling in home.block.operations[home.index + 1 :]:
                first = bisect_left(known, sibling.span.start)
                if first < len(known) and known[first] < sibling.span.end:
                    return True
                if self.synchronises([sibling]):
                    return False
        return False

    @cached_property
    def named(self) -> dict[str, list[int]]:
        """Where the operations of each name are, in order."""
        found: dict[str, list[int]] = {}
        for top in self.form.operations:
            for operation in top.walk():
                found.setdefault(operation.name, []).append(operation.span.start)
        return {name: sorted(starts) for name, starts in found.items()}

    def synchronises(self, operations: Sequence[Operation]) -> bool:
        """Whether something among operations, or inside them, synchronizes with other threads or operations."""
        return any(self.steps[operation.span.start] for operation in operations)

    @cached_property
    def steps(self) -> dict[int, bool]:
        """Whether each operation, or one inside it, synchronizes: its step is in ``schedule_boundary``."""
        found: dict[int, bool] = {}

        def enter(operation: Operation) -> bool:
            step = self.stepping(operation)
            inner = [enter(op) for region in operation.regions for block in region.blocks for op in block.operations]
            found[operation.span.start] = any(inner) or (step is not None and step.name in self.bounds)
            return found[operation.span.start]

        for operation in self.form.operations:
            enter(operation)
        return found

    # -- the best of what is enough

    def begin(self, trials: Trials) -> None:
        """Choose the runs of trials that matter.

        They show what plans on the way to enough insertions lacked, and come to all that was inserted.
        """
        for lacking, found in self.lacking:
            trials.begin(lacking, found - self.wanted)
        trials.cover()

    def relaxed(self, start: Plan) -> tuple[Plan, bool, bool]:
        """The best plan found; whether it is proved to be the best; whether the search came to its end."""
        trials = self.slotted
        if trials is None or trials.plan != start:
            trials = Trials(self.book, self.form, self.acts, self.heeded, start, self.progress)
        if not trials.possible:
            return start, False, False
        unseen = trials.slotted.unseen({one.kind.queue for one in start if one.waits})
        if unseen is not None:
            raise Unseen(trials.edited.origin(unseen.name_span.start))
        share = trials.whole * limit(self.book, "schedule_share") // 100
        trials.most = min(max(share, limit(self.book, "schedule_steps")), limit(self.book, "schedule_most"))
        self.begin(trials)
        best, fenced = start, start
        minimal = least = False
        search = Relaxation(self, trials, start)
        for again in range(_ROUNDS):
            if not again or not trials.fits(fenced):
                fenced, least = search.fenced()
            plan, minimal = search.best(tuple(one for one in fenced if not one.waits))
            minimal &= least
            if trials.refuted(plan, told=False):  # cheaper than the verdict on the text
                continue
            if self.keys(self.judgement(plan)) <= self.wanted:
                best = plan
                break
            if not trials.refuted(plan):
                break
        self.trials += trials.count
        complete = trials.spent <= trials.most and (best == plan)
        return best, minimal and complete, complete


@dataclass(frozen=True, slots=True)
class Relaxation:
    """One search for the best plan, from one that is enough."""

    scheduler: Scheduler
    trials: Trials
    start: Plan
    values: dict[Plan, tuple[int, ...]] = field(default_factory=dict)

    def best(self, fixed: Plan) -> tuple[Plan, bool]:
        """The best plan with some fences, and whether its waits are proved to be the best."""
        ways = product((False, True), (0, 1))
        starts = dict.fromkeys([*(self.grouped(fixed, turns, conditions) for turns, conditions in ways), fixed])
        found: list[tuple[Plan, bool]] = []
        for one in starts:
            if found and one == fixed:
                break
            waited = self.waited(one)
            if waited is not None:
                found.append(waited)
        if not found:
            return self.fewest((*fixed, *(one for one in self.start if one.waits)), ()), False
        plan, proved = max(found, key=lambda one: self.value(one[0])) if len(found) > 1 else found[0]
        return self.inward(plan), proved and len(found) == 1

    def fenced(self) -> tuple[Plan, bool]:
        """The plan that is enough with the fences that are needed, and whether they are proved to be the fewest."""
        found = self.trials.lacked(tuple(one for one in self.start if one.kind.role != ".fence"))
        for some in (True, False):
            plan, proved = self.start, True
            for kind in dict.fromkeys(one.kind for one in plan if one.kind.role == ".fence"):
                plan, least = self.least(plan, kind, found, some)
                proved &= least
            if self.trials.fits(plan):
                break
        return plan, proved

    def value(self, plan: Plan) -> tuple[int, ...]:
        """How good a plan is: flights, then how often waits and fences are executed, then commits, then the lines."""
        if plan not in self.values:
            flights = self.trials.flights(plan)
            if flights is None:
                return (-1,)
            commits = sum(count for name, count in flights.executed.items() if name.endswith("_commit"))
            others = sum(flights.executed.values()) - commits
            self.values[plan] = (sum(flights.steps.values()), -others, -commits, -len(plan))
        return self.values[plan]

    def outward(self, one: Insertion, turns: bool = False, conditions: int = 0) -> Iterator[Insertion]:
        """An insertion, and the same behind, or before, what is around it as long as nothing synchronizes there.

        Threads count groups each for itself. So a commit that all threads execute, if one does, goes out of conditions
        that each of them decides in its own way. Outside of another one it makes an empty group where that does not
        hold, as in the last turns of a pipelined loop, and waits count on.

        Args:
            turns: whether an iteration of a loop is a group of its own.
            conditions: how many conditions that all threads decide alike a commit goes out of.
        """
        yield one
        points = self.scheduler.points
        for around in points.enclosing(one.subject):
            loop = around.name in _LOOPS
            if self.scheduler.synchronises([around]) or (turns and loop and one.kind.turns):
                return
            if one.commits and not loop:
                alike = around.span.start not in self.trials.uneven
                if not one.kind.turns or (alike and not conditions):
                    return
                conditions -= alike
            gap = points.beside(around.span.start, one.kind.after)
            if gap is not None:
                yield replace(one, gap=gap)

    def grouped(self, fixed: Plan, turns: bool, conditions: int) -> Plan:
        """Fences, and commits behind the outermost loops in which nothing synchronizes."""
        whole = [one for one in fixed if not one.commits or self.alone(one.kind) or not self.splits(one.kind, one.gap)]
        moved = (tuple(self.outward(one, turns, conditions))[-1] if one.commits else one for one in whole)
        return tuple({(one.kind.name, one.gap.offset): one for one in moved}.values())

    def waited(self, fixed: Plan) -> tuple[Plan, bool] | None:
        """A plan with the best waits, and whether they are proved to be; None where no waits are enough."""
        kinds = {one.kind.queue: one.kind for one in self.start if one.waits}
        needs: dict[str, set[Need]] = {queue: set() for queue in kinds}
        chosen: dict[str, Chosen] = {queue: {} for queue in kinds}
        plan, proved, known = fixed, True, -1
        for _ in range(_ROUNDS):
            lacks = self.trials.needed(plan)
            if lacks is None:
                return None
            if lacks.right:
                return self.finished(plan, chosen, lacks, proved)
            needs = {q: held | self.beside_runs(kinds[q], lacks.needs[q]) for q, held in needs.items()}
            before, known = known, sum(map(len, needs.values()))
            if known == before or self.trials.spent > self.trials.most:
                return None
            for queue, kind in kinds.items():
                most = max(kind.most, self.scheduler.form.most) if self.alone(kind) else kind.most
                found = place(queue, self.by_whole_warps(kind, needs[queue]), lacks.timelines[queue], most)
                if found is None:
                    return None
                proved &= found.proved
                chosen[queue] = found.chosen
            plan = (*fixed, *self.waits(chosen))
            if self.trials.fits(plan):  # what the timelines say of commits and slots does not depend on waits
                return self.finished(plan, chosen, lacks, proved)
        return None

    def finished(
        self, plan: Plan, chosen: Mapping[str, Chosen], lacks: Needed, proved: bool
    ) -> tuple[Plan, bool] | None:
        """A plan that lacks nothing, as ``waited`` gives it."""
        plan = self.coarser(plan, chosen, lacks)
        return None if any(one.pending > one.kind.most for one in plan) else (plan, proved)

    def alone(self, kind: Insertable) -> bool:
        """Whether each instruction of a tile may be a group: what it touches is known to the byte."""
        return kind.turns or not self.scheduler.form.most

    def beside_runs(self, kind: Insertable, needs: Set[Need]) -> Set[Need]:
        """Needs without the places between instructions that are issued one after the other, if others are left.

        Where an operation of the text is one of many instructions of a tile, no wait splits the tile.
        """
        if not self.scheduler.form.most:
            return needs
        places = self.trials.places
        return {tuple(one for one in need if not self.splits(kind, places[one[0]])) or need for need in needs}

    def by_whole_warps(self, kind: Insertable, needs: Set[Need]) -> Set[Need]:
        """Needs without the places that some threads of a warp come to without the others, where all wait together."""
        if not self.trials.together(kind):
            return needs
        divided = self.trials.divided
        return {tuple(one for one in need if one[0] not in divided) for need in needs}

    def splits(self, kind: Insertable, gap: Gap) -> bool:
        """Whether the steps before and behind a place issue what a kind commits or waits for."""
        if not self.scheduler.form.most:
            return False
        scheduler = self.scheduler
        operations = scheduler.points.homes[gap.block].block.operations
        behind = next((one for one in operations[gap.index :] if any(map(scheduler.acts, one.walk()))), None)
        before = next((one for one in reversed(operations[: gap.index]) if any(map(scheduler.acts, one.walk()))), None)
        subjects = (scheduler.points.operations[one.subject] for one in self.start if one.kind.queue == kind.queue)
        issued = {scheduler.producer(one) for one in subjects}
        ends = (before, behind)
        return all(one is not None and not one.regions and scheduler.producer(one) in issued for one in ends)

    def waits(self, chosen: Mapping[str, Chosen]) -> Iterator[Insertion]:
        """The waits that were chosen for each queue, by slots."""
        kinds = {one.kind.queue: one.kind for one in self.start if one.waits}
        for queue, held in chosen.items():
            for slot, pending in held.items():
                gap = self.trials.places[slot]
                yield Insertion(kinds[queue], gap.offset, gap, pending)

    def coarser(self, plan: Plan, chosen: Mapping[str, Chosen], lacks: Needed) -> Plan:
        """A plan without commits that no wait needs: what they commit belongs to the next group."""
        gone: set[int] = set()
        left = dict(chosen)
        slots = {i: slot.span.start for i in plan if i.commits and (slot := self.trials.slot(i.gap)) is not None}
        for queue, held in chosen.items():
            commits = [slot for one, slot in slots.items() if one.kind.queue == queue]
            without, left[queue] = merged(held, lacks.timelines[queue], commits)
            gone |= without
        fixed = (one for one in plan if not one.waits and slots.get(one) not in gone)
        tried = (*fixed, *self.waits(left))
        return tried if self.trials.fits(tried) else plan

    def least(
        self, plan: Plan, kind: Insertable, found: Sequence[tuple[Sequence[ProtocolFault], Runs]], some: bool
    ) -> tuple[Plan, bool]:
        """A plan with the fences of a kind that are needed, executed as seldom as may be; whether that is proved.

        Args:
            found: what runs find without any fence.
            some: whether only the cheapest of these runs are asked that together find all that asks for the kind.
        """
        mine = [one for one in plan if one.kind == kind]
        rest = tuple(one for one in plan if one.kind != kind)
        origin = self.trials.edited.origin
        asked: set[tuple[int, Insertable]] = set()
        runs: list[tuple[Study, Ran]] | None = [] if some else None
        for faults, finding in found:
            more = {one for fault in faults for one in self.scheduler.repairs(fault, origin) if one[1] == kind} - asked
            asked |= more
            if runs is not None and more:
                runs += finding
        outermost = [list(self.outward(one))[-1] for one in mine]
        likely = self.between([one for one in outermost if (one.subject, kind) in asked])
        narrow = self.between(outermost)
        wide = {moved.gap.offset: moved for one in mine for moved in self.outward(one)}
        tried = (likely, narrow, tuple(wide.values()))
        small = len(self.scheduler.source.text) <= _SHORT
        if not small and (quick := self.by_needs(kind, tried, rest, runs)) is not None:
            return quick, False
        order = sorted(next((one for one in tried if self.trials.fits((*one, *rest), runs)), mine), key=self.depth)
        ends, proved = None, False
        if len(order) <= _SMALL and small:
            ends = self.all_fewest(order, rest, runs)
            proved = ends is not None
        whole = dict.fromkeys((*one, *rest) for one in ends or [self.fewest(order, rest, runs)])
        return max(whole, key=self.value) if len(whole) > 1 else next(iter(whole)), proved

    def by_needs(self, kind: Insertable, tried: Sequence[Plan], rest: Plan, runs: Runs | None) -> Plan | None:
        """A plan with the proxy fences that are needed, by what each is for; None where that does not tell.

        Args:
            tried: choices of fences, of which the first that is enough is taken.
        """
        trials = self.trials
        if trials.effect(kind).name != "proxy_fence":
            return None
        needs = trials.unfenced(
            rest, tuple({one for some in tried for one in some}), trials.active if runs is None else runs
        )

        def enough(fences: Iterable[Insertion]) -> bool:
            slots = {slot.span.start for one in fences if (slot := trials.slot(one.gap)) is not None}
            return needs is not None and not any(slots.isdisjoint(need) for need in needs)

        order = sorted(next((one for one in tried if enough(one)), ()), key=self.depth)
        kept = needed(range(len(order)), lambda places: enough(order[i] for i in places))
        plan = (*(order[i] for i in kept or ()), *rest)
        return plan if trials.fits(plan, runs) else None

    def between(self, fences: Sequence[Insertion]) -> Plan:
        """Of fences in a block with no synchronization between them the last; the first where they stand before."""
        kept: dict[tuple[int, int], Insertion] = {}
        for one in sorted(fences, key=lambda i: i.gap.offset if i.kind.after else -i.gap.offset):
            operations = self.scheduler.points.homes[one.gap.block].block.operations[: one.gap.index]
            kept[one.gap.block, sum(self.scheduler.synchronises([op]) for op in operations)] = one
        return tuple(kept.values())

    def all_fewest(self, order: Sequence[Insertion], rest: Plan, runs: Runs | None) -> list[Plan] | None:
        """All choices among some fences that are enough and of which none can be removed; None where they are many."""
        from tileproof.evaluate.solver import minimal  # noqa: PLC0415  z3 only where it is asked

        def chosen(held: Sequence[int]) -> Plan:
            return tuple(one for one, power in zip(order, held, strict=True) if power)

        found = minimal([1] * len(order), lambda held: self.trials.fits((*rest, *chosen(held)), runs), _ENDS)
        return [chosen(one) for one in found] if found else None

    def inward(self, plan: Plan) -> Plan:
        """Waits behind a condition under which all is issued that they wait for stand inside it: fewer threads wait."""
        moved = plan
        while (further := tuple(self.inside(one) for one in moved)) != moved:
            moved = further
        return moved if self.seldomer(moved, plan) and self.trials.fits(moved) else plan

    def seldomer(self, plan: Plan, other: Plan) -> bool:
        """Whether fewer warps come to the insertions of a plan than of another one."""
        counts = []
        for one in (plan, other):
            slots = [self.trials.slot(i.gap) for i in one]
            counts.append(sum(self.trials.visited[slot.span.start] for slot in slots if slot is not None))
        return counts[0] < counts[1]

    def inside(self, one: Insertion) -> Insertion:
        """A wait at the end of the condition directly before it, if operations of its queue are issued there."""
        scheduler = self.scheduler
        if not one.waits:
            return one
        operations = scheduler.points.homes[one.gap.block].block.operations[: one.gap.index]
        before = next((op for op in reversed(operations) if any(map(scheduler.acts, op.walk()))), None)
        if before is None or before.name != "scf.if":
            return one
        block = before.regions[0].blocks[0]
        issued = {scheduler.producer(scheduler.points.operations[i.subject]) for i in self.start if i.kind == one.kind}
        if not any(scheduler.producer(inner) in issued for op in block.operations for inner in op.walk()):
            return one
        end = len(block.operations) - (block.operations[-1].name == "scf.yield")
        gap = scheduler.points.gap(block, end)
        return one if gap is None else replace(one, gap=gap)

    def depth(self, one: Insertion) -> tuple[int, int]:
        """A key that sorts insertions from the inside to the outside, and so that the one to keep is the last."""
        homes = self.scheduler.points.homes
        home, count = homes[one.gap.block], 0
        while home.parent is not None and home.parent.span.start in homes:
            home, count = homes[home.parent.span.start], count + 1
        return -count, one.gap.offset if one.kind.after else -one.gap.offset

    def fewest(self, mine: Sequence[Insertion], rest: Plan, runs: Runs | None = None) -> Plan:
        """Those of some insertions that are needed, the first ones removed first.

        Args:
            runs: as of ``Trials.fits``.
        """

        def chosen(places: Iterable[int]) -> Plan:
            return tuple(mine[i] for i in places)

        found = needed(range(len(mine)), lambda places: self.trials.fits((*rest, *chosen(places)), runs))
        return tuple(mine) if found is None else chosen(found)


def _to_repair(found: Found) -> Iterator[tuple[ProtocolFault, Callable[[int], int]]]:
    """What is found, and what is in doubt because it depends on how often loops run: it is wrong for some numbers."""
    for outcome, origin in found:
        yield from ((fault, origin) for fault in outcome.faults)
        yield from ((doubt.fault, origin) for doubt in outcome.doubts if doubt.fault is not None)


def _numbered(edited: Edited, plan: Plan) -> tuple[tuple[int, str], ...]:
    wanted = sorted((one.line for one in plan), key=lambda line: (line.gap.offset, line.rank, line.text))
    found, shift = [], 0
    for line in wanted:
        begin = line.gap.offset + shift
        found.append((edited.text.count("\n", 0, begin) + 1, line.text))
        shift = edited.text.index("\n", begin) + 1 - line.gap.offset
    return tuple(found)


def schedule(
    book: Rulebook, source: Source, progress: Callable[[], None] = lambda: None, form: TextForm | None = None
) -> Scheduled:
    """The text with the fences, commits and waits that it lacks.

    Args:
        progress: called after each run of the verifier.
        form: what the text is, where it is not IR.
    """
    return Scheduler(book, source, progress, form).run()


__all__ = ["Left", "Scheduled", "Scheduler", "schedule"]
