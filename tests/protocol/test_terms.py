"""Terms: what is computed alike has one term, and what excludes each other has a term and its negation."""

# checklist: PRO01

from __future__ import annotations

import itertools
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tileproof
from tileproof.protocol.folding import select
from tileproof.protocol.ptx_arithmetic import computation, sum_of
from tileproof.protocol.terms import absorbing, lift, said_of, told
from tileproof.protocol.values import Address, Allocation, Lanes, Open, Supposed, Truth, Value, term_of

A, B = Supposed(3, 101), Supposed(7, 102)
OPEN = Open(1, 103)
COMPARISONS = {
    **{"eq": operator.eq, "ne": operator.ne},
    **{"slt": operator.lt, "sle": operator.le, "sgt": operator.gt, "sge": operator.ge},
    **{"ult": operator.lt, "ule": operator.le, "ugt": operator.gt, "uge": operator.ge},
    **{"feq": operator.eq, "fne": operator.ne, "flt": operator.lt, "fle": operator.le},
    **{"fgt": operator.gt, "fge": operator.ge},
}
OPPOSITES = [("eq", "ne"), ("slt", "sge"), ("sgt", "sle"), ("ult", "uge"), ("ugt", "ule")]
OPPOSITES += [("feq", "fne"), ("flt", "fge"), ("fgt", "fle")]
SWAPPED = [("slt", "sgt"), ("sle", "sge"), ("ult", "ugt"), ("ule", "uge"), ("flt", "fgt"), ("fle", "fge")]


def compared(name: str, a: Value, b: Value) -> Value:
    return lift(lambda x, y: int(COMPARISONS[name](x, y)), name)(a, b)


def term(value: Value) -> int:
    found = term_of(value)
    assert found is not None
    return found


@pytest.mark.parametrize(("name", "other"), OPPOSITES)
@pytest.mark.parametrize(("a", "b"), [(A, B), (A, 7), (7, A), (OPEN, 0), (A, OPEN)])
def test_a_comparison_and_its_opposite_negate_each_other(name, other, a, b):
    one, opposite = compared(name, a, b), compared(other, a, b)
    assert term(one) == ~term(opposite)
    assert type(one) in (Truth, Open)


@pytest.mark.parametrize(("name", "other"), SWAPPED)
def test_a_comparison_the_other_way_round_is_the_same(name, other):
    assert term(compared(name, A, B)) == term(compared(other, B, A))
    assert term(compared(name, A, B)) != term(compared(name, B, A))


def test_comparisons_that_differ_have_terms_that_differ():
    terms = [term(compared(name, A, B)) for name in ("eq", "slt", "sgt", "ult", "ugt", "feq", "flt", "fgt")]
    terms += [term(compared("eq", A, number)) for number in (0, 1, 2)]
    both = [*terms, *(~one for one in terms)]
    assert len(set(both)) == len(both)


NEGATIONS = {
    "c == 0": lambda c: compared("eq", c, 0),
    "0 == c": lambda c: compared("eq", 0, c),
    "c != 1": lambda c: compared("ne", c, 1),
    "c xor 1": lambda c: lift(operator.xor, "xori")(c, 1),
}
REPEATS = {
    "c != 0": lambda c: compared("ne", c, 0),
    "c == 1": lambda c: compared("eq", c, 1),
    "c xor 0": lambda c: lift(operator.xor, "xori")(c, 0),
    "c and 1": lambda c: lift(operator.and_, "andi")(c, 1),
    "c or 0": lambda c: lift(operator.or_, "ori")(c, 0),
}


@pytest.mark.parametrize("condition", [compared("slt", A, B), compared("ne", OPEN, 0)])
def test_a_negation_has_the_negated_term_however_it_is_written(condition):
    for negated in NEGATIONS.values():
        assert term(negated(condition)) == ~term(condition)
        assert term(negated(negated(condition))) == term(condition)
    for same in REPEATS.values():
        assert term(same(condition)) == term(condition)


def test_an_integer_that_is_compared_with_zero_is_no_negation():
    """Only a truth has two values: ``n != 0`` and ``n == 1`` of an integer are other questions."""
    assert term(compared("ne", A, 0)) not in (term(A), ~term(A), term(compared("eq", A, 1)))


@pytest.mark.parametrize(("way", "held"), list(itertools.product([False, True], [A, OPEN])))
def test_what_is_computed_from_a_truth_follows_what_is_said_of_it(way, held):
    condition = compared("sgt", held, 2)
    ways = {term(condition): way}
    mine = told(condition, ways)
    negated = compared("eq", mine, 0)
    numbers = [one.number if isinstance(one, Open) else int(one) for one in (mine, negated)]
    assert numbers == [way, not way]
    assert told(compared("sle", held, 2), ways) == negated
    assert said_of(ways, ~term(condition)) is not way
    assert said_of(ways, 5) is None


def test_nothing_else_is_told():
    for value in (A, OPEN, 4, None, Lanes((1, 0), 7)):
        assert told(value, {101: True, 103: True, 7: True}) is value


def test_an_open_integer_decides_and_is_no_number():
    moved = lift(operator.add, "addi")(OPEN, 4)
    assert isinstance(moved, Open)
    assert not isinstance(moved, int)
    assert moved.number == 5
    assert lift(operator.add, "addi")(OPEN, Lanes((1, 2))) is None
    assert lift(operator.add, "addi")(OPEN, None) is None


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        (0, None, 0),
        (None, 0, 0),
        (0, A, 0),
        (Supposed(0, 104), 0, 0),
        (Supposed(0, 104), None, Supposed(0, 104)),  # where it is another number the product is not known
        (Supposed(0, 104), 128, None),  # to be computed: it has a term of its own
        (Supposed(0, 104), Lanes((1, 2)), None),
        (A, B, None),
        (None, None, None),
    ],
)
def test_only_a_zero_of_the_text_is_zero_whatever_is_supposed(a, b, found):
    assert (got := absorbing(a, b)) == found
    assert type(got) is type(found)


# Integers of 16 bits, the ends of what they hold among them; None of a thread of which it is not known.
SHORT = st.integers(-(1 << 15), (1 << 15) - 1)
COLUMNS = st.lists(SHORT | st.none(), min_size=4, max_size=4).map(tuple)


@given(a=COLUMNS | SHORT, b=COLUMNS | SHORT)
def test_a_sum_of_all_threads_at_once_is_that_of_each(a, b):
    found = sum_of(16)(*(Lanes(one) if isinstance(one, tuple) else one for one in (a, b)))
    each = [one if isinstance(one, tuple) else (one,) * 4 for one in (a, b)]
    expected = tuple(
        None if None in pair else (sum(pair) + (1 << 15)) % (1 << 16) - (1 << 15) for pair in zip(*each, strict=True)
    )
    if isinstance(found, Lanes):
        assert found.each == expected
    else:
        assert {found} == set(expected)


def test_addresses_of_one_allocation_are_apart_by_a_number_whichever_run_made_them():
    one, other = (Address(Allocation("smem", "smem", 1), offset, 8) for offset in (48, 16))
    assert one.memory is not other.memory
    subtract = computation(tileproof.load_rules(), "sub.u32")
    assert subtract is not None
    assert subtract.function(one, other) == (32,)


def test_a_number_beside_something_unknown_is_supposed_where_what_selects_it_is():
    truth = compared("slt", A, B)
    assert select(truth, 5, None) == 5
    assert term(select(truth, 5, None)) != term(select(truth, 6, None))
    assert select(truth, None, 5) is None
    assert term_of(select(1, 5, None)) is None
