"""A swizzle as a picture: the banks of each vector before and after it, and the conflicts of a warp's two accesses.

The lanes of a warp go along a row, or down a column, each with one vector, and on in the next row or column where one
ends. The hardware serves so many lanes together that they move a word of each bank at most; of these, those that need
different words of one bank are served one after the other. The degree is the most words of one bank that any group of
lanes needs: it is counted, not derived.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tileproof.base.records import dataclass
from tileproof.drawing.banks import Banks
from tileproof.drawing.palette import wheel
from tileproof.drawing.picture import COLUMNS, ROWS, Cell, NoPicture, Panel, Picture
from tileproof.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    Value,
    apply_swizzle,
    crd2idx,
    is_static_layout,
    show_value,
    size,
)
from tileproof.layout.basics import has_scaled_basis, modes
from tileproof.layout.swizzle import check_swizzle

_ROWS = 8  # of a swizzle without a layout
_WIDEST = 16  # bytes that a lane moves
_LARGEST = 4096  # bytes of a row of a swizzle without a layout

Grid = tuple[tuple[int, ...], ...]
"""The first byte of each vector, by row and column."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """The worst of the groups of lanes that are served together.

    Attributes:
        degree: the most words of one bank that it needs; 1 is free of conflicts.
        places: its vectors, by row and column.
    """

    degree: int
    places: frozenset[tuple[int, int]]


def conflict(grid: Grid, width: int, banks: Banks, down: bool) -> Conflict:
    """The worst conflict of lanes that go down the columns of a grid of vectors, or along its rows.

    Args:
        width: the bytes of a vector; one of those that ``banks`` knows.
    """
    together = banks.phase(width)
    assert together is not None
    height, length = len(grid), len(grid[0])
    order = [(row, column) for row in range(height) for column in range(length)]
    if down:
        order.sort(key=lambda at: (at[1], at[0]))
    worst = Conflict(1, frozenset(order[:together]))
    for start in range(0, len(order), together):
        words: dict[int, set[int]] = defaultdict(set)
        for row, column in order[start : start + together]:
            for byte in range(grid[row][column], grid[row][column] + width, banks.width):
                words[banks.of(byte)].add(byte // banks.width)
        degree = max(map(len, words.values()))
        if degree > worst.degree:
            worst = Conflict(degree, frozenset(order[start : start + together]))
    return worst


def picture_of(value: Value, bits: int, banks: Banks, vector: int | None = None, name: str = "") -> Picture:
    """The picture of a swizzle of byte addresses, or of a composed layout, whose swizzle is of elements.

    Args:
        bits: of an element.
        vector: the elements that a lane moves; None for 16 bytes, or as many as the rows have.

    Raises:
        NoPicture: the value has no swizzle, or is not a static layout of rows and columns; or no access is so wide.
    """
    if bits % 8:
        raise NoPicture(f"elements of {bits} bits are no whole bytes")
    layout: Layout | ComposedLayout
    on_bytes: Swizzle | None = None
    if isinstance(value, Swizzle):
        layout, on_bytes = _rows_of(value, bits), value
    elif isinstance(value, ComposedLayout) and isinstance(value.inner, Swizzle):
        layout = value
    else:
        raise NoPicture(
            f"{show_value(value)} has no swizzle: use one such as S<3,4,3>, or a layout such as S<3,3,3> o 0 o (8,64)"
        )
    outer = layout.outer if isinstance(layout, ComposedLayout) else layout
    if not is_static_layout(layout) or has_scaled_basis(outer) or len(modes(outer)) != 2:
        raise NoPicture(f"{layout} is not a static layout of rows and columns")
    run = _contiguous(outer)
    width, extents = _vector(outer, run, bits, banks, vector)
    before, after, cut = _bytes(layout, on_bytes, run, width, extents, bits)
    places = [conflict(grid, width, banks, down) for grid in (before, after) for down in (True, False)]
    notes = [f"each cell is the {width} bytes that one lane moves, with their banks; elements of {bits} bits"]
    notes += [
        f"{what}: {_said(places[i])} before, {_said(places[i + 2])} after"
        for i, what in enumerate(("lanes down a column", "lanes along a row"))
    ]
    if cut:
        notes.append(f"cut: {cut:,} vectors are not shown and not counted")
    worst = max(places[:2], key=lambda one: one.degree)
    if worst.degree > 1:
        notes.append(f"outlined: {len(worst.places)} lanes that are served together, which conflict before")
    marked = worst.places if worst.degree > 1 else frozenset()
    elements = 8 * width // bits
    panels = tuple(
        _panel(what, grid, width, banks, marked, (elements if run == 0 else 1, elements if run == 1 else 1))
        for what, grid in (("before", before), ("after", after))
    )
    legend = tuple((bank, str(bank)) for bank in range(banks.count))
    title = str(value)
    return Picture(f"{name} = {title}" if name else title, tuple(notes), panels, wheel(banks.count), legend, "bank")


def _rows_of(swizzle: Swizzle, bits: int) -> Layout:
    """Eight rows, each as wide as what the swizzle changes."""
    check_swizzle(swizzle)
    reach = min(max(swizzle.base + swizzle.bits - min(swizzle.shift, 0), 2), 62)
    columns = max(8 * (1 << reach) // bits, 1)
    if columns * bits // 8 > _LARGEST:
        raise NoPicture(f"{swizzle} changes bits far above a row: draw it in a layout, S<B,M,S> o 0 o SHAPE:STRIDE")
    return Layout((_ROWS, columns), (columns, 1))


def _contiguous(outer: Layout) -> int:
    """The mode along which elements are neighbours in memory."""
    steps = [crd2idx(1, mode) if size(mode) != 1 else 0 for mode in modes(outer)]
    return 0 if steps[0] == 1 and steps[1] != 1 else 1


def _vector(outer: Layout, run: int, bits: int, banks: Banks, vector: int | None) -> tuple[int, list[int]]:
    """The bytes that a lane moves, and the rows and columns of vectors."""
    extents = [int(str(size(mode))) for mode in modes(outer)]
    if vector is None:
        widths = [width for width, _ in banks.lanes if not 8 * width % bits and not extents[run] % (8 * width // bits)]
        width = max((one for one in widths if one <= _WIDEST), default=0)
    else:
        width = vector * bits // 8
    if banks.phase(width) is None:
        moved = f"{vector} elements of {bits} bits" if vector is not None else f"an element of {bits} bits"
        raise NoPicture(f"a lane moves {', '.join(str(one) for one, _ in banks.lanes)} bytes, not {moved}")
    count = 8 * width // bits
    if extents[run] % count:
        raise NoPicture(f"vectors of {count} elements do not divide the {extents[run]} elements along mode {run}")
    extents[run] //= count
    return width, extents


def _bytes(
    layout: Layout | ComposedLayout, on_bytes: Swizzle | None, run: int, width: int, extents: Sequence[int], bits: int
) -> tuple[Grid, Grid, int]:
    """The first byte of each vector before and after the swizzle, and how many vectors were left out.

    Raises:
        NoPicture: a vector is not contiguous, or begins before the memory.
    """
    count, size_of = 8 * width // bits, bits // 8
    plain = layout if isinstance(layout, Layout) else ComposedLayout(None, layout.offset, layout.outer)
    grids: list[list[tuple[int, ...]]] = [[], []]
    for row in range(min(extents[0], ROWS)):
        lines: list[list[int]] = [[], []]
        for column in range(min(extents[1], COLUMNS)):
            first = [row, column]
            first[run] *= count
            for i, place in enumerate((plain, layout)):
                at = [
                    int(str(crd2idx((first[0] + j * (run == 0), first[1] + j * (run == 1)), place))) * size_of
                    for j in range(count)
                ]
                if i == 1 and on_bytes is not None:
                    at = [int(str(apply_swizzle(on_bytes, one))) for one in at]
                if at != list(range(at[0], at[0] + width, size_of)) or at[0] % width:
                    when = ("before", "after")[i]
                    raise NoPicture(
                        f"the {width} bytes at ({first[0]},{first[1]}) are not contiguous {when} the swizzle"
                    )
                if at[0] < 0:
                    raise NoPicture(f"the layout reaches byte {at[0]}")
                lines[i].append(at[0])
        for grid, line in zip(grids, lines, strict=True):
            grid.append(tuple(line))
    shown = len(grids[0]) * len(grids[0][0])
    return tuple(grids[0]), tuple(grids[1]), extents[0] * extents[1] - shown


def _panel(
    what: str, grid: Grid, width: int, banks: Banks, marked: frozenset[tuple[int, int]], steps: tuple[int, int]
) -> Panel:
    cells = tuple(
        tuple(
            _cell((row * steps[0], column * steps[1]), byte, width, banks, (row, column) in marked)
            for column, byte in enumerate(line)
        )
        for row, line in enumerate(grid)
    )
    rows = tuple(str(row * steps[0]) for row in range(len(grid)))
    return Panel(what, rows, tuple(str(column * steps[1]) for column in range(len(grid[0]))), cells)


def _cell(at: tuple[int, int], byte: int, width: int, banks: Banks, marked: bool) -> Cell:
    first, last = banks.of(byte), banks.of(byte + width - 1)
    said = str(first) if first == last else f"{first}-{last}"
    where = f"byte {byte}" if width == 1 else f"bytes {byte} to {byte + width - 1}"
    noun = "bank" if first == last else "banks"
    return Cell((said,), first, f"({at[0]},{at[1]}) -> {where}, {noun} {said}", marked)


def _said(one: Conflict) -> str:
    return "no conflict" if one.degree == 1 else f"{one.degree}-way conflict"


__all__ = ["Conflict", "conflict", "picture_of"]
