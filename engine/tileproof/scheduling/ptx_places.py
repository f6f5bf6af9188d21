"""A kernel in PTX as nested operations, and the places between its statements.

The blocks of a function are put in the order in which threads come to them: what is between a branch and the block
where its paths meet is a condition, a natural loop is a loop. So the search sees the same structure as in IR. The text
stays as it is: a place is the beginning of a line, where whatever is inserted is executed by the threads that come from
the operation before to the one behind. Where the text has no such line there is no place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from re import Pattern

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field, replace
from tileproof.base.source import Source, Span
from tileproof.mlir.ir import Block, Operation, Region
from tileproof.protocol.control_flow import EXIT, post_dominators
from tileproof.ptx.graph import Graph, Loop
from tileproof.ptx.vocabulary import word_of
from tileproof.scheduling.edits import Gap, InsertionPoints

_NONE = Operation("", (), (), (), (), (), (), (), False, ("",))
_INDENT = regex(r"[ \t]*")
_REST = regex(r"[ \t\r]*(//.*)?$")
# Lines that belong to the statement below; the last two, where it is the first one in a block of its own.
_BEFORE = regex(r"[ \t]*(// begin inline asm|\.loc\b.*?)[ \t\r]*")
_OPENING = regex(r"[ \t]*(// begin inline asm|\.loc\b.*?|\{|(\{[ \t]*)?(\.reg\b[^;{}]*;[ \t]*)+)?[ \t\r]*")
_BEHIND = regex(r"[ \t]*// end inline asm[ \t\r]*")
_DEEP = 200  # conditions inside each other that are told apart


@dataclass(frozen=True, slots=True)
class Nested:
    """A kernel as an operation.

    Attributes:
        loops: the header of each loop, by the offset at which its operation starts; -1 where threads leave a loop for
            several blocks, a condition that no statement of its own decides.
        numbers: the statement that each other operation starts with.
    """

    kernel: Operation
    loops: Mapping[int, int]
    numbers: Mapping[int, int]


def nested(graph: Graph, kernel: Operation, steps: Mapping[int, Operation]) -> Nested:
    """A function as nested operations.

    Args:
        kernel: the operation that it is to be.
        steps: the operations of the protocol that statements are, by the offsets at which these start.
    """
    maker = _Maker(graph, steps)
    inside = maker.region(0, frozenset(graph.order))
    body = replace(kernel, regions=(Region((Block(None, (), inside),)),) if inside else ())
    return Nested(body, maker.loops, maker.numbers)


@dataclass(slots=True)
class _Maker:
    graph: Graph
    steps: Mapping[int, Operation]
    loops: dict[int, int] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)
    follow: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        doomed = self.graph.doomed
        for block in self.graph.blocks:  # no thread of a correct kernel goes to a trap
            self.follow[block.number] = tuple(one for one in block.successors if one not in doomed) or block.successors

    def region(self, entry: int, blocks: frozenset[int], depth: int = 0) -> tuple[Operation, ...]:
        """The operations of a kernel, or of one turn of a loop; loops inside are one operation each."""
        inner: dict[int, Loop] = {}
        home: dict[int, int] = {}
        for loop in sorted(self.graph.loops, key=lambda one: -len(one.blocks)):
            if loop.blocks < blocks and loop.header != entry and loop.header not in home:
                inner[loop.header] = loop
                home.update(dict.fromkeys(loop.blocks, loop.header))
        edges: dict[int, list[int]] = {}
        for number in self.graph.order:
            if number not in blocks:
                continue
            mine = home.get(number, number)
            held = edges.setdefault(mine, [])
            for one in self.follow[number]:
                to = EXIT if one not in blocks or one == entry else home.get(one, one)
                if to != mine and to not in held:
                    held.append(to)
        ends = post_dominators({one: after or [EXIT] for one, after in edges.items()}, entry)
        return tuple(self.sequence(entry, EXIT, edges, ends, inner, depth))

    def sequence(
        self,
        node: int,
        stop: int,
        edges: Mapping[int, Sequence[int]],
        ends: Mapping[int, int],
        inner: Mapping[int, Loop],
        depth: int,
    ) -> list[Operation]:
        """What is executed from a block on until another one."""
        found: list[Operation] = []
        while node not in (stop, EXIT):
            after = edges[node]
            divides = len(after) > 1 and depth < _DEEP
            start = self.loop(inner[node], found, depth) if node in inner else self.block(node, divides, found)
            if not divides:
                node = after[0] if after else EXIT
                continue
            end = ends.get(node, EXIT)
            arms = [self.sequence(one, end, edges, ends, inner, depth + 1) for one in after if one != end]
            regions = tuple(Region((Block(None, (), tuple(arm)),)) for arm in arms if arm)
            if regions:
                found.append(self.made("scf.if", start, regions))
            node = end
        return found

    def block(self, number: int, divides: bool, found: list[Operation]) -> Span:
        """The statements of a block; the branch at its end is that of a condition where paths divide there."""
        block = self.graph.blocks[number]
        statements = self.graph.module.instructions
        for i in range(block.first, block.last):
            one = statements[i]
            self.numbers[one.start] = i
            if divides and i == block.last - 1:
                continue
            span = Span(one.start, one.end)
            known = self.steps.get(one.start)
            found.append(known or self.made(one.opcode, span, ()))
        last = statements[block.last - 1]
        return Span(last.start, last.end)

    def loop(self, loop: Loop, found: list[Operation], depth: int) -> Span:
        """A loop, from its label on."""
        first = self.graph.blocks[loop.header].first
        label = next(one for one in self.graph.function.labels if one.statement == first)
        inside = self.region(loop.header, loop.blocks, depth + 1)
        self.loops[label.start] = loop.header
        found.append(self.made("scf.while", Span(label.start, label.start), (Region((Block(None, (), inside),)),)))
        self.loops[label.start + 1] = -1
        return Span(label.start + 1, label.start + 1)

    @staticmethod
    def made(name: str, span: Span, regions: tuple[Region, ...]) -> Operation:
        return replace(_NONE, name=name, regions=regions, pieces=(name,), span=span, name_span=span)


class PtxPoints(InsertionPoints):
    """The insertion points of a text in PTX.

    Attributes:
        acting: the offsets at which the statements start that are steps of the protocol.
    """

    def __init__(
        self, source: Source, graphs: Sequence[Graph], kernels: Sequence[Nested], acting: Collection[int]
    ) -> None:
        super().__init__(source, [one.kernel for one in kernels])
        self.acting = acting
        self.loops: dict[int, tuple[Graph, int]] = {}
        self.numbers: dict[int, tuple[Graph, int]] = {}
        for graph, one in zip(graphs, kernels, strict=True):
            self.loops.update({start: (graph, header) for start, header in one.loops.items()})
            self.numbers.update({start: (graph, number) for start, number in one.numbers.items()})

    def gap(self, block: Block, index: int) -> Gap | None:
        """The place before the operation at an index; None where no line is executed just there."""
        operations = block.operations
        if index < len(operations):
            at = operations[index].span.start
            found = self._entering(*self.loops[at]) if at in self.loops else self._before(*self.numbers[at])
        else:
            at = operations[-1].span.start
            found = None if at in self.loops or operations[-1].regions else self._behind(*self.numbers[at])
        if found is None:
            return None
        offset, indent = found
        return Gap(operations[0].span.start, index, offset, indent, "ptx")

    def _before(self, graph: Graph, number: int) -> tuple[int, str] | None:
        """A line that threads come to directly before a statement, and what it begins with.

        In inline assembly it is that of the whole, where nothing in it before the statement is a step.
        """
        whole = self._opening(graph, number)
        if whole is not None:
            return whole
        text, start = self.source.text, graph.module.instructions[number].start
        line = text.rfind("\n", 0, start) + 1
        indent = text[line:start]
        return None if indent.strip() else (self._above(line, _BEFORE), indent)

    def _opening(self, graph: Graph, number: int) -> tuple[int, str] | None:
        """The line before the block inside a function that a statement is in; None where there is none."""
        statements, text = graph.module.instructions, self.source.text
        scope = statements[number].scope
        first = number
        while first > graph.function.first and statements[first - 1].scope is scope:
            first -= 1
            one = statements[first]
            if one.start in self.acting or word_of(graph.book, one.opcode).jump:
                return None
        if scope is graph.function.scope or scope.labels:
            return None
        line = text.rfind("\n", 0, statements[first].start) + 1
        if _OPENING.fullmatch(text, line, statements[first].start) is None:
            return None
        line = self._above(line, _OPENING)
        opened = text[line : statements[first].start]
        indent = _INDENT.match(opened)
        return (line, indent[0]) if opened.count("{") == 1 and indent is not None else None

    def _above(self, line: int, belongs: Pattern[str]) -> int:
        """The beginning of the lines above one that belong to it."""
        text = self.source.text
        while line and belongs.fullmatch(text, above := text.rfind("\n", 0, line - 1) + 1, line - 1):
            line = above
        return line

    def _behind(self, graph: Graph, number: int) -> tuple[int, str] | None:
        """The line behind the last statement of a block; the line of a jump that is the last."""
        text, one = self.source.text, graph.module.instructions[number]
        if word_of(graph.book, one.opcode).jump:
            return self._before(graph, number)
        found = self._before(graph, number)
        end = text.find("\n", one.end)
        if found is None or end < 0 or _REST.match(text[one.end : end]) is None:
            return None
        following = text.find("\n", end + 1)
        if following >= 0 and _BEHIND.fullmatch(text, end + 1, following):
            end = following
        return end + 1, found[1]

    def _entering(self, graph: Graph, header: int) -> tuple[int, str] | None:
        """A line that threads come to when they enter a loop, and only then."""
        if header < 0:
            return None
        loop = next(one for one in graph.loops if one.header == header)
        before = [one for one in graph.blocks[header].predecessors if one not in loop.blocks]
        if len(before) != 1:
            return None
        number = graph.blocks[before[0]].last - 1
        last = graph.module.instructions[number]
        jump = word_of(graph.book, last.opcode).jump
        if jump and not last.guard:
            return self._before(graph, number) if jump == "branch" else None
        block, following = graph.blocks[before[0]], graph.blocks[header]
        if block.last != following.first or (jump and block.successors[0] != header):
            return None
        label = next(one for one in graph.function.labels if one.statement == following.first)
        text = self.source.text
        line, near = text.rfind("\n", 0, label.start) + 1, self._before(graph, number)
        return None if text[line : label.start].strip() or near is None else (line, near[1])


__all__ = ["Nested", "PtxPoints", "nested"]
