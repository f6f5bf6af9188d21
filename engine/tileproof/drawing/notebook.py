"""What notebooks show of a value."""

from __future__ import annotations

from tileproof.drawing.grids import to_svg
from tileproof.drawing.layouts import picture_of
from tileproof.drawing.picture import NoPicture
from tileproof.layout import ComposedLayout, Layout, LayoutError


def svg(value: Layout | ComposedLayout) -> str | None:
    """The picture of a layout; None where it has none, so that the notebook shows its text."""
    try:
        return to_svg(picture_of(value))
    except (LayoutError, NoPicture):
        return None


def html(value: Layout | ComposedLayout) -> str | None:
    """The same in a box that scrolls; None where there is none."""
    drawn = svg(value)
    return None if drawn is None else f'<div style="overflow-x:auto">{drawn}</div>'
