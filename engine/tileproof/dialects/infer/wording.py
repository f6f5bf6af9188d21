"""What the dialect's verifier says where an operation is refused: the algebra's complaint, with the types in it.

The algebra knows values but not the types around them. Its complaints stop where the verifier goes on with types.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.dialects.values import Type

# How a complaint begins, and all that the verifier says: `{it}` is the complaint, `{0}` and `{1}` are the operands.
_WHOLE = {
    "expects $input to be": "{it} '{0}'",
    "expects element to be !cute.layout": "{it} '{1}'",
    "expects input and element to have the same kind": "{it}, but got '{0}' and '{1}'",
    "expects congruent inputs": "expects congruent inputs, but got '{0}' and '{1}'",
    "expects coord to be weakly congruent with input shape": "{it} '{0}' and '{1}'",
    "expects coord to be congruent with shape": "{it}, but got '{0}' and '{1}'",
    "expects coord to be free of underscore wildcards": "{it}, but got '{0}'",
    "expects valid operands, but cannot compute ceil_div for": "{it} '{0}' and '{1}': tiler is zero",
    "rank(tiler)=": "expects valid operands, but cannot compute ceil_div for '{0}' and '{1}': {it}",
    "unable to compute idx2crd for index": "{it} '{0}' and shape '{1}'",
    "expects matching structure": "{it}: '{0}' and '{1}'",
    "expects matching nesting": "{it}, but got: '{0}' and '{1}'",
}


def worded(complaint: str, operands: Sequence[Type]) -> str:
    """The complaint as the verifier makes it."""
    if len(operands) > 1:
        for beginning, whole in _WHOLE.items():
            if complaint.startswith(beginning):
                return whole.format(*operands, it=complaint)
    return complaint
