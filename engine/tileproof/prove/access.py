"""``aligned`` and ``conflict-free``: alignment and bank conflicts of a vector access of a thread or a warp.

An access has ``vector`` consecutive elements along a mode of the layout, the *run*. It works where these
elements are contiguous, the first at a multiple of so many bytes: a swizzle with too low a base separates them.

A warp's access is made in *phases* of so many lanes, which the hardware serves together where no bank has to give two
different words. Here the lanes are neighbours along a second mode, the *rows*.

Addresses matter only modulo a period: the window of the swizzle, the row of banks, the alignment. So steps that are
multiples of the period drop out, dynamic extents with them, and what is left is enumerated: of a dynamic step all
remainders that it may have, which is how a padded leading dimension, ``ld % 16 == 8``, is decided for all its values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, product
from math import prod
from typing import Any

from tileproof.base.records import dataclass, replace
from tileproof.base.verdict import Proved, Refuted, Verdict
from tileproof.layout import LayoutError, Swizzle
from tileproof.prove import symbols
from tileproof.prove.claim import INSTANCES, SMALL, WORK, Told, for_all
from tileproof.prove.maps import Inner, Leaf, Map, Scale, count, flat, modulo, split, window
from tileproof.prove.script import Script, Term, add, all_of, any_of, differs, divided, equals, literal, multiply
from tileproof.prove.script import remainder as modulo_of
from tileproof.prove.symbols import LeafFacts, Number, Values, product_of, quotient, whole
from tileproof.prove.witnesses import address, coordinate

RESIDUES = 1 << 12
"""How many combinations of remainders are tried at most."""
FEW = 24
"""How many small values are tried before those that are known to have a fault."""


@dataclass(frozen=True, slots=True)
class Banks:
    """Shared memory: ``count`` banks of words of ``width`` bytes, neighbouring words in neighbouring banks."""

    count: int
    width: int


@dataclass(frozen=True, slots=True)
class AccessFault:
    """What is wrong with a phase: the lane and element at another address, or the lanes that conflict in a bank.

    Attributes:
        degree: into how many accesses the phase falls; 1 where an access is torn or misaligned.
        lanes: within the phase.
        element: of the first lane, where that is not where it should be; 0: the access itself is misaligned.
    """

    degree: int
    lanes: tuple[int, ...]
    element: int = 0


@dataclass(frozen=True)
class Accesses:
    """That all accesses are contiguous and aligned and, given banks, that no phase meets a conflict.

    Attributes:
        what: leaf coordinates to bit addresses.
        run, rows: the positions of the leaves of the elements of an access and of the lanes.
        vector: elements an access.
        bits: of an element.
        align: that the address of an access is a multiple of, in bytes.
        lanes: a phase.
        claim: what is claimed of the layout, as a phrase.
    """

    text: str
    what: Map
    facts: LeafFacts
    run: range
    rows: range
    vector: int
    bits: int
    align: int
    lanes: int
    banks: Banks | None
    claim: str

    @property
    def statement(self) -> str:
        return f"{self.text} {self.claim}"

    @property
    def size(self) -> Number:
        return self.what.size

    @property
    def _values(self) -> Told:
        return {} if self.banks is None else {"degree": 1}

    def at(self, values: Values) -> Accesses:
        return replace(self, what=self.what.at(values), facts=LeafFacts())

    # ------------------------------------------------------------------------------------------------ the leaves

    def _leaves(self, places: range) -> list[Leaf]:
        return [self.what.leaves[place] for place in places]

    @cached_property
    def _others(self) -> list[int]:
        return [i for i in range(len(self.what.leaves)) if i not in self.run and i not in self.rows]

    @cached_property
    def _split(self) -> tuple[list[Leaf], list[Leaf], list[Leaf], list[Leaf]] | None:
        """(elements of an access, accesses along the run, lanes of a phase, phases along the rows)."""
        run, rows = split(self._leaves(self.run), self.vector), split(self._leaves(self.rows), self.lanes)
        return None if run is None or rows is None else (*run, *rows)

    @property
    def _period(self) -> int | None:
        """The period of the question, in bits; None if there is none."""
        found = 8 * self.align
        if self.banks is not None:
            found = max(found, 8 * self.banks.count * self.banks.width)
        for stage in self.what.stages:
            if isinstance(stage, Inner):
                return None
            if isinstance(stage, Swizzle):
                found = max(found, window(stage))
        return found

    def _reduced(self, leaves: Sequence[Leaf]) -> list[Leaf]:
        return list(leaves) if self._period is None else modulo(leaves, self._period)

    # ---------------------------------------------------------------------------------------------- enumeration

    def settled(self) -> Verdict | None:
        if any(not isinstance(leaf.extent, int) for leaf in self.what.leaves) and self._split is None:
            return None
        parts = self._split
        if parts is None:
            return self._without_split()
        elements, along, lanes, phases = parts
        others = [self.what.leaves[i] for i in self._others]
        rest = self._reduced([*along, *phases, *others])
        folded = self._folded(lanes)
        ordered = self.what.with_leaves([*elements, *folded, *rest])
        if not ordered.static:
            return self._by_residues(elements, lanes, [*along, *phases, *others])
        worst = self._worst(ordered, exact=folded == lanes)
        if worst is None:
            return Proved("enumeration", self.statement + for_all(self.facts), self._values)
        if not self.what.static:
            return None  # what is left may reach addresses that the layout does not
        places = self.what.with_leaves(rest).digits(worst[1])
        k = count(elements) * _index(along, places[: len(along)])
        r = count(lanes) * _index(phases, places[len(along) : len(along) + len(phases)])
        return self._refuted(worst[0], k, r, places[len(along) + len(phases) :], "enumeration")

    def _worst(self, ordered: Map, exact: bool) -> tuple[AccessFault, int] | None:
        """The worst fault among the phases of a static map, phase by phase, and the number of its phase."""
        chunk = self.vector * self.lanes
        values = _listed(ordered.columns()[0])
        worst: tuple[AccessFault, int] | None = None
        for number, start in enumerate(range(0, len(values), chunk)):
            fault = self._fault(values[start : start + chunk], exact)
            if fault is None:
                continue
            if fault.degree == 1:
                return fault, number
            if worst is None or fault.degree > worst[0].degree:
                worst = fault, number
        return worst

    def _by_residues(self, elements: list[Leaf], lanes: list[Leaf], others: list[Leaf]) -> Verdict | None:
        """By trying, for each dynamic leaf in a step, all that its value may be modulo the period.

        Steps are polynomials with integer coefficients: modulo the period they only depend on that. What has no fault
        for any remainders, be they possible or not, is proved; where there is one, values with these remainders are
        sought that show it.
        """
        period = self._period
        if period is None or not all(isinstance(n, int) for x in elements for n in (x.extent, *x.steps)):
            return None
        numbers = [*self.what.start, *(step for leaf in (*lanes, *others) for step in leaf.steps)]
        numbers += [stage.start for stage in self.what.stages if isinstance(stage, Scale)]
        periods = self.facts.periods(numbers, period, RESIDUES)
        classes = prod(periods.values())
        if classes > RESIDUES or not all(isinstance(leaf.extent, int) for leaf in lanes):
            return None
        exact = all(isinstance(leaf.steps[0], int) for leaf in lanes)
        work = 0
        for remainders in product(*map(range, periods.values())):
            residues = dict(zip(periods, zip(remainders, periods.values(), strict=True), strict=True))
            if self.facts.excludes(residues):
                continue
            values = dict(zip(periods, remainders, strict=True))
            rest = modulo([leaf.stepping(values) for leaf in others], period)
            ordered = self.what.moved(values).with_leaves([*elements, *(x.stepping(values) for x in lanes), *rest])
            work += whole(ordered.size)
            if work > WORK:
                return None
            if self._worst(ordered, exact) is not None:
                return self._with_residues(residues)
        return Proved("enumeration", self.statement + for_all(self.facts), self._values)

    def _with_residues(self, residues: Mapping[str, tuple[int, int]]) -> Refuted | None:
        """A counterexample whose dynamic leaves have these remainders, each with its divisor, if one is soon found."""
        small = self.facts.some(FEW)
        for values in chain(small, self.facts.some(INSTANCES, residues)):
            one = self.at(values)
            if whole(one.size) > SMALL:
                continue
            verdict = one.settled()
            if isinstance(verdict, Refuted):
                return replace(verdict, counterexample={**self.facts.shown(values), **verdict.counterexample})
        return None

    def _without_split(self) -> Verdict | None:
        """Where an access or a phase ends within a leaf: by counting through the run and the rows of a static map."""
        if not self.what.static:
            return None
        run, rows = self._leaves(self.run), self._leaves(self.rows)
        others = self._reduced([self.what.leaves[i] for i in self._others])
        values = _listed(self.what.with_leaves([*run, *rows, *others]).columns()[0])
        length, height = count(run), count(rows)
        worst: tuple[AccessFault, int, int, int] | None = None
        for place, k, r in _chunks(len(values) // (length * height), length, self.vector, height, self.lanes):
            if k + self.vector > length:
                return self._incomplete(k, r, self.what.with_leaves(others).digits(place), "enumeration")
            starts = [k + length * (lane + height * place) for lane in range(r, min(r + self.lanes, height))]
            fault = self._fault([values[start + j] for start in starts for j in range(self.vector)])
            if fault is not None and (worst is None or fault.degree > worst[0].degree or fault.degree == 1):
                worst = fault, k, r, place
                if fault.degree == 1:
                    break
        if worst is None:
            return Proved("enumeration", self.statement, self._values)
        fault, k, r, place = worst
        return self._refuted(fault, k, r, self.what.with_leaves(others).digits(place), "enumeration")

    def _folded(self, lanes: list[Leaf]) -> list[Leaf]:
        """The lanes without what is known to be a multiple of the period, in steps that are dynamic."""
        if self._period is None:
            return lanes
        period = self._period
        return [
            leaf if isinstance(leaf.steps[0], int) else Leaf(leaf.extent, (symbols.modulo(leaf.steps[0], period),))
            for leaf in lanes
        ]

    def _fault(self, values: Sequence[int], exact: bool = True) -> AccessFault | None:
        """What is wrong with one phase, given the addresses of its elements, lane by lane.

        Args:
            exact: else addresses are known modulo the period only, and one address may be two.
        """
        vector, bits, align = self.vector, self.bits, 8 * self.align
        starts = values[::vector]
        for lane, start in enumerate(starts):
            if start % align:
                return AccessFault(1, (lane,))
            for j in range(1, vector):
                if values[vector * lane + j] != start + j * bits:
                    return AccessFault(1, (lane,), j)
        if self.banks is None or len(starts) == 1:
            return None
        unit, several = self._unit(self.banks)
        units = [start // unit for start in starts]
        if len({u % several for u in units}) == len(units):
            return None
        distinct: dict[int, set[int]] = {}
        for u in units:
            distinct.setdefault(u % several, set()).add(u)
        bank, words = max(distinct.items(), key=lambda item: (len(item[1]), -item[0]))
        if len(words) == 1 and exact:
            return None
        return AccessFault(max(2, len(words)), tuple(lane for lane, u in enumerate(units) if u % several == bank))

    def _unit(self, banks: Banks) -> tuple[int, int]:
        """Accesses meet where they are different units with one remainder: (bits of a unit, units in a row of banks).

        An aligned access of several words uses neighbouring banks, all or none of which it shares with another.
        """
        wide = max(self.vector * self.bits, 8 * banks.width)
        return wide, 8 * banks.count * banks.width // wide

    # ---------------------------------------------------------------------------------------------- in words

    def _coordinates(self, k: int, r: int, others: Sequence[int]) -> list[int]:
        """Leaf coordinates of the ``k``-th of the run, the ``r``-th of the rows."""
        found = [0] * len(self.what.leaves)
        for places, index in ((self.run, k), (self.rows, r)):
            rest = index
            for place in places:
                rest, found[place] = divmod(rest, whole(self.what.leaves[place].extent))
        for place, value in zip(self._others, others, strict=True):
            found[place] = value
        return found

    def _told(self, places: list[int], names: tuple[str, str, str]) -> Told:
        index = self.what.index(places)
        values = coordinate(self.what, index), index, address(self.what.value(places))
        return dict(zip(names, values, strict=True))

    def _lane(self, r: int) -> int:
        return r % 32

    def _incomplete(self, k: int, r: int, others: Sequence[int], by: str) -> Refuted:
        told = self._told(self._coordinates(k, r, others), ("coordinate", "index", "byte"))
        left = count(self._leaves(self.run)) - k
        return Refuted(by, f"the access at {told['coordinate']} has only {left} of {self.vector} elements", told)

    def _refuted(self, fault: AccessFault, k: int, r: int, others: Sequence[int], by: str) -> Refuted:
        lane = fault.lanes[0]
        places = self._coordinates(k, r + lane, others)
        told = self._told(places, ("coordinate", "index", "byte"))
        if self.banks is not None and fault.degree == 1:
            told["lane"] = self._lane(r + lane)
        if fault.degree > 1:
            return self._conflict(fault, k, r, others, by)
        if fault.element == 0:
            value = self.what.value(places)[0]
            message = (
                f"the access at {told['coordinate']} starts at byte {told['byte']}, "
                f"{address(value % (8 * self.align))} beyond a multiple of {self.align}"
            )
            return Refuted(by, message, told)
        start = self.what.value(places)[0]
        other = self._told(
            self._coordinates(k + fault.element, r + lane, others), ("other_coordinate", "other_index", "other_byte")
        )
        told |= other
        told["expected_byte"] = address(start + fault.element * self.bits)
        message = (
            f"the access at {told['coordinate']} is not contiguous: its element {fault.element} is at byte "
            f"{told['other_byte']}, not at {told['expected_byte']}"
        )
        return Refuted(by, message, told)

    def _conflict(self, fault: AccessFault, k: int, r: int, others: Sequence[int], by: str) -> Refuted:
        assert self.banks is not None
        places = [self._coordinates(k, r + lane, others) for lane in fault.lanes]
        bits = [self.what.value(place)[0] for place in places]
        bank = bits[0] // 8 // self.banks.width % self.banks.count
        lanes = tuple(self._lane(r + lane) for lane in fault.lanes)
        told: Told = {
            "degree": fault.degree,
            "bank": bank,
            "lanes": lanes,
            "bytes": tuple(address(value) for value in bits),
            "coordinates": tuple(coordinate(self.what, self.what.index(place)) for place in places),
            "indices": tuple(self.what.index(place) for place in places),
        }
        shown = ", ".join(map(str, lanes[:8])) + ", ..." * (len(lanes) > 8)
        message = f"{fault.degree}-way bank conflict: lanes {shown} need different words of bank {bank} in one phase"
        return Refuted(by, message, told)

    # ------------------------------------------------------------------------------------------------ the question

    def script(self) -> Script:
        script = Script(self.facts, (self.statement, "satisfiable: some access does not"))
        lanes = ["l", "m"] if self.banks is not None and self.lanes > 1 else ["l"]
        run, torn = self._part(script, "k", self.run, self.vector, ["0", "j"])
        rows, inside = self._part(script, "r", self.rows, self.lanes, lanes)
        others = {i: self._variable(script, f"o{i}", self.what.leaves[i].extent) for i in self._others}
        starts = []
        for lane, row in zip(lanes, rows, strict=True):
            places = {**run[0][1], **row[1], **others}
            starts.append(script.value(f"start_{lane}", self.what, [places[i] for i in range(len(places))])[0])
        places = {**run[1][1], **rows[0][1], **others}
        element = script.value("element", self.what, [places[i] for i in range(len(places))])[0]
        beyond = script.seen(add([starts[0], multiply(run[1][0], literal(self.bits))]))
        script.seen(literal(8 * self.align))
        faults = [differs(element, beyond), differs(modulo_of(starts[0], 8 * self.align), literal(0))]
        if len(lanes) > 1:
            assert self.banks is not None
            unit, several = self._unit(self.banks)
            script.seen(literal(unit * several))
            one, other = (divided(start, unit) for start in starts)
            faults.append(all_of([differs(one, other), equals(modulo_of(one, several), modulo_of(other, several))]))
        for condition in inside:
            script.require(condition)
        script.require(any_of([*torn, *faults]))
        return script

    def _variable(self, script: Script, name: str, extent: Number) -> Term:
        return literal(0) if extent == 1 else script.below(name, name, extent)

    def _part(
        self, script: Script, name: str, places: range, size: int, inner: list[str]
    ) -> tuple[list[tuple[Term, dict[int, Term]]], list[str]]:
        """Coordinates of the leaves at ``places`` for several positions in one chunk of ``size``.

        Returns:
            For each name in ``inner`` (``0``: the first position) its number in the chunk and the leaf coordinates; of
            the run the conditions under which the last position is outside, of the rows those under which all are
            inside.
        """
        leaves = self._leaves(places)
        extent = product_of(leaf.extent for leaf in leaves)
        if isinstance(extent, int) and extent < size and name == "r":
            size = extent
        chunks = quotient(extent, size)
        if chunks is None:
            chunk = script.below(name, f"the chunk of {size}", extent)
        else:
            chunk = self._variable(script, name, chunks)
        first = script.named(f"{name}_first", multiply(chunk, literal(size)))
        found = []
        outside: list[str] = []
        limit = script.number(extent)
        for label in inner:
            number = literal(0) if label == "0" else self._variable(script, f"{name}_{label}", size)
            index = script.named(f"{name}_{label}_index", add([first, number]))
            digits = script.digits(f"{name}_{label}", index, [leaf.extent for leaf in leaves])
            found.append((number, dict(zip(places, digits, strict=True))))
            if chunks is None:
                inside = f"(bvult {index.text} {limit.text})"
                outside.append(inside if name == "r" else f"(not {inside})")
        if name == "k" and chunks is None:
            script.require(f"(bvult {first.text} {limit.text})")
        return found, outside

    def replayed(self, model: Mapping[str, int]) -> Refuted | None:
        k, r = self.vector * model.get("k", 0), self.lanes * model.get("r", 0)
        others = [model.get(f"o{i}", 0) for i in self._others]
        length, height = count(self._leaves(self.run)), count(self._leaves(self.rows))
        if k + self.vector > length:
            return self._incomplete(k, r, others, "z3")
        values = [
            self.what.value(self._coordinates(k + j, lane, others))[0]
            for lane in range(r, min(r + self.lanes, height))
            for j in range(self.vector)
        ]
        fault = self._fault(values)
        return None if fault is None else self._refuted(fault, k, r, others, "z3")


def _listed(column: Any) -> list[int]:
    found: list[int] = column if isinstance(column, list) else column.tolist()
    return found


def _index(leaves: Sequence[Leaf], places: Sequence[int]) -> int:
    """The index of coordinates in leaves."""
    result, running = 0, 1
    for leaf, place in zip(leaves, places, strict=True):
        result += place * running
        running *= whole(leaf.extent)
    return result


def _chunks(others: int, length: int, vector: int, height: int, lanes: int) -> Iterator[tuple[int, int, int]]:
    for place in range(others):
        for r in range(0, height, lanes):
            for k in range(0, length, vector):
                yield place, k, r


def positions(what: Map, mode: int) -> range:
    """The positions of the leaves of a mode of the shape.

    Raises:
        LayoutError: there is no such mode.
    """
    shape = what.shape if isinstance(what.shape, tuple) else (what.shape,)
    if not 0 <= mode < len(shape):
        raise LayoutError(f"no mode {mode}: the shape has {len(shape)}")
    start = sum(len(list(flat(part))) for part in shape[:mode])
    return range(start, start + len(list(flat(shape[mode]))))
