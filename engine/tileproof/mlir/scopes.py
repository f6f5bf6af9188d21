"""The operation of each name, at each operation of a module.

Names of values are unique along a path of nested regions only: two branches may both call a value ``%46``. So a walk
carries what is visible, and forgets a region's names when it leaves it. In a region of several blocks a value is
visible in all blocks that its own dominates. These come later in the text, so a name is visible from its definition to
the end of the region. What jumps hand to the arguments of a block is not followed: such a name has no origin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from tileproof.base.records import dataclass
from tileproof.mlir.ir import Operation


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
    visible: dict[str, Origin] = {}
    hidden: dict[str, Origin | None] = {}  # what the names of a region hide, to be restored behind it
    outside: list[dict[str, Origin | None]] = []
    for step, name, origin in _steps(_Same(operations)):
        if step == _VISIT:
            yield origin.operation, visible
        elif step == _DEFINE:
            hidden.setdefault(name, visible.get(name))
            visible[name] = origin
        elif step == _HIDE:
            hidden.setdefault(name, visible.pop(name, None))
        elif step == _ENTER:
            outside.append(hidden)
            hidden = {}
        else:
            for other, before in hidden.items():
                if before is None:
                    visible.pop(other, None)
                else:
                    visible[other] = before
            hidden = outside.pop()


_VISIT, _DEFINE, _HIDE, _ENTER, _LEAVE = range(5)
_Step: TypeAlias = "tuple[int, str, Origin]"


class _Same:
    """Operations as the key of a cache: these very ones, not equal ones."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = tuple(operations)  # which stay alive, so that their ids stay theirs
        self.ids = tuple(map(id, operations))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.ids == self.ids

    def __hash__(self) -> int:
        return hash(self.ids)


@lru_cache(maxsize=4)
def _steps(module: _Same) -> list[_Step]:
    """What a walk does, in order: several walk over one module."""
    steps: list[_Step] = []

    def block(operations: Sequence[Operation]) -> None:
        for operation in operations:
            here = Origin(operation, 0)
            steps.append((_VISIT, "", here))
            for region in operation.regions:
                steps.append((_ENTER, "", here))
                for number, one in enumerate(region.blocks):
                    for index, argument in enumerate(one.arguments):
                        origin = Origin(operation, index, argument=True)
                        steps.append((_HIDE if number else _DEFINE, argument.name, origin))
                    block(one.operations)
                steps.append((_LEAVE, "", here))
            index = 0
            for result in operation.results:
                for part in range(result.count):
                    name = result.name if result.count == 1 else f"{result.name}#{part}"
                    steps.append((_DEFINE, name, Origin(operation, index) if index else here))
                    index += 1

    block(module.operations)
    return steps
