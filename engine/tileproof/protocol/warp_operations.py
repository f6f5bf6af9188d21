"""Operations of the IR that a warp executes together, and that count bits of what it finds.

Schedulers of sequences of different lengths use them: each lane loads a length, prefix sums go by shuffles, and the
lanes that vote are counted. What they compute is said by ``protocol/warp_functions.py``, as for PTX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tileproof.base.patterns import regex
from tileproof.dialects.values import element_bits
from tileproof.mlir.ir import Operation
from tileproof.protocol.steps import words
from tileproof.protocol.terms import lift
from tileproof.protocol.values import Value
from tileproof.protocol.warp_functions import REDUCTIONS, SHUFFLES, VOTES, WARP, matched, reduced, shuffled, voted

Function: TypeAlias = Callable[..., Sequence[Value]]
_KIND = regex(r"\.sync\s+([a-z]+)\b|_kind\s*<?\s*([a-z]+)\b")


def shuffle_of(operation: Operation, value: int, lane: int) -> Function:
    """``nvvm.shfl.sync``; the operand behind the lane says how far lanes are reached.

    Args:
        value, lane: which operands they are.
    """
    mode = _kind(operation)

    def function(*operands: Value) -> tuple[Value]:
        if mode not in SHUFFLES or len(operands) <= lane:
            return (None,)
        clamp = operands[lane + 1] if len(operands) > lane + 1 else WARP - 1
        return (shuffled(mode, operands[value], operands[lane], clamp),)

    return function


def of_warp(operation: Operation) -> Function | None:
    """The function of a vote, a match, a reduction or a count of bits; None of any other operation."""
    name = operation.name
    if name in _COUNTS:
        bits = next((element_bits(use.text) or WARP for use in operation.inputs), WARP)
        counts = lift(lambda value: _COUNTS[name](value & (1 << bits) - 1, bits), f"{name} {bits}")
        return lambda *operands: (counts(operands[0]) if operands else None,)
    if name not in ("nvvm.vote.sync", "nvvm.match.sync", "nvvm.redux.sync"):
        return None
    mode = _kind(operation)
    if name == "nvvm.vote.sync" and mode in VOTES:
        return lambda *operands: (voted(mode, operands[-1] if operands else None),)
    if name == "nvvm.match.sync" and mode == "any":
        return lambda *operands: (matched(operands[1], operands[0]) if len(operands) > 1 else None,)
    how, unsigned = mode.removeprefix("u"), mode.startswith("u")
    if name == "nvvm.redux.sync" and how in REDUCTIONS:
        return lambda *operands: (reduced(how, operands[0], operands[1], unsigned) if len(operands) > 1 else None,)
    return None


_COUNTS = {
    "math.ctpop": lambda value, bits: value.bit_count(),
    "llvm.intr.ctpop": lambda value, bits: value.bit_count(),
    "math.ctlz": lambda value, bits: bits - value.bit_length(),
    "llvm.intr.ctlz": lambda value, bits: bits - value.bit_length(),
    "math.cttz": lambda value, bits: (value & -value).bit_length() - 1 if value else bits,
    "llvm.intr.cttz": lambda value, bits: (value & -value).bit_length() - 1 if value else bits,
}


def _kind(operation: Operation) -> str:
    found = _KIND.search(words(operation))
    return (found[1] or found[2]) if found is not None else ""


__all__ = ["of_warp", "shuffle_of"]
