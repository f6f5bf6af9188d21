"""How many columns of tensor memory the accumulator of an MMA has, by its instruction descriptor."""

from __future__ import annotations

from functools import lru_cache

from tileproof.base.patterns import regex
from tileproof.evaluate import bitfields, hardware
from tileproof.mlir.ir import Operation
from tileproof.protocol.steps import words
from tileproof.rulebase.book import Rulebook

_WORD = "tcgen05.instruction_descriptor"
_KIND = regex(r"tcgen05_mma_kind<(\w+)>")
_GROUP = regex(r"cta_group<cta_(\d)>")


def columns_of(book: Rulebook, operation: Operation, word: int) -> int | None:
    """The columns that a CTA has of it, at least; None where the word says nothing of them.

    Args:
        word: the instruction descriptor.
    """
    text = words(operation)
    kind, group = _KIND.search(text), _GROUP.search(text)
    if kind is None or ".ws" in operation.name:
        return None
    return _columns(book, word, f".{kind[1]}", int(group[1]) if group is not None else 1)


@lru_cache(maxsize=64)
def _columns(book: Rulebook, word: int, kind: str, ctas: int) -> int | None:
    try:
        found = bitfields.unpack(book.under("ptx"), _WORD, word, {"kind": kind})
    except bitfields.PackError:
        return None
    rows, width, element = found.get("M"), found.get("N"), found.get("d.type", ".f32")
    bits = book.shared_table("element").rows[str(element),][0]
    if not isinstance(rows, int) or not isinstance(width, int) or not isinstance(bits, int):
        return None
    if ctas > 1:  # a pair splits N over the lanes that its rows leave (PTX ISA, tcgen05, data path layouts A and B)
        width = width * rows // ctas // hardware.limit(book, "tmem_lanes")
    return width * bits // hardware.limit(book, "column_bits")


__all__ = ["columns_of"]
