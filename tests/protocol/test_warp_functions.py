"""What the threads of a warp compute together, held against PTX's own words of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tileproof
from protocol.test_never import WINDOW
from tileproof.evaluate.hardware import limit
from tileproof.protocol.ptx_arithmetic import computation
from tileproof.protocol.values import Address, Allocation, Lanes, Open, Supposed, Value, term_of
from tileproof.protocol.warp_functions import WARP, matched, reaches, reduced, shuffled, voted, warp_function

MODES = ("idx", "up", "down", "bfly")
NUMBERS = st.lists(st.integers(-9, 9), min_size=64, max_size=64)


def by_the_page(mode: str, values: list[int], b: int, c: int) -> list[tuple[int, bool]]:
    """PTX ISA, shfl.sync: the pseudo code of its semantics; of each thread the value and the predicate."""
    found = []
    for thread in range(len(values)):
        lane, distance, clamp, segments = thread % 32, b & 31, c & 31, c >> 8 & 31
        max_lane, min_lane = lane & segments | clamp & ~segments, lane & segments
        if mode == "up":
            j = lane - distance
            p = j >= max_lane
        elif mode == "down":
            j = lane + distance
            p = j <= max_lane
        elif mode == "bfly":
            j = lane ^ distance
            p = j <= max_lane
        else:
            j = min_lane | distance & ~segments
            p = j <= max_lane
        found.append((values[thread - lane + (j if p else lane)], p))
    return found


@given(st.sampled_from(MODES), NUMBERS, st.integers(0, 31), st.sampled_from([32, 16, 8, 4]))
def test_a_shuffle_gives_what_the_page_says(mode: str, values: list[int], b: int, width: int):
    clamp = 32 - width << 8 | (0 if mode == "up" else 31)
    found = shuffled(mode, Lanes(tuple(values)), b, clamp)
    reached = reaches(mode)(Lanes(tuple(range(32)) * 2), b, clamp)
    assert isinstance(found, Lanes)
    assert isinstance(reached, Lanes)
    assert list(zip(found.each, reached.each, strict=True)) == by_the_page(mode, values, b, clamp)


SCAN = "{ .reg .pred p; .reg .b32 t; shfl.sync.up.b32 t|p, %r9, N, 0, 0xffffffff; @p add.u32 %r9, %r9, t; }"
# Every second lane has one; the sum of all is 16. Below lane n the predicate keeps a thread from adding its own again.
SCANNED = WINDOW.replace(
    "COMPUTED",
    "\n".join(
        (
            "  and.b32 %r9, %r1, 1;",
            *(SCAN.replace("N", str(distance)) for distance in (1, 2, 4, 8, 16)),
            "  shfl.sync.idx.b32 %r9, %r9, 31, 31, -1;",
        )
    ),
)


@pytest.mark.parametrize(("count", "wrong"), [(17, set()), (16, {"PR126"})])
def test_a_branch_goes_by_a_prefix_sum(count: int, wrong: set[str]):
    """The second wait, which lasts for ever, is behind a branch that nobody takes, or all."""
    report = tileproof.check(SCANNED.replace("COUNT", str(count)))
    (kernel,) = report.files[0].kernels
    assert kernel.status == "followed"
    assert {one.code for one in report.diagnostics} == wrong


def test_what_all_threads_have_stays():
    for value in (7, Supposed(7, 3), Open(1, 2), None):
        assert shuffled("up", value, 1, 0) is value


def test_what_is_not_known_stays_unknown():
    lanes = Lanes((*range(31), None, *range(32)))
    assert shuffled("up", lanes, None, 0) is None
    assert shuffled("up", lanes, 1, None) is None
    found = shuffled("down", lanes, 1, 31)
    assert isinstance(found, Lanes)
    assert found.each[30] is None
    assert found.each[32] == 1


def test_an_address_is_that_of_one_lane_or_unknown():
    where = Address(Allocation("smem", "smem", 1), None, 8, parts=tuple(range(64)))
    found = shuffled("idx", where, 3, 31)
    assert isinstance(found, Address)
    assert found.parts == (3,) * 32 + (35,) * 32
    assert shuffled("up", where, 3, 0) is None


def test_a_supposed_integer_stays_supposed_and_is_another_one():
    lanes = Lanes(tuple(range(32)), 5)
    terms = {term_of(shuffled(mode, lanes, b, c)) for mode, b, c in [("up", 1, 0), ("up", 2, 0), ("down", 1, 31)]}
    assert len(terms | {5}) == 4
    assert None not in terms
    assert term_of(voted("any", lanes)) is not None


@given(st.lists(st.booleans(), min_size=64, max_size=64))
def test_votes_are_those_of_each_warp(votes: list[bool]):
    lanes = Lanes(tuple(map(int, votes)))
    for mode, of in (("any", any), ("all", all), ("uni", lambda one: len(set(one)) == 1)):
        found = voted(mode, lanes)
        each = found.each if isinstance(found, Lanes) else (found,) * 64
        assert each == (int(of(votes[:32])),) * 32 + (int(of(votes[32:])),) * 32
    found = voted("ballot", lanes)
    each = found.each if isinstance(found, Lanes) else (found,) * 64
    for warp in range(2):
        word = each[32 * warp]
        assert isinstance(word, int)
        assert -(1 << 31) <= word < 1 << 31
        assert [bool(word >> lane & 1) for lane in range(32)] == votes[32 * warp : 32 * warp + 32]


def test_a_vote_of_what_all_have_or_nobody_knows():
    assert voted("ballot", 1) == -1
    assert voted("ballot", 0) == 0
    assert voted("any", 4) == voted("all", 4) == voted("uni", 0) == 1
    assert voted("any", None) is None
    assert voted("ballot", Lanes((None, *[1] * 31))) == Lanes((None,) * 32)


@pytest.mark.parametrize(
    ("opcode", "count"),
    [
        ("shfl.sync.up.b32", 3),
        ("shfl.sync.idx.b32", 3),
        ("vote.sync.ballot.b32", 1),
        ("vote.sync.any.pred", 1),
        ("redux.sync.add.s32", 2),
        ("match.any.sync.b64", 2),
        ("match.all.sync.b32", None),
        ("add.s32", None),
    ],
)
def test_opcodes_that_a_warp_executes_together(opcode: str, count: int | None):
    found = warp_function(opcode)
    assert (None if found is None else found[0]) == count


MASKS = st.integers(-(1 << 31), (1 << 31) - 1)


def inside(mask: int, lane: int) -> bool:
    return bool(mask >> lane & 1)


@given(NUMBERS, MASKS)
def test_a_match_gives_the_members_with_the_same_value(values: list[int], mask: int):
    found = matched(Lanes(tuple(values)), mask)
    assert isinstance(found, Lanes)
    for thread, word in enumerate(found.each):
        warp = values[thread // 32 * 32 :][:32]
        alike = [inside(mask, lane) and warp[lane] == values[thread] for lane in range(32)]
        assert word is not None
        assert -(1 << 31) <= word < 1 << 31
        assert [inside(word, lane) for lane in range(32)] == alike


@given(st.sampled_from([("add", sum), ("min", min), ("max", max)]), NUMBERS, MASKS.filter(bool))
def test_a_reduction_is_one_of_the_members(of: tuple, values: list[int], mask: int):
    found = reduced(of[0], Lanes(tuple(values)), mask)
    assert isinstance(found, Lanes)
    for warp in range(2):
        members = [values[32 * warp + lane] for lane in range(32) if inside(mask, lane)]
        assert set(found.each[32 * warp :][:32]) == {of[1](members)}


def test_matches_and_reductions_of_what_all_have_and_of_what_nobody_knows():
    where = Address(Allocation("smem", "smem", 1), 32, 8)
    assert matched(where, 7) == matched(5, 7) == 7
    assert matched(None, 7) is matched(5, None) is reduced("add", None, -1) is None
    assert [reduced(mode, 3, 0b111) for mode in ("add", "xor", "max", "and")] == [9, 3, 3, 3]
    assert reduced("add", Lanes((None, *[1] * 31)), 0b110) == Lanes((2,) * 32)
    assert reduced("add", Lanes((None, *[1] * 31)), 0b111) == Lanes((None,) * 32)
    assert reduced("max", Lanes((-1, *[1] * 31)), -1, unsigned=True) == Lanes((-1,) * 32)
    assert term_of(matched(Lanes((1,) * 32, 8), -1)) not in (None, 8, term_of(reduced("add", Lanes((1,) * 32, 8), -1)))


@given(st.integers(-(1 << 31), (1 << 31) - 1))
def test_the_highest_bit_and_bits_in_reverse(value: int):
    book = tileproof.load_rules()

    def of(opcode: str, value: Value) -> Value:
        found = computation(book, opcode)
        assert found is not None
        return found.function(value)[0]

    bits = [value >> i & 1 for i in range(32)]
    ones = [i for i, one in enumerate(bits) if one]
    unlike = [i for i, one in enumerate(bits) if one != bits[31]]
    assert of("bfind.u32", value) == (ones[-1] if ones else -1)
    assert of("bfind.s32", value) == (unlike[-1] if unlike else -1)
    assert of("bfind.shiftamt.u32", value) == (31 - ones[-1] if ones else -1)
    word = of("brev.b32", value)
    assert isinstance(word, int)
    assert [word >> i & 1 for i in range(32)] == bits[::-1]
    assert of("brev.b32", Open(1, 2)) is of("bfind.u32", Open(1, 2)) is None


def test_a_warp_has_the_threads_that_the_rules_say():
    assert limit(tileproof.load_rules(), "warp_threads") == WARP
