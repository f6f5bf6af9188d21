"""WGMMA's lattice and the contract of MMA atoms, against the reference pages and against ptxas."""

from __future__ import annotations

from itertools import product

import pytest
from ptxas import needs_ptxas, rejected

import tileproof
from tileproof.evaluate.python import Judge
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar

INPUTS = (".f16", ".bf16", ".tf32", ".e4m3", ".e5m2", ".s8", ".u8", ".s4", ".u4", ".b1", ".f64", ".f32")
OUTPUTS = (".f16", ".f32", ".s32", ".bf16", ".f64")
# Page P0, GMMA_K and MN Constraints: canonical K for each element type.
PAGE_K = {".f16": 16, ".bf16": 16, ".tf32": 8, ".e4m3": 32, ".e5m2": 32, ".s8": 32, ".u8": 32, ".s4": 64, ".b1": 256}


@pytest.fixture(scope="module")
def book() -> Rulebook:
    return tileproof.load_rules()


def facts(book: Rulebook, schema: str = "wgmma.mma_async", **changes: Scalar) -> dict[str, Scalar]:
    named = {name.replace("_", ".", 1): value for name, value in changes.items()}
    return {**book.schemas[schema].instance, **named}


def accepts(judge: Judge, values: dict[str, Scalar]) -> bool:
    return not any(rule.severity.value == "error" for rule in judge.violated(values))


def test_the_shape_of_wgmma_MMA08(book: Rulebook):
    """M = 64, N in 8..256 step 8, K = 256 bits of A, A from registers or a descriptor: both contracts."""
    for contract in ("ptx", "tileiras"):
        judge = Judge(book.under(contract), "wgmma.mma_async")
        assert judge.legal(facts(book), "M") == (64,)
        assert judge.legal(facts(book), "N") == tuple(range(8, 257, 8))
        assert judge.legal(facts(book), "K") == (16,)
        for a, k in PAGE_K.items():
            if contract == "ptx" and a == ".s4":
                continue  # the page's s4 row: no such hardware
            d = ".s32" if a in (".s8", ".u8", ".s4", ".b1") else ".f32"
            bits = book.tables["element", contract].rows[a,][0]
            assert isinstance(bits, int)
            assert k * bits == 256, "256 bits of A"
            assert judge.legal(facts(book, a_type=a, b_type=a, d_type=d), "K") == (k,)
        for source in (".smem_desc", ".rmem"):
            assert accepts(judge, facts(book, a_source=source))


def test_the_accumulator_of_wgmma_takes_half_as_many_registers_as_columns_MMA08(book: Rulebook):
    for contract, n in product(("ptx", "tileiras"), range(8, 257, 8)):
        judge = Judge(book.under(contract), "wgmma.gemm", inherited=True)
        single = facts(book, "wgmma.gemm", N=n, d_values=n // 2)
        assert judge.legal(single, "d.registers") == (n // 2,)
        half = facts(book, "wgmma.gemm", N=n, d_values=n // 2, d_type=".f16", d_element=".f16")
        assert judge.legal(half, "d.registers") == (n // 4,)
        assert judge.legal(single, "d.values") == (n // 2,)


def test_page_p4s_width_of_the_accumulator_struct_is_a_note_in_tileiras(book: Rulebook):
    judge = Judge(book.under("tileiras"), "wgmma.accumulator")
    assert [rule.code for rule in judge.violated(facts(book, "wgmma.accumulator"))] == ["WG292"]
    assert Judge(book.under("ptx"), "wgmma.accumulator").violated(facts(book, "wgmma.accumulator")) == ()


@pytest.mark.parametrize(
    ("a", "b", "d", "message"),
    [
        (".s8", ".s8", ".f32", "expects A/B of type s8/u8 and D of type i32"),
        (".s4", ".s4", ".f32", "expects A/B of type s4/u4 and D of type i32"),
        (".b1", ".b1", ".f32", "expects A/B of type u1 and D of type i32"),
        (".e4m3", ".f16", ".f32", "expects A/B of the e5m2/e4m3 type"),
    ],
)
def test_the_pages_dedicated_diagnostics_MMA09(book: Rulebook, a: str, b: str, d: str, message: str):
    judge = Judge(book.under("tileiras"), "wgmma.mma_async")
    k = PAGE_K[a]
    assert [rule.message for rule in judge.violated(facts(book, a_type=a, b_type=b, d_type=d, K=k))] == [message]


def test_the_pages_table_of_k_and_mn_MMA09(book: Rulebook):
    judge = Judge(book.under("tileiras"), "wgmma.mma_async")
    for a, k in PAGE_K.items():
        d = ".s32" if a in (".s8", ".u8", ".s4", ".b1") else ".f32"
        legal = facts(book, a_type=a, b_type=a, d_type=d, K=k)
        assert accepts(judge, legal)
        assert judge.legal(legal, "N") == tuple(range(8, 257, 8)), "every MN multiple of 8"


def test_the_common_contract_of_mma_atoms_MMA02(book: Rulebook):
    """verify_mma_atom: tier, shape, types, residencies of A, B and D, sparse metadata, scale factors."""
    use = Judge(book.under("ptx"), "mma.use")
    residencies = book.enums["residency"].members
    expected = {  # page P0, Operand Contract by Tier
        ".universal_fma": ({".rmem"}, {".rmem"}, {".rmem"}),
        ".sm80_mma": ({".rmem"}, {".rmem"}, {".rmem"}),
        ".sm89_mma": ({".rmem"}, {".rmem"}, {".rmem"}),
        ".sm90_mma": ({".rmem", ".smem_desc"}, {".smem_desc"}, {".rmem"}),
        ".sm100_mma": ({".smem_desc", ".tmem"}, {".smem_desc"}, {".tmem"}),
        ".sm120_mma_bs": ({".rmem"}, {".rmem"}, {".rmem"}),
    }
    for atom, operands in expected.items():
        for role, allowed in zip(("a", "b", "d"), operands, strict=True):
            instance = {**book.schemas["mma.use"].instance, "atom": atom}
            assert set(use.legal(instance, f"{role}.residency")) == allowed, (atom, role)
            assert allowed < set(residencies)
    block_scaled = {**book.schemas["mma.use"].instance, "atom": ".sm120_mma_bs"}
    assert use.legal(block_scaled, "a.extra") == ()
    assert use.legal({**block_scaled, "b.extra": 1}, "a.extra") == (1, 2, 3, 4)
    sparse = {**book.schemas["mma.use"].instance, "atom": ".sm80_sparse_mma"}
    assert use.legal(sparse, "a.extra") == (1, 2, 3, 4)
    tier = Judge(book.under("ptx"), "atom")
    assert [r.code for r in tier.violated({"target": ".sm_80", "atom": ".sm90_mma", "needs": ".wgmma"})] == ["TG101"]


# ---------------------------------------------------------------------------------------------------- ptxas


def instruction(n: int, k: int, d: str, a: str, b: str, majors: tuple[int, int] | None, source: str) -> str:
    """One wgmma.mma_async with the operands that its types call for, or would call for if it were legal."""
    count = n // 4 if d == ".f16" else n // 2
    register = "%f" if d == ".f32" else "%r"
    accumulator = "{" + ", ".join(f"{register}{i}" for i in range(max(count, 1))) + "}"
    first = "%l0" if source == ".smem_desc" else "{%r0, %r1, %r2, %r3}"
    scales = ", 1, 1" if a in (".f16", ".bf16", ".tf32", ".e4m3", ".e5m2") else ""
    if majors is not None:
        shown = majors if source == ".smem_desc" else majors[1:]
        scales += "".join(f", {major}" for major in shown)
    popc = ".and.popc" if a == ".b1" else ""
    name = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}{d}{a}{b}{popc}"
    return f"{name} {accumulator}, {first}, %l1, %p0{scales};"


def compare(book: Rulebook, configurations: list[dict[str, Scalar]], texts: list[str]) -> None:
    judge = Judge(book.under("ptx"), "wgmma.mma_async")
    refused = rejected(texts, "sm_90a", "8.8")
    wrong = [
        text
        for configuration, text, no in zip(configurations, texts, refused, strict=True)
        if accepts(judge, configuration) is no
    ]
    assert wrong == []
    assert any(refused)
    assert not all(refused)


@needs_ptxas
def test_types_agree_with_ptxas(book: Rulebook):
    rows = [
        (a, b, d)
        for a, b, d in product(INPUTS, INPUTS, OUTPUTS)
        if a not in (".f32", ".f64") or b == a  # illegal for more than one reason: one sample will do
    ]
    configurations, texts = [], []
    for a, b, d in rows:
        k = PAGE_K.get(a, {".u4": 64}.get(a, 16))
        configurations.append(facts(book, a_type=a, b_type=b, d_type=d, K=k))
        majors = (0, 0) if a in (".f16", ".bf16") else None
        texts.append(instruction(64, k, d, a, b, majors, ".smem_desc"))
    compare(book, configurations, texts)


LEGAL_TYPES = [
    (".f16", ".f16", ".f16"),
    (".f16", ".f16", ".f32"),
    (".bf16", ".bf16", ".f32"),
    (".tf32", ".tf32", ".f32"),
    (".e4m3", ".e5m2", ".f32"),
    (".e5m2", ".e5m2", ".f16"),
    (".s8", ".u8", ".s32"),
    (".b1", ".b1", ".s32"),
]


@needs_ptxas
@pytest.mark.parametrize(("a", "b", "d"), LEGAL_TYPES)
def test_widths_and_depths_agree_with_ptxas(book: Rulebook, a: str, b: str, d: str):
    configurations, texts = [], []
    majors = (0, 0) if a in (".f16", ".bf16") else None
    shapes = [(n, PAGE_K[a]) for n in range(4, 273, 4)] + [(64, k) for k in (4, 8, 16, 32, 64, 128, 256)]
    for (n, k), source in product(shapes, (".smem_desc", ".rmem")):
        configurations.append(facts(book, a_type=a, b_type=b, d_type=d, N=n, K=k, a_source=source))
        texts.append(instruction(n, k, d, a, b, majors, source))
    compare(book, configurations, texts)


@needs_ptxas
def test_majors_agree_with_ptxas(book: Rulebook):
    """Only the 16-bit types have transpose immediates, by which alone ptxas knows MN-major; A in registers has none."""
    configurations, texts = [], []
    for (a, b, d), source, majors in product(
        LEGAL_TYPES, (".smem_desc", ".rmem"), product((".k", ".mn"), (".k", ".mn"))
    ):
        has_immediates = a in (".f16", ".bf16")
        flags = (int(majors[0] == ".mn"), int(majors[1] == ".mn"))
        if not any(flags):
            flags = flags if has_immediates else None  # type: ignore[assignment]
        text = instruction(64, PAGE_K[a], d, a, b, flags, source)
        configurations.append(
            facts(
                book, a_type=a, b_type=b, d_type=d, K=PAGE_K[a], a_source=source, a_major=majors[0], b_major=majors[1]
            )
        )
        texts.append(text)
    compare(book, configurations, texts)
