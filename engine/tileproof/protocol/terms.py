"""Functions of integers on values, and the terms of what they compute from something supposed or open.

A run may be told that a truth holds or not, by its term. What is computed from it, and its negation however it is
written (``x >= y`` beside ``x < y``, ``c == false``, ``c xor true``), has to say the same: else both branches of a pair
that excludes each other are taken, or neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import repeat
from typing import TypeAlias
from zlib import crc32

from tileproof.base.records import replace
from tileproof.protocol.values import Lanes, Open, Supposed, Truth, Value, term_of

Columns: TypeAlias = "Callable[..., tuple[int, ...]]"  # of integers for each thread, or one for all

_GRID = 1  # the places in the grid, apart from other terms
_KEPT = 64  # results that a function keeps for all threads of a CTA: unrolled code has as many of one opcode


def is_truth(value: Value) -> bool:
    """Whether a value says that something supposed or open holds."""
    return type(value) is Truth or (isinstance(value, Open) and value.truth)


def place_term(axis: int) -> int:
    """The term of the place of a CTA in the grid along an axis, and of how many there are."""
    return hash((_GRID, axis))


PLACES = frozenset(map(place_term, range(3)))
"""The terms of the places in the grid along all axes."""


def said_of(ways: Mapping[int, bool], term: int) -> bool | None:
    """What is said of a term, or of its negation."""
    found = ways.get(term)
    if found is None and (other := ways.get(~term)) is not None:
        return not other
    return found


def told(value: object, ways: Mapping[int, bool]) -> object:
    """A truth as a run is told that it is; anything else as it is."""
    if isinstance(value, Truth) and (way := said_of(ways, value.term)) is not None:
        return Truth(int(way), value.term)
    if isinstance(value, Open) and value.truth and (way := said_of(ways, value.term)) is not None:
        return replace(value, number=int(way))
    return value


def absorbing(a: Value, b: Value) -> int | None:
    """The zero that a product or conjunction is whatever the other operand may be; None where it is to be computed.

    A zero that a run supposes stays one that it supposes: in another run the operand may be none.
    """
    for one, other in ((a, b), (b, a)):
        if isinstance(one, int) and one == 0 and not (isinstance(one, Supposed) and isinstance(other, int | Lanes)):
            return one
    return None


def lift(function: Callable[..., int | None], name: str = "", columns: Columns | None = None) -> Callable[..., Value]:
    """A function of integers on values, thread by thread where they differ; of something unknown it is unknown.

    Args:
        name: of the function, for terms: two functions of one name compute the same.
        columns: the same of two operands for all threads at once, where loops compute it for each thread anew.
    """
    code = crc32(name.encode())
    truth = _TRUTHS.get(name)

    def lifted(*operands: Value) -> Value:
        for operand in operands:
            if operand.__class__ is not int:
                break
        else:  # most are
            return function(*operands)
        wide = supposed = False
        for operand in operands:
            if isinstance(operand, Lanes):
                wide = True
                supposed |= operand.term is not None
            elif isinstance(operand, int):
                supposed |= isinstance(operand, Supposed)
            else:
                return opened(operands) if isinstance(operand, Open) else None
        if not wide:
            found = function(*operands)
            return found if found is None or not supposed else result(found, operands)
        cells = each(*(o.each if isinstance(o, Lanes) else int(o) for o in operands))  # type: ignore[arg-type]
        return Lanes(cells, _term(code, operands) if supposed else None)

    @lru_cache(maxsize=_KEPT)  # each run of a kernel computes the same places again
    def each(*operands: int | tuple[int | None, ...]) -> tuple[int | None, ...]:
        if columns is not None and not any(isinstance(one, tuple) and None in one for one in operands):
            return columns(*operands)
        wide = [place for place, one in enumerate(operands) if isinstance(one, tuple)]
        at = wide[0]
        column = operands[at]
        assert isinstance(column, tuple)
        if len(wide) == 1:
            before, after = operands[:at], operands[at + 1 :]
            single = {one: None if one is None else function(*before, one, *after) for one in set(column)}
            return tuple(map(single.__getitem__, column))
        count = len(column)
        rows = list(zip(*(o if isinstance(o, tuple) else repeat(o, count) for o in operands), strict=True))
        found = {row: None if None in row else function(*row) for row in set(rows)}
        return tuple(map(found.__getitem__, rows))

    def result(found: int, operands: Sequence[Value]) -> Supposed:
        term = None if truth is None else truth(operands)
        return Supposed(found, _term(code, operands)) if term is None else Truth(found, term)

    def opened(operands: Sequence[Value]) -> Value:
        numbers = [one.number if isinstance(one, Open) else one for one in operands]
        found = function(*numbers) if all(isinstance(one, int) for one in numbers) else None
        if found is None:
            return None
        one = result(found, operands)
        return Open(found, one.term, type(one) is Truth)

    return lifted


def _term(code: int, operands: Sequence[Value]) -> int:
    """What stands for a function of these operands. Integers only: hashes of texts differ from process to process."""
    return hash((code, *(hash(one) if (term := term_of(one)) is None else term for one in operands)))


def _compared(name: str, operands: Sequence[Value]) -> int:
    """The term of a comparison: that of ``x >= y`` is the negation of that of ``x < y``, which is that of ``y > x``."""
    a, b = operands
    code, negated, swapped = _COMPARISONS[name]
    if code == _EQUAL and is_truth(a) is not is_truth(b):
        truth, other = (a, b) if is_truth(a) else (b, a)
        term = term_of(truth)
        if type(other) is int and other in (0, 1) and term is not None:
            return term if negated is (other == 0) else ~term
    term = _term(code, (b, a) if swapped else (a, b))
    return ~term if negated else term


def _combined(name: str, operands: Sequence[Value]) -> int | None:
    """The term of truths that are combined; None of other integers."""
    if not all(is_truth(one) or (type(one) is int and one in (0, 1)) for one in operands):
        return None
    a, b = operands
    if is_truth(a) is not is_truth(b):
        truth, other = (a, b) if is_truth(a) else (b, a)
        term = term_of(truth)
        assert term is not None
        if name == "xor":
            return ~term if other else term
        if other == (1 if name == "and" else 0):
            return term
    return _term(crc32(name.encode()), operands)


_EQUAL = crc32(b"eq")
# A comparison: what it is or negates, whether it negates it, and whether with the operands the other way round.
_SIGNED, _UNSIGNED = crc32(b"slt"), crc32(b"ult")
_EQUAL_FLOATS, _FLOATS = crc32(b"feq"), crc32(b"flt")
_COMPARISONS = {
    "eq": (_EQUAL, False, False),
    "ne": (_EQUAL, True, False),
    "slt": (_SIGNED, False, False),
    "sge": (_SIGNED, True, False),
    "sgt": (_SIGNED, False, True),
    "sle": (_SIGNED, True, True),
    "ult": (_UNSIGNED, False, False),
    "uge": (_UNSIGNED, True, False),
    "ugt": (_UNSIGNED, False, True),
    "ule": (_UNSIGNED, True, True),
    "feq": (_EQUAL_FLOATS, False, False),
    "fne": (_EQUAL_FLOATS, True, False),
    "flt": (_FLOATS, False, False),
    "fge": (_FLOATS, True, False),
    "fgt": (_FLOATS, False, True),
    "fle": (_FLOATS, True, True),
}
_TRUTHS: dict[str, Callable[[Sequence[Value]], int | None]] = {
    **{name: partial(_compared, name) for name in _COMPARISONS},
    **{name + end: partial(_combined, name) for name in ("and", "or", "xor") for end in ("", "i")},
}


__all__ = ["PLACES", "absorbing", "is_truth", "lift", "said_of", "told"]
