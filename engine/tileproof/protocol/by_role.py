"""Which way threads go by their role alone, whatever a run supposes.

A branch often asks two things at once: is there a job, and is this the warp that does it. Of a disjunction one operand
is enough; where it is one that tells roles apart, the integer that a run supposes for the other says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.protocol.deciding import Writers
from tileproof.protocol.values import Lanes, Value, term_of

_DEEPEST = 8  # computations between a branch and what tells roles apart


def goes_anyhow(writers: Writers, values: Sequence[Value], slot: int, threads: Sequence[int]) -> bool:
    """Whether all these threads have a value in a slot that does not depend on what a run supposes.

    Args:
        writers: the instructions that give each slot a value (``deciding``).
    """
    found = _known(writers, values, slot, _DEEPEST)
    if isinstance(found, Lanes):
        return all(found.each[thread] is not None for thread in threads)
    return isinstance(found, int)


def _known(writers: Writers, values: Sequence[Value], slot: int, depth: int) -> Value:
    """The value of a slot with nothing in place of what is supposed: what a function makes of the rest is known."""
    value = values[slot]
    if value is None or term_of(value) is None:
        return value
    written = writers.get(slot, ())
    if len(written) != 1 or not depth:
        return None
    _, one = written[0]
    if one.kind != "compute" or one.function is None or one.make is not None:
        return None
    given = [_known(writers, values, other, depth - 1) for other in one.inputs]
    if all(other is None for other in given):
        return None
    computed: Sequence[Value] = one.function(*given)  # type: ignore[assignment]
    found = computed[one.outputs.index(slot)]
    return found if term_of(found) is None else None


__all__ = ["goes_anyhow"]
