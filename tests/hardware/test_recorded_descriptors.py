"""The bytes that wgmma read on a GPU by its descriptors are those that the canonical layouts say."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tileproof.base.records import dataclass
from tileproof.descriptors.canonical import Tile, canonical_forms, described
from tileproof.evaluate import bitfields
from tileproof.layout import Layout, Swizzle, apply_swizzle
from tileproof.layout.basics import flat_modes, modes
from tileproof.rulebase.expression import Scalar
from tileproof.rulebase.load import default_files, load

BOOK = load(default_files())
BITS = {"f16": 16, "tf32": 32, "u8": 8, "e4m3": 8}


@dataclass(frozen=True)
class Read:
    """What was measured of one descriptor.

    Attributes:
        operand: as the heading spells it; ``value``: the descriptor.
        extents: rows and columns; ``digest``: of all addresses, row by row.
        some: the addresses of (0,0), (1,0), (0,1) and the last row and column.
    """

    operand: str
    value: int
    extents: tuple[int, int]
    digest: str
    some: tuple[int, ...]

    @property
    def swizzle(self) -> str:
        """The swizzle of the descriptor."""
        return str(self._fields["swizzle"])

    @property
    def _fields(self) -> dict[str, Scalar]:
        return _unpacked(self.value)

    def as_the_engine_says(self) -> list[int]:
        """All addresses, row by row."""
        axes, start, base = self.axes, self._number("address"), self._number("base_offset")
        assert axes is not None
        moved, phase = _moved(self.swizzle), 128 * base  # the pattern begins where the base offset says
        last = len(moved) - 1
        places = (start + row + column for row in axes[0] for column in axes[1])
        return [address ^ moved[address - phase & last] for address in places]

    @property
    def axes(self) -> tuple[list[int], list[int]] | None:
        """The bytes from the start to each row and to each column, before the swizzle; None where no layout fits."""
        _, kind, major, *_ = self.operand.split()
        return _offsets(f".{major}", self.swizzle, self.extents, BITS[kind], self._number("lbo"), self._number("sbo"))

    def _number(self, name: str) -> int:
        found = self._fields[name]
        assert isinstance(found, int)
        return found

    def differs(self) -> str:
        """In what the engine says something else; empty where it does not."""
        addresses = self.as_the_engine_says()
        columns = self.extents[1]
        said = (addresses[0], addresses[columns], addresses[1], addresses[-1])
        digest = hashlib.sha256(array("I", addresses).tobytes()).hexdigest()[:12]
        if (said, digest) == (self.some, self.digest):
            return ""
        return f"{self.operand} {self.value:#018x}: read {[*map(hex, self.some)]}, the engine says {[*map(hex, said)]}"


@cache
def _unpacked(value: int) -> dict[str, Scalar]:
    return bitfields.unpack(BOOK.under("ptx"), "wgmma.descriptor", value)


@cache
def _moved(mode: str) -> list[int]:
    """By an address within the pattern of a swizzle the bits that the swizzle changes in it."""
    bits, base, shift, _, pattern = BOOK.shared_table("smem_swizzle").rows[mode,]
    assert isinstance(bits, int) and isinstance(base, int) and isinstance(shift, int) and isinstance(pattern, int)
    swizzle = Swizzle(bits, base, shift)
    return [address ^ moved for address in range(pattern) if isinstance(moved := apply_swizzle(swizzle, address), int)]


@cache
def _offsets(
    major: str, swizzle: str, extents: tuple[int, int], bits: int, lbo: int, sbo: int
) -> tuple[list[int], list[int]] | None:
    form = next(canonical_forms(BOOK, major, swizzle))
    layout = described(BOOK, form, Tile(Layout(extents, (1, extents[0])), bits, swizzle), lbo, sbo)
    if layout is None:
        return None
    rows, columns = ([offset * bits // 8 for offset in _enumerated(axis)] for axis in modes(layout))
    return rows, columns


def _enumerated(axis: Layout) -> list[int]:
    """The offsets of a mode: those of its first step count first."""
    found = [0]
    for extent, stride in flat_modes(axis):
        assert isinstance(extent, int) and isinstance(stride, int)
        found = [before + i * stride for i in range(extent) for before in found]
    return found


def recorded() -> Iterator[Read]:
    """All that was measured."""
    operand, extents = "", (0, 0)
    for line in Path(__file__).with_name("descriptors.txt").read_text(encoding="utf-8").splitlines()[1:]:
        parts = line.split()
        if "x" in parts[-1]:
            operand = " ".join(parts[:-1])
            rows, columns = map(int, parts[-1].split("x"))
            extents = rows, columns
        else:
            yield Read(operand, int(parts[0], 16), extents, parts[1], tuple(int(text, 16) for text in parts[2:]))


READS = list(recorded())


def test_wgmma_reads_what_the_canonical_layouts_say():
    asked = [read for read in READS if read.axes is not None]
    assert len(asked) > 1700
    assert [text for read in asked if (text := read.differs())] == []


def test_only_the_rows_of_less_than_a_swizzle_have_no_canonical_layout():
    without = {(read.operand, read.swizzle) for read in READS if read.axes is None}
    assert without == {("b f16 mn 8 0", swizzle) for swizzle in (".b32", ".b64", ".b128")}
