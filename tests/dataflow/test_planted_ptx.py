"""Real PTX has no error, and faults that are planted into it are found."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
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
    """How many faults of each kind were found in a file, and how many were not."""
    text = path.read_text(encoding="utf-8")
    before = {(one.code, one.message) for one in tileproof.check(text).diagnostics}
    found: Counter[tuple[str, bool]] = Counter()
    for name, bad in planted(text):
        after = {(one.code, one.message) for one in tileproof.check(bad).diagnostics if one.severity.value != "note"}
        found[name, bool(after - before)] += 1
    return found


def _judge(counted: Counter[tuple[str, bool]]):
    missed = {name for name, found in counted if not found} - NEED_ADDRESSES
    total, seen = sum(counted.values()), sum(n for (_, found), n in counted.items() if found)
    print(f"{seen} of {total} found; missed: {sorted(missed)}")
    assert seen >= 0.9 * total, {name: n for (name, found), n in counted.items() if not found}


@pytest.mark.skipif(not FILES, reason="no ../shared beside this checkout")
def test_planted_faults_are_found():
    chosen = [path for path in FILES if path.stem in SAMPLE]
    assert len(chosen) == len(SAMPLE)
    counted: Counter[tuple[str, bool]] = sum((spoilt(path) for path in chosen), Counter())
    assert len({name for name, _ in counted}) >= 30
    _judge(counted)


PARTS = [
    *(pytest.param(slice(i, None, 12), marks=pytest.mark.sweep) for i in (0, 6)),
    *(pytest.param(slice(i, None, 12), marks=pytest.mark.long) for i in range(12) if i not in (0, 6)),
]


@pytest.mark.parametrize("part", PARTS, ids=str)
@pytest.mark.skipif(not FILES, reason="no ../shared beside this checkout")
def test_planted_faults_are_found_in_many_files(part: slice):
    counted: Counter[tuple[str, bool]] = sum((spoilt(path) for path in FILES[part]), Counter())
    _judge(counted)


def _errors(path: Path) -> list[str]:
    return [one.message for one in tileproof.check(path).diagnostics if one.severity.value == "error"]


@pytest.mark.skipif(not FILES, reason="no ../shared beside this checkout")
def test_good_files_have_no_error():
    for path in FILES[::6]:
        assert _errors(path) == [], path


@pytest.mark.sweep
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_good_file_has_an_error(path: Path):
    assert _errors(path) == []
