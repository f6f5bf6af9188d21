"""Integers of which a static part is known, and of what number the rest is a multiple: ``64 + 8192 * stage``.

The address of a stage of a ring is such a sum: which stage it is comes with the turn of a loop, where in the stage and
how long that is stands in the text.
"""

from __future__ import annotations

from math import gcd

from tileproof.base.patterns import regex
from tileproof.mlir.ir import Operation
from tileproof.mlir.scopes import Scope

_DEEPEST = 24  # operations that an integer is followed through
_INTEGER = regex(r"constant\s+(-?\d+|true|false)\b|value\s*=\s*(-?\d+|true|false)\b")
_SUMS = frozenset({"arith.addi", "llvm.add", "cute.tuple_add"})
_PRODUCTS = frozenset({"arith.muli", "llvm.mul", "cute.tuple_mul"})
_SHIFTS = frozenset({"arith.shli", "llvm.shl"})
_QUOTIENTS = frozenset({"arith.shrui", "arith.shrsi", "llvm.lshr", "llvm.ashr"})
_SAME = frozenset(
    {
        *("arith.extui", "arith.extsi", "arith.trunci", "arith.index_cast", "arith.index_castui"),
        *("llvm.zext", "llvm.sext", "llvm.trunc", "cute.make_int_tuple", "cute.get_scalars", "cute.get_leaves"),
        *("cute.to_int_tuple", "cute.make_coord", "cute.assume"),
    }
)
_TWO = _SUMS | _PRODUCTS | _SHIFTS | _QUOTIENTS
_TUPLE = regex(r'!cute\.(?:int_tuple|coord)<"(-?\d+)">')


def multiple_of(name: str, scope: Scope, depth: int = 0) -> tuple[int, int]:
    """The static part of an integer, and of what the rest is a multiple: 0 where there is none, 1 if nothing is known.

    Static is what is added as a constant: of ``stage * 8192 + 64`` it is 64, whatever the stage.
    """
    origin = scope.get(name)
    if origin is None or origin.argument or origin.index or depth > _DEEPEST:
        return 0, 1
    operation = origin.operation
    if operation.name in ("arith.constant", "llvm.mlir.constant"):
        constant = constant_of(operation)
        return (0, 1) if constant is None else (constant, 0)
    operands = operation.operands
    if operation.name in _SAME and len(operands) == 1 and len(operation.results) == 1:
        return multiple_of(operands[0], scope, depth + 1)
    if operation.name in _SAME and not operands:
        written = _TUPLE.search(" ".join((*operation.pieces, *(use.text for use in operation.outputs))))
        return (0, 1) if written is None else (int(written[1]), 0)
    if len(operands) != 2 or operation.name not in _TWO:
        return 0, 1
    (a, of_a), (b, of_b) = (multiple_of(operand, scope, depth + 1) for operand in operands)
    if operation.name in _SUMS:
        return a + b, gcd(of_a, of_b)
    if operation.name in _SHIFTS:
        return (a << b, of_a << b) if not of_b and 0 <= b < 64 else (0, 1)
    if operation.name in _QUOTIENTS:
        whole = not of_b and 0 <= b < 64 and not (a | of_a) & (1 << b) - 1
        return (a >> b, of_a >> b) if whole else (0, 1)
    return a * b, gcd(a * of_b, b * of_a, of_a * of_b)


def constant_of(operation: Operation) -> int | None:
    """The value of a constant operation; None where it is no integer."""
    attribute = operation.attribute("value")
    found = _INTEGER.search(operation.pieces[0] if attribute is None else f"value = {attribute.text}")
    if found is None:
        return None
    text = found[1] or found[2]
    return {"true": 1, "false": 0}[text] if text in ("true", "false") else int(text)
