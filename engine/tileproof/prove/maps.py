"""Layouts as functions of their leaf coordinates: sums of steps, then swizzles.

A ``Map`` is a layout taken apart. Each leaf of the shape has one coordinate, and adds a *step* a coordinate to each
*component* of the result: one component for offsets, one a mode for coordinates (scaled bases). What follows the sum
are *stages*: swizzles, the inner layout of a composed layout, a change of unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from math import gcd, prod
from typing import Any, TypeAlias

from tileproof.base.records import dataclass, replace
from tileproof.layout import Swizzle
from tileproof.layout.swizzle import read_mask
from tileproof.prove import symbols
from tileproof.prove.symbols import Number, Polynomial, Values, at, content, product_of, quotient, times, total, whole

Profile: TypeAlias = "Number | tuple[Profile, ...]"
"""A hierarchy of extents."""

VECTORISED = 1 << 15
"""From this size on numpy pays for its import, where it is installed."""
ENUMERABLE = 1 << 22
"""The largest domain that is enumerated."""
PLAIN = 1 << 21
"""The largest domain that is enumerated without numpy."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf of a shape, and how far each component moves a step of its coordinate."""

    extent: Number
    steps: tuple[Number, ...]

    def stepping(self, values: Values) -> Leaf:
        """The leaf with the steps that it has where the quotients in them have these values."""
        return Leaf(self.extent, tuple(at(step, values) for step in self.steps))


@dataclass(frozen=True, slots=True)
class Scale:
    """``factor * x + start``."""

    factor: int
    start: Number


@dataclass(frozen=True, slots=True)
class Inner:
    """A layout of one integer: (extent, stride) of each leaf, the first runs fastest and the last has no end."""

    modes: tuple[tuple[Number, Number], ...]


Stage: TypeAlias = Swizzle | Scale | Inner


def flat(profile: Profile) -> Iterator[Number]:
    """The leaves from left to right."""
    if isinstance(profile, tuple):
        for part in profile:
            yield from flat(part)
    else:
        yield profile


def static_profile(profile: Profile, values: Values) -> Any:
    """The shape where the dynamic leaves have these values."""
    if isinstance(profile, tuple):
        return tuple(static_profile(part, values) for part in profile)
    return at(profile, values)


def window(swizzle: Swizzle) -> int:
    """The swizzle sees an offset modulo this."""
    return 1 << (swizzle.bits + swizzle.base + abs(swizzle.shift))


def swizzled(swizzle: Swizzle, offset: Any) -> Any:
    """The swizzle of an integer, or of each integer of an array."""
    bits = offset & read_mask(swizzle)
    return offset ^ (bits >> swizzle.shift if swizzle.shift >= 0 else bits << -swizzle.shift)


def _stage_at(stage: Stage, values: Values) -> Stage:
    match stage:
        case Scale(factor, start):
            return Scale(factor, at(start, values))
        case Inner(modes):
            return Inner(tuple((at(extent, values), at(stride, values)) for extent, stride in modes))
        case _:
            return stage


def staged(stages: Sequence[Stage], offset: Any) -> Any:
    """An integer (or an array) through static stages."""
    for stage in stages:
        match stage:
            case Swizzle():
                offset = swizzled(stage, offset)
            case Scale(factor, start):
                offset = factor * offset + start
            case Inner(modes):
                offset = _inner(modes, offset)
    return offset


def _inner(modes: tuple[tuple[Number, Number], ...], index: Any) -> Any:
    result, rest = index * 0, index
    for place, (extent, stride) in enumerate(modes):
        last = place == len(modes) - 1
        result = result + (rest if last else rest % extent) * stride
        rest = rest // extent
    return result


@dataclass(frozen=True)
class Map:
    """A layout as a function of leaf coordinates.

    Attributes:
        shape: the extents as the user nests them.
        start: added to each component before the stages.
        stages: applied in order; only where there is one component.
        axes: the mode of the coordinate that each component is, as a path from the outside in; one empty path for
            offsets.
    """

    shape: Profile
    leaves: tuple[Leaf, ...]
    start: tuple[Number, ...] = (0,)
    stages: tuple[Stage, ...] = ()
    axes: tuple[tuple[int, ...], ...] = ((),)

    @cached_property
    def size(self) -> Number:
        """The number of coordinates."""
        return product_of(leaf.extent for leaf in self.leaves)

    @cached_property
    def static(self) -> bool:
        """Is nothing in it dynamic?"""
        numbers = [*self.start, *(n for leaf in self.leaves for n in (leaf.extent, *leaf.steps))]
        for stage in self.stages:
            numbers += [stage.start] if isinstance(stage, Scale) else []
            numbers += [n for mode in stage.modes for n in mode] if isinstance(stage, Inner) else []
        return not any(isinstance(number, Polynomial) for number in numbers)

    def at(self, values: Values) -> Map:
        """The static map where the dynamic leaves have these values."""
        if self.static:
            return self
        return Map(
            static_profile(self.shape, values),
            tuple(Leaf(at(x.extent, values), tuple(at(step, values) for step in x.steps)) for x in self.leaves),
            tuple(at(number, values) for number in self.start),
            tuple(_stage_at(stage, values) for stage in self.stages),
            self.axes,
        )

    def moved(self, values: Values) -> Map:
        """The map whose start, before and among the stages, is what it is where the quotients have these values."""
        stages = tuple(_stage_at(stage, values) if isinstance(stage, Scale) else stage for stage in self.stages)
        return replace(self, start=tuple(at(number, values) for number in self.start), stages=stages)

    def reduced(self, reduce: Callable[[Number], Number]) -> Map:
        """The map with each number of its leaves and its start written in another way."""
        leaves = tuple(Leaf(reduce(x.extent), tuple(map(reduce, x.steps))) for x in self.leaves)
        return replace(self, leaves=leaves, start=tuple(map(reduce, self.start)))

    def with_leaves(self, leaves: Iterable[Leaf]) -> Map:
        """The same function of other leaves; the shape, which only serves printing, stays."""
        return replace(self, leaves=tuple(leaves))

    def scaled(self, factor: int) -> Map:
        """``factor`` times the value: elements to bits."""
        power = factor.bit_length() - 1
        if factor == 1:
            return self
        if all(isinstance(stage, Swizzle) for stage in self.stages) and (not self.stages or factor == 1 << power):
            return Map(
                self.shape,
                tuple(Leaf(x.extent, tuple(times(step, factor) for step in x.steps)) for x in self.leaves),
                tuple(times(number, factor) for number in self.start),
                tuple(Swizzle(s.bits, s.base + power, s.shift) for s in self.stages if isinstance(s, Swizzle)),
            )
        return replace(self, stages=(*self.stages, Scale(factor, 0)))

    def after(self, *stages: Stage) -> Map:
        """The map followed by more stages."""
        found = [*self.stages]
        start = self.start
        for stage in stages:
            if isinstance(stage, Scale) and stage.factor == 1 and not found:
                start = tuple(total(number, stage.start) for number in start)
            elif not (isinstance(stage, Swizzle) and stage.bits == 0):
                found.append(stage)
        return replace(self, start=start, stages=tuple(found))

    def value(self, coordinates: Sequence[int]) -> tuple[int, ...]:
        """The value of a static map at leaf coordinates."""
        sums = [
            whole(start) + sum(c * whole(leaf.steps[i]) for c, leaf in zip(coordinates, self.leaves, strict=True))
            for i, start in enumerate(self.start)
        ]
        return tuple(staged(self.stages, value) for value in sums)

    def digits(self, index: int) -> list[int]:
        """The leaf coordinates of an index of a static map, the first leaf fastest."""
        found = []
        for leaf in self.leaves:
            index, digit = divmod(index, whole(leaf.extent))
            found.append(digit)
        return found

    def index(self, coordinates: Sequence[int]) -> int:
        """The index of leaf coordinates of a static map."""
        result, running = 0, 1
        for coordinate, leaf in zip(coordinates, self.leaves, strict=True):
            result += coordinate * running
            running *= whole(leaf.extent)
        return result

    def columns(self) -> list[Any]:
        """All values of a static map, a list (or, where large, a numpy array) a component, by index.

        Raises:
            TooLarge: there are too many.
        """
        count = whole(self.size)
        if count > ENUMERABLE:
            raise TooLarge(count)
        if count >= VECTORISED:
            try:
                return [self._array(i) for i in range(len(self.start))]
            except ImportError:
                if count > PLAIN:
                    raise TooLarge(count) from None
        return [self._list(i) for i in range(len(self.start))]

    def _list(self, component: int) -> list[int]:
        column: list[int] = [whole(self.start[component])]
        for leaf in self.leaves:
            step = whole(leaf.steps[component])
            column = [v + c * step for c in range(whole(leaf.extent)) for v in column]
        for stage in self.stages:
            if isinstance(stage, Swizzle):
                read, shift = read_mask(stage), stage.shift
                if shift >= 0:
                    column = [v ^ (v & read) >> shift for v in column]
                else:
                    column = [v ^ (v & read) << -shift for v in column]
            else:
                column = [staged((stage,), v) for v in column]
        return column

    def _array(self, component: int) -> Any:
        import numpy as np  # noqa: PLC0415 - optional

        if self._reach() >= 1 << 62:
            raise ImportError
        column: Any = np.array([whole(self.start[component])], dtype=np.int64)
        for leaf in self.leaves:
            steps = np.arange(whole(leaf.extent), dtype=np.int64) * whole(leaf.steps[component])
            column = (steps[:, None] + column[None, :]).ravel()
        return staged(self.stages, column)

    def _reach(self) -> int:
        """A bound for every value on the way, static."""
        reach = max(
            abs(whole(start)) + sum(abs(whole(x.steps[i])) * whole(x.extent) for x in self.leaves)
            for i, start in enumerate(self.start)
        )
        for stage in self.stages:
            match stage:
                case Swizzle():
                    reach += window(stage)
                case Scale(factor, start):
                    reach = reach * abs(factor) + abs(whole(start))
                case Inner(modes):
                    reach = reach * max(1, *(abs(whole(stride)) for _, stride in modes)) * len(modes)
        return reach


class TooLarge(Exception):
    """A domain that is not enumerated.

    Attributes:
        count: its size.
    """

    def __init__(self, count: int) -> None:
        super().__init__(f"{count} coordinates are too many to enumerate")
        self.count = count


def split(leaves: Sequence[Leaf], wanted: int) -> tuple[list[Leaf], list[Leaf]] | None:
    """The first ``wanted`` coordinates of some leaves, the first leaf fastest, apart from the rest.

    Returns:
        The leaves that count to ``wanted``, and those that count on; None where no leaf is known to end there.
    """
    taken: list[Leaf] = []
    for place, leaf in enumerate(leaves):
        if wanted == 1:
            return taken, [*leaves[place:]]
        if isinstance(leaf.extent, int) and wanted % leaf.extent == 0:
            taken.append(leaf)
            wanted //= leaf.extent
            continue
        rest = quotient(leaf.extent, wanted)
        if rest is None:
            return None
        taken.append(Leaf(wanted, leaf.steps))
        return taken, [Leaf(rest, tuple(times(step, wanted) for step in leaf.steps)), *leaves[place + 1 :]]
    return (taken, []) if wanted == 1 else None


def modulo(leaves: Sequence[Leaf], period: int) -> list[Leaf]:
    """Leaves, one for one, that reach modulo ``period`` all that these reach, and perhaps more; all are static.

    A step with the divisor ``d`` moves by multiples of ``d``, of which there are ``period / d`` modulo the period.
    Of static leaves, a coordinate is one of the original.
    """
    found = []
    for leaf in leaves:
        step = symbols.modulo(leaf.steps[0], period)
        divisor = gcd(content(step), period)
        several = period // divisor
        if isinstance(step, int) and isinstance(leaf.extent, int):
            found.append(Leaf(min(leaf.extent, several), (step,)))
        elif isinstance(step, int):
            found.append(Leaf(several, (step,)))
        else:
            found.append(Leaf(several, (divisor if several > 1 else 0,)))
    return found


def refined(
    a: Sequence[Leaf], b: Sequence[Leaf], same: Callable[[Number, Number], bool]
) -> tuple[list[Leaf], list[Leaf]] | None:
    """Both with the same extents, splitting leaves where one divides the other; None where that does not work.

    Args:
        same: are two extents certainly equal?
    """
    left, right = list(reversed(a)), list(reversed(b))
    first: list[Leaf] = []
    second: list[Leaf] = []
    while left or right:
        for rest in (left, right):
            while rest and rest[-1].extent == 1:
                rest.pop()
        if not left and not right:
            break
        if not left or not right:
            return None
        x, y = left.pop(), right.pop()
        if same(x.extent, y.extent):
            first.append(x)
            second.append(y)
            continue
        for one, other, others in ((x, y, right), (y, x, left)):
            if not isinstance(one.extent, int):
                continue
            rest_of = quotient(other.extent, one.extent)
            if rest_of is not None:
                mine, theirs = (first, second) if one is x else (second, first)
                mine.append(one)
                theirs.append(Leaf(one.extent, other.steps))
                others.append(Leaf(rest_of, tuple(times(step, one.extent) for step in other.steps)))
                break
        else:
            return None
    return first, second


def merged(leaves: Sequence[Leaf], same: Callable[[Number, Number], bool]) -> list[Leaf]:
    """The leaves with those made one whose steps count on: a step that is the extent of the one before it times its
    step.

    Args:
        same: are two numbers certainly equal?
    """
    found: list[Leaf] = []
    for leaf in leaves:
        last = found[-1] if found else None
        if last is not None and all(
            same(b, times(last.extent, a)) for a, b in zip(last.steps, leaf.steps, strict=True)
        ):
            found[-1] = Leaf(times(last.extent, leaf.extent), last.steps)
        elif leaf.extent != 1:
            found.append(leaf)
    return found


def count(leaves: Iterable[Leaf]) -> int:
    """The number of coordinates of static leaves."""
    return prod(whole(leaf.extent) for leaf in leaves)
