"""What all actions use: the table they register in, and the operands of an instruction."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from tileproof.base.by_identity import by_identity
from tileproof.base.records import replace
from tileproof.evaluate import hardware
from tileproof.mlir.ir import Operation
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.values import Address, Lanes, Value
from tileproof.protocol.vector_clock import Agent
from tileproof.protocol.warps import ThreadSet

Action = Callable[[Machine, ThreadSet, Instruction], int]
WAITS = -1


def registrar(table: dict[str, Action]) -> Callable[[str], Callable[[Action], Action]]:
    """A decorator that enters an action into a table under the name of its step (the enum ``protocol_step``)."""

    def action(name: str) -> Callable[[Action], Action]:
        def register(function: Action) -> Action:
            table[name] = function
            return function

        return register

    return action


def limit(machine: Machine, name: str) -> int:
    """A number that the hardware sets, by its member of the enum ``hardware``."""
    return hardware.limit(machine.book, name)


def operand(thread_set: ThreadSet, instruction: Instruction, place: int) -> Value:
    return thread_set.values[instruction.inputs[place]] if place < len(instruction.inputs) else None


def integer(machine: Machine, thread_set: ThreadSet, instruction: Instruction, place: int) -> int | None:
    return machine.uniform(thread_set, instruction.inputs[place]) if place < len(instruction.inputs) else None


def address(thread_set: ThreadSet, instruction: Instruction, place: int) -> Address | None:
    """An address operand; where all threads of the thread set have the same part, the address of that part."""
    value = operand(thread_set, instruction, place)
    return alike(thread_set, value) if isinstance(value, Address) else None


def alike(thread_set: ThreadSet, value: Address) -> Address:
    """An address; where all threads of the thread set have the same part, that of the part."""
    if not value.parts:
        return value
    start = _common(value.parts, thread_set.threads)
    if start is None:
        return value
    found = value.at(start, value.unit, value.extent, (), value.origin, value.lanes)
    return replace(found, apart=True) if _by_warp(value.parts, thread_set.warp) else found


@by_identity
def _common(parts: tuple[int | None, ...], threads: tuple[int, ...]) -> int | None:
    """Where the part of all these threads starts; None where it is not one place, or not known."""
    starts = {parts[thread] if thread < len(parts) else None for thread in threads}
    return starts.pop() if len(starts) == 1 else None


@by_identity
def _by_warp(parts: tuple[int | None, ...], warp: int) -> bool:
    """Whether each warp has a place of its own, which all its threads name."""
    starts = [set(parts[first : first + warp]) for first in range(0, len(parts), warp)]
    return len(set(parts)) > 1 and all(len(mine) == 1 for mine in starts)


def result(thread_set: ThreadSet, instruction: Instruction, value: Value) -> None:
    for slot in instruction.outputs:
        thread_set.values[slot] = value


def type_of_result(machine: Machine, operation: Operation) -> str:
    uses = operation.outputs or operation.inputs
    return machine.module.resolve(uses[-1].text) if uses else ""


def memory_word(instruction: Instruction, place: int) -> str:
    return instruction.types[place] if place < len(instruction.types) else ""


def retire(thread_set: ThreadSet, agents: Iterable[Agent], moment: int) -> None:
    """Each warp learns that its own operations up to a moment are complete."""
    for agent in agents:
        if thread_set.own.get(agent, -1) < moment:
            thread_set.own[agent] = moment
    thread_set.version += 1


def named_operand(machine: Machine, thread_set: ThreadSet, instruction: Instruction, name: str) -> Value:
    """The operand that the custom form writes as ``name = %value``."""
    found = re.search(rf"\b{name} = (%[\w#]+)", instruction.operation.pieces[0])
    if found is None or found[1] not in instruction.operation.operands:
        return None
    value = operand(thread_set, instruction, instruction.operation.operands.index(found[1]))
    return value.on(thread_set.threads) if isinstance(value, Lanes) else value
