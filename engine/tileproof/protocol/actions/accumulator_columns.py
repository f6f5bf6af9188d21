"""How many columns and lanes of tensor memory the accumulator of an MMA has, by its instruction descriptor."""

from __future__ import annotations

from functools import lru_cache

from tileproof.base.patterns import regex
from tileproof.evaluate import bitfields, hardware
from tileproof.mlir.ir import Operation
from tileproof.protocol.steps import words
from tileproof.ptx.matrices import INSTRUCTION
from tileproof.rulebase.book import Rulebook

_KIND = regex(r"tcgen05_mma_kind<(\w+)>|\bkind::(\w+)")
_GROUP = regex(r"cta_group<cta_(\d)>|\bcta_group::(\d)")
_WEIGHTS = regex(r"\btcgen05\.mma\.(?:sp\.)?ws\b")


def reach_of(book: Rulebook, operation: Operation, word: int) -> tuple[int, int] | None:
    """The columns that a CTA has of it, at least, and the lanes of each quarter; None where the word does not say.

    Args:
        word: the instruction descriptor.
    """
    said = _said(words(operation))
    return None if said is None else _reach(book, word, *said)


@lru_cache(maxsize=1024)
def _said(text: str) -> tuple[str, int] | None:
    """The kind of an MMA and the CTAs that execute it; None where weights are stationary."""
    kind, group = _KIND.search(text), _GROUP.search(text)
    if kind is None or _WEIGHTS.search(text) is not None:
        return None
    return f".{kind[1] or kind[2]}", int(group[1] or group[2]) if group is not None else 1


@lru_cache(maxsize=64)
def _reach(book: Rulebook, word: int, kind: str, ctas: int) -> tuple[int, int] | None:
    try:
        found = bitfields.unpack(book.under("ptx"), INSTRUCTION, word, {"kind": kind})
    except bitfields.PackError:
        return None
    rows, width, element = found.get("M"), found.get("N"), found.get("d.type", ".f32")
    bits = book.shared_table("element").rows[str(element),][0]
    if not isinstance(rows, int) or not isinstance(width, int) or not isinstance(bits, int):
        return None
    lanes = hardware.limit(book, "tmem_lanes")
    quarter = lanes // hardware.limit(book, "group_warps")
    if ctas > 1:  # a pair splits N over the lanes that its rows leave (PTX ISA, tcgen05, data path layouts A and B)
        width = width * rows // ctas // lanes
    elif rows < lanes:  # the rows are shared out over the quarters (PTX ISA, tcgen05, data path layout F)
        quarter = quarter * rows // lanes
    return width * bits // hardware.limit(book, "column_bits"), quarter


__all__ = ["reach_of"]
