"""PTX that fills shared memory through a layout: element by element, by the threads of a block."""

from __future__ import annotations

from math import prod

from tileproof.layout import ComposedLayout, Layout, Swizzle, flatten, size
from tileproof.layout.swizzle import read_mask

THREADS = 128


class NotStatic(ValueError):
    """A layout that no kernel can be written for: dynamic, or of elements that fill no whole bytes."""


def fill(source: str, offset: int, layout: Layout | ComposedLayout, bits: int, label: str) -> list[str]:
    """Lines that copy a dense array into ``operands``, element i of it to the offset of i in the layout.

    Args:
        source: the 64-bit register with the address of the array in global memory.
        offset: of the operand in shared memory, in bytes.
        label: a prefix of the labels, unlike those of other fills.

    Raises:
        NotStatic: see there.
    """
    if bits % 8:
        raise NotStatic(f"elements of {bits} bits are not whole bytes")
    shape, stride = _modes(layout.outer if isinstance(layout, ComposedLayout) else layout)
    count = prod(shape)
    bytes_ = bits // 8
    lines = [
        "{",
        ".reg .b32 i, part, rest, to, place;",
        ".reg .b64 at;",
        f".reg .b{max(bits, 16)} element;",
        ".reg .pred more;",
        "mov.u32 i, %tid.x;",
        f"{label}:",
        f"setp.ge.u32 more, i, {count};",
        f"@more bra {label}_end;",
        "mov.u32 rest, i;",
        "mov.u32 to, 0;",
    ]
    for extent, step in zip(shape, stride, strict=True):
        lines += [
            f"rem.u32 part, rest, {extent};",
            f"div.u32 rest, rest, {extent};",
            f"mad.lo.u32 to, part, {step}, to;",
        ]
    lines += _swizzled(layout)
    lines += [
        f"mad.wide.u32 at, i, {bytes_}, {source};",
        f"ld.global.b{bits} element, [at];",
        f"mul.lo.u32 to, to, {bytes_};",
        "mov.u32 place, operands;",
        f"add.u32 place, place, {offset};",
        "add.u32 place, place, to;",
        f"st.shared.b{bits} [place], element;",
        f"add.u32 i, i, {THREADS};",
        f"bra {label};",
        f"{label}_end:",
        "}",
    ]
    return lines


def _modes(layout: Layout) -> tuple[list[int], list[int]]:
    """The extents and strides of a static layout, one by one."""
    flat = flatten(layout)
    assert isinstance(flat, Layout)
    shape = flat.shape if isinstance(flat.shape, tuple) else (flat.shape,)
    stride = flat.stride if isinstance(flat.stride, tuple) else (flat.stride,)
    if not all(isinstance(leaf, int) for leaf in (*shape, *stride)) or not isinstance(size(layout), int):
        raise NotStatic(f"{layout} is not static")
    return [int(str(leaf)) for leaf in shape], [int(str(leaf)) for leaf in stride]


def _swizzled(layout: Layout | ComposedLayout) -> list[str]:
    """The swizzle of element offsets in ``to``: some bits xored into others."""
    if isinstance(layout, Layout):
        return []
    swizzle, offset = layout.inner, layout.offset
    if not isinstance(swizzle, Swizzle) or not isinstance(offset, int):
        raise NotStatic(f"{layout} is not a static layout with a swizzle")
    move = "shr.u32" if swizzle.shift >= 0 else "shl.b32"
    return [
        f"add.u32 to, to, {offset};",
        f"and.b32 part, to, {read_mask(swizzle)};",
        f"{move} part, part, {abs(swizzle.shift)};",
        "xor.b32 to, to, part;",
    ]
