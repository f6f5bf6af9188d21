"""The control-flow graph of a PTX function: basic blocks, dominators and post-dominators, natural loops.

A block ends at a jump and begins at a label. A guarded jump may be passed. ``brx.idx`` goes to each label of its table.
An edge that goes back to a block which does not dominate its source enters a loop past its first block: such a graph
is irreducible, and ``Graph.irreducible`` names the jump. A call through a pointer is named by ``indirect``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from tileproof.base.records import dataclass
from tileproof.ptx.expanded import expanded
from tileproof.ptx.module import Function, Module, Statement
from tileproof.ptx.names import names_in
from tileproof.ptx.vocabulary import word_of
from tileproof.rulebase.book import Rulebook

_MOST = 100_000  # instructions of a kernel with all that it calls
# What a function must hold so that calling it may complete or begin something asynchronous, or call what does.
_ASYNCHRONOUS = ("wgmma.", "tcgen05.", "cp.", "call")


@dataclass(slots=True, eq=False)
class Block:
    """Instructions that are executed one after the other.

    Attributes:
        first, last: their numbers in the module, half open.
        successors, predecessors: numbers of blocks; where the last instruction is a guarded branch, the block that
            follows in the text comes first.
    """

    number: int
    first: int
    last: int
    successors: tuple[int, ...]
    predecessors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop.

    Attributes:
        header: the block that dominates all of it; ``latches``: those that go back to it.
        blocks: all of it, the header included.
    """

    header: int
    latches: tuple[int, ...]
    blocks: frozenset[int]


class Graphs:
    """The graphs of a module, each made when it is first asked for: of a function alone, and of a kernel as a whole.

    Only the last one of a whole kernel is kept: each has a text of its own.
    """

    def __init__(self, book: Rulebook, module: Module) -> None:
        self.book = book
        self.module = module
        self.made: dict[int, Graph] = {}
        self.latest: tuple[int, Graph] | None = None
        self.inside: dict[int, frozenset[int]] = {}  # of whole kernels, the numbers of the functions in them

    def of(self, function: Function) -> Graph:
        """The graph of a function that has a body."""
        found = self.made.get(function.number)
        if found is None:
            found = self.made[function.number] = Graph(self.book, self.module, function)
        return found

    def whole(self, kernel: Function) -> Graph:
        """The graph of a kernel with the bodies of the functions that it calls, where those can be put there."""
        number = kernel.number
        if self.latest is not None and self.latest[0] == number:
            return self.latest[1]
        if self.inside.get(number) == frozenset({number}) or not self._shared(kernel):
            return self.of(kernel)
        module = expanded(self.book, self.module, kernel, _MOST)
        self.inside[number] = frozenset({number} if module is None else {one.body for one in module.instructions})
        if module is None:
            return self.of(kernel)
        self.latest = number, Graph(self.book, module, module.functions[0])
        return self.latest[1]

    def parts(self, kernel: Function) -> list[Function]:
        """The functions that are in the graph of a kernel as a whole, itself among them, in textual order."""
        if kernel.number not in self.inside and self._shared(kernel):
            self.whole(kernel)
        numbers = self.inside.get(kernel.number, {kernel.number})
        return [one for one in self.module.functions if one.number in numbers]

    def _shared(self, kernel: Function) -> bool:
        """Whether a kernel calls functions of the module, and any of them or itself does something of a protocol."""
        if all(one.body is None for one in self.module.functions if one.kind == "func"):
            return False
        todo, seen, protocol = [kernel], {kernel.number}, False
        while todo:
            calls, acts = self._summaries[todo.pop().number]
            protocol |= acts
            todo += (one for one in calls if one.number not in seen)
            seen.update(one.number for one in calls)
        return protocol and len(seen) > 1

    @cached_property
    def _summaries(self) -> dict[int, tuple[list[Function], bool]]:
        """Of each function the others with a body that it calls, and whether it does something of a protocol."""
        module, words = self.module, tuple(self.book.enums["protocol_word"].by_spelling)
        bodies = {one.name: one for one in module.functions if one.body is not None}
        found = {}
        for function in module.functions:
            statements = module.instructions[function.first : function.last]
            called = (one for one in statements if one.opcode.startswith("call"))
            calls = [bodies[name] for one in called for name in names_in(module.operands(one)) if name in bodies]
            acts = any(word in opcode for opcode in {one.opcode for one in statements} for word in words)
            found[function.number] = calls, acts
        return found


class Graph:
    """The graph of a function that has a body.

    Attributes:
        blocks: in textual order; the first is entered.
        order: the blocks that can be reached, each before its successors except along edges that go back.
    """

    def __init__(self, book: Rulebook, module: Module, function: Function) -> None:
        self.book = book
        self.module = module
        self.function = function
        self.blocks = _blocks(book, module, function)
        self.order = _order([block.successors for block in self.blocks])

    @cached_property
    def dominators(self) -> list[int]:
        """The immediate dominator of each block; its own number for the first, -1 where it cannot be reached."""
        return _dominators(self.order, [block.predecessors for block in self.blocks])

    @cached_property
    def post_dominators(self) -> list[int]:
        """The immediate post-dominator of each block; -1 where it is the end of the function, or there is none."""
        end = len(self.blocks)
        successors = [block.successors or (end,) for block in self.blocks]
        backwards: list[list[int]] = [[] for _ in range(end + 1)]
        for number, after in enumerate(successors):
            for one in after:
                backwards[one].append(number)
        order = _order([tuple(one) for one in backwards], end)
        found = _dominators(order, [*successors, ()])
        return [-1 if one == end else one for one in found[:end]]

    @cached_property
    def traps(self) -> frozenset[int]:
        """The blocks that can be reached and end in a trap: something went wrong."""
        last = {number: self.module.instructions[self.blocks[number].last - 1] for number in self._stops}
        return frozenset(number for number, one in last.items() if one.opcode == "trap" and not one.guard)

    @cached_property
    def ends(self) -> frozenset[int]:
        """The blocks that can be reached in which threads end otherwise."""
        return frozenset(self._stops) - self.traps

    @cached_property
    def doomed(self) -> frozenset[int]:
        """The blocks that can be reached from which all paths that end, end in a trap."""
        if not self.traps:
            return frozenset()
        return frozenset(self.order) & self._leading_to(self.traps) - self._leading_to(self.ends)

    def _leading_to(self, blocks: Iterable[int]) -> set[int]:
        """The blocks from which a path leads to one of these, themselves among them."""
        found, todo = set(blocks), list(blocks)
        while todo:
            before = self.blocks[todo.pop()].predecessors
            todo += (one for one in before if one not in found)
            found.update(before)
        return found

    @property
    def _stops(self) -> list[int]:
        return [number for number in self.order if not self.blocks[number].successors]

    def dominates(self, first: int, second: int) -> bool:
        """Whether every path from the beginning to a block goes through another."""
        idom = self.dominators
        while second >= 0:
            if second == first:
                return True
            if idom[second] == second:
                return False
            second = idom[second]
        return False

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """The natural loops, by their headers in the order of the text; those of one header are one."""
        latches: dict[int, list[int]] = {}
        for source, target in self._back:
            if self.dominates(target, source):
                latches.setdefault(target, []).append(source)
        return tuple(Loop(header, tuple(found), self._body(header, found)) for header, found in sorted(latches.items()))

    @cached_property
    def irreducible(self) -> Statement | None:
        """A jump that enters a loop past its first block; None where there is none."""
        for source, target in self._back:
            if not self.dominates(target, source):
                return self.module.instructions[self.blocks[source].last - 1]
        return None

    @cached_property
    def indirect(self) -> Statement | None:
        """The first call through a pointer, which may call anything; None where there is none."""
        functions = {function.name for function in self.module.functions}
        for statement in self.module.instructions[self.function.first : self.function.last]:
            if statement.opcode.startswith("call") and functions.isdisjoint(names_in(self.module.operands(statement))):
                return statement
        return None

    def calls(self, number: int) -> Function | None:
        """The function of the module, with a body, that an instruction calls; None of any other instruction."""
        statement = self.module.instructions[number]
        if not statement.opcode.startswith("call"):
            return None
        names = names_in(self.module.operands(statement))
        return next((one for one in self.module.functions if one.body is not None and one.name in names), None)

    @cached_property
    def hidden(self) -> frozenset[int]:
        """The calls that may do anything asynchronous: of functions of the module that do, and through a pointer."""
        found = set()
        statements = self.module.instructions
        known = {function.name for function in self.module.functions}
        for number in range(self.function.first, self.function.last):
            if not statements[number].opcode.startswith("call"):
                continue
            callee = self.calls(number)
            if callee is not None:
                inside = {one.opcode for one in statements[callee.first : callee.last]}
                if any(one.startswith(_ASYNCHRONOUS) for one in inside):
                    found.add(number)
            elif known.isdisjoint(names_in(self.module.operands(statements[number]))):
                found.add(number)
        return frozenset(found)

    @cached_property
    def _back(self) -> list[tuple[int, int]]:
        """The edges to a block that comes no later in the order."""
        place = {number: i for i, number in enumerate(self.order)}
        return [
            (source, target)
            for source in self.order
            for target in self.blocks[source].successors
            if place[target] <= place[source]
        ]

    def _body(self, header: int, latches: list[int]) -> frozenset[int]:
        found, todo = {header}, list(latches)
        while todo:
            number = todo.pop()
            if number not in found:
                found.add(number)
                todo += (one for one in self.blocks[number].predecessors if self.dominators[one] >= 0)
        return frozenset(found)


def _blocks(book: Rulebook, module: Module, function: Function) -> list[Block]:
    statements = module.instructions
    leaders = {function.first, *(label.statement for label in function.labels)}
    jumps: dict[int, str] = {}
    kinds: dict[str, str] = {}
    for i in range(function.first, function.last):
        opcode = statements[i].opcode
        jump = kinds.get(opcode)
        if jump is None:
            jump = kinds[opcode] = word_of(book, opcode).jump
        if jump:
            jumps[i] = jump
            leaders.add(i + 1)
    starts = sorted(one for one in leaders if one < function.last)
    numbers = {start: number for number, start in enumerate(starts)}
    blocks = [
        Block(number, start, end, (), ())
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], function.last], strict=True))
    ]
    before: list[list[int]] = [[] for _ in blocks]
    for block in blocks:
        after = targets(module, statements[block.last - 1], jumps.get(block.last - 1, ""))
        falls = (block.last - 1) not in jumps or bool(statements[block.last - 1].guard)
        reached = [block.last, *after] if falls else after
        found = dict.fromkeys(numbers[one] for one in reached if one in numbers)  # the end of the function is none
        block.successors = tuple(found)
        for number in found:
            before[number].append(block.number)
    for block in blocks:
        block.predecessors = tuple(before[block.number])
    return blocks


def targets(module: Module, statement: Statement, jump: str) -> list[int]:
    """The statements that a jump goes to."""
    if jump not in ("branch", "indexed"):
        return []
    names = names_in(module.operands(statement))
    listed: tuple[str, ...] | list[str] = names[-1:]
    if jump == "indexed":
        listed = statement.scope.table(names[-1]) or () if names else ()
    labels = [statement.scope.label(name) for name in listed]
    return [label.statement for label in labels if label is not None]


def _order(successors: list[tuple[int, ...]], first: int = 0) -> list[int]:
    """Reverse post-order."""
    if not successors:
        return []
    found: list[int] = []
    seen = {first}
    stack = [(first, iter(successors[first]))]
    while stack:
        number, rest = stack[-1]
        for one in rest:
            if one not in seen:
                seen.add(one)
                stack.append((one, iter(successors[one])))
                break
        else:
            found.append(number)
            stack.pop()
    return found[::-1]


def _dominators(order: list[int], predecessors: list[tuple[int, ...]]) -> list[int]:
    """Cooper, Harvey and Kennedy, A Simple, Fast Dominance Algorithm."""
    found = [-1] * len(predecessors)
    if not order:
        return found
    place = {number: i for i, number in enumerate(order)}
    found[order[0]] = order[0]
    changed = True
    while changed:
        changed = False
        for number in order[1:]:
            best = -1
            for before in predecessors[number]:
                if found[before] < 0:
                    continue
                if best < 0:
                    best = before
                    continue
                one, other = before, best
                while one != other:
                    while place[one] > place[other]:
                        one = found[one]
                    while place[other] > place[one]:
                        other = found[other]
                best = one
            if found[number] != best:
                found[number] = best
                changed = True
    return found
