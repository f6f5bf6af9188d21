"""What is wrong with rule files, each thing with its place."""

from __future__ import annotations

from tileproof.base.records import dataclass
from tileproof.rulebase.expression import Place


@dataclass(frozen=True, slots=True)
class RuleFault:
    """One thing wrong with a rule file."""

    place: Place
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"
