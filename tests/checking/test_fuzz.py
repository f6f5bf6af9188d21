"""Random edits of real text: `check` answers each with diagnostics inside the text, and never with an exception."""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tileproof
from conftest import EXAMPLES, corpus_files, some
from tileproof.mlir.ir import print_module

KERNEL = (EXAMPLES / "hopper_gemm.mlir").read_text(encoding="utf-8")
PIECES = [
    "{", "}", "(", ")", "<", ">", "[", "]", '"', "->", ":", "=", ",", "%x", "!a", "#b", "^c", "@d", "//", "\n", "\0",
    "9" * 50, "é", "64x0x16", "S<3,4,3>", "!cute.layout<\"(\">", "module", "{-#", "\\",
]  # fmt: skip


@cache
def excerpts() -> list[str]:
    """Stretches of whole lines of real kernels: small enough to run many."""
    files = [*corpus_files("corpus/sm_1*/prim_*.mlir"), *corpus_files("corpus/sm_90a/*generic.mlir")]
    files += corpus_files("cute_ir_tests/**/*.mlir")
    texts = [KERNEL, *(path.read_text(encoding="utf-8") for path in files)]
    found = []
    for text in texts:
        lines = text.splitlines(keepends=True)
        found += ["".join(lines[i : i + 60]) for i in range(0, len(lines), 60)]
    return found


# What may stand where a number, a dynamic leaf, a wildcard or a small tuple stood: layouts that parse and are wrong.
LEAF = re.compile(r"\d+|\?|_|\([^()]*\)")
LEAVES = [
    "0", "1", "2", "3", "7", "-1", "?", "_", "()", "(3)", "(1,2)", "(2,(3,4))", "?{div=8}", "1@0", "1/2@0",
    "1@999999999", "4611686018427387904", "9999999999999999999",
]  # fmt: skip


@st.composite
def altered(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(excerpts()))
    for _ in range(draw(st.integers(1, 4))):
        leaves = list(LEAF.finditer(text))
        if not leaves:
            break
        chosen = leaves[draw(st.integers(0, len(leaves) - 1))]
        text = text[: chosen.start()] + draw(st.sampled_from(LEAVES)) + text[chosen.end() :]
    return text


@st.composite
def edited(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(excerpts()))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        text = text[:start] + draw(st.sampled_from([*PIECES, ""])) + text[end:]
    return text


VALUE = re.compile(r"%[A-Za-z0-9_#]+")
WHOLE = re.compile(r"-?\b\d+\b")
WHOLES = ["0", "1", "-1", "3", "128", "4294967296", "18446744073709551616"]


@st.composite
def rearranged(draw: st.DrawFn) -> str:
    """A whole kernel with other values at some operands and results: what follows values has to stand it."""
    lines = KERNEL.splitlines()
    places = [i for i, line in enumerate(lines) if VALUE.search(line)]
    chosen = st.sampled_from(places)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(chosen)
        line = lines[at]
        values = list(VALUE.finditer(line))
        if not values:
            continue
        edit = draw(st.sampled_from(["delete", "repeat", "swap lines", "drop", "replace", "number"]))
        one = draw(st.sampled_from(values))
        if edit == "delete":
            lines[at] = ""
        elif edit == "repeat":
            lines[at] = f"{line}\n{line}"
        elif edit == "swap lines":
            other = draw(chosen)
            lines[at], lines[other] = lines[other], lines[at]
        elif edit == "drop":
            lines[at] = line[: one.start()] + re.sub(r"^\s*,\s*", "", line[one.end() :])
        elif edit == "replace":
            other_value = draw(st.sampled_from(VALUE.findall(KERNEL)))
            lines[at] = line[: one.start()] + other_value + line[one.end() :]
        elif numbers := list(WHOLE.finditer(line)):
            number = draw(st.sampled_from(numbers))
            lines[at] = line[: number.start()] + draw(st.sampled_from(WHOLES)) + line[number.end() :]
    return "\n".join(lines)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rearranged())
def test_kernels_with_other_values_are_answered_with_diagnostics(text: str):
    assert tileproof.check(text=text + "\n").exit_status() in (0, 1, 2)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(edited(), altered()))
def test_edited_kernels_are_answered_with_diagnostics(text: str):
    report = tileproof.check(text + "\n")
    for diagnostic in report.diagnostics:
        assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text) + 1
        assert diagnostic.message
        diagnostic.source.position(diagnostic.span.start)
    assert report.exit_status() in (0, 1, 2)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(edited())
def test_what_was_read_of_an_edited_kernel_survives_printing(text: str):
    scan = tileproof.parse(text)
    if not scan.faults:
        again = tileproof.parse(print_module(scan.module))
        assert again.faults == ()
        assert again.module == scan.module


FOLDED = [
    *("arith.constant", "arith.cmpi", "arith.addi", "arith.extui", "arith.select", "cute.get_leaves", "cute.get_shape"),
    *("cute.get_iter", "cute.add_offset", "cute.recast_iter", "cute.fast_divmod.compute", "llvm.getelementptr"),
    *("llvm.inttoptr", "cute_nvgpu.atom.set_value", "cute_nvgpu.atom.tma_partition", "cute_nvgpu.make_umma_smem_desc"),
    *("cute_nvgpu.atom.get_copy_s2t_smem_desc_view", "nvvm.cp.async.bulk.tensor.shared.cluster.global"),
]


@pytest.mark.parametrize("name", some(FOLDED, 8))
def test_operations_with_a_wrong_number_of_operands(name: str):
    """The protocol folds what it can, in the whole kernel: nothing of what cannot be."""
    value = "%c10000000_i32"
    line = f"{value} = arith.constant 10000000 : i32\n"
    assert line in KERNEL
    waits = KERNEL.replace(f"{value} : !llvm.ptr<3>", "%edited : !llvm.ptr<3>")
    for operands in ([], [value], [value] * 2, [value] * 4):
        named, types = ", ".join(operands), ", ".join(["i32"] * len(operands))
        for edit in (f'%edited = "{name}"({named}) : ({types}) -> i32', f"%edited = {name} {named} : i32"):
            tileproof.check(waits.replace(line, f"{line}      {edit}\n"))
