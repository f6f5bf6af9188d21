"""Which kinds of values an operation takes and gives, in both generations of the dialect.

Only kinds of the algebra are judged: a tensor is listed where the dialect takes one, and any other type is let pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.dialects.values import Algebraic, Scalar, Tensor, Type
from tileproof.layout import LayoutError

_SHAPE, _STRIDE, _COORD, _INT, _TILE = ("shape",), ("stride",), ("coord",), ("int_tuple",), ("tile",)
_LAYOUTS = ("layout", "composed_layout")
_VIEWS = (*_LAYOUTS, "tensor")
_TILERS = ("layout", "shape", "tile")
_TUPLES = ("shape", "int_tuple", "coord", "stride")

_DIVIDES = ("logical_divide", "zipped_divide", "tiled_divide", "flat_divide")
_PRODUCTS = tuple(f"{name}_product" for name in ("logical", "zipped", "tiled", "flat", "blocked", "raked"))
_ARITHMETIC = tuple(f"tuple_{name}" for name in ("add", "sub", "mul", "div", "mod"))

_OPERANDS: dict[str, Sequence[Sequence[str]]] = {
    **dict.fromkeys(_DIVIDES, (_VIEWS, _TILERS)),
    **dict.fromkeys(_PRODUCTS, (_LAYOUTS, ("layout",))),
    **dict.fromkeys(_ARITHMETIC, ((*_INT, *_SHAPE), (*_INT, *_SHAPE))),
    "tuple_product": ((*_INT, *_SHAPE),),
    "tuple_product_each": ((*_INT, *_SHAPE),),
    "ceil_div": ((*_INT, *_SHAPE), (*_TILERS, *_INT)),
    "coalesce": (_VIEWS,),
    "composition": (_VIEWS, (*_LAYOUTS, "shape", "tile")),
    "complement": (("layout",),),
    "right_inverse": (_LAYOUTS,),
    "left_inverse": (("layout",),),
    "recast_layout": (_VIEWS,),
    "filter_zeros": (_VIEWS,),
    "group_modes": (_VIEWS,),
    "flatten": ((*_TUPLES, "tile", *_VIEWS),),
    "get": ((*_TUPLES, "tile", *_VIEWS),),
    "make_layout": (_SHAPE, _STRIDE),
    "make_layout_like": (_LAYOUTS,),
    "make_identity_layout": (_SHAPE,),
    "make_identity_tensor": (_SHAPE,),
    "make_composed_layout": (("layout", "swizzle"), _INT, ("layout",)),
    "idx2crd": (_INT, _SHAPE),
    "crd2idx": (_COORD, (*_LAYOUTS, *_SHAPE)),
    "increment_coord": (_COORD, _SHAPE),
    "elem_less": (("shape", "int_tuple", "coord"), ("shape", "int_tuple", "coord")),
    "to_shape": (_INT,),
    "to_stride": (_INT,),
    "to_coord": (_INT,),
    "to_int_tuple": ((*_TUPLES, "tile"),),
    "get_layouts_from_tile": (_TILE,),
}
_RESULTS: dict[str, Sequence[str]] = {
    "to_shape": _SHAPE,
    "to_stride": _STRIDE,
    "to_coord": _COORD,
    "to_int_tuple": _INT,
    "idx2crd": _COORD,
}
_DESCRIBED = {
    "shape": "Scalar integer or recursive tuple of shape extents",
    "stride": "Scalar or recursive tuple of stride elements",
    "coord": "Scalar integer, underscore wildcard, or recursive tuple of coordinates",
    "int_tuple": "Scalar integer or recursive tuple of integers",
}


def check_kinds(name: str, operands: Sequence[Type], declared: Sequence[Type]) -> None:
    """Nothing, where the operands and declared results are of kinds that the operation knows.

    Raises:
        LayoutError: in the words of the dialect, which one is not.
    """
    name = name.removeprefix("cute.")
    for index, (value, kinds) in enumerate(zip(operands, _OPERANDS.get(name, ()), strict=False)):
        _check(f"operand #{index}", value, kinds)
    if name in _RESULTS and declared:
        _check("result #0", declared[0], _RESULTS[name])


def _check(what: str, value: Type, kinds: Sequence[str]) -> None:
    kind = value.kind if isinstance(value, Algebraic) else "tensor" if isinstance(value, Tensor) else None
    if isinstance(value, Scalar) and not value.assumed and kinds == _INT:
        kind = str(value)
    if kind is not None and kind not in kinds:
        raise LayoutError(f"{what} must be {_described([k for k in kinds if k != 'tensor'])}, but got '{value}'")


def _described(kinds: Sequence[str]) -> str:
    if len(kinds) <= 2:
        return " or ".join(_DESCRIBED.get(kind, f"!cute.{kind}") for kind in kinds)
    *most, last = (f"!cute.{kind}" for kind in kinds)
    return f"{', '.join(most)}, or {last}"
