"""An instruction spelled from facts gives the facts back."""

from __future__ import annotations

import random

import pytest

import tileproof
from conformance.generator import Pool
from tileproof.ptx.lower import lower
from tileproof.ptx.registers import by_letter
from tileproof.ptx.spell import forms_of, spell

BOOK = tileproof.load_rules()
DECLARATIONS = [item for same in BOOK.instructions.values() for item in same]


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=lambda d: ".".join((d.name, *(s[1:] for s in d.selectors))))
def test_spelling_and_lowering_are_inverse(declaration):
    rng = random.Random(declaration.name)
    pool = Pool(BOOK, declaration, rng, 12)
    assert pool.configurations, "no legal instruction was found"
    for facts in pool.configurations:
        for form in forms_of(declaration, facts):
            text = spell(BOOK, declaration, facts, form)
            lowered = lower(BOOK, text, by_letter(BOOK))
            assert not lowered.faults, text
            assert lowered.declaration is declaration
            different = {
                name: (facts[name], value)
                for name, value in lowered.values.items()
                if name in facts and facts[name] != value and name != "ignored"  # no modifier says it
            }
            assert not different, text


def test_the_smallest_instruction_has_no_operands():
    assert all(spell(BOOK, d, BOOK.schemas[d.schema].instance, d.forms[0]).endswith(";") for d in DECLARATIONS)
