"""What is wrong with rule files, each thing with its place."""

from __future__ import annotations

from collections.abc import Iterable

from tileproof.base.records import dataclass
from tileproof.rulebase.expression import Place


@dataclass(frozen=True, slots=True)
class RuleFault:
    """One thing wrong with a rule file."""

    place: Place
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class RuleError(ValueError):
    """Rule files that cannot be used, with everything that is wrong with them."""

    def __init__(self, faults: Iterable[RuleFault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(map(str, self.faults)))
