"""Forward dataflow over the blocks of a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tileproof.ptx.graph import Graph

State = TypeVar("State")


def states(
    graph: Graph,
    first: State,
    move: Callable[[int, State], State],
    join: Callable[[State, State], State],
) -> dict[int, State]:
    """The state at the beginning of each block that can be reached.

    Args:
        first: at the beginning of the function.
        move: from the number of a block and the state before it to the state after it.
        join: what holds where two paths meet; it only grows, and not for ever.
    """
    found = {graph.order[0]: first} if graph.order else {}
    place = {number: i for i, number in enumerate(graph.order)}
    waiting = {0} if graph.order else set()
    while waiting:
        i = min(waiting)
        waiting.discard(i)
        number = graph.order[i]
        after = move(number, found[number])
        for one in graph.blocks[number].successors:
            old = found.get(one)
            new = after if old is None else join(old, after)
            if old is None or new != old:
                found[one] = new
                waiting.add(place[one])
    return found
