"""Runs in which loops go around their ring that went around too seldom in all others.

A run supposes that an integer which a kernel in PTX gets counts 128 elements a tile. A loop that takes more in a turn
goes around less often than the long run has turns, perhaps not once around its ring: what is wrong in the second round
is in no run then. So such loops are sought once all other runs are made, and made longer by larger integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import islice

from tileproof.base.records import dataclass, field, replace
from tileproof.protocol.deciding import deciders, in_order
from tileproof.protocol.faults import DEADLOCKS, ProtocolFault
from tileproof.protocol.folding import Extents
from tileproof.protocol.lengths import Others, over_tiles, used_seldom
from tileproof.protocol.program import loops_at
from tileproof.protocol.runs import Run, even, key_of
from tileproof.protocol.study import AGREEING, FEW, Study
from tileproof.protocol.terms import PLACES

_TERMS = 4  # integers of which one alone is larger
_SMALLER = 8  # a tile that loaded integers count the elements of is that much smaller, if it is not as large as usual
_LONGEST = 64  # times as many turns as the long run has, at which a run gives up
_CHEAP = 4  # a run is made before others where so many of it could be


def larger_runs(study: Study, long: Run, faults: list[ProtocolFault]) -> tuple[list[Run], int | None]:
    """Run loops more often that went around too seldom, and add what only these runs show.

    Roles may go by different integers, of which only one is larger: that threads wait for ever then says nothing. Where
    no loop goes around, as with an integer that is taken from another one, or by which one is divided, it is no longer
    run but a short one, and named as such.

    Returns:
        the runs that come to their end and have findings of their own, and how often a loop went around that no run
        which comes to its end brings around more often.
    """
    others, seldom = Others(study, long, faults), _Seldom(study)
    usual, budget = long.machine.shape.extents, study.share("wide", long.machine)
    for size, tiles, needed in _larger(seldom, long):
        if budget <= 0 or needed > budget or any(ran.recipe.extents == size for ran in study.ran):
            continue
        one = over_tiles(study, long, size, tiles, budget, seldom.too_long)
        budget -= one.machine.steps
        others.repair = not seldom.loads(size)  # roles that load integers for themselves may disagree: it says little
        if not others.take(one):
            break
        if even(one):
            seldom.settle(one, usual)
        if not (one.hangs and one.certain):
            continue
        wrong = next(fault for fault in one.faults if fault.code in DEADLOCKS)
        if study.one_number() or study.alike() or _in_step(study, one):  # no roles that go by different integers
            if not _goes_around(study, one):
                study.doubt("short_loops", wrong.operation, turns=0)
                continue
            known = {key_of(fault) for fault in faults}
            study.shown = one
            faults.extend(fault for fault in one.faults if key_of(fault) not in known)
            break
        if not (size.given or study.loads):
            study.doubt("loop_turns", wrong.operation, wrong)
    return others.found, min((n for at, n in seldom.loops().items() if at not in seldom.settled), default=None)


def _goes_around(study: Study, run: Run) -> bool:
    """Whether a loop of open length goes around in a run."""
    code, lengths = study.compiled.code, run.machine.coverage.lengths
    return any(turns and code[at].kind == "test" and loops_at(code, at) for at, turns in lengths.items())


def _in_step(study: Study, hung: Run) -> bool:
    """Whether all loops of open length go around as often as each other, here as in runs that come to their end.

    Loops that lie in as many others are compared. Roles may load other integers where they are made to differ.
    """
    if study.loads:
        return False
    code, coverage = study.compiled.code, hung.machine.coverage
    ended = [one for runs in study.reached.by_size.values() for one in runs.values()]
    # A role that had nothing to do here may go by an integer of its own (ThunderKittens).
    entered = sorted({*coverage.lengths}.union(*ended))
    loops = [at for at in entered if code[at].kind == "test" and loops_at(code, at)]
    loops = [at for at in loops if any(deciders(code, (at,), through=True))]
    depths: dict[int, list[int]] = {}
    for at in loops:
        depths.setdefault(sum(one < at < code[one].target for one in loops), []).append(at)

    def even(lengths: Mapping[int, int]) -> bool:
        return all(len({lengths.get(at, 0) for at in group}) == 1 for group in depths.values())

    ended = [one for one in ended if any(one.get(at) for at in loops)]
    different = {tuple(one.get(at, 0) for at in loops) for one in ended}
    return even(coverage.lengths) and all(map(even, ended)) and len(different) >= AGREEING


@dataclass(slots=True)
class _Seldom:
    """The loops that integers decide which a kernel gets or loads, and that went around less often than the long run
    has turns.

    Attributes:
        deciders: those integers, by the place of the loop.
        loaded: which of them are loaded.
        settled: loops that went around as often as they do where one of them is larger.
    """

    study: Study
    deciders: dict[int, frozenset[int]] = field(default_factory=dict)
    loaded: set[int] = field(default_factory=set)
    settled: set[int] = field(default_factory=set)

    def loops(self) -> dict[int, int]:
        """How often they went around, by place, but for those that larger integers do not lengthen."""
        code, turns = self.study.compiled.code, self.study.shape.extent
        found = {at: n for at, n in self.study.reached.lengths.items() if 0 < n < turns and loops_at(code, at)}
        for at in found.keys() - self.deciders.keys():
            given, loaded = deciders(code, (at,), through=True)
            self.deciders[at] = given - PLACES | loaded
            self.loaded |= loaded
        bounded = set(self.study.reached.bounded(lambda at: self.deciders.get(at, frozenset())))
        return {
            at: n
            for at, n in found.items()
            if self.deciders[at] and not (at in bounded and self.loaded.isdisjoint(self.deciders[at]))
        }

    def loads(self, size: Extents) -> bool:
        """Whether integers that are loaded are larger in a size."""
        return bool(size.apart) or any(term in self.loaded for term, _ in size.given)

    def too_long(self, at: int, turns: int) -> bool:
        """Whether a loop goes around so often that the run would not end, as where its length is less than none."""
        return turns > _LONGEST * self.study.shape.extent

    def settle(self, one: Run, usual: Extents) -> None:
        """Note which loops a run went around in which integers are larger than usual: those given, or all."""
        extents, lengths = one.machine.shape.extents, one.machine.coverage.lengths
        larger = {term for term, _ in set(extents.given) - set(usual.given)}
        every = extents.argument > usual.argument
        self.settled.update(
            at for at in self.loops() if lengths.get(at) and (every or not larger.isdisjoint(self.deciders[at]))
        )


def _larger(seldom: _Seldom, long: Run) -> Iterator[tuple[Extents, int, int]]:
    """Sizes in which loops that went around too seldom do so more often: they take more elements in each turn than a
    tile usually has. With the tiles of those runs, and how many instructions they surely need.

    All integers are larger, or one is and the others are small: roles may go by different ones, and other loops may
    become too long.
    """
    study, extents, tried = seldom.study, long.machine.shape.extents, list[int]()
    turns, tile = study.shape.extent, study.limit("tile_elements")
    few = Extents(FEW, FEW, extents.counted, units=extents.units)

    def times(left: Iterable[int]) -> int:
        return -(-turns // max(left, default=turns))

    def open_() -> list[int]:
        """The integers to try next, those of one loop; each that is loaded twice: it may count elements or tiles."""
        for at in sorted(seldom.loops()):
            mine = [term for term in seldom.deciders[at] if tried.count(term) <= (term in seldom.loaded)]
            if mine:
                return in_order(study.compiled.code, set(mine))
        return []

    for share in (_CHEAP, 1):
        now = times(seldom.loops().values())
        if now > 1:
            size = replace(extents, argument=now * extents.argument)
            yield size, long.machine.tiles, share * now * long.machine.steps
        if share == _CHEAP:
            small, large = (replace(few, apart=turns * one) for one in (tile // _SMALLER, tile))
            for size in (small, large, replace(large, near=FEW)):  # a length is the difference of two neighbours
                if any(not seldom.loaded.isdisjoint(seldom.deciders[at]) for at in seldom.loops()):
                    yield size, FEW, 0
        while len(set(tried)) < _TERMS and (terms := open_()):
            term, left = terms[0], seldom.loops()
            first = term in seldom.loaded and term not in tried
            tried.append(term)
            more = 1 if first else times(n for at, n in left.items() if term in seldom.deciders[at])
            given = {**dict(extents.given), term: more * extents.usual(term, tile)}
            yield replace(few, given=tuple(given.items())), FEW, 0
    for base, together in islice(_together(seldom, long, few), _TERMS):
        larger = {term: study.limit("shared_tiles") * extents.elements(term, tile) for term in sorted(together)}
        given = {**dict(base.given), **larger}
        yield replace(base, given=tuple(given.items())), FEW, 0


def _together(seldom: _Seldom, long: Run, few: Extents) -> Iterator[tuple[Extents, Set[int]]]:
    """Integers that are larger together, and the extents that all others have.

    Where the text says how many CTAs share the tiles of a matrix, one of them has several only if the rows and the
    columns are many. One loop may go through all tiles of a CTA and through each: then all integers but one that
    decide it.
    """
    study, code = seldom.study, seldom.study.compiled.code
    for at in sorted(seldom.loops()):
        mine = seldom.deciders[at] - seldom.loaded
        if at in seldom.loops() and len(mine) > 1:
            yield few, mine
            if not long.machine.coverage.lengths.get(at):  # the others lead to it where they are as they were there
                yield study.reached.came[at][0], mine
    for at in sorted(long.machine.coverage.lengths) if used_seldom(study) else ():
        given, loaded = deciders(code, (at,), through=True) if loops_at(code, at) else (frozenset(), frozenset())
        for term in in_order(code, given - PLACES) if not loaded else ():
            if used_seldom(study) and len(given - PLACES) > 1:
                yield few, given - PLACES - {term}
