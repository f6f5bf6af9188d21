"""Where the registers of a tensor memory load are first used: there the load is complete, without a wait.

``tcgen05.ld`` is asynchronous. A kernel waits for it (``tcgen05.wait::ld``), or it uses what was loaded: the registers
order the use after the load, and kernels of the CuTe DSL rely on that. Where the memory is released, written or freed
before either, that is a WAR hazard.

A step ``tmem_used`` is put before the first node that may use the registers of a load. The registers are followed from
their allocation through views. A load counts as complete at once where that is not possible, where an iteration may use
registers that the previous one loaded, and where nothing uses them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tileproof.base.records import dataclass, field
from tileproof.protocol.steps import Step
from tileproof.protocol.tree import Branch, Leaf, Loop, Node, While, leaves

USED = Step("tmem_used", 0, 0, 0)
_TARGET = 2  # the operand of a copy that it writes
_NO_DATA = tuple(f"!cute.{kind}<" for kind in ("layout", "shape", "stride", "int_tuple", "coord", "tile", "tiled_copy"))

Waiting = dict[int, tuple[list[Node], Leaf]]  # loads not yet used, and the list they are in, by registers


def mark(nodes: list[Node], types: Sequence[str]) -> None:
    """Put the steps into a tree.

    Args:
        types: of the slots, empty where it is not known.
    """
    if any(map(_loads, leaves(nodes))):
        _, waiting = _Walk(types).sequence(nodes)
        for home, load in waiting.values():
            _over_at_once(home, load)


def _loads(leaf: Leaf) -> bool:
    return leaf.effect is not None and "tmem_load" in (leaf.effect.name, leaf.effect.copy)


def _used(load: Leaf) -> Leaf:
    return Leaf(load.operation, (), (), None, USED)


def _over_at_once(home: list[Node], load: Leaf) -> None:
    place = next(i for i, one in enumerate(home) if one is load)
    home.insert(place + 1, _used(load))


@dataclass(slots=True)
class _Walk:
    """A walk through the tree.

    Attributes:
        roots: the allocation, or the loaded vector, that a slot is a view of.
        lost: those whose views are not followed any longer.
    """

    types: Sequence[str]
    roots: dict[int, int] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)

    def sequence(self, nodes: list[Node]) -> tuple[set[int], Waiting]:
        """Which registers nodes use, and which of their loads none of them uses."""
        uses: set[int] = set()
        waiting: Waiting = {}
        at = 0
        while at < len(nodes):
            node = nodes[at]
            used, left = self.node(node, nodes)
            for root in used & waiting.keys():
                nodes.insert(at, _used(waiting.pop(root)[1]))
                at += 1
            if isinstance(node, Leaf) and _loads(node) and not left:
                nodes.insert(at + 1, _used(node))
                at += 1
            uses |= used
            waiting |= left
            at += 1
        return uses, waiting

    def node(self, node: Node, nodes: list[Node]) -> tuple[set[int], Waiting]:
        match node:
            case Leaf():
                return self.load(node, nodes) if _loads(node) else (self.leaf(node), {})
            case Branch():
                parts = [self.sequence(body) for body in node.bodies]
                used = self.lose((*node.yields[0], *node.yields[1]))
                return used.union(*(one for one, _ in parts)), parts[0][1] | parts[1][1]
            case Loop():
                used = self.lose((*node.initial, *node.yields))
                return self.turns(used, [node.body])
            case While():
                used = self.lose((*node.initial, *node.passed, *node.yields))
                return self.turns(used, [node.before, node.body])

    def turns(self, used: set[int], bodies: list[list[Node]]) -> tuple[set[int], Waiting]:
        """The bodies of a loop; an iteration may use registers that the previous one loaded."""
        waiting: Waiting = {}
        for body in bodies:
            uses, left = self.sequence(body)
            used |= uses
            waiting |= left
        for root in used & waiting.keys():
            _over_at_once(*waiting.pop(root))
        return used, waiting

    def load(self, node: Leaf, nodes: list[Node]) -> tuple[set[int], Waiting]:
        """A load, which waits for a use where the registers that it writes are known."""
        used = {self.roots[slot] for slot in node.inputs[:_TARGET] if slot in self.roots}
        if node.outputs:
            root = node.outputs[0]
            self.roots.update(dict.fromkeys(node.outputs, root))
        else:
            root = self.roots.get(node.inputs[_TARGET], 0) if len(node.inputs) > _TARGET else 0
        return used, {root: (nodes, node)} if root and root not in self.lost else {}

    def leaf(self, node: Leaf) -> set[int]:
        """Which registers an operation uses; a view of them uses none."""
        mine = {self.roots[slot] for slot in node.inputs if slot in self.roots}
        kinds = [self.types[slot] for slot in node.outputs]
        if not mine:
            if node.operation.name == "cute.memref.alloca" and kinds and ", rmem" in kinds[0]:
                self.roots[node.outputs[0]] = node.outputs[0]
            return set()
        if kinds and all(kind.startswith(_NO_DATA) for kind in kinds):
            return set()
        if len(kinds) == 1 and len(mine) == 1 and kinds[0].startswith("!cute.") and ", rmem" in kinds[0]:
            self.roots[node.outputs[0]] = next(iter(mine))
            return set()
        if any(not kind or "ptr" in kind or "memref" in kind for kind in kinds):
            self.lost |= mine
        return mine

    def lose(self, slots: Iterable[int]) -> set[int]:
        """Values that get other names."""
        gone = {self.roots[slot] for slot in slots if slot in self.roots}
        self.lost |= gone
        return gone


__all__ = ["USED", "mark"]
