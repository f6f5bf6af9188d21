"""The conflicts that a picture of a swizzle counts, by a byte-by-byte count and by the prover."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from drawing.drawn import draw, says
from tileproof.base.verdict import Proved
from tileproof.drawing.banks import shared_banks
from tileproof.drawing.swizzles import conflict, picture_of
from tileproof.layout import crd2idx
from tileproof.prove import questions
from tileproof.prove.claim import decide
from tileproof.rulebase.load import default_files, load
from tileproof.syntax.layouts import layout as parsed

BANKS = shared_banks(load(default_files()))
LAYOUTS = [
    "S<3,3,3> o 0 o (8,64):(64,1)",
    "S<2,3,3> o 0 o (16,32):(32,1)",
    "S<1,3,3> o 0 o (32,16):(16,1)",
    "S<2,3,3> o 0 o (8,64):(64,1)",
    "S<3,3,3> o 0 o (16,128):(136,1)",
]


def counted(grid: list[list[int]], width: int, lanes: int) -> int:
    """The worst conflict along the rows of a grid: a word is as often in its bank's list as it has a first lane."""
    order = [byte for row in grid for byte in row]
    worst = 1
    for start in range(0, len(order), lanes):
        words = {(first + byte) // 4 for first in order[start : start + lanes] for byte in range(width)}
        worst = max(worst, *Counter(word % 32 for word in words).values())
    return worst


def test_the_banks_are_those_of_the_rules():
    assert (BANKS.count, BANKS.width, BANKS.phase(16), BANKS.phase(4), BANKS.phase(12)) == (32, 4, 8, 32, None)


@pytest.mark.parametrize("vector", [1, 2, 4, 8])
@pytest.mark.parametrize("text", LAYOUTS)
def test_conflicts_are_those_of_a_count_by_bytes(text: str, vector: int):
    swizzled = parsed(text)
    rows, columns = swizzled.outer.shape
    width, lanes = 2 * vector, BANKS.phase(2 * vector)
    for layout in (swizzled, swizzled.outer):
        grid = [[2 * crd2idx((r, c), layout) for c in range(0, columns, vector)] for r in range(rows)]
        turned = [list(column) for column in zip(*grid, strict=True)]
        found = [conflict(tuple(map(tuple, grid)), width, BANKS, down).degree for down in (False, True)]
        assert found == [counted(grid, width, lanes), counted(turned, width, lanes)]


@pytest.mark.parametrize("text", LAYOUTS)
def test_a_column_of_16_bytes_is_what_the_prover_says_of_ldmatrix(text: str):
    drawn = picture_of(parsed(text), 16, BANKS)
    found = re.search(r"down a column: .*, (\d+|no)\S* conflict after", "\n".join(drawn.notes))
    verdict = decide(questions.conflict_free(parsed(text), "ldmatrix", 16, mode=1), 5.0)
    degree = verdict.values["degree"] if isinstance(verdict, Proved) else verdict.counterexample["degree"]
    assert ("1" if found[1] == "no" else found[1]) == str(degree)


def test_every_vector_is_there_before_and_after():
    said = says(draw("swizzle", "S<3,4,3>", "--format", "svg"))
    assert len(said) == 2 * 64
    before, after = ([int(re.search(r"bytes (\d+)", one)[1]) for one in half] for half in (said[:64], said[64:]))
    assert before == list(range(0, 1024, 16))
    assert after == [byte ^ ((byte >> 3) & 0x70) for byte in before]


def test_a_swizzled_layout_of_columns_has_its_vectors_down():
    drawn = picture_of(parsed("S<3,3,3> o 0 o (64,8):(1,64)"), 16, BANKS)
    assert drawn.panels[0].rows == tuple(map(str, range(0, 64, 8)))
    assert "lanes along a row: 8-way conflict before, no conflict after" in drawn.notes
