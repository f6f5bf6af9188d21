"""A picture of cells: panels of rows and columns, in which each cell says what it is."""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.base.records import dataclass
from tileproof.drawing.palette import Palette

ROWS, COLUMNS, PANELS, CELLS = 64, 64, 16, 8192
"""The most rows and columns of a panel, panels, and cells of a picture."""


class NoPicture(ValueError):
    """There is nothing to draw, or not of this; the message says why in one sentence."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell.

    Attributes:
        lines: what stands in it.
        hue: the number of its colour; None for none.
        says: all that is known of it, on one line.
        marked: whether it is outlined.
    """

    lines: tuple[str, ...]
    hue: int | None
    says: str
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow between two cells of a panel, by row and column, with what it is."""

    start: tuple[int, int]
    end: tuple[int, int]
    label: str


@dataclass(frozen=True, slots=True)
class Panel:
    """Rows of cells; None where there is none.

    Attributes:
        down, across: what the rows and the columns count.
        guides: whether lines join the cells of a column, as those of a timeline.
        tabular: whether each column is as wide as it needs to be.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell | None, ...], ...]
    down: str = "row"
    across: str = "column"
    arrows: tuple[Arrow, ...] = ()
    guides: bool = False
    tabular: bool = False

    def all_cells(self) -> Iterator[Cell]:
        """Its cells, row by row."""
        return (cell for row in self.cells for cell in row if cell is not None)


@dataclass(frozen=True, slots=True)
class Picture:
    """Panels in one palette.

    Attributes:
        notes: sentences below the title: what is shown, what was left out, what follows.
        legend: colours, and what they mean.
    """

    title: str
    notes: tuple[str, ...]
    panels: tuple[Panel, ...]
    palette: Palette
    legend: tuple[tuple[int, str], ...] = ()
    legend_name: str = ""
