"""Expressions over the algebra: ``composition((20):(2), (5,4):(4,1))`` evaluates to ``(5,4):(8,2)``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice
from typing import Any

from tileproof.base.records import dataclass
from tileproof.calculate.parse import Call, expression
from tileproof.layout import (
    basics,
    compare,
    composing,
    constructors,
    coordinates,
    divide,
    inverse,
    products,
    recast,
    slicing,
    tuples,
)
from tileproof.layout.errors import LayoutError
from tileproof.layout.leaves import static
from tileproof.layout.swizzle import apply_swizzle, check_swizzle
from tileproof.layout.tuples import leaves
from tileproof.layout.values import Basis, ComposedLayout, Dynamic, Layout, Swizzle, Tile, Tuple, Value, show_value
from tileproof.syntax import SyntaxFault

MAX_TEXT = 20_000
MAX_LEAVES = 1024


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the expression language.

    Attributes:
        signature: its parameters, each ``name: kind``; a kind with ``?`` may be left out, one with ``*`` repeats.
        doc: its result, in one line.
        call: the function on converted arguments.
    """

    signature: str
    doc: str
    call: Callable[..., Any]

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """(name, kind) of each parameter."""
        pairs = (part.split(": ") for part in self.signature.split(", ") if part)
        return [(name, kind) for name, kind in pairs]


def _is_tuple(value: object) -> bool:
    return not isinstance(value, Layout | ComposedLayout | Swizzle | Tile)


KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "layout": ("a layout", lambda v: isinstance(v, Layout | ComposedLayout)),
    "plain": ("a layout without an inner part", lambda v: isinstance(v, Layout)),
    "lhs": ("a layout or a swizzle", lambda v: isinstance(v, Layout | ComposedLayout | Swizzle)),
    "tiler": ("a layout, a shape or a tile", lambda v: not isinstance(v, Swizzle | ComposedLayout)),
    "rhs": ("a layout, a shape or a tile", lambda v: not isinstance(v, Swizzle)),
    "swizzle": ("a swizzle", lambda v: isinstance(v, Swizzle)),
    "tuple": ("a tuple of integers", _is_tuple),
    "int": ("an integer", lambda v: isinstance(v, int)),
    "path": (
        "mode indices",
        lambda v: isinstance(v, int) or (isinstance(v, tuple) and all(isinstance(i, int) for i in v)),
    ),
    "value": ("a value", lambda _: True),
}


def _path(value: Any) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (value,)


def _truth(verdict: bool | None) -> Tuple:
    """A verdict as CuTe prints it: 1, 0, or ``?`` where it depends on dynamic leaves."""
    return Dynamic() if verdict is None else int(verdict)


def _at(part: basics.AnyLayout, offset: Tuple) -> Value:
    """A layout that starts at an offset."""
    if isinstance(part, ComposedLayout) or offset == 0:
        return part
    return ComposedLayout(None, offset, part)


FUNCTIONS: dict[str, Function] = {
    "make_layout": Function(
        "shape: tuple, stride: tuple?", "The layout shape:stride, column-major without a stride.", basics.make_layout
    ),
    "make_ordered_layout": Function(
        "shape: tuple, order: tuple",
        "The compact layout whose modes run in this order.",
        constructors.make_ordered_layout,
    ),
    "make_identity_layout": Function(
        "shape: tuple", "The layout that maps each coordinate to itself.", constructors.make_identity_layout
    ),
    "make_layout_like": Function(
        "layout: layout", "The compact layout whose strides are ordered as in another.", constructors.make_layout_like
    ),
    "shape": Function("layout: value", "The shape of a layout.", basics.get_shape),
    "stride": Function("layout: layout", "The strides of a layout.", basics.stride_of),
    "rank": Function("value: value", "The number of modes at the top.", basics.rank),
    "depth": Function("value: value", "The nesting depth.", basics.depth),
    "size": Function(
        "value: value, mode: path?", "The number of coordinates.", lambda v, m=(): basics.size(v, _path(m))
    ),
    "cosize": Function(
        "layout: layout, mode: path?",
        "One more than the largest offset.",
        lambda v, m=(): coordinates.cosize(v, _path(m)),
    ),
    "get": Function(
        "value: value, mode: path*",
        "The mode at a path of indices.",
        lambda v, *m: basics.get(v, [i for p in m for i in _path(p)]),
    ),
    "select": Function(
        "value: value, mode: path*",
        "Some modes, in this order.",
        lambda v, *m: basics.select(v, [i for p in m for i in _path(p)]),
    ),
    "group_modes": Function(
        "value: value, begin: int, end: int", "Modes begin to end - 1 as one mode.", basics.group_modes
    ),
    "append_to_rank": Function(
        "value: value, rank: int, element: value", "Padded at the end to this many modes.", basics.append_to_rank
    ),
    "prepend_to_rank": Function(
        "value: value, rank: int, element: value", "Padded at the front to this many modes.", basics.prepend_to_rank
    ),
    "flatten": Function("value: value", "The same without nesting.", basics.flatten),
    "coalesce": Function(
        "layout: layout, profile: tuple?",
        "The simplest layout of the same function, by mode with a profile.",
        basics.coalesce,
    ),
    "filter": Function("layout: layout", "Without modes of stride zero or extent one.", basics.filter),
    "filter_zeros": Function(
        "layout: layout, profile: tuple?", "Extent one where the stride is zero.", basics.filter_zeros
    ),
    "composition": Function("lhs: lhs, rhs: rhs", "rhs first, then lhs.", composing.composition),
    "complement": Function(
        "layout: plain, cotarget: tuple?", "The complement of a layout in a shape.", inverse.complement
    ),
    "right_inverse": Function("layout: plain", "The longest R with layout(R(i)) == i.", inverse.right_inverse),
    "left_inverse": Function("layout: plain", "An L with L(layout(i)) == i.", inverse.left_inverse),
    "logical_divide": Function("layout: layout, tiler: tiler", "Each mode as (tile, rest).", divide.logical_divide),
    "zipped_divide": Function("layout: layout, tiler: tiler", "((tiles), (rests)).", divide.zipped_divide),
    "tiled_divide": Function("layout: layout, tiler: tiler", "((tiles), rest, rest, ...).", divide.tiled_divide),
    "flat_divide": Function("layout: layout, tiler: tiler", "(tile, tile, ..., rest, rest, ...).", divide.flat_divide),
    "logical_product": Function("block: layout, tiler: plain", "(block, copies).", products.logical_product),
    "zipped_product": Function("block: layout, tiler: plain", "(block, copies).", products.zipped_product),
    "tiled_product": Function("block: layout, tiler: plain", "(block, copies, copies, ...).", products.tiled_product),
    "flat_product": Function(
        "block: layout, tiler: plain", "(block, block, ..., copies, copies, ...).", products.flat_product
    ),
    "blocked_product": Function(
        "block: layout, tiler: plain", "Copies of the block, contiguous blocks.", products.blocked_product
    ),
    "raked_product": Function(
        "block: layout, tiler: plain", "Copies of the block, interleaved.", products.raked_product
    ),
    "tile_to_shape": Function(
        "block: layout, shape: tuple, order: tuple", "Copies of a block that fill a shape.", constructors.tile_to_shape
    ),
    "slice": Function("value: value, coord: tuple", "The modes at wildcards of the coordinate.", slicing.slice),
    "dice": Function("value: value, coord: tuple", "The modes not at wildcards of the coordinate.", slicing.dice),
    "local_tile": Function(
        "layout: layout, tiler: tiler, coord: tuple, proj: tuple?",
        "One tile, at its offset.",
        lambda *a: _at(*constructors.local_tile(*a)),
    ),
    "local_partition": Function(
        "layout: layout, tiler: plain, index: tuple",
        "The part of one worker, at its offset.",
        lambda *a: _at(*constructors.local_partition(*a)),
    ),
    "recast_layout": Function(
        "layout: layout, new_bits: int, old_bits: int",
        "The same bytes as elements of another width.",
        recast.recast_layout,
    ),
    "upcast": Function("layout: layout, factor: int", "Elements this many times as wide.", recast.upcast),
    "downcast": Function("layout: layout, factor: int", "Elements this many times as narrow.", recast.downcast),
    "crd2idx": Function("coord: tuple, layout: value", "The offset of a coordinate.", coordinates.crd2idx),
    "idx2crd": Function("index: tuple, shape: tuple", "The coordinate of an index.", coordinates.idx2crd),
    "increment_coord": Function("coord: tuple, shape: tuple", "The next coordinate.", tuples.increment_coord),
    "apply_swizzle": Function("swizzle: swizzle, offset: int", "The swizzled offset.", apply_swizzle),
    "add": Function("a: tuple, b: tuple", "a + b, leaf by leaf.", tuples.add),
    "sub": Function("a: tuple, b: tuple", "a - b, leaf by leaf.", tuples.sub),
    "mul": Function("a: tuple, b: tuple", "a * b, leaf by leaf.", tuples.mul),
    "div": Function("a: tuple, b: tuple", "a / b toward zero, leaf by leaf.", tuples.div),
    "mod": Function("a: tuple, b: tuple", "The remainder of a / b, leaf by leaf.", tuples.mod),
    "ceil_div": Function("a: tuple, b: tuple", "The number of tiles b that cover a.", tuples.ceil_div),
    "shape_div": Function("a: tuple, b: tuple", "a / b where one divides the other.", tuples.shape_div),
    "product": Function("a: tuple", "The product of all leaves.", tuples.product),
    "product_each": Function("a: tuple", "The product of each mode.", tuples.product_each),
    "elem_less": Function(
        "a: tuple, b: tuple",
        "1 if each leaf is less than its counterpart, else 0.",
        lambda a, b: _truth(tuples.elem_less(a, b)),
    ),
    "equal": Function(
        "a: tuple, b: tuple", "1 if the tuples are equal, else 0.", lambda a, b: _truth(tuples.equal(a, b))
    ),
    "equivalent": Function(
        "a: layout, b: layout",
        "1 if the layouts are equal as functions, else 0.",
        lambda a, b: _truth(compare.equivalent(a, b)),
    ),
    "congruent": Function(
        "a: tuple, b: tuple", "1 if the profiles are the same, else 0.", lambda a, b: _truth(tuples.congruent(a, b))
    ),
    "weakly_congruent": Function(
        "a: tuple, b: tuple",
        "1 if a is b with modes taken whole, else 0.",
        lambda a, b: _truth(tuples.weakly_congruent(a, b)),
    ),
    "compatible": Function(
        "a: tuple, b: tuple",
        "1 if coordinates in a are coordinates in b, else 0.",
        lambda a, b: _truth(compare.compatible(a, b)),
    ),
    "weakly_compatible": Function(
        "a: tuple, b: tuple",
        "1 if a divides b mode by mode, else 0.",
        lambda a, b: _truth(compare.weakly_compatible(a, b)),
    ),
    "max_common_layout": Function(
        "a: plain, b: plain", "The layout of the elements contiguous in both.", compare.max_common_layout
    ),
    "max_common_vector": Function(
        "a: plain, b: plain", "The number of elements contiguous in both.", compare.max_common_vector
    ),
}
"""Every function of the language by name."""


def evaluate(text: str) -> Value:
    """The value of an expression.

    Raises:
        SyntaxFault: the text is not an expression, or names a function that does not exist.
        LayoutError: a value is malformed, an argument is of the wrong kind, or an operation has no result.
    """
    if len(text) > MAX_TEXT:
        raise SyntaxFault(f"an expression has at most {MAX_TEXT} characters", MAX_TEXT, len(text))
    return _evaluate(expression(text))


def _evaluate(tree: Call | Value) -> Value:
    if not isinstance(tree, Call):
        return check_value(tree)
    function = FUNCTIONS.get(tree.name)
    if function is None:
        raise SyntaxFault(f"unknown function '{tree.name}'", tree.start, tree.end)
    arguments = [_evaluate(argument) for argument in tree.arguments]
    _check_arguments(tree.name, function, arguments)
    result: Value = function.call(*arguments)
    return check_value(result)


def _check_arguments(name: str, function: Function, arguments: list[Value]) -> None:
    parameters = function.parameters
    needed = sum(kind[-1] not in "?*" for _, kind in parameters)
    repeats = parameters[-1][1].endswith("*")
    if len(arguments) < needed or (len(arguments) > len(parameters) and not repeats):
        raise LayoutError(f"{name}({function.signature}) got {len(arguments)} arguments")
    for place, argument in enumerate(arguments):
        parameter, kind = parameters[min(place, len(parameters) - 1)]
        described, accepts = KINDS[kind.rstrip("?*")]
        if not accepts(argument):
            raise LayoutError(f"{name}: {parameter} must be {described}, but got {show_value(argument)}")


def _all_leaves(value: Value) -> Iterator[Any]:
    match value:
        case Layout(shape, stride):
            yield from leaves(shape)
            yield from leaves(stride)
        case ComposedLayout(inner, offset, outer):
            yield from leaves(offset)
            yield from _all_leaves(outer)
            if isinstance(inner, Layout):
                yield from _all_leaves(inner)
        case Tile(modes):
            for mode in modes:
                yield from _all_leaves(mode)
        case Swizzle():
            return
        case _:
            yield from leaves(value)


def check_value(value: Value) -> Value:
    """The value itself, if it is well-formed.

    Raises:
        LayoutError: shape and stride differ in profile, an extent is not positive, a swizzle reaches outside an offset,
            an integer overflows, or there are too many leaves.
    """
    if len(list(islice(_all_leaves(value), 2 * MAX_LEAVES + 1))) > 2 * MAX_LEAVES:
        raise LayoutError(f"a value has at most {MAX_LEAVES} modes")
    for leaf in _all_leaves(value):
        number = leaf.value if isinstance(leaf, Basis) else leaf
        for part in (number.div, number.width) if isinstance(number, Dynamic) else ():
            static(part)
        if isinstance(number, int):
            static(number)
        elif isinstance(number, Fraction):
            static(number.numerator)
    match value:
        case Layout(shape, stride):
            basics.make_layout(shape, stride)
        case Swizzle():
            check_swizzle(value)
        case ComposedLayout(inner, _, outer):
            check_value(outer)
            if inner is not None:
                check_value(inner)
        case Tile(modes):
            for mode in modes:
                check_value(mode)
    return value
