"""wgmma whose descriptors a kernel makes by itself: its shape, types and majors, and which operands are descriptors."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.mlir.ir import Operation
from tileproof.rulebase.expression import Scalar

_SIZE = regex(r"\b([mnk])\s*=\s*(\d+)")
# `A [<f16>, <one>, <col>]`, or the attributes typeA and layoutA.
_SIDE = {side: re.compile(rf"\b{side.upper()}\s*\[([^\]]*)\]") for side in "dab"}
_SIZES = {"M", "N", "K"}
_WORD = regex(r"<\s*(\w+)\s*>")
_MAJORS = {"a": {"row": ".k", "col": ".mn"}, "b": {"col": ".k", "row": ".mn"}}


@dataclass(frozen=True, slots=True)
class Multiply:
    """A wgmma whose operands in shared memory are descriptors.

    Attributes:
        a, b: the values that are the descriptors; None for A in registers.
        facts: those of the schema ``wgmma.mma_async`` that the text says, and ``sparse``.
    """

    a: str | None
    b: str
    facts: Mapping[str, Scalar]


def attributes(operation: Operation, text: str) -> dict[str, Scalar]:
    """Shape, types and majors of ``nvvm.wgmma.mma_async``: ``M``, ``N``, ``K``, ``a_type``, ``a_major`` and so on.

    Args:
        text: what the operation writes besides its name.
    """
    found: dict[str, Scalar] = {size.upper(): int(value) for size, value in _SIZE.findall(text)}
    for side, pattern in _SIDE.items():
        attribute = operation.attribute(f"type{side.upper()}")
        layout = operation.attribute(f"layout{side.upper()}")
        matched = pattern.search(text)
        words = _WORD.findall(matched[1]) if matched is not None else []
        for one in (attribute, layout):
            words += _WORD.findall(one.text) if one is not None else []
        if words:
            found[f"{side}_type"] = f".{words[0]}"
        major = next((_MAJORS[side][word] for word in words if word in _MAJORS[side]), None) if side != "d" else None
        if major is not None:
            found[f"{side}_major"] = major
    return found


def multiply(operation: Operation) -> Multiply | None:
    """What ``nvvm.wgmma.mma_async`` reads by descriptors; None where its operands are not two descriptors and D."""
    text = " ".join((*operation.pieces, *(f"{a.name} {a.text}" for a in operation.attributes)))
    words = [at for at, use in enumerate(operation.inputs[: len(operation.operands)]) if use.text == "i64"]
    if not operation.generic:
        words = [0, 1]  # the custom form has D behind them, and only its type
    if len(words) != 2 or len(operation.operands) < 2:
        return None
    said = attributes(operation, text)
    facts: dict[str, Scalar] = {name: value for name, value in said.items() if name in _SIZES}
    for side in "ab":
        for what in ("type", "major"):
            if f"{side}_{what}" in said:
                facts[f"{side}.{what}"] = said[f"{side}_{what}"]
    return Multiply(operation.operands[words[0]], operation.operands[words[1]], {**facts, "sparse": ".no"})


__all__ = ["Multiply", "attributes", "multiply"]
