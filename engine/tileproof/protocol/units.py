"""What the integers that a kernel in PTX gets count: elements, of which a loop takes a tile in each turn, or turns.

The long run supposes that they count elements. A loop that goes by one element goes around so often then that it takes
nearly all of the run, or the run does not come to its end, and each turn does what the one before did. Such a run is
given up where the loop begins, and made again with fewer elements of the integers that decide its length. It stands for
the usual one where it comes to its end, and each loop that these integers decide goes around as often as the long run
has tiles, or as it would go around in the usual run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tileproof.base.records import dataclass, field
from tileproof.protocol.deciding import deciding, turns_written
from tileproof.protocol.folding import Extents
from tileproof.protocol.runs import Run, loops_at
from tileproof.protocol.study import Study
from tileproof.protocol.terms import place_term

_OFTEN = 8  # as many turns as the long run has tiles
_TRIALS = 8
_MORE = 4  # as many elements, where a loop goes around too seldom


def in_tiles(study: Study) -> Run | None:
    """The long run with integers that count in the tiles of the loops; it is the usual one where no loop is too long.

    The study's ``units`` are those of the run. None where such a run shows less than the usual one.
    """
    search = _Search(study)
    for _ in range(_TRIALS):
        kept = dict(study.doubts), dict(study.unseen), list(study.ran), study.fills
        one = search.run()
        if search.long is None and (not search.units or search.goes_as_far(one)):
            study.units = search.extents.units
            return one
        study.doubts, study.unseen, study.ran, study.fills = kept
        if not search.goes_on(one):
            break
    return None


@dataclass(slots=True)
class _Search:
    """The search for units.

    Attributes:
        units: how many elements make a tile, by the terms of integers.
        long: the loop at which the last run was given up, and how often it goes around.
        least: how often loops must go around, by place.
        before: how often they did in the last run that came to its end.
    """

    study: Study
    units: dict[int, int] = field(default_factory=dict)
    long: tuple[int, int] | None = None
    least: dict[int, int] = field(default_factory=dict)
    before: Mapping[int, int] = field(default_factory=dict)
    deciders: dict[int, frozenset[int]] = field(default_factory=dict)

    @property
    def extents(self) -> Extents:
        turns = self.study.shape.extent
        return Extents(turns, turns, units=tuple(sorted(self.units.items())))

    def run(self) -> Run:
        """A long run with the units of now, which is given up at a loop that is too long."""
        study, self.long = self.study, None
        budget = study.limit("trial_steps") if self.before else None
        tiles = study.limit("long_tiles")
        return study.run(self.extents, study.shape.extent, tiles, budget=budget, gives_up=self.gives_up)

    def gives_up(self, place: int, length: int) -> bool:
        """Whether a loop is too long, and integers decide it that are not yet counted in its tiles."""
        if self.long is None and length > _OFTEN * self.study.shape.extent and self.of(place) - self.units.keys():
            self.long = place, length
        return self.long is not None

    def of(self, place: int) -> frozenset[int]:
        """The integers that the kernel gets which decide how often a loop goes around."""
        if place not in self.deciders:
            terms, _ = deciding(self.study.compiled.code, (place,))
            self.deciders[place] = terms - {place_term(axis) for axis in range(3)}
        return self.deciders[place]

    def goes_on(self, one: Run) -> bool:
        """Take other units after a run that shows too little; whether there are such."""
        turns, tile = self.study.shape.extent, self.study.limit("tile_elements")
        if self.long is not None:
            place, length = self.long
            if self.before:
                return False
            self.least[place] = turns
            self.units |= {term: max(1, tile * turns // length) for term in self.of(place) - self.units.keys()}
            return self.fits()
        if not _shows(one):
            return False
        seldom = self.too_seldom(one)
        self.before = one.machine.coverage.lengths
        return self.more(term for place in seldom for term in self.of(place)) and self.fits()

    def fits(self) -> bool:
        """Take more elements until loops whose bounds are computed of the integers alone go around often enough."""
        code, turns = self.study.compiled.code, self.study.shape.extent
        usual = turns_written(code, Extents(turns, turns))
        while True:
            now = turns_written(code, self.extents)
            short = [at for at in now if self.counts(at) and now[at] < min(usual.get(at, turns), turns)]
            if not short:
                return True
            if not self.more(term for place in short for term in self.of(place)):
                return False

    def more(self, terms: Iterable[int]) -> bool:
        """Take more elements of integers; whether all are fewer than usual still."""
        tile = self.study.limit("tile_elements")
        self.units |= {term: self.units[term] * _MORE for term in {*terms} & self.units.keys()}
        return all(one < tile for one in self.units.values())

    def counts(self, place: int) -> bool:
        """Whether a loop of the protocol is decided by integers that are not counted as usual."""
        return loops_at(self.study.compiled.code, place) and bool(self.of(place) & self.units.keys())

    def goes_as_far(self, one: Run) -> bool:
        """Whether a run comes to its end, its loops as often as they have to."""
        return _shows(one) and not self.too_seldom(one)

    def too_seldom(self, one: Run) -> list[int]:
        """The loops that went around too seldom: those of the usual run, and others that more elements make longer."""
        coverage, turns = one.machine.coverage, self.study.shape.extent
        written = turns_written(self.study.compiled.code, Extents(turns, turns))
        found = [place for place, least in self.least.items() if coverage.lengths.get(place, 0) < least]
        for place in coverage.went:
            length = coverage.lengths.get(place, 0)
            if length < turns and place not in written and self.counts(place) and self.before.get(place, -1) < length:
                found.append(place)
        return found


def _shows(one: Run) -> bool:
    """Whether a run comes to its end. Whether a kernel hangs is a matter of runs of many lengths (``hangs.py``)."""
    return one.machine.coverage.complete and not one.hangs
