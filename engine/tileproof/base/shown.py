"""What a notebook shows of a value.

It looks for methods of the value itself, while the rooms that draw lie above those that own the values: so they are
named here, and imported when a notebook asks.
"""

from __future__ import annotations

from importlib import import_module


def drawn(value: object, form: str) -> str | None:
    """The picture of a layout, as ``svg`` or ``html``; None where it has none."""
    found: str | None = getattr(import_module("tileproof.drawing.notebook"), form)(value)
    return found


def described(value: object) -> str:
    """A finding, or a report, as HTML."""
    found: str = import_module("tileproof.report.html").fragment(value)
    return found
