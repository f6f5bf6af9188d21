"""Which thread holds which element: the rule files against the PTX ISA's own formulas, against arithmetic and ptxas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product
from random import Random

import isa_fragments
import numpy as np
import ptxas
import pytest

from conftest import some
from tileproof.base.verdict import Proved, Refuted
from tileproof.checking.instruction import context, legal
from tileproof.evaluate.fragments import FragmentOperand, Fragments
from tileproof.layout import Layout, crd2idx, size
from tileproof.layout.basics import modes
from tileproof.prove import fragments as prove
from tileproof.prove.ask import BadQuestion
from tileproof.prove.fragment_questions import find
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.load import default_files, load

BOOK: Rulebook = load(default_files())

# ---------------------------------------------------------------------------------- every instruction that is legal

INPUTS = ("f16", "bf16", "tf32", "f64", "s8", "u8", "s4", "u4", "b1", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
SUMS = ("f16", "f32", "f64", "s32")


def target_of(opcode: str) -> str:
    """A target of the family that has an instruction."""
    return "sm_120a" if "kind::" in opcode else "sm_90a"


def operand_lists(found: Fragments, opcode: str) -> str:
    """Operands of an instruction, with as many registers as the fragments say."""
    bits = int(found.facts.get("bits", 16))  # type: ignore[arg-type]
    wide = "f64" in opcode
    sums = opcode.rpartition(".")[2] if ".ue" not in opcode else "f32"
    letter = {"f32": "f", "f64": "d"}.get(sums, "r")
    sum_bits = {"f16": 16, "f64": 64}.get(sums, 32)

    def registers(role: str, element: int, name: str, start: int) -> str:
        count = prove.per_thread(found.operands[role]) * element // (64 if wide else 32)
        return "{" + ",".join(f"{name}{start + i}" for i in range(count)) + "}"

    inputs = "d" if wide else "r"
    lists = [
        registers("C", sum_bits, letter, 40),
        registers("A", bits, inputs, 0),
        registers("B", bits, inputs, 8),
        registers("C", sum_bits, letter, 60),
    ]
    if ".sp" in opcode:
        lists += ["r30", "0"]
    if "block_scale" in opcode:
        lists += ["r31", "{0,0}", "r32", "{0,0}"]
    return ", ".join(lists)


def dense() -> Iterator[str]:
    """Opcodes of mma.sync, legal and not."""
    shapes = [f"m{m}n8k{k}" for m in (8, 16) for k in (4, 8, 16, 32, 64, 128, 256)]
    pairs = [(a, b) for a, b in product(INPUTS, INPUTS) if a == b or {a, b} <= {"s8", "u8"} or {a, b} <= {"s4", "u4"}]
    pairs += [("e4m3", "e5m2"), ("e2m1", "e4m3"), ("e3m2", "e2m3")]
    for shape, (a, b), d in product(shapes, pairs, SUMS):
        kinds = ("", ".kind::f8f6f4") if a[0] == "e" else ("",)
        tails = (".and.popc",) if a == "b1" else ("",)
        layouts = ("row.col", "col.row", "row.row", "col.col") if shape == "m8n8k4" and a == "f16" else ("row.col",)
        for kind, tail, layout in product(kinds, tails, layouts):
            yield f"mma.sync.aligned{kind}.{shape}.{layout}.{d}.{a}.{b}.{d}{tail}"


def sparse() -> Iterator[str]:
    shapes = [f"m16n8k{k}" for k in (8, 16, 32, 64, 128)]
    for shape, a, d in product(shapes, INPUTS, SUMS):
        for kind in ("", ".kind::f8f6f4") if a[0] == "e" else ("",):
            yield f"mma.sp::ordered_metadata.sync.aligned{kind}.{shape}.row.col.{d}.{a}.{a}.{d}"


def block_scaled() -> Iterator[str]:
    for kind, vec, stype in (
        ("mxf8f6f4", "", "ue8m0"),
        ("mxf8f6f4", ".scale_vec::1X", "ue8m0"),
        ("mxf4", ".scale_vec::2X", "ue8m0"),
        ("mxf4nvf4", ".scale_vec::2X", "ue8m0"),
        ("mxf4nvf4", ".scale_vec::4X", "ue4m3"),
    ):
        for k, a, sp in product((32, 64, 128), ("e4m3", "e3m2", "e2m1"), ("", ".sp::ordered_metadata")):
            yield f"mma{sp}.sync.aligned.kind::{kind}.block_scale{vec}.m16n8k{k}.row.col.f32.{a}.{a}.f32.{stype}"


def legal_with_fragments(opcodes: Iterator[str]) -> Iterator[tuple[str, str, Fragments]]:
    """The opcodes that are legal with the registers that their fragments take."""
    for opcode in opcodes:
        try:
            found = find(BOOK, opcode, "ptx", {}).fragments
        except BadQuestion:
            continue
        if not {"A", "B", "C"} <= found.operands.keys():
            continue
        instruction = f"{opcode} {operand_lists(found, opcode)};"
        if legal(BOOK.under("ptx"), instruction, context(BOOK, target_of(opcode))).legal:
            yield opcode, instruction, found


@pytest.fixture(scope="module")
def instructions() -> list[tuple[str, str, Fragments]]:
    return list(legal_with_fragments(iter([*dense(), *sparse(), *block_scaled()])))


def test_every_fragment_of_a_warp_covers_its_tile_and_makes_a_gemm(instructions: list[tuple[str, str, Fragments]]):
    for opcode, _, found in instructions:
        verdict = prove.gemm(found)
        assert isinstance(verdict, Proved), (opcode, verdict)
        for role, operand in found.operands.items():
            assert isinstance(prove.covers(operand), Proved), (opcode, role)
    assert len(instructions) > 95


def test_every_legal_shape_and_type_has_its_fragments(instructions: list[tuple[str, str, Fragments]]):
    """Every row of the tables of dense, sparse and block-scaled MMA, but the undocumented forms of m8n8k4."""
    found = {family_shape_and_type(opcode) for opcode, _, _ in instructions}
    wanted = set()
    for (a, *_), row in BOOK.tables["mma", "ptx"].rows.items():
        for m, column in ((8, "k8"), (16, "k16")):
            wanted |= {("mma", m, k, a) for k in cell("mma", row, column)}
    for (a, *_), row in BOOK.tables["mma_sp", "ptx"].rows.items():
        wanted |= {("mma.sp", 16, k, a) for k in cell("mma_sp", row, "k")}
    wanted |= {("block_scale", 16, k, a) for k, a in product((32, 64), (".e4m3", ".e3m2", ".e2m1"))}
    wanted.add(("block_scale", 16, 128, ".e2m1"))
    assert wanted - found == {("mma", 8, 4, ".bf16"), ("mma", 8, 4, ".tf32")}


def cell(table: str, row: tuple[object, ...], column: str) -> frozenset[int]:
    index = BOOK.tables[table, "ptx"].column(column)
    assert index is not None
    return row[index]  # type: ignore[return-value]


def family_shape_and_type(opcode: str) -> tuple[str, int, int, str]:
    found = re.search(r"\.m(\d+)n8k(\d+)\.\w+\.\w+\.\w+\.(\w+)\.", opcode)
    assert found is not None
    family = "block_scale" if "block_scale" in opcode else "mma.sp" if ".sp" in opcode else "mma"
    return family, int(found[1]), int(found[2]), f".{found[3]}"


@ptxas.needs_ptxas
def test_ptxas_takes_as_many_registers_as_the_fragments_have(instructions: list[tuple[str, str, Fragments]]):
    for target, ptx in (("sm_90a", "8.7"), ("sm_120a", "9.1")):
        texts = [text for opcode, text, _ in instructions if target_of(opcode) == target]
        assert [t for t, bad in zip(texts, ptxas.rejected(texts, target, ptx), strict=True) if bad] == []


# ------------------------------------------------------------ the formulas that the PTX ISA prints for m8n8k4 of f16

Formula = Callable[[int, int], tuple[int, ...]]  # (lane, i) to the coordinate

# Volta: row = lane % 4, + 4 in the upper half of the warp; the quad pair is the matrix. What other shapes have is in
# tests/common/isa_fragments.py, one formula for all.
QUAD_PAIRS: list[tuple[str, str, Formula]] = [
    ("m8n8k4.row.col.f16.f16.f16.f16", "A", lambda t, i: (t % 4 + t // 16 * 4, i, t // 4 % 4)),
    ("m8n8k4.col.col.f16.f16.f16.f16", "A", lambda t, i: (i % 4 + t // 16 * 4, t % 4, t // 4 % 4)),
    ("m8n8k4.row.col.f16.f16.f16.f16", "B", lambda t, i: (t % 4 + t // 16 * 4, i, t // 4 % 4)),
    ("m8n8k4.row.row.f16.f16.f16.f16", "B", lambda t, i: (i + t // 16 * 4, t % 4, t // 4 % 4)),
    ("m8n8k4.row.col.f16.f16.f16.f16", "C", lambda t, i: (t % 4 + t // 16 * 4, i, t // 4 % 4)),
    ("m8n8k4.row.col.f32.f16.f16.f32", "C", lambda t, i: (
        (t & 1) + (i & 2) + t // 16 * 4, (i & 4) + (t & 2) + (i & 1), t // 4 % 4)),
]  # fmt: skip


def coordinate(operand: FragmentOperand, thread: int, value: int) -> tuple[int, ...]:
    number = crd2idx((thread, value), operand.flat)
    assert isinstance(number, int)
    found = []
    for extent in operand.tile[:-1]:
        number, digit = divmod(number, extent)
        found.append(digit)
    return (*found, number)


@pytest.mark.parametrize(
    ("opcode", "role", "formula"), QUAD_PAIRS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_fragments_of_quad_pairs_are_those_that_the_ptx_isa_prints(opcode: str, role: str, formula: Formula):
    operand = find(BOOK, f"mma.sync.aligned.{opcode}", "ptx", {}).fragments.operands[role]
    threads, values = modes(operand.layout)
    for thread, value in product(range(size(threads)), range(size(values))):  # type: ignore[arg-type]
        assert coordinate(operand, thread, value) == formula(thread, value)


# -------------------------------------------------------------------------------------- the sum that comes out


def held(operand: FragmentOperand, matrix: np.ndarray) -> np.ndarray:
    """What each thread has in its registers, of a matrix with the modes of the operand's coordinate."""
    threads, values = (size(mode) for mode in modes(operand.layout))
    registers = np.empty((threads, values), dtype=matrix.dtype)  # type: ignore[arg-type]
    for thread, value in np.ndindex(registers.shape):
        registers[thread, value] = matrix[coordinate(operand, thread, value)]
    return registers


def gathered(operand: FragmentOperand, registers: np.ndarray) -> np.ndarray:
    """The matrix that registers make up."""
    matrix = np.full(operand.tile, -(10**9), dtype=registers.dtype)
    for thread, value in np.ndindex(registers.shape):
        matrix[coordinate(operand, thread, value)] = registers[thread, value]
    return matrix


WARP_WIDE = sorted({one.opcode for one in isa_fragments.held() if one.opcode.startswith("mma.sync")})


@pytest.mark.parametrize("opcode", some([*WARP_WIDE, *sorted({f"mma.sync.aligned.{one}" for one, _, _ in QUAD_PAIRS})]))
def test_a_simulated_mma_computes_the_product(opcode: str):
    operands = find(BOOK, opcode, "ptx", {}).fragments.operands
    a, b, c = (operands[role] for role in "ABC")
    random = np.random.default_rng(1)
    left, right, total = (random.integers(-9, 9, operand.tile) for operand in (a, b, c))
    registers = [held(a, left), held(b, right), held(c, total)]
    found = [gathered(operand, held_) for operand, held_ in zip((a, b, c), registers, strict=True)]
    one, other, addend = (matrix.reshape(*matrix.shape[:2], -1) for matrix in found)
    result = np.stack([one[..., q] @ other[..., q].T + addend[..., q] for q in range(one.shape[2])], axis=-1)
    expected = np.einsum("mkq,nkq->mnq", left.reshape(one.shape), right.reshape(other.shape))
    expected = expected + total.reshape(addend.shape)
    assert np.array_equal(gathered(c, held(c, result.reshape(c.tile))).reshape(expected.shape), expected)


SPARSE = [
    ("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4),
    ("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", 4),
    ("mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 4),
    ("mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32", 4),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32", 4),
    ("mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 2),
    ("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", 2),
    ("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16", 4),
    ("wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3", 4),
    ("wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32", 2),
]


@pytest.mark.parametrize(("opcode", "group"), some(SPARSE))
def test_a_simulated_sparse_mma_finds_the_kept_elements_by_the_metadata(opcode: str, group: int):
    operands = find(BOOK, opcode, "ptx", {}).fragments.operands
    a, b, e = operands["A"], operands["B"], operands["E"]
    random = Random(opcode)
    rows, kept = a.tile
    dense_columns = b.tile[1]
    per_group = group // 2
    whole = np.zeros((rows, dense_columns), dtype=int)
    places = np.zeros((rows, kept), dtype=int)
    values = np.zeros((rows, kept), dtype=int)
    for row in range(rows):
        for at in range(dense_columns // group):
            chosen = sorted(random.sample(range(group), per_group))
            for j, place in enumerate(chosen):
                values[row, at * per_group + j] = whole[row, at * group + place] = random.randint(1, 9)
                places[row, at * per_group + j] = place
    selectors = e.tile[2] if len(e.tile) > 2 else 1
    for selector in range(selectors):
        index = np.full(e.tile, -1)
        index.reshape(rows, kept, -1)[..., selector] = places
        metadata = held(e, index)  # the other lanes of a quad hold what other selectors name
        if selectors > 1:
            lanes = {thread for thread in range(len(metadata)) if (metadata[thread] >= 0).all()}
            assert {lane % 4 * selectors // 4 for lane in lanes} == {selector}  # the lanes of each quad that it names
            assert len(lanes) == len(metadata) // selectors
        found = gathered(e, metadata).reshape(rows, kept, -1)[..., selector]
        compressed = gathered(a, held(a, values))
        rebuilt = np.zeros_like(whole)
        for row, column in np.ndindex(rows, kept):
            rebuilt[row, column // per_group * group + found[row, column]] = compressed[row, column]
        assert np.array_equal(rebuilt, whole)


# ------------------------------------------------------------------------------------------- CUTLASS's metadata

# CUTLASS, mma_traits_sm90_gmma_sparse.hpp, mma_traits_sm120_sparse.hpp: (thread, element of the whole A) to the index
# in the whole tile; threads of another selector name the same (step 0).
_OF_HOPPER, _ORDERED = "wgmma.mma_async.sp.sync.aligned.", "mma.sp::ordered_metadata.sync.aligned.kind::"
_MXF4 = "mxf4.block_scale.scale_vec::2X.m16n8k128.row.col.f32.e2m1.e2m1.f32.ue8m0"
CUTLASS_METADATA = [
    (f"{_OF_HOPPER}m64n8k64.f32.e4m3.e4m3", Layout(((2, 2, 8, 4), 32), ((8, 2048, 1, 16), 64)), 2),
    (f"{_OF_HOPPER}m64n8k32.f32.f16.f16", Layout(((2, 2, 8, 4), (16, 2)), ((1024, 0, 1, 16), (64, 8))), 2),
    (f"{_OF_HOPPER}m64n8k16.f32.tf32.tf32", Layout(((2, 2, 8, 4), (8, 2)), ((512, 0, 1, 16), (64, 8))), 2),
    (f"{_ORDERED}f8f6f4.m16n8k64.row.col.f32.e4m3.e4m3.f32", Layout(((2, 2, 8), 32), ((8, 512, 1), 16)), 2),
    (f"{_ORDERED}{_MXF4}", Layout(((2, 2, 8), 64), ((8, 1024, 1), 16)), 4),
]


@pytest.mark.parametrize(("opcode", "theirs", "unit"), CUTLASS_METADATA)
def test_metadata_are_where_cutlass_has_them(opcode: str, theirs: Layout, unit: int):
    found = find(BOOK, opcode, "ptx", {}).fragments
    e, (m, _, _) = found.operands["E"], found.shape()
    threads, values = (size(mode) for mode in modes(e.layout))
    for thread, value in product(range(threads), range(values)):  # type: ignore[arg-type]
        number = crd2idx((thread, value * unit), theirs)
        assert isinstance(number, int)
        row, column = number % m, number // m
        assert coordinate(e, thread, value)[:2] == (row, column // unit)


# ----------------------------------------------------------------------------------------------------- warpgroups


def test_a_wgmma_accumulator_has_64_n_over_128_elements_and_its_registers_LAY06():
    for n, (d, per_register) in product(range(8, 257, 8), (("f32", 1), ("f16", 2))):
        opcode = f"wgmma.mma_async.sync.aligned.m64n{n}k16.{d}.f16.f16"
        found = find(BOOK, opcode, "ptx", {}).fragments
        c = found.operands["C"]
        assert prove.per_thread(c) == 64 * n // 128
        assert isinstance(prove.covers(c), Proved)
        assert isinstance(prove.covers(found.operands["A"]), Proved)
        letter = "f" if d == "f32" else "r"
        for count in (prove.per_thread(c) // per_register, prove.per_thread(c) // per_register + 1):
            registers = ",".join(f"{letter}{i}" for i in range(count))
            text = f"{opcode} {{{registers}}},l0,l1,p0,1,1,0,0;"
            verdict = legal(BOOK.under("ptx"), text, context(BOOK, "sm_90a"))
            assert verdict.legal is (count == prove.per_thread(c) // per_register), text


def test_register_a_of_wgmma_is_the_a_of_mma_in_each_of_four_warps():
    for shape, name in (("m64n8k16.f32.f16.f16", "m16n8k16.row.col.f32.f16.f16.f32"),
                        ("m64n8k32.s32.s8.s8", "m16n8k32.row.col.s32.s8.s8.s32"),
                        ("m64n8k256.s32.b1.b1.and.popc", "m16n8k256.row.col.s32.b1.b1.s32.and.popc")):  # fmt: skip
        group = find(BOOK, f"wgmma.mma_async.sync.aligned.{shape}", "ptx", {}).fragments.operands["A"]
        warp = find(BOOK, f"mma.sync.aligned.{name}", "ptx", {}).fragments.operands["A"]
        for thread, value in product(range(128), range(prove.per_thread(warp))):
            row, column = coordinate(warp, thread % 32, value)
            assert coordinate(group, thread, value) == (row + thread // 32 * 16, column)


# ----------------------------------------------------------------------------------------- tensor memory and scales

DATA_PATHS = [  # M, CTAs, sparse, ws, lanes of one CTA, columns of N = 64
    (256, 2, "no", "no", set(range(128)), 64),
    (128, 2, "no", "no", set(range(128)), 32),
    (128, 2, "yes", "no", {lane for lane in range(128) if lane % 32 < 16}, 64),
    (128, 1, "no", "no", set(range(128)), 64),
    (64, 1, "no", "yes", set(range(128)), 32),
    (64, 1, "no", "no", {lane for lane in range(128) if lane % 32 < 16}, 64),
    (32, 1, "no", "yes", set(range(128)), 16),
]


@pytest.mark.parametrize(("m", "ctas", "sparse_a", "ws", "lanes", "columns"), DATA_PATHS)
def test_an_accumulator_lies_in_its_data_paths(
    m: int, ctas: int, sparse_a: str, ws: str, lanes: set[int], columns: int
):
    given = {"M": m, "N": 64, "ctas": ctas, "sparse": sparse_a, "ws": ws}
    operand = find(BOOK, "tcgen05.accumulator", "ptx", given).fragments.operands["T"]
    assert isinstance(prove.covers(operand), Proved)
    places = [coordinate(operand, row, column) for row, column in product(range(m), range(64))]
    assert len(set(places)) == m * 64
    assert {place[0] for place in places} == lanes
    assert {place[1] for place in places} == set(range(columns))
    assert {place[2] for place in places if len(place) > 2} == (set(range(2)) if ctas == 2 else set())


@pytest.mark.parametrize(
    ("shape", "lanes", "bits"), [("32x32b", 32, 32), ("16x64b", 16, 64), ("16x128b", 16, 128), ("16x256b", 16, 256)]
)
@pytest.mark.parametrize("num", [1, 2, 4])
def test_a_tensor_memory_access_reaches_each_cell_of_its_box_once(shape: str, lanes: int, bits: int, num: int):
    for opcode, role in (("tcgen05.ld", "D"), ("tcgen05.st", "S")):
        found = find(BOOK, f"{opcode}.sync.aligned.{shape}.x{num}.b32", "ptx", {}).fragments.operands[role]
        verdict = prove.covers(found)
        assert isinstance(verdict, Proved)
        assert verdict.values["elements"] == lanes * bits // 32 * num
        # lane l reads row l (32x32b), else rows l / 4 or as the figures of the PTX ISA have it: registers of one lane
        # lie in at most two rows, eight apart
        columns = bits // 32 * num
        for lane in range(32):
            rows = {int(crd2idx((lane, value), found.flat)) // columns for value in range(prove.per_thread(found))}  # type: ignore[arg-type]
            assert rows == {lane} if lanes == 32 else rows <= {min(rows), min(rows) + 8}


@pytest.mark.parametrize(
    ("m", "ctas", "lanes", "copies"),
    [(256, 2, 128, 1), (128, 2, 128, 2), (128, 1, 128, 1), (64, 1, 64, 1)],
)
def test_a_in_tensor_memory_lies_in_its_lanes(m: int, ctas: int, lanes: int, copies: int):
    """A row is a lane, as that of the accumulator is; a pair with 64 rows each holds them in both halves."""
    given = {"M": m, "K": 16, "ctas": ctas}
    operand = find(BOOK, "tcgen05.matrix_a", "ptx", given).fragments.operands["T"]
    assert isinstance(prove.covers(operand), Proved)
    rows = m * copies
    places = [coordinate(operand, row, column) for row, column in product(range(rows), range(16))]
    assert len({place[0] for place in places}) == lanes
    assert all(coordinate(operand, row, k)[1] == k for row, k in product(range(rows), range(16)))
    if copies == 1:
        same = {"M": m, "N": 16, "ctas": ctas, "sparse": "no", "ws": "no"}
        accumulator = find(BOOK, "tcgen05.accumulator", "ptx", same).fragments.operands["T"]
        assert places == [coordinate(accumulator, row, column) for row, column in product(range(rows), range(16))]
    else:
        for row in range(64):
            assert coordinate(operand, row + 64, 0)[0] == coordinate(operand, row, 0)[0] + 64


@pytest.mark.parametrize(
    # CUTLASS's atoms: logical elements of K in a row, the layout to (lane + 128 * place), places of an element.
    ("k", "bits", "theirs", "kept"),
    [
        (16, 32, Layout(((8, 2, 8), (8, 2)), ((1, 1024, 16), (128, 8))), 1),
        (32, 16, Layout(((8, 2, 8), (16, 2)), ((1, 2048, 16), (128, 8))), 2),
        (64, 8, Layout((128, 64), (1, 128)), 2),
        (128, 4, Layout((128, 128), (1, 128)), 4),
    ],
)
def test_metadata_in_tensor_memory_are_where_cutlass_has_them(k: int, bits: int, theirs: Layout, kept: int):
    operand = find(BOOK, "tcgen05.metadata", "ptx", {"K": k, "bits": bits}).fragments.operands["T"]
    assert isinstance(prove.covers(operand), Proved)
    for m, number in product(range(128), range(k // kept)):
        place = crd2idx((m, number * kept), theirs)
        assert isinstance(place, int)
        assert coordinate(operand, m, number) == (place % 128, place // 128 // kept)


@pytest.mark.parametrize(
    ("shape", "lanes", "bits"),
    [
        ("32x32b", 32, 32),
        pytest.param("16x128b", 16, 128, marks=pytest.mark.sweep),
        pytest.param("16x256b", 16, 256, marks=pytest.mark.sweep),
    ],
)
def test_a_packed_access_takes_the_lower_half_of_every_column(shape: str, lanes: int, bits: int):
    for opcode, modifier in (("ld", "pack"), ("st", "unpack")):
        packed = find(BOOK, f"tcgen05.{opcode}.sync.aligned.{shape}.x2.{modifier}::16b.b32", "ptx", {}).fragments
        plain = find(BOOK, f"tcgen05.{opcode}.sync.aligned.{shape}.x2.b32", "ptx", {}).fragments
        for role in "SD":
            assert isinstance(prove.covers(packed.operands[role]), Proved)
            assert size(packed.operands[role].flat) == 2 * size(plain.operands[role].flat)  # type: ignore[operator]
        places = [crd2idx(i, packed.layouts["T"]) for i in range(size(packed.layouts["T"]))]  # type: ignore[arg-type]
        halves = {place % (2 * 65536) for place in places if isinstance(place, int)}
        assert halves == {2 * column for column in range(4 * bits // 32)}


def test_scale_factors_in_shared_memory_reach_tensor_memory_by_the_copy_that_spreads_them():
    """tcgen05.cp.32x128b.warpx4: row i of 16 bytes goes to lane i, and so do the rows of the block."""
    found = find(BOOK, "tcgen05.scale_factors", "ptx", {}).fragments.operands
    assert isinstance(prove.covers(found["S"]), Proved)
    for row, factor in product(range(128), range(4)):
        byte = crd2idx((row, factor), found["S"].flat)
        place = crd2idx((row, factor), found["T"].flat)
        assert isinstance(byte, int)
        assert isinstance(place, int)
        assert (byte // 16, byte % 16) == (place // 262144, place % 262144)


def test_scale_factors_of_several_blocks_follow_each_other_along_k():
    found = find(BOOK, "tcgen05.scale_factors", "ptx", {"MN": 256, "SF": 16}).fragments.operands["S"]
    assert isinstance(prove.covers(found), Proved)
    assert crd2idx((0, 4), found.flat) == 512
    assert crd2idx((128, 0), found.flat) == 2048
    assert crd2idx((33, 1), found.flat) == 21


# --------------------------------------------------------------------------------------------- what is not so


def wrong(operand: FragmentOperand, layout: Layout) -> Refuted:
    verdict = prove.agrees(layout, operand)
    assert isinstance(verdict, Refuted)
    return verdict


def test_bug_14_a_wrong_accumulator_layout_at_n_8_is_refuted():
    c = find(BOOK, "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "ptx", {}).fragments.operands["C"]
    swapped = wrong(c, Layout(((4, 8, 4), (2, 2)), ((128, 1, 16), (8, 64))))
    assert swapped.counterexample == {"thread": 0, "value": 1, "given": (8, 0), "true": (0, 1)}
    twice = wrong(c, Layout(((4, 8, 4), (2, 2, 2)), ((128, 1, 16), (64, 8, 512))))
    assert twice.counterexample == {"given_values": 8, "true_values": 4}
    assert isinstance(prove.agrees(Layout(((4, 8, 4), (2, 2, 1)), ((128, 1, 16), (64, 8, 512))), c), Proved)
    legal_k32 = "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8"
    assert isinstance(prove.gemm(find(BOOK, legal_k32, "ptx", {}).fragments), Proved)


def test_bug_33_a_sparse_metadata_layout_that_is_no_bijection_is_refuted():
    e = find(BOOK, "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "ptx", {}).fragments.operands["E"]
    broken = Layout(((2, 2, 8), (8, 2)), ((128, 128, 1), (16, 8)))  # both selectors at the same place
    verdict = prove.covers(FragmentOperand("E", broken, e.tile))
    assert isinstance(verdict, Refuted)
    assert verdict.counterexample["thread"] == 2
    assert verdict.counterexample["other_thread"] == 1
    assert wrong(e, broken).counterexample == {"thread": 2, "value": 0, "given": (0, 8, 0), "true": (0, 0, 1)}
    repaired = Layout(((2, 2, 8), (8, 2)), ((128, 256, 1), (16, 8)))
    assert isinstance(prove.covers(FragmentOperand("E", repaired, e.tile)), Proved)
    assert isinstance(prove.agrees(repaired, e), Proved)


def test_bug_31_a_transposed_block_of_scale_factors_is_refuted():
    s = find(BOOK, "tcgen05.scale_factors", "ptx", {}).fragments.operands["S"]
    row_major = Layout((128, 4), (4, 1))  # a reshape of 128 x 4 bytes, as if rows were stored one after the other
    assert wrong(s, row_major).counterexample == {"thread": 1, "value": 0, "given": (4,), "true": (16,)}
    assert isinstance(prove.agrees(Layout(((32, 4), 4), ((16, 4), 1)), s), Proved)


def test_a_hole_and_an_overlap_are_told_by_their_coordinates():
    twice = prove.covers(FragmentOperand("A", Layout((4, 2), (1, 3)), (4, 2)))
    assert isinstance(twice, Refuted)
    assert twice.counterexample == {"m": 3, "k": 0, "thread": 3, "value": 0, "other_thread": 0, "other_value": 1}
    beyond = prove.covers(FragmentOperand("A", Layout((4, 2), (1, 8)), (4, 2)))
    assert isinstance(beyond, Refuted)
    assert beyond.counterexample["k"] == 2
    hole = prove.covers(FragmentOperand("A", Layout((4, 1), (1, 0)), (4, 2)))
    assert isinstance(hole, Refuted)
    assert hole.counterexample == {"m": 0, "k": 1}


def test_operands_that_form_a_gemm_LAY07():
    a, b, d = Layout((1, 2, 4), (0, 1, 2)), Layout((1, 3, 4), (0, 1, 3)), Layout((4, 2, 3), (1, 4, 8))
    assert isinstance(prove.composes(a, b, d), Proved)
    for wrong_a, wrong_b, wrong_d, mode in (
        (Layout((1, 3, 4), (0, 1, 3)), b, d, "M"),
        (a, Layout((1, 2, 4), (0, 1, 2)), d, "N"),
        (a, Layout((1, 3, 2), (0, 1, 3)), d, "K"),
    ):
        verdict = prove.composes(wrong_a, wrong_b, wrong_d)
        assert isinstance(verdict, Refuted)
        assert verdict.counterexample["mode"] == mode
        assert verdict.message.startswith("layoutA, layoutB and layoutD fail to form a gemm.")


@pytest.mark.sweep
def test_numpy_enumeration_agrees_with_every_static_verdict(instructions: list[tuple[str, str, Fragments]]):
    random = Random(9)
    verdicts = {Proved: 0, Refuted: 0}
    for _, _, found in instructions:
        for role in ("A", "B", "C"):
            operand = found.operands[role]
            if len(operand.tile) > 2:
                continue
            strides = list(flat(operand.flat.stride))
            if random.random() < 0.5:  # break one stride
                at = random.randrange(len(strides))
                strides[at] = random.choice([1, 2, 3, 8, 16, 24, 64])
            layout = Layout(operand.flat.shape, rebuilt(operand.flat.stride, iter(strides)))
            if 0 in strides:
                continue
            numbers = np.array([crd2idx(i, layout) for i in range(size(layout))])  # type: ignore[arg-type]
            bijective = np.array_equal(np.sort(numbers), np.arange(operand.tile[0] * operand.tile[1]))
            verdict = prove.covers(FragmentOperand(role, layout, operand.tile))
            assert isinstance(verdict, Proved) is bool(bijective), layout
            verdicts[type(verdict)] += 1  # type: ignore[index]
    assert min(verdicts.values()) > 40


def flat(value: object) -> Iterator[int]:
    if isinstance(value, tuple):
        for item in value:
            yield from flat(item)
    else:
        assert isinstance(value, int)
        yield value


def rebuilt(value: object, leaves: Iterator[int]) -> tuple:  # type: ignore[type-arg]
    return tuple(rebuilt(item, leaves) for item in value) if isinstance(value, tuple) else next(leaves)  # type: ignore[return-value]
