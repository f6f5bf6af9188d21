"""Which bytes of shared memory each warp touches where a tile is partitioned over threads.

A partitioned tensor has one type for all threads and one start for each of them. The bytes that one thread touches are
a set, written as an integer with a bit for each byte; those of a warp are the union over its threads. Sets are before
the swizzle: two accesses that swizzle alike compare so, others where their swizzles put them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, reduce
from operator import or_

from tileproof.base.by_identity import by_identity
from tileproof.base.records import dataclass, replace
from tileproof.dialects.infer.call import Unknown
from tileproof.dialects.infer.partition import copy_side, mma_operand
from tileproof.dialects.values import Pointer, Tensor, TiledCopy, TiledMma, element_bits, read_type
from tileproof.layout import LayoutError, crd2idx, tiled
from tileproof.layout.basics import concatenate, flat_modes, is_static_layout, modes, outer, size
from tileproof.layout.swizzle import apply_swizzle
from tileproof.layout.tiled import MmaOperand
from tileproof.layout.values import Layout, Swizzle
from tileproof.memory.pointers import byte_swizzle

_MOST_BYTES = 1 << 18  # of a part whose bytes are listed one by one
_BYTE = 8


@dataclass(frozen=True, slots=True, eq=False)
class Touched:
    """The bytes that warps touch, from the lowest of them on, as sets.

    Those of equal parts are one object, by which answers are kept: each turn of a loop compares the same parts again.

    Attributes:
        warps: the bytes of each warp.
        whole: those of all warps.
    """

    warps: Mapping[int, int]
    whole: int


@dataclass(frozen=True, slots=True, eq=False)
class AccessSet:
    """What the warps of a thread set touch.

    Attributes:
        start: the byte of the allocation that the lowest bit of the sets stands for.
        swizzle: how the addresses are swizzled, on bytes.
    """

    start: int
    touched: Touched
    swizzle: Swizzle | None

    @property
    def warps(self) -> Mapping[int, int]:
        """The bytes of each warp, as sets."""
        return self.touched.warps

    @property
    def whole(self) -> int:
        """The bytes of all warps."""
        return self.touched.whole

    @property
    def end(self) -> int:
        """The byte after the last one."""
        return self.start + self.whole.bit_length()

    def clashes(self, other: AccessSet) -> Mapping[int, set[int]] | None:
        """For each warp of this the warps of the other that have a byte in common with it; None where unknown."""
        if self.swizzle is other.swizzle or self.swizzle == other.swizzle:
            return _meeting(self.touched, other.touched, other.start - self.start)
        if all(one is None or one.base >= _LEAST_BASE for one in (self.swizzle, other.swizzle)):
            return _met(self.placed(), other.placed())
        return None

    def touching(self, low: int, high: int) -> frozenset[int] | None:
        """The warps that touch any of these bytes of the allocation; None where they are swizzled."""
        if self.swizzle is not None:
            return None
        return _touching(self.touched, max(low - self.start, 0), high - self.start)

    def placed(self) -> dict[int, int]:
        """The bytes of each warp after the swizzle, from the beginning of the allocation."""
        return {warp: _swizzled(one << self.start, self.swizzle) for warp, one in self.warps.items()}


@lru_cache(maxsize=1 << 14)
def _touching(touched: Touched, low: int, high: int) -> frozenset[int]:
    """The warps that touch any of these bytes, counted from the lowest one that any of them touches."""
    bits = (1 << max(high - low, 0)) - 1 << low
    return frozenset(warp for warp, one in touched.warps.items() if one & bits)


@lru_cache(maxsize=1 << 14)
def _meeting(one: Touched, other: Touched, apart: int) -> Mapping[int, set[int]]:
    """The warps of either that have a byte in common, where the other lies so many bytes behind."""
    both = one.whole & other.whole << apart if apart >= 0 else one.whole << -apart & other.whole
    if not both:
        return {}
    mine, theirs = one.warps, other.warps
    if apart > 0:
        theirs = {warp: bits << apart for warp, bits in theirs.items()}
    elif apart:
        mine = {warp: bits << -apart for warp, bits in mine.items()}
    return _met(mine, theirs)


def _met(mine: Mapping[int, int], theirs: Mapping[int, int]) -> Mapping[int, set[int]]:
    return {
        warp: met
        for warp, bits in mine.items()
        if (met := {their for their, others in theirs.items() if bits & others})
    }


_LEAST_BASE = 3  # 8 bytes stay together: a byte of a set


@lru_cache(maxsize=256)
def _swizzled(held: int, swizzle: Swizzle | None) -> int:
    """Where a swizzle puts the bytes of a set; an allocation begins at a multiple of its period."""
    if swizzle is None or not swizzle.bits:
        return held
    piece = 1 << swizzle.base - _LEAST_BASE  # of the set, in bytes, that stay together
    period = piece << swizzle.bits + abs(swizzle.shift)
    length = -(-held.bit_length() // _BYTE)
    before = held.to_bytes(-(-length // period) * period, "little")
    after = bytearray(len(before))
    empty = bytes(piece)
    for i in range(0, len(before), piece):
        if before[i : i + piece] != empty:
            address = apply_swizzle(swizzle, i * _BYTE)
            assert isinstance(address, int)
            after[address // _BYTE : address // _BYTE + piece] = before[i : i + piece]
    return int.from_bytes(after, "little")


@by_identity
@lru_cache(maxsize=4096)  # equal parts have one set, by which what it meets is kept
def access_set(
    shape: str, parts: tuple[int | None, ...], threads: tuple[int, ...], warp: int, origin: str = ""
) -> AccessSet | None:
    """What threads touch through a type; None where that is not known.

    Args:
        shape: the type of what one thread has.
        parts: for each thread of the CTA the byte of the allocation where its part starts.
        warp: the threads of a warp.
        origin: the type of a thread's part before a swizzle was worked into its strides; where ``shape`` has as many
            elements it is the same part. The strides of a smaller part that are still known are those that the swizzle
            does not change.
    """
    whole = _part(origin) if origin else None
    held = whole if whole is not None and _elements(origin) == _elements(shape) else _part(shape)
    if held is None:
        return None
    starts = {(thread // warp, start) for thread in threads if (start := _start(parts, thread)) is not None}
    if not starts:
        return None
    least = min(start for _, start in starts)
    touched = _touched(held[0], tuple(sorted((one, start - least) for one, start in starts)))
    return AccessSet(least, touched, held[1] if whole is None or held[1] is not None else whole[1])


def _start(parts: tuple[int | None, ...], thread: int) -> int | None:
    """Where the part of a thread starts.

    A thread without a part drops out alone: what it would have lies outside the tile, and a condition keeps it from it.
    """
    return parts[thread] if thread < len(parts) else None


@lru_cache(maxsize=4096)
def _touched(part: int, starts: tuple[tuple[int, int], ...]) -> Touched:
    """What warps touch whose threads have a part each.

    Args:
        starts: the warp of each thread and the first byte of its part.
    """
    warps: dict[int, int] = {}
    for warp, start in starts:
        warps[warp] = warps.get(warp, 0) | part << start
    return Touched(warps, reduce(or_, warps.values()))


@lru_cache(maxsize=4096)
def _part(shape: str) -> tuple[int, Swizzle | None] | None:
    """The bytes that one thread has of a tensor, or the element at a pointer, and how they are swizzled."""
    kind = read_type(shape)
    if isinstance(kind, Pointer):
        bits = element_bits(kind.element)
        return None if bits is None or bits % _BYTE else ((1 << bits // _BYTE) - 1, byte_swizzle(kind))
    if not isinstance(kind, Tensor) or not isinstance(kind.iterator, Pointer):
        return None
    bits, layout = element_bits(kind.iterator.element), outer(kind.layout)
    if bits is None or bits % _BYTE or not is_static_layout(layout):
        return None
    found = (1 << bits // _BYTE) - 1
    for extent, stride in flat_modes(layout):
        assert isinstance(extent, int)
        if not isinstance(stride, int) or stride < 0 or extent * stride * bits // _BYTE > _MOST_BYTES:
            return None
        step, one = stride * bits // _BYTE, found
        for i in range(1, extent if step else 1):
            found |= one << i * step
    return found, byte_swizzle(kind)


@lru_cache(maxsize=4096)
def _elements(shape: str) -> object:
    kind = read_type(shape)
    return size(outer(kind.layout)) if isinstance(kind, Tensor) else None


@lru_cache(maxsize=4096)
def element_of(shape: str) -> str:
    """The type of a pointer to one element of a tensor, swizzled as the tensor is; empty where it is none."""
    kind = read_type(shape)
    if not isinstance(kind, Tensor) or not isinstance(kind.iterator, Pointer):
        return ""
    return str(replace(kind.iterator, swizzle=byte_swizzle(kind)))


@lru_cache(maxsize=1024)
def distances(
    tiled_atom: TiledCopy | TiledMma, role: str, tensor: Tensor, threads: tuple[int | None, ...]
) -> tuple[int | None, ...]:
    """How many bytes after the start of a tensor the part of each of these threads starts; None where unknown.

    Threads whose part would lie outside the tensor have none: a condition keeps them from it. Outside is what is beyond
    the extent of a mode: in memory another stage may be there.

    Args:
        role: ``S`` or ``D`` of a copy, ``A``, ``B`` or ``C`` of an MMA.
    """
    bits = element_bits(tensor.iterator.element) if isinstance(tensor.iterator, Pointer) else None
    if bits is None or bits % _BYTE:
        return (None,) * len(threads)
    start = _start_of_copy if isinstance(tiled_atom, TiledCopy) else _start_of_mma
    along = _along_modes(tensor)
    known: dict[int | None, int | None] = {None: None}
    for thread in threads:
        if thread is not None and thread not in known:
            elements = start(tiled_atom, role, tensor, thread)  # type: ignore[arg-type]
            places = ((start(tiled_atom, role, mode, thread), extent) for mode, extent in along)  # type: ignore[arg-type]
            outside = any(place is not None and place >= extent for place, extent in places)
            known[thread] = elements * bits // _BYTE if elements is not None and not outside else None
    return tuple(known[thread] for thread in threads)


@lru_cache(maxsize=1024)
def _along_modes(tensor: Tensor) -> tuple[tuple[Tensor, int], ...]:
    """For each mode of a tensor one of the same extents in which an element's offset is its coordinate along the mode.

    With the extent of the mode. Nothing where the extents are not known.
    """
    extents = tuple(size(mode) for mode in modes(outer(tensor.layout)))
    known = tuple(extent for extent in extents if isinstance(extent, int))
    if known != extents:
        return ()
    strides = (tuple(int(i == mode) for i in range(len(known))) for mode in range(len(known)))
    return tuple((replace(tensor, layout=Layout(known, stride)), known[i]) for i, stride in enumerate(strides))


@lru_cache(maxsize=1024)
def part_of(tiled_atom: TiledCopy | TiledMma, role: str, tensor: Tensor) -> str:
    """The type of what a thread has of a tensor, with its strides before the swizzle; empty where it is not known."""
    if not isinstance(tensor.iterator, Pointer):
        return ""
    try:
        if isinstance(tiled_atom, TiledCopy):
            side = copy_side(tiled_atom, role, None)
            _, *mine = modes(outer(tiled.partition_copy(outer(tensor.layout), side, 0)[0]))
        else:
            _, *mine = modes(_threads_of_mma(tiled_atom, role, tensor)[1])
    except (LayoutError, Unknown):
        return ""
    return str(Tensor(replace(tensor.iterator, swizzle=byte_swizzle(tensor)), concatenate(mine)))


def _start_of_copy(copy: TiledCopy, role: str, tensor: Tensor, thread: int) -> int | None:
    try:
        found = crd2idx(thread, _threads_of_copy(copy, role, tensor))
    except (LayoutError, Unknown):
        return None
    return found if isinstance(found, int) else None


@lru_cache(maxsize=1024)
def _threads_of_copy(copy: TiledCopy, role: str, tensor: Tensor) -> Layout:
    """The number of a thread to where its part starts."""
    divided, _ = tiled.partition_copy(outer(tensor.layout), copy_side(copy, role, None), 0)
    return modes(outer(divided))[0]


def _start_of_mma(mma: TiledMma, role: str, tensor: Tensor, thread: int) -> int | None:
    try:
        part, divided = _threads_of_mma(mma, role, tensor)
        first, *along = tiled.thread_coordinate(thread, part.threads)
        found = crd2idx((first, tuple(along)), modes(divided)[0])
    except (LayoutError, Unknown):
        return None
    return found if isinstance(found, int) else None


@lru_cache(maxsize=1024)
def _threads_of_mma(mma: TiledMma, role: str, tensor: Tensor) -> tuple[MmaOperand, Layout]:
    part = mma_operand(mma, role)
    return part, outer(tiled.divided_among_threads(outer(tensor.layout), part))
