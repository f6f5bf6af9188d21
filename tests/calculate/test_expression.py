"""Expressions: what they evaluate to, and that bad ones are refused quickly and with a reason."""

from __future__ import annotations

import pytest

from tileproof.calculate.evaluate import FUNCTIONS, KINDS, evaluate
from tileproof.layout import LayoutError, show_value
from tileproof.syntax import SyntaxFault


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("composition((20):(2), (5,4):(4,1))", "(5,4):(8,2)"),
        ("coalesce((7):(1))", "7:1"),
        ("raked_product((16):(1), (1):(1))", "(16):(1)"),
        ("complement((4,2):(1,8), 24)", "(2,2):(4,16)"),
        ("get(zipped_divide((6,8):(8,1), [3:1;4:1]), 0)", "(3,4):(8,1)"),
        ("size(composition(S<3,4,3>, (8,64):(64,1)))", "512"),
        ("local_tile((16,32):(1,16), (4,8), (1,2))", "260 o (4,8):(1,16)"),
        ("mul(?{div=64}, 2)", "?{div=128}"),
        ("elem_less((1,2), (2,?))", "?"),
        ("equivalent((4,2):(1,4), 8:1)", "1"),
    ],
)
def test_expressions_print_as_cute_prints_LAY08(text, result):
    assert show_value(evaluate(text)) == result


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("composition((4,8):(2,1), 33:5)", "the extent 4 does not divide 5"),
        ("composition((4,8,2):(1,16,999), 5:1)", "4 does not divide 5"),
        ("composition(():(), 4:1)", "has no mode"),
        ("logical_product((2,2):(1,1), 4:1)", "cannot repeat"),
        ("left_inverse((8,4,2):(13,2,1))", "does not divide the next larger stride 13"),
        ("size((9223372036854775807,4):(1,1))", "overflows 64 bits"),
        ("group_modes((4,5):(1,4), 0, 9)", "end <= rank"),
        ("append_to_rank(4:1, 99999999, 1:0)", "rank"),
        ("get((4,5):(1,4), 2)", r"\[0, 2\)"),
        ("S<99999999999,1,1>", "swizzle"),
        ("(4,2):1", "one profile"),
        ("0:1", "positive shape"),
        ("composition(4:1)", "got 1 arguments"),
        ("coalesce(4)", "must be a layout"),
        ("coalesce(composition(4:1, 2:1, 3:1))", "got 3 arguments"),
    ],
)
def test_an_operation_without_a_result_says_why_LAY08(text, reason):
    with pytest.raises(LayoutError, match=reason):
        evaluate(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [("compositon(4:1, 2:1)", 0), ("size(4:1", 8), ("size(frobnicate(4:1))", 5), ("(" * 65, 64), ("9" * 30, 0)],
)
def test_a_fault_in_the_text_knows_its_place(text, place):
    with pytest.raises(SyntaxFault) as fault:
        evaluate(text)
    assert fault.value.start == place


def test_growing_results_are_stopped():
    text = "append_to_rank(4:1, 1000, (4,4,4):(1,1,1))"
    with pytest.raises(LayoutError, match="at most"):
        evaluate(text)


def test_the_table_of_functions_is_complete_and_documented():
    assert len(FUNCTIONS) > 55
    for name, function in FUNCTIONS.items():
        assert function.doc.endswith("."), name
        assert all(kind.rstrip("?*") in KINDS for _, kind in function.parameters), name


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize(
    "argument", ["():()", "4:1", "(4,2):(1@0,?)", "()", "_", "1@0", "1/2", "[4;_]", "S<1,4,3>", "-3", "?"]
)
def test_any_argument_is_answered_or_refused(name, argument):
    """Whatever it is given, a function gives a value or a reason, never another exception."""
    parameters = FUNCTIONS[name].parameters
    for count in range(1, len(parameters) + 1):
        try:
            evaluate(f"{name}({', '.join([argument] * count)})")
        except (LayoutError, SyntaxFault) as refusal:
            assert str(refusal)
