"""The other generation of the dialect: the one that NVIDIA publishes as source, beside the one in the wheel.

It knows nothing of divisors, and chooses other strides where they do not matter (for modes of extent one) or where
coordinates and dynamic extents meet a product or a divide. What it declares there is not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tileproof.base.patterns import regex
from tileproof.dialects.values import Algebraic, Type, read_type
from tileproof.layout import has_scaled_basis
from tileproof.layout.tuples import transform
from tileproof.layout.values import ComposedLayout, Dynamic, Layout, Leaf, Swizzle, Tile, Tuple, Value
from tileproof.mlir.ir import Module

_ALGEBRA = regex(r"[!#]cute\.(?:shape|stride|coord|int_tuple|layout|composed_layout|tile|swizzle)<(?!.*\{)")
_OURS = regex(r"[!#](?:cute|cute_nvgpu|cuda)\.")
_FAMILY = regex(r"cute\.(?:\w+_product|\w+_divide|complement|composition|make_layout_like|layout_eval|recast_layout)$")


def is_published(module: Module) -> bool:
    """Whether nothing in the module is beyond the published generation: memory, divisors, widths, launches.

    Types of the dialects around it, such as ``!llvm.ptr``, say nothing of the generation.
    """
    return all(_ALGEBRA.match(text) is not None for text in module.types if _OURS.match(text))


def tolerates(name: str, operands: Sequence[str], inferred: Sequence[str], declared: Sequence[str]) -> bool:
    """Whether the published generation may declare these results although others were inferred."""
    family = _FAMILY.match(name) is not None
    if family and any("?" in text or "@" in text for text in operands):
        return True
    erase = _without_idle_strides if family or name == "cute.coalesce" else _without_divisors
    return len(inferred) == len(declared) and all(
        _alike(read_type(a), read_type(b), erase) for a, b in zip(inferred, declared, strict=True)
    )


def refuses(name: str, operands: Sequence[str]) -> str | None:
    """Why the published generation refuses what the wheel takes: complements in a cotarget of scaled-basis strides."""
    if name != "cute.complement" or len(operands) < 2:
        return None
    given = read_type(operands[0])
    if isinstance(given, Algebraic) and isinstance(given.value, Layout) and has_scaled_basis(given.value):
        return f"expects input with integer strides, but '{operands[0]}' has non-integer strides"
    return None


def _alike(a: Type, b: Type, erase: Callable[[Value], Value]) -> bool:
    if isinstance(a, Algebraic) and isinstance(b, Algebraic):
        return a.kind == b.kind and erase(a.value) == erase(b.value)
    return False


def _without_divisors(value: Value) -> Value:
    def forget(leaf: Leaf) -> Leaf:
        return Dynamic() if isinstance(leaf, Dynamic) else leaf

    match value:
        case Layout(shape, stride):
            return Layout(transform(forget, shape), transform(forget, stride))
        case ComposedLayout(inner, offset, outer):
            return ComposedLayout(inner, transform(forget, offset), _without_divisors(outer))  # type: ignore[arg-type]
        case Swizzle() | Tile():
            return value
    return transform(forget, value)


def _without_idle_strides(value: Value) -> Value:
    """Without the strides of modes of extent one, and without divisors."""
    match _without_divisors(value):
        case Layout(shape, stride):
            return Layout(shape, _moving(shape, stride))
        case ComposedLayout(inner, offset, outer):
            return ComposedLayout(inner, offset, Layout(outer.shape, _moving(outer.shape, outer.stride)))
        case other:
            return other


def _moving(shape: Tuple, stride: Tuple) -> Tuple:
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        return tuple(map(_moving, shape, stride))
    return 0 if shape == 1 else stride
