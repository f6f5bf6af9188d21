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
    "as far from a pointer as two places are apart, in a loop": CONVERTED
    + "  add.s64 %rd6, %rd5, %rd3;\n  mov.u64 %rd9, %rd6;\n  mov.u64 %rd7, %rd5;\n  mov.b32 %r10, 0;\nAGAIN:\n"
    "  sub.s64 %rd9, %rd6, %rd7;\n  add.s64 %rd7, %rd7, 4;\n  add.s32 %r10, %r10, 1;\n  setp.lt.u32 %p5, %r10, 3;\n"
    "  @%p5 bra AGAIN;\n  add.s64 %rd9, %rd1, %rd9;",
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


# cuda::pipeline with roles, as libcu++ makes it: producers count themselves, a leader for each warp, and the barriers of a
# stage wait for as many. The last thread to leave invalidates them.
ROLES = (
    HEAD
    + """.visible .entry roles(.param .u64 .ptr .global in, .param .u64 out)
.reqntid 128, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<30>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.u64 %rd3, smem;
  cvta.shared.u64 %rd4, %rd3;
  add.s64 %rd5, %rd4, 16;
  setp.ne.s32 %p1, %r1, 0;
  setp.lt.u32 %p2, %r1, 96;
  mov.b32 %r3, 0;
  @!%p1 st.relaxed.cta.b32 [%rd5], %r3;
  barrier.sync 0;
  @%p2 bra COUNTED;
  activemask.b32 %r4;
  match.any.sync.b64 %r5, %rd5, %r4;
  brev.b32 %r6, %r5;
  bfind.shiftamt.u32 %r7, %r6;
  mov.u32 %r8, %laneid;
  setp.ne.s32 %p3, %r8, %r7;
  @%p3 bra COUNTED;
  popc.b32 %r9, %r5;
  atom.add.relaxed.cta.u32 %r10, [%rd5], %r9;
COUNTED:
  barrier.sync 0;
  @%p1 bra INITIALISED;
  ld.relaxed.cta.b32 %r11, [%rd5];
  mov.b32 %r12, 128;
  sub.s32 %r13, %r12, %r11;
  mbarrier.init.shared.b64 [%r2], %r11;
  mbarrier.init.shared.b64 [%r2+8], %r13;
INITIALISED:
  barrier.sync 0;
  @%p2 bra CONSUMER;
  shl.b32 %r14, %r1, 4;
  add.s32 %r15, %r2, %r14;
  cp.async.ca.shared.global [%r15], [%rd1], 16;
  cp.async.mbarrier.arrive.shared.b64 [%r2];
  mbarrier.arrive.shared.b64 %rd6, [%r2];
WAIT_EMPTY:
  mbarrier.try_wait.parity.shared.b64 %p4, [%r2+8], 0;
  @!%p4 bra WAIT_EMPTY;
  bra END;
CONSUMER:
  mbarrier.try_wait.parity.shared.b64 %p4, [%r2], 0;
  @!%p4 bra CONSUMER;
  ld.shared.b32 %r16, [%r2+1536];
  st.global.b32 [%rd2], %r16;
  mbarrier.arrive.shared.b64 %rd6, [%r2+8];
END:
  ret;
}
"""
)
ROLE_MISTAKES = {
    "a barrier that waits for one more": ("[%r2+8], %r13;", "[%r2+8], %r12;", {"PR125"}),
    "a role that counts itself twice": (
        "  atom.add.relaxed.cta.u32 %r10, [%rd5], %r9;\n",
        "  atom.add.relaxed.cta.u32 %r10, [%rd5], %r9;\n" * 2,
        {"PR120", "PR125"},
    ),
    "a tile that is not waited for": ("  @!%p4 bra CONSUMER;\n", "", {"PR111", "PR112"}),
}


def test_a_count_that_atomic_operations_leave_is_that_of_a_barrier():
    (kernel,) = tileproof.check(ROLES).files[0].kernels
    assert (found(ROLES), kernel.status, kernel.executed) == (set(), "followed", kernel.steps)


@pytest.mark.parametrize(("right", "wrong", "codes"), ROLE_MISTAKES.values(), ids=ROLE_MISTAKES)
def test_a_mistake_in_a_pipeline_with_roles_is_found(right: str, wrong: str, codes: set[str]):
    assert ROLES.count(right) == 1
    assert found(ROLES.replace(right, wrong)) & codes


@pytest.mark.parametrize(
    ("change", "count"),
    [("add", 5), ("exch", 3), ("max", 3), ("min", 2), ("and", 2), ("or", 3), ("xor", 1), ("inc", None)],
)
def test_what_an_atomic_operation_leaves(change: str, count: int | None):
    """One thread changes 2 by 3, and a barrier waits for so many arrivals."""
    kind = {"add": "u32", "max": "u32", "min": "u32", "exch": "b32", "inc": "u32"}.get(change, "b32")
    text = (
        ROLES[: ROLES.index("  mov.b32 %r3, 0;")]
        + f"""  mov.b32 %r3, 2;
  mov.b32 %r4, 3;
  @%p1 bra END;
  st.shared.b32 [%r2+16], %r3;
  atom.{change}.{kind} %r5, [%rd5], %r4;
  ld.shared.b32 %r6, [%r2+16];
  mbarrier.init.shared.b64 [%r2], %r6;
  mbarrier.arrive.shared.b64 %rd6, [%r2], {count or 1};
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p4, [%r2], 0;
  @!%p4 bra WAIT;
END:
  ret;
}}
"""
    )
    (kernel,) = tileproof.check(text).files[0].kernels
    assert found(text) == set()
    assert (kernel.status == "followed") is (count is not None)
    if count is not None:
        assert found(text.replace(f"[%r2], {count};", f"[%r2], {count + 7};")) | found(
            text.replace("[%r2], %r6;", f"[%r2], {count + 1};")
        ) == {"PR122", "PR125"}


# What is copied and what is read lies where global memory says: nobody knows whether it is one place.
NOWHERE = (
    HEAD
    + """.visible .entry nowhere(.param .u64 .ptr .global in, .param .u64 out)
.reqntid 32, 1, 1
{
  .reg .f32 %f<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  ld.global.f32 %f1, [%rd1];
  ex2.approx.f32 %f1, %f1;
  cvt.rzi.s32.f32 %r1, %f1;
  mov.b32 %r2, smem;
  add.s32 %r3, %r2, %r1;
  cp.async.ca.shared.global [%r3], [%rd1], 16;
  cp.async.commit_group;
  ld.shared.b32 %r4, [%r3];
  cp.async.wait_group 0;
  st.global.b32 [%rd2], %r4;
  ret;
}
"""
)


def test_accesses_whose_addresses_are_not_known_are_not_verified():
    (kernel,) = tileproof.check(NOWHERE).files[0].kernels
    assert (kernel.status, {one.case for one in kernel.reasons}) == ("partly", {"accessed_steps"})
    alone = NOWHERE.replace("  ld.shared.b32 %r4, [%r3];\n", "")
    (kernel,) = tileproof.check(alone).files[0].kernels
    assert kernel.status == "followed"
