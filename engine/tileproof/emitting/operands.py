"""The operands of a single atom in shared memory: the best layout of each, one after the other."""

from __future__ import annotations

from collections.abc import Mapping

from tileproof.emitting.sequence import Placed
from tileproof.evaluate.hardware import smem_bits, swizzle_period
from tileproof.memory.descriptors import atom_node, operand_of
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar
from tileproof.suggesting.layouts import BadOperand, Placement, placements


def place(book: Rulebook, atom: str, facts: Mapping[str, Scalar]) -> dict[str, tuple[Placed, Placement]]:
    """The operands of an MMA atom that are read by a descriptor, ``a`` and ``b``; empty for other atoms.

    Args:
        facts: of the atom and of its instruction.
    """
    node = atom_node(atom)
    found: dict[str, tuple[Placed, Placement]] = {}
    offset, period = 0, swizzle_period(book)
    for name in ("a", "b") if node is not None else ():
        assert node is not None
        known = operand_of(book, node, name.upper())
        if known is None or facts.get(f"{name}.source", ".smem_desc") != ".smem_desc":
            continue
        bits = smem_bits(book, facts, name)
        rows, columns = known[2]
        chosen = best_layout(book, atom, name, bits, (rows, columns))
        if chosen is not None:
            found[name] = Placed(offset, chosen.descriptor.value), chosen
            offset += -(-rows * columns * bits // (8 * period)) * period
    return found


def best_layout(book: Rulebook, atom: str, name: str, bits: int, shape: tuple[int, int]) -> Placement | None:
    """The best layout of an operand, ``a`` or ``b``, with so many rows and columns; None where there is none."""
    try:
        chosen = placements(book, atom, name.upper(), _element(book, bits), shape, None)
    except BadOperand:
        return None
    return chosen[0] if chosen else None


def _element(book: Rulebook, bits: int) -> str:
    """An element of so many bits: only its place is used."""
    rows = book.shared_table("element").rows
    return next(name[1:] for (name,), row in rows.items() if row[0] == bits)
