"""Tensor-core instructions: what wgmma and tcgen05.mma read, write and leave in flight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from tileproof.base.records import replace
from tileproof.dialects.operands import memory as memory_kind
from tileproof.mlir.ir import Operation
from tileproof.mlir.types import Kind
from tileproof.protocol.actions.accesses import access, generic, span
from tileproof.protocol.actions.accumulator_columns import reach_of
from tileproof.protocol.actions.barriers import arrive, barrier_keys, came_past
from tileproof.protocol.actions.base import Action, address, integer, limit, memory_word, operand, registrar
from tileproof.protocol.actions.descriptor_reads import read_by_descriptor
from tileproof.protocol.actions.tensor_memory import cta_pair, grouped, live, part_by_place, single_address
from tileproof.protocol.actions.written import needs, produced, wrote
from tileproof.protocol.machine import Machine, Unfollowed
from tileproof.protocol.program import Instruction
from tileproof.protocol.steps import words
from tileproof.protocol.values import Address, Fields, Lanes, Supposed, Value
from tileproof.protocol.vector_clock import Clock
from tileproof.protocol.warps import ThreadSet
from tileproof.rulebase.book import Rulebook
from tileproof.syntax import SyntaxFault
from tileproof.syntax.types import type_tree

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)

_RAW_DESCRIPTOR = 3
_RAW_ADDS = 4  # of nvvm.tcgen05.mma, behind D, A, B and the instruction descriptor
_RAW_SCALES = (5, 6)
_OPERAND_A = 2  # of cute.gemm, behind the atom and D; behind A and B are their scale factors where it has any


@action("mma")
def _mma(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """``cute.gemm``: warp MMA, wgmma or tcgen05.mma by where its operands are."""
    spaces = [_space(text) for text in instruction.types]
    operation = instruction.operation
    if "tmem" in spaces[:2]:
        _tensor_mma(machine, thread_set, instruction, spaces)
    elif "smem_desc_view" in spaces:
        fields = thread_set.values[instruction.inputs[0]]
        adds = fields.accumulates if isinstance(fields, Fields) else None
        _in_registers(machine, thread_set, instruction, adds == 1 and not isinstance(adds, Supposed))
        _wgmma(machine, thread_set, instruction, 1)
    else:
        _in_registers(machine, thread_set, instruction, adds=True)
        for place in range(1, len(instruction.inputs)):
            generic(machine, thread_set, operation, address(thread_set, instruction, place), place == 1, "")
    return thread_set.place + 1


@lru_cache(maxsize=4096)
def _space(text: str) -> str:
    """The memory that an operand of a type is in; empty for any other operand."""
    kind = memory_kind(text)
    return "" if kind is None else kind.space


def _in_registers(machine: Machine, thread_set: ThreadSet, instruction: Instruction, adds: bool) -> None:
    """Note the first MMA on an accumulator in registers; ``adds``: whether it adds to what they hold."""
    where = address(thread_set, instruction, 1)
    if where is not None and where.memory.space == "rmem":
        machine.accumulators.setdefault((thread_set.cta, where.memory.serial), instruction.operation if adds else None)


@action("raw_wgmma")
def _raw_wgmma(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """``nvvm.wgmma.mma_async``: its registers are SSA values; of them only fence, commit and wait are verified."""
    _wgmma(machine, thread_set, instruction, 0)
    return thread_set.place + 1


def _wgmma(machine: Machine, thread_set: ThreadSet, instruction: Instruction, first: int) -> None:
    """One wgmma; ``first``: the first of its operands."""
    operation = instruction.operation
    queue = thread_set.queue("wgmma")
    moment = machine.tick()
    used: dict[tuple[int, int, int], str] = {}
    last = len(instruction.inputs) - 1
    for place in range(first, last + 1):
        where = address(thread_set, instruction, place)
        if where is None:
            if machine.reads is not None and (place == last or last - first == 1):  # a descriptor, no register of A
                machine.reads.vague = True
            continue
        if where.memory.space == "rmem":
            used[span(where)] = where.memory.name
        elif where.memory.space == "smem":
            agents = tuple(("wgmma", thread_set.cta, warp) for warp in thread_set.warps)
            access(machine, thread_set, operation, where, ".wgmma", False, agents, moment)
            mine = (thread_set.cta,)
            read_by_descriptor(machine, thread_set, instruction, place, where, ".wgmma", agents, moment, mine)
    touched = next((one for one in used if one[0] in thread_set.touched), None)
    if not thread_set.fenced:
        machine.report("PR102", "first", operation)
        thread_set.fenced = True
    elif touched is not None:
        at = (("write", thread_set.touched[touched[0]]),)
        machine.report("PR102", "written", operation, at=at, registers=used[touched])
    for one in used:
        thread_set.touched.pop(one[0], None)
    queue.add(operation, moment, thread_set.threads)
    queue.open.registers.update(used)
    _, times = machine.multiplied.setdefault(id(operation), (operation, Counter()))
    times.update((thread_set.cta, warp) for warp in thread_set.warps)


def parted_warpgroups(machine: Machine) -> None:
    """Report a wgmma that some warps of a warpgroup do not execute, or less often than the others."""
    if machine.taint.everything or any(one.blocked for one in machine.thread_sets):
        return
    size = limit(machine, "group_warps")
    for operation, times in machine.multiplied.values():
        for cta, first in sorted({(cta, warp - warp % size) for cta, warp in times}):
            counts = {warp: times[cta, warp] for warp in range(first, first + size)}
            fewer = [warp for warp, count in counts.items() if count < max(counts.values())]
            if fewer:
                group, most, least = first // size, max(counts.values()), counts[fewer[0]]
                machine.report("PR184", "here", operation, warp=fewer[0], group=group, most=most, least=least)
                break


def _tensor_mma(machine: Machine, thread_set: ThreadSet, instruction: Instruction, spaces: Sequence[str]) -> None:
    operation = instruction.operation
    moment = machine.tick()
    agents = (("tc", thread_set.cta, thread_set.warps[0]),)
    ctas = _mma_ctas(machine, thread_set, instruction.types[0] if instruction.types else "")
    grouped(machine, operation, len(ctas) == 2)
    for place in range(1, len(instruction.inputs)):
        where = address(thread_set, instruction, place)
        if where is None:
            continue
        writes = place in (1, len(instruction.inputs) - 1) and where.memory.space == "tmem"
        if where.memory.space == "tmem":
            live(machine, thread_set, operation, where)
            if not writes:
                needs(machine, thread_set, operation, where, "operand" if place == _OPERAND_A else "scales", ctas)
        access(machine, thread_set, operation, where, ".mma", writes, agents, moment, ctas=ctas)
    fields = thread_set.values[instruction.inputs[0]]
    accumulates = None
    if isinstance(fields, Fields):
        accumulates = fields.accumulates
        for where in fields.scales:
            if where is not None:
                needs(machine, thread_set, operation, where, "scales", ctas)
                access(machine, thread_set, operation, where, ".mma", False, agents, moment, ctas=ctas)
    _accumulates(machine, thread_set, operation, address(thread_set, instruction, 1), accumulates, ctas)


def _accumulates(
    machine: Machine,
    thread_set: ThreadSet,
    operation: Operation,
    where: Address | None,
    accumulates: Value,
    ctas: Sequence[int],
) -> None:
    """An MMA adds to its accumulator, which somebody must have written, or only writes it."""
    value = accumulates.on(thread_set.threads) if isinstance(accumulates, Lanes) else accumulates
    if value == 1 and not isinstance(value, Supposed):
        needs(machine, thread_set, operation, where, "accumulator", ctas)
    wrote(machine, thread_set, where, ".mma", ctas)


def _mma_ctas(machine: Machine, thread_set: ThreadSet, text: str) -> tuple[int, ...]:
    group = _cta_group(machine.book, text)
    return (thread_set.cta,) if group is None else cta_pair(machine, thread_set, group)


@lru_cache(maxsize=256)
def _cta_group(book: Rulebook, text: str) -> str | None:
    """What says how many CTAs an MMA of a type is of; None for a type that cannot be read."""
    try:
        tree = type_tree(text)
    except SyntaxFault:
        return None
    for node in tree.walk():
        if node.kind is Kind.TYPE and _in_tensor_memory(book, node.text):
            parameter = node.parameter("num_cta") or node.parameter("cta_group")
            numbers = [n.text for n in (parameter.walk() if parameter is not None else ()) if n.kind is Kind.NUMBER]
            if numbers == ["2"]:
                return "cta_2"
    return text


def _in_tensor_memory(book: Rulebook, name: str) -> bool:
    """Whether a type is that of an MMA atom that accumulates in tensor memory."""
    member = book.enums["atom"].by_spelling.get(name.lstrip("!"), "")
    return book.shared_table("mma_family").rows.get((member,)) == (".umma",)


def _operand(
    machine: Machine, thread_set: ThreadSet, instruction: Instruction, place: int, least: bool = True
) -> Address | None:
    """Where an operand is: in tensor memory by its address, in shared memory by a descriptor.

    Args:
        least: whether an accumulator is to be as wide as it is at least.
    """
    if "ptr<" not in memory_word(instruction, place):
        return address(thread_set, instruction, place)
    where = single_address(machine, thread_set, instruction, place)
    if where is None or place or not least or where.memory.space != "tmem":
        return where
    word = _word(machine, thread_set, instruction)  # it says how large the accumulator is
    reach = None if word is None else reach_of(machine.book, instruction.operation, word)
    return where if reach is None else replace(where, extent=reach[0], lanes=(1 << reach[1]) - 1)


def _word(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int | None:
    """The instruction descriptor, where the text tells it: that of a host-made argument nobody can suppose."""
    word = integer(machine, thread_set, instruction, _RAW_DESCRIPTOR)
    return None if isinstance(word, Supposed) else word


@action("raw_mma")
def _raw_mma(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    part_by_place(machine, thread_set, instruction, 0)
    moment = machine.tick()
    agents = (("tc", thread_set.cta, thread_set.warps[0]),)
    ctas = cta_pair(machine, thread_set, words(instruction.operation))
    grouped(machine, instruction.operation, len(ctas) == 2)
    scales = _RAW_SCALES if "block_scale" in instruction.operation.name else ()
    for place in (1, *scales, 0):
        where = _operand(machine, thread_set, instruction, place)
        if where is not None and where.memory.space == "tmem":
            live(machine, thread_set, instruction.operation, where)
            if place:
                needs(machine, thread_set, instruction.operation, where, "operand" if place == 1 else "scales", ctas)
            else:
                produced(machine, instruction.operation, where, ctas)
            access(machine, thread_set, instruction.operation, where, ".mma", place == 0, agents, moment, ctas=ctas)
    adds = operand(thread_set, instruction, _RAW_ADDS)
    held = _operand(machine, thread_set, instruction, 0, least=False)
    _accumulates(machine, thread_set, instruction.operation, held, adds, ctas)
    threads = len(thread_set.threads)
    if threads > 1 and adds == 1 and not isinstance(adds, Supposed):
        machine.repeated[id(instruction.operation)] = (instruction.operation, thread_set.place, threads)
    for place in (1, 2):
        where = address(thread_set, instruction, place) if place < len(instruction.inputs) else None
        if where is not None and where.memory.space == "smem":  # a descriptor
            access(machine, thread_set, instruction.operation, where, ".mma", False, agents, moment, ctas=ctas)
            word = _word(machine, thread_set, instruction)
            read_by_descriptor(machine, thread_set, instruction, place, where, ".mma", agents, moment, ctas, word)
        elif where is None and machine.reads is not None:
            machine.reads.vague = True
    return thread_set.place + 1


@action("mma_commit")
def _mma_commit(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    grouped(machine, instruction.operation, "cta_2" in words(instruction.operation))
    clock, queue = Clock(), ("tc", thread_set.cta, thread_set.warps[0])
    clock.learn(queue, machine.tick())
    clock.known.update({k: max(v, clock.known.get(k, -1)) for k, v in thread_set.clock.known.items()})
    came_past(machine, thread_set, thread_set.warps, clock)
    for agent, done in thread_set.own.items():  # a commit is a tcgen05.fence::before_thread_sync as well
        if agent[0] in ("ld", "st") and agent[-1] in thread_set.warps:
            clock.learn(agent, done)
    mask = integer(machine, thread_set, instruction, 1) if len(instruction.inputs) > 1 else None
    if len(instruction.inputs) > 1 and mask is None:
        raise Unfollowed(instruction.operation, "commit_mask")
    for key, threads in barrier_keys(machine, thread_set, instruction, 0).items():
        ctas = [key[0]] if mask is None else [c for c in range(machine.shape.ctas) if mask >> c & 1]
        for cta in ctas:
            arrive(machine, thread_set, instruction, (cta, *key[1:]), threads, clock, (queue,))
    return thread_set.place + 1
