"""The tensor-memory MMA: its lattice of shapes, what each target has, and where page P0 differs from it."""

from __future__ import annotations

from itertools import product

import pytest

import tileproof
from tileproof.checking.instruction import context, legal
from tileproof.evaluate.python import Judge
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar

FP8 = (".e4m3", ".e5m2")
NARROW = (*FP8, ".e3m2", ".e2m3", ".e2m1")
KINDS = {  # an input type of each kind: an accumulator, and K of the dense and of the sparse instruction
    ".f16": (".f16", 16, 32),
    ".bf16": (".f32", 16, 32),
    ".tf32": (".f32", 8, 16),
    **dict.fromkeys(NARROW, (".f32", 32, 64)),
    ".s8": (".s32", 32, 64),
    ".u8": (".s32", 32, 64),
}
INTEGER_N = {1: {8, 16, 24, 32, *range(48, 257, 16)}, 2: set(range(32, 257, 32))}
FLOAT_N = {1: set(range(8, 257, 8)), 2: set(range(16, 257, 16))}


@pytest.fixture(scope="module")
def book() -> Rulebook:
    return tileproof.load_rules()


def facts(book: Rulebook, schema: str = "umma", **changes: Scalar) -> dict[str, Scalar]:
    named = {name.replace("_", ".", 1) if name[1:2] == "_" else name: value for name, value in changes.items()}
    return {**book.schemas[schema].instance, "a.major": ".k", **named}


def accepts(judge: Judge, values: dict[str, Scalar]) -> bool:
    return not any(rule.severity.value == "error" for rule in judge.violated(values))


@pytest.mark.parametrize(("a", "ctas", "sparse"), list(product(KINDS, (1, 2), (".no", ".yes"))))
def test_the_shapes_of_each_kind_MMA10(book: Rulebook, a: str, ctas: int, sparse: str):
    """One CTA computes 64 or 128 rows, a pair 128 or 256; integers have a set of widths of their own (BUGS 17)."""
    judge = Judge(book.under("ptx"), "umma")
    d, dense, halved = KINDS[a]
    k = dense if sparse == ".no" else halved
    legal_one = facts(book, a_type=a, b_type=a, d_type=d, K=k, ctas=ctas, M=128, N=64, sparse=sparse)
    assert accepts(judge, legal_one)
    assert set(judge.legal(legal_one, "M")) == ({64, 128} if ctas == 1 else {128, 256})
    assert set(judge.legal(legal_one, "N")) == (INTEGER_N if a in (".s8", ".u8") else FLOAT_N)[ctas]
    assert set(judge.legal(legal_one, "K")) == {k}
    majors = {".k"} if a in (".e3m2", ".e2m3", ".e2m1") else {".k", ".mn"}
    assert set(judge.legal(legal_one, "b.major")) == majors


def test_the_shapes_of_the_weight_stationary_mma_MMA10(book: Rulebook):
    judge = Judge(book.under("ptx"), "umma")
    for sparse, k in ((".no", 16), (".yes", 32)):
        one = facts(book, ws=".yes", M=32, N=64, K=k, sparse=sparse)
        assert set(judge.legal(one, "M")) == {32, 64, 128}
        assert set(judge.legal(one, "N")) == ({64, 128, 256} if sparse == ".no" else {64, 128})
        assert set(judge.legal(one, "ctas")) & {1, 2} == {1}


def test_where_operands_live_MMA10(book: Rulebook):
    """verify_sm100_umma: A a descriptor or in tensor memory, B a descriptor, D in tensor memory; never in registers."""
    judge = Judge(book.under("ptx"), "mma.use")
    atoms = (".sm100_mma", ".sm100_mma_sp", ".sm100_mma_bs", ".sm100_mma_bs_sp")
    for atom, contract in product(atoms, ("ptx", "tileiras")):
        judge = Judge(book.under(contract), "mma.use")
        one = {**book.schemas["mma.use"].instance, "atom": atom, "d.residency": ".tmem", "a.extra": 2, "b.extra": 2}
        assert set(judge.legal(one, "a.residency")) == {".smem_desc", ".tmem"}
        assert set(judge.legal(one, "b.residency")) == {".smem_desc"}
        assert set(judge.legal(one, "d.residency")) == {".tmem"}, "a load retires it (CPY07)"


def test_sparse_and_scaled_atoms_take_their_extra_operands_MMA11_MMA03(book: Rulebook):
    judge = Judge(book.under("ptx"), "mma.use")
    for atom, code in ((".sm100_mma_sp", "MA105"), (".sm100_mma_bs", "MA104"), (".sm100_mma_bs_sp", "MA104")):
        one = {**book.schemas["mma.use"].instance, "atom": atom, "d.residency": ".tmem"}
        assert code in [rule.code for rule in judge.violated(one)]


@pytest.mark.parametrize("sparse", [".no", ".yes"])
def test_the_shapes_of_the_block_scaled_kinds_MMA11(book: Rulebook, sparse: str):
    judge = Judge(book.under("ptx"), "umma.scaled")
    for a, k in ((".e4m3", 32), (".e2m3", 32), (".e2m1", 64)):
        depth = k if sparse == ".no" else 2 * k
        one = facts(book, "umma.scaled", a_type=a, b_type=a, K=depth, sparse=sparse)
        assert accepts(judge, one)
        assert set(judge.legal(one, "M")) == {128}
        assert set(judge.legal(one, "N")) == FLOAT_N[1]
        pair = {**one, "ctas": 2, "M": 256}
        assert set(judge.legal(pair, "M")) == ({128, 256} if sparse == ".no" else {256})
        assert set(judge.legal(pair, "N")) == FLOAT_N[2]
        assert set(judge.legal(one, "d.type")) == {".f32"}


def test_scale_factors_by_format_MMA11(book: Rulebook):
    judge = Judge(book.under("ptx"), "umma.scaled")
    found = {
        (vec, sf)
        for vec, sf in product((8, 16, 32, 64), (".ue8m0", ".e4m3", ".e5m2"))
        if accepts(judge, {**facts(book, "umma.scaled"), "vec_size": vec, "sf.type": sf})
    }
    assert found == {(32, ".ue8m0"), (16, ".ue8m0"), (16, ".e4m3")}


def test_what_page_p0_says_of_umma_is_kept_in_tileiras_MMA10(book: Rulebook):
    page = Judge(book.under("tileiras"), "umma")
    for (a, bits), major in product(((".f16", 16), (".tf32", 32), (".e4m3", 8)), (".k", ".mn")):
        k = (512 if major == ".k" else 256) // bits
        one = {**facts(book, a_type=a, b_type=a, M=64, K=k), "a.major": major}
        assert accepts(page, one)
        assert set(page.legal(one, "M")) == {64}
        assert set(page.legal(one, "N")) == FLOAT_N[1]
        assert set(page.legal(one, "K")) == {k}
        assert accepts(page, {**one, "ctas": 2, "M": 128})


# ------------------------------------------------------------------------------------------------ availability

FLOORS = [  # what, its targets, its first PTX version
    ("wgmma.fence.sync.aligned;", {"sm_90a": (8, 0)}),
    ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f0,f1,f2,f3},l0,l1,p0,1,1,0,0;", {"sm_90a": (8, 0)}),
    ("wgmma.commit_group.sync.aligned;", {"sm_90a": (8, 0)}),
    ("wgmma.wait_group.sync.aligned 0;", {"sm_90a": (8, 0)}),
    (
        "tcgen05.mma.cta_group::1.kind::f16 [r0],l0,l1,r1,p0;",
        {
            **{"sm_100a": (8, 6), "sm_100f": (8, 8), "sm_103a": (8, 8), "sm_103f": (8, 8)},
            **{"sm_107a": (9, 4), "sm_107f": (9, 4), "sm_110a": (9, 0), "sm_110f": (9, 0)},
        },
    ),
]


@pytest.mark.parametrize("contract", ["ptx", "tileiras"])
@pytest.mark.parametrize(("text", "floors"), FLOORS)
def test_the_floor_of_each_instruction_EMT08(
    book: Rulebook, text: str, floors: dict[str, tuple[int, int]], contract: str
):
    """Page P4, Per-Arch Availability: wgmma has the floors sm_90a and PTX 8.0; plain sm_90 and Blackwell have none."""
    versions = [*((8, minor) for minor in range(9)), *((9, minor) for minor in range(6))]
    for (member,) in book.tables["target", "ptx"].rows:
        target = member[1:]
        for ptx in versions:
            verdict = legal(book.under(contract), text, context(book, target, ptx))
            first = floors.get(target)
            assert verdict.legal is (first is not None and ptx >= first), (target, ptx)


@pytest.mark.parametrize(
    ("atom", "needs"),
    [(".sm90_mma", ".wgmma"), (".sm100_mma", ".tcgen05"), (".sm100_mma_bs", ".tcgen05"), (".tmem_load", ".tcgen05")],
)
def test_atoms_and_instructions_need_the_same_of_a_target_MMA03(book: Rulebook, atom: str, needs: str):
    text = "wgmma.fence.sync.aligned;" if needs == ".wgmma" else "tcgen05.wait::ld.sync.aligned;"
    judge = Judge(book.under("ptx"), "atom")
    for (target,) in book.tables["target", "ptx"].rows:
        as_atom = accepts(judge, {"target": target, "atom": atom, "needs": needs})
        assert as_atom is legal(book.under("ptx"), text, context(book, target[1:])).legal, target


# ---------------------------------------------------------------------------------- the pages against the hardware

F4 = "{f0,f1,f2,f3}"
R4 = "{r0,r1,r2,r3}"
CONTRADICTIONS = [  # FACTS, section 5: an instruction, what the pages say of it, what ptxas says
    ("the integer families force .satfinite (P1)", f"m64n8k32.s32.s8.s8 {R4},l0,l1,p0;", False, True),
    ("b1 takes .xor.popc (P1)", f"m64n8k256.s32.b1.b1.xor.popc {R4},l0,l1,p0;", True, False),
    ("integer N is any multiple of 8 (P0)", "m64n40k32.satfinite.s32.s8.s8 {D20},l0,l1,p0;", True, False),
    ("s4 with K = 64 (P0, P4)", f"m64n8k64.s32.s4.s4 {R4},l0,l1,p0;", True, False),
    ("scale-D is a predicate (P1)", f"m64n8k16.f32.f16.f16 {F4},l0,l1,1,1,1,0,0;", False, True),
    ("float families take four immediates (P1)", f"m64n8k32.f32.e4m3.e4m3 {F4},l0,l1,p0,1,1,0,0;", True, False),
]


@pytest.mark.parametrize(("claim", "text", "page", "hardware"), CONTRADICTIONS)
def test_the_contracts_differ_where_the_pages_contradict_the_hardware(
    book: Rulebook, claim: str, text: str, page: bool, hardware: bool
):
    instruction = "wgmma.mma_async.sync.aligned." + text.replace("D20", ",".join(f"r{i}" for i in range(20)))
    where = context(book, "sm_90a")
    assert legal(book.under("tileiras"), instruction, where).legal is page, claim
    assert legal(book.under("ptx"), instruction, where).legal is hardware, claim


def test_the_depth_of_a_wait_fits_in_six_bits_on_page_p4_and_saturates_at_seven_in_hardware(book: Rulebook):
    where = context(book, "sm_90a")
    for depth in (0, 7, 8, 63, 64, 1000):
        text = f"wgmma.wait_group.sync.aligned {depth};"
        assert legal(book.under("tileiras"), text, where).legal is (depth <= 63)
        verdict = legal(book.under("ptx"), text, where)
        assert verdict.legal
        assert verdict.codes == (() if depth <= 7 else ("WG171",))
