"""Facts of the operations that a kernel writes in the NVVM dialect by itself: the schema ``nvvm.operation``."""

from __future__ import annotations

import re

from tileproof.base.patterns import regex
from tileproof.memory.known_bits import fold
from tileproof.memory.wgmma_operands import attributes
from tileproof.mlir.ir import Operation
from tileproof.mlir.scopes import Scope
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import Enumerated
from tileproof.rulebase.expression import Scalar

SCHEMA, ENUM = "nvvm.operation", "nvvm_operation"
_PLACES = ("first", "second", "third", "fourth", "fifth")
_VECTOR = regex(r"vector<(\d+)x[if]\d+>")
_BOX = regex(r"\bbox\s*\[([^\]]*)\]")
_SEGMENTS = regex(r"array<i32:\s*([\d,\s]*)>")
_NUMBER = regex(r"(?<![\w%.<#-])\d+(?![\w.>])")
_COORDINATES = 2  # the segment of operands that holds them


def is_raw(book: Rulebook, operation: Operation) -> bool:
    """Whether the rules declare the PTX of an operation."""
    return operation.name in book.enums[ENUM].by_spelling


def raw_facts(book: Rulebook, operation: Operation, scope: Scope) -> dict[str, Scalar]:
    """The facts of an operation for which ``is_raw`` holds.

    Args:
        scope: what its operands are; those that are constants become facts.
    """
    text = _text(operation)
    found: dict[str, Scalar] = {"operation": book.enums[ENUM].by_spelling[operation.name]}
    schema = book.schemas[SCHEMA]
    for name, domain in schema.fields.items():
        if isinstance(domain, Enumerated) and domain.enum.startswith("nvvm_") and name != "operation":
            spelled = book.enums[domain.enum].by_spelling
            written = next((member for word, member in spelled.items() if word[0] != "." and word in text), None)
            found[name] = written if written is not None else schema.instance[name]
    for name, operand in zip(_PLACES, operation.operands, strict=False):
        value = fold(book, operand, scope).value
        if value is not None:
            found[name] = value
    found |= {"operands": len(operation.operands), "results": len(operation.results)}
    if (number := _number(operation)) is not None:
        found["number"] = number
    if (vector := _VECTOR.search(text)) is not None:
        found["registers"] = int(vector[1])
    found["in_tmem"] = ".yes" if len(operation.inputs) > 1 and "ptr" in operation.inputs[1].text else ".no"
    if operation.name.endswith("wgmma.mma_async"):
        found |= attributes(operation, text)
    return found | _box(book, operation, text)


def _text(operation: Operation) -> str:
    """All that the operation writes besides its name, in either form, between blanks."""
    pieces = " ".join(operation.pieces).partition(operation.name)[2]
    types = " ".join(use.text for use in (*operation.inputs, *operation.outputs))
    attributes = " ".join(f"{a.name} {a.text} " for a in operation.attributes)
    return f" {pieces} {attributes} {types} "


def _number(operation: Operation) -> int | None:
    """A bare number: how many groups may be pending, or how many bytes are copied."""
    for name in ("group", "n", "size"):
        attribute = operation.attribute(name)
        if attribute is not None and (found := re.match(r"\d+", attribute.text)) is not None:
            return int(found[0])
    rest = operation.pieces[0].partition(operation.name)[2] if not operation.generic else ""
    bare = _NUMBER.search(rest)
    return int(bare[0]) if bare is not None else None


def _box(book: Rulebook, operation: Operation, text: str) -> dict[str, Scalar]:
    """The coordinates of a box, and whether it goes to several CTAs."""
    sizes = operation.attribute("operandSegmentSizes")
    listed = _SEGMENTS.search(sizes.text) if sizes is not None else None
    if listed is not None:
        segments = [int(size) for size in listed[1].split(",")]
        row = book.shared_table("nvvm_mask").rows.get((book.enums[ENUM].by_spelling[operation.name],))
        mask = row[0] if row is not None else None
        several = isinstance(mask, int) and mask < len(segments) and segments[mask] > 0
        rank = segments[_COORDINATES] if len(segments) > _COORDINATES else 0
        return {"box_rank": rank, "several": ".yes" if several else ".no"}
    found: dict[str, Scalar] = {"several": ".yes" if "multicast_mask" in text else ".no"}
    if (box := _BOX.search(text)) is not None:
        found["box_rank"] = box[1].count("%")
    return found
