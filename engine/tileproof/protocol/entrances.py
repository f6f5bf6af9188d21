"""Integers with which a kernel in PTX goes past a branch that it never took the way of steps that are missing.

The long run supposes that all integers that a kernel gets are large. Where the kernel ends for one that is out of its
range, or for two that do not go together, such a run shows nothing (``entrance``); where only some lengths have a part,
such as the masked tiles of attention, no run comes there (``lengths.py``). A run that is told to go on all the same has
integers that contradict the way it goes. So other numbers are tried for the integers that decide the branch, one at a
time, until threads go on: small ones for what is loaded, where the usual ones count the elements of an extent; those
that the text itself compares with; 1, and 0 for something that is turned off; one more than usual, for an extent that
is no whole number of tiles; then larger ones than usual, for an extent of 7 tiles has no group of 8. An integer that
the text multiplies by the elements of a tile counts tiles itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice

from tileproof.base.records import dataclass, field
from tileproof.protocol.deciding import deciders, in_order, literals, scaled
from tileproof.protocol.program import Instruction
from tileproof.protocol.runs import Run

Numbers = Mapping[int, int]  # integers that the kernel gets or loads, by their terms

NOWHERE = -1
_TRIALS = 32  # with numbers that stand in the text
_LARGER = (2, 4, 8, 16)  # times as large as usual
_HALF, _QUARTER = 2, 4
_ROLES = 8  # one of so many has its part of what is missing behind a branch of its own
_LEAST = (1, 0)
_FAR = 1 << 20  # more is an address or a mask
_SMALL = (1, 2)


def entrance(
    code: Sequence[Instruction],
    first: Run,
    run: Callable[[Numbers, int], Run],
    usual: Callable[[int], int],
    tiles: int,
    steps: int,
) -> Numbers:
    """The integers with which a kernel goes past the branches at which a run ended; none where no such are found.

    Where threads waited for ever numbers must not only leave out what they waited for.

    Args:
        first: a run with the usual integers.
        run: a run with others, up to a branch where that is the place of one.
        usual: the usual integer of a term; tiles: that of one that counts tiles.
        steps: the instructions of all of these: most end at once.
    """
    search, last = Search(code, run, usual, tiles, steps), first
    while (found := _ended_at(code, last)) is not None:
        further = search.past(*found)
        if further is None:
            break
        last = further
    waits = {id(code[place].operation) for _, _, place, _ in first.waits()} if first.hangs else set()
    return search.given if not (waits and last.hangs) and waits <= last.machine.coverage.executed else {}


@dataclass(slots=True)
class Search:
    """A search for integers.

    Attributes:
        run, usual, tiles, steps: as of ``entrance``.
        trials: how many runs there may be with numbers of the text.
        given: the integers that are chosen already.
    """

    code: Sequence[Instruction]
    run: Callable[[Numbers, int], Run]
    usual: Callable[[int], int]
    tiles: int
    steps: int
    trials: int = _TRIALS
    given: dict[int, int] = field(default_factory=dict)

    def past(self, place: int, way: bool, right: Callable[[Run], bool] = lambda run: True) -> Run | None:
        """A run that goes a way of a branch, with other integers; None where none does.

        Args:
            right: whether a run is wanted that goes there.
        """
        given, loaded = deciders(self.code, (place,))
        terms = in_order(self.code, given | loaded)
        small = [(term, number) for number in _SMALL for term in terms if term in loaded]
        written = islice(chain(small, self.written(place, terms)), max(self.trials, 0))
        larger = ((term, times * self.usual(term)) for times in _LARGER for term in terms)
        alone = ({term: number} for term, number in chain(written, larger))
        for numbers in chain(self.at_once(place, way, terms, small), alone):
            if self.steps <= 0:
                return None
            one = self.tried(numbers, NOWHERE)
            self.trials -= 1
            if way in one.machine.coverage.went.get(place, ()) and right(one):
                self.given.update(numbers)
                return one
        return None

    def tried(self, numbers: Numbers, until: int) -> Run:
        one = self.run({**self.given, **numbers}, until)
        self.steps -= one.machine.steps
        return one

    def at_once(
        self, place: int, way: bool, terms: Sequence[int], small: Sequence[tuple[int, int]]
    ) -> Iterator[Numbers]:
        """Numbers with which the first threads at a branch go that way: a run up to there is short.

        Args:
            small: those for what is loaded.
        """
        least = self.steps // _QUARTER
        count = {term: self.tiles for term in scaled(self.code, place) if term not in self.given}
        written = ((term, number) for term, number in self.written(place, terms) if number > max(_LEAST))
        alone = [{term: number} for term, number in chain(small, islice(written, _TRIALS))]
        alone += [{term: number} for number in _LEAST for term in terms]
        alone += [{term: self.usual(term) + 1} for term in terms]
        for numbers in (count, *({**count, **one} for one in alone)) if count else alone:
            if self.steps <= least:
                return
            one = self.tried(numbers, place)
            if way in one.machine.coverage.went.get(place, ()):
                yield numbers

    def written(self, place: int, terms: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Integers that decide a branch and numbers for them: those that stand in the text and their neighbours."""
        written = {near for one in literals(self.code, place) for near in (one - 1, one, one + 1) if 0 < near < _FAR}
        numbers = sorted({*written, *_SMALL}, reverse=True)
        for number in numbers:
            for term in terms:
                if self.given.get(term) != number:
                    yield term, number


def _ended_at(code: Sequence[Instruction], run: Run) -> tuple[int, bool] | None:
    """The branch behind which most steps are that a run did not execute, and the way there; None where it did not end.

    Each role may have one of its own, so it need not have most of all that are missing. Most steps of the kernel are
    missing then, or the run went around no loop and executed none behind the branch.
    """
    coverage = run.machine.coverage
    steps = [at for at, one in enumerate(code) if one.effect is not None and not one.effect.pure]
    missing = [at for at in steps if id(code[at].operation) not in coverage.executed]
    last = max(set(steps) - set(missing), default=-1)
    if len(missing) * _HALF > len(steps):
        last = -1
    elif any(coverage.lengths.values()):
        return None
    found, most = None, len(missing) // _ROLES
    for place in sorted(place for place in coverage.doubtful if place > last):
        ways = coverage.went.get(place, set())
        if len(ways) != 1 or code[place].kind != "branch":
            continue
        way = False in ways
        low, high = (place + 1, code[place].other) if way else (code[place].other, code[place].target)
        behind = sum(low <= at < high for at in missing)
        if behind > most:
            found, most = (place, way), behind
    return found


__all__ = ["NOWHERE", "Numbers", "Search", "entrance"]
