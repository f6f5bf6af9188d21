"""The layouts of a fragment declaration, once its facts are known.

An operand's layout maps ``(thread, value)`` to a coordinate: its strides are scaled bases such as ``8@0``. Its *tile*
has the extents of that coordinate. Modes after the second are further contents of a register: the metadata that another
selector names, the scale factors of another byte. ``flat`` numbers the coordinates as CuTe does, the first mode running
fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from tileproof.base.records import dataclass
from tileproof.evaluate import python
from tileproof.layout import Basis, Layout, LayoutError, Tuple, is_static_layout, upcast
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import HARDWARE
from tileproof.rulebase.expression import Arithmetic, Expression, Fact, Number, Scalar
from tileproof.rulebase.fragment import Applies, Fragment, LayoutLeaf, Modes, Row, ThreadValues

Facts = Mapping[str, Scalar]

TILES = {"A": ("M", "K"), "B": ("N", "K"), "C": ("M", "N")}
"""The extents of an operand's coordinate where its row does not say."""


class Missing(Exception):
    """A fact of the atom or a row for it is missing."""


@dataclass(frozen=True)
class FragmentOperand:
    """The fragment of one operand.

    Attributes:
        layout: ``(thread, value)`` to a coordinate, or to a running number of what a copy moves.
        tile: the extents of the coordinate; empty for a running number.
        partial: some coordinates of the tile are not held.
    """

    role: str
    layout: Layout
    tile: tuple[int, ...]
    partial: bool = False

    @property
    def flat(self) -> Layout:
        """The layout to the number of the coordinate in its tile."""
        return flattened(self.layout, self.tile)


@dataclass(frozen=True)
class Fragments:
    """The fragments of the operands of one atom.

    Attributes:
        facts: those of its type.
        threads: the numbers of the threads that work together, as a layout.
        operands: the fragments of A, B, C of an MMA, of S, D, R of a copy, and of further operands.
        layouts: the same as ``(thread, value)`` to an index.
    """

    facts: Facts
    threads: Layout
    operands: Mapping[str, FragmentOperand]
    layouts: Mapping[str, Layout]

    def shape(self) -> tuple[int, int, int]:
        """M, N and K of an MMA.

        Raises:
            Missing: this is not an MMA.
        """
        found = [self.facts.get(name) for name in ("M", "N", "K")]
        if not all(isinstance(extent, int) and extent > 0 for extent in found):
            raise Missing
        return tuple(found)  # type: ignore[return-value]


def fragments_of(book: Rulebook, declaration: Fragment, facts: Facts) -> Fragments | None:
    """The fragments of a declaration whose facts are known, or None if it does not declare these facts."""
    operands: dict[str, FragmentOperand] = {}
    layouts: dict[str, Layout] = {}
    for role in dict.fromkeys(row.role for row in declaration.rows):
        try:
            found = operand(book, declaration, role, facts)
            layouts[role] = found.flat
            operands[role] = found
        except (Missing, LayoutError):
            continue
    if "threads" not in layouts:
        return None
    threads = layouts.pop("threads")
    del operands["threads"]
    return Fragments(facts, threads, operands, layouts)


def operand(book: Rulebook, declaration: Fragment, role: str, facts: Facts) -> FragmentOperand:
    """The layout of one operand: the first whose condition holds.

    Raises:
        Missing: no row holds, or a fact that it reads is not known.
        LayoutError: elements are not counted in whole bits.
    """
    row = _row(book, declaration, role, facts)
    assert isinstance(row.layout, ThreadValues)
    extents = tuple(number(extent, facts) for extent in row.tile)
    if not extents and role in TILES and all(isinstance(facts.get(name), int) for name in TILES[role]):
        extents = tuple(int(facts[name]) for name in TILES[role])
    layout = Layout(_each(row.layout.shape, facts), _each(row.layout.stride, facts))
    if row.layout.in_bits:
        bits = facts.get("bits")
        if not isinstance(bits, int):
            raise Missing
        recast = upcast(layout, bits)
        assert isinstance(recast, Layout)
        layout = recast
    placed = any(isinstance(leaf, Basis) for leaf in _leaves(layout.stride))
    return FragmentOperand(role, layout, extents if placed or row.tile else (), row.partial)


def declared(book: Rulebook, schema: str, values: Facts, contract: str) -> Iterator[tuple[Fragment, Facts]]:
    """The fragments of a PTX instruction with their facts, by the schema and the facts of the instruction.

    Those of the schema itself come before those of what it extends, those of this contract before those of both.
    """
    lineage = book.lineage(schema)
    fitting = [
        ((lineage.index(applies.schema), declaration.contract is None), declaration, applies)
        for declaration in dict.fromkeys(book.fragments.values())
        for applies in declaration.applies
        if applies.schema in lineage and declaration.contract in (None, contract)
    ]
    for _, declaration, applies in sorted(fitting, key=lambda item: item[0]):
        facts = _facts(book, declaration, applies, values, contract)
        if facts is not None:
            yield declaration, facts


def _facts(book: Rulebook, declaration: Fragment, applies: Applies, values: Facts, contract: str) -> Facts | None:
    """The facts of a fragment; None where its condition does not hold."""
    if applies.when is not None and not _holds(book.under(contract), applies.when, values):
        return None
    facts: dict[str, Scalar] = {}
    given = dict(applies.given)
    for taken in declaration.taken:
        for place, name in enumerate(taken.facts):
            expression = given.get(name)
            found = values.get(name) if expression is None else _value(book.under(contract), expression, values)
            if found is None and taken.default is not None:
                found = taken.default[place]
            if found is not None:
                facts[name] = found
    return facts


def flattened(layout: Layout, tile: tuple[int, ...]) -> Layout:
    """A layout to coordinates as one to the numbers of the coordinates in a tile.

    Raises:
        Missing: the tile has no such mode.
        LayoutError: the layout is not static.
    """
    if not is_static_layout(layout):
        raise LayoutError(f"{layout} has dynamic leaves")

    def leaf(stride: object) -> int:
        if isinstance(stride, Basis):
            if len(stride.path) != 1 or stride.path[0] >= max(len(tile), 1):
                raise Missing
            step = 1
            for extent in tile[: stride.path[0]]:
                step *= extent
            return int(stride.value) * step  # type: ignore[arg-type]
        if not isinstance(stride, int):
            raise LayoutError(f"the step {stride} falls between elements")
        return stride

    def each(stride: Tuple) -> Tuple:
        return tuple(map(each, stride)) if isinstance(stride, tuple) else leaf(stride)

    return Layout(layout.shape, each(layout.stride))


def number(expression: Expression, facts: Facts) -> int:
    """The value of a product or quotient, which must come out whole.

    Raises:
        Missing: it does not, or it reads a fact that is not known.
    """
    match expression:
        case Number(value):
            return value
        case Fact(name):
            value = facts.get(name)  # type: ignore[assignment]
            if isinstance(value, int):
                return value
        case Arithmetic("*", left, right):
            return number(left, facts) * number(right, facts)
        case Arithmetic("/", left, right):
            quotient, remainder = divmod(number(left, facts), number(right, facts))
            if remainder == 0:
                return quotient
    raise Missing


def _row(book: Rulebook, declaration: Fragment, role: str, facts: Facts) -> Row:
    contract = declaration.contract or HARDWARE
    for row in declaration.rows:
        if row.role == role and (row.when is None or _holds(book.under(contract), row.when, facts)):
            return _row(book, declaration, row.layout, facts) if isinstance(row.layout, str) else row
    raise Missing


def _holds(ruleset: Ruleset, condition: Expression, facts: Facts) -> bool:
    return bool(_value(ruleset, condition, facts))


def _value(ruleset: Ruleset, expression: Expression, facts: Facts) -> Scalar | None:
    """The value of an expression; None where a fact or a row of a table is missing."""
    try:
        return _compiled(ruleset, expression)(facts)  # type: ignore[return-value]
    except KeyError:
        return None


@lru_cache(maxsize=4096)
def _compiled(ruleset: Ruleset, expression: Expression) -> Callable[[Facts], object]:
    return python.function(ruleset, expression)


def _each(modes: Modes, facts: Facts) -> Tuple:
    if isinstance(modes, LayoutLeaf):
        value = number(modes.value, facts)
        return Basis(value, modes.path) if modes.path and value else value
    return tuple(_each(mode, facts) for mode in modes)


def _leaves(value: Tuple) -> Iterator[object]:
    if isinstance(value, tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield value
