"""The protocol of each kernel of a module: what the machine finds, each fault once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import TypeAlias

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.dialects.operands import resolve
from tileproof.memory.tensor_maps import Arguments, kernel_arguments, kernel_name
from tileproof.mlir.ir import Alias, Operation
from tileproof.protocol.actions import ACTIONS, Action
from tileproof.protocol.budget import limit
from tileproof.protocol.endings import deadlocks, incomplete_phases, leaked, register_budget
from tileproof.protocol.explore import Decisions, Exploration, Sought, seek
from tileproof.protocol.folding import Extents, Shape
from tileproof.protocol.launch import Launch, launch
from tileproof.protocol.machine import Machine, ProtocolFault
from tileproof.protocol.program import Program, compile_kernel, with_extents
from tileproof.protocol.state import Surroundings
from tileproof.protocol.steps import Step, effects
from tileproof.protocol.trace import TraceStep
from tileproof.protocol.warps import OnBarrier, OnMbarrier
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import state

Steps: TypeAlias = Callable[[Operation, Sequence[str]], Step | None]

_NOTHING: Decisions = {}
_TILES = 3  # iterations of the loop over tiles
_MANY_TILES = 5  # epilogues and accumulators have rings of up to four stages
_ELEMENTS = 64  # of the tile of a tensor
_FEW = 2  # the value of a count that is an argument of the kernel
_ARRIVALS = {"arrive", "arrive_expect", "async_arrive", "mma_commit", "bulk_load", "raw_copy", "cancel"}
_ARRIVING_COPIES = {"tma_load", "bulk_load"}
_HAZARDS = {"PR110", "PR111", "PR112", "PR113", "PR114", "PR116"}
_DEADLOCKS = {"PR124", "PR125", "PR126", "PR130", "PR133"}
KERNELS = {"cuda.kernel", "gpu.func", "llvm.func", "func.func", "nvvm.kernel", "lir.func"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known of one kernel.

    Attributes:
        doubts: what was not verified, and why: cases of finding PR190.
        steps: the operations that take part in its protocol.
        executed: those of them that were executed in some run, by ``id``.
        trip_counts: loops of unknown length were run with up to so many iterations; None where the verdict holds for
            all numbers of them.
    """

    kernel: Operation
    faults: tuple[ProtocolFault, ...]
    doubts: tuple[Doubt, ...]
    steps: tuple[Operation, ...] = ()
    executed: frozenset[int] = frozenset()
    trip_counts: int | None = None


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that is not verified: a case of finding PR190, where, and its words."""

    case: str
    operation: Operation
    message: str
    hint: str = ""

    @property
    def assumed(self) -> bool:
        """Whether it is an assumption about the launch, under which all may be verified."""
        return self.case.startswith("assumed_")


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a kernel: what was found, and where the machine had to stop."""

    machine: Machine
    faults: tuple[ProtocolFault, ...]
    stopped: Doubt | None

    @property
    def clean(self) -> bool:
        """Whether the kernel was followed to its end and nothing was found."""
        return not self.faults and self.calm

    @property
    def calm(self) -> bool:
        """Whether it was followed to its end without a hazard or a deadlock."""
        serious = any(fault.code in _HAZARDS or fault.code in _DEADLOCKS for fault in self.faults)
        return not serious and self.stopped is None and self.machine.coverage.complete

    @property
    def certain(self) -> bool:
        """Whether there are findings, and no loop was left by guess or skipped."""
        machine = self.machine
        doubtful = (
            machine.coverage.guessed
            or machine.coverage.unknown
            or machine.coverage.skipped
            or not machine.coverage.complete
        )
        return bool(self.faults) and self.stopped is None and not doubtful


def relevant(book: Rulebook, text: str) -> bool:
    """Whether a text can hold anything asynchronous: one of the words of the enum ``protocol_word``."""
    return _words(book).search(text) is not None


@lru_cache(maxsize=8)
def _words(book: Rulebook) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, book.enums["protocol_word"].by_spelling)))


def verify(
    book: Rulebook,
    operations: Sequence[Operation],
    aliases: dict[str, Alias],
    actions: Mapping[str, Action] = ACTIONS,
    explain: bool = False,
) -> Iterator[Outcome]:
    """The outcome of each kernel, in textual order.

    Args:
        actions: what each step does; another table watches the machine.
        explain: whether each finding keeps the path that leads to it.
    """
    maps = kernel_arguments(book, operations, aliases)
    for kernel in kernels(operations):
        inside = list(_inside(kernel))
        step = effects(book, aliases, any(operation.name.startswith("nvvm.wgmma") for operation in inside))

        compiled = compile_kernel(kernel, aliases, step, book)
        if not any(instruction.kind == "effect" for instruction in compiled.code):
            continue
        boxes = _boxes(kernel, compiled, maps)

        runs: list[Run] = []

        def run(
            shape: Shape,
            tiles: int,
            forced: Decisions = _NOTHING,
            agreed: Decisions = _NOTHING,
            compiled: Program = compiled,
            boxes: dict[int, int] = boxes,
            runs: list[Run] = runs,
        ) -> Run:
            program = with_extents(compiled, shape.extents)
            module = Surroundings(lambda text: resolve(text, aliases), boxes)
            history: list[TraceStep] | None = [] if explain else None
            machine = Machine(program, shape, book, dict(actions), module, tiles=tiles, history=history)
            machine.forced, machine.agreed, machine.excusing = forced, agreed, bool(forced)
            runs.append(_run(machine))
            return runs[-1]

        def judged(
            shape: Shape,
            kernel: Operation = kernel,
            compiled: Program = compiled,
            run: Callable[..., Run] = run,
            runs: list[Run] = runs,
        ) -> Outcome:
            runs.clear()
            found = run(shape, _TILES)
            if found.clean and found.machine.coverage.skipped:
                more = _larger(shape, compiled.counts, run)
                larger = (one for one in more if one.machine.coverage.complete and not one.machine.coverage.skipped)
                found = next(larger, found)
            outcome = _outcome(kernel, found, _others(shape, run))
            if found.calm and outcome.faults == found.faults:
                outcome = replace(outcome, faults=(*outcome.faults, *_in_short_loops(shape, found, run)))
            reached = Exploration()
            for one in runs:
                reached.add(one.machine)
            faults = list(outcome.faults)
            natural = frozenset(reached.executed)

            def sought(forced: Decisions, agreed: Decisions) -> Sought:
                one = run(found.machine.shape, _TILES, forced, agreed)
                return Sought(forced, one.machine, one.stopped is None and not one.machine.taint.released)

            known = {(fault.code, fault.operation.span) for fault in faults}
            for trial in seek(compiled.code, reached, sought, limit(book, "kernel_runs"), limit(book, "kernel_steps")):
                for fault in _each_once(trial.machine.faults):
                    if (fault.code, fault.operation.span) not in known and _is_new(fault, natural):
                        known.add((fault.code, fault.operation.span))
                        faults.append(fault)
            executed = frozenset(id(one) for one in outcome.steps if id(one) in reached.executed)
            return replace(outcome, faults=tuple(faults), executed=executed)

        yield _launched(book, launch(book, kernel, inside, operations, aliases), judged)


def _launched(book: Rulebook, launched: Launch, judged: Callable[[Shape], Outcome]) -> Outcome:
    """The outcome of a kernel over its launches: what is wrong in any that the text says, or in all that may be."""
    if launched.known:
        outcomes = [judged(shape) for shape in launched.shapes]
        first = outcomes[0]
        if len(outcomes) == 1:
            return first
        bounds = [one.trip_counts for one in outcomes if one.trip_counts is not None]
        return replace(
            first,
            faults=tuple(_each_once([fault for one in outcomes for fault in one.faults])),
            doubts=tuple({(d.case, d.operation.span): d for one in outcomes for d in one.doubts}.values()),
            executed=frozenset().union(*(one.executed for one in outcomes)),
            trip_counts=min(bounds, default=None),
        )
    best, assumed, rank = None, launched.shapes[0], (True, 0, 0)
    for shape in launched.shapes:
        found = judged(shape)
        errors = sum(book.findings[fault.code].severity is Severity.ERROR for fault in found.faults)
        # Without an error first; of those with errors the one that goes furthest, for a hang hides what comes after it.
        one = (errors > 0, -len(found.executed), errors)
        if best is None or one < rank:
            best, assumed, rank = found, shape, one
        if not errors and len(found.executed) == len(found.steps):
            break
    assert best is not None
    doubts = (Doubt(case, best.kernel, said.message, said.hint) for case, said in launched.assumptions(book, assumed))
    return replace(best, doubts=(*best.doubts, *doubts))


def _is_new(fault: ProtocolFault, natural: frozenset[int]) -> bool:
    """Whether a finding concerns a step that is executed only where a run is told which way to go."""
    return any(id(one) not in natural for one in (fault.operation, *(place for _, place in fault.trace)))


def _larger(shape: Shape, counts: bool, run: Callable[[Shape, int], Run]) -> Iterator[Run]:
    """The same kernel with arguments, and then tensors too, of many tiles: a loop that was skipped may have iterations.

    Args:
        counts: whether anything depends on an argument.
    """
    elements = _ELEMENTS * shape.extent
    if counts:
        yield run(replace(shape, extents=Extents(shape.extent, elements)), _TILES)
    yield run(replace(shape, extents=Extents(elements, elements, counted=False)), _TILES)


def _others(shape: Shape, run: Callable[[Shape, int], Run]) -> Iterator[Run]:
    """The same kernel with other trip counts: few large tiles, and more iterations of the loops over tiles.

    Roles may count the same iterations in loops of different kinds, or alternate.
    """
    sizes = Extents(_ELEMENTS * shape.extent, _FEW, counted=False)
    for one in (replace(shape, extents=sizes), shape):
        yield run(one, shape.extent + 1)


def _in_short_loops(shape: Shape, found: Run, run: Callable[[Shape, int], Run]) -> Iterator[ProtocolFault]:
    """Hazards in short loops over many tiles: the order exists only where a loop goes through its whole ring of stages.

    A hazard that long loops over as many tiles show as well does not depend on the length.
    """
    hurried = run(replace(shape, extent=_FEW, extents=Extents(_FEW, _FEW)), _MANY_TILES)
    if hurried.stopped is not None or any(fault.code in _DEADLOCKS for fault in hurried.faults):
        return
    if (hurried.machine.coverage.skipped and not found.machine.coverage.skipped) or (
        hurried.machine.coverage.unknown and not found.machine.coverage.unknown
    ):
        return  # roles need not agree on which of them has no iteration
    faults = [fault for fault in hurried.faults if fault.code in _HAZARDS]
    anyway = {(fault.code, fault.operation.span) for fault in run(shape, _MANY_TILES).faults} if faults else set()
    for fault in faults:
        if (fault.code, fault.operation.span) in anyway:
            yield fault
        else:
            said = state(hurried.machine.book, "PR117", "here", hazard=fault.message, remedy=fault.hint)
            yield replace(fault, code=said.code, message=said.message, hint=said.hint)


def _outcome(kernel: Operation, found: Run, others: Iterator[Run]) -> Outcome:
    """What is reported of a kernel: findings that do not depend on the extents that the machine assumes.

    Where a loop was left by guess, a thread set may wait for the missing iterations; where a loop was skipped, all that
    it does is missing. Then a run without findings that goes further shows that the protocol holds.
    """
    first, faults = found.machine, found.faults
    if found.stopped is not None and first.coverage.complete:
        return _told(kernel, found, faults, found.stopped)
    doubtful = [
        fault for fault in faults if first.coverage.skipped or (first.coverage.guessed and fault.code in _DEADLOCKS)
    ]
    if first.coverage.complete and (not faults or len(doubtful) < len(faults)):
        return _told(kernel, found, faults)
    certain = []
    for other in others:
        further = other.machine.coverage.executed >= first.coverage.executed and other.machine.steps >= first.steps
        if other.stopped is None and not other.faults and (further or not first.coverage.complete):
            return _told(kernel, other)
        counted = not first.coverage.unknown and not first.coverage.skipped and other.machine.shape == first.shape
        if counted and _waiting_places(first) <= _waiting_places(other.machine):
            return _told(kernel, found, faults)  # more iterations do not get it further
        certain.append(other.certain)
    if certain and all(certain):
        return _told(kernel, found, faults)  # it deadlocks as well where no loop was left by guess
    if first.coverage.complete and all(fault.code in _DEADLOCKS for fault in faults) and _awaits_missing_turn(first):
        return _told(kernel, found, (), _unfollowed(first, faults[0].operation, "loop_turns"))
    return _told(kernel, found, faults, found.stopped)


def _told(kernel: Operation, found: Run, faults: tuple[ProtocolFault, ...] = (), doubt: Doubt | None = None) -> Outcome:
    """The outcome of a kernel that one run decides."""
    steps = tuple(steps_of(found.machine.program))
    executed = found.machine.coverage.executed
    reached = frozenset(id(one) for one in steps if id(one) in executed)
    return Outcome(kernel, faults, () if doubt is None else (doubt,), steps, reached)


def steps_of(program: Program) -> Iterator[Operation]:
    """The operations of a program that take part in the protocol, in textual order, each once."""
    seen = set()
    for one in program.code:
        if one.effect is not None and not one.effect.pure and id(one.operation) not in seen:
            seen.add(id(one.operation))
            yield one.operation


def _waiting_places(machine: Machine) -> set[tuple[int, int, int, int]]:
    """Where thread sets wait: CTA, first thread, place, and how many phases of the barrier there are complete."""
    found = set()
    for thread_set in machine.thread_sets:
        wait = thread_set.blocked
        phase = machine.barriers[wait.key].phase if isinstance(wait, OnMbarrier) else 0
        found.add((thread_set.cta, thread_set.threads[0], thread_set.place, phase))
    return found


def _awaits_missing_turn(machine: Machine) -> bool:
    """Whether a thread set waits for what another would do in a further iteration of a loop that was left too early."""
    arrives = any(
        _arrives(one.effect) and id(one.operation) in machine.coverage.guessed for one in machine.program.code
    )
    for thread_set in machine.thread_sets:
        wait = thread_set.blocked
        if isinstance(wait, OnMbarrier):
            if machine.barriers[wait.key].overrun:
                continue  # no further iteration brings back a phase that no thread waited for
            sources = machine.barriers[wait.key].sources
            if not machine.coverage.guessed.isdisjoint(sources) or (arrives and not sources):
                return True
        if (
            isinstance(wait, OnBarrier)
            and id(machine.program.code[thread_set.place].operation) in machine.coverage.guessed
        ):
            return True
    return False


def _arrives(step: Step | None) -> bool:
    """Whether a step completes phases of mbarriers."""
    return step is not None and (step.name in _ARRIVALS or step.copy in _ARRIVING_COPIES)


def _run(machine: Machine) -> Run:
    """Run a machine: its faults, where it had to stop, and why."""
    machine.run()
    stopped = None
    if not machine.coverage.complete:
        stopped = _unfollowed(machine, machine.program.kernel, "too_many_steps")
    if stopped is None and not machine.excusing:
        deadlocks(machine)
        leaked(machine)
        incomplete_phases(machine)
        register_budget(machine)
    return Run(machine, tuple(_each_once(machine.faults)), stopped)


def _unfollowed(machine: Machine, operation: Operation, case: str) -> Doubt:
    """A kernel is not followed beyond an operation."""
    said = state(machine.book, "PR190", case)
    return Doubt(case, operation, said.message, said.hint)


def _boxes(kernel: Operation, program: Program, maps: Arguments) -> dict[int, int]:
    """The bytes of the boxes of the tensor maps that the kernel gets, by the slots of its arguments."""
    found = {}
    for index, (slot, _) in enumerate(program.arguments):
        tensor_map = maps.get((kernel_name(kernel) or "", index))
        if tensor_map is not None and tensor_map.box and tensor_map.bits:
            found[slot] = prod(tensor_map.box) * tensor_map.bits // 8
    return found


def _functions(operation: Operation) -> Iterator[Operation]:
    """The functions in a module or in a module inside it."""
    if operation.name in KERNELS:
        if operation.regions and operation.regions[0].blocks:
            yield operation
        return
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _functions(inner)


def _inside(operation: Operation) -> Iterator[Operation]:
    """All operations in an operation, in any order."""
    left = [operation]
    while left:
        one = left.pop()
        yield one
        for region in one.regions:
            for block in region.blocks:
                left.extend(block.operations)


def kernels(operations: Sequence[Operation]) -> Iterator[Operation]:
    """The functions that run on the device: the host code beside a kernel is none of them."""
    found = [op for top in operations for op in _functions(top)]
    device = [
        op for op in found if op.name == "cuda.kernel" or op.attribute("gpu.kernel") or op.attribute("nvvm.kernel")
    ]
    yield from device or found


def _each_once(faults: Sequence[ProtocolFault]) -> Iterator[ProtocolFault]:
    seen = set()
    for fault in faults:
        key = (fault.code, fault.operation.span)
        if key not in seen:
            seen.add(key)
            yield fault
