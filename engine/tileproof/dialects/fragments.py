"""The thread-value layouts of an atom, by the fragments that rules/fragments declares.

An MMA's layouts come as the dialect writes them: a coordinate ``(m,k)`` of a tile of M rows is the index ``m + M*k``. A
copy's count values. An operand for which no row holds has no layout: it is not known who holds what.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tileproof import evaluate, rulebook
from tileproof.dialects.types import Kind, Node
from tileproof.fragment import BITS, INTEGER, Fragment, Modes, Step, Taken, ThreadValues
from tileproof.layout import LayoutError, upcast
from tileproof.layout.values import Layout, Tuple
from tileproof.rule import Arithmetic, Expression, Fact, Number, Rulebook, Scalar

_ELEMENT = re.compile(r"(?:f|bf|tf|i|si|ui)(\d{1,4})(?!\d)")
_INTEGER = re.compile(r"(?<![\w])x?(\d{1,9})(?!\d)")
_ROWS = {"A": "M", "B": "N", "C": "M"}  # the extent of the first mode of the operand's coordinate


class Missing(Exception):
    """A parameter of the atom or a row for it is missing."""


@dataclass(frozen=True)
class Fragments:
    """Who holds what of the operands of one atom.

    Attributes:
        facts: what its type says.
        threads: the numbers of the threads that work together, as a layout.
        layouts: ``(thread, value)`` to an index, by operand: A, B, C of an MMA; S, D, R of a copy.
    """

    facts: Mapping[str, Scalar]
    threads: Layout
    layouts: Mapping[str, Layout]

    def shape(self) -> tuple[int, int, int]:
        """M, N and K of an MMA.

        Raises:
            Missing: this is no MMA.
        """
        found = [self.facts.get(name) for name in ("M", "N", "K")]
        if not all(isinstance(extent, int) and extent > 0 for extent in found):
            raise Missing
        return tuple(found)  # type: ignore[return-value]


def fragments(node: Node, book: Rulebook | None = None) -> Fragments | None:
    """The fragments of an atom's type, or None where the rule files (those of tileproof, unless given) do not say."""
    book = _shipped() if book is None else book
    declaration = book.fragments.get(node.text.lstrip("!"))
    return None if declaration is None else _read(book, declaration, node)


@lru_cache(maxsize=1)
def _shipped() -> Rulebook:
    return rulebook.load(rulebook.default_files())


@lru_cache(maxsize=4096)
def _read(book: Rulebook, declaration: Fragment, node: Node) -> Fragments | None:
    facts: dict[str, Scalar] = {}
    try:
        for taken in declaration.taken:
            facts.update(zip(taken.facts, _values(book, taken, node), strict=True))
        threads = _layout(book, declaration, "threads", facts)
    except (Missing, LayoutError):
        return None
    found = {}
    for role in {row.role for row in declaration.rows} - {"threads"}:
        try:
            found[role] = _layout(book, declaration, role, facts)
        except (Missing, LayoutError):
            continue
    return Fragments(facts, threads, found)


# -- facts


def _values(book: Rulebook, taken: Taken, node: Node) -> list[Scalar]:
    """What a parameter says, one value for each fact."""
    if isinstance(taken.parameter, int):
        positional = node.positional
        parameter = positional[taken.parameter] if taken.parameter < len(positional) else None
    else:
        parameter = node.parameter(taken.parameter)
    if parameter is None:
        if taken.default is None:
            raise Missing
        return list(taken.default)
    words = _words(parameter)
    values: list[Scalar]
    if taken.kind == INTEGER:
        values = [int(found) for word in words for found in _INTEGER.findall(" ".join(word.split("x")))]
    elif taken.kind == BITS:
        values = [int(found[1]) for word in words if (found := _ELEMENT.match(word))]
    else:
        known = book.enums[taken.kind].by_spelling
        values = [known[word] for word in words if word in known]
    if len(values) != len(taken.facts):
        raise Missing
    return values


def _words(node: Node) -> list[str]:
    """The texts of the leaves of a parameter, in order."""
    if node.kind is Kind.GROUP or (node.kind is Kind.TYPE and node.children):
        return [word for child in node.children for word in _words(child)]
    return [node.text]


# -- layouts


def _layout(book: Rulebook, declaration: Fragment, role: str, facts: Mapping[str, Scalar]) -> Layout:
    """The first layout of an operand whose condition holds."""
    for row in declaration.rows:
        if row.role == role and (row.when is None or _holds(book, row.when, facts)):
            if isinstance(row.layout, str):
                return _layout(book, declaration, row.layout, facts)
            return _evaluated(row.layout, role, facts)
    raise Missing


def _holds(book: Rulebook, condition: Expression, facts: Mapping[str, Scalar]) -> bool:
    try:
        return bool(_compiled(book, condition)(facts))
    except KeyError:
        return False


@lru_cache(maxsize=1024)
def _compiled(book: Rulebook, condition: Expression) -> Callable[[Mapping[str, Scalar]], object]:
    return evaluate.function(book, "ptx", condition)


def _evaluated(layout: ThreadValues, role: str, facts: Mapping[str, Scalar]) -> Layout:
    first = facts.get(_ROWS.get(role, ""))

    def leaf(step: Step) -> int:
        value = _number(step.value, facts)
        if step.path in ((), (0,)):
            return value
        if step.path == (1,) and isinstance(first, int):
            return value * first
        raise Missing

    found = Layout(_each(layout.shape, leaf), _each(layout.stride, leaf))
    if not layout.in_bits:
        return found
    bits = facts.get("bits")
    if not isinstance(bits, int):
        raise Missing
    recast = upcast(found, bits)
    assert isinstance(recast, Layout)
    return recast


def _each(modes: Modes, leaf: Callable[[Step], int]) -> Tuple:
    if isinstance(modes, Step):
        return leaf(modes)
    return tuple(_each(mode, leaf) for mode in modes)


def _number(expression: Expression, facts: Mapping[str, Scalar]) -> int:
    """The value of a product or quotient, which must come out whole."""
    match expression:
        case Number(value):
            return value
        case Fact(name):
            value = facts.get(name)  # type: ignore[assignment]
            if isinstance(value, int):
                return value
        case Arithmetic("*", left, right):
            return _number(left, facts) * _number(right, facts)
        case Arithmetic("/", left, right):
            quotient, remainder = divmod(_number(left, facts), _number(right, facts))
            if remainder == 0:
                return quotient
    raise Missing
