"""Dynamic leaves stand for every value of their divisor: what is inferred must hold for all of them."""

from __future__ import annotations

import itertools

import pytest

from tileproof import layout as cute
from tileproof.layout import Dynamic, Layout, LayoutError, Swizzle
from tileproof.layout import leaves as arithmetic

LEAVES = [0, 1, 2, 3, 4, 6, 12, -4, *(Dynamic(32, d) for d in (1, 2, 3, 4, 6, 8)), Dynamic(64, 4)]


def values(leaf, lowest):
    """Small values that the leaf may have."""
    if isinstance(leaf, int):
        return [leaf] if leaf >= lowest else []
    return [n for n in range(-24, 25) if n % leaf.div == 0 and n >= lowest]


def holds(inferred, value):
    return value % inferred.div == 0 if isinstance(inferred, Dynamic) else value == inferred


@pytest.mark.parametrize(
    ("operation", "lowest"),
    [
        (arithmetic.add_integers, -24),
        (arithmetic.subtract_integers, -24),
        (arithmetic.multiply_integers, -24),
        (arithmetic.divide_integers, -24),
        (arithmetic.modulo_integers, -24),
        (arithmetic.ceil_divide_integers, 1),
        (arithmetic.smaller, 1),
    ],
)
def test_a_divisor_holds_for_every_value_LAY08(operation, lowest):
    for a, b in itertools.product(LEAVES, LEAVES):
        try:
            inferred = operation(a, b)
        except LayoutError:
            assert b == 0
            continue
        for x, y in itertools.product(values(a, lowest), values(b, lowest)):
            if y != 0 or operation not in (arithmetic.divide_integers, arithmetic.modulo_integers):
                assert holds(inferred, operation(x, y)), f"{operation.__name__}({a}, {b}) = {inferred}, but {x}, {y}"


def test_the_wider_operand_decides_the_width_LAY08():
    assert arithmetic.add_integers(Dynamic(32), Dynamic(64, 8)) == Dynamic(64, 1)
    assert arithmetic.multiply_integers(Dynamic(32, 64), 2) == Dynamic(32, 128)
    assert arithmetic.multiply_integers(Dynamic(32), 2**31) == Dynamic(64, 2**31)


@pytest.mark.parametrize("swizzle", [Swizzle(1, 4, 3), Swizzle(3, 4, 3), Swizzle(3, 0, 3), Swizzle(2, 4, -3)])
@pytest.mark.parametrize("div", [1, 3, 8, 16, 48, 64, 512, 768, 1024])
def test_a_swizzled_offset_keeps_a_true_divisor_LAY08(swizzle, div):
    inferred = cute.apply_swizzle(swizzle, Dynamic(32, div))
    assert all(holds(inferred, cute.apply_swizzle(swizzle, n * div)) for n in range(64))


@pytest.mark.parametrize(
    ("layout", "coord"),
    [
        (Layout((4, 5), (1, 10)), Dynamic(32, 4)),
        (Layout((4, 5), (1, 10)), Dynamic(32, 8)),
        (Layout((4, (2, 3)), (6, (24, 2))), Dynamic(32, 2)),
        (Layout((4, 8), (3, 12)), (Dynamic(32, 2), Dynamic(32, 4))),
    ],
)
def test_the_offset_of_a_dynamic_coordinate_is_sound_LAY08(layout, coord):
    inferred = cute.crd2idx(coord, layout)
    parts = coord if isinstance(coord, tuple) else (coord,)
    for picks in itertools.product(*(range(0, 32, part.div) for part in parts)):
        assert holds(inferred, cute.crd2idx(picks if isinstance(coord, tuple) else picks[0], layout))


def test_composition_with_dynamic_leaves_is_sound_LAY08():
    inferred = cute.composition(Layout((4, 8), (1, 16)), Layout(Dynamic(32, 8), 2))
    for extent in (8, 16):
        actual = cute.composition(Layout((4, 8), (1, 16)), Layout(extent, 2))
        assert all(map(holds, inferred.shape, actual.shape))
        assert actual.stride == inferred.stride
