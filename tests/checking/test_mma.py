"""The MMAs of a warp against the reference pages; against ptxas they are tested in tests/conformance."""

from __future__ import annotations

from itertools import product

import pytest

import tileproof
from tileproof.checking.instruction import context, legal
from tileproof.evaluate.python import Judge
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar

# Page P0, Per-Arch MMA Shape Lattice: (shape, tier) -> types of A and B, accumulators. Other cells are empty.
LATTICE = {
    (".m8n8k4", ".sm70_volta"): ({".f16"}, {".f16", ".f32"}),
    (".m16n8k8", ".sm75_turing"): ({".f16", ".bf16"}, {".f16", ".f32"}),
    (".m16n8k8", ".sm80_ampere"): ({".f16", ".bf16", ".tf32"}, {".f16", ".f32"}),
    (".m16n8k16", ".sm80_ampere"): ({".f16", ".bf16"}, {".f16", ".f32"}),
    (".m16n8k32", ".sm80_ampere"): ({".s8", ".u8"}, {".s32"}),
    (".m16n8k32", ".sm89_ada"): ({".e4m3", ".e5m2"}, {".f32"}),
    (".m16n8k32", ".sm120_blackwell"): ({".e4m3", ".e5m2", ".e3m2", ".e2m3", ".e2m1"}, {".f32"}),
    (".m16n8k64", ".sm80_ampere"): ({".s4", ".u4"}, {".s32"}),
    (".m16n8k64", ".sm120_blackwell"): ({".e2m1"}, {".f32"}),
}


@pytest.fixture(scope="module")
def book() -> Rulebook:
    return tileproof.load_rules()


def instance(book: Rulebook, schema: str, changes: dict[str, Scalar]) -> dict[str, Scalar]:
    return {**book.schemas[schema].instance, **changes}


def accepts(book: Rulebook, text: str, target: str, ptx: tuple[int, int] | None = None, contract: str = "ptx") -> bool:
    return legal(book.under(contract), text, context(book, target, ptx)).legal


def dense(shape: str, types: str, a: int, b: int, accumulator: str = "f", count: int = 4) -> str:
    def registers(letter: str, number: int) -> str:
        return "{" + ",".join(f"{letter}{i}" for i in range(number)) + "}"

    d = registers(accumulator, count)
    letter = "d" if accumulator == "d" else "r"
    return f"mma.sync.aligned.{shape}.row.col.{types} {d},{registers(letter, a)},{registers(letter, b)},{d};"


def test_the_shape_lattice_and_its_gate_MMA01(book: Rulebook):
    table = book.tables["page_lattice", "tileiras"]
    shapes, tiers = (book.enums[name].members for name in ("lattice_shape", "tier"))
    assert set(table.rows) == set(LATTICE), "every other cell is empty"
    judge = Judge(book.under("tileiras"), "mma.lattice")
    elements = book.enums["element"].members
    for (shape, tier), (types, accumulators) in LATTICE.items():
        cell = instance(book, "mma.lattice", {"shape": shape, "tier": tier})
        some = {"a.type": min(types), "b.type": min(types), "c.type": min(accumulators)}
        assert judge.violated({**cell, **some}) == ()
        assert {e for e in elements if not judge.violated({**cell, **some, "a.type": e, "b.type": e})} == types
        assert {e for e in elements if not judge.violated({**cell, **some, "c.type": e})} == accumulators
    assert len(shapes) * len(tiers) > len(LATTICE)


def test_operands_live_in_registers_MMA03(book: Rulebook):
    use = Judge(book.under("ptx"), "mma.use")
    for atom in (".sm80_mma", ".sm80_sparse_mma", ".sm89_mma", ".sm120_mma_bs"):
        facts = instance(book, "mma.use", {"atom": atom, "a.extra": 1, "b.extra": 1})
        for role in ("a", "b", "d"):
            assert use.legal(facts, f"{role}.residency") == (".rmem",)


def test_volta_and_turing_have_the_classic_shapes_and_no_atom_MMA04(book: Rulebook):
    volta = dense("m8n8k4", "f32.f16.f16.f32", 2, 2, count=8)
    turing = dense("m16n8k8", "f32.f16.f16.f32", 2, 1)
    assert accepts(book, volta, "sm_70") and accepts(book, volta, "sm_75")
    assert accepts(book, turing, "sm_75") and not accepts(book, turing, "sm_72")
    assert not accepts(book, dense("m16n8k8", "f32.bf16.bf16.f32", 2, 1), "sm_75"), "P0 lists bf16; it needs sm_80"
    assert not [name for name in book.atoms if "sm70" in name or "sm75" in name]


@pytest.mark.parametrize(
    ("shape", "types", "a", "b", "accumulator"),
    [
        ("m16n8k8", "f32.f16.f16.f32", 2, 1, "f"),
        ("m16n8k16", "f32.bf16.bf16.f32", 4, 2, "f"),
        ("m16n8k8", "f32.tf32.tf32.f32", 4, 2, "f"),
        ("m16n8k32", "s32.s8.s8.s32", 4, 2, "r"),
        ("m16n8k64", "s32.s4.s4.s32", 4, 2, "r"),
    ],
)
def test_the_dense_families_of_ampere_MMA05(book: Rulebook, shape: str, types: str, a: int, b: int, accumulator: str):
    text = dense(shape, types, a, b, accumulator)
    assert accepts(book, text, "sm_80")
    saturating = text.replace(".row", ".satfinite.row")
    assert accepts(book, saturating, "sm_80") is types.startswith("s32"), ".satfinite is for integers only"


def test_sparse_operands_and_the_ordered_int8_path_MMA06(book: Rulebook):
    operands = "{r0,r1,r2,r3},{r4,r5},{r6,r7},{r0,r1,r2,r3},r8"
    name = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
    assert accepts(book, f"{name} {operands},1;", "sm_80", (8, 5))
    assert not accepts(book, f"{name} {operands},2;", "sm_80", (8, 5)), "the selector is 0 or 1 here"
    elided = f"{name} {operands};".replace("{r4,r5}", "{r4,r5,r6,r7}")
    assert not accepts(book, elided, "sm_80", (8, 5))
    assert accepts(book, elided, "sm_80", (8, 5), "tileiras"), "page P1: four registers of A, the selector elided"


def test_fp8_of_ada_MMA07(book: Rulebook):
    for a, b in product(("e4m3", "e5m2"), repeat=2):
        text = dense("m16n8k32", f"f32.{a}.{b}.f32", 4, 2)
        for contract in ("ptx", "tileiras"):
            assert accepts(book, text, "sm_89", (8, 4), contract)
        assert not accepts(book, text, "sm_86")
        half = dense("m16n8k32", f"f16.{a}.{b}.f16", 4, 2, "r", 2)
        assert accepts(book, half, "sm_89", (8, 7)) and not accepts(book, half, "sm_89", (8, 6))
        assert not accepts(book, half, "sm_89", (8, 7), "tileiras"), "pages P0 and P1: f32 only"


def test_the_block_scaled_families_MMA12_MMA14(book: Rulebook):
    """Three (K, vec_size) pairs, f32 accumulators, scale factors of E8M0 or, for (64, 16), E4M3."""
    for contract in ("ptx", "tileiras"):
        judge = Judge(book.under(contract), "mma.block_scale", inherited=True)
        found = set()
        for k, size, scale in product((16, 32, 64, 128), (8, 16, 32, 64), (".ue8m0", ".ue4m3")):
            facts = {"K": k, "vec_size": size, "scale.type": scale}
            if not judge.violated(instance(book, "mma.block_scale", facts)):
                found.add((k, size, scale))
        assert found == {(64, 16, ".ue4m3"), (64, 16, ".ue8m0"), (64, 32, ".ue8m0"), (32, 32, ".ue8m0")}
        assert judge.legal(instance(book, "mma.block_scale", {}), "d.type") == (".f32",)


def test_fp4_encodings_by_the_type_of_the_scale_factors_MMA13(book: Rulebook):
    judge = Judge(book.under("tileiras"), "mma.fp4")
    for scale, encoding, kind in ((".ue8m0", ".FloatNV4E0M3F", ".mxf4nvf4"), (".ue4m3", ".Float4E2M1FN", ".mxf4")):
        facts = {"scale": scale, "encoding": encoding, "kind": kind}
        assert judge.violated(facts) == ()
        assert judge.legal(facts, "encoding") == (encoding,)
        assert judge.legal(facts, "kind") == (kind,)


@pytest.mark.parametrize(
    ("text", "first"),
    [  # page P3's summary; what it has wrong about mma.sync stands beside it
        (dense("m8n8k4", "f32.f16.f16.f32", 2, 2, count=8), "sm_70"),
        (dense("m16n8k4", "f64.f64.f64.f64", 2, 1, "d"), "sm_90"),  # the page: SM 80
        (dense("m16n8k8", "f32.f16.f16.f32", 2, 1), "sm_75"),
        (dense("m16n8k16", "f32.bf16.bf16.f32", 4, 2), "sm_80"),
        (dense("m8n8k16", "s32.s8.s8.s32", 1, 1, "r", 2), "sm_75"),  # the page: SM 72
        (dense("m16n8k32", "s32.s8.s8.s32", 4, 2, "r"), "sm_80"),  # the page: SM 75
        (dense("m8n8k32", "s32.s4.s4.s32", 1, 1, "r", 2), "sm_75"),
        (dense("m8n8k128.xor.popc", "s32.b1.b1.s32", 1, 1, "r", 2), "sm_75"),
        (dense("m16n8k256.and.popc", "s32.b1.b1.s32", 4, 2, "r"), "sm_80"),
    ],
)
def test_the_first_target_of_each_shape_MMA16_EMT08(book: Rulebook, text: str, first: str):
    names = [name[1:] for name in book.enums["target"].members]
    assert next(name for name in names if accepts(book, text, name)) == first


def test_shapes_that_only_the_page_has_MMA16(book: Rulebook):
    judge = {contract: Judge(book.under(contract), "mma.sync", inherited=True) for contract in ("ptx", "tileiras")}
    for m, k in ((8, 64), (16, 128)):
        facts = instance(book, "mma.sync", {"a.type": ".s4", "b.type": ".s4", "d.type": ".s32", "M": m, "K": k})
        assert [rule.code for rule in judge["ptx"].violated(facts)] == ["MM106"]
        assert not [rule for rule in judge["tileiras"].violated(facts) if rule.severity.value == "error"]


@pytest.mark.parametrize(
    ("builtin", "variant", "least"),
    [(".hmma", 0, 70), (".imma", 0, 72), (".imma", 1, 72), (".imma", 2, 73), (".bmma", 0, 73), (".tcgen05", 0, 100)],
)
def test_the_gates_of_the_builtins_TGT04_TGT05(book: Rulebook, builtin: str, variant: int, least: int):
    """hmma > 0x45, imma > 0x47 (SM 72 has variants 0 and 1 only), bmma > 0x48, tcgen05 from SM 100."""
    judge = Judge(book.under("tileiras"), "mma.builtin")
    facts = instance(book, "mma.builtin", {"builtin": builtin, "variant": variant, "sm": 120})
    assert judge.legal(facts, "sm")[0] == least
