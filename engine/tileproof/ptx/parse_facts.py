"""The facts of a whole instruction: those of its opcode, and of each operand what its schema asks for."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple, TypeAlias

from tileproof.base.records import dataclass
from tileproof.base.source import Span
from tileproof.dialects.configuration import Facts
from tileproof.ptx.opcode import InstructionFault, Opcode, read_opcode
from tileproof.ptx.text import Instruction, Operand, Part, cut, operands_of
from tileproof.ptx.vocabulary import word_of
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import Instruction as Declaration
from tileproof.rulebase.declarations import Notation, OperandForm
from tileproof.rulebase.expression import Scalar
from tileproof.rulebase.findings import Stated, state
from tileproof.syntax import SyntaxFault

Registers: TypeAlias = "Callable[[str], str | None]"
"""From a name to its member of the enum ``operand_class``, or None for a name that is none of a register."""

_MIXED = ".mixed"
_NOTHING: dict[str, Scalar] = {}
_SUFFIXES = ("class", "registers", "repeated", "value", "offset", "negated", "bracketed")
_Shapes: TypeAlias = "tuple[tuple[bool, int, bool, int], ...]"


class Lowered(NamedTuple):
    """An instruction as facts, or with the faults that keep it from having any. A tuple, for many are made.

    Attributes:
        form: how its operands are written; None where no declared form fits.
        read: facts of the operands.
    """

    text: str
    instruction: Instruction | None
    opcode: Opcode | None
    form: OperandForm | None
    read: dict[str, Scalar]
    faults: tuple[InstructionFault, ...]

    @property
    def values(self) -> dict[str, Scalar]:
        """The facts, those that the context gives (``target``, ``ptx``) not among them."""
        return {**self.opcode.values, **self.read} if self.opcode is not None else {}

    @property
    def declaration(self) -> Declaration | None:
        """The declaration that the opcode chose."""
        return self.opcode.declaration if self.opcode is not None else None

    @property
    def opcode_faults(self) -> tuple[InstructionFault, ...]:
        """The faults that are in the opcode."""
        return self.opcode.faults if self.opcode is not None else self.faults

    def facts(self, context: dict[str, Scalar], offset: int = 0) -> Facts:
        """The facts with their places, which only diagnostics need.

        Args:
            context: facts that are not in the text, such as the target.
            offset: where the instruction's text starts.
        """
        assert self.instruction is not None and self.opcode is not None and self.declaration is not None
        first = offset + self.instruction.opcode_start
        placed = {name: self.instruction.opcode_span(s) for name, s in self.opcode.spans.items()}
        spans = {name: Span(offset + s.start, offset + s.end) for name, s in placed.items()}
        values = self.values
        for i, items in enumerate(self.form.items if self.form else ()):
            for name in items:
                for suffix in _SUFFIXES:
                    if (fact := f"{name}.{suffix}") in values:
                        start, end = self.instruction.span(i)
                        spans[fact] = Span(offset + start, offset + end)
        whole = Span(first, first + len(self.instruction.written))
        return Facts(self.declaration.schema, {**values, **context}, self.opcode.spelled, spans, whole)


def lower(book: Rulebook, text: str, registers: Registers) -> Lowered:
    """The facts of an instruction, its semicolon included. Never raises on bad text."""
    try:
        instruction = cut(text)
    except SyntaxFault as fault:
        found = InstructionFault.told(state(book, "PT001", "here", problem=fault), Span(fault.start, fault.end))
        return Lowered(text, None, None, None, {}, (found,))
    opcode = read_opcode(book, instruction.opcode)
    form, read = None, _NOTHING
    faults = [InstructionFault(f.code, partial(_in_text, instruction, f)) for f in opcode.faults]
    if instruction.written != instruction.opcode:
        faults += _gap(book, instruction)
    if instruction.guard is not None and registers(instruction.guard) not in (".pred", None):
        faults.append(InstructionFault("PT009", partial(_guard, book, instruction)))
    if (declaration := opcode.declaration) is not None:
        form, read, unread = _operand_facts(book, declaration, instruction.body, registers)
        if form is None:
            counts, _, _ = _wanted(declaration)
            code = "PT007" if len(instruction.operands) in counts else "PT006"
            faults.append(InstructionFault(code, partial(_misfit, book, declaration, instruction)))
        elif unread is not None:
            reader, code = unread
            faults.append(InstructionFault(code, partial(reader.fault, code, instruction, registers)))
    return Lowered(text, instruction, opcode, form, read, tuple(faults))


def _in_text(instruction: Instruction, fault: InstructionFault) -> tuple[Stated, Span]:
    """What is wrong with an opcode, at its place in the text of the instruction."""
    stated, span = fault.tell()
    return stated, instruction.opcode_span(span)


def _guard(book: Rulebook, instruction: Instruction) -> tuple[Stated, Span]:
    return state(book, "PT009", "here", guard=instruction.guard), instruction.guard_span


def _gap(book: Rulebook, instruction: Instruction) -> list[InstructionFault]:
    """The fault of a blank in what ptxas reads as one word; before ``::`` it reads one behind that word only."""
    core = word_of(book, instruction.opcode).core
    for at in instruction.gaps:
        colons = instruction.opcode.startswith("::", at)
        if at < len(core) or (colons and at != len(core)):
            return [InstructionFault("PT001", partial(_gap_at, book, instruction, core, at))]
    return []


def _gap_at(book: Rulebook, instruction: Instruction, core: str, at: int) -> tuple[Stated, Span]:
    name = core if at < len(core) else instruction.opcode
    return state(book, "PT001", "gap", name=name), instruction.opcode_span(Span(0, max(at, len(core))))


@lru_cache(maxsize=65536)
def _operand_facts(
    book: Rulebook, declaration: Declaration, body: str, registers: Registers
) -> tuple[OperandForm | None, dict[str, Scalar], tuple[_Reader, str] | None]:
    """The form that the operands fit, their facts, and which of them has none for what fault.

    Operands are written alike again and again: each text is read once for each declaration.
    """
    operands = operands_of(body)
    assert operands is not None, "the instruction was cut"
    form, readers = _form(book, declaration, tuple([operand.shape for operand in operands]))
    if form is None:
        return None, {}, None
    values = dict(form.sets)
    for reader in readers:
        facts = _facts(reader, operands[reader.at], registers)
        if isinstance(facts, str):
            return form, values, (reader, facts)
        values.update(facts)
    return form, values, None


def fits(form: OperandForm, i: int, operand: Operand) -> bool:
    """Whether an operand may stand in a place of a form."""
    return _fits(form, i, operand.shape)


def operand_facts(
    book: Rulebook, schema: str, form: OperandForm, i: int, operand: Operand, registers: Registers
) -> dict[str, Scalar] | None:
    """The facts of an operand in a place of a form; None where it has none there."""
    found: dict[str, Scalar] = {}
    for reader in _readers(book, schema, form):
        if reader.at == i:
            facts = _facts(reader, operand, registers)
            if isinstance(facts, str):
                return None
            found.update(facts)
    return found


@lru_cache(maxsize=65536)
def _form(book: Rulebook, declaration: Declaration, shapes: _Shapes) -> tuple[OperandForm | None, tuple[_Reader, ...]]:
    """The first form that operands of these shapes fit, and how they are read."""
    for form in declaration.forms:
        if len(form.items) == len(shapes) and all(_fits(form, i, shape) for i, shape in enumerate(shapes)):
            return form, _readers(book, declaration.schema, form)
    return None, ()


def _fits(form: OperandForm, i: int, shape: tuple[bool, int, bool, int]) -> bool:
    address, parts, is_tuple, members = shape
    notation = form.notations[i]
    if address and notation not in (Notation.ADDRESS, Notation.EITHER):
        return False
    if not address and notation is Notation.ADDRESS:
        return False
    if notation is Notation.TUPLE and not is_tuple:
        return False
    return (members if notation is Notation.MEMBERS else parts) == len(form.items[i])


def _misfit(book: Rulebook, declaration: Declaration, instruction: Instruction) -> tuple[Stated, Span]:
    """Why no declared form fits: the number of operands, or the one that is an address or is none."""
    operands = instruction.operands
    counts, listed, forms = _wanted(declaration)
    if len(operands) not in counts:
        span = Span(instruction.opcode_start, instruction.opcode_start + len(instruction.opcode))
        found = len(operands)
        if counts == {1}:
            stated = state(book, "PT006", "one", instruction=declaration.name, found=found, forms=forms)
        else:
            stated = state(
                book, "PT006", "several", instruction=declaration.name, counts=listed, found=found, forms=forms
            )
        return stated, span
    form = next(form for form in declaration.forms if len(form.items) == len(operands))
    at = next(i for i, operand in enumerate(operands) if not _fits(form, i, operand.shape))
    place, name, written = at + 1, declaration.name, _written(form)
    match form.notations[at]:
        case Notation.VALUE:
            stated = state(book, "PT007", "value", operand=place, instruction=name, form=written)
        case Notation.TUPLE:
            stated = state(book, "PT007", "tuple", operand=place, instruction=name, form=written)
        case Notation.MEMBERS:
            stated = state(book, "PT007", "members", operand=place, instruction=name, form=written)
        case Notation.ADDRESS | Notation.EITHER:
            stated = state(book, "PT007", "address", operand=place, instruction=name, form=written)
    return stated, instruction.span(at)


@lru_cache(maxsize=1024)
def _wanted(declaration: Declaration) -> tuple[frozenset[int], str, str]:
    """How many operands an instruction may have, that as a list, and the first of its forms."""
    counts = sorted({len(form.items) for form in declaration.forms})
    forms = " or ".join(_written(form) for form in declaration.forms[:2])
    return frozenset(counts), " or ".join(map(str, counts)), forms


def _written(form: OperandForm) -> str:
    shown = []
    for items, notation in zip(form.items, form.notations, strict=True):
        text = ", ".join(items)
        left, right = notation.value[0], notation.value[-1]
        shown.append(text if notation is Notation.VALUE else f"{left}{text}{right}")
    return ", ".join(shown) or "none"


@dataclass(frozen=True, slots=True, eq=False)
class _Reader:
    """What the schema asks of one part of one operand.

    Attributes:
        at: which operand; part: which of its parts.
        wanted: the facts with their suffixes; one at least.
        tuples: the part may be a tuple.
    """

    book: Rulebook
    form: OperandForm
    at: int
    part: int
    wanted: tuple[tuple[str, str], ...]
    tuples: bool

    def read(self, operand: Operand, registers: Registers) -> dict[str, Scalar] | str:
        """The facts, or the code of a fault."""
        part = self.part_of(operand)
        if not part.names or (part.registers and not self.tuples):
            return "PT007"
        values: dict[str, Scalar] = {}
        for fact, suffix in self.wanted:
            match suffix:
                case "class":
                    found = part_class(self.book, part, registers)
                    if found is None:
                        return "PT008"
                    values[fact] = found
                case "registers":
                    values[fact] = part.registers
                case "repeated":
                    values[fact] = ".yes" if part.repeated else ".no"
                case "offset":
                    values[fact] = part.offset
                case "bracketed":
                    values[fact] = ".yes" if operand.address else ".no"
                case "negated":
                    values[fact] = ".yes" if part.negated else ".no"
                case _ if part.value is not None:
                    values[fact] = part.value
        return values

    def part_of(self, operand: Operand) -> Part:
        members = self.form.notations[self.at] is Notation.MEMBERS
        return operand.parts[0].members[self.part] if members else operand.parts[self.part]

    def fault(self, code: str, instruction: Instruction, registers: Registers) -> tuple[Stated, Span]:
        """What is wrong with an operand that has no facts."""
        part = self.part_of(instruction.operands[self.at])
        if code == "PT008":
            name = next(name for name in part.names if name[0] != "." and registers(name) is None)
            stated = state(self.book, "PT008", "here", register=name)
        else:
            stated = state(self.book, "PT007", "single", operand=self.at + 1, form=_written(self.form))
        return stated, instruction.span(self.at)


@lru_cache(maxsize=1 << 17)
def _facts(reader: _Reader, operand: Operand, registers: Registers) -> dict[str, Scalar] | str:
    """Each operand is read once for each of its places."""
    return reader.read(operand, registers)


@lru_cache(maxsize=4096)
def _readers(book: Rulebook, schema: str, form: OperandForm) -> tuple[_Reader, ...]:
    """For each part of each operand of which the schema declares facts, how they are read."""
    fields = book.schemas[schema].fields
    readers = []
    for i, items in enumerate(form.items):
        for j, name in enumerate(items):
            wanted = tuple((f"{name}.{suffix}", suffix) for suffix in _SUFFIXES if f"{name}.{suffix}" in fields)
            if wanted:
                readers.append(_Reader(book, form, i, j, wanted, f"{name}.registers" in fields))
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
    table = book.shared_table("together").rows
    result = classes[0]
    for right in classes[1:]:
        cell = table.get((result, right), (_MIXED,))[0]
        assert isinstance(cell, str)
        result = cell
    return result
