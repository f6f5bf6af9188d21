"""Every copy and synchronisation atom has a PTX spelling that assembles, or is refused in one line."""

from __future__ import annotations

from pathlib import Path

import ptxas
import pytest
from test_sweep import joined
from test_sweep import run as assembled

import tileproof
from conftest import command
from tileproof.checking.instruction import context
from tileproof.emitting.atom import BadAtom, emit_atom
from tileproof.emitting.kernel import module
from tileproof.emitting.sequence import sequence
from tileproof.ptx.select import Lowered, legal_form
from tileproof.rulebase.declarations import EnumOrigin

BOOK = tileproof.load_rules()
BOX = 'g_stride = <"()"> tma_gbasis = <"(64,128):(1@1,1@0)">'
CUBE = 'g_stride = <"()"> tma_gbasis = <"(64,8,4):(1@0,1@1,1@2)">'
FORM = 'tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN'
CUBE_FORM = 'tma_gbasis = <"(64,8,4):(1@0,1@1,1@2)">, tma_format = F16_RN'
LOAD = "tma_load<f16, copy_bits = 131072, mode = {mode}, num_cta = {ctas}, {box}>"
MULTICAST = BOX.replace("> tma", "> mcast = true tma")
STORE = "tma_store<f16, copy_bits = 131072, mode = {mode}, {box}>"
REDUCE = "tma_reduce<f16, copy_bits = 131072, mode = tiled, kind = {kind}, {box}>"

# The atom, its target, and what its instruction says.
ATOMS = [
    ("bulk_copy_g2s<f16>", "sm_90", "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"),
    ("bulk_copy_s2g<f16>", "sm_90", "cp.async.bulk.global.shared::cta.bulk_group [l0],[r0],16;"),
    ("bulk_copy_s2s<f16>", "sm_90", "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"),
    ("simt_multimem_ld_reduce<f16, 128 b>", "sm_90", "multimem.ld_reduce.relaxed.sys.global.add.v4.f16x2 {r0"),
    ("simt_multimem_ld_reduce<bf16, 64 b>", "sm_90", "multimem.ld_reduce.relaxed.sys.global.add.v2.bf16x2"),
    ("simt_multimem_ld_reduce<f8E4M3FN, 128 b>", "sm_100a", "multimem.ld_reduce.relaxed.sys.global.add"),
    ("simt_multimem_ld_reduce<f64>", "sm_90", "multimem.ld_reduce.relaxed.sys.global.add.f64 d0"),
    ("simt_multimem_st<f32>", "sm_90", "multimem.st.relaxed.sys.global.f32 [l0], f0"),
    ("simt_multimem_st<f32, 128 b>", "sm_90", "multimem.st.relaxed.sys.global.v4.f32 [l0], {f0"),
    ("simt_multimem_st<i32>", "sm_90", "multimem.st.relaxed.sys.global.b32 [l0], r0"),
    ("simt_multimem_red<f32, 32 b>", "sm_90", "multimem.red.relaxed.sys.global.add.f32 [l0], f0"),
    ("simt_multimem_red<f16, 128 b>", "sm_90", "multimem.red.relaxed.sys.global.add.v4.f16x2 [l0], {r0"),
    ("dsmem_store<f16, 128 b>", "sm_90", "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32"),
    ("dsmem_store<f16, 64 b>", "sm_90", "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32"),
    ("dsmem_store<f32>", "sm_90", "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32"),
    ("tmem_load<f32, 32 DP, 32 bit, x4>", "sm_100a", "tcgen05.ld.sync.aligned.32x32b.x4.b32 {r0"),
    ("tmem_load<f32, 32 DP, 32 bit, x4, pack16b>", "sm_100a", "x4.pack::16b.b32 {r0"),
    ("tmem_load<f32, 16 DP, 32 bit, x2>", "sm_100a", "16x32bx2.x2.b32 {r0"),
    ("tmem_store<f32, 32 DP, 32 bit, x4>", "sm_100a", "tcgen05.st.sync.aligned.32x32b.x4.b32 [r0]"),
    ("tmem_store<f32, 16 DP, 256 bit, x4, expand16b>", "sm_100a", "16x256b.x4.unpack::16b.b32 [r0]"),
    ("tmem_load_red<f32, 32 DP, 32 bit, x4, max>", "sm_103a", "tcgen05.ld.red.sync.aligned.32x32b.x4.max.f32"),
    ("tmem_load_red<f32, 32 DP, 32 bit, x4, minabs, nan>", "sm_103a", "x4.min.f32.abs.NaN"),
    ("s2t_copy<f8E8M0FNU, 32 DP, 128 bit, 1 cta, x4>", "sm_100a", "tcgen05.cp.cta_group::1.32x128b.warpx4 "),
    ("s2t_copy<f16, 128 DP, 256 bit, 2 cta>", "sm_100a", "tcgen05.cp.cta_group::2.128x256b "),
    ("s2t_copy<f16, 128 DP, 128 bit, 1 cta>", "sm_100a", "tcgen05.cp.cta_group::1.128x128b "),
    ("s2t_copy<f16, 4 DP, 256 bit, 1 cta>", "sm_100a", "tcgen05.cp.cta_group::1.4x256b "),
    ("s2t_copy<f16, 64 DP, 128 bit, 1 cta, lw_0213>", "sm_100a", "64x128b.warpx2::02_13 "),
    ("s2t_copy<f16, 64 DP, 128 bit, 1 cta, lw_0123>", "sm_100a", "64x128b.warpx2::01_23 "),
    ("g2r<f16 copy_bits = 64>", "sm_75", "ld.global.v2.b32 {r0, r1}, [l0];"),
    ("r2g<f32 copy_bits = 32>", "sm_75", "st.global.b32 [l0], r0;"),
    ("s2r<f32>", "sm_75", "ld.shared.b32 r0, [r8];"),
    ("r2s<f32 copy_bits = 128>", "sm_75", "st.shared.v4.b32 [r8], {r0, r1, r2, r3};"),
    ("universal_copy<f16>", "sm_75", "ld.b16 h0, [l0];"),
    ("universal_copy<f16, 256 b>", "sm_75", "st.v4.b32 [l1+16], {r4, r5, r6, r7};"),
    ("simt_async_copy<f16, cache = always, 32 b>", "sm_80", "cp.async.ca.shared.global [r0],[l0],4;"),
    ("simt_async_copy<f32, cache = always>", "sm_80", "cp.async.ca.shared.global [r0],[l0],4;"),
    ("simt_async_copy<f16, cache = global, 128 b>", "sm_80", "cp.async.cg.shared.global [r0],[l0],16;"),
    (LOAD.format(mode="tiled", ctas=1, box=BOX), "sm_90", "cp.async.bulk.tensor.2d.shared::cluster.global"),
    (LOAD.format(mode="tiled", ctas=2, box=BOX), "sm_100a", ".cta_group::2 [r0]"),
    (LOAD.format(mode="tiled", ctas=1, box=MULTICAST), "sm_90", ".mbarrier::complete_tx::bytes.multicast::cluster"),
    (LOAD.format(mode="im2col", ctas=1, box=CUBE), "sm_90", "tensor.3d.shared::cluster.global.im2col"),
    (LOAD.format(mode="w", ctas=1, box=CUBE), "sm_100a", "tensor.3d.shared::cluster.global.im2col::w"),
    (LOAD.format(mode="w128", ctas=1, box=CUBE), "sm_100a", "tensor.3d.shared::cluster.global.im2col::w::128"),
    (LOAD.format(mode="gather4", ctas=1, box=BOX), "sm_100a", "tensor.2d.shared::cluster.global.tile::gather4"),
    (
        f"im2col_tma_load<f16, copy_bits = 131072, num_cta = 1, {CUBE}>",
        "sm_90",
        "tensor.3d.shared::cluster.global.im2col",
    ),
    (STORE.format(mode="tiled", box=BOX), "sm_90", "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"),
    (STORE.format(mode="im2col", box=CUBE), "sm_90", "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs"),
    (STORE.format(mode="scatter4", box=BOX), "sm_100a", "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4"),
    (f"im2col_tma_store<f16, copy_bits = 131072, {CUBE}>", "sm_90", "tensor.3d.global.shared::cta.im2col_no_offs"),
    *(
        (
            REDUCE.format(kind=kind, box=BOX),
            "sm_90",
            f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{kind.lower()}",
        )
        for kind in ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR")
    ),
    (f"non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, {FORM}>", "sm_90", "tensor.2d.shared::cluster.global"),
    (f"non_exec_tiled_tma_load<sm_90_multicast, f16, copy_bits = 131072, {FORM}>", "sm_90", "bytes.multicast::cluster"),
    (f"non_exec_tiled_tma_load<sm_100_2sm, f16, copy_bits = 131072, {FORM}>", "sm_100a", ".cta_group::2 [r0]"),
    (
        f"non_exec_im2col_tma_load<sm_90, f16, copy_bits = 131072, {CUBE_FORM}>",
        "sm_90",
        "tensor.3d.shared::cluster.global.im2col",
    ),
    (f"non_exec_tiled_tma_store<f16, copy_bits = 131072, {FORM}>", "sm_90", "tensor.2d.global.shared::cta.bulk_group"),
    (
        f"non_exec_im2col_tma_store<f16, copy_bits = 131072, {CUBE_FORM}>",
        "sm_90",
        "tensor.3d.global.shared::cta.im2col_no_offs",
    ),
    (
        f"non_exec_tiled_tma_reduce<MAX, f16, copy_bits = 131072, {FORM}>",
        "sm_90",
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.max",
    ),
    (
        f"non_exec_2d_gather4_tma_load<sm_100, f16, copy_bits = 131072, {FORM}>",
        "sm_100a",
        "2d.shared::cluster.global.tile::gather4",
    ),
    (
        f"non_exec_2d_scatter4_tma_store<f16, copy_bits = 131072, {FORM}>",
        "sm_100a",
        "2d.global.shared::cta.tile::scatter4",
    ),
    (
        'ldsm<val_type = i8, mode = <"(16,16)">, sz_pattern = u8, num_matrices = 2, t>',
        "sm_100a",
        "m16n16.x2.trans.shared.b8 ",
    ),
    (
        'stsm<f16, mode = <"(8,8)">, num_matrices = 4, t>',
        "sm_90",
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [r0]",
    ),
    ("universal_fma<1x1x1, (f32, f32) -> f32>", "sm_75", "fma.rn.f32 f0, f1, f2, f0;"),
]


@pytest.mark.parametrize(("atom", "target", "says"), ATOMS, ids=[atom for atom, _, _ in ATOMS])
@ptxas.needs_ptxas
def test_an_atom_is_emitted_as_its_instruction_and_assembles(atom: str, target: str, says: str, tmp_path: Path):
    text = emit_atom(BOOK.under("ptx"), f"!cute_nvgpu.atom.{atom}", context(BOOK, target))
    assert says in text
    assert not assembled(target, text, tmp_path, quick=False), text


@pytest.mark.parametrize(
    ("atom", "target", "status", "says"),
    [
        ("tmem_load_spcompress<f16>", "sm_100a", 1, "TG101"),
        ("sm100_s2t_copy_v2<f16>", "sm_100a", 1, "IR004"),
        ("universal_copy<i4>", "sm_80", 2, "no PTX instruction for"),
        (LOAD.format(mode="gather4", ctas=1, box=BOX), "sm_90", 2, "no PTX instruction for"),
        ("tmem_load_red<f32, 32 DP, 32 bit, x4, max>", "sm_100a", 2, "no PTX instruction for"),
        ("simt_multimem_st<f4E2M1FN, 32 b>", "sm_90", 2, "no PTX instruction for"),
        ("tmem_to_smem_copy<f16>", "sm_100a", 1, "has no PTX instruction"),
        ("dsmem_store<f16, 16 b>", "sm_90", 1, "CP132"),
        ("nothing<f16>", "sm_90", 1, "AT001"),
    ],
)
def test_an_atom_without_an_instruction_is_refused_in_one_line(atom: str, target: str, status: int, says: str):
    done = command("emit", "--atom", f"!cute_nvgpu.atom.{atom}", "--target", target)
    assert done.returncode == status, done.stdout + done.stderr
    assert says in done.stdout + done.stderr
    assert ".entry" not in done.stdout
    if status == 2:
        assert len(done.stderr.splitlines()) == 1


@ptxas.needs_ptxas
def test_every_instruction_that_legal_knows_is_emitted_and_assembles(tmp_path: Path):
    """One of each declaration, on the first of these targets that takes it."""
    declared = [item for same in BOOK.instructions.values() for item in same]
    found: dict[str, list[str]] = {}
    for declaration in declared:
        # What an enum of one member is read from can be nothing else.
        clauses = [clause for clause in declaration.modifiers if isinstance(clause.origin, EnumOrigin)]
        only = {clause: list(BOOK.enums[clause.origin.enum].members) for clause in clauses}  # type: ignore[union-attr]
        given = {fact: members[0] for clause, members in only.items() if len(members) == 1 for fact in clause.facts}
        for target in ("sm_100a", "sm_103a", "sm_90a", "sm_120a", "sm_80", "sm_75"):
            where = context(BOOK, target)
            spelled = legal_form(BOOK.under("ptx"), where, declaration, given)
            if spelled is not None:
                break
        assert spelled is not None, f"{declaration.name} {declaration.schema} is legal nowhere"
        one = sequence(BOOK.under("ptx"), Lowered(spelled, None, spelled.facts))
        assert one is not None
        found.setdefault(target, []).append(module(BOOK, where, [("NAME", [one], [])]))
    assert sum(map(len, found.values())) == len(declared) > 80
    for target, texts in found.items():
        said = assembled(target, joined(texts), tmp_path, quick=False)
        assert not said, [text for text in texts if assembled(target, joined([text]), tmp_path, quick=False)]


def test_an_atom_of_the_registry_that_has_no_facts_is_told_apart_from_a_misspelled_one():
    with pytest.raises(BadAtom, match="do not declare the parameters"):
        emit_atom(BOOK.under("ptx"), "!cute_nvgpu.smem_desc", context(BOOK, "sm_90a"))


def test_what_an_atom_without_a_declared_instruction_writes_is_an_output():
    atom = "!cute_nvgpu.atom.{}"
    text = emit_atom(BOOK.under("ptx"), atom.format("g2r<f32 copy_bits = 64>"), context(BOOK, "sm_80"), "inline_asm")
    assert ': "=r"(r0), "=r"(r1)\n  : "l"(l0)' in text
    text = emit_atom(
        BOOK.under("ptx"), atom.format("universal_fma<1x1x1, (f32, f32) -> f32>"), context(BOOK, "sm_80"), "llvm"
    )
    assert '"=f,0,f,f,~{memory}"' in text
    text = emit_atom(BOOK.under("ptx"), atom.format("g2r<f32 copy_bits = 64>"), context(BOOK, "sm_80"))
    assert "st.global.b32 [destination+4], r1;" in text
    assert "ld.global.b32 r0, [source" not in text
