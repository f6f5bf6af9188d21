"""What of a PTX kernel its protocol depends on: instructions, registers and branches; all else is left out.

Steps of the protocol are needed, and what computes their addresses, counts and parities; then the branches that decide
whether something needed is executed, and what computes their conditions. A branch that decides nothing of that goes at
once to where its paths meet. Paths to a trap are those of a failed assertion: no thread of a correct kernel goes there;
nor is there one where the predicate of a branch is the same whatever the kernel is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import lru_cache

from tileproof.base.records import dataclass, field, replace
from tileproof.protocol.assembly import Statement, statement
from tileproof.protocol.control_flow import EXIT, dominates, dominators, post_dominators, postorder
from tileproof.protocol.counterparts import Counterpart, counterpart
from tileproof.protocol.generic_addresses import GenericAddresses, anywhere
from tileproof.protocol.local_memory import LOCAL
from tileproof.protocol.ptx_arithmetic import computation
from tileproof.protocol.ptx_floats import becomes_integer, is_float
from tileproof.protocol.warp_functions import warp_function
from tileproof.ptx.graph import Graph, targets
from tileproof.ptx.module import Scope
from tileproof.ptx.text import Part
from tileproof.ptx.values import Values
from tileproof.ptx.vocabulary import word_of
from tileproof.rulebase.book import Rulebook


@dataclass(frozen=True, slots=True)
class Line:
    """An instruction with the registers that it reads and writes, by their keys.

    Attributes:
        partly: whether it may leave what it writes as it is, for someone who reads it: it is guarded.
        jumps: the blocks that it may go to, in the order of its table.
    """

    one: Statement
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    step: bool
    partly: bool


@dataclass(frozen=True, slots=True)
class Cut:
    """A kernel without what its protocol does not depend on.

    Attributes:
        entry: a block without instructions, which goes to the first one.
        lines: the instructions of each block that is left.
        edges: its successors, ``EXIT`` for the end of the kernel; several where a branch decides among them: the first
            where the predicate holds, the second where not; or those of a table.
        deciders: the branch at the end of a block that has several.
        arguments: the registers that come to a block from several places with different values.
        registers: all that matter.
        calls: of functions that may take part in the protocol.
        asserts_zero: whether a thread traps where the address that tcgen05.alloc left is not 0.
    """

    entry: int
    lines: Mapping[int, tuple[Line, ...]]
    edges: Mapping[int, tuple[int, ...]]
    deciders: Mapping[int, Line]
    arguments: Mapping[int, tuple[str, ...]]
    registers: tuple[str, ...]
    calls: tuple[Statement, ...]
    asserts_zero: bool


class Keys:
    """What registers are called: those of a scope inside the body of a function by its number as well."""

    def __init__(self) -> None:
        self.scopes: dict[int, int] = {}
        self.known: dict[tuple[int, str], str] = {}

    def of(self, scope: Scope | None, name: str) -> str:
        """The key of a register; its name where it is none."""
        found = self.known.get((id(scope), name))
        if found is None:
            declared = scope.register(name) if scope is not None else None
            found = name
            if declared is not None:
                number = self.scopes.setdefault(id(declared[1]), len(self.scopes))
                found = f"{name}#{number}" if number else name
            self.known[id(scope), name] = found
        return found


@dataclass(slots=True)
class _Slicer:
    book: Rulebook
    graph: Graph
    values: Values
    keys: Keys
    own: Set[str]
    generic: GenericAddresses
    lines: dict[int, list[Line]] = field(default_factory=dict)
    edges: dict[int, tuple[int, ...]] = field(default_factory=dict)
    deciders: dict[int, Line] = field(default_factory=dict)
    local: bool | None = None
    released: set[int] | None = None
    asserts_zero: bool = False

    @property
    def follows_local(self) -> bool:
        """Whether what threads keep in local memory is followed: no store goes there through a generic address.

        Of functions that are called only those are no part of the kernel that store nothing so, or it is not followed.
        """
        if self.local is None:
            function = self.graph.function
            inside = range(function.first, function.last)
            opcodes = {number: self.graph.module.instructions[number].opcode for number in inside}
            stores = [number for number, one in opcodes.items() if one.startswith("st.") and anywhere(one)]
            taken = any(one.startswith("cvta.local.") for one in opcodes.values())
            self.local = not taken or not any(anywhere(self.statement(number).opcode) for number in stores)
        return self.local

    def statement(self, number: int) -> Statement:
        """An instruction; an access that can only be one of shared memory as such."""
        one = self.generic.in_shared(statement(self.book, self.graph.module, number))
        may_be_global = one.opcode.startswith("st.") and ("global" in one.opcode.split(".") or anywhere(one.opcode))
        if one.same is None and may_be_global and self.before_release(number):
            return replace(one, same=Counterpart(("tensormap.store",), (0,), ()))
        return one

    def before_release(self, number: int) -> bool:
        """Whether an instruction stands before a release of tensor maps in its basic block."""
        if self.released is None:
            words, statements = tuple(self.book.enums["map_release"].by_spelling), self.graph.module.instructions
            self.released = set()
            for block in self.graph.blocks:
                inside = range(block.first, block.last)
                last = next((i for i in reversed(inside) if statements[i].opcode.startswith(words)), block.first)
                self.released.update(range(block.first, last))
        return number in self.released

    def read(self) -> None:
        """The instructions and the edges of the blocks that can be reached without a trap."""
        graph, values = self.graph, self.values
        statements = graph.module.instructions
        starts = {block.first: block.number for block in graph.blocks}
        todo = [0]
        while todo:
            number = todo.pop()
            if number in self.edges:
                continue
            block = graph.blocks[number]
            last = statement(self.book, graph.module, block.last - 1)
            jump = word_of(self.book, last.opcode).jump
            after: tuple[int, ...] = (starts.get(block.last, EXIT),)
            found: tuple[int, ...]
            if jump == "end" and last.opcode == "trap":
                found = after if last.guard else ()
            elif jump == "end":
                found = (EXIT, *after) if last.guard else (EXIT,)
            elif jump:
                to = tuple(starts.get(one, EXIT) for one in targets(graph.module, statements[block.last - 1], jump))
                found = (to + after) if last.guard and jump == "branch" else to
            else:
                found = after
            if last.negated and len(found) == 2:
                found = found[::-1]
            if last.guard and len(found) == 2 and (holds := values.holds(block.last - 1)) is not None:
                found = found[:1] if holds else found[1:]
            left = tuple(one for one in found if one not in graph.doomed)
            if len(left) < len(found) and jump != "indexed":
                self.asserts_zero |= bool(left) and self.compares_with_zero(block.first, last)
                found = left or found[:1]
            self.edges[number] = found
            if len(set(found)) > 1:
                self.deciders[number] = self.line(last)
            elif found:
                self.edges[number] = found[:1]
            todo += [one for one in found if one != EXIT]

    def compares_with_zero(self, first: int, branch: Statement) -> bool:
        """Whether a branch of a block compares the address that tcgen05.alloc left with 0: the block loads it."""
        wanted, compared = branch.guard, False
        for number in range(branch.number - 1, first - 1, -1):
            one = self.statement(number)
            written, *read = [operand.parts[0] for operand in one.operands or () if operand.parts] or (None,)
            if written is None or written.names != (wanted,):
                continue
            if compared:
                shared = one.opcode.startswith(("ld.shared.", "ld.volatile.shared."))
                return shared and self.place(number, 1) in self.allocated()
            equal = one.opcode.startswith(("setp.eq.", "setp.ne.")) and [part.value for part in read] == [None, 0]
            if not equal or len(read[0].names) != 1:
                return False
            (wanted,), compared = read[0].names, True
        return False

    def allocated(self) -> set[tuple[str, int]]:
        """Where tcgen05.alloc leaves addresses."""
        function = self.graph.function
        opcodes = self.graph.module.instructions
        found = (i for i in range(function.first, function.last) if opcodes[i].opcode.startswith("tcgen05.alloc."))
        return {place for i in found if (place := self.place(i, 0)) is not None}

    def place(self, number: int, index: int) -> tuple[str, int] | None:
        """The variable and the byte that an operand is the address of; None where that is not known."""
        found = self.values.operand(number, index)
        return (found.symbol, found.offset) if found.symbol and found.offset is not None else None

    def line(self, one: Statement) -> Line:
        """An instruction with what it reads and writes."""
        key = self.keys.of
        reads: list[str] = [key(one.scope, one.guard)] if one.guard else []
        writes: list[str] = []
        step = one.same is not None and not one.same.computes
        operands = one.operands or ()

        def names(part: Part) -> list[str]:
            found = [name for name in part.names if name[0] != "." and one.scope is not None]
            return [key(one.scope, name) for name in found if one.scope.register(name) is not None]  # type: ignore[union-attr]

        if one.opcode.startswith("call"):
            from tileproof.ptx.values import written  # noqa: PLC0415

            body = self.graph.module.operands(self.graph.module.instructions[one.number])
            writes = [key(one.scope, name) for name in written(self.book, body, one.opcode)]
        elif word_of(self.book, one.opcode).jump == "indexed":
            reads += names(operands[0].parts[0]) if operands else []
        elif step:
            assert one.same is not None
            for place in (*one.same.operands, *(at for _, at in one.same.named)):
                tuple_ = place < len(operands) and bool(operands[place].parts) and operands[place].parts[0].registers
                for at in (place, place + 1) if tuple_ and one.same.named else (place,):
                    if at < len(operands):
                        reads += [name for part in operands[at].parts[:1] for name in names(part)]
            if 0 not in one.same.operands and operands and not operands[0].address and _writes(self.book, one.opcode):
                writes += names(operands[0].parts[0])
        elif one.opcode.startswith("st.local.") and self.follows_local:
            reads += [LOCAL, *(name for operand in operands for part in operand.parts for name in names(part))]
            writes.append(LOCAL)
        elif operands and _writes(self.book, one.opcode) and not operands[0].address:
            writes += names(operands[0].parts[0])
            if one.opcode.startswith("ld.local.") and self.follows_local:
                reads += [LOCAL, *(name for part in operands[1].parts for name in names(part))]
            elif computation(self.book, one.opcode) is not None:
                reads += [name for operand in operands[1:] for part in operand.parts for name in names(part)]
            elif (together := warp_function(one.opcode)) is not None:
                read = operands[1 : 1 + together[0]]
                reads += [name for operand in read for part in operand.parts for name in names(part)]
        if one.second:
            writes.append(key(one.scope, one.second))
        return Line(one, tuple(reads), tuple(writes), step, bool(one.guard))

    def cut(self) -> Cut:
        """The slice."""
        self.read()
        graph = self.graph
        entry = 0
        successors = {one: list(after) or [EXIT] for one, after in self.edges.items()}
        ends = post_dominators(successors, entry)
        controls = _controls(successors, ends, self.deciders)
        numbers = {i: one for one in self.edges for i in range(graph.blocks[one].first, graph.blocks[one].last)}
        writers: dict[str, list[Line]] = {}
        lines: dict[int, Line] = {}
        roots: list[Line] = []
        calls: list[Statement] = []
        own: set[int] = set()
        for number in sorted(numbers):
            block = graph.blocks[numbers[number]]
            opcode = graph.module.instructions[number].opcode
            if word_of(self.book, opcode).jump and number == block.last - 1:
                continue
            if opcode in self.own:
                one = replace(statement(self.book, graph.module, number), same=Counterpart((opcode,), (), ()))
                lines[number] = Line(one, (), (), True, False)
                own.add(number)
                continue
            line = self.line(self.statement(number))
            lines[number] = line
            for name in line.writes:
                writers.setdefault(name, []).append(line)
            if number in graph.hidden or self.takes_part(number):
                calls.append(line.one)
            elif line.step and not _only_reads(line.one):
                roots.append(line)
        _leave_out_data(lines, writers)
        whole = self.covered(list(lines.values()), numbers)
        lines = {number: replace(line, partly=line.partly and number not in whole) for number, line in lines.items()}
        kept: set[int] = set()
        needed: set[str] = set()
        branches: set[int] = set()
        reached: set[int] = set()
        todo = list(roots)
        while todo:
            line = todo.pop()
            number = line.one.number
            if number in kept:
                continue
            kept.add(number)
            for name in line.reads:
                if name not in needed:
                    needed.add(name)
                    todo += writers.get(name, ())
            home = numbers.get(number)
            if home is None or home in reached:
                continue
            reached.add(home)
            for branch in controls.get(home, ()):
                if branch not in branches:
                    branches.add(branch)
                    todo.append(self.deciders[branch])
        return self.reduced((kept & lines.keys()) | own, lines, needed, branches, ends, calls)

    def takes_part(self, number: int) -> bool:
        """Whether an instruction calls a function that does anything of the protocol itself, such as wait."""
        callee, statements = self.graph.calls(number), self.graph.module.instructions
        opcodes = {one.opcode for one in statements[callee.first : callee.last]} if callee is not None else ()
        same = (counterpart(self.book, opcode) for opcode in opcodes)
        return any(one is not None and not one.computes for one in same)

    def covered(self, lines: Sequence[Line], blocks: Mapping[int, int]) -> set[int]:
        """The guarded instructions whose results are read only under the same guard, in the same block behind them.

        Args:
            lines: in the order of the text.
            blocks: of each instruction.
        """
        guarded = {name for line in lines if line.partly for name in line.writes}
        if not guarded:
            return set()
        latest: dict[str, Line] = {}  # the last instruction of the block that writes a register
        open_: set[str] = set()
        here = -1
        for line in lines:
            if blocks[line.one.number] != here:
                here = blocks[line.one.number]
                latest = {}
            for name in guarded.intersection(line.reads):
                last = latest.get(name)
                if last is None or (last.partly and not self.holds_for(last.one, line.one, latest)):
                    open_.add(name)
            latest.update(dict.fromkeys(line.writes, line))
        open_.update(name for line in self.deciders.values() for name in line.reads)
        return {line.one.number for line in lines if line.partly and line.writes and open_.isdisjoint(line.writes)}

    def holds_for(self, one: Statement, later: Statement, latest: Mapping[str, Line]) -> bool:
        """Whether the guard of an instruction held where that of a later one of the block does."""
        key = self.keys.of(one.scope, one.guard)
        if not later.guard or self.keys.of(later.scope, later.guard) != key or later.negated is not one.negated:
            return False
        changed = latest.get(key)
        return changed is None or changed.one.number < one.number

    def reduced(
        self,
        kept: set[int],
        lines: Mapping[int, Line],
        needed: set[str],
        branches: set[int],
        ends: Mapping[int, int],
        calls: Sequence[Statement],
    ) -> Cut:
        """The blocks that are left, and the registers that differ between their predecessors."""
        first = len(self.graph.blocks)
        edges: dict[int, tuple[int, ...]] = {first: (0,)}
        todo = [0]
        while todo:
            one = todo.pop()
            if one in edges:
                continue
            after = self.edges[one]
            if len(after) > 1 and one not in branches:
                after = (ends.get(one, EXIT),)
            edges[one] = after
            todo += [to for to in after if to != EXIT]
        graph = self.graph
        held = {
            one: tuple(lines[i] for i in range(graph.blocks[one].first, graph.blocks[one].last) if i in kept)
            for one in edges
            if one != first
        }
        held[first] = ()
        edges = _without_detours(edges, held, first)
        edges = _waits_apart(edges, first)
        held = {one: held.get(one, ()) for one in edges}
        deciders = {one: line for one, line in self.deciders.items() if one in edges and len(edges[one]) > 1}
        arguments = _joined(first, edges, held, deciders, needed)
        registers = tuple(sorted(needed))
        return Cut(first, held, edges, deciders, arguments, registers, tuple(calls), self.asserts_zero)


def _leave_out_data(lines: dict[int, Line], writers: Mapping[str, list[Line]]) -> None:
    """Let floating-point numbers be computed of nothing that do not become integers.

    What decides on a rescaling is data; a number that becomes an integer may count tiles.
    """
    todo = [line for line in lines.values() if becomes_integer(line.one.opcode)]
    counting = {line.one.number for line in todo}
    while todo:
        for name in todo.pop().reads:
            for line in writers.get(name, ()):
                if line.one.number not in counting and is_float(line.one.opcode):
                    counting.add(line.one.number)
                    todo.append(line)
    for number, line in lines.items():
        if number not in counting and line.reads and is_float(line.one.opcode):
            lines[number] = replace(line, reads=line.reads[:1] if line.one.guard else ())
    for name, found in writers.items():
        if any(lines.get(line.one.number, line) is not line for line in found):
            writers[name][:] = [lines.get(line.one.number, line) for line in found]


def slice_of(book: Rulebook, graph: Graph, values: Values, keys: Keys, own: Set[str] = frozenset()) -> Cut:
    """The part of a kernel that its protocol depends on.

    Args:
        values: of the registers of the graph.
        own: opcodes of no instruction, which are kept wherever something else is.
    """
    return _Slicer(book, graph, values, keys, own, GenericAddresses(values)).cut()


@lru_cache(maxsize=4096)
def _writes(book: Rulebook, opcode: str) -> bool:
    return word_of(book, opcode).writes


def _only_reads(one: Statement) -> bool:
    """Whether a step matters for its result alone."""
    return one.opcode.startswith(("elect.", "mapa"))


def _without_detours(
    edges: Mapping[int, tuple[int, ...]], lines: Mapping[int, Sequence[Line]], first: int
) -> dict[int, tuple[int, ...]]:
    """The edges without blocks in which nothing is left and to which only one block goes: a loop that is left by the
    jump before its last one is left at its end."""
    before: dict[int, int] = {}
    for after in edges.values():
        for to in after:
            before[to] = before.get(to, 0) + 1

    def end(one: int) -> int:
        while one != EXIT and before[one] == 1 and not lines[one] and len(edges[one]) == 1:
            one = edges[one][0]
        return one

    found: dict[int, tuple[int, ...]] = {}
    todo = [first]
    while todo:
        one = todo.pop()
        if one not in found:
            after = tuple(map(end, edges[one]))
            found[one] = after if len(set(after)) > 1 else after[:1]
            todo += [to for to in found[one] if to != EXIT]
    return found


def _waits_apart(edges: Mapping[int, tuple[int, ...]], first: int) -> dict[int, tuple[int, ...]]:
    """The edges with a block of its own for a loop that begins with a wait: a wait is a loop of one block, and where
    nothing is before it both loops would begin there, and be one.

    Args:
        first: the entry; blocks without instructions have numbers from two behind it on.
    """
    immediate = dominators({one: [to for to in after if to != EXIT] for one, after in edges.items()}, first)
    found = dict(edges)
    for wait in [one for one, after in edges.items() if one in after]:
        before = [one for one, after in found.items() if wait in after and one != wait]
        if any(dominates(immediate, wait, one) for one in before):
            header = max(first + 1, *found) + 1
            for one in before:
                found[one] = tuple(header if to == wait else to for to in found[one])
            found[header] = (wait,)
    return found


def _controls(
    successors: Mapping[int, Sequence[int]], ends: Mapping[int, int], deciders: Mapping[int, Line]
) -> dict[int, list[int]]:
    """For each block the branches that decide whether it is executed."""
    found: dict[int, list[int]] = {}
    for branch in deciders:
        end = ends.get(branch, EXIT)
        for to in successors[branch]:
            node = to
            seen = set()
            while node not in (end, EXIT) and node not in seen:
                seen.add(node)
                found.setdefault(node, []).append(branch)
                node = ends.get(node, EXIT)
    return found


def _joined(
    first: int,
    edges: Mapping[int, Sequence[int]],
    lines: Mapping[int, Sequence[Line]],
    deciders: Mapping[int, Line],
    needed: set[str],
) -> dict[int, tuple[str, ...]]:
    """The registers that are merged at the beginning of each block: where definitions meet, and only live ones."""
    numbers = {name: i for i, name in enumerate(sorted(needed))}
    used: dict[int, int] = {}
    defined: dict[int, int] = {}
    for one in edges:
        uses = defs = 0
        for line in (*lines[one], *((deciders[one],) if one in deciders else ())):
            for name in line.reads:
                bit = 1 << numbers[name]
                uses |= 0 if defs & bit else bit
            for name in line.writes:
                if name in numbers:
                    bit = 1 << numbers[name]
                    if line.partly and not defs & bit:
                        uses |= bit
                    defs |= bit
        used[one], defined[one] = uses, defs
    graph = {one: [to for to in after if to != EXIT] for one, after in edges.items()}
    order = postorder(graph, first)
    live = dict.fromkeys(edges, 0)
    changed = True
    while changed:
        changed = False
        for one in order:
            out = 0
            for to in graph[one]:
                out |= live[to]
            new = used[one] | out & ~defined[one]
            if new != live[one]:
                live[one] = new
                changed = True
    frontiers = _frontiers(graph, first, order)
    merged = dict.fromkeys(edges, 0)
    todo = list(order)
    here = dict(defined)  # a register is written at the entry as well: before it is assigned it is unknown
    here[first] = (1 << len(numbers)) - 1
    while todo:
        one = todo.pop()
        for at in frontiers.get(one, ()):
            new = (merged[at] | here[one]) & live[at]
            if new != merged[at]:
                merged[at] = new
                if new & ~here[at]:
                    here[at] |= new
                    todo.append(at)
    names = sorted(needed)
    return {one: tuple(names[i] for i in _bits(bits)) for one, bits in merged.items()}


def _bits(bits: int) -> list[int]:
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found


def _frontiers(graph: Mapping[int, Sequence[int]], first: int, order: Sequence[int]) -> dict[int, set[int]]:
    """The dominance frontiers."""
    immediate = dominators(graph, first)
    before: dict[int, list[int]] = {}
    for one in order:
        for to in graph[one]:
            before.setdefault(to, []).append(one)
    found: dict[int, set[int]] = {}
    for node, many in before.items():
        for one in many:
            runner = one
            while runner != immediate[node]:
                found.setdefault(runner, set()).add(node)
                runner = immediate[runner]
    return found


__all__ = ["Cut", "Keys", "Line", "slice_of"]
