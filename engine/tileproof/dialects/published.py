"""The other generation of the dialect: the one that NVIDIA publishes as source, beside the one in the wheel.

It knows nothing of divisors, and chooses other strides where they do not matter (for modes of extent one) or where
coordinates and dynamic extents meet a product or a divide. What it declares there is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tileproof.dialects.values import Algebraic, read_type
from tileproof.ir import Module
from tileproof.layout.tuples import transform
from tileproof.layout.values import ComposedLayout, Dynamic, Layout, Leaf, Tuple, Value

_ALGEBRA = re.compile(r"!cute\.(?:shape|stride|coord|int_tuple|layout|composed_layout|tile|swizzle)<(?!.*\{)")
_FAMILY = re.compile(
    r"cute\.(?:\w+_product|\w+_divide|complement|composition|make_layout_like|layout_eval|recast_layout)$"
)


def is_published(module: Module) -> bool:
    """Whether nothing in the module is beyond the published generation: memory, divisors, widths."""
    return all(map(_ALGEBRA.match, module.types))


def tolerates(name: str, operands: Sequence[str], inferred: Sequence[str], declared: Sequence[str]) -> bool:
    """Whether the published generation may declare these results although others were inferred."""
    if _FAMILY.match(name) and any("?" in text or "@" in text for text in operands):
        return True
    return len(inferred) == len(declared) and all(map(_alike, inferred, declared))


def _alike(a: str, b: str) -> bool:
    one, other = read_type(a), read_type(b)
    if not isinstance(one, Algebraic) or not isinstance(other, Algebraic) or one.kind != other.kind:
        return False
    return _essence(one.value) == _essence(other.value)


def _essence(value: Value) -> Value:
    """The value without divisors, and without the strides of modes of extent one."""
    match value:
        case Layout(shape, stride):
            return Layout(_essential(shape), _moving(_essential(shape), _essential(stride)))
        case ComposedLayout(inner, offset, outer):
            return ComposedLayout(inner, _essential(offset), _essence(outer))  # type: ignore[arg-type]
        case tuple() | int() | Dynamic():
            return _essential(value)
        case _:
            return value


def _essential(value: Tuple) -> Tuple:
    def erase(leaf: Leaf) -> Leaf:
        return Dynamic() if isinstance(leaf, Dynamic) else leaf

    return transform(erase, value)


def _moving(shape: Tuple, stride: Tuple) -> Tuple:
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        return tuple(map(_moving, shape, stride))
    return 0 if shape == 1 else stride
