"""What the integers that a kernel in PTX gets count: elements, of which a loop takes a tile in each turn, or turns.

The long run supposes that they count elements. A loop that goes by one element goes around so often then that it takes
nearly all of the run, or the run does not come to its end, and each turn does what the one before did. Such a run is
given up where the loop begins, and made again with fewer elements of the integers that decide its length. It stands for
the usual one where it comes to its end, and each loop that these integers decide goes around as often as the long run
has tiles, or as it would go around in the usual run; or where neither the usual one comes to its end nor one in which
loops go around more often.

Integers that share out the work decide how long a loop is as well, and are many: a scheduler divides by most of what a
kernel gets. Where no such run is found, fewer elements are taken only of those that make the loop longer, such as the
pages of a cache and the elements of a page, whose product is a length.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from tileproof.base.records import dataclass, field, replace
from tileproof.protocol.deciding import deciding, in_order, turns_written
from tileproof.protocol.folding import Extents
from tileproof.protocol.program import Instruction, loops_at
from tileproof.protocol.runs import Run
from tileproof.protocol.terms import PLACES

TRIALS = 8  # runs to find the units by
_OFTEN = 8  # as many turns as the long run has tiles
_MORE = 4  # as many elements, where a loop goes around too seldom
_FEWEST = 2  # turns of a loop, where more make the run too long: in the second one a ring shows its order
_NEXT = 2  # the same after a run that came to its end


@dataclass(slots=True)
class Units:
    """The search for units.

    Attributes:
        code: of the kernel.
        turns: how many tiles the long run has.
        tile: how many elements make a tile, usually.
        most: how many instructions one run may take.
        found: how many do, by the terms of integers.
        usual_tile: the integers that count in usual tiles, though they decide loops that were too long.
        long: the loop at which the last run was given up, and how often it goes around.
        usual: how often loops go around in the usual run whose bounds are computed of the integers alone, by place.
        least: how often loops must go around that were too long, by place.
        too_long: the first loop at which a run was given up, and how often it goes around.
        ended: the last run that came to its end; ``hung``: one in which threads wait for ever.
        deciders: the integers that decide how often a loop goes around, by its place.
        longer: where only those are to count otherwise of which fewer elements make a loop shorter: how often it goes
            around in a run that is given up there, by its place.
        makers: those; aim: how often that loop is to go around.
    """

    code: Sequence[Instruction]
    turns: int
    tile: int
    most: int
    found: dict[int, int] = field(default_factory=dict)
    usual_tile: set[int] = field(default_factory=set)
    long: tuple[int, int] | None = None
    usual: Mapping[int, int] = field(default_factory=dict)
    least: dict[int, int] = field(default_factory=dict)
    too_long: tuple[int, int] | None = None
    ended: Run | None = None
    hung: Run | None = None
    deciders: dict[int, frozenset[int]] = field(default_factory=dict)
    longer: Callable[[Extents, int], int] | None = None
    makers: Set[int] = frozenset()
    aim: int = 0

    @property
    def extents(self) -> Extents:
        """Those of the next run."""
        return Extents(self.turns, self.turns, units=tuple(sorted(self.found.items())))

    def gives_up(self, place: int, length: int) -> bool:
        """Whether a loop is too long, and integers decide it that are not yet counted in its tiles."""
        if self.long is None and length > _OFTEN * self.turns and self.of(place) - self.known:
            self.long = place, length
        return self.long is not None

    def stands(self, one: Run) -> bool:
        """Whether a run shows what the usual one does: no loop is too long, or all go around often enough."""
        return self.long is None and (not self.found or (_ended(one) and not self.too_seldom(one)))

    def goes_on(self, one: Run) -> bool:
        """Take other units after a run that does not stand for the usual one; whether there are such."""
        if self.long is not None:
            self.too_long = self.too_long or self.long
            (place, length), self.long = self.long, None
            if self.ended is not None:  # more elements made it too long
                return False
            self.usual = self.usual or turns_written(self.code, Extents(self.turns, self.turns))
            self.least[place] = self.turns
            self.found |= self.tiles_of(place, length)
            return self.fits()
        if not _ended(one):
            self.hung = one if one.machine.coverage.complete else None
            if self.hung or not self.makers or self.ended or self.too_long is None or self.aim <= _FEWEST:
                return False
            self.aim = max(_FEWEST, self.aim // 2)
            self.found |= self.shorter(self.too_long[0])
            return True
        seldom = self.too_seldom(one)
        self.ended = one
        if self.aim and self.aim < self.turns:  # more elements made the run too long
            return False
        return self.next_steps <= self.most and self.more(seldom, _NEXT, 1) and self.fits()

    @property
    def next_steps(self) -> int:
        """How many instructions the run after one that came to its end may take."""
        return 0 if self.ended is None else 2 * _NEXT * self.ended.machine.steps

    def longest(self) -> Run | None:
        """The longest run that came to its end, or else hangs, where the usual one cannot; None where it may."""
        longest = self.ended or self.hung
        if self.too_long is None or longest is None:
            return None
        place, length = self.too_long
        turns = longest.machine.coverage.lengths.get(place, 0)
        return longest if turns and longest.machine.steps * length > self.most * turns else None

    def of(self, place: int) -> frozenset[int]:
        """The integers that the kernel gets which decide how often a loop goes around."""
        if place not in self.deciders:
            terms, _ = deciding(self.code, (place,))
            self.deciders[place] = terms - PLACES
        return self.deciders[place]

    def tiles_of(self, place: int, length: int) -> dict[int, int]:
        """How many elements make a tile of the integers that make a loop too long and do not count in tiles yet."""
        mine = self.of(place) - self.known
        if self.longer is not None:
            self.makers = {term for term in mine if self.around(place, {term: 1}) < length}
            if self.makers:
                self.aim = self.turns
                return self.shorter(place)
        return dict.fromkeys(mine, max(1, self.tile * self.turns // length))

    def shorter(self, place: int) -> dict[int, int]:
        """The fewest elements of the integers that made a loop too long with which it goes around as it is to."""

        def turns(elements: int) -> int:
            return self.around(place, dict.fromkeys(self.makers, elements))

        return dict.fromkeys(self.makers, 1 + bisect_left(range(1, self.tile), self.aim, key=turns))

    def around(self, place: int, units: dict[int, int]) -> int:
        """How often a loop goes around in other units."""
        assert self.longer is not None
        return self.longer(replace(self, found=self.found | units).extents, place)

    @property
    def known(self) -> Set[int]:
        """The integers of which it is known how many elements make a tile."""
        return self.found.keys() | self.usual_tile

    def fits(self) -> bool:
        """Take more elements until loops whose bounds are computed of the integers alone go around often enough.

        Returns:
            whether they do with fewer elements than usual of some integer.
        """
        while True:
            now = turns_written(self.code, self.extents)
            short = [at for at in now if self.counts(at) and now[at] < min(self.usual.get(at, self.turns), self.turns)]
            if not short:
                return True
            if not self.more(short):
                return False

    def more(self, places: Iterable[int], times: int = _MORE, most: int | None = None) -> bool:
        """Take more elements of the integers that decide some loops; whether there are fewer than usual of any still.

        Args:
            times: so many times as many.
            most: how many integers of each loop, at most; None for all.
        """
        mine = (in_order(self.code, self.of(place) & self.found.keys()) for place in places)
        terms = {term for each in mine for term in each[:most]}
        self.found |= {term: self.found[term] * times for term in terms}
        self.usual_tile |= {term for term in terms if self.found[term] >= self.tile}
        self.found = {term: unit for term, unit in self.found.items() if unit < self.tile}
        return bool(self.found)

    def counts(self, place: int) -> bool:
        """Whether a loop of the protocol is decided by integers that are not counted as usual."""
        return loops_at(self.code, place) and bool(self.of(place) & self.found.keys())

    def too_seldom(self, one: Run) -> list[int]:
        """The loops that went around too seldom: those of the usual run, and others that more elements make longer."""
        coverage = one.machine.coverage
        before: Mapping[int, int] = {} if self.ended is None else self.ended.machine.coverage.lengths
        found = [place for place, least in self.least.items() if coverage.lengths.get(place, 0) < least]
        for place in coverage.went.keys() - self.usual.keys():
            length = coverage.lengths.get(place, 0)
            if before.get(place, -1) < length < self.turns and self.counts(place):
                found.append(place)
        return found


def _ended(one: Run) -> bool:
    """Whether a run comes to its end. Whether a kernel hangs is a matter of runs of many lengths (``hangs.py``)."""
    return one.machine.coverage.complete and not one.hangs
