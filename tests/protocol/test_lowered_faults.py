"""Faults planted into the IR of a kernel are found in the PTX that NVIDIA's compiler makes of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from lowering import lowered, needs_compiler
from planted import OPERATORS, harmless, mutants

import tileproof
from conftest import SHARED
from protocol.planted_facts import FACTS

# What the PTX leaves open, or compilers leave out on purpose: it is found in the IR alone.
IR_ALONE = {"init-fence-dropped-everywhere"}

# Of a kernel that has an error of its own it is not said how many bytes are read.
WRONG_ANYHOW = {"bytes-doubled", "bytes-halved", "bytes-sixteen-less"}

# The faults that are planted, at least, and those that are missed beside those above.
KERNELS = [
    pytest.param("sm_100a/prim_tcgen05_1cta_mma_a_from_tmem__default", 20, set()),
    pytest.param("sm_90a/dense_gemm__default", 30, set(), marks=pytest.mark.long),
    pytest.param("sm_100a/prim_tcgen05_1cta_mma_basic__default", 20, WRONG_ANYHOW, marks=pytest.mark.long),
    pytest.param("sm_100a/dense_gemm__e4m3_e4m3_f32_2cta", 30, set(), marks=pytest.mark.long),
    pytest.param("sm_120a/dense_gemm__default", 20, set(), marks=pytest.mark.long),
]


def wrong(text: str) -> set[str]:
    """The codes of warnings and errors."""
    return {one.code for one in tileproof.check(text).diagnostics if one.severity.value != "note"}


@needs_compiler
@pytest.mark.skipif(not (SHARED / "corpus").exists(), reason="no ../shared beside this checkout")
@pytest.mark.parametrize(("kernel", "least", "missing"), KERNELS)
def test_faults_that_are_found_in_the_ir_are_found_in_its_ptx(
    kernel: str, least: int, missing: set[str], tmp_path: Path
):
    path = SHARED / "corpus" / f"{kernel}.mlir"
    text, target = path.read_text(encoding="utf-8"), path.parent.name
    right = lowered(text, target, tmp_path)
    assert right is not None
    before = wrong(text)
    assert wrong(right) == before
    missed, count = [], 0
    for operator in (*OPERATORS, *FACTS):
        for mutant in mutants(text, operator, random.Random(1), 1):
            known = any(harmless(operator.name, name, mutant.line) for name in (kernel, f"corpus/{kernel}"))
            if known or not wrong(mutant.text) - before:
                continue
            ptx = lowered(mutant.text, target, tmp_path)
            if ptx is None or ptx == right:
                continue  # refused, or without effect
            count += 1
            if not wrong(ptx) - before:
                missed.append(operator.name)
    print(f"{count - len(missed)} of {count} found; missed: {missed}")
    assert count >= least
    assert set(missed) - IR_ALONE <= missing
