"""Who holds what of an operand: the thread and the value of each element, or the element of each thread and value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import prod

from tileproof.drawing.palette import wheel
from tileproof.drawing.picture import CELLS, COLUMNS, PANELS, ROWS, Cell, NoPicture, Panel, Picture
from tileproof.evaluate.fragments import FragmentOperand, Fragments
from tileproof.layout import LayoutError, crd2idx, crd2idx_many, size
from tileproof.layout.basics import modes

_HUES = 32  # threads of a warp
_LARGEST = 1 << 17  # pairs of a thread and a value

Holder = tuple[int, int]
"""A thread and a value."""


def picture_of(found: Fragments, operand: str, atom: str) -> Picture:
    """The picture of one operand of an atom.

    Raises:
        NoPicture: the atom has no such operand of which it is known who holds it, or it is too large.
    """
    one = found.operands.get(operand)
    if one is None:
        known = ", ".join(found.operands) or "none"
        raise NoPicture(f"who holds {operand} of the atom is not known; known operands: {known}")
    parts = modes(one.layout)
    threads, values = (int(str(size(part))) for part in parts) if len(parts) == 2 else (0, 0)
    if not 0 < threads * values <= _LARGEST:
        raise NoPicture(f"{one.layout} has too many threads and values to draw")
    try:
        elements = [int(place) for place in crd2idx_many(range(threads * values), one.flat)]
    except LayoutError as error:
        raise NoPicture(str(error)) from None
    numbers = [int(str(crd2idx(thread, found.threads))) for thread in range(threads)]
    notes = [
        f"{one.layout} from (thread, value)",
        f"{_counted(threads, 'thread')} with {_counted(values, 'value')} each",
    ]
    by_element = len(one.tile) >= 2
    panels = _by_element(one, elements, numbers) if by_element else (_by_thread(elements, numbers, values),)
    total = prod(one.tile) if by_element else threads * values
    shown = sum(len(panel.rows) * len(panel.columns) for panel in panels)
    if shown < total:
        notes.append(f"cut: {total - shown:,} of {total:,} {'elements' if by_element else 'values'} are not shown")
    title = f"{operand} of {atom}"
    notes.append(
        "each cell is an element, with the thread T and the value V of that thread that hold it"
        if by_element
        else "each cell is a value of a thread, with the number of the element that it holds"
    )
    return Picture(title, tuple(notes), panels, wheel(_HUES))


def _by_element(one: FragmentOperand, elements: Sequence[int], numbers: Sequence[int]) -> tuple[Panel, ...]:
    """The elements of a tile, with those who hold them."""
    holders: dict[int, list[Holder]] = defaultdict(list)
    for pair, place in enumerate(elements):
        value, thread = divmod(pair, len(numbers))
        holders[place].append((numbers[thread], value))
    rows, columns = min(one.tile[0], ROWS), min(one.tile[1], COLUMNS)
    panels = []
    for panel in range(min(prod(one.tile[2:]), PANELS, max(1, CELLS // (rows * columns)))):
        first = panel * one.tile[0] * one.tile[1]
        cells = tuple(
            tuple(
                _element((row, column), sorted(holders[first + row + one.tile[0] * column]))
                for column in range(columns)
            )
            for row in range(rows)
        )
        title = f"content {panel}" if len(one.tile) > 2 else ""
        panels.append(Panel(title, tuple(map(str, range(rows))), tuple(map(str, range(columns))), cells))
    return tuple(panels)


def _element(at: tuple[int, int], held: list[Holder]) -> Cell:
    if not held:
        return Cell(("-",), None, f"({at[0]},{at[1]}) is not held")
    threads = ranges(sorted({thread for thread, _ in held}))
    values = ranges(sorted({value for _, value in held}))
    said = f"({at[0]},{at[1]}) -> T{threads} V{values}"
    return Cell((f"T{threads}", f"V{values}"), held[0][0] % _HUES, said)


def _by_thread(elements: Sequence[int], numbers: Sequence[int], values: int) -> Panel:
    """The values of each thread, with the elements that they hold."""
    threads = len(numbers)
    rows, columns = min(threads, ROWS), min(values, COLUMNS)
    cells = tuple(
        tuple(
            Cell(
                (str(elements[row + threads * column]),),
                numbers[row] % _HUES,
                f"T{numbers[row]} V{column} -> element {elements[row + threads * column]}",
            )
            for column in range(columns)
        )
        for row in range(rows)
    )
    names = tuple(f"T{numbers[row]}" for row in range(rows))
    return Panel("", names, tuple(f"V{i}" for i in range(columns)), cells, "thread", "value")


def ranges(values: Sequence[int]) -> str:
    """``0-3,8``; of more than two runs the first, and how many values there are."""
    runs: list[list[int]] = []
    for one in values:
        if runs and runs[-1][-1] == one - 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    said = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return ",".join(said) if len(said) <= 2 else f"{said[0]},..x{len(values)}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + "s" * (count != 1)


__all__ = ["picture_of", "ranges"]
