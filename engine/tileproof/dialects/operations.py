"""What operations do, as rules/memory and rules/protocol say: the one reader of their tables.

Of an operation that is in neither table nothing is known: its results are values of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tileproof.base.records import dataclass
from tileproof.mlir.ir import Operation
from tileproof.mlir.scopes import Origin
from tileproof.rulebase.book import Rulebook


@dataclass(frozen=True, slots=True)
class Aliasing:
    """How the first result of an operation lies where one of its operands does.

    Attributes:
        operand: the number of that operand.
        moves: how the result was moved, a member of the enum ``movement`` without its dot.
        by: the number of the operand that says how far or which part; None where none does.
    """

    operand: int
    moves: str
    by: int | None


@dataclass(frozen=True, slots=True)
class StepOperands:
    """The step of the asynchronous protocol that an operation is.

    Attributes:
        step: a member of the enum ``protocol_step`` without its dot.
        first, second, third: the numbers of the operands that matter, by the step.
    """

    step: str
    first: int
    second: int
    third: int


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations that a rulebook knows.

    Attributes:
        aliasing: by name.
        steps: by name; ``beginnings`` by the beginning of the name, which ends with a dot.
        found: what was asked for so far, by name: a file has few names, each many times.
        kinds: by the name of an operation that is one step or another: an attribute, its value and the step then.
    """

    aliasing: Mapping[str, Aliasing]
    steps: Mapping[str, StepOperands]
    kinds: Mapping[str, tuple[tuple[str, str, StepOperands], ...]]
    beginnings: tuple[tuple[str, StepOperands], ...]
    found: dict[str, StepOperands | None]

    @staticmethod
    def of(book: Rulebook) -> Operations:
        """The operations of a rulebook, read once."""
        return _read(book)

    def aliased(self, origin: Origin) -> str | None:
        """The operand in which a value lies; None for one that is a block's argument or a value of its own."""
        if origin.argument or origin.index:
            return None
        found = self.aliasing.get(origin.operation.name)
        operands = origin.operation.operands
        return operands[found.operand] if found is not None and found.operand < len(operands) else None

    def moves(self, operation: Operation) -> str:
        """How the first result was moved; empty for a value of its own."""
        found = self.aliasing.get(operation.name)
        return "" if found is None else found.moves

    def step_operands(self, name: str) -> StepOperands | None:
        """The step that an operation of a name is, with its operands; None where it takes no part in the protocol."""
        try:
            return self.found[name]
        except KeyError:
            found = next((one for beginning, one in self.beginnings if name.startswith(beginning)), None)
            self.found[name] = found
            return found

    def step_of(self, operation: Operation) -> StepOperands | None:
        """The step that an operation is: by its name, or by the attribute that says it."""
        for name, value, step in self.kinds.get(operation.name, ()):
            attribute = operation.attribute(name)
            if attribute is not None and (attribute.text == value or attribute.text.endswith(f"<{value}>")):
                return step
        return self.step_operands(operation.name)

    def step(self, name: str) -> str:
        """The step that an operation of a name is; empty where it takes no part in the protocol."""
        found = self.step_operands(name)
        return "" if found is None else found.step


@lru_cache(maxsize=8)
def _read(book: Rulebook) -> Operations:
    aliasing: dict[str, Aliasing] = {}
    rows = book.shared_table("memory_operation").rows
    for spelling, member in book.enums["memory_operation"].by_spelling.items():
        operand, moves, by = rows[member,]
        assert isinstance(operand, int) and isinstance(moves, str) and isinstance(by, int)
        aliasing[spelling] = Aliasing(operand, moves[1:], by or None)
    steps: dict[str, StepOperands] = {}
    kinds: dict[str, tuple[tuple[str, str, StepOperands], ...]] = {}
    beginnings: list[tuple[str, StepOperands]] = []
    rows = book.shared_table("protocol").rows
    for spelling, member in book.enums["protocol_operation"].by_spelling.items():
        name, first, second, third = rows[member,]
        assert isinstance(name, str) and isinstance(first, int) and isinstance(second, int) and isinstance(third, int)
        step = StepOperands(name[1:], first, second, third)
        operation, _, kind = spelling.partition(" ")
        if kind:
            attribute, _, value = kind.partition("=")
            kinds[operation] = (*kinds.get(operation, ()), (attribute, value, step))
        elif spelling.endswith("."):
            beginnings.append((spelling, step))
        else:
            steps[spelling] = step
    return Operations(aliasing, steps, kinds, tuple(beginnings), dict(steps))
