"""ldmatrix feeds the MMA, stmatrix drains it: proofs against a simulation of shared memory."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tileproof.base.verdict import Proved, Refuted
from tileproof.evaluate.fragments import FragmentOperand
from tileproof.layout import crd2idx
from tileproof.prove import fragment_questions as verb
from tileproof.prove import fragments as prove
from tileproof.prove.ask import BadQuestion
from tileproof.rulebase.load import default_files, load

BOOK = load(default_files())
M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
M16K8 = "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32"
TF32 = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
INT8 = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
INT4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
FP8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16"
LD, LDT = "ldmatrix.sync.aligned.m8n8.{}.shared.b16", "ldmatrix.sync.aligned.m8n8.{}.trans.shared.b16"
LD8 = "ldmatrix.sync.aligned.m16n16.{}.trans.shared.b8"
ST, STT = "stmatrix.sync.aligned.m8n8.{}.shared.b16", "stmatrix.sync.aligned.m8n8.{}.trans.shared.b16"
ST8 = "stmatrix.sync.aligned.m16n8.{}.trans.shared.b8"

# instruction, operand, copy, contiguous mode in shared memory, whether they fit, the bits of an element
CASES = [
    (M16, "A", LD.format("x4"), "k", True, 16),
    (M16, "A", LD.format("x2"), "k", True, 16),
    (M16, "A", LD.format("x1"), "k", True, 16),
    (M16, "B", LD.format("x2"), "k", True, 16),
    (M16, "B", LD.format("x1"), "k", True, 16),
    (M16, "B", LD.format("x4"), "k", False, 16),  # two fragments of B, not one
    (M16, "A", LDT.format("x4"), "mn", True, 16),
    (M16, "B", LDT.format("x2"), "mn", True, 16),
    (M16, "A", LDT.format("x4"), "k", False, 16),
    (M16, "B", LD.format("x2"), "mn", False, 16),
    (M16K8, "A", LD.format("x2"), "k", True, 16),
    (M16K8, "A", LD.format("x4"), "k", False, 16),
    (TF32, "A", LD.format("x4"), "k", True, 32),
    (TF32, "B", LD.format("x2"), "k", True, 32),
    (TF32, "A", LDT.format("x4"), "mn", False, 32),
    (INT8, "A", LD.format("x4"), "k", True, 8),
    (INT8, "B", LD.format("x2"), "k", True, 8),
    (INT8, "A", LDT.format("x4"), "mn", False, 8),  # pairs of bytes are transposed, not bytes
    (INT8, "A", LD8.format("x2"), "mn", True, 8),
    (INT8, "B", LD8.format("x1"), "mn", False, 8),
    (INT4, "A", LD.format("x4"), "k", True, 4),
    (FP8, "A", LD.format("x4"), "k", True, 8),
    (FP8, "A", LD8.format("x1"), "mn", True, 8),
    (WGMMA, "A", LD.format("x4"), "k", True, 16),
    (WGMMA, "A", LDT.format("x4"), "mn", True, 16),
    (WGMMA, "A", LDT.format("x4"), "k", False, 16),
    (WGMMA, "C", ST.format("x4"), "k", True, 16),
    (M16, "C", ST.format("x2"), "k", True, 16),
    (M16, "C", ST.format("x1"), "k", True, 16),
    (M16, "C", STT.format("x2"), "mn", True, 16),
    (M16, "C", ST.format("x2"), "mn", False, 16),
    (M16, "C", ST.format("x4"), "k", False, 16),
]


def parts(opcode: str, role: str, copy: str, bits: int) -> tuple[FragmentOperand, prove.Matrices]:
    operand = verb.find(BOOK, opcode, "ptx", {}).fragments.operands[role]
    return operand, verb._matrices(BOOK, copy, bits if role in "AB" else None)


@pytest.mark.parametrize(("opcode", "role", "copy", "major", "fits", "bits"), CASES)
def test_a_matrix_move_fits_a_fragment(opcode: str, role: str, copy: str, major: str, fits: bool, bits: int):
    answer = verb.fragment(BOOK, opcode, role, copy=copy, major=major, contract="ptx")
    assert isinstance(answer.verdict, Proved if fits else Refuted), answer
    if fits:
        operand, matrices = parts(opcode, role, copy, bits)
        simulate(operand, matrices, copy, major, bits, answer.verdict)


def simulate(
    operand: FragmentOperand, matrices: prove.Matrices, copy: str, major: str, bits: int, verdict: Proved
) -> None:
    """Move the tile between shared memory and registers as the PTX ISA defines it, lane by lane."""
    columns = 128 // bits
    rows = matrices.rows
    values = prove.per_thread(operand)
    tile = np.arange(operand.tile[0] * operand.tile[1]).reshape(operand.tile)
    origins = verdict.values["matrices"]
    assert isinstance(origins, tuple)
    warps = len(origins) // (values * 32 // (rows * columns))
    found = []
    for warp in range(warps):
        registers = []
        for origin in origins[warp * len(origins) // warps : (warp + 1) * len(origins) // warps]:
            assert isinstance(origin, tuple)
            row, column = int(str(origin[0])), int(str(origin[1]))
            turned = tile.T if major == "mn" else tile
            first, second = (column, row) if major == "mn" else (row, column)
            matrix = turned[first : first + rows, second : second + columns]  # what the lanes name, row by row
            assert matrix.shape == (rows, columns)
            registers += registers_of(matrix, copy, bits)
        found.append(np.concatenate(registers, axis=1))
    held = np.concatenate(found)
    assert held.shape == (32 * warps, values)
    for lane, value in product(range(32 * warps), range(values)):
        number = crd2idx((lane, value), operand.flat)
        assert isinstance(number, int)
        assert held[lane, value] == tile[number % operand.tile[0], number // operand.tile[0]]


def registers_of(matrix: np.ndarray, copy: str, bits: int) -> list[np.ndarray]:
    """The registers of all lanes for one matrix, by the definition of ldmatrix and stmatrix.

    Lane l has of an 8 x 8 matrix of 16 bits the elements 2 * (l % 4) and the next of row l / 4, or with .trans those of
    column l / 4. Of a transposed matrix of bytes it has four of column l / 4, then four of column l / 4 + 8.
    """
    lanes = np.arange(32)
    if ".b8" in copy:
        halves = [[matrix[lanes % 4 * 4 + j, lanes // 4 + 8 * half] for j in range(4)] for half in range(2)]
        return [np.stack(half, axis=1) for half in halves]
    if ".trans" in copy:
        return [np.stack([matrix[lanes % 4 * 2 + j, lanes // 4] for j in range(2)], axis=1)]
    count = 32 // bits
    return [np.stack([matrix[lanes // 4, lanes % 4 * count + j] for j in range(count)], axis=1)]


def test_the_wrong_major_is_told_by_the_first_lane_that_gets_another_element():
    answer = verb.fragment(BOOK, M16, "A", copy=LDT.format("x4"), major="k", contract="ptx")
    assert isinstance(answer.verdict, Refuted)
    assert answer.verdict.counterexample == {"lane": 4, "value": 0, "given": (0, 1), "true": (1, 0)}


def test_stores_of_bytes_drain_an_accumulator_of_bytes():
    """stmatrix.m16n8.trans.b8: what a lane stores makes up a matrix of 8 rows of 16 bytes, each of them once."""
    for count, tiles in (("x1", 1), ("x2", 2), ("x4", 4)):
        found = verb.find(BOOK, ST8.format(count), "ptx", {}).fragments.operands["S"]
        verdict = prove.covers(found)
        assert isinstance(verdict, Proved)
        assert verdict.values["elements"] == 128 * tiles


def test_movmatrix_transposes():
    found = verb.find(BOOK, "movmatrix.sync.aligned.m8n8.trans.b16", "ptx", {}).fragments.operands
    matrix = np.arange(64).reshape(8, 8)
    before = np.array([[matrix.flat[crd2idx((lane, v), found["S"].flat)] for v in range(2)] for lane in range(32)])  # type: ignore[index]
    after = np.array([[matrix.flat[crd2idx((lane, v), found["D"].flat)] for v in range(2)] for lane in range(32)])  # type: ignore[index]
    assert np.array_equal(before.reshape(8, 8), matrix)
    assert np.array_equal(after.reshape(8, 8), matrix.T)


def test_what_is_no_matrix_move_is_told_in_one_line():
    for text in (
        "tcgen05.ld.sync.aligned.32x32b.x1.b32",
        "mma.sync.nonsense",
        M16,
        "ldmatrix.sync.aligned.m8n16.x1.shared",
    ):
        with pytest.raises(BadQuestion):
            verb.fragment(BOOK, M16, "A", copy=text, contract="ptx")
