"""What the threads of a warp compute together: shuffles, votes, matches and reductions, of the values of the machine.

Schedulers of tiles use them: a warp finds by prefix sums which batch a tile is in. In a shuffle and a vote all threads
of the warp take part, as the member mask says in kernels that are right; libcu++ matches and counts those that are
active where it is called.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache, reduce

from tileproof.protocol.terms import lift
from tileproof.protocol.values import Address, Lanes, Supposed, Value, term_of

WARP = 32  # the bits of a member mask; of the rules (warp_threads), which a test holds it against
_ALL = -1  # the mask of all threads of a warp, as a signed integer
SHUFFLES = {"idx": 1, "up": 2, "down": 3, "bfly": 4}
VOTES = {"any": 5, "all": 6, "uni": 7, "ballot": 8}
_MATCHED = 9  # apart from the terms of the others
REDUCTIONS: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "add": (10, operator.add),
    "min": (11, min),
    "max": (12, max),
    "and": (13, operator.and_),
    "or": (14, operator.or_),
    "xor": (15, operator.xor),
}
_SEGMENTS = 8  # the bit of a clamp where the mask of segments begins
_BALLOT = lift(lambda vote: _ALL if vote else 0, "ballot")
_SOME = lift(lambda vote: int(vote != 0), "vote")


def warp_function(opcode: str) -> tuple[int, Callable[..., Value]] | None:
    """How many operands behind the first an instruction reads that a warp executes together, and what it gives."""
    name, _, rest = opcode.partition(".sync.")
    mode = rest.partition(".")[0]
    if name == "shfl" and mode in SHUFFLES:
        return 3, lambda value, lane, clamp: shuffled(mode, value, lane, clamp)
    if name == "vote" and mode in VOTES:
        return 1, lambda vote: voted(mode, vote)
    if name == "match.any":
        return 2, matched
    if name == "redux" and mode in REDUCTIONS:
        unsigned = rest.endswith(".u32")
        return 2, lambda value, members: reduced(mode, value, members, unsigned)
    return None


def shuffled(mode: str, value: Value, lane: Value, clamp: Value) -> Value:
    """``shfl.sync``: what another lane of the warp has; unknown where that depends on what is not known.

    Args:
        mode: ``idx``, ``up``, ``down`` or ``bfly``.
        lane: which lane, or how far away; clamp: how far lanes are reached, and the mask of segments.
    """
    if not isinstance(value, Lanes | Address) or (isinstance(value, Address) and _by_warp(value.parts)):
        return value
    if isinstance(value, Address):
        if mode != "idx" or not isinstance(lane, int) or not 0 <= lane < WARP or value.memory.space != "smem":
            return None
        return value.of_lane(int(lane), WARP)
    if mode == "idx" and not isinstance(clamp, int):
        clamp = WARP - 1
    if not isinstance(lane, int) or not isinstance(clamp, int):
        return None
    sources = _sources(mode, int(lane), int(clamp), len(value.each))
    term = None if value.term is None else hash((value.term, SHUFFLES[mode], int(lane), int(clamp)))
    return Lanes(tuple([None if at is None else value.each[at] for at in sources]), term)


def reaches(mode: str) -> Callable[[Value, Value, Value], Value]:
    """The predicate that ``shfl.sync`` sets beside its result: whether that is of the lane which was asked for.

    It is a function of the number of the own lane, and of ``lane`` and ``clamp`` as ``shuffled`` has them.
    """
    return _REACHES[mode]


def voted(mode: str, vote: Value) -> Value:
    """``vote.sync``: of a truth of each thread, what all threads of a warp find; unknown where that of one is."""
    if not isinstance(vote, Lanes):
        if mode == "uni":
            return 1 if isinstance(vote, int) else None
        return _BALLOT(vote) if mode == "ballot" else _SOME(vote)
    found = _votes(mode, vote.each)
    term = None if vote.term is None else hash((vote.term, VOTES[mode]))
    if found.count(found[0]) == len(found) and found[0] is not None:
        return found[0] if term is None else Supposed(found[0], term)
    return Lanes(found, term)


def matched(value: Value, members: Value) -> Value:
    """``match.any.sync``: of each thread the members of its warp that have the same value, as a mask."""
    if not isinstance(members, int | Lanes) or value is None or isinstance(value, tuple):
        return None
    if not isinstance(value, Lanes):
        return members if not isinstance(value, Address) or _by_warp(value.parts) else None
    masks = members.each if isinstance(members, Lanes) else (int(members),) * len(value.each)
    return Lanes(_matches(value.each, masks), _joined(_MATCHED, value, members))


def reduced(mode: str, value: Value, members: Value, unsigned: bool = False) -> Value:
    """``redux.sync``: the sum, extreme, conjunction or disjunction of the values that the members of a warp have."""
    number, function = REDUCTIONS[mode]
    if not isinstance(members, int | Lanes) or not isinstance(value, int | Lanes):
        return None
    if isinstance(value, int) and isinstance(members, int):
        if mode in ("min", "max", "and", "or"):
            return value
        return _TIMES[mode](value, members)
    threads = len(value.each if isinstance(value, Lanes) else members.each)  # type: ignore[union-attr]
    each = value.each if isinstance(value, Lanes) else (int(value),) * threads
    masks = members.each if isinstance(members, Lanes) else (int(members),) * threads
    return Lanes(_reductions(function, each, masks, unsigned), _joined(number, value, members))


def _word(value: int) -> int:
    """The lowest 32 bits as a signed integer."""
    return (value + (1 << WARP - 1) & (1 << WARP) - 1) - (1 << WARP - 1)


def _members(mask: int) -> int:
    return (mask & (1 << WARP) - 1).bit_count()


_TIMES = {
    "add": lift(lambda value, mask: _word(value * _members(mask)), "redux add"),
    "xor": lift(lambda value, mask: value if _members(mask) % 2 else 0, "redux xor"),
}


def _joined(number: int, *values: Value) -> int | None:
    """The term of what is made of several values."""
    terms = [term for one in values if (term := term_of(one)) is not None]
    return hash((number, *terms)) if terms else None


@lru_cache(maxsize=256)
def _matches(each: tuple[int | None, ...], masks: tuple[int | None, ...]) -> tuple[int | None, ...]:
    found: list[int | None] = []
    for thread, mask in enumerate(masks):
        warp = each[thread - thread % WARP :][:WARP]
        inside = [i for i in range(len(warp)) if mask is not None and mask >> i & 1]
        known = mask is not None and each[thread] is not None and all(warp[i] is not None for i in inside)
        found.append(_word(sum(1 << i for i in inside if warp[i] == each[thread])) if known else None)
    return tuple(found)


@lru_cache(maxsize=256)
def _reductions(
    function: Callable[[int, int], int], each: tuple[int | None, ...], masks: tuple[int | None, ...], unsigned: bool
) -> tuple[int | None, ...]:
    found: list[int | None] = []
    for thread, mask in enumerate(masks):
        warp = each[thread - thread % WARP :][:WARP]
        held = [warp[i] for i in range(len(warp)) if mask is not None and mask >> i & 1]
        numbers = [one & (1 << WARP) - 1 if unsigned else one for one in held if one is not None]
        found.append(_word(reduce(function, numbers)) if held and len(numbers) == len(held) else None)
    return tuple(found)


@lru_cache(maxsize=256)
def _sources(mode: str, lane: int, clamp: int, threads: int) -> tuple[int | None, ...]:
    """For each thread the one whose value it is given; None where the CTA has no such thread."""
    found: list[int | None] = []
    for thread in range(threads):
        other, reached = _source(mode, thread % WARP, lane, clamp)
        at = thread - thread % WARP + (other if reached else thread % WARP)
        found.append(at if at < threads else None)
    return tuple(found)


def _source(mode: str, mine: int, lane: int, clamp: int) -> tuple[int, bool]:
    """The lane that a lane asks for, and whether it is in reach."""
    segments, most = clamp >> _SEGMENTS & WARP - 1, clamp & WARP - 1
    last = mine & segments | most & ~segments
    other = {
        "idx": mine & segments | lane & WARP - 1 & ~segments,
        "up": mine - (lane & WARP - 1),
        "down": mine + (lane & WARP - 1),
        "bfly": mine ^ lane & WARP - 1,
    }[mode]
    return other, other >= last if mode == "up" else other <= last


def _reaching(mode: str) -> Callable[[int, int, int], int]:
    return lambda mine, lane, clamp: int(_source(mode, mine, lane, clamp)[1])


_REACHES = {mode: lift(_reaching(mode), f"shfl {mode}") for mode in SHUFFLES}


@lru_cache(maxsize=256)
def _votes(mode: str, each: tuple[int | None, ...]) -> tuple[int | None, ...]:
    found: list[int | None] = []
    for first in range(0, len(each), WARP):
        votes = each[first : first + WARP]
        whole: int | None = None
        if None not in votes:
            held = [bool(one) for one in votes]
            mask = sum(one << i for i, one in enumerate(held))
            ballot = mask - (1 << WARP) if mask >> WARP - 1 else mask
            whole = {"any": int(any(held)), "all": int(all(held)), "uni": int(len(set(held)) == 1), "ballot": ballot}[
                mode
            ]
        found += [whole] * len(votes)
    return tuple(found)


@lru_cache(maxsize=256)
def _by_warp(parts: tuple[int | None, ...]) -> bool:
    """Whether all threads of each warp have one place."""
    return all(len(set(parts[first : first + WARP])) == 1 for first in range(0, len(parts), WARP))


__all__ = [
    "REDUCTIONS",
    "SHUFFLES",
    "VOTES",
    "WARP",
    "matched",
    "reaches",
    "reduced",
    "shuffled",
    "voted",
    "warp_function",
]
