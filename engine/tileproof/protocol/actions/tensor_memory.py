"""Tensor memory: allocation, addresses, lifetime, loads and stores."""

from __future__ import annotations

from dataclasses import replace

from tileproof.dialects.values import Pointer, element_bits, read_type
from tileproof.mlir.ir import Operation
from tileproof.protocol.actions.accesses import access
from tileproof.protocol.actions.base import Action, address, integer, limit, registrar, result, retire, type_of_result
from tileproof.protocol.actions.elements import slot_read, used
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.steps import words
from tileproof.protocol.values import Address, Value
from tileproof.protocol.warps import ThreadSet

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)


@action("tmem_alloc")
def _tmem_alloc(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    operation = instruction.operation
    assert instruction.effect is not None
    slot_place = instruction.effect.first
    columns = integer(machine, thread_set, instruction, 1 - slot_place)
    slot = address(thread_set, instruction, slot_place)
    least, most = limit(machine, "least_columns"), limit(machine, "most_columns")
    if columns is not None and (not least <= columns <= most or columns & (columns - 1)):
        machine.report("PR150", "here", operation, columns=columns, least=least, most=most)
    release = machine.tensor.released.get(thread_set.cta)
    if release is not None:
        machine.report("PR151", "here", operation, at=(("release", release),))
    held = machine.tensor.allocated.setdefault(thread_set.cta, [])
    taken = sum(n for _, n, _ in held)
    if columns is not None and taken + columns > most:
        machine.report("PR152", "here", operation, columns=taken + columns, most=most)
    memory = machine.tensor.memory
    if memory is None:
        memory = machine.tensor.memory = machine.allocations.add("tensor memory", "tmem")
    held.append((taken, columns or 0, operation))
    if slot is not None:
        agents = tuple((thread_set.cta, warp) for warp in thread_set.warps)
        access(machine, thread_set, operation, replace(slot, extent=4), ".generic", True, agents, machine.tick())
        place = (thread_set.cta, slot.memory.serial, slot.offset)
        machine.tensor.addresses[place] = Address(memory, taken, memory.column)
        machine.tensor.overwritten.pop(place, None)
        machine.tensor.writes[place] = (agents, machine.now, operation)
    return thread_set.place + 1


@action("tmem_address")
def _tmem_address(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    slot = address(thread_set, instruction, 0)
    value: Value = None
    if slot is not None:
        value = machine.tensor.addresses.get((thread_set.cta, slot.memory.serial, slot.offset))
        if value is None and machine.now > 0:
            memory = machine.tensor.memory
            value = Address(memory, None, memory.column) if memory is not None else None
            machine.report("PR153", "before", instruction.operation)
    if slot is not None:
        slot_read(machine, thread_set, instruction.operation, slot)
    if isinstance(value, Address):
        bits = _result_bits(machine, instruction.operation)
        value = replace(value, unit=bits)
    result(thread_set, instruction, value)
    return thread_set.place + 1


def _result_bits(machine: Machine, operation: Operation) -> int:
    kind = read_type(type_of_result(machine, operation))
    bits = element_bits(kind.element) if isinstance(kind, Pointer) else None
    return bits or limit(machine, "column_bits")


@action("tmem_release")
def _tmem_release(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    machine.tensor.released[thread_set.cta] = instruction.operation
    return thread_set.place + 1


@action("tmem_free")
def _tmem_free(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    used(machine, thread_set)
    where = address(thread_set, instruction, 0)
    columns = integer(machine, thread_set, instruction, 1)
    operation = instruction.operation
    held = machine.tensor.allocated.setdefault(thread_set.cta, [])
    match_ = None
    if where is not None and where.offset is not None:
        match_ = next((one for one in held if one[0] == where.offset), None)
    elif len(held) == 1:
        match_ = held[0]
    if where is not None and where.memory.space == "tmem":
        access(
            machine,
            thread_set,
            operation,
            replace(where, extent=columns),
            ".generic",
            True,
            tuple((thread_set.cta, warp) for warp in thread_set.warps),
            machine.tick(),
        )
    if match_ is None:
        if held or where is not None:
            machine.report("PR154", "here", operation)
        return thread_set.place + 1
    if columns is not None and columns != match_[1]:
        at = (("allocation", match_[2]),)
        machine.report("PR155", "here", operation, at=at, columns=columns, allocated=match_[1])
    held.remove(match_)
    return thread_set.place + 1


def grouped(machine: Machine, operation: Operation, two: bool) -> None:
    """Report tcgen05 operations of different cta_group in one kernel."""
    first = machine.tensor.group
    if first is None:
        machine.tensor.group = (two, operation)
    elif first[0] is not two:
        at = (("other", first[1]),)
        machine.report("PR158", "here", operation, at=at, group=1 + two, other=2 - two)


def cta_pair(machine: Machine, thread_set: ThreadSet, text: str) -> tuple[int, ...]:
    """The CTAs that a tensor-memory operation works on."""
    if "cta_2" in text or "two_cta" in text or "num_cta = 2" in text:
        first = machine.leader(thread_set.cta)
        return tuple(range(first, min(first + limit(machine, "pair_ctas"), machine.shape.ctas)))
    return (thread_set.cta,)


def live(machine: Machine, thread_set: ThreadSet, operation: Operation, where: Address) -> None:
    """Report an access to columns of tensor memory that are not allocated, or by an address that was read too early."""
    used(machine, thread_set)
    if where.offset is None:
        return
    low = where.offset
    high = low + (where.extent or 1)
    held = machine.tensor.allocated.get(thread_set.cta, [])
    if not any(start <= low and high <= start + count for start, count, _ in held) and (
        held or machine.tensor.memory is not None
    ):
        if id(operation) in machine.tensor.outside:
            return
        machine.tensor.outside.add(id(operation))
        if held:
            known = ", ".join(f"[{start}, {start + count})" for start, count, _ in held)
            machine.report("PR156", "outside", operation, low=low, high=high, allocated=known)
        else:
            machine.report("PR156", "none", operation, low=low, high=high)


def tmem_load(machine: Machine, thread_set: ThreadSet, operation: Operation, source: Address | None) -> None:
    moment = machine.tick()
    agents = tuple(("ld", thread_set.cta, warp) for warp in thread_set.warps)
    if source is not None and source.memory.space == "tmem":
        live(machine, thread_set, operation, source)
    access(machine, thread_set, operation, source, ".load", False, agents, moment)
    thread_set.queue("tmem_load").open.moment = moment


def tmem_store(
    machine: Machine, thread_set: ThreadSet, operation: Operation, source: Address | None, target: Address | None
) -> None:
    moment = machine.tick()
    thread_set.queue("tmem_store").open.moment = moment
    if target is not None and target.memory.space == "tmem":
        live(machine, thread_set, operation, target)
    access(
        machine,
        thread_set,
        operation,
        target,
        ".store",
        True,
        tuple(("st", thread_set.cta, w) for w in thread_set.warps),
        moment,
    )


@action("tmem_load")
def _raw_tmem_load(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    tmem_load(machine, thread_set, instruction.operation, address(thread_set, instruction, 0))
    return thread_set.place + 1


@action("tmem_store")
def _raw_tmem_store(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    tmem_store(machine, thread_set, instruction.operation, None, address(thread_set, instruction, 0))
    return thread_set.place + 1


@action("tmem_wait")
def _tmem_wait(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    _over(thread_set, *(("ld", "tmem_load") if "load" in words(instruction.operation) else ("st", "tmem_store")))
    return thread_set.place + 1


@action("tmem_used")
def _tmem_used(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    _over(thread_set, "ld", "tmem_load")
    return thread_set.place + 1


def _over(thread_set: ThreadSet, agent: str, queue: str) -> None:
    retire(
        thread_set, [(agent, thread_set.cta, warp) for warp in thread_set.warps], thread_set.queue(queue).open.moment
    )


@action("thread_fence")
def _thread_fence(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    machine.tick()
    machine.mark("before" if "before" in words(instruction.operation) else "after", thread_set)
    return thread_set.place + 1
