"""Regions of several blocks, as the branches and loops of the tree.

After ``convert-scf-to-cf``, and in the LLVM dialect, a kernel is blocks that jump to each other and hand values on as
arguments. A branch ends at the immediate post-dominator of its block, whose arguments are its results. A natural loop
is left at one place in all that comes from structured code: what is before that place is the test of a ``While``, and
where that is a comparison of an induction variable alone the loop is counted again, a ``Loop``. A loop that is left at
several places hands on which of them it was, and a branch behind it goes there. Blocks that paths share without a
common end are repeated in each; ``_MOST`` bounds that. Blocks that end in ``llvm.unreachable`` are what a failed
assertion does: no path of a correct kernel goes there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field
from tileproof.mlir.ir import Block, Operation, Region
from tileproof.protocol.control_flow import (
    EXIT,
    Irreducible,
    NaturalLoop,
    natural_loops,
    outermost,
    post_dominators,
    postorder,
)
from tileproof.protocol.folding import Function
from tileproof.protocol.terms import lift
from tileproof.protocol.tree import Branch, Leaf, Loop, Node, While

JUMPS = frozenset({"cf.br", "cf.cond_br", "cf.switch", "llvm.br", "llvm.cond_br", "llvm.switch"})
_MOST = 8  # times that the blocks of a region are repeated on average
_DEEPEST = 100  # branches and loops in each other
_LESS = regex(r"\b[su]lt\b")  # of a comparison in custom form
_LESS_NUMBERS = ("2", "6")  # slt and ult in generic form
_ADDITIONS = ("arith.addi", "llvm.add")
_COMPARISONS = ("arith.cmpi", "llvm.icmp")
_EQUALS = lift(lambda a, b: int(a == b), "eq")

Slots: TypeAlias = tuple[int, ...]
Scope: TypeAlias = dict[str, int]
Stops: TypeAlias = Mapping[int, Callable[[Slots, Scope], Slots]]  # blocks where a walk ends, and what it hands on there


Rotated: TypeAlias = "Callable[[NaturalLoop, int, bool, Scope, list[Node], Region], int | None]"


class Unstructured(Exception):
    """The blocks of a region cannot be followed; ``case`` is one of finding PR190."""

    def __init__(self, operation: Operation, case: str) -> None:
        super().__init__(case)
        self.operation = operation
        self.case = case


@dataclass(frozen=True, slots=True)
class Edge:
    """A jump: the block that it goes to and the values that it hands on."""

    target: int
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Level:
    """The blocks of a region or of a loop without its back edges.

    Attributes:
        loops: those directly in it, by header.
        ends: the immediate post-dominator of each block outside these loops, and of their headers.
    """

    loops: Mapping[int, NaturalLoop]
    ends: Mapping[int, int]


@dataclass(slots=True)
class Structuring:
    """Turns the blocks of one region into nodes.

    Attributes:
        leaves: makes nodes of the operations of a block, its jump left out.
        slot: makes a place for a value of a type.
        types: of the slots.
        type_of: the type of a block's argument, free of aliases.
        loop_made: called with the nodes of a loop with a condition: one that only tests a barrier is a wait.
        rotated: gives the slot of how often a loop goes round that is left at its end: of the loop, the block that it
            is left from, whether it goes on where the condition there holds, the scope before it, and the nodes before
            it, to which it may add; None where that is not known. Without it such a loop is one with a condition.
    """

    region: Region
    leaves: Callable[[Block, Scope], list[Node]]
    slot: Callable[[str], int]
    types: Sequence[str]
    type_of: Callable[[Block, int], str]
    loop_made: Callable[[list[Node]], None]
    rotated: Rotated | None = None
    edges: list[list[Edge]] = field(default_factory=list)
    loops: dict[int, NaturalLoop] = field(default_factory=dict)
    defined: list[dict[str, Operation | None]] = field(default_factory=list)
    used: list[frozenset[str]] = field(default_factory=list)
    visited: int = 0
    depth: int = 0

    def nodes(self, scope: Scope) -> list[Node]:
        """The nodes of the region, whose first block's arguments are in the scope already.

        Raises:
            Unstructured: a block cannot be read, or the graph cannot be followed.
        """
        blocks = self.region.blocks
        place = {block.label: i for i, block in enumerate(blocks) if block.label is not None}
        self.edges = [_edges(block, place) for block in blocks]
        aborts = {i for i, block in enumerate(blocks) if _last(block).name == "llvm.unreachable"} - {0}
        for i, edges in enumerate(self.edges):
            left = [edge for edge in edges if edge.target not in aborts]
            if len(left) < len(edges):
                if len(edges) != 2:
                    raise Unstructured(_last(blocks[i]), "control_flow")
                self.edges[i] = left
        graph = {i: [edge.target for edge in edges] for i, edges in enumerate(self.edges)}
        try:
            self.loops = natural_loops(graph, 0)
        except Irreducible as fault:
            first = blocks[fault.node].operations
            raise Unstructured(first[0] if first else _last(blocks[0]), "irreducible") from None
        for block in blocks:
            self.defined.append(_defined(block))
            self.used.append(frozenset(name for top in block.operations for one in top.walk() for name in one.operands))
        level = self.level(frozenset(postorder(graph, 0)), None)
        return self.walk(Edge(0, ()), (), level, {EXIT: lambda args, scope: ()}, scope)[0]

    def level(self, body: frozenset[int], header: int | None) -> _Level:
        """The blocks of a loop, or of the region, with the loops in it as one block each."""
        loops = outermost(self.loops, body, header)
        inside = {one: loop.header for loop in loops.values() for one in loop.body}
        graph: dict[int, list[int]] = {}
        for one in sorted(body):
            node = inside.get(one, one)
            targets = graph.setdefault(node, [])
            following = [edge.target for edge in self.edges[one]] or [EXIT]
            targets += [EXIT if to == header or to not in body else to for to in following if inside.get(to) != node]
        return _Level(loops, post_dominators(graph, min(body) if header is None else header))

    # -- walking from block to block

    def walk(self, edge: Edge, given: Slots, level: _Level, stops: Stops, scope: Scope) -> tuple[list[Node], Slots]:
        """The nodes from an edge to a stop, and what is handed on there.

        Args:
            given: the slots of the values that the edge hands on.
        """
        self.depth += 1
        if self.depth > _DEEPEST:
            raise Unstructured(_last(self.region.blocks[edge.target]), "control_flow")
        nodes: list[Node] = []
        at = edge.target
        while at not in stops and at != EXIT:
            if at in level.loops:
                at, given = self.loop(level.loops[at], given, level, stops, scope, nodes)
            else:
                self.bind(at, given, scope)
                nodes += self.leaves(self.region.blocks[at], scope)
                at, given = self.jump(at, level, stops, scope, nodes)
            if at == _ENDED:
                self.depth -= 1
                return nodes, given
        self.depth -= 1
        return nodes, stops[at](given, scope) if at in stops else ()

    def bind(self, at: int, given: Slots, scope: Scope) -> None:
        """Enter a block: its arguments are the values that were handed on."""
        self.visited += 1
        if self.visited > _MOST * len(self.region.blocks):
            raise Unstructured(_last(self.region.blocks[at]), "control_flow")
        for argument, slot in zip(self.region.blocks[at].arguments, given, strict=False):
            scope[argument.name] = slot

    def given(self, edge: Edge, scope: Scope) -> Slots:
        return tuple(scope.get(name, 0) for name in edge.values)

    def jump(self, at: int, level: _Level, stops: Stops, scope: Scope, nodes: list[Node]) -> tuple[int, Slots]:
        """From the end of a block to where its paths meet: that block, with its values."""
        edges, last = self.edges[at], _last(self.region.blocks[at])
        if not edges:
            return EXIT, ()
        if len(edges) == 1:
            return edges[0].target, self.given(edges[0], scope)
        tests = self.tests(last, edges, scope, nodes)
        arms = [(edge, self.given(edge, scope)) for edge in edges]
        return self.choose(last, tests, arms, level.ends.get(at, EXIT), level, stops, scope, nodes)

    def tests(self, last: Operation, edges: Sequence[Edge], scope: Scope, nodes: list[Node]) -> list[int]:
        """The conditions of all edges but the last one."""
        flag = scope.get(last.operands[0], 0) if last.operands else 0
        if not last.name.endswith("switch"):
            return [flag]
        cases = _cases(last)
        if len(cases) != len(edges) - 1:
            raise Unstructured(last, "control_flow")
        return [self.equals(last, flag, case, nodes) for case in cases]

    def equals(self, operation: Operation, of: int, number: int, nodes: list[Node]) -> int:
        """The slot of whether a value is a number."""
        made: Function = lambda value: (_EQUALS(value, number),)  # noqa: E731
        slot = self.slot("i1")
        nodes.append(Leaf(operation, (of,), (slot,), made))
        return slot

    def constant(self, operation: Operation, value: int, nodes: list[Node]) -> int:
        slot = self.slot("i32")
        nodes.append(Leaf(operation, (), (slot,), lambda: (value,)))
        return slot

    def choose(
        self,
        operation: Operation,
        tests: Sequence[int],
        arms: Sequence[tuple[Edge, Slots]],
        end: int,
        level: _Level,
        stops: Stops,
        scope: Scope,
        nodes: list[Node],
    ) -> tuple[int, Slots]:
        """Branches: the first arm whose test holds, else the last one, to the block where they meet.

        Where that is outside the level, each arm goes on to a stop.
        """
        inner: Stops = stops if end == EXIT else {end: lambda args, scope: args}

        def arm(k: int) -> tuple[list[Node], Slots]:
            edge, values = arms[k]
            return self.walk(edge, values, level, inner, dict(scope))

        body, handed = arm(len(tests))
        for k in reversed(range(len(tests))):
            chosen, values = arm(k)
            wide = max(len(values), len(handed))
            both = (values + (0,) * (wide - len(values)), handed + (0,) * (wide - len(handed)))
            outputs = tuple(self.slot(self.types[a or b]) for a, b in zip(*both, strict=True))
            body, handed = [Branch(operation, tests[k], (chosen, body), both, outputs)], outputs
        nodes += body
        return (_ENDED, handed) if end == EXIT else (end, handed)

    # -- loops

    def loop(
        self, loop: NaturalLoop, given: Slots, level: _Level, stops: Stops, scope: Scope, nodes: list[Node]
    ) -> tuple[int, Slots]:
        """A loop, and the block that comes after it."""
        inner = self.level(loop.body, loop.header)
        leaving = [
            (one, edge)
            for one in sorted(loop.body)
            for edge in self.edges[one] or [Edge(EXIT, ())]
            if edge.target not in loop.body
        ]
        outside = [names for i, names in enumerate(self.used) if i not in loop.body]
        later = frozenset[str]().union(*outside)
        carried = [name for one in sorted(loop.body) for name in self.defined[one] if name in later]
        if len(leaving) == 1:
            at, edge = leaving[0]
            if len(self.edges[at]) == 2 and not any(at in one.body for one in inner.loops.values()):
                node = loop.header
                while node not in (at, EXIT):
                    node = inner.ends.get(node, EXIT)
                stay = next(one for one in self.edges[at] if one.target in loop.body)
                if node == at and (self.rotated is None or stay.target != loop.header):
                    return self.tested(loop, at, edge, carried, given, inner, scope, nodes)
                if node == at:
                    found = self.repeated(loop, at, stay, edge, carried, given, inner, scope, nodes)
                    if found is not None:
                        return found
        return self.left_anywhere(loop, leaving, carried, given, inner, level, stops, scope, nodes)

    def arguments(self, header: int, given: Slots, scope: Scope) -> Slots:
        """New places for the arguments of a header, bound in the scope."""
        block = self.region.blocks[header]
        slots = tuple(self.slot(self.type_of(block, i)) for i in range(len(block.arguments)))
        self.bind(header, slots, scope)
        return slots

    def tested(
        self,
        loop: NaturalLoop,
        at: int,
        leave: Edge,
        carried: Sequence[str],
        given: Slots,
        inner: _Level,
        scope: Scope,
        nodes: list[Node],
    ) -> tuple[int, Slots]:
        """A loop that is left at the end of one block, which each iteration passes."""
        last = _last(self.region.blocks[at])
        stay = next(edge for edge in self.edges[at] if edge.target in loop.body)
        counter = self.counter(loop, at, stay, leave, carried)
        if counter is not None:
            return self.counted(loop, *counter, stay, leave, given, inner, scope, nodes)
        inside = dict(scope)
        arguments = self.arguments(loop.header, given, inside)
        before: list[Node] = []
        if at == loop.header:
            before += self.leaves(self.region.blocks[at], inside)
        else:
            before += self.leaves(self.region.blocks[loop.header], inside)
            to, values = self.jump(loop.header, inner, {at: _as_given}, inside, before)
            if to != _ENDED:
                more, values = self.walk(Edge(to, ()), values, inner, {at: _as_given}, inside)
                before += more
            self.bind(at, values, inside)
            before += self.leaves(self.region.blocks[at], inside)
        condition = inside.get(last.operands[0], 0) if last.operands else 0
        if self.edges[at][0] is leave:
            condition = self.equals(last, condition, 0, before)
        handed = self.given(leave, inside)
        passed = (*handed, *(inside.get(name, 0) for name in carried))
        body, yields = self.walk(stay, self.given(stay, inside), inner, {loop.header: _as_given}, dict(inside))
        outputs = tuple(self.slot(self.types[slot]) for slot in passed)
        self.loop_made([*before, *body])
        nodes.append(While(last, given, arguments, before, condition, passed, (), body, yields, outputs))
        scope.update(zip(carried, outputs[len(handed) :], strict=True))
        return leave.target, outputs[: len(handed)]

    def repeated(
        self,
        loop: NaturalLoop,
        at: int,
        stay: Edge,
        leave: Edge,
        carried: Sequence[str],
        given: Slots,
        inner: _Level,
        scope: Scope,
        nodes: list[Node],
    ) -> tuple[int, Slots] | None:
        """A loop that is left at its end, after so many turns; None where it is not known how many.

        A loop that only tests a barrier goes round until it succeeds.
        """
        before = dict(scope)
        self.bind(loop.header, given, before)
        assert self.rotated is not None
        turns = self.rotated(loop, at, self.edges[at][0] is stay, before, nodes, self.region)
        if turns is None:
            return None
        last = _last(self.region.blocks[at])
        inside = dict(scope)
        arguments = self.arguments(loop.header, given, inside)
        body = self.leaves(self.region.blocks[loop.header], inside)
        if at != loop.header:
            to, values = self.jump(loop.header, inner, {at: _as_given}, inside, body)
            if to != _ENDED:
                more, values = self.walk(Edge(to, ()), values, inner, {at: _as_given}, inside)
                body += more
            self.bind(at, values, inside)
            body += self.leaves(self.region.blocks[at], inside)
        handed = self.given(leave, inside)
        passed = (*handed, *(inside.get(name, 0) for name in carried))
        nothing = (0,) * len(passed)
        kept = tuple(self.slot(self.types[slot]) for slot in passed)
        yields = (*self.given(stay, inside), *passed)
        outputs = tuple(self.slot(self.types[slot]) for slot in (*arguments, *passed))
        limits = (self.constant(last, 0, nodes), turns, self.constant(last, 1, nodes))
        index = self.slot("i32")
        nodes.append(Loop(last, limits, index, (*given, *nothing), (*arguments, *kept), body, yields, outputs))
        mine = outputs[len(arguments) :]
        scope.update(zip(carried, mine[len(handed) :], strict=True))
        return leave.target, mine[: len(handed)]

    def counter(
        self, loop: NaturalLoop, at: int, stay: Edge, leave: Edge, carried: Sequence[str]
    ) -> tuple[int, str, str] | None:
        """Which argument of the header counts, to which bound and by which step, where the header only compares it."""
        block = self.region.blocks[at]
        names = [argument.name for argument in block.arguments]
        if at != loop.header or len(block.operations) != 2 or self.edges[at][0] is not stay or len(loop.latches) != 1:
            return None
        compare, last = block.operations
        if compare.name not in _COMPARISONS or len(compare.operands) != 2 or not _is_less(compare):
            return None
        index, bound = compare.operands
        mine = {name: one for node in loop.body for name, one in self.defined[node].items()}
        flag = last.operands[0]
        if index not in names or bound in mine or [one.name for one in compare.results] != [flag]:
            return None
        back = next(edge for edge in self.edges[loop.latches[0]] if edge.target == loop.header)
        place = names.index(index)
        add = mine.get(back.values[place]) if place < len(back.values) else None
        if add is None or add.name not in _ADDITIONS or index not in add.operands or len(add.operands) != 2:
            return None
        step = add.operands[1] if add.operands[0] == index else add.operands[0]
        taken = {index, flag} & {*carried, *leave.values, *stay.values}
        return None if step in mine or taken else (place, bound, step)

    def counted(
        self,
        loop: NaturalLoop,
        place: int,
        bound: str,
        step: str,
        stay: Edge,
        leave: Edge,
        given: Slots,
        inner: _Level,
        scope: Scope,
        nodes: list[Node],
    ) -> tuple[int, Slots]:
        """A loop that counts."""
        inside = dict(scope)
        arguments = self.arguments(loop.header, given, inside)
        body, yields = self.walk(stay, self.given(stay, inside), inner, {loop.header: _as_given}, dict(inside))

        def others(slots: Slots) -> Slots:
            return slots[:place] + slots[place + 1 :]

        outputs = tuple(self.slot(self.types[slot]) for slot in others(arguments))
        limits = (given[place] if place < len(given) else 0, scope.get(bound, 0), scope.get(step, 0))
        index, last = arguments[place], _last(self.region.blocks[loop.header])
        nodes.append(Loop(last, limits, index, others(given), others(arguments), body, others(yields), outputs))
        names = [argument.name for argument in self.region.blocks[loop.header].arguments]
        scope.update(zip((*names[:place], *names[place + 1 :]), outputs, strict=False))
        return leave.target, self.given(leave, scope)

    def left_anywhere(
        self,
        loop: NaturalLoop,
        leaving: Sequence[tuple[int, Edge]],
        carried: Sequence[str],
        given: Slots,
        inner: _Level,
        level: _Level,
        stops: Stops,
        scope: Scope,
        nodes: list[Node],
    ) -> tuple[int, Slots]:
        """A loop that is left at several places: it carries whether it goes on, and else to which block."""
        block = self.region.blocks[loop.header]
        last = _last(self.region.blocks[leaving[0][0]] if leaving else block)
        targets = list(dict.fromkeys(edge.target for _, edge in leaving))
        widths = {target: len(self.region.blocks[target].arguments) if target != EXIT else 0 for target in targets}
        marks = [self.constant(last, number, nodes) for number in range(max(len(targets), 1) + 1)]
        wide = sum(widths.values())
        inside = dict(scope)
        going, where = self.slot("i1"), self.slot("i32")
        own = self.arguments(loop.header, given, inside)
        handed_on = tuple(
            self.slot(self.type_of(self.region.blocks[target], i)) for target in targets for i in range(widths[target])
        )
        kept = tuple(self.slot("") for _ in carried)
        arguments = (going, where, *own, *handed_on, *kept)

        def at_end(target: int) -> Callable[[Slots, Scope], Slots]:
            number = targets.index(target)
            start = sum(widths[one] for one in targets[:number])

            def handed(args: Slots, names: Scope) -> Slots:
                room = (0,) * start + args + (0,) * (wide - start - len(args))
                return (marks[0], marks[number], *(0 for _ in own), *room, *(names.get(name, 0) for name in carried))

            return handed

        at_latch = next((edge for at, edge in leaving if loop.latches == (at,)), None)

        def again(args: Slots, names: Scope) -> Slots:
            if at_latch is None:
                return (marks[1], marks[0], *args, *(0 for _ in handed_on), *(0 for _ in kept))
            # A run that leaves the loop by guess leaves it here: with what the way out at the end would hand on.
            number = targets.index(at_latch.target)
            start, mine = sum(widths[one] for one in targets[:number]), self.given(at_latch, names)
            handed = (0,) * start + mine + (0,) * (wide - start - len(mine))
            return (marks[1], marks[number], *args, *handed, *(names.get(name, 0) for name in carried))

        ends = {target: at_end(target) for target in targets} | {loop.header: again}
        body = self.leaves(block, inside)
        to, values = self.jump(loop.header, inner, ends, inside, body)
        if to != _ENDED:
            more, values = self.walk(Edge(to, ()), values, inner, ends, inside)
            body += more
        initial = (marks[1], marks[0], *given, *(0 for _ in handed_on), *(0 for _ in kept))
        outputs = tuple(self.slot(self.types[slot]) for slot in arguments)
        self.loop_made(body)
        nodes.append(While(last, initial, arguments, [], going, arguments, (), body, values, outputs))
        scope.update(zip(carried, outputs[len(outputs) - len(carried) :], strict=True))
        if not targets:
            return _ENDED, ()
        arms, start = [], 2 + len(own)
        for target in targets:
            arms.append((Edge(target, ()), outputs[start : start + widths[target]]))
            start += widths[target]
        if len(arms) == 1:
            return targets[0], arms[0][1]
        tests = [self.equals(last, outputs[1], number, nodes) for number in range(len(arms) - 1)]
        end = level.ends.get(loop.header, EXIT)
        return self.choose(last, tests, arms, end, level, stops, scope, nodes)


_ENDED = -2  # a walk has reached a stop already


def _as_given(args: Slots, scope: Scope) -> Slots:
    return args


def _last(block: Block) -> Operation:
    return block.operations[-1] if block.operations else _NOTHING


_NOTHING = Operation("", (), (), (), (), (), (), (), False, ("",))


def _defined(block: Block) -> dict[str, Operation | None]:
    """The values that a block defines, in order, with their operations; None of an argument."""
    found: dict[str, Operation | None] = {argument.name: None for argument in block.arguments}
    for operation in block.operations:
        for result in operation.results:
            names = [result.name] if result.count == 1 else [f"{result.name}#{i}" for i in range(result.count)]
            found.update(dict.fromkeys(names, operation))
    return found


def _is_less(compare: Operation) -> bool:
    predicate = compare.attribute("predicate")
    if predicate is not None:
        return predicate.text.partition(":")[0].strip() in _LESS_NUMBERS
    return _LESS.search(compare.pieces[0]) is not None


# A successor in custom form with the values handed on: `^bb5(%33, %32 : i32, i32)`.
_SUCCESSOR = regex(r"(\^[\w$.-]+)\s*(?:\(\s*(%[^:()]*):)?")
_CASE = regex(r"(-?\d+)\s*:\s*\^")
_NUMBERS = regex(r"-?\d+")


def _edges(block: Block, place: Mapping[str, int]) -> list[Edge]:
    """The jumps at the end of a block.

    Raises:
        Unstructured: a terminator with successors that is not known, or a block that there is not.
    """
    last = _last(block)
    if not last.successors:
        return []
    if last.name not in JUMPS:
        raise Unstructured(last, "indirect")
    if any(name not in place for name in last.successors):
        raise Unstructured(last, "control_flow")
    targets = [place[name] for name in last.successors]
    if not last.generic:
        found = [
            Edge(place[name], tuple(values.replace(",", " ").split()) if values else ())
            for name, values in _SUCCESSOR.findall(last.pieces[0])
        ]
        if [edge.target for edge in found] != targets:
            raise Unstructured(last, "control_flow")
        return _default_last(last, found)
    first = 0 if last.name.endswith(".br") else 1
    sizes = [len(last.operands)] if first == 0 else _segments(last, len(targets))
    if len(sizes) != len(targets) or sum(sizes) != len(last.operands) - first:
        raise Unstructured(last, "control_flow")
    edges = []
    for target, size in zip(targets, sizes, strict=True):
        edges.append(Edge(target, last.operands[first : first + size]))
        first += size
    return _default_last(last, edges)


def _default_last(last: Operation, edges: list[Edge]) -> list[Edge]:
    """The default of a switch, which is written first, behind the cases."""
    return [*edges[1:], edges[0]] if last.name.endswith("switch") else edges


def _segments(last: Operation, count: int) -> list[int]:
    """How many values each successor gets, in generic form."""
    sizes = list(last.groups[1:])
    if not last.name.endswith("switch"):
        return sizes
    cases = last.attribute("case_operand_segments")
    more = [int(n) for n in _NUMBERS.findall(cases.text.rpartition(":")[2])] if cases is not None else []
    return [sizes[0] if len(sizes) > 1 else 0, *(more or [0] * (count - 1))]


def _cases(last: Operation) -> list[int]:
    """The values that a switch tests for, in order."""
    values = last.attribute("case_values")
    if values is not None:
        return [int(n) for n in _NUMBERS.findall(values.text.partition(">")[0].partition("<")[2].rpartition(":")[2])]
    return [int(n) for n in _CASE.findall(last.pieces[0])]
