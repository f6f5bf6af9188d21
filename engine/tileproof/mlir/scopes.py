"""The operation of each name, at each operation of a module.

Names of values are unique along a path of nested regions only: two branches may both call a value ``%46``. So a walk
carries what is visible, and forgets a region's names when it leaves it. In a region of several blocks a value is
visible in all blocks that its own dominates. These come later in the text, so a name is visible from its definition to
the end of the region. What jumps hand to the arguments of a block is not followed: such a name has no origin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tileproof.base.records import dataclass
from tileproof.mlir.ir import Operation, Region


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from.

    Attributes:
        operation: the operation that defines it, or of whose region it is an argument of the first block.
        index: which of the results, or which of the arguments.
        argument: whether it is such an argument.
    """

    operation: Operation
    index: int
    argument: bool = False


Scope = Mapping[str, Origin]


def walk(operations: Sequence[Operation]) -> Iterator[tuple[Operation, Scope]]:
    """Each operation in textual order, with what is visible there. The scope is valid until the next step."""
    yield from _block(operations, _Names({}, {}))


@dataclass(slots=True)
class _Names:
    """What is visible, and what the names of one region hide, to be restored behind it."""

    visible: dict[str, Origin]
    hidden: dict[str, Origin | None]

    def define(self, name: str, origin: Origin) -> None:
        self.hidden.setdefault(name, self.visible.get(name))
        self.visible[name] = origin

    def hide(self, name: str) -> None:
        self.hidden.setdefault(name, self.visible.pop(name, None))

    def restore(self) -> None:
        for name, origin in self.hidden.items():
            if origin is None:
                self.visible.pop(name, None)
            else:
                self.visible[name] = origin


def _region(operation: Operation, region: Region, visible: dict[str, Origin]) -> Iterator[tuple[Operation, Scope]]:
    names = _Names(visible, {})
    for number, block in enumerate(region.blocks):
        for index, argument in enumerate(block.arguments):
            if number:
                names.hide(argument.name)
            else:
                names.define(argument.name, Origin(operation, index, argument=True))
        yield from _block(block.operations, names)
    names.restore()


def _block(operations: Sequence[Operation], names: _Names) -> Iterator[tuple[Operation, Scope]]:
    for operation in operations:
        yield operation, names.visible
        for region in operation.regions:
            yield from _region(operation, region, names.visible)
        index = 0
        for result in operation.results:
            for part in range(result.count):
                name = result.name if result.count == 1 else f"{result.name}#{part}"
                names.define(name, Origin(operation, index))
                index += 1
