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
from tileproof.protocol.values import Address, Memory, Value
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
        machine.fault(
            "PR150",
            operation,
            f"{columns} columns of tensor memory: an allocation has a power of two from {least} to {most}",
        )
    if machine.state.get(("released", strand.cta)):
        machine.fault("PR151", operation, "tensor memory is allocated here after the permit to allocate was given up")
    held = machine.tmem.setdefault(strand.cta, [])
    taken = sum(n for _, n, _ in held)
    if columns is not None and taken + columns > most:
        machine.fault("PR152", operation, f"{taken + columns} columns of tensor memory are allocated, there are {most}")
    memory = machine.state.get("tmem")
    if not isinstance(memory, Memory):
        memory = Memory("tensor memory", "tmem", len(machine.memories) + 1)
        machine.memories[memory.serial] = memory
        machine.state["tmem"] = memory
    held.append((taken, columns or 0, operation))
    if slot is not None:
        agents = tuple((strand.cta, warp) for warp in strand.warps)
        access(machine, strand, operation, replace(slot, extent=4), ".generic", True, agents, machine.tick())
        machine.slots[strand.cta, slot.memory.serial, slot.offset] = Address(memory, taken, 32)
        machine.overwritten.pop((strand.cta, slot.memory.serial, slot.offset), None)
        machine.state["slot", strand.cta, slot.memory.serial, slot.offset] = (agents, machine.now, operation)
    return strand.place + 1


@action("tmem_address")
def _tmem_address(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    slot = address(strand, instruction, 0)
    value: Value = None
    if slot is not None:
        value = machine.slots.get((strand.cta, slot.memory.serial, slot.offset))
        if value is None and machine.now > 0:
            memory = machine.state.get("tmem")
            value = Address(memory, None, 32) if isinstance(memory, Memory) else None
            machine.fault(
                "PR153",
                instruction.operation,
                "the address of tensor memory is read here before any allocation wrote it",
                "allocate, then cross a barrier, then read the address",
            )
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
    machine.state["released", strand.cta] = instruction.operation
    return strand.place + 1


@action("tmem_free")
def _tmem_free(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    where = address(strand, instruction, 0)
    columns = integer(machine, strand, instruction, 1)
    operation = instruction.operation
    held = machine.tmem.setdefault(strand.cta, [])
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
            machine.fault("PR154", operation, "this frees tensor memory that is not allocated")
        return strand.place + 1
    if columns is not None and columns != match_[1]:
        machine.fault(
            "PR155",
            operation,
            f"{columns} columns of tensor memory are freed, {match_[1]} were allocated",
            trace=(("they are allocated here", match_[2]),),
        )
    held.remove(match_)
    return strand.place + 1


def grouped(machine: Machine, operation: Operation, two: bool) -> None:
    """All tcgen05 operations of a kernel work on as many CTAs."""
    first = machine.state.setdefault("group", (two, operation))
    assert isinstance(first, tuple)
    if first[0] is not two:
        machine.fault(
            "PR158",
            operation,
            f"this works on {'two CTAs' if two else 'one CTA'}, other tcgen05 operations of the kernel on "
            f"{'one' if two else 'two'}",
            trace=(("for example here", first[1]),),
        )


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
    held = machine.tmem.get(strand.cta, [])
    if not any(start <= low and high <= start + count for start, count, _ in held) and (
        held or machine.state.get("tmem")
    ):
        known = ", ".join(f"[{start}, {start + count})" for start, count, _ in held) or "none"
        key = ("outside", id(operation))
        if not machine.state.get(key):
            machine.state[key] = True
            machine.fault(
                "PR156",
                operation,
                f"columns [{low}, {high}) of tensor memory are used here; allocated at this moment: {known}",
            )


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
