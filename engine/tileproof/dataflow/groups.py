"""Asynchronous instructions that some path must complete: that a commit and a wait can follow each copy and each MMA.

Branches of a kernel are correlated, so a path through the graph on which a copy is not waited for proves nothing. What
no path at all completes is wrong. Which copy a wait must cover before memory is read needs addresses.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator

from tileproof.base.records import dataclass
from tileproof.dataflow.findings import Found, Reporter
from tileproof.ptx.graph import Graph
from tileproof.ptx.module import Statement
from tileproof.ptx.values import Values
from tileproof.ptx.vocabulary import word_of
from tileproof.rulebase.book import Rulebook

_MOST = 16  # groups that are told apart; a wait that leaves more waits for nothing
_OPEN = -1


@dataclass(frozen=True, slots=True)
class Event:
    """What one statement does to a group.

    Attributes:
        kind: ``issue``, ``commit``, ``wait``, or ``all``, which completes what is committed or not.
        pending: of a wait how many groups it leaves.
    """

    number: int
    kind: str
    pending: int = 0


@dataclass(frozen=True, slots=True)
class Family:
    """Instructions of one kind of group.

    Attributes:
        kind: what a statement is to it; empty for nothing.
        wait: the instruction whose operand says how many groups it leaves; empty where commits complete all.
    """

    kind: Callable[[Rulebook, Statement], str]
    wait: str


def _async(book: Rulebook, statement: Statement) -> str:
    match word_of(book, statement.opcode).name:
        case "cp.async":
            return "issue"
        case "cp.async.commit_group":
            return "commit"
        case "cp.async.wait_group":
            return "wait"
        case "cp.async.wait_all" | "cp.async.mbarrier.arrive":
            return "all"
    return ""


def _bulk(book: Rulebook, statement: Statement) -> str:
    match word_of(book, statement.opcode).name:
        case "cp.async.bulk.commit_group":
            return "commit"
        case "cp.async.bulk.wait_group":
            return "wait"
    return "issue" if ".bulk_group" in statement.opcode else ""


def _tensor(book: Rulebook, statement: Statement) -> str:
    match word_of(book, statement.opcode).name:
        case "tcgen05.mma" | "tcgen05.mma.ws" | "tcgen05.cp" | "tcgen05.shift":
            return "issue"
        case "tcgen05.commit":
            return "all"
    return ""


_ASYNC = Family(_async, "cp.async.wait_group")
_BULK = Family(_bulk, "cp.async.bulk.wait_group")
_TENSOR = Family(_tensor, "")


class _Lives:
    """The events of one family in a function."""

    def __init__(self, report: Reporter, graph: Graph, values: Values, family: Family) -> None:
        self.report = report
        self.graph = graph
        self.blocks: list[list[Event]] = []
        self.kinds: set[str] = set()
        kinds: dict[str, str] = {}
        statements = graph.module.instructions
        for block in graph.blocks:
            found = []
            for number in range(block.first, block.last):
                opcode = statements[number].opcode
                kind = kinds.get(opcode)
                if kind is None:
                    kind = kinds[opcode] = family.kind(report.book, statements[number])
                if number in graph.hidden:
                    kind = "all"
                if kind:
                    pending = values.operand(number, 0, 32).value if kind == "wait" else 0
                    found.append(Event(number, kind, pending if pending is not None else 0))
                    self.kinds.add(kind)
            self.blocks.append(found)

    def unfinished(self) -> Iterator[tuple[Event, str]]:
        """What no path completes, with how far it comes on any: ``issued`` or ``committed``."""
        known: dict[tuple[int, int], str] = {}
        reached = set(self.graph.order)
        for number, events in enumerate(self.blocks):
            if number not in reached:
                continue
            for i, event in enumerate(events):
                if event.kind == "issue":
                    after = i + 1
                    while after < len(events) and events[after].kind == "issue":
                        after += 1
                    if (number, after) not in known:
                        known[number, after] = self.fate(number, after)
                    if known[number, after] != "done":
                        yield event, known[number, after]

    def fate(self, block: int, after: int) -> str:
        """How far something that was issued in a block before its event of a number comes: ``done``, or as above.

        Where paths end in traps alone nothing is left undone.
        """
        committed = ended = trapped = False
        todo = [(block, after, _OPEN)]
        seen: set[tuple[int, int]] = set()
        while todo:
            number, first, age = todo.pop()
            for event in self.blocks[number][first:]:
                if event.kind == "all" or (event.kind == "wait" and age >= event.pending):
                    return "done"
                if event.kind == "commit":
                    committed = True
                    age = min(age + 1, _MOST)
            ended |= number in self.graph.ends
            trapped |= number in self.graph.traps
            for one in self.graph.blocks[number].successors:
                if (one, age) not in seen:
                    seen.add((one, age))
                    todo.append((one, 0, age))
        return "done" if trapped and not ended else "committed" if committed else "issued"


def check_async_copies(report: Reporter, graph: Graph, values: Values) -> Iterator[Found]:
    """cp.async copies that nothing waits for."""
    for event, fate in _Lives(report, graph, values, _ASYNC).unfinished():
        if fate == "issued":
            yield report("PR108", "ended", event.number)
        else:
            yield report("PR109", "here", event.number)


def check_bulk_stores(report: Reporter, graph: Graph, values: Values) -> Iterator[Found]:
    """Bulk stores that nothing waits for: of those in a block that one wait would cover the last."""
    lives = _Lives(report, graph, values, _BULK)
    starts = [block.first for block in graph.blocks]
    last: dict[tuple[int, str, str], int] = {}
    waits = "wait" in lives.kinds
    for event, fate in lives.unfinished():
        block = bisect_right(starts, event.number)
        if fate == "committed":
            last[(block, "PR106", "here") if waits else (block, "PR107", "unwaited")] = event.number
        elif waits:
            yield report("PR105", "here", event.number)
        else:
            last[block, "PR107", "uncommitted"] = event.number
    for (_, code, case), number in last.items():
        yield report(code, case, number)


def check_tensor_cores(report: Reporter, graph: Graph, values: Values) -> Iterator[Found]:
    """tcgen05 operations that no tcgen05.commit follows."""
    for event, _ in _Lives(report, graph, values, _TENSOR).unfinished():
        yield report("PR119", "here", event.number)
