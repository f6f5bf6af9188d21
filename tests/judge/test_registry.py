"""The registry of atoms: contracts as records, dispatch through interfaces, the targets that have an atom."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

import tileproof
from tileproof.cli import main
from tileproof.evaluate.python import Judge
from tileproof.judge import registry
from tileproof.reference.differences import differences
from tileproof.rulebase.book import Rulebook

# Page P2, Atom TypeID Registry: mnemonic, least tier, interfaces.
PAGE = {
    "atom.universal_fma": ("sm70", "MmaAtom"),
    "atom.universal_copy": ("sm70", "CopyAtom"),
    "atom.ldsm": ("sm75", "CopyAtom"),
    "atom.stsm": ("sm90", "CopyAtom"),
    "atom.simt_async_copy": ("sm80", "CopyAtom AsyncCopyAtom"),
    "sm80.mma": ("sm80", "MmaAtom"),
    "sm80.sparse_mma": ("sm80", "MmaAtom SparseMetadataAtom"),
    "sm89.mma": ("sm89", "MmaAtom"),
    "sm90.mma": ("sm90", "MmaAtom SmemDescriptorAtom"),
    "smem_desc_view": ("sm90", "DescriptorType"),
    "atom.tma_load": ("sm90", "CopyAtom TmaAtom PrefetchAtom AsyncCopyAtom"),
    "atom.tma_store": ("sm90", "CopyAtom TmaAtom AsyncCopyAtom"),
    "atom.tma_reduce": ("sm90", "CopyAtom TmaAtom AsyncCopyAtom"),
    "atom.non_exec_tiled_tma_load": ("sm90", "TmaAtom"),
    "sm100.mma": ("sm100", "MmaAtom TmemAtom"),
    "sm100.mma_sp": ("sm100", "MmaAtom TmemAtom SparseMetadataAtom"),
    "sm100.mma_bs": ("sm100", "MmaAtom TmemAtom BlockScaleAtom"),
    "sm100.mma_bs_sp": ("sm100", "MmaAtom TmemAtom BlockScaleAtom SparseMetadataAtom"),
    "atom.tmem_load": ("sm100", "CopyAtom"),
    "atom.tmem_store": ("sm100", "CopyAtom"),
    "atom.s2t_copy": ("sm100", "CopyAtom AsyncCopyAtom"),
    "SM120.mma_bs": ("sm120", "MmaAtom BlockScaleAtom"),
}


@pytest.fixture(scope="module")
def book() -> Rulebook:
    return tileproof.load_rules()


def record(book: Rulebook, mnemonic: str) -> registry.AtomContract:
    found = registry.contract_of(book, mnemonic, "ptx")
    assert found is not None
    return found


@pytest.mark.parametrize("mnemonic", PAGE)
def test_the_registry_is_the_page_s_CPY01(book: Rulebook, mnemonic: str):
    tier, interfaces = PAGE[mnemonic]
    atom = record(book, mnemonic)
    assert atom.min_tier.startswith(tier + "_")
    assert set(atom.interfaces) == set(interfaces.split())


def test_mma_records_say_residencies_metadata_and_scales_MMA17(book: Rulebook):
    wgmma = record(book, "sm90.mma").mma
    assert wgmma == registry.MmaAtomContract(
        frozenset({"rmem", "smem_desc_view"}), frozenset({"smem_desc_view"}), frozenset({"rmem"}), False, False
    )
    umma = record(book, "sm100.mma_bs_sp").mma
    assert umma is not None
    assert umma.supports_sparse
    assert umma.supports_block_scale
    assert umma.d == {"tmem"}
    assert record(book, "sm90.mma").copy is None


def test_copy_records_say_width_places_and_descriptor_MMA17(book: Rulebook):
    cp_async = record(book, "atom.simt_async_copy").copy
    assert cp_async is not None
    assert (cp_async.source, cp_async.destination) == ({"gmem"}, {"smem"})
    assert cp_async.value_bits == {32, 64, 128}
    assert cp_async.is_async
    assert not cp_async.uses_tma_descriptor
    load = record(book, "atom.tma_load").copy
    assert load is not None
    assert load.uses_tma_descriptor
    assert load.supports_prefetch
    assert load.needs_barrier
    assert record(book, "atom.ldsm").mma is None


def test_every_mma_and_copy_atom_has_its_record_MMA17(book: Rulebook):
    for atom in registry.contracts(book.under("ptx")):
        assert (atom.mma is not None) == ("MmaAtom" in atom.interfaces), atom
        assert (atom.copy is not None) == ("CopyAtom" in atom.interfaces), atom


def test_the_universal_fma_is_every_target_s_mma_atom_MMA15(book: Rulebook):
    atom = record(book, "atom.universal_fma")
    assert atom.verifier == "MmaAtom"
    assert set(atom.targets) == {name[1:] for name in book.enums["target"].members}
    assert atom.mma is not None
    assert atom.mma.a == atom.mma.b == atom.mma.d == {"rmem"}


def test_the_verifier_is_the_first_of_mma_copy_prefetch_DIA10(book: Rulebook):
    order = {key[0]: row[0] for key, row in book.tables["dispatch", "tileiras"].rows.items()}
    assert sorted(order, key=order.__getitem__) == [".mma", ".copy", ".prefetch"]
    assert record(book, "atom.tma_load").verifier == "CopyAtom", "it prefetches, too"
    assert record(book, "sm100.mma").verifier == "MmaAtom"


def test_what_implements_none_of_the_three_has_no_verifier_DIA09(book: Rulebook):
    assert record(book, "smem_desc_view").verifier is None
    assert record(book, "atom.non_exec_tiled_tma_store").verifier is None
    judge = Judge(book.under("tileiras"), "atom.use")
    for atom in registry.contracts(book.under("ptx")):
        if any(atom.name in name for name in ("bulk", "multimem")):
            continue
        page = book.tables["registry", "tileiras"].rows[f".{atom.name}",][2] == ".yes"
        for use in book.enums["atom_use"].members:
            codes = {rule.code for rule in judge.violated({"atom": f".{atom.name}", "operation": use})}
            assert ("AT209" in codes) == (atom.verifier is None or not page), atom


def test_the_tma_load_is_the_page_s_only_atom_that_prefetches_CPY08(book: Rulebook):
    page = book.tables["registry", "ptx"].rows
    prefetching = {a.name for a in registry.contracts(book.under("ptx")) if "PrefetchAtom" in a.interfaces}
    assert {name for name in prefetching if page[f".{name}",][2] == ".yes"} == {"tma_load"}
    assert prefetching == {"tma_load", "bulk_g2s"}, "what nvidia-cutlass-dsl accepts in cute.prefetch"


def test_names_encode_the_least_tier_CPY09(book: Rulebook):
    for atom in registry.contracts(book.under("ptx")):
        named = re.match(r"cute_nvgpu\.(?:sm|SM)(\d+)\.", atom.mnemonics[0])
        assert named is None or atom.min_tier.startswith(f"sm{named[1]}_"), atom


def test_sparse_and_scaled_atoms_expose_what_they_take_CPY09(book: Rulebook):
    for atom in registry.contracts(book.under("ptx")):
        if atom.mma is not None:
            assert atom.mma.supports_sparse == ("SparseMetadataAtom" in atom.interfaces)
            assert atom.mma.supports_block_scale == ("BlockScaleAtom" in atom.interfaces)


def test_non_executing_atoms_name_what_they_are_bound_to_CPY05(book: Rulebook):
    assert record(book, "atom.non_exec_tiled_tma_load").interfaces == ("TmaAtom",)
    assert record(book, "atom.non_exec_tiled_tma_load").copy is None, "it copies nothing before it is bound"


@pytest.mark.parametrize("contract", ["ptx", "tileiras"])
def test_thor_falls_back_to_what_it_is_said_to_TGT02(book: Rulebook, contract: str):
    judge = Judge(book.under(contract), "atom")
    taken = set()
    for atom in registry.contracts(book.under(contract)):
        (needs,) = book.tables["atom", contract].rows[f".{atom.name}",]
        assert isinstance(needs, str)
        found = judge.violated({"target": ".sm_110a", "atom": f".{atom.name}", "needs": needs})
        if atom.mma is not None and not found:
            taken.add(atom.name)
        assert len(found) <= 1, "one cause, one error"
    fallback = {"universal_fma", "sm80_mma", "sm80_sparse_mma", "sm89_mma"}
    tcgen05 = {"sm100_mma", "sm100_mma_sp", "sm100_mma_bs", "sm100_mma_bs_sp"}
    assert taken == (fallback | tcgen05 if contract == "ptx" else fallback)


def test_the_porter_s_table_names_forms_of_the_ir_MMA18(book: Rulebook):
    table = registry.porting(book)
    assert len(table) == 9
    assert table["cute::TiledMMA"][0] == "cute.make_tiled_mma"
    assert record(book, table["cute::MMA_Atom"][0]).verifier == "MmaAtom"
    assert record(book, table["make_smem_desc"][0]).interfaces == ("DescriptorType",)
    shown = CliRunner().invoke(main, ["explain", "cute::TiledCopy"])
    assert shown.exit_code == 0
    assert "cute.make_tiled_copy" in shown.output


def test_explain_shows_the_contract_of_a_mnemonic_CPY01():
    shown = CliRunner().invoke(main, ["explain", "atom.tma_load"])
    assert shown.exit_code == 0
    for words in ("CopyAtom, PrefetchAtom", "from coord_tensor to smem", "must be bound to an mbarrier", "sm_90"):
        assert words in shown.output


@pytest.mark.sweep
def test_the_contracts_differ_about_copies_and_thor_as_the_pages_and_the_hardware_do(book: Rulebook):
    """FACTS 5: 16-byte cp.async is always cg; tcgen05.cp out of tensor memory; SM70-89 share one element type."""
    found = {(code, one.accepting): one for one in differences(book, "tileiras", "ptx", 20) for code in one.rules}
    assert {("CA202", "ptx"), ("AT201", "ptx"), ("MA221", "ptx"), ("AT102", "tileiras")} <= found.keys()
    sources = found["CA202", "ptx"].sources["tileiras"]
    assert any("SM Tier Roster and Copy Atom Registry" in source for source in sources)
