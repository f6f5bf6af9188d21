"""No spelling of an atom goes unjudged: each has a declaration, and a wrong parameter of each is an error."""

from __future__ import annotations

import pytest

import tileproof
from conftest import some
from tileproof.base.source import Source
from tileproof.checking.file import check_source
from tileproof.judge.outcome import Options

BOOK = tileproof.load_rules()
SPELLINGS = [spelling for spelling in BOOK.enums["atom"].by_spelling if spelling.startswith("cute_nvgpu.")]

_BOX = 'copy_bits = 8192, tma_gbasis = <"(8,64):(1@1,1@0)">'
_GATHERED = 'copy_bits = 8192, tma_gbasis = <"(4,64):(1@1,1@0)">'
_SIX = 'copy_bits = 8192, tma_gbasis = <"(2,2,2,2,2,16):(1@5,1@4,1@3,1@2,1@1,1@0)">'
_IMAGE = 'copy_bits = 8192, tma_gbasis = <"(8,(2,2),64):(1@1,(1@2,1@3),1@0)">'
_UMMA = "num_cta = 1, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss, c_scale_exp = 0"
_SPARSE = _UMMA.replace(", frag_kind", ", e_type = ui8, sparse_metadata_format = tid, frag_kind")
_SCALED = (
    "num_cta = 1, ab_major = (k, k), elem_type = (f4E2M1FN, f4E2M1FN, f32), sf_type = f8E8M0FNU, frag_kind = ss,"
    " vec_size = 32"
)
_COLLECTORS = "ab_collector_op = (discard, discard)"

# Of each atom parameters that are legal, the same with one mistake (in a shape where the atom has one), and the rule.
CASES = {
    "atom.universal_fma": ("1x1x1, (f32, f32) -> f32", "2x1x1, (f32, f32) -> f32", "MU101"),
    "atom.universal_copy": ("f16, 32 b", "f16, 24 b", "CP130"),
    "atom.g2r": ("f32 copy_bits = 32", "f32 copy_bits = 16", "CP131"),
    "atom.r2g": ("f32 copy_bits = 32", "f32 copy_bits = 16", "CP131"),
    "atom.s2r": ("f32 copy_bits = 32", "f32 copy_bits = 16", "CP131"),
    "atom.r2s": ("f32 copy_bits = 32", "f32 copy_bits = 16", "CP131"),
    "atom.ldsm": (
        'val_type = f16, mode = <"(8,8)">, sz_pattern = u16, num_matrices = 4, n',
        'val_type = f16, mode = <"(8,8)">, sz_pattern = u16, num_matrices = 8, n',
        "LM120",
    ),
    "atom.stsm": ('f16, mode = <"(8,8)">, num_matrices = 4, n', 'f16, mode = <"(8,8)">, num_matrices = 8, n', "LM220"),
    "atom.simt_async_copy": ("f16, cache = always, 128 b", "f16, cache = always, 24 b", "CA101"),
    "atom.dsmem_store": ("f32, 64 b", "f32, 256 b", "CP132"),
    "atom.bulk_copy_g2s": ("f16", "", "IR004"),
    "atom.bulk_copy_s2g": ("f16", "", "IR004"),
    "atom.bulk_copy_s2s": ("f16", "", "IR004"),
    "atom.simt_multimem_ld_reduce": ("f16, 32 b", "f16, 24 b", "CP130"),
    "atom.simt_multimem_st": ("f16, 32 b", "f16, 24 b", "CP130"),
    "atom.simt_multimem_red": ("f16, 32 b", "f16, 24 b", "CP130"),
    "atom.tma_load": (
        'f16, copy_bits = 8192, mode = tiled, num_cta = 1, g_stride = <"()">',
        'f16, copy_bits = 8192, mode = tiled, num_cta = 3, g_stride = <"()">',
        "CP142",
    ),
    "atom.im2col_tma_load": (
        'f16, copy_bits = 8192, num_cta = 1, g_stride = <"()">',
        'f16, copy_bits = 8192, num_cta = 3, g_stride = <"()">',
        "CP142",
    ),
    "atom.tma_store": (
        'f16, copy_bits = 8192, mode = tiled, g_stride = <"()">',
        'f16, copy_bits = 8200, mode = tiled, g_stride = <"()">',
        "CP143",
    ),
    "atom.im2col_tma_store": (
        'f16, copy_bits = 8192, g_stride = <"()">',
        'f16, copy_bits = 8200, g_stride = <"()">',
        "CP143",
    ),
    "atom.tma_reduce": (
        'f16, copy_bits = 8192, mode = tiled, kind = ADD, g_stride = <"()">',
        'f16, copy_bits = 8200, mode = tiled, kind = ADD, g_stride = <"()">',
        "CP143",
    ),
    "atom.non_exec_tiled_tma_load": (f"sm_90, f16, {_BOX}", f"sm_90, f16, {_SIX}", "CP140"),
    "atom.non_exec_tiled_tma_store": (f"f16, {_BOX}", f"f16, {_SIX}", "CP140"),
    "atom.non_exec_tiled_tma_reduce": (f"ADD, f16, {_BOX}", f"ADD, f16, {_SIX}", "CP140"),
    "atom.non_exec_im2col_tma_load": (f"sm_90, f16, {_IMAGE}", f"sm_90, f16, {_SIX}", "CP140"),
    "atom.non_exec_im2col_tma_store": (f"f16, {_IMAGE}", f"f16, {_SIX}", "CP140"),
    "atom.non_exec_2d_gather4_tma_load": (f"sm_100, f16, {_GATHERED}", f"sm_100, f16, {_SIX}", "CP140"),
    "atom.non_exec_2d_scatter4_tma_store": (f"f16, {_GATHERED}", f"f16, {_SIX}", "CP140"),
    "atom.tmem_load": ("f32, 32 DP, 32 bit, x32", "f32, 31 DP, 32 bit, x32", "TM102"),
    "atom.tmem_load_red": ("f32, 32 DP, 32 bit, x32, max", "f32, 31 DP, 32 bit, x32, max", "TM102"),
    "atom.tmem_load_spcompress": ("f32, 32 DP, 32 bit, x4, max", "f32, 32 DP, 32 bit, x2, max", "TM106"),
    "atom.tmem_store": ("f32, 32 DP, 32 bit, x32", "f32, 31 DP, 32 bit, x32", "TM102"),
    "atom.s2t_copy": ("f8E8M0FNU, 32 DP, 128 bit, 1 cta, x4", "f8E8M0FNU, 5 DP, 128 bit, 1 cta", "TM133"),
    "atom.sm100_s2t_copy_v2": (
        "f16, num_dp = 128, num_bit = 256, num_cta = 1, smem_major = k",
        "f16, num_dp = 3, num_bit = 256, num_cta = 1, smem_major = k",
        "TM133",
    ),
    "sm80.mma": ("16x8x16, elem_type = (f16, f16, f32)", "16x8x12, elem_type = (f16, f16, f32)", "MM106"),
    "sm80.sparse_mma": (
        "16x8x32, elem_type = (f16, f16, f32), md_format = tid",
        "16x8x12, elem_type = (f16, f16, f32), md_format = tid",
        "SP103",
    ),
    "sm89.mma": (
        "16x8x32, elem_type = (f8E4M3FN, f8E5M2, f32)",
        "16x8x12, elem_type = (f8E4M3FN, f8E5M2, f32)",
        "MM106",
    ),
    "sm90.mma": (
        "64x96x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss",
        "64x100x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss",
        "WG101",
    ),
    "sm100.mma": (f"128x96x16, {_UMMA}", f"128x100x16, {_UMMA}", "UM102"),
    "sm100.mma_sp": (f"128x96x32, {_SPARSE}", f"128x100x32, {_SPARSE}", "UM102"),
    "sm100.mma_bs": (f"128x96x64, {_SCALED}", f"128x100x64, {_SCALED}", "UM141"),
    "sm100.mma_bs_sp": (f"128x96x128, {_SCALED}", f"128x100x128, {_SCALED}", "UM141"),
    "sm107.mma": (f"128x96x16, {_UMMA}, {_COLLECTORS}", f"128x100x16, {_UMMA}, {_COLLECTORS}", "UM102"),
    "sm107.mma_sp": (f"128x96x32, {_SPARSE}, {_COLLECTORS}", f"128x100x32, {_SPARSE}, {_COLLECTORS}", "UM102"),
    "sm107.mma_bs": (f"128x96x128, {_SCALED}, {_COLLECTORS}", f"128x100x128, {_SCALED}, {_COLLECTORS}", "UM141"),
    "sm107.mma_bs_sp": (f"128x96x256, {_SCALED}, {_COLLECTORS}", f"128x100x256, {_SCALED}, {_COLLECTORS}", "UM141"),
    "SM120.mma_bs": (
        "16x8x64, vec_size = 16, elem_type = (f4E2M1FN, f4E2M1FN, f32), sf_type = f8E4M3FN, use_sf_layout_TV = false",
        "16x8x60, vec_size = 16, elem_type = (f4E2M1FN, f4E2M1FN, f32), sf_type = f8E4M3FN, use_sf_layout_TV = false",
        "BS104",
    ),
}

# Atoms without parameters, and those that are rejected whatever their parameters.
BARE = ("smem_desc", "smem_desc_view")
REJECTED = ("atom.tmem_to_smem_copy", "atom.tcgen05.cp")


def codes(type_: str) -> list[str]:
    source = Source("<text>", f'"use"() : () -> {type_}\n')
    options = Options("ptx", mend=False)  # hints, for which Z3 is asked, are not compared
    return [found.code for found in check_source(tileproof.load_rules(), source, options).diagnostics]


def test_each_spelling_is_declared_or_has_nothing_to_judge() -> None:
    bare = {spelling for spelling in SPELLINGS if spelling not in BOOK.atoms}
    assert bare <= BOOK.unjudged.keys()
    assert {f"cute_nvgpu.{name}" for name in (*CASES, *BARE, *REJECTED)} == set(SPELLINGS)


@pytest.mark.parametrize("name", some(CASES))
def test_a_wrong_parameter_is_found(name: str) -> None:
    right, wrong, code = CASES[name]
    assert codes(f"!cute_nvgpu.{name}<{right}>") == []
    assert code in codes(f"!cute_nvgpu.{name}<{wrong}>")


@pytest.mark.parametrize("name", REJECTED)
def test_a_copy_that_no_instruction_does_is_an_error(name: str) -> None:
    assert codes(f"!cute_nvgpu.{name}<f32>") == ["AT102"]


def test_two_spellings_of_a_member_are_read_by_its_one_declaration() -> None:
    atom = BOOK.enums["atom"]
    for spellings in atom.members.values():
        own = {BOOK.atoms[one].types for one in spellings if one in BOOK.atoms}
        assert len(own) in (0, 1) or all(one in BOOK.atoms[one].types for one in spellings)
