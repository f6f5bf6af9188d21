"""Kernels whose control flow is blocks: sound ones, the same with a fault, and what is refused.

The first line of a text says which of these it is. Real kernels are converted by NVIDIA's own passes: what is found
must be the same before and after.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import tileproof
from conftest import EXAMPLES, SHARED
from protocol.planted import OPERATORS, mutants
from tileproof.base.source import Source
from tileproof.checking.expectations import split
from tileproof.mlir.scanner import scan
from tileproof.protocol.actions import ACTIONS
from tileproof.protocol.verify import verify

BOOK = tileproof.load_rules()
BLOCKS = Path(__file__).parent / "blocks"
TEXTS = [
    pytest.param(part.text.lstrip("\n").removeprefix("// -----").lstrip(), id=f"{path.stem}-{k}")
    for path in sorted(BLOCKS.glob("*.mlir"))
    for k, part in enumerate(split(Source(path.name, path.read_text(encoding="utf-8"))))
]

CONVERT = """
import sys
from cutlass._mlir import ir, passmanager
with ir.Context():
    module = ir.Module.parse(sys.stdin.read())
    passmanager.PassManager.parse("builtin.module(convert-scf-to-cf)").run(module.operation)
    print(module.operation.get_asm(print_generic_op_form=sys.argv[1] == "generic"))
"""


@pytest.mark.parametrize("text", TEXTS)
def test_blocks_are_verified_as_loops_and_branches_are(text):
    kind = text.removeprefix("// ").partition(":")[0]
    found = tileproof.check(text).diagnostics
    errors = [one for one in found if one.severity.value == "error"]
    left = [one for one in found if one.code == "PR190"]
    assert bool(errors) == (kind == "faulty"), found
    if kind != "faulty":  # what comes after a deadlock is not executed
        assert bool(left) == (kind == "unfollowed"), found


def outcome(text: str) -> tuple[list[object], Counter[str]]:
    """What is found in each kernel, by code and name of operation, and how often each step was executed."""
    module = scan(Source("x", text)).module
    counts: Counter[str] = Counter()

    def counted(name: str):
        def action(*arguments):
            counts[name] += 1
            return ACTIONS[name](*arguments)

        return action

    found: list[object] = []
    for one in verify(BOOK, module.operations, module.aliases, {name: counted(name) for name in ACTIONS}):
        left = sorted((doubt.case, doubt.operation.name) for doubt in one.doubts)
        found.append((sorted((fault.code, fault.operation.name) for fault in one.faults), left))
    return found, counts


def converted(text: str, form: str = "custom") -> str:
    pytest.importorskip("cutlass", reason="nvidia-cutlass-dsl is not installed")
    done = subprocess.run([sys.executable, "-c", CONVERT, form], input=text, capture_output=True, text=True, check=True)
    return done.stdout


def kernels() -> list[object]:
    """The shipped kernel, and real ones of every architecture that lie beside the checkout."""
    shipped = [pytest.param(EXAMPLES / "hopper_gemm.mlir", id="hopper_gemm")]
    small = ("sm_90a/cta_norm__default", "sm_100a/prim_tcgen05_1cta_mma_basic__default")
    for path in sorted(SHARED.glob("corpus/*/*__default.mlir")):
        name = f"{path.parent.name}/{path.stem}"
        shipped.append(pytest.param(path, id=name, marks=() if name in small else pytest.mark.long))
    return shipped


@pytest.mark.oracle
@pytest.mark.parametrize("path", kernels())
def test_a_kernel_after_convert_scf_to_cf_is_the_kernel_before(path):
    text = path.read_text(encoding="utf-8")
    before = outcome(text)
    after = outcome(converted(text))
    assert after == before
    rng = random.Random(path.name)
    faulty = [one.text for operator in OPERATORS for one in mutants(text, operator, rng, 1)]
    for one in rng.sample(faulty, min(3, len(faulty))):
        assert outcome(converted(one))[0] == outcome(one)[0]


@pytest.mark.oracle
def test_the_generic_form_of_blocks_is_read_as_the_custom_form(hopper_gemm):
    assert outcome(converted(hopper_gemm, "generic")) == outcome(hopper_gemm)
