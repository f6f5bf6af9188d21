"""Pictures of cells as SVG, and as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from tileproof.base.records import dataclass
from tileproof.drawing import svg
from tileproof.drawing.picture import PANELS, Arrow, Cell, Panel, Picture

_MARGIN, _GAP, _LINE = 20.0, 28.0, 14.0
_GUTTER = 84.0  # for an arrow and its label
_WIDEST = 1600.0  # panels are put beside each other up to here


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line for a terminal.

    Attributes:
        hue: the number of its background; None for none.
        strong: whether it stands out.
    """

    text: str
    hue: int | None = None
    strong: bool = False


Line = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class _Shape:
    """The measures of a panel, in units of the picture.

    Attributes:
        edges: where each column begins, and the last one ends, from the first.
        cell: the height of one.
    """

    edges: tuple[float, ...]
    cell: float
    left: float
    top: float
    width: float
    height: float


def to_svg(picture: Picture, number: int = 0) -> str:
    """The picture as an SVG document.

    Args:
        number: of the picture among those of one page.
    """
    parts: list[str] = []
    y = _MARGIN + 12
    parts.append(svg.text(_MARGIN, y, picture.title, "name"))
    for note in picture.notes:
        y += 18
        parts.append(svg.text(_MARGIN, y, note, "note"))
    y += 14
    wide = max((len(said) * w for said, w in [(picture.title, 8.6), *((n, 6.4) for n in picture.notes)]), default=0.0)
    x, right, below = _MARGIN, _MARGIN + wide, y
    for place, panel in enumerate(picture.panels, PANELS * number):
        shape = _measured(panel)
        if x > _MARGIN and x + shape.width > _WIDEST:
            x, y = _MARGIN, below + _GAP
        parts.append(_panel(panel, shape, place, x, y))
        right, below = max(right, x + shape.width), max(below, y + shape.height)
        x += shape.width + _GAP
    y = below + 22
    if picture.legend:
        drawn, reach, y = _legend(picture, y, max(right, 480.0))
        parts.append(drawn)
        right = max(right, reach)
    used = {cell.hue for panel in picture.panels for cell in panel.all_cells() if cell.hue is not None}
    used |= {hue for hue, _ in picture.legend}
    said = ". ".join((picture.title, *picture.notes))
    return svg.document(said, right + _MARGIN, y + _MARGIN - 8, picture.palette, used, "".join(parts))


def _measured(panel: Panel) -> _Shape:
    heights = max((len(cell.lines) for cell in panel.all_cells()), default=1)
    wide = [_width(panel, i) for i in range(len(panel.columns))]
    if not panel.tabular:
        wide = [max(wide, default=0.0)] * len(wide)
    left = 14 + 6.1 * max(map(len, panel.rows), default=0) + _GUTTER * len(panel.arrows)
    top = 38.0 if panel.title else 26.0
    edges = tuple(accumulate(wide, initial=0.0))
    high = 9 + 13.0 * heights
    return _Shape(
        edges, high, left, top, max(left + edges[-1] + 10, 7.4 * len(panel.title)), top + high * len(panel.rows)
    )


def _width(panel: Panel, column: int) -> float:
    """The width of a column."""
    lines = [len(line) for row in panel.cells if (cell := row[column]) is not None for line in cell.lines]
    return max(26.0, 8 + svg.CHARACTER * max(lines, default=1), 6 + 6.1 * len(panel.columns[column]))


def _panel(panel: Panel, shape: _Shape, number: int, x: float, y: float) -> str:
    edges, high = shape.edges, shape.cell
    middles = [(a + b) / 2 for a, b in pairwise(edges)]
    left, top = x + shape.left, y + shape.top
    parts = [svg.text(x, y + 12, panel.title, "head")] if panel.title else []
    parts += [svg.text(left + at, top - 6, name, "axis mid") for at, name in zip(middles, panel.columns, strict=True)]
    parts += [
        svg.text(left - 6 - _GUTTER * len(panel.arrows), top + high * (i + 0.5) + 3.5, name, "axis end")
        for i, name in enumerate(panel.rows)
    ]
    for at in middles if panel.guides else ():
        line = f"M{svg.number(left + at)} {svg.number(top)}V{svg.number(top + high * len(panel.rows))}"
        parts.append(svg.element("path", d=line, class_="rule"))
    for row, cells in enumerate(panel.cells):
        for column, cell in enumerate(cells):
            if cell is not None:
                place, wide = f"{number},{row},{column}", edges[column + 1] - edges[column]
                parts.append(_cell(cell, left + edges[column], top + high * row, wide, high, place))
    for i, one in enumerate(panel.arrows):
        parts.append(_arrow(one, left, top, shape, left - 12 - _GUTTER * i))
    return "".join(parts)


def _arrow(one: Arrow, left: float, top: float, shape: _Shape, gutter: float) -> str:
    """An arrow between rows, by way of a gutter left of the cells, or along a row, below its text."""
    edges, high = shape.edges, shape.cell
    (row, column), (to_row, to_column) = one.start, one.end
    if row == to_row:
        y = top + high * (row + 1) - 2
        line = svg.arrow([(left + edges[column] + 8, y), (left + edges[to_column] + 4, y)])
        return line + svg.text(left + edges[to_column] + 4, y + 12, one.label, "said")
    first, last = top + high * (row + 0.5), top + high * (to_row + 0.5)
    ends = left + edges[column] + 1, left + edges[to_column] + 1
    line = svg.arrow([(ends[0], first), (gutter, first), (gutter, last), (ends[1], last)])
    return line + svg.text(gutter - 5, (first + last) / 2 + 4, one.label, "said end")


def _cell(cell: Cell, x: float, y: float, wide: float, high: float, at: str) -> str:
    kind = ("plain" if cell.hue is None else f"h{cell.hue}") + (" bad" if cell.marked else "")
    first = y + high / 2 + 4 - 6.5 * (len(cell.lines) - 1)
    return svg.element(
        "g",
        svg.element("title", svg.escape(cell.says)),
        svg.element("rect", x=x + 0.5, y=y + 0.5, width=wide - 1, height=high - 1, rx=2.5, class_=kind),
        *(svg.text(x + wide / 2, first + 13 * i, line, "mid") for i, line in enumerate(cell.lines)),
        class_="cell",
        data_at=at,
    )


def _legend(picture: Picture, y: float, right: float) -> tuple[str, float, float]:
    """The legend, as far as it reaches to the right, and where it ends below."""
    x, reach = _MARGIN + 6.6 * len(picture.legend_name) + 10, 0.0
    start = x
    parts = [svg.text(_MARGIN, y + 12, picture.legend_name, "note")]
    for hue, name in picture.legend:
        wide = max(18.0, 8 + svg.CHARACTER * len(name))
        if x + wide > right and x > start:
            x, y = start, y + 20
        parts.append(svg.element("rect", x=x, y=y, width=wide - 1, height=17, rx=2.5, class_=f"h{hue}"))
        parts.append(svg.text(x + wide / 2, y + 12.5, name, "mid"))
        x += wide
        reach = max(reach, x)
    return "".join(parts), reach, y + 20


def to_text(picture: Picture) -> Iterator[Line]:
    """The picture as lines for a terminal."""
    yield (Span(picture.title, strong=True),)
    for note in picture.notes:
        yield (Span(note),)
    for panel in picture.panels:
        yield ()
        if panel.title:
            yield (Span(panel.title, strong=True),)
        yield from _text_panel(panel)
        for arrow in panel.arrows:
            yield (Span(f"{arrow.label}: {_at(panel, arrow.start)} to {_at(panel, arrow.end)}"),)


def _at(panel: Panel, where: tuple[int, int]) -> str:
    return f"{panel.down} {panel.rows[where[0]]}, {panel.across} {panel.columns[where[1]]}"


def _text_panel(panel: Panel) -> Iterator[Line]:
    joined = [[None if cell is None else " ".join(cell.lines) for cell in row] for row in panel.cells]
    wide = [1 + max(len(name), *(len(row[i] or "") for row in joined), 0) for i, name in enumerate(panel.columns)]
    if not (panel.guides or panel.tabular):
        wide = [max(wide, default=1)] * len(wide)
    left = max(map(len, panel.rows), default=0)
    heads = (name.rjust(one) for name, one in zip(panel.columns, wide, strict=True))
    yield (Span(" " * left + "".join(heads)),)
    for name, row, cells in zip(panel.rows, joined, panel.cells, strict=True):
        yield (Span(name.rjust(left)), *_text_row(row, cells, wide))


def _text_row(said: Sequence[str | None], cells: Sequence[Cell | None], wide: Sequence[int]) -> Iterator[Span]:
    for one, cell, width in zip(said, cells, wide, strict=True):
        if one is None or cell is None:
            yield Span(" " * width)
        else:
            yield Span(" ")
            yield Span(one.rjust(width - 1), cell.hue, cell.marked)
