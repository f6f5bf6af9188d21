"""conformance/boundaries.txt: instructions on both sides of the constants of rules, and what ptxas said of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tileproof.checking.instruction import context, legal
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import HARDWARE

KEPT = Path(__file__).resolve().parents[1] / "conformance" / "boundaries.txt"


@dataclass(frozen=True)
class Judged:
    """An instruction for a target and a PTX version, and whether ptxas takes it."""

    legal: bool
    target: str
    ptx: str
    text: str

    @property
    def line(self) -> str:
        """As it stands in the file."""
        return f"{'legal' if self.legal else 'illegal'} {self.target} {self.ptx} {self.text}"

    @property
    def name(self) -> str:
        """The first two words of the opcode."""
        return ".".join(self.text.partition(" ")[0].split(".")[:2])

    def as_ptxas_says(self, book: Rulebook) -> bool:
        """Whether these rules say the same."""
        major, minor = self.ptx.split(".")
        where = context(book, self.target, (int(major), int(minor)))
        return legal(book.under(HARDWARE), self.text, where).legal is self.legal


@cache
def judged() -> dict[str, list[Judged]]:
    """The instructions by the beginnings of their opcodes."""
    found = defaultdict(list)
    for line in KEPT.read_text(encoding="ascii").splitlines():
        said, target, ptx, text = line.split(" ", 3)
        one = Judged(said == "legal", target, ptx, text)
        found[one.name].append(one)
    return dict(found)
