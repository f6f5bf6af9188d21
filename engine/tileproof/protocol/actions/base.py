"""What all actions share: the table they register in, and the operands of an instruction."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from tileproof.evaluate import hardware
from tileproof.mlir.ir import Operation
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.values import Address, Lanes, Value
from tileproof.protocol.vector_clock import Agent
from tileproof.protocol.warps import Strand

Action = Callable[[Machine, Strand, Instruction], int]
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


def operand(strand: Strand, instruction: Instruction, place: int) -> Value:
    return strand.values[instruction.inputs[place]] if place < len(instruction.inputs) else None


def integer(machine: Machine, strand: Strand, instruction: Instruction, place: int) -> int | None:
    return machine.uniform(strand, instruction.inputs[place]) if place < len(instruction.inputs) else None


def address(strand: Strand, instruction: Instruction, place: int) -> Address | None:
    """An address; where the threads of the strand have one part in common, that."""
    value = operand(strand, instruction, place)
    if not isinstance(value, Address) or not value.parts:
        return value if isinstance(value, Address) else None
    starts = {value.parts[thread] for thread in strand.threads}
    start = starts.pop()
    return value if starts or start is None else replace(value, offset=start, parts=())


def result(strand: Strand, instruction: Instruction, value: Value) -> None:
    for slot in instruction.outputs:
        strand.values[slot] = value


def type_of_result(machine: Machine, operation: Operation) -> str:
    resolve = machine.state.get("resolve")
    uses = operation.outputs or operation.inputs
    text = uses[-1].text if uses else ""
    return resolve(text) if callable(resolve) else text


def memory_word(instruction: Instruction, place: int) -> str:
    return instruction.types[place] if place < len(instruction.types) else ""


def retire(strand: Strand, agents: Iterable[Agent], moment: int) -> None:
    """Each warp learns that its own operations are over."""
    for agent in agents:
        if strand.own.get(agent, -1) < moment:
            strand.own[agent] = moment
    strand.version += 1


def named_operand(machine: Machine, strand: Strand, instruction: Instruction, name: str) -> Value:
    """The operand that the custom form writes as ``name = %value``."""
    found = re.search(rf"\b{name} = (%[\w#]+)", instruction.operation.pieces[0])
    if found is None or found[1] not in instruction.operation.operands:
        return None
    value = operand(strand, instruction, instruction.operation.operands.index(found[1]))
    return value.on(strand.threads) if isinstance(value, Lanes) else value
