"""Random cases for the differential test: an operation, its operands as text for the oracle, and our own call.

Every generator draws from the ``random.Random`` it is given, so a seed names a case for good.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from layout_oracle import Query

from tileproof import layout as cute
from tileproof.layout import Basis, ComposedLayout, Dynamic, Layout, Swizzle, Tile, Wildcard, show_value

EXTENTS = (1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 12, 16, 24, 32, 64)
WIDTHS = (32, 32, 64)
DIVISORS = (1, 1, 2, 3, 4, 6, 8, 16, 64)

Tree = Any  # a tuple of the algebra: mypy does not read the tests


@dataclass(frozen=True)
class Case:
    """A question for the oracle, and the call that must give the same answer."""

    query: Query
    compute: Callable[[], object]

    @property
    def name(self) -> str:
        return f"{self.query.op}({', '.join(self.query.operands)}) {self.query.attributes}".strip()


def leaves(tree: Tree) -> list[Any]:
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, tuple) else [tree]


def refill(tree: Tree, values: list[Any]) -> Tree:
    """The profile of a tree with other leaves, which are used up."""
    return tuple(refill(part, values) for part in tree) if isinstance(tree, tuple) else values.pop(0)


def profile(rng: random.Random, most: int = 4, depth: int = 2) -> Tree:
    """A tree of zeros."""
    if depth == 0 or rng.random() < 0.35:
        return 0
    return tuple(profile(rng, most, depth - 1) for _ in range(rng.choice((1, 2, 2, 2, 3, 3, most))))


def dynamic(rng: random.Random) -> Dynamic:
    return Dynamic(rng.choice(WIDTHS), rng.choice(DIVISORS))


def shape(rng: random.Random, tree: Tree | None = None, unknown: float = 0.0) -> Tree:
    tree = profile(rng) if tree is None else tree
    return refill(tree, [dynamic(rng) if rng.random() < unknown else rng.choice(EXTENTS) for _ in leaves(tree)])


def strides(rng: random.Random, extents: list[Any], unknown: float = 0.0) -> list[Any]:
    """Strides in one of the styles that real layouts have, and some that they have not."""
    style = rng.choice(("compact", "compact", "padded", "gapped", "random"))
    order = list(range(len(extents)))
    rng.shuffle(order)
    result: list[Any] = [0] * len(extents)
    running = 1
    for place in order:
        if style == "padded":
            running *= rng.choice((1, 1, 2, 3))
        elif style == "gapped":
            running = max(1, running + rng.choice((0, 0, 1, 4)))
        result[place] = rng.choice((1, 2, 3, 4, 5, 8, 12, 16, 64)) if style == "random" else running
        running = result[place] * (extents[place] if isinstance(extents[place], int) else 4)
    result = [0 if rng.random() < 0.08 else stride for stride in result]
    return [dynamic(rng) if rng.random() < unknown else stride for stride in result]


def layout(rng: random.Random, tree: Tree | None = None, unknown: float = 0.0) -> Layout:
    extents = shape(rng, tree, unknown)
    return Layout(extents, refill(extents, strides(rng, leaves(extents), unknown)))


def maybe_dynamic(rng: random.Random) -> float:
    return rng.choice((0.0, 0.0, 0.3))


def based(rng: random.Random, modes: int = 2) -> Layout:
    """A layout with scaled-basis strides along the modes of a flat coordinate."""
    part = layout(rng)
    steps = [Basis(stride, (rng.randrange(modes),)) if stride else 0 for stride in leaves(part.stride)]
    return Layout(part.shape, refill(part.shape, steps))


def swizzle(rng: random.Random) -> Swizzle:
    bits = rng.randint(1, 3)
    return Swizzle(bits, rng.choice((0, 2, 3, 4)), rng.choice((1, 1, 1, -1)) * max(3, bits))


def powers(rng: random.Random) -> Layout:
    """A compact layout of powers of two, as swizzled tiles are: slicing any other one the wheel loses bits."""
    tree = profile(rng)
    extents = [rng.choice((1, 2, 2, 4, 4, 8)) for _ in leaves(tree)]
    order, steps, running = rng.sample(range(len(extents)), len(extents)), [0] * len(extents), 1
    for place in order:
        steps[place], running = running, running * extents[place]
    return Layout(refill(tree, list(extents)), refill(tree, steps))


def composed(rng: random.Random) -> ComposedLayout:
    if rng.random() < 0.7:
        return ComposedLayout(swizzle(rng), rng.choice((0, 0, 0, 8, 64)), powers(rng))
    return ComposedLayout(layout(rng), rng.choice((0, 0, 2, 5)), layout(rng))


def any_layout(rng: random.Random) -> Layout | ComposedLayout:
    pick = rng.random()
    if pick < 0.2:
        return composed(rng)
    return based(rng) if pick < 0.3 else layout(rng, unknown=maybe_dynamic(rng))


def coordinate(rng: random.Random, extents: Tree, wild: float, unknown: float = 0.0) -> Tree:
    """A coordinate weakly congruent with a shape."""
    if isinstance(extents, tuple) and extents and rng.random() < 0.85:
        return tuple(coordinate(rng, part, wild, unknown) for part in extents)
    if rng.random() < wild:
        return Wildcard.ALL
    if rng.random() < unknown:
        return dynamic(rng)
    count = prod(leaf if isinstance(leaf, int) else 4 for leaf in leaves(extents))
    return rng.randrange(max(1, count))


def text(value: object) -> str:
    """A value as an operand for the oracle."""
    kind = {Layout: "layout", ComposedLayout: "composed_layout", Tile: "tile", Swizzle: "swizzle"}[type(value)]
    return f"{kind} {value}"


def of(kind: str, value: Tree) -> str:
    return f"{kind} {show_value(value)}"


def unary(op: str, operand: Layout | ComposedLayout, function: Callable[[Any], object]) -> Case:
    return Case(Query(op, (text(operand),)), lambda: function(operand))


def arithmetic(rng: random.Random) -> Case:
    op, function = rng.choice(
        (
            ("tuple_add", cute.add),
            ("tuple_sub", cute.sub),
            ("tuple_mul", cute.mul),
            ("tuple_div", cute.div),
            ("tuple_mod", cute.mod),
        )
    )

    def values(tree: Tree) -> Tree:
        pool = (0, 1, 2, 3, 7, 12, 64, 100)
        return refill(tree, [dynamic(rng) if rng.random() < 0.4 else rng.choice(pool) for _ in leaves(tree)])

    tree = profile(rng, 3)
    a, b = values(tree), values(tree if rng.random() < 0.8 else profile(rng, 3))
    return Case(Query(op, (of("int_tuple", a), of("int_tuple", b)), result="int_tuple"), lambda: function(a, b))


def shapes(rng: random.Random) -> Case:
    pick = rng.randrange(5)
    a = shape(rng, unknown=0.3)
    if pick == 0:
        tree = refill(a, [0] * len(leaves(a)))
        b = shape(rng, rng.choice((tree, 0)), 0.2)
        return Case(Query("shape_div", (of("shape", a), of("shape", b)), result="shape"), lambda: cute.shape_div(a, b))
    if pick == 1:
        b = shape(rng, rng.choice((tuple(0 for _ in a) if isinstance(a, tuple) else 0, 0)), 0.2)
        return Case(Query("ceil_div", (of("shape", a), of("shape", b)), result="shape"), lambda: cute.ceil_div(a, b))
    if pick == 2:
        return Case(Query("tuple.product", (of("shape", a),), result="shape"), lambda: cute.product(a))
    if pick == 3:
        return Case(Query("tuple.product_each", (of("shape", a),), result="shape"), lambda: cute.product_each(a))
    c = refill(a, [rng.randrange(leaf) if isinstance(leaf, int) else dynamic(rng) for leaf in leaves(a)])
    query = Query("increment_coord", (of("coord", c), of("shape", a)), result="coord")
    return Case(query, lambda: cute.increment_coord(c, a))


def sizes(rng: random.Random) -> Case:
    op, function = rng.choice((("size", cute.size), ("cosize", cute.cosize)))
    operand = any_layout(rng)
    return Case(Query(op, (text(operand),), result="int_tuple"), lambda: function(operand))


def simplify(rng: random.Random) -> Case:
    pick = rng.randrange(4)
    operand = any_layout(rng)
    if pick == 0:
        return unary("filter", operand, cute.filter)
    if pick == 1:
        return unary("filter_zeros", operand, cute.filter_zeros)
    if pick == 2:
        return unary("coalesce", operand, cute.coalesce)
    target = profile(rng, 3)
    return Case(Query("coalesce", (text(operand), of("coord", target))), lambda: cute.coalesce(operand, target))


def choose(rng: random.Random) -> Case:
    operand = any_layout(rng)
    count = cute.rank(operand)
    pick = rng.randrange(4)
    if pick == 0:
        modes = [rng.randrange(count + (rng.random() < 0.1)) for _ in range(rng.randint(1, 3))]
        query = Query("select", (text(operand),), f"mode = array<i32: {', '.join(map(str, modes))}>")
        return Case(query, lambda: cute.select(operand, modes))
    if pick == 1:
        begin, end = rng.randrange(count + 1), rng.randrange(1, count + 2)
        query = Query("group_modes", (text(operand),), f"begin = {begin} : i32, end = {end} : i32")
        return Case(query, lambda: cute.group_modes(operand, begin, end))
    wanted, element = rng.randint(1, 5), layout(rng, 0)
    op, function = rng.choice((("append_to_rank", cute.append_to_rank), ("prepend_to_rank", cute.prepend_to_rank)))
    query = Query(op, (text(operand), text(element)), f"rank = {wanted} : si32")
    return Case(query, lambda: function(operand, wanted, element))


def cut(rng: random.Random) -> Case:
    operand = any_layout(rng)
    extents = cute.get_shape(operand)
    if rng.random() < 0.3:
        coord = coordinate(rng, extents, 0.4)
        query = Query("dice", (text(operand),), f'coord = #cute.coord<"{show_value(coord)}">')
        return Case(query, lambda: cute.dice(operand, coord))
    unknown = 0.2
    if isinstance(operand, ComposedLayout) and isinstance(operand.inner, Swizzle):
        # Two quirks of the wheel stay out: it merges the offset with the start of the slice by xor, not by addition,
        # and it projects a non-power-of-two layout onto the bits of the swizzle although that does not compose.
        operand, unknown = ComposedLayout(operand.inner, 0, operand.outer), 0.0
    coord = coordinate(rng, extents, 0.6, unknown)
    return Case(Query("slice", (text(operand), of("coord", coord))), lambda: cute.slice(operand, coord))


def evaluate(rng: random.Random) -> Case:
    pick = rng.random()
    if pick < 0.3:
        extents = shape(rng, unknown=0.2)
        index = rng.choice((rng.randrange(200), dynamic(rng)))
        query = Query("idx2crd", (of("int_tuple", index), of("shape", extents)), result="coord")
        return Case(query, lambda: cute.idx2crd(index, extents))
    operand = any_layout(rng)
    coord = coordinate(rng, cute.get_shape(operand), 0.05, 0.25)
    query = Query("crd2idx", (of("coord", coord), text(operand)), result="int_tuple")
    return Case(query, lambda: cute.crd2idx(coord, operand))


def tiler(rng: random.Random, extents: Tree, depth: int = 2) -> Any:
    """A layout, a shape or a tile, with some chance of fitting."""
    count = prod(leaf if isinstance(leaf, int) else 8 for leaf in leaves(extents))
    fitting = [n for n in range(1, min(count, 64) + 1) if count % n == 0]
    if depth and isinstance(extents, tuple) and extents and rng.random() < 0.6:
        modes = tuple(tiler(rng, part, depth - 1) for part in extents[: rng.randint(1, len(extents))])
        return Tile(modes)
    pick = rng.random()
    extent = rng.choice(fitting) if pick < 0.85 else rng.choice(EXTENTS)
    if pick < 0.35:
        return Layout(extent, 1)
    if pick < 0.6:
        return extent
    if pick < 0.65 and depth < 2:
        return Wildcard.ALL
    stride = rng.choice([1, 2, 4, *(n for n in fitting if n * extent <= count)])
    if pick < 0.85:
        return Layout(extent, stride)
    return layout(rng)


def without_layouts(tile: Any) -> Any:
    """A tile as a shape: every tiler becomes its extents."""
    if isinstance(tile, Tile):
        return tuple(map(without_layouts, tile.modes))
    return tile.shape if isinstance(tile, Layout) else 1 if tile is Wildcard.ALL else tile


def operand_tiler(rng: random.Random, operand: Any) -> tuple[str, Any]:
    """A tiler for an operation on this layout, as text and as a value."""
    made = tiler(rng, cute.get_shape(operand))
    if isinstance(made, Layout):
        return text(made), made
    if isinstance(made, Tile) and rng.random() < 0.6:
        return text(made), made
    made = without_layouts(made)
    return of("shape", made), made


def compose(rng: random.Random) -> Case:
    operand = any_layout(rng)
    pick = rng.random()
    if pick < 0.5:
        described, rhs = operand_tiler(rng, operand)
    else:
        rhs = based(rng) if pick < 0.6 else layout(rng, unknown=maybe_dynamic(rng))
        described = text(rhs)
    return Case(Query("composition", (text(operand), described)), lambda: cute.composition(operand, rhs))


def divide(rng: random.Random) -> Case:
    op, function = rng.choice(
        (
            ("logical_divide", cute.logical_divide),
            ("zipped_divide", cute.zipped_divide),
            ("tiled_divide", cute.tiled_divide),
            ("flat_divide", cute.flat_divide),
        )
    )
    operand = any_layout(rng)
    described, rhs = operand_tiler(rng, operand)
    return Case(Query(op, (text(operand), described)), lambda: function(operand, rhs))


def bits(part: Any) -> int:
    """About how many bits the largest offset times the size takes."""
    outer = part.outer if isinstance(part, ComposedLayout) else part
    flat = zip(leaves(outer.shape), leaves(outer.stride), strict=True)
    total = 1
    for extent, stride in flat:
        step = stride.value if isinstance(stride, Basis) else stride
        total += (extent if isinstance(extent, int) else 1) * (step if isinstance(step, int) else 1)
    return total.bit_length() + prod(leaf for leaf in leaves(outer.shape) if isinstance(leaf, int)).bit_length()


def repeat(rng: random.Random) -> Case:
    op, function = rng.choice(
        (
            ("logical_product", cute.logical_product),
            ("zipped_product", cute.zipped_product),
            ("tiled_product", cute.tiled_product),
            ("flat_product", cute.flat_product),
            ("blocked_product", cute.blocked_product),
            ("raked_product", cute.raked_product),
        )
    )
    pick = rng.random()
    operand = composed(rng) if pick < 0.2 else based(rng) if pick < 0.3 else layout(rng)
    # The published tests refuse a dynamic tiler for a scaled-basis block; the wheel accepts one of extent one.
    unknown = 0.0 if cute.has_scaled_basis(operand) else maybe_dynamic(rng)
    rhs = layout(rng, unknown=unknown)
    # It also refuses an interleaved scaled-basis block only where there is more than one copy, and its offsets wrap
    # around beyond 64 bits.
    while cute.size(rhs) == 1 or bits(operand) + bits(rhs) > 56:
        operand, rhs = layout(rng), layout(rng, unknown=unknown)
    return Case(Query(op, (text(operand), text(rhs))), lambda: function(operand, rhs))


def invert(rng: random.Random) -> Case:
    pick = rng.random()
    operand = based(rng) if pick < 0.2 else layout(rng, unknown=maybe_dynamic(rng))
    which = rng.randrange(3)
    if which == 0:
        return unary("right_inverse", operand, cute.right_inverse)
    if which == 1:
        return unary("left_inverse", operand, cute.left_inverse)
    target = shape(rng, rng.choice((0, 0, (0, 0))), 0.2)
    return Case(Query("complement", (text(operand), of("shape", target))), lambda: cute.complement(operand, target))


def construct(rng: random.Random) -> Case:
    pick = rng.randrange(4)
    if pick == 0:
        operand = any_layout(rng)
        return unary("make_layout_like", operand, cute.make_layout_like)
    extents = shape(rng, unknown=maybe_dynamic(rng))
    declared = f"layout {Layout(extents, refill(extents, [77] * len(leaves(extents))))}"
    if pick == 1:
        query = Query("make_identity_layout", (of("shape", extents),), result=declared)
        return Case(query, lambda: cute.make_identity_layout(extents))
    if pick == 2:
        order = rng.choice((extents, tuple(0 for _ in extents) if isinstance(extents, tuple) else 0))
        order = refill(order, [rng.randrange(5) for _ in leaves(order)])
        query = Query("make_ordered_layout", (of("shape", extents), of("int_tuple", order)), result=declared)
        return Case(query, lambda: cute.make_ordered_layout(extents, order))
    operand = composed(rng) if rng.random() < 0.2 else layout(rng)
    target = shape(rng, (0,) * max(cute.rank(operand), rng.randint(1, 3)), unknown=maybe_dynamic(rng))
    order = tuple(rng.sample(range(len(target)), len(target)))
    query = Query("tile_to_shape", (text(operand), of("shape", target), of("int_tuple", order)))
    return Case(query, lambda: cute.tile_to_shape(operand, target, order))


def recast(rng: random.Random) -> Case:
    operand = any_layout(rng)
    bits = (4, 8, 16, 32, 64) if isinstance(operand, ComposedLayout) else (4, 6, 8, 16, 24, 32, 64)
    new, old = rng.choice(bits), rng.choice(bits)
    query = Query("recast_layout", (text(operand),), f"new_type_bits = {new} : i32, old_type_bits = {old} : i32")
    return Case(query, lambda: cute.recast_layout(operand, new, old))


def localize(rng: random.Random) -> Case:
    extents = shape(rng, rng.choice(((0, 0), (0, 0, 0), (0, (0, 0)))), maybe_dynamic(rng))
    tensor = cute.make_identity_layout(extents)
    origin = show_value(refill(extents, [0] * len(leaves(extents))))
    described = f'coord_tensor "{origin}", "{tensor}"'
    if rng.random() < 0.4:
        workers = Layout((rng.choice((1, 2, 4)), rng.choice((1, 2, 8))), (1, 4))
        query = Query("local_partition", (described, text(workers), "i32"), result="coord_tensor")
        return Case(query, lambda: moved(*cute.local_partition(tensor, workers, Dynamic()), extents))
    tile = tuple(rng.choice((1, 2, 4, 8)) for _ in extents)
    coord = tuple(rng.choice((0, 1, 2, Wildcard.ALL, Dynamic())) for _ in extents)
    query = Query("local_tile", (described, of("shape", tile), of("coord", coord)), result="coord_tensor")
    return Case(query, lambda: moved(*cute.local_tile(tensor, tile, coord), extents))


def moved(part: Any, offset: Tree, extents: Tree) -> str:
    """A coordinate tensor as the dialect prints it: where it starts, and its layout."""
    origin = cute.add(refill(extents, [0] * len(leaves(extents))), offset)
    return f'{show_value(origin)}", "{part}'


FAMILIES = (
    arithmetic, shapes, sizes, simplify, choose, cut, evaluate, compose, compose, divide, divide, repeat, repeat,
    invert, invert, construct, recast, localize,
)  # fmt: skip


def random_case(rng: random.Random) -> Case:
    """A case of some family; the families that can fail in most ways come up most often."""
    return rng.choice(FAMILIES)(rng)
