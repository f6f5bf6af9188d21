"""The operation of each name, at each operation of a module.

Names of values are unique along a path of nested regions only: two branches may both call a value ``%46``. So a walk
carries what is visible, and forgets a region's names when it leaves it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tileproof.base.records import dataclass
from tileproof.mlir.ir import Operation


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from.

    Attributes:
        operation: the operation that defines it, or in whose region it is an argument.
        index: which of the results, or which of the arguments.
        argument: whether it is an argument of a block.
    """

    operation: Operation
    index: int
    argument: bool = False


Scope = Mapping[str, Origin]


def walk(operations: Sequence[Operation]) -> Iterator[tuple[Operation, Scope]]:
    """Each operation in textual order, with what is visible there. The scope is valid until the next step."""
    visible: dict[str, Origin] = {}
    yield from _block(operations, visible)


def _block(operations: Sequence[Operation], visible: dict[str, Origin]) -> Iterator[tuple[Operation, Scope]]:
    hidden: dict[str, Origin | None] = {}

    def define(name: str, origin: Origin) -> None:
        hidden.setdefault(name, visible.get(name))
        visible[name] = origin

    for operation in operations:
        yield operation, visible
        for region in operation.regions:
            for block in region.blocks:
                arguments = {argument.name: visible.get(argument.name) for argument in block.arguments}
                for index, argument in enumerate(block.arguments):
                    visible[argument.name] = Origin(operation, index, argument=True)
                yield from _block(block.operations, visible)
                _restore(visible, arguments)
        index = 0
        for result in operation.results:
            for part in range(result.count):
                define(result.name if result.count == 1 else f"{result.name}#{part}", Origin(operation, index))
                index += 1
    _restore(visible, hidden)


def _restore(visible: dict[str, Origin], before: Mapping[str, Origin | None]) -> None:
    for name, origin in before.items():
        if origin is None:
            visible.pop(name, None)
        else:
            visible[name] = origin
