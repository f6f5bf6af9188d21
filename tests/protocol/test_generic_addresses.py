"""Loads and stores by a generic address: those of shared memory are accesses like ``ld.shared`` and ``st.shared``."""

# ruff: noqa: E501  lines of PTX

from __future__ import annotations

import pytest

import tileproof

HEAD = """.version 8.7
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
"""

# A tile is copied to shared memory, waited for, read by each thread and written back to where it was. ADDRESS makes %rd9.
TILE = (
    HEAD
    + """.visible .entry tile(.param .u64 .ptr .global in, .param .u64 out, .param .u32 count)
.reqntid 128, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<30>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  add.s32 %r3, %r2, 4096;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r3], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 2048;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 2048, [%r3];
INITIALISED:
  bar.sync 0;
  mul.wide.u32 %rd3, %r1, 4;
ADDRESS
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
  ld.b32 %r5, [%rd9];
  add.s32 %r6, %r5, 1;
  st.b32 [%rd9+1024], %r6;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p1 bra END;
  add.s32 %r7, %r2, 1024;
  cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r7], 512;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
END:
  ret;
}
"""
)
CONVERTED = "  cvt.u64.u32 %rd4, %r2;\n  cvta.shared.u64 %rd5, %rd4;\n"
READ = "  ld.b32 %r5, [%rd9];\n"
WAIT = TILE[TILE.index("WAIT:") : TILE.index(READ)]
FENCE = "  fence.proxy.async.shared::cta;\n"

SHARED = {
    "sum": CONVERTED + "  add.s64 %rd9, %rd5, %rd3;",
    "of the number first": CONVERTED + "  add.s64 %rd9, %rd3, %rd5;",
    "symbol": "  mov.u64 %rd4, smem;\n  cvta.shared.u64 %rd5, %rd4;\n  mad.wide.u32 %rd9, %r1, 4, %rd5;",
    "scoped": "{ .reg .b64 %tmp;\n  cvt.u64.u32 %tmp, %r2;\n  cvta.shared.u64 %rd5, %tmp; }\n  add.s64 %rd9, %rd5, %rd3;",
    "moved": CONVERTED + "  add.s64 %rd6, %rd5, %rd3;\n  mov.u64 %rd9, %rd6;",
    "less": CONVERTED + "  add.s64 %rd6, %rd5, %rd3;\n  add.s64 %rd7, %rd6, 64;\n  sub.s64 %rd9, %rd7, 64;",
    "swizzled": CONVERTED
    + "  add.s64 %rd6, %rd5, %rd3;\n  and.b64 %rd7, %rd6, 896;\n  shr.u64 %rd8, %rd7, 3;\n  xor.b64 %rd9, %rd8, %rd6;",
    "either of two": CONVERTED
    + "  add.s64 %rd6, %rd5, %rd3;\n  add.s64 %rd7, %rd6, 0;\n  setp.lt.u32 %p5, %r1, 7;\n  selp.b64 %rd9, %rd6, %rd7, %p5;",
    "of two paths": CONVERTED
    + "  setp.lt.u32 %p5, %r1, 64;\n  @%p5 bra LOW;\n  add.s64 %rd9, %rd5, %rd3;\n  bra MET;\nLOW:\n  add.s64 %rd9, %rd3, %rd5;\nMET:",
    "of a loop": CONVERTED
    + "  mov.u64 %rd9, %rd5;\n  mov.b32 %r10, 0;\nAGAIN:\n  add.s64 %rd9, %rd9, 4;\n  add.s32 %r10, %r10, 1;\n"
    "  setp.lt.u32 %p5, %r10, 3;\n  @%p5 bra AGAIN;\n  sub.s64 %rd9, %rd9, 12;\n  add.s64 %rd9, %rd9, %rd3;",
}

ELSEWHERE = {
    "global memory": "  add.s64 %rd9, %rd1, %rd3;",
    "a pointer that is loaded": "  ld.global.u64 %rd4, [%rd1];\n  add.s64 %rd9, %rd4, %rd3;",
    "either shared or global memory": CONVERTED + "  setp.lt.u32 %p5, %r1, 7;\n  selp.b64 %rd9, %rd5, %rd1, %p5;",
    "shared memory on one path": CONVERTED
    + "  add.s64 %rd9, %rd1, %rd3;\n  setp.lt.u32 %p5, %r1, 64;\n  @%p5 add.s64 %rd9, %rd5, %rd3;",
    "as far from a pointer as two places are apart": CONVERTED
    + "  add.s64 %rd6, %rd5, %rd3;\n  sub.s64 %rd7, %rd6, %rd5;\n  add.s64 %rd9, %rd1, %rd7;",
    "an address in the window of shared memory": "  cvt.u64.u32 %rd4, %r2;\n  add.s64 %rd9, %rd4, %rd3;",
}


def tile(address: str) -> str:
    return TILE.replace("ADDRESS", address)


def found(text: str) -> set[str]:
    return {one.code for one in tileproof.check(text).diagnostics if one.severity.value != "note"}


@pytest.mark.parametrize("address", SHARED.values(), ids=SHARED)
def test_what_a_generic_address_reads_and_writes_in_shared_memory_is_followed(address: str):
    text = tile(address)
    (kernel,) = tileproof.check(text).files[0].kernels
    assert (found(text), kernel.status, kernel.steps) == (set(), "followed", 13)
    assert found(text.replace(WAIT, "")) == {"PR111"}
    assert found(text.replace(FENCE, "")) == {"PR110"}


@pytest.mark.parametrize("address", ELSEWHERE.values(), ids=ELSEWHERE)
def test_an_address_that_may_be_elsewhere_is_left_alone(address: str):
    text = tile(address)
    (kernel,) = tileproof.check(text).files[0].kernels
    assert (found(text), kernel.status, kernel.steps) == (set(), "followed", 11)
    assert found(text.replace(FENCE, "")) == set()


# Each CTA of a pair writes its own memory and reads that of the other one.
PAIR = (
    HEAD
    + """.visible .entry pair(.param .u64 out)
.reqntid 128, 1, 1
.reqnctapercluster 2, 1, 1
{
  .reg .b32 %r<20>; .reg .b64 %rd<30>;
  mov.u32 %r1, %tid.x;
  mov.u32 %r4, %cluster_ctarank;
  xor.b32 %r5, %r4, 1;
  mov.u64 %rd1, smem;
  cvta.shared.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.b32 [%rd4], %r1;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mapa.u64 %rd5, %rd2, %r5;
  add.s64 %rd6, %rd5, %rd3;
  ld.b32 %r7, [%rd6];
  ld.param.u64 %rd7, [out];
  st.global.b32 [%rd7], %r7;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
"""
)
MEET = "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n"


def test_what_a_generic_address_of_mapa_reads_is_in_the_other_cta():
    assert found(PAIR) == set()
    assert found(PAIR.replace(MEET, "  bar.sync 0;\n", 1)) == {"PR116"}


# Threads count in a word by its generic address.
COUNTED = (
    HEAD
    + """.visible .entry counted(.param .u64 out)
.reqntid 128, 1, 1
{
  .reg .b32 %r<10>; .reg .b64 %rd<9>;
  mov.u32 %r1, %tid.x;
  mov.u64 %rd1, smem;
  cvta.shared.u64 %rd2, %rd1;
  mov.b32 %r3, 0;
  st.relaxed.cta.b32 [%rd2], %r3;
  bar.sync 0;
  atom.add.relaxed.cta.u32 %r4, [%rd2], %r1;
  red.add.relaxed.cta.u32 [%rd2], %r1;
  barrier.sync 0;
  ld.b32 %r5, [%rd2];
  ld.param.u64 %rd3, [out];
  st.global.b32 [%rd3], %r5;
  cp.async.commit_group;
  cp.async.wait_group 0;
  ret;
}
"""
)


def test_atomic_operations_by_a_generic_address_are_accesses():
    assert found(COUNTED) == set()
    assert found(COUNTED.replace("  barrier.sync 0;\n", "")) == {"PR116"}
    assert found(COUNTED.replace("  barrier.sync 0;\n", "").replace("ld.b32", "ld.relaxed.cta.b32")) == set()
