"""The bytes that each warp touches of a tile that threads share out, against a walk over every thread and value."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tileproof.dialects.infer.partition import copy_side
from tileproof.dialects.values import read_type
from tileproof.layout import crd2idx, size, tiled
from tileproof.layout.basics import is_static_layout, outer
from tileproof.layout.slicing import slice_and_offset
from tileproof.layout.swizzle import apply_swizzle
from tileproof.layout.values import Swizzle
from tileproof.protocol.access_sets import AccessSet, access_set, distances, part_of

COPIES = {
    "rows of four": ("universal_copy<f32, 128 b>", "((4,32),4):((128,1),32)", "[32:1;16:1]", "(32,16):(16,1)", 128),
    "columns": ("universal_copy<f32, 32 b>", "((8,16),4):((4,32),1)", "[32:1;16:1]", "(32,16):(16,1)", 128),
    "a tile that repeats": ("universal_copy<f32, 32 b>", "(32,1):(1,0)", "[32:1;1:0]", "(64,4):(4,1)", 32),
    "strided columns": ("universal_copy<f32, 32 b>", "((32,2),2):((1,64),32)", "[32:1;4:1]", "(32,8):(1,33)", 64),
}


def touched(name: str) -> tuple[AccessSet | None, dict[int, set[int]]]:
    """What is computed, and the bytes of each warp by enumeration."""
    atom, values, tiler, layout, threads = COPIES[name]
    copy = read_type(
        f'!cute.tiled_copy<!cute_nvgpu.atom.{atom}, layout_copy_tv = <"{values}">, tiler_mn = <"{tiler}">>'
    )
    tensor = read_type(f'!cute.memref<f32, smem, align<16>, "{layout}">')
    flat, _ = tiled.partition_copy(tensor.layout, copy_side(copy, "D", None), 0)
    found: dict[int, set[int]] = {}
    for thread in range(threads):
        _, coord = tiled.partition_copy(tensor.layout, copy_side(copy, "D", None), thread)
        mine, start = slice_and_offset(outer(flat), coord)
        assert is_static_layout(mine)
        for i in range(size(mine)):
            first = 4 * (start + crd2idx(i, outer(mine)))
            found.setdefault(thread // 32, set()).update(range(first, first + 4))
    every = tuple(range(threads))
    parts = distances(copy, "D", tensor, every)
    return access_set(part_of(copy, "D", tensor), parts, every, 32), found


def bytes_of(one: AccessSet) -> dict[int, set[int]]:
    return {
        warp: {one.start + i for i in range(bits.bit_length()) if bits >> i & 1} for warp, bits in one.warps.items()
    }


@pytest.mark.parametrize("name", COPIES)
def test_each_warp_touches_what_its_threads_touch(name):
    computed, enumerated = touched(name)
    assert computed is not None
    assert bytes_of(computed) == enumerated
    assert computed.end == 1 + max(max(held) for held in enumerated.values())


def test_warps_that_write_rows_meet_warps_that_read_columns():
    rows, by_rows = touched("rows of four")
    columns, by_columns = touched("columns")
    assert rows is not None and columns is not None
    expected = {a: {b for b in by_columns if by_rows[a] & by_columns[b]} for a in by_rows}
    assert rows.clashes(columns) == {a: warps for a, warps in expected.items() if warps}
    assert rows.clashes(rows) == {warp: {warp} for warp in range(4)}


def test_threads_whose_part_is_outside_the_tensor_drop_out_alone():
    copy = read_type(
        '!cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 32 b>, layout_copy_tv = <"(64,1):(1,0)">, '
        'tiler_mn = <"[64:1;1:0]">>'
    )
    tensor = read_type('!cute.memref<f32, smem, align<16>, "(32,1):(1,0)">')
    parts = distances(copy, "D", tensor, tuple(range(64)))
    assert parts[:32] == tuple(range(0, 128, 4))
    assert set(parts[32:]) == {None}
    one = access_set(part_of(copy, "D", tensor), parts, tuple(range(64)), 32)
    assert one is not None
    assert (one.start, one.warps, one.swizzle) == (0, {0: (1 << 128) - 1}, None)
    assert access_set(part_of(copy, "D", tensor), parts, tuple(range(32, 64)), 32) is None


def test_a_part_beyond_the_tile_is_no_part_of_the_next_stage():
    """A copy wider than the tile: offsets of later threads are those of the second stage."""
    copy = read_type(
        "!cute.tiled_copy<!cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>, "
        'layout_copy_tv = <"(128,4):(4,1)">, tiler_mn = <"[512:1]">>'
    )
    tensor = read_type('!cute.memref<f32, smem, align<16>, "(64,2):(1,64)">')
    assert distances(copy, "D", tensor, tuple(range(128))) == (*range(0, 256, 16), *(None,) * 112)


@pytest.mark.parametrize("name", ["rows of four", "columns"])
@pytest.mark.parametrize(("mine", "other"), [((3, 4, 3), None), ((3, 4, 3), (2, 4, 3)), ((3, 4, 4), (3, 4, 3))])
def test_other_swizzles_are_compared_where_they_put_the_bytes(name, mine, other):
    def swizzled(one: AccessSet, swizzle: tuple[int, int, int] | None) -> AccessSet:
        return replace(one, start=one.start + 4096, swizzle=None if swizzle is None else Swizzle(*swizzle))

    def walked(one: AccessSet) -> dict[int, set[int]]:
        return {
            warp: {b if one.swizzle is None else apply_swizzle(one.swizzle, b) for b in held}
            for warp, held in bytes_of(one).items()
        }

    computed, _ = touched(name)
    columns, _ = touched("columns")
    assert computed is not None and columns is not None
    first, second = swizzled(computed, mine), swizzled(columns, other)
    expected = {
        warp: met
        for warp, held in walked(first).items()
        if (met := {their for their, others in walked(second).items() if held & others})
    }
    assert first.clashes(second) == expected
