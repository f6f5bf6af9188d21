"""Accumulators in registers that nothing fills: an MMA adds to whatever a thread had there.

Compilers leave the registers of an accumulator undefined where the first MMA does not add to it. Here every MMA on them
adds, and nothing but these and copies among their registers writes them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.dataflow.findings import Found, Reporter, listed
from tileproof.ptx.graph import Graph
from tileproof.ptx.names import names_in
from tileproof.ptx.values import Values, written

_SCALE_D, _C = 3, 3  # operands: of wgmma whether it adds to D; of the others what is added

_Register = tuple[str, int]  # its name and its scope


def check_accumulators(report: Reporter, graph: Graph, values: Values, multiplies: tuple[str, ...]) -> Iterator[Found]:
    """The first MMA of a function on an accumulator that nothing fills, and how many there are.

    Args:
        multiplies: how opcodes begin of instructions whose accumulators are in registers.
    """
    accumulators = _Accumulators(graph, values, multiplies)
    filled = accumulators.filled() if accumulators.added else set[_Register]()
    unfilled = {
        number: [name for one, name in added.items() if one not in filled]
        for number, added in accumulators.added.items()
    }
    wrong = [number for number, names in unfilled.items() if names]
    if not wrong:
        return
    registers, others = listed(unfilled[wrong[0]]), len(wrong) - 1
    if others:
        yield report("PR180", "several", wrong[0], registers=registers, others=others)
    else:
        yield report("PR180", "here", wrong[0], registers=registers)


class _Accumulators:
    """What is in the registers that MMAs add to."""

    def __init__(self, graph: Graph, values: Values, multiplies: tuple[str, ...]) -> None:
        self.graph = graph
        self.values = values
        self.sources: dict[tuple[int, str], _Register] = {}  # what an MMA adds for a register that it writes
        self.added: dict[int, dict[_Register, str]] = {}  # the registers that an MMA adds to, by its statement
        for number in range(graph.function.first, graph.function.last):
            if graph.module.instructions[number].opcode.startswith(multiplies):
                self.read(number)

    def read(self, number: int) -> None:
        """An MMA, if it always adds."""
        operands, instruction = self.values.operands(number), self.graph.module.instructions[number]
        at = _C
        if instruction.opcode.startswith("wgmma"):
            if self.values.operand(number, _SCALE_D, 1).value != 1:
                return
            at = 0
        if len(operands) <= at or not operands[at].parts:
            return
        target, source = operands[0].parts[0].names, operands[at].parts[0].names
        for into, name in zip(target, source, strict=False):
            register = self.register(number, name)
            if register is not None:
                self.sources[number, into] = register
                self.added.setdefault(number, {})[register] = name

    def register(self, number: int, name: str) -> _Register | None:
        """A register by the name that a statement has for it; None for another name."""
        declared = self.graph.module.instructions[number].scope.register(name)
        return None if declared is None else (name, id(declared[1]))

    def filled(self) -> set[_Register]:
        """The registers, among these and what they are copies of, to which another instruction wrote something."""
        found: set[_Register] = set()
        targets: dict[_Register, list[_Register]] = {}  # what a register is copied to, or added for
        todo = list(dict.fromkeys(one for added in self.added.values() for one in added))
        seen = set(todo)
        while todo:
            one = todo.pop()
            for writer in self.values.definitions.get(one, ()):
                sources = self.copied(*writer)
                if sources is None:
                    found.add(one)
                for source in sources or ():
                    targets.setdefault(source, []).append(one)
                    if source not in seen:
                        seen.add(source)
                        todo.append(source)
        todo = list(found)
        while todo:
            new = [one for one in targets.get(todo.pop(), ()) if one not in found]
            found.update(new)
            todo += new
        return found

    def copied(self, number: int, name: str) -> list[_Register] | None:
        """The registers that a statement copies into one, or adds to; None where it writes something else."""
        if (number, name) in self.sources:
            return [self.sources[number, name]]
        instruction = self.graph.module.instructions[number]
        if instruction.opcode[:4] != "mov.":
            return None
        body = self.graph.module.operands(instruction)
        targets = written(self.values.book, body, instruction.opcode)
        found = [self.register(number, one) for one in names_in(body)[len(targets) :]]
        return [one for one in found if one is not None] if found and None not in found else None
