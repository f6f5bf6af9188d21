"""wgmma: fences, commits and waits, and the registers that the tensor core uses between them.

The registers of A and D belong to the tensor core from ``wgmma.mma_async`` until the group that it was committed to is
waited for. Compilers copy accumulators from register to register at will, and ptxas undoes that: a ``mov`` between
registers is no access, its results are in flight, or written, as its sources are. Nor is a ``mov`` of a constant one:
CuTe DSL clears accumulators behind the fence, and ptxas moves that before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from math import prod

from tileproof.base.records import dataclass
from tileproof.dataflow.committed import Groups, meet
from tileproof.dataflow.findings import Found, Reporter, listed
from tileproof.evaluate.hardware import limit
from tileproof.ptx.flow import states
from tileproof.ptx.graph import Graph
from tileproof.ptx.names import names_in
from tileproof.ptx.text import operands_of
from tileproof.ptx.values import written

_MMA, _FENCE, _COMMIT, _WAIT = "wgmma.mma_async", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group"
_MOST_GROUPS = 8  # that are kept apart; a wait leaves fewer


@dataclass(frozen=True, slots=True)
class _State:
    """What may hold at a place.

    Attributes:
        groups: in flight.
        copies: registers that are copies of registers in flight, with these.
        written: registers of some wgmma that threads wrote since the last fence, with the statements that did.
        fenced: whether a fence was on every path.
    """

    groups: Groups
    copies: frozenset[tuple[str, str]]
    written: frozenset[tuple[str, int]]
    fenced: bool


@dataclass(frozen=True, slots=True)
class Event:
    """What one statement does: ``mma``, ``fence``, ``commit``, ``wait``, ``copy``, ``access`` or ``end``.

    Attributes:
        names: the registers that it has to do with; of a copy those that it copies.
        writes: those that it writes.
        pending: of a wait; -1 where that is not known.
    """

    number: int
    kind: str
    names: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    pending: int = 0


class Wgmma:
    """The wgmma of a function, and what each of its statements does to them; it is asked what is wrong with them."""

    def __init__(self, report: Reporter, graph: Graph, groups: int = _MOST_GROUPS) -> None:
        """Read the function.

        Args:
            groups: in flight, that are told apart.
        """
        self.groups = groups
        self.report = report
        self.graph = graph
        self.module = graph.module
        self.registers: dict[int, frozenset[str]] = {}  # of each wgmma
        self.sources: dict[int, frozenset[str]] = {}  # of each wgmma, those that it reads
        self.shapes: dict[int, str] = {}
        self.used: set[str] = set()
        for number in range(graph.function.first, graph.function.last):
            if self.module.instructions[number].opcode.startswith(_MMA):
                self.wgmma(number)
        self.used |= self.copied_from()
        self.most = _most_registers(report, graph)
        self.events = [self.of_block(block.first, block.last) for block in graph.blocks]
        self.written = self.events

    def insert(self, inserted: Iterable[Event]) -> None:
        """Let statements that are none of wgmma, by their numbers, do what events say, and all others what they do."""
        by_block: dict[int, list[Event]] = {}
        for event in inserted:
            at = bisect_right(self.graph.blocks, event.number, key=lambda block: block.first) - 1
            by_block.setdefault(at, []).append(event)
        self.events = list(self.written)
        for at, found in by_block.items():
            self.events[at] = sorted([*found, *self.written[at]], key=lambda event: event.number)

    def wgmma(self, number: int) -> None:
        statement = self.module.instructions[number]
        operands = operands_of(self.module.operands(statement).strip()) or ()
        first = [one.parts[0] for one in operands[:2] if one.parts]
        d = first[0].names if first else ()
        sources = first[1].names if len(first) > 1 and first[1].registers else ()
        scale = operands[3].parts[0] if len(operands) > 3 and operands[3].parts else None
        adds = scale is None or scale.value != 0
        self.registers[number] = frozenset([*d, *sources])
        self.sources[number] = frozenset([*sources, *(d if adds else ())])
        self.shapes[number] = statement.opcode
        self.used |= self.registers[number]

    def copied_from(self) -> set[str]:
        """The registers that registers of some wgmma are copied to, directly or not."""
        copies: dict[str, list[str]] = {}
        for number in range(self.graph.function.first, self.graph.function.last):
            statement = self.module.instructions[number]
            if statement.opcode[:4] == "mov.":
                body = self.module.operands(statement)
                names, targets = names_in(body), written(self.report.book, body, statement.opcode)
                for source in names[len(targets) :]:
                    copies.setdefault(source, []).extend(targets)
        found: set[str] = set()
        todo = list(self.used)
        while todo:
            for target in copies.get(todo.pop(), ()):
                if target not in found:
                    found.add(target)
                    todo.append(target)
        return found

    def of_block(self, first: int, last: int) -> list[Event]:
        """The events of a block. All its registers are those of the function's own block or of one inside it: names in
        flight are not declared again there by any compiler, and a name that is would be seen as in flight."""
        found: list[Event] = []
        for number in range(first, last):
            statement = self.module.instructions[number]
            opcode = statement.opcode
            if number in self.graph.hidden:
                found += [Event(number, "commit"), Event(number, "wait"), Event(number, "fence")]
                continue
            if opcode.startswith("wgmma."):
                found += self.of_wgmma(number, opcode)
                continue
            body = self.module.operands(statement)
            if opcode[:4] == "mov." or not self.used.isdisjoint(names_in(body)):
                event = self.of_access(number, opcode, body)
                if event is not None:
                    found.append(event)
        return found

    def of_wgmma(self, number: int, opcode: str) -> Iterator[Event]:
        if opcode.startswith(_MMA):
            yield Event(number, "mma")
        elif opcode.startswith(_FENCE):
            yield Event(number, "fence")
        elif opcode.startswith(_COMMIT):
            yield Event(number, "commit")
        elif opcode.startswith(_WAIT):
            operands = operands_of(self.module.operands(self.module.instructions[number]).strip())
            value = operands[0].parts[0].value if operands and operands[0].parts else None
            yield Event(number, "wait", pending=-1 if value is None else value)

    def of_access(self, number: int, opcode: str, body: str) -> Event | None:
        names = names_in(body)
        outputs = written(self.report.book, body, opcode)
        if opcode[:4] == "mov." and len(names) >= len(outputs):
            return Event(number, "copy", tuple(names[len(outputs) :]), outputs)
        mine = tuple(name for name in dict.fromkeys(names) if name in self.used)
        if not mine:
            return None
        return Event(number, "access", mine, tuple(name for name in outputs if name in self.used))

    # -- the state

    def move(self, block: int, state: _State) -> _State:
        for event in self.events[block]:
            state = self.after(event, state)
        return state

    def after(self, event: Event, state: _State) -> _State:
        groups, copies, changed, fenced = state.groups, state.copies, state.written, state.fenced
        match event.kind:
            case "mma":
                mine = self.registers[event.number]
                changed = frozenset(one for one in changed if one[0] not in mine) if changed else changed
                return _State(groups.issue(event.number), copies, changed, True)  # said once
            case "fence":
                return _State(groups, copies, frozenset(), True)
            case "commit":
                return _State(groups.commit(self.groups), copies, changed, fenced)
            case "wait":
                waited = groups.wait(event.pending) if event.pending >= 0 else Groups()
                if copies:
                    flying = self.flying(waited)
                    copies = frozenset(one for one in copies if one[1] in flying)
                return _State(waited, copies, changed, fenced)
            case "copy":
                return self.copied(state, event.writes, event.names)
            case _:
                if event.writes:
                    changed = frozenset(one for one in changed if one[0] not in event.writes)
                    changed |= {(name, event.number) for name in event.writes}
                return _State(groups, copies, changed, fenced)

    def copied(self, state: _State, targets: tuple[str, ...], sources: tuple[str, ...]) -> _State:
        copies = frozenset(one for one in state.copies if one[0] not in targets)
        flying = self.flying(state.groups)
        if flying:
            origins = {one[1] for one in state.copies if one[0] in sources} | flying.intersection(sources)
            copies |= {(target, origin) for target in targets for origin in origins if target not in flying}
        changed = frozenset(one for one in state.written if one[0] not in targets)
        changed |= {(target, number) for name, number in state.written if name in sources for target in targets}
        return _State(state.groups, copies, changed, state.fenced)

    def flying(self, groups: Groups) -> frozenset[str]:
        found = groups.flying
        return frozenset().union(*(self.registers[one] for one in found)) if found else frozenset()

    @staticmethod
    def join(a: _State, b: _State) -> _State:
        if a == b:
            return a
        return _State(meet(a.groups, b.groups), a.copies | b.copies, a.written | b.written, a.fenced and b.fenced)

    # -- what is wrong

    def check(self) -> Iterator[Found]:
        """Each cause once: where a fence, a commit or a wait is missing, many instructions show it."""
        said: set[tuple[str, object]] = set()
        for cause, found in self.found():
            key = (found.code, cause)
            if key not in said:
                said.add(key)
                yield found

    def found(self) -> Iterator[tuple[object, Found]]:
        """What is wrong, in textual order, with what it is the same cause as."""
        begin = _State(Groups(), frozenset(), frozenset(), False)
        entered = states(self.graph, begin, self.move, self.join)
        most, where = 0, 0  # registers in flight, behind which wgmma
        for block in self.graph.blocks:
            state = entered.get(block.number)
            if state is None:
                continue
            for event in self.events[block.number]:
                yield from self.judge(event, state)
                if event.kind == "mma":
                    count = len(self.flying(state.groups.issue(event.number)))
                    most, where = (count, event.number) if count > most else (most, where)
                state = self.after(event, state)
            if block.number in self.graph.ends:
                yield from self.ended(state)
        yield from self.crowded(most, where)

    def crowded(self, count: int, number: int) -> Iterator[tuple[object, Found]]:
        """Whether ptxas has room beside the registers in flight, of which a wgmma makes so many.

        Where it has none beside those of one wgmma, it rejects that.
        """
        book, report = self.report.book, self.report
        beside = limit(book, "wgmma_registers")
        needed = count + beside
        if any(len(one) + beside > self.most for one in self.registers.values()):
            return
        if count + limit(book, "stage_registers") > self.most:
            yield "", report("PR142", "registers", number, count=count, most=self.most)
        elif needed > self.most:
            yield "", report("PR142", "function", number, count=count, most=self.most, needed=needed)

    def awaited(self) -> Iterator[tuple[int, int]]:
        """The wgmma in flight where their registers are used otherwise, or threads end, each with where that is.

        A wgmma of another shape uses registers otherwise, and threads that access them do.
        """
        begin = _State(Groups(), frozenset(), frozenset(), False)
        for block, entered in states(self.graph, begin, self.move, self.join).items():
            state = entered
            for event in self.events[block]:
                if event.kind == "access" and state.groups.flying:
                    touched = {origin for name, origin in state.copies if name in event.names}.union(event.names)
                    mine = (one for one in state.groups.flying if not touched.isdisjoint(self.registers[one]))
                    yield from ((one, event.number) for one in mine)
                elif event.kind == "mma":
                    yield from ((one, event.number) for one in self.clashing(event.number, state))
                state = self.after(event, state)
            if block in self.graph.ends:
                last = self.graph.blocks[block].last - 1
                yield from ((one, last) for one in state.groups.flying)

    def judge(self, event: Event, state: _State) -> Iterator[tuple[object, Found]]:
        report = self.report
        if event.kind == "mma":
            wrong = {name: number for name, number in state.written if name in self.sources[event.number]}
            if not state.fenced:
                yield event.number, report("PR102", "first", event.number)
            elif wrong:
                places = (("write", min(wrong.values())),)
                found = report("PR102", "written", event.number, at=places, registers=listed(wrong))
                yield frozenset(wrong.values()), found
            yield from self.reused(event.number, state)
        elif event.kind == "wait":
            if state.groups.open:
                last = max(state.groups.open)
                yield last, report("PR101", "waited", last, at=(("wait", event.number),))
        elif event.kind == "access" and state.groups.flying:
            touched = {name for name, origin in state.copies if name in event.names}
            for number in sorted(state.groups.flying):
                both = touched.union(self.registers[number].intersection(event.names))
                if both:
                    places = (("issue", number),)
                    yield number, report("PR103", "here", event.number, at=places, registers=listed(both))
                    return

    def reused(self, number: int, state: _State) -> Iterator[tuple[object, Found]]:
        """A wgmma of another shape that uses registers of one in flight."""
        for other in self.clashing(number, state):
            both = self.registers[other] & self.registers[number]
            yield other, self.report("PR103", "here", number, at=(("issue", other),), registers=listed(both))
            return

    def clashing(self, number: int, state: _State) -> Iterator[int]:
        """The wgmma of another shape that are in flight and use registers of a wgmma, in textual order."""
        for other in sorted(state.groups.flying):
            if self.shapes[other] != self.shapes[number] and self.registers[other] & self.registers[number]:
                yield other

    def ended(self, state: _State) -> Iterator[tuple[object, Found]]:
        if state.groups.open:
            last = max(state.groups.open)
            yield last, self.report("PR101", "ended", last)
        for group in state.groups.committed:
            if group - state.groups.open:
                last = max(group - state.groups.open)
                yield last, self.report("PR104", "here", last)


def check_wgmma(report: Reporter, graph: Graph) -> Iterator[Found]:
    """What is wrong with the wgmma of a function."""
    yield from _external_call(report, graph)
    yield from Wgmma(report, graph).check()


def _external_call(report: Reporter, graph: Graph) -> Iterator[Found]:
    """A call that ptxas does not see through."""
    external = {one.name for one in graph.module.functions if one.body is None}
    external -= {one.name for one in graph.module.functions if one.body is not None}
    for number in range(graph.function.first, graph.function.last):
        statement = graph.module.instructions[number]
        if statement.opcode.startswith("call"):
            called = external.intersection(names_in(graph.module.operands(statement)))
            if called:
                if called <= report.book.enums["device_runtime"].by_spelling.keys():
                    yield report("PR142", "runtime", number, callee=min(called))
                else:
                    yield report("PR142", "call", number, callee=min(called))
                return
            if statement is graph.indirect:
                yield report("PR142", "boundary", number)
                return


def _most_registers(report: Reporter, graph: Graph) -> int:
    """The registers that a thread of a function may have at some time."""
    book, performance = report.book, graph.function.performance
    most = limit(book, "most_registers") - 1  # the last one is the zero register
    threads = prod(performance.get("reqntid") or performance.get("maxntid") or (1,))
    most = min(most, limit(book, "cta_registers") // max(threads, 1), *performance.get("maxnreg", ()))
    for number in range(graph.function.first, graph.function.last):
        statement = graph.module.instructions[number]
        if statement.opcode.startswith("setmaxnreg.inc"):
            count = graph.module.operands(statement).strip()
            most = max(most, int(count) if count.isdecimal() else most)
    return most
