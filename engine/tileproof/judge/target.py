"""Which target a file is compiled for: that of the user, else that of the IR, else the lowest possible."""

from __future__ import annotations

from collections.abc import Iterable

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.base.source import Source
from tileproof.evaluate.python import Judge
from tileproof.rulebase.book import Ruleset

# #nvvm.target<chip = "sm_90a"> on a gpu.module; and the check of the launch's shared memory that CuTe DSL generates,
# the only place in its dumps that names the target. `sm_90` inside a TMA atom names the TMA generation.
_CHIP = regex(r'\bchip\s*=\s*"(sm_[0-9]+[af]?)"')
_DSL = regex(r"current GPU arch (sm_[0-9]+[af]?) allowed")


@dataclass(frozen=True, slots=True)
class Target:
    """A target by its member of the enum ``target`` (``.sm_90a``), and why it was chosen.

    Attributes:
        stated: whether the user or the text names it.
    """

    name: str
    reason: str
    stated: bool = True

    def __str__(self) -> str:
        return self.name.removeprefix(".")


def choose(ruleset: Ruleset, source: Source, needs: Iterable[str], asked: str | None) -> Target | None:
    """The target of a file; None where no target has everything that the file needs.

    Args:
        needs: members of the enum ``feature``.
        asked: the target given by the user, with its leading dot.
    """
    if asked is not None:
        return Target(asked, "given")
    known = ruleset.book.enums["target"].members
    for pattern in (_CHIP, _DSL):
        if (found := pattern.search(source.text)) and f".{found[1]}" in known:
            return Target(f".{found[1]}", "named in the IR")
    judge = Judge(ruleset, "operation")
    instance = ruleset.book.schemas["operation"].instance
    candidates = list(known)
    for need in sorted(set(needs)):
        legal = set(judge.legal({**instance, "needs": need}, "target"))
        candidates = [candidate for candidate in candidates if candidate in legal]
    return Target(candidates[0], "lowest that supports its atoms", stated=False) if candidates else None
