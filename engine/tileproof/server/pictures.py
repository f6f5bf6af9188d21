"""A layout as a table of offsets, small enough for a page over the text."""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.layout import LayoutError, cosize, crd2idx, is_static_layout, rank, size
from tileproof.layout.basics import AnyLayout, get, get_shape, stride_of
from tileproof.layout.values import ComposedLayout, Layout, Swizzle, Value, show

_ROWS, _COLUMNS = 8, 16


def described(value: Value) -> list[str]:
    """Lines of Markdown on a value of the layout algebra: its size, cosize, shape and stride, and its first offsets."""
    if not isinstance(value, Layout | ComposedLayout):
        return [f"`{value if not isinstance(value, tuple) else show(value)}`", *_kind(value)]
    lines = [f"**layout** `{value}`", ""]
    lines += [f"- {name} {text}" for name, text in _facts(value)]
    table = list(_table(value)) if is_static_layout(value) else []
    return [*lines, "", "```text", *table, "```"] if table else lines


def _kind(value: Value) -> list[str]:
    if isinstance(value, Swizzle):
        if not value.bits:
            return ["", "swizzle: changes nothing"]
        source, target = value.base + max(value.shift, 0), value.base - min(value.shift, 0)
        bits = (f"{low + value.bits - 1}..{low}" for low in (source, target))
        return ["", "swizzle: offset bits {} are xored into bits {}".format(*bits)]
    return []


def _facts(layout: AnyLayout) -> Iterator[tuple[str, str]]:
    yield "shape : stride", f"`{show(get_shape(layout))} : {show(stride_of(layout))}`"
    for name, function in (("size", size), ("cosize", cosize)):
        try:
            yield name, f"`{function(layout)}`"
        except LayoutError:
            continue  # layouts of coordinates need not have one
    if isinstance(layout, ComposedLayout) and layout.inner is not None:
        yield "after", f"`{layout.inner}` of `{show(layout.offset)}` and the offset of `{layout.outer}`"


def _table(layout: AnyLayout) -> Iterator[str]:
    """Rows count through the first mode, columns through all others, the first of them fastest."""
    first = get(layout, (0,)) if rank(layout) > 1 else layout
    rows, all_of_it = size(first), size(layout)
    if not isinstance(rows, int) or not isinstance(all_of_it, int) or not rows or not all_of_it:
        return
    columns = all_of_it // rows
    if columns == 1 and rows > _ROWS:
        rows, columns = 1, rows
    shown, wide = min(rows, _ROWS), min(columns, _COLUMNS)
    try:
        cells = [[_cell(layout, i + rows * j) for j in range(wide)] for i in range(shown)]
    except LayoutError:
        return
    width = max(len(cell) for row in cells for cell in row)
    more = " ..." if columns > wide else ""
    for row in cells:
        yield " ".join(cell.rjust(width) for cell in row) + more
    if rows > shown:
        yield f"... {rows} x {columns} in all"


def _cell(layout: AnyLayout, index: int) -> str:
    return show(crd2idx(index, layout))
