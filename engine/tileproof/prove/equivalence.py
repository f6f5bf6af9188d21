"""``equivalent``: are two layouts one function of an index?

The index counts colexicographically through each shape. Where the shapes can be split alike, extent by extent, one
coordinate serves both, and two sums are equal for all coordinates exactly where their steps are: that is algebra.
Swizzles that differ are compared value by value, or by bit vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from tileproof.base.records import dataclass, replace
from tileproof.base.verdict import Proved, Refuted, Verdict
from tileproof.layout import LayoutError
from tileproof.prove.claim import Told, for_all
from tileproof.prove.maps import Leaf, Map, merged, refined
from tileproof.prove.parse import MemoryLayout, base_of, facts
from tileproof.prove.script import Script, Term, any_of, differs
from tileproof.prove.symbols import LeafFacts, Number, Values, times, total, whole
from tileproof.prove.witnesses import address, coordinate, offset


@dataclass(frozen=True)
class Equivalent:
    """That two maps have one value at each index. ``bits``: the values are bit addresses."""

    texts: tuple[str, str]
    first: Map
    second: Map
    facts: LeafFacts
    bits: bool = False

    @classmethod
    def of(cls, one: MemoryLayout, other: MemoryLayout, assume: tuple[str, ...] = ()) -> Equivalent:
        """The claim about two operands.

        Raises:
            LayoutError: they cannot be compared.
        """
        pointers = one.swizzle is not None or other.swizzle is not None
        bits = pointers or (one.bits is not None and other.bits is not None and one.bits != other.bits)
        texts = one.text, other.text
        if not bits:
            a, b = _on_common_axes(one.elements, other.elements)
            known = facts((one, other), assume)
            return cls(texts, a.reduced(known.reduced), b.reduced(known.reduced), known)
        aligned = [operand.align for operand in (one, other) if operand.align is not None]
        base = base_of(min(aligned), max(one.window, other.window)) if aligned else None
        known = facts((one, other), assume, base)
        a, b = one.addresses(base), other.addresses(base)
        return cls(texts, a.reduced(known.reduced), b.reduced(known.reduced), known, bits=True)

    @property
    def statement(self) -> str:
        what = "byte address" if self.bits else "value"
        return f"{self.texts[0]} and {self.texts[1]} have the same {what} at each index"

    @property
    def size(self) -> Number:
        return self.first.size

    @cached_property
    def _sizes_agree(self) -> bool:
        return self.facts.zero(total(self.first.size, times(self.second.size, -1)))

    @cached_property
    def _refined(self) -> tuple[list[Leaf], list[Leaf]] | None:
        return refined(self.first.leaves, self.second.leaves, self._same)

    def _same(self, a: Number, b: Number) -> bool:
        return self.facts.zero(total(a, times(b, -1)))

    def settled(self) -> Verdict | None:
        static = self.first.static and self.second.static
        if not self._sizes_agree:
            return self._refuted_by_size() if static else None
        found = self._refined
        if found is not None and self.first.stages == self.second.stages:
            differing = self._differing(*found)
            if differing is None:
                return Proved("algebra", self.statement + for_all(self.facts), {})
            if static and not self.first.stages:
                return self._refuted(differing, "algebra")
        if not static:
            return self._by_merging()
        place = _first_difference(self.first.columns(), self.second.columns())
        return Proved("enumeration", self.statement, {}) if place is None else self._refuted(place, "enumeration")

    def _by_merging(self) -> Verdict | None:
        """A proof where leaves that count on from each other, (m,n):(1,m), are one: (m*n):(1)."""
        one, other = (merged(what.leaves, self._same) for what in (self.first, self.second))
        found = refined(one, other, self._same)
        if found is not None and self.first.stages == self.second.stages and self._differing(*found) is None:
            return Proved("algebra", self.statement + for_all(self.facts), {})
        return None

    def _differing(self, one: list[Leaf], other: list[Leaf]) -> int | None:
        """An index at which two static sums differ (-1: somewhere); None where they are certainly the same."""
        starts = zip(self.first.start, self.second.start, strict=True)
        if not all(self.facts.zero(total(a, times(b, -1))) for a, b in starts):
            return 0
        running: Number = 1
        for a, b in zip(one, other, strict=True):
            steps = zip(a.steps, b.steps, strict=True)
            if not all(self.facts.zero(total(x, times(y, -1))) for x, y in steps):
                return running if isinstance(running, int) else -1
            running = times(running, a.extent)
        return None

    def _refuted_by_size(self) -> Refuted:
        sizes: Told = {"size_1": whole(self.first.size), "size_2": whole(self.second.size)}
        message = f"the domains differ: {sizes['size_1']} and {sizes['size_2']} coordinates"
        return Refuted("algebra", message, sizes)

    def _refuted(self, index: int, by: str) -> Refuted:
        told: Told = {"index": index}
        values = []
        for place, what in enumerate((self.first, self.second), 1):
            told[f"coordinate_{place}"] = coordinate(what, index)
            values.append(what.value(what.digits(index)))
        for place, (what, value) in enumerate(zip((self.first, self.second), values, strict=True), 1):
            told[f"byte_{place}" if self.bits else f"offset_{place}"] = (
                address(value) if self.bits else offset(what, value)
            )
        unit = "byte" if self.bits else "offset"
        message = f"at index {index} the first gives {told[f'{unit}_1']}, the second {told[f'{unit}_2']}"
        return Refuted(by, message, told)

    def at(self, values: Values) -> Equivalent:
        return replace(self, first=self.first.at(values), second=self.second.at(values), facts=LeafFacts())

    def script(self) -> Script:
        script = Script(self.facts, (self.statement, "satisfiable: they differ"))
        found = self._refined if self._sizes_agree else None
        if found is not None:
            one, other = self.first.with_leaves(found[0]), self.second.with_leaves(found[1])
            places = script.coordinates("c", one)
            script.require(_differ(script, one, other, places, places))
            return script
        sizes = script.number(self.first.size), script.number(self.second.size)
        if isinstance(self.first.size, int) and isinstance(self.second.size, int) and not self._sizes_agree:
            script.require(differs(*sizes))
            return script
        index = script.below("x", "index", self.first.size)
        places, others = (
            script.digits(name, index, [leaf.extent for leaf in what.leaves])
            for name, what in (("a", self.first), ("b", self.second))
        )
        values = _differ(script, self.first, self.second, places, others)
        script.require(values if self._sizes_agree else any_of([differs(*sizes), values]))
        return script

    def replayed(self, model: Mapping[str, int]) -> Refuted | None:
        if self.first.size != self.second.size:
            return self._refuted_by_size()
        if "x" in model:
            index = model["x"]
        else:
            found = self._refined
            assert found is not None, "the sizes are equal for all values, and the shapes were split alike"
            leaves = found[0]
            index = self.first.with_leaves(leaves).index([model.get(f"c{i}", 0) for i in range(len(leaves))])
        one, other = (what.value(what.digits(index)) for what in (self.first, self.second))
        return None if one == other else self._refuted(index, "z3")


def _differ(script: Script, one: Map, other: Map, places: list[Term], others: list[Term]) -> str:
    pairs = zip(script.value("u", one, places), script.value("v", other, others), strict=True)
    return any_of(differs(a, b) for a, b in pairs)


def _first_difference(one: list[Any], other: list[Any]) -> int | None:
    found = []
    for a, b in zip(one, other, strict=True):
        if isinstance(a, list) and isinstance(b, list):
            if a != b:
                found.append(next(i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y))
        elif (a != b).any():
            found.append(int((a != b).argmax()))
    return min(found, default=None)


def _on_common_axes(one: Map, other: Map) -> tuple[Map, Map]:
    """Two maps to coordinates with the same components, also along modes that only one of them moves along."""
    if one.axes == other.axes:
        return one, other
    if any(what.axes == ((),) and not _stays_at_zero(what) for what in (one, other)):
        raise LayoutError("one layout maps to offsets, the other to coordinates")
    axes = tuple(sorted({*one.axes, *other.axes} - {()}))
    return on_axes(one, axes), on_axes(other, axes)


def _stays_at_zero(what: Map) -> bool:
    moves = any(any(leaf.steps) for leaf in what.leaves)
    return not moves and what.start == (0,) and not what.stages


def on_axes(what: Map, axes: tuple[tuple[int, ...], ...]) -> Map:
    """The map with these components: those that it has, and zeros."""

    def spread(numbers: tuple[Number, ...]) -> tuple[Number, ...]:
        known = dict(zip(what.axes, numbers, strict=True))
        return tuple(known.get(axis, 0) for axis in axes)

    leaves = tuple(Leaf(leaf.extent, spread(leaf.steps)) for leaf in what.leaves)
    return Map(what.shape, leaves, spread(what.start), what.stages, axes)
