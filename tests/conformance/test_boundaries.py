"""What ptxas says of instructions on both sides of the constants of rules, kept in boundaries.txt.

``pytest -m oracle tests/conformance/test_boundaries.py --regenerate`` seeks them anew, which takes half an hour.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from ptxas import CRASHED, needs_ptxas, reasons

import tileproof
from tileproof.checking.instruction import context, legal

BOOK = tileproof.load_rules()
KEPT = Path(__file__).parent / "boundaries.txt"
Place = tuple[str, str]  # a target and a PTX version


def kept() -> dict[Place, list[tuple[bool, str]]]:
    """For each place the instructions, and whether ptxas takes them."""
    found = defaultdict(list)
    for line in KEPT.read_text(encoding="ascii").splitlines():
        said, target, ptx, text = line.split(" ", 3)
        found[target, ptx].append((said == "legal", text))
    return found


def of(place: Place):
    major, minor = place[1].split(".")
    return context(BOOK, place[0], (int(major), int(minor)))


@pytest.mark.parametrize("target", sorted({target for target, _ in kept()}))
def test_verdicts_are_those_of_ptxas(target: str):
    wrong = [
        (place, text)
        for place, instructions in kept().items()
        if place[0] == target
        for said, text in instructions
        if legal(BOOK.under("ptx"), text, of(place)).legal is not said
    ]
    assert wrong == []


@needs_ptxas
def test_ptxas_still_says_so():
    """Of every place a part, for a place is a run of ptxas."""
    for place, instructions in list(kept().items())[::3]:
        answers = reasons([text for _, text in instructions], *place)
        for (said, text), answer in zip(instructions, answers, strict=True):
            assert answer == CRASHED or said is (answer is None), (place, text, answer)


def test_both_verdicts_occur():
    said = [one for instructions in kept().values() for one, _ in instructions]
    assert min(said.count(True), said.count(False)) > len(said) / 5
