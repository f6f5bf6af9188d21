"""Sizes and places of bulk copies in shared memory, where the text says them: the copy engine moves units of 16 bytes.

A place is known to be misaligned where its distance from the start of an allocation is, and the allocation is aligned.
"""

from __future__ import annotations

from math import gcd

from tileproof.dialects.configuration import Facts
from tileproof.dialects.operands import resolve, static_size
from tileproof.dialects.values import Pointer, Tensor, element_bits, read_type
from tileproof.evaluate import hardware
from tileproof.layout.values import ComposedLayout
from tileproof.memory.multiples import multiple_of
from tileproof.memory.pointers import Place, byte_alignment
from tileproof.mlir.ir import Alias, Operation
from tileproof.mlir.scopes import Scope
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar


def tensor_facts(book: Rulebook, operation: Operation, place: Place, aliases: dict[str, Alias]) -> Facts | None:
    """The facts of a bulk tensor copy into or out of a place; None where nothing is known of its alignment."""
    offset = _offset(book, place, aliases)
    if offset is None:
        return None
    ends = ((".allocation", place.allocation.name_span),)
    return Facts("bulk_tensor_use", {"offset": offset}, {}, {}, operation.name_span, ends)


def bulk_facts(
    book: Rulebook, operation: Operation, scope: Scope, sides: list[Place], aliases: dict[str, Alias]
) -> Facts | None:
    """The facts of a bulk copy of bytes: how many, and where in shared memory."""
    values: dict[str, Scalar] = {}
    size = _bytes(book, operation, scope)
    if size is not None:
        values["size"] = size
    unit = hardware.limit(book, "bulk_bytes")
    offsets = [offset for offset in (_offset(book, place, aliases) for place in sides) if offset is not None]
    if offsets:
        values["offset"] = next((offset for offset in offsets if offset % unit), offsets[0])
    ends = tuple((".allocation", place.allocation.name_span) for place in sides)
    return Facts("bulk_use", values, {}, {}, operation.name_span, ends) if values else None


def atom_facts(operation: Operation, aliases: dict[str, Alias]) -> Facts | None:
    """The facts of ``cute.copy`` with an atom that copies bytes in bulk: the size is that of its tensor."""
    for use in operation.inputs[1:3]:
        match read_type(resolve(use.text, aliases)):
            case Tensor(Pointer(space="smem", element=element), layout):
                outer = layout.outer if isinstance(layout, ComposedLayout) else layout
                elements, bits = static_size(outer.shape), element_bits(element)
                if elements is not None and bits is not None:
                    size: dict[str, Scalar] = {"size": elements * bits // 8}
                    return Facts("bulk_use", size, {}, {}, operation.name_span)
    return None


def _bytes(book: Rulebook, operation: Operation, scope: Scope) -> int | None:
    """The bytes of a bulk copy, where they are a constant: the operand that the table names."""
    row = book.shared_table("bulk_operands").rows.get((book.enums["bulk_operation"].by_spelling[operation.name],))
    at = row[0] if row is not None else None
    if not isinstance(at, int) or at >= len(operation.operands):
        return None
    size, step = multiple_of(operation.operands[at], scope)
    return None if step else size


def _offset(book: Rulebook, place: Place, aliases: dict[str, Alias]) -> int | None:
    """The bytes from the last aligned address to a place; None where its allocation is not known to be aligned."""
    alignment = gcd(byte_alignment(place.allocation, aliases) or 1, place.step)
    return place.base % alignment if alignment % hardware.limit(book, "bulk_bytes") == 0 else None
