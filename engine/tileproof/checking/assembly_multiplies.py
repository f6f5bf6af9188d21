"""The wgmma that inline assembly executes, as memory/ joins them: which operands of the operation are descriptors."""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.memory.wgmma_operands import Multiply
from tileproof.mlir.ir import Operation
from tileproof.protocol.assembly import names, statements
from tileproof.protocol.steps import words
from tileproof.ptx.text import Operand
from tileproof.ptx.wgmma import read_wgmma
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar

_OPCODE = "wgmma.mma_async"


def multiplies(book: Rulebook, operation: Operation) -> Iterator[Multiply]:
    """Each wgmma of an operation with inline assembly whose descriptors are operands of the operation."""
    if _OPCODE not in words(operation):
        return
    called = names(operation)
    values = {name: value for value, mine in zip(operation.operands, called.operands, strict=False) for name in mine}
    for one in statements(book, called.text):
        found = read_wgmma(book, one.opcode, one.operands or ()) if one.opcode.startswith(_OPCODE) else None
        if found is None or one.operands is None:
            continue
        a, b = (values.get(_register(operand)) for operand in one.operands[1:3])
        if b is None or (a is None and found.in_memory):
            continue
        facts: dict[str, Scalar] = {"sparse": ".yes" if found.sparse else ".no"}
        if found.shape is not None:
            facts |= dict(zip("MNK", found.shape, strict=True))
        named = {"a.type": found.a_type, "b.type": found.b_type, "a.major": found.a_major, "b.major": found.b_major}
        facts |= {name: value for name, value in named.items() if value}
        yield Multiply(a if found.in_memory else None, b, facts)


def _register(operand: Operand) -> str:
    """The register that an operand is; empty for any other."""
    part = operand.parts[0] if operand.parts else None
    return part.names[0] if part is not None and not part.registers and not operand.address and part.names else ""


__all__ = ["multiplies"]
