"""The search for insertions: enough of them first, then as few and as weak as the verifier allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property
from itertools import takewhile

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.base.source import Source
from tileproof.dialects.operands import resolve
from tileproof.mlir.ir import Operation
from tileproof.mlir.scanner import scan
from tileproof.protocol.counterparts import relevant
from tileproof.protocol.faults import ProtocolFault
from tileproof.protocol.steps import Step, effects
from tileproof.protocol.study import Outcome
from tileproof.protocol.verify import KERNELS, verify
from tileproof.rulebase.book import Rulebook
from tileproof.scheduling.edits import Edited, Gap, InsertedLine, InsertionPoints
from tileproof.scheduling.overlap import Flights, needed

_LOOPS = ("scf.for", "scf.while")
_SECONDS = 2.0  # for one proposal of Z3
ROLES = frozenset({".fence", ".commit", ".wait"})  # the members of the enum `schedule_role` that a plan knows
_TRIALS = 40  # runs of the verifier that look for better places of the waits of one queue
_SMALL, _SHORT = 10, 20_000  # places, and characters of the text, up to which Z3 is asked whether a plan is minimal


@dataclass(frozen=True, slots=True)
class Insertable:
    """An operation that can be inserted: a row of the table ``schedule``.

    Attributes:
        role: ``.fence``, ``.commit`` or ``.wait``.
        most: the groups that a wait may leave in flight.
        tries: whether an iteration of a loop may be a group of its own.
        rank: its place in the table, which is the order of operations at one place.
    """

    name: str
    role: str
    after: bool
    tries: bool
    most: int
    custom: str
    generic: str
    rank: int


@dataclass(frozen=True, slots=True)
class Insertion:
    """One operation to insert.

    Attributes:
        subject: the offset of the operation that it is about.
        pending: the groups that a wait leaves in flight.
        drain: whether it waits after a loop for what the last iterations left in flight.
    """

    kind: Insertable
    subject: int
    gap: Gap
    pending: int = 0
    drain: bool = False

    @property
    def line(self) -> InsertedLine:
        """The line that it becomes."""
        form = self.kind.generic.replace("'", '"') if self.gap.generic else self.kind.custom
        return InsertedLine(self.gap, self.kind.rank, form.replace("{pending}", str(self.pending)))


Plan = tuple[Insertion, ...]
Key = tuple[str, int]  # the code of a finding and the offset, in the text that was given, where it is


@dataclass(frozen=True, slots=True)
class Scheduled:
    """The text with what it lacked.

    Attributes:
        inserted: the lines, counted from 1 in the new text, with the operation of each.
        outcomes: what the verifier says of the kernels of the new text.
        trials: how often the verifier ran.
        verified: whether the verifier follows all kernels to their end and finds no error; there may be warnings.
        minimal: whether Z3 showed that no choice of these operations, or of those that the search began with, has fewer
            of them, or as many that are weaker; only small searches are asked.
    """

    source: Source
    inserted: tuple[tuple[int, str], ...]
    outcomes: tuple[Outcome, ...]
    trials: int
    verified: bool
    minimal: bool


class Scheduler:
    """Looks for the insertions of one text."""

    def __init__(self, book: Rulebook, source: Source, progress: Callable[[], None] = lambda: None) -> None:
        self.book = book
        self.source = source
        self.progress = progress
        self.module = scan(source).module
        self.places = InsertionPoints(source, self.module.operations)
        self.trials = 0
        self.wanted: frozenset[Key] = frozenset()
        self.step = effects(book, self.module.aliases)

    # -- rule data

    @cached_property
    def kinds(self) -> dict[str, Insertable]:
        found = {}
        for rank, ((name,), row) in enumerate(self.book.shared_table("schedule").rows.items()):
            role, side, groups, most, custom, generic = row
            assert isinstance(most, int)
            found[name] = Insertable(
                name, str(role), side == ".after", groups == ".turns", most, str(custom), str(generic), rank
            )
        return found

    @cached_property
    def bounds(self) -> frozenset[str]:
        return frozenset(name[1:] for (name,) in self.book.shared_table("schedule_boundary").rows)

    def producer(self, operation: Operation) -> str:
        """What issues an operation, a member of ``schedule_producer``."""
        if not self.stepping(operation):
            return ".threads"
        types = " ".join(resolve(use.text, self.module.aliases) for use in operation.inputs[:1])
        text = f"{operation.name} {types}"
        pieces = self.book.enums["schedule_producer"].by_spelling
        return next((member for piece, member in pieces.items() if piece in text), ".threads")

    def stepping(self, operation: Operation) -> Step | None:
        """What an operation does in the protocol."""
        return self.step(operation, [resolve(use.text, self.module.aliases) for use in operation.inputs])

    def repair(self, fault: ProtocolFault, origin: Callable[[int], int]) -> tuple[int, tuple[Insertable, ...]] | None:
        """Which operations a finding asks for, and next to which operation; None where no insertion helps."""
        rows = self.book.shared_table("schedule_repair").rows
        subjects = {".here": fault.operation, ".there": fault.trace[0][1] if fault.trace else None}
        for where, operation in subjects.items():
            if operation is None:
                continue
            row = rows.get((f".{fault.code}", self.producer(operation)))
            if row is not None and row[0] == where:
                names = row[1]
                assert isinstance(names, frozenset)
                chosen = tuple(kind for name, kind in self.kinds.items() if name in names)
                return origin(operation.span.start), chosen
        return None

    # -- trials

    def judge(self, plan: Sequence[Insertion]) -> tuple[Edited, tuple[Outcome, ...]]:
        """What the verifier says of the text with insertions."""
        self.trials += 1
        edited = Edited(self.source.text, [one.line for one in plan])
        module = scan(Source(self.source.name, edited.text)).module
        outcomes = tuple(verify(self.book, module.operations, module.aliases))
        self.progress()
        return edited, outcomes

    @cached_property
    def heeded(self) -> frozenset[str]:
        """The findings that matter: errors, and what the rule data repair; other warnings are practice and stay."""
        errors = {code for code, finding in self.book.findings.items() if finding.severity is Severity.ERROR}
        return frozenset(errors | self.book.enums["schedule_finding"].by_spelling.keys())

    def keys(self, edited: Edited, outcomes: Sequence[Outcome]) -> frozenset[Key]:
        faults = (fault for outcome in outcomes for fault in outcome.faults if fault.code in self.heeded)
        found = {(fault.code, edited.origin(fault.operation.span.start)) for fault in faults}
        for outcome in outcomes:
            for left in outcome.doubts:
                if left.assumed:
                    continue  # no insertion changes how the kernel is launched
                found.add((f"unfollowed: {left.message}", edited.origin(left.operation.span.start)))
        return frozenset(found)

    def fits(self, plan: Sequence[Insertion]) -> bool:
        """Whether a plan has no finding beyond those that no insertion repairs."""
        return self.keys(*self.judge(plan)) <= self.wanted

    # -- the search

    def run(self) -> Scheduled:
        """Search."""
        start = self.enough() if relevant(self.book, self.source.text) else ()
        plan, minimal = start, True
        if start:
            plan, minimal = self.least(self.best(start), start)
            early = self.latest(plan)
            plan = self.overlapped(early)
            minimal &= plan == early
        edited, outcomes = self.judge(plan)
        inserted = _numbered(edited, plan)
        verified = all(map(self._passes, outcomes))
        source = Source(self.source.name, edited.text)
        if any(outcome.faults for outcome in outcomes):
            outcomes = _by_causes(self.book, source)
        return Scheduled(source, inserted, outcomes, self.trials, verified, minimal)

    def _passes(self, outcome: Outcome) -> bool:
        severities = {self.book.findings[fault.code].severity for fault in outcome.faults}
        return all(doubt.assumed for doubt in outcome.doubts) and Severity.ERROR not in severities

    def best(self, plan: Plan) -> Plan:
        """The fewest operations, with the waits that leave the most groups in flight.

        Whether one iteration of a loop is a group (a stage of a ring) or all of them are (the rows of one tile) the
        text does not show: where rule data says so, both are tried. A commit under a condition would be no group of all
        threads.
        """
        kept: frozenset[int] = frozenset()
        best = self.reduced(plan, kept)
        loops = {
            loop.span.start
            for one in plan
            if one.kind.tries
            for loop in takewhile(lambda op: op.name in _LOOPS, self.places.enclosing(one.subject))
            if not self.synchronises([loop])
        }
        for loop in sorted(loops):
            other = self.reduced(plan, kept | {loop})
            if _cost(other) < _cost(best):
                best, kept = other, kept | {loop}
        return best

    def least(self, plan: Plan, start: Plan) -> tuple[Plan, bool]:
        """A plan, or a cheaper one from its operations and those of the start; whether Z3 shows that none is cheaper.

        Commits stay: they cost nothing, and a wait counts the groups that they make.
        """
        commits = tuple(one for one in plan if one.kind.role == ".commit")
        known = {(one.kind.name, one.gap): one for one in (*start, *plan) if one.kind.role != ".commit"}
        places = tuple(known.values())
        if len(places) > _SMALL or len(self.source.text) > _SHORT:
            return plan, False
        from tileproof.evaluate.solver import cheapest  # noqa: PLC0415  z3 only where it is asked

        def chosen(strengths: tuple[int, ...]) -> Plan:
            held = zip(places, strengths, strict=True)
            return (*commits, *(replace(one, pending=one.kind.most + 1 - power) for one, power in held if power))

        found = cheapest(
            [one.kind.most + 1 for one in places],
            [one.kind.role == ".wait" for one in places],
            lambda strengths: self.fits(chosen(strengths)),
            _SECONDS,
        )
        if found is None:
            return plan, False
        return (plan if _cost(plan) <= _cost(chosen(found)) else chosen(found)), True

    def reduced(self, plan: Plan, kept: frozenset[int]) -> Plan:
        return self.fewest(self.merged(self.hoisted(plan, kept)))

    def enough(self) -> Plan:
        """Insertions after which no finding remains that an insertion repairs: each next to its subject."""
        plan: dict[tuple[str, int], Insertion] = {}
        while True:
            edited, outcomes = self.judge(tuple(plan.values()))
            before = len(plan)
            for outcome in outcomes:
                for fault in outcome.faults:
                    asked = self.repair(fault, edited.origin)
                    if asked is None:
                        continue
                    subject, chosen = asked
                    for other in (subject, *self.peers(subject)):
                        for kind in chosen:
                            needed = other == subject and (kind.role != ".commit" or len(chosen) == 1)
                            if needed or kind.role == ".fence" or not self.present(kind, other):
                                for one in self.beside(kind, other):
                                    plan.setdefault((kind.name, one.gap.offset), one)
            if len(plan) == before:
                self.wanted = self.keys(edited, outcomes)
                return tuple(plan.values())

    def beside(self, kind: Insertable, subject: int) -> Iterator[Insertion]:
        """An operation next to its subject; a wait also after each enclosing loop."""
        gap = self.places.beside(subject, kind.after)
        if gap is not None:
            yield Insertion(kind, subject, gap)
        if kind.role == ".wait" and kind.most:
            for around in self.places.enclosing(subject):
                if around.name in _LOOPS and (gap := self.places.beside(around.span.start, True)) is not None:
                    yield Insertion(kind, subject, gap, drain=True)

    def peers(self, subject: int) -> list[int]:
        """The other operations of the kernel that issue what this one does: groups are counted over all of them."""
        issued, kernel = self.producer(self.places.operations[subject]), self.kernel_of(subject)
        if issued == ".threads" or kernel is None:
            return []
        return [op.span.start for op in kernel.walk() if op.span.start != subject and self.producer(op) == issued]

    def present(self, kind: Insertable, subject: int) -> bool:
        """Whether the text already has such an operation after a subject, before anything synchronizes."""
        for start in (subject, *(op.span.start for op in self.places.enclosing(subject))):
            home = self.places.homes[start]
            for sibling in home.block.operations[home.index + 1 :]:
                if any(op.name == kind.custom.partition(" ")[0] for op in sibling.walk()):
                    return True
                if self.synchronises([sibling]):
                    return False
        return False

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

        for operation in self.module.operations:
            enter(operation)
        return found

    def hoisted(self, plan: Plan, kept: frozenset[int]) -> Plan:
        """Insertions for one subject are hoisted out of loops without synchronization, the outermost first.

        Args:
            kept: loops, by their offsets, that nothing is hoisted out of.
        """
        for subject in dict.fromkeys(one.subject for one in plan):
            around = takewhile(lambda op: op.span.start not in kept, self.places.enclosing(subject))
            loops = [op for op in around if op.name in _LOOPS and not self.synchronises([op])]
            for loop in reversed(loops):
                inside = [i for i in plan if i.subject == subject and loop.span.start <= i.gap.offset <= loop.span.end]
                tried = self.moved(plan, inside, loop.span.start)
                if tried is not None and self.fits(tried):
                    plan = tried
                    break
        return plan

    def moved(self, plan: Plan, chosen: Sequence[Insertion], start: int) -> Plan | None:
        """A plan with some insertions moved next to another operation; None where there is no place."""
        found: dict[tuple[str, int], Insertion] = {}
        for one in plan:
            gap = self.places.beside(start, one.kind.after) if one in chosen else one.gap
            if gap is None:
                return None
            found.setdefault((one.kind.name, gap.offset), one if gap == one.gap else replace(one, gap=gap))
        return tuple(found.values())

    def merged(self, plan: Plan) -> Plan:
        """Insertions for neighbours are merged where nothing between them synchronizes."""
        changed = True
        while changed:
            changed = False
            for chosen, start in self.neighbours(plan):
                tried = self.moved(plan, chosen, start)
                if tried is not None and tried != plan and self.fits(tried):
                    plan, changed = tried, True
                    break
        return plan

    def neighbours(self, plan: Plan) -> Iterator[tuple[list[Insertion], int]]:
        """Insertions of two places without synchronization in between, and where they are merged."""
        for one in plan:
            for other in plan:
                if one.kind != other.kind or one.gap.offset >= other.gap.offset:
                    continue
                meeting = self.places.meeting(one.gap, other.gap)
                if meeting is None or self.synchronises(meeting):
                    continue
                chosen = [
                    i for i in plan if i.kind.after == one.kind.after and i.gap in (one.gap, other.gap) and not i.drain
                ]
                if one in chosen and other in chosen:
                    yield chosen, (meeting[-1] if one.kind.after else meeting[0]).span.start

    def fewest(self, plan: Plan) -> Plan:
        """In textual order: an operation is removed, or else leaves as many groups in flight as possible."""
        for one in sorted(plan, key=lambda i: (i.kind.role != ".wait", i.gap.offset, i.kind.rank)):
            without = tuple(i for i in plan if i != one)
            if one.kind.role != ".commit" and self.fits(without):
                plan = without
                continue
            low, high = one.pending, one.kind.most
            while low < high:
                middle = (low + high + 1) // 2
                if self.fits((*without, replace(one, pending=middle))):
                    low = middle
                else:
                    high = middle - 1
            plan = (*without, replace(one, pending=low))
        return plan

    def latest(self, plan: Plan) -> Plan:
        """Waits are moved down in their block as far as possible, but not past synchronization."""
        for one in [i for i in plan if i.kind.role == ".wait"]:
            without = tuple(i for i in plan if i != one)
            block = self.places.homes[one.gap.block].block.operations
            free = takewhile(lambda op: not self.synchronises([op]), block[one.gap.index :])
            end = one.gap.index + len(list(free))
            places = [gap for gap in self.places.later(one.gap) if gap.index <= end]
            low, high = 0, len(places)
            while low < high:
                middle = (low + high + 1) // 2
                if self.fits((*without, replace(one, gap=places[middle - 1]))):
                    low = middle
                else:
                    high = middle - 1
            if low:
                plan = (*without, replace(one, gap=places[low - 1]))
        return plan

    # -- what overlaps what

    def overlapped(self, plan: Plan) -> Plan:
        """The waits where they keep groups longest in flight, of queues whose groups may be the iterations of a loop.

        Other waits were moved from what they are about down to what synchronizes, and so are late. Which of two places
        that serve one need is the later one depends on how many groups a wait may leave in flight there, so places are
        removed in either order of time.
        """
        for kind in dict.fromkeys(one.kind for one in plan if one.kind.role == ".wait" and one.kind.tries):
            waits = [one for one in plan if one.kind == kind]
            others = tuple(one for one in plan if one.kind != kind)
            places = self.places_for(waits, others)
            best = self.flights(plan)[_queue(kind)]
            for ordered in (places, places[::-1]):
                other = self.placed(kind, ordered, others)
                if other is not None and (flights := self.flights(other)[_queue(kind)]) > best:
                    plan, best = other, flights
        return plan

    def placed(self, kind: Insertable, places: Sequence[Gap], others: Plan) -> Plan | None:
        """A plan with the waits that are needed at some of the places; None where all of them are not enough."""

        def chosen(pending: Sequence[int]) -> Plan:
            held = zip(places, pending, strict=True)
            return (*others, *(Insertion(kind, gap.offset, gap, left) for gap, left in held if left >= 0))

        found = needed(len(places), lambda pending: self.fits(chosen(pending)), _TRIALS, kind.most)
        if found is None:
            return None
        known = dict(found)
        return self.latest(chosen([known.get(place, -1) for place in range(len(places))]))

    def places_for(self, waits: Sequence[Insertion], others: Plan) -> list[Gap]:
        """Where a wait may be needed, in the order of time: before what synchronizes, if waits there are enough.

        If not, also before what has a hazard without the waits.
        """
        kind = waits[0].kind
        kernels = {id(kernel): kernel for one in waits if (kernel := self.kernel_of(one.subject)) is not None}
        inside = [one for kernel in kernels.values() for one in kernel.walk() if not one.regions]
        starts = {one.span.start for one in inside if self.synchronises([one])}
        commits = {one.gap.offset for one in others if one.kind.role == ".commit"}
        step = f"{_queue(kind)}_commit"
        commits |= {one.span.start for one in inside if (does := self.stepping(one)) is not None and does.name == step}

        def gaps() -> list[Gap]:
            before = {start: self.places.beside(start, after=False) for start in starts}
            return [gap for start in sorted(before, key=lambda one: self.time(one, commits)) if (gap := before[start])]

        found = gaps()
        if not self.fits((*others, *(Insertion(kind, gap.offset, gap) for gap in found))):
            hazards = {start for _, start in self.keys(*self.judge(others)) - self.wanted}
            starts |= hazards & {one.span.start for one in inside}
            found = gaps()
        return found

    def time(self, start: int, commits: Set[int]) -> tuple[int, ...]:
        """A key that sorts operations by the time at which groups that were just committed meet them."""
        key: list[int] = []
        begin = size = 0
        loops = [op.span for op in self.places.enclosing(start) if op.name in _LOOPS]
        for at in (*(span.start for span in reversed(loops)), start):
            key.append((at - begin) % size if size else at)
            begin, end = next((span for span in loops if span.start == at), (0, 0))
            size = end - begin
            begin = max((commit for commit in commits if begin < commit < end), default=begin)
        return tuple(key)

    def kernel_of(self, subject: int) -> Operation | None:
        """The kernel that an operation is in."""
        around = [op for top in self.module.operations for op in top.walk() if op.span.start <= subject < op.span.end]
        return next((op for op in around if op.name in KERNELS), None)

    def flights(self, plan: Plan) -> Counter[str]:
        """How long the groups of each queue are in flight."""
        self.trials += 1
        watch = Flights()
        edited = Edited(self.source.text, [one.line for one in plan])
        module = scan(Source(self.source.name, edited.text)).module
        for _ in verify(self.book, module.operations, module.aliases, watch.actions):
            pass
        self.progress()
        return watch.steps


def _queue(kind: Insertable) -> str:
    """The queue that a wait is for."""
    return kind.name[1:].partition("_")[0]


def _cost(plan: Plan) -> tuple[int, int]:
    waits = [one.pending for one in plan if one.kind.role == ".wait"]
    return sum(one.kind.role != ".commit" for one in plan), -sum(waits)


def _by_causes(book: Rulebook, source: Source) -> tuple[Outcome, ...]:
    """What is left to find in a text, each mistake once and where it is to be changed, as ``check`` reports it."""
    module = scan(source).module

    def line(operation: Operation) -> int:
        return source.position(operation.name_span.start).line

    return tuple(verify(book, module.operations, module.aliases, line=line))


def _numbered(edited: Edited, plan: Plan) -> tuple[tuple[int, str], ...]:
    wanted = sorted((one.line for one in plan), key=lambda line: (line.gap.offset, line.rank, line.text))
    found, shift = [], 0
    for line in wanted:
        begin = line.gap.offset + shift
        found.append((edited.text.count("\n", 0, begin) + 1, line.text))
        shift = edited.text.index("\n", begin) + 1 - line.gap.offset
    return tuple(found)


def schedule(book: Rulebook, source: Source, progress: Callable[[], None] = lambda: None) -> Scheduled:
    """The text with the fences, commits and waits that it lacks.

    Args:
        progress: called after each run of the verifier.
    """
    return Scheduler(book, source, progress).run()


__all__ = ["Insertable", "Insertion", "Scheduled", "Scheduler", "schedule"]
