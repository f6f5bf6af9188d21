"""Dominators and loops against their definitions; blocks and the tree made of them take the same paths."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from tileproof.base.source import Source
from tileproof.mlir.ir import Block, Region
from tileproof.mlir.scanner import scan
from tileproof.protocol.control_flow import (
    EXIT,
    Graph,
    Irreducible,
    dominates,
    dominators,
    natural_loops,
    post_dominators,
    postorder,
)
from tileproof.protocol.structuring import JUMPS, Structuring, Unstructured
from tileproof.protocol.tree import Branch, Leaf, Loop, Node, While

STEPS = 300  # blocks of a path; longer ones are compared up to there


@st.composite
def graphs(draw: Callable[..., Sequence[Sequence[int]]]) -> dict[int, list[int]]:
    """Up to eight nodes with at most three successors; nothing jumps to the entry."""
    count = draw(st.integers(1, 8))
    target = st.integers(1, max(count - 1, 1))
    found = draw(st.lists(st.lists(target, max_size=3), min_size=count, max_size=count))
    return {node: ([to for to in following if to < count]) for node, following in enumerate(found)}


def reached(graph: Graph, start: int, without: int | None = None) -> set[int]:
    seen, left = set(), [start] if start != without else []
    while left:
        node = left.pop()
        if node not in seen:
            seen.add(node)
            left += [to for to in graph[node] if to != without]
    return seen


def leaves_without(graph: Graph, start: int, without: int) -> bool:
    """Whether the end is reached from a node on a path that avoids another one."""
    return any(not graph[node] for node in reached(graph, start, without))


@given(graphs())
def test_a_dominator_is_on_every_path(graph):
    immediate = dominators(graph, 0)
    assert set(immediate) == reached(graph, 0) == set(postorder(graph, 0))
    for above, node in itertools.product(immediate, immediate):
        assert dominates(immediate, above, node) == (node not in reached(graph, 0, above))


@given(graphs())
def test_a_post_dominator_is_on_every_path_to_the_end(graph):
    ends = post_dominators(graph, 0)
    for node in reached(graph, 0):
        always = {one for one in reached(graph, node) if one != node and not leaves_without(graph, node, one)}
        if not leaves_without(graph, node, EXIT):
            assert node not in ends  # it never ends
        elif ends[node] == EXIT:
            assert not always
        else:
            assert always <= {ends[node]} | {one for one in always if not leaves_without(graph, ends[node], one)}
            assert ends[node] in always


def reducible(graph: Graph) -> bool:
    """Whether a graph comes down to one node, by the definition: drop self loops, merge a node into its only source."""
    nodes = reached(graph, 0)
    edges = {(a, b) for a in nodes for b in graph[a]}
    changed = True
    while changed:
        changed = False
        edges = {(a, b) for a, b in edges if a != b}
        for node in nodes - {0}:
            sources = {a for a, b in edges if b == node}
            if len(sources) == 1:
                (into,) = sources
                edges = {(into if a == node else a, into if b == node else b) for a, b in edges} - {(into, into)}
                nodes = nodes - {node}
                changed = True
                break
    return len(nodes) == 1


@given(graphs())
def test_loops_are_natural_or_refused(graph):
    try:
        loops = natural_loops(graph, 0)
    except Irreducible:
        assert not reducible(graph)
        return
    assert reducible(graph)
    for loop in loops.values():
        for node in loop.body:
            assert node == loop.header or loop.header in reached(graph, node)
        outside = reached(graph, 0) - loop.body
        assert not any(reached(graph, node, loop.header) & set(loop.latches) for node in outside - {0})
        assert all(loop.header in graph[latch] for latch in loop.latches)


# ------------------------------------------------------------------------------------------- blocks against their tree


def region(graph: Graph) -> Region:
    """Blocks ``^bbN(%aN)`` that trace themselves and hand on the value ``%vN`` that they make, and one made before."""
    lines = []
    for node, following in graph.items():
        if node:
            lines.append(f"^bb{node}(%a{node}: i32):")
        lines.append(f'%v{node}, %c{node} = "test.trace"() : () -> (i32, i32)')
        edges = [f"^bb{to}(%v{node} : i32)" for to in following]
        if not edges:
            lines.append('"test.return"() : () -> ()')
        elif len(edges) == 1:
            lines.append(f"cf.br {edges[0]}")
        elif len(edges) == 2:
            lines.append(f"cf.cond_br %c{node}, {edges[0]}, {edges[1]}")
        else:
            cases = ", ".join(f"{k}: {edge}" for k, edge in enumerate(edges[1:]))
            lines.append(f"cf.switch %c{node} : i32, [default: {edges[0]}, {cases}]")
    module = scan(Source("x", "func.func @f() {\n" + "\n".join(lines) + "\n}\n"))
    assert not module.faults
    return module.module.operations[0].regions[0]


class Decisions:
    """What each visit of a node decides: the same whichever way the graph is run."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.visits: Counter[int] = Counter()

    def take(self, node: int) -> int:
        self.visits[node] += 1
        return random.Random(f"{self.seed} {node} {self.visits[node]}").randrange(3)


class Enough(Exception):
    """A path is as long as it may be."""


def by_blocks(graph: Graph, seed: int) -> list[tuple[int, object]]:
    """The nodes that a run visits, each with the value that it was given."""
    decisions, trace = Decisions(seed), list[tuple[int, object]]()
    node, value = 0, None
    while len(trace) < STEPS:
        trace.append((node, value))
        decided = decisions.take(node)
        value = (node, len(trace))
        following = graph[node]
        if not following:
            break
        if len(following) == 2:
            node = following[0 if decided else 1]
        elif len(following) == 3:
            node = following[{0: 1, 1: 2}.get(decided, 0)]
        else:
            node = following[0]
    return trace


def tree(graph: Graph) -> tuple[list[Node], int]:
    types = [""]

    def slot(text: str) -> int:
        types.append(text)
        return len(types) - 1

    def leaves(block: Block, scope: dict[str, int]) -> Iterator[Node]:
        made: list[Node] = []
        for operation in block.operations:
            if operation.name == "test.trace":
                given = tuple(scope[one.name] for one in block.arguments)
                outputs = tuple(slot("i32") for _ in operation.results)
                scope.update(zip([one.name for one in operation.results], outputs, strict=True))
                made.append(Leaf(operation, given, outputs, None))
            else:
                assert operation.name in JUMPS | {"test.return"}
        return made

    def made(nodes: list[Node]) -> None:
        assert nodes is not None

    one = Structuring(region(graph), leaves, slot, types, lambda block, i: "i32", made)
    return one.nodes({}), len(types)


def by_tree(nodes: list[Node], slots: int, seed: int) -> list[tuple[int, object]]:
    decisions, trace = Decisions(seed), list[tuple[int, object]]()
    values: list[object] = [None] * slots

    def move(to: Sequence[int], source: Sequence[int]) -> None:
        read = [values[one] for one in source]
        for one, value in zip(to, read, strict=False):
            values[one] = value

    def leaf(node: Leaf) -> None:
        if node.function is not None:
            for one, value in zip(node.outputs, node.function(*(values[i] for i in node.inputs)), strict=True):
                values[one] = value
            return
        if len(trace) == STEPS:
            raise Enough
        number = int(node.operation.results[0].name.removeprefix("%v"))
        trace.append((number, values[node.inputs[0]] if node.inputs else None))
        values[node.outputs[0]] = (number, len(trace))
        values[node.outputs[1]] = decisions.take(number)

    def run(nodes: Sequence[Node]) -> None:
        for node in nodes:
            match node:
                case Leaf():
                    leaf(node)
                case Branch():
                    side = 0 if values[node.condition] else 1
                    run(node.bodies[side])
                    move(node.outputs, node.yields[side])
                case While():
                    move(node.arguments, node.initial)
                    while True:
                        run(node.before)
                        if not values[node.condition]:
                            break
                        run(node.body)
                        move(node.arguments, node.yields)
                    move(node.outputs, node.passed)
                case Loop():
                    raise AssertionError("nothing counts here")

    with suppress(Enough):
        run(nodes)
    return trace


@settings(max_examples=150)
@given(graphs(), st.integers(0, 99))
def test_the_tree_takes_the_paths_of_the_blocks(graph, seed):
    try:
        nodes, slots = tree(graph)
    except Unstructured as fault:
        assert fault.case != "irreducible" or not reducible(graph)
        assert fault.case in ("irreducible", "control_flow")
        return
    assert by_tree(nodes, slots, seed) == by_blocks(graph, seed)
