"""Sameness of layouts, and the verification of an operand's layout."""

from __future__ import annotations

import pytest

from tileproof import layout as cute
from tileproof.layout import LayoutError
from tileproof.syntax import layouts as syntax


def read(text):
    return syntax.layout(text)


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        ("(4,8):(1,4)", "32:1", True),
        ("((2,2),8):((1,2),4)", "(4,8):(1,4)", True),
        ("(4,1):(2,9)", "4:2", True),
        ("(4,8):(8,1)", "32:1", False),
        ("(4,8):(1,4)", "31:1", False),
        ("?:1", "?:1", None),
        ("(?,2):(1,4)", "(4,2):(1,4)", None),
        ("S<1,4,3> o 0 o 128:1", "S<2,4,3> o 0 o 128:1", True),
        ("S<1,4,3> o 0 o 256:1", "S<1,5,3> o 0 o 256:1", False),
    ],
)
def test_equivalence_is_equality_of_functions_LAY05(a, b, verdict):
    assert cute.equivalent(read(a), read(b)) is verdict


@pytest.mark.parametrize(
    ("layout", "expected"),
    [("(4,8):(1,4)", "32:1"), ("((2,2),8):((1,2),4)", "(4,8):(1,4)"), ("(1,16,1):(7,2,3)", "16:2")],
)
def test_an_operand_layout_is_normalised_first_LAY05(layout, expected):
    assert cute.verify_operand_layout(read(layout), read(expected)) is None


@pytest.mark.parametrize(
    ("layout", "expected", "complaint"),
    [
        ("(8,4):(4,1)", "32:1", "is not the expected"),
        ("(?,4):(1,8)", "(?,4):(1,8)", "is not static"),
        ("(4,8):(1@0,1@1)", "(4,8):(1@0,1@1)", "has scaled-basis strides"),
    ],
)
def test_an_operand_layout_is_equivalent_static_and_without_basis_LAY05(layout, expected, complaint):
    with pytest.raises(LayoutError, match=complaint):
        assert cute.verify_operand_layout(read(layout), read(expected)) is None


@pytest.mark.parametrize(
    ("a", "b", "verdict", "weak"),
    [
        ("8", "(4,2)", True, True),
        ("(4,2)", "8", False, False),
        ("4", "(4,2)", False, True),
        ("(4,2)", "((2,2),2)", True, True),
        ("3", "(4,2)", False, False),
        ("?", "(4,2)", None, None),
    ],
)
def test_compatibility_of_shapes_LAY08(a, b, verdict, weak):
    assert cute.compatible(read(a), read(b)) is verdict
    assert cute.weakly_compatible(read(a), read(b)) is weak
