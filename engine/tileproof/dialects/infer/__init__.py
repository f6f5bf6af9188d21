"""Result types of ``cute`` operations from their operand types and attributes.

Each operation has a small pure function in this package, by family: ``construct``, ``access``, ``layouts``,
``arithmetic``, ``memory``, ``scalars``; ``atoms``, ``partition``, ``fragment`` and ``tma`` for what depends on an atom.
An operation without one is carried: its declared type is believed.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from tileproof.base.records import dataclass
from tileproof.dialects.infer import (
    access,
    arithmetic,
    atoms,
    construct,
    fragment,
    layouts,
    memory,
    partition,
    scalars,
    tensormap,
    tma,
)
from tileproof.dialects.infer.call import TABLE, Call, Unknown
from tileproof.dialects.infer.wording import worded
from tileproof.dialects.values import Type, read_type
from tileproof.layout import LayoutError
from tileproof.rulebase.book import Rulebook


@dataclass(frozen=True, slots=True)
class Refusal:
    """The operation has no result.

    Attributes:
        wording: the complaint of the dialect's own verifier, or the same as ``reason`` where it has none.
        reason: which mode failed which condition.
    """

    wording: str
    reason: str


Outcome = tuple[Type, ...] | Refusal | None

_FAMILIES = (
    access,
    arithmetic,
    atoms,
    construct,
    fragment,
    layouts,
    memory,
    partition,
    scalars,
    tensormap,
    tma,
)  # importing them fills the table


def operations() -> Iterable[str]:
    """The names of the operations that have an inference function."""
    return sorted(TABLE)


@lru_cache(maxsize=65536)
def infer(
    name: str,
    operands: tuple[str, ...],
    parameters: tuple[tuple[str, str], ...],
    declared: tuple[str, ...],
    book: Rulebook | None = None,
) -> Outcome:
    """The result types of an operation, why it has none, or None where that cannot be said.

    Args:
        operands, declared: types as text, free of aliases.
        parameters: attributes by name.
        book: the rules whose fragments of atoms count; None for those of tileproof.
    """
    function = TABLE.get(name)
    call = Call(name, tuple(map(read_type, operands)), dict(parameters), tuple(map(read_type, declared)), book)
    if function is None:
        return None
    try:
        return function(call)
    except Unknown:
        return None
    except LayoutError as refused:
        return Refusal(worded(refused.wording, call.operands), str(refused))
