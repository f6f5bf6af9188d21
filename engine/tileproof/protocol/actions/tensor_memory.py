"""Tensor memory: allocation, addresses, lifetime, loads and stores."""

from __future__ import annotations

from dataclasses import replace

from tileproof.dialects.values import Pointer, element_bits, read_type
from tileproof.mlir.ir import Operation
from tileproof.protocol.actions.accesses import access
from tileproof.protocol.actions.base import Action, address, integer, limit, registrar, result, retire, type_of_result
from tileproof.protocol.actions.elements import slot_read
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.steps import words
from tileproof.protocol.values import Address, Value
from tileproof.protocol.warps import Strand

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)


@action("tmem_alloc")
def _tmem_alloc(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    operation = instruction.operation
    assert instruction.effect is not None
    slot_place = instruction.effect.first
    columns = integer(machine, strand, instruction, 1 - slot_place)
    slot = address(strand, instruction, slot_place)
    least, most = limit(machine, "least_columns"), limit(machine, "most_columns")
    if columns is not None and (not least <= columns <= most or columns & (columns - 1)):
        machine.report("PR150", "here", operation, columns=columns, least=least, most=most)
    release = machine.tensor.released.get(strand.cta)
    if release is not None:
        machine.report("PR151", "here", operation, at=(("release", release),))
    held = machine.tensor.allocated.setdefault(strand.cta, [])
    taken = sum(n for _, n, _ in held)
    if columns is not None and taken + columns > most:
        machine.report("PR152", "here", operation, columns=taken + columns, most=most)
    memory = machine.tensor.memory
    if memory is None:
        memory = machine.tensor.memory = machine.allocations.add("tensor memory", "tmem")
    held.append((taken, columns or 0, operation))
    if slot is not None:
        agents = tuple((strand.cta, warp) for warp in strand.warps)
        access(machine, strand, operation, replace(slot, extent=4), ".generic", True, agents, machine.tick())
        place = (strand.cta, slot.memory.serial, slot.offset)
        machine.tensor.addresses[place] = Address(memory, taken, 32)
        machine.tensor.overwritten.pop(place, None)
        machine.tensor.writes[place] = (agents, machine.now, operation)
    return strand.place + 1


@action("tmem_address")
def _tmem_address(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    slot = address(strand, instruction, 0)
    value: Value = None
    if slot is not None:
        value = machine.tensor.addresses.get((strand.cta, slot.memory.serial, slot.offset))
        if value is None and machine.now > 0:
            memory = machine.tensor.memory
            value = Address(memory, None, 32) if memory is not None else None
            machine.report("PR153", "before", instruction.operation)
    if slot is not None:
        slot_read(machine, strand, instruction.operation, slot)
    if isinstance(value, Address):
        bits = _result_bits(machine, instruction.operation)
        value = replace(value, unit=bits)
    result(strand, instruction, value)
    return strand.place + 1


def _result_bits(machine: Machine, operation: Operation) -> int:
    kind = read_type(type_of_result(machine, operation))
    return (element_bits(kind.element) or 32) if isinstance(kind, Pointer) else 32


@action("tmem_release")
def _tmem_release(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    machine.tensor.released[strand.cta] = instruction.operation
    return strand.place + 1


@action("tmem_free")
def _tmem_free(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    where = address(strand, instruction, 0)
    columns = integer(machine, strand, instruction, 1)
    operation = instruction.operation
    held = machine.tensor.allocated.setdefault(strand.cta, [])
    match_ = None
    if where is not None and where.offset is not None:
        match_ = next((one for one in held if one[0] == where.offset), None)
    elif len(held) == 1:
        match_ = held[0]
    if where is not None and where.memory.space == "tmem":
        access(
            machine,
            strand,
            operation,
            replace(where, extent=columns),
            ".generic",
            True,
            tuple((strand.cta, warp) for warp in strand.warps),
            machine.tick(),
        )
    if match_ is None:
        if held or where is not None:
            machine.report("PR154", "here", operation)
        return strand.place + 1
    if columns is not None and columns != match_[1]:
        at = (("allocation", match_[2]),)
        machine.report("PR155", "here", operation, at=at, columns=columns, allocated=match_[1])
    held.remove(match_)
    return strand.place + 1


def grouped(machine: Machine, operation: Operation, two: bool) -> None:
    """All tcgen05 operations of a kernel work on as many CTAs."""
    first = machine.tensor.group
    if first is None:
        machine.tensor.group = (two, operation)
    elif first[0] is not two:
        at = (("other", first[1]),)
        machine.report("PR158", "here", operation, at=at, group=1 + two, other=2 - two)


def cta_pair(machine: Machine, strand: Strand, text: str) -> tuple[int, ...]:
    """The CTAs that a tensor-memory operation works on."""
    if "cta_2" in text or "two_cta" in text or "num_cta = 2" in text:
        return tuple(cta for cta in (strand.cta & ~1, strand.cta | 1) if cta < machine.shape.ctas)
    return (strand.cta,)


def live(machine: Machine, strand: Strand, operation: Operation, where: Address) -> None:
    """Whether tensor memory is allocated where it is used."""
    if where.offset is None:
        return
    low = where.offset
    high = low + (where.extent or 1)
    held = machine.tensor.allocated.get(strand.cta, [])
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


def tmem_load(machine: Machine, strand: Strand, operation: Operation, source: Address | None) -> None:
    moment = machine.tick()
    agents = tuple(("ld", strand.cta, warp) for warp in strand.warps)
    if source is not None and source.memory.space == "tmem":
        live(machine, strand, operation, source)
    access(machine, strand, operation, source, ".load", False, agents, moment)
    strand.queue("tmem_load").open.moment = moment


def tmem_store(
    machine: Machine, strand: Strand, operation: Operation, source: Address | None, target: Address | None
) -> None:
    moment = machine.tick()
    strand.queue("tmem_store").open.moment = moment
    if target is not None and target.memory.space == "tmem":
        live(machine, strand, operation, target)
    access(
        machine, strand, operation, target, ".store", True, tuple(("st", strand.cta, w) for w in strand.warps), moment
    )


@action("tmem_load")
def _raw_tmem_load(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    tmem_load(machine, strand, instruction.operation, address(strand, instruction, 0))
    return strand.place + 1


@action("tmem_store")
def _raw_tmem_store(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    tmem_store(machine, strand, instruction.operation, None, address(strand, instruction, 0))
    return strand.place + 1


@action("tmem_wait")
def _tmem_wait(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    _over(strand, *(("ld", "tmem_load") if "load" in words(instruction.operation) else ("st", "tmem_store")))
    return strand.place + 1


@action("tmem_used")
def _tmem_used(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    _over(strand, "ld", "tmem_load")
    return strand.place + 1


def _over(strand: Strand, agent: str, queue: str) -> None:
    retire(strand, [(agent, strand.cta, warp) for warp in strand.warps], strand.queue(queue).open.moment)


@action("thread_fence")
def _thread_fence(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    machine.tick()
    machine.mark("before" if "before" in words(instruction.operation) else "after", strand)
    return strand.place + 1
