"""Faults planted into the IR of a kernel are found in the PTX that NVIDIA's compiler makes of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from lowering import lowered, needs_compiler
from planted import OPERATORS, harmless, mutants

import tileproof
from conftest import SHARED

KERNEL = "sm_90a/dense_gemm__default"
# What the PTX leaves open, or compilers leave out on purpose: it is found in the IR alone.
IR_ALONE = {"init-fence-dropped-everywhere"}


def wrong(text: str) -> set[str]:
    """The codes of warnings and errors."""
    return {one.code for one in tileproof.check(text).diagnostics if one.severity.value != "note"}


@pytest.mark.long
@needs_compiler
@pytest.mark.skipif(not (SHARED / "corpus").exists(), reason="no ../shared beside this checkout")
def test_faults_that_are_found_in_the_ir_are_found_in_its_ptx(tmp_path: Path):
    path = SHARED / "corpus" / f"{KERNEL}.mlir"
    text, target = path.read_text(encoding="utf-8"), path.parent.name
    right = lowered(text, target, tmp_path)
    assert right is not None
    assert wrong(text) == wrong(right) == set()
    missed, count = [], 0
    for operator in OPERATORS:
        for mutant in mutants(text, operator, random.Random(1), 1):
            if harmless(operator.name, KERNEL, mutant.line) or not wrong(mutant.text):
                continue
            ptx = lowered(mutant.text, target, tmp_path)
            if ptx is None or ptx == right:
                continue  # refused, or without effect
            count += 1
            if not wrong(ptx):
                missed.append(operator.name)
    print(f"{count - len(missed)} of {count} found; missed: {missed}")
    assert count >= 25
    assert len(set(missed) - IR_ALONE) <= 0.2 * count, missed
