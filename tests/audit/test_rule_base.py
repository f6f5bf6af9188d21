"""The rule base itself: it loads, it is documented, and its two readings agree over the whole lattice."""

from __future__ import annotations

from math import prod

import pytest

import tileproof
from tileproof.audit.rules import LARGEST_LATTICE, Audit, check_book, check_whole
from tileproof.rulebase.explain import text_of
from tileproof.rulebase.load import load, shipped_files

BOOK = load(shipped_files())
PARTS = 16  # of the rules, for several workers
SHARE = 5_000  # configurations of one rule in a sweep


def sound(outcome: Audit) -> None:
    assert [str(fault) for fault in outcome.faults] == []
    assert [str(fault) for fault in outcome.unknown] == []


@pytest.mark.sweep
@pytest.mark.parametrize("most", [SHARE, pytest.param(LARGEST_LATTICE, marks=pytest.mark.long)], ids=["share", "all"])
@pytest.mark.parametrize("part", range(PARTS))
def test_every_rule_is_satisfiable_falsifiable_needed_exemplified_and_read_alike_twice(part: int, most: int):
    """The long run, and ``rules check --all``, compare the readings on all configurations, the sweep on a share."""
    codes = sorted(BOOK.rules, key=lambda code: (BOOK.rules[code].schema, code))  # rules of a schema share formulas
    mine = codes[part * len(codes) // PARTS : (part + 1) * len(codes) // PARTS]
    outcome = check_book(BOOK, 300, codes=mine, most=most)
    sound(outcome)
    assert outcome.configurations >= sum(min(size(code), most // 16) for code in mine)


def size(code: str) -> int:
    rule = BOOK.rules[code]
    return prod(len(BOOK.domain(rule.schema, fact)) for fact in rule.facts)


@pytest.mark.sweep
def test_instances_are_legal_rows_can_be_read_and_words_read_back():
    sound(check_whole(BOOK, 300))


def test_all_configurations_of_nearly_all_rules_can_be_compared():
    sizes = [size(code) for code in BOOK.rules]
    assert sum(one > LARGEST_LATTICE for one in sizes) <= 10  # of numbers of bytes: a part of them is compared
    assert sum(sizes) > 1_000_000


def test_every_rule_is_shown_as_its_file_has_it():
    book = tileproof.load_rules()
    for code, item in book.documented().items():
        assert item.sources, code
        shown = text_of(item)
        assert f"{code} {item.name}" in shown
        assert shown.rstrip().endswith("}")
