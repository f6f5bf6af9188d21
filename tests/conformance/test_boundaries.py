"""What ptxas says of instructions on both sides of the constants of rules, kept in boundaries.txt.

``pytest -m oracle tests/conformance/test_boundaries.py --regenerate`` seeks them anew, which takes half an hour.
"""

from __future__ import annotations

from collections import defaultdict

import pytest
from boundaries import KEPT, Judged, judged
from ptxas import CRASHED, needs_ptxas, reasons

import tileproof
from conformance.neighbours import candidates, telling
from conformance.test_conformance import places
from rulebase.mutation import Bench

BOOK = tileproof.load_rules()


@pytest.mark.parametrize("name", judged())
def test_verdicts_are_those_of_ptxas(name: str):
    assert [one.line for one in judged()[name] if not one.as_ptxas_says(BOOK)] == []


def test_both_verdicts_occur():
    said = [one.legal for several in judged().values() for one in several]
    assert min(said.count(True), said.count(False)) > len(said) / 5


def answered(instructions: list[Judged]) -> list[Judged]:
    """What ptxas says today; without what it dies of."""
    batches: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in instructions:
        batches[one.target, one.ptx].append(one.text)
    found = []
    for (target, ptx), texts in sorted(batches.items()):
        for text, reason in zip(texts, reasons(texts, target, ptx), strict=True):
            if reason != CRASHED:
                found.append(Judged(reason is None, target, ptx, text))
    return found


@needs_ptxas
def test_ptxas_still_says_so(request: pytest.FixtureRequest):
    if request.config.getoption("--regenerate"):
        KEPT.write_text("".join(sorted(f"{one.line}\n" for one in sought() if one.as_ptxas_says(BOOK))))
        judged.cache_clear()
    kept = [one for several in judged().values() for one in several]
    assert {*answered(kept)} <= {*kept}


def sought() -> list[Judged]:
    """An instruction for each changed constant that only a record notices, where there is one, and its verdict."""
    near = defaultdict(list)
    for schema, one in candidates(BOOK, set(places())):
        near[schema].append(one)
    told = [one for _, one in telling(Bench(asking=False), near) if one is not None]
    version = "{0[0]}.{0[1]}".format
    return answered([Judged(True, one.target, version(one.ptx), one.text) for one in dict.fromkeys(told)])
