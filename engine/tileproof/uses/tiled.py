"""Tiled atoms and the tensors partitioned by them, as facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from tileproof.base.patterns import regex
from tileproof.base.source import Span
from tileproof.base.verdict import Refuted, Verdict
from tileproof.dialects.configuration import Facts
from tileproof.dialects.infer.call import Unknown as NotKnown
from tileproof.dialects.infer.partition import mma_operand
from tileproof.dialects.operands import resolve
from tileproof.dialects.values import Pointer, Tensor, TiledCopy, TiledMma, read_type
from tileproof.layout import LayoutError, size
from tileproof.layout.basics import modes
from tileproof.layout.tiled import outer_of
from tileproof.mlir.ir import Alias, Operation
from tileproof.mlir.signature import parameters
from tileproof.prove import tiled
from tileproof.rulebase.expression import Scalar

PARTITION = "cute.tiled.mma.partition"
_ROLE = regex(r"\s*([ABC])\b")
_MOST_REST = 255
_PAIR = 2  # an atom of two "threads" is one of two CTAs: no atom has two threads


def tiled_facts(text: str, span: Span) -> Iterator[Facts]:
    """Whether the threads of a tiled atom cover its tile, for each of its operands.

    Args:
        text: the type, free of aliases.
        span: its position in the text.
    """
    for role, complaint in _uncovered(text):
        values: dict[str, Scalar] = {"operand": f".{role.lower()}", "covered": ".no"}
        yield Facts("tiled.atom", values, {"operand": role, "covered": complaint}, {}, span)


@lru_cache(maxsize=4096)
def _uncovered(text: str) -> tuple[tuple[str, str], ...]:
    """The operands of a tiled atom whose tile is not covered once, with the reason."""
    known = read_type(text)
    verdicts: dict[str, Verdict] = {}
    if isinstance(known, TiledMma):
        verdicts = {role: tiled.mma_covers(known, role) for role in tiled.MMA_OPERANDS}
    elif isinstance(known, TiledCopy):
        verdicts = {"tile": tiled.copy_covers(known)}
    return tuple(
        (
            role,
            f"{verdict.message} ({', '.join(f'{name} = {value}' for name, value in verdict.counterexample.items())})",
        )
        for role, verdict in verdicts.items()
        if isinstance(verdict, Refuted)
    )


def partition_facts(operation: Operation, aliases: dict[str, Alias]) -> Facts | None:
    """The extents of a tensor and the extents of the tiled MMA along them; None where they are not known."""
    if operation.name != PARTITION or len(operation.inputs) < 2:
        return None
    mma = read_type(resolve(operation.inputs[0].text, aliases))
    tensor = read_type(resolve(operation.inputs[1].text, aliases))
    role = _role(operation)
    if not isinstance(mma, TiledMma) or not isinstance(tensor, Tensor) or role is None:
        return None
    if not isinstance(tensor.iterator, Pointer):
        return None  # the coordinates of a tensor map: elements outside are not read
    try:
        held = mma_operand(mma, role)
        steps, ctas = tiled.tile_of(held), size(held.threads[0])
    except (NotKnown, LayoutError):
        return None
    extents = [size(mode) for mode in modes(outer_of(tensor.layout))[:2]]
    if len(extents) < 2:
        return None
    values: dict[str, Scalar] = {"operand": f".{role.lower()}"}
    for name, extent, step in zip(("first", "second"), extents, steps, strict=True):
        if isinstance(extent, int):
            # What one CTA of a pair has of a tile that the two share by rows is a whole one, too.
            mine = step // _PAIR if name == "first" and ctas == _PAIR and extent * _PAIR == step else step
            values |= {f"{name}.extent": extent, f"{name}.step": step, f"{name}.rest": min(extent % mine, _MOST_REST)}
    span = operation.inputs[1].span
    return Facts("tiled.partition", values, {"operand": role}, dict.fromkeys(values, span), span)


def _role(operation: Operation) -> str | None:
    """The operand that a partition is of: a letter in the custom form, an attribute in the generic one."""
    if not operation.generic and operation.pieces:
        found = _ROLE.match(operation.pieces[0].partition(operation.name)[2])
        return found[1] if found else None
    number = re.match(r"\d+", dict(parameters(operation)).get("operand_id", ""))
    return "ABC"[int(number[0])] if number is not None and int(number[0]) < 3 else None
