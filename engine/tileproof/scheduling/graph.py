"""The asynchronous graph of a text: what each operation of the protocol touches, and the order between them.

A node is an operation in the text. An edge ``order`` says that the machine ran one directly after the other in one
thread set (so a back edge of a loop is one as well); ``issue`` leads from an operation to the commit of its group and
``wait`` from an operation to the wait that completed it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import networkx as nx

from tileproof.base.source import Source
from tileproof.judge.launches import StatedLaunch, of_kernel
from tileproof.mlir.scanner import scan
from tileproof.protocol.actions import ACTIONS
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.structuring import Unstructured
from tileproof.protocol.values import Address
from tileproof.protocol.verify import function_studies, verify
from tileproof.protocol.warps import ThreadSet
from tileproof.ptx.graph import Graphs
from tileproof.ptx.module import is_ptx, read_module
from tileproof.rulebase.book import Rulebook

Step = Callable[[Machine, ThreadSet, Instruction], int]
_QUIET = (
    "index",
    "allocate",
    "peer",
    "elect",
    "finish",
    "registers",
    "tmem_address",
    "read",
    "register_read",
    "write",
    "opaque",
)
_QUEUES = ("wgmma", "bulk", "async")


class Recorder:
    """Watches the machine and draws what it does.

    Attributes:
        as_written: whether operations are named as the text spells them: those of PTX have no name of their own.
    """

    def __init__(self, source: Source, as_written: bool = False) -> None:
        self.source = source
        self.as_written = as_written
        self.graph: Any = nx.MultiDiGraph()
        self.last: dict[int, int] = {}

    def watched(self, name: str, action: Step) -> Step:
        """An action that is drawn as well."""

        def run(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
            flying = {q: _operations(thread_set, q, opened=True) for q in _QUEUES}
            opened = {q: _operations(thread_set, q, opened=None) for q in _QUEUES}
            went = action(machine, thread_set, instruction)
            if went < 0 or name in _QUIET:
                return went
            node = self.node(name, machine, thread_set, instruction)
            for queue in _QUEUES:
                if name == f"{queue}_commit":
                    self.edges(opened[queue], node, "issue")
                elif name == f"{queue}_wait":
                    self.edges(flying[queue] - _operations(thread_set, queue, opened=True), node, "wait")
            if (before := self.last.get(id(thread_set))) is not None:
                self.edges({before}, node, "order")
            self.last[id(thread_set)] = node
            return went

        return run

    def node(self, name: str, machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
        operation = instruction.operation
        span = operation.name_span
        start = span.start
        if start not in self.graph:
            spelled = self.source.text[start : span.end] if self.as_written else operation.name
            self.graph.add_node(start, line=self.source.position(start).line, name=spelled, step=name, touches=[])
        touched = self.graph.nodes[start]["touches"]
        for slot in instruction.inputs:
            value = thread_set.values[slot]
            if isinstance(value, Address) and value.memory.space in ("smem", "tmem", "rmem"):
                text = f"{value.memory.space} {value.memory.field_at(value.offset or 0)}"
                if text not in touched:
                    touched.append(text)
        return start

    def edges(self, sources: set[int], target: int, kind: str) -> None:
        for start in sources:
            if start in self.graph and not self.graph.has_edge(start, target, key=kind):
                self.graph.add_edge(start, target, key=kind)


def _operations(thread_set: ThreadSet, name: str, opened: bool | None) -> set[int]:
    """The operations of a queue: of its open group alone (None), or of all that is in flight."""
    queue = thread_set.queues.get(name)
    if queue is None:
        return set()
    groups = [queue.open] if opened is None else queue.in_flight()
    return {operation.name_span.start for group in groups for operation in group.operations}


def graph(book: Rulebook, source: Source, launches: Sequence[StatedLaunch] = ()) -> Any:
    """The graph, a ``networkx.MultiDiGraph`` whose nodes are offsets and whose edges have their kind as key.

    Args:
        launches: how kernels are launched whose text does not say it.
    """
    recorder = Recorder(source, as_written=is_ptx(source))
    actions = {name: recorder.watched(name, action) for name, action in ACTIONS.items()}
    if recorder.as_written:
        graphs = Graphs(book, read_module(book, source))
        for function in graphs.module.functions:
            if function.body is None or function.kind != "entry":
                continue
            with suppress(Unstructured):
                list(function_studies(book, graphs.of(function), actions, said=of_kernel(launches, function.name)))
            recorder.last.clear()
        return recorder.graph
    module = scan(source).module
    for _ in verify(book, module.operations, module.aliases, actions, said=partial(of_kernel, launches)):
        recorder.last.clear()
    return recorder.graph


def as_json(drawn: Any) -> str:
    """Nodes and edges, in textual order."""
    nodes = [{"id": node, **drawn.nodes[node]} for node in sorted(drawn)]
    edges = [{"source": a, "target": b, "kind": kind} for a, b, kind in sorted(drawn.edges(keys=True))]
    return json.dumps({"nodes": nodes, "edges": edges}, indent=2) + "\n"


def as_dot(drawn: Any) -> str:
    """For Graphviz."""
    lines = ["digraph protocol {", "  node [shape=box];"]
    for node in sorted(drawn):
        held = drawn.nodes[node]
        label = "\\n".join([f"{held['line']}: {held['name']}", *held["touches"]]).replace('"', "'")
        lines.append(f'  n{node} [label="{label}"];')
    styles = {"order": "color=gray", "issue": "style=dashed", "wait": "color=blue"}
    for a, b, kind in sorted(drawn.edges(keys=True)):
        lines.append(f"  n{a} -> n{b} [{styles[kind]}];")
    return "\n".join([*lines, "}"]) + "\n"


__all__ = ["as_dot", "as_json", "graph"]
