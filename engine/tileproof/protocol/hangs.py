"""Whether a kernel hangs, or only a run of it.

Threads that wait for ever are a finding unless the run supposed what no launch has: numbers on which roles that compute
them apart would agree. ``unmet.py`` and ``diagnosis`` have the two arguments from one run that is helped or changed;
here are those from several runs of one text, in which threads wait for the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set

from tileproof.base.records import replace
from tileproof.protocol.actions import unmet_sets
from tileproof.protocol.deciding import deciding, in_order
from tileproof.protocol.faults import DEADLOCKS, ProtocolFault
from tileproof.protocol.folding import Extents
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Program, loops_at
from tileproof.protocol.runs import Run, hung_between, key_of
from tileproof.protocol.study import AGREEING, ELEMENTS, FEW, MANY_TILES, Size, Study
from tileproof.protocol.terms import PLACES
from tileproof.protocol.unmet import Help, unmet
from tileproof.protocol.warps import Awaited, OnBarrier

_FURTHER = 2  # the share of a search that only asks whether there is one operation
_TIMES = (8, 16)  # as large, where integers are given
_OTHERS = (0.5, 2, 4)  # as large, where a kernel loads its jobs
_TERMS = 4  # integers of which one alone is larger
_LONGER = (2, 4)  # times as many turns, in which roles may come to a fault before one leaves its loop
_MORE = 2  # as large, where what it loads is smaller than usual, or integers are given


def hangs_anyhow(study: Study, first: Run) -> bool:
    """Whether threads wait for ever for the same whatever the integers are that the kernel gets.

    A kernel in PTX gets numbers of different kinds, which a run supposes to be equal. Where all loops go by the same
    ones it is enough that threads wait for ever for something, and a run that comes to none of the waits says nothing.
    Where only data decide whether a role does its part, or how often, another role may decide otherwise by the same
    data. Where all runs pass by the same loop what is awaited may come of that, and where a loop was left although the
    text says that it goes on. A job that a kernel loads may have nothing to do with some numbers: there as well a run
    that comes to none of the waits says nothing, nor one that has no end.
    """
    if first.machine.coverage.unknown or first.machine.coverage.shortened or first.by_data() or done_once(first):
        return False
    unplaced = study.book.enums["unplaced_arrival"].members
    if any(f".{case}" in unplaced for case, _ in first.machine.taint.reasons):
        return False
    alone = study.alike() and first.certain
    passed = frozenset[int]() if alone else first.passed_loops()
    wanted, awaited = first.stuck(), first.awaited()
    turns = study.shape.extent  # fewer than a ring has stages may show nothing
    counts = (turns, 2 * turns + 1, ELEMENTS * turns, _TIMES[-1] * ELEMENTS * turns)
    sizes = [(Extents(size, size, counted=False), size + 1) for size in counts]
    usual, code, shown = first.machine.shape.extents, first.machine.program.code, 0
    waits = {id(code[place].operation) for _, _, place, _ in first.waits()}
    few = replace(usual, argument=_MORE * usual.argument, apart=1)
    if study.loads:
        others = [replace(usual, argument=int(times * usual.argument)) for times in _OTHERS]
        sizes += [(one, first.machine.tiles) for one in (*others, few)]
    for extents, tiles in sizes:
        if extents.tensor == counts[-1] and not passed:
            continue
        one = study.run(extents, turns, tiles)
        coverage = one.machine.coverage
        idle = one.calm and waits.isdisjoint(coverage.executed)
        if (study.loads and not coverage.complete) or (idle and (study.loads or alone)):
            if extents == few:  # roles that go by what they load and by what they are given may have disagreed
                return False
            continue
        shown += 1
        passed &= one.passed_loops()
        if alone and one.certain and one.hangs:
            continue
        awaited &= one.awaited()
        if not awaited or wanted != one.stuck():
            return _hangs_in_turn(study, first) or _hangs_when_long(study, first)
    if alone and shown < AGREEING:
        return _hangs_when_long(study, first)
    return not passed and shown >= AGREEING


def hangs_alone(study: Study, first: Run) -> bool:
    """Whether threads wait for ever in the long run, and neither in shorter loops nor in longer ones."""
    alone = first.certain and not study.loads
    return alone and hung_between(study.shape.extent, lambda turns: study.counted(turns, first.machine.tiles))


def named_hang(study: Study, hung: Run, repair: bool = False) -> Run | None:
    """The same run of a kernel in PTX, its hang named by what each launch lacks; None where that is not known.

    Args:
        repair: whether to look also for one operation whose change makes the roles come to their end.
    """
    machine = hung.machine
    if machine.coverage.unknown or machine.taint.reasons or hung.steps_by_data() or done_once(hung):
        return None
    sizes = _sizes(study, hung)
    study.lacking = _unmet(study, hung, (*sizes, *_parts(study, hung)))
    if study.lacking:
        return study.run(machine.shape.extents, machine.shape.extent, machine.tiles)
    return hung if repair and _misplaced(study, hung, sizes) else None


def done_once(hung: Run) -> bool:
    """Whether threads in a loop of open length wait, again and again, for what others did in none and then ended.

    A kernel is made for one tile a CTA where a role has no loop over tiles: nobody launches it with fewer CTAs.
    """
    machine, code = hung.machine, hung.machine.program.code
    open_ = machine.coverage.doubtful | machine.coverage.turned
    loops = [(at, one.target) for at, one in enumerate(code) if one.kind in ("test", "check")]
    long = [(first, last) for first, last in loops if any(first <= at < last for at in open_)]
    inside = {id(one.operation) for first, last in long for one in code[first:last] if one.effect is not None}
    waiting = [one for one in machine.thread_sets if not isinstance(one.blocked, OnBarrier)]
    if not any(first <= one.place < last for one in waiting for first, last in long):
        return False
    # Threads that nobody meets have not come to their end.
    going = {(one.cta, thread) for one in (*waiting, *unmet_sets(machine)) for thread in one.threads}
    for key in hung.awaited():
        barrier = machine.barriers.get(key) if isinstance(key, tuple) else None
        arrivals = barrier.arrivals if barrier is not None else {}
        ended = all(one[0] not in inside and one[1:3] not in going for one in arrivals)
        if ended and sum(arrivals.values()) > len({one[1:3] for one in arrivals}):
            return True
    return False


def _sizes(study: Study, first: Run) -> Sequence[Size]:
    """The size of a run of a kernel in PTX, and others whose loops are of other lengths."""
    machine = first.machine
    usual, turns, apart = machine.shape.extents, machine.shape.extent, study.limit("wide_turns")
    if usual.given:
        more = [
            tuple((term, one if term in PLACES else times * one) for term, one in usual.given)
            for times in (_MORE, *_TIMES)
        ]
        return [(replace(usual, given=given), turns, machine.tiles) for given in (usual.given, *more)]
    return (
        (usual, turns, machine.tiles),
        (Extents(ELEMENTS * turns, ELEMENTS * turns, counted=False), turns, turns + 1),
        (replace(usual, tensor=2 * usual.tensor, argument=usual.argument + 1), turns, machine.tiles),
        (Extents(FEW * study.limit("tile_elements"), FEW, apart=2 * apart), turns, machine.tiles),
        (replace(usual, argument=_TIMES[0] * usual.argument), turns, machine.tiles),  # loops may take large tiles
        *_in_first_cluster(study, first),
    )


def in_first_cluster(extents: Extents) -> Extents:
    """The same in the only cluster of a grid: the place of its CTAs is no other one."""
    given = tuple((term, number) for term, number in extents.given if term not in PLACES)
    return replace(extents, given=given, grid=1)


def _in_first_cluster(study: Study, first: Run) -> Iterator[Size]:
    """Where one cluster has all tiles: the same with each set of integers that brought other runs to more steps."""
    machine = first.machine
    usual = machine.shape.extents
    if not usual.grid:
        return
    others = (in_first_cluster(one.recipe.extents).given for one in study.ran if not one.recipe.forced)
    for given in [one for one in dict.fromkeys(others) if one][:_TERMS]:
        yield replace(usual, given=given), machine.shape.extent, machine.tiles


def _parts(study: Study, hung: Run) -> Iterator[Size]:
    """Sizes in which a length that a kernel loads has several tiles for each of the CTAs that it is divided among."""
    if study.loads and not hung.machine.shape.extents.given:
        for tiles in MANY_TILES:
            yield Extents(tiles * study.limit("tile_elements"), FEW, counted=False), hung.machine.shape.extent, FEW


def _unmet(study: Study, hung: Run, sizes: Sequence[Size]) -> Set[Awaited]:
    """The barriers of a kernel in PTX that lack arrivals or bytes whatever the integers are that it gets."""
    most = study.share("wide", hung.machine)

    def helped(size: Size, help_: Help) -> Machine:
        return study.run(*size, budget=most, program=study.compiled, help_=help_).machine

    return unmet(hung.machine, sizes, helped, study.open_loops(), study.limit("diagnosis_steps"))


def _misplaced(study: Study, hung: Run, sizes: Sequence[Size]) -> bool:
    """Whether one operation is why threads wait for ever: with another one the roles agree, in several lengths."""
    from tileproof.protocol.diagnosis import misplaced  # noqa: PLC0415

    def agree(program: Program) -> bool:
        lengths: set[int] = set()
        for size in sizes:
            one = study.run(*size, program=program)
            if one.calm and one.agreed and study.run(*size, program=study.compiled).hangs:
                lengths.add(one.machine.steps)
            if len(lengths) >= (AGREEING if study.open_loops() else 1):
                return True
        return False

    stuck = [one for one in hung.faults if one.code in DEADLOCKS]
    search = study.search(hung, lambda operation: 0)
    return misplaced(replace(search, steps=search.steps // _FURTHER), stuck, agree)


def _hangs_in_turn(study: Study, first: Run) -> bool:
    """Whether threads wait for ever for the same in long loops, and none of them has left such a loop.

    Then roles that do not agree on how often a loop runs are not the cause, and short loops show nothing.
    """
    wanted = first.stuck()
    turns, tiles = study.shape.extent, first.machine.tiles
    elements = [(Extents(n, n, counted=False), turns, n) for n in (ELEMENTS * turns, 2 * ELEMENTS * turns)]
    counts = [(Extents(n, n), n, tiles) for n in (2 * turns, 4 * turns)]

    def same(runs: Iterable[Run]) -> bool:
        awaited, passed = first.awaited(), first.passed_loops()
        for one in runs:
            awaited &= one.awaited()
            passed &= one.passed_loops()
            if not awaited or one.left_loop() or wanted != one.stuck():
                return False
        return not passed

    if same(study.run(*size) for size in elements):
        return True
    return not first.left_loop() and same(study.run(*size) for size in counts)


def _hangs_when_long(study: Study, first: Run) -> bool:
    """Whether threads wait for ever for the same in all long loops, though roles agree on how often loops run.

    They agree where short loops of different lengths come to their end and leave nothing open: it is a ring of
    barriers, longer than those loops, that does not go round. Where one integer says how long all loops are, no
    turn and one turn are such lengths, or one short run is enough that does all that the long one does.
    """
    tiles, turns = first.machine.tiles, study.shape.extent
    if not first.certain:
        return False
    alone, whole = study.alike(), first.machine.coverage.executed
    few = [study.counted(length, tiles) for length in ((0, 1) if alone else (1, FEW))]
    calm = [one for one in few if one.certain and one.calm]
    agreed = len(calm) == len(few) and few[0].machine.steps < few[1].machine.steps
    if not agreed and not (alone and any(one.machine.coverage.executed >= whole for one in calm)):
        # What counts elements is as long with few of them as with one tile: loops of other lengths are short.
        sizes = (Extents(length, length, counted=False) for length in (turns, 2 * turns + 1, FEW))
        few = [one for size in sizes if (one := study.run(size, turns, tiles)).certain and one.calm]
        for one in few:
            study.reached.add(one.machine)
        lengths = {one.machine.steps for one in few}
        whole_too = alone and any(one.machine.coverage.executed >= whole for one in few)
        if not whole_too and (len(lengths) < AGREEING or study.missing()):
            return False
    more = study.counted(2 * turns, tiles)
    return more.certain and more.hangs and (alone or more.awaited() == first.awaited())


def wrong_early(study: Study, first: Run) -> Run | None:
    """A run with what threads come to in long loops before any leaves one, if anything is wrong there.

    Threads wait for ever, perhaps because roles suppose different numbers of turns; these findings are not due to that.
    Loops are longer by all integers that the kernel gets, or by one of them, for others may leave a CTA nothing to do.
    Where the cluster is not known they must be in all launches: a wrong one may be what is wrong.
    """
    tiles, found = first.machine.tiles, dict[tuple[str, int], ProtocolFault]()
    for sizes in _longer(study, first):
        for number, extents in enumerate(sizes):
            budget = study.share("trial", first.machine)
            one = study.run(extents, study.shape.extent, tiles, budget=budget, until_left=True)
            found = {key_of(fault): fault for fault in one.early() if not number or key_of(fault) in found}
            if not found:
                break
        else:
            early = Run(one.machine, tuple(found.values()))
            return early if all(_wrong_as_well(early, other) for other in study.elsewhere()) else None
    return None


def _wrong_as_well(early: Run, other: Study) -> bool:
    """Whether the same run of another launch comes to one of the findings as early, or has too few CTAs."""
    mine = early.machine
    budget = other.share("trial", mine)
    one = other.run(mine.shape.extents, mine.shape.extent, mine.tiles, budget=budget, until_left=True)
    return one.machine.beyond or not early.places().isdisjoint(map(key_of, one.early()))


def _longer(study: Study, first: Run) -> Iterator[list[Extents]]:
    """Sizes in which loops that take part in the protocol are longer, each for several lengths."""
    code, coverage, turns = study.compiled.code, first.machine.coverage, study.shape.extent
    usual, tile, more = first.machine.shape.extents, study.limit("tile_elements"), [one * turns + 1 for one in _LONGER]
    if usual.apart or usual.given != study.given:  # its loops are longer than usual
        yield [_times(study, usual, one) for one in (1, *_LONGER)]
        return
    yield [replace(usual, tensor=one, argument=one) for one in more]
    terms = deciding(code, [at for at in coverage.doubtful if loops_at(code, at)])[0] - PLACES
    for term in in_order(code, terms)[:_TERMS]:
        elements = usual.elements(term, tile)
        yield [replace(usual, given=(*usual.given, (term, one * elements))) for one in more]


def _times(study: Study, usual: Extents, times: int) -> Extents:
    """Extents with which loops go around so many times as often that are longer than usual."""
    chosen = dict(study.given)
    given = tuple((term, n if term in chosen else times * n) for term, n in usual.given)
    return replace(usual, tensor=times * usual.tensor, apart=times * usual.apart, given=given)


def hung_everywhere(study: Study) -> Run | None:
    """A run in which nothing is guessed and threads wait for ever, as in all others, of other sizes; None if none.

    Two sizes are needed: one alone may be a problem that no launch asks for.
    """
    alike = [frozenset(one for one in run.places() if one[0] in DEADLOCKS) for run in study.counts]
    if len(alike) < AGREEING or not alike[0] or any(one != alike[0] for one in alike):
        return None
    return study.counts[0]
