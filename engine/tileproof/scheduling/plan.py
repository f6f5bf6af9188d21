"""A plan: which operations are inserted where, and what rule data say of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

from tileproof.base.records import dataclass
from tileproof.rulebase.book import Rulebook
from tileproof.scheduling.edits import Gap, InsertedLine

ROLES = frozenset({".fence", ".commit", ".wait"})  # the members of the enum `schedule_role` that a plan knows


@dataclass(frozen=True, slots=True)
class Insertable:
    """An operation that can be inserted: a row of the table ``schedule``.

    Attributes:
        role: ``.fence``, ``.commit`` or ``.wait``.
        after: whether it is inserted after the operation that it is about, else before it.
        turns: whether an iteration of a loop may be a group of its own.
        most: the groups that a wait may leave in flight.
        rank: its place in the table, which is the order of operations at one place.
    """

    name: str
    role: str
    after: bool
    turns: bool
    most: int
    custom: str
    generic: str
    rank: int

    @property
    def queue(self) -> str:
        """What it commits or waits for: ``wgmma``, ``bulk``, ``async``, ``store`` or ``load``."""
        return self.name[1:].partition("_")[0]

    def text(self, generic: bool, pending: int) -> str:
        """How it is written."""
        form = self.generic.replace("'", '"') if generic else self.custom
        return form.replace("{pending}", str(pending))


@lru_cache(maxsize=8)
def insertables(book: Rulebook) -> Mapping[str, Insertable]:
    """The operations that can be inserted, by the members of the enum ``schedule_operation``."""
    found = {}
    for rank, ((name,), row) in enumerate(book.shared_table("schedule").rows.items()):
        role, side, groups, most, custom, generic = row
        assert isinstance(most, int)
        found[name] = Insertable(
            *(name, str(role), side == ".after", groups == ".turns", most),
            *(str(custom), str(generic), rank),
        )
    return found


@dataclass(frozen=True, slots=True)
class Insertion:
    """One operation to insert.

    Attributes:
        subject: the offset of the operation that it is about.
        pending: the groups that a wait leaves in flight.
    """

    kind: Insertable
    subject: int
    gap: Gap
    pending: int = 0

    @property
    def line(self) -> InsertedLine:
        """The line that it becomes."""
        return InsertedLine(self.gap, self.kind.rank, self.kind.text(self.gap.generic, self.pending))

    @property
    def waits(self) -> bool:
        """Whether it is a wait."""
        return self.kind.role == ".wait"

    @property
    def commits(self) -> bool:
        """Whether it is a commit."""
        return self.kind.role == ".commit"


Plan: TypeAlias = "tuple[Insertion, ...]"

__all__ = ["ROLES", "Insertable", "Insertion", "Plan", "insertables"]
