"""What a layout, a stride or a swizzle must satisfy beyond its syntax, in the words of the dialect's own parser.

Both generations want one profile of shape and stride, and positive extents. The published one wants more of strides and
swizzles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tileproof.base.patterns import regex
from tileproof.layout.errors import LayoutError
from tileproof.layout.tuples import add, congruent, has_basis, leaves, weakly_congruent
from tileproof.layout.values import Basis, ComposedLayout, Dynamic, Layout, Swizzle, Tile, Tuple, Value, show

_OFFSET_BITS = 32
_ERROR_LEAF = regex(r"\bx\b")


def malformed(kind: str, value: Value, published: bool) -> str | None:
    """The parser's complaint about a value of a kind (``layout``, ``stride``, ...), or None.

    Args:
        published: whether the text is of the published generation.
    """
    for part in _parts(value):
        match part:
            case Layout(shape, stride):
                if not congruent(shape, stride):
                    said = f"shape {show(shape)} and stride {show(stride)} have different profiles"
                    return f'expects no error(`x`) in layout, but got "x:x": {said}'
                if not all(isinstance(extent, int | Dynamic) for extent in leaves(shape)):
                    return f'failed to parse layout from "{part}": an extent is an integer'
                if not all(isinstance(step, int | Dynamic | Basis) for step in leaves(stride)):
                    return f'failed to parse layout from "{part}": a stride is an integer or a scaled basis'
                if any(isinstance(extent, int) and extent <= 0 for extent in leaves(shape)):
                    return f'expects positive shape mode, but got "{part}"'
                if published and (complaint := _strides(stride)) is not None:
                    return complaint
            case ComposedLayout() if published and (complaint := _composed(part)) is not None:
                return complaint
            case Swizzle() if published and not _fits(part):
                return f'failed to parse swizzle from "{part}"'
    if kind == "stride" and published and not isinstance(value, Layout | ComposedLayout | Swizzle | Tile):
        return _strides(value)
    return None


def with_error(text: str) -> str | None:
    """The complaint about a layout that does not parse because the algebra printed an error, ``x``, into it."""
    return f'expects no error(`x`) in layout, but got "{text}"' if _ERROR_LEAF.search(text) else None


def _parts(value: Value) -> Iterator[Value]:
    """The value and all values of the algebra in it."""
    yield value
    match value:
        case Tile(modes):
            for mode in modes:
                yield from _parts(mode)
        case ComposedLayout(inner, _, outer):
            yield outer
            if inner is not None:
                yield inner


def _fits(swizzle: Swizzle) -> bool:
    """Does the swizzle read and change different bits, all inside an offset?"""
    reach = swizzle.bits + swizzle.base + abs(swizzle.shift)
    return abs(swizzle.shift) >= swizzle.bits and reach <= _OFFSET_BITS


def _composed(layout: ComposedLayout) -> str | None:
    """What is wrong with an offset between an inner part and an outer layout."""
    inner, offset, outer = layout.inner, layout.offset, layout.outer
    if (inner is None or (isinstance(inner, Swizzle) and inner.bits == 0)) and offset == 0:
        return (
            "expects a non-trivial composed layout (with swizzle bits or non-zero offset); "
            f'use `!cute.layout` for trivial wraps, but got "{layout}"'
        )
    if (complaint := _strides(outer.stride)) is not None:
        return complaint
    start = _start(outer.stride)
    if isinstance(inner, Swizzle) and (has_basis(outer.stride) or isinstance(offset, tuple) or has_basis(offset)):
        return (
            "swizzle layout expects scalar `offset` and `outer` without scaled basis, "
            f"but got {show(offset)} and {outer}"
        )
    try:
        total = add(offset, start)
    except LayoutError:
        return f"expects offset and `layout_eval(0, outer)` to be addable, but got {show(offset)} and {show(start)}"
    if isinstance(inner, Layout) and isinstance(total, tuple) and not weakly_congruent(total, inner.shape):
        return (
            "expects arith sum of `layout_eval(0, outer)` and `offset` to be scalar or weakly congruent to inner shape"
            f", but got sum {show(total)} and inner shape {show(inner.shape)}"
        )
    return None


def _start(stride: Tuple) -> Tuple:
    """Where coordinate 0 leads: 0, or a coordinate of zeros as deep as the scaled bases reach."""
    paths = [tuple(reversed(leaf.path)) for leaf in leaves(stride) if isinstance(leaf, Basis)]
    return _zeros(paths)


def _zeros(paths: Sequence[tuple[int, ...]]) -> Tuple:
    inside = [path for path in paths if path]
    if not inside:
        return 0
    modes = 1 + max(path[0] for path in inside)
    return tuple(_zeros([path[1:] for path in inside if path[0] == mode]) for mode in range(modes))


def _strides(stride: Tuple) -> str | None:
    """What is wrong with strides as a whole: they lead to offsets or to coordinates, and to leaves of these."""
    bases = [leaf for leaf in leaves(stride) if isinstance(leaf, Basis)]
    if any(not isinstance(leaf.value, int | Dynamic) for leaf in bases):
        return f'expects scaled-basis strides to have integer values, not ratios, but got "{show(stride)}"'
    if bases and any(leaf != 0 and not isinstance(leaf, Basis) for leaf in leaves(stride)):
        return (
            "expects strides to be either all-integer or all-scaled-basis (zero integers allowed when mixed), "
            f'but got "{show(stride)}"'
        )
    paths = {tuple(reversed(leaf.path)) for leaf in bases}
    if any(path[:length] in paths for path in paths for length in range(len(path))):
        return (
            "expects scaled-basis paths to agree on mode-index depth "
            f'(no path may terminate at a node that another path continues through), but got "{show(stride)}"'
        )
    return None
