"""Which thread holds which value of an operand: the thread-value layouts of atoms, as rule files state them.

A *fragment* is what one thread holds of a tile. For each atom and each of its operands a layout takes ``(thread,
value)`` to the element that this thread keeps as its value of that number: to the coordinate ``(m,k)``, ``(n,k)`` or
``(m,n)`` of an MMA, to the running number of the element (or of its first bit) of a copy. One declaration serves the
atom of the IR, whose parameters give its facts, and the PTX instruction, whose facts it takes or derives. This module
has the abstract syntax; ``evaluate.fragments`` finds the layouts, ``dialects.fragments`` those of an atom.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from tileproof.base.records import dataclass, field
from tileproof.rulebase.declarations import Bounded, Domain, Enumerated, Schema
from tileproof.rulebase.expression import Expression, Place, Scalar
from tileproof.rulebase.references import Citation, Cited

INTEGER, BITS = "integer", "bits"

MMA_ROLES = ("threads", "A", "B", "C", "E", "SFA", "SFB", "T")
"""Operands of an MMA: sparse metadata is E, scale factors are SFA and SFB, T is where C lies in tensor memory."""

COPY_ROLES = ("threads", "S", "D", "R", "T")
_LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Taken:
    """Facts taken from one parameter of a type: by position (int) or by name.

    Attributes:
        kind: ``integer``, ``bits`` (the width of an element type) or the name of an enum.
        parameter: None where no parameter of a type says it, only the PTX instruction.
        default: the values where the type leaves the parameter out.
    """

    facts: tuple[str, ...]
    kind: str
    parameter: int | str | None
    default: tuple[Scalar, ...] | None

    @property
    def domain(self) -> Domain:
        """The domain of these facts."""
        return Bounded(0, _LARGEST) if self.kind in (INTEGER, BITS) else Enumerated(self.kind)


@dataclass(frozen=True, slots=True)
class LayoutLeaf:
    """A leaf of a shape or a stride: a product or quotient of integers and facts, along one mode of the coordinate.

    Attributes:
        path: the mode as in ``8@1``; empty for a plain integer.
    """

    value: Expression
    path: tuple[int, ...] = ()


Modes: TypeAlias = "LayoutLeaf | tuple[Modes, ...]"


@dataclass(frozen=True, slots=True)
class ThreadValues:
    """``shape:stride``, a layout whose leaves may depend on facts.

    Attributes:
        in_bits: offsets count bits instead of values.
    """

    shape: Modes
    stride: Modes
    in_bits: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """The layout of one operand, or the name of another operand whose layout it shares, under a condition.

    Attributes:
        tile: the extents of the coordinate; empty where the operand has those of its role.
        partial: some coordinates of the tile have no thread.
    """

    role: str
    layout: ThreadValues | str
    tile: tuple[Expression, ...]
    partial: bool
    when: Expression | None


@dataclass(frozen=True, slots=True)
class Applies:
    """PTX instructions that have the fragment: those of a schema for which a condition holds.

    Attributes:
        given: how the facts of the instruction give facts of the fragment. A fact of the same name is taken as it is.
    """

    schema: str
    given: tuple[tuple[str, Expression], ...]
    when: Expression | None


@dataclass(frozen=True, eq=False)
class Fragment(Cited):
    """The fragments of an atom. Of the rows of one operand the first whose condition holds counts.

    Attributes:
        types: names of the IR's types of which this is true, or a name of its own.
        contract: the one in which it is true; None for both.
    """

    types: tuple[str, ...]
    contract: str | None
    applies: tuple[Applies, ...]
    taken: tuple[Taken, ...]
    rows: tuple[Row, ...]
    citations: tuple[Citation, ...]
    place: Place = field(repr=False)

    @property
    def schema(self) -> Schema:
        """The facts that conditions and extents may read, as a schema without a legal instance."""
        domains = {fact: taken.domain for taken in self.taken for fact in taken.facts}
        return Schema(self.types[0], "", (), domains, {}, self.place)


def expressions(row: Row) -> Iterator[Expression]:
    """The leaves of a layout, and the extents of its tile."""
    if isinstance(row.layout, ThreadValues):
        yield from leaves(row.layout)
    yield from row.tile


def leaves(layout: ThreadValues) -> Iterator[Expression]:
    """The extents and strides of a layout."""

    def walk(modes: Modes) -> Iterator[Expression]:
        if isinstance(modes, LayoutLeaf):
            yield modes.value
        else:
            for mode in modes:
                yield from walk(mode)

    yield from walk(layout.shape)
    yield from walk(layout.stride)
