"""Conditions on integers that a program computes: whether there are numbers that fulfil them all.

Numbers are tried here, in an order that is always the same: most conditions can be fulfilled, and then Z3 need not be
loaded (``solver.fulfilled``). A quotient or a remainder of what is divided by nothing positive is none, and fulfils
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tileproof.base.records import dataclass

_NUMBERS = (0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 64, 100, 128, 129, 255, 256, 1000, 4096, 100_000, -1, -2, -7, -128)
_TRIALS = 96
_STEP, _OTHER = 7, 5  # by which numbers follow each other: both are prime to how many there are


@dataclass(frozen=True, slots=True, eq=False)
class Integer:
    """An integer, or a truth: 1 or 0. One variable is one object.

    Attributes:
        how: ``number``, ``variable``, or the operation, a key of ``OPERATIONS``.
        value: of a number; of a variable which one it is.
        natural: of a variable, whether it is never below 0.
    """

    how: str
    parts: tuple[Integer, ...] = ()
    value: int = 0
    natural: bool = False


def _quotient(a: int, b: int) -> int | None:
    return None if b <= 0 else -(-a // b) if a < 0 else a // b


def _remainder(a: int, b: int) -> int | None:
    return None if b <= 0 else a % b if a >= 0 else -(-a % b)


def _unsigned(a: int, b: int) -> int:
    """Whether a word is below another one, as unsigned words of so many bits that both fit."""
    return int(a < b) if (a < 0) == (b < 0) else int(b < 0)


OPERATIONS: Mapping[str, Callable[..., int | None]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "least": min,
    "largest": max,
    "floor": lambda a, b: None if b <= 0 else a // b,
    "ceiling": lambda a, b: None if b <= 0 else -(-a // b),
    "quotient": _quotient,
    "remainder": _remainder,
    "equal": lambda a, b: int(a == b),
    "below": lambda a, b: int(a < b),
    "below_unsigned": _unsigned,
    "not": lambda a: int(a == 0),
    "both": lambda a, b: int(a != 0 and b != 0),
    "either": lambda a, b: int(a != 0 or b != 0),
    "select": lambda c, a, b: a if c else b,
}


def tried(conditions: Sequence[Integer]) -> bool:
    """Whether some of the numbers that are tried leave no condition 0; where none does others may."""
    variables = tuple(dict.fromkeys(one for condition in conditions for one in variables_of(condition)))
    for trial in range(_TRIALS):
        given: dict[Integer, int | None] = {}
        for i, one in enumerate(variables):
            number = _NUMBERS[(_STEP * trial + (_OTHER + trial // len(_NUMBERS)) * i) % len(_NUMBERS)]
            given[one] = abs(number) if one.natural else number
        if all(value(one, given) for one in conditions):
            return True
    return False


def variables_of(one: Integer) -> Iterator[Integer]:
    """The variables of an integer, each once."""
    todo, seen = [one], {one}
    while todo:
        last = todo.pop()
        if last.how == "variable":
            yield last
        new = [part for part in last.parts if part not in seen]
        seen.update(new)
        todo += new


def value(one: Integer, known: dict[Integer, int | None]) -> int | None:
    """The value of an integer; None where there is none. What is known already is kept."""
    if one.how == "number":
        return one.value
    if one not in known:
        parts = [value(part, known) for part in one.parts]
        known[one] = None if None in parts else OPERATIONS[one.how](*parts)
    return known[one]


__all__ = ["OPERATIONS", "Integer", "tried", "value", "variables_of"]
