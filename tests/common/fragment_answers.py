"""Who holds what, as NVIDIA's dialect said: thread-value layouts of atoms, kept in tests/dialects/fragments.txt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tileproof.base.records import dataclass
from tileproof.dialects.fragments import fragments
from tileproof.rulebase.book import Rulebook
from tileproof.syntax.types import type_tree

KEPT = Path(__file__).parents[1] / "dialects" / "fragments.txt"


@dataclass(frozen=True)
class Answer:
    """An atom and its layouts: threads, then A, B and C of an MMA, source and destination of a copy."""

    atom: str
    layouts: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.atom.lstrip("!").partition("<")[0]

    @property
    def line(self) -> str:
        return " | ".join((self.atom, *self.layouts))

    def as_rules_say(self, book: Rulebook | None = None) -> bool:
        """Whether the rules have these layouts."""
        found = fragments(type_tree(self.atom), book)
        if found is None:
            return False
        roles = ("A", "B", "C") if len(self.layouts) == 4 else ("S", "D")
        return (str(found.threads), *(str(found.layouts.get(role)) for role in roles)) == self.layouts


@cache
def kept() -> dict[str, tuple[Answer, ...]]:
    """What is kept, by the atom's name."""
    found: dict[str, list[Answer]] = {}
    for line in KEPT.read_text(encoding="utf-8").splitlines():
        atom, *layouts = line.split(" | ")
        one = Answer(atom, tuple(layouts))
        found.setdefault(one.name, []).append(one)
    return {name: tuple(several) for name, several in found.items()}


def telling(answers: Iterable[Answer]) -> Iterator[Answer]:
    """Of atoms of one name with the same layouts the first."""
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for one in answers:
        if (one.name, one.layouts) not in seen:
            seen.add((one.name, one.layouts))
            yield one
