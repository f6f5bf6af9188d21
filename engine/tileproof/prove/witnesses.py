"""Coordinates, offsets and addresses as the user reads them."""

from __future__ import annotations

from tileproof.base.verdict import Known
from tileproof.layout import idx2crd, show
from tileproof.prove.maps import Map


def coordinate(what: Map, index: int) -> str:
    """The coordinate of an index of a static map, nested as its shape and printed as CuTe does."""
    return show(idx2crd(index, what.shape))  # type: ignore[arg-type]


def offset(what: Map, value: tuple[int, ...]) -> Known:
    """A value: an integer, or the coordinate that the components make up."""
    if what.axes == ((),):
        return value[0]
    return _nested(dict(zip(what.axes, value, strict=True)))


def _nested(parts: dict[tuple[int, ...], int]) -> str:
    if () in parts:
        return str(parts[()])
    rank = max(axis[0] for axis in parts) + 1
    inner = ({axis[1:]: v for axis, v in parts.items() if axis[0] == place} for place in range(rank))
    return "(" + ",".join(_nested(part) if part else "0" for part in inner) + ")"


def address(bits: int | tuple[int, ...]) -> Known:
    """A bit address in bytes; with the remaining bits inside a byte."""
    value = bits if isinstance(bits, int) else bits[0]
    return value // 8 if value % 8 == 0 else f"{value // 8} + {value % 8} bits"
