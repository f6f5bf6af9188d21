"""Conditions on integers: the two readings of each operation, and answers against trying all small numbers."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileproof.evaluate.answer import Answer
from tileproof.evaluate.integers import OPERATIONS, Integer, tried
from tileproof.evaluate.solver import fulfilled

SECONDS = 0.2
A, B = Integer("variable", value=1), Integer("variable", value=2, natural=True)
NUMBERS = range(-6, 7)
OPERANDS = {"not": 1, "select": 3}


def number(value: int) -> Integer:
    return Integer("number", value=value)


def of(how: str, *parts: Integer | int) -> Integer:
    return Integer(how, tuple(number(one) if isinstance(one, int) else one for one in parts))


def value(one: Integer, a: int, b: int) -> int | None:
    """The value of an integer as Python computes it."""
    if one.how in ("number", "variable"):
        return one.value if one.how == "number" else a if one is A else b
    parts = [value(part, a, b) for part in one.parts]
    return None if None in parts else OPERATIONS[one.how](*parts)


def possible(conditions: list[Integer]) -> Answer:
    """What is answered: by numbers that are tried, else by Z3."""
    return Answer.SATISFIABLE if tried(conditions) else fulfilled(conditions, SECONDS)


# Of quotients the divisor is a number: a product of unknowns is a question that Z3 need not answer.
DIVIDING = {"floor", "ceiling", "quotient", "remainder", "multiply"}
LEAVES = st.one_of(st.just(A), st.just(B), st.integers(-5, 5).map(number))


def combined(inner: st.SearchStrategy[Integer]) -> st.SearchStrategy[Integer]:
    def made(how: str) -> st.SearchStrategy[Integer]:
        last = st.integers(-3, 5).map(number) if how in DIVIDING else inner
        return st.tuples(*(inner,) * (OPERANDS.get(how, 2) - 1), last).map(lambda parts: Integer(how, parts))

    return st.sampled_from(sorted(OPERATIONS)).flatmap(made)


INTEGERS = st.recursive(LEAVES, combined, max_leaves=6)


@given(INTEGERS, st.integers(-9, 9), st.integers(0, 9))
def test_z3_computes_what_python_does(one: Integer, a: int, b: int):
    there = [of("equal", A, a), of("equal", B, b)]
    expected = value(one, a, b)
    if expected is None:
        assert fulfilled([*there, of("equal", one, one)], SECONDS) is Answer.UNSATISFIABLE
    else:
        assert fulfilled([*there, of("equal", one, expected)], SECONDS) is Answer.SATISFIABLE
        assert fulfilled([*there, of("equal", one, expected + 1)], SECONDS) is Answer.UNSATISFIABLE


@given(st.lists(INTEGERS, min_size=1, max_size=3))
def test_what_no_number_fulfils_no_small_one_does(conditions: list[Integer]):
    small = any(all(value(one, a, b) for one in conditions) for a, b in product(NUMBERS, range(7)))
    if possible(conditions) is Answer.UNSATISFIABLE:
        assert not small


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        # The tiles of a mask that a kernel is compiled without: n - min(n, max(k, 0)) of n = min(m, 0).
        (of("below", 0, of("subtract", of("least", A, 0), of("least", of("least", A, 0), of("largest", B, 0)))), False),
        (of("below", 0, of("subtract", of("largest", A, 0), of("least", of("largest", A, 0), 1))), True),
        # A window of three tiles before a place in the grid, in turns that are unrolled by four.
        (of("below", 3, of("subtract", of("add", B, 1), of("largest", of("subtract", B, 2), 0))), False),
        (of("below", 2, of("subtract", of("add", B, 1), of("largest", of("subtract", B, 2), 0))), True),
        (of("equal", A, 123_456), True),  # none of the numbers that are tried
        (of("equal", of("remainder", A, 4), 5), False),
        (of("equal", of("floor", A, 0), of("floor", A, 0)), False),  # nothing is divided by 0
    ],
)
def test_answers(condition: Integer, answer: bool):
    assert possible([condition]) is (Answer.SATISFIABLE if answer else Answer.UNSATISFIABLE)


def test_conditions_hold_together_or_not():
    assert possible([of("below", A, 5), of("below", 3, A)]) is Answer.SATISFIABLE
    assert possible([of("below", A, 5), of("below", 4, A)]) is Answer.UNSATISFIABLE


def test_what_takes_too_long_is_unknown():
    cubes = [of("multiply", one, of("multiply", one, one)) for one in (A, Integer("variable", value=3))]
    fourth = Integer("variable", value=4)
    sum_ = of("add", of("add", *cubes), of("multiply", fourth, of("multiply", fourth, fourth)))
    assert fulfilled([of("equal", sum_, 33_000_042)], 0.001) is Answer.UNKNOWN
