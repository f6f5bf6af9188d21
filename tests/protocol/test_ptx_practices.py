"""What kernels in PTX rely on: right as it is written, wrong where one thing of it is missing."""

# ruff: noqa: E501  lines of PTX

from __future__ import annotations

import pytest

import tileproof

HEAD = """.version 8.7
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
"""

# The second warp ends before the barriers, which wait for the threads that are left.
ENDED = (
    HEAD
    + """.visible .entry ended()
.reqntid 64, 1, 1
.reqnctapercluster 2, 1, 1
{
  .reg .pred %p<3>; .reg .b32 %r<3>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  setp.ne.s32 %p2, %r1, 0;
  @!%p2 mbarrier.init.shared::cta.b64 [%r2], 64;
  bar.sync 0;
  mbarrier.arrive.shared::cta.b64 _, [%r2];
  setp.ge.u32 %p1, %r1, 32;
  @%p1 bra END;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  bar.sync 0; // of those that are left
END:
  ret;
}
"""
)

# A warpgroup waits for its wgmma, and one of its threads fills the memory again.
REFILLED = (
    HEAD.replace("sm_100a", "sm_90a")
    + """.visible .entry refilled(.param .align 64 .b8 map[128], .param .u32 tiles)
.reqntid 128, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<5>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.b32 %r3, 0;
  ld.param.u32 %r4, [tiles];
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2+8192], 1;
  fence.mbarrier_init.release.cluster;
INITIALISED:
  bar.sync 0;
  shr.u32 %r5, %r2, 4;
  and.b32 %r6, %r5, 16383;
  cvt.u64.u32 %rd3, %r6;
  or.b64 %rd4, %rd3, 0x4000004000010000;
NEXT:
  @%p1 bra FILLED;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+8192], 4096;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2, {%r3, %r3}], [%r2+8192];
FILLED:
  and.b32 %r7, %r3, 1;
AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2+8192], %r7;
  @!%p2 bra AGAIN;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd4, %rd4, 0, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  add.s32 %r3, %r3, 1;
  setp.lt.s32 %p3, %r3, %r4;
  @%p3 bra NEXT;
  wgmma.wait_group.sync.aligned 0;
  ret;
}
"""
)

# One warp stores a tile and comes later than its warpgroup, which releases what the wgmma of all four read by one arrival
# (FlashAttention 3).
BEHIND = (
    HEAD.replace("sm_100a", "sm_90a")
    + """.visible .entry behind(.param .align 64 .b8 map[128], .param .u64 to, .param .u32 tiles)
.reqntid 160, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .f32 %f<5>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.b32 %r3, 0;
  ld.param.u32 %r4, [tiles];
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  ld.param.u64 %rd5, [to];
  setp.eq.s32 %p8, %r1, 96;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2+8192], 1;
  mbarrier.init.shared::cta.b64 [%r2+8200], 1;
  mbarrier.init.shared::cta.b64 [%r2+8208], 1;
  mbarrier.init.shared::cta.b64 [%r2+8216], 1;
  fence.mbarrier_init.release.cluster;
INITIALISED:
  bar.sync 0;
  shr.u32 %r5, %r1, 5;
  shfl.sync.idx.b32 %r6, %r5, 0, 31, -1;
  setp.lt.u32 %p2, %r6, 4;
  @%p2 bra MULTIPLY;
LOAD:
  elect.sync _|%p5, -1;
  @!%p5 bra END;
FILL:
  and.b32 %r7, %r3, 1;
  shl.b32 %r8, %r7, 3;
  add.s32 %r9, %r2, %r8;
  shr.u32 %r10, %r3, 1;
  and.b32 %r11, %r10, 1;
  xor.b32 %r12, %r11, 1;
EMPTY:
  mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r9+8208], %r12;
  @!%p6 bra EMPTY;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9+8192], 4096;
  shl.b32 %r13, %r7, 12;
  add.s32 %r14, %r2, %r13;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r14], [%rd2, {%r3, %r3}], [%r9+8192];
  add.s32 %r3, %r3, 1;
  setp.lt.s32 %p4, %r3, %r4;
  @%p4 bra FILL;
  bra.uni END;
MULTIPLY:
  and.b32 %r7, %r3, 1;
  shl.b32 %r8, %r7, 3;
  add.s32 %r9, %r2, %r8;
  shr.u32 %r10, %r3, 1;
  and.b32 %r11, %r10, 1;
FULL:
  mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r9+8192], %r11;
  @!%p6 bra FULL;
  shl.b32 %r13, %r7, 12;
  add.s32 %r14, %r2, %r13;
  shr.u32 %r15, %r14, 4;
  and.b32 %r16, %r15, 16383;
  cvt.u64.u32 %rd3, %r16;
  or.b64 %rd4, %rd3, 0x4000004000010000;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd4, %rd4, 0, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  @%p1 bra RELEASED;
  mbarrier.arrive.shared::cta.b64 _, [%r9+8208];
RELEASED:
  setp.ne.u32 %p7, %r6, 3;
  @%p7 bra GIVEN;
  bar.sync 1, 128;
  @%p8 cp.async.bulk.global.shared::cta.bulk_group [%rd5], [%r2+9216], 2048;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  bra.uni STORED;
GIVEN:
  bar.arrive 1, 128;
STORED:
  add.s32 %r3, %r3, 1;
  setp.lt.s32 %p4, %r3, %r4;
  @%p4 bra MULTIPLY;
END:
  ret;
}
"""
)

# Two warpgroups write a half of a tile each, and one thread of each stores it.
HALVES = (
    HEAD
    + """.visible .entry halves(.param .align 64 .b8 map[128])
.reqntid 256, 1, 1
{
  .reg .pred %p<3>; .reg .b32 %r<12>; .reg .b64 %rd<3>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  shr.u32 %r3, %r1, 7;
  shl.b32 %r4, %r3, 11;
  add.s32 %r5, %r2, %r4;
  and.b32 %r6, %r1, 127;
  shl.b32 %r7, %r6, 4;
  add.s32 %r8, %r5, %r7;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  st.shared.v4.b32 [%r8], {%r1, %r1, %r1, %r1};
  fence.proxy.async.shared::cta;
  add.s32 %r9, %r3, 1;
  bar.sync %r9, 128;
  setp.ne.s32 %p1, %r6, 0;
  @%p1 bra END;
  cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {%r4, %r4}], [%r5];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
END:
  ret;
}
"""
)

# Four of eight warps each store a tile of their own, which they write in two pieces; one of two places in turn.
OWN_TILES = (
    HEAD
    + """.visible .entry own_tiles(.param .align 64 .b8 map[128])
.reqntid 256, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<14>; .reg .b64 %rd<3>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  shr.u32 %r3, %r1, 5;
  and.b32 %r6, %r1, 31;
  setp.ge.u32 %p1, %r3, 4;
  setp.ne.s32 %p2, %r6, 0;
  shl.b32 %r4, %r3, 10;
  add.s32 %r5, %r2, %r4;
  shl.b32 %r7, %r6, 4;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  mov.b32 %r10, 0;
  @%p1 bra END;
TURN:
  and.b32 %r11, %r10, 1;
  shl.b32 %r12, %r11, 9;
  add.s32 %r9, %r5, %r12;
  add.s32 %r8, %r9, %r7;
  @%p2 bra FREE;
  cp.async.bulk.wait_group.read 1;
FREE:
  bar.warp.sync -1;
  st.shared.v2.b32 [%r8], {%r1, %r1};
  st.shared.v2.b32 [%r8+8], {%r1, %r1};
  fence.proxy.async.shared::cta;
  bar.warp.sync -1;
  @%p2 bra STORED;
  setp.eq.s32 %p3, %r11, 2;
  @%p3 bra COMMIT;
  cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {%r4, %r10}], [%r9];
COMMIT:
  cp.async.bulk.commit_group;
STORED:
  add.s32 %r10, %r10, 1;
  setp.lt.s32 %p4, %r10, 6;
  @%p4 bra TURN;
  @%p2 bra END;
  cp.async.bulk.wait_group.read 0;
END:
  ret;
}
"""
)

# One CTA of a pair has a barrier, and counts there what a copy brings to both.
COUNTED_BY_ONE = (
    HEAD
    + """.visible .entry counted_by_one(.param .align 64 .b8 map[128])
.reqntid 32, 1, 1
.reqnctapercluster 2, 1, 1
{
  .reg .pred %p<5>; .reg .b16 %rs<2>; .reg .b32 %r<9>; .reg .b64 %rd<3>;
  mov.b32 %r2, smem;
  mov.u32 %r3, %cluster_ctarank;
  mov.u32 %r1, %tid.x;
  or.b32 %r4, %r1, %r3;
  setp.ne.s32 %p1, %r4, 0;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2+8192], 1;
  fence.mbarrier_init.release.cluster;
INITIALISED:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @%p1 bra END;
  mov.b32 %r5, 0;
  mapa.shared::cluster.u32 %r6, %r2, %r5;
  mov.b16 %rs1, 3;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+8192], 4096;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2.multicast::cluster [%r2], [%rd2, {%r5, %r5}], [%r6+8192], %rs1;
AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2+8192], 0;
  @!%p2 bra AGAIN;
END:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
"""
)

# Consumers arrive for all phases, also for the one that the producer no longer waits for.
ONE_MORE = (
    HEAD
    + """.visible .entry one_more()
.reqntid 64, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<4>; .reg .b64 %rd<3>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2], 33;
INITIALISED:
  bar.sync 0;
  setp.lt.u32 %p2, %r1, 32;
  @%p2 bra CONSUMER;
  setp.ne.s32 %p3, %r1, 32;
  @%p3 bra END;
  mbarrier.arrive.shared::cta.b64 _, [%r2];
AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r2], 0;
  @!%p4 bra AGAIN;
  bra.uni END;
CONSUMER:
  mbarrier.arrive.shared::cta.b64 _, [%r2];
BEFORE:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r2], 0;
  @!%p4 bra BEFORE;
  mbarrier.arrive.shared::cta.b64 _, [%r2];
END:
  ret;
}
"""
)

# A thread arrives at the barrier of the other CTA; nothing but the barrier of the cluster follows the initialisation.
REMOTE = (
    HEAD
    + """.visible .entry remote()
.reqntid 32, 1, 1
.reqnctapercluster 2, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.u32 %r3, %cluster_ctarank;
  xor.b32 %r4, %r3, 1;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2], 1;
INITIALISED:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mapa.shared::cluster.u32 %r5, %r2, %r4;
  @%p1 bra AGAIN;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];
AGAIN:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra AGAIN;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
"""
)

# Each CTA sends to the other one of its pair, whose address differs in one bit. The text does not say the cluster.
CROSSED = (
    HEAD
    + """.visible .entry crossed(.param .u64 to)
.reqntid 32, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<9>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2], 1;
  fence.mbarrier_init.release.cluster;
INITIALISED:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @%p1 bra AGAIN;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 8;
  xor.b32 %r3, %r2, 16777216;
  add.s32 %r4, %r2, 64;
  xor.b32 %r5, %r4, 16777216;
  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r5], %rd1, [%r3];
AGAIN:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra AGAIN;
  ld.shared.b64 %rd2, [%r2+64];
  st.global.b64 [%rd1], %rd2;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
"""
)

# Of what a barrier expects a copy brings the half, and a thread counts the half that it leaves out.
COUNTED_AS_COPIED = (
    HEAD
    + """.visible .entry counted(.param .u64 from)
.reqntid 32, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<5>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [from];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2], 1;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 64;
  add.s32 %r3, %r2, 64;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 32, [%r2];
  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r2], 32;
INITIALISED:
  bar.sync 0;
AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra AGAIN;
  ld.shared.b64 %rd2, [%r2+64];
  st.global.b64 [%rd1], %rd2;
  ret;
}
"""
)

# The warps of two warpgroups write 16 lanes each of the quarters that they share, the first one apart from the others.
SIXTEEN = (
    HEAD
    + """.visible .entry sixteen()
.reqntid 256, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<30>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  shr.u32 %r3, %r1, 5;
  shfl.sync.idx.b32 %r4, %r3, 0, 31, -1;
  setp.ne.s32 %p1, %r4, 0;
  @%p1 bra ALLOCATED;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 32;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ALLOCATED:
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %r5, [%r2];
  shl.b32 %r6, %r4, 21;
  and.b32 %r7, %r6, 6291456;
  add.s32 %r8, %r5, %r7;
  and.b32 %r9, %r4, 4;
  shl.b32 %r10, %r9, 18;
  add.s32 %r11, %r8, %r10;
  @%p1 bra OTHERS;
  tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%r11], 16, {%r1};
  tcgen05.wait::st.sync.aligned;
  bra.uni WRITTEN;
OTHERS:
  tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%r11], 16, {%r1};
  tcgen05.wait::st.sync.aligned;
WRITTEN:
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  @%p1 bra END;
  tcgen05.fence::after_thread_sync;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 32;
END:
  ret;
}
"""
)

# The same by copies through a tensor map, whose box nothing says: place and barrier are those of the other CTA.
COPIED_ACROSS = (
    CROSSED.replace("crossed(.param .u64 to)", "across(.param .u64 to, .param .align 64 .b8 map[128])")
    .replace(
        "  ld.param.u64 %rd1, [to];\n",
        "  ld.param.u64 %rd1, [to];\n  mov.b64 %rd3, map;\n  cvta.param.u64 %rd4, %rd3;\n",
    )
    .replace("_, [%r2], 8;", "_, [%r2], 16;")
    .replace("add.s32 %r4, %r2, 64;", "add.s32 %r4, %r2, 128;")
    .replace("[%r2+64]", "[%r2+128]")
    .replace(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r5], %rd1, [%r3];",
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%rd4, {%r1}], [%r3];",
    )
)

# How many bytes are left out the caller says: as many as are expected besides.
PARAMETER = (
    COUNTED_AS_COPIED.replace(".param .u64 from)", ".param .u64 from, .param .u32 rest)")
    .replace("  mov.u32 %r1, %tid.x;", "  ld.param.u32 %r4, [rest];\n  or.b32 %r4, %r4, 8;\n  mov.u32 %r1, %tid.x;")
    .replace("_, [%r2], 64;", "_, [%r2], 32;\n  mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r2], %r4;")
    .replace("cta.b64 [%r2], 32;\nINIT", "cta.b64 [%r2], %r4;\nINIT")
)

# Of two tiles one warp fills both stages of a ring in each turn of its loop, and the other one takes one stage in each.
UNROLLED = (
    HEAD
    + """.visible .entry unrolled()
.reqntid 64, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<12>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r2], 32;
  mbarrier.init.shared::cta.b64 [%r2+8], 32;
  mbarrier.init.shared::cta.b64 [%r2+16], 32;
  mbarrier.init.shared::cta.b64 [%r2+24], 32;
INITIALISED:
  bar.sync 0;
  mov.b32 %r3, 0;
  mov.b32 %r11, 0;
TILE:
  mov.b32 %r4, %r11;
  setp.ge.u32 %p2, %r1, 32;
  @%p2 bra TAKE;
FILL:
  add.s32 %r10, %r11, 36;
  shr.u32 %r5, %r4, 1;
  and.b32 %r6, %r5, 1;
  xor.b32 %r7, %r6, 1;
EMPTY:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2+16], %r7;
  @!%p3 bra EMPTY;
  mbarrier.arrive.shared::cta.b64 _, [%r2];
OTHER:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r2+24], %r7;
  @!%p4 bra OTHER;
  mbarrier.arrive.shared::cta.b64 _, [%r2+8];
  add.s32 %r4, %r4, 2;
  setp.ne.s32 %p5, %r4, %r10;
  @%p5 bra FILL;
  bra.uni DONE;
TAKE:
  add.s32 %r10, %r11, 36;
  shr.u32 %r5, %r4, 1;
  and.b32 %r6, %r5, 1;
  and.b32 %r7, %r4, 1;
  shl.b32 %r8, %r7, 3;
  add.s32 %r9, %r2, %r8;
FULL:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], %r6;
  @!%p3 bra FULL;
  mbarrier.arrive.shared::cta.b64 _, [%r9+16];
  add.s32 %r4, %r4, 1;
  setp.ne.s32 %p5, %r4, %r10;
  @%p5 bra TAKE;
DONE:
  mov.b32 %r11, %r10;
  add.s32 %r3, %r3, 1;
  setp.lt.u32 %p6, %r3, 2;
  @%p6 bra TILE;
  ret;
}
"""
)

# A warp waits for its bulk store alone, and falls behind: its warpgroup has its wgmma in common all the same, and what one
# of the warps has waited for none of them reads any more.
REUSED = (
    HEAD.replace("sm_100a", "sm_90a")
    + """.visible .entry reused(.param .u64 to, .param .u32 tiles)
.reqntid 128, 1, 1
{
  .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  shl.b32 %r3, %r1, 4;
  add.s32 %r3, %r2, %r3;
  mov.b32 %r4, 0;
  ld.param.u32 %r5, [tiles];
  ld.param.u64 %rd1, [to];
  setp.ge.u32 %p1, %r1, 32;
  setp.eq.u32 %p2, %r1, 0;
  shr.u32 %r6, %r2, 4;
  and.b32 %r6, %r6, 16383;
  cvt.u64.u32 %rd2, %r6;
  or.b64 %rd3, %rd2, 0x4000004000010000;
  add.s64 %rd4, %rd3, 256;
  st.shared.v4.b32 [%r3], {%r1, %r1, %r1, %r1};
  st.shared.v4.b32 [%r3+4096], {%r1, %r1, %r1, %r1};
  st.shared.v4.b32 [%r3+8192], {%r1, %r1, %r1, %r1};
NEXT:
  fence.proxy.async.shared::cta;
  bar.sync 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd3, %rd3, 0, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  @%p1 bra STORED;
  @%p2 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2+8192], 2048;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
STORED:
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f5, %f6, %f7, %f8}, %rd4, %rd4, 0, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  st.shared.v4.b32 [%r3], {%r1, %r1, %r1, %r1};
  add.s32 %r4, %r4, 1;
  setp.lt.s32 %p3, %r4, %r5;
  @%p3 bra NEXT;
  ret;
}
"""
)

# A thread leaves an address of tensor memory for others, and later an integer in its place.
HANDED = (
    HEAD
    + """.visible .entry handed()
.reqntid 256, 1, 1
{
  .reg .pred %p<4>; .reg .b32 %r<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  setp.ge.u32 %p1, %r1, 32;
  setp.ge.u32 %p2, %r1, 128;
  setp.ne.u32 %p3, %r1, 0;
  @!%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 64;
  @!%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
  bar.sync 0;
  ld.shared.b32 %r3, [%r2];
  @%p3 bra GIVEN;
  add.s32 %r4, %r3, 32;
  st.shared.b32 [%r2+16], %r4;
GIVEN:
  bar.sync 0;
  @%p2 bra TAKEN;
  ld.shared.b32 %r5, [%r2+16];
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r5], {%r1};
  tcgen05.wait::st.sync.aligned;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r6}, [%r5];
  tcgen05.wait::ld.sync.aligned;
TAKEN:
  bar.sync 0;
  @!%p3 st.shared.b32 [%r2+16], %r1;
  bar.sync 0;
  ld.shared.b32 %r7, [%r2+16];
  st.shared.b32 [%r2+64], %r7;
  @!%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 64;
  ret;
}
"""
)

# The address stands among others, all of which are loaded at once.
AMONG_OTHERS = HANDED.replace("%r<9>", "%r<12>").replace(
    "  ld.shared.b32 %r3, [%r2];\n", "  ld.shared.v4.b32 {%r3, %r9, %r10, %r11}, [%r2];\n"
)

# All threads of a CTA arrive, and one warp waits for them: it comes to the barrier a second time (Colfax's tutorial).
TWICE = (
    HEAD
    + """.visible .entry twice(.param .align 64 .b8 map[128])
.reqntid 64, 1, 1
{
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<3>;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  shl.b32 %r3, %r1, 4;
  add.s32 %r4, %r2, %r3;
  st.shared.v4.b32 [%r4], {%r1, %r1, %r1, %r1};
  fence.proxy.async.shared::cta;
  bar.arrive 1, 96;
  setp.gt.u32 %p1, %r1, 31;
  @%p1 bra END;
  bar.sync 1, 96;
  setp.ne.s32 %p2, %r1, 0;
  @%p2 bra END;
  mov.b32 %r5, 0;
  cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {%r5, %r5}], [%r2];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
END:
  ret;
}
"""
)

# A CTA writes shared memory of the other one and arrives there: relaxed, behind a fence with the scope of the cluster.
RELAXED = (
    HEAD
    + """.visible .entry relaxed(.param .u64 out)
.reqntid 32, 1, 1
.reqnctapercluster 2, 1, 1
{
  .reg .pred %p<4>; .reg .b32 %r<10>; .reg .b64 %rd<3>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  setp.ne.s32 %p1, %r1, 0;
  @!%p1 mbarrier.init.shared::cta.b64 [%r2], 32;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mov.u32 %r3, %cluster_ctarank;
  xor.b32 %r4, %r3, 1;
  mapa.shared::cluster.u32 %r5, %r2, %r4;
  shl.b32 %r6, %r1, 2;
  add.s32 %r7, %r5, %r6;
  st.shared::cluster.b32 [%r7+64], %r1;
  fence.acq_rel.cluster;
  mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r5];
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra WAIT;
  xor.b32 %r8, %r6, 64;
  add.s32 %r8, %r2, %r8;
  ld.shared.b32 %r9, [%r8+64];
  ld.param.u64 %rd1, [out];
  st.global.b32 [%rd1], %r9;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
"""
)

# All threads count in one word of shared memory, which threads set to zero before and read afterwards.
ATOMIC = (
    HEAD
    + """.visible .entry atomic(.param .u64 out)
.reqntid 128, 1, 1
{
  .reg .b32 %r<10>; .reg .b64 %rd<3>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.b32 %r3, 0;
  st.shared.b32 [%r2], %r3;
  bar.sync 0;
  red.shared.add.u32 [%r2], %r1;
  atom.shared::cta.max.u32 %r4, [%r2], %r1;
  barrier.sync 0;
  ld.shared.b32 %r5, [%r2];
  ld.param.u64 %rd1, [out];
  st.global.b32 [%rd1], %r5;
  cp.async.commit_group;
  cp.async.wait_group 0;
  ret;
}
"""
)

# A strong read of such a word is in no data race with the atomic operations: a poll, which may read any of the numbers.
POLLED = ATOMIC.replace("  barrier.sync 0;\n", "").replace("ld.shared", "ld.volatile.shared")

# The second warp counts after others polled, which is no race, and then clears the word, which waits for them.
CLEARED = ATOMIC.replace(".b32 %r<10>;", ".pred %p1; .reg .b32 %r<10>;").replace(
    "  red.shared.add.u32 [%r2], %r1;\n  atom.shared::cta.max.u32 %r4, [%r2], %r1;\n  barrier.sync 0;\n"
    "  ld.shared.b32 %r5, [%r2];\n",
    "  ld.volatile.shared.b32 %r5, [%r2];\n  setp.ne.u32 %p1, %r1, 32;\n  @%p1 bra MEET;\n"
    "  red.shared.add.u32 [%r2], %r1;\n  bra CLEAR;\nMEET:\n  barrier.sync 1, 128;\n  bra DONE;\n"
    "CLEAR:\n  barrier.sync 1, 128;\n  st.shared.b32 [%r2], %r3;\nDONE:\n",
)

# The text, what is replaced in it and by what, and what is found then.
# The other warp loads which tile is next, and whether there is one; a vector register holds both.
TOLD = (
    HEAD
    + """.visible .entry told(.param .u32 tiles, .param .u64 to)
.reqntid 64, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<12>; .reg .b64 %rd<3>;
  .reg .v4 .s32 work; .reg .v2 .b32 next<2>;
  ld.param.u32 %r1, [tiles];
  ld.param.u64 %rd1, [to];
  mov.u32 %r2, %tid.x;
  mov.b32 %r3, smem;
  setp.ne.s32 %p1, %r2, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r3], 1;
  mbarrier.init.shared::cta.b64 [%r3+8], 32;
  fence.mbarrier_init.release.cluster;
INITIALISED:
  bar.sync 0;
  mov.b32 %r4, 0;
  mov.b32 next0.x, %r1;
  setp.ge.u32 %p2, %r2, 32;
  @%p2 bra TAKE;
  @%p1 bra END;
  mov.b32 next1.x, 1;
TELL:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3+8], next1.x;
  @!%p3 bra TELL;
  xor.b32 next1.r, next1.x, 1;
  sub.s32 next0.x, next0.x, 1;
  mov.s32 work.x, next0.x;
  mov.s32 work.y, 0;
  mov.s32 work.b, 0;
  setp.gt.s32 %p4, next0.r, 0;
  selp.b32 work.a, 1, 0, %p4;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 16;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.s32 [%r3+64], work, [%r3];
  @%p4 bra TELL;
  bra END;
TAKE:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3], %r4;
  @!%p3 bra TAKE;
  ld.shared.v4.b32 {%r5, %r6, %r7, %r8}, [%r3+64];
  mbarrier.arrive.shared::cta.b64 _, [%r3+8];
  xor.b32 %r4, %r4, 1;
  st.global.b32 [%rd1], %r5;
  setp.ne.s32 %p4, %r8, 0;
  @%p4 bra TAKE;
END:
  ret;
}
"""
)

# A counter in global memory hands out the tiles, which two warps take in turns until each is told that there are none.
COUNTED_OUT = (
    HEAD
    + """.visible .entry counted_out(.param .u32 tiles, .param .u64 to)
.reqntid 96, 1, 1
{
  .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b64 %rd<3>;
  ld.param.u32 %r1, [tiles];
  ld.param.u64 %rd1, [to];
  mov.u32 %r2, %tid.x;
  mov.b32 %r3, smem;
  setp.ne.s32 %p1, %r2, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r3], 1;
  mbarrier.init.shared::cta.b64 [%r3+8], 1;
  mbarrier.init.shared::cta.b64 [%r3+16], 32;
  mbarrier.init.shared::cta.b64 [%r3+24], 32;
  fence.mbarrier_init.release.cluster;
INITIALISED:
  bar.sync 0;
  mov.b32 %r4, 0;
  mov.b32 %r5, 1;
  mov.b32 %r6, 0;
  setp.ge.u32 %p2, %r2, 32;
  @%p2 bra TAKEN;
  @%p1 bra END;
TELL:
  shl.b32 %r7, %r4, 3;
  add.s32 %r8, %r3, %r7;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r8+16], %r5;
  @!%p3 bra WAIT;
  atom.global.add.u32 %r9, [%rd1], 1;
  setp.lt.u32 %p4, %r9, %r1;
  selp.b32 %r10, 1, 0, %p4;
  add.s32 %r11, %r8, %r7;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r8], 8;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r11+64], {%r9, %r10}, [%r8];
  xor.b32 %r4, %r4, 1;
  xor.b32 %r12, %r4, 1;
  xor.b32 %r5, %r5, %r12;
  @%p4 bra TELL;
  add.s32 %r6, %r6, 1;
  setp.eq.s32 %p5, %r6, 1;
  @%p5 bra TELL; // the other one
  bra END;
TAKEN:
  shr.u32 %r4, %r2, 6;
  mov.b32 %r5, 0;
  shl.b32 %r7, %r4, 3;
  add.s32 %r8, %r3, %r7;
  add.s32 %r11, %r8, %r7;
TAKE:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r8], %r5;
  @!%p3 bra TAKE;
  ld.shared.v2.b32 {%r9, %r10}, [%r11+64];
  mbarrier.arrive.shared::cta.b64 _, [%r8+16];
  xor.b32 %r5, %r5, 1;
  st.global.b32 [%rd1+8], %r9;
  setp.ne.s32 %p4, %r10, 0;
  @%p4 bra TAKE;
END:
  ret;
}
"""
)

# Where a sequence ends is loaded, and from one word before that where it begins; the other warp loads forward.
BACKWARD = (
    HEAD
    + """.visible .entry backward(.param .u32 which, .param .u64 begins)
.reqntid 64, 1, 1
{
  .reg .pred %p<5>; .reg .b32 %r<12>; .reg .b64 %rd<6>;
  ld.param.u32 %r1, [which];
  ld.param.u64 %rd1, [begins];
  mov.u32 %r2, %tid.x;
  mov.b32 %r3, smem;
  setp.ne.s32 %p1, %r2, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r3], 32;
  mbarrier.init.shared::cta.b64 [%r3+8], 32;
  fence.mbarrier_init.release.cluster;
INITIALISED:
  bar.sync 0;
  setp.ge.u32 %p2, %r2, 32;
  @%p2 bra BEHIND;
  mul.wide.s32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.b32 %r4, [%rd3];
  ld.global.b32 %r5, [%rd3+4];
  sub.s32 %r6, %r5, %r4;
  mov.b32 %r7, 1;
FILL:
  setp.lt.s32 %p3, %r6, 1;
  @%p3 bra END;
FREE:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r3+8], %r7;
  @!%p4 bra FREE;
  mbarrier.arrive.shared::cta.b64 _, [%r3];
  xor.b32 %r7, %r7, 1;
  sub.s32 %r6, %r6, 1;
  bra FILL;
BEHIND:
  add.s32 %r8, %r1, 1;
  mul.wide.s32 %rd4, %r8, 4;
  add.s64 %rd5, %rd1, %rd4;
  ld.global.b32 %r5, [%rd5];
  ld.global.b32 %r4, [%rd5+-4];
  sub.s32 %r6, %r5, %r4;
  mov.b32 %r7, 0;
DRAIN:
  setp.lt.s32 %p3, %r6, 1;
  @%p3 bra END;
FULL:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r3], %r7;
  @!%p4 bra FULL;
  mbarrier.arrive.shared::cta.b64 _, [%r3+8];
  xor.b32 %r7, %r7, 1;
  sub.s32 %r6, %r6, 1;
  bra DRAIN;
END:
  ret;
}
"""
)

# A thread leaves an answer in place of a query that it does not make, word by word, and counts its bytes (CUTLASS, the
# last tile of a ping-pong GEMM for sm_120): others wait for the phase and read the answer as one.
ANSWERED = """\
.version 8.7
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry answered()
.reqntid 64, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b128 %rq<2>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  add.s32 %r4, %r2, 1024;
  setp.eq.s32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
  fence.mbarrier_init.release.cluster;
  bar.sync 0;
  setp.lt.u32 %p2, %r1, 32;
  mov.b32 %r5, 0;
  mov.b32 %r6, 16;
  @!%p2 bra READ;
  setp.ne.s32 %p3, %r1, 0;
  @%p3 bra DONE;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], %r6;
  st.shared.v4.b32 [%r4], {%r5, %r5, %r5, %r5};
  fence.release.sync_restrict::shared::cta.cluster;
  mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r2], %r6;
  bra DONE;
READ:
  mbarrier.try_wait.parity.shared::cta.b64 %p7, [%r2], 0;
  @!%p7 bra READ;
  ld.shared.b128 %rq1, [%r4];
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p4, %rq1;
  @!%p4 bra DONE;
AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 %p8, [%r2], 1;
  @!%p8 bra AGAIN;
DONE:
  ret;
}
"""

# Two warps select the barrier that each waits for by what it is (CUTLASS, generation by FMHA).
SELECTED = """\
.version 8.7
.target sm_90a
.address_size 64
.visible .entry sel()
.reqntid 96, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<24>;
  .shared .align 8 .b8 bars[64];
  mov.u32 %r1, %tid.x;
  shr.u32 %r2, %r1, 5;
  mov.b32 %r3, bars;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r3], 32;
  mbarrier.init.shared::cta.b64 [%r3+16], 32;
READY:
  bar.sync 0;
  mov.pred %p2, 0;
  setp.eq.s32 %p3, %r2, 1;
  @%p3 bra ONE;
  bra BOTH;
ONE:
  mov.pred %p2, -1;
BOTH:
  setp.eq.s32 %p5, %r2, 2;
  @%p5 bra ARRIVE;
  add.s32 %r5, %r3, 16;
  selp.b32 %r6, %r5, %r3, %p2;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r6], 0;
  @!%p4 bra WAIT;
  ret;
ARRIVE:
  mbarrier.arrive.shared::cta.b64 _, [%r3];
  mbarrier.arrive.shared::cta.b64 _, [%r3+16];
  ret;
}
"""

MISTAKES = {
    "the barrier that one of two warps selects": (
        SELECTED,
        "  mbarrier.arrive.shared::cta.b64 _, [%r3+16];\n",
        "",
        {"PR126"},
    ),
    "an answer that is not released": (
        ANSWERED,
        "  fence.release.sync_restrict::shared::cta.cluster;\n",
        "",
        {"PR116"},
    ),
    "an answer after which others wait": (ANSWERED, "mov.b32 %r5, 0;", "mov.b32 %r5, 1;", {"PR126"}),
    "a relaxed arrival without a fence": (RELAXED, "  fence.acq_rel.cluster;\n", "", {"PR116"}),
    "a fence that only acquires": (
        RELAXED,
        "fence.acq_rel.cluster;",
        "fence.acquire.sync_restrict::shared::cluster.cluster;",
        {"PR116"},
    ),
    "a fence before what it should release": (
        RELAXED,
        "  st.shared::cluster.b32 [%r7+64], %r1;\n  fence.acq_rel.cluster;\n",
        "  fence.acq_rel.cluster;\n  st.shared::cluster.b32 [%r7+64], %r1;\n",
        {"PR116"},
    ),
    "a read of what others count": (ATOMIC, "  barrier.sync 0;\n", "", {"PR116"}),
    "a weak read of what others count": (POLLED, ".volatile", "", {"PR116"}),
    "a barrier of as many threads as the CTA has": (ENDED, "bar.sync 0; //", "bar.sync 0, 64; //", {"PR130"}),
    "a warp that goes past the wgmma of its warpgroup": (
        BEHIND,
        "  wgmma.fence",
        "  setp.eq.u32 %p7, %r6, 3;\n  @%p7 bra RELEASED;\n  wgmma.fence",
        {"PR184"},
    ),
    "a warpgroup releases what its wgmma reads": (
        BEHIND,
        "aligned 0;\n  @%p1",
        "aligned 1;\n  @%p1",
        {"PR104", "PR112"},
    ),
    "memory is filled while wgmma reads it": (REFILLED, "aligned 0;\n  add", "aligned 1;\n  add", {"PR112"}),
    "a wgmma reads what other warps wrote": (REUSED, "  bar.sync 0;\n", "", {"PR111"}),
    "a piece of its own tile behind the fence": (
        OWN_TILES,
        "  st.shared.v2.b32 [%r8+8], {%r1, %r1};\n  fence.proxy.async.shared::cta;\n",
        "  fence.proxy.async.shared::cta;\n  st.shared.v2.b32 [%r8+8], {%r1, %r1};\n",
        {"PR110"},
    ),
    "a store that the next but one overwrites": (OWN_TILES, "wait_group.read 1;", "wait_group.read 2;", {"PR112"}),
    "halves without a barrier": (HALVES, "  bar.sync %r9, 128;\n", "", {"PR111"}),
    "the barrier of the other CTA": (COUNTED_BY_ONE, "mov.b32 %r5, 0;", "mov.b32 %r5, 1;", {"PR120", "PR124"}),
    "a phase that is never complete": (ONE_MORE, "[%r2], 33;", "[%r2], 34;", {"PR125"}),
    "a barrier of the cluster that does not release": (
        REMOTE,
        "barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n  mapa",
        "barrier.cluster.arrive.relaxed.aligned;\n  barrier.cluster.wait.aligned;\n  mapa",
        {"PR123"},
    ),
    "fewer bytes counted than are left out": (COUNTED_AS_COPIED, "[%r2], 32;", "[%r2], 16;", {"PR124"}),
    "copied to the CTA itself, completed at the other one": (COPIED_ACROSS, "[%r5], [%rd4", "[%r4], [%rd4", {"PR111"}),
    "the rest that is left out is not counted": (
        PARAMETER,
        "cta.b64 [%r2], %r4;\nINIT",
        "cta.b64 [%r2], 4;\nINIT",
        {"PR124"},
    ),
    "more bytes than the other CTA sends": (CROSSED, "[%r2], 8;", "[%r2], 16;", {"PR124"}),
    "sent to the CTA itself, completed at the other one": (CROSSED, "[%r5], %rd1", "[%r4], %rd1", {"PR111"}),
    "a turn fewer of the unrolled loop": (
        UNROLLED,
        "FILL:\n  add.s32 %r10, %r11, 36;",
        "FILL:\n  add.s32 %r10, %r11, 34;",
        {"PR126"},
    ),
    "a stage that is not filled after many turns": (
        UNROLLED,
        "  mbarrier.arrive.shared::cta.b64 _, [%r2+8];",
        "  setp.eq.s32 %p7, %r4, 32;\n  @!%p7 mbarrier.arrive.shared::cta.b64 _, [%r2+8];",
        {"PR126"},
    ),
    "an address behind the columns": (HANDED, "%r3, 32;", "%r3, 64;", {"PR156"}),
    "an address among others, behind the columns": (AMONG_OTHERS, "%r3, 32;", "%r3, 64;", {"PR156"}),
    "a barrier that nobody comes to a second time": (TWICE, "  bar.arrive 1, 96;\n", "", {"PR131"}),
    "more threads than come, one warp twice": (TWICE, "arrive 1, 96;", "arrive 1, 128;", {"PR133"}),
    "only one warp is told that there are no more": (
        COUNTED_OUT,
        "setp.eq.s32 %p5, %r6, 1;",
        "setp.eq.s32 %p5, %r6, 0;",
        {"PR126"},
    ),
    "told of one tile more than there is": (TOLD, "selp.b32 work.a, 1, 0, %p4;", "mov.s32 work.a, 1;", {"PR126"}),
    "lanes of the other warpgroup": (SIXTEEN, "shl.b32 %r10, %r9, 18;", "mov.b32 %r10, 0;", {"PR114"}),
}


RIGHT = {
    "selected": SELECTED,
    "answered": ANSWERED,
    "atomic": ATOMIC,
    "polled": POLLED,
    "relaxed": RELAXED,
    "cleared": CLEARED,
    "ended": ENDED,
    "refilled": REFILLED,
    "behind": BEHIND,
    "reused": REUSED,
    "halves": HALVES,
    "own tiles": OWN_TILES,
    "own tiles, of which some are not stored": OWN_TILES.replace(
        "setp.eq.s32 %p3, %r11, 2;", "setp.eq.s32 %p3, %r11, 1;"
    ),
    "handed": HANDED,
    "among others": AMONG_OTHERS,
    "backward": BACKWARD,
    "counted by one": COUNTED_BY_ONE,
    "one more": ONE_MORE,
    "remote": REMOTE,
    "crossed": CROSSED,
    "copied across": COPIED_ACROSS,
    "counted as copied": COUNTED_AS_COPIED,
    "parameter": PARAMETER,
    "sixteen": SIXTEEN,
    "told": TOLD,
    "counted out": COUNTED_OUT,
    "twice": TWICE,
    "unrolled": UNROLLED,
    "unrolled, one tile": UNROLLED.replace("  @%p6 bra TILE;\n", ""),
}


def verified(text: str) -> None:
    """A kernel that is followed to its end, and about which there is nothing to say."""
    report = tileproof.check(text)
    assert [one.message for one in report.diagnostics] == []
    (kernel,) = report.files[0].kernels
    assert (kernel.executed, kernel.reasons) == (kernel.steps, ())


def edited(text: str, *changes: tuple[str, str]) -> str:
    """A text with other pieces in it, each of which stands there once."""
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def mistaken(text: str, right: str, wrong: str, expected: set[str]) -> None:
    """One mistake in a text has errors of these codes."""
    assert text.count(right) == 1
    found = tileproof.check(text.replace(right, wrong)).diagnostics
    assert {one.code for one in found if one.severity.value == "error"} == expected


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_what_kernels_do_is_right(text: str):
    verified(text)


def test_a_warpgroup_of_which_a_warp_never_comes_is_followed_without_it():
    """Warps 2 and 3 meet after the wgmma of the one and before that of the other: no run waits for ever."""
    apart = edited(
        BEHIND,
        ("  wgmma.fence", "  setp.eq.u32 %p7, %r6, 3;\n  @%p7 bar.sync 2, 64;\n  wgmma.fence"),
        ("  @%p1 bra RELEASED;", "  setp.eq.u32 %p7, %r6, 2;\n  @%p7 bar.sync 2, 64;\n  @%p1 bra RELEASED;"),
    )
    report = tileproof.check(apart)
    (kernel,) = report.files[0].kernels
    assert kernel.executed == kernel.steps
    assert "PR130" not in {one.code for one in report.diagnostics}


@pytest.mark.parametrize("name", MISTAKES)
def test_one_mistake_in_it_is_found(name: str):
    mistaken(*MISTAKES[name])


@pytest.mark.parametrize("tiles", ["  @%p6 bra TILE;\n", ""], ids=["two tiles", "one tile"])
def test_a_loop_that_is_too_long_for_a_run_makes_no_hang(tiles: str):
    long = UNROLLED.replace("  @%p6 bra TILE;\n", tiles).replace("%r11, 36;", "%r11, 36000;")
    assert {one.code for one in tileproof.check(long).diagnostics} == {"PR190"}
    never_filled = long.replace("shared::cta.b64 [%r2+8], 32;", "shared::cta.b64 [%r2+8], 64;")
    assert "PR125" in {one.code for one in tileproof.check(never_filled).diagnostics}


def test_a_strong_access_between_two_weak_ones_does_not_hide_their_race():
    found = tileproof.check(CLEARED.replace("  barrier.sync 1, 128;\n", "")).diagnostics
    assert {one.code for one in found if one.severity.value == "error"} == {"PR116"}
