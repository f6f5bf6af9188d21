"""``injective``, ``bijective``, ``covers``: which values does a layout reach, and how often?

A sum of steps is injective where its leaves, in some order, *nest*: each step is larger than all that the leaves before
it reach together. Where each step is exactly one larger, the sum counts ``0, 1, 2, ...`` without a gap. A swizzle is
its own inverse, so it never makes two values one; it keeps ``[0, n)`` where ``n`` is a multiple of its window.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from math import gcd, prod
from typing import Any

from tileproof.base.records import dataclass, replace
from tileproof.base.verdict import Proved, Refuted, Verdict
from tileproof.layout import LayoutError, Swizzle
from tileproof.prove import symbols
from tileproof.prove.claim import SMALL, Told, for_all
from tileproof.prove.equivalence import on_axes
from tileproof.prove.maps import ENUMERABLE, Leaf, Map, TooLarge, window
from tileproof.prove.parse import MemoryLayout, facts
from tileproof.prove.script import Script, Term, all_of, any_of, differs, equals, literal
from tileproof.prove.symbols import LeafFacts, Number, Polynomial, Values, content, product_of, times, total, whole
from tileproof.prove.witnesses import coordinate, offset

MANY_DYNAMIC = 5
"""Dynamic leaves whose orders are tried."""


class How(Enum):
    """How often each value is to be reached."""

    AT_MOST_ONCE = "no two coordinates have the same offset"
    ONCE = "exactly once"
    AT_LEAST_ONCE = "at least once"


@dataclass(frozen=True)
class Reaches:
    """That a map reaches each point of a box so often.

    Attributes:
        box: the extent of each component; None where any value may be reached.
        name: of the box, in statements.
    """

    text: str
    what: Map
    facts: LeafFacts
    how: How
    box: tuple[Number, ...] | None = None
    name: str = ""

    @property
    def statement(self) -> str:
        if self.box is None:
            return f"{self.text} is injective: {self.how.value}"
        if self.how is How.AT_MOST_ONCE:
            return f"{self.text} stays within {self.name}, and {self.how.value}"
        return f"{self.text} reaches each element of {self.name} {self.how.value}"

    @property
    def size(self) -> Number:
        return self.what.size

    @property
    def _targets(self) -> Number:
        return product_of(self.box or ())

    def settled(self) -> Verdict | None:
        if self._by_algebra():
            return Proved("algebra", self.statement + for_all(self.facts), {})
        static = self.what.static and not any(isinstance(extent, Polynomial) for extent in self.box or ())
        if not static:
            return None
        try:
            return self._by_enumeration()
        except TooLarge:
            if self.how is How.ONCE and self.size != self._targets:
                return self._of_sizes("algebra")
            raise

    def _by_algebra(self) -> bool:
        swizzles = [stage for stage in self.what.stages if isinstance(stage, Swizzle)]
        if len(swizzles) != len(self.what.stages):
            return False
        leaves = [leaf for leaf in self.what.leaves if leaf.extent != 1]
        if self.how is How.AT_LEAST_ONCE:
            leaves = [leaf for leaf in leaves if any(leaf.steps)]
        groups: list[list[tuple[Number, Number]]] = [[] for _ in self.what.start]
        for leaf in leaves:
            moved = [place for place, step in enumerate(leaf.steps) if step != 0]
            if len(moved) != 1:
                return False
            step = leaf.steps[moved[0]]
            groups[moved[0]].append((leaf.extent, abs(step) if isinstance(step, int) and self.box is None else step))
        if self.box is None:
            return all(
                self._nests(group, 0) or self._nests_above_static(group) or _never_meet(group) for group in groups
            )
        if any(start != 0 for start in self.what.start):
            return False
        if any(content(self._targets) % window(swizzle) for swizzle in swizzles):
            return False
        return all(self._counts(group, 1, extent) for group, extent in zip(groups, self.box, strict=True))

    def _nests(self, leaves: list[tuple[Number, Number]], reach: Number) -> bool:
        """Do the leaves nest in some order, above what reaches this far?

        Static leaves can only nest in the order of their steps, so that orders differ in the positions of dynamic ones.
        """
        static = sorted((leaf for leaf in leaves if _is_static(leaf)), key=lambda leaf: whole(leaf[1]))
        dynamic = [leaf for leaf in leaves if not _is_static(leaf)]
        return len(dynamic) <= MANY_DYNAMIC and self._nest(static, dynamic, reach)

    def _nest(self, static: list[tuple[Number, Number]], dynamic: list[tuple[Number, Number]], reach: Number) -> bool:
        if not static and not dynamic:
            return True
        rests = [(static[0], static[1:], dynamic)] if static else []
        rests += [(leaf, static, dynamic[:i] + dynamic[i + 1 :]) for i, leaf in enumerate(dynamic)]
        return any(
            self.facts.positive(total(step, times(reach, -1)))
            and self._nest(low, high, total(reach, times(step, total(extent, -1))))
            for (extent, step), low, high in rests
        )

    def _nests_above_static(self, group: list[tuple[Number, Number]]) -> bool:
        """Do the dynamic leaves nest above the static ones, which by themselves are injective?"""
        static = [(whole(extent), whole(step)) for extent, step in filter(_is_static, group)]
        if not static or len(static) == len(group) or prod(extent for extent, _ in static) > SMALL:
            return False
        leaves = tuple(Leaf(extent, (step,)) for extent, step in static)
        reach = sum((extent - 1) * step for extent, step in static)
        rest = [leaf for leaf in group if not _is_static(leaf)]
        return _twice(Map((), leaves).columns()[0]) is None and self._nests(rest, reach)

    def _counts(self, rest: list[tuple[Number, Number]], counted: Number, extent: Number) -> bool:
        """Do the leaves count without a gap from ``counted`` to ``extent``, in some order?"""
        if not rest:
            return self.facts.zero(total(counted, times(extent, -1)))
        for place, (number, step) in enumerate(rest):
            if self.facts.zero(total(step, times(counted, -1))):
                return self._counts(rest[:place] + rest[place + 1 :], times(counted, number), extent)
        return False

    def _by_enumeration(self) -> Verdict:
        columns = self.what.columns()
        if self.box is None:
            twice = _twice(_combined(columns))
            return self._twice(*twice, "enumeration") if twice else Proved("enumeration", self.statement, {})
        box = [whole(extent) for extent in self.box]
        outside = min(
            (i for c, extent in zip(columns, box, strict=True) if (i := _outside(c, extent)) >= 0), default=-1
        )
        if outside >= 0:
            return self._outside(outside, "enumeration")
        if prod(box) > ENUMERABLE:
            raise TooLarge(prod(box))
        running, linear = 1, columns[0]
        for column, extent in zip(columns[1:], box, strict=False):
            running *= extent
            linear = _plus(linear, column, running)
        if self.how is not How.AT_LEAST_ONCE and (twice := _twice(linear)):
            return self._twice(*twice, "enumeration")
        missing = _missing(linear, prod(box)) if self.how is not How.AT_MOST_ONCE else -1
        return Proved("enumeration", self.statement, {}) if missing < 0 else self._missing(missing, "enumeration")

    def _value(self, index: int) -> tuple[int, ...]:
        return self.what.value(self.what.digits(index))

    def _twice(self, first: int, second: int, by: str) -> Refuted:
        place = offset(self.what, self._value(first))
        told: Told = {
            "coordinate_1": coordinate(self.what, first),
            "coordinate_2": coordinate(self.what, second),
            "index_1": first,
            "index_2": second,
            "offset": place,
        }
        message = f"the coordinates {told['coordinate_1']} and {told['coordinate_2']} both map to {place}"
        return Refuted(by, message, told)

    def _outside(self, index: int, by: str) -> Refuted:
        place = offset(self.what, self._value(index))
        told: Told = {"coordinate": coordinate(self.what, index), "index": index, "offset": place}
        return Refuted(by, f"the coordinate {told['coordinate']} maps to {place}, outside {self.name}", told)

    def _missing(self, target: int, by: str) -> Refuted:
        value = []
        for extent in self.box or ():
            target, digit = divmod(target, whole(extent))
            value.append(digit)
        place = offset(self.what, tuple(value))
        return Refuted(by, f"no coordinate maps to {place} of {self.name}", {"offset": place})

    def _of_sizes(self, by: str) -> Refuted:
        told: Told = {"size": whole(self.size), "elements": whole(self._targets)}
        return Refuted(by, f"{told['size']} coordinates do not reach {told['elements']} elements once each", told)

    def at(self, values: Values) -> Reaches:
        box = None if self.box is None else tuple(symbols.at(extent, values) for extent in self.box)
        return replace(self, what=self.what.at(values), box=box, facts=LeafFacts())

    def script(self) -> Script:
        script = Script(self.facts, (self.statement, "satisfiable: it does not"))
        script.require(self.fails(script))
        return script

    def fails(self, script: Script, prefix: str = "") -> str:
        """The condition under which it does not, for a question whose names with this prefix are free."""
        places = script.coordinates(f"{prefix}a", self.what)
        value = script.value(f"{prefix}u", self.what, places)
        if self.how is How.AT_LEAST_ONCE:
            return any_of([self._out(script, value), self._unreached(script)])
        others = script.coordinates(f"{prefix}b", self.what)
        other = script.value(f"{prefix}v", self.what, others)
        apart = any_of(differs(a, b) for a, b in zip(places, others, strict=True) if a != b)
        faults = [all_of([apart, *(equals(a, b) for a, b in zip(value, other, strict=True))])]
        if self.box is not None:
            faults.append(self._out(script, value))
        if self.how is How.ONCE and not self.facts.zero(total(self.size, times(self._targets, -1))):
            faults.append(differs(script.number(self.size), script.number(self._targets)))
        return any_of(faults)

    def _out(self, script: Script, value: list[Term]) -> str:
        zero = literal(0).text
        return any_of(
            f"(or (bvslt {v.text} {zero}) (bvsge {v.text} {script.number(extent).text}))"
            for v, extent in zip(value, self.box or (), strict=True)
        )

    def _unreached(self, script: Script) -> str:
        """That some element is reached from nowhere: the only question that needs a quantifier."""
        script.quantified = True
        targets = [script.below(f"t{place}", f"t{place}", extent) for place, extent in enumerate(self.box or ())]
        moving = [(f"k{i}", x.extent) for i, x in enumerate(self.what.leaves) if x.extent != 1]
        bounds = {name: script.number(extent) for name, extent in moving}
        variables = [
            Term(f"k{i}", bounds[f"k{i}"].bound) if x.extent != 1 else literal(0)
            for i, x in enumerate(self.what.leaves)
        ]
        script.inline = True
        value = script.value("w", self.what, variables)
        script.inline = False
        missed = any_of(differs(a, b) for a, b in zip(value, targets, strict=True))
        if not moving:
            return missed
        declared = " ".join(f"({name} (_ BitVec #W))" for name, _ in moving)
        beyond = [f"(bvuge {name} {bound.text})" for name, bound in bounds.items()]
        return f"(forall ({declared}) {any_of([*beyond, missed])})"

    def replayed(self, model: Mapping[str, int]) -> Refuted | None:
        first = [model.get(f"a{place}", 0) for place in range(len(self.what.leaves))]
        index, value = self.what.index(first), self.what.value(first)
        box = self.box or ()
        if any(not 0 <= v < whole(extent) for v, extent in zip(value, box, strict=False)):
            return self._outside(index, "z3")
        if self.how is How.AT_LEAST_ONCE:
            verdict = self._by_enumeration() if isinstance(self.size, int) and self.size <= ENUMERABLE else None
            return verdict if isinstance(verdict, Refuted) else None
        second = [model.get(f"b{place}", 0) for place in range(len(self.what.leaves))]
        other = self.what.index(second)
        if index != other and value == self.what.value(second):
            return self._twice(min(index, other), max(index, other), "z3")
        if self.box is not None and self.size != self._targets:
            return self._of_sizes("z3")
        return None


def _never_meet(group: list[tuple[Number, Number]]) -> bool:
    """Is one of two leaves, the other dynamic, too short? Multiples of ``s`` and ``t`` meet after ``t / gcd`` steps."""
    if len(group) != 2 or all(map(_is_static, group)):
        return False
    (one, s), (other, t) = group
    if not isinstance(s, int) or not isinstance(t, int) or s < 1 or t < 1:
        return False
    return any(isinstance(extent, int) and extent <= step // gcd(s, t) for extent, step in ((one, t), (other, s)))


def _is_static(leaf: tuple[Number, Number]) -> bool:
    return all(isinstance(number, int) for number in leaf)


def injective(operand: MemoryLayout, assume: tuple[str, ...] = ()) -> Reaches:
    """That no two coordinates have the same value."""
    known = facts((operand,), assume)
    return Reaches(operand.text, operand.in_elements().reduced(known.reduced), known, How.AT_MOST_ONCE)


def bijective(operand: MemoryLayout, assume: tuple[str, ...] = ()) -> Reaches:
    """That the offsets are ``0`` to ``size - 1``, each once.

    Raises:
        LayoutError: the layout maps to coordinates.
    """
    known = facts((operand,), assume)
    what = operand.in_elements().reduced(known.reduced)
    if what.axes != ((),):
        raise LayoutError(f"{operand.text} maps to coordinates: use `prove covers` with a tile")
    return Reaches(
        operand.text, what, known, How.ONCE, (what.size,), f"[0, {what.size if isinstance(what.size, int) else 'size'})"
    )


def covers(operand: MemoryLayout, tile: Any, name: str, how: How, assume: tuple[str, ...] = ()) -> Reaches:
    """That each element of a tile is reached.

    Args:
        tile: its shape, static. A layout to offsets reaches the index of an element, one to coordinates the element.

    Raises:
        LayoutError: the tile has an extent that is not a positive integer, or not the modes of the layout.
    """
    known = facts((operand,), assume)
    what = operand.in_elements().reduced(known.reduced)
    _check_tile(tile, name)
    if what.axes == ((),):
        return Reaches(operand.text, what, known, how, (_size(tile),), name)
    axes = dict(_boxes(tile, (), {axis for axis in what.axes if axis}))
    for axis in what.axes:
        if axis and axis not in axes:
            raise LayoutError(f"{operand.text} has a stride along mode {list(axis)}, which {name} does not have")
    return Reaches(operand.text, on_axes(what, tuple(axes)), known, how, tuple(axes.values()), name)


def _check_tile(tile: Any, name: str) -> None:
    parts = tile if isinstance(tile, tuple) else (tile,)
    if tile == () or any(not isinstance(part, int | tuple) or (isinstance(part, int) and part < 1) for part in parts):
        raise LayoutError(f"a tile must be a shape of positive integers such as (128,64), not '{name}'")
    for part in parts:
        if isinstance(part, tuple):
            _check_tile(part, name)


def _size(tile: Any) -> int:
    return prod(map(_size, tile)) if isinstance(tile, tuple) else int(tile)


def _boxes(tile: Any, path: tuple[int, ...], axes: set[tuple[int, ...]]) -> list[tuple[tuple[int, ...], int]]:
    """The extent along each axis, and along each leaf that no axis goes through."""
    if path in axes or not isinstance(tile, tuple):
        return [(path or (0,), _size(tile))]
    return [box for place, part in enumerate(tile) for box in _boxes(part, (*path, place), axes)]


def _combined(columns: list[Any]) -> Any:
    return columns[0] if len(columns) == 1 else list(zip(*map(_listed, columns), strict=True))


def _listed(column: Any) -> list[int]:
    found: list[int] = column if isinstance(column, list) else column.tolist()
    return found


def _plus(linear: Any, column: Any, factor: int) -> Any:
    if isinstance(linear, list) and isinstance(column, list):
        return [a + factor * b for a, b in zip(linear, column, strict=True)]
    return linear + factor * column


def _twice(column: Any) -> tuple[int, int] | None:
    """The first value that was there before, and where; None where all differ."""
    if isinstance(column, list):
        if len(set(column)) == len(column):
            return None
        seen: dict[Any, int] = {}
        return next(((seen[v], i) for i, v in enumerate(column) if seen.setdefault(v, i) != i), None)
    import numpy as np  # noqa: PLC0415 - the column is an array

    order = np.argsort(column, kind="stable")
    same = column[order][1:] == column[order][:-1]
    if not same.any():
        return None
    place = order[1:][same].min()
    return int((column == column[place]).argmax()), int(place)


def _outside(column: Any, extent: int) -> int:
    """The first index whose value is not in ``[0, extent)``; -1 where there is none."""
    if isinstance(column, list):
        if min(column) >= 0 and max(column) < extent:
            return -1
        return next(i for i, v in enumerate(column) if not 0 <= v < extent)
    bad = (column < 0) | (column >= extent)
    return int(bad.argmax()) if bad.any() else -1


def _missing(column: Any, count: int) -> int:
    """The least value below ``count`` that is not there; -1 where all are."""
    if isinstance(column, list):
        reached = set(column)
        return -1 if len(reached) == count else next(i for i in range(count) if i not in reached)
    import numpy as np  # noqa: PLC0415 - the column is an array

    there = np.zeros(count, dtype=bool)
    there[column] = True
    return -1 if there.all() else int((~there).argmax())
