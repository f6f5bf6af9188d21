"""Emission as rule files state it: which instruction an atom becomes, and the text around it.

A *lowering* takes the facts of an atom to those of an instruction. A *template* is the sequence that an instruction is
part of: fences, commits and waits, memory that it needs. This module has the abstract syntax of both.
"""

from __future__ import annotations

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field
from tileproof.rulebase.expression import Expression, Place, Scalar
from tileproof.rulebase.references import Citation, Cited

FORMS = ("ptx", "inline_asm", "nvvm", "llvm")
PARTS = ("module", "entry", "setup", "emit", "finish")
INSTRUCTION = "instruction"
# What a placeholder may call beside tables: a tuple of registers, a packed word, where an operand lies, and how a
# compiler is handed an operand.
REGISTERS, WORD = "registers", "word"
PASSED = ("llvm_types", "llvm_values", "mlir_types", "mlir_type", "values")
FUNCTIONS = (REGISTERS, WORD, "descriptor", "place", *PASSED)

_PIECE = regex(r"\{\{|\}\}|\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text with ``{placeholders}``; ``{{`` and ``}}`` are braces.

    Attributes:
        part: ``module`` lines are before the entry, ``entry`` among its directives, ``setup`` and ``finish`` around
            what is emitted in every form (``emit``).
    """

    part: str
    text: str
    when: Expression | None


@dataclass(frozen=True, eq=False)
class Lowering(Cited):
    """An atom as an instruction.

    Attributes:
        schema, to: of the atom and of the instruction.
        carried: facts of the instruction, each with the condition under which it is derived so.
        lines: what the atom says that the text of the instruction does not, such as an instruction descriptor.
    """

    schema: str
    to: str
    contract: str | None
    when: Expression | None
    carried: tuple[tuple[str, Expression, Expression | None], ...]
    lines: tuple[Line, ...]
    citations: tuple[Citation, ...]
    place: Place = field(repr=False)


@dataclass(frozen=True, eq=False)
class Template(Cited):
    """The sequence that an instruction is part of.

    Attributes:
        form: one of ``FORMS``.
        writes: operands that hold a result afterwards; updates: those that hold something before as well.
        defaults: facts, where nothing else gives them.
        carried: facts of the words that its lines pack, each with the condition under which it is derived so.
    """

    name: str
    schema: str
    contract: str | None
    form: str
    when: Expression | None
    writes: tuple[str, ...]
    updates: tuple[str, ...]
    defaults: tuple[tuple[str, Scalar], ...]
    carried: tuple[tuple[str, Expression, Expression | None], ...]
    lines: tuple[Line, ...]
    citations: tuple[Citation, ...]
    place: Place = field(repr=False)


def pieces(text: str) -> list[tuple[bool, str]]:
    """A line cut at its placeholders: whether a piece is one, and its text."""
    found, at = [], 0
    for match in _PIECE.finditer(text):
        found.append((False, text[at : match.start()]))
        found.append((False, match[0][0]) if match[1] is None else (True, match[1]))
        at = match.end()
    return [*found, (False, text[at:])]
