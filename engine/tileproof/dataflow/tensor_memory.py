"""Tensor memory: allocation and deallocation, and the permit to allocate."""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.dataflow.findings import Found, Reporter
from tileproof.ptx.graph import Graph
from tileproof.ptx.values import Values
from tileproof.ptx.vocabulary import word_of


def check_allocations(report: Reporter, graph: Graph, values: Values) -> Iterator[Found]:
    """Allocations against deallocations, and the permit."""
    allocated, freed, released = [], [], []
    statements = graph.module.instructions
    for number in range(graph.function.first, graph.function.last):
        if not statements[number].opcode.startswith("tcgen05."):
            continue
        match word_of(report.book, statements[number].opcode).name:
            case "tcgen05.alloc":
                allocated.append(number)
            case "tcgen05.dealloc":
                freed.append(number)
            case "tcgen05.relinquish_alloc_permit":
                released.append(number)
    if graph.hidden:
        return  # a function that is called may do the rest
    if not allocated and not freed:
        return
    columns = {number: values.operand(number, 1, 32).value for number in (*allocated, *freed)}
    if not freed:
        for number in allocated if graph.ends or not graph.traps else ():
            yield report("PR157", "here", number, columns=columns[number] or "")
    elif not allocated:
        for number in freed:
            yield report("PR154", "here", number)
    elif len(allocated) == 1:
        had = columns[allocated[0]]
        for number in freed:
            if had is not None and columns[number] not in (None, had):
                places = (("allocation", allocated[0]),)
                yield report("PR155", "here", number, at=places, columns=columns[number], allocated=had)
    for number in allocated:
        before = [one for one in released if _before(graph, values, one, number)]
        if before:
            yield report("PR151", "here", number, at=(("release", before[0]),))


def _before(graph: Graph, values: Values, first: int, second: int) -> bool:
    """Whether a path leads from a statement to another."""
    one, other = values.block_of[first], values.block_of[second]
    if one == other and first < second:
        return True
    todo, seen = [*graph.blocks[one].successors], set[int]()
    while todo:
        number = todo.pop()
        if number == other:
            return True
        if number not in seen:
            seen.add(number)
            todo += graph.blocks[number].successors
    return False
