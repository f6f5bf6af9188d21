"""Uses of the published operations: one of each that conforms, and one of each condition that does not.

A type is its kind and its text: ``layout (4,2):(1,4)``. Each use has the operands, the attributes of the generic form, and
the declared results.
"""

from __future__ import annotations

Use = tuple[str, str, str]

_PRODUCTS = tuple(f"cute.{name}_product" for name in ("logical", "zipped", "tiled", "flat", "raked", "blocked"))
_DIVIDES = tuple(f"cute.{name}_divide" for name in ("logical", "zipped", "tiled", "flat"))
_RANKS = ("cute.append_to_rank", "cute.prepend_to_rank")
_SUMS = ("cute.tuple_add", "cute.tuple_sub")
_TILED = "layout (2,2):(1,2); shape (4,4)"
_L = "layout (4,2):(1,4)"
_SWIZZLED = "composed_layout S<2,4,3> o 0 o (8,8):(8,1)"
_AFFINE = "composed_layout (16):(2) o 0 o (4,2):(1,4)"

CONFORMING: dict[str, Use] = {
    "cute.print": (_L, "", ""),
    "cute.make_layout": ("shape (4,2); stride (1,4)", "", _L),
    "cute.make_composed_layout": ("swizzle S<2,4,3>; int_tuple 0; layout (8,8):(8,1)", "", _SWIZZLED),
    "cute.make_layout_like": (_L, "", _L),
    "cute.make_ordered_layout": ("shape (4,2); int_tuple (0,1)", "", _L),
    "cute.make_identity_layout": ("shape (4,2)", "", "layout (4,2):(1@0,1@1)"),
    "cute.get_shape": (_L, "", "shape (4,2)"),
    "cute.get_stride": (_L, "", "stride (1,4)"),
    "cute.composed_get_inner": (_SWIZZLED, "", "swizzle S<2,4,3>"),
    "cute.composed_get_offset": (_SWIZZLED, "", "int_tuple 0"),
    "cute.composed_get_outer": (_SWIZZLED, "", "layout (8,8):(8,1)"),
    "cute.get_leaves": ("shape (4,2)", "", "shape 4; shape 2"),
    "cute.get_scalars": ("shape (4,?)", "", "i32"),
    "cute.get": (_L, "mode = array<i32: 1>", "layout 2:4"),
    "cute.select": (_L, "mode = array<i32: 1>", "layout (2):(4)"),
    "cute.to_int_tuple": ("shape (4,2)", "", "int_tuple (4,2)"),
    "cute.to_shape": ("int_tuple (4,2)", "", "shape (4,2)"),
    "cute.to_stride": ("int_tuple (4,2)", "", "stride (4,2)"),
    "cute.to_coord": ("int_tuple (4,2)", "", "coord (4,2)"),
    "cute.get_layouts_from_tile": ("tile [4:1;2:1]", "", "layout 4:1; layout 2:1"),
    "cute.composition": (f"{_L}; layout 4:2", "", "layout 4:2"),
    "cute.coalesce": ("layout (4,2):(1,4)", "", "layout 8:1"),
    "cute.flatten": ("shape (4,(2,3))", "", "shape (4,2,3)"),
    "cute.complement": ("layout 4:1; shape 8", "", "layout 2:4"),
    "cute.group_modes": (_L, "begin = 0 : i32, end = 2 : i32", "layout ((4,2)):((1,4))"),
    "cute.recast_layout": (_L, "new_type_bits = 8 : i32, old_type_bits = 16 : i32", "layout (8,2):(1,8)"),
    "cute.slice": (f"{_L}; coord (_,1)", "", "layout (4):(1)"),
    "cute.dice": (f"{_L}; coord (_,1)", "", "layout (2):(4)"),
    "cute.right_inverse": (_L, "", "layout 8:1"),
    "cute.left_inverse": (_L, "", "layout 8:1"),
    "cute.size": (_L, "mode = array<i32>", "int_tuple 8"),
    "cute.cosize": (_L, "mode = array<i32>", "int_tuple 8"),
    "cute.tuple_product": ("shape (4,2)", "", "shape 8"),
    "cute.tuple_product_each": ("shape (4,(2,3))", "", "shape (4,6)"),
    "cute.layout_eval": (f"coord (1,1); {_L}", "", "int_tuple 5"),
    "cute.crd2idx": ("coord (1,1); shape (4,2)", "", "int_tuple 5"),
    "cute.idx2crd": ("int_tuple 5; shape (4,2)", "", "coord (1,1)"),
    "cute.increment_coord": ("coord (1,1); shape (4,2)", "", "coord (2,1)"),
    "cute.append_to_rank": ("layout 4:1; layout 1:0", "rank = 2 : i32", "layout (4,1):(1,0)"),
    "cute.prepend_to_rank": ("layout 4:1; layout 1:0", "rank = 2 : i32", "layout (1,4):(0,1)"),
    "cute.tuple_add": ("int_tuple (4,2); int_tuple (1,1)", "", "int_tuple (5,3)"),
    "cute.tuple_sub": ("int_tuple (4,2); int_tuple (1,1)", "", "int_tuple (3,1)"),
    "cute.shape_div": ("shape (4,2); shape (2,1)", "", "shape (2,2)"),
    "cute.ceil_div": ("shape (4,2); shape (3,1)", "", "shape (2,2)"),
    "cute.elem_less": ("coord (1,1); coord (2,2)", "", "i1"),
    "cute.equal": ("coord (1,1); coord (2,2)", "", "i1"),
    "cute.tile_to_shape": ("layout (2,2):(1,2); shape (4,4)", "", "layout ((2,2),(2,2)):((1,4),(2,8))"),
    "cute.static": ("", "", "shape (4,2)"),
    "cute.make_int_tuple": ("i32", "", "int_tuple (4,?)"),
    "cute.make_shape": ("i32", "", "shape (4,?)"),
    "cute.make_stride": ("i64", "", "stride (1,?{i64})"),
    "cute.make_coord": ("i32", "", "coord (_,?)"),
    "cute.make_tile": ("i32", "", "tile [?:1;_]"),
    "cute.logical_product": ("layout 4:1; layout 2:1", "", "layout (4,2):(1,4)"),
    "cute.zipped_product": ("layout (4):(1); layout (2):(1)", "", "layout ((4),(2)):((1),(4))"),
    "cute.tiled_product": ("layout (4):(1); layout (2):(1)", "", "layout ((4),2):((1),4)"),
    "cute.flat_product": ("layout (4):(1); layout (2):(1)", "", "layout (4,2):(1,4)"),
    "cute.raked_product": ("layout 4:1; layout 2:1", "", "layout ((2,4)):((4,1))"),
    "cute.blocked_product": ("layout 4:1; layout 2:1", "", "layout ((4,2)):((1,4))"),
    "cute.logical_divide": ("layout 8:1; layout 4:1", "", "layout (4,2):(1,4)"),
    "cute.zipped_divide": ("layout 8:1; layout 4:1", "", "layout (4,2):(1,4)"),
    "cute.tiled_divide": ("layout 8:1; layout 4:1", "", "layout (4,2):(1,4)"),
    "cute.flat_divide": ("layout 8:1; layout 4:1", "", "layout (4,2):(1,4)"),
}

_MAKE = {
    "cute.make_int_tuple": "int_tuple",
    "cute.make_shape": "shape",
    "cute.make_stride": "stride",
    "cute.make_coord": "coord",
}


def _each(operations: tuple[str, ...], begins: str, use: Use) -> list[tuple[str, str, Use]]:
    return [(operation, begins, use) for operation in operations]


# The operation, how the complaint begins after the operation's name, and a use that is refused so.
VIOLATING: list[tuple[str, str, Use]] = [
    *((name, "expects <n> dynamic operand(s)", ("i32; i32", "", f"{kind} (4,?)")) for name, kind in _MAKE.items()),
    *((name, "expects operand #<i> to have (width", ("i64", "", f"{kind} (4,?)")) for name, kind in _MAKE.items()),
    *((name, "operand #<i> must be variadic", ("f32", "", f"{kind} (4,?)")) for name, kind in _MAKE.items()),
    ("cute.make_tile", "expects <n> dynamic operand(s)", ("i32; i32", "", "tile [?:1;_]")),
    ("cute.make_tile", "expects operand #<i> to have (width", ("i64", "", "tile [?:1;_]")),
    ("cute.make_tile", "operand #<i> must be variadic", ("f32", "", "tile [?:1;_]")),
    ("cute.make_int_tuple", "expects operand #<i> to be compatible", ("int_tuple 4294967296", "", "int_tuple (4,?)")),
    ("cute.make_layout", "expects shape and stride profile", ("shape (4,2); stride 1", "", "layout (4,2):1")),
    ("cute.make_layout_like", "expects plain integer strides", ("layout (4,2):(1@0,1@1)", "", _L)),
    ("cute.make_layout_like", "expects source composed layout", (_AFFINE, "", _L)),
    ("cute.make_ordered_layout", "expects order to be a static", ("shape (4,2); int_tuple (0,?)", "", _L)),
    ("cute.make_ordered_layout", "expects order to be weakly", ("shape (4,2); int_tuple (0,1,2)", "", _L)),
    ("cute.get_shape", "expects a tile operand", ("tile [4:1;_]", "", "shape (4,2)")),
    ("cute.get", "expects mode index in", (_L, "mode = array<i32: 2>", "layout 2:4")),
    ("cute.get", "expects mode indices to stop", (_L, "mode = array<i32: 1, 0>", "layout 2:4")),
    ("cute.size", "expects mode index in", (_L, "mode = array<i32: 2>", "int_tuple 2")),
    ("cute.size", "expects mode indices to stop", (_L, "mode = array<i32: 1, 0>", "int_tuple 2")),
    ("cute.cosize", "expects mode index in", (_L, "mode = array<i32: 2>", "int_tuple 2")),
    ("cute.cosize", "expects mode indices to stop", (_L, "mode = array<i32: 1, 0>", "int_tuple 2")),
    ("cute.select", "expects mode index in", (_L, "mode = array<i32: 2>", "layout (2):(4)")),
    ("cute.to_int_tuple", "expects source without underscores", ("coord (_,2)", "", "int_tuple (4,2)")),
    ("cute.to_int_tuple", "expects source without scaled-basis", ("stride (1@0,1@1)", "", "int_tuple (4,2)")),
    ("cute.to_int_tuple", "expects source without errors", ("shape (4,x)", "", "int_tuple (4,2)")),
    ("cute.to_shape", "expects source without errors", ("int_tuple (4,x)", "", "shape (4,2)")),
    ("cute.to_stride", "expects source without errors", ("int_tuple (4,x)", "", "stride (4,2)")),
    ("cute.to_coord", "expects source without errors", ("int_tuple (4,x)", "", "coord (4,2)")),
    ("cute.get_layouts_from_tile", "expects $tile to contain", ("tile [_;_]", "", "layout 1:0")),
    ("cute.composition", "expects a valid composition", ("layout (4,6):(1,4); layout 5:3", "", "layout 5:3")),
    ("cute.coalesce", "expects target_profile rank", (f"{_L}; coord (_,_,_)", "", _L)),
    ("cute.complement", "expects input with static layout", ("layout ?:1", "", "layout 1:0")),
    ("cute.complement", "expects input with integer strides", ("layout 4:1@0; shape 8", "", "layout 1:0")),
    ("cute.complement", "expects input with static strides", ("layout (4,2):(1,?); shape 8", "", "layout 1:0")),
    ("cute.complement", "expects a valid complement", ("layout (4,4):(1,2); shape 64", "", "layout 1:0")),
    ("cute.group_modes", "expects 0 <= begin", (_L, "begin = -1 : i32, end = 2 : i32", _L)),
    ("cute.group_modes", "expects begin < end", (_L, "begin = 1 : i32, end = 1 : i32", _L)),
    ("cute.group_modes", "expects end <= rank", (_L, "begin = 0 : i32, end = 3 : i32", _L)),
    ("cute.recast_layout", "expects new_type_bits", (_L, "new_type_bits = 0 : i32, old_type_bits = 16 : i32", _L)),
    ("cute.recast_layout", "expects old_type_bits", (_L, "new_type_bits = 8 : i32, old_type_bits = 0 : i32", _L)),
    (
        "cute.recast_layout",
        "expects integer or dynamic strides",
        ("layout 4:1@0", "new_type_bits = 8 : i32, old_type_bits = 16 : i32", _L),
    ),
    (
        "cute.recast_layout",
        "unable to recast",
        ("layout (3,2):(1,3)", "new_type_bits = 16 : i32, old_type_bits = 8 : i32", _L),
    ),
    ("cute.slice", "expects coord to be weakly", (f"{_L}; coord (_,1,2)", "", _L)),
    ("cute.dice", "expects coord to be weakly", (f"{_L}; coord (_,1,2)", "", _L)),
    ("cute.dice", "expects coord to be static", (f"{_L}; coord (_,?)", "", _L)),
    (
        "cute.slice",
        "expects swizzle-A composed slice's outer",
        ("composed_layout S<2,4,3> o 0 o (8,?):(?,1); coord (_,1)", "", _L),
    ),
    ("cute.slice", "expects swizzle-A composed slice's coord", (f"{_SWIZZLED}; coord (1,1)", "", _L)),
    ("cute.right_inverse", "expects a static-shape", ("layout (4,?):(1,4)", "", _L)),
    ("cute.left_inverse", "expects a static-shape", ("layout (4,?):(1,4)", "", _L)),
    ("cute.left_inverse", "expects a static-stride", ("layout (4,2):(1,?)", "", _L)),
    ("cute.left_inverse", "unable to compute a left inverse", ("layout (4,4):(1,2)", "", _L)),
    ("cute.cosize", "expects composed_layout inner", (_AFFINE, "mode = array<i32>", "int_tuple 8")),
    ("cute.layout_eval", "expects coordinate rank", (f"coord (1,1,1); {_L}", "", "int_tuple 5")),
    ("cute.layout_eval", "unable to compute layout_eval", (f"coord (1,_); {_L}", "", "int_tuple 5")),
    ("cute.crd2idx", "expects coord and shape", ("coord (1,1,1); shape (4,2)", "", "int_tuple 5")),
    ("cute.crd2idx", "unable to pack", ("coord (1,_); shape (4,2)", "", "int_tuple 5")),
    ("cute.idx2crd", "expects index rank", ("int_tuple (1,1,1); shape (4,2)", "", "coord (1,1)")),
    ("cute.increment_coord", "expects coord to be congruent", ("coord (1,1,1); shape (4,2)", "", "coord (2,1)")),
    ("cute.increment_coord", "expects coord to be free", ("coord (1,_); shape (4,2)", "", "coord (2,1)")),
    *_each(_RANKS, "expects rank to be a positive", ("layout 4:1; layout 1:0", "rank = 0 : i32", _L)),
    *_each(_RANKS, "expects input and element to have", ("layout 4:1; shape 1", "rank = 2 : i32", _L)),
    *_each(_RANKS, "expects element to be !cute.layout", (f"{_SWIZZLED}; {_SWIZZLED}", "rank = 3 : i32", _L)),
    *_each(_SUMS, "expects lhs and rhs to have the same kind", ("int_tuple (4,2); shape (1,1)", "", "int_tuple (5,3)")),
    *_each(_SUMS, "expects matching structure", ("int_tuple 3; int_tuple (1,1)", "", "int_tuple (5,3)")),
    *_each(_SUMS, "expects matching nesting", ("int_tuple (4,(2,1)); int_tuple (1,1)", "", "int_tuple (5,3)")),
    ("cute.shape_div", "divisor is zero", ("shape 4; shape 0", "", "shape 1")),
    ("cute.shape_div", "is not divisible", ("shape 4; shape 3", "", "shape 1")),
    ("cute.shape_div", "expects valid operands", ("shape 4; shape (2,2)", "", "shape 1")),
    ("cute.ceil_div", "tiler is zero", ("shape 4; shape 0", "", "shape 1")),
    ("cute.ceil_div", "rank(tiler)", ("shape (4,2); shape (2,2,2)", "", "shape 1")),
    ("cute.elem_less", "expects congruent inputs", ("coord (1,1); coord (1,1,1)", "", "i1")),
    ("cute.equal", "expects lhs and rhs to be the same kind", ("coord (1,1); shape (1,1)", "", "i1")),
    *_each(_PRODUCTS, "expects lhs to be static", ("layout ?:1; layout 2:1", "", _L)),
    *_each(_PRODUCTS, "expects rhs stride to be integer-only", ("layout 4:1; layout 2:1@0", "", _L)),
    *_each(_PRODUCTS, "expects rhs to be static when", ("layout 4:1@0; layout ?:1", "", _L)),
    *_each(_DIVIDES, "expects rank(tiler)", (f"{_L}; shape (2,1,1)", "", _L)),
    *_each(_DIVIDES, "expects tiler to have a static stride", (f"{_L}; layout (2,2):(1,?)", "", _L)),
    *_each(_DIVIDES, "expects layout components", (f"{_L}; tile [2:1@0;1:0]", "", _L)),
    *_each(_DIVIDES, "expects valid operands", ("layout 6:1; layout 4:1", "", _L)),
    ("cute.tile_to_shape", "expects static order", (f"{_TILED}; int_tuple (0,?)", "", _L)),
    ("cute.tile_to_shape", "expects order rank", (f"{_TILED}; int_tuple (0,1,2)", "", _L)),
    ("cute.tile_to_shape", "but got out-of-range index", (f"{_TILED}; int_tuple (0,2)", "", _L)),
    ("cute.tile_to_shape", "appears more than once", (f"{_TILED}; int_tuple (0,0)", "", _L)),
    ("cute.tile_to_shape", "is not a static integer", (f"{_TILED}; int_tuple (0,(1,2))", "", _L)),
    ("cute.tile_to_shape", "expects block layout rank", ("layout (2,2,2):(1,2,4); shape (4,4)", "", _L)),
    ("cute.tile_to_shape", "expects valid operands", ("layout (3,2):(1,3); shape (4,4)", "", _L)),
    ("cute.static", "expects result to be static", ("", "", "shape (4,?)")),
    ("cute.static", "result #0 must be MaybeStatic", ("", "", "i32")),
    ("cute.elem_less", "result #0 must be", ("coord (1,1); coord (2,2)", "", "i32")),
    ("cute.equal", "result #0 must be", ("coord (1,1); coord (2,2)", "", "i32")),
    *((name, "result #0 must be", ("i32", "", "layout 4:1")) for name in (*_MAKE, "cute.make_tile")),
]

# What types must satisfy: the type, how the complaint begins, and a text that is refused so.
MALFORMED: list[tuple[str, str, str]] = [
    *((f"!cute.{kind}", "failed to parse", f"{kind} (4,@)") for kind in ("shape", "int_tuple", "coord", "stride")),
    ("!cute.layout", "failed to parse", "layout (4,2"),
    ("!cute.tile", "failed to parse", "tile [4:1"),
    ("!cute.composed_layout", "failed to parse", "composed_layout S<2,4,3> o"),
    ("!cute.swizzle", "failed to parse", "swizzle S<2,4>"),
    ("!cute.swizzle", "expects |num_shift| >= num_bits", "swizzle S<3,4,2>"),
    ("!cute.swizzle", "expects |num_shift| + num_bits", "swizzle S<8,20,8>"),
    *(
        (name, begins, text.format(stride=stride))
        for name, text in (
            ("!cute.stride", "stride {stride}"),
            ("!cute.layout", "layout (4,2):{stride}"),
            ("!cute.composed_layout (outer)", "composed_layout S<2,4,3> o 0 o (4,2):{stride}"),
            ("!cute.tile", "tile [(4,2):{stride};_]"),
        )
        for begins, stride in (
            ("expects strides to be either", "(1,1@0)"),
            ("expects scaled-basis strides to have integer", "(1/2@0,1@1)"),
            ("expects scaled-basis paths", "(1@0,1@1@0)"),
        )
    ),
    ("!cute.layout", "expects no error(`x`) in layout", "layout (4,x):(1,4)"),
    ("!cute.layout", "expects positive shape", "layout (4,0):(1,4)"),
    ("!cute.composed_layout", "expects no error(`x`) in layout", "composed_layout S<2,4,3> o 0 o (4,x):(1,4)"),
    ("!cute.composed_layout", "expects positive shape", "composed_layout S<2,4,3> o 0 o (4,0):(1,4)"),
    ("!cute.composed_layout", "expects a non-trivial", "composed_layout S<0,4,3> o 0 o (4,2):(1,4)"),
    ("!cute.composed_layout", "expects offset and", "composed_layout (4,2):(1,4) o (0,0) o (4,2):(1,4)"),
    ("!cute.composed_layout", "swizzle layout expects scalar", "composed_layout S<2,4,3> o (0,0) o (4,2):(1,4)"),
    ("!cute.composed_layout", "expects arith sum", "composed_layout (4,2):(1,4) o (0,0,0) o (4,2,2):(1@0,1@1,1@2)"),
]
