"""Proofs about fragments, and the instructions that load and store them.

All of this is static: it is decided by algebra or by enumeration. A layout whose steps, taken in
order, are 1 and then each the product of the extents before it reaches every number once; only where that fails are the
elements enumerated, for the first counterexample. A step of 0 is a broadcast that the layout states: what lies
along it is the same, and the claim is about one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from tileproof.base.records import dataclass
from tileproof.base.verdict import Known, Proved, Refuted, Unknown, Verdict
from tileproof.evaluate.fragments import FragmentOperand, Fragments, Missing, flattened
from tileproof.layout import Layout, LayoutError, crd2idx, size
from tileproof.layout.basics import flat_modes, modes
from tileproof.layout.tuples import leaves

ENUMERATION, ALGEBRA = "enumeration", "algebra"
COORDINATES = {"A": ("m", "k"), "B": ("n", "k"), "C": ("m", "n"), "E": ("m", "k"), "SFA": ("m", "k"), "SFB": ("n", "k")}
ROW_BITS = 128
"""One row of a matrix that ldmatrix and stmatrix move."""

_LARGEST = 1 << 18  # elements that are looked at one by one


# -------------------------------------------------------------------------------------------------- one operand


def covers(operand: FragmentOperand) -> Verdict:
    """Is every element of the tile held, by one thread as one value, apart from the stated broadcast?

    Operands without a tile count what they hold: their numbers are 0, 1, 2, ... without a gap.
    """
    claim = _claim(operand)
    try:
        once, count = _once(operand.flat)
    except Missing:
        return Unknown(f"{operand.layout} names a mode that the tile of {operand.role} does not have")
    reached = sorted(once)
    elements = prod(operand.tile) if operand.tile else count
    if count == elements and _compact(reached, elements):
        return Proved(
            ALGEBRA, claim, {"elements": elements, "per_thread": per_thread(operand), "broadcast": broadcast(operand)}
        )
    most = max(count, elements, *map(_count, modes(operand.flat)))
    if most > _LARGEST:
        return Unknown(f"{most} elements are too many to enumerate")
    holders: dict[int, tuple[int, int]] = {}
    for thread, value, number in _places(operand.flat):
        if number in holders:
            first = holders[number]
            return Refuted(
                ENUMERATION,
                f"value {value} of thread {thread} and value {first[1]} of thread {first[0]} are the same element",
                {
                    **_coordinate(operand, number),
                    "thread": thread,
                    "value": value,
                    "other_thread": first[0],
                    "other_value": first[1],
                },
            )
        if operand.tile and not 0 <= number < elements:
            place = dict(zip(_names(operand), _split(number, operand.tile), strict=True))
            message = f"value {value} of thread {thread} is outside the tile {_shape(operand.tile)}"
            return Refuted(ENUMERATION, message, {**place, "thread": thread, "value": value})
        holders[number] = (thread, value)
    if not operand.partial:
        missing = next((number for number in range(elements) if number not in holders), None)
        if missing is not None:
            return Refuted(ENUMERATION, "no thread holds this element", _coordinate(operand, missing))
    values: dict[str, Known] = {
        "elements": len(holders),
        "per_thread": per_thread(operand),
        "broadcast": broadcast(operand),
    }
    return Proved(ENUMERATION, claim, values)


def per_thread(operand: FragmentOperand) -> int:
    """How many values one thread holds."""
    count = size(modes(operand.layout)[1])
    assert isinstance(count, int)
    return count


def broadcast(operand: FragmentOperand) -> int:
    """How many threads hold the same, by the steps of 0 among the threads."""
    pairs = flat_modes(modes(operand.layout)[0])
    return prod(extent for extent, stride in pairs if stride == 0 and isinstance(extent, int))


def agrees(given: Layout, true: FragmentOperand) -> Verdict:
    """Is a layout of one's own, to coordinates or to their numbers, the operand's?

    A refutation names the first thread and value that hold something else.
    """
    try:
        own, flat = flattened(given, true.tile), true.flat
        own_modes, true_modes = modes(own), modes(flat)
    except (Missing, LayoutError) as fault:
        return Unknown(f"{given} is not a TV layout: {fault}")
    if len(own_modes) != 2:
        return Unknown(f"{given} has {len(own_modes)} modes, a TV layout has two")
    for what, mine, theirs in zip(("threads", "values"), own_modes, true_modes, strict=True):
        if size(mine) != size(theirs):
            counts: dict[str, Known] = {f"given_{what}": _count(mine), f"true_{what}": _count(theirs)}
            message = f"the layout has {size(mine)} {what}, {true.role} has {size(theirs)}"
            return Refuted(ENUMERATION, message, {**counts, **_first_difference(own, flat, true)})
    difference = _first_difference(own, flat, true)
    if difference:
        message = f"value {difference['value']} of thread {difference['thread']} is a different element"
        return Refuted(ENUMERATION, message, difference)
    return Proved(ENUMERATION, f"the layout is that of {true.role}", {"layout": str(true.layout)})


def _first_difference(own: Layout, flat: Layout, true: FragmentOperand) -> dict[str, Known]:
    """The first thread and value, of those that both layouts have, which hold different elements; else nothing."""
    (own_threads, own_values), (threads, values) = modes(own), modes(flat)
    for value in range(min(_count(own_values), _count(values))):
        for thread in range(min(_count(own_threads), _count(threads))):
            mine, theirs = _at(own, thread, value), _at(flat, thread, value)
            if mine != theirs:
                held = dict(zip(_names(true), _split(mine, true.tile), strict=True))
                return {
                    "thread": thread,
                    "value": value,
                    "given": tuple(held.values()),
                    "true": tuple(_coordinate(true, theirs).values()),
                }
    return {}


# ---------------------------------------------------------------------------------------- ldmatrix and stmatrix


@dataclass(frozen=True)
class Matrices:
    """The elements that a warp moves with one ldmatrix or stmatrix.

    Attributes:
        held: ``(lane, value)`` to the number of an element, counted through the rows of the first matrix, then of the
            next. It depends on the width of the elements.
        bits: the width of the elements.
        rows: of one matrix.
    """

    name: str
    held: Layout
    bits: int
    rows: int

    @property
    def columns(self) -> int:
        """Elements of one row."""
        return ROW_BITS // self.bits


def moves(matrices: Matrices, fragment: FragmentOperand, major: str) -> Verdict:
    """Do the registers of ldmatrix or stmatrix make up the fragment of an MMA?

    Shared memory holds the tile with one mode contiguous. The registers of a fragment, in order, belong to one
    instruction or to several. For each of its matrices there is at most one place in the tile that can be right, where
    its first element belongs; then every lane must hold what the MMA takes from it.

    Args:
        major: the contiguous mode: ``k`` (of C: ``n``), the second of the coordinate, or ``mn``, the first.

    Returns:
        Proved with the origin of each matrix in the tile; refuted with the first lane and value that are wrong.
    """
    lanes, values = (_count(mode) for mode in modes(matrices.held))
    fragment_lanes, count = (_count(mode) for mode in modes(fragment.flat))
    name, role = matrices.name, fragment.role
    if fragment_lanes % lanes or count % values:
        message = f"{name} moves {values} values of {lanes} lanes, {role} has {count} of {fragment_lanes}"
        return Refuted(ENUMERATION, message, {"moved": values, "held": count})
    if len(fragment.tile) != 2:
        return Unknown(f"{role} has no tile of rows and columns")
    origins: dict[tuple[int, int, int], tuple[int, int]] = {}
    of_matrix = matrices.rows * matrices.columns
    turned = major == "mn"
    moved = sorted((_at(matrices.held, lane, value), lane, value) for lane in range(lanes) for value in range(values))
    for warp, group in product(range(fragment_lanes // lanes), range(count // values)):
        for number, lane_in_warp, value_moved in moved:
            matrix, within = divmod(number, of_matrix)
            step = divmod(within, matrices.columns)
            row, column = (step[1], step[0]) if turned else step
            lane, value = warp * lanes + lane_in_warp, group * values + value_moved
            wanted = _split(_at(fragment.flat, lane, value), fragment.tile)
            origin = origins.setdefault((warp, group, matrix), (wanted[0] - row, wanted[1] - column))
            given = (origin[0] + row, origin[1] + column)
            if given != tuple(wanted):
                return Refuted(
                    ENUMERATION,
                    f"value {value} of lane {lane} differs between {name} and {role}",
                    {"lane": lane, "value": value, "given": given, "true": tuple(wanted)},
                )
    places = tuple(origins[key] for key in sorted(origins))
    return Proved(ENUMERATION, f"{name} and {role} agree in every lane and value", {"matrices": places})


# ------------------------------------------------------------------------------------------------------ the GEMM


def gemm(found: Fragments) -> Verdict:
    """Do A, B and C form a GEMM: is each product a(m,k) * b(n,k) there, and its place c(m,n)?

    Of a sparse A the elements that are kept are there, and one place in the metadata for each of them or for a pair.
    """
    try:
        m, n, k = found.shape()
    except Missing:
        return Unknown("not an MMA with known M, N and K")
    operands = {role: found.operands.get(role) for role in ("A", "B", "C")}
    for role, operand in operands.items():
        if operand is None:
            return Unknown(f"the fragment of {role} is not known")
    a, b, c = (operand for operand in operands.values() if operand is not None)
    kept = a.tile[1]
    extents = {"A": (a.tile[:2], (m, kept)), "B": (b.tile[:2], (n, k)), "C": (c.tile[:2], (m, n))}
    for role, (tile, wanted) in extents.items():
        if tile != wanted:
            message = f"A, B and C fail to form a gemm: {role} is {_shape(tile)}, not {_shape(wanted)}"
            return Refuted(ALGEBRA, message, {"operand": role, "extents": tuple(tile), "expected": wanted})
    if kept not in (k, k // 2) or (kept != k and "E" not in found.operands):
        message = f"A, B and C fail to form a gemm: A has {kept} columns, B {k} rows"
        return Refuted(ALGEBRA, message, {"operand": "A", "extents": tuple(a.tile), "expected": (m, k)})
    for role in ("A", "B", "C", *(role for role in ("E", "SFA", "SFB") if role in found.operands)):
        verdict = covers(found.operands[role])
        if not isinstance(verdict, Proved):
            return verdict
    copies = prod(a.tile[2:])
    if not copies == prod(b.tile[2:]) == prod(c.tile[2:]):
        return Refuted(ALGEBRA, "A, B and C have different numbers of MMAs", {"A": a.tile, "B": b.tile, "C": c.tile})
    return Proved(
        ALGEBRA, f"A, B and C are a gemm of {m} x {n} x {k}", {"M": m, "N": n, "K": k, "kept": kept, "mmas": copies}
    )


def composes(a: Layout, b: Layout, d: Layout) -> Verdict:
    """Do the layouts of three operands form a GEMM: ``(V,M,K) x (V,N,K) -> (V,M,N)``, or without the mode of values?"""
    names = {"a": a, "b": b, "d": d}
    ranks = {name: len(modes(layout)) for name, layout in names.items()}
    failure = "layoutA, layoutB and layoutD fail to form a gemm."
    if ranks["a"] != ranks["b"] or ranks["a"] not in (2, 3) or ranks["d"] not in (2, 3):
        shown = f"A: {a}, B: {b}, D: {d}"
        return Refuted(ALGEBRA, f"{failure} {shown}", {"ranks": tuple(ranks.values())})
    (m, k), (n, other_k), (d_m, d_n) = ([size(mode) for mode in modes(layout)[-2:]] for layout in (a, b, d))
    for what, left, right, first, second in (
        ("M", m, d_m, "A", "D"),
        ("N", n, d_n, "B", "D"),
        ("K", k, other_k, "A", "B"),
    ):
        if not isinstance(left, int) or not isinstance(right, int):
            if left != right:
                return Unknown(f"{what} is {left} in {first} and {right} in {second}")
        elif left != right:
            message = f"{failure} {what} is {left} in {first}, {right} in {second}. A: {a}, B: {b}, D: {d}"
            return Refuted(ALGEBRA, message, {"mode": what, first: left, second: right})
    return Proved(ALGEBRA, f"A, B and D are a gemm of {m} x {n} x {k}", {"M": str(m), "N": str(n), "K": str(k)})


# --------------------------------------------------------------------------------------------------- the pages


def differs(page: Fragments, role: str, true: FragmentOperand) -> Verdict:
    """Whether the per-thread layout of a reference page is that of the hardware.

    A refutation has the numbers of elements by the page's own count, by its layout and in truth, and the first value
    of thread 0 at which the layouts differ.
    """
    counted = page.facts.get(f"{role.lower()}.elements")
    said = page.operands.get(role)
    have = per_thread(true)
    found: dict[str, Known] = {}
    if isinstance(counted, int):
        found |= {"page_elements": counted, "true_elements": have}
    if said is not None:
        found["page_layout"] = str(modes(said.layout)[1])
        found["true_layout"] = str(modes(true.flat)[1])
        if per_thread(said) != have:
            found["page_layout_elements"] = per_thread(said)
        for value in range(min(per_thread(said), have)):
            mine, theirs = _at(said.flat, 0, value), _at(true.flat, 0, value)
            if mine != theirs:
                found["value"] = value
                found["given"] = tuple(_split(mine, true.tile))
                found["true"] = tuple(_split(theirs, true.tile))
                break
    if not found:
        return Unknown(f"the page does not define {role}")
    wrong_count = isinstance(counted, int) and counted != have
    if wrong_count or "value" in found or "page_layout_elements" in found:
        if "value" in found:
            message = f"value {found['value']} of thread 0 is a different element on the page"
        elif wrong_count:
            message = f"the page counts {counted} elements of {role} per thread, the hardware {have}"
        else:
            message = f"the page's layout has {found['page_layout_elements']} elements, {role} has {have} per thread"
        return Refuted(ENUMERATION, message, found)
    return Proved(ENUMERATION, f"the page and the hardware agree on {role}", found)


# -------------------------------------------------------------------------------------------------- arithmetic


def _claim(operand: FragmentOperand) -> str:
    if not operand.tile:
        return f"{operand.role} covers every element without a gap"
    how = "no element twice" if operand.partial else "each element once"
    return f"the fragments of {operand.role} ({_shape(operand.tile)}) hold {how}"


def _once(flat: Layout) -> tuple[list[tuple[int, int]], int]:
    """Steps and extents without those of the stated broadcast, and how many elements they make."""
    found: list[tuple[int, int]] = []
    for mode in modes(flat):
        for extent, stride in zip(leaves(mode.shape), leaves(mode.stride), strict=True):
            if not isinstance(extent, int) or not isinstance(stride, int):
                raise Missing
            if extent > 1 and stride != 0:
                found.append((stride, extent))
    return found, prod(extent for _, extent in found)


def _compact(steps: list[tuple[int, int]], elements: int) -> bool:
    """Whether each step is the product of the extents before it, so that every number is reached once."""
    reached = 1
    for stride, extent in steps:
        if stride != reached:
            return False
        reached *= extent
    return reached == elements


def _places(flat: Layout) -> Iterator[tuple[int, int, int]]:
    """Threads, values and what they hold; of those along a step of 0 only the first."""
    threads, values = modes(flat)
    firsts = [value for value in range(_count(values)) if not _repeats(values, value)]
    for thread in range(_count(threads)):
        if not _repeats(threads, thread):
            for value in firsts:
                yield thread, value, _at(flat, thread, value)


def _repeats(layout: Layout, index: int) -> bool:
    """Whether an index is not the first along some step of 0."""
    for extent, stride in zip(leaves(layout.shape), leaves(layout.stride), strict=True):
        index, digit = divmod(index, int(extent))  # type: ignore[arg-type]
        if stride == 0 and digit:
            return True
    return False


def _at(flat: Layout, thread: int, value: int) -> int:
    offset = crd2idx((thread, value), flat)
    assert isinstance(offset, int)
    return offset


def _count(layout: Layout) -> int:
    count = size(layout)
    assert isinstance(count, int)
    return count


def _names(operand: FragmentOperand) -> tuple[str, ...]:
    """The names of the modes of a coordinate; without a tile there is one number."""
    if not operand.tile:
        return ("element",)
    first = COORDINATES.get(operand.role, ("row", "column"))
    return (*first, "which", "which_threads")[: len(operand.tile)] if len(operand.tile) > 1 else ("element",)


def _coordinate(operand: FragmentOperand, number: int) -> dict[str, Known]:
    return dict(zip(_names(operand), _split(number, operand.tile), strict=True))


def _split(number: int, tile: Sequence[int]) -> list[int]:
    """The coordinate of a number, the first mode running fastest; the last has no upper end."""
    found = []
    for extent in tile[:-1]:
        number, digit = divmod(number, extent)
        found.append(digit)
    return [*found, number]


def _shape(tile: Sequence[int]) -> str:
    return " x ".join(map(str, tile))
