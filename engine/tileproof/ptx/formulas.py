"""How registers are computed: of two that are computed alike from what a kernel gets the number is the same.

Roles that read one place in global memory compute its address each for itself, in registers of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from tileproof.ptx.module import Scope, Statement
from tileproof.ptx.text import Part
from tileproof.ptx.values import Definition, Values
from tileproof.ptx.vocabulary import word_of

_COMPUTING = frozenset({".integer", ".comparison", ".logic"})
_MOVING = frozenset({"mov", "cvt", "cvta", "prmt"})
_KEPT = frozenset({"param", "global", "const"})  # spaces from which a kernel loads what its caller left
_SHARED = frozenset({"volatile", "relaxed", "acquire", "mmio"})  # loads of what others store meanwhile
_DEEP = 40  # instructions that depend on each other
_SUMS = ("add.s64", "add.u64")
_MOST_SUMS = 8
_POINTING = (*_SUMS, "mad.wide.", "mov.b64", "mov.u64", "cvta.")  # of a pointer they give one into the same array


class Formulas:
    """The formulas of the registers of one function."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.known: dict[Definition, int] = {}
        self.pointers: dict[Definition, int] = {}

    def displaced(self, name: str, scope: Scope) -> tuple[str, int]:
        """The register that a 64-bit register is a sum of with a number of bytes, and that number."""
        total = 0
        for _ in range(_MOST_SUMS):
            one = self._only(name, scope)
            statement = self._statement(one[0]) if one is not None else None
            if one is None or statement is None or statement.opcode not in _SUMS:
                break
            parts = [part for operand in self.values.operands(one[0]) for part in operand.parts]
            if len(parts) != 3:
                break
            _, base, more = parts
            if more.value is None or not base.names or base.names[0] == name or base.offset:
                break
            name, scope, total = base.names[0], statement.scope, total + more.value
        return name, total

    def of(self, name: str, scope: Scope, deep: int = _DEEP) -> int:
        """A number for how a register is computed; of one that is written several times, or by what is no arithmetic,
        one of its own.
        """
        if scope.register(name) is None:  # a special register, a variable or a parameter
            return crc32(name.encode())
        one = self._only(name, scope)
        if one is None:
            return crc32(f"{name} {[number for number, _ in self._definitions(name, scope)]}".encode())
        if one not in self.known:
            statement = self._statement(one[0])
            text = f"{name} {one[0]}"
            operands = self.values.operands(one[0])
            names = [name for part in operands[0].parts for name in part.names] if operands else []
            if deep and name in names and self._computes(statement):
                parts = [self._part(part, statement.scope, deep - 1) for each in operands[1:] for part in each.parts]
                text = f"{statement.opcode} {names.index(name)} {parts}"
            self.known[one] = crc32(text.encode())
        return self.known[one]

    def array(self, name: str, scope: Scope) -> int:
        """A number for the array that an address is in: of the pointer that a kernel gets and that it is a sum with.

        Where that is not known it is the number of the address.
        """
        return self._pointer(name, scope, _DEEP) or self.of(name, scope)

    def _pointer(self, name: str, scope: Scope, deep: int) -> int:
        one = self._only(name, scope) if deep and scope.register(name) is not None else None
        if one is None:
            return 0
        statement = self._statement(one[0])
        if statement.opcode.startswith("ld.param."):
            return self.of(name, scope)
        if one not in self.pointers:
            self.pointers[one] = 0
            operands = self.values.operands(one[0])[1:] if statement.opcode.startswith(_POINTING) else ()
            names = (name for operand in operands for part in operand.parts for name in part.names)
            self.pointers[one] = next(filter(None, (self._pointer(n, statement.scope, deep - 1) for n in names)), 0)
        return self.pointers[one]

    def _part(self, part: Part, scope: Scope, deep: int) -> tuple[object, ...]:
        names = [name if name[0] == "." else self.of(name, scope, deep) for name in part.names]
        return (*names, part.value, part.bits, part.offset, part.negated, part.values)

    def _only(self, name: str, scope: Scope) -> Definition | None:
        """The one definition of a register that is always executed before it is read; None where there are others."""
        found = self._definitions(name, scope)
        return found[0] if len(found) == 1 and not self._statement(found[0][0]).guard else None

    def _definitions(self, name: str, scope: Scope) -> Sequence[Definition]:
        declared = scope.register(name)
        return self.values.definitions.get((name, id(declared[1]) if declared is not None else 0), ())

    def _computes(self, statement: Statement) -> bool:
        """Whether an instruction gives the same for the same operands; a load unless others store there meanwhile."""
        word = word_of(self.values.book, statement.opcode).name
        if word == "ld":
            pieces = statement.opcode.split(".")
            return not _KEPT.isdisjoint(pieces) and _SHARED.isdisjoint(pieces)
        kinds = self.values.book.enums["outside_instruction"].by_spelling
        return word in _MOVING or kinds.get(word) in _COMPUTING

    def _statement(self, number: int) -> Statement:
        return self.values.module.instructions[number]


__all__ = ["Formulas"]
