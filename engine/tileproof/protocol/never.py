"""Ways of branches and loops that no thread takes, whatever integers a kernel gets: what is behind them is no step.

A compiler keeps the loop over the tiles that a mask touches where a window is never so long, the main part of a loop
that it unrolled where it has three turns, the tail of queries that are none. Runs do not come there, and one that is
told to go has integers that contradict each other. If no numbers fulfil the conditions on the way there
(``conditions.py``), nobody goes there.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.evaluate.answer import Answer
from tileproof.evaluate.integers import Integer, tried
from tileproof.protocol.conditions import Conditions
from tileproof.protocol.explore import Exploration, chain_of, guards_of
from tileproof.protocol.program import Instruction


def impossible_ways(
    code: Sequence[Instruction], reached: Exploration, seconds: float, most: int
) -> set[tuple[int, bool]]:
    """The ways of branches and loops, by place, that no numbers lead to: those that keep steps from being executed.

    Args:
        seconds: the budget for one way.
        most: how many ways to ask about.
    """
    formulas, guards = Conditions(code, guards_of(code)), guards_of(code)
    asked: dict[tuple[int, bool], bool] = {}
    for place, one in enumerate(code):
        if one.effect is None or one.effect.pure or id(one.operation) in reached.executed:
            continue
        before: list[Integer] = []
        for guard, way in chain_of(code, guards, place):
            condition = formulas.condition(guard, way)
            if condition is not None:
                before.append(condition)
            if way in reached.went.get(guard, ()):
                continue
            key = guard, way
            if key not in asked and condition is not None and len(asked) < most:
                asked[key] = _contradict(formulas.bounded(before), seconds)
            if asked.get(key):
                break
    return {key for key, never in asked.items() if never}


def _contradict(conditions: Sequence[Integer], seconds: float) -> bool:
    if tried(conditions):
        return False
    from tileproof.evaluate.solver import fulfilled  # noqa: PLC0415

    return fulfilled(conditions, seconds) is Answer.UNSATISFIABLE


__all__ = ["impossible_ways"]
