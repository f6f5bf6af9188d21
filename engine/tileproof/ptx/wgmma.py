"""What one wgmma of PTX says of its operands: shape, element types, majors, and whether A is in shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.ptx.text import Operand
from tileproof.rulebase.book import Rulebook

_SHAPE = regex(r"\.m(\d+)n(\d+)k(\d+)(?=\.)")
_HALVES = (".f16", ".bf16")  # the only types with a transpose


@dataclass(frozen=True, slots=True)
class Wgmma:
    """One wgmma.

    Attributes:
        shape: M, N and K; None where the opcode has none.
        a_type, b_type: members of the enum ``element``, empty where the opcode names none.
        a_major, b_major: None where the transpose is no constant.
        in_memory: whether A is read by a descriptor.
    """

    shape: tuple[int, int, int] | None
    a_type: str
    b_type: str
    a_major: str | None
    b_major: str | None
    in_memory: bool
    sparse: bool


def read_wgmma(book: Rulebook, opcode: str, operands: Sequence[Operand]) -> Wgmma | None:
    """What an instruction ``wgmma.mma_async`` says; None where it has too few operands."""
    if len(operands) < 4:
        return None
    in_memory = operands[1].parts[0].registers == 0 if operands[1].parts else True
    found = _SHAPE.search(opcode)
    known = book.enums["element"].members
    types = [f".{piece}" for piece in opcode[found.end() :].split(".") if f".{piece}" in known] if found else []
    flags = [operand.parts[0].value if operand.parts else None for operand in operands[4:]]
    transposed = opcode.endswith(_HALVES) and len(flags) >= (4 if in_memory else 3)
    majors = [(None if flag is None else ".mn" if flag else ".k") for flag in (flags[-2:] if transposed else (0, 0))]
    if not in_memory:
        majors[0] = ".k"
    return Wgmma(
        None if found is None else (int(found[1]), int(found[2]), int(found[3])),
        types[1] if len(types) > 2 else "",
        types[2] if len(types) > 2 else "",
        majors[0],
        majors[1],
        in_memory,
        ".sp." in opcode,
    )


__all__ = ["Wgmma", "read_wgmma"]
