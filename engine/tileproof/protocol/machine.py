"""The abstract machine: runs the strands of a cluster in turn until all are finished or none can go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace

from tileproof.base.records import dataclass
from tileproof.dialects.operations import Operations
from tileproof.mlir.ir import Operation
from tileproof.protocol.folding import Shape
from tileproof.protocol.memory import Access, Board
from tileproof.protocol.program import Instruction, Program, is_count
from tileproof.protocol.trace import Passed, way
from tileproof.protocol.values import Address, Lanes, Memory, Value
from tileproof.protocol.vector_clock import Agent, Clock
from tileproof.protocol.warps import Meeting, Strand
from tileproof.rulebase.book import Rulebook

_MOST_STEPS = 600_000
_ROLES = 8  # values of an index that tell roles apart
_MOVED = ("offset", "element", "slice")  # of a pointer or tensor: each thread may have its own
_WAITS = ("wait", "peek", "block", "cta_barrier", "cta_arrive")  # roles wait for phases and at barriers of their own

BarrierKey = tuple[int, int, int]  # CTA, allocation, offset


class Unfollowed(Exception):
    """The machine cannot say what an operation does."""

    def __init__(self, operation: Operation, reason: str) -> None:
        super().__init__(reason)
        self.operation = operation
        self.reason = reason


@dataclass(slots=True)
class Barrier:
    """An mbarrier.

    Attributes:
        count, pending: arrivals that a phase takes, and that the present one still lacks.
        bytes: that the present phase still expects; negative where copies came before they were announced.
        phase: how many phases are complete.
        gathered, done: what those know that have arrived in this phase, and in all complete ones.
        arrived, copied, expected: the operations and bytes of the present phase, for messages.
        sources: what ever arrived at it, by ``id`` of the operations.
        seen: how many phases were complete when somebody last waited for one.
        overrun: whether it went round all parities between two waits.
    """

    name: str
    count: int
    operation: Operation
    pending: int
    initialised: Access
    bytes: int = 0
    phase: int = 0
    gathered: Clock = field(default_factory=Clock)
    done: Clock = field(default_factory=Clock)
    published: bool = False
    expected: int = 0
    copied: int = 0
    expecting: Operation | None = None
    arriving: Operation | None = None
    copying: Operation | None = None
    announced: int = 0
    sources: set[int] = field(default_factory=set)
    seen: int = 0
    overrun: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """A finding: its code, where, the message, and the operations that explain it."""

    code: str
    operation: Operation
    message: str
    hint: str = ""
    trace: tuple[tuple[str, Operation], ...] = ()
    path: tuple[Passed, ...] = ()


@dataclass(slots=True)
class Use:
    """One use of a named barrier: how many threads it counts, the warps that came, and when it was complete.

    Attributes:
        disputed: whether threads came that count another number of them.
    """

    wanted: int
    operation: Operation
    warps: set[int] = field(default_factory=set)
    complete: int | None = None
    disputed: bool = False


@dataclass(slots=True)
class Machine:
    """One run of a kernel.

    Attributes:
        tiles: turns of an outermost loop with a condition: that over the tiles of a persistent kernel.
        marks: when a warp last crossed a barrier, passed an mbarrier, or executed a fence of tensor memory.
        slots, overwritten: the addresses of tensor memory in shared memory, and what wrote over them since.
        uses: the last use of each named barrier of a CTA.
        narrow, wide: when a CTA last arrived at a barrier of another CTA with the scope of one CTA, and when it last
            released its writes to the cluster.
        letters: integers that threads wrote to shared memory for others, with their bytes, by CTA and allocation, then
            by their place.
        executed: the steps that were executed, by ``id`` of their operations.
        skipped: whether a counted loop that takes part in the protocol went round not once.
        passed_by: the same of a loop with a condition.
        unknown: whether only data tell of some loop how often it goes round.
        guessed: the steps in loops that were left where they may not end, likewise.
        budgets: the registers a thread of a warp of a CTA may use since its last setmaxregister.
    """

    program: Program
    shape: Shape
    book: Rulebook
    actions: dict[str, Callable[[Machine, Strand, Instruction], int]]
    faults: list[Fault] = field(default_factory=list)
    strands: list[Strand] = field(default_factory=list)
    barriers: dict[BarrierKey, Barrier] = field(default_factory=dict)
    rendezvous: dict[tuple[int, object], list[Strand]] = field(default_factory=dict)
    boards: dict[tuple[int, int], Board] = field(default_factory=dict)
    memories: dict[int, Memory] = field(default_factory=dict)
    tmem: dict[int, list[tuple[int, int, Operation]]] = field(default_factory=dict)
    slots: dict[tuple[int, int, int | None], Address] = field(default_factory=dict)
    overwritten: dict[tuple[int, int, int | None], Operation] = field(default_factory=dict)
    state: dict[object, object] = field(default_factory=dict)
    marks: dict[tuple[str, int, int], int] = field(default_factory=dict)
    uses: dict[tuple[int, object], Use] = field(default_factory=dict)
    narrow: dict[int, tuple[int, Operation]] = field(default_factory=dict)
    wide: dict[int, int] = field(default_factory=dict)
    budgets: dict[tuple[int, int], tuple[int, Operation]] = field(default_factory=dict)
    letters: dict[tuple[int, int], dict[int, tuple[int, int]]] = field(default_factory=dict)
    executed: set[int] = field(default_factory=set)
    guessed: set[int] = field(default_factory=set)
    skipped: bool = False
    passed_by: bool = False
    unknown: bool = False
    now: int = 0
    steps: int = 0
    complete: bool = True
    tiles: int = 3
    history: list[Passed] | None = None  # what was done, in order, where somebody wants to know
    running: Strand | None = None

    # -- running

    def run(self) -> None:
        """Run all CTAs of a cluster.

        Raises:
            Unfollowed: the kernel does something that cannot be followed.
        """
        for cta in range(self.shape.ctas):
            values: list[Value] = [None] * self.program.slots
            for slot, text in self.program.arguments:
                values[slot] = self.argument(slot, text)
            strand = Strand(cta, tuple(range(self.shape.threads)), values, Clock())
            self.strands.append(strand)
        while True:
            moved = False
            for strand in list(self.strands):
                if not strand.finished and not strand.parked:
                    moved |= self.advance(strand)
            self.strands = [s for s in self.strands if not s.finished]
            if not moved and not self.unpark():
                return
            if self.steps > _MOST_STEPS:
                self.complete = False
                return

    def argument(self, slot: int, text: str) -> Value:
        """What an argument of the kernel is: an extent, or a place in global memory."""
        if is_count(text):
            return self.shape.extents.argument
        if text.startswith("!llvm.ptr") or ".ptr<" in text or "tensor_map" in text:
            return Address(Memory(f"argument {slot}", "gmem", -slot), 0, 8)
        return None

    def advance(self, strand: Strand) -> bool:
        """Run a strand until it waits, ends or was split; whether it moved."""
        code = self.program.code
        self.running = strand
        started = strand.place
        first = True
        while True:
            instruction = code[strand.place]
            self.steps += 1
            target = self.execute(strand, instruction)
            if target < 0:
                return not first or strand.place != started
            first = False
            strand.blocked = None
            strand.place = target
            if strand.finished or strand.parked or self.steps > _MOST_STEPS:
                return True

    def execute(self, strand: Strand, instruction: Instruction) -> int:
        """Where the strand goes on; negative where it waits."""
        values = strand.values
        after = strand.place + 1
        kind = instruction.kind
        if kind == "compute":
            function = instruction.function
            found: Sequence[Value] = ()
            if function is not None:
                read = [values[slot] for slot in instruction.inputs]
                place = Operations.of(self.book).moves(instruction.operation) in _MOVED
                for i, value in enumerate(read):
                    if isinstance(value, Lanes):
                        read[i] = self.common(strand, value, place)
                    elif isinstance(value, tuple) and any(isinstance(leaf, Lanes) for leaf in value):
                        read[i] = tuple(
                            self.common(strand, leaf, place) if isinstance(leaf, Lanes) else leaf for leaf in value
                        )
                found = function(*read)  # type: ignore[assignment]
            for i, slot in enumerate(instruction.outputs):
                values[slot] = found[i] if i < len(found) else None
            return after
        if kind == "effect":
            assert instruction.effect is not None
            self.executed.add(id(instruction.operation))
            if instruction.effect.name in _WAITS:
                for slot in instruction.inputs[:2]:
                    held = values[slot]
                    if isinstance(held, Lanes) and isinstance(held.on(strand.threads), Lanes):
                        self.scatter(strand, held)
            where = (strand.cta, strand.warps)
            target = self.actions[instruction.effect.name](self, strand, instruction)
            if self.history is not None and target >= 0:
                self.history.append(Passed(*where, instruction.effect.name, instruction.operation))
            return target
        if kind == "move":
            read = [values[slot] for slot in instruction.inputs]
            for slot, value in zip(instruction.outputs, read, strict=True):
                values[slot] = value
            return after
        if kind == "jump":
            if instruction.other:
                index = values[instruction.outputs[0]]
                step = self.uniform(strand, instruction.inputs[2])
                values[instruction.outputs[0]] = index + step if isinstance(index, int) and step else None
            return instruction.target
        if kind == "branch":
            return self.branch(strand, instruction)
        if kind == "meet":
            return self.meet(strand, instruction)
        if kind == "enter":
            for slot in instruction.inputs:
                held = values[slot]
                if isinstance(held, Lanes) and isinstance(held.on(strand.threads), Lanes):
                    self.scatter(strand, held)  # roles go round different numbers of times
            if instruction.outputs:
                values[instruction.outputs[0]] = self.uniform(strand, instruction.inputs[0])
            strand.turns[strand.place + 1] = 0
            return after
        if kind == "test":
            return self.test(strand, instruction)
        if kind == "check":
            return self.check(strand, instruction)
        strand.finished = True
        self.actions["finish"](self, strand, instruction)
        return strand.place

    def common(self, strand: Strand, value: Lanes, place: bool) -> int | Lanes | None:
        """The integer that the threads of a strand have; roles that differ over a place are split."""
        found = value.on(strand.threads)
        if not place or not isinstance(found, Lanes):
            return found
        mine = self.scatter(strand, found)
        return found if mine is None else mine

    def uniform(self, strand: Strand, slot: int) -> int | None:
        """The integer that the threads of a strand have in common; that of the first one where they differ."""
        value = strand.values[slot]
        if isinstance(value, tuple) and len(value) == 1:
            value = value[0]
        if isinstance(value, Lanes):
            return value.each[strand.threads[0]]
        return value if isinstance(value, int) else None

    def branch(self, strand: Strand, instruction: Instruction) -> int:
        value = strand.values[instruction.inputs[0]]
        if isinstance(value, Lanes):
            common = value.on(strand.threads)
            if isinstance(common, Lanes):
                yes = tuple(t for t in strand.threads if common.each[t] != 0)
                no = tuple(t for t in strand.threads if common.each[t] == 0)
                if yes and no:
                    self.split(strand, yes, no, instruction)
                    return strand.place + 1
                common = 1 if yes else 0
            value = common
        if value is None:
            value = 1  # what only the data decide: the path with more in it
        return strand.place + 1 if value else instruction.other

    def split(self, strand: Strand, yes: tuple[int, ...], no: tuple[int, ...], instruction: Instruction) -> None:
        meeting = Meeting(instruction.target, 2)
        other = strand.part(no)
        strand.keep(yes)
        other.place = instruction.other
        for part in (strand, other):
            part.meetings.append(meeting)
        self.strands.insert(self.strands.index(strand) + 1, other)

    def scatter(self, strand: Strand, value: Lanes) -> int | None:
        """Split a strand into one for each value that its threads have, for good; the value that it has then.

        A value that differs between the threads of a warp is where a thread puts its data, not which role it plays.
        """
        groups: dict[int | None, list[int]] = {}
        for thread in strand.threads:
            groups.setdefault(value.each[thread], []).append(thread)
        by_warp = {thread // 32: value.each[thread] for thread in strand.threads}
        if len(groups) > _ROLES or any(by_warp[t // 32] != value.each[t] for t in strand.threads):
            return None
        (first, mine), *others = groups.items()
        at = self.strands.index(strand) + 1
        if strand.meetings and len(strand.threads) < 32 * len(strand.warps):
            strand.meetings[-1].missing += len(others)  # some lanes of warps, which go on with the other lanes
        else:
            for meeting in strand.meetings:
                meeting.dissolved = True
            strand.meetings.clear()
        for _, threads in others:
            part = strand.part(tuple(threads))
            self.strands.insert(at, part)
        strand.keep(tuple(mine))
        return first

    def meet(self, strand: Strand, instruction: Instruction) -> int:
        if not strand.meetings or strand.meetings[-1].place != strand.place:
            return strand.place + 1
        meeting = strand.meetings[-1]
        if meeting.dissolved:
            strand.meetings.pop()
            return strand.place + 1
        meeting.parked.append(strand)
        if len(meeting.parked) < meeting.missing:
            strand.parked = True
            return strand.place
        first, *rest = meeting.parked
        alike = all(
            other.version == first.version
            or set(other.warps) <= set(strand.warps)
            or set(strand.warps) <= set(other.warps)
            for other in meeting.parked
        )
        for part in meeting.parked:
            part.meetings.pop()
            part.parked = False
        if not alike:
            self.part_for_good(strand, len(rest))
            for part in rest:
                if part is not strand:
                    part.place += 1
            if first is not strand:
                first.place += 1
            return strand.place + 1
        for part in meeting.parked:
            if part is not strand:
                strand.absorb(part, instruction.outputs)
                part.finished = True
        return strand.place + 1

    def unpark(self) -> bool:
        """Let a strand go on that waits for its other part, which waits for something else; whether there was one."""
        for strand in self.strands:
            if strand.parked:
                meeting = strand.meetings.pop()
                meeting.dissolved = True
                if strand in meeting.parked:
                    meeting.parked.remove(strand)
                self.part_for_good(strand, meeting.missing - 1)
                strand.parked = False
                strand.place += 1
                return True
        return False

    def part_for_good(self, strand: Strand, more: int) -> None:
        """A strand and ``more`` others will come one by one to where they would have met outside."""
        for meeting in strand.meetings:
            meeting.missing += more

    def test(self, strand: Strand, instruction: Instruction) -> int:
        index = strand.values[instruction.outputs[0]]
        high = self.uniform(strand, instruction.inputs[1])
        turns = strand.turns[strand.place] = strand.turns.get(strand.place, 0) + 1
        known = isinstance(index, int) and high is not None
        inside = index < high if known else turns <= self.shape.extent  # type: ignore[operator]
        if not known and not inside:
            self.unknown = True
            self.guess(strand.place, instruction)
        self.skipped |= turns == 1 and not inside and self.acts(strand.place, instruction)
        return strand.place + 1 if inside else instruction.target

    def check(self, strand: Strand, instruction: Instruction) -> int:
        value = self.uniform(strand, instruction.inputs[0])
        turns = strand.turns[strand.place] = strand.turns.get(strand.place, 0) + 1
        limit = 2 if value is None else self.tiles if instruction.other == 1 else 4 * self.shape.extent
        inside = (value is None or value != 0) and turns <= limit
        if value != 0 and not inside:
            self.unknown |= value is None
            self.guess(strand.place, instruction)
        self.passed_by |= turns == 1 and not inside and self.acts(strand.place, instruction)
        if not inside:
            strand.turns[strand.place] = 0
        return strand.place + 1 if inside else instruction.target

    def guess(self, place: int, instruction: Instruction) -> None:
        """A loop is left that may not end there: what it would do in another turn is missing."""
        self.guessed.update(id(one.operation) for one in self.steps_of(place, instruction))

    def acts(self, place: int, instruction: Instruction) -> bool:
        """Whether a loop takes part in the protocol."""
        return any(True for _ in self.steps_of(place, instruction))

    def steps_of(self, place: int, instruction: Instruction) -> Iterator[Instruction]:
        """What a loop does in a turn; ``place`` is that of its test."""
        body = self.program.code[place : instruction.target]
        return (one for one in body if one.effect is not None and not one.effect.pure)

    # -- time and memory

    def tick(self) -> int:
        self.now += 1
        return self.now

    def fault(
        self, code: str, operation: Operation, message: str, hint: str = "", trace: Sequence[tuple[str, Operation]] = ()
    ) -> None:
        path: tuple[Passed, ...] = ()
        if self.history is not None:
            mine = None if self.running is None else (self.running.cta, self.running.warps)
            path = way(self.history, [one for _, one in trace], mine)
        self.faults.append(Fault(code, operation, message, hint, tuple(trace), path))

    def mark(self, event: str, strand: Strand) -> None:
        """Note that something happens now to the warps of a strand."""
        for warp in strand.warps:
            self.marks[event, strand.cta, warp] = self.now

    def since(self, event: str, cta: int, warps: Sequence[int], moment: int) -> bool:
        """Whether something happened to one of these warps after a moment."""
        return any(self.marks.get((event, cta, warp), -1) > moment for warp in warps)

    def board(self, cta: int, memory: Memory) -> Board:
        return self.boards.setdefault((cta, memory.serial), Board())

    def knows(self, strand: Strand, agent: Agent, moment: int, fenced: bool = False, alone: bool = False) -> bool:
        """Whether a strand knows that what an agent did up to a moment is over.

        Args:
            fenced: whether the async proxy has to see it as well.
            alone: whether each thread asks only for what it did itself.
        """
        half = strand.clock.fenced if fenced else strand.clock.known
        if half.get(agent, -1) >= moment:
            return True
        if fenced:
            return False
        if alone or len(strand.warps) == 1:
            if strand.own.get(agent, -1) >= moment and _warp(agent) in strand.warps:
                return True
            if isinstance(agent, tuple) and len(agent) == 2 and agent[0] == strand.cta and agent[1] in strand.warps:
                return True
        return False

    def arriving(self, strand: Strand) -> Clock:
        """What a strand passes on when it arrives somewhere: all that it knows and did."""
        clock = strand.clock.copy()
        moment = self.tick()
        for warp in strand.warps:
            clock.learn((strand.cta, warp), moment)
        for agent, done in strand.own.items():
            if _warp(agent) in strand.warps:
                clock.learn(agent, done)
        return clock

    def meet_all(self, strands: Sequence[Strand]) -> None:
        """A barrier between threads: all learn what each of them knows."""
        whole = Clock()
        for strand in strands:
            whole.join(self.arriving(strand))
        for strand in strands:
            strand.clock.join(whole)
            strand.version += 1
            self.mark("met", strand)

    def targets(self, strand: Strand, address: Address) -> dict[int, int]:
        """The CTAs that an address lies in, and how many threads of the strand mean each."""
        if isinstance(address.cta, Lanes):
            found: dict[int, int] = {}
            for thread in strand.threads:
                cta = address.cta.each[thread]
                if cta is not None:
                    found[cta] = found.get(cta, 0) + 1
            return found
        cta = strand.cta if address.cta is None else address.cta
        return {cta & ~1 if address.leader else cta: len(strand.threads)}


def _warp(agent: Agent) -> object:
    """The warp that an asynchronous stream belongs to."""
    return agent[-1] if isinstance(agent, tuple) else None


__all__ = ["Access", "Barrier", "Fault", "Machine", "Unfollowed", "replace"]
