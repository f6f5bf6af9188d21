"""Which operation of the program computes what an instruction is given: where a mistake in an operand is made."""

from __future__ import annotations

from tileproof.mlir.ir import Operation
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.steps import words
from tileproof.protocol.values import Address, Lanes
from tileproof.protocol.warps import ThreadSet

_DEEPEST = 64  # computations that a value is followed through
_FLAG = "accum_c"  # the field of an atom that says whether an MMA adds to its accumulator


def _makers(machine: Machine) -> dict[int, Instruction]:
    """The computation of each slot."""
    if machine.makers is None:
        machine.makers = {slot: one for one in machine.program.code if one.kind == "compute" for slot in one.outputs}
    return machine.makers


def lane_source(machine: Machine, thread_set: ThreadSet) -> Operation | None:
    """What computes the lane of the tensor memory that the current instruction of some threads accesses."""
    makers = _makers(machine)
    instruction = machine.program.code[thread_set.place]
    slot = next((one for one in instruction.inputs if _by_lanes(thread_set.values[one])), None)
    for _ in range(_DEEPEST):
        made = makers.get(slot) if slot is not None else None
        if made is None:
            return None
        slot = next((one for one in made.inputs if _by_lanes(thread_set.values[one])), None)
        if slot is None:
            lanes = (makers.get(one) for one in made.inputs if isinstance(thread_set.values[one], Lanes))
            return next((one.operation for one in lanes if one is not None), made.operation)
    return None


def _by_lanes(value: object) -> bool:
    return isinstance(value, Address) and value.memory.space == "tmem" and isinstance(value.first_lane, Lanes)


def constant_flag(machine: Machine, operation: Operation) -> Operation | None:
    """What sets the field of its atom by which an MMA adds to its accumulator, where it sets that to a constant."""
    makers = _makers(machine)
    mine = next((one for one in machine.program.code if one.operation is operation), None)
    slot = mine.inputs[0] if mine is not None and mine.inputs else None
    for _ in range(_DEEPEST):
        made = makers.get(slot) if slot is not None else None
        if made is None or not made.inputs:
            return None
        if _FLAG in words(made.operation) and len(made.inputs) > 1:
            flag = makers.get(made.inputs[1])
            return made.operation if flag is not None and not flag.inputs else None
        slot = made.inputs[0]
    return None


__all__ = ["constant_flag", "lane_source"]
