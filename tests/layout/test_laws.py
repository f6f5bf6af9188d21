"""The laws of the algebra, each against plain evaluation of the layouts as functions."""

from __future__ import annotations

import random
from math import prod

import layout_cases as cases
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tileproof import layout as cute
from tileproof.layout import ComposedLayout, Layout, LayoutError, Swizzle

# Enumerating a layout takes as long as it is large: no law is about time.
settings.register_profile("laws", deadline=None)
settings.load_profile("laws")


def function(layout):
    """A layout as the list of its offsets."""
    return cute.offsets(layout)


def leaves(tree):
    return cases.leaves(tree)


extents = st.sampled_from((1, 2, 3, 4, 5, 6, 8))
profiles = st.recursive(st.just(0), lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=4)


@st.composite
def layouts(draw, compact=False, most=512):
    tree = draw(profiles)
    sizes = [draw(extents) for _ in leaves(tree)]
    assume(prod(sizes) <= most)
    order = draw(st.permutations(range(len(sizes))))
    strides, running = [0] * len(sizes), 1
    for place in order:
        if not compact:
            running *= draw(st.sampled_from((1, 1, 2, 3)))
        strides[place] = running
        running *= sizes[place]
    if not compact and draw(st.integers(0, 9)) == 0:
        strides[draw(st.integers(0, len(strides) - 1))] = 0
    return Layout(cases.refill(tree, list(sizes)), cases.refill(tree, strides))


def attempt(operation, *operands):
    """The result, or a discarded example where the operation is refused."""
    try:
        return operation(*operands)
    except LayoutError:
        assume(False)


def walks_evenly(lhs, rhs):
    """The divisibility conditions in full, without CuTe's leniency: every step and every run comes out whole."""
    sizes = leaves(cute.coalesce(lhs).shape)
    if leaves(lhs.shape)[-1] != 1:
        sizes.pop()  # counting goes on in the last mode
    for extent, stride in zip(leaves(rhs.shape), leaves(rhs.stride), strict=True):
        if stride == 0 or extent == 1:
            continue
        step, rest = stride, extent
        for size in sizes:
            if step % size and size % step:
                return False
            offered, step = max(1, size // step), max(1, step // size)
            if rest > offered:
                if rest % offered:
                    return False
                rest //= offered
            else:
                break
    return True


@given(layouts(), layouts())
@settings(max_examples=100, deadline=None)
def test_composition_is_the_composition_of_functions_LAY08(lhs, rhs):
    result = attempt(cute.composition, lhs, rhs)
    assert cute.compatible(rhs.shape, result.shape)
    if walks_evenly(lhs, rhs):
        assert function(result) == [cute.crd2idx(offset, lhs) for offset in function(rhs)]


@given(layouts())
def test_composition_with_a_column_is_the_layout_itself_LAY08(layout):
    size = cute.size(layout)
    assert function(cute.composition(layout, Layout(size, 1))) == function(layout)


def test_a_step_that_divides_no_extent_is_composed_as_cute_does_LAY08():
    """CuTe accepts this, and the result is not A o B; the wheel gives the same."""
    lhs, rhs = Layout((6, 8), (1, 16)), Layout(4, 4)
    assert str(cute.composition(lhs, rhs)) == "(2,2):(4,16)"
    assert not walks_evenly(lhs, rhs)
    assert function(cute.composition(lhs, rhs)) != [cute.crd2idx(offset, lhs) for offset in function(rhs)]


@given(layouts())
def test_coalesce_keeps_the_function_and_is_idempotent_LAY08(layout):
    result = cute.coalesce(layout)
    assert function(result) == function(layout)
    assert cute.coalesce(result) == result
    assert cute.depth(result) <= 1


@given(layouts())
def test_coalesce_by_mode_keeps_each_mode_LAY08(layout):
    assume(isinstance(layout.shape, tuple))
    result = cute.coalesce(layout, (1,) * cute.rank(layout))
    for index in range(cute.rank(layout)):
        assert function(cute.get(result, [index])) == function(cute.get(layout, [index]))


@given(layouts(), st.integers(1, 600))
def test_complement_is_ordered_and_disjoint_and_fills_LAY08(layout, target):
    result = attempt(cute.complement, layout, target)
    strides = [d for s, d in zip(leaves(result.shape), leaves(result.stride), strict=True) if s != 1]
    assert strides == sorted(strides)
    moving = cute.filter(layout)
    both = cute.make_layout((moving.shape, result.shape), (moving.stride, result.stride))
    assume(cute.size(both) <= 1 << 14)
    reached = function(both)
    assert len(set(reached)) == len(reached)
    assert cute.cosize(both) >= target


@given(layouts(compact=True))
def test_inverses_of_a_bijection_undo_it_on_both_sides_LAY08(layout):
    right, left = cute.right_inverse(layout), cute.left_inverse(layout)
    for index, offset in enumerate(function(layout)):
        assert cute.crd2idx(offset, left) == index
        assert cute.crd2idx(cute.crd2idx(offset, right), layout) == offset


@given(layouts())
def test_right_inverse_finds_the_index_of_each_offset_LAY08(layout):
    inverse = cute.right_inverse(layout)
    assert [cute.crd2idx(index, layout) for index in function(inverse)] == list(range(cute.size(inverse)))


@given(layouts())
def test_left_inverse_recovers_every_index_LAY08(layout):
    assume(0 not in [d for s, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True) if s != 1])
    inverse = attempt(cute.left_inverse, layout)
    assert [cute.crd2idx(offset, inverse) for offset in function(layout)] == list(range(cute.size(layout)))


@given(layouts(), layouts(most=32))
def test_divide_is_a_composition_with_tiler_and_complement_LAY08(layout, tiler):
    result = attempt(cute.logical_divide, layout, tiler)
    rest = cute.complement(tiler, cute.coalesce(layout).shape)
    pair = cute.make_layout((tiler.shape, rest.shape), (tiler.stride, rest.stride))
    assert result == cute.composition(layout, pair)


@given(layouts(), st.data())
def test_the_divides_only_rearrange_LAY08(layout, data):
    modes = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
    tiler = tuple(data.draw(st.sampled_from([n for n in range(1, 9) if prod(leaves(m)) % n == 0])) for m in modes)
    zipped = attempt(cute.zipped_divide, layout, tiler)
    tiled, flat = cute.tiled_divide(layout, tiler), cute.flat_divide(layout, tiler)
    assert function(zipped) == function(tiled) == function(flat)
    assert sorted(function(zipped)) == sorted(function(layout)) or not evenly_tiled(layout, tiler)
    assert cute.rank(zipped) == 2
    assert cute.get(tiled, [0]) == cute.get(zipped, [0])


def evenly_tiled(layout, tiler):
    """Is every mode a compact run, so that tiling it is a bijection?"""
    parts = [cute.get(layout, [i]) for i in range(len(tiler))] if isinstance(layout.shape, tuple) else [layout]
    return all(
        walks_evenly(part, Layout((n, cute.size(part) // n), (1, n))) for part, n in zip(parts, tiler, strict=True)
    )


@given(layouts(compact=True, most=48), layouts(compact=True, most=24))
def test_product_repeats_the_block_in_the_order_of_the_tiler_LAY08(block, tiler):
    result = attempt(cute.logical_product, block, tiler)
    assert cute.get(result, [0]) == block
    reached = function(result)
    assert len(set(reached)) == len(reached)
    room = cute.complement(block, cute.size(block) * cute.cosize(tiler))
    copies = cute.get(result, [1])
    assert function(copies) == [cute.crd2idx(offset, room) for offset in function(tiler)]


@given(layouts(compact=True, most=48), layouts(compact=True, most=24))
def test_blocked_and_raked_products_hold_the_same_offsets_LAY08(block, tiler):
    blocked = attempt(cute.blocked_product, block, tiler)
    raked = attempt(cute.raked_product, block, tiler)
    assert sorted(function(blocked)) == sorted(function(raked)) == sorted(function(cute.logical_product(block, tiler)))


@given(layouts())
def test_flatten_and_grouping_keep_the_function_LAY08(layout):
    assert function(cute.flatten(layout)) == function(layout)
    assert function(cute.group_modes(layout, 0, 1)) == function(layout)


@given(layouts(), st.data())
def test_slice_is_the_layout_at_a_fixed_coordinate_LAY08(layout, data):
    assume(isinstance(layout.shape, tuple))
    fixed = [data.draw(st.booleans()) for _ in layout.shape]
    picks = [data.draw(st.integers(0, prod(leaves(mode)) - 1)) for mode in layout.shape]
    coord = tuple(pick if fix else cute.Wildcard.ALL for fix, pick in zip(fixed, picks, strict=True))
    kept, start = cute.slice_and_offset(layout, coord)
    free = [range(1) if fix else range(prod(leaves(mode))) for fix, mode in zip(fixed, layout.shape, strict=True)]
    expected = []
    for index in range(prod(map(len, free))):
        full, rest = [], index
        for fix, pick, span in zip(fixed, picks, free, strict=True):
            full.append(pick if fix else rest % len(span))
            rest = rest if fix else rest // len(span)
        expected.append(cute.crd2idx(tuple(full), layout))
    assert [start + offset for offset in (function(kept) if kept.shape != () else [0])] == expected


@given(st.integers(0, 10_000))
@settings(max_examples=100, deadline=None)
def test_a_slice_of_a_swizzled_layout_is_the_same_function_LAY08(seed):
    """With the offset that the slice moves the pointer by, every element stays where it was."""
    rng = random.Random(seed)
    swizzle, layout = cases.swizzle(rng), cases.powers(rng)
    assume(isinstance(layout.shape, tuple) and cute.size(layout) <= 4096)
    coord = tuple(rng.choice((cute.Wildcard.ALL, rng.randrange(prod(leaves(mode))))) for mode in layout.shape)
    whole = ComposedLayout(swizzle, rng.choice((0, 8, 64, 1000)), layout)
    part, start = attempt(cute.slice_and_offset, whole, coord)
    for index in range(min(cute.size(part), 64)):
        full, rest = [], index
        for pick, mode in zip(coord, layout.shape, strict=True):
            count = prod(leaves(mode))
            full.append(rest % count if pick is cute.Wildcard.ALL else pick)
            rest = rest // count if pick is cute.Wildcard.ALL else rest
        assert start + cute.crd2idx(index, part) == cute.crd2idx(tuple(full), whole)


@given(st.integers(0, 3), st.integers(0, 4), st.sampled_from((3, 4, -3)), st.integers(0, 1 << 14))
def test_a_swizzle_is_its_own_inverse_and_keeps_blocks_LAY08(bits, base, shift, offset):
    swizzle = Swizzle(bits, base, shift)
    there = cute.apply_swizzle(swizzle, offset)
    assert cute.apply_swizzle(swizzle, there) == offset
    assert there >> (base + bits + abs(shift)) == offset >> (base + bits + abs(shift))


@given(layouts())
def test_idx2crd_and_crd2idx_undo_each_other_LAY08(layout):
    for index in range(cute.size(layout)):
        coord = cute.idx2crd(index, layout.shape)
        assert cute.crd2idx(coord, layout.shape) == index
        assert cute.crd2idx(coord, layout) == cute.crd2idx(index, layout)


@given(layouts())
def test_counting_visits_the_coordinates_in_order_LAY08(layout):
    coord = cute.idx2crd(0, layout.shape)
    for index in range(cute.size(layout)):
        assert coord == cute.idx2crd(index, layout.shape)
        coord = cute.increment_coord(coord, layout.shape)


@given(layouts(compact=True), st.sampled_from((2, 4)))
def test_upcast_undoes_downcast_LAY08(layout, factor):
    assert cute.upcast(cute.downcast(layout, factor), factor) == layout


@given(layouts())
def test_identity_maps_each_coordinate_to_itself_LAY08(layout):
    assume(isinstance(layout.shape, tuple))
    identity = cute.make_identity_layout(layout.shape)
    for index in range(cute.size(layout)):
        assert cute.crd2idx(index, identity) == cute.idx2crd(index, layout.shape)


@given(layouts(), st.data())
def test_ordered_layouts_are_compact_and_in_order_LAY08(layout, data):
    sizes = leaves(layout.shape)
    order = data.draw(st.permutations(range(len(sizes))))
    made = cute.make_ordered_layout(layout.shape, cases.refill(layout.shape, list(order)))
    assert sorted(function(made)) == list(range(cute.size(layout)))
    moving = [(rank, d) for rank, s, d in zip(order, sizes, leaves(made.stride), strict=True) if s > 1]
    assert [d for _, d in sorted(moving)] == sorted(d for _, d in moving)


@given(layouts(compact=True))
def test_make_layout_like_keeps_a_compact_layout_LAY08(layout):
    assert function(cute.make_layout_like(layout)) == function(layout)


@given(layouts(compact=True, most=32), st.data())
def test_tile_to_shape_is_a_bijection_onto_the_tiles_LAY08(block, data):
    target = tuple(data.draw(st.integers(1, 12)) for _ in range(cute.rank(block)))
    made = attempt(cute.tile_to_shape, block, target, tuple(range(len(target))))
    assert sorted(function(made)) == list(range(cute.size(made)))
    assert all(have >= want for have, want in zip(cute.product_each(made.shape), target, strict=True))


@given(layouts(compact=True, most=64), st.data())
def test_local_tiles_and_partitions_share_out_every_element_LAY08(layout, data):
    assume(isinstance(layout.shape, tuple))
    modes = layout.shape
    tiler = tuple(data.draw(st.sampled_from([n for n in (1, 2, 3, 4) if prod(leaves(m)) % n == 0])) for m in modes)
    workers = cute.make_layout(tiler)
    owned = []
    for worker in range(cute.size(workers)):
        part, start = attempt(cute.local_partition, layout, workers, worker)
        owned += [start + offset for offset in function(part)]
    assume(evenly_tiled(layout, tiler))
    assert sorted(owned) == sorted(function(layout))


@pytest.mark.parametrize("seed", range(40))
def test_max_common_layout_is_contiguous_in_both_LAY08(seed):
    rng = random.Random(seed)
    a, b = cases.powers(rng), cases.powers(rng)
    common = cute.max_common_layout(a, b)
    indices = function(common)
    assert [cute.crd2idx(i, a) for i in indices] == [cute.crd2idx(i, b) for i in indices] == list(range(len(indices)))
    assert cute.max_common_vector(a, b) == len(indices)
