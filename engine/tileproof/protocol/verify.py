"""The protocol of each kernel of a module, over all ways in which it may be launched."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import chain
from math import prod
from types import MappingProxyType
from typing import TypeAlias

from tileproof.base.diagnostic import Severity
from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, replace
from tileproof.dialects.operands import resolve
from tileproof.dialects.operations import Operations
from tileproof.evaluate import hardware
from tileproof.memory.tensor_maps import Arguments, kernel_arguments, kernel_name
from tileproof.mlir.ir import Alias, Operation
from tileproof.protocol.actions import ACTIONS, Action
from tileproof.protocol.budget import limit
from tileproof.protocol.confirmed import confirmed, within_warpgroup
from tileproof.protocol.counterparts import is_step
from tileproof.protocol.deciding import counts_written
from tileproof.protocol.dependents import early_reads, overlapping
from tileproof.protocol.faults import HAZARDS
from tileproof.protocol.folding import Shape
from tileproof.protocol.judging import conclude
from tileproof.protocol.launch import Blocks, Launch, Said, launch, least_threads
from tileproof.protocol.launch_trials import (
    Trial,
    fewer_threads,
    narrowed,
    other_rows,
    rare_blocks,
    right_in_blocks,
    right_in_rows,
)
from tileproof.protocol.matrix_reads import MatrixReads
from tileproof.protocol.program import Program, compile_kernel
from tileproof.protocol.ptx_kernels import Compiled, compile_function, place_of
from tileproof.protocol.runs import Doubt, Outcome, each_once, key_of
from tileproof.protocol.state import EarlyRead, MatrixRead, Surroundings
from tileproof.protocol.steps import Step, effects, of_wgmma
from tileproof.protocol.structuring import Unstructured
from tileproof.protocol.study import Study
from tileproof.ptx.graph import Graph
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import state

Judged: TypeAlias = "tuple[Outcome, Study]"
Studied: TypeAlias = "Callable[[], Outcome | None]"
_DIMENSION = regex(r"sreg\.(n?)tid\.([xyz])$")
KERNELS = {"cuda.kernel", "gpu.func", "llvm.func", "func.func", "nvvm.kernel", "lir.func"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A kernel in IR, and all that its study reads besides the aliases that it names.

    Attributes:
        launched: how it is launched.
        boxes: the bytes of the boxes of the tensor maps that it gets, by the positions of its arguments.
        early: its operations that read what the grid before may still write, by ``id``.
    """

    kernel: Operation
    launched: Launch
    boxes: Mapping[int, int]
    early: Mapping[int, EarlyRead]


def verify(
    book: Rulebook,
    operations: Sequence[Operation],
    aliases: dict[str, Alias],
    actions: Mapping[str, Action] = ACTIONS,
    explain: bool = False,
    thorough: bool = False,
    line: Callable[[Operation], object] | None = None,
    seen: Callable[[Outcome, Study], None] | None = None,
    kept: Callable[[Asked, Studied], Outcome | None] = lambda asked, study: study(),
    said: Callable[[str], Said] = lambda name: (None, None),
) -> Iterator[Outcome]:
    """The outcome of each kernel, in textual order.

    Args:
        actions: what each step does; another table watches the machine.
        explain: whether each finding keeps the path that leads to it.
        thorough: whether to take the larger budget of rules/protocol/exploration.rule.
        line: the line of an operation as hints say it; where it is given, findings are by their causes.
        seen: is shown each kernel that was run, with its outcome and the study whose findings these are.
        kept: the outcome of a kernel, known or by the study of it; None where it uses no protocol.
        said: how a kernel of a name is launched where the text does not say it.
    """
    maps = kernel_arguments(book, operations, aliases)
    every = list(kernels(operations))
    for kernel in every:
        inside = list(_inside(kernel))
        if foreign := [one for one in inside if one is not kernel and dialect_unfollowed(book, one.name)]:
            first = min(foreign, key=lambda one: one.span.start)
            yield _unfollowed(book, kernel, inside, first, "dialect", dialect=first.name.partition(".")[0])
            continue
        early = early_reads(book, kernel, inside, operations, every, aliases)
        launched = launch(book, kernel, inside, operations, aliases, said(kernel_name(kernel) or ""))
        asked = Asked(kernel, launched, _boxes(kernel, maps), early)
        try:
            outcome = kept(
                asked, partial(_studied, book, asked, inside, aliases, actions, explain, thorough, line, seen)
            )
        except Unstructured as reason:
            if parts(book, inside):
                yield _unfollowed(book, kernel, inside, reason.operation, reason.case)
            continue
        if outcome is not None:
            alone = tuple(overlapping(book, kernel, inside, operations))
            yield replace(outcome, faults=(*outcome.faults, *alone)) if alone else outcome


@contextmanager
def _followed(kernel: Operation) -> Iterator[None]:
    """Make an error of the machine itself one kernel that is not followed: the others are checked all the same.

    Raises:
        Unstructured: for any other error, but where Python is in its development mode (``-X dev``).
    """
    try:
        yield
    except Unstructured:
        raise
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        raise Unstructured(kernel, "failure") from error


def _studied(
    book: Rulebook,
    asked: Asked,
    inside: Sequence[Operation],
    aliases: dict[str, Alias],
    actions: Mapping[str, Action],
    explain: bool,
    thorough: bool,
    line: Callable[[Operation], object] | None,
    seen: Callable[[Outcome, Study], None] | None,
) -> Outcome | None:
    """The outcome of the study of a kernel. What it is given beside ``asked`` is the rules, the options and aliases."""
    kernel = asked.kernel
    step = effects(book, aliases, any(of_wgmma(book, one) for one in inside), asked.early)
    with _followed(kernel):
        compiled = compile_kernel(kernel, aliases, step, book)
    if not any(instruction.kind == "effect" for instruction in compiled.code):
        return None
    module = Surroundings(lambda text: resolve(text, aliases), _slots(compiled, asked.boxes), asked.early)
    judged = _judge(book, kernel, compiled, module, actions, explain, thorough)
    with _followed(kernel):
        outcome, study = _launched(book, asked.launched, judged)
        outcome = outcome if line is None else study.causes(outcome, line)
    if seen is not None:
        seen(outcome, study)
    return outcome


def verify_function(
    book: Rulebook,
    graph: Graph,
    explain: bool = False,
    thorough: bool = False,
    line: Callable[[Operation], object] | None = None,
    seen: Callable[[Outcome, Study], None] | None = None,
    said: Said = (None, None),
) -> Outcome | None:
    """The outcome of a kernel in PTX; None where it uses no protocol.

    Args:
        said: how it is launched where the text does not say it.
        explain, thorough, line, seen: as of ``verify``; what stands alone is explained.

    Raises:
        Unstructured: its blocks jump to each other in a way that is not followed.
    """
    with _followed(place_of(graph.function)):
        compiled = compile_function(book, graph)
    if not any(instruction.kind == "effect" for instruction in compiled.program.code):
        return None
    with _followed(compiled.kernel):
        outcome, study = _function_launched(book, graph, compiled, ACTIONS, explain, thorough, said=said)[1]
        if line is not None:
            standing = replace(outcome, faults=confirmed(book, outcome))
            outcome = replace(outcome, explained=study.causes(standing, line, graph.module.plain).faults)
    if seen is not None:
        seen(outcome, study)
    return outcome


def function_studies(
    book: Rulebook,
    graph: Graph,
    actions: Mapping[str, Action],
    own: Mapping[str, Step] = MappingProxyType({}),
    changed: Callable[[Program], Program] = lambda program: program,
    said: Said = (None, None),
) -> Iterator[Study]:
    """The studies that the verdict on a kernel in PTX rests on, as ``studies`` gives those of kernels in IR.

    Args:
        own: steps of opcodes that no instruction has.
        changed: makes the program that is run of that of the kernel.
        said: as of ``verify_function``.

    Raises:
        Unstructured: as of ``verify_function``.
    """
    compiled = compile_function(book, graph, own)
    compiled.program = changed(compiled.program)
    done: list[Study] = []
    launched, (_, chosen) = _function_launched(book, graph, compiled, actions, done=done, said=said)
    yield from done if launched.known else [chosen]


def _function_launched(
    book: Rulebook,
    graph: Graph,
    compiled: Compiled,
    actions: Mapping[str, Action],
    explain: bool = False,
    thorough: bool = False,
    done: list[Study] | None = None,
    said: Said = (None, None),
) -> tuple[Launch, Judged]:
    """How a kernel in PTX is launched, and what is known of it then.

    Where a loop is too long, no units of the integers were found with which it is not, and something is left open, the
    units are sought otherwise: what is known then holds if nothing is open.

    Args:
        said: as of ``verify_function``.
        done: is given the studies of each launch.
    """
    studies: list[Study] = []
    asked = (book, graph, compiled, actions, explain, thorough)
    usual = _counted(*asked, studies, said, makers=False)
    if usual[1][1].unsettled and _open(usual[1][0]):
        others: list[Study] = []
        found = _counted(*asked, others, said, makers=True)
        if not _open(found[1][0]):
            usual, studies = found, others
    if done is not None:
        done += studies
    return usual


def _open(outcome: Outcome) -> bool:
    """Whether something of a kernel is not known."""
    return bool(outcome.doubts) or len(outcome.executed) < len(outcome.steps)


def _counted(
    book: Rulebook,
    graph: Graph,
    compiled: Compiled,
    actions: Mapping[str, Action],
    explain: bool,
    thorough: bool,
    done: list[Study],
    said: Said,
    makers: bool,
) -> tuple[Launch, Judged]:
    """The same with integers that count in other units in one way (``Study.makers``)."""
    opcodes = {one.opcode for one in graph.module.instructions[graph.function.first : graph.function.last]}
    fenced = any(one.startswith("tcgen05.fence") for one in opcodes)
    module = Surroundings(
        lambda text: text,
        {},
        unfenced=frozenset({"init", "scope"} | (set() if fenced else {"thread"})),
        clusters=limit(book, "clusters"),
        turned=True,
        read=partial(_read, MatrixReads(book, graph), compiled.numbers),
    )

    def study(shape: Shape) -> Study:
        program = compiled.program
        one = Study(book, compiled.kernel, program, shape, module, dict(actions), explain, thorough, ptx=True)
        one.makers = makers
        return one

    begun: dict[Shape, Study] = {}

    def judged(shape: Shape) -> Judged:
        one = begun.pop(shape, None) or study(shape)
        one.elsewhere = partial(map, study, [replace(other, block=shape.block) for other in launched.others])
        one.loose = bool(launched.others) and len(launched.shapes) > 1
        outcome = conclude(one)
        outcome, one = of_fewer(outcome, one, shape) or (outcome, one)
        done.append(one)
        return outcome, one

    def of_fewer(outcome: Outcome, made: Study, shape: Shape) -> Judged | None:
        """The same of a launch of fewer threads than .maxntid allows, where nothing but hazards is wrong with as many
        and nothing with those: kernels allow more for the registers that ptxas gives a thread then.
        """
        codes, before = {one.code for one in outcome.faults if serious(one.code)}, made.judged
        allowed = said[0] is None and launched.bound and launched.block_known and shape.block[0] == shape.threads
        if before is None or not (allowed and codes and codes <= HAZARDS):
            return None
        usual = before.machine
        for threads in fewer_threads(shape):
            other = replace(shape, block=(threads, 1, 1))
            run = made.launched_as(other).run(usual.shape.extents, usual.shape.extent, usual.tiles, ends=ends)
            if not run.machine.coverage.complete or run.hangs or any(_of_launch(book, one.code) for one in run.faults):
                continue
            fewer = study(other)
            found = conclude(fewer)
            if len(found.executed) >= len(outcome.executed) and not any(serious(one.code) for one in found.faults):
                words = ", ".join(sorted(codes))
                case = state(book, "PR190", "ptx_fewer", threads=threads, most=shape.threads, codes=words)
                doubt = Doubt("assumed_block", found.kernel, case.message, case.hint)
                return replace(found, doubts=(*found.doubts, doubt)), fewer
        return None

    copied = _has(book, compiled, "thread_copy_step") and _has(book, compiled, "warpgroup_step")

    def ends(code: str, place: int) -> bool:
        """Whether a finding shows that a kernel is not made for a launch: a hazard may be one within a warpgroup."""
        return _of_launch(book, code) and not (copied and code in HAZARDS)

    waits = frozenset(book.enums["waiting_launch_finding"].by_spelling)

    def tried(shape: Shape, short: bool) -> Trial:
        one = study(shape)
        if not short:
            begun[shape] = one
        run = one.cut_short(ends) if short else one.ended()
        wrong = [fault for fault in run.faults if _of_launch(book, fault.code)]
        errors = sum(not within_warpgroup(book, fault) for fault in wrong)
        executed, beyond = len(run.machine.coverage.executed), run.machine.beyond
        brief = not short and run is not one.begun
        right = run.machine.coverage.complete and not (wrong or run.hangs or run.machine.taint.released)
        waiting = bool(wrong) and run.hangs and waits.issuperset(fault.code for fault in wrong)
        return Trial(run.machine.steps, executed, errors, right, beyond, run.hangs, brief, waiting)

    budget = limit(book, "cluster_steps", thorough, True)
    together, counts = _has(book, compiled, "together_step"), counts_written(compiled.program.code)
    blocks = (together or _has(book, compiled, "block_step")) and _of_one_dimension(compiled)
    pairs = any("cta_group::2" in one for one in opcodes)
    possible = launch(book, compiled.kernel, compiled.steps, (), {}, said)
    launched = narrowed(book, possible, tried, budget, pairs)

    def wrong_in(results: Sequence[Judged], rest: Sequence[Shape]) -> bool:
        """Whether a finding stands in each of some usual blocks, and a run in each other one finds something.

        Where .maxntid says how many threads there are, the others have them in rows of another length.
        """
        left = budget
        if not (launched.cluster_known or launched.wrong_anyhow) or not (blocks or launched.in_rows):
            return False
        if not all(confirmed(book, outcome) for outcome, _ in results):
            return False
        least = least_threads(book, compiled.steps)
        rare = rare_blocks(book, launched, least, frozenset() if together else counts)
        for shape in other_rows(launched.shapes[0]) if launched.in_rows else chain(rest, rare):
            run = study(shape).cut_short(lambda code, place: serious(code) and not (copied and code in HAZARDS))
            left -= run.machine.steps
            if left < 0 or not any(serious(one.code) and not within_warpgroup(book, one) for one in run.faults):
                return False
        return True

    def right_in(outcome: Outcome, study: Study, shape: Shape) -> Blocks | None:
        """In which blocks a kernel goes right that does so in one, whatever its threads have along y and z."""
        in_rows = shape.block[0] < shape.threads
        if not launched.cluster_known or study.begun is None or not (in_rows or _of_one_dimension(compiled)):
            return None

        def run(other: Shape, until: Set[str]) -> tuple[int, Set[str] | None]:
            one = study.launched_as(other).cut_short(lambda code, place: code in until if until else ends(code, place))
            wrong = [fault for fault in one.faults if _of_launch(book, fault.code)]
            codes = {fault.code for fault in wrong if not within_warpgroup(book, fault)}
            whole = one.machine.coverage.complete and not one.machine.taint.released
            return one.machine.steps, codes if codes or whole else None

        work, most = study.begun.machine.steps, limit(book, "block_steps", thorough, True)
        if in_rows:
            if not right_in_rows(shape, work, run, most):
                return None
            shape = replace(shape, block=(shape.threads, 1, 1))
            if launched.bound:
                return Blocks((shape.threads,), (), ())
        group = hardware.limit(book, "group_warps") * shape.warp
        narrow = book.enums["narrow_mma_word"].by_spelling
        lanes = _has(book, compiled, "lanes_step") and not any(word in one for one in opcodes for word in narrow)
        least = max(least_threads(book, compiled.steps), group if lanes else 0)
        code, steps = compiled.program.code, compiled.steps
        return right_in_blocks(book, shape, work, code, steps, run, most, least)

    def serious(code: str) -> bool:
        return book.findings[code].severity is Severity.ERROR

    return launched, _launched(book, launched, judged, wrong_in, right_in, thorough)


def _read(
    reads: MatrixReads, numbers: Mapping[int, int], operation: Operation, word: int | None
) -> Mapping[int, MatrixRead]:
    """What an MMA, or tcgen05.cp, reads behind the start of its operands, by their place among those of the step."""
    found = numbers.get(id(operation))
    if found is None:
        return {}
    first = 1 if "wgmma" in operation.name else 0  # the accumulator of wgmma is no operand of the step
    return {operand - first: one for operand, one in reads.of(found, word).items()}


def _of_launch(book: Rulebook, code: str) -> bool:
    """Whether a finding may show that a kernel is not made for a launch."""
    return book.findings[code].severity is Severity.ERROR and code not in book.enums["fence_finding"].by_spelling


def _of_one_dimension(compiled: Compiled) -> bool:
    """Whether the protocol of a kernel depends on how many threads there are, not on how many along each dimension.

    It does where a thread's place along the second and third one is used only together with that along the first, as
    in the rank of a thread in its block.
    """
    places: dict[int, frozenset[str]] = {}  # along which dimensions, of values that are computed of these alone
    every = frozenset("xyz")
    for one in compiled.program.code:
        read = _DIMENSION.search(one.operation.name) if one.kind == "effect" else None
        if read is not None:
            places.update((slot, frozenset(read[2] if not read[1] else "")) for slot in one.outputs)
        elif one.kind == "compute" and one.inputs and all(slot in places for slot in one.inputs):
            both = frozenset[str]().union(*(places[slot] for slot in one.inputs))
            places.update((slot, both) for slot in one.outputs)
        elif any(found & {"y", "z"} and found != every for slot in one.inputs if (found := places.get(slot))):
            return False
    return True


def _has(book: Rulebook, compiled: Compiled, enum: str) -> bool:
    """Whether a kernel has one of the steps of an enum."""
    operations, wanted = Operations.of(book), {one[1:] for one in book.enums[enum].members}
    return any(operations.step(one.name) in wanted for one in compiled.steps)


def studies(
    book: Rulebook,
    operations: Sequence[Operation],
    aliases: dict[str, Alias],
    actions: Mapping[str, Action],
    concerned: Callable[[Operation], bool],
    own: Mapping[str, Step],
    registers: bool,
    changed: Callable[[Program], Program],
    said: Callable[[str], Said] = lambda name: (None, None),
) -> Iterator[tuple[Outcome, Sequence[Study]]]:
    """What the runs of some kernels say, and the studies that this rests on, after their runs: one of each launch that
    the text says, or that of the launch which speaks best for the kernel.

    Args:
        concerned: whether a kernel is wanted.
        own: steps of operations that no kernel has, by name.
        registers: whether operations of wgmma are inserted, so that accesses to registers matter.
        changed: makes the program that is run of that of a kernel.
        said: as of ``verify``.
    """
    maps = kernel_arguments(book, operations, aliases)
    every = list(kernels(operations))
    for kernel in filter(concerned, every):
        inside = list(_inside(kernel))
        early = early_reads(book, kernel, inside, operations, every, aliases)
        usual = effects(book, aliases, registers or any(of_wgmma(book, one) for one in inside), early)

        def step(
            operation: Operation, types: Sequence[str], usual: Callable[[Operation, Sequence[str]], Step | None] = usual
        ) -> Step | None:
            return own.get(operation.name) or usual(operation, types)

        compiled = changed(compile_kernel(kernel, aliases, step, book))
        module = Surroundings(lambda text: resolve(text, aliases), boxes(kernel, compiled, maps), early)
        done: list[Study] = []
        judged = _judge(book, kernel, compiled, module, actions, False, False, done)
        launched = launch(book, kernel, inside, operations, aliases, said(kernel_name(kernel) or ""))
        outcome, chosen = _launched(book, launched, judged)
        yield outcome, done if launched.known else [chosen]


def dialect_unfollowed(book: Rulebook, name: str) -> bool:
    """Whether an operation may be a step of the protocol under a name of its own, which is not followed."""
    return any(name.startswith(one) for one in _unfollowed_dialects(book)) and not name.endswith((".func", ".return"))


@lru_cache(maxsize=8)
def _unfollowed_dialects(book: Rulebook) -> tuple[str, ...]:
    return tuple(book.enums["unfollowed_dialect"].by_spelling)


def parts(book: Rulebook, inside: Sequence[Operation]) -> tuple[Operation, ...]:
    """The operations that are steps of the protocol and do more than access memory, in textual order."""
    return tuple(sorted((one for one in inside if is_step(book, one.name)), key=lambda one: one.span.start))


def _unfollowed(
    book: Rulebook, kernel: Operation, inside: Sequence[Operation], operation: Operation, case: str, **facts: object
) -> Outcome:
    """A kernel of which nothing is verified, because of an operation."""
    said = state(book, "PR190", case, **facts)
    return Outcome(kernel, (), (Doubt(case, operation, said.message, said.hint),), parts(book, inside))


def _judge(
    book: Rulebook,
    kernel: Operation,
    compiled: Program,
    module: Surroundings,
    actions: Mapping[str, Action],
    explain: bool,
    thorough: bool,
    done: list[Study] | None = None,
) -> Callable[[Shape], Judged]:
    """What is known of a kernel if it is launched in one way."""

    def judged(shape: Shape) -> Judged:
        study = Study(book, kernel, compiled, shape, module, dict(actions), explain, thorough)
        if done is not None:
            done.append(study)
        return conclude(study), study

    return judged


def _launched(
    book: Rulebook,
    launched: Launch,
    judged: Callable[[Shape], Judged],
    wrong_in_any_block: Callable[[Sequence[Judged], Sequence[Shape]], bool] = lambda results, rest: False,
    right_in: Callable[[Outcome, Study, Shape], Blocks | None] = lambda outcome, study, shape: None,
    thorough: bool = False,
) -> Judged:
    """The outcome of a kernel over its launches: what is wrong in any that the text says, or in all that may be.

    With it the study of the launch whose findings these are; where there are several, that of the first that has any.
    """
    if launched.known:
        results = [judged(shape) for shape in launched.shapes]
        outcomes = [outcome for outcome, _ in results]
        first, study = next((one for one in results if one[0].faults), results[0])
        if len(outcomes) == 1:
            return first, study
        bounds = [one.trip_counts for one in outcomes if one.trip_counts is not None]
        whole = replace(
            outcomes[0],
            steps=tuple({id(step): step for one in outcomes for step in one.steps}.values()),
            faults=tuple(each_once([fault for one in outcomes for fault in one.faults])),
            doubts=tuple({(d.case, d.operation.span): d for one in outcomes for d in one.doubts}.values()),
            executed=frozenset().union(*(one.executed for one in outcomes)),
            trip_counts=min(bounds, default=None),
        )
        return whole, study
    best, assumed, rank = None, launched.shapes[0], (True, 0, 0)
    results = []
    left = limit(book, "block_steps", thorough, launched.ptx)
    for shape in launched.shapes:
        if launched.ptx and left < 0:
            break  # nothing is found where a block is assumed
        result = judged(shape)
        results.append(result)
        left -= sum(one.steps for one in result[1].ran)
        found = result[0]
        errors = sum(_of_launch(book, fault.code) for fault in found.faults)
        hangs = result[1].judged is not None and result[1].judged.hangs  # be it in doubt whether it always does
        # Without an error first; of those with errors the one that goes furthest, for a hang hides what comes after it.
        one = (errors > 0 or hangs, -len(found.executed), errors)
        if best is None or one < rank:
            best, assumed, rank = result, shape, one
        if not errors and len(found.executed) == len(found.steps):
            break
    assert best is not None
    outcome, study = best
    rest = launched.shapes[len(results) :]
    if rank[0] and not launched.block_known and wrong_in_any_block(results, rest):
        launched = replace(launched, wrong_in_any_block=True)
        if launched.in_rows:  # as many threads as it may have
            (outcome, study), assumed = results[0], launched.shapes[0]
        every = frozenset.intersection(*(frozenset(map(key_of, one.faults)) for one, _ in results))
        common = tuple(fault for fault in outcome.faults if key_of(fault) in every)
        outcome = replace(outcome, faults=common or outcome.faults)
    elif not rank[0] and not launched.block_known and len(outcome.executed) == len(outcome.steps):
        launched = replace(launched, blocks=right_in(outcome, study, assumed))
    said = launched.assumptions(book, assumed)
    doubts = (Doubt(case, outcome.kernel, one.message, one.hint) for case, one in said)
    return replace(outcome, doubts=(*outcome.doubts, *doubts)), study


def boxes(kernel: Operation, program: Program, maps: Arguments) -> dict[int, int]:
    """The bytes of the boxes of the tensor maps that the kernel gets, by the slots of its arguments."""
    return _slots(program, _boxes(kernel, maps))


def _boxes(kernel: Operation, maps: Arguments) -> dict[int, int]:
    """The bytes of the boxes of the tensor maps that the kernel gets, by the positions of its arguments."""
    name = kernel_name(kernel) or ""
    return {
        index: prod(one.box) * one.bits // 8
        for (callee, index), one in maps.items()
        if callee == name and one.box and one.bits
    }


def _slots(program: Program, by_position: Mapping[int, int]) -> dict[int, int]:
    return {slot: by_position[index] for index, (slot, _) in enumerate(program.arguments) if index in by_position}


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
