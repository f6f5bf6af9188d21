"""Where a value comes from: the operations that it was made by, back to an allocation or an argument.

Which operand a result lies in is rule data (rules/memory/operations.rule). Everything that follows a value asks here.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.dialects.operations import Operations
from tileproof.mlir.scopes import Origin, Scope

DEEPEST = 256  # definitions that a value is followed through


def definitions(name: str, scope: Scope, operations: Operations) -> Iterator[Origin]:
    """What defines a value, then what defines the operand that this lies in, and so on, ``DEEPEST`` at most."""
    current: str | None = name
    for _ in range(DEEPEST):
        origin = scope.get(current) if current is not None else None
        if origin is None:
            return
        yield origin
        current = operations.aliased(origin)


def origin_of(name: str, scope: Scope, operations: Operations) -> Origin | None:
    """What defines the memory that a value lies in: an allocation, an argument, or an unknown operation.

    None for a name that is not visible, and for one that is not followed to its end.
    """
    found = list(definitions(name, scope, operations))
    return found[-1] if found and operations.aliased(found[-1]) is None else None
