"""Whether it is known what memory a step accesses.

Of two accesses an order is missing only where both are known: a step whose address is not known is verified for what it
waits for, and not for what must wait for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from tileproof.protocol.values import Address, Value
from tileproof.rulebase.book import Rulebook

_BOTH = 2  # operands of an MMA; behind them is a word of control, before them the accumulator
_WORDS = 3  # operands of a wgmma that reads A from registers are more


@lru_cache(maxsize=16)
def addressed(book: Rulebook) -> Mapping[str, str]:
    """The steps that access memory where an operand says, and how many operands that are."""
    return dict(book.enums["addressed_step"].by_spelling)


def sees(how: str, held: Sequence[Value]) -> bool:
    """Whether the memory is known.

    Args:
        how: ``.any`` operand says it, ``.operands`` 1 and 2 do, the ``.descriptors`` among all, or all the ``.tensors``
            behind the atom.
    """
    match how:
        case ".operands":
            return all(isinstance(one, Address) for one in held[1 : 1 + _BOTH])
        case ".descriptors":
            known = [isinstance(one, Address) for one in held]
            return known[-1] if len(held) > _WORDS else sum(known) >= min(_BOTH, len(held))
        case ".tensors":
            return all(isinstance(one, Address) for one in held[1:])
    return any(isinstance(one, Address) for one in held)


__all__ = ["addressed", "sees"]
