"""One kernel, run as often as it takes to know it.

A study makes the runs, within their budgets, and keeps what each showed: what was executed, what is in doubt, what was
run. What they say together is judged in ``judging.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from tileproof.base.records import dataclass, field, replace
from tileproof.mlir.ir import Operation
from tileproof.protocol.accumulators import Fills, unfilled
from tileproof.protocol.actions import Action
from tileproof.protocol.actions.exits import left_early
from tileproof.protocol.actions.multiply import parted_warpgroups
from tileproof.protocol.actions.registers import warpgroups
from tileproof.protocol.actions.rendezvous import left_unwaited
from tileproof.protocol.actions.tensor_memory import halves_missing
from tileproof.protocol.actions.written import unwritten
from tileproof.protocol.budget import limit
from tileproof.protocol.deciding import deciding
from tileproof.protocol.endings import (
    added_several_times,
    copied_several_times,
    deadlocks,
    incomplete_phases,
    leaked,
    loaded_boxes,
    register_budget,
    understated_bytes,
    unwritten_operands,
    wrong_bytes,
)
from tileproof.protocol.explore import Decisions, Exploration
from tileproof.protocol.faults import BY_CHANCE, HAZARDS, ProtocolFault
from tileproof.protocol.fixpoint import Watch
from tileproof.protocol.folding import Extents, Shape
from tileproof.protocol.ledger import Recorded
from tileproof.protocol.machine import Machine, Missed, Results, Unseen
from tileproof.protocol.memory import Span
from tileproof.protocol.program import Program, acts_at, loops_at, with_extents
from tileproof.protocol.ring_depth import deepest_ring
from tileproof.protocol.runs import Doubt, Outcome, Ran, Recipe, Run, each_once, hung_between, key_of, steps_of
from tileproof.protocol.state import Stores, Surroundings
from tileproof.protocol.stored_tiles import stored_tiles
from tileproof.protocol.terms import PLACES
from tileproof.protocol.unmet import Help
from tileproof.protocol.warps import Awaited
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import state

if TYPE_CHECKING:
    from tileproof.protocol.diagnosis import Ended, Rerun, Search
    from tileproof.protocol.units import Units

_NOTHING: Decisions = {}
ELEMENTS = 64  # of the tile of a tensor
AGREEING = 2  # of runs that agree
FEW = 2  # of an argument, or of iterations
MANY_TILES = (64, 512)  # of a length that is divided among many CTAs
_INNER, _EVERY = 2, 1  # depth of loops
_USUAL = 4  # CTAs in a cluster; a larger one takes as many more instructions
_LONGER = 5  # numbers of turns that are tried for a longer run
_SMALLER = (2, 4, 8)  # turns of a run in which a finding of a longer one may show as well


Noted: TypeAlias = "tuple[dict[tuple[str, int], Doubt], dict[int, Operation], list[Ran], Fills | None]"
Size: TypeAlias = "tuple[Extents, int, int]"  # of a run: extents, turns, tiles


def few_tiles(turns: int) -> tuple[Extents, ...]:
    """Extents of a grid of few tiles, with which a run of a kernel in PTX may come to its end."""
    return Extents(FEW, FEW), Extents(turns, turns, counted=False), Extents(turns, FEW, counted=False)


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
    early: Run | None = None  # the run with the findings of which ``Outcome.early`` speaks
    elsewhere: Callable[[], Iterable[Study]] = tuple  # of other launches that may be meant as well
    loose: bool = False  # nothing says the block either, and something goes wrong in all clusters
    shown: Run | None = None  # which has the findings that the judged one has not
    counts: list[Run] = field(default_factory=list)  # those of other sizes in which nothing is guessed
    reached: Exploration = field(default_factory=Exploration)
    fills: Fills | None = None  # who fills accumulators in registers, once that was asked
    doubts: dict[tuple[str, int], Doubt] = field(default_factory=dict)
    unseen: dict[int, Operation] = field(default_factory=dict)  # steps that access what is not known in some run
    ran: list[Ran] = field(default_factory=list)  # all runs of its own, in order
    stored: Mapping[tuple[int, int], int] = field(default_factory=dict)  # bytes that bulk stores read
    loaded: Mapping[object, int] = field(default_factory=dict)  # bytes of the boxes that copies load
    units: tuple[tuple[int, int], ...] = ()  # of integers that count in other tiles than usual, by term
    makers: bool = False  # such are only those of which fewer elements make a loop shorter
    unsettled: bool = False  # a loop is too long, and no units were found
    given: tuple[tuple[int, int], ...] = ()  # integers with which a kernel does not end at once, by term
    lacking: Set[Awaited] = frozenset()  # barriers that surely lack arrivals or bytes
    jobs: dict[int, bool] = field(default_factory=dict)  # whether loops take jobs, by the place of their check
    results: Results = field(default_factory=dict)  # of functions, for the next run

    def launched_as(self, shape: Shape) -> Study:
        """A study of another launch, whose runs suppose what those of this one do."""
        one = Study(self.book, self.kernel, self.compiled, shape, self.module, dict(self.actions), False, self.thorough)
        one.ptx, one.whole, one.units, one.given = self.ptx, self.whole, self.units, self.given
        one.makers = self.makers
        one.stored, one.loaded, one.jobs = self.stored, self.loaded, self.jobs
        return one

    def limit(self, name: str) -> int:
        """A limit of the exploration."""
        return limit(self.book, name, self.thorough, self.ptx)

    @property
    def run_steps(self) -> int:
        """How many instructions one run may take."""
        return self.limit("run_steps") * self.scale

    @property
    def scale(self) -> int:
        """How many times as many instructions as usual a run may take: the more, the more CTAs a cluster has."""
        return max(1, self.shape.ctas // _USUAL)

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
        telling: Set[int] = frozenset(),
        help_: Help | None = None,
        gives_up: Callable[[int, int], bool] | None = None,
        until: int = -1,
        until_left: bool = False,
        patient: bool = False,
        spans: Mapping[int, set[Span]] = MappingProxyType({}),
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
            eager: the operations, by ``id``, that try another phase than the wait after them, and succeed.
            telling: those that try it when it is over.
            help_: lets threads go on that wait for ever.
            gives_up: whether to end the run at a loop, by its place and how often it goes around.
            until: the place of a branch at which to end it.
            until_left: whether to end it where threads first leave a loop by a number that is supposed.
            patient: whether it may take as many instructions as it needs (``more``).
            spans: where operations access memory, to be filled for those whose ``id`` it has.
        """
        most = self.run_steps
        if self.given:
            extents = replace(extents, given=tuple({**dict(self.given), **dict(extents.given)}.items()))
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
            loads=self.loaded,
            most=min(budget or most, most),
            eager=eager,
            telling=telling,
            help=help_,
            gives_up=gives_up,
            until=until,
            until_left=until_left,
            more=partial(self.more, patient) if self.ptx and not (budget or forced or program or ends) else None,
            jobs=self.jobs if program is None else {},
            results=self.results,
            spans=spans,
        )
        machine.run()
        if machine.coverage.complete and not machine.excusing:
            deadlocks(machine, self.lacking)
            leaked(machine)
            incomplete_phases(machine, lambda: bool(Run(machine, ()).passed_loops()))
            wrong_bytes(machine)
            copied_several_times(machine)
            added_several_times(machine)
            understated_bytes(machine)
            unwritten_operands(machine)
            register_budget(machine)
            unwritten(machine)
            left_unwaited(machine)
            left_early(machine)
            halves_missing(machine)
            warpgroups(machine)
            parted_warpgroups(machine)
            self.fills = unfilled(machine, self.fills)
        let_go = self.ptx and bool(forced) and self.judged is not None and self.judged.hangs
        for case, operation in machine.taint.reasons if program is None and not let_go else ():
            self.doubt(case, operation)
        alone = not machine.accesses and len(machine.taint.unseen) < 2  # then no order may be missing
        if program is None and not forced and not alone:
            self.unseen |= machine.taint.unseen
        if program is None and machine.tensor.supposed is not None:
            self.doubt("first_columns", machine.tensor.supposed)
        done = Run(machine, tuple(each_once(machine.faults)))
        if program is None and ends is None:
            recipe, executed = Recipe(extents, turns, tiles, forced, agreed, budget), machine.coverage.executed
            certain = done.certain and not forced
            self.ran.append(Ran(recipe, machine.steps, done.places(), frozenset(executed), done.calm, certain))
        return done

    def more(self, patient: bool, machine: Machine) -> int:
        """How many instructions a run may have that has had all it may usually; 0: no more.

        As many as it takes to its end, by how far its loops are. Where integers that the text leaves open decide how
        often they go around only for one that is ``patient``: fewer turns did not lead to an end either.
        """
        most, needed = self.limit("whole_steps"), machine.expected_steps()
        if needed is None or needed > most:
            return 0
        code = self.compiled.code
        places = [at for at in machine.coverage.doubtful if loops_at(code, at)]
        terms, loaded = deciding(code, places)
        open_ = loaded or bool(terms - PLACES) or machine.coverage.turned
        return most if patient or not open_ else 0

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

    def counted(self, turns: int, tiles: int, watch: Watch | None = None, patient: bool = False) -> Run:
        """A run in which every loop of unknown length has as many turns, and each tensor as many tiles."""
        return self.run(Extents(turns, turns, units=self.units), turns, tiles, watch=watch, patient=patient)

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
            first = self.in_tiles() if self.ptx else None
            if first is not None and self.enters(first):
                first = self.in_tiles()
            self.begun = first = first or self.counted(self.shape.extent, self.limit("long_tiles"))
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

    def enters(self, first: Run) -> bool:
        """Whether there are integers with which the kernel does not end where a run did; all others have them then."""
        from tileproof.protocol.entrances import Numbers, entrance  # noqa: PLC0415

        noted, extents, tile = self.noted(), first.machine.shape.extents, self.limit("tile_elements")

        def run(numbers: Numbers, until: int) -> Run:
            size, machine = replace(extents, given=tuple(sorted(numbers.items()))), first.machine
            return self.run(size, machine.shape.extent, machine.tiles, budget=self.limit("trial_steps"), until=until)

        usual = partial(extents.usual, tile=tile)
        found = entrance(self.compiled.code, first, run, usual, self.shape.extent, self.limit("entrance_steps"))
        self.forget(noted)
        self.given = tuple(sorted(found.items()))
        return bool(found)

    def noted(self) -> Noted:
        """What runs that are only trials are not to change."""
        return dict(self.doubts), dict(self.unseen), list(self.ran), self.fills

    def forget(self, noted: Noted) -> None:
        """Leave out all since something was noted: runs that were only trials."""
        self.doubts, self.unseen, self.ran, self.fills = noted

    def in_tiles(self) -> Run | None:
        """The long run of a kernel in PTX whose integers count in the tiles of its loops; None where none is found."""
        from tileproof.protocol.units import Units  # noqa: PLC0415

        units = Units(self.compiled.code, self.shape.extent, self.limit("tile_elements"), self.run_steps)
        units.longer = self.length_of if self.makers else None
        found, kept = self.in_units(units)
        if found is None:
            self.unsettled = units.too_long is not None
            found = units.longest() or self.hung_in(units)
            if found is not None:
                self.forget(kept)
        if found is not None:
            self.units = found.machine.shape.extents.units
        return found

    def in_units(self, units: Units) -> tuple[Run | None, Noted]:
        """The run that a search for units ends with, if it finds one, and what was noted up to the last one kept."""
        from tileproof.protocol.units import TRIALS  # noqa: PLC0415

        turns, tiles, kept = self.shape.extent, self.limit("long_tiles"), self.noted()
        for _ in range(TRIALS):
            noted = self.noted()
            budget = max(self.limit("trial_steps"), units.next_steps) if units.ended else None
            one = self.run(units.extents, turns, tiles, budget=budget, gives_up=units.gives_up)
            if units.stands(one):
                return one, kept
            further, after = units.goes_on(one), self.noted()
            kept = after if one is units.ended or one is units.hung else kept
            self.forget(noted)
            if not further:
                break
        return None, kept

    def length_of(self, extents: Extents, place: int) -> int:
        """How often a loop goes around with other integers; 0 where a trial does not come to it."""
        lengths: list[int] = []

        def begins(at: int, length: int) -> bool:
            lengths.extend([length] if at == place else [])
            return bool(lengths)

        noted = self.noted()
        self.run(
            extents, self.shape.extent, self.limit("long_tiles"), budget=self.limit("trial_steps"), gives_up=begins
        )
        self.forget(noted)
        return lengths[0] if lengths else 0

    def hung_in(self, units: Units) -> Run | None:
        """A run in other units in which threads wait for ever, as they do neither in shorter nor in longer ones."""
        turns, hung = self.shape.extent, units.hung
        if hung is None or not hung.certain or self.loads:
            return None
        noted, extents, tiles = self.noted(), hung.machine.shape.extents, hung.machine.tiles
        alone = hung_between(turns, lambda n: self.run(replace(extents, tensor=n, argument=n), n, tiles))
        self.forget(noted)
        return hung if alone else None

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
        self.loaded = loaded_boxes(first.machine) if self.ptx and first.calm else {}
        unsized = bool(self.stored or self.loaded)
        while first.calm:
            turns = self.shape.extent
            if self.open_loops() and not self.written_out(first):
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

        Of some numbers there are no tiles, by the way that a kernel computes them: such a run shows nothing. One in
        which threads wait for ever is taken where no other does more, and roles cannot disagree.
        """
        hung: Run | None = None
        for more in range(_LONGER):
            one = self.counted(turns + more, self.limit("long_tiles"))
            if not one.machine.coverage.complete:
                return None
            if one.machine.coverage.executed >= first.machine.coverage.executed:
                return one
            hung = one if one.hangs and one.certain else hung
        return hung if hung is not None and self.ptx and self.alike() else None

    def ended(self) -> Run:
        """The long run, or where it has no end and no hazard one of few tiles: one in which nothing waits for ever."""
        first = self.begin()
        if first.machine.coverage.complete or any(one.code in HAZARDS for one in first.faults):
            return first
        noted, turns, found = self.noted(), self.shape.extent, list[Run]()
        sizes = [(extents, FEW) for extents in few_tiles(turns)]
        # Roles that take turns are out of step where a loop over tiles is cut: here integers count few of them.
        sizes.append((Extents(ELEMENTS * turns, FEW, counted=False), self.limit("long_tiles")))
        for extents, tiles in sizes:
            one = self.run(extents, turns, tiles, budget=self.run_steps)
            found += [one] if one.machine.coverage.complete else []
            if found and not found[-1].hangs:
                break
        self.forget(noted)
        return next((one for one in found if not one.hangs), found[0] if found else first)

    def cut_short(self, ends: Callable[[str, int], bool]) -> Run:
        """A run as the long one that a finding may end."""
        turns = self.shape.extent
        return self.run(Extents(turns, turns, units=self.units), turns, self.limit("long_tiles"), ends=ends)

    def causes(self, outcome: Outcome, line: Callable[[Operation], object], ptx: str = "") -> Outcome:
        """The same with the findings by their causes, as far as the budget goes.

        Args:
            line: where an operation is, for hints.
            ptx: the text of the module, if it is PTX.
        """
        judged = self.judged
        faults = [one for one in outcome.faults if one.code not in BY_CHANCE]
        if judged is None or not faults:
            return outcome
        from tileproof.protocol.diagnosis import diagnosed  # noqa: PLC0415

        if self.shown is not None and judged.places().isdisjoint(map(key_of, faults)):
            judged = self.shown
        found = diagnosed(replace(self.search(judged, line), ptx=ptx), faults)
        return replace(outcome, faults=(*found, *(one for one in outcome.faults if one.code in BY_CHANCE)))

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
        most, runs = min(share, self.limit("diagnosis_most") * self.scale), self.limit("diagnosis_runs")
        return Search(self.book, at(small), at(whole), self.compiled, line, self.explain, runs, most)

    def sizes(self, judged: Run) -> tuple[Size, Size, Machine]:
        """The size of a run, a smaller one that has the same findings, and a machine of that size.

        In PTX an integer may count elements: with few of them it goes through the same steps in fewer instructions.
        """
        machine = judged.machine
        turns, extents = machine.shape.extent, machine.shape.extents
        whole = small = (extents, turns, machine.tiles)
        least = machine
        if judged.by_text:
            return whole, small, least
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
            elements = replace(extents, tensor=FEW * ELEMENTS, argument=FEW, counted=False)
            size = (elements, FEW, machine.tiles)
            one = self.run(*size, program=self.compiled, budget=least.steps)
            same = judged.places() <= one.places() and machine.coverage.executed <= one.machine.coverage.executed
            if same and one.machine.coverage.complete:
                small, least = size, one.machine
        return whole, small, least

    def missing(self) -> bool:
        """Whether a step was not executed yet."""
        return any(id(one) not in self.reached.executed for one in steps_of(self.compiled))

    def one_number(self) -> bool:
        """Whether all that decides on steps of a kernel in PTX, and is left open, is one integer that it gets."""
        if self.loads:
            return False
        if sum(text[:1] == "i" for _, text in self.compiled.arguments) == 1:
            return True
        code = self.compiled.code
        acting = (at for at, one in enumerate(code) if one.kind in ("test", "check", "branch") and acts_at(code, at))
        terms, loaded = deciding(code, acting)
        return len(terms - PLACES) == 1 and not loaded

    def alike(self) -> bool:
        """Whether all loops of a kernel in PTX that take part in its protocol go by the same integers that it gets.

        Then no role goes around more often than another one.
        """
        if self.one_number():
            return True
        code = self.compiled.code
        found = {deciding(code, (at,))[0] - PLACES for at in range(len(code)) if loops_at(code, at)}
        return not self.loads and len(found - {frozenset()}) == 1

    @property
    def loads(self) -> bool:
        """Whether a kernel in PTX goes by integers that it loads."""
        from tileproof.protocol.ptx_kernels import LOADS  # noqa: PLC0415

        return self.kernel.attribute(LOADS) is not None

    def open_loops(self) -> bool:
        """Whether a loop that takes part in the protocol has a length that the text does not say."""
        return any(loops_at(self.compiled.code, place) for place in self.reached.leading)

    def written_out(self, one: Run) -> bool:
        """Whether a run of a kernel in PTX is the same whatever is supposed: the text says how long its loops are."""
        coverage = one.machine.coverage
        left = coverage.unknown or coverage.cut or coverage.guessed or coverage.turned
        return self.ptx and not left and all(each.make is None for each in self.compiled.code)

    def seek_share(self, machine: Machine) -> int:
        """How many instructions runs that seek steps may take together beside a run."""
        return self.share("seek", machine)

    def share(self, what: str, long: Machine) -> int:
        """How many instructions runs of a kind may take together."""
        share = max(long.steps * self.limit(f"{what}_share") // 100, self.limit(f"{what}_steps"))
        return min(share, self.run_steps)
