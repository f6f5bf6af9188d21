"""Fragments are as the formulas of the PTX ISA have them."""

from __future__ import annotations

from isa_fragments import held

from tileproof.rulebase.load import default_files, load

BOOK = load(default_files())


def test_fragments_of_mma_are_those_of_the_isa():
    assert [one for one in held() if not one.as_rules_say(BOOK)] == []
