"""Control-flow graphs: dominators, post-dominators, natural loops.

A graph is a mapping from each node to its successors, in their order. A successor that is no node of the graph leaves
it, and so does a node without successors: ``EXIT`` stands for what comes then. Nodes are numbers, so that blocks of
MLIR and of PTX serve alike. Nodes that the entry does not reach are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tileproof.base.records import dataclass

EXIT = -1  # no node has this number

Graph = Mapping[int, Sequence[int]]


class Irreducible(Exception):
    """A loop is entered at more than one of its nodes; ``node`` is one of these."""

    def __init__(self, node: int) -> None:
        super().__init__(f"a jump enters a loop at node {node}, which is not its header")
        self.node = node


@dataclass(frozen=True, slots=True)
class NaturalLoop:
    """The nodes from which a back edge to ``header`` is reached without passing the header.

    Attributes:
        body: all nodes of the loop, the header and those of loops inside it among them.
        latches: the nodes that jump back, in the order of their numbers.
    """

    header: int
    body: frozenset[int]
    latches: tuple[int, ...]


def postorder(graph: Graph, entry: int) -> list[int]:
    """The nodes that the entry reaches, each after its successors where no back edge is between."""
    found: list[int] = []
    seen = {entry}
    left = [(entry, iter(graph.get(entry, ())))]
    while left:
        node, successors = left[-1]
        following = next((one for one in successors if one in graph and one not in seen), None)
        if following is None:
            found.append(node)
            left.pop()
        else:
            seen.add(following)
            left.append((following, iter(graph[following])))
    return found


def dominators(graph: Graph, entry: int) -> dict[int, int]:
    """The immediate dominator of each node that the entry reaches; the entry is its own.

    By Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
    """
    order = postorder(graph, entry)
    rank = {node: i for i, node in enumerate(order)}
    before: dict[int, list[int]] = {node: [] for node in order}
    for node in order:
        for following in graph[node]:
            if following in rank:
                before[following].append(node)
    found = {entry: entry}
    changed = True
    while changed:
        changed = False
        for node in reversed(order):
            if node == entry:
                continue
            best: int | None = None
            for one in before[node]:
                if one in found:
                    best = one if best is None else _common(one, best, found, rank)
            if best is not None and found.get(node) != best:
                found[node] = best
                changed = True
    return found


def _common(a: int, b: int, immediate: Mapping[int, int], rank: Mapping[int, int]) -> int:
    """The nearest node that dominates both."""
    while a != b:
        while rank[a] < rank[b]:
            a = immediate[a]
        while rank[b] < rank[a]:
            b = immediate[b]
    return a


def post_dominators(graph: Graph, entry: int) -> dict[int, int]:
    """The immediate post-dominator of each node from which the graph is left, ``EXIT`` where the paths never meet."""
    reverse: dict[int, list[int]] = {EXIT: []}
    nodes = postorder(graph, entry)
    for node in nodes:
        reverse.setdefault(node, [])
    known = set(nodes)
    for node in nodes:
        following = graph[node]
        if not following:
            reverse[EXIT].append(node)
        for one in following:
            reverse[one if one in known else EXIT].append(node)
    found = dominators(reverse, EXIT)
    return {node: found[node] for node in nodes if node in found}


def dominates(immediate: Mapping[int, int], above: int, node: int) -> bool:
    """Whether every path from the entry to a node passes ``above``."""
    while node != above:
        up = immediate.get(node, node)
        if up == node:
            return False
        node = up
    return True


def natural_loops(graph: Graph, entry: int) -> dict[int, NaturalLoop]:
    """The loops of a graph, by header; loops with one header are one loop.

    Raises:
        Irreducible: a jump back goes to a node that does not dominate it.
    """
    order = postorder(graph, entry)
    rank = {node: i for i, node in enumerate(order)}
    immediate = dominators(graph, entry)
    latches: dict[int, list[int]] = {}
    before: dict[int, list[int]] = {node: [] for node in order}
    for node in reversed(order):
        for following in graph[node]:
            if following not in rank:
                continue
            before[following].append(node)
            if rank[following] >= rank[node]:
                if not dominates(immediate, following, node):
                    raise Irreducible(following)
                latches.setdefault(following, []).append(node)
    return {
        header: NaturalLoop(header, _body(header, ends, before), tuple(sorted(set(ends))))
        for header, ends in latches.items()
    }


def _body(header: int, latches: Iterable[int], before: Mapping[int, Sequence[int]]) -> frozenset[int]:
    body = {header}
    left = [node for node in latches if node != header]
    while left:
        node = left.pop()
        if node not in body:
            body.add(node)
            left += before[node]
    return frozenset(body)


def outermost(loops: Mapping[int, NaturalLoop], within: frozenset[int], header: int | None) -> dict[int, NaturalLoop]:
    """The loops in some nodes that are in no other loop there; ``header`` is that of the loop that the nodes are."""
    inside = [loop for loop in loops.values() if loop.header in within and loop.header != header]
    return {loop.header: loop for loop in inside if not any(loop.header in o.body for o in inside if o is not loop)}
