"""wgmma in PTX along all paths: what filled slots leave wrong there, and which waits would repair it.

The machine does not follow registers of PTX; the check of paths does (``dataflow.wgmma``). An access to registers that
a wgmma may still use is repaired by a wait at a place that every path from the wgmma to the access comes by, which may
leave as many groups in flight as were committed on any of these paths after that of the wgmma.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush

from tileproof.base.diagnostic import Diagnostic
from tileproof.base.source import Source
from tileproof.dataflow.findings import Reporter
from tileproof.dataflow.wgmma import Event, Wgmma
from tileproof.protocol.faults import ProtocolFault
from tileproof.ptx.graph import Graph
from tileproof.ptx.module import Module
from tileproof.rulebase.book import Rulebook
from tileproof.scheduling.needs import Need
from tileproof.scheduling.plan import Insertion

_QUEUE = "wgmma"
_GROUPS = 64  # that are told apart: at first each wgmma is one


class WgmmaPaths:
    """The wgmma of the functions of a text with slots.

    Args:
        slots: the offset of each slot by the number of its statement.
    """

    def __init__(
        self, book: Rulebook, source: Source, graphs: Iterable[Graph], module: Module, slots: Mapping[int, int]
    ) -> None:
        report = Reporter(book, source, module)
        self.checked = [
            _Function(Wgmma(report, graph, _GROUPS), graph, slots) for graph in graphs if _multiplies(graph)
        ]
        self.numbers = {start: number for number, start in slots.items()}

    def fill(self, filled: Mapping[int, Sequence[Insertion]]) -> None:
        """Let slots do what is inserted there."""
        for one in self.checked:
            one.fill([(self.numbers[slot], held) for slot, held in filled.items()])

    def found(self, made: Callable[[Diagnostic], ProtocolFault | None]) -> Iterator[ProtocolFault]:
        """What is wrong, each cause once."""
        for one in self.checked:
            for diagnostic in one.wgmma.check():
                fault = made(diagnostic)
                if fault is not None:
                    yield fault

    def needs(self) -> set[Need]:
        """The waits that are missing."""
        found: set[Need] = set()
        for one in self.checked:
            wanted = dict.fromkeys(one.wgmma.awaited())
            found.update(filter(None, (one.need(issue, at) for issue, at in wanted)))
        return found


def first_accesses(book: Rulebook, source: Source, graph: Graph) -> set[int]:
    """The offsets of the statements that access registers of some wgmma, of many in sequence that of the first."""
    if not _multiplies(graph):
        return set()
    found = set()
    for events in Wgmma(Reporter(book, source, graph.module), graph).events:
        before = ""
        for event in events:
            if event.kind == "access" != before:
                found.add(graph.module.instructions[event.number].start)
            before = event.kind
    return found


def _multiplies(graph: Graph) -> bool:
    first, last = graph.function.first, graph.function.last
    return any(one.opcode.startswith("wgmma.mma") for one in graph.module.instructions[first:last])


class _Function:
    def __init__(self, wgmma: Wgmma, graph: Graph, slots: Mapping[int, int]) -> None:
        self.wgmma = wgmma
        self.graph = graph
        self.home = {i: block.number for block in graph.blocks for i in range(block.first, block.last)}
        self.slots: dict[int, list[int]] = {}  # numbers of the statements, by block
        for number in sorted(slots):
            if number in self.home:
                self.slots.setdefault(self.home[number], []).append(number)
        self.start = slots
        self.commits: dict[int, list[int]] = {}
        self.known: dict[tuple[int, int, int, bool], Need | None] = {}

    def fill(self, filled: Iterable[tuple[int, Sequence[Insertion]]]) -> None:
        events = []
        for number, held in filled:
            mine = [one for one in held if one.kind.queue == _QUEUE and number in self.home]
            events += [Event(number, one.kind.role[1:], pending=one.pending) for one in mine]
        self.wgmma.insert(events)
        self.commits = {}
        self.known = {}
        for block, found in enumerate(self.wgmma.events):
            numbers = [event.number for event in found if event.kind == "commit"]
            if numbers:
                self.commits[block] = numbers

    def need(self, issue: int, at: int) -> Need | None:
        """The slots of which one must have a wait, the latest first, and what a wait there may leave in flight."""
        first, last = self.home[issue], self.home[at]
        before = sum(one < at for one in self.slots.get(last, ()))
        known = (issue, last, before, issue < at)
        if known not in self.known:
            found = {}
            groups = self.groups(issue)
            for slot in reversed(list(self.between(issue, at, first, last))):
                committed = self.committed(issue, slot, groups)
                if committed:
                    found[self.start[slot]] = committed - 1
            self.known[known] = tuple(found.items()) or None
        return self.known[known]

    def between(self, issue: int, at: int, first: int, last: int) -> Iterator[int]:
        """The slots on every path from a statement to another, in the order in which paths come to them."""
        if first == last and issue < at:
            yield from (one for one in self.slots.get(first, ()) if issue < one < at)
            return
        distance = self.reached(first, last, -1)
        if last not in distance:
            return
        yield from (one for one in self.slots.get(first, ()) if one > issue)
        for block in sorted(distance, key=lambda one: distance[one]):
            if block in self.slots and block not in (first, last) and last not in self.reached(first, last, block):
                yield from self.slots[block]
        yield from (one for one in self.slots.get(last, ()) if one < at)

    def reached(self, first: int, last: int, without: int) -> dict[int, int]:
        """The blocks that paths from the end of a block come to, at most to another and not by a third, by distance."""
        found: dict[int, int] = {}
        todo = [(one, 1) for one in self.graph.blocks[first].successors]
        while todo:
            more = []
            for block, steps in todo:
                if block == without or block in found:
                    continue
                found[block] = steps
                if block != last:
                    more += [(one, steps + 1) for one in self.graph.blocks[block].successors]
            todo = more
        return found

    def groups(self, issue: int) -> dict[int, int]:
        """The fewest groups that may be committed from a statement to the beginning of each block."""
        first = self.home[issue]
        own = sum(one > issue for one in self.commits.get(first, ()))
        todo = [(own, one) for one in self.graph.blocks[first].successors]
        todo.sort()
        found: dict[int, int] = {}
        while todo:
            count, block = heappop(todo)
            if block in found:
                continue
            found[block] = count
            for one in self.graph.blocks[block].successors:
                heappush(todo, (count + len(self.commits.get(block, ())), one))
        return found

    def committed(self, issue: int, slot: int, groups: Mapping[int, int]) -> int:
        """The fewest groups that may be committed between a statement and a slot."""
        block = self.home[slot]
        commits = self.commits.get(block, ())
        if block == self.home[issue] and issue < slot:
            return sum(issue < one <= slot for one in commits)
        return groups.get(block, 0) + sum(one <= slot for one in commits)


__all__ = ["WgmmaPaths", "first_accesses"]
