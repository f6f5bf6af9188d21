"""Runs whose loops are shorter or longer than those of the long run, and what only they show.

Short loops show an order that exists only where a loop goes around its whole ring; longer ones the steps that no short
one comes to; a grid of one CTA the second use of an mbarrier that each tile uses once. What depends on a length that a
run supposes is told apart here from what does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial

from tileproof.base.diagnostic import Severity
from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field, replace
from tileproof.dialects.operations import Operations
from tileproof.protocol.deciding import deciders, deciding, in_order, scaled
from tileproof.protocol.explore import around, counted_by, guards_of, in_empty_loops, nearest, unreachable, wanted_ways
from tileproof.protocol.faults import DEADLOCKS, HAZARDS, OF_BOXES, OF_COPIES, SURPLUS, TENSOR_MAPS, ProtocolFault
from tileproof.protocol.fixpoint import Period
from tileproof.protocol.folding import Extents
from tileproof.protocol.hangs import done_once, in_first_cluster, named_hang, wrong_early
from tileproof.protocol.program import loops_at
from tileproof.protocol.runs import Run, between, even, key_of, rests_on, steps_of
from tileproof.protocol.study import AGREEING, FEW, MANY_TILES, Size, Study
from tileproof.protocol.terms import PLACES
from tileproof.rulebase.findings import state

_UNLIKE = 3  # halves of a tile by which integers differ
_PARTS = (4, 1)  # halves of a tile that an integer has beside a third of one
_LONGER = (12, 5)  # the same of lengths within a bound: three tiles of twice the elements, or of as many
_LARGE = 4  # times as large as what is loaded
_LOADED = (2, 16, 64)  # times as large as usual, of lengths that many CTAs may have a share of
_MORE = 3  # as many problems as a loop usually has turns: two roles that take turns go from one to another each
_DIFFERENT = 4  # integers that differ from each other, before they are alike again
_TILES = 6  # that integers which differ count about
_MOST_TILES = 4  # times as many as in the long run
_PLACES = 4  # that a run comes to for which others are missing
_INTEGERS = 8  # that a finding may rest on
_COPIES = {"bulk_load", "raw_copy"}  # steps that fill shared memory by bulk copies
_FEWER = 3  # runs of a grid of one cluster
_PARTED = 4  # times as many turns as usual that a loop over such a part has
_GROUP = 8  # tiles, a multiple of the stages of most rings
_ROUNDS = 2  # phases of an mbarrier that show both parities
_CTAS = regex(r"sreg\.n(cta|cluster)id")


def short_runs(study: Study, long: Run, faults: list[ProtocolFault], period: Period | None) -> int | None:
    """Run short loops over many tiles, and add what only they show; how many iterations the verdict holds for.

    It holds for all numbers where the shorter ones were run up to a state that came again, and a period more.

    The order of two accesses may exist only where a loop goes through its whole ring of stages. A hazard that long
    loops over as many tiles show as well does not depend on the length.
    """
    tiles, budget = max(study.limit("short_tiles"), long.machine.tiles), study.share("short", long.machine)
    known = {key_of(fault) for fault in faults}
    anyway: frozenset[tuple[str, int]] | None = None
    done: set[int] = set()
    calm, hung = set[int](), dict[int, Run]()
    whole = min(study.shape.extent, long.machine.shape.extents.tensor)  # iterations of the long run
    most = whole - 1 if period is None else period.reached + period.length
    if study.written_out(long):  # of any number of turns a run is like the long one
        done.update(range(most + 1))
    for turns in _short_first(most + 1) if not done else ():
        if budget <= 0 and turns > FEW:
            break
        one = shorter(study, long, turns, tiles)
        budget -= one.machine.steps
        study.reached.add(one.machine)
        if not one.machine.coverage.complete:
            break
        done.add(turns)
        if not long.calm:
            continue
        if one.hangs or not _comparable(one, long):
            # A caller may never ask for so few, and roles need not agree on which of them has an iteration then.
            wrong = [fault for fault in one.faults if fault.code in DEADLOCKS or fault.code in HAZARDS]
            if wrong and turns and not _right_with_even_shares(study, long, turns, tiles):
                hung[turns] = one
            continue
        if one.calm and turns:
            calm.add(turns)
        for fault in one.faults:
            if fault.code not in HAZARDS or key_of(fault) in known:
                continue
            known.add(key_of(fault))
            if anyway is None:
                alike = (
                    tiles == long.machine.tiles and _size(study, long, study.shape.extent) == long.machine.shape.extents
                )
                anyway = long.places() if alike else shorter(study, long, study.shape.extent, tiles).places()
            faults.append(fault if key_of(fault) in anyway else _of_short_loops(study, fault))
    _hung_between(study, {*calm, whole} if long.calm else calm, hung, faults)
    done.add(whole)
    bound = next(turns for turns in range(most + 3) if turns not in done) - 1
    return None if period is not None and bound >= most else max(bound, 0)


def _hung_between(study: Study, calm: Set[int], hung: Mapping[int, Run], faults: list[ProtocolFault]) -> None:
    """State what goes wrong in short loops: a hang is an error where fewer turns go right, and more."""
    for turns, one in sorted(hung.items()):
        wrong = [fault for fault in one.faults if fault.code in DEADLOCKS]
        if wrong and one.certain and between(turns, calm):
            known = {key_of(fault) for fault in faults}
            study.shown = study.shown or one
            faults += [fault for fault in wrong if key_of(fault) not in known]
            return
        last = [fault for fault in one.faults if fault.code in DEADLOCKS or fault.code in HAZARDS][-1]
        study.doubt("short_loops", last.operation, turns=turns)


def missing(study: Study) -> set[int]:
    """The steps that no run executed, by ``id``."""
    return {id(one) for one in steps_of(study.compiled)} - study.reached.executed


def without_turns(study: Study, long: Run, faults: list[ProtocolFault]) -> None:
    """State the hazards of a long run as those of short loops where one that does more has none.

    In a kernel in PTX the integers may be such that roles pass by their loops: what the long run does so, beside loops
    that have no turn, is what a calm run does that goes around them.
    """
    executed = long.machine.coverage.executed
    if any(one.calm and one.executed > executed for one in study.ran):
        known = long.places()
        faults[:] = [
            _of_short_loops(study, one) if one.code in HAZARDS and key_of(one) in known else one for one in faults
        ]


def of_passed_loops(study: Study, long: Run, faults: list[ProtocolFault]) -> None:
    """State surplus arrivals as doubts where another run does as much without them.

    The loop that the long run passes, by the integers that it supposes, may wait between two of the arrivals; a run of
    more steps has gone around it. Where other surplus arrivals are in all these runs, those are the same mistake.
    """
    if not long.passes_loops():
        return
    executed, steps = long.machine.coverage.executed, long.machine.steps
    others = [one for one in study.ran if one.calm and one.executed >= executed and one.steps >= steps]
    surplus = [one for one in faults if one.code == SURPLUS]
    loose = [one for one in surplus if any(key_of(one) not in ran.places for ran in others)]
    for fault in loose:
        if len(loose) == len(surplus):
            study.doubt("loop_turns", fault.operation, fault)
        faults.remove(fault)


def _of_short_loops(study: Study, fault: ProtocolFault) -> ProtocolFault:
    """A hazard that only short loops have, as a warning: a caller may never ask for so few turns."""
    said = state(study.book, "PR117", "here", hazard=fault.message, remedy=fault.hint)
    return replace(fault, code=said.code, message=said.message, hint=said.hint)


def shorter(study: Study, long: Run, turns: int, tiles: int) -> Run:
    """A run like the long one, with loops of so many turns."""
    return study.run(_size(study, long, turns), turns, tiles, budget=study.run_steps)


def _right_with_even_shares(study: Study, long: Run, turns: int, tiles: int) -> bool:
    """Whether a run of so many turns goes right where each CTA of a cluster has as many tiles.

    Who launches a kernel in pairs of CTAs that work on their tiles together gives it a multiple of two.
    """
    code, ctas, size = study.compiled.code, study.shape.ctas, _size(study, long, turns)
    loops = (deciding(code, (at,))[0] for at in range(len(code)) if loops_at(code, at))
    shared = frozenset[int]().union(*(terms for terms in loops if terms & PLACES)) - PLACES
    if ctas == 1 or not shared:
        return False
    tile = study.limit("tile_elements")
    given = dict(size.given) | {term: ctas * size.usual(term, tile) for term in sorted(shared)}
    size = replace(size, given=tuple(given.items()))
    return study.run(size, turns, tiles, budget=study.run_steps).calm


def _size(study: Study, long: Run, turns: int) -> Extents:
    """The extents of such a run."""
    whole, extents = study.shape.extent, long.machine.shape.extents
    both = (extents.tensor, extents.argument)
    tensor, argument = (n * turns // whole if n >= whole else min(n, turns) for n in both)
    return replace(extents, tensor=tensor, argument=argument)


def affords(study: Study, long: Run) -> bool:
    """Whether all numbers of iterations up to twice those of the long run can be run as short runs."""
    needed = 2 * long.machine.steps * study.shape.extent
    return not long.machine.coverage.skipped and needed <= study.share("short", long.machine)


def _comparable(short: Run, long: Run) -> bool:
    """Whether the roles agreed on the trip counts of a short run: they need not agree on which has no iteration."""
    mine, other = short.machine.coverage, long.machine.coverage
    missing = (mine.skipped and not other.skipped) or (mine.unknown and not other.unknown)
    missing |= (mine.passed_by and not other.passed_by) or (bool(mine.guessed) and not other.guessed)
    return not missing


def wide_runs(study: Study, long: Run, faults: list[ProtocolFault]) -> Others:
    """Run longer loops where steps are still missing, and only there: of few tiles, then of as many as before.

    A ring whose slots are filled ahead has more stages than the long run has turns, and of a loop that compilers
    unrolled one end is that of odd numbers. Threads may wait for ever so because roles count by different integers:
    such a run says nothing.
    """
    code, extents, tile = study.compiled.code, long.machine.shape.extents, study.limit("tile_elements")
    guards = guards_of(code)
    budget = study.share("wide", long.machine)
    others = Others(study, long, faults)
    if missing(study) <= unreachable(code, study.reached):
        return others
    _larger_loads(others)
    done: list[Extents] = []
    few, turns = Extents(FEW, FEW, extents.counted, units=extents.units), study.limit("wide_turns")
    sizes = (  # elements of an integer that the kernel gets, or what it loads
        (tile, replace(few, apart=turns)),
        (tile + 1, replace(few, apart=2 * turns, tensor=(FEW + 1) * tile)),
        (1, replace(few, apart=2 * turns)),
        (tile // 2, replace(few, apart=4 * turns)),
        (tile // 4, replace(few, apart=16 * turns)),  # with chunks of 16 elements an odd number of them
        (tile // 4, replace(few, apart=32 * turns)),
        (tile // 4, replace(few, apart=64 * turns)),
        (tile, replace(extents, apart=4 * turns)),
        (tile, replace(few, apart=4 * turns, tensor=study.shape.extent * tile + tile)),  # the first one is a length
    )

    def deciding_numbers() -> tuple[frozenset[int], bool]:
        wanted = {*wanted_ways(code, guards, study.reached), *counted_by(code, guards, study.reached)}
        found, loaded = deciders(code, wanted, through=True) if wanted and budget > 0 else (frozenset(), frozenset())
        return found, bool(loaded)

    def counted(term: int, elements: int) -> int:
        """So many elements of an integer, or as large a part of its own tile where that is another (``units.py``)."""
        unit = extents.elements(term, tile)
        return elements if unit == tile else unit + 1 if elements > tile else max(elements * unit // tile, 1)

    for elements, loads in sizes:
        terms, loaded = deciding_numbers()
        if loaded:  # of neighbours the difference is a length; each role loads them for itself, so all go alike
            size = loads
        elif not terms:
            break
        else:
            size = replace(
                loads,
                apart=0,
                tensor=min(loads.tensor, extents.tensor),
                given=tuple(
                    (term, turns * (1 if term in PLACES else counted(term, elements))) for term in sorted(terms)
                ),
            )
            if size in done:
                continue
            done.append(size)
        tiles = long.machine.tiles if loaded else FEW
        one = over_tiles(study, long, size, tiles, budget)
        budget -= one.machine.steps
        if loaded and not one.machine.coverage.complete:  # too many tiles: few of them, and as much in each
            size = replace(loads, apart=4 * turns, near=FEW)
            one = study.run(size, study.shape.extent, tiles, budget=study.share("wide", long.machine))
        if not others.take(one):
            break
    budget = budget if budget > 0 else study.share("wide", long.machine)  # of what comes now
    for near, _, tiles in nearest(code, guards, study.reached)[:_PLACES]:
        # One integer brought a run so far; others that are as large as in the long run may lead on.
        size = replace(near, argument=extents.argument, tensor=extents.tensor)
        if budget <= 0 or any(ran.recipe.extents == size for ran in study.ran):
            continue
        one = over_tiles(study, long, size, tiles, budget)
        budget -= one.machine.steps
        if not others.take(one):
            break
    if deciding_numbers()[1]:
        _parts_of_a_length(others)
    if deciding_numbers()[1]:
        _small_parts_of_a_length(others)
    for place in list(wanted_ways(code, guards, study.reached))[:_PLACES]:
        # What brings a run to this place keeps it from going on: tiles that have nothing to sum up, say.
        size, turns, tiles = study.reached.sizes[place]
        terms, _ = deciding(code, (place,))
        given = tuple((term, tile * FEW) for term in sorted(terms - PLACES))
        if size.tensor or not given or budget <= 0 or place not in wanted_ways(code, guards, study.reached):
            continue
        one = study.run(replace(size, given=given), turns, tiles, budget=budget)
        budget -= one.machine.steps
        if not others.take(one, set(study.reached.executed)):
            break
    return others


def over_tiles(
    study: Study,
    long: Run,
    size: Extents,
    tiles: int,
    budget: int,
    gives_up: Callable[[int, int], bool] | None = None,
) -> Run:
    """A run with loops over few tiles; over more of them where a role counts the tiles and the others are told.

    Args:
        tiles: after so many those are left who are told whether there is another one.
    """
    noted = study.noted()
    one = study.run(size, study.shape.extent, tiles, budget=budget, gives_up=gives_up)
    coverage = one.machine.coverage
    counted = _counted(study, coverage.lengths) if one.hangs and coverage.abandoned else 0
    if not tiles < counted <= _MOST_TILES * long.machine.tiles:
        return one
    study.forget(noted)
    return study.run(size, study.shape.extent, max(counted, long.machine.tiles), budget=budget, gives_up=gives_up)


def _counted(study: Study, lengths: Mapping[int, int]) -> int:
    """The turns of the longest counted loop that is in no other one."""
    code = study.compiled.code
    inside = {at for outer in lengths for at in range(outer + 1, code[outer].target)}
    return max((turns for at, turns in lengths.items() if code[at].kind == "test" and at not in inside), default=0)


def _parts_of_a_length(others: Others) -> None:
    """Run with a length of many tiles that is loaded, of which few CTAs have a part each: splits of attention.

    Where it shows no step that was missing, or threads wait for ever and nothing names a cause, it says nothing.
    """
    study, long = others.study, others.long
    tile = study.limit("tile_elements")
    size = Extents(study.shape.extent * tile + tile, FEW, counted=False)
    budget = study.share("wide", long.machine)
    for tiles in (FEW, long.machine.tiles):
        noted, stuck = study.noted(), others.stuck
        one = study.run(size, study.shape.extent, tiles, budget=budget)
        budget -= one.machine.steps
        further = one.machine.coverage.complete and not one.machine.coverage.executed <= study.reached.executed
        if further and (not others.take(one) or one.calm or even(one)):
            return
        study.forget(noted)
        others.stuck = stuck
        if not one.machine.coverage.abandoned:  # no loop was taken for one over tiles
            return


def _larger_loads(others: Others) -> None:
    """Run with lengths that are loaded and are larger still, where the long run has them so beside few requests.

    A CTA has a part of a length, which may be shorter than a ring.
    """
    study, long = others.study, others.long
    usual = long.machine.shape.extents
    if usual.counted or usual.tensor <= usual.argument or not study.loads:
        return
    for times in _LOADED:
        if not missing(study):
            return
        size = replace(usual, tensor=times * usual.tensor)
        others.take(study.run(size, study.shape.extent, long.machine.tiles, budget=study.share("wide", long.machine)))


def _small_parts_of_a_length(others: Others) -> None:
    """Run with lengths that are loaded so large that many CTAs have several tiles of each; see ``_parts_of_a_length``.

    With more requests fewer CTAs have a part of one: two may share a length. A run is given up where a loop goes
    through the whole length, or through large parts of it.
    """
    study, long, turns = others.study, others.long, others.study.shape.extent
    budget, most = study.share("wide", long.machine), _PARTED * turns
    hung: Run | None = None
    gone: set[int] = set()  # numbers of requests with which a run went further
    for tiles, requests in (*((tiles, FEW) for tiles in MANY_TILES), (_PARTED * turns, turns)):
        if requests in gone or not missing(study):
            continue
        noted, stuck = study.noted(), others.stuck
        size = Extents(tiles * study.limit("tile_elements"), requests, counted=False)
        one = study.run(size, study.shape.extent, FEW, budget=budget, gives_up=lambda place, length: length > most)
        budget -= one.machine.steps
        further = one.machine.coverage.complete and not one.machine.coverage.executed <= study.reached.executed
        if further and (not others.take(one) or one.calm or even(one)):
            gone.add(requests)
            continue
        study.forget(noted)
        hung, others.stuck = hung or others.stuck, stuck
    others.stuck = others.stuck or (None if gone else hung)


def unlike_runs(study: Study, long: Run, faults: list[ProtocolFault]) -> None:
    """Run where steps are missing with integers that differ by more than a tile and no multiple of it.

    The masked tiles of causal attention lie between the lengths of queries and keys.
    """
    code, tile, usual = study.compiled.code, study.limit("tile_elements"), long.machine.shape.extents
    guards, few = guards_of(code), Extents(FEW, FEW, usual.counted, units=usual.units)
    budget = study.share("trial", long.machine)
    for step, bounds in ((_UNLIKE, False), (-_UNLIKE, False), *((more, True) for more in _LONGER)):
        wanted = wanted_ways(code, guards, study.reached) if budget > 0 else {}
        terms, loaded = deciders(code, wanted, through=True) if wanted else (frozenset(), frozenset())
        terms -= PLACES
        if not (terms or loaded) or (bounds and not (terms and loaded)):
            return
        base, more = _TILES * tile, step * tile // FEW
        tiles = frozenset().union(*(scaled(code, place) for place in wanted))
        order = {term: i % _DIFFERENT for i, term in enumerate(in_order(code, terms - tiles))}
        given = {term: base + more * i for term, i in order.items()} | dict.fromkeys(tiles & terms, FEW)
        if loaded:  # what the kernel gets may bound it: the length of all sequences
            given = dict.fromkeys(terms - tiles, _LARGE * base) if bounds else {}
        size = replace(
            few, tensor=base, apart=base, uneven=more, given=tuple(sorted({**dict(usual.given), **given}.items()))
        )
        budget -= of_its_steps(study, faults, partial(study.run, size, study.shape.extent, FEW, budget=budget))


def of_its_steps(study: Study, faults: list[ProtocolFault], run: Callable[[], Run]) -> int:
    """Make a run for the steps that it executes alone, and tell how many instructions it took.

    One with an error of its own says nothing: a caller may never give such numbers together, and its steps stay
    missing. What is wrong with a tensor map that a thread modifies and uses does not rest on what others go by.
    """
    noted, known = study.noted(), set(map(key_of, faults))
    one = run()
    new = [fault for fault in one.faults if key_of(fault) not in known]
    others = (fault for fault in new if fault.code not in TENSOR_MAPS)
    wrong = any(study.book.findings[fault.code].severity is Severity.ERROR for fault in others)
    if (one.calm or even(one)) and not wrong:
        study.reached.add(one.machine)
        faults += new
    else:
        study.forget(noted)
    return one.machine.steps


def grouped_run(study: Study, long: Run, faults: list[ProtocolFault]) -> None:
    """Run where steps are missing with more problems than usual, each of few elements: a CTA goes from one to another.

    A kernel gets how many problems there are, and loads how large each is (grouped GEMM).
    """
    if study.loads and missing(study):
        turns, usual = study.shape.extent, long.machine.shape.extents
        size = replace(usual, tensor=FEW, argument=_MORE * turns, counted=True)
        budget = study.share("wide", long.machine)
        of_its_steps(study, faults, partial(study.run, size, turns, long.machine.tiles, budget=budget))


def element_runs(study: Study, long: Run, faults: Sequence[ProtocolFault]) -> None:
    """Run a kernel in IR where steps are missing with extents and integers that count elements, and no whole tiles.

    The tiles that a window of attention masks are there where it is a part of what is read. A run with a finding of its
    own says nothing: a caller may never give such numbers together.
    """
    tile, turns, known = study.limit("tile_elements"), long.machine.shape.extent, set(map(key_of, faults))
    reached, entered = study.reached, set(study.reached.entered)
    empty = in_empty_loops(study.compiled.code, reached)
    for part in _PARTS if study.compiled.counts else ():
        if missing(study) <= empty:
            return
        noted, size = study.noted(), Extents(tile * turns, tile * part // FEW + tile // _UNLIKE, counted=False)
        one = study.run(size, turns, long.machine.tiles, budget=study.share("wide", long.machine))
        if one.calm and all(key_of(fault) in known for fault in one.faults):
            reached.add(one.machine)
            reached.entered = entered  # numbers of elements are no terms that could be told to be one
        else:
            study.forget(noted)
        if not one.machine.coverage.complete:  # loops over elements, not over tiles of them
            return


def chosen_runs(study: Study, long: Run, faults: Sequence[ProtocolFault]) -> None:
    """Run with one integer more chosen so that a branch goes the way of steps that are missing (``entrances.py``).

    Roles go by the same numbers then; one that is told which way to go has integers that contradict it. A run with a
    finding of its own says nothing: a caller may never give such numbers together, and its steps stay missing.
    """
    from tileproof.protocol.entrances import NOWHERE, Numbers, Search  # noqa: PLC0415

    code, guards = study.compiled.code, guards_of(study.compiled.code)
    tile, steps = study.limit("tile_elements"), study.limit("entrance_steps") // FEW
    tried: set[tuple[int, bool]] = set()
    while steps > 0:
        wanted = [(at, way) for at, way in wanted_ways(code, guards, study.reached).items() if (at, way) not in tried]
        if not wanted:
            return
        place, way = wanted[0]
        tried.add((place, way))
        noted, machine = study.noted(), long.machine
        mine = (machine.shape.extents, machine.shape.extent, machine.tiles)
        extents, turns, tiles = mine if place in machine.coverage.doubtful else study.reached.sizes[place]

        def run(
            numbers: Numbers, until: int, extents: Extents = extents, turns: int = turns, tiles: int = tiles
        ) -> Run:
            size = replace(extents, given=tuple(sorted({**dict(extents.given), **numbers}.items())))
            return study.run(size, turns, tiles, budget=study.limit("trial_steps"), until=until)

        usual = partial(extents.usual, tile=tile)
        search = Search(code, run, usual, study.shape.extent, steps)
        found = search.past(place, way, right=lambda one: one.calm or even(one))
        steps = search.steps
        study.forget(noted)
        if found is None:
            continue
        one = run(search.given, NOWHERE)
        known = {key_of(fault) for fault in faults}
        if all(key_of(fault) in known for fault in one.faults):
            study.reached.add(one.machine)


@dataclass(slots=True)
class Others:
    """What runs of other sizes show beside the long one.

    Attributes:
        faults: what is found so far, which is added to.
        found: the runs that come to their end and have findings of their own.
        stuck: the first run in which threads wait for ever and that says nothing else.
        known: the findings so far, by code and place, before any became one of short loops.
        repair: whether to look for one operation that is why threads wait for ever.
    """

    study: Study
    long: Run
    faults: list[ProtocolFault]
    found: list[Run] = field(default_factory=list)
    stuck: Run | None = None
    known: set[tuple[str, int]] = field(default_factory=set)
    repair: bool = True

    def doubt(self) -> None:
        """Name what threads waited for: other runs may have the steps that these were made for, none goes as far.

        Not where no step is missing, and runs that came to their end went around each loop as often: then it was roles
        that go by different integers.
        """
        if self.stuck is None:
            return
        reached = self.study.reached
        longer = any(n > reached.lengths.get(at, 0) for at, n in self.stuck.machine.coverage.lengths.items())
        if missing(self.study) or longer:
            waited = next(fault for fault in self.stuck.faults if fault.code in DEADLOCKS)
            self.study.doubt("loop_turns", waited.operation, waited)

    def take(self, one: Run, before: Set[int] = frozenset()) -> bool:
        """What a run shows, of steps beside those that were executed before; whether to go on."""
        study, long = self.study, self.long
        usual, stated = frozenset(long.machine.coverage.executed), {key_of(fault) for fault in self.faults}
        known = self.known | stated
        if not (one.calm or even(one)):
            asks = one.hangs and self.stuck is None and (self.repair or one.certain)
            named = named_hang(study, one, self.repair) if asks else None
            if named is not None:
                study.shown = named
                study.reached.add(named.machine)
                self.faults.extend(one for one in named.faults if one.code in DEADLOCKS and key_of(one) not in known)
                return False
            found = {key_of(fault) for fault in one.early() if one.goes_round(fault.operation)} - known
            early = wrong_early(study, one) if found and one.hangs and self.stuck is None else None
            if early is not None:
                study.shown = early
                study.early = None if self.faults else early
                self.faults.extend(one for one in early.faults if key_of(one) in found)
                return False
            self.stuck = self.stuck or (one if any(fault.code in DEADLOCKS for fault in one.faults) else None)
            return True
        study.reached.add(one.machine)
        new = [fault for fault in one.faults if key_of(fault) not in known]
        new = [fault for fault in new if not before or rests_on(fault, frozenset(before), False)]
        # Where a CTA has no tile by the integers that a run supposes, its part of what others expect is missing.
        new = [one for one in new if one.code != OF_BOXES or id(one.operation) not in usual]
        self.known.update(map(key_of, new))
        if one.machine.steps < long.machine.steps or _goes_round_once(one, long):
            # Of steps that longer loops have without a hazard.
            short = [fault for fault in new if fault.code in HAZARDS and not rests_on(fault, usual, False)]
            short = [fault for fault in short if not _in_long_loops(study, fault, long)]
            new = [_of_short_loops(study, fault) if fault in short else fault for fault in new]
        new = [fault for fault in new if key_of(fault) not in stated]
        self.faults.extend(new)
        if new and not one.calm:
            study.shown = one
            self.found.append(one)
        return True


def _goes_round_once(one: Run, long: Run) -> bool:
    """Whether a loop that takes part in the protocol has one turn in a run, or none, and more in the long one."""
    lengths, code = one.machine.coverage.lengths, one.machine.program.code
    more = (at for at, turns in long.machine.coverage.lengths.items() if turns > 1)
    return any(lengths.get(at, FEW) <= 1 and loops_at(code, at) for at in more)


def _in_long_loops(study: Study, fault: ProtocolFault, long: Run) -> bool:
    """Whether a run with integers as large as those of the long one, or larger, has a hazard as well; it may be cut."""
    usual, turns, tiles = long.machine.shape.extents, long.machine.shape.extent, long.machine.tiles
    tile = study.limit("tile_elements")

    def elements(extents: Extents) -> int:
        return extents.argument * (tile if extents.counted else 1)

    return any(
        key_of(fault) in one.places
        for one in study.ran
        if one.recipe.extents.tensor >= usual.tensor
        and elements(one.recipe.extents) >= elements(usual)
        and not (one.recipe.forced or one.recipe.extents.given)
        and one.recipe.turns >= turns
        and one.recipe.tiles >= tiles
    )


def few_ctas(study: Study, long: Run, faults: list[ProtocolFault]) -> list[Run]:
    """Run a grid of one cluster, which has all tiles, where mbarriers are used too seldom to show a wrong phase.

    Returns:
        the runs that have findings of their own.
    """
    if not study.ptx or not used_seldom(study) or not _counts_ctas(study):
        return []
    budget, known = study.share("trial", long.machine), {key_of(fault) for fault in faults}
    for extents, turns, tiles in _in_one_cluster(study, long):
        if budget <= 0 or not used_seldom(study):
            break
        one = study.run(extents, turns, tiles, budget=budget)
        budget -= one.machine.steps
        if one.hangs:
            named = named_hang(study, one, repair=True)
            faults += [fault for fault in named.faults if fault.code in DEADLOCKS] if named else []
            study.shown = named or study.shown
            # Who loads its work is given it for a number of CTAs.
            if named is None and not (study.loads or one.steps_by_data() or done_once(one)):
                stuck = next(fault for fault in one.faults if fault.code in DEADLOCKS)
                study.doubt("loop_turns", stuck.operation, stuck)
            return [named] if named else []
        if not even(one):
            continue
        study.reached.add(one.machine)
        new = [fault for fault in one.faults if fault.code in HAZARDS and key_of(fault) not in known]
        if new:
            study.shown = one
            faults += new
            return [one]
    return []


def with_all_tiles(study: Study, long: Run, others: Others) -> None:
    """Run a grid of one cluster, which has all tiles, where steps are missing: of many clusters each has one tile."""
    if not missing(study) or not _counts_ctas(study):
        return
    budget = study.share("trial", long.machine)
    for extents, turns, tiles in _in_one_cluster(study, long):
        one = study.run(extents, turns, tiles, budget=budget)
        budget -= one.machine.steps
        if budget <= 0 or not others.take(one) or not missing(study):
            break


def _in_one_cluster(study: Study, long: Run) -> list[Size]:
    """The same as in the smallest runs that do what the long one does, each in a grid of one cluster."""
    executed = long.machine.coverage.executed
    ran = {one.steps: one.recipe for one in study.ran if not one.recipe.forced and one.executed >= executed}
    sizes: dict[Size, None] = {}
    for _, recipe in sorted(ran.items(), key=lambda one: one[0]):
        # Tiles that the CTAs of a cluster share come to whole clusters.
        tiles = -(-recipe.extents.argument // study.shape.ctas) * study.shape.ctas
        extents = replace(in_first_cluster(recipe.extents), argument=tiles)
        sizes.setdefault((extents, recipe.turns, recipe.tiles))
    return [*sizes][:_FEWER]


def of_round_lengths(study: Study, runs: Sequence[Run], faults: list[ProtocolFault]) -> None:
    """State hazards as doubts that are not there where extents are whole groups of tiles.

    A kernel may be written for extents with which each tile goes through its ring a whole number of times
    (ThunderKittens): a longer run with such extents that does the same shows that.

    Args:
        runs: those in which the findings are.
    """
    tile, left_out = study.limit("tile_elements"), list[ProtocolFault]()

    def rounded(number: int, unit: int) -> int:
        return -(-number // (_GROUP * unit)) * _GROUP * unit

    for run in runs:
        found = {key_of(one) for one in faults if one.code in HAZARDS} & run.places()
        machine, usual = run.machine, run.machine.shape.extents
        given = tuple((term, rounded(one, usual.elements(term, tile))) for term, one in usual.given)
        size = replace(usual, argument=rounded(usual.argument, 1), given=given)
        if not found or size == usual or run.by_text:
            continue
        one = study.run(size, machine.shape.extent, machine.tiles, budget=study.share("wide", machine))
        done = one.machine.coverage
        # What is left of an unrolled loop may have no turn; all others have as many.
        fewer = any(done.lengths.get(at, 0) < turns for at, turns in machine.coverage.lengths.items() if turns > 1)
        if fewer or not (one.calm or even(one)) or any(fault.code in HAZARDS for fault in one.faults):
            continue  # where whole groups of tiles have hazards as well, those in other stages are the same mistake
        gone = [
            fault
            for fault in faults
            if key_of(fault) in found
            and {id(fault.operation), *(id(other) for _, other in fault.trace)} <= done.executed
        ]
        faults[:] = _without(faults, gone)
        left_out += gone
    if not any(fault.code in HAZARDS for fault in faults):  # where others stand nobody takes the kernel for verified
        for fault in left_out:
            study.doubt("loop_turns", fault.operation, fault)


def _without(faults: Sequence[ProtocolFault], others: Sequence[ProtocolFault]) -> list[ProtocolFault]:
    """Findings without others, by code and place: operations that are written alike are equal wherever they are."""
    keys = set(map(key_of, others))
    return [one for one in faults if key_of(one) not in keys]


def used_seldom(study: Study) -> bool:
    """Whether threads waited for some mbarrier less often than once for either parity."""
    return min(study.reached.rounds.values(), default=_ROUNDS) < _ROUNDS


def _counts_ctas(study: Study) -> bool:
    """Whether the kernel asks how many CTAs there are."""
    return any(_CTAS.search(one.operation.name) for one in study.compiled.code if one.kind == "effect")


def of_other_lengths(study: Study, long: Run, faults: list[ProtocolFault]) -> None:
    """Leave out bytes that are read and not expected, or written, unless runs with other integers find them as well.

    Copies that fill a stage and MMAs that read it may be in loops whose lengths a run supposes by itself: of a stage
    that is read in so many pieces as an integer says the whole is read, or one piece.
    """
    wrong = [one for one in faults if one.code in OF_COPIES]
    if not wrong:
        return
    machine, usual = long.machine, long.machine.shape.extents
    sizes = (
        replace(usual, argument=usual.argument + 1),
        replace(usual, tensor=max(usual.tensor // 2, 1)),
        replace(usual, argument=1),
    )
    runs = [study.run(size, machine.shape.extent, machine.tiles, budget=FEW * machine.steps) for size in sizes]
    ended = [one for one in runs if one.calm or even(one)]

    def stands(fault: ProtocolFault) -> bool:
        met = [one for one in ended if id(fault.operation) in one.machine.coverage.executed]
        met = [one for one in met if not any(other.code in HAZARDS for other in one.faults)]  # where it is not sought
        return bool(met) and all(key_of(fault) in one.places() for one in met)

    open_ = [one for one in wrong if not stands(one)]
    faults[:] = _without(faults, open_)
    for fault in open_ if open_ == wrong else ():  # where others stand nobody takes the kernel for verified
        study.doubt("loop_turns", fault.operation, fault)


def of_other_integers(study: Study, long: Run, faults: list[ProtocolFault]) -> None:
    """State copies that reach into each other as doubts where that rests on integers that may not go together.

    Only where one was chosen so that the kernel does not end at once (``entrances.py``): another one that says how many
    copies fill a stage has a limit as well then that the text does not say.
    """
    known = Operations.of(study.book)

    def of_copies(fault: ProtocolFault) -> bool:
        operations = (fault.operation, *(other for _, other in fault.trace))
        return fault.code == OF_BOXES or {known.step(one.name) for one in operations} <= _COPIES

    wrong = [one for one in faults if of_copies(one)]
    if not study.given or not wrong:
        return
    code, machine, usual = study.compiled.code, long.machine, long.machine.shape.extents
    guards, wrong_at = guards_of(code), {id(one.operation) for one in wrong}
    places = [at for at, one in enumerate(code) if id(one.operation) in wrong_at]
    terms, _ = deciding(code, sorted({guard for at in places for guard in around(guards, at)}))
    for term in in_order(code, terms | dict(study.given).keys())[:_INTEGERS]:
        size = replace(usual, given=((term, FEW),))
        one = study.run(size, machine.shape.extent, machine.tiles, budget=FEW * machine.steps)
        for fault in wrong if even(one) else ():
            met = id(fault.operation) in one.machine.coverage.executed
            if met and key_of(fault) not in one.places() and fault in faults:
                study.doubt("loop_turns", fault.operation, fault)
                faults.remove(fault)


def anyway(study: Study, runs: Sequence[Run], faults: Sequence[ProtocolFault]) -> tuple[ProtocolFault, ...]:
    """The hazards of a kernel in PTX that do not depend on the integers that it loads.

    Roles that load them for themselves may disagree on what a run supposes them to be, and then accesses meet that
    never do. They do not disagree where all come to their end, no barrier is left in the middle of a phase and no
    loop was passed; a hazard that is in all such runs, of several lengths, is one of the text.

    Args:
        runs: those in which the findings are.
    """
    hazards = frozenset(key_of(one) for one in faults if one.code in HAZARDS)
    if not (study.ptx and hazards and study.reached.leading and study.loads):
        return tuple(one for one in faults if one.code in HAZARDS)
    every: set[tuple[str, int]] = set()
    chosen, tile = dict(study.given), study.limit("tile_elements")
    for run in runs:
        found = hazards & run.places() - every
        machine, usual = run.machine, run.machine.shape.extents
        apart = usual.apart or study.limit("wide_turns")
        given, larger = (tuple((term, n * one) for term, one in usual.given if term not in chosen) for n in (2, 4))
        others = (
            replace(usual, tensor=2 * usual.tensor, argument=usual.argument + 1, given=(*study.given, *given)),
            replace(usual, tensor=4 * usual.tensor, argument=2 * usual.argument + 1, given=(*study.given, *larger)),
            replace(usual, apart=2 * apart, near=FEW),
            replace(usual, apart=4 * apart, near=FEW),
            Extents((FEW + 1) * tile, FEW, usual.counted, given=usual.given, apart=2 * apart),
        )
        if not found or not run.agreed:
            continue
        lengths = {machine.steps}
        for size in others:
            one = study.run(size, machine.shape.extent, machine.tiles, budget=study.share("wide", machine))
            if one.agreed and one.machine.steps not in lengths:
                lengths.add(one.machine.steps)
                found &= one.places()
        every |= found if len(lengths) >= AGREEING or not study.open_loops() else frozenset()
    return tuple(one for one in faults if key_of(one) in every)


def _short_first(turns: int) -> Iterator[int]:
    """Numbers of iterations, those first that show most: 2 and 1, then the others from 0 on."""
    yield from (2, 1, 0)
    yield from range(3, turns)
