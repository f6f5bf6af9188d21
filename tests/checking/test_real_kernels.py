"""Real kernels are clean; one mistake in the atom is exactly one error, at the atom, with a way out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tileproof
from conftest import EXAMPLES, SHARED, corpus, some

WRONG = {
    "nb_cute_layout_algebra__nb.5.mlir": "IR022",  # a derefine between two profiles: no dialect accepts it
    "prim_tcgen05_1cta_mma_basic__default.mlir": "PR112",  # a tile is loaded while the MMA of the turn before reads it
}


@corpus(every=2)
def test_a_real_kernel_has_no_error(path: Path):
    found = [d for d in tileproof.check(path).diagnostics if d.severity.value == "error"]
    assert [d.code for d in found] == [code for name, code in WRONG.items() if name == path.name]


F16 = EXAMPLES / "hopper_gemm.mlir"
FP8 = SHARED / "corpus/sm_90a/dense_gemm__e4m3_e5m2_f16_f32.mlir"
INT8 = SHARED / "corpus/sm_90a/dense_gemm__s8_s8_s32_s32.mlir"
GENERIC = SHARED / "corpus/sm_90a/dense_gemm__default.generic.mlir"

MISTAKES = [
    # kernel, what stands in its atom, what is put there; the rule, the text underlined, the way out
    (F16, "64x128x16", "64x100x16", "WG101", "100", "N = 96 or 104"),
    (F16, "64x128x16", "64x264x16", "WG101", "264", "N = 256"),
    (F16, "64x128x16", "64x128x8", "WG113", "8", "K = 16"),
    (F16, "(f16, f16, f32)", "(f16, bf16, f32)", "WG111", "bf16", "f16"),
    (F16, "(f16, f16, f32)", "(bf16, bf16, f16)", "WG112", "f16", "f32"),
    (FP8, "ab_major = (k, k)", "ab_major = (mn, k)", "WG120", "mn, k", "K-major"),
    (INT8, "64x128x32", "64x40x32", "WG104", "40", "N = 32 or 48"),
    (GENERIC, "64x128x16", "64x100x16", "WG101", "100", "N = 96 or 104"),
]


@pytest.mark.parametrize(("kernel", "right", "wrong", "code", "under", "hint"), some(MISTAKES, 2))
@pytest.mark.parametrize("everywhere", [True, False], ids=["everywhere", "alias-only"])
def test_one_mistake_is_one_error(
    kernel: Path, right: str, wrong: str, code: str, under: str, hint: str, everywhere: bool
):
    if not kernel.exists():
        pytest.skip("no ../shared beside this checkout")
    atom = re.compile(r"cute_nvgpu\.sm90\.mma<[^>]*>")
    text = kernel.read_text(encoding="utf-8")
    broken, count = atom.subn(lambda found: found[0].replace(right, wrong), text, count=0 if everywhere else 1)
    assert count
    assert broken != text
    (found,) = tileproof.check(broken).diagnostics
    assert (found.code, found.severity.value) == (code, "error")
    assert broken[found.span.start : found.span.end] == under
    assert atom.search(broken).span()[0] < found.span.start < atom.search(broken).span()[1]
    assert hint in found.hint
