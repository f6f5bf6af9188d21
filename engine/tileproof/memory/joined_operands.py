"""An operand of an MMA, the descriptor by which it is read, its memory and the tensor map that filled it, as one.

**What is compared.** TMA lays the boxes of a tensor map out in shared memory: rows of the innermost extent, permuted by
the map's swizzle. The MMA reads that memory by a descriptor (start, LBO, SBO, swizzle) and an instruction
descriptor (M, N, types, majors). So the element, the swizzle, the strides, the rows and the place of each tile are said
twice, by texts that no compiler compares. All MMAs of a module together say a third thing: that each part of a box is
read by somebody, and that A and B are read from one place along K.

**Stages.** Where a box or a descriptor begins is known up to the multiples that the stage of a ring adds. Two of them
are compared modulo the greatest common divisor of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import gcd, prod
from types import MappingProxyType

from tileproof.base.records import dataclass, field
from tileproof.base.source import Span
from tileproof.descriptors.canonical import NoDescriptor, Undecided, describe, operand, spelled
from tileproof.dialects.configuration import Facts, WrongWord
from tileproof.evaluate import hardware
from tileproof.layout import crd2idx, size
from tileproof.layout.basics import modes
from tileproof.layout.values import Layout, Swizzle
from tileproof.memory.fills import Filled
from tileproof.memory.known_bits import Known
from tileproof.mlir.ir import Operation
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.expression import Scalar

_MAJORS = {".k": ".mn", ".mn": ".k"}


@dataclass(frozen=True, slots=True)
class Reader:
    """An operand in shared memory as an MMA reads it.

    Attributes:
        role: ``A`` or ``B``.
        fields: of its descriptor, those that are known.
        shape: the facts of the MMA; None where its instruction descriptor is not known.
        ctas: that execute it together.
        word: the packed word that its descriptor is.
    """

    operation: Operation
    role: str
    descriptor: Known
    fields: Mapping[str, Scalar]
    shape: Mapping[str, Scalar] | None
    ctas: int
    word: str

    @property
    def member(self) -> str:
        """The operand, as a member of the enum ``operand_name``."""
        return f".{self.role.lower()}"

    @property
    def made(self) -> Span:
        """Where its descriptor is made; the MMA where it is assembled by arithmetic."""
        return (self.descriptor.maker or self.operation).name_span

    def wrong(self, right: Mapping[str, int]) -> WrongWord | None:
        """Its descriptor with fields that have to be others; None where nothing is known to be wrong in it."""
        maker = self.descriptor.maker
        return WrongWord(maker, self.word, right) if maker is not None and right else None

    @property
    def advanced(self) -> Span:
        """Where its descriptor is moved along; where it is made if it is not moved."""
        return self.descriptor.mover.name_span if self.descriptor.mover is not None else self.made

    @property
    def extents(self) -> tuple[int, int]:
        """The rows and columns that one CTA of the MMA reads."""
        assert self.shape is not None, "asked before"
        rows, columns = self.shape["M" if self.role == "A" else "N"], self.shape["K"]
        assert isinstance(rows, int) and isinstance(columns, int)
        sparse = self.role == "A" and self.shape["sparse"] == ".yes"
        return rows // self.ctas, columns // 2 if sparse else columns

    @property
    def major(self) -> str:
        """The major by which the MMA reads it."""
        assert self.shape is not None, "asked before"
        return str(self.shape["a.major" if self.role == "A" else "b.major"])

    @property
    def element(self) -> str | None:
        """The element as which the MMA reads it; None where its instruction descriptor is not known."""
        return None if self.shape is None else str(self.shape["a.type" if self.role == "A" else "b.type"])


@dataclass(frozen=True, slots=True)
class Laid:
    """The boxes of a part of memory as one operand.

    Attributes:
        layout: ``(mn,k)`` to offsets in elements, before the swizzle.
        first: the byte of the allocation at which it begins.
        rows, columns: of all boxes; None where a run-time value says how many there are.
        span: bytes from the first box's start to the last one's end.
    """

    layout: Layout
    first: int
    rows: int | None
    columns: int | None
    span: int


@dataclass(frozen=True, slots=True)
class Joined:
    """A reader and what filled its memory.

    Attributes:
        reason: how LBO or SBO differ from those that the boxes need; empty where they do not.
        right: those of them that differ, as the boxes need them.
        astray: why the descriptor begins where no tile does; empty where one does.
        rows: the first row that it reads of the memory, and ``columns`` the first column; None where not known.
    """

    reader: Reader
    filled: Filled
    laid: Laid | None
    reason: str = ""
    right: Mapping[str, int] = MappingProxyType({})
    astray: str = ""
    row: int | None = None
    column: int | None = None


def join(ruleset: Ruleset, reader: Reader, filled: Filled, major: str) -> Joined:
    """What a reader finds in its memory if it reads it in a major."""
    rows, columns = reader.extents
    laid = lay_out(ruleset.book, filled, rows, major, reader.descriptor.step)
    short = laid is not None and laid.rows is not None and laid.rows < rows
    rows = laid.rows if short and laid is not None and laid.rows is not None else rows
    nothing = Joined(reader, filled, laid)
    tensor_map = filled.tensor_map
    row = ruleset.book.shared_table("smem_swizzle").rows.get((tensor_map.swizzle or "",))
    if laid is None or row is None or tensor_map.stored is None:
        return nothing
    bits, base, shift = row[:3]
    assert isinstance(bits, int) and isinstance(base, int) and isinstance(shift, int)
    try:
        whole = operand(ruleset.book, laid.layout, tensor_map.stored, (rows, columns), Swizzle(bits, base, shift))
        needed = describe(ruleset, reader.word, whole.tile, major)
    except (NoDescriptor, Undecided):
        return nothing  # the operand is cut out of the boxes in another way
    if short and "sbo" in needed.unread:
        return nothing  # SBO leads somewhere else on purpose
    reason, right = "", {}
    assert tensor_map.box is not None, "laid out"
    inner, outer = tensor_map.box[:2]
    boxes = f"a box of {inner}x{outer} elements with the swizzle {spelled(ruleset.book, needed.swizzle)}"
    for name in ("lbo", "sbo"):
        if name in reader.fields and name not in needed.unread and reader.fields[name] != needed.facts[name]:
            reason = reason or f"'{name}' is {reader.fields[name]} bytes, {boxes} needs {needed.facts[name]}"
            right[name] = int(needed.facts[name])
    start, period = reader.descriptor.start, gcd(reader.descriptor.step, filled.step or 0)
    tiles = dict(_tiles(whole.rest, tensor_map.stored))
    if start is None or filled.step is None:
        return Joined(reader, filled, laid, reason, right)
    here = {at for offset, at in tiles.items() if _same(start - laid.first, offset, period)}
    if not here:
        more = ", ..." if len(tiles) > 6 else ""
        where = "the stage" if period else "the allocation"
        origin = laid.first if period else 0
        shown = ", ".join(str(laid.first - origin + offset) for offset in sorted(tiles)[:6])
        begins = (start - origin) % period if period else start
        astray = f"it begins at byte {begins} of {where}, tiles of {rows}x{columns} begin at {shown}{more}"
        return Joined(reader, filled, laid, reason, right, astray)
    in_rows, along = ({at[index] for at in here} for index in (0, 1))
    return Joined(
        *(reader, filled, laid, reason, right, ""),
        in_rows.pop() * rows if len(in_rows) == 1 else None,
        along.pop() * columns if len(along) == 1 else None,
    )


def _same(here: int, there: int, period: int) -> bool:
    return (here - there) % period == 0 if period else here == there


def _tiles(rest: Layout | None, bits: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """The bytes at which the tiles of an operand begin, and which tile begins there, along its rows and along K."""
    if rest is None:
        yield 0, (0, 0)
        return
    parts = modes(rest)
    along, across = (size(parts[i]) if i < len(parts) else 1 for i in (0, 1))
    if not isinstance(along, int) or not isinstance(across, int) or len(parts) != 2:
        yield 0, (0, 0)
        return
    for row in range(along):
        for column in range(across):
            offset = crd2idx((row, column), rest)
            if isinstance(offset, int):
                yield offset * bits // 8, (row, column)


def lay_out(book: Rulebook, filled: Filled, rows: int, major: str, stage: int) -> Laid | None:
    """The boxes of a part of memory as an operand of so many rows; None where they are not understood.

    One box may hold the rows of an instruction, or several at equal distances; boxes behind each other along K make the
    operand longer. Where each CTA of a cluster copies a slice of the tile to all, the CTA says where a box begins. The
    rows of a box are as far apart as those of its swizzle, also where it is narrower (H200, tests/hardware/boxes.txt).

    Args:
        stage: of what number the place of the reader is a multiple.
    """
    tensor_map = filled.tensor_map
    if tensor_map.box is None or tensor_map.stored is None or len(tensor_map.box) < 2 or prod(tensor_map.box[2:]) != 1:
        return None
    inner, outer = tensor_map.box[:2]
    bits = tensor_map.stored
    pitch = max(inner, _row_of(book, tensor_map.swizzle) * 8 // bits)
    one = pitch * outer * bits // 8
    along, across = (outer, inner) if major == ".k" else (inner, outer)
    bases = sorted({box.base for box in filled.boxes})
    steps = {after - before for before, after in pairwise(bases)}
    if len(steps) > 1:
        return None
    distance = steps.pop() if steps else 0
    span = bases[-1] - bases[0] + one
    step = filled.step
    slices = step == one and len(bases) == 1 and stage != step and along < rows
    count = len(bases)
    mode = _differ(filled, major) if count > 1 else None
    if slices:
        count, distance, mode = -(-rows // along), one, "rows"
    at = distance * 8 // bits
    rows_of_all: int | None
    columns_of_all: int | None
    by_rows, by_columns = (pitch, 1) if major == ".k" else (1, pitch)
    if count == 1 or (mode is None and along >= rows):
        layout = Layout((along, across), (by_rows, by_columns))
        rows_of_all, columns_of_all = (along, across) if count == 1 else (None, None)
    elif mode == "columns":
        layout = Layout((along, (across, count)), (by_rows, (by_columns, at)))
        rows_of_all, columns_of_all = along, across * count
    else:
        layout = Layout(((along, count), across), ((by_rows, at), by_columns))
        rows_of_all, columns_of_all = along * count, across
        if slices:
            rows_of_all = None if filled.end is None or stage else (filled.end - filled.first) // one * along
    if step is None or (step and step < span and not slices):
        rows_of_all = columns_of_all = None
    return Laid(layout, bases[0], rows_of_all, columns_of_all, span)


def _row_of(book: Rulebook, swizzle: str | None) -> int:
    """The bytes of a row of a swizzle; 0 without one."""
    row = book.shared_table("smem_swizzle").rows.get((swizzle or "",))
    width = row[3] if row is not None and swizzle != ".none" else 0
    assert isinstance(width, int)
    return width


def _differ(filled: Filled, major: str) -> str | None:
    """Whether boxes are beside each other along the rows or the columns: by which of their coordinates differs."""
    coordinates = [box.coordinates for box in filled.boxes]
    if any(len(one) < 2 for one in coordinates):
        return None
    inner, outer = (len({one[index] for one in coordinates}) > 1 for index in (0, 1))
    if inner == outer:
        return None
    return "columns" if inner == (major == ".k") else "rows"


def _linear(filled: Filled) -> bool:
    """Whether boxes are plain rows of bytes: what lies in them was laid out by whoever wrote global memory."""
    tensor_map = filled.tensor_map
    return tensor_map.swizzle == ".none" and tensor_map.box is not None and prod(tensor_map.box[1:]) == 1


@dataclass(slots=True)
class Joins:
    """The operands of one module and what filled their memory."""

    ruleset: Ruleset
    readers: Mapping[tuple[int, str], Sequence[Reader]]  # those of each allocation, by role
    parts: dict[tuple[int, int, str], list[Joined]] = field(default_factory=dict)
    unclear: set[int] = field(default_factory=set)  # allocations that some MMA reads at an unknown place
    said: set[tuple[str, int]] = field(default_factory=set)  # what was reported of a descriptor, by who makes it
    told: set[tuple[int, int]] = field(default_factory=set)  # parts of memory with a finding

    def operand(self, reader: Reader, filled: Filled | None, sibling: str | None) -> tuple[list[Facts], Joined | None]:
        """What an operand says of its memory, and the join where the two agree.

        Args:
            sibling: the element of the other operand of the MMA.
        """
        memory = reader.descriptor.memory
        if filled is None or self.invalid(filled) or _linear(filled):
            self.unclear.add(id(memory))
            return [], None
        tensor_map, swizzle = filled.tensor_map, reader.fields.get("swizzle")
        ends = self.ends(reader, filled)
        found = []
        if tensor_map.swizzle is not None and isinstance(swizzle, str):
            spell = {"written": mode_name(tensor_map.swizzle)}
            spell["read"] = f"the descriptor of {reader.role} {mode_name(swizzle)}"
            values: dict[str, Scalar] = {"written": tensor_map.swizzle, "read": swizzle}
            place = self.swizzled(reader, filled, swizzle)
            found.append(Facts("smem_exchange", values, spell, {}, place, ends))
        base = reader.fields.get("base_offset")
        if base is not None and tensor_map.swizzle not in (None, ".none"):
            offset: dict[str, Scalar] = {"operand": reader.member, "base_offset": base}
            found.append(Facts("joined_base", offset, {}, {}, reader.made, ends, reader.wrong({"base_offset": 0})))
        element = reader.element
        if element is not None and tensor_map.element is not None:
            types: dict[str, Scalar] = {"operand": reader.member, "type": element, "map": tensor_map.element}
            made = tensor_map.made
            place = reader.operation.name_span if element != sibling or made is None else made.name_span
            found.append(Facts("joined_operand", types, {}, {}, place, ends))
        if reader.shape is None or tensor_map.swizzle != swizzle:
            self.unclear.add(id(memory))
            return found, None
        one = join(self.ruleset, reader, filled, reader.major)
        if (wrong := self.mismatch(one, ends)) is not None:
            self.unclear.add(id(memory))
            maker = (wrong.schema, id(reader.descriptor.maker or reader.operation))
            known, self.said = maker in self.said, self.said | {maker}
            return found if known else [*found, wrong], None
        key = (id(memory), filled.first, reader.role)
        before = next(iter(self.parts.get(key, ())), None)
        if before is not None and before.reader.element is not None and self.fits(element, tensor_map.element):
            same: dict[str, Scalar] = {"operand": reader.member, "type": element or before.reader.element}
            same["before"] = before.reader.element
            found.append(Facts("joined_types", same, {}, {}, reader.operation.name_span, ends))
        self.note(one)
        return found, one

    def fits(self, element: str | None, of_map: str | None) -> bool:
        """Whether an operand of a type may be filled by a map of a type, as far as both are known."""
        row = self.ruleset.book.shared_table("operand_map").rows.get((element or "",))
        return row is None or of_map is None or (isinstance(row[0], frozenset) and of_map in row[0])

    def swizzled(self, reader: Reader, filled: Filled, swizzle: str) -> Span:
        """Where to say that two swizzles differ: at the map if the descriptor's is that of the box, else there."""
        tensor_map = filled.tensor_map
        row = self.ruleset.book.shared_table("smem_swizzle").rows.get((swizzle,))
        if row is None or tensor_map.box is None or tensor_map.stored is None or tensor_map.made is None:
            return reader.made
        width, strides = row[3], {reader.fields.get("lbo"), reader.fields.get("sbo")}
        assert isinstance(width, int)
        rows = hardware.limit(self.ruleset.book, "matrix_rows")
        of_box = tensor_map.box[0] * tensor_map.stored == width * 8 and width * rows in strides
        return tensor_map.made.name_span if of_box else reader.made

    def mismatch(self, one: Joined, ends: tuple[tuple[str, Span], ...]) -> Facts | None:
        """The first thing in which an MMA and the boxes differ: the major, the rows, the strides, the start."""
        reader, laid = one.reader, one.laid
        rows, major = reader.extents[0], reader.major
        short = laid is not None and laid.rows is not None and rows > laid.rows and one.column is not None
        small = laid is not None and laid.rows is not None and rows > laid.rows
        wrong = bool(one.reason or one.astray or small)
        if wrong and all(self.transposed(other, one.filled) for other in self.alike(reader)):
            values: dict[str, Scalar] = {"operand": reader.member, "major": major, "laid": _MAJORS[major]}
            return Facts("joined_major", values, {}, {}, reader.operation.name_span, ends)
        width = self.width(one)
        if width is not None and not one.reason:
            values = {"operand": reader.member, "width": width[0], "row": width[1]}
            sized = one.filled.tensor_map.sized
            place = sized[0].name_span if sized else reader.operation.name_span
            return Facts("joined_width", values, {}, {}, place, ends)
        if short:
            assert laid is not None and laid.rows is not None
            values = {"operand": reader.member, "rows": rows, "filled": laid.rows}
            return Facts("joined_operand", values, {}, {}, self.smaller(reader, one.filled, laid), ends)
        if not one.reason and not one.astray:
            return None
        values = {"operand": reader.member, "agrees": ".no"}
        place = reader.made if one.reason else reader.advanced
        spell = {"agrees": one.reason or one.astray}
        return Facts("assembled_descriptor", values, spell, {}, place, ends, reader.wrong(one.right))

    def alike(self, reader: Reader) -> list[Reader]:
        """The MMAs that read the same operand by the same major, the reader among them."""
        key = (id(reader.descriptor.memory), reader.role)
        return [one for one in self.readers.get(key, ()) if one.shape is not None and one.major == reader.major]

    def transposed(self, reader: Reader, filled: Filled) -> bool:
        """Whether an MMA would find a tile of the boxes if it read them by the other major."""
        other = join(self.ruleset, reader, filled, _MAJORS[reader.major])
        whole = other.laid is not None and (other.laid.rows is None or other.laid.rows >= reader.extents[0])
        return whole and not other.reason and other.column is not None

    def width(self, one: Joined) -> tuple[int, int] | None:
        """The bytes of the innermost extent of a box, and those of its rows up to which an MMA reads, if more."""
        reader, laid, tensor_map = one.reader, one.laid, one.filled.tensor_map
        start, step = reader.descriptor.start, one.filled.step
        if laid is None or tensor_map.box is None or tensor_map.stored is None:
            return None
        rows, columns = (extent * tensor_map.stored // 8 for extent in reader.extents)
        width, whole = tensor_map.box[0] * tensor_map.stored // 8, _row_of(self.ruleset.book, tensor_map.swizzle)
        if reader.major == ".mn":
            return (width, min(rows, whole)) if width < min(rows, whole) else None
        if start is None or step is None or not one.astray:
            return None
        period = gcd(reader.descriptor.step, step)
        last = columns + ((start - laid.first) % period if period else start - laid.first)
        return (width, last) if width < last <= whole else None

    def note(self, found: Joined) -> None:
        """Remember which part of its memory an MMA reads."""
        memory = found.reader.descriptor.memory
        assert memory is not None, "it was filled"
        if found.row is None or found.column is None:
            self.unclear.add(id(memory))
        else:
            self.parts.setdefault((id(memory), found.filled.first, found.reader.role), []).append(found)

    def pair(self, a: Joined, b: Joined) -> Iterator[Facts]:
        """The parts of K that an MMA reads of A and of B."""
        if a.column is None or b.column is None:
            return
        values: dict[str, Scalar] = {"a.first": a.column, "b.first": b.column}
        moved, still = (a, b) if self.odd(a) or not self.odd(b) else (b, a)
        ends = ((".mma", a.reader.operation.name_span), (".other", still.reader.advanced))
        if a.column != b.column:
            self.told |= {(id(one.reader.descriptor.memory), one.filled.first) for one in (a, b)}
        yield Facts("joined_pair", values, {}, {}, moved.reader.advanced, ends)

    def odd(self, one: Joined) -> bool:
        """Whether an MMA before it read the same part of its memory."""
        key = (id(one.reader.descriptor.memory), one.filled.first, one.reader.role)
        return any(
            (before.row, before.column) == (one.row, one.column) and before.reader is not one.reader
            for before in self.parts.get(key, ())
        )

    def unread(self) -> Iterator[tuple[Filled, Facts]]:
        """Parts of memory that are filled and not wholly read by the MMAs of the module."""
        for (memory, first, _), joined in self.parts.items():
            laid, reader = joined[0].laid, joined[0].reader
            if memory in self.unclear or (memory, first) in self.told or laid is None:
                continue
            if laid.rows is None or laid.columns is None or reader.descriptor.memory is None:
                continue
            read: dict[int, set[int]] = {}
            step = gcd(*(one.reader.extents[1] for one in joined))
            for one in joined:
                rows, columns = one.reader.extents
                assert one.row is not None and one.column is not None, "noted"
                for column in range(one.column, one.column + columns, step):
                    read.setdefault(column, set()).update(range(one.row, one.row + rows))
            missing = next((column for column in range(0, laid.columns, step) if column not in read), -1)
            least = min(len(rows) for rows in read.values())
            values: dict[str, Scalar] = {"operand": reader.member, "rows": least, "filled": laid.rows}
            values["unread"] = missing
            place, ends = reader.operation.name_span, self.ends(reader, joined[0].filled)
            if least < laid.rows:
                place = min(joined, key=lambda one: one.reader.extents[0]).reader.operation.name_span
            elif missing >= 0:
                twice = next((one for one in joined if self.odd(one)), joined[0])
                place = twice.reader.advanced
            yield joined[0].filled, Facts("joined_memory", values, {}, {}, place, ends)

    def invalid(self, filled: Filled) -> bool:
        """Whether the tensor map is wrong in itself, which is reported there."""
        tensor_map = filled.tensor_map
        row = self.ruleset.book.shared_table("tensor_map_span").rows.get((tensor_map.swizzle or "",))
        if row is None or tensor_map.box is None or tensor_map.stored is None:
            return False
        return isinstance(row[0], int) and tensor_map.box[0] * tensor_map.stored > row[0] * 8

    def smaller(self, reader: Reader, filled: Filled, laid: Laid) -> Span:
        """Where to say that an operand is larger than its boxes: at the box if the memory has room, else at the MMA."""
        assert laid.rows is not None
        needed = laid.span * reader.extents[0] // laid.rows
        room = (filled.end or laid.first) - laid.first
        if filled.step:
            room = filled.step
        sized = filled.tensor_map.sized
        if room < needed or len(sized) < 2:
            return reader.operation.name_span
        return sized[1 if reader.major == ".k" else 0].name_span

    def ends(self, reader: Reader, filled: Filled) -> tuple[tuple[str, Span], ...]:
        """The other places that a join is about."""
        ends = [(".descriptor", reader.made)] if reader.descriptor.maker is not None else []
        if reader.descriptor.mover is not None:
            ends.append((".advance", reader.descriptor.mover.name_span))
        ends += [(".mma", reader.operation.name_span), (".copy", filled.boxes[0].copy.name_span)]
        if filled.tensor_map.made is not None:
            ends.append((".map", filled.tensor_map.made.name_span))
        ends += [(".box", one.name_span) for one in filled.tensor_map.sized[:2]]
        return tuple(ends)


def mode_name(mode: str) -> str:
    """A swizzle as messages name it."""
    return {".none": "none"}.get(mode, mode.removeprefix(".b").replace("_atom", "b"))
