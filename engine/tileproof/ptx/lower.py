"""The facts of a whole instruction: those of its opcode, and of each operand what its schema asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from tileproof.facts import Facts
from tileproof.ptx.opcode import Fault, Opcode, read_opcode
from tileproof.ptx.text import Instruction, Operand, Part, cut
from tileproof.rule import Instruction as Declaration
from tileproof.rule import Notation, OperandForm, Rulebook, Scalar
from tileproof.source import Span
from tileproof.syntax import SyntaxFault

Registers: TypeAlias = "Callable[[str], str | None]"
"""From a name to its member of the enum ``operand_class``, or None for a name that is none of a register."""

_MIXED = ".mixed"
_SUFFIXES = ("class", "registers", "repeated", "value", "offset", "negated", "bracketed")
_Reader: TypeAlias = "tuple[int, int, tuple[tuple[str, str], ...]]"  # operand, part, facts with their suffixes


@dataclass(frozen=True, slots=True)
class Lowered:
    """An instruction as facts, or with the faults that keep it from having any.

    Attributes:
        values: facts, those that the context gives (``target``, ``ptx``) not among them.
        form: how its operands are written; None where no declared form fits.
    """

    text: str
    instruction: Instruction | None
    opcode: Opcode | None
    form: OperandForm | None
    values: dict[str, Scalar]
    faults: tuple[Fault, ...]

    @property
    def declaration(self) -> Declaration | None:
        """The declaration that the opcode chose."""
        return self.opcode.declaration if self.opcode is not None else None

    @property
    def opcode_faults(self) -> tuple[Fault, ...]:
        """The faults that are in the opcode."""
        return self.opcode.faults if self.opcode is not None else self.faults

    def facts(self, context: dict[str, Scalar], offset: int = 0) -> Facts:
        """The facts with their places, which only diagnostics need.

        Args:
            context: facts that are not in the text, such as the target.
            offset: where the instruction's text starts.
        """
        assert self.instruction is not None and self.opcode is not None and self.declaration is not None
        start = offset + self.instruction.opcode_start
        spans = {name: Span(start + s.start, start + s.end) for name, s in self.opcode.spans.items()}
        for i, items in enumerate(self.form.items if self.form else ()):
            for name in items:
                for suffix in _SUFFIXES:
                    if (fact := f"{name}.{suffix}") in self.values:
                        spans[fact] = Span(offset + self.instruction.starts[i], offset + self.instruction.ends[i])
        whole = Span(start, start + len(self.instruction.opcode))
        return Facts(self.declaration.schema, {**self.values, **context}, self.opcode.spelled, spans, whole)


def lower(book: Rulebook, text: str, registers: Registers) -> Lowered:
    """The facts of an instruction, its semicolon included. Never raises on bad text."""
    try:
        instruction = cut(text)
    except SyntaxFault as fault:
        found = Fault("PT001", f"this is not a PTX instruction: {fault}", Span(fault.start, fault.end))
        return Lowered(text, None, None, None, {}, (found,))
    opcode = read_opcode(book, instruction.opcode)
    start = instruction.opcode_start
    faults = [Fault(f.code, f.message, Span(start + f.span.start, start + f.span.end)) for f in opcode.faults]
    values = dict(opcode.values)
    form = None
    if instruction.guard is not None and registers(instruction.guard) not in (".pred", None):
        faults.append(Fault("PT009", f"the guard {instruction.guard} is no predicate", instruction.guard_span))
    if (declaration := opcode.declaration) is not None:
        operands = instruction.operands
        form = next((f for f in declaration.forms if _fits(f, operands)), None)
        if form is None:
            faults.append(_misfit(declaration, instruction))
        else:
            values.update(form.sets)
            _bind(book, declaration.schema, form, instruction, registers, values, faults)
    return Lowered(text, instruction, opcode, form, values, tuple(faults))


def _fits(form: OperandForm, operands: tuple[Operand, ...]) -> bool:
    return len(form.items) == len(operands) and all(_fits_at(form, i, operand) for i, operand in enumerate(operands))


def _misfit(declaration: Declaration, instruction: Instruction) -> Fault:
    """Why no declared form fits: the number of operands, or the one that is an address or is none."""
    operands = instruction.operands
    span = Span(instruction.opcode_start, instruction.opcode_start + len(instruction.opcode))
    counts = sorted({len(form.items) for form in declaration.forms})
    if len(operands) not in counts:
        return Fault(
            "PT006",
            f"'{declaration.name}' takes {' or '.join(map(str, counts))} operand{'s' if counts != [1] else ''},"
            f" here are {len(operands)}: {' or '.join(_written(form) for form in declaration.forms[:2])}",
            span,
        )
    form = next(form for form in declaration.forms if len(form.items) == len(operands))
    at = next(i for i, operand in enumerate(operands) if not _fits_at(form, i, operand))
    what = _WHAT[form.notations[at]]
    message = f"operand {at + 1} of '{declaration.name}' {what}: {_written(form)}"
    return Fault("PT007", message, Span(instruction.starts[at], instruction.ends[at]))


_WHAT = {
    Notation.VALUE: "is no address",
    Notation.TUPLE: "is a tuple",
    Notation.MEMBERS: "is a tuple of these members",
    Notation.ADDRESS: "is an address",
    Notation.EITHER: "is an address",
}


def _fits_at(form: OperandForm, i: int, operand: Operand) -> bool:
    notation = form.notations[i]
    if operand.address and notation not in (Notation.ADDRESS, Notation.EITHER):
        return False
    if not operand.address and notation is Notation.ADDRESS:
        return False
    if notation is Notation.TUPLE and not operand.parts[0].registers:
        return False
    return len(_parts(form, i, operand)) == len(form.items[i])


def _parts(form: OperandForm, i: int, operand: Operand) -> tuple[Part, ...]:
    """What the names of an operand stand for: the parts of an address, an operand, or the members of a tuple."""
    return operand.parts[0].members if form.notations[i] is Notation.MEMBERS else operand.parts


def _written(form: OperandForm) -> str:
    shown = []
    for items, notation in zip(form.items, form.notations, strict=True):
        text = ", ".join(items)
        left, right = notation.value[0], notation.value[-1]
        shown.append(text if notation is Notation.VALUE else f"{left}{text}{right}")
    return ", ".join(shown) or "none"


def _bind(
    book: Rulebook,
    schema: str,
    form: OperandForm,
    instruction: Instruction,
    registers: Registers,
    values: dict[str, Scalar],
    faults: list[Fault],
) -> None:
    """Add what the schema asks of each operand."""
    for i, j, facts in _readers(book, schema, form):
        part = _parts(form, i, instruction.operands[i])[j]
        tuples = any(suffix == "registers" for _, suffix in facts)
        if facts and (not part.names or (part.registers and not tuples)):
            span = Span(instruction.starts[i], instruction.ends[i])
            faults.append(Fault("PT007", f"operand {i + 1} is one value, not a tuple: {_written(form)}", span))
            return
        for fact, suffix in facts:
            if suffix == "class":
                found = part_class(book, part, registers)
                if found is None:
                    name = next(name for name in part.names if name[0] != "." and registers(name) is None)
                    span = Span(instruction.starts[i], instruction.ends[i])
                    faults.append(Fault("PT008", f"'{name}' is no register that is declared", span))
                    return
                values[fact] = found
            elif suffix == "registers":
                values[fact] = part.registers
            elif suffix == "repeated":
                values[fact] = ".yes" if part.repeated else ".no"
            elif suffix == "offset":
                values[fact] = part.offset
            elif suffix == "bracketed":
                values[fact] = ".yes" if instruction.operands[i].address else ".no"
            elif suffix == "negated":
                values[fact] = ".yes" if part.negated else ".no"
            elif part.value is not None:
                values[fact] = part.value


@lru_cache(maxsize=4096)
def _readers(book: Rulebook, schema: str, form: OperandForm) -> tuple[_Reader, ...]:
    """For each part of each operand the facts that the schema declares of it."""
    fields = book.schemas[schema].fields
    readers = []
    for i, items in enumerate(form.items):
        for j, name in enumerate(items):
            facts = tuple((f"{name}.{suffix}", suffix) for suffix in _SUFFIXES if f"{name}.{suffix}" in fields)
            readers.append((i, j, facts))
    return tuple(readers)


@lru_cache(maxsize=65536)
def part_class(book: Rulebook, part: Part, registers: Registers) -> str | None:
    """What a part is; of a tuple, what its members are together. None where a name is unknown."""
    classes = []
    for name in part.names:
        found = name if name[0] == "." else registers(name)
        if found is None:
            return None
        classes.append(found)
    return _together(book, tuple(classes))


@lru_cache(maxsize=65536)
def _together(book: Rulebook, classes: tuple[str, ...]) -> str:
    if not classes:
        return _MIXED
    table = book.tables["together", "ptx"].rows
    result = classes[0]
    for right in classes[1:]:
        cell = table.get((result, right), (_MIXED,))[0]
        assert isinstance(cell, str)
        result = cell
    return result
