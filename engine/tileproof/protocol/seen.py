"""Whether it is known what memory a step accesses.

Of two accesses an order is missing only where both are known: a step whose address is not known is verified for what it
waits for, and not for what must wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from tileproof.protocol.values import Address, Value
from tileproof.rulebase.book import Rulebook

_OPERANDS = 3  # of an MMA: the accumulator, A and B; behind them is a word of control
_BOTH = 2  # descriptors of a wgmma
_WORDS = 3  # operands of a wgmma that reads A from registers are more


@lru_cache(maxsize=16)
def addressed(book: Rulebook) -> Mapping[str, str]:
    """The steps that access memory where an operand says, and how many operands that are."""
    return dict(book.enums["addressed_step"].by_spelling)


def placed(value: Value) -> bool:
    """Whether a value is an address, in shared or tensor memory one of some thread that is known."""
    if not isinstance(value, Address):
        return False
    apart = value.memory.space not in ("smem", "tmem")
    return apart or value.offset is not None or any(part is not None for part in value.parts)


def sees(how: str, held: Sequence[Value], known: Callable[[Value], bool] = placed) -> bool:
    """Whether the memory is known.

    Args:
        how: ``.any`` operand says it, ``.operands`` 0 to 2 do, the ``.descriptors`` among all, or all the ``.tensors``
            behind the atom.
        known: whether one operand says it.
    """
    match how:
        case ".operands":
            return all(map(known, held[:_OPERANDS]))
        case ".descriptors":
            return known(held[-1]) if len(held) > _WORDS else sum(map(known, held)) >= min(_BOTH, len(held))
        case ".tensors":
            return all(map(known, held[1:]))
    return any(map(known, held))


__all__ = ["addressed", "placed", "sees"]
