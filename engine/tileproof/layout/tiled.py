"""Tiled MMAs and tiled copies: a tensor divided among threads, each of which gets its values of every tile.

An *atom* is one hardware instruction; a *TV layout* gives for each of its operands which thread holds which
value: ``(thread, value)`` to an index in the tile. A *tiled* atom repeats the atom over more threads, and perhaps over
more values of each, to cover a larger tile. Partitioning divides a tensor by that tile, composes what is within the
tile with the thread-value layout, and is then sliced at a thread: the rest is ``(values, rest m, rest n, ...)``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.base.records import dataclass
from tileproof.layout.basics import (
    AnyLayout,
    coalesce,
    concatenate,
    filter,
    is_static_layout,
    make_layout,
    modes,
    on_outer,
    rank,
    size,
)
from tileproof.layout.composing import column, composition
from tileproof.layout.constructors import tile_to_shape
from tileproof.layout.coordinates import cosize, crd2idx
from tileproof.layout.divide import logical_divide, zipped_divide
from tileproof.layout.errors import LayoutError
from tileproof.layout.inverse import left_inverse, right_inverse
from tileproof.layout.leaves import Integer, divide_integers, integer, modulo_integers
from tileproof.layout.products import logical_product, tiled_product
from tileproof.layout.recast import upcast
from tileproof.layout.tuples import modes as tuple_modes
from tileproof.layout.tuples import product_each
from tileproof.layout.values import Layout, Tile, Tuple, Wildcard

_ALL = Wildcard.ALL


def thread_layout(threads: Layout, atoms: Layout) -> Layout:
    """``(V,M,N,K)`` to the number of a thread: the threads of one atom, then the atoms along M, N and K."""
    layout = tiled_product(threads, atoms)
    assert isinstance(layout, Layout)
    return layout


def thread_coordinate(thread: Integer, parts: Sequence[Layout]) -> tuple[Integer, ...]:
    """Which atom a thread belongs to, and which of its threads it is: one number for each mode of ``thread_layout``.

    Raises:
        LayoutError: a mode does not come from one range of thread numbers.
    """
    found = []
    for mode in parts:
        simple = coalesce(mode)
        assert isinstance(simple, Layout)
        extent, stride = integer(simple.shape, "one extent"), integer(simple.stride, "one stride")
        found.append(0 if stride == 0 else modulo_integers(divide_integers(thread, stride), extent))
    return tuple(found)


@dataclass(frozen=True)
class MmaOperand:
    """How one operand of a tiled MMA is divided.

    Attributes:
        thread_values: ``(thread, value)`` of one atom to the index in its tile.
        extents: rows and columns of that tile.
        permutation: tilers of the operand's two modes, ``_`` for none.
        threads: the modes of ``thread_layout`` that count threads within the atom, and atoms along either mode.
    """

    thread_values: Layout
    extents: tuple[int, int]
    permutation: tuple[Layout | Tile | Tuple, Layout | Tile | Tuple]
    threads: tuple[Layout, Layout, Layout]


def divided_among_threads(layout: AnyLayout, operand: MmaOperand) -> AnyLayout:
    """``((thread, (atom m, atom k)), (value, (rest m, rest k, ...)))``."""
    permuted = logical_divide(layout, Tile(operand.permutation))
    atoms = zipped_divide(permuted, Tile(tuple(map(column, operand.extents))))
    held = composition(atoms, Tile((operand.thread_values, _ALL)))
    _, *along = operand.threads
    counts = Tile(tuple(column(size(mode)) for mode in along))
    return zipped_divide(held, Tile((_ALL, counts)))


def partition_mma(layout: AnyLayout, operand: MmaOperand, place: tuple[Integer, ...]) -> tuple[AnyLayout, Tuple]:
    """The tensor with its threads apart, and the coordinate of what one holds: ``(value, rest m, rest k, ...)``.

    Args:
        place: which thread of which atom along either mode.
    """
    divided = divided_among_threads(layout, operand)
    thread, *along = place
    _, mine = modes(outer_of(divided))
    rest = modes(modes(mine)[1])
    return divided, ((thread, tuple(along)), (_ALL, (_ALL,) * len(rest)))


@dataclass(frozen=True)
class CopySide:
    """How the source or the destination of a tiled copy is divided.

    Attributes:
        thread_values: ``(thread, value)`` of the tiled copy to an index in its tile, in the order of ``reference``.
        tiler: the tile.
        reference: ``(thread, value)`` of one atom to the elements it copies, by which the tile is partitioned.
        side: the same of this side.
    """

    thread_values: Layout
    tiler: Tile
    reference: Layout
    side: Layout

    @property
    def atom_size(self) -> tuple[Integer, Integer]:
        """Threads and values of one atom."""
        threads, values = modes(self.reference)
        return integer(size(threads)), integer(size(values))

    def in_tile(self) -> Layout:
        """``((thread, rest), (value, rest))`` of this side to an index in the tile.

        Raises:
            LayoutError: the tile does not fall into atoms.
        """
        threads, values = self.atom_size
        atoms = zipped_divide(self.thread_values, (threads, values))
        turned = composition(right_inverse(self.reference), self.side)
        placed = composition(atoms, Tile((turned, _ALL)))  # type: ignore[arg-type]
        (thread, value), (more_threads, more_values) = (modes(mode) for mode in modes(outer_of(placed)))
        zipped = concatenate([concatenate([thread, more_threads]), concatenate([value, more_values])])
        simple = coalesce(zipped, (1, (1, 1)))
        assert isinstance(simple, Layout)
        return simple


def partition_copy(layout: AnyLayout, side: CopySide, thread: Integer) -> tuple[AnyLayout, Tuple]:
    """The tensor with its threads apart, and the coordinate of what one copies: ``((value, rest), rest m, ...)``."""
    tiles = zipped_divide(layout, side.tiler)
    held = composition(tiles, Tile((side.in_tile(), _ALL)))
    within, over = modes(outer_of(held))
    thread_mode, values = modes(within)
    rest = modes(over) if len(modes(over)) > 1 else [over]
    flat = on_outer(lambda _: concatenate([thread_mode, values, *rest]), held)
    return flat, (thread, _ALL, *(_ALL,) * len(rest))


def retile(layout: AnyLayout, thread_values: Layout, tiler: Tile, values: Integer) -> AnyLayout:
    """The fragment of one thread of a tiled MMA, divided for a tiled copy: ``((value, rest), rest m, rest n)``.

    Args:
        values: the number per atom of the copy.

    Raises:
        LayoutError: the values do not fall into atoms.
    """
    part = outer_of(layout)
    held = modes(part)[0]
    count = integer(size(held))
    threads = integer(size(modes(thread_values)[0]))
    extents = tuple(size(mode) for mode in tiler.modes)
    if not isinstance(count, int) or not isinstance(threads, int):
        raise LayoutError("a dynamic number of values cannot be divided")
    inverse = right_inverse(thread_values)
    tile = Layout(extents, make_layout(extents).stride)
    by_place = upcast(composition(inverse, tile), threads * count)
    of_values = right_inverse(outer_of(by_place))
    divided = zipped_divide(logical_product(column(count), of_values), column(values))
    pieces = zipped_divide(layout, (count, *product_each(outer_of(by_place).shape)))  # type: ignore[misc]
    held_again = composition(pieces, Tile((outer_of(divided), _ALL)))
    within, over = modes(outer_of(held_again))
    return on_outer(lambda _: concatenate([within, *modes(over)[1:]]), held_again)


def bulk_partition(
    shared: AnyLayout, remote: Layout, values: int, share: Integer
) -> tuple[tuple[AnyLayout, Layout], tuple[Tuple, Tuple]]:
    """Shared memory and the tensor beyond it as bulk copies see them: ``((values, copies), rest, ...)`` each.

    The tile is the first mode of both. It is walked in the order of shared memory, so that each copy of ``values``
    elements is one piece there.

    Args:
        share: where in one copy the part of this CTA starts, of the CTAs that share the copy.

    Returns:
        The two layouts, and the offsets at which they start.

    Raises:
        LayoutError: the tile does not fall into such pieces.
    """
    tile = modes(outer_of(shared))[0]
    count = size(tile)
    walk = tile_to_shape(concatenate([right_inverse(tile)]), (count,), (0,))
    pieces = logical_divide(outer_of(walk), Tile((column(values),)))
    found: list[AnyLayout] = []
    starts: list[Tuple] = []
    for layout in (shared, remote):
        rank_of = rank(outer_of(layout))
        placed = composition(layout, Tile((modes(outer_of(pieces))[0], *(_ALL,) * (rank_of - 1))))
        simple = coalesce(placed, ((1, 1),))
        found.append(simple)
        starts.append(crd2idx(((share, 0), *(0,) * (rank_of - 1)), outer_of(simple)))
    return (found[0], outer_of(found[1])), (starts[0], starts[1])


def copy_of_addresses(addresses: Layout, data: Layout) -> tuple[Layout, Tile]:
    """The tiled copy that maps ``(thread, value)`` to these addresses of a tensor: its TV layout and tile.

    Raises:
        LayoutError: the addresses are not all in the tensor, or the tensor has elements at one address.
    """
    if not is_static_layout(data):
        raise LayoutError(f"the addresses of the dynamic layout {data} are not known")
    inverse = concatenate([left_inverse(data), Layout(1, 0)])
    coordinates = outer_of(composition(inverse, addresses))
    held, wanted = (coalesce(modes(each)[1]) for each in (outer_of(composition(data, coordinates)), addresses))
    if held != wanted:
        raise LayoutError(f"the addresses {addresses} do not lie evenly in {data}")
    extents = tuple_modes(product_each(data.shape))
    tilers: list[Layout] = []
    for place in range(len(extents)):
        along = Layout(extents, tuple(int(mode == place) for mode in range(len(extents))))
        tilers.append(outer_of(filter(composition(along, coordinates))))
        if integer(cosize(tilers[-1])) > integer(extents[place]):  # type: ignore[operator]
            raise LayoutError(f"the addresses {addresses} reach outside {data}")
    tile = Tile(tuple(tilers))
    in_tile = outer_of(composition(make_layout(extents), tile))
    return outer_of(composition(left_inverse(in_tile), coordinates)), tile


def outer_of(layout: AnyLayout) -> Layout:
    """The part of a layout that meets the coordinate."""
    return layout if isinstance(layout, Layout) else layout.outer
