"""Which tensor maps filled which part of shared memory: boxes by the allocation, the field and the place they begin at.

A part of an allocation that one map fills and a part that another fills are told apart by where their boxes begin: by
the fields that the allocation declares, else a part reaches from its first box to the first box of the next map. Where
a box begins may depend on the stage of a ring: then it is known up to multiples of the length of a stage.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.base.records import dataclass, field
from tileproof.dialects.operations import Operations
from tileproof.memory.pointers import Place, fields_of
from tileproof.memory.tensor_maps import Arguments, TensorMap, argument_of, kernel_name
from tileproof.mlir.ir import Operation
from tileproof.mlir.scopes import Scope


@dataclass(frozen=True, slots=True)
class Box:
    """What a bulk tensor copy writes.

    Attributes:
        base: bytes from the start of the allocation, as far as they are static.
        step: run-time multiples of so many bytes come on top; 0 where there are none.
        tensor_map: None where it is not known.
        copy: the operation.
        coordinates: of the box, as the names of values, the innermost first.
    """

    memory: Operation
    base: int
    step: int
    tensor_map: TensorMap | None
    copy: Operation = field(compare=False)
    coordinates: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Filled:
    """A part of an allocation that one tensor map fills.

    Attributes:
        boxes: where they begin, ascending.
        end: the byte of the allocation at which the part ends; None where that is not known.
    """

    tensor_map: TensorMap
    boxes: tuple[Box, ...]
    end: int | None

    @property
    def first(self) -> int:
        """The byte of the allocation at which the first box begins."""
        return self.boxes[0].base

    @property
    def length(self) -> int:
        """The bytes from the start of the first box to the end of the last one, or of a stage where that is longer."""
        return max(self.boxes[-1].base - self.first + (self.tensor_map.bytes or 1), self.step or 0)

    @property
    def step(self) -> int | None:
        """The multiple that all boxes have on top of their bases; None where they differ."""
        steps = {box.step for box in self.boxes}
        return steps.pop() if len(steps) == 1 else None


@dataclass(slots=True)
class Fills:
    """The boxes that the copies of a module write, so far."""

    operations: Operations
    arguments: Arguments
    boxes: dict[int, list[Box]] = field(default_factory=dict)

    def tensor_map(self, name: str, scope: Scope) -> TensorMap | None:
        """The tensor map that a value of a kernel is."""
        found = argument_of(name, scope, self.operations)
        return None if found is None else self.arguments.get((kernel_name(found[0]) or "", found[1]))

    def copies(self, made: Operation) -> list[Operation]:
        """The copies through a tensor map, by what makes it, so far."""
        every = (box for boxes in self.boxes.values() for box in boxes)
        return [box.copy for box in every if box.tensor_map is not None and box.tensor_map.made is made]

    def add(self, place: Place, operation: Operation, scope: Scope) -> Box:
        """Note a bulk tensor copy into shared memory at a place."""
        tensor_map = self.tensor_map(operation.operands[1], scope)
        rank = len(tensor_map.box) if tensor_map is not None and tensor_map.box is not None else 0
        coordinates = tuple(operation.operands[_COORDINATES : _COORDINATES + rank])
        box = Box(place.allocation, place.base, place.step, tensor_map, operation, coordinates)
        boxes = self.boxes.setdefault(id(place.allocation), [])
        if box not in boxes:
            boxes.append(box)
        return box

    def filled(self, memory: Operation, base: int | None, size: int | None) -> Filled | None:
        """The part of an allocation in which a reader begins; None where several maps, or one unknown, may fill it.

        Args:
            base: where the reader begins, as far as it is static; None where nothing is known of that.
            size: the bytes of the allocation.
        """
        boxes = sorted(self.boxes.get(id(memory), ()), key=lambda box: box.base)
        end = size
        if base is not None:
            holder = next((f for f in fields_of(memory) if f.start <= base < f.end), None)
            if holder is not None:
                boxes = [box for box in boxes if holder.start <= box.base < holder.end]
                end = holder.end
            maps = {box.tensor_map for box in boxes}
            if len(maps) > 1:
                boxes, end = _part(boxes, base, end)
        maps = {box.tensor_map for box in boxes}
        tensor_map = maps.pop() if len(maps) == 1 else None
        return None if tensor_map is None else Filled(tensor_map, tuple(boxes), end)


_COORDINATES = 3  # operands of a bulk tensor copy before the coordinates: memory, map and barrier


def _part(boxes: list[Box], base: int, end: int | None) -> tuple[list[Box], int | None]:
    """The run of boxes of one map around a byte, and where the next map's boxes begin."""
    runs = list(_runs(boxes))
    for run, after in zip(runs, [*runs[1:], None], strict=True):
        if run[0].base <= base and (after is None or base < after[0].base):
            return run, end if after is None else after[0].base
    return [], None


def _runs(boxes: list[Box]) -> Iterator[list[Box]]:
    """Boxes that follow each other and have one map; those of several maps at one place are one run."""
    run: list[Box] = []
    for box in boxes:
        if run and box.tensor_map != run[-1].tensor_map and box.base != run[-1].base:
            yield run
            run = []
        run.append(box)
    if run:
        yield run
