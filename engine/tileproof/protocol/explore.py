"""Runs that seek the steps that were not executed yet.

What the text does not decide sends a run one way at each branch and loop. Which decisions keep a step from being
executed follows from the program: the branches and loops around it. The first of them that no run has taken in the
direction of the step, and that an unknown or supposed value decides, is taken that way in a further run. One run takes
all such decisions together, since most have nothing to do with each other; where that does not go well, each is taken
alone. A decision that was reached only in such a run is taken along with what led there.

Where a condition is computed alike in two places, both go the same way: its term says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import combinations
from typing import TypeAlias

from tileproof.base.records import dataclass, field, replace
from tileproof.protocol.deciding import behind_one, fixed
from tileproof.protocol.folding import Extents
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.terms import said_of

Decisions: TypeAlias = "Mapping[int, bool]"  # which way to go, by the place of a branch or loop or by a term
Sizes: TypeAlias = "tuple[Extents, int, int]"  # of a run: the extents, iterations and tiles it supposes
_TWICE = 2


@dataclass(frozen=True, slots=True)
class Sought:
    """A run that was told which way to go.

    Attributes:
        forced: the decisions that it was told.
        machine: after the run.
        smooth: whether it came to its end without threads that wait for ever.
    """

    forced: Decisions
    machine: Machine
    smooth: bool


@dataclass(slots=True)
class Exploration:
    """What the runs of a kernel reached together.

    Attributes:
        executed: the steps that were executed, by ``id`` of their operations.
        empty: the loops that had no turn whatever is supposed, with how large all integers were in runs that were told
            nothing; entered: those of which that was not so somewhere.
        went: which ways each branch and loop was taken, by place.
        leading: how a decision that what is supposed or unknown makes was reached: the decisions of that run.
        sizes: of that run, how often loops went around.
        came: the same of the first run that came to each branch and loop.
        terms: the terms of the conditions there.
        uneven: the branches that threads take each in its own way, or may take so.
        turned: the loops of which something supposed or unknown decides how often they go round.
        cells: where integers in shared memory were loaded or stored, by place.
        cycling: those of them that go round some stages in a run.
        rounds: how many phases of each mbarrier that threads waited for were complete then, the most of all runs.
        lengths: how often loops went around at most, by place, in runs that came to their end and were told nothing.
        by_size: those that ended by themselves, of runs that differ in how large all integers are, by that.
    """

    executed: set[int] = field(default_factory=set)
    empty: dict[int, set[int]] = field(default_factory=dict)
    entered: set[int] = field(default_factory=set)
    turned: set[int] = field(default_factory=set)
    cells: dict[int, tuple[str, int, int]] = field(default_factory=dict)
    cycling: set[int] = field(default_factory=set)
    uneven: set[int] = field(default_factory=set)
    went: dict[int, set[bool]] = field(default_factory=dict)
    leading: dict[int, Decisions] = field(default_factory=dict)
    rounds: dict[tuple[int, int], int] = field(default_factory=dict)
    lengths: dict[int, int] = field(default_factory=dict)
    by_size: dict[Extents, dict[int, dict[int, int]]] = field(default_factory=dict)
    sizes: dict[int, Sizes] = field(default_factory=dict)
    came: dict[int, Sizes] = field(default_factory=dict)
    terms: dict[int, set[int]] = field(default_factory=dict)

    def add(self, machine: Machine, forced: Decisions | None = None) -> None:
        """Take in what a run reached."""
        coverage = machine.coverage
        self.executed |= coverage.executed
        for place in coverage.empty if not forced else ():
            self.empty.setdefault(place, set()).add(machine.shape.extents.argument)
        self.entered |= coverage.entered
        self.uneven |= coverage.uneven
        self.turned |= coverage.turned
        self.cycling.update(coverage.cycling())
        for (_, *where), barrier in (*machine.invalidated.items(), *machine.barriers.items()):
            key = (where[0], where[1])
            self.rounds[key] = max(self.rounds.get(key, 0), barrier.seen)
        if not (forced or machine.thread_sets):
            self._note_lengths(machine)
        for place, (memory, low, high) in coverage.cells.items():
            _, first, last = self.cells.get(place, (memory, low, high))
            self.cells[place] = (memory, min(first, low), max(last, high))
        sizes = (machine.shape.extents, machine.shape.extent, machine.tiles)
        for place, ways in coverage.went.items():
            self.went.setdefault(place, set()).update(ways)
            self.came.setdefault(place, sizes)
        for place in coverage.doubtful - self.leading.keys():
            self.leading[place] = forced or {}
            self.sizes[place] = sizes
        for place, terms in coverage.terms.items():
            self.terms.setdefault(place, set()).update(terms)

    def _note_lengths(self, machine: Machine) -> None:
        """Take in how often loops went around in a run that came to its end and was told nothing."""
        coverage, extents = machine.coverage, machine.shape.extents
        for place, turns in coverage.lengths.items():
            self.lengths[place] = max(self.lengths.get(place, 0), turns)
        ended = {at: turns for at, turns in coverage.lengths.items() if at not in coverage.abandoned}
        self.by_size.setdefault(replace(extents, tensor=0, argument=0), {})[extents.argument] = ended

    def bounded(self, terms: Callable[[int], Set[int]]) -> Iterator[int]:
        """The loops that go around no more often where the integers that decide it are larger.

        Twice or more, and as often where all integers were twice as large: a quotient would have grown, so something
        else bounds them, as the stages of a ring do a loop that fills it.

        Args:
            terms: those of the integers that a kernel gets which decide how often a loop goes around.
        """
        for size, ran in self.by_size.items():
            chosen = dict(size.given).keys()
            for small, large in combinations(sorted(ran), 2):
                for at, turns in ran[small].items() if large >= _TWICE * small else ():
                    if turns >= _TWICE and ran[large].get(at) == turns and chosen.isdisjoint(terms(at)):
                        yield at

    def agreed(self, forced: Decisions) -> dict[int, bool]:
        """The decisions by the terms of their conditions."""
        return {term: way for place, way in forced.items() for term in self.terms.get(place, ())}


def seek(
    code: Sequence[Instruction],
    reached: Exploration,
    run: Callable[[Sizes, Decisions, Decisions, int | None], Sought],
    usual: Machine,
    runs: int,
    share: Callable[[Machine], int],
    again: bool = False,
) -> Iterator[Sought]:
    """Run a kernel until all its steps are executed, nothing is left to try, or the budget is spent.

    Args:
        reached: what the runs reached so far; it is added to.
        run: a run of a size with decisions by place and by term, that takes no more than so many instructions; None:
            as many as any run.
        usual: the run whose size is taken where it reaches a place.
        runs, share: the budget: how many runs, and how many instructions they may take together beside the longest that
            went well: the usual run may do nothing that the others do.
        again: whether decisions that a run did not come to, for others that it was told, are taken in one more.
    """
    spent, most = 0, share(usual)
    guards = guards_of(code)
    tried: set[tuple[int, bool]] = set()
    while runs > 0 and spent < most:
        wanted = wanted_ways(code, guards, reached, tried)
        if not wanted:
            return
        tried |= wanted.items()
        mine = (usual.shape.extents, usual.shape.extent, usual.tiles)
        groups: dict[Sizes, dict[int, bool]] = {}
        for place, way in wanted.items():
            sizes = mine if place in usual.coverage.doubtful else reached.sizes[place]
            groups.setdefault(sizes, {})[place] = way
        batches = list(groups.items())
        together = len(batches)
        for i, (sizes, batch) in enumerate(batches):  # which grows
            if runs <= 0 or spent >= most:
                return
            forced = dict(batch)
            for place in batch:
                forced = {**reached.leading.get(place, {}), **forced}
            # The first may be as long as any run. A scheduler that is told to go on may do so for ever: the others have
            # their part of the budget as well.
            found = run(sizes, forced, reached.agreed(forced), most // 2 if i else None)
            runs -= 1
            spent += min(found.machine.steps, most // 2)
            most = max(most, share(found.machine)) if found.smooth else most
            reached.add(found.machine, forced)
            yield found
            if i < together and found.smooth:
                left = {(at, way) for at, way in batch.items() if way not in reached.went.get(at, ())}
                if again and len(left) < len(batch):
                    tried -= left  # another decision kept the run from them
            elif len(batch) > 1:  # each by itself, when all others were taken together
                batches += [(sizes, {place: way}) for place, way in batch.items()]


def wanted_ways(
    code: Sequence[Instruction],
    guards: Sequence[int],
    reached: Exploration,
    tried: Set[tuple[int, bool]] = frozenset(),
) -> dict[int, bool]:
    """The decisions to take for steps that were not executed: the outermost that no run has taken that way.

    Where nothing supposed or unknown decides there, those behind which the text gives another value to what does: a
    thread leaves in shared memory whether it came last. Of two that contradict each other only the first.
    """
    wanted: dict[int, bool] = {}
    said: dict[int, bool] = {}
    before: dict[int, list[tuple[int, bool]]] = {}
    for place, one in enumerate(code):
        if one.effect is None or one.effect.pure or id(one.operation) in reached.executed:
            continue
        for guard, way in chain_of(code, guards, place):
            if way in reached.went.get(guard, ()):
                continue
            if guard in reached.went and guard not in reached.leading and guard not in before:
                before[guard] = list(_ways_before(code, guards, guard, reached))
            for at, where in before.get(guard, [(guard, way)]):
                terms = reached.terms.get(at, ())
                new = at in reached.leading and (at, where) not in tried and at not in wanted
                if new and all(said_of(said, term) in (None, where) for term in terms):
                    wanted[at] = where
                    said.update(dict.fromkeys(terms, where))
            break
    return wanted


def _ways_before(
    code: Sequence[Instruction], guards: Sequence[int], place: int, reached: Exploration
) -> Iterator[tuple[int, bool]]:
    """The ways that no run has taken to instructions by which the condition at a place is computed."""
    for at in behind_one(code, place, reached.cells):
        for guard, way in chain_of(code, guards, at):
            if way not in reached.went.get(guard, ()):
                yield guard, way
                break


def nearest(code: Sequence[Instruction], guards: Sequence[int], reached: Exploration) -> list[Sizes]:
    """The sizes of the runs that came nearest to steps which were not executed, of those in the order of the text."""
    found: dict[Sizes, None] = {}
    for place, one in enumerate(code):
        if one.effect is None or one.effect.pure or id(one.operation) in reached.executed:
            continue
        last = None
        for guard, way in chain_of(code, guards, place):
            last = reached.came.get(guard, last)
            if way not in reached.went.get(guard, ()):
                break
        if last is not None:
            found[last] = None
    return list(found)


def counted_by(code: Sequence[Instruction], guards: Sequence[int], reached: Exploration) -> set[int]:
    """The loops of open length that may bring a counter to a value for which a step that is missing is executed."""
    found: set[int] = set()
    open_ = reached.leading.keys() | reached.turned
    closed: dict[int, bool] = {}  # loops that are entered anyhow; a branch at the end may decide whether they go on
    for place, one in enumerate(code):
        if one.effect is None or one.effect.pure or id(one.operation) in reached.executed:
            continue
        chain = chain_of(code, guards, place)
        untaken = next((at for at, way in chain if way not in reached.went.get(at, ())), -1)
        if untaken in reached.went and untaken not in reached.leading:
            for at, _ in chain:
                if at < untaken and code[at].kind != "branch":
                    if at not in closed:
                        closed[at] = at not in open_ and fixed(code, at, open_, reached.cells, reached.cycling)
                    if not closed[at]:
                        found.add(at)
    return found


def unreachable(code: Sequence[Instruction], reached: Exploration) -> set[int]:
    """The steps that no thread executes whatever the kernel is given, by ``id`` of their operations.

    Of a branch or loop around each, which threads came to, nothing supposed or unknown decided which way they went, nor
    how often a loop goes round that carries what decides there.
    """
    guards = guards_of(code)
    found: set[int] = set()
    open_: set[int] = set()
    deciders = reached.leading.keys() | reached.turned
    both = {at for at, ways in reached.went.items() if len(ways) > 1}
    closed: dict[int, bool] = {}
    for place, one in enumerate(code):
        if one.effect is None or one.effect.pure or id(one.operation) in reached.executed:
            continue
        untaken = next((at for at, way in chain_of(code, guards, place) if way not in reached.went.get(at, ())), -1)
        if untaken not in closed:
            decided = untaken in reached.went and untaken not in reached.leading
            closed[untaken] = decided and fixed(code, untaken, deciders, reached.cells, reached.cycling, both)
        never = closed[untaken]
        (found if never else open_).add(id(one.operation))
    return found - open_


def behind(code: Sequence[Instruction], ways: Set[tuple[int, bool]]) -> set[int]:
    """The steps that only some ways of branches and loops lead to, by ``id`` of their operations."""
    inside: set[int] = set()
    outside: set[int] = set()
    guards = guards_of(code) if ways else []
    for place, one in enumerate(code if ways else ()):
        if one.effect is not None and not one.effect.pure:
            (outside if ways.isdisjoint(chain_of(code, guards, place)) else inside).add(id(one.operation))
    return inside - outside


def in_empty_loops(code: Sequence[Instruction], reached: Exploration) -> set[int]:
    """The steps of loops that have no turn wherever threads come to them, by ``id`` of their operations.

    A mask that a kernel is compiled without leaves a loop from one number of tiles to the same number, or one that goes
    on as long as the loop before it. One that begins where another one happens to end has turns where that is longer:
    runs of several lengths tell them apart.
    """
    never = [at for at, sizes in reached.empty.items() if len(sizes) > 1 and at not in reached.entered]
    inside = (one for at in never for one in code[at + 1 : code[at].target])
    steps = {id(one.operation) for one in inside if one.effect is not None and not one.effect.pure}
    return steps - reached.executed


def guards_of(code: Sequence[Instruction]) -> list[int]:
    """For each place that of the innermost branch or loop around it; -1 outside of all."""
    found = [-1] * len(code)
    for place, one in enumerate(code):
        if one.kind in ("branch", "test", "check"):
            for inner in range(place + 1, one.target):
                found[inner] = place
    return found


def around(guards: Sequence[int], place: int) -> Iterator[int]:
    """The branches and loops around a place, the innermost first."""
    while (place := guards[place]) >= 0:
        yield place


def chain_of(code: Sequence[Instruction], guards: Sequence[int], place: int) -> list[tuple[int, bool]]:
    """The branches and loops around a place, the outermost first, and which way leads there."""
    chain = []
    inner = place
    while (guard := guards[inner]) >= 0:
        one = code[guard]
        chain.append((guard, one.kind != "branch" or inner < one.other))
        inner = guard
    return chain[::-1]


__all__ = [
    "Decisions",
    "Exploration",
    "Sizes",
    "Sought",
    "around",
    "behind",
    "chain_of",
    "counted_by",
    "guards_of",
    "in_empty_loops",
    "nearest",
    "seek",
    "unreachable",
    "wanted_ways",
]
