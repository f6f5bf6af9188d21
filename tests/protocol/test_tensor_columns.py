"""The columns of tensor memory that a layout reaches, held against the columns of its elements."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tileproof
from conftest import SHARED
from tileproof.layout.values import Layout
from tileproof.protocol.tensor_columns import pieces_of
from tileproof.protocol.values import Allocation

MEMORY = Allocation("tensor memory", "tmem", 0, (), 16, 32, 32)
MODES = st.lists(
    st.tuples(st.integers(1, 5), st.sampled_from([0, 1, 2, 4, 8, 16, 32, 1 << 16])), min_size=1, max_size=4
)


def columns(modes: list[tuple[int, int]], bits: int) -> set[int]:
    """Of all elements: what is below the stride of a lane."""
    offsets = itertools.product(*(range(0, extent * stride, stride) if stride else (0,) for extent, stride in modes))
    return {sum(one) % (1 << 16) * bits // 32 for one in offsets}


@given(MODES, st.sampled_from([8, 16, 32]))
def test_the_runs_of_a_layout_are_its_columns(modes: list[tuple[int, int]], bits: int):
    layout = Layout(tuple(one for one, _ in modes), tuple(one for _, one in modes))
    found = pieces_of(layout, bits, MEMORY)
    expected = columns(modes, bits)
    runs = sum(one - 1 not in expected for one in expected)
    if runs > 16:
        assert found == ()
        return
    assert [column for start, count in found for column in range(start, start + count)] == sorted(expected)
    assert len(found) == runs


@pytest.mark.parametrize("modes", [[(1 << 30, 1)], [(4, 1), (1 << 40, 8)], [(9, 8192)]])
def test_more_columns_than_an_address_can_name_are_no_runs(modes: list[tuple[int, int]]):
    assert pieces_of(Layout(tuple(one for one, _ in modes), tuple(one for _, one in modes)), 32, MEMORY) == ()


BACKWARD = SHARED / "field/sm_100a/ct_fmha_bwd.mlir"


@pytest.mark.skipif(not BACKWARD.exists(), reason="no ../shared beside this checkout")
def test_warpgroups_that_take_turns_in_columns_are_in_each_others_way_nowhere():
    """Two warpgroups store every second eight columns each. What is left is true: nothing orders the deallocation."""
    text = BACKWARD.read_text(encoding="utf-8")
    found = [one for one in tileproof.check(text).diagnostics if one.severity.value == "error"]
    assert {(one.code, text.count("\n", 0, one.span.start) + 1) for one in found} == {("PR112", 2326), ("PR114", 2326)}
