"""Real PTX has no error, and faults that are planted into it are found."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from unittest.mock import patch

import pytest
from planted_barriers import BARRIERS
from planted_ptx import planted

import tileproof
from conftest import corpus_files

FILES = [*corpus_files("ptx/*.ptx"), *corpus_files("corpus/*/*.ptx")]
# What a wait must cover is a question of addresses: another wait may come before the memory or the registers are used.
NEED_ADDRESSES = {
    "weaken wgmma.wait_group",
    "drop wgmma.wait_group",
    "let every cp.async.wait_group leave 15",
}
SAMPLE = (
    "cutlass__48__sm_90a",
    "flashinfer__cake_bf16_bmm_cake_bf16_bmm_6bb5fd7ca479b4132d28_kernel__sm_100a",
    "tilelang__gemm_tcgen5mma_ws_gemm_2cta__sm_100a",
    "triton__glu07_persistent_matmul_kernel__sm_90a",
    "triton__glu14_tma_tcgen05_kernel__sm_100a",
    "triton__tut03_matmul_kernel__sm_80",
)


def spoilt(path: Path) -> Counter[tuple[str, bool]]:
    """How many faults of each kind the checks of paths found in a file, and how many not; the machine does not run."""
    text = path.read_text(encoding="utf-8")
    found: Counter[tuple[str, bool]] = Counter()
    with patch("tileproof.checking.ptx._protocols", lambda *_: iter(())):
        before = {(one.code, one.message) for one in tileproof.check(text).diagnostics}
        for name, bad in planted(text):
            said = tileproof.check(bad).diagnostics
            after = {(one.code, one.message) for one in said if one.severity.value != "note"}
            found[name, bool(after - before)] += 1
    return found


def _judge(counted: Counter[tuple[str, bool]]):
    missed = {name for name, found in counted if not found} - NEED_ADDRESSES
    total, seen = sum(counted.values()), sum(n for (_, found), n in counted.items() if found)
    print(f"{seen} of {total} found; missed: {sorted(missed)}")
    assert seen >= 0.9 * total, {name: n for (name, found), n in counted.items() if not found}


@pytest.mark.skipif(not FILES, reason="no ../shared beside this checkout")
@pytest.mark.parametrize("stems", [SAMPLE[2::3], pytest.param(SAMPLE, marks=pytest.mark.sweep)], ids=["few", "some"])
def test_planted_faults_are_found(stems: tuple[str, ...]):
    chosen = [path for path in FILES if path.stem in stems]
    assert len(chosen) == len(stems)
    counted: Counter[tuple[str, bool]] = sum((spoilt(path) for path in chosen), Counter())
    assert len({name for name, _ in counted}) >= 5 * len(stems)
    _judge(counted)


PARTS = [pytest.param(slice(i, None, 12), marks=pytest.mark.long if i != 6 else pytest.mark.sweep) for i in range(12)]


@pytest.mark.parametrize("part", PARTS, ids=str)
@pytest.mark.skipif(not FILES, reason="no ../shared beside this checkout")
def test_planted_faults_are_found_in_many_files(part: slice):
    counted: Counter[tuple[str, bool]] = sum((spoilt(path) for path in FILES[part]), Counter())
    _judge(counted)


# Small files that are followed to the end, or but for the block that they are assumed to have.
FOLLOWED = (
    "cutlass__tut_02_mma_tma__sm_100a",
    "dense_gemm__f16_knn",
    "dense_gemm__s8_s8_s32",
    "prim_mbarrier__default.2",
    "prim_tma_tma_swizzle_modes__default.2",
    "tilelang__mha_bwd_bshd_flash_fwd__sm_90a",
    "triton__glu05_blocked_matmul_kernel__sm_90a",
    "triton__glu07_persistent_matmul_kernel__sm_90a",
    "triton__glu11_mma_scaled_tcgen05_copy_kernel__sm_100a",
    "triton__tut09_matmul_kernel__sm_100a",
    "tut_nvfp4_gemm_0__default",
)
# What the PTX does not tell: how long the box of a tensor map of the host is, where it may be shorter than its room.
UNSAID = {"expect 16 bytes fewer", "expect 16 bytes more"}


@pytest.mark.parametrize(
    "stems",
    [pytest.param(FOLLOWED[1::4], marks=pytest.mark.sweep), pytest.param(FOLLOWED, marks=pytest.mark.long)],
    ids=["some", "all"],
)
@pytest.mark.skipif(not FILES, reason="no ../shared beside this checkout")
def test_planted_faults_of_barriers(stems: tuple[str, ...]):
    """One fault of each kind a file: nine of ten are found; of the rest the kernel is at least no longer verified."""
    counted: Counter[tuple[str, str]] = Counter()
    for path in (path for path in FILES if path.stem in stems):
        text = path.read_text(encoding="utf-8")
        before = {(one.code, one.message) for one in tileproof.check(text).diagnostics}
        for name, bad in dict(reversed([*planted(text, BARRIERS)])).items():
            new = [one for one in tileproof.check(bad).diagnostics if (one.code, one.message) not in before]
            errors = any(one.severity.value != "note" for one in new)
            counted[name, "found" if errors else "unverified" if new else "silent"] += 1
    judged = {key: n for key, n in counted.items() if key[0] not in UNSAID}
    total = sum(judged.values())
    found, silent = (sum(n for (_, how), n in judged.items() if how == which) for which in ("found", "silent"))
    print(f"{found} of {total} found, {silent} silent: {sorted(counted.items())}")
    assert total > 30
    assert found >= 0.9 * total
    assert silent <= 0.05 * total
    assert counted["drop mbarrier.init", "found"] == len(stems)


# Faults of files that were taken for good, by what the PTX says.
TRUE = {
    # cp.async fills the stage that the MMA before it reads; only behind that do threads wait for the commit of the MMA.
    "tilelang__gemm_tcgen5mma_matmul__sm_100a": {"PR112"},
    # Warp 0 loads tiles, then frees tensor memory that warps 4 to 7 still read: they meet at no barrier before that.
    # Stages of K and V are released behind tcgen05.commit, before anybody waits for it: the next tile overwrites them.
    "tilelang__mha_fwd_bshd_main__sm_100a": {"PR112"},
    # A warpgroup stores sums behind its loop, the other reads them behind its own: they meet at no barrier there.
    "tilelang__mla_decode_ws_main_no_split__sm_90a": {"PR116"},
    # Threads copy A and B to shared memory, by generic addresses, and meet at a barrier: nothing fences the proxy.
    "cutlass__tut_01_mma__sm_100a": {"PR110"},
    # Each turn loads into the tile that the MMA of the turn before reads; the MMA are committed only behind the loop.
    "prim_tcgen05_1cta_mma_basic__default": {"PR112"},
}


def _errors(path: Path) -> set[str]:
    return {one.code for one in tileproof.check(path).diagnostics if one.severity.value == "error"}


@pytest.mark.skipif(not FILES, reason="no ../shared beside this checkout")
def test_good_files_have_no_error():
    for path in sorted(FILES, key=lambda path: path.stat().st_size)[10:40:15]:
        assert _errors(path) == TRUE.get(path.stem, set()), path


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.long if i % 12 else pytest.mark.sweep) for i, path in enumerate(FILES)],
    ids=lambda path: path.name,
)
def test_no_good_file_has_an_error(path: Path):
    assert _errors(path) == TRUE.get(path.stem, set())
