"""The claims as functions; ``tileproof.prove`` describes them."""

from __future__ import annotations

from collections.abc import Iterable

from tileproof.base.verdict import Verdict
from tileproof.layout import Swizzle, Tuple
from tileproof.prove import questions
from tileproof.prove.claim import decide
from tileproof.prove.parse import AnyText

__all__ = ["aligned", "bijective", "conflict_free", "covers", "decide", "equivalent", "injective"]

TIMEOUT = 10.0
"""Time limit of Z3 in seconds."""

Element = str | int | None
"""An element type by its name in PTX or in the IR, or its bits."""


def equivalent(
    first: AnyText,
    second: AnyText,
    *,
    element: Element = None,
    assume: Iterable[str] = (),
    timeout: float = TIMEOUT,
) -> Verdict:
    """Whether two layouts have the same value at each index.

    Compared are element offsets (or coordinates), and byte addresses where one is a memory reference with a swizzle.

    Args:
        element: the element type of a layout that is not a memory reference.
        assume: relations of dynamic leaves, such as ``m == 16*n``, ``ld >= m`` or ``d % 32 == 1``.
        timeout: seconds that Z3 may spend.

    Raises:
        LayoutError, SyntaxFault: the question makes no sense.
    """
    return decide(questions.equivalent(first, second, element, tuple(assume)), timeout)


def injective(
    layout: AnyText, *, element: Element = None, assume: Iterable[str] = (), timeout: float = TIMEOUT
) -> Verdict:
    """Whether no two coordinates have the same value. Arguments and errors are those of ``equivalent``."""
    return decide(questions.injective(layout, element, tuple(assume)), timeout)


def bijective(
    layout: AnyText, *, element: Element = None, assume: Iterable[str] = (), timeout: float = TIMEOUT
) -> Verdict:
    """Are the offsets 0 to size - 1, each once? Arguments and errors are those of ``equivalent``."""
    return decide(questions.bijective(layout, element, tuple(assume)), timeout)


def covers(
    layout: AnyText,
    tile: str | Tuple,
    *,
    at_least_once: bool = False,
    element: Element = None,
    assume: Iterable[str] = (),
    timeout: float = TIMEOUT,
) -> Verdict:
    """Does a layout, such as a thread-value layout, reach each element of a tile exactly once?

    Args:
        tile: its shape, such as ``(128,64)``. Offsets count through it, coordinates (scaled bases) name its elements.
        at_least_once: an element may be reached several times, but nothing outside the tile.

    Other arguments and errors are those of ``equivalent``.
    """
    return decide(questions.covers(layout, tile, at_least_once, element, tuple(assume)), timeout)


def aligned(
    layout: AnyText,
    vector: int,
    *,
    element: Element = None,
    size: int | None = None,
    mode: int | None = None,
    swizzle: str | Swizzle | None = None,
    align: int | None = None,
    assume: Iterable[str] = (),
    timeout: float = TIMEOUT,
) -> Verdict:
    """Is every access of ``vector`` elements along a mode contiguous, and at a multiple of ``size`` bytes?

    Args:
        size: the alignment in bytes; by default the bytes of the access.
        mode: of the shape; by default the one that steps from element to element.
        swizzle: of byte addresses, such as ``S<3,4,3>``.
        align: of the base address in bytes; by default it is aligned to whatever is needed.

    Other arguments and errors are those of ``equivalent``.
    """
    claim = questions.aligned(layout, vector, element, size, mode, swizzle, align, tuple(assume))
    return decide(claim, timeout)


def conflict_free(
    layout: AnyText,
    access: str,
    *,
    element: Element = None,
    tv: AnyText | None = None,
    mode: int | None = None,
    swizzle: str | Swizzle | None = None,
    align: int | None = None,
    assume: Iterable[str] = (),
    timeout: float = TIMEOUT,
) -> Verdict:
    """Does a warp's access to shared memory meet no bank conflict?

    Args:
        access: ``ldmatrix.x4``, ``stmatrix.x2``, ``ld.shared.b32``, ``st.shared.v4.b32``, ... Of a matrix access the
            layout is that of the tile, rows and columns, and every 8x8 matrix in it is checked; of the others it
            is a TV layout that maps to offsets.
        tv: the TV layout, if ``layout`` is that of the memory: it maps to the index of an element of
            ``layout``, or to its coordinate.
        mode: of the tile, along which the rows of a matrix run.

    Other arguments and errors are those of ``aligned``.
    """
    claim = questions.conflict_free(layout, access, element, tv, mode, swizzle, align, tuple(assume))
    return decide(claim, timeout)
