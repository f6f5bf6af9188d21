"""Results of functions of long tuples, kept by which tuples they are.

The machine of the protocol has an integer for each thread of a CTA, and the same tuples come again and again. To hash
one of a thousand integers takes longer than most of what is asked of it; to compare which object it is takes nothing.
Equal tuples that are other objects are asked anew, so only functions are kept here of which that is no loss.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MOST = 4096  # results of one function: then all are forgotten, and the objects with them


def by_identity(function: Callable[P, T], most: int = MOST) -> Callable[P, T]:
    """A function whose results are kept for the very objects that it was given, by position.

    Args:
        most: results that are kept: few of what is large.
    """
    kept: dict[tuple[int, ...], tuple[tuple[object, ...], T]] = {}

    @wraps(function)
    def found(*given: P.args, **named: P.kwargs) -> T:
        key = tuple(map(id, given))
        known = kept.get(key)
        if known is not None:
            return known[1]
        value = function(*given, **named)
        if len(kept) >= most:
            kept.clear()
        kept[key] = given, value  # while they are held no other object has their place
        return value

    return found


__all__ = ["by_identity"]
