"""Addresses that threads keep in local memory, from which an index picks."""

from __future__ import annotations

import pytest

import tileproof
from protocol.test_ptx_kernels import RING
from protocol.test_ptx_practices import edited, mistaken, verified
from tileproof.protocol.local_memory import loaded, stored
from tileproof.protocol.values import Lanes, Local, Supposed, term_of

KEEPS = "  st.local.v2.u32 [%rd3], {%r3, %r29};\n"

# The barriers of the ring are kept in an array, as nvcc keeps arrays of pointers that a loop indexes.
KEPT = edited(
    RING,
    (".reg .pred %p<9>;", ".local .align 8 .b8 table[8]; .reg .pred %p<9>;"),
    (
        "  add.s32 %r3, %r2, 8192;\n",
        "  add.s32 %r3, %r2, 8192;\n  mov.u64 %rd3, table;\n  add.s32 %r29, %r3, 8;\n" + KEEPS,
    ),
    (
        "  shl.b32 %r10, %r6, 3;\n  add.s32 %r11, %r3, %r10;\n",
        "  mul.wide.s32 %rd4, %r6, 4;\n  add.s64 %rd5, %rd3, %rd4;\n  ld.local.u32 %r11, [%rd5];\n",
    ),
    (
        "  shl.b32 %r20, %r6, 3;\n  add.s32 %r21, %r3, %r20;\n",
        "  mul.wide.s32 %rd6, %r6, 4;\n  add.s64 %rd7, %rd3, %rd6;\n  ld.local.u32 %r21, [%rd7];\n",
    ),
)

LIKEWISE = {
    "two stores": (KEEPS, "  st.local.u32 [%rd3], %r3;\n  st.local.u32 [%rd3+4], %r29;\n"),
    "stored again": (KEEPS, "  st.local.v2.u32 [%rd3], {%r29, %r3};\n" + KEEPS),
    "floats behind": (KEEPS, KEEPS + "  st.local.v2.f32 [%rd3+8], {0f00000000, 0f00000000};\n"),
    "half a ring for each warp": (KEEPS, "  @%p1 st.local.u32 [%rd3+8], %r3;\n" + KEEPS),
    "a generic address that nobody stores through": (KEEPS, KEEPS + "  cvta.local.u64 %rd8, %rd3;\n"),
}


def test_barriers_that_an_index_picks_from_local_memory_are_followed():
    verified(KEPT)


@pytest.mark.parametrize("change", LIKEWISE.values(), ids=LIKEWISE)
def test_they_are_however_they_come_there(change: tuple[str, str]):
    verified(edited(KEPT, change))


def test_the_wrong_barrier_in_the_array_is_found():
    mistaken(KEPT, "{%r3, %r29}", "{%r3, %r3}", {"PR122", "PR126"})


UNKNOWN = {
    "a store through a generic address": "  cvta.local.u64 %rd8, %rd3;\n  st.u32 [%rd8], %r1;\n",
    "a store somewhere in it": "  cvt.u64.u32 %rd8, %r4;\n  add.s64 %rd8, %rd8, %rd1;\n  st.local.u32 [%rd8], %r1;\n",
    "a float over it": "  st.local.f32 [%rd3], 0f00000000;\n",
    "a byte over it": "  st.local.u8 [%rd3+3], %r1;\n",
}


@pytest.mark.parametrize("behind", UNKNOWN.values(), ids=UNKNOWN)
def test_what_may_be_overwritten_is_not_known(behind: str):
    report = tileproof.check(edited(KEPT, (KEEPS, KEEPS + behind)))
    (kernel,) = report.files[0].kernels
    assert "barrier_address" in {reason.case for reason in kernel.reasons}


def test_a_byte_has_no_more_than_its_eight_bits():
    """Nothing is left of it behind them; of the whole number that was stored 1 would be."""
    read = "  ld.local.u8 %r10, [%rd3+8];\n  shr.u32 %r10, %r10, 8;\n  xor.b32 %r10, %r10, %r6;\n"
    text = edited(
        KEPT,
        (".b8 table[8]", ".b8 table[16]"),
        (KEEPS, KEEPS + "  mov.b32 %r10, 256;\n  st.local.u8 [%rd3+8], %r10;\n"),
        ("  mul.wide.s32 %rd4, %r6, 4;\n", read + "  mul.wide.s32 %rd4, %r10, 4;\n"),
    )
    verified(text)


def test_a_load_picks_what_was_stored_there_last():
    (held,) = stored(4)(None, 64, 1, 2, 3)
    (held,) = stored(4)(held, 68, 20)
    assert held == Local(((64, 4, 1), (68, 4, 20), (72, 4, 3)))
    assert loaded(4, 4)(held, 64) == (20,)
    assert loaded(8, 0)(held, 64) == (None,)
    assert loaded(4, 0)(held, None) == (None,)
    assert stored(4)(held, None, 1) == (None,)
    (held,) = stored(8)(held, 70, None)
    assert held == Local(((64, 4, 1),))


def test_bytes_and_halves_of_words_are_extended_by_the_load():
    (held,) = stored(1)(None, 0, 0x1FF, -128)
    assert held == Local(((0, 1, 0xFF), (1, 1, 0x80)))
    assert [loaded(1, at, signed)(held, 0) for at in (0, 1) for signed in (False, True)] == [
        (255,),
        (-1,),
        (128,),
        (-128,),
    ]
    (held,) = stored(2)(held, 0, -2)
    assert [loaded(2, 0, signed)(held, 0) for signed in (False, True)] == [(0xFFFE,), (-2,)]
    assert [loaded(1, 0, signed)(held, 0) for signed in (False, True)] == [(0xFE,), (-2,)]


def test_a_load_picks_a_part_of_a_longer_integer():
    (held,) = stored(8)(None, 0, (5 << 32) + 0xFFFFFFFE, 7)
    assert [loaded(4, at)(held, 0)[0] for at in (0, 4, 8, 12)] == [-2, 5, 7, 0]
    assert [loaded(2, at)(held, 0)[0] for at in (0, 2, 4)] == [0xFFFE, 0xFFFF, 5]
    assert loaded(2, 0, True)(held, 0) == (-2,)
    assert loaded(4, 6)(held, 0) == (None,)
    assert loaded(4, 0)(held, Lanes((0, 8))) == (Lanes((-2, 7)),)


def test_threads_pick_each_their_own():
    (held,) = stored(4)(None, 0, 7, 8)
    assert loaded(4, 0)(held, Lanes((4, 0, None))) == (Lanes((8, 7, None)),)
    assert loaded(4, 0)(held, Lanes((4, 12))) == (None,)


def test_what_a_supposed_index_picks_is_supposed():
    (held,) = stored(4)(None, 0, 7, 8)
    (one,) = loaded(4, 0)(held, Supposed(4, 99))
    (other,) = loaded(4, 0)(stored(4)(None, 0, 7, 9)[0], Supposed(4, 99))
    assert (one, other) == (8, 9)
    assert term_of(one) not in (None, 99, term_of(other))


def test_local_memory_of_two_branches_is_what_both_have():
    assert Local(((0, 4, 7), (4, 4, 8))).met(Local(((0, 4, 7), (4, 4, 9)))) == Local(((0, 4, 7),))
