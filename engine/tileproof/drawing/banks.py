"""Shared memory as pictures colour it: its banks, by rules/copy/shared.rule."""

from __future__ import annotations

from tileproof.base.records import dataclass
from tileproof.rulebase.book import Rulebook


@dataclass(frozen=True, slots=True)
class Banks:
    """Banks and the bytes of a word of one.

    Attributes:
        lanes: the lanes of a warp that are served together, by the bytes that each moves.
    """

    count: int
    width: int
    lanes: tuple[tuple[int, int], ...]

    def of(self, byte: int) -> int:
        """The bank of a byte."""
        return byte // self.width % self.count

    def phase(self, width: int) -> int | None:
        """How many lanes are served together where each moves so many bytes; None where no access is so wide."""
        return dict(self.lanes).get(width)


def shared_banks(book: Rulebook) -> Banks:
    """The banks that the rule files state."""
    count, width = book.shared_table("shared_banks").rows[".shared",]
    assert isinstance(count, int) and isinstance(width, int), "rules/copy/shared.rule"
    accesses = book.shared_table("shared_access")
    place = {name: accesses.columns.index(name) for name in ("bytes", "lanes", "rows")}
    lanes = tuple(
        (int(str(row[place["bytes"]])), int(str(row[place["lanes"]])))
        for row in accesses.rows.values()
        if row[place["rows"]] == 0
    )
    return Banks(count, width, lanes)
