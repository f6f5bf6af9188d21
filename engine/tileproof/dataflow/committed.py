"""The groups that asynchronous instructions are committed to."""

from __future__ import annotations

from tileproof.base.records import dataclass

_NONE: frozenset[int] = frozenset()


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
