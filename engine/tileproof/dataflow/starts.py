"""Where a matrix descriptor starts: at a value that one instruction wrote, and what is added to it."""

from __future__ import annotations

from tileproof.base.records import dataclass
from tileproof.evaluate import hardware
from tileproof.ptx.graph import Graph
from tileproof.ptx.matrices import MatrixDescriptor
from tileproof.ptx.values import Definition, Values
from tileproof.rulebase.book import Ruleset

_DEEPEST = 16  # instructions that a descriptor is followed back through


@dataclass(frozen=True, slots=True)
class Start:
    """The value that one instruction wrote, and how much was added to it, in units of the start address."""

    base: Definition
    added: int


def start_of(ruleset: Ruleset, graph: Graph, values: Values, one: MatrixDescriptor) -> Start | None:
    """Where the start of a descriptor comes from."""
    address = hardware.descriptor_reach(ruleset.book) // hardware.descriptor_unit(ruleset.book) - 1  # its bits
    number, part = one.number, values.operands(one.number)[one.operand].parts[0]
    added = 0
    for _ in range(_DEEPEST):
        if part.registers or part.value is not None or part.offset or not part.names:
            return None
        reaching = values.reaching(number, part.names[0], graph.module.instructions[number].scope)
        if len(reaching) != 1:
            return None
        (definition,) = reaching
        base = Start(definition, added)
        number = definition[0]
        statement, operands = graph.module.instructions[number], values.operands(number)
        name = statement.opcode.partition(".")[0]
        if statement.guard or len(operands) < 2 or not operands[1].parts:
            return base
        first = operands[1].parts[0]
        if name == "mov" and first.registers and not operands[0].parts[0].registers:
            part = first.members[0]  # the lower half
            continue
        if name not in ("add", "or", "xor") or len(operands) != 3:
            return base
        constant = operands[2].parts[0].value
        if constant is None or (name != "add" and constant & address):
            return base
        part, added = first, added + (constant & address)
    return None


__all__ = ["Start", "start_of"]
