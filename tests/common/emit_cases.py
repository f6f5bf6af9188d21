"""Copy and synchronisation atoms, and what their instructions say by the PTX ISA."""

from __future__ import annotations

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
