"""What the runs of one kernel say together.

The machine executes one way through a kernel at a time. The runs of a kernel are

1. the long run: loops of unknown length go around more often than any ring has stages;
2. short runs, if there are such loops: no turn, one, two and so on, as far as the budget allows. A hazard that only
   they show is a warning (PR117); how far they went is the bound of the verdict, or none where the long run came back
   to a state that it had before (``fixpoint``);
3. longer runs (``lengths.py``), runs with other integers (``entrances.py``), and runs that seek steps (``explore``),
   which were not executed yet;
4. runs with larger integers, where loops went around too seldom in all others (``seldom.py``), and those that show
   whether a hazard is there with whole groups of tiles as well.

A thread that waits for ever is a finding, unless the wait may rest on a loop that the machine left by guess: then a run
with more turns shows whether it waits for the same phase at the same place, or ``hangs.py`` has another argument. What
is neither is a doubt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import chain

from tileproof.base.diagnostic import Severity
from tileproof.base.records import replace
from tileproof.dialects.operations import Operations
from tileproof.protocol.actions.exits import came_early
from tileproof.protocol.actions.written import never_read
from tileproof.protocol.bounded import of_bounded_threads
from tileproof.protocol.deciding import ends, literal, turns_written
from tileproof.protocol.endings import by_some_lanes, missed_phases, tiles_partly_read
from tileproof.protocol.explore import Decisions, Sizes, Sought, behind, in_empty_loops, seek, unreachable
from tileproof.protocol.faults import DEADLOCKS, HAZARDS, OVERLAP, PROXY, UNINITIALISED, UNREAD, ProtocolFault
from tileproof.protocol.fixpoint import Watch
from tileproof.protocol.folding import Extents
from tileproof.protocol.hangs import hangs_alone, hangs_anyhow, hung_everywhere, named_hang, wrong_early
from tileproof.protocol.lengths import (
    affords,
    anyway,
    chosen_runs,
    element_runs,
    few_ctas,
    grouped_run,
    missing,
    of_other_integers,
    of_other_lengths,
    of_passed_loops,
    of_round_lengths,
    short_runs,
    unlike_runs,
    wide_runs,
    with_all_tiles,
    without_turns,
)
from tileproof.protocol.machine import Machine
from tileproof.protocol.modified_maps import of_small_groups
from tileproof.protocol.program import loops_at
from tileproof.protocol.runs import Outcome, Run, each_once, even, key_of, rests_on, steps_of
from tileproof.protocol.seldom import larger_runs
from tileproof.protocol.study import AGREEING, ELEMENTS, FEW, Study, few_tiles
from tileproof.protocol.terms import place_term
from tileproof.protocol.warps import OnMbarrier

_WRITTEN = 8  # numbers of turns in the text that are tried
_LATE = (4, 8, 16)  # shares of the tiles of a grid that are left for a CTA


def conclude(study: Study) -> Outcome:
    """What is known of a kernel after all runs that its budget allows."""
    tiles = study.limit("long_tiles")
    first = long = study.around()
    period = None
    while period is None and first.calm and study.open_loops() and affords(study, first):
        watch = Watch(study.compiled, study.limit("watched_states"))
        study.shape = replace(study.shape, extent=2 * study.shape.extent)
        first = long = study.counted(study.shape.extent, tiles, watch)
        study.reached.add(first.machine)
        period = watch.found
    coverage = first.machine.coverage
    further = coverage.complete or study.open_loops() or not study.written_out(first)  # another run may go further
    if further and (coverage.skipped or coverage.cut or not coverage.complete or first.hangs):
        long = _better(study, first)
        study.reached.add(long.machine)
        if study.ptx and not long.machine.coverage.complete:
            first = long = study.counted(study.shape.extent, tiles, patient=True)
            study.reached.add(long.machine)
    study.judged, noted = long, study.noted()
    faults = [*_certain(study, first, long)]
    meant = _of_large_loads(study, first) if long is first and not faults else None
    if meant is not None:
        study.forget(noted)
        first = long = study.judged = meant
        study.reached.add(long.machine)
        faults = [*_certain(study, first, long)]
    if long.calm:
        faults += _misled(study, long)
    bound: int | None = None
    if study.open_loops():
        complete = long.machine.coverage.complete
        bound = short_runs(study, long, faults, period if long is first else None) if complete else 0
    together = study.ptx and (long.calm or even(long))
    wide: list[Run] = []
    if together:
        others = wide_runs(study, long, faults)
        wide = few_ctas(study, long, faults)
        larger, seldom = larger_runs(study, long, faults)
        unlike_runs(study, long, faults)
        grouped_run(study, long, faults)
        chosen_runs(study, long, faults)
        _led(study, long, faults)
        with_all_tiles(study, long, others)
        others.doubt()
        wide += [*others.found, *larger]
        of_round_lengths(study, (long, *wide), faults)
        bound = bound if bound is None or seldom is None else min(bound, seldom)
    elif long.calm and not study.ptx:
        element_runs(study, long, faults)
    natural = frozenset(study.reached.executed)
    impossible = _impossible(study)
    guessed = _seek_steps(study, long, faults, natural)
    if together and not long.calm:
        without_turns(study, long, faults)
    if study.ptx:
        of_passed_loops(study, long, faults)
    of_small_groups(study, long, faults)
    of_other_lengths(study, long, faults)
    of_other_integers(study, long, faults)
    if study.ptx:
        _of_endless(study, long, faults)
        of_bounded_threads(study, long, faults)
    never = in_empty_loops(study.compiled.code, study.reached)
    never |= impossible
    never |= unreachable(study.compiled.code, study.reached) if together else set()
    never |= _orders_alone(study) - natural
    steps = tuple(one for one in steps_of(study.compiled) if id(one) not in never)
    if not long.machine.coverage.complete:
        study.doubt("too_many_steps", study.kernel)
    blind = [one for one in steps if id(one) in study.unseen]
    wrong = any(study.book.findings[fault.code].severity is Severity.ERROR for fault in faults)
    if blind and not wrong:  # with an error nobody takes the kernel for verified, and it may be the cause
        study.doubt("accessed_steps", blind[0], count=len(blind))
    loose = [one for one in steps if id(one) in guessed]
    if loose:
        study.doubt("guessed_steps", loose[0], count=len(loose))
    executed = frozenset(id(one) for one in steps if id(one) in study.reached.executed)
    sure = [one.executed for one in study.ran if one.certain]
    met = frozenset[int]().union(*sure) if sure else executed
    faults = _of_stores_once(faults)
    if not wrong:
        faults += _by_chance(long)
    stated = {key_of(fault) for fault in faults}
    open_ = [one for one in study.doubts.values() if one.fault is None or key_of(one.fault) not in stated]
    doubts = sorted(open_, key=lambda one: (one.operation.span.start, one.case))
    exact = long.certain and long.hangs and {key_of(one) for one in faults} <= long.places()
    return Outcome(
        study.kernel,
        tuple(faults),
        tuple(doubts),
        steps,
        executed,
        bound,
        frozenset(guessed),
        exact=exact,
        early=study.early is not None and {key_of(one) for one in faults} <= study.early.places(),
        told=tuple(one for one in steps if id(one) in executed and id(one) not in met),
        anyway=anyway(study, (long, *wide), faults),
    )


def _by_chance(long: Run) -> list[ProtocolFault]:
    """What goes wrong in the long run only where a warp is late, or another CTA, or may be meant; where nothing else
    does.
    """
    machine = long.machine
    if long.hangs or not machine.coverage.complete or machine.taint.released:
        return []
    before = len(machine.faults)
    by_some_lanes(machine)
    missed_phases(machine)
    came_early(machine)
    never_read(machine)
    tiles_partly_read(machine)
    return machine.faults[before:]


def _of_endless(study: Study, long: Run, faults: list[ProtocolFault]) -> None:
    """State the hazards of a run that has no end as doubts where threads wait for ever in all that have one.

    Nobody may launch a kernel so: one that is made for a single tile waits for ever in the second.
    """
    ended = [one for one in study.ran if one.calm or any(code in DEADLOCKS for code, _ in one.places)]
    hung = [one for one in ended if not (one.calm or one.recipe.forced)]
    if long.machine.coverage.complete or len(hung) < AGREEING or any(one.calm for one in ended):
        return
    for fault in [one for one in faults if one.code in HAZARDS]:
        study.doubt("loop_turns", fault.operation, fault)
        faults.remove(fault)


def _led(study: Study, long: Run, faults: list[ProtocolFault]) -> None:
    """Run with the numbers that lead to steps, where some are missing: few kernels need Z3 to be loaded."""
    if missing(study):
        from tileproof.protocol.leading import led_runs  # noqa: PLC0415

        led_runs(study, long, faults)


def _impossible(study: Study) -> set[int]:
    """The steps that were not executed and that no numbers lead to, by ``id``."""
    if not missing(study):
        return set()
    from tileproof.protocol.never import impossible_ways  # noqa: PLC0415

    seconds, most = study.limit("closed_time") / 1000, study.limit("closed_ways")
    ways = impossible_ways(study.compiled.code, study.reached, seconds, most)
    return behind(study.compiled.code, ways) - study.reached.executed


def _orders_alone(study: Study) -> set[int]:
    """The steps that do nothing but add an order, by ``id``."""
    operations, wanted = Operations.of(study.book), {one[1:] for one in study.book.enums["ordering_step"].members}
    return {id(one) for one in steps_of(study.compiled) if operations.step(one.name) in wanted}


def _of_stores_once(faults: Sequence[ProtocolFault]) -> list[ProtocolFault]:
    """Findings without a second one of a bulk store: runs differ in whether any wait came before it."""
    first = {id(fault.operation): fault.code for fault in reversed(faults) if fault.code in UNREAD}
    return [one for one in faults if one.code not in UNREAD or first[id(one.operation)] == one.code]


def _better(study: Study, first: Run) -> Run:
    """A run that is calm and goes as far as the first one, which is not; the first one where there is none.

    A wait that one run leaves because what it waits for came is none that lasts for ever. Where a counted loop had
    no turn, all that it does is missing: with larger arguments, and then with larger tensors, it may have some.
    Where roles count the same iterations in loops of different kinds, or alternate, few large tiles or more
    iterations of the loops over tiles go further. Where steps are still missing arguments may count tiles: the last
    one of few is in the tensors.
    """
    turns, tiles = study.shape.extent, study.limit("long_tiles")
    elements = ELEMENTS * turns
    coverage = first.machine.coverage
    trials = []
    if coverage.skipped:
        trials += [(Extents(turns, elements), tiles)] if study.compiled.counts else []
        trials += [(Extents(elements, elements, counted=False), tiles)]
    elif coverage.guessed or coverage.unknown:
        # What looks like a loop over tiles may count stages of a ring: as many turns go around it.
        trials += [(Extents(turns, turns), turns + 1)] if first.hangs and not coverage.unknown else []
        trials += [(Extents(FEW, FEW), study.limit("few_tiles"))]  # roles that alternate go through all tiles
    wrong = first.hangs or coverage.cut or not coverage.complete  # more than a loop without a turn
    if wrong and (coverage.skipped or coverage.guessed or coverage.unknown or not coverage.complete):
        counts = (FEW, turns) if study.compiled.counts else (turns,)
        trials += [(Extents(elements, count, counted=False), turns + 1) for count in counts]
        trials += [(Extents(turns, turns), turns + 1)] if (Extents(turns, turns), turns + 1) not in trials else []
    elif wrong:
        exact = study.limit("tile_elements") * turns if study.ptx else elements
        trials += [(Extents(exact, exact, counted=False), tiles)]  # no fewer turns, counted exactly
    fewer = (FEW, 1) if coverage.skipped and study.compiled.counts else ()
    wider = [(Extents(elements, count, counted=False), tiles) for count in fewer]
    hung = {id(first.machine.program.code[place].operation) for _, _, place, _ in first.waits()}
    budget = study.share("trial", first.machine)
    # Those of a kernel in PTX whose first run has no end.
    ended = _near_the_end(study, first) if study.ptx and not coverage.complete else []
    if ended:
        late = _foremost(ended)
        if late is not None:
            study.doubt("late_ctas", study.kernel, place=late.machine.shape.extents.number(place_term(0), 0))
        return late or first
    alike = (first.machine.shape.extents, first.machine.tiles)
    for i, (extents, most) in enumerate(one for one in (*trials, *wider) if one != alike):
        if budget <= 0 or (i >= len(trials) and not study.missing()):
            break
        other = study.run(extents, turns, most, budget=budget)
        budget -= other.machine.steps
        done = other.machine.coverage
        study.reached.add(other.machine)
        if other.certain:
            study.counts.append(other)
        further = done.executed >= (hung if first.hangs else coverage.executed)
        if done.skipped or not done.complete:
            continue
        if study.ptx and not coverage.complete:
            ended.append(other)
            continue
        more = not first.faults or (first.calm and further and not other.hangs)
        if (coverage.skipped and more) or (other.calm and (further or not coverage.complete)):
            return other
        # Roles that peel turns off their loops are out of step where a loop is left although it goes on.
        left = first.hangs and coverage.abandoned and not done.abandoned
        if left and further and not other.hangs and not other.machine.taint.released:
            return other
    if first.hangs and coverage.complete:
        meant = _as_written(study, first, hung)
        if meant is not None:
            return meant
    if study.ptx and not coverage.complete and not (any(one.calm for one in ended) and not study.missing()):
        # Of a grid of few tiles a run may come to its end, and where integers count what a loop goes through.
        for extents in few_tiles(turns):
            other = study.run(extents, turns, FEW, budget=study.share("trial", first.machine))
            study.reached.add(other.machine)
            ended += [other] if other.machine.coverage.complete else []
            if (len(ended) >= AGREEING or any(one.calm for one in ended)) and not study.missing():
                break
    return _foremost(ended) or first


def _of_large_loads(study: Study, first: Run) -> Run | None:
    """A run in which the lengths that a kernel loads are larger than the integers that it gets, and in which the phase
    comes that threads waited for in another run; None where there is none.

    A scheduler divides what it loads by the numbers of heads and of requests: where those are as large it computes
    nonsense. An arrival that a phase lacks whatever the integers are it lacks here as well.
    """
    if not (first.hangs and first.machine.coverage.complete and study.loads):
        return None
    elements = study.limit("tile_elements") * study.shape.extent
    for grid in (1, 0):  # one CTA has all tiles
        noted, size = study.noted(), Extents(elements, FEW, counted=False, grid=grid)
        one = study.run(size, study.shape.extent, first.machine.tiles, budget=study.share("wide", first.machine))
        if even(one) and not one.machine.coverage.skipped and _comes(one, first):
            return one
        study.forget(noted)
    return None


def _comes(one: Run, hung: Run) -> bool:
    """Whether the phase of an mbarrier that another run hangs for is complete in a run."""
    code, barriers = hung.machine.program.code, one.machine.barriers
    stuck = next(fault.operation for fault in hung.faults if fault.code in DEADLOCKS)
    waits = [each.blocked for each in hung.machine.thread_sets if code[each.place].operation is stuck]
    return bool(waits) and all(
        isinstance(wait, OnMbarrier) and wait.key in barriers and barriers[wait.key].phase > wait.phase
        for wait in waits
    )


def _as_written(study: Study, first: Run, hung: Set[int]) -> Run | None:
    """A calm run in which an argument counts the elements of as many tiles as the text gives another role; else None.

    A loop that is written out has the first or the last tile beside it, perhaps.

    Args:
        hung: the operations, by ``id``, where threads waited for ever.
    """
    code, tile, machine = study.compiled.code, study.limit("tile_elements"), first.machine
    written = {turns for at, turns in turns_written(code).items() if turns and loops_at(code, at)}
    for tiles in sorted({turns + more for turns in written for more in (0, 1)})[:_WRITTEN]:
        size = replace(machine.shape.extents, argument=tiles * tile)
        one = study.run(size, machine.shape.extent, machine.tiles, budget=study.share("trial", machine))
        if one.calm and one.machine.coverage.executed >= hung:
            study.reached.add(one.machine)
            return one
    return None


def _near_the_end(study: Study, first: Run) -> list[Run]:
    """Runs of CTAs so late in the grid that they come to their end, where loops over tiles count to a number."""
    term, machine = place_term(0), first.machine
    end = max(ends(study.compiled.code, term), default=0)

    def with_left(tiles: int) -> Run:
        extents = replace(machine.shape.extents, given=((term, end - tiles),))
        other = study.run(extents, study.shape.extent, machine.tiles, budget=study.share("trial", machine))
        study.reached.add(other.machine)
        return other

    last = with_left(1) if end > machine.tiles else None
    if last is None or not last.machine.coverage.complete:  # then none comes to its end that has more left
        return []
    found: list[Run] = []
    for tiles in (end // share for share in _LATE if end // share > 1):
        other = with_left(tiles)
        found += [other] if other.machine.coverage.complete else []
        if len(found) == AGREEING:
            return found
    return [*found, last]


def _certain(study: Study, first: Run, long: Run) -> Iterator[ProtocolFault]:
    """The findings of the long run that do not rest on how often it supposes that loops run."""
    if long is not first:
        if first.hangs and first.machine.coverage.unknown:
            stuck = next(one for one in first.faults if one.code in DEADLOCKS)
            study.doubt("loop_turns", stuck.operation, stuck)
        yield from long.faults
        if not first.machine.coverage.skipped and not first.machine.coverage.cut:
            yield from (one for one in first.faults if one.code in HAZARDS and key_of(one) not in long.places())
        return
    coverage = first.machine.coverage
    if study.ptx and first.hangs and not _hangs_surely(study, first):
        named = _named_hang(study, first)
        if named is not None:
            study.judged = named
            yield from (one for one in named.faults if one.code not in HAZARDS)
            return
        early = wrong_early(study, first)
        if early is not None:
            study.judged = study.early = early
            yield from early.faults
            return
        stuck = next(one for one in first.faults if one.code in DEADLOCKS)
        study.doubt("loop_turns", stuck.operation, stuck)
        yield from (one for one in first.faults if one.code == UNINITIALISED or _literal_number(study, one))
        return
    further = None
    if first.hangs and any(one.hangs for one in study.counts):
        further = study.counted(study.shape.extent, study.shape.extent + 1)
        study.counts += [further] if further.certain else []
    everywhere = hung_everywhere(study) if first.hangs else None
    if everywhere is not None:
        study.judged = everywhere
        yield from everywhere.faults
        return
    doubtful = coverage.guessed or coverage.unknown or coverage.skipped
    for fault in first.faults:
        if fault.code in DEADLOCKS and doubtful:
            further = further or study.counted(study.shape.extent, study.shape.extent + 1)
            study.reached.add(further.machine)
            if not first.waits() & further.waits() and key_of(fault) not in _conflicts(further):
                study.doubt("loop_turns", fault.operation, fault)
                continue
        elif (coverage.skipped or coverage.cut) and fault.code in HAZARDS:
            study.doubt("loop_turns", fault.operation, fault)
            continue
        yield fault


def _hangs_surely(study: Study, first: Run) -> bool:
    """Whether a hang does not rest on what the long run supposes; where the launch is not known, in none.

    A wrong launch hangs whatever the integers are, and the right one perhaps by those of a run. Of all blocks in all
    clusters that is not asked.
    """
    launches = chain([(study, first)], ((other, other.begin()) for other in study.elsewhere()))
    return not study.loose and all(_sure(one, run) for one, run in launches)


def _sure(study: Study, run: Run) -> bool:
    return run.hangs and (hangs_anyhow(study, run) or hangs_alone(study, run))


def _named_hang(study: Study, first: Run) -> Run | None:
    """A hang by what the launch lacks, if the others that may be meant lack something as well, or surely hang.

    A wrong launch lacks what the CTAs would do that it does not have.
    """
    named = named_hang(study, first, repair=True)
    for other in study.elsewhere() if named is not None else ():
        run = other.begin()
        if not (_sure(other, run) or (run.hangs and named_hang(other, run) is not None)):
            return None
    return named


def _literal_number(study: Study, fault: ProtocolFault) -> bool:
    """Whether a number that the text writes out is wrong for the hardware, however a thread comes to it."""
    numbers = study.book.enums["number_finding"].by_spelling
    return fault.code in numbers and literal(study.compiled.code, fault.operation)


def _misled(study: Study, long: Run) -> Iterator[ProtocolFault]:
    """What goes wrong where a try_wait for another phase than the wait after it succeeds, which is skipped then.

    One at another barrier says that a phase is over which is none that the threads need.
    """
    machine = long.machine
    wrong = machine.misled | machine.astray
    if not wrong:
        return
    found = {id(one.operation): one.operation for one in study.compiled.code if id(one.operation) in wrong}
    tried = tuple((at in machine.astray, one) for at, one in found.items())
    usual = machine.shape.extents, machine.shape.extent, machine.tiles
    faults: list[ProtocolFault] = []
    for eager in dict.fromkeys((frozenset(machine.misled), frozenset(machine.misled - machine.astray))):
        faults += study.run(*usual, eager=eager, telling=wrong - eager).faults
    yield from (replace(one, tried=tried) for one in each_once(faults) if one.code in HAZARDS)


def _seek_steps(study: Study, long: Run, faults: list[ProtocolFault], natural: frozenset[int]) -> set[int]:
    """Seek the steps that were not executed; those of them that only runs executed whose roles disagree."""
    rough = study.ptx and not long.calm  # no run goes better
    known = {key_of(fault) for fault in faults}

    def told(sizes: Sizes, forced: Decisions, agreed: Decisions, budget: int | None) -> Sought:
        one = study.run(*sizes, forced, agreed, budget)
        return Sought(forced, one.machine, one.calm or (rough and even(one)))

    smooth: set[int] = set(natural)
    runs = study.limit("seek_runs")
    for trial in seek(study.compiled.code, study.reached, told, long.machine, runs, study.seek_share, study.ptx):
        wrong = study.ptx and not rough and _wrong_there(study, trial.machine, natural)
        if not (trial.machine.taint.released or wrong):
            smooth |= trial.machine.coverage.executed
        if study.ptx and not trial.machine.taint.released:
            # A number that is wrong for the hardware is wrong on whatever way threads come to it.
            for fault in each_once(trial.machine.faults):
                if key_of(fault) not in known and _literal_number(study, fault):
                    known.add(key_of(fault))
                    faults.append(fault)
        if long.hangs or study.ptx:
            # What comes after a hang is new in every run that is let go on, and says nothing. In PTX the conditions
            # of one decision are spread over predicates, of which such a run is told only some.
            continue
        disagreed = bool(trial.machine.taint.released)
        before = frozenset(smooth) if disagreed else natural
        found = trial.machine.faults
        if disagreed:  # behind a wait that was left phases are out of step, and with them the orders that barriers make
            in_step = trial.machine.taint.found
            found = [one for i, one in enumerate(found) if i < in_step or one.code not in HAZARDS]
        for fault in each_once(found):
            if key_of(fault) not in known and rests_on(fault, before, disagreed):
                known.add(key_of(fault))
                faults.append(fault)
    return study.reached.executed - smooth


def _wrong_there(study: Study, machine: Machine, natural: frozenset[int]) -> bool:
    """Whether a run that was told which way to go found an error that rests on steps which no other executes.

    What is left unfinished at the end is no sign that roles disagree.
    """
    serious = (one for one in machine.faults if study.book.findings[one.code].severity is Severity.ERROR)
    return any(rests_on(fault, natural, False) for fault in serious)


def _foremost(ended: Sequence[Run]) -> Run | None:
    """The run that shows most of those that ended: threads wait for ever in long loops, or all go wrong alike.

    A loop that no thread went around may have what the others wait for.
    """
    stuck = [one for one in ended if one.hangs and not one.left_loop() and not one.passed_loops()]
    if stuck and all(one.hangs or one.calm for one in ended):
        return Run(stuck[-1].machine, tuple(one for one in stuck[-1].faults if one.code in DEADLOCKS))
    calm = [one for one in ended if one.calm]
    if calm:
        return max(calm, key=lambda one: (len(one.machine.coverage.executed), one.machine.shape.extents.tensor))
    free = [one for one in ended if not one.hangs]
    if not free or len(free) < len(ended):
        return None
    best = max(free, key=lambda one: len(one.machine.coverage.executed))
    every = frozenset.intersection(*(one.places() for one in free))
    sure = len(free) >= AGREEING and all(one.certain for one in free)
    found = tuple(one for one in best.faults if (sure or one.code == PROXY) and key_of(one) in every)
    return Run(best.machine, found) if found else None


def _conflicts(run: Run) -> set[tuple[str, int]]:
    """The findings of a run about named barriers whose uses overlap: no thread need wait for ever for them."""
    return {key_of(fault) for fault in run.faults if fault.code == OVERLAP}
