"""The descriptors of a layout under any swizzle that acts on it as its own does.

A swizzle moves some bits of an address by others. Where a tile never sets those others, or never more of them, two
swizzles are the same: rows of 32 bytes, eight of which are 256 bytes, never set bit 8, so that ``S<2,4,3>`` moves
no more than ``S<1,4,3>`` does, and the descriptor has the swizzle of 32 bytes. What the hardware reads is a place, not
the name of a swizzle, so places are compared: with the swizzle ``S`` of the layout ``L`` and a swizzle ``H`` of the
hardware, the operand is canonical under ``H`` where ``H(S(L))`` is a canonical layout, as ``H`` undoes itself. That is
worked out for every element of a tile, and for every other tile modulo the period of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import gcd

from tileproof.base.records import dataclass, replace
from tileproof.descriptors.canonical import (
    Match,
    NoDescriptor,
    NoTiles,
    OperandDescriptor,
    TiledOperand,
    Undecided,
    canonical_forms,
    describe,
    divided,
    match_offsets,
    operand,
    pack,
)
from tileproof.evaluate.hardware import descriptor_unit, swizzle_period
from tileproof.layout import ComposedLayout, Layout, Swizzle, crd2idx, is_static_layout
from tileproof.layout.basics import flat_modes, modes
from tileproof.layout.swizzle import read_mask
from tileproof.layout.values import Dynamic
from tileproof.rulebase.book import Rulebook, Ruleset


@dataclass(frozen=True, slots=True)
class _Places:
    """Where a tile of an operand is, in bits, before its swizzle.

    Attributes:
        offsets: of each row and of each column of the tile; an element has the sum of both.
        starts: of the tiles, modulo the period; the first tile's first.
        period: of all swizzles, in bits.
    """

    offsets: tuple[list[int], list[int]]
    starts: tuple[int, ...]
    swizzle: Swizzle
    period: int


def descriptors(
    ruleset: Ruleset,
    word: str,
    layout: Layout | ComposedLayout,
    bits: int,
    extents: tuple[int, int],
    of_bytes: Swizzle | None,
    majors: tuple[str, ...],
    every: bool = False,
) -> tuple[TiledOperand, tuple[OperandDescriptor, ...]]:
    """The operand, and the descriptors that read it: that of its own swizzle first.

    Args:
        layout, bits, extents, of_bytes: as for ``operand``.
        majors: those that may be.
        every: also those of other swizzles where its own has one.

    Raises:
        NoDescriptor: there is none; the reasons are those of its own swizzle.
        Undecided: something in it is dynamic.
    """
    whole: TiledOperand | None = None
    found: list[OperandDescriptor] = []
    refused: list[NoDescriptor] = []
    try:
        whole = operand(ruleset.book, layout, bits, extents, of_bytes)
    except NoTiles:
        raise
    except NoDescriptor as error:
        refused.append(error)
    for major in majors if whole is not None else ():
        assert whole is not None
        try:
            found.append(describe(ruleset, word, whole.tile, major))
        except NoDescriptor as error:
            refused.append(error)
    if found and whole is not None and not every:
        return whole, tuple(found)
    places = _places(ruleset.book, layout, bits, extents, of_bytes)
    if isinstance(places, Undecided):
        if found and whole is not None:
            return whole, tuple(found)
        raise places
    known = {(one.major, one.swizzle) for one in found}
    for one in _acting(ruleset, word, places, bits, majors) if places is not None else ():
        if (one.major, one.swizzle) not in known:
            found.append(one)
    if not found:
        attempts = tuple(attempt for error in refused for attempt in error.attempts)
        raise NoDescriptor(str(refused[-1]), attempts)
    if whole is None:
        whole = _as_read(ruleset.book, layout, bits, extents, found[0])
    return whole, tuple(found)


def _as_read(
    book: Rulebook, layout: Layout | ComposedLayout, bits: int, extents: tuple[int, int], found: OperandDescriptor
) -> TiledOperand:
    """An operand whose swizzle has no name, as the descriptor reads it."""
    plain = layout.outer if isinstance(layout, ComposedLayout) else layout
    whole = operand(book, plain, bits, extents)
    return replace(whole, tile=replace(whole.tile, layout=found.canonical, swizzle=found.swizzle, start=found.start))


def _places(
    book: Rulebook,
    layout: Layout | ComposedLayout,
    bits: int,
    extents: tuple[int, int],
    of_bytes: Swizzle | None,
) -> _Places | Undecided | None:
    """Where the tiles are; undecided where that is dynamic, None where swizzles are not known to act alike at all."""
    inner = layout.inner if isinstance(layout, ComposedLayout) else None
    plain = layout.outer if isinstance(layout, ComposedLayout) else layout
    offset = layout.offset if isinstance(layout, ComposedLayout) else 0
    power = bits.bit_length() - 1
    if isinstance(inner, Layout) or bits != 1 << power or (inner is not None and of_bytes is not None):
        return None
    if inner is not None:
        swizzle = Swizzle(inner.bits, inner.base + power, inner.shift)
    else:
        swizzle = Swizzle(0, 4, 3) if of_bytes is None else Swizzle(of_bytes.bits, of_bytes.base + 3, of_bytes.shift)
    tile, rest = divided(plain, extents)
    if not is_static_layout(tile):
        return Undecided(f"the layout {tile} has dynamic strides")
    period = max(8 * swizzle_period(book), 1 << (swizzle.bits + swizzle.base + abs(swizzle.shift)))
    starts = {0: None}
    for extent, stride in flat_modes(rest) if rest is not None else ():
        starts = _reached(starts, extent, stride, bits, period)
        if not starts:
            return Undecided(f"the steps {rest} between tiles are dynamic, and may move what the swizzle sees")
    if isinstance(offset, Dynamic) and offset.div * bits % period == 0:
        offset = 0
    if not isinstance(offset, int):
        return Undecided(f"the layout starts at {offset}")
    parts = modes(tile)
    offsets = [[crd2idx(index, part) for index in range(count)] for part, count in zip(parts, extents, strict=True)]
    rows, columns = ([bits * value for value in axis if isinstance(value, int)] for axis in offsets)
    return _Places((rows, columns), tuple(bits * offset + start for start in starts), swizzle, period)


def _reached(starts: dict[int, None], extent: object, stride: object, bits: int, period: int) -> dict[int, None]:
    """The starts of tiles along one more mode, modulo the period; none where they are not known."""
    if isinstance(stride, Dynamic):
        return starts if stride.div * bits % period == 0 else {}
    if not isinstance(stride, int):
        return {}
    step = bits * stride
    several = period // gcd(step, period)
    count = min(extent, several) if isinstance(extent, int) else several
    return dict.fromkeys((start + i * step) % period for i in range(count) for start in starts)


def _acting(
    ruleset: Ruleset, word: str, places: _Places, bits: int, majors: tuple[str, ...]
) -> Iterator[OperandDescriptor]:
    rows, columns = places.offsets
    table, unit = ruleset.book.shared_table("smem_swizzle"), 8 * descriptor_unit(ruleset.book)
    undone: dict[str, tuple[list[int], list[int], int] | None] = {}
    for major in majors:
        for form in canonical_forms(ruleset.book, major, None):
            if form.swizzle not in undone:
                count, base, shift = table.rows[form.swizzle,][:3]
                assert isinstance(count, int) and isinstance(base, int) and isinstance(shift, int)
                undone[form.swizzle] = _undone(rows, columns, places, Swizzle(count, base + 3, shift))
            straight = undone[form.swizzle]
            if straight is None:
                continue
            down, across, start = straight
            if start % unit or any(value % bits for value in (*down, *across)):
                continue
            found = match_offsets(
                ruleset.book, form, ([value // bits for value in down], [value // bits for value in across]), bits
            )
            packed = pack(ruleset, word, form, found, start // 8) if isinstance(found, Match) else None
            if isinstance(packed, OperandDescriptor):
                yield packed


def _undone(
    rows: list[int], columns: list[int], places: _Places, hardware: Swizzle
) -> tuple[list[int], list[int], int] | None:
    """The places of a tile before the swizzle of the hardware: of each row, of each column, and of the first element.

    Returns:
        None where they are no sums, or the other tiles are not the same at the same distance.
    """

    if hardware == places.swizzle or not (hardware.bits or places.swizzle.bits):
        return rows, columns, places.starts[0]

    own, other = places.swizzle, hardware
    masks = read_mask(own), read_mask(other)

    def before(address: int) -> int:
        read = address & masks[0]
        swizzled = address ^ (read >> own.shift if own.shift >= 0 else read << -own.shift)
        return swizzled ^ (swizzled & masks[1]) >> other.shift

    first = places.starts[0]
    start = before(first)
    down, across = ([before(first + value) - start for value in axis] for axis in (rows, columns))
    for tile in places.starts:
        moved = before(tile) - tile
        if moved != start - first:
            return None
        for (row, i), (column, j) in product(zip(rows, down, strict=True), zip(columns, across, strict=True)):
            if before(tile + row + column) != tile + moved + i + j:
                return None
    return down, across, start
