"""The runs of one kernel, and what they say together.

The machine executes one way through a kernel at a time. The runs of a kernel are

1. the long run: loops of unknown length go around more often than any ring has stages;
2. short runs, if there are such loops: no turn, one, two and so on, as far as the budget allows. A hazard that only
   they show is a warning (PR117); how far they went is the bound of the verdict, or none where the long run came back
   to a state that it had before (``fixpoint``);
3. runs that seek steps which were not executed yet (``explore``).

A thread that waits for ever is a finding, unless the wait may rest on a loop that the machine left by guess: then a run
with more turns shows whether it waits for the same phase at the same place. What is neither is a doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias

from tileproof.base.diagnostic import Severity
from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.mlir.ir import Operation
from tileproof.protocol.accumulators import Fills, unfilled
from tileproof.protocol.actions import Action
from tileproof.protocol.actions.exits import left_early
from tileproof.protocol.actions.registers import warpgroups
from tileproof.protocol.actions.tensor_memory import halves_missing
from tileproof.protocol.actions.written import unwritten
from tileproof.protocol.budget import limit
from tileproof.protocol.deciding import deciding, ends, literal
from tileproof.protocol.endings import (
    deadlocks,
    incomplete_phases,
    leaked,
    register_budget,
    understated_bytes,
    wrong_bytes,
)
from tileproof.protocol.explore import (
    Decisions,
    Exploration,
    Sizes,
    Sought,
    counted_by,
    guards_of,
    seek,
    unreachable,
    wanted_ways,
)
from tileproof.protocol.faults import (
    DEADLOCKS,
    HAZARDS,
    OVERLAP,
    PROXY,
    UNDERSTATED,
    UNINITIALISED,
    ProtocolFault,
)
from tileproof.protocol.fixpoint import Period, Watch
from tileproof.protocol.folding import Extents, Shape
from tileproof.protocol.ledger import Recorded
from tileproof.protocol.machine import Machine, Missed, Unseen
from tileproof.protocol.program import Program, with_extents
from tileproof.protocol.ring_depth import deepest_ring
from tileproof.protocol.runs import (
    Doubt,
    Outcome,
    Ran,
    Recipe,
    Run,
    each_once,
    even,
    key_of,
    loops_at,
    rests_on,
    steps_of,
)
from tileproof.protocol.state import Stores, Surroundings
from tileproof.protocol.stored_tiles import stored_tiles
from tileproof.protocol.terms import place_term
from tileproof.protocol.unmet import Help, unmet
from tileproof.protocol.warps import Awaited
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import state

if TYPE_CHECKING:
    from tileproof.protocol.diagnosis import Ended, Rerun, Search

_NOTHING: Decisions = {}
_ELEMENTS = 64  # of the tile of a tensor
_SIZES = 2  # of runs that agree
_FURTHER = 2  # the share of a search that only asks whether there is one operation
_FEW = 2  # of an argument, or of iterations
_INNER, _EVERY = 2, 1  # depth of loops
_PLACES = 4  # that a run comes to for which others are missing
_LONGER = 5  # numbers of turns that are tried for a longer run
_TIMES = (8, 16)  # as large, where integers are given
_LATE = (4, 8, 16)  # shares of the tiles of a grid that are left for a CTA
_FEWER = 3  # runs of a grid of one CTA
_ROUNDS = 2  # phases of an mbarrier that show both parities
_CTAS = regex(r"sreg\.n(cta|cluster)id")
_SMALLER = (2, 4, 8)  # turns of a run in which a finding of a longer one may show as well


Size: TypeAlias = "tuple[Extents, int, int]"  # of a run: extents, turns, tiles


@dataclass(slots=True)
class Study:
    """The runs of one kernel."""

    book: Rulebook
    kernel: Operation
    compiled: Program
    shape: Shape
    module: Surroundings
    actions: dict[str, Action]
    explain: bool
    thorough: bool
    ptx: bool = False
    begun: Run | None = None
    whole: int = 0  # how deep loops lie that go round as often as the text says; 0: all are cut
    judged: Run | None = None
    shown: Run | None = None  # which has the findings that the judged one has not
    counts: list[Run] = field(default_factory=list)  # those of other sizes in which nothing is guessed
    reached: Exploration = field(default_factory=Exploration)
    fills: Fills | None = None  # who fills accumulators in registers, once that was asked
    doubts: dict[tuple[str, int], Doubt] = field(default_factory=dict)
    unseen: dict[int, Operation] = field(default_factory=dict)  # steps that access what is not known in some run
    ran: list[Ran] = field(default_factory=list)  # all runs of its own, in order
    stored: Mapping[tuple[int, int], int] = field(default_factory=dict)  # bytes that bulk stores read
    lacking: Set[Awaited] = frozenset()  # barriers that surely lack arrivals or bytes

    def limit(self, name: str) -> int:
        """A limit of the exploration."""
        return limit(self.book, name, self.thorough, self.ptx)

    # -- one run

    def run(
        self,
        extents: Extents,
        turns: int,
        tiles: int,
        forced: Decisions = _NOTHING,
        agreed: Decisions = _NOTHING,
        budget: int | None = None,
        watch: Watch | None = None,
        program: Program | None = None,
        recorded: Recorded | None = None,
        allowed: Set[tuple[str, int]] | None = None,
        ends: Callable[[str, int], bool] | None = None,
        missed: Missed | None = None,
        unseen: Unseen | None = None,
        eager: Set[int] = frozenset(),
        help_: Help | None = None,
    ) -> Run:
        """One run.

        Args:
            turns: iterations of a loop whose length nothing says.
            tiles: the most iterations of a loop over the tiles of a persistent kernel.
            forced, agreed: which way to go, by place and by term; then threads that wait for ever go on.
            budget: the most instructions, where it is a trial.
            watch: looks for a state that comes again.
            program: a changed one, whose doubts are none of the kernel's.
            recorded: to be filled with what happens.
            allowed: the only findings, by code and place, after which the run goes on.
            ends: whether a finding, by code and place, ends the run.
            missed, unseen: told of orders that are missing, and of proxy fences.
            eager: the operations, by ``id``, that try a wait and succeed though it is not over.
            help_: lets threads go on that wait for ever.
        """
        most = self.limit("run_steps")
        machine = Machine(
            with_extents(program or self.compiled, extents),
            replace(self.shape, extent=turns, extents=extents),
            self.book,
            self.actions,
            self.module,
            tiles=tiles,
            whole=self.whole,
            forced=forced,
            agreed=agreed,
            excusing=bool(forced),
            history=recorded.history if recorded else [] if self.explain and program is None else None,
            events=recorded.events if recorded else None,
            names=recorded.names if recorded else {},
            allowed=allowed,
            ends=ends,
            missed=missed,
            unseen=unseen,
            watch=watch,
            stores=Stores(self.stored),
            most=min(budget or most, most),
            eager=eager,
            help=help_,
        )
        machine.run()
        if machine.coverage.complete and not machine.excusing:
            deadlocks(machine, self.lacking)
            leaked(machine)
            incomplete_phases(machine)
            wrong_bytes(machine)
            understated_bytes(machine)
            register_budget(machine)
            unwritten(machine)
            left_early(machine)
            halves_missing(machine)
            warpgroups(machine)
            self.fills = unfilled(machine, self.fills)
        let_go = self.ptx and bool(forced) and self.judged is not None and self.judged.hangs
        for case, operation in machine.taint.reasons if program is None and not let_go else ():
            self.doubt(case, operation)
        if program is None and not forced and machine.accesses:  # alone they have no order that may be missing
            self.unseen |= machine.taint.unseen
        done = Run(machine, tuple(each_once(machine.faults)))
        if program is None and ends is None:
            recipe, executed = Recipe(extents, turns, tiles, forced, agreed, budget), machine.coverage.executed
            self.ran.append(Ran(recipe, machine.steps, done.places(), frozenset(executed)))
        return done

    def again(
        self,
        recipe: Recipe,
        ends: Callable[[str, int], bool] | None = None,
        missed: Missed | None = None,
        unseen: Unseen | None = None,
        program: Program | None = None,
    ) -> Run:
        """A run as one before, perhaps of a changed program, which a finding may end."""
        return self.run(
            recipe.extents,
            recipe.turns,
            recipe.tiles,
            recipe.forced,
            recipe.agreed,
            recipe.budget,
            program=program,
            ends=ends or (lambda code, place: False),
            missed=missed,
            unseen=unseen,
        )

    def counted(self, turns: int, tiles: int, watch: Watch | None = None) -> Run:
        """A run in which every loop of unknown length has as many turns, and each tensor as many tiles."""
        return self.run(Extents(turns, turns), turns, tiles, watch=watch)

    def doubt(self, case: str, operation: Operation, /, fault: ProtocolFault | None = None, **facts: object) -> None:
        """Something is not verified, perhaps a finding."""
        said = state(self.book, "PR190", case, **facts)
        self.doubts.setdefault((case, operation.span.start), Doubt(case, operation, said.message, said.hint, fault))

    # -- all runs

    def begin(self) -> Run:
        """The long run, which is made once: a launch may have been chosen by it.

        Where it has findings and loops were left although the text says that they go on, it is one in which they do, if
        that is not too long: those inside others, or all.
        """
        if self.begun is None:
            self.begun = first = self.counted(self.shape.extent, self.limit("long_tiles"))
            coverage = first.machine.coverage
            for depth in (_INNER, _EVERY) if coverage.complete and not first.calm else ():
                if depth <= coverage.shortened:
                    self.whole = depth
                    one = self.counted(self.shape.extent, self.limit("long_tiles"))
                    if one.machine.coverage.complete and not (one.hangs and one.machine.coverage.shortened):
                        self.begun = one
                        break
                    self.whole = 0
        return self.begun

    def around(self) -> Run:
        """The long run, with as many turns as it takes to go around the deepest ring that it shows.

        Once more than rings of which all barriers are counted: loads before the loop may go around first, and then it
        is the second time that tells whether the loop flips the parity. What bulk stores of a kernel in PTX read is
        known when a run has ended, and is for the next one.
        """
        rounds, more = self.limit("ring_rounds") + 1, self.limit("ring_turns")
        first = self.begin()
        self.reached.add(first.machine)
        self.stored = stored_tiles(first.machine) if self.ptx and first.calm else {}
        unsized = bool(self.stored)
        while first.calm:
            turns = self.shape.extent
            if self.open_loops():
                depth = min(deepest_ring(first.machine), self.limit("ring_stages"))
                turns = max(turns, rounds * depth + more)
            if turns == self.shape.extent and not unsized:
                break
            longer = self.longer(first, turns)
            if longer is None:
                break
            self.reached.add(longer.machine)
            turns = longer.machine.shape.extent
            self.shape, first, unsized = replace(self.shape, extent=turns), longer, False
        return first

    def longer(self, first: Run, turns: int) -> Run | None:
        """A run of at least so many turns that comes to its end and does all that another one does.

        Of some numbers there are no tiles, by the way that a kernel computes them: such a run shows nothing.
        """
        for more in range(_LONGER):
            one = self.counted(turns + more, self.limit("long_tiles"))
            if not one.machine.coverage.complete:
                return None
            if one.machine.coverage.executed >= first.machine.coverage.executed:
                return one
        return None

    def cut_short(self, ends: Callable[[str, int], bool]) -> Run:
        """A run as the long one that a finding may end."""
        turns = self.shape.extent
        return self.run(Extents(turns, turns), turns, self.limit("long_tiles"), ends=ends)

    def outcome(self) -> Outcome:
        """What the runs say together."""
        tiles = self.limit("long_tiles")
        first = long = self.around()
        period = None
        while period is None and first.calm and self.open_loops() and self.affords(first):
            watch = Watch(self.compiled, self.limit("watched_states"))
            self.shape = replace(self.shape, extent=2 * self.shape.extent)
            first = long = self.counted(self.shape.extent, tiles, watch)
            self.reached.add(first.machine)
            period = watch.found
        coverage = first.machine.coverage
        if coverage.skipped or coverage.cut or not coverage.complete or first.hangs:
            long = self.better(first)
            self.reached.add(long.machine)
        self.judged = long
        faults = [*self.certain(first, long)]
        if long.machine.misled and long.calm:
            faults += self.misled(long)
        bound: int | None = None
        if self.open_loops():
            complete = long.machine.coverage.complete
            bound = self.short_runs(long, faults, period if long is first else None) if complete else 0
        together = self.ptx and (long.calm or even(long))
        wide = [*self.wide_runs(long, faults), *self.few_ctas(long, faults)] if together else []
        natural = frozenset(self.reached.executed)
        guessed = self.seek(long, faults, natural)
        self.of_other_lengths(long, faults)
        never = unreachable(self.compiled.code, self.reached) if together else ()
        steps = tuple(one for one in steps_of(self.compiled) if id(one) not in never)
        if not long.machine.coverage.complete:
            self.doubt("too_many_steps", self.kernel)
        blind = [one for one in steps if id(one) in self.unseen]
        wrong = any(self.book.findings[fault.code].severity is Severity.ERROR for fault in faults)
        if blind and not wrong:  # with an error nobody takes the kernel for verified, and it may be the cause
            self.doubt("accessed_steps", blind[0], count=len(blind))
        loose = [one for one in steps if id(one) in guessed]
        if loose:
            self.doubt("guessed_steps", loose[0], count=len(loose))
        executed = frozenset(id(one) for one in steps if id(one) in self.reached.executed)
        doubts = sorted(self.doubts.values(), key=lambda one: (one.operation.span.start, one.case))
        exact = long.certain and long.hangs and {key_of(one) for one in faults} <= long.places()
        return Outcome(
            self.kernel,
            tuple(faults),
            tuple(doubts),
            steps,
            executed,
            bound,
            frozenset(guessed),
            exact=exact,
            anyway=self.anyway((long, *wide), faults),
        )

    def of_other_lengths(self, long: Run, faults: list[ProtocolFault]) -> None:
        """Leave out bytes that are read and not expected, unless runs with other integers find them as well.

        Copies that fill a stage and MMAs that read it may be in loops whose lengths a run supposes by itself.
        """
        wrong = [one for one in faults if one.code == UNDERSTATED]
        if not wrong:
            return
        machine, usual = long.machine, long.machine.shape.extents
        sizes = (replace(usual, argument=usual.argument + 1), replace(usual, tensor=max(usual.tensor // 2, 1)))
        runs = [self.run(size, machine.shape.extent, machine.tiles, budget=_FEW * machine.steps) for size in sizes]
        ended = [one for one in runs if even(one)]

        def stands(fault: ProtocolFault) -> bool:
            met = [one for one in ended if id(fault.operation) in one.machine.coverage.executed]
            return bool(met) and all(key_of(fault) in one.places() for one in met)

        open_ = [one for one in wrong if not stands(one)]
        faults[:] = [one for one in faults if one not in open_]
        for fault in open_ if open_ == wrong else ():  # where others stand nobody takes the kernel for verified
            self.doubt("loop_turns", fault.operation, fault)

    def anyway(self, runs: Sequence[Run], faults: Sequence[ProtocolFault]) -> tuple[ProtocolFault, ...]:
        """The hazards of a kernel in PTX that do not depend on the integers that it loads.

        Roles that load them for themselves may disagree on what a run supposes them to be, and then accesses meet that
        never do. They do not disagree where all come to their end, no barrier is left in the middle of a phase and no
        loop was passed; a hazard that is in all such runs, of several lengths, is one of the text.

        Args:
            runs: those in which the findings are.
        """
        from tileproof.protocol.ptx_kernels import LOADS  # noqa: PLC0415

        hazards = frozenset(key_of(one) for one in faults if one.code in HAZARDS)
        if not (self.ptx and hazards and self.reached.leading and self.kernel.attribute(LOADS) is not None):
            return tuple(one for one in faults if one.code in HAZARDS)
        every: set[tuple[str, int]] = set()
        for run in runs:
            found = hazards & run.places() - every
            machine, usual = run.machine, run.machine.shape.extents
            apart = usual.apart or self.limit("wide_turns")
            others = (
                replace(usual, tensor=2 * usual.tensor, argument=usual.argument + 1),
                replace(usual, tensor=4 * usual.tensor, argument=2 * usual.argument + 1),
                replace(usual, apart=2 * apart, near=_FEW),
                replace(usual, apart=4 * apart, near=_FEW),
                Extents((_FEW + 1) * self.limit("tile_elements"), _FEW, usual.counted, apart=2 * apart),
            )
            if not found or not run.agreed:
                continue
            lengths = {machine.steps}
            for size in others:
                one = self.run(size, machine.shape.extent, machine.tiles, budget=self.share("wide", machine))
                if one.agreed and one.machine.steps not in lengths:
                    lengths.add(one.machine.steps)
                    found &= one.places()
            every |= found if len(lengths) >= _SIZES or not self.open_loops() else frozenset()
        return tuple(one for one in faults if key_of(one) in every)

    def causes(self, outcome: Outcome, line: Callable[[Operation], object], ptx: str = "") -> Outcome:
        """The same with the findings by their causes, as far as the budget goes.

        Args:
            line: where an operation is, for hints.
            ptx: the text of the module, if it is PTX.
        """
        judged = self.judged
        if judged is None or not outcome.faults:
            return outcome
        from tileproof.protocol.diagnosis import diagnosed  # noqa: PLC0415

        if self.shown is not None and judged.places().isdisjoint(map(key_of, outcome.faults)):
            judged = self.shown
        return replace(outcome, faults=diagnosed(replace(self.search(judged, line), ptx=ptx), outcome.faults))

    def search(self, judged: Run, line: Callable[[Operation], object]) -> Search:
        """The search for the causes of the findings of a run."""
        from tileproof.protocol.diagnosis import SUPPLIED, Search, supplied  # noqa: PLC0415

        self.actions[SUPPLIED] = supplied

        def at(size: Size) -> Rerun:
            def rerun(program: Program, recorded: Recorded | None, allowed: Set[tuple[str, int]] | None) -> Ended:
                one = self.run(*size, program=program, recorded=recorded, allowed=allowed)
                return one.machine, one.faults

            return rerun

        whole, small, steps = self.sizes(judged)
        share = max(steps.steps * self.limit("diagnosis_share") // 100, self.limit("diagnosis_steps"))
        most, runs = min(share, self.limit("diagnosis_most")), self.limit("diagnosis_runs")
        return Search(self.book, at(small), at(whole), self.compiled, line, self.explain, runs, most)

    def sizes(self, judged: Run) -> tuple[Size, Size, Machine]:
        """The size of a run, a smaller one that has the same findings, and a machine of that size.

        In PTX an integer may count elements: with few of them it goes through the same steps in fewer instructions.
        """
        machine = judged.machine
        turns, extents = machine.shape.extent, machine.shape.extents
        whole = small = (extents, turns, machine.tiles)
        least = machine
        for fewer in _SMALLER:
            if fewer * 2 > turns:
                break
            tensor, argument = (n * fewer // turns if n >= turns else n for n in (extents.tensor, extents.argument))
            size = (replace(extents, tensor=tensor, argument=argument), fewer, machine.tiles)
            one = self.run(*size, program=self.compiled)
            if judged.places() <= one.places():
                small, least = size, one.machine
                break
        if self.ptx and extents.counted:
            elements = replace(extents, tensor=_FEW * _ELEMENTS, argument=_FEW, counted=False)
            size = (elements, _FEW, machine.tiles)
            one = self.run(*size, program=self.compiled, budget=least.steps)
            same = judged.places() <= one.places() and machine.coverage.executed <= one.machine.coverage.executed
            if same and one.machine.coverage.complete:
                small, least = size, one.machine
        return whole, small, least

    def shorter(self, long: Run, turns: int, tiles: int) -> Run:
        """A run like the long one, with loops of so many turns."""
        whole, extents = self.shape.extent, long.machine.shape.extents
        both = (extents.tensor, extents.argument)
        tensor, argument = (n * turns // whole if n >= whole else min(n, turns) for n in both)
        return self.run(replace(extents, tensor=tensor, argument=argument), turns, tiles)

    def affords(self, long: Run) -> bool:
        """Whether all numbers of iterations up to twice those of the long run can be run as short runs."""
        needed = 2 * long.machine.steps * self.shape.extent
        return not long.machine.coverage.skipped and needed <= self.share("short", long.machine)

    def better(self, first: Run) -> Run:
        """A run that is calm and goes as far as the first one, which is not; the first one where there is none.

        A wait that one run leaves because what it waits for came is none that lasts for ever. Where a counted loop had
        no turn, all that it does is missing: with larger arguments, and then with larger tensors, it may have some.
        Where roles count the same iterations in loops of different kinds, or alternate, few large tiles or more
        iterations of the loops over tiles go further. Where steps are still missing arguments may count tiles: the last
        one of few is in the tensors.
        """
        turns, tiles = self.shape.extent, self.limit("long_tiles")
        elements = _ELEMENTS * turns
        coverage = first.machine.coverage
        trials = []
        if coverage.skipped:
            trials += [(Extents(turns, elements), tiles)] if self.compiled.counts else []
            trials += [(Extents(elements, elements, counted=False), tiles)]
        elif coverage.guessed or coverage.unknown:
            # What looks like a loop over tiles may count stages of a ring: as many turns go around it.
            trials += [(Extents(turns, turns), turns + 1)] if first.hangs and not coverage.unknown else []
            trials += [(Extents(_FEW, _FEW), self.limit("few_tiles"))]  # roles that alternate go through all tiles
        wrong = first.hangs or coverage.cut or not coverage.complete  # more than a loop without a turn
        if wrong and (coverage.skipped or coverage.guessed or coverage.unknown or not coverage.complete):
            counts = (_FEW, turns) if self.compiled.counts else (turns,)
            trials += [(Extents(elements, count, counted=False), turns + 1) for count in counts]
            trials += [(Extents(turns, turns), turns + 1)] if (Extents(turns, turns), turns + 1) not in trials else []
        elif wrong:
            exact = self.limit("tile_elements") * turns if self.ptx else elements
            trials += [(Extents(exact, exact, counted=False), tiles)]  # no fewer turns, counted exactly
        fewer = (_FEW, 1) if coverage.skipped and self.compiled.counts else ()
        wider = [(Extents(elements, count, counted=False), tiles) for count in fewer]
        hung = {id(first.machine.program.code[place].operation) for _, _, place, _ in first.waits()}
        budget = self.share("trial", first.machine)
        # Those of a kernel in PTX whose first run has no end.
        ended = self.near_the_end(first) if self.ptx and not coverage.complete else []
        if ended:
            late = _foremost(ended)
            if late is not None:
                self.doubt("late_ctas", self.kernel, place=late.machine.shape.extents.number(place_term(0), 0))
            return late or first
        alike = (first.machine.shape.extents, first.machine.tiles)
        for i, (extents, most) in enumerate(one for one in (*trials, *wider) if one != alike):
            if budget <= 0 or (i >= len(trials) and not self.missing()):
                break
            other = self.run(extents, turns, most, budget=budget)
            budget -= other.machine.steps
            done = other.machine.coverage
            self.reached.add(other.machine)
            if other.certain:
                self.counts.append(other)
            further = done.executed >= (hung if first.hangs else coverage.executed)
            if done.skipped or not done.complete:
                continue
            if self.ptx and not coverage.complete:
                ended.append(other)
                continue
            if (coverage.skipped and not first.faults) or (other.calm and (further or not coverage.complete)):
                return other
        if self.ptx and not coverage.complete and not (any(one.calm for one in ended) and not self.missing()):
            # Of a grid of few tiles a run may come to its end, and where integers count what a loop goes through.
            few = (Extents(_FEW, _FEW), Extents(turns, turns, counted=False), Extents(turns, _FEW, counted=False))
            for extents in few:
                other = self.run(extents, turns, _FEW, budget=self.share("trial", first.machine))
                self.reached.add(other.machine)
                ended += [other] if other.machine.coverage.complete else []
                if (len(ended) >= _SIZES or any(one.calm for one in ended)) and not self.missing():
                    break
        return _foremost(ended) or first

    def near_the_end(self, first: Run) -> list[Run]:
        """Runs of CTAs so late in the grid that they come to their end, where loops over tiles count to a number."""
        term, machine = place_term(0), first.machine
        found: list[Run] = []
        end = max(ends(self.compiled.code, term), default=0)
        for tiles in (*(end // share for share in _LATE), 1) if end > machine.tiles else ():
            extents = replace(machine.shape.extents, given=((term, end - max(tiles, 1)),))
            other = self.run(extents, self.shape.extent, machine.tiles, budget=self.share("trial", machine))
            self.reached.add(other.machine)
            found += [other] if other.machine.coverage.complete else []
            if len(found) == _SIZES:
                break
        return found

    def missing(self) -> bool:
        """Whether a step was not executed yet."""
        return any(id(one) not in self.reached.executed for one in steps_of(self.compiled))

    def certain(self, first: Run, long: Run) -> Iterator[ProtocolFault]:
        """The findings of the long run that do not rest on how often it supposes that loops run."""
        if long is not first:
            if first.hangs and first.machine.coverage.unknown:
                self.doubt("loop_turns", next(one.operation for one in first.faults if one.code in DEADLOCKS))
            yield from long.faults
            if not first.machine.coverage.skipped and not first.machine.coverage.cut:
                yield from (one for one in first.faults if one.code in HAZARDS and key_of(one) not in long.places())
            return
        coverage = first.machine.coverage
        if self.ptx and first.hangs and not self.hangs_anyhow(first):
            named = self.named(first, repair=True)
            if named is not None:
                self.judged = named
                yield from (one for one in named.faults if one.code not in HAZARDS)
                return
            self.doubt("loop_turns", next(one.operation for one in first.faults if one.code in DEADLOCKS))
            yield from (one for one in first.faults if one.code == UNINITIALISED or self.literal_number(one))
            return
        further = None
        if first.hangs and any(one.hangs for one in self.counts):
            further = self.counted(self.shape.extent, self.shape.extent + 1)
            self.counts += [further] if further.certain else []
        everywhere = self.everywhere() if first.hangs else None
        if everywhere is not None:
            self.judged = everywhere
            yield from everywhere.faults
            return
        doubtful = coverage.guessed or coverage.unknown or coverage.skipped
        for fault in first.faults:
            if fault.code in DEADLOCKS and doubtful:
                further = further or self.counted(self.shape.extent, self.shape.extent + 1)
                self.reached.add(further.machine)
                if not first.waits() & further.waits() and key_of(fault) not in _conflicts(further):
                    self.doubt("loop_turns", fault.operation, fault)
                    continue
            elif (coverage.skipped or coverage.cut) and fault.code in HAZARDS:
                self.doubt("loop_turns", fault.operation, fault)
                continue
            yield fault

    def literal_number(self, fault: ProtocolFault) -> bool:
        """Whether a number that the text writes out is wrong for the hardware, however a thread comes to it."""
        numbers = self.book.enums["number_finding"].by_spelling
        return fault.code in numbers and literal(self.compiled.code, fault.operation)

    def misled(self, long: Run) -> Iterator[ProtocolFault]:
        """What goes wrong where a try_wait for another phase than the wait after it succeeds, which is skipped then."""
        machine = long.machine
        one = self.run(machine.shape.extents, machine.shape.extent, machine.tiles, eager=machine.misled)
        yield from (fault for fault in one.faults if fault.code in HAZARDS)

    def hangs_anyhow(self, first: Run) -> bool:
        """Whether threads wait for ever for the same whatever the integers are that the kernel gets.

        A kernel in PTX gets numbers of different kinds, which a run supposes to be equal. With one number there is no
        such run, and it is enough that they wait for ever for something. Where only data decide whether a role does
        its part, or how often, another role may decide otherwise by the same data. Where all runs pass by the same loop
        what is awaited may come of that, and where a loop was left although the text says that it goes on.
        """
        if first.machine.coverage.unknown or first.machine.coverage.shortened or first.by_data():
            return False
        if any(case == "barrier_address" for case, _ in first.machine.taint.reasons):
            return False  # what comes to it may be what is awaited
        alone = self.one_number() and first.certain
        passed = frozenset[int]() if alone else first.passed_loops()
        wanted, awaited = first.stuck(), first.awaited()
        turns = self.shape.extent  # fewer than a ring has stages may show nothing
        for size in (turns, 2 * turns + 1, _ELEMENTS * turns):
            one = self.run(Extents(size, size, counted=False), turns, size + 1)
            passed &= one.passed_loops()
            if alone and one.certain and one.hangs:
                continue
            awaited &= one.awaited()
            if not awaited or wanted != one.stuck():
                return self.hangs_in_turn(first) or self.hangs_when_long(first)
        return not passed

    def named(self, hung: Run, repair: bool = False) -> Run | None:
        """The same run of a kernel in PTX, its hang named by what each launch lacks; None where that is not known.

        Args:
            repair: whether to look also for one operation whose change makes the roles come to their end.
        """
        machine = hung.machine
        if machine.coverage.unknown or machine.taint.reasons or hung.steps_by_data():
            return None
        sizes = self.lengths(hung)
        self.lacking = self.unmet(hung, sizes)
        if self.lacking:
            return self.run(machine.shape.extents, machine.shape.extent, machine.tiles)
        return hung if repair and self.misplaced(hung, sizes) else None

    def lengths(self, first: Run) -> Sequence[Size]:
        """The size of a run of a kernel in PTX, and others whose loops are of other lengths."""
        machine = first.machine
        usual, turns, apart = machine.shape.extents, machine.shape.extent, self.limit("wide_turns")
        if usual.given:
            more = [tuple((term, times * one) for term, one in usual.given) for times in _TIMES]
            return [(replace(usual, given=given), turns, machine.tiles) for given in (usual.given, *more)]
        return (
            (usual, turns, machine.tiles),
            (Extents(_ELEMENTS * turns, _ELEMENTS * turns, counted=False), turns, turns + 1),
            (replace(usual, tensor=2 * usual.tensor, argument=usual.argument + 1), turns, machine.tiles),
            (Extents(_FEW * self.limit("tile_elements"), _FEW, apart=2 * apart), turns, machine.tiles),
        )

    def unmet(self, hung: Run, sizes: Sequence[Size]) -> Set[Awaited]:
        """The barriers of a kernel in PTX that lack arrivals or bytes whatever the integers are that it gets."""

        def helped(size: Size, help_: Help) -> Machine:
            return self.run(*size, program=self.compiled, help_=help_).machine

        return unmet(hung.machine, sizes, helped, self.open_loops(), self.limit("diagnosis_steps"))

    def misplaced(self, hung: Run, sizes: Sequence[Size]) -> bool:
        """Whether one operation is why threads wait for ever: with another one the roles agree, in several lengths."""
        from tileproof.protocol.diagnosis import misplaced  # noqa: PLC0415

        def agree(program: Program) -> bool:
            lengths: set[int] = set()
            for size in sizes:
                one = self.run(*size, program=program)
                if one.calm and one.agreed and self.run(*size, program=self.compiled).hangs:
                    lengths.add(one.machine.steps)
                if len(lengths) >= (_SIZES if self.open_loops() else 1):
                    return True
            return False

        stuck = [one for one in hung.faults if one.code in DEADLOCKS]
        search = self.search(hung, lambda operation: 0)
        return misplaced(replace(search, steps=search.steps // _FURTHER), stuck, agree)

    def one_number(self) -> bool:
        """Whether all that the text leaves open of a kernel in PTX is one integer that it gets."""
        from tileproof.protocol.ptx_kernels import LOADS  # noqa: PLC0415

        integers = sum(text[:1] == "i" for _, text in self.compiled.arguments)
        return integers == 1 and self.kernel.attribute(LOADS) is None

    def hangs_in_turn(self, first: Run) -> bool:
        """Whether threads wait for ever for the same in long loops, and none of them has left such a loop.

        Then roles that do not agree on how often a loop runs are not the cause, and short loops show nothing.
        """
        wanted = first.stuck()
        turns, tiles = self.shape.extent, first.machine.tiles
        elements = [(Extents(n, n, counted=False), turns, n) for n in (_ELEMENTS * turns, 2 * _ELEMENTS * turns)]
        counts = [(Extents(n, n), n, tiles) for n in (2 * turns, 4 * turns)]

        def same(runs: Iterable[Run]) -> bool:
            awaited, passed = first.awaited(), first.passed_loops()
            for one in runs:
                awaited &= one.awaited()
                passed &= one.passed_loops()
                if not awaited or one.left_loop() or wanted != one.stuck():
                    return False
            return not passed

        if same(self.run(*size) for size in elements):
            return True
        return not first.left_loop() and same(self.run(*size) for size in counts)

    def hangs_when_long(self, first: Run) -> bool:
        """Whether threads wait for ever for the same in all long loops, though roles agree on how often loops run.

        They agree where short loops of different lengths come to their end and leave nothing open: it is a ring of
        barriers, longer than those loops, that does not go round. Where one integer says how long all loops are, no
        turn and one turn are such lengths, or one short run is enough that does all that the long one does.
        """
        tiles, turns = first.machine.tiles, self.shape.extent
        if not first.certain:
            return False
        alone, whole = self.one_number(), first.machine.coverage.executed
        few = [self.counted(length, tiles) for length in ((0, 1) if alone else (1, _FEW))]
        calm = [one for one in few if one.certain and one.calm]
        agreed = len(calm) == len(few) and few[0].machine.steps < few[1].machine.steps
        if not agreed and not (alone and any(one.machine.coverage.executed >= whole for one in calm)):
            # What counts elements is as long with few of them as with one tile: loops of other lengths are short.
            sizes = (Extents(length, length, counted=False) for length in (turns, 2 * turns + 1, _FEW))
            few = [one for size in sizes if (one := self.run(size, turns, tiles)).certain and one.calm]
            for one in few:
                self.reached.add(one.machine)
            if len({one.machine.steps for one in few}) < _SIZES or self.missing():
                return False
        more = self.counted(2 * turns, tiles)
        return more.certain and more.hangs and more.awaited() == first.awaited()

    def everywhere(self) -> Run | None:
        """A run in which nothing is guessed and threads wait for ever, as in all others, of other sizes; None if none.

        Two sizes are needed: one alone may be a problem that no launch asks for.
        """
        alike = [frozenset(one for one in run.places() if one[0] in DEADLOCKS) for run in self.counts]
        if len(alike) < _SIZES or not alike[0] or any(one != alike[0] for one in alike):
            return None
        return self.counts[0]

    def open_loops(self) -> bool:
        """Whether a loop that takes part in the protocol has a length that the text does not say."""
        return any(loops_at(self.compiled.code, place) for place in self.reached.leading)

    def short_runs(self, long: Run, faults: list[ProtocolFault], period: Period | None) -> int | None:
        """Run short loops over many tiles, and add what only they show; how many iterations the verdict holds for.

        It holds for all numbers where the shorter ones were run up to a state that came again, and a period more.

        The order of two accesses may exist only where a loop goes through its whole ring of stages. A hazard that long
        loops over as many tiles show as well does not depend on the length.
        """
        tiles, budget = max(self.limit("short_tiles"), long.machine.tiles), self.share("short", long.machine)
        known = {key_of(fault) for fault in faults}
        anyway: frozenset[tuple[str, int]] | None = None
        done: set[int] = set()
        whole = min(self.shape.extent, long.machine.shape.extents.tensor)  # iterations of the long run
        most = whole - 1 if period is None else period.reached + period.length
        for turns in _short_first(most + 1):
            if budget <= 0 and turns > _FEW:
                break
            one = self.shorter(long, turns, tiles)
            budget -= one.machine.steps
            self.reached.add(one.machine)
            if not one.machine.coverage.complete:
                break
            done.add(turns)
            if not long.calm:
                continue
            if one.hangs or not self.comparable(one, long):
                # A caller may never ask for so few, and roles need not agree on which of them has an iteration then.
                wrong = [fault for fault in one.faults if fault.code in DEADLOCKS or fault.code in HAZARDS]
                if wrong and turns:
                    self.doubt("short_loops", wrong[-1].operation, turns=turns)
                continue
            for fault in one.faults:
                if fault.code not in HAZARDS or key_of(fault) in known:
                    continue
                known.add(key_of(fault))
                anyway = self.shorter(long, self.shape.extent, tiles).places() if anyway is None else anyway
                faults.append(fault if key_of(fault) in anyway else self.of_short_loops(fault))
        done.add(whole)
        bound = next(turns for turns in range(most + 3) if turns not in done) - 1
        return None if period is not None and bound >= most else max(bound, 0)

    def of_short_loops(self, fault: ProtocolFault) -> ProtocolFault:
        """A hazard that only short loops have, as a warning: a caller may never ask for so few turns."""
        said = state(self.book, "PR117", "here", hazard=fault.message, remedy=fault.hint)
        return replace(fault, code=said.code, message=said.message, hint=said.hint)

    def wide_runs(self, long: Run, faults: list[ProtocolFault]) -> list[Run]:
        """Run longer loops where steps are still missing, and only there: of few tiles, then of as many as before.

        A ring whose slots are filled ahead has more stages than the long run has turns, and of a loop that compilers
        unrolled one end is that of odd numbers. Threads may wait for ever so because roles count by different integers:
        such a run says nothing, and where all are such that is named.

        Returns:
            the runs that come to their end and have findings of their own.
        """
        code, extents, tile = self.compiled.code, long.machine.shape.extents, self.limit("tile_elements")
        guards = guards_of(code)
        budget = self.share("wide", long.machine)
        places = {place_term(axis) for axis in range(3)}  # in the grid, which counts tiles
        known = {key_of(fault) for fault in faults}
        found: list[Run] = []
        stuck: ProtocolFault | None = None
        few, turns = Extents(_FEW, _FEW, extents.counted), self.limit("wide_turns")
        sizes = (  # elements of an integer that the kernel gets, or what it loads
            (tile, replace(few, apart=turns)),
            (tile + 1, replace(few, apart=2 * turns, tensor=(_FEW + 1) * tile)),
            (1, replace(few, apart=2 * turns)),
            (tile // 2, replace(few, apart=4 * turns)),
            (tile // 4, replace(few, apart=16 * turns)),
            (tile, replace(extents, apart=4 * turns)),
            (tile, replace(few, apart=4 * turns, tensor=self.shape.extent * tile + tile)),  # the first one is a length
        )

        def deciders() -> tuple[frozenset[int], bool]:
            wanted = {*wanted_ways(code, guards, self.reached), *counted_by(code, guards, self.reached)}
            return deciding(code, wanted) if wanted and budget > 0 else (frozenset(), False)

        def take(one: Run, before: Set[int] = frozenset()) -> bool:
            """What a run shows, of steps beside those that were executed before; whether to go on."""
            nonlocal stuck
            if not (one.calm or even(one)):
                named = self.named(one) if one.hangs and stuck is None else None
                if named is not None:
                    self.shown = named
                    self.reached.add(named.machine)
                    faults.extend(one for one in named.faults if one.code in DEADLOCKS and key_of(one) not in known)
                    return False
                stuck = stuck or next((fault for fault in one.faults if fault.code in DEADLOCKS), None)
                return True
            self.reached.add(one.machine)
            new = [fault for fault in one.faults if key_of(fault) not in known]
            new = [fault for fault in new if not before or rests_on(fault, frozenset(before), False)]
            known.update(map(key_of, new))
            if one.machine.steps < long.machine.steps:  # of steps that longer loops have without a hazard
                usual = frozenset(long.machine.coverage.executed)
                short = [one for one in new if one.code in HAZARDS and not rests_on(one, usual, False)]
                new = [self.of_short_loops(fault) if fault in short else fault for fault in new]
            faults.extend(new)
            if new and not one.calm:
                self.shown = one
                found.append(one)
            return True

        for elements, loads in sizes:
            terms, loaded = deciders()
            if loaded:  # of neighbours the difference is a length; each role loads them for itself, so all go alike
                size = loads
            elif not terms:
                break
            else:
                size = replace(
                    loads,
                    apart=0,
                    tensor=min(loads.tensor, extents.tensor),
                    given=tuple((term, turns * (1 if term in places else elements)) for term in sorted(terms)),
                )
            tiles = long.machine.tiles if loaded else _FEW
            one = self.run(size, self.shape.extent, tiles, budget=budget)
            budget -= one.machine.steps
            if loaded and not one.machine.coverage.complete:  # too many tiles: few of them, and as much in each
                size = replace(loads, apart=4 * turns, near=_FEW)
                one = self.run(size, self.shape.extent, tiles, budget=self.share("wide", long.machine))
            if not take(one):
                break
        for place in list(wanted_ways(code, guards, self.reached))[:_PLACES]:
            # What brings a run to this place keeps it from going on: tiles that have nothing to sum up, say.
            usual, turns, tiles = self.reached.sizes[place]
            terms, _ = deciding(code, (place,))
            given = tuple((term, tile * _FEW) for term in sorted(terms - places))
            if usual.tensor or not given or budget <= 0 or place not in wanted_ways(code, guards, self.reached):
                continue
            one = self.run(replace(usual, given=given), turns, tiles, budget=budget)
            budget -= one.machine.steps
            if not take(one, set(self.reached.executed)):
                break
        if stuck is not None and wanted_ways(code, guards, self.reached):
            self.doubt("loop_turns", stuck.operation, stuck)
        return found

    def few_ctas(self, long: Run, faults: list[ProtocolFault]) -> list[Run]:
        """Run a grid of one CTA, which has all tiles, where mbarriers are used too seldom to show a wrong phase.

        Returns:
            the runs that have findings of their own.
        """
        if not self.ptx or not self.seldom() or not self.counts_ctas():
            return []
        executed, budget = long.machine.coverage.executed, self.share("trial", long.machine)
        ran = {one.steps: one.recipe for one in self.ran if not one.recipe.forced and one.executed >= executed}
        known = {key_of(fault) for fault in faults}
        for _, size in sorted(ran.items(), key=lambda one: one[0])[:_FEWER]:
            if budget <= 0 or not self.seldom():
                break
            one = self.run(replace(size.extents, grid=1), size.turns, size.tiles, budget=budget)
            budget -= one.machine.steps
            if one.hangs:
                named = self.named(one, repair=True)
                faults += [fault for fault in named.faults if fault.code in DEADLOCKS] if named else []
                self.shown = named or self.shown
                return [named] if named else []
            if not even(one):
                continue
            self.reached.add(one.machine)
            new = [fault for fault in one.faults if fault.code in HAZARDS and key_of(fault) not in known]
            if new:
                self.shown = one
                faults += new
                return [one]
        return []

    def seldom(self) -> bool:
        """Whether threads waited for some mbarrier less often than once for either parity."""
        return min(self.reached.rounds.values(), default=_ROUNDS) < _ROUNDS

    def counts_ctas(self) -> bool:
        """Whether the kernel asks how many CTAs there are."""
        return any(_CTAS.search(one.operation.name) for one in self.compiled.code if one.kind == "effect")

    def seek_share(self, machine: Machine) -> int:
        """How many instructions runs that seek steps may take together beside a run."""
        return self.share("seek", machine)

    def share(self, what: str, long: Machine) -> int:
        """How many instructions runs of a kind may take together."""
        share = max(long.steps * self.limit(f"{what}_share") // 100, self.limit(f"{what}_steps"))
        return min(share, self.limit("run_steps"))

    @staticmethod
    def comparable(short: Run, long: Run) -> bool:
        """Whether the roles agreed on the trip counts of a short run: they need not agree on which has no iteration."""
        mine, other = short.machine.coverage, long.machine.coverage
        missing = (mine.skipped and not other.skipped) or (mine.unknown and not other.unknown)
        missing |= (mine.passed_by and not other.passed_by) or (bool(mine.guessed) and not other.guessed)
        return not missing

    def seek(self, long: Run, faults: list[ProtocolFault], natural: frozenset[int]) -> set[int]:
        """Seek the steps that were not executed; those of them that only runs executed whose roles disagree."""
        rough = self.ptx and not long.calm  # no run goes better
        known = {key_of(fault) for fault in faults}

        def told(sizes: Sizes, forced: Decisions, agreed: Decisions) -> Sought:
            one = self.run(*sizes, forced, agreed)
            return Sought(forced, one.machine, one.calm or (rough and even(one)))

        smooth: set[int] = set(natural)
        runs = self.limit("seek_runs")
        for trial in seek(self.compiled.code, self.reached, told, long.machine, runs, self.seek_share, self.ptx):
            if not (
                trial.machine.taint.released or (self.ptx and not rough and self.wrong_there(trial.machine, natural))
            ):
                smooth |= trial.machine.coverage.executed
            if self.ptx and not trial.machine.taint.released:
                # A number that is wrong for the hardware is wrong on whatever way threads come to it.
                for fault in each_once(trial.machine.faults):
                    if key_of(fault) not in known and self.literal_number(fault):
                        known.add(key_of(fault))
                        faults.append(fault)
            if long.hangs or self.ptx:
                # What comes after a hang is new in every run that is let go on, and says nothing. In PTX the conditions
                # of one decision are spread over predicates, of which such a run is told only some.
                continue
            disagreed = bool(trial.machine.taint.released)
            before = frozenset(smooth) if disagreed else natural
            for fault in each_once(trial.machine.faults):
                if key_of(fault) not in known and rests_on(fault, before, disagreed):
                    known.add(key_of(fault))
                    faults.append(fault)
        return self.reached.executed - smooth

    @staticmethod
    def wrong_there(machine: Machine, natural: frozenset[int]) -> bool:
        """Whether a run that was told which way to go found what rests on steps that no other executes."""
        return any(rests_on(fault, natural, False) for fault in machine.faults)


def _foremost(ended: Sequence[Run]) -> Run | None:
    """The run that shows most of those that ended: threads wait for ever in long loops, or all go wrong alike."""
    stuck = [one for one in ended if one.hangs and not one.left_loop()]
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
    sure = len(free) >= _SIZES and all(one.certain for one in free)
    found = tuple(one for one in best.faults if (sure or one.code == PROXY) and key_of(one) in every)
    return Run(best.machine, found) if found else None


def _conflicts(run: Run) -> set[tuple[str, int]]:
    """The findings of a run about named barriers whose uses overlap: no thread need wait for ever for them."""
    return {key_of(fault) for fault in run.faults if fault.code == OVERLAP}


def _short_first(turns: int) -> Iterator[int]:
    """Numbers of iterations, those first that show most: 2 and 1, then the others from 0 on."""
    yield from (2, 1, 0)
    yield from range(3, turns)
