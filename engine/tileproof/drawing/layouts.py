"""A layout as a picture: the offset of each coordinate, rows by columns, with panels for modes after the second."""

from __future__ import annotations

from math import prod

from tileproof.drawing.banks import Banks
from tileproof.drawing.palette import Palette, ramp, wheel
from tileproof.drawing.picture import CELLS, COLUMNS, PANELS, ROWS, Cell, NoPicture, Panel, Picture
from tileproof.layout import ComposedLayout, Layout, Tuple, Value, crd2idx, idx2crd, is_static_layout, show, show_value
from tileproof.layout import size as size_of
from tileproof.layout.basics import modes, outer
from tileproof.layout.values import Swizzle

_STEPS = 24  # of the colours of offsets
_WRAPPED = 32  # columns of a layout of one mode
_LONGEST = 110  # characters of a layout in a title


def picture_of(
    value: Value, colour: str = "offset", bits: int | None = None, banks: Banks | None = None, name: str = ""
) -> Picture:
    """The picture of a layout.

    Args:
        colour: ``offset``, ``bank`` or ``none``.
        bits: of an element; with ``banks`` they say in which byte and bank an element is.
        name: of the layout, for the title.

    Raises:
        NoPicture: it is no layout, or dynamic.
    """
    if isinstance(value, Swizzle):
        raise NoPicture(f"{value} is a swizzle: `tileproof draw swizzle` draws it")
    if not isinstance(value, Layout | ComposedLayout):
        raise NoPicture(f"{_short(show_value(value))} is no layout, which has a shape and strides")
    if not is_static_layout(value):
        raise NoPicture(f"{_short(str(value))} has dynamic leaves: only a static layout has a picture")
    return _Drawing(value, colour, bits, banks).picture(name)


class _Drawing:
    """The layout with what it is coloured by."""

    def __init__(self, value: Layout | ComposedLayout, colour: str, bits: int | None, banks: Banks | None) -> None:
        self.value, self.colour, self.bits, self.banks = value, colour, bits, banks
        parts = modes(outer(value))
        self.one_mode = len(parts) < 2
        self.extents = [int(str(size_of(part))) for part in parts]
        self.shapes: list[Tuple] = [part.shape for part in parts]
        self.low, self.high = 0, 0

    def picture(self, name: str) -> Picture:
        notes = []
        total = prod(self.extents)
        if self.one_mode:
            columns = min(total, _WRAPPED)
            sizes = [-(-total // columns), columns]
        else:
            sizes = self.extents
        rows, columns = min(sizes[0], ROWS), min(sizes[1], COLUMNS)
        panels = min(prod(sizes[2:]), PANELS, max(1, CELLS // (rows * columns)))
        found = self._offsets(rows, columns, panels, total)
        shown = [offset for panel in found for row in panel for offset in row if offset is not None]
        if cut := total - len(shown):
            notes.append(f"cut: {cut:,} of {total:,} elements are not shown")
        numbers = [one for one in shown if isinstance(one, int)]
        self.low, self.high = min(numbers, default=0), max(numbers, default=0)
        coloured = self.colour if numbers else "none"
        if coloured == "bank" and (self.banks is None or self.bits is None):
            raise NoPicture("colours by bank require the type of an element: --element")
        drawn = tuple(self._panel(panel, number, columns, coloured) for number, panel in enumerate(found))
        notes.insert(0, self._said(shown, total))
        return Picture(
            _short(f"{name} = {self.value}" if name else str(self.value)),
            tuple(notes),
            drawn,
            self._palette(coloured),
            self._legend(coloured),
            {"bank": "bank", "offset": "offset"}.get(coloured, ""),
        )

    def _offsets(self, rows: int, columns: int, panels: int, total: int) -> list[list[list[Tuple | None]]]:
        """What each coordinate maps to, panel by panel; None behind the end of a layout of one mode."""
        found: list[list[list[Tuple | None]]] = []
        for panel in range(panels):
            grid: list[list[Tuple | None]] = []
            for row in range(rows):
                at = [self._coordinate(row, column, panel) for column in range(columns)]
                inside = [not self.one_mode or int(str(one)) < total for one in at]
                grid.append([crd2idx(one, self.value) if here else None for one, here in zip(at, inside, strict=True)])
            found.append(grid)
        return found

    def _coordinate(self, row: int, column: int, panel: int) -> Tuple:
        """One integer a mode, or one for all where there is one mode."""
        if self.one_mode:
            return row * min(prod(self.extents), _WRAPPED) + column
        rest: list[Tuple] = []
        for extent in self.extents[2:]:
            panel, digit = divmod(panel, extent)
            rest.append(digit)
        return (row, column, *rest)

    def _panel(self, grid: list[list[Tuple | None]], number: int, columns: int, coloured: str) -> Panel:
        rest = self._coordinate(0, 0, number)
        title = f"(_,_,{','.join(map(show, rest[2:]))})" if isinstance(rest, tuple) and len(rest) > 2 else ""
        cells = tuple(
            tuple(
                None if offset is None else self._cell(self._coordinate(row, column, number), offset, coloured)
                for column, offset in enumerate(line)
            )
            for row, line in enumerate(grid)
        )
        heads = [str(row * columns if self.one_mode else row) for row in range(len(grid))]
        return Panel(title, tuple(heads), tuple(map(str, range(columns))), cells)

    def _cell(self, at: Tuple, offset: Tuple, coloured: str) -> Cell:
        said = f"{self._told(at)} -> {show(offset)}"
        hue = None
        if isinstance(offset, int):
            if self.bits is not None:
                byte = offset * self.bits // 8
                said += f", byte {byte}" if offset * self.bits % 8 == 0 else f", byte {offset * self.bits / 8:g}"
                if self.banks is not None:
                    said += f", bank {self.banks.of(byte)}"
                    hue = self.banks.of(byte) if coloured == "bank" else None
            if coloured == "offset":
                hue = self._step(offset)
        return Cell((show(offset),), hue, said)

    def _told(self, at: Tuple) -> str:
        """A coordinate, and what it is in the modes of the layout where these are finer."""
        shapes: Tuple = tuple(self.shapes) if not self.one_mode else outer(self.value).shape
        natural = idx2crd(at, shapes)
        return show(at) if natural == at else f"{show(at)} = {show(natural)}"

    def _step(self, offset: int) -> int:
        return (offset - self.low) * (_STEPS - 1) // max(self.high - self.low, 1)

    def _palette(self, coloured: str) -> Palette:
        return wheel(self.banks.count) if coloured == "bank" and self.banks is not None else ramp(_STEPS)

    def _legend(self, coloured: str) -> tuple[tuple[int, str], ...]:
        if coloured == "bank" and self.banks is not None:
            return tuple((bank, str(bank)) for bank in range(self.banks.count))
        if coloured == "offset" and self.high > self.low:
            ends = sorted({self.low + (self.high - self.low) * i // 4 for i in range(5)})
            return tuple((self._step(one), str(one)) for one in ends)
        return ()

    def _said(self, shown: list[Tuple], total: int) -> str:
        parts = [f"size {total:,}"]
        numbers = [one for one in shown if isinstance(one, int)]
        if numbers and len(numbers) == total:
            parts.append(f"offsets {self.low:,} to {self.high:,}")
            distinct = len(set(numbers))
            if distinct < total:
                parts.append(f"{distinct:,} distinct: some elements share an offset")
            elif self.high - self.low + 1 == total:
                parts.append("compact: each once")
            else:
                parts.append(f"{self.high - self.low + 1 - total:,} offsets between them unused")
        if self.bits is not None:
            parts.append(f"elements of {self.bits} bits")
        return ", ".join(parts)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


__all__ = ["picture_of"]
