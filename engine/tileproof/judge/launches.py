"""Launches that the user states, for kernels whose text does not say with how many threads or CTAs they run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TypeAlias

from tileproof.base.records import dataclass
from tileproof.evaluate.hardware import limit
from tileproof.rulebase.book import Rulebook

Three: TypeAlias = "tuple[int, int, int]"

_MOST = 3  # dimensions


@dataclass(frozen=True, slots=True)
class StatedLaunch:
    """What the user says of the launches of some kernels.

    Attributes:
        kernels: a pattern of their names, as the text writes them.
        block: threads in a CTA along x, y and z; None where nothing is said.
        cluster: CTAs in a cluster along x, y and z; None where nothing is said.
    """

    kernels: str
    block: Three | None = None
    cluster: Three | None = None


def dimensions(value: object) -> Three:
    """One to three positive numbers: an integer, a list of them, or a text such as ``128``, ``32,4`` or ``2x1x1``.

    Raises:
        ValueError: it is something else.
    """
    if isinstance(value, str):
        parts = re.split(r"\s*[,x]\s*", value.strip())
        numbers: Sequence[object] = [int(one) if one.isascii() and one.isdecimal() else None for one in parts]
    else:
        numbers = value if isinstance(value, (list, tuple)) else (value,)
    if 1 <= len(numbers) <= _MOST and all(type(one) is int and one > 0 for one in numbers):
        x, y, z = (*numbers, 1, 1)[:_MOST]
        assert isinstance(x, int) and isinstance(y, int) and isinstance(z, int)
        return x, y, z
    raise ValueError(f"{value!r} is not one to {_MOST} positive numbers, such as 128, 32,4 or 2x1x1")


def stated_launches(block: object = None, cluster: object = None) -> tuple[StatedLaunch, ...]:
    """What is said of all kernels; nothing where neither is given.

    Raises:
        ValueError: as of ``dimensions``, with which of them it is.
    """
    said: dict[str, Three] = {}
    for name, value in (("block", block), ("cluster", cluster)):
        if value is not None:
            try:
                said[name] = dimensions(value)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
    return (StatedLaunch("*", **said),) if said else ()


def of_kernel(launches: Iterable[StatedLaunch], name: str) -> tuple[Three | None, Three | None]:
    """Block and cluster of a kernel: what the first says of each whose pattern its name matches."""
    block = cluster = None
    for one in launches:
        if fnmatchcase(name, one.kernels):
            block, cluster = block or one.block, cluster or one.cluster
    return block, cluster


def check_launches(book: Rulebook, launches: Iterable[StatedLaunch]) -> None:
    """Raise ValueError for a CTA or a cluster that no launch can have."""
    for one in launches:
        for what, numbers, name in (("block", one.block, "cta_threads"), ("cluster", one.cluster, "cluster_ctas")):
            most = limit(book, name)
            if numbers is not None and numbers[0] * numbers[1] * numbers[2] > most:
                unit = "threads in a CTA" if what == "block" else "CTAs in a cluster"
                shown = " x ".join(map(str, numbers))
                raise ValueError(f"a {what} of {shown} is too large: there are at most {most} {unit}")
