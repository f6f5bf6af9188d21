"""What a hover says of a value, against what the value does."""

from __future__ import annotations

import re

import pytest

from tileproof.layout.swizzle import apply_swizzle
from tileproof.layout.values import Swizzle
from tileproof.server.pictures import described


@pytest.mark.parametrize("swizzle", [Swizzle(3, 4, 3), Swizzle(1, 4, 3), Swizzle(2, 5, 2), Swizzle(2, 4, -3)], ids=str)
def test_the_bits_that_a_swizzle_is_said_to_change_are_those_that_it_changes(swizzle: Swizzle):
    *_, said = described(swizzle)
    top, source, last, target = map(int, re.findall(r"\d+", said))
    for bit in range(16):
        other = bit - source + target if source <= bit <= top else None
        assert apply_swizzle(swizzle, 1 << bit) == 1 << bit ^ (0 if other is None else 1 << other)
    assert last - target == top - source


def test_a_swizzle_of_no_bits_is_said_to_change_nothing():
    assert described(Swizzle(0, 4, 3))[-1] == "swizzle: changes nothing"
