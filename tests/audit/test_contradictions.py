"""Each row of the table of contradictions (FACTS, section 5) that concerns legality is found by the solver's diff.

A row is a claim of the pages, the rule by which one contract rejects what the other accepts, and facts of that rule in
the region where they differ. The witness of the region is judged by both contracts.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

import tileproof
from tileproof.audit.contracts import Region, differences
from tileproof.base.diagnostic import Severity
from tileproof.evaluate.python import judge_for
from tileproof.rulebase.declarations import Rule
from tileproof.rulebase.expression import Scalar

pytestmark = pytest.mark.sweep

BOOK = tileproof.load_rules()
OTHER = {"ptx": "tileiras", "tileiras": "ptx"}

# claim; schema; the contract that accepts; the rule of the other one; values of its facts
ROWS: list[tuple[str, str, str, str, dict[str, Scalar]]] = [
    ("WGMMA s4/u4 K = 64 (P0, P4)", "wgmma.mma_async", "tileiras", "WG110", {"a.type": ".s4"}),
    ("integer N any multiple of 8 (P0, P4)", "wgmma.mma_async", "tileiras", "WG104", {"a.type": ".s8"}),
    ("b1 .xor.popc and .and.popc (P1)", "wgmma.instruction", "tileiras", "WG153", {"b1.combine": ".xor"}),
    ('integer WGMMA "forced .satfinite" (P1)', "wgmma.instruction", "ptx", "WG208", {"satfinite": ".no"}),
    ("scale-D is a predicate register (P1)", "wgmma.instruction", "ptx", "WG210", {"scale_d.class": ".integer"}),
    ("wait depth fits in 6 bits (P4)", "wgmma.wait_group", "ptx", "WG270", {"depth.class": ".integer"}),
    ("m16n8k16.row.row (P0 arm 1)", "mma.warp.instruction", "tileiras", "MM123", {"b.layout": ".row"}),
    ("FP8 accumulator is f32 only on SM89 (P0, P1)", "mma.sync", "ptx", "MM211", {"d.type": ".f16"}),
    ("dense s4 m8n8k64, m16n8k128 (P3)", "mma.sync", "tileiras", "MM106", {"a.type": ".s4", "K": 64}),
    ("integer m8n8k16 on sm_72 (P3)", "mma.sync.instruction", "tileiras", "MM130", {"target": ".sm_72"}),
    ("no sparse FP8 companion (P0, P2)", "mma.sp", "ptx", "SP201", {"a.type": ".e4m3"}),
    ("sparse int8 ordered metadata: no selector (P1)", "mma.sp.instruction", "ptx", "SP210", {"selected": ".yes"}),
    ("sparsity selector is one bit (P1)", "mma.sp.instruction", "ptx", "SP211", {"selector.value": 3}),
    ("m16n8k8 with A 4 and B 2 registers (P1)", "mma.sync.instruction", "ptx", "MM293", {"a.registers": 2}),
    ("SM120 without byte-id / thread-id (P1)", "mma.block_scale.instruction", "tileiras", "BS130", {"ids": ".no"}),
    ("sparse mxf4nvf4 m16n8k64 (P1)", "mma.block_scale.instruction", "tileiras", "BS113", {"K": 64}),
    ("mxf4 with E4M3 (P1)", "mma.block_scale.instruction", "tileiras", "BS115", {"kind": ".mxf4"}),
    ("UMMA M 64 or 128 = 2-CTA (P0)", "umma", "ptx", "UM200", {"M": 256}),
    ("UMMA N multiple of 8 (P0)", "umma", "tileiras", "UM102", {"ctas": 2}),
    ("UMMA K = 512/bits (P0)", "umma", "ptx", "UM202", {"a.type": ".f16", "K": 16}),
    ("scale vectors by (bits, size) (P0, P1)", "umma.scaled", "tileiras", "UM146", {"vec_size": 16}),
    ("NVFP4 data is E0M3 (P0)", "mma.fp4", "ptx", "BS201", {"encoding": ".Float4E2M1FN"}),
    ("(64,16) -> kind::mxf4 (P0, P1)", "mma.fp4", "ptx", "BS202", {"kind": ".mxf4nvf4"}),
    ("16-byte cp.async is always cg (P2)", "simt_async_copy", "ptx", "CA202", {"level": ".ca", "bits": 128}),
    ("tmem -> smem tcgen05.cp (P2)", "atom", "tileiras", "AT102", {"atom": ".tmem_to_smem"}),
    ("tmem -> tmem tcgen05.cp (P2)", "atom", "tileiras", "AT102", {"atom": ".tmem_to_tmem"}),
    ("A, B, D share one element type on SM70-89 (P2)", "mma.use", "ptx", "MA221", {"atom": ".sm80_mma"}),
    (
        "SM75 has BF16 additions, m16n8k8 (P0, P1)",
        "mma.sync.instruction",
        "tileiras",
        "MM131",
        {"a.type": ".bf16", "target": ".sm_75"},
    ),
    ("dense s4 m16n8k128 (P3)", "mma.sync", "tileiras", "MM106", {"a.type": ".s4", "K": 128}),
    (
        "sparse int8 ordered metadata: four registers of A (P1)",
        "mma.sp.instruction",
        "tileiras",
        "SP130",
        {"a.type": ".s8", "a.registers": 4},
    ),
    ("tcgen05.mma with type suffixes (P1)", "tcgen05.mma", "tileiras", "TC140", {"suffix.d": ".f32"}),
    ("tcgen05.mma without enable-d (P1)", "tcgen05.mma", "tileiras", "TC141", {"enabled": ".no"}),
    ("block-scaled tcgen05.mma without .block_scale (P1)", "tcgen05.mma", "tileiras", "TC102", {"block_scale": ".no"}),
    ("scale-input accumulator not on sm_100a, sm_103a (P3)", "tcgen05.mma", "ptx", "TC233", {"target": ".sm_100a"}),
    ("scale-input accumulator elsewhere, sm_110 too (P3)", "tcgen05.mma", "tileiras", "TC133", {"target": ".sm_110a"}),
    ("commit and wait carry a type (P4)", "four_op", "ptx", "WP206", {"operation": ".commit", "type": ".missing"}),
    ("commit and wait carry a layout (P4)", "four_op", "ptx", "WP207", {"operation": ".wait", "layout": ".missing"}),
    ("SM110 has none of the tensor-memory MMA (P0)", "atom", "ptx", "AT201", {"target": ".sm_110a"}),
]

# Claims that another page contradicts: contract tileiras follows the page named first and notes the other reading.
NOTED = {
    "tf32 WGMMA K = 16 (P4)": "WG290",
    "struct width N * typeC_bits / 32 = 128 (P4)": "WG292",
    "m64n128k16.f32 shows 32 accumulator registers (P1)": "WG294",
    "scale-D is an immediate (P4)": "WG293",
    "m16n8k4 f64 as SM80 (P3)": "MM291",
    "sparse FP8 adds one metadata register (P1)": "SP290",
    "kind::f8f6f4 for block-scaled FP8 (P0)": "UM296",
    "kind::mxf4 for NVFP4 (P0)": "UM297",
    "NVFP4 = E8M0 (P0)": "UM295",
}


@cache
def regions(schema: str, accepting: str) -> dict[str, Region]:
    """The differences in one schema, by the code of the rejecting rule."""
    lineage = {schema, *BOOK.lineage(schema)}
    part = {name: fields for name, fields in BOOK.schemas.items() if name in lineage}
    narrowed = replace(BOOK, schemas=part)
    found = differences(narrowed, accepting, OTHER[accepting], 60)
    return {region.rule.code: region for region in found if region.schema == schema}


@pytest.mark.parametrize(("claim", "schema", "accepting", "code", "facts"), ROWS, ids=[row[0] for row in ROWS])
def test_the_diff_finds(claim: str, schema: str, accepting: str, code: str, facts: dict[str, Scalar]):
    region = regions(schema, accepting)[code]
    assert not region.unknown
    for fact, value in facts.items():
        values = region.extent[fact]
        assert values is None or value in values, f"{claim}: {fact} takes {values}"
    witness = {**BOOK.schemas[schema].instance, **region.witness}
    accepted = judge_for(BOOK.under(accepting), schema).violated(witness)
    assert [rule.code for rule in accepted if rule.severity is Severity.ERROR] == [], claim
    rejecting = judge_for(BOOK.under(OTHER[accepting]), schema)
    check = next(check for check in rejecting.checks if check.rule.code == code)
    assert check(witness) is False
    assert any(rule.severity is Severity.ERROR for rule in rejecting.violated(witness)), claim


PAGES = {
    "P0": "MMA Atoms SM70-SM120",
    "P1": "Per-SM Emission Templates",
    "P2": "SM Tier Roster and Copy Atom Registry",
    "P3": "Tensor Core / MMA Builtins",
    "P4": "NVVM WGMMA Ops",
}


@pytest.mark.parametrize(("claim", "code"), NOTED.items(), ids=NOTED)
def test_the_other_reading_is_noted(claim: str, code: str):
    rule = BOOK.documented()[code]
    assert isinstance(rule, Rule)
    assert (rule.contract, rule.severity) == ("tileiras", Severity.NOTE), claim
    page = PAGES[claim[claim.rindex("(P") + 1 :][:2]]
    assert any(citation.reference == page for citation in rule.citations), rule.sources
