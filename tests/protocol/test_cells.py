"""The cells that overlap a piece of memory are found as a look at all of them finds them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tileproof.protocol.state import Cells

PLACES, LENGTHS = st.integers(0, 200), st.integers(1, 16)


@given(st.dictionaries(PLACES, LENGTHS), PLACES, st.integers(1, 1 << 40))
def test_what_is_near_is_what_overlaps(held: dict[int, int], low: int, length: int):
    cells = Cells()
    for place, size in held.items():
        cells.put(place, 1, size)
    assert sorted(cells.near(low, length)) == sorted(
        place for place, size in held.items() if place < low + length and low < place + size
    )
