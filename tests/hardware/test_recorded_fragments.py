"""What MMAs and matrix copies of a GPU did with known registers is what the fragments of the rules say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from fragment_inputs import BITS, Mma, mmas, packed
from measure_fragments import MATRICES, ROW, line

from tileproof.evaluate.fragments import FragmentOperand
from tileproof.layout import Layout
from tileproof.layout.basics import flat_modes, modes
from tileproof.prove import fragment_questions
from tileproof.rulebase.load import default_files, load

BOOK = load(default_files())
LINES = Path(__file__).with_name("fragments.txt").read_text(encoding="utf-8").splitlines()[1:]
RECORDED = {text.partition(": ")[0]: text for text in LINES}


def operands(opcode: str) -> Mapping[str, FragmentOperand]:
    """The fragments of an instruction."""
    return fragment_questions.find(BOOK, opcode, "ptx", {}).fragments.operands


def held(operand: FragmentOperand, threads: int, each: int) -> list[int]:
    """The running number of what each thread holds, value by value."""
    by_thread, by_value = (_enumerated(mode) for mode in modes(operand.flat))
    assert len(by_thread) == threads and len(by_value) == each
    return [thread + value for thread in by_thread for value in by_value]


def _enumerated(mode: Layout) -> list[int]:
    found = [0]
    for extent, stride in flat_modes(mode):
        assert isinstance(extent, int) and isinstance(stride, int)
        found = [before + i * stride for i in range(extent) for before in found]
    return found


def product(mma: Mma) -> list[int]:
    """The words of D that follow from the fragments of A, B, D and the metadata."""
    m, n, k = mma.shape
    known = operands(mma.opcode)
    a = [[0] * mma.kept for _ in range(m)]
    for number, value in zip(held(known["A"], mma.threads, m * mma.kept // mma.threads), mma.values("a"), strict=True):
        a[number % m][number // m] = value
    b = mma.values("b")
    if mma.threads == 32:
        columns = [0] * (n * k)
        for number, value in zip(held(known["B"], 32, n * k // 32), b, strict=True):
            columns[number % n * k + number // n] = value
        b = columns
    kept = places(mma, known["E"]) if mma.selector is not None else None
    d = []
    for number in held(known["C"], mma.threads, m * n // mma.threads):
        row, column = number % m, number // m
        where = kept[row] if kept is not None else range(k)
        d.append(sum(x * b[column * k + at] for x, at in zip(a[row], where, strict=True)))
    each = len(d) // mma.threads
    return [word for at in range(0, len(d), each) for word in packed(mma.d, d[at : at + each])]


def places(mma: Mma, operand: FragmentOperand) -> list[list[int]]:
    """The column of K that each kept element of a row of A has, by the metadata."""
    m, kept, bits = mma.shape[0], mma.kept, BITS[mma.a]
    width = 4 if mma.a == "tf32" else 2
    units = 32 // width
    height, columns = operand.tile[0], operand.tile[1]
    assert isinstance(height, int) and isinstance(columns, int)
    words, said = mma.metadata(), dict[tuple[int, int], int]()
    for at, number in enumerate(held(operand, mma.threads, units)):
        rest, row = divmod(number, height)
        selector, column = divmod(rest, columns)
        if selector == mma.selector:
            said[row, column] = words[at // units] >> width * (at % units) & (1 << width) - 1
    if mma.a == "tf32":  # one of two: 0x4 is the first
        return [[2 * c + (said[r, c] == 0xE) for c in range(kept)] for r in range(m)]
    if bits == 4:  # pairs
        return [[c // 4 * 8 + 2 * said[r, c // 2] + c % 2 for c in range(kept)] for r in range(m)]
    return [[c // 2 * 4 + said[r, c] for c in range(kept)] for r in range(m)]


@pytest.mark.parametrize("mma", list(mmas()), ids=lambda mma: mma.name)
def test_mma_multiplies_what_the_fragments_say(mma: Mma):
    assert line(mma.name, product(mma)) == RECORDED[mma.name]


@pytest.mark.parametrize(("count", "transposed"), MATRICES)
def test_matrix_copies_move_what_the_fragments_say(count: int, transposed: str):
    name = f"sync.aligned.m8n8.x{count}{transposed}.shared.b16"
    elements = held(operands(f"ldmatrix.{name}")["D"], 32, 2 * count)
    loaded = [number // 8 * ROW // 2 + number % 8 for number in elements]  # row by row, eight elements each
    assert line(f"ldmatrix.{name}", packed("u16", loaded)) == RECORDED[f"ldmatrix.{name}"]
    memory = [0xFFFF] * 2048
    for value, number in enumerate(held(operands(f"stmatrix.{name}")["S"], 32, 2 * count)):
        memory[number // 8 * ROW // 2 + number % 8] = value
    assert line(f"stmatrix.{name}", packed("u16", memory)) == RECORDED[f"stmatrix.{name}"]
