"""The protocol of each kernel of a module: what the machine finds, each fault once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import TypeAlias

from tileproof.base.records import dataclass
from tileproof.dialects.operands import resolve
from tileproof.dialects.operations import Operations
from tileproof.evaluate import hardware
from tileproof.memory.tensor_maps import Arguments, kernel_arguments, kernel_name
from tileproof.mlir.ir import Alias, Operation
from tileproof.protocol.actions import ACTIONS, Action, barrier_name, limit, threads_missing
from tileproof.protocol.folding import Extents, Shape
from tileproof.protocol.machine import Machine, ProtocolFault, Unfollowed
from tileproof.protocol.program import Program, compile_kernel, with_extents
from tileproof.protocol.state import Surroundings
from tileproof.protocol.steps import Step, effects, words
from tileproof.protocol.structuring import Unstructured
from tileproof.protocol.trace import TraceStep
from tileproof.protocol.warps import OnBarrier, OnMbarrier
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import state

Steps: TypeAlias = Callable[[Operation, Sequence[str]], Step | None]

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
        unfollowed: where the machine had to stop, and why.
    """

    kernel: Operation
    faults: tuple[ProtocolFault, ...]
    unfollowed: ProtocolFault | None
    steps: int


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a kernel: what was found, and where the machine had to stop."""

    machine: Machine
    faults: tuple[ProtocolFault, ...]
    stopped: ProtocolFault | None

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
        shape = launch(book, kernel, inside)
        step = effects(book, aliases, any(operation.name.startswith("nvvm.wgmma") for operation in inside))

        if foreign := [one for one in inside if one is not kernel and dialect_unfollowed(book, one.name)]:
            first = min(foreign, key=lambda one: one.span.start)
            said = state(book, "PR190", "dialect", dialect=first.name.partition(".")[0])
            yield Outcome(kernel, (), ProtocolFault(said.code, first, said.message, said.hint), 0)
            continue
        try:
            compiled = compile_kernel(kernel, aliases, step, book)
        except Unstructured as reason:
            if takes_part(book, inside):
                said = state(book, "PR190", reason.case)
                yield Outcome(kernel, (), ProtocolFault(said.code, reason.operation, said.message, said.hint), 0)
            continue
        if not any(instruction.kind == "effect" for instruction in compiled.code):
            continue
        boxes = _boxes(kernel, compiled, maps)

        def run(shape: Shape, tiles: int, compiled: Program = compiled, boxes: dict[int, int] = boxes) -> Run:
            program = with_extents(compiled, shape.extents)
            module = Surroundings(lambda text: resolve(text, aliases), boxes)
            history: list[TraceStep] | None = [] if explain else None
            return _run(Machine(program, shape, book, dict(actions), module, tiles=tiles, history=history))

        found = run(shape, _TILES)
        if found.clean and found.machine.coverage.skipped:
            more = _larger(shape, compiled.counts, run)
            larger = (one for one in more if one.machine.coverage.complete and not one.machine.coverage.skipped)
            found = next(larger, found)
        outcome = _outcome(kernel, found, _others(shape, run))
        if found.calm and outcome.faults == found.faults:
            outcome = replace(outcome, faults=(*outcome.faults, *_in_short_loops(shape, found, run)))
        yield outcome


def dialect_unfollowed(book: Rulebook, name: str) -> bool:
    """Whether an operation may be a step of the protocol under a name of its own, which is not followed."""
    return any(name.startswith(one) for one in _unfollowed_dialects(book)) and not name.endswith((".func", ".return"))


@lru_cache(maxsize=8)
def _unfollowed_dialects(book: Rulebook) -> tuple[str, ...]:
    return tuple(book.enums["unfollowed_dialect"].by_spelling)


def takes_part(book: Rulebook, inside: Sequence[Operation]) -> bool:
    """Whether an operation is a step of the protocol that does more than access memory."""
    steps = Operations.of(book)
    names = {steps.step(operation.name) for operation in inside} - {"", "read", "write"}
    return any(not Step(name, 0, 0, 0).pure for name in names)


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
        return Outcome(kernel, faults, found.stopped, first.steps)
    doubtful = [
        fault for fault in faults if first.coverage.skipped or (first.coverage.guessed and fault.code in _DEADLOCKS)
    ]
    if first.coverage.complete and (not faults or len(doubtful) < len(faults)):
        return Outcome(kernel, faults, None, first.steps)
    certain = []
    for other in others:
        further = other.machine.coverage.executed >= first.coverage.executed and other.machine.steps >= first.steps
        if other.stopped is None and not other.faults and (further or not first.coverage.complete):
            return Outcome(kernel, (), None, other.machine.steps)
        counted = not first.coverage.unknown and not first.coverage.skipped and other.machine.shape == first.shape
        if counted and _waiting_places(first) <= _waiting_places(other.machine):
            return Outcome(kernel, faults, None, first.steps)  # more iterations do not get it further
        certain.append(other.certain)
    if certain and all(certain):
        return Outcome(kernel, faults, None, first.steps)  # it deadlocks as well where no loop was left by guess
    if first.coverage.complete and all(fault.code in _DEADLOCKS for fault in faults) and _awaits_missing_turn(first):
        return Outcome(kernel, (), _unfollowed(first, faults[0].operation, "loop_turns"), first.steps)
    return Outcome(kernel, faults, found.stopped, first.steps)


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
    stopped = None
    try:
        machine.run()
    except Unfollowed as reason:
        stopped = _unfollowed(machine, reason.operation, reason.case)
    if stopped is None and not machine.coverage.complete:
        stopped = _unfollowed(machine, machine.program.kernel, "too_many_steps")
    if stopped is None:
        deadlocks(machine)
        leaked(machine)
        incomplete_phases(machine)
        register_budget(machine)
    return Run(machine, tuple(_each_once(machine.faults)), stopped)


def _unfollowed(machine: Machine, operation: Operation, case: str) -> ProtocolFault:
    """The finding that a kernel is not followed beyond an operation."""
    said = state(machine.book, "PR190", case)
    return ProtocolFault(said.code, operation, said.message, said.hint)


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


_DIMENSIONS = re.compile(r"\d+")


def launch(book: Rulebook, kernel: Operation, inside: Sequence[Operation]) -> Shape:
    """The launch configuration: what the kernel declares, one warpgroup by default.

    Args:
        inside: the operations of the kernel, whose allocations give the depth of the deepest ring.
    """
    block = _three(kernel, "nvvm.reqntid", (128, 1, 1))
    cluster = _three(kernel, "nvvm.cluster_dim", (1, 1, 1))
    facts = kernel.attribute("cutlass_launch_facts")
    text = facts.text if facts is not None else words(kernel)
    if (found := re.search(r"cluster_dim\s*=\s*array<i64:\s*([^>]*)>", text)) is not None:
        numbers = [int(n) for n in _DIMENSIONS.findall(found[1])]
        if len(numbers) == 3:
            cluster = (numbers[0], numbers[1], numbers[2])
    depth = 2
    for operation in inside:
        fields = operation.attribute("smem.struct_fields")
        if fields is not None:
            for size in re.findall(r'"[^":]*mbar[^":]*:(\d+):\d+"|"[^":]*pipeline[^":]*:(\d+):\d+"', fields.text):
                depth = max(depth, min(int(size[0] or size[1]) // 8, 16))
    turns = 2 * depth + 3
    return Shape(block, cluster, turns, Extents(turns, turns), hardware.limit(book, "warp_threads"))


def _three(kernel: Operation, name: str, default: tuple[int, int, int]) -> tuple[int, int, int]:
    attribute = kernel.attribute(name)
    if attribute is None:
        return default
    numbers = [int(n) for n in _DIMENSIONS.findall(attribute.text.partition(":")[2])]
    return (numbers[0], numbers[1], numbers[2]) if len(numbers) == 3 and all(numbers) else default


def deadlocks(machine: Machine) -> None:
    """Report why the remaining thread sets deadlock: the first cause that explains it."""
    waiting = [thread_set for thread_set in machine.thread_sets if thread_set.blocked is not None]
    if not waiting:
        return
    code = machine.program.code
    held = [
        (
            code[thread_set.place].operation,
            machine.barriers[thread_set.blocked.key],
            barrier_name(machine, thread_set.blocked.key),
        )
        for thread_set in waiting
        if isinstance(thread_set.blocked, OnMbarrier)
    ]
    for operation, barrier, name in held:
        if barrier.bytes != 0 and barrier.pending == 0:
            at = barrier.expecting or barrier.copying or operation
            wait = (("wait", operation),)
            machine.report(
                "PR124", "here", at, at=wait, barrier=name, expected=barrier.expected, delivered=barrier.copied
            )
            return
    for operation, barrier, name in held:
        came = barrier.count - barrier.pending
        if came:
            init = (("init", barrier.operation),)
            machine.report("PR125", "here", operation, at=init, barrier=name, count=barrier.count, arrivals=came)
            return
    if isinstance(waiting[0].blocked, OnMbarrier):
        operation, barrier, name = held[0]
        init = (("init", barrier.operation),)
        machine.report("PR126", "here", operation, at=init, barrier=name, phase=barrier.phase)
    else:
        threads_missing(machine, waiting[0])


def leaked(machine: Machine) -> None:
    """Report tensor memory that is not freed."""
    if any(thread_set.blocked for thread_set in machine.thread_sets):
        return
    for held in machine.tensor.allocated.values():
        for _, columns, operation in held:
            machine.report("PR157", "here", operation, columns=columns)


def incomplete_phases(machine: Machine) -> None:
    """Report phases of mbarriers with some of their arrivals; no thread waits for them, or it would deadlock.

    Not where only data decide trip counts: there roles may have run different numbers of iterations.
    """
    if (
        machine.coverage.unknown
        or machine.coverage.skipped
        or machine.coverage.passed_by
        or any(thread_set.blocked for thread_set in machine.thread_sets)
    ):
        return
    for key, barrier in sorted(machine.barriers.items()):
        came = barrier.count - barrier.pending
        if came and barrier.arriving is not None:
            init = (("init", barrier.operation),)
            name = barrier_name(machine, key)
            machine.report("PR128", "here", barrier.arriving, at=init, barrier=name, count=barrier.count, arrivals=came)


def register_budget(machine: Machine) -> None:
    """Report a register budget that a CTA does not have: the sum of the last request of each warp."""
    held = limit(machine, "cta_registers")
    mine = {warp: asked for (cta, warp), asked in sorted(machine.budgets.items(), key=lambda one: one[0]) if cta == 0}
    wanted = sum(machine.shape.warp * count for count, _ in mine.values())
    if wanted > held:
        most, operation = max(mine.values(), key=lambda asked: asked[0])
        machine.report("PR160", "here", operation, wanted=wanted, most=most, registers=held)


def _each_once(faults: Sequence[ProtocolFault]) -> Iterator[ProtocolFault]:
    seen = set()
    for fault in faults:
        key = (fault.code, fault.operation.span)
        if key not in seen:
            seen.add(key)
            yield fault
