"""The roster of targets, and atoms held against it."""

from __future__ import annotations

import pytest

import tileproof
from tileproof.evaluate.python import Judge
from tileproof.rulebase.book import Rulebook

# FACTS: targets and the first PTX version that knows them.
FIRST_PTX = {
    "sm_70": 600, "sm_75": 603, "sm_80": 700, "sm_86": 701, "sm_87": 704, "sm_88": 900, "sm_89": 708, "sm_90": 708,
    "sm_90a": 800, "sm_100": 806, "sm_100a": 806, "sm_100f": 808, "sm_103": 808, "sm_103a": 808, "sm_103f": 808,
    "sm_110": 900, "sm_110a": 900, "sm_110f": 900, "sm_107": 904, "sm_107a": 904, "sm_107f": 904,
    "sm_120": 807, "sm_120a": 807, "sm_120f": 808, "sm_121": 808, "sm_121a": 808, "sm_121f": 808,
}  # fmt: skip
# What each target unlocks beyond the mma.sync surface of its predecessors.
CONDITIONAL = {
    ".wgmma": {"sm_90a"},
    ".tcgen05": {f"sm_{n}{s}" for n in (100, 103, 107, 110) for s in "af"},
    ".block_scale": {f"sm_{n}{s}" for n in (120, 121) for s in "af"},
    ".setmaxnreg": {"sm_90a"} | {f"sm_{n}{s}" for n in (100, 103, 107, 110, 120, 121) for s in "af"},
}


@pytest.fixture(scope="module")
def book() -> Rulebook:
    return tileproof.load_rules()


def with_feature(book: Rulebook, feature: str) -> set[str]:
    judge = Judge(book.under("ptx"), "operation")
    facts = {**book.schemas["operation"].instance, "needs": feature}
    return {str(value).removeprefix(".") for value in judge.legal(facts, "target")}


def test_the_roster_knows_every_target_and_its_first_ptx_version_TGT01(book: Rulebook):
    for contract in ("ptx", "tileiras"):
        rows = book.tables["target", contract].rows
        roster = {key[0].removeprefix("."): row for key, row in rows.items()}
        assert set(FIRST_PTX) | {"sm_72"} == set(roster)
        assert {name: row[2] for name, row in roster.items() if name in FIRST_PTX} == FIRST_PTX


@pytest.mark.parametrize("feature", CONDITIONAL)
def test_a_suffix_unlocks_what_a_plain_target_lacks_TGT01(book: Rulebook, feature: str):
    assert with_feature(book, feature) == CONDITIONAL[feature]


def test_plain_targets_unlock_only_the_mma_sync_surfaces_TGT01(book: Rulebook):
    for plain in ("sm_90", "sm_100", "sm_120"):
        unlocked = {feature for feature in book.enums["feature"].members if plain in with_feature(book, feature)}
        assert unlocked == {
            ".baseline", ".mma_sm70", ".mma_sm75", ".mma_sm80", ".mma_sm89", ".mma_sm90", ".cp_async",
            ".stmatrix", ".tma",
        }  # fmt: skip


def test_features_grow_with_the_generations_TGT01(book: Rulebook):
    first = {".mma_sm70": "sm_70", ".mma_sm75": "sm_75", ".mma_sm80": "sm_80", ".mma_sm89": "sm_89", ".tma": "sm_90"}
    order = [member.removeprefix(".") for member in book.enums["target"].members]
    for feature, target in first.items():
        assert with_feature(book, feature) == set(order[order.index(target) :])


@pytest.mark.parametrize("atom", ["sm80_mma", "sm89_mma", "sm90_mma", "sm100_mma", "sm120_mma_bs", "tma_load", "ldsm"])
def test_an_atom_above_its_target_is_rejected_TGT03(book: Rulebook, atom: str):
    """Every target either has what the atom needs or rejects the atom, and both happen."""
    judge = Judge(book.under("ptx"), "atom")
    (needs,) = book.tables["atom", "ptx"].rows[f".{atom}",]
    assert isinstance(needs, str)
    having = with_feature(book, needs)
    verdicts = set()
    for target in book.enums["target"].members:
        violated = judge.violated({"target": target, "atom": f".{atom}", "needs": needs})
        code = "AT101" if target.startswith(".sm_110") and "mma" in atom else "TG101"
        assert [rule.code for rule in violated] == ([] if target[1:] in having else [code])
        verdicts.add(bool(violated))
    assert verdicts == {True, False}


ATOM = "!cute_nvgpu.sm90.mma<64x64x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>"
WGMMA_KERNEL = f'func.func @k() {{\n  %0 = "test.use"() : () -> {ATOM}\n}}\n'


def target_of(text: str, **options: str) -> tuple[str, str]:
    (file,) = tileproof.check(text, **options).files
    assert file.target is not None
    return str(file.target), file.target.reason


def test_the_target_is_the_one_given_else_the_one_in_the_ir_else_the_least_TGT03():
    assert target_of(WGMMA_KERNEL) == ("sm_90a", "lowest that supports its atoms")
    named = WGMMA_KERNEL + 'gpu.module @m [#nvvm.target<chip = "sm_100a">] {\n}\n'
    assert target_of(named) == ("sm_100a", "named in the IR")
    assert target_of(named, target="sm_90a") == ("sm_90a", "given")
    assert target_of('func.func @k() {\n  "nvvm.tcgen05.fence"() : () -> ()\n}\n')[0] == "sm_100a"
    assert target_of("func.func @k() {\n  return\n}\n")[0] == "sm_70"


def test_a_file_that_no_target_can_run_is_said_to_have_none():
    text = WGMMA_KERNEL + 'func.func @l() {\n  "nvvm.tcgen05.fence"() : () -> ()\n}\n'
    (file,) = tileproof.check(text).files
    assert file.target is None
