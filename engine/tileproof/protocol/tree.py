"""A kernel as a tree: operations, branches and loops, with the places that values have.

A *slot* is the place of a value; slot 0 is that of what is not defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tileproof.base.records import dataclass
from tileproof.mlir.ir import Operation
from tileproof.protocol.folding import Extents, Function
from tileproof.protocol.steps import Step


@dataclass(slots=True)
class Leaf:
    """An operation without regions: a computation, or where ``effect`` is set a step of the protocol.

    Attributes:
        again: whether it copies values to slots that other operations copy to as well: a register of inline assembly
            that the text around it uses.
    """

    operation: Operation
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    function: Function | None
    effect: Step | None = None
    types: tuple[str, ...] = ()
    make: Callable[[Extents], Function | None] | None = None
    again: bool = False


@dataclass(slots=True)
class Branch:
    """``scf.if``: two bodies, and where the results come from in each."""

    operation: Operation
    condition: int
    bodies: tuple[list[Node], list[Node]]
    yields: tuple[tuple[int, ...], tuple[int, ...]]
    outputs: tuple[int, ...]


@dataclass(slots=True)
class Loop:
    """``scf.for``: ``arguments`` are the values it carries, without the induction variable."""

    operation: Operation
    bounds: tuple[int, int, int]
    index: int
    initial: tuple[int, ...]
    arguments: tuple[int, ...]
    body: list[Node]
    yields: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(slots=True)
class While:
    """``scf.while``: ``before`` ends with a condition and the values it passes on."""

    operation: Operation
    initial: tuple[int, ...]
    arguments: tuple[int, ...]
    before: list[Node]
    condition: int
    passed: tuple[int, ...]
    inner: tuple[int, ...]
    body: list[Node]
    yields: tuple[int, ...]
    outputs: tuple[int, ...]


Node = Leaf | Branch | Loop | While


def leaves(nodes: Sequence[Node]) -> Iterator[Leaf]:
    """All operations without regions, in textual order."""
    for node in nodes:
        match node:
            case Leaf():
                yield node
            case Branch():
                yield from leaves(node.bodies[0])
                yield from leaves(node.bodies[1])
            case Loop():
                yield from leaves(node.body)
            case While():
                yield from leaves(node.before)
                yield from leaves(node.body)


def pinned(node: Leaf) -> bool:
    """Whether an operation does something, and not only computes."""
    return node.effect is not None and not node.effect.pure
