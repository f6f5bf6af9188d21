"""Evaluating a layout at many indices in one call, with numpy where it is installed.

numpy is not a dependency of tileproof: it is imported at the first such call; plain Python is the fallback.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tileproof.layout.basics import AnyLayout, flat_modes, has_scaled_basis, is_static_layout
from tileproof.layout.coordinates import cosize, crd2idx
from tileproof.layout.errors import LayoutError
from tileproof.layout.leaves import integer
from tileproof.layout.swizzle import change_mask, check_swizzle, read_mask
from tileproof.layout.values import ComposedLayout, Layout, Swizzle


def crd2idx_many(indices: Iterable[int] | Any, layout: AnyLayout) -> Sequence[int] | Any:
    """The offset of each index: an array of int64 where numpy is installed, else a list.

    Raises:
        LayoutError: the layout is dynamic or maps to coordinates, an index is negative, or offsets overflow.
    """
    if not is_static_layout(layout) or has_scaled_basis(layout):
        raise LayoutError(f"only a static layout with integer strides has an array of offsets, but got {layout}")
    if isinstance(layout, Layout):
        cosize(layout)  # refuses offsets beyond 64 bits
    try:
        import numpy as np  # noqa: PLC0415 - optional
    except ImportError:
        return [int(integer(crd2idx(index, layout))) for index in indices]  # type: ignore[arg-type]
    array = np.asarray(indices, dtype=np.int64)
    if array.size and int(array.min()) < 0:
        raise LayoutError(f"an index counts from zero, but got {int(array.min())}")
    return _offsets(array, layout)


def _offsets(index: Any, layout: AnyLayout) -> Any:
    if isinstance(layout, ComposedLayout):
        offset = _offsets(index, layout.outer) + integer(layout.offset)
        if isinstance(layout.inner, Swizzle):
            return _swizzled(offset, check_swizzle(layout.inner))
        return offset if layout.inner is None else _offsets(offset, layout.inner)
    total, rest = index * 0, index
    flat = flat_modes(layout)
    for place, (extent, stride) in enumerate(flat):
        digit = rest if place == len(flat) - 1 else rest % extent
        total = total + digit * integer(stride)
        rest = rest // extent
    return total


def _swizzled(offset: Any, swizzle: Swizzle) -> Any:
    bits = offset & read_mask(swizzle)
    moved = bits >> swizzle.shift if swizzle.shift >= 0 else bits << -swizzle.shift
    return offset ^ (moved & change_mask(swizzle))
