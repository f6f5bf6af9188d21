"""Kernels whose threads write shared memory that the async proxy reads, with one fence or another in between.

Each iteration writes another value: first many words of one bank, so that the stores are still under way, then a tile.
The kernels count the threads that find another value than that of their iteration.
"""

from __future__ import annotations

FENCES = {  # behind the writes before the barrier, and behind the barrier
    "no fence": ("", ""),
    "fence of the writers": ("fence.proxy.async;", ""),
    "fence of the writers for shared memory": ("fence.proxy.async.shared::cta;", ""),
    "fence of the readers": ("", "fence.proxy.async;"),
    "fence of one warp of the writers": ("@first_warp fence.proxy.async;", ""),
    "fence of one warp of the readers": ("", "@first_warp fence.proxy.async;"),
    "two barriers": ("", "bar.sync 0;"),
    "fence.acq_rel.cta": ("fence.acq_rel.cta;", ""),
    "fence.acq_rel.gpu": ("fence.acq_rel.gpu;", ""),
}
READERS = ("wgmma", "bulk store")
THREADS, TILE, UNITS, JUNK = 128, 2048, 4096, 8192  # a tile of A at 0, the ones of B, and the words of one bank

_KERNEL = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry order(.param .u32 loops, .param .u64 memory, .param .u64 wrong) .reqntid {threads} {{
  .reg .pred first_warp, first, no, differs, more;
  .reg .b16 h;
  .reg .f32 expected, d<4>;
  .reg .b32 t, lane, warp, block, at, junk, tile, i, end, value, x, found, count, r<4>;
  .reg .b64 a, b, global, base, sum, total;
  .shared .align 128 .b8 smem[{size}];
  mov.u32 t, %tid.x;
  and.b32 lane, t, 31;
  shr.u32 warp, t, 5;
  setp.eq.u32 first_warp, warp, 0;
  setp.eq.u32 first, t, 0;
  setp.ne.u32 no, 0, 0;
  ld.param.u32 end, [loops];
  ld.param.u64 base, [memory];
  ld.param.u64 sum, [wrong];
  mov.u32 block, %ctaid.x;
  mul.wide.u32 global, block, {tile};
  add.u64 base, base, global;
  mov.u32 at, smem;
  mov.b16 h, 0x3c00;
  mad.lo.u32 tile, t, 2, at;
  st.shared.b16 [tile+{units}], h;
  fence.proxy.async;
  bar.sync 0;
  mad.lo.u32 junk, lane, 128, at;
  and.b32 r0, lane, 3;
  shr.u32 r1, lane, 2;
  mad.lo.u32 tile, warp, 512, at;
  mad.lo.u32 tile, r0, 128, tile;
  mad.lo.u32 tile, r1, 4, tile;
  shr.u32 r2, at, 4;
  cvt.u64.u32 a, r2;
  add.u64 b, a, {units_word};
  add.u64 a, a, {tile_word};
  mov.u32 count, 0;
  mov.u32 i, 0;
again:
  and.b32 value, i, 15;
  add.u32 value, value, 1;
  cvt.rn.f16.u32 h, value;
  mov.b32 x, {{h, h}};
  {stores}
  {before}
  bar.sync 0;
  {behind}
  {read}
  bar.sync 0;
  add.u32 i, i, 1;
  setp.lt.u32 more, i, end;
  @more bra again;
  cvt.u64.u32 total, count;
  red.global.add.u64 [sum], total;
  ret;
}}
"""
_WGMMA = """wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d0, d1, d2, d3}, a, b, no, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  shl.b32 found, value, 4;
  cvt.rn.f32.u32 expected, found;
  setp.neu.f32 differs, d0, expected;
  @differs add.u32 count, count, 1;"""
_BULK = """@!first bra stored;
  cp.async.bulk.global.shared::cta.bulk_group [base], [at], 2048;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
stored:
  bar.sync 0;
  mad.wide.u32 global, t, 16, base;
  ld.volatile.global.u32 found, [global];
  setp.ne.u32 differs, found, x;
  @differs add.u32 count, count, 1;"""


def kernel(reader: str, fence: str) -> str:
    """The PTX of a kernel, for one reader and one way to fence."""
    before, behind = FENCES[fence]
    stores = [f"st.shared.b32 [junk+{JUNK + 4 * j}], x;" for j in range(8)]
    stores += [f"st.shared.b32 [tile+{32 * j}], x;" for j in range(4)]
    sbo = 128  # of A and B; the second half of a row is 1024 bytes behind the first in A, 128 in B
    return _KERNEL.format(
        threads=THREADS,
        size=JUNK + 4096,
        tile=TILE,
        units=UNITS,
        units_word=UNITS // 16 + (128 // 16 << 16) + (sbo // 16 << 32),
        tile_word=(1024 // 16 << 16) + (sbo // 16 << 32),
        stores="\n  ".join(stores),
        before=before,
        behind=behind,
        read=_WGMMA if reader == "wgmma" else _BULK,
    )
