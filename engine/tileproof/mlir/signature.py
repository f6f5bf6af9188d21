"""The types in the text of an operation: which are of operands, which of results.

The generic form has all of them. The custom forms have some, each operation its own part: ``cute.make_layout``
prints its result's type, ``cute.slice`` those of its operands. An unknown form gives none.
"""

from __future__ import annotations

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.mlir.ir import Operation, TypeUse

# Custom forms whose only list of types is that of the results although they have operands.
_RESULTS_ONLY = {
    "cute.memref.alloca",
    "cute.make_layout",
    "cute.make_composed_layout",
    "cute.make_identity_layout",
    "cute.make_identity_tensor",
    "cute.make_tiled_copy",
    "cute.make_tiled_mma",
    "cute_nvgpu.arch.make_warp_uniform",
}
# Integers in angle brackets, by the attribute that they are in the generic form.
_ANGLE = {
    "cute.append_to_rank": ("rank",),
    "cute.prepend_to_rank": ("rank",),
    "cute.group_modes": ("begin", "end"),
    "cute.recast_layout": ("new_type_bits", "old_type_bits"),
}
_QUOTED = {"cute.dice": "coord", "cute.local_tile": "proj"}

_ROLE = {"cute.mma.make_fragment", "cute.tiled.mma.partition"}  # A, B or C, a number in the generic form

_ANGLE_TEXT = regex(r"[^:\"!<]*<([^>{]*)>")
_QUOTED_TEXT = regex(r"[^:!\"]*(\"[^\"]*\")")
_INTEGER = regex(r"-?\d+")
_ROLE_TEXT = regex(r"\s*([ABC])\s*\(")
_REORDERED = {"nvvm.tensormap.replace"}  # new_value = %value in %address
# Dialects whose custom forms with two lists of types have the operands first, in their order.
_IN_ORDER = ("arith.", "math.", "llvm.", "vector.")
_SAME_TYPE = regex(r"arith\.(?:add|sub|mul|div|rem|and|or|xor|sh[lr]|max|min|ceildiv|floordiv|neg)\w*$|math\.\w+$")


@dataclass(frozen=True, slots=True)
class Signature:
    """The types that an operation writes; None for a list that it does not write."""

    operands: tuple[TypeUse, ...] | None
    results: tuple[TypeUse, ...] | None


def result_count(operation: Operation) -> int:
    """How many values the operation defines."""
    return sum(result.count for result in operation.results)


def signature(operation: Operation) -> Signature:
    """The operand and result types that an operation writes."""
    inputs, outputs = operation.inputs, operation.outputs
    count = result_count(operation)
    if operation.generic:
        return Signature(inputs if len(inputs) == len(operation.operands) else None, outputs)
    if outputs:
        return Signature(
            inputs if len(inputs) == len(operation.operands) else None, outputs if len(outputs) == count else None
        )
    if operation.name in _RESULTS_ONLY or not operation.operands:
        return Signature(None, inputs if inputs and len(inputs) == count else None)
    if _SAME_TYPE.match(operation.name) and len(inputs) == count == 1:
        return Signature(inputs * len(operation.operands), inputs)
    return Signature(inputs if inputs and len(inputs) == len(operation.operands) else None, None)


def reorders_operands(operation: Operation) -> bool:
    """Whether the custom form of an operation names its operands in another order than they have."""
    return operation.name in _REORDERED


def lists_operands(operation: Operation) -> bool:
    """Whether the operand types of a custom form are known to be those of its operands, in their order.

    Elsewhere a list of types may be that of the results (``nvvm.tcgen05.ld %address : vector<32xi32>``), or follow the
    words of the custom form and not the operands.
    """
    if operation.name.startswith("cute") or _SAME_TYPE.match(operation.name):
        return True
    return bool(operation.outputs) and operation.name.startswith(_IN_ORDER)


def parameters(operation: Operation) -> tuple[tuple[str, str], ...]:
    """The attributes of an operation, those included that its custom form writes in its own way."""
    written = tuple((attribute.name, attribute.text) for attribute in operation.attributes)
    if operation.generic or not operation.pieces:
        return written
    text = operation.pieces[0].partition(operation.name)[2]
    if (name := _QUOTED.get(operation.name)) is not None:
        quoted = _QUOTED_TEXT.match(text)
        return (*written, (name, quoted[1])) if quoted else written
    if operation.name in _ROLE:
        role = _ROLE_TEXT.match(text)
        return (*written, ("operand_id", str("ABC".index(role[1])))) if role else written
    angle = _ANGLE_TEXT.match(text)
    if angle is None:
        return written
    if (names := _ANGLE.get(operation.name)) is not None:
        return (*written, *zip(names, _INTEGER.findall(angle[1]), strict=False))
    return (*written, ("mode", angle[1]))
