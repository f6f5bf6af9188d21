"""Tensor copies of a GPU put boxes where the engine lays them out; its driver makes the maps that the rules allow."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from tileproof.base.records import dataclass
from tileproof.evaluate.python import Judge
from tileproof.layout import Swizzle, apply_swizzle, crd2idx
from tileproof.memory.fills import Box, Filled
from tileproof.memory.joined_operands import lay_out
from tileproof.memory.tensor_maps import TensorMap, element_widths
from tileproof.mlir.ir import Operation
from tileproof.rulebase.load import default_files, load

BOOK = load(default_files())
HERE = Path(__file__).parent
DATA = 2048  # the address at which boxes begin
NOBODY = cast(Operation, None)  # no operation made them


@dataclass(frozen=True)
class Copied:
    """What was measured of one box.

    Attributes:
        strides: of the tensor, in bytes.
        to: bytes from DATA on to where it is copied.
        counted: whether the phase of an mbarrier that expects ``size`` bytes is complete.
        zeros: bytes that were written for elements outside the tensor.
        places: bytes that came from the tensor; ``digest``: of their addresses, in the order of the tensor.
    """

    kind: str
    swizzle: str
    strides: tuple[int, ...]
    box: tuple[int, ...]
    to: int
    counted: bool
    size: int
    zeros: int
    places: int
    digest: str

    @property
    def tensor_map(self) -> TensorMap:
        """The map, as the engine knows it."""
        return TensorMap(self.swizzle, self.box, f".{self.kind}", *element_widths(BOOK, f".{self.kind}"))

    @property
    def row(self) -> int:
        """The bytes of the innermost extent."""
        stored = self.tensor_map.stored
        assert stored is not None
        return self.box[0] * stored // 8

    def as_the_engine_says(self) -> str:
        """The digest of the addresses of all bytes of the box, row by row."""
        box = Box(NOBODY, self.to, 0, self.tensor_map, NOBODY)
        laid = lay_out(BOOK, Filled(self.tensor_map, (box,), None), self.box[1], ".k", 0)
        assert laid is not None
        bits, base, shift = BOOK.shared_table("smem_swizzle").rows[self.swizzle,][:3]
        assert isinstance(bits, int) and isinstance(base, int) and isinstance(shift, int)
        element, swizzle, found = self.row // self.box[0], Swizzle(bits, base, shift), array("I")
        along = [crd2idx((0, column), laid.layout) for column in range(self.box[0])]
        for row in range(self.box[1]):
            first = crd2idx((row, 0), laid.layout)
            for offset in along:
                assert isinstance(first, int) and isinstance(offset, int)
                address = apply_swizzle(swizzle, DATA + laid.first + (first + offset) * element)
                assert isinstance(address, int)
                found.extend(range(address, address + element))
        return hashlib.sha256(found.tobytes()).hexdigest()[:12]


def recorded() -> Iterator[Copied]:
    """All that was measured."""
    for line in (HERE / "boxes.txt").read_text(encoding="utf-8").splitlines()[1:]:
        kind, swizzle, _, strides, box, _, to, counted, size, zeros, places, digest, *_ = line.split()
        steps, extents = (tuple(int(n) for n in text.split(",") if n != "-") for text in (strides, box))
        numbers = (int(size), int(zeros), int(places))
        yield Copied(kind, f".{swizzle}", steps, extents, int(to), counted == "counted", *numbers, digest)


BOXES = list(recorded())
LAID = [box for box in BOXES if len(box.box) == 2 and not box.zeros and box.places == box.size]


def test_a_copy_counts_and_writes_the_bytes_of_its_box_also_outside_the_tensor():
    assert any(box.zeros for box in BOXES)
    for box in BOXES:
        assert box.counted and box.size == box.tensor_map.bytes == box.zeros + box.places, box


def test_boxes_lie_as_the_engine_lays_them_out():
    assert len(LAID) > 50
    assert [box for box in LAID if box.as_the_engine_says() != box.digest] == []


def test_the_driver_makes_the_tensor_maps_that_the_rules_allow():
    lines = (HERE / "maps.txt").read_text(encoding="utf-8").splitlines()[1:]
    *answers, asked = ((*line.split(), "")[:4] for line in lines)
    inner = [int(number) for number in asked[3].split(",")]
    judge, instance = Judge(BOOK.under("ptx"), "tensor_map"), BOOK.schemas["tensor_map"].instance
    for axis, kind, swizzle, made in answers:
        stored = element_widths(BOOK, f".{kind}")[1]
        assert stored is not None
        extents = inner if axis == "inner" else [0, 1, 2, 3, 100, 255, 256, 257, 512]
        allowed = []
        for extent in extents:
            row = (extent if axis == "inner" else 8) * stored // 8
            facts = {**instance, "swizzle": f".{swizzle}", "type": f".{kind}", "inner": row, "largest": extent}
            if not judge.violated(facts):
                allowed.append(extent)
        assert allowed == [int(number) for number in made.split(",")], (axis, kind, swizzle)
