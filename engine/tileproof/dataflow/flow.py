"""Forward dataflow over the blocks of a function, and the groups that asynchronous instructions are committed to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tileproof.base.records import dataclass
from tileproof.ptx.graph import Graph

State = TypeVar("State")
_NONE: frozenset[int] = frozenset()


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


@dataclass(frozen=True, slots=True)
class Groups:
    """What may be in flight of one kind of asynchronous instruction, by the numbers of the statements.

    Attributes:
        open: issued and not committed.
        committed: the groups, the youngest first; the last of the most that are kept holds all older ones as well.
    """

    open: frozenset[int] = _NONE
    committed: tuple[frozenset[int], ...] = ()

    def issue(self, number: int) -> Groups:
        """One more."""
        return self if number in self.open else Groups(self.open | {number}, self.committed)

    def commit(self, most: int) -> Groups:
        """All that is open becomes a group, of which at most so many are kept apart."""
        groups = (self.open, *self.committed)
        if len(groups) > most:
            groups = (*groups[: most - 1], frozenset().union(*groups[most - 1 :]))
        return Groups(_NONE, groups)

    def wait(self, pending: int) -> Groups:
        """All groups but the youngest are complete."""
        return Groups(self.open, self.committed[:pending]) if len(self.committed) > pending else self

    @property
    def flying(self) -> frozenset[int]:
        """All that is in flight."""
        return self.open.union(*self.committed) if self.committed else self.open


def meet(a: Groups, b: Groups) -> Groups:
    """What may be in flight on either of two paths."""
    if a == b:
        return a
    longer, shorter = (a, b) if len(a.committed) >= len(b.committed) else (b, a)
    groups = tuple(one | two for one, two in zip(longer.committed, shorter.committed, strict=False))
    return Groups(a.open | b.open, groups + longer.committed[len(groups) :])
