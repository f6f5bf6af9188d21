"""What the published generation demands of operands beyond their kinds, where the algebra itself has no objection or
other words for it.

The algebra says which mode failed; the published verifier says what it expects of which type. These are its words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from tileproof.dialects.infer.call import Call, Unknown
from tileproof.dialects.values import TUPLES, Algebraic, Type, read_type
from tileproof.layout import LayoutError, has_scaled_basis, shape_div
from tileproof.layout.tuples import congruent, has_wildcard, is_static_tuple, leaves, rank, weakly_congruent
from tileproof.layout.values import ComposedLayout, Layout, Swizzle, Tile, Tuple, Wildcard, show

Condition = Callable[[Call], str | None]


@lru_cache(maxsize=65536)
def refusal(name: str, operands: tuple[str, ...], parameters: tuple[tuple[str, str], ...]) -> str | None:
    """Why the published generation refuses an operation on operands of these types; None where it does not."""
    condition = _CONDITIONS.get(name)
    if condition is None:
        return None
    try:
        return condition(Call(name, tuple(map(read_type, operands)), dict(parameters), ()))
    except Unknown:
        return None


def said(name: str, operands: Sequence[str], complaint: str) -> str:
    """What the published generation says where the algebra refuses an operation with this complaint."""
    if name.endswith("_divide") and not complaint.startswith(("expects", "operand")):
        return f"expects valid operands, but cannot compute divide for '{operands[0]}' and '{operands[1]}'"
    if name == "cute.tile_to_shape" and not complaint.startswith("expects"):
        return f"expects valid operands, but cannot compute tile_to_shape for '{operands[0]}' and '{operands[1]}'"
    if name == "cute.complement" and len(operands) == 2 and not complaint.startswith("expects"):
        return (
            "expects a valid complement result, but construction failed for input "
            f"'{operands[0]}' with cotarget '{operands[1]}'"
        )
    if name == "cute.composition" and not complaint.startswith(("expects", "operand")):
        return "expects a valid composition result, but construction failed"
    return complaint


def _tuple(value: Type) -> Tuple | None:
    return value.value if isinstance(value, Algebraic) and value.kind in TUPLES else None  # type: ignore[return-value]


def _layout(value: Type) -> Layout | ComposedLayout | None:
    return value.value if isinstance(value, Algebraic) and isinstance(value.value, Layout | ComposedLayout) else None


def _one_profile(call: Call) -> str | None:
    if len(call.operands) == 2:
        shape, stride = map(_tuple, call.operands)
        if shape is not None and stride is not None and not congruent(shape, stride):
            return f'expects shape and stride profile to match, but got "{show(shape)}:{show(stride)}"'
    return None


def _ordered(call: Call) -> str | None:
    shape, order = map(_tuple, call.operands)
    if shape is None or order is None:
        return None
    if not is_static_tuple(order):
        return f"expects order to be a static int_tuple, but got '{call.operands[1]}'"
    if not weakly_congruent(order, shape):
        return f"expects order to be weakly congruent to shape '{show(shape)}', but got '{show(order)}'"
    return None


def _without_slots(call: Call) -> str | None:
    value = call.operands[0]
    if isinstance(value, Algebraic) and isinstance(value.value, Tile) and _holds_slot(value.value):
        return f"expects a tile operand with no underscore slots, but got '{value}'"
    return None


def _holds_slot(tile: Tile) -> bool:
    return any(_holds_slot(mode) if isinstance(mode, Tile) else isinstance(mode, Wildcard) for mode in tile.modes)


def _selected(call: Call) -> str | None:
    value = call.operands[0]
    if not isinstance(value, Algebraic):
        return None
    match value.value:
        case Layout(shape, _) | ComposedLayout(_, _, Layout(shape, _)):
            count = rank(shape)
        case Tile(modes):
            count = len(modes)
        case Swizzle():
            return None
        case other:
            count = rank(other)
    for index in call.integers("mode") or ():
        if not 0 <= index < count:
            return f"expects mode index in [0, {count}), but got {index}"
    return None


def _static_input(call: Call) -> str | None:
    if len(call.operands) == 1 and isinstance(layout := _layout(call.operands[0]), Layout) and not _static(layout):
        return f"expects input with static layout, but got'{call.operands[0]}' with dynamic layout"
    return None


def _static(layout: Layout) -> bool:
    return is_static_tuple(layout.shape) and is_static_tuple(layout.stride)


def _recast(call: Call) -> str | None:
    layout = _layout(call.operands[0])
    new, old = call.integer("new_type_bits"), call.integer("old_type_bits")
    if not isinstance(layout, Layout) or new <= 0 or old <= 0 or has_scaled_basis(layout):
        return None
    unequal = f"unable to recast '{call.operands[0]}' from {old} bits to {new} bits"
    return unequal if new % old and old % new else None


def _swizzled_slice(call: Call) -> str | None:
    layout, coord = _layout(call.operands[0]), _tuple(call.operands[1])
    if isinstance(layout, ComposedLayout) and isinstance(layout.inner, Swizzle) and coord is not None:
        if not _static(layout.outer):
            return f"expects swizzle-A composed slice's outer layout to be static, but got '{call.operands[0]}'"
        if not has_wildcard(coord):
            return (
                "expects swizzle-A composed slice's coord to contain at least one underscore, "
                f"but got '{call.operands[1]}'"
            )
    return None


def _affine_cosize(call: Call) -> str | None:
    match _layout(call.operands[0]):
        case ComposedLayout(Layout(), _, _):
            return (
                "expects composed_layout inner to be a swizzle (cosize is undefined for affine inner), "
                f"but got '{call.operands[0]}'"
            )
    return None


def _evaluated(call: Call) -> str | None:
    coord, layout = _tuple(call.operands[0]), _layout(call.operands[1])
    if coord is None or layout is None:
        return None
    count = rank((layout.outer if isinstance(layout, ComposedLayout) else layout).shape)
    if isinstance(coord, tuple) and len(coord) != count:
        return f"expects coordinate rank {count} (to match layout shape rank) or be a leaf, but got {len(coord)}"
    return None


def _packed(call: Call) -> str | None:
    coord, shape = map(_tuple, call.operands)
    if coord is None or shape is None:
        return None
    if not weakly_congruent(coord, shape):
        given = f"coord '{call.operands[0]}' and shape '{call.operands[1]}'"
        return f"expects coord and shape to be weakly congruent, but got {given}"
    if has_wildcard(coord):
        return f"unable to pack coordinate '{call.operands[0]}' into shape '{call.operands[1]}'"
    return None


def _shape_divided(call: Call) -> str | None:
    a, b = map(_tuple, call.operands)
    if a is None or b is None:
        return None
    refused = f"expects valid operands, but cannot compute shape_div for '{call.operands[0]}' and '{call.operands[1]}'"
    if any(leaf == 0 for leaf in leaves(b)):
        return f"{refused}: divisor is zero"
    if isinstance(a, int) and isinstance(b, int) and a % b and b % a:
        neither = f"neither {a} % {b} == 0 nor {b} % {a} == 0"
        return f"{refused}: {a} is not divisible by {b} ({neither})"
    try:
        shape_div(a, b)
    except LayoutError:
        return refused
    return None


def _same_kind(call: Call) -> str | None:
    a, b = call.operands
    if isinstance(a, Algebraic) and isinstance(b, Algebraic) and a.kind != b.kind:
        return f"expects lhs and rhs to be the same kind, but got '{a}' and '{b}'"
    return None


def _tiled(call: Call) -> str | None:
    block, shape = _layout(call.operands[0]), _tuple(call.operands[1])
    if block is None or shape is None:
        return None
    count = rank(shape)
    if len(call.operands) == 3 and (order := _tuple(call.operands[2])) is not None:
        if not is_static_tuple(order):
            return f"expects static order, but got {show(order)}"
        if rank(order) != count:
            return f"expects order rank ({rank(order)}) to equal target-shape rank ({count})"
        permutation = f"expects $order to be a permutation of [0, {count})"
        seen: set[int] = set()
        for mode, index in enumerate(order if isinstance(order, tuple) else (order,)):
            if not isinstance(index, int):
                return f"{permutation}, but mode {mode} is not a static integer"
            if not 0 <= index < count:
                return f"{permutation}, but got out-of-range index {index} at mode {mode}"
            if index in seen:
                return f"{permutation}, but index {index} appears more than once"
            seen.add(index)
    inner = rank((block.outer if isinstance(block, ComposedLayout) else block).shape)
    if inner > count:
        return (
            f"expects block layout rank <= target shape rank, but got rank {inner} block and rank {count} target shape"
        )
    return None


_CONDITIONS: Mapping[str, Condition] = {
    "cute.make_layout": _one_profile,
    "cute.make_ordered_layout": _ordered,
    "cute.get_shape": _without_slots,
    "cute.select": _selected,
    "cute.complement": _static_input,
    "cute.recast_layout": _recast,
    "cute.slice": _swizzled_slice,
    "cute.cosize": _affine_cosize,
    "cute.layout_eval": _evaluated,
    "cute.crd2idx": _packed,
    "cute.shape_div": _shape_divided,
    "cute.equal": _same_kind,
    "cute.tile_to_shape": _tiled,
}
