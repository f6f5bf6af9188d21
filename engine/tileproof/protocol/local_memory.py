"""What each thread keeps in its local memory: where compilers put arrays that an index picks from, such as those of
the addresses of mbarriers and stages.

Nobody else sees it, so no order can be missing there. It is one value more, as if a register held it: a store makes
another one of it, and a load picks from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from tileproof.protocol.ptx_arithmetic import Lifted, signed
from tileproof.protocol.terms import lift
from tileproof.protocol.values import Lanes, Local, Supposed, Value, term_of

LOCAL = "local memory"  # its key among those of registers, none of which has a blank
APART = 1 << 40  # of two variables, in bytes: an address in local memory is a number
_MOST = 64  # integers that are kept at a time
_WORD = 4


def stored(size: int) -> Callable[..., Sequence[Value]]:
    """The function of a store: what is kept after it of what was before, the address, and the values.

    Args:
        size: bytes of each value, of which no more is kept.
    """
    low = lift(lambda value: value & (1 << 8 * size) - 1, f"low {size}")
    keep = low if size < _WORD else _same

    def function(held: Value, address: Value, *values: Value) -> Sequence[Value]:
        if not isinstance(address, int):
            return (None,)
        first, end = int(address), int(address) + size * len(values)
        before = held.cells if isinstance(held, Local) else ()
        kept = [one for one in before if one[0] + one[1] <= first or end <= one[0]]
        kept += [(first + i * size, size, keep(value)) for i, value in enumerate(values) if value is not None]
        return (Local(tuple(sorted(kept, key=_place))) if len(kept) <= _MOST else None,)

    return function


def loaded(size: int, behind: int, signed: bool = False) -> Callable[[Value, Value], Sequence[Value]]:
    """The function of a load: what is kept so many bytes behind an address.

    Where the address is supposed, so is the integer that it picks.

    Args:
        signed: whether a byte or a half of a word is a signed integer.
    """
    top = 1 << 8 * size - 1
    extend = lift(lambda value: (value ^ top) - top, f"signed {size}") if signed and size < _WORD else _same

    def function(held: Value, address: Value) -> Sequence[Value]:
        return (extend(pick(held, address)),)

    def pick(held: Value, address: Value) -> Value:
        if not isinstance(held, Local):
            return None
        cells = {(place, length): value for place, length, value in held.cells}

        def kept(place: int) -> Value:
            found = cells.get((place, size))
            return _part(cells, place, size) if found is None else found

        if isinstance(address, Lanes):
            each = [None if one is None else kept(one + behind) for one in address.each]
            whole = all(isinstance(one, int) for one, at in zip(each, address.each, strict=True) if at is not None)
            found = tuple(one if isinstance(one, int) else None for one in each)
            terms = tuple(term for one in (address, *each) if (term := term_of(one)) is not None)
            return Lanes(found, hash(terms) if terms else None) if whole else None
        if not isinstance(address, int):
            return None
        one = kept(int(address) + behind)
        if isinstance(address, Supposed) and isinstance(one, int):
            integers = tuple((*at, int(value)) for at, value in cells.items() if isinstance(value, int))
            return Supposed(one, hash((address.term, term_of(one), behind, integers)))
        return one

    return function


def _part(cells: Mapping[tuple[int, int], Value], place: int, size: int) -> Value:
    """Some bytes of a longer integer, the lowest first; None where no integer that is kept has them."""
    for (first, length), value in cells.items():
        if first <= place and place + size <= first + length and isinstance(value, int | Lanes):
            return _bytes(place - first, size)(value)
    return None


@lru_cache(maxsize=64)
def _bytes(behind: int, size: int) -> Lifted:
    """So many bytes of an integer, from one on: those of less than a word without a sign, as they are kept."""

    def cut(whole: int) -> int:
        found = whole >> 8 * behind & (1 << 8 * size) - 1
        return found if size < _WORD else signed(found, 8 * size)

    return lift(cut, f"{size} bytes at {behind}")


def _same(value: Value) -> Value:
    return value


def _place(cell: tuple[int, int, Value]) -> int:
    return cell[0]


__all__ = ["APART", "LOCAL", "loaded", "stored"]
