"""Addresses of tensor memory in PTX: by warp, by number, and how far an access reaches from them."""

from __future__ import annotations

from pathlib import Path

import pytest

import tileproof

FOLDER = Path(__file__).parent / "ptx"
HALVES = (FOLDER / "column_halves.ptx").read_text(encoding="utf-8")
NUMBERS = (FOLDER / "literal_columns.ptx").read_text(encoding="utf-8")


def changed(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert text.count(old) >= 1, old
        text = text.replace(old, new)
    return text


def judged(text: str) -> tuple[set[str], list[str]]:
    """The codes of the errors, and the reasons why the kernel is not verified."""
    report = tileproof.check(text)
    (kernel,) = report.files[0].kernels
    return {one.code for one in report.diagnostics if one.severity.value == "error"}, [
        one.case for one in kernel.reasons
    ]


# The half of the columns that a warpgroup has: computed, selected, or added where paths of warps meet again.
ADDED = "  add.s32 %r12, %r9, %r11;\n"
SELECTED = """  setp.gt.u32 %p2, %r2, 3;
  add.s32 %r37, %r9, 16;
  selp.b32 %r12, %r37, %r9, %p2;
"""
BRANCHED = """  mov.b32 %r12, %r9;
  setp.lt.u32 %p2, %r2, 4;
  @%p2 bra LOWER;
  add.s32 %r12, %r12, 16;
LOWER:
"""
SHUFFLED = """  add.s32 %r37, %r9, %r11;
  shfl.sync.idx.b32 %r12, %r37, 0, 31, -1;
"""


@pytest.mark.parametrize(
    "made", [ADDED, SELECTED, BRANCHED, SHUFFLED], ids=["added", "selected", "branched", "shuffled"]
)
def test_columns_of_a_warp_are_followed_however_they_are_made(made: str):
    text = changed(HALVES, (ADDED, made))
    assert judged(text) == (set(), [])
    unordered = changed(text, ("  bar.sync 1, 256;\n", "  bar.warp.sync -1;\n"))
    assert judged(unordered)[0] == {"PR114"}


def test_columns_that_differ_within_a_warp_are_not_known():
    assert judged(changed(HALVES, ("shl.b32 %r10, %r2, 2;", "shl.b32 %r10, %r1, 2;")))[1] == ["accessed_steps"]


def test_an_accumulator_whose_address_is_not_known_is_not_verified():
    loaded = "  ld.global.b32 %r38, [%rd1];\n  mov.pred %p3, 0;\n"
    text = changed(HALVES, ("  mov.pred %p3, 0;\n", loaded), ("kind::f16 [%r6]", "kind::f16 [%r38]"))
    assert "accessed_steps" in judged(text)[1]


def test_warps_that_issue_an_mma_have_each_the_columns_that_they_name():
    """Those of the first warp of each warpgroup; no two of them may have one column."""
    own = "  shl.b32 %r17, %r11, 1;\n  add.s32 %r17, %r6, %r17;\n  and.b32 %r18, %r2, 3;\n  setp.ne.u32 %p0, %r18, 0;\n"
    text = changed(
        HALVES,
        ("init.shared::cta.b64 [%r5], 1;", "init.shared::cta.b64 [%r5], 2;"),
        ("  @%p1 bra FIRST;", f"{own}  @%p0 bra FIRST;"),
        ("  @%p1 bra SECOND;", "  @%p0 bra SECOND;"),
        ("kind::f16 [%r6]", "kind::f16 [%r17]"),
        ("[%r4], 32;", "[%r4], 64;"),
        ("dealloc.cta_group::1.sync.aligned.b32 %r6, 32;", "dealloc.cta_group::1.sync.aligned.b32 %r6, 64;"),
    )
    assert judged(text) == (set(), [])
    assert judged(changed(text, ("  shl.b32 %r17, %r11, 1;", "  mov.b32 %r17, %r11;")))[0] == {"PR112"}
    assert "PR156" in judged(changed(text, ("[%r4], 64;", "[%r4], 32;")))[0]


ASSERTION = """  ld.shared.b32 %r40, [%r4];
  setp.eq.b32 %p5, %r40, 0;
  @%p5 bra BEGINS;
  trap;
BEGINS:
"""


@pytest.mark.parametrize(
    ("columns", "asserts", "reasons"),
    [
        (512, "", []),
        (256, "", ["first_columns"]),
        (256, ASSERTION, []),
        (256, ASSERTION.replace("%r40, 0;", "%r40, 7;"), ["first_columns"]),
        (256, ASSERTION.replace("[%r4]", "[%r4+64]"), ["first_columns"]),
        (256, ASSERTION.replace("ld.shared.b32 %r40, [%r4]", "ld.global.b32 %r40, [%rd1]"), ["first_columns"]),
    ],
)
def test_numbers_are_addresses_where_all_columns_are_allocated_or_once(columns: int, asserts: str, reasons: list[str]):
    """An SM gives its first columns to the first allocation: a kernel may trap where it got others."""
    text = changed(NUMBERS, ("[%r4], 512;", f"[%r4], {columns};"), ("%r6, 512;", f"%r6, {columns};"))
    text = changed(text, ("  mov.b32 %r6, 0;\n", f"{asserts}  mov.b32 %r6, 0;\n"))
    assert judged(text) == (set(), reasons)
    unordered = changed(
        text, ("FIRST:\n  mbarrier", "FIRST:\n  bra ON;\n  mbarrier"), ("  @!%p5 bra FIRST;\n", "ON:\n")
    )
    assert "PR113" in judged(unordered)[0]


def test_numbers_are_no_addresses_where_a_kernel_allocates_twice():
    again = "  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4+64], 32;\n"
    freed = "  ld.shared.b32 %r41, [%r4+64];\n  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r41, 32;\n"
    text = changed(NUMBERS, ("[%r4], 512;\n", f"[%r4], 256;\n{again}"), ("%r6, 512;\n", f"%r6, 256;\n{freed}"))
    errors, reasons = judged(text)
    assert errors == set()  # which of both is freed first is not known
    assert "accessed_steps" in reasons


# The fifth warp of each CTA allocates, that of the first one multiplies, and the others know of nothing but that.
PAIR = """\
.version 8.7
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry pair()
.reqntid 160, 1, 1
.reqnctapercluster 2, 1, 1
{
  .reg .pred %p<6>; .reg .b16 %rs<2>; .reg .b32 %r<20>; .reg .b64 %rd<6>;
  mov.u32 %r1, %tid.x;
  shr.u32 %r2, %r1, 5;
  mov.u32 %r3, %cluster_ctarank;
  mov.b32 %r4, smem;
  add.s32 %r5, %r4, 32768;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r5], 1;
  @%p1 fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  setp.ne.u32 %p2, %r2, 4;
  @%p2 bra READ;
  tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r5+8], 512;
  tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
  setp.ne.u32 %p3, %r3, 0;
  @%p3 bra END;
  bfe.u32 %r6, %r4, 4, 14;
  cvt.u64.u32 %rd1, %r6;
  or.b64 %rd2, %rd1, 4611756662116581376;
  mov.b32 %r7, 134742032;
  mov.b32 %r8, 0;
  mov.b16 %rs1, 3;
  mov.pred %p4, 0;
  elect.sync _|%p5, -1;
  @%p5 tcgen05.mma.cta_group::2.kind::f16 [%r8], %rd2, %rd2, %r7, %p4;
  @%p5 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r5], %rs1;
  bra END;
READ:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p5, [%r5], 0;
  @!%p5 bra READ;
  tcgen05.fence::after_thread_sync;
  shl.b32 %r9, %r2, 21;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r10}, [%r9];
  tcgen05.wait::ld.sync.aligned;
  tcgen05.fence::before_thread_sync;
END:
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  @%p2 bra DONE;
  tcgen05.fence::after_thread_sync;
  mov.b32 %r8, 0;
  tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r8, 512;
DONE:
  ret;
}
"""


def test_who_comes_after_the_mma_of_a_pair_comes_after_both_allocations():
    assert judged(PAIR) == (set(), [])
    alone = PAIR.replace("cta_group::2", "cta_group::1")
    assert judged(alone)[1] == ["accessed_steps"]


def test_a_number_names_nothing_before_the_allocation_is_known_to_be_done():
    """Nothing orders the stores of the warps after the allocation of the first one."""
    text = changed(NUMBERS, ("READY:\n  tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n", "READY:\n"))
    assert judged(text) == (set(), ["accessed_steps"])


def test_an_address_that_some_threads_read_and_others_know_is_one():
    """Compilers fold a member that only the first warp sets to the number that all others have."""
    chosen = "  ld.shared.b32 %r37, [%r4];\n  selp.b32 %r6, 0, %r37, %p1;\n"
    text = changed(NUMBERS, ("  mov.b32 %r6, 0;\n", chosen), ("add.s32 %r9, %r8, 128;", "add.s32 %r9, %r8, %r6;"))
    text = changed(text, ("mov.b32 %r36, 128;", "mov.b32 %r36, %r6;"))
    assert judged(text) == (set(), [])


@pytest.mark.parametrize(("half", "codes"), [(8, set()), (16, {"PR113", "PR114", "PR156"})])
def test_the_second_half_of_a_split_access_is_at_its_distance(half: int, codes: set[str]):
    """The half of the lower columns is in the upper ones then, and that of the upper ones outside."""
    store = f"  tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%r12], {half}, {{%r1}};\n  tcgen05.wait::st.sync.aligned;\n"
    text = changed(HALVES, ("  xor.b32 %r13, %r11, 0;\n", store + "  xor.b32 %r13, %r11, 0;\n"))
    assert judged(text)[0] == codes


def test_an_accumulator_of_64_rows_leaves_half_of_the_lanes():
    """Warps store to the upper lanes of their quarters while the MMA writes to the lower ones."""
    store = "  tcgen05.st.sync.aligned.16x64b.x1.b32 [%r37], {%r1};\n  tcgen05.wait::st.sync.aligned;\n"
    text = changed(HALVES, ("FIRST:\n", f"  add.s32 %r37, %r12, 1048576;\n{store}FIRST:\n"))
    rows_64 = changed(text, ("mov.b32 %r16, 134742032;", "mov.b32 %r16, 67633168;"))
    assert judged(rows_64)[0] == set()
    assert judged(text)[0] == {"PR114"}


def test_what_an_mma_reads_of_b_is_not_overwritten_before_it_is_done():
    store = "  st.shared.b32 [%r3+4096], %r1;\n"
    assert "PR112" in judged(changed(HALVES, ("FIRST:\n", store + "FIRST:\n")))[0]
    assert "PR112" not in judged(changed(HALVES, ("  bar.sync 1, 256;\n", store + "  bar.sync 1, 256;\n")))[0]


@pytest.mark.parametrize(("text", "distance"), [(HALVES, 32), (NUMBERS, 384)], ids=["address", "number"])
def test_columns_beyond_the_allocation_are_found(text: str, distance: int):
    beyond = changed(text, ("add.s32 %r14, %r9, %r13;", f"add.s32 %r14, %r9, {distance};"))
    assert judged(beyond)[0] == {"PR156"}


def test_the_place_of_the_address_may_serve_for_something_else_once_it_is_read():
    """Triton hands the values of a kernel to its warps there; who takes what it finds for the address is wrong."""
    text = (FOLDER / "tensor_memory.ptx").read_text(encoding="utf-8")
    reads = "  ld.shared.b32 %r5, [%r2];\n"
    counts = "  ld.param.u64 %rd3, [out];\n  cvta.to.global.u64 %rd4, %rd3;\n  ld.global.b32 %r10, [%rd4];\n"
    writes = f"{counts}  bar.sync 0;\n  st.shared.b32 [%r2], %r10;\n  bar.sync 0;\n"
    used = "  ld.shared.b32 %r11, [%r2];\n  setp.lt.s32 %p2, %r11, 1;\n  @%p2 bra FREED;\n"
    handed = changed(
        text,
        (reads, reads + writes + used),
        ("  st.global.b32 [%rd2], %r8;\n", "  st.global.b32 [%rd2], %r8;\nFREED:\n"),
    )
    assert judged(handed) == (set(), [])
    assert "PR159" in judged(changed(text, (reads, writes + reads)))[0]


@pytest.mark.parametrize(("columns", "codes"), [(128, {"PR114"}), (132, {"PR114"}), (140, set())])
def test_scale_factors_are_not_overwritten_before_the_mma_has_read_them(columns: int, codes: set[str]):
    """Nobody has copied any."""
    store = f"  add.s32 %r39, %r6, {columns};\n  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r39], {{%r1}};\n"
    store += "  tcgen05.wait::st.sync.aligned;\nFIRST:"
    text = changed(
        HALVES,
        ("[%r4], 32;", "[%r4], 256;"),
        ("%r6, 32;", "%r6, 256;"),
        ("134742032;", "144703488;\n  add.s32 %r17, %r6, 128;\n  add.s32 %r18, %r6, 132;"),
        ("kind::f16 [%r6], %rd2, %rd3, %r16,", "kind::mxf8f6f4.block_scale [%r6], %rd2, %rd3, %r16, [%r17], [%r18],"),
        ("FIRST:", store),
    )
    assert judged(text)[0] == codes | {"PR170"}


LAST = """  tcgen05.wait::ld.sync.aligned;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  @%p1 bra DONE;
"""
CLUSTER = "  barrier.cluster.arrive.release.aligned;\n  barrier.cluster.wait.acquire.aligned;\n"


def test_a_cluster_barrier_is_behind_what_threads_did_that_have_ended():
    """The warp that frees tensor memory meets nobody there: all others have read, waited and ended (ThunderKittens)."""
    alone = changed(NUMBERS, (LAST, f"  tcgen05.wait::ld.sync.aligned;\n  @%p1 bra DONE;\n{CLUSTER}"))
    assert judged(alone) == (set(), [])
    assert judged(changed(alone, (CLUSTER, "")))[0] == {"PR114"}
