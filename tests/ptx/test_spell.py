"""An instruction spelled from facts gives the facts back."""

from __future__ import annotations

import random

import pytest

import tileproof
from conformance.generator import Pool
from conftest import some
from tileproof.ptx.parse_facts import lower
from tileproof.ptx.registers import by_letter
from tileproof.ptx.spell import forms_of, spell

BOOK = tileproof.load_rules()
DECLARATIONS = [item for same in BOOK.instructions.values() for item in same]


@pytest.mark.parametrize("size", [12, pytest.param(40, marks=pytest.mark.sweep)])
@pytest.mark.parametrize(
    "declaration", some(DECLARATIONS), ids=lambda d: ".".join((d.name, *(s[1:] for s in d.selectors)))
)
def test_spelling_and_lowering_are_inverse(declaration, size):
    rng = random.Random(declaration.name)
    pool = Pool(BOOK, declaration, rng, size)
    assert pool.configurations, "no legal instruction was found"
    spelled = 0
    for facts in [configuration.facts for configuration in pool.configurations]:
        for form in forms_of(declaration, facts):
            try:
                text = spell(BOOK, declaration, facts, form)
            except ValueError as unspelled:
                assert "PTX has no modifier" in str(unspelled)
                continue
            spelled += 1
            lowered = lower(BOOK, text, by_letter(BOOK))
            assert not lowered.faults, text
            if lowered.declaration is not declaration:  # of several without selectors the first that fits counts
                assert lowered.declaration in BOOK.instructions[declaration.name]
                continue
            assert lowered.form is not None
            names = [name for clause in declaration.modifiers for name in clause.facts]
            # Two clauses of one enum are filled in their order.
            assert sorted(str(lowered.values[name]) for name in names) == sorted(str(facts[name]) for name in names)
            # Operands of one form cannot show all that others can; what they do show stays.
            again = spell(BOOK, declaration, {**facts, **lowered.values}, lowered.form)
            assert lower(BOOK, again, by_letter(BOOK)).values == lowered.values, text
    assert spelled >= (5 if size == 40 else 1)
