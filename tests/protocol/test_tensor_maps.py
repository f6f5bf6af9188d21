"""Tensor maps that a kernel modifies: released, acquired, and not before the copies that read them are done."""

# ruff: noqa: E501  lines of PTX

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tileproof
from protocol.test_ptx_practices import edited, verified

RELEASE = "  fence.proxy.tensormap::generic.release.gpu;\n"
ACQUIRE = "  fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;\n"
READ = "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group.read 0;\n"
MET = "  bar.sync 0; // modified\n"


# One warp modifies the tensor map for each tile, and a thread of another one copies by it into one of two stages.
TILES = f""".version 8.7
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry tiles(.param .u64 maps, .param .u64 rows, .param .u32 count)
.reqntid 64, 1, 1
{{
  .reg .pred %p<9>; .reg .b32 %r<12>; .reg .b64 %rd<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  mov.b32 %r3, 0;
  ld.param.u64 %rd1, [maps];
  cvta.to.global.u64 %rd2, %rd1;
  ld.param.u64 %rd3, [rows];
  ld.param.u32 %r4, [count];
  setp.ne.s32 %p1, %r1, 0;
  setp.ne.s32 %p2, %r1, 32;
  @%p1 bra NEXT;
  mbarrier.init.shared::cta.b64 [%r2+8192], 1;
  mbarrier.init.shared::cta.b64 [%r2+8200], 1;
  fence.mbarrier_init.release.cluster;
NEXT:
  bar.sync 0; // copied
  @%p1 bra MODIFIED;
  tensormap.replace.tile.global_address.global.b1024.b64 [%rd2], %rd3;
{RELEASE}MODIFIED:
{MET}  @%p2 bra COPIED;
  and.b32 %r5, %r3, 1;
  shl.b32 %r6, %r5, 3;
  add.u32 %r7, %r2, %r6;
  shl.b32 %r8, %r5, 12;
  add.u32 %r9, %r2, %r8;
  shr.u32 %r10, %r3, 1;
  and.b32 %r10, %r10, 1;
  xor.b32 %r10, %r10, 1;
EMPTY:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r7+8192], %r10;
  @!%p4 bra EMPTY;
{ACQUIRE}  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7+8192], 4096;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%rd2, {{%r3, %r3}}], [%r7+8192];
{READ}COPIED:
  add.s32 %r3, %r3, 1;
  setp.lt.s32 %p3, %r3, %r4;
  @%p3 bra NEXT;
  ret;
}}
"""

# The map is written in shared memory, and copied to global memory by a warp, which releases it.
COPIED = edited(
    TILES,
    ("[%rd2], %rd3;\n" + RELEASE, "[%rd4], %rd3;\n"),
    (
        "  @%p1 bra MODIFIED;\n  tensormap.replace.tile.global_address.global",
        "  setp.ge.s32 %p5, %r1, 32;\n  @%p5 bra MODIFIED;\n  cvt.u64.u32 %rd4, %r2;\n  add.u64 %rd4, %rd4, 10240;\n"
        "  @!%p1 tensormap.replace.tile.global_address.shared::cta",
    ),
    (
        "\nMODIFIED:\n",
        "\n  bar.warp.sync -1;\n"
        "  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2], [%r2+10240], 128;\n"
        "MODIFIED:\n",
    ),
)

# A store by the map is in flight, of its own thread, when it is modified again.
STORED = edited(
    TILES,
    ("EMPTY:\n  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r7+8192], %r10;\n  @!%p4 bra EMPTY;\n", ""),
    ("  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7+8192], 4096;\n", ""),
    ("2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], ", "2d.global.shared::cta.bulk_group "),
    ("{%r3, %r3}], [%r7+8192];", "{%r3, %r3}], [%r9];"),
    ("  ret;\n", "  cp.async.bulk.wait_group 0;\n  ret;\n"),
)


# The map is written by plain stores, from a copy in shared memory (DeepGEMM).
KEPT = edited(
    TILES,
    (
        "  tensormap.replace.tile.global_address.global.b1024.b64 [%rd2], %rd3;\n",
        "".join(f"  st.global.v2.b64 [%rd2+{at}], {{%rd3, %rd3}};\n" for at in range(0, 128, 16)),
    ),
)


def found(text: str) -> set[tuple[str, str]]:
    """The findings, by code and the first words."""
    report = tileproof.check(text)
    return {(one.code, one.message.split(" tensor map")[0]) for one in report.diagnostics}


@pytest.mark.parametrize("text", [TILES, COPIED, STORED, KEPT], ids=["replaced", "copied", "stored", "kept"])
def test_a_map_that_is_released_and_acquired_is_fine(text: str) -> None:
    verified(text)


@pytest.mark.parametrize(
    ("text", "left", "message"),
    [
        (TILES, RELEASE, "no fence releases the"),
        (TILES, ACQUIRE, "no fence acquires the"),
        (COPIED, ACQUIRE, "no fence acquires the"),
        (STORED, ACQUIRE, "no fence acquires the"),
        (TILES, MET, "this copy uses a"),
    ],
)
def test_a_copy_by_a_map_that_it_need_not_see_modified(text: str, left: str, message: str) -> None:
    assert left in text
    assert ("PR186", message) in found(text.replace(left, ""))


def test_an_acquire_of_another_map_is_none_of_this_one() -> None:
    assert ("PR186", "no fence acquires the") in found(TILES.replace("acquire.gpu [%rd2]", "acquire.gpu [%rd2+128]"))


def test_an_acquire_before_the_threads_meet_is_too_early() -> None:
    early = TILES.replace(ACQUIRE, "").replace(MET, ACQUIRE + MET)
    assert {code for code, _ in found(early)} == {"PR186"}


@pytest.mark.parametrize("text", [TILES, COPIED, STORED, KEPT], ids=["replaced", "copied", "stored", "kept"])
def test_a_map_that_a_copy_may_still_read_is_modified(text: str) -> None:
    assert "PR187" in {code for code, _ in found(text.replace(READ, "  cp.async.bulk.commit_group;\n"))}


def test_a_wait_for_the_phase_of_the_copy_is_enough() -> None:
    waited = edited(
        TILES,
        (
            READ,
            "  xor.b32 %r10, %r10, 1;\nFULL:\n"
            "  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r7+8192], %r10;\n  @!%p4 bra FULL;\n",
        ),
    )
    assert not found(waited)


def test_a_group_that_was_committed_before_the_copy_says_nothing_of_it() -> None:
    early = TILES.replace(READ, "  cp.async.bulk.wait_group.read 0;\n").replace(
        "  mbarrier.arrive.expect", "  cp.async.bulk.commit_group;\n  mbarrier.arrive.expect"
    )
    assert "PR187" in {code for code, _ in found(early)}


def test_stores_to_another_place_are_none_to_the_map() -> None:
    behind = re.sub(r"(st\.global\.v2\.b64 \[%rd2)\+(\d+)", lambda one: f"{one[1]}+{int(one[2]) + 128}", KEPT)
    assert "[%rd2+128]" in behind
    assert not found(behind.replace(READ, "  cp.async.bulk.commit_group;\n"))


# Which tiles belong to another problem is loaded: no run has more than one problem.
GROUPED = TILES.replace(
    "  @%p1 bra MODIFIED;\n",
    "  @%p1 bra MODIFIED;\n  add.s64 %rd5, %rd3, 4;\n  ld.global.u32 %r6, [%rd3];\n  setp.eq.s32 %p6, %r6, %r7;\n"
    "  mov.u32 %r7, %r6;\n  @%p6 bra MODIFIED;\n",
).replace("  mov.b32 %r3, 0;\n", "  mov.b32 %r3, 0;\n  mov.b32 %r7, -1;\n")


def test_each_tile_may_be_of_another_problem() -> None:
    assert not found(GROUPED)
    assert "PR187" in {code for code, _ in found(GROUPED.replace(READ, "  cp.async.bulk.commit_group;\n"))}


SHARED = Path(__file__).parents[3] / "shared"


@pytest.mark.parametrize("target", ["sm_90a", pytest.param("sm_100a", marks=pytest.mark.sweep)])
@pytest.mark.parametrize("suffix", [".mlir", ".ptx"])
def test_the_grouped_gemm_of_cute_dsl(target: str, suffix: str) -> None:
    """Each acquire, and each wait before a modification, of NVIDIA's example is left out by itself."""
    kernel = (SHARED / "corpus" / target / "grouped_gemm__default").with_suffix(suffix)
    if not kernel.exists():
        pytest.skip("shared/corpus is not there")
    lines = kernel.read_text(encoding="utf-8").splitlines(keepends=True)
    modifying = ("update_tma_desc", "cp_fenceproxy", "tensormap.replace")
    expected = {}
    for i, line in enumerate(lines):
        if "generic.acquire" in line:
            expected[i] = {"PR186"}
        elif "bulk.wait_group" in line and any(word in one for one in lines[i : i + 12] for word in modifying):
            expected[i] = {"PR187"}
    assert sorted(map(min, expected.values())) == ["PR186"] * 3 + ["PR187"] * 2
    for i, codes in expected.items():
        report = tileproof.check("".join([*lines[:i], "\n", *lines[i + 1 :]]))
        assert {one.code for one in report.diagnostics} == codes, i
