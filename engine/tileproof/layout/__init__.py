"""The CuTe layout algebra: pure functions on frozen values, no input or output."""

from tileproof.layout.values import (
    Basis,
    ComposedLayout,
    Dynamic,
    Layout,
    Swizzle,
    Tile,
    Tuple,
    Value,
    Wildcard,
    show,
    show_value,
)

__all__ = [
    "Basis",
    "ComposedLayout",
    "Dynamic",
    "Layout",
    "Swizzle",
    "Tile",
    "Tuple",
    "Value",
    "Wildcard",
    "show",
    "show_value",
]
