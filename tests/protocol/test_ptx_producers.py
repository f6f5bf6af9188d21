"""What kernels of ThunderKittens, DeepGEMM, FlashKDA, Mosaic GPU, Tilus and Mojo do, as small kernels of our own.

Each is right as it is written, and wrong where one thing of it is missing.
"""

# ruff: noqa: E501  lines of PTX

from __future__ import annotations

import pytest

import tileproof
from protocol.test_ptx_kernels import RING
from protocol.test_ptx_practices import HEAD, mistaken, verified

MAPPED = """  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
"""

# Both CTAs of a cluster copy a half to both. The initialisation is released by the barrier of the cluster alone
# (ThunderKittens); the barrier of a CTA is named by an address without the bit of the pair, though no pair copies (Mojo).
RELEASED = (
    HEAD.replace("sm_100a", "sm_90a")
    + """.visible .entry released(.param .align 64 .b8 map[128], .param .align 64 .b8 other[128])
.reqntid 32, 1, 1
.reqnctapercluster 2, 1, 1
{
  .reg .pred %p<5>; .reg .b16 %rs<2>; .reg .b32 %r<9>; .reg .b64 %rd<5>;
"""
    + MAPPED
    + """  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.u32 %r3, %cluster_ctarank;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2], 1;
INITIALISED:
  mov.b64 %rd3, other;
  cvta.param.u64 %rd4, %rd3;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  @%p1 bra FILLED;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 2048;
  mov.b16 %rs1, 3;
  shl.b32 %r4, %r3, 9;
  add.s32 %r4, %r4, 1024;
  add.s32 %r5, %r2, %r4;
  mov.b32 %r6, 0;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r5], [%rd2, {%r6, %r6}], [%r2], %rs1;
  and.b32 %r7, %r2, -16777344;
  add.s32 %r8, %r2, 2048;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r8], [%rd4, {%r6, %r6}], [%r7];
FILLED:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra FILLED;
  ld.shared.b32 %r3, [%r2+1024];
  ld.shared.b32 %r4, [%r2+1536];
  ld.shared.b32 %r5, [%r2+2048];
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
"""
)

# All threads arrive, and the elected one of them counts the bytes (Mosaic GPU).
ELECTED = (
    HEAD
    + """.visible .entry elected(.param .align 64 .b8 map[128])
.reqntid 128, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<9>; .reg .b64 %rd<5>;
"""
    + MAPPED
    + """  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  setp.eq.s32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r2], 128;
  fence.mbarrier_init.release.cluster;
  bar.sync 0;
  selp.b32 %r3, 512, 0, %p1;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], %r3;
  add.s32 %r4, %r2, 1024;
  mov.u64 %rd3, map;
  mov.b32 %r5, 512;
  @%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r4], [%rd3], %r5, [%r2];
FILLED:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra FILLED;
  ld.shared.b32 %r6, [%r4];
  ret;
}
"""
)

# Memory that threads have read is filled again, after a fence in one direction (PTX ISA, clusterlaunchcontrol.try_cancel).
ONE_WAY = (
    HEAD
    + """.visible .entry one_way(.param .align 64 .b8 map[128])
.reqntid 64, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<5>;
"""
    + MAPPED
    + """  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  add.s32 %r3, %r2, 8;
  add.s32 %r4, %r2, 1024;
  setp.eq.s32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
  @%p1 mbarrier.init.shared::cta.b64 [%r3], 32;
  fence.mbarrier_init.release.cluster;
  bar.sync 0;
  setp.lt.u32 %p2, %r1, 32;
  mov.b32 %r5, 0;
  mov.b32 %r6, 16;
  @!%p2 bra READ;
  setp.ne.s32 %p3, %r1, 0;
  @%p3 bra DONE;
ASK:
  setp.eq.s32 %p4, %r5, 0;
  @%p4 bra FREE;
EMPTY:
  mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r3], 0;
  @!%p5 bra EMPTY;
  fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
FREE:
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], %r6;
  clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r4], [%r2];
  add.s32 %r5, %r5, 1;
  setp.lt.s32 %p6, %r5, 2;
  @%p6 bra ASK;
  bra DONE;
READ:
  mbarrier.try_wait.parity.shared::cta.b64 %p7, [%r2], %r5;
  @!%p7 bra READ;
  ld.shared.b32 %r7, [%r4];
  fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;
  mbarrier.arrive.shared::cta.b64 _, [%r3];
  add.s32 %r5, %r5, 1;
  setp.lt.s32 %p8, %r5, 2;
  @%p8 bra READ;
DONE:
  ret;
}
"""
)

# One lane waits for what other warps do, and the rest of its warp waits for it at the barrier of the CTA (FlashKDA).
IN_PARTS = (
    HEAD
    + """.visible .entry in_parts()
.reqntid 96, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  setp.eq.s32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r2], 32;
  @%p1 mbarrier.init.shared::cta.b64 [%r2+8], 1;
  bar.sync 0;
  setp.ne.s32 %p2, %r1, 64;
  @%p2 bra LATER;
FIRST:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2], 0;
  @!%p3 bra FIRST;
  mbarrier.arrive.shared::cta.b64 _, [%r2+8];
LATER:
  setp.ge.u32 %p4, %r1, 32;
  @%p4 bra END;
  mbarrier.arrive.shared::cta.b64 _, [%r2];
SECOND:
  mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r2+8], 0;
  @!%p5 bra SECOND;
END:
  bar.sync 0;
  ret;
}
"""
)

# A stage counts what both CTAs of a pair copy; beside it lanes wait for one of their warp (DeepGEMM).
PAIRED = (
    HEAD
    + """.visible .entry paired(.param .align 64 .b8 map[128])
.reqntid 64, 1, 1
.reqnctapercluster 2, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<12>; .reg .b64 %rd<5>;
"""
    + MAPPED
    + """  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.u32 %r3, %cluster_ctarank;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2], 1;
  mbarrier.init.shared::cta.b64 [%r2+8], 32;
  fence.mbarrier_init.release.cluster;
INITIALISED:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  setp.ge.u32 %p2, %r1, 32;
  @%p2 bra READ;
  @%p1 bra MEET;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 1024;
  add.s32 %r5, %r2, 1024;
  mov.b32 %r6, 0;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r5], [%rd2, {%r6, %r6}], [%r2];
FREE:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2+8], 0;
  @!%p3 bra FREE;
MEET:
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2+16], 32;
  ld.shared.b32 %r8, [%r2+16];
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, 32;
  bra DONE;
READ:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r2], 0;
  @!%p4 bra READ;
  ld.shared.b32 %r7, [%r2+1024];
  mbarrier.arrive.shared::cta.b64 _, [%r2+8];
DONE:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
"""
)

# The first turn of a loop is released before it; of one without a turn that is all that arrives (ThunderKittens).
AHEAD = (
    HEAD
    + """.visible .entry ahead(.param .u32 tiles)
.reqntid 96, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<9>;
  ld.param.u32 %r4, [tiles];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  setp.eq.s32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r2], 64;
  @%p1 mbarrier.init.shared::cta.b64 [%r2+8], 32;
  bar.sync 0;
  setp.lt.u32 %p2, %r1, 32;
  mov.b32 %r3, 0;
  setp.lt.s32 %p5, %r4, 1;
  @%p2 bra WAIT;
  setp.ge.u32 %p3, %r1, 64;
  @%p3 bra SECOND;
  mbarrier.arrive.shared::cta.b64 _, [%r2];
  @%p5 bra END;
FIRST:
  and.b32 %r5, %r3, 1;
DRAINED:
  mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r2+8], %r5;
  @!%p6 bra DRAINED;
  mbarrier.arrive.shared::cta.b64 _, [%r2];
  add.s32 %r3, %r3, 1;
  setp.lt.s32 %p4, %r3, %r4;
  @%p4 bra FIRST;
  bra END;
SECOND:
  @%p5 bra END;
AGAIN:
  mbarrier.arrive.shared::cta.b64 _, [%r2];
  and.b32 %r5, %r3, 1;
EMPTY:
  mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r2+8], %r5;
  @!%p6 bra EMPTY;
  add.s32 %r3, %r3, 1;
  setp.lt.s32 %p4, %r3, %r4;
  @%p4 bra AGAIN;
  bra END;
WAIT:
  @%p5 bra END;
TILE:
  and.b32 %r5, %r3, 1;
PHASE:
  mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r2], %r5;
  @!%p6 bra PHASE;
  mbarrier.arrive.shared::cta.b64 _, [%r2+8];
  add.s32 %r3, %r3, 1;
  setp.lt.s32 %p7, %r3, %r4;
  @%p7 bra TILE;
END:
  bar.sync 0;
  ret;
}
"""
)

# Workers take one job after the other until they are told to end, and one of the jobs is as long as the number of the
# CTA (Triton, warp specialisation).
JOBS = (
    HEAD
    + """.visible .entry jobs()
.reqntid 64, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<9>;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.b32 %r3, smem;
  setp.eq.s32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r3], 32;
  @%p1 mbarrier.init.shared::cta.b64 [%r3+8], 32;
  bar.sync 0;
  mov.b32 %r4, 0;
  mov.b32 %r5, 0;
  setp.ge.u32 %p2, %r1, 32;
  @%p2 bra NEXT;
  st.shared.b8 [smem+64], 0;
  barrier.sync 1;
  barrier.sync 1;
  barrier.sync 1;
  barrier.sync 1;
  st.shared.b8 [smem+64], 1;
  barrier.sync 1;
  setp.lt.s32 %p3, %r2, 1;
  @%p3 bra LAST;
FILL:
  mbarrier.arrive.shared::cta.b64 _, [%r3];
  and.b32 %r6, %r4, 1;
DRAINED:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r3+8], %r6;
  @!%p4 bra DRAINED;
  add.s32 %r4, %r4, 1;
  setp.lt.s32 %p5, %r4, %r2;
  @%p5 bra FILL;
LAST:
  barrier.sync 1;
  bar.sync 0, 32;
  st.shared.b8 [smem+64], 2;
  barrier.sync 1;
  barrier.sync 0;
  ret;
NEXT:
  barrier.sync 1;
  ld.shared.b8 %r7, [smem+64];
  setp.eq.s32 %p6, %r7, 2;
  @%p6 bra END;
  setp.eq.s32 %p7, %r7, 0;
  @%p7 bra DONE;
  setp.lt.s32 %p3, %r2, 1;
  @%p3 bra DONE;
DRAIN:
  and.b32 %r6, %r5, 1;
FILLED:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r3], %r6;
  @!%p4 bra FILLED;
  mbarrier.arrive.shared::cta.b64 _, [%r3+8];
  add.s32 %r5, %r5, 1;
  setp.lt.s32 %p5, %r5, %r2;
  @%p5 bra DRAIN;
DONE:
  barrier.sync 1;
  bra NEXT;
END:
  barrier.sync 0;
  ret;
}
"""
)

# A kernel for at most eight queries, of one head dimension, as those of Mirage are: a thread for each query arrives.
LIMITED = (
    HEAD
    + """.visible .entry limited(.param .u32 queries, .param .u64 dimension)
.reqntid 32, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<9>; .reg .b64 %rd<5>;
  ld.param.u32 %r3, [queries];
  setp.gt.s32 %p1, %r3, 8;
  @%p1 ret;
  ld.param.u64 %rd1, [dimension];
  setp.ne.s64 %p1, %rd1, 576;
  @%p1 bra END;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2], %r3;
INITIALISED:
  bar.warp.sync -1;
  bar.sync 0;
  setp.lt.s32 %p2, %r1, %r3;
  @%p2 mbarrier.arrive.shared::cta.b64 _, [%r2];
  bar.warp.sync -1;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2], 0;
  @!%p3 bra WAIT;
END:
  ret;
}
"""
)

# The last tile has fewer rows, and the bytes that are expected are computed so (Mojo's gemv).
TAIL = RING.replace(
    "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], 4096;",
    """  sub.s32 %r17, %r4, %r5;
  min.s32 %r17, %r17, 2;
  shl.b32 %r18, %r17, 11;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], %r18;""",
)

# Four CTAs in two rows: each copies to those of its column and of its row, once these have read. Warps come to their
# roles one after the other: a CTA whose row and column are ahead must wait for the copies of those that are not.
MATES = (
    HEAD
    + """.visible .entry mates(.param .align 64 .b8 map[128], .param .u32 tiles)
.reqntid 64, 1, 1
.explicitcluster
.reqnctapercluster 4, 1, 1
{
  .reg .pred %p<9>; .reg .b16 %rs<5>; .reg .b32 %r<30>; .reg .b64 %rd<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  add.s32 %r3, %r2, 8192;
  ld.param.u32 %r4, [tiles];
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r3], 1;
  mbarrier.init.shared::cta.b64 [%r3+8], 3;
  fence.mbarrier_init.release.cluster;
INITIALISED:
  bar.warp.sync -1;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mov.u32 %r5, %cluster_ctarank;
  and.b32 %r6, %r5, 1;
  shr.u32 %r7, %r5, 1;
  mov.b32 %r8, 5;
  shl.b32 %r8, %r8, %r6;
  cvt.u16.u32 %rs1, %r8; // the CTAs of the column
  shl.b32 %r9, %r7, 1;
  mov.b32 %r10, 3;
  shl.b32 %r9, %r10, %r9;
  cvt.u16.u32 %rs2, %r9; // of the row
  shl.b32 %r10, %r7, 10;
  add.s32 %r10, %r2, %r10;
  shl.b32 %r11, %r6, 10;
  add.s32 %r11, %r2, %r11;
  add.s32 %r11, %r11, 2048;
  shr.u32 %r12, %r1, 5;
  shfl.sync.idx.b32 %r12, %r12, 0, 31, -1;
  setp.ne.s32 %p2, %r12, 0;
  @%p2 bra COPIED;
  mov.b32 %r13, 0;
  mov.b32 %r14, 1;
COPY:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3+8], %r14;
  @!%p3 bra COPY;
  elect.sync _|%p4, -1;
  @!%p4 bra NEXT;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 4096;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r10], [%rd2, {%r13, %r13}], [%r3], %rs1;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r11], [%rd2, {%r13, %r13}], [%r3], %rs2;
NEXT:
  bar.warp.sync -1;
  xor.b32 %r14, %r14, 1;
  add.s32 %r13, %r13, 1;
  setp.lt.s32 %p5, %r13, %r4;
  @%p5 bra COPY;
COPIED:
  setp.ne.s32 %p6, %r12, 1;
  @%p6 bra END;
  mov.b32 %r15, 0;
  mov.b32 %r16, 0;
  xor.b32 %r20, %r5, 1;
  mapa.shared::cluster.u32 %r17, %r3, %r20;
  xor.b32 %r20, %r5, 2;
  mapa.shared::cluster.u32 %r21, %r3, %r20;
READ:
  mbarrier.try_wait.parity.shared::cta.b64 %p7, [%r3], %r16;
  @!%p7 bra READ;
  and.b32 %r18, %r1, 31;
  shl.b32 %r18, %r18, 2;
  add.s32 %r18, %r2, %r18;
  ld.shared.b32 %r19, [%r18];
  ld.shared.b32 %r19, [%r18+2048];
  bar.warp.sync -1;
  elect.sync _|%p8, -1;
  @%p8 mbarrier.arrive.release.cluster.shared::cta.b64 _, [%r3+8];
  @%p8 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r17+8];
  @%p8 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r21+8];
  xor.b32 %r16, %r16, 1;
  add.s32 %r15, %r15, 1;
  setp.lt.s32 %p5, %r15, %r4;
  @%p5 bra READ;
END:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
"""
)

# A kernel for at most eight queries, which copies as many tiles to a stage as it is told: more than eight do not fit.
GROUPED = (
    HEAD
    + """.visible .entry grouped(.param .align 64 .b8 map[128], .param .u32 queries, .param .u32 group)
.reqntid 32, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<9>;
  ld.param.u32 %r3, [queries];
  setp.gt.s32 %p1, %r3, 8;
  @%p1 ret;
  ld.param.u32 %r4, [group];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  add.s32 %r5, %r2, 8192;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  setp.ne.s32 %p2, %r1, 0;
  @%p2 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r5], 1;
  mbarrier.init.shared::cta.b64 [%r5+8], 1;
  fence.mbarrier_init.release.cluster;
INITIALISED:
  bar.warp.sync -1;
  bar.sync 0;
  @%p2 bra COPIED;
  mov.b32 %r6, 0;
STAGE:
  shl.b32 %r7, %r6, 3;
  add.s32 %r7, %r5, %r7;
  shl.b32 %r8, %r4, 9;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], %r8;
  shl.b32 %r9, %r6, 12;
  add.s32 %r9, %r2, %r9;
  mov.b32 %r10, 0;
QUERY:
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%rd2, {%r6, %r10}], [%r7];
  add.s32 %r9, %r9, 512;
  add.s32 %r10, %r10, 1;
  setp.lt.s32 %p3, %r10, %r4;
  @%p3 bra QUERY;
  add.s32 %r6, %r6, 1;
  setp.lt.s32 %p4, %r6, 2;
  @%p4 bra STAGE;
COPIED:
  bar.warp.sync -1;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r5], 0;
  @!%p5 bra WAIT;
MORE:
  mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r5+8], 0;
  @!%p5 bra MORE;
  shl.b32 %r11, %r1, 4;
  add.s32 %r11, %r2, %r11;
  ld.shared.b32 %r12, [%r11];
  ld.shared.b32 %r12, [%r11+4096];
  ret;
}
"""
)

# One warp reads words, then issues a copy that another one expects and waits for; that one writes the words.
ISSUED = (
    HEAD
    + """.visible .entry issued(.param .u64 from)
.reqntid 64, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<9>; .reg .b64 %rd<5>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  ld.param.u64 %rd1, [from];
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2], 1;
INITIALISED:
  and.b32 %r3, %r1, 31;
  shl.b32 %r3, %r3, 2;
  add.s32 %r4, %r2, %r3;
  setp.ge.s32 %p2, %r1, 32;
  @!%p2 st.shared.b32 [%r4+1024], %r1;
  bar.sync 0;
  @%p2 bra WAIT;
  ld.shared.b32 %r5, [%r4+1024];
  setp.ne.s32 %p1, %r5, 0; // once all have read
  bar.warp.sync -1;
  @%p1 bra END;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r2+2048], [%rd1], 512, [%r2];
  bra END;
WAIT:
  setp.eq.s32 %p4, %r3, 0;
  @%p4 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512;
AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2], 0;
  @!%p3 bra AGAIN;
  st.shared.b32 [%r4+1024], %r1;
END:
  ret;
}
"""
)

# Barriers that each tile initialises again, one after the other.
AGAIN = (
    HEAD
    + """.visible .entry again(.param .u32 tiles)
.reqntid 32, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  ld.param.u32 %r3, [tiles];
  mov.b32 %r4, 0;
  setp.ne.s32 %p1, %r1, 0;
TILE:
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2], 32;
  mbarrier.init.shared::cta.b64 [%r2+8], 32;
  mbarrier.init.shared::cta.b64 [%r2+16], 32;
INITIALISED:
  bar.warp.sync -1;
  bar.sync 0;
  mbarrier.arrive.shared::cta.b64 _, [%r2];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra WAIT;
  bar.sync 0;
  add.s32 %r4, %r4, 1;
  setp.lt.s32 %p3, %r4, %r3;
  @%p3 bra TILE;
  ret;
}
"""
)

# A loop of so many turns that the text writes out, as those of kernels for one size are, and a store behind it.
WRITTEN_OUT = (
    RING.replace("%r5, %r4;", "%r5, 1400;")
    .replace("  ld.param.u32 %r4, [tiles];\n", "")
    .replace(
        "  @%p7 bra CONSUMER;\n", "  @%p7 bra CONSUMER;\n  st.shared.b32 [%r25+16384], %r26;\n  bar.warp.sync -1;\n"
    )
)

# A warp draws the number of the next tile by an atomic operation: it tells its lanes, and the other warp through shared
# memory. Both compute from it how often they meet, each in loops of its own (FlashAttention 3).
DRAWN = (
    HEAD
    + """.visible .entry drawn(.param .u64 counter, .param .u32 total)
.reqntid 64, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [counter];
  ld.param.u32 %r4, [total];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.u32 %r5, %ctaid.x;
  mov.b32 %r7, 0;
  setp.ne.s32 %p1, %r1, 0;
  setp.lt.u32 %p2, %r1, 32;
  setp.ne.s32 %p8, %r1, 32;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2+64], 64;
INITIALISED:
  bar.sync 0;
  mbarrier.arrive.shared::cta.b64 _, [%r2+64];
AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 %p7, [%r2+64], 0;
  @!%p7 bra AGAIN;
  setp.ge.s32 %p3, %r5, %r4;
  @%p3 bra END;
NEXT:
  and.b32 %r6, %r5, 3;
  add.s32 %r6, %r6, 4;
  @%p2 bra OTHER;
ONE:
  bar.sync 1, 64;
  add.s32 %r6, %r6, -1;
  setp.gt.s32 %p4, %r6, 0;
  @%p4 bra ONE;
  bra.uni DONE;
OTHER:
  bar.sync 1, 64;
  setp.lt.s32 %p5, %r6, 4;
  @%p5 bra FEW;
  bar.sync 1, 64;
  add.s32 %r6, %r6, -1;
FEW:
  add.s32 %r6, %r6, -1;
MORE:
  bar.sync 1, 64;
  add.s32 %r6, %r6, -1;
  setp.gt.s32 %p6, %r6, 0;
  @%p6 bra MORE;
DONE:
  @%p2 bra TOLD;
  @%p8 bra ASKED;
  atom.global.add.u32 %r7, [%rd1], 1;
  mov.u32 %r8, %nctaid.x;
  add.s32 %r7, %r7, %r8;
  st.shared.b32 [%r2], %r7;
ASKED:
  shfl.sync.idx.b32 %r5, %r7, 0, 31, -1;
TOLD:
  bar.sync 0;
  @!%p2 bra KNOWN;
  ld.shared.b32 %r5, [%r2];
KNOWN:
  bar.sync 0;
  setp.lt.s32 %p3, %r5, %r4;
  @%p3 bra NEXT;
END:
  ret;
}
"""
)

RIGHT = {
    "drawn": DRAWN,
    "tail": TAIL,
    "mates": MATES,
    "issued": ISSUED,
    "written out": WRITTEN_OUT,
    "limited": LIMITED,
    "released": RELEASED,
    "elected": ELECTED,
    "one way": ONE_WAY,
    "in parts": IN_PARTS,
    "paired": PAIRED,
    "ahead": AHEAD,
    "jobs": JOBS,
}

MISTAKES = {
    "the number of the next tile is read before it is written": (
        DRAWN,
        "  bar.sync 0;\n  @!%p2 bra KNOWN",
        "  @!%p2 bra KNOWN",
        {"PR116"},
    ),
    "released by a CTA more than read": (MATES, "[%r3+8], 3;", "[%r3+8], 4;", {"PR125"}),
    "the column is not told that all is read": (
        MATES,
        "  @%p8 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r21+8];\n",
        "",
        {"PR125"},
    ),
    "read behind the copy": (
        ISSUED.replace("  ld.shared.b32 %r5, [%r4+1024];\n", "  mov.b32 %r5, %r1;\n"),
        "[%rd1], 512, [%r2];\n",
        "[%rd1], 512, [%r2];\n  ld.shared.b32 %r5, [%r4+1024];\n",
        {"PR116"},
    ),
    "a stage that is not freed in a late turn": (
        WRITTEN_OUT,
        "mbarrier.arrive.shared::cta.b64 _, [%r21+16];",
        "setp.eq.s32 %p8, %r5, 1300;\n  @!%p8 mbarrier.arrive.shared::cta.b64 _, [%r21+16];",
        {"PR126"},
    ),
    "a thread fewer than queries arrives": (
        LIMITED,
        "setp.lt.s32 %p2, %r1, %r3;",
        "setp.lt.s32 %p2, %r1, 7;",
        {"PR125"},
    ),
    "a barrier of the cluster that does not release": (RELEASED, "arrive.release", "arrive.relaxed", {"PR123"}),
    "more bytes than the copy has": (ELECTED, "%r3, 512", "%r3, 528", {"PR124"}),
    "each thread counts the bytes": (ELECTED, "selp.b32 %r3, 512, 0, %p1", "mov.b32 %r3, 512", {"PR124"}),
    "no fence after the read": (
        ONE_WAY.replace("  fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;\n", ""),
        "  fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;\n",
        "",
        {"PR110"},
    ),
    "an arrival fewer before the barrier of the CTA": (IN_PARTS, "[%r2], 32;", "[%r2], 33;", {"PR125"}),
    "a job whose arrivals are fewer than those counted": (JOBS, "[%r3+8], 32;", "[%r3+8], 33;", {"PR125"}),
    "more arrivals counted than come": (AHEAD, "[%r2], 64;", "[%r2], 96;", {"PR125"}),
    "freed by fewer threads than it counts": (PAIRED, "[%r2+8], 32;", "[%r2+8], 33;", {"PR125"}),
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_what_kernels_do_is_right(text: str):
    verified(text)


@pytest.mark.parametrize("name", MISTAKES)
def test_one_mistake_in_it_is_found(name: str):
    mistaken(*MISTAKES[name])


def test_a_phase_is_not_begun_where_all_threads_go_past_the_loops_that_complete_it():
    few = AHEAD.replace("  mov.u32 %r1, %tid.x;", "  shr.s32 %r4, %r4, 24;\n  mov.u32 %r1, %tid.x;")
    assert {one.code for one in tileproof.check(few).diagnostics} <= {"PR190"}


def test_nothing_waits_for_ever_for_a_copy_that_may_complete_anywhere():
    placed = "mbarrier::complete_tx::bytes [%r4], [%rd3], %r5, [%r2]"
    assert placed in ELECTED
    somewhere = ELECTED.replace(placed, placed.replace("[%r2]", "[%r7]"))
    report = tileproof.check(somewhere.replace("  bar.sync 0;", "  ld.global.b32 %r7, [%rd3];\n  bar.sync 0;", 1))
    assert {one.code for one in report.diagnostics} == {"PR190"}
    assert "copy_barrier" in {one.case for one in report.files[0].kernels[0].reasons}


def test_a_store_that_nothing_waits_for_is_found_beside_another_warning():
    stored = RELEASED.replace(
        "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n  ret;",
        """  @%p1 bra LAST;
  fence.proxy.async.shared::cta;
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {%r6, %r6}], [%r2+1024];
  cp.async.bulk.commit_group;
LAST:
  @!%p1 bra OTHERS;
  cp.async.bulk.wait_group.read 0;
OTHERS:
  barrier.cluster.arrive.aligned;
  ret;""",
    )
    assert {one.code for one in tileproof.check(stored).diagnostics} == {"PR107", "PR134"}


# The second warp arrives at the barrier of the cluster and has nothing else to do (ThunderKittens, GEMMs of sm_100a).
LEAVING = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry leaving()
.reqntid 64, 1, 1
.explicitcluster
.reqnctapercluster 2, 1, 1
{
  .reg .pred %p<4>; .reg .b32 %r<8>;
  .shared .align 8 .b64 bar;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, bar;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra ARRIVE;
  mbarrier.init.shared::cta.b64 [%r2], 2;
  fence.mbarrier_init.release.cluster;
ARRIVE:
  barrier.cluster.arrive.release.aligned;
  setp.ge.u32 %p2, %r1, 32;
  @%p2 bra LEAVE;
  barrier.cluster.wait.acquire;
  @%p1 ret;
  mov.b32 %r3, 0;
  mapa.shared::cluster.u32 %r4, %r2, %r3;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];
  mov.b32 %r3, 1;
  mapa.shared::cluster.u32 %r4, %r2, %r3;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r2], 0;
  @!%p3 bra WAIT;
  ret;
LEAVE:
  ret;
}
"""


@pytest.mark.parametrize(
    ("edits", "codes"),
    [
        ([], set()),
        ([("LEAVE:\n", "LEAVE:\n  mbarrier.test_wait.parity.shared::cta.b64 %p3, [%r2], 0;\n")], {"PR134"}),
        ([("  barrier.cluster.wait.acquire;\n", "  ret;\n")], {"PR134"}),
    ],
    ids=["nothing", "something", "nobody waits"],
)
def test_threads_that_have_nothing_to_do_need_no_cluster_wait_of_their_own(
    edits: list[tuple[str, str]], codes: set[str]
):
    text = LEAVING
    for before, after in edits:
        assert text.count(before) == 1
        text = text.replace(before, after)
    assert codes <= {one.code for one in tileproof.check(text).diagnostics}
    assert codes or not tileproof.check(text).diagnostics


def test_barriers_that_are_initialised_again_together_are_one_finding():
    first, *others = [one for one in tileproof.check(AGAIN).diagnostics if one.code == "PR129"]
    assert first.message.startswith("barrier full[0] of ring 'smem' (3 stages) is initialised again")
    assert others == []
    apart = AGAIN.replace(
        "  mbarrier.init.shared::cta.b64 [%r2+8], 32;",
        "  fence.proxy.async;\n  mbarrier.init.shared::cta.b64 [%r2+8], 32;",
    )
    assert [one.code for one in tileproof.check(apart).diagnostics].count("PR129") == 2


@pytest.mark.parametrize(
    "load",
    ["ld.global.nc.L2::cache_hint.u32 %r4, [%rd4], %rd5;", "ld.param::entry.u32 %r4, [tiles];"],
    ids=["a cache policy", "a parameter of an entry"],
)
def test_integers_are_followed_however_they_are_loaded(load: str):
    plain = "ld.global.u32 %r4, [%rd4];" if "global" in load else "ld.param.u32 %r4, [tiles];"
    kernel = RING.replace(".param .u32 tiles)", ".param .u32 tiles, .param .u64 from)").replace(
        "  ld.param.u32 %r4, [tiles];\n",
        f"  ld.param.u64 %rd4, [from];\n  createpolicy.fractional.L2::evict_last.b64 %rd5;\n  {load}\n"
        "  setp.lt.s32 %p8, %r4, 3;\n  @%p8 bra END;\n",
    )
    known, usual = (tileproof.check(one).files[0] for one in (kernel, kernel.replace(load, plain)))
    assert [one.executed for one in known.kernels] == [one.executed for one in usual.kernels] == [12]
    assert [one.reasons for one in known.kernels] == [one.reasons for one in usual.kernels]


def test_more_copies_than_a_stage_holds_rest_on_the_number_that_a_kernel_is_told():
    (kernel,) = tileproof.check(GROUPED).files[0].kernels
    assert kernel.executed == kernel.steps
    assert {one.case for one in kernel.reasons} == {"loop_turns"}
    early = GROUPED.replace("MORE:\n", "  bra READ;\nMORE:\n").replace(
        "  shl.b32 %r11, %r1, 4;", "READ:\n  shl.b32 %r11, %r1, 4;"
    )
    assert {one.code for one in tileproof.check(early).diagnostics} >= {"PR111"}
