"""From a layout of shared memory to the descriptor that encodes it, or to the coordinate where none can.

**What is proved.** The tensor core reads an operand by itself. It is told a start address, two strides (LBO, SBO) and a
swizzle, 64 bits in all; the place of element ``(mn,k)`` in memory then follows from a *canonical layout*, one for each
major and swizzle (rules/descriptor/canonical.rule). The kernel on its side has a layout by which it, or TMA, wrote the
operand. The two agree when they are the same function on the tile of one instruction. Nothing else in the tool chain
compares them: where they differ the kernel compiles, runs and multiplies other numbers.

**How.** Neither side mixes its two coordinates: the offset of ``(mn,k)`` is a sum ``f(mn) + g(k)``, so the functions
agree when the two parts do. The strides of a candidate are read off the layout itself, at the first coordinates where
LBO and SBO count. Whether the candidate then is the layout is decided by algebra: a static layout has one simplest
form (``coalesce``), and two layouts are one function when these are equal. Where they are not, the first coordinate
that differs is looked for. Both swizzles act on the same linear offsets, so they must be the same swizzle.

A swizzle attached to a pointer acts on byte addresses, one inside a composed layout on the element's index: they are
the same where the bases differ by log2 of the bytes of an element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tileproof.base.records import dataclass, replace
from tileproof.evaluate import bitfields
from tileproof.evaluate.hardware import descriptor_unit, field
from tileproof.layout import (
    ComposedLayout,
    Layout,
    LayoutError,
    Swizzle,
    apply_swizzle,
    crd2idx,
    is_static_layout,
    size,
    zipped_divide,
)
from tileproof.layout.basics import coalesce_layout, modes
from tileproof.layout.values import Dynamic, Tuple
from tileproof.rulebase.bitfield import Form
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.expression import Arithmetic, Expression, Fact, Number, Scalar
from tileproof.rulebase.fragment import LayoutLeaf, Modes

_WORD = "tcgen05.descriptor"  # that of wgmma has the same units and strides of the same widths


class NoDescriptor(ValueError):
    """No descriptor describes the layout.

    Attributes:
        attempts: the forms tried, and where each failed.
    """

    def __init__(self, message: str, attempts: tuple[Attempt, ...] = ()) -> None:
        super().__init__(message)
        self.attempts = attempts


class NoTiles(NoDescriptor):
    """The layout does not consist of tiles that the instruction reads."""


class Undecided(ValueError):
    """The layout has dynamic strides."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A canonical form that the layout is not.

    Attributes:
        reason: in one sentence.
        coordinate: the first ``(mn,k)`` at which they differ; None where the form does not even fit the extents.
        expected, found: the offsets in elements there, before the swizzle: the form's and the layout's.
        canonical: the form with the strides that come nearest.
    """

    form: Form
    reason: str
    coordinate: tuple[int, int] | None = None
    expected: int | None = None
    found: int | None = None
    canonical: Layout | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A canonical form that the layout is.

    Attributes:
        lbo, sbo: bytes.
        unread: which of the two nothing reads.
        canonical: the form with these strides, in elements.
    """

    lbo: int
    sbo: int
    unread: frozenset[str]
    canonical: Layout


@dataclass(frozen=True, slots=True)
class Tile:
    """The part of an operand that one instruction reads.

    Attributes:
        layout: ``(mn,k)`` to offsets in elements, before the swizzle.
        bits: of an element in shared memory, which may be a container.
        swizzle: a member of the enum ``smem_swizzle``.
        start: of the operand, in bytes from the start of its memory: the offset of a composed layout.
    """

    layout: Layout
    bits: int
    swizzle: str
    start: int = 0

    @property
    def extents(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        rows, columns = map(size, modes(self.layout))
        assert isinstance(rows, int) and isinstance(columns, int)
        return rows, columns


@dataclass(frozen=True, slots=True)
class OperandDescriptor:
    """The descriptor of an operand in memory that starts at address 0.

    Attributes:
        word: the name of the packed word: ``wgmma.descriptor`` or ``tcgen05.descriptor``.
        major: ``.k`` or ``.mn``.
        swizzle: a member of the enum ``smem_swizzle``.
        lbo, sbo: bytes.
        unread: the fields among ``lbo`` and ``sbo`` that the hardware does not read for this tile.
        value: the 64 bits.
        canonical: the layout that the descriptor describes, in elements, before the swizzle.
        start: of the operand, in bytes.
    """

    word: str
    major: str
    swizzle: str
    lbo: int
    sbo: int
    unread: frozenset[str]
    value: int
    canonical: Layout
    start: int = 0

    @property
    def facts(self) -> dict[str, Scalar]:
        """The fields by name."""
        found: dict[str, Scalar] = {"address": self.start, "lbo": self.lbo, "sbo": self.sbo}
        return {**found, "base_offset": 0, "swizzle": self.swizzle, "lbo_mode": ".relative"}


def describe(ruleset: Ruleset, word: str, tile: Tile, major: str | None) -> OperandDescriptor:
    """The descriptor of a tile.

    Args:
        major: ``.k`` or ``.mn``; None tries both.

    Raises:
        NoDescriptor: no canonical form of this major and swizzle is the layout, or the word cannot encode it.
        Undecided: the layout is not static.
    """
    if not is_static_layout(tile.layout):
        raise Undecided(f"the layout {tile.layout} has dynamic strides")
    forms = tuple(canonical_forms(ruleset.book, major, tile.swizzle))
    attempts = []
    for form in forms:
        found = match(ruleset.book, form, tile)
        if isinstance(found, Attempt):
            attempts.append(found)
            continue
        packed = pack(ruleset, word, form, found, tile.start)
        if isinstance(packed, OperandDescriptor):
            return packed
        attempts.append(packed)
    if not attempts:
        how = f"{major[1:].upper()}-major " if major else ""
        raise NoDescriptor(f"no canonical {how}layout has the swizzle {spelled(ruleset.book, tile.swizzle)}")
    raise NoDescriptor(f"the layout {tile.layout} is not canonical: {attempts[-1].reason}", tuple(attempts))


def pack(ruleset: Ruleset, word: str, form: Form, found: Match, start: int) -> OperandDescriptor | Attempt:
    """The descriptor of a form that starts at a byte of its memory, or why the word cannot encode it."""
    facts: dict[str, Scalar] = {"address": start, "lbo": found.lbo, "sbo": found.sbo, "base_offset": 0}
    facts |= {"swizzle": form.swizzle, "lbo_mode": ".relative"}
    try:
        value = bitfields.pack(ruleset, word, facts)
    except bitfields.PackError as error:
        return Attempt(form, str(error))
    strides = found.lbo, found.sbo, found.unread
    return OperandDescriptor(word, form.major, form.swizzle, *strides, value, found.canonical, start)


def canonical_forms(book: Rulebook, major: str | None, swizzle: str | None) -> Iterator[Form]:
    """The forms of a major and a swizzle, in the order of preference; None means all."""
    for canonical in book.canonical.values():
        for form in canonical.forms:
            if major in (None, form.major) and swizzle in (None, form.swizzle):
                yield form


def fitting(book: Rulebook, tile: Tile) -> list[tuple[str, str]]:
    """The majors and swizzles, as users write them, for which a layout is canonical, whatever swizzle it has."""
    forms = canonical_forms(book, None, None)
    return [
        (form.major[1:], spelled(book, form.swizzle))
        for form in forms
        if not isinstance(match(book, form, tile), Attempt)
    ]


def spelled(book: Rulebook, swizzle: str) -> str:
    """A swizzle as users write it: ``128``."""
    return book.enums["smem_swizzle"].members[swizzle][0]


def match(book: Rulebook, form: Form, tile: Tile) -> Match | Attempt:
    """LBO and SBO with which a form is the layout of a static tile, or why there are none."""
    parts = modes(tile.layout)
    if len(parts) != 2:
        return Attempt(form, f"the tile {tile.layout} does not have two modes, MN and K")

    def offset(axis: int, index: int) -> int:
        found = crd2idx(index, parts[axis])
        return found if isinstance(found, int) else 0

    filled = _filled(book, form, tile.bits, tile.extents, offset)
    if isinstance(filled, Attempt):
        return filled
    return _difference(form, tile, filled.canonical) or _in_bytes(book, form, filled, tile.bits)


def match_offsets(book: Rulebook, form: Form, offsets: tuple[list[int], list[int]], bits: int) -> Match | Attempt:
    """LBO and SBO with which a form has these offsets, in elements, of each MN and of each K; or why there are none."""
    extents = len(offsets[0]), len(offsets[1])
    filled = _filled(book, form, bits, extents, lambda axis, index: offsets[axis][index])
    if isinstance(filled, Attempt):
        return filled
    for found, wanted in zip(offsets, modes(filled.canonical), strict=True):
        if any(crd2idx(index, wanted) != offset for index, offset in enumerate(found)):
            return Attempt(form, f"it is not {filled.canonical}", canonical=filled.canonical)
    return _in_bytes(book, form, filled, bits)


@dataclass(frozen=True, slots=True)
class _Filled:
    """A form with its free extents and strides, in elements; ``strides``: LBO and SBO, 0 where nothing reads them."""

    canonical: Layout
    strides: Mapping[str, int]


def _filled(
    book: Rulebook, form: Form, bits: int, sizes: tuple[int, int], offset: Callable[[int, int], int]
) -> _Filled | Attempt:
    """A form with the strides that offsets along MN and K have where LBO and SBO count."""
    row = descriptor_unit(book)
    if 8 * row % bits:
        return Attempt(form, f"{row} bytes are not a whole number of elements of {bits} bits")
    values = {"T": 8 * row // bits, "m": 1, "k": 1, "LBO": 0, "SBO": 0}
    strides: dict[str, int] = {}
    shape, stride = form.layout.shape, form.layout.stride
    assert isinstance(shape, tuple) and isinstance(stride, tuple), "a form has the modes MN and K"
    for axis, (name, extent, extents, steps) in enumerate(zip(("MN", "K"), sizes, shape, stride, strict=True)):
        step = _product(extents, values)
        if extent % step:
            return Attempt(form, f"the extent {extent} of {name} is not a multiple of {step}")
        free = next(f.name for e in _steps(extents) for f in [e.value] if isinstance(f, Fact) and f.name in "mk")
        values[free] = extent // step
        before = 1
        for e, s in zip(_steps(extents), _steps(steps), strict=True):
            width = _number(e.value, values)
            if isinstance(s.value, Fact) and s.value.name in ("LBO", "SBO"):
                strides[s.value.name] = values[s.value.name] = offset(axis, before) if width > 1 else 0
            before *= width
    return _Filled(_layout(form, values), strides)


def _in_bytes(book: Rulebook, form: Form, filled: _Filled, bits: int) -> Match | Attempt:
    """The strides in bytes, or why a descriptor cannot hold them."""
    row, largest = descriptor_unit(book), field(book, _WORD, "lbo").reach
    found: dict[str, int] = {}
    written = {name: value for name, value in form.written if isinstance(value, int)}
    unread = written.keys() - filled.strides.keys()
    for name, elements in filled.strides.items():
        if elements * bits % (8 * row) or not 0 <= elements * bits // 8 < largest:
            return Attempt(form, f"{name} would be {elements * bits / 8:g} bytes: not a valid multiple of {row}")
        found[name] = elements * bits // 8 or written.get(name, 0)
        if elements == 0:
            unread.add(name)
    bytes_of = {**written, **found}
    return Match(bytes_of["LBO"], bytes_of["SBO"], frozenset(map(str.lower, unread)), filled.canonical)


def described(book: Rulebook, form: Form, tile: Tile, lbo: int, sbo: int) -> Layout | None:
    """The layout that a descriptor with these strides, in bytes, describes on the extents of a tile."""
    row = 8 * descriptor_unit(book)
    if row % tile.bits:
        return None
    values = {"T": row // tile.bits, "m": 1, "k": 1, "LBO": lbo * 8 // tile.bits, "SBO": sbo * 8 // tile.bits}
    shape = form.layout.shape
    assert isinstance(shape, tuple), "a form has the modes MN and K"
    for name, extents, extent in zip("mk", shape, tile.extents, strict=True):
        step = _product(extents, values)
        if extent % step:
            return None
        values[name] = extent // step
    return _layout(form, values)


def byte_address(book: Rulebook, layout: Layout, bits: int, swizzle: str, coordinate: tuple[int, int]) -> int:
    """The address of an element's first byte, from the operand's start, after the swizzle."""
    elements = crd2idx(coordinate, layout)
    assert isinstance(elements, int), "only static layouts have addresses"
    s_bits, base, shift = book.shared_table("smem_swizzle").rows[swizzle,][:3]
    assert isinstance(s_bits, int) and isinstance(base, int) and isinstance(shift, int)
    address = apply_swizzle(Swizzle(s_bits, base, shift), elements * bits // 8)
    assert isinstance(address, int)
    return address


def _difference(form: Form, tile: Tile, canonical: Layout) -> Attempt | None:
    """The first coordinate at which a form with known strides and a tile differ."""
    for axis, (part, wanted) in enumerate(zip(modes(tile.layout), modes(canonical), strict=True)):
        if coalesce_layout(part) == coalesce_layout(wanted):
            continue
        extent = size(part)
        assert isinstance(extent, int)
        for index in range(extent):
            found, expected = crd2idx(index, part), crd2idx(index, wanted)
            if found != expected and isinstance(found, int) and isinstance(expected, int):
                coordinate = (index, 0) if axis == 0 else (0, index)
                here, there = (f"byte {offset * tile.bits / 8:g}" for offset in (found, expected))
                place = f"(mn,k) = ({coordinate[0]},{coordinate[1]})"
                reason = f"at {place} the layout is at {here}, the canonical form {canonical} at {there}"
                return Attempt(form, reason, coordinate, expected, found, canonical)
    return None


def _steps(modes_: Modes) -> tuple[LayoutLeaf, ...]:
    if isinstance(modes_, LayoutLeaf):
        return (modes_,)
    return tuple(step for mode in modes_ for step in _steps(mode))


def _product(modes_: Modes, values: Mapping[str, int]) -> int:
    """The product of extents; a free one counts with its value in ``values``."""
    product = 1
    for step in _steps(modes_):
        product *= _number(step.value, values)
    return product


def _number(expression: Expression, values: Mapping[str, int]) -> int:
    match expression:
        case Number(value):
            return value
        case Fact(name):
            return values[name]
        case Arithmetic(operator, left, right):
            a, b = _number(left, values), _number(right, values)
            return a * b if operator == "*" else a // b
    raise TypeError("checked when the rulebook was loaded")


def _layout(form: Form, values: Mapping[str, int]) -> Layout:
    """A form with its extents and strides. A mode of extent 1 is left out where the form says what is written as its
    stride: no instruction reads that."""
    written = {name for name, _ in form.written}
    shape, stride = form.layout.shape, form.layout.stride
    assert isinstance(shape, tuple) and isinstance(stride, tuple), "a form has the modes MN and K"

    def kept(extents: Modes, steps: Modes) -> list[tuple[LayoutLeaf, LayoutLeaf]]:
        return [
            (extent, step)
            for extent, step in zip(_steps(extents), _steps(steps), strict=True)
            if _number(extent.value, values) > 1 or not (isinstance(step.value, Fact) and step.value.name in written)
        ]

    modes_ = [kept(*axis) for axis in zip(shape, stride, strict=True)]
    extents, steps = (tuple(tuple(leaf[i] for leaf in mode) for mode in modes_) for i in (0, 1))
    return Layout(_tuple(extents, values), _tuple(steps, values))


def _tuple(modes_: Modes, values: Mapping[str, int]) -> Tuple:
    if isinstance(modes_, LayoutLeaf):
        return _number(modes_.value, values)
    return tuple(_tuple(mode, values) for mode in modes_)


# ------------------------------------------------------------------------------------------------ layouts and swizzles


def swizzle_mode(book: Rulebook, swizzle: Swizzle | None, bits: int, of_bytes: bool) -> str | None:
    """The swizzle mode of the hardware that a swizzle is, or None where it is none.

    Args:
        bits: of an element.
        of_bytes: whether the swizzle acts on byte addresses (a pointer's) or on element indices (a composed layout's).
    """
    if swizzle is None or swizzle.bits == 0:
        return ".none"
    base = swizzle.base if of_bytes else swizzle.base + bits.bit_length() - 4
    for (mode,), row in book.shared_table("smem_swizzle").rows.items():
        if row[:3] == (swizzle.bits, base, swizzle.shift):
            return mode
    return None


def _divides(extent: int, whole: object) -> bool:
    """Whether an extent divides another one, whatever a dynamic one is."""
    if isinstance(whole, Dynamic):
        return extent > 0 and whole.div % extent == 0
    return isinstance(whole, int) and extent > 0 and whole > 0 and whole % extent == 0


@dataclass(frozen=True, slots=True)
class TiledOperand:
    """An operand in shared memory: tiles of one instruction, and where the others are.

    Attributes:
        tile: the first one.
        rest: the offsets of the others, in elements, before the swizzle; None where there is one only.
        unit: the bytes that a descriptor counts in.
    """

    tile: Tile
    rest: Layout | None
    unit: int

    @property
    def view(self) -> Layout | None:
        """The offsets of the other tiles in the units of descriptors, as they are added to the descriptor.

        Raises:
            NoDescriptor: one of them is between two units.
        """
        if self.rest is None:
            return None
        bits, counts = self.tile.bits, self.unit
        unit_bits = 8 * counts

        def units(stride: Tuple) -> Tuple:
            if isinstance(stride, tuple):
                return tuple(map(units, stride))
            if isinstance(stride, Dynamic):
                if stride.div * bits % unit_bits:
                    least = f"{stride.div * bits / 8:g} bytes"
                    raise NoDescriptor(
                        f"a step of {stride} elements may be {least}: descriptor addresses are multiples of {counts}"
                    )
                return replace(stride, div=stride.div * bits // unit_bits)
            if not isinstance(stride, int):
                return stride
            if stride * bits % unit_bits:
                raise NoDescriptor(
                    f"a step of {stride * bits / 8:g} bytes cannot be added to a descriptor: not a multiple of {counts}"
                )
            return stride * bits // unit_bits

        return Layout(self.rest.shape, units(self.rest.stride))


def divided(plain: Layout, extents: tuple[int, int]) -> tuple[Layout, Layout | None]:
    """The tile that one instruction reads, and where the others are (None: there are none), in elements.

    Raises:
        NoTiles: the layout has no such tiles.
    """
    parts = modes(plain)
    if not parts:
        raise NoTiles(f"{plain} has no modes")
    first = parts[0]
    if len(modes(first)) == 2 and isinstance(first.shape, tuple) and tuple(map(size, modes(first))) == extents:
        rest = parts[1:]
        tile = first
    elif len(parts) >= 2 and all(_divides(extent, size(part)) for extent, part in zip(extents, parts, strict=False)):
        try:
            divided = zipped_divide(Layout(plain.shape[:2], plain.stride[:2]), extents)  # type: ignore[index]
        except LayoutError as error:
            raise NoTiles(f"{plain} has no tiles of {extents[0]}x{extents[1]}: {error}") from None
        assert isinstance(divided, Layout)
        tile, more = modes(divided)
        rest = (*modes(more), *parts[2:])
    else:
        raise NoTiles(f"{plain} has no tiles of {extents[0]}x{extents[1]} elements along its first two modes")
    return tile, Layout(tuple(m.shape for m in rest), tuple(m.stride for m in rest)) if rest else None


def operand(
    book: Rulebook, layout: Layout | ComposedLayout, bits: int, extents: tuple[int, int], swizzle: Swizzle | None = None
) -> TiledOperand:
    """An operand by its layout.

    Args:
        layout: ``((mn,k),...)``, already divided by the instruction, or ``(MN,K,...)``, which is divided here.
        bits: of an element in shared memory.
        extents: rows and columns of the tile that one instruction reads.
        swizzle: of byte addresses, where a pointer has one.

    Raises:
        NoTiles: the layout has no such tiles.
        NoDescriptor: it has no swizzle that the tensor core supports.
    """
    inner = layout.inner if isinstance(layout, ComposedLayout) else None
    plain = layout.outer if isinstance(layout, ComposedLayout) else layout
    if isinstance(inner, Layout):
        raise NoDescriptor(f"the composed layout {layout} has an outer layout: only a swizzle is supported there")
    if inner is not None and swizzle is not None and swizzle.bits:
        raise NoDescriptor(f"two swizzles, {swizzle} of the pointer and {inner} of the layout")
    mode = (
        swizzle_mode(book, inner, bits, of_bytes=False)
        if inner is not None
        else swizzle_mode(book, swizzle, bits, True)
    )
    if mode is None:
        known = ", ".join(f"S<{row[0]},{row[1]},{row[2]}>" for row in book.shared_table("smem_swizzle").rows.values())
        where = "element indices" if inner is not None else "byte addresses"
        raise NoDescriptor(
            f"{inner or swizzle} on {where} is not a swizzle of the tensor core; on byte addresses use {known}"
        )
    tile, others = divided(plain, extents)
    offset = layout.offset if isinstance(layout, ComposedLayout) else 0
    start = offset * bits // 8 if isinstance(offset, int) else 0
    counted = descriptor_unit(book)
    if isinstance(offset, int) and (start % counted or offset * bits % 8):
        raise NoDescriptor(f"the layout starts at byte {offset * bits / 8:g}: not a multiple of {counted}")
    return TiledOperand(Tile(tile, bits, mode, start), others, counted)
