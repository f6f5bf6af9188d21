"""Threads that read and write elements of memory, shared-memory mailboxes, and addresses of tensor memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from tileproof.dialects.values import Tensor, read_type
from tileproof.mlir.ir import Operation
from tileproof.protocol.access_sets import element_of
from tileproof.protocol.actions.accesses import generic
from tileproof.protocol.actions.base import Action, address, memory_word, operand, registrar, result, type_of_result
from tileproof.protocol.folding import index_of
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.values import Address, Lanes, Value
from tileproof.protocol.warps import ThreadSet

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)

_SCALAR = re.compile(r"i\d+|index")


def _element(thread_set: ThreadSet, instruction: Instruction, place: int) -> tuple[Address | None, str]:
    """What an access with a coordinate touches, from the lowest element of the threads to the highest, and its type."""
    where = address(thread_set, instruction, place)
    coord = operand(thread_set, instruction, place + 1)
    shape = memory_word(instruction, place)
    if where is None or where.memory.space != "smem" or not isinstance(coord, tuple):
        return where, shape
    index = _indexing(*instruction.types[place : place + 2])
    found = None if index is None else index(coord)
    if isinstance(found, Lanes):
        each = [one for thread in thread_set.threads if (one := found.each[thread]) is not None]
        if len(each) < len(thread_set.threads):
            return replace(where, loose=True), shape
        first, last = min(each), max(each)
    elif isinstance(found, int):
        first = last = found
    else:
        return replace(where, loose=True), shape
    moved = replace(where.moved(first), extent=max((last - first + 1) * where.unit // 8, 1))
    parts = where.moved(found).parts
    if not parts and isinstance(found, int) and moved.offset is not None and not where.vague and not where.sharers:
        parts = (moved.offset,) * (thread_set.threads[-1] + 1)  # all threads access one element
    return (replace(moved, parts=parts), element_of(shape)) if parts else (moved, shape)


@lru_cache(maxsize=4096)
def _indexing(view: str, coord: str) -> Callable[[Value], Value] | None:
    kind = read_type(view)
    return index_of(kind.layout, read_type(coord)) if isinstance(kind, Tensor) else None


@action("read")
def _read(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    place = instruction.effect.first if instruction.effect is not None else 0
    where, shape = _element(thread_set, instruction, place)
    generic(machine, thread_set, instruction.operation, where, False, shape)
    result(thread_set, instruction, _loaded_value(machine, thread_set, instruction.operation, where))
    return thread_set.place + 1


def _loaded_value(machine: Machine, thread_set: ThreadSet, operation: Operation, where: Address | None) -> Value:
    """The value of a load: the address of tensor memory, or the integer in a shared-memory mailbox."""
    if where is None or where.memory.space != "smem":
        return None
    slot_read(machine, thread_set, operation, where)
    held = machine.tensor.addresses.get((thread_set.cta, where.memory.serial, where.offset))
    if held is not None or where.offset is None or not _SCALAR.fullmatch(type_of_result(machine, operation)):
        return held
    home = thread_set.cta if where.cta is None else where.cta
    found = machine.mailboxes.get((home, where.memory.serial), {}).get(where.offset) if isinstance(home, int) else None
    return found[0] if found is not None else None


def slot_read(machine: Machine, thread_set: ThreadSet, operation: Operation, where: Address) -> None:
    """Check a read of the tensor memory address: ordered after the allocation, and not overwritten since."""
    slot = (thread_set.cta, where.memory.serial, where.offset)
    written = machine.tensor.writes.get(slot)
    if written is not None:
        agents, moment, allocation = written
        if not all(machine.knows(thread_set, agent, moment) for agent in agents):
            machine.report("PR153", "unordered", operation, at=(("allocation", allocation),))
            del machine.tensor.writes[slot]
    over = machine.tensor.overwritten.pop(slot, None)
    if over is not None:
        machine.report("PR159", "here", operation, at=(("write", over),))


@action("write")
def _write(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    place = instruction.effect.first if instruction.effect is not None else 0
    candidates = [i for i in range(len(instruction.inputs)) if isinstance(operand(thread_set, instruction, i), Address)]
    if candidates and place not in candidates:
        place = candidates[-1]
    where, shape = _element(thread_set, instruction, place)
    generic(machine, thread_set, instruction.operation, where, True, shape)
    values = [
        i for i in range(len(instruction.inputs)) if i not in candidates and _SCALAR.fullmatch(instruction.types[i])
    ]
    if where is not None and where.extent is not None and values:
        post(machine, thread_set, where, operand(thread_set, instruction, values[-1]))
    return thread_set.place + 1


def post(machine: Machine, thread_set: ThreadSet, where: Address, value: Value) -> None:
    """Write to a shared-memory mailbox: the stage, the tile, or whether there is another tile."""
    if isinstance(value, Lanes):
        value = value.on(thread_set.threads)
    if where.memory.space != "smem" or where.offset is None or not isinstance(value, int):
        return
    for cta in machine.targets(thread_set, where):
        machine.mailboxes.setdefault((cta, where.memory.serial), {})[where.offset] = (value, where.extent or 4)
