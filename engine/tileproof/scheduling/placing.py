"""The waits of one queue: of all choices that meet the needs, one whose operations are longest in flight."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import TypeAlias

from tileproof.base.records import dataclass
from tileproof.scheduling.needs import Chosen, Need, Timeline, among, flown, meets
from tileproof.scheduling.order import GROUPED

_LATEST = 3  # places of each need that are tried: the latest are the best, unless one serves several
_FEW = 10  # places of which Z3 enumerates all minimal choices
_MOST = 60  # places that are searched at all
_ENDS = 200  # minimal choices that are enumerated


Alternatives: TypeAlias = "frozenset[tuple[int, int]]"  # the places of a need that are tried


@dataclass(frozen=True, slots=True)
class Placed:
    """The best choice, and whether Z3 showed that it is."""

    chosen: Chosen
    proved: bool


def place(queue: str, needs: Iterable[Need], timelines: Sequence[Timeline], most: int) -> Placed | None:
    """The best choice; None where no choice among the latest places meets the needs, as where one has no place.

    Args:
        most: the groups that a wait may leave in flight.
    """
    ranks = _ranks(timelines)
    needs = list(needs)
    if not needs:
        return Placed({}, True)
    if not all(needs):
        return None
    tried = {slot for need in needs for slot, _ in need}
    few = len(tried) <= _FEW
    if not few:
        tried = {slot for need in needs for slot, _ in need[:_LATEST]}
    places = sorted(tried, key=lambda slot: ranks.get(slot, 0))
    wanted = _strictest([frozenset(one for one in need if one[0] in tried) for need in needs])
    if len(places) > _MOST:
        return None
    grouped, timelines = queue in GROUPED, among(timelines, tried)
    counts: dict[int, int] = {}
    for held in timelines:
        for slot, *_ in held.visits:
            counts[slot] = counts.get(slot, 0) + 1

    def value(chosen: Chosen) -> tuple[int, ...]:
        executed = sum(counts.get(slot, 0) for slot in chosen)
        late = sum(ranks.get(slot, 0) for slot in chosen)
        return flown(chosen, timelines, grouped), -executed, -len(chosen), sum(chosen.values()), late

    top = most if grouped else 0
    if few and (ends := _all_minimal(places, wanted, top)) is not None:
        return Placed(max(ends, key=value), True)
    starts: list[Chosen] = [dict.fromkeys(order, 0) for order in _orders(places)]
    starts += [_by_need(needs, tried, rank) for rank in range(_LATEST)]
    best = max((_minimal(one, wanted, top) for one in starts), key=value)
    while True:
        near = [_minimal(one, wanted, top) for one in _exchanged(best, places, wanted)]
        better = max(near, key=value, default=best)
        if value(better) <= value(best):
            return Placed(best, False)
        best = better


def _ranks(timelines: Sequence[Timeline]) -> dict[int, int]:
    """Which slots come first, by the first visit of any warp."""
    found: dict[int, int] = {}
    for held in timelines:
        for i, (slot, *_) in enumerate(held.visits):
            found[slot] = min(found.get(slot, i), i)
    return found


def _strictest(needs: Iterable[Alternatives]) -> list[Alternatives]:
    """The needs without those that follow from others."""
    found = set(needs)
    return [one for one in found if not any(other != one and _implies(other, one) for other in found)]


def _implies(one: Alternatives, other: Alternatives) -> bool:
    """Whether what meets the first need meets the second."""
    most = dict(other)
    return all(left <= most.get(slot, -1) for slot, left in one)


def _orders(places: Sequence[int]) -> Iterator[Sequence[int]]:
    """Orders in which places are removed: what is kept is what comes last."""
    for turn in range(len(places)):
        order = (*places[turn:], *places[:turn])
        yield order
        yield order[::-1]


def _by_need(needs: Iterable[Need], tried: Set[int], rank: int) -> Chosen:
    """For each need the latest place that is tried, or one of those before it."""
    chosen: dict[int, int] = {}
    for need in needs:
        own = [one for one in need if one[0] in tried]
        slot, left = own[min(rank, len(own) - 1)]
        chosen[slot] = min(left, chosen.get(slot, left))
    return chosen


def _exchanged(chosen: Chosen, places: Sequence[int], needs: Sequence[Alternatives]) -> Iterator[Chosen]:
    """Choices with another place instead of one, or beside it: it meets what the others do not."""
    for slot in chosen:
        for weaker in (None, *range(chosen[slot] + 1, chosen[slot] + 4)):
            rest = {**chosen, slot: weaker} if weaker is not None else {s: n for s, n in chosen.items() if s != slot}
            open_needs = [dict(need) for need in needs if not any(rest.get(s, n + 1) <= n for s, n in need)]
            for other in places:
                if other not in rest and all(other in need for need in open_needs):
                    yield {**rest, other: min((need[other] for need in open_needs), default=0)}


def _minimal(start: Chosen, needs: Sequence[Alternatives], most: int) -> Chosen:
    """A choice of which nothing can be removed or weakened, from one that meets all needs; the first go first."""
    chosen = {slot: min(left, most) for slot, left in start.items()}
    for slot in start:
        mine = [need for need in needs if any(place == slot for place, _ in need)]
        left = chosen.pop(slot)
        if not meets(chosen, mine):
            chosen[slot] = left
    for slot in start:
        if slot in chosen:
            mine = [need for need in needs if any(place == slot for place, _ in need)]
            chosen[slot] = next(n for n in range(most, -1, -1) if meets({**chosen, slot: n}, mine))
    return chosen


def _all_minimal(places: Sequence[int], needs: Sequence[Alternatives], most: int) -> list[Chosen] | None:
    """All choices of which nothing can be removed or weakened; None where they are too many."""
    from tileproof.evaluate.solver import minimal  # noqa: PLC0415  z3 only where it is asked

    def enough(strengths: Sequence[int]) -> bool:
        return meets({slot: most + 1 - power for slot, power in zip(places, strengths, strict=True) if power}, needs)

    found = minimal([most + 1] * len(places), enough, _ENDS)
    if found is None:
        return None
    return [{slot: most + 1 - power for slot, power in zip(places, one, strict=True) if power} for one in found]


__all__ = ["Placed", "place"]
