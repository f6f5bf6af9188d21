"""With its fences, commits and waits deleted a kernel has a finding, or it is not verified: never silence."""

# checklist: PRO01 PRO02 PRO05 PRO06 PRO08

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import tileproof
from conftest import SMALL, corpus_files
from protocol.rings import ARRIVAL, ring
from protocol.test_practices import CASES, FRAME
from protocol.test_ptx_kernels import RING
from tileproof.base.diagnostic import Severity
from tileproof.base.source import Source
from tileproof.checking import kept_outcomes
from tileproof.mlir.ir import Alias, Operation
from tileproof.mlir.scanner import scan
from tileproof.protocol.machine import Machine
from tileproof.protocol.verify import verify

BOOK = tileproof.load_rules()

_SYNCHRONISES = re.compile(r"\b(?:nvvm|cute_nvgpu)\.[\w.]*(?:fence|commit|wait)[\w.]*(?: <\w+>)?")

# Operations of which a kernel may lose all and be right still, or whose loss is of no order that is verified.
REDUNDANT = {
    "nvvm.fence.mbarrier.init": "a barrier of the CTA comes behind it, and the CTA has no peer",
    "nvvm.tcgen05.fence <after>": "the wait for the commit of the MMA orders the same",
    "nvvm.tcgen05.fence <before>": "the wait for the commit of the MMA orders the same",
    "nvvm.tcgen05.wait <load>": "ptxas waits before the registers are used; what reuses the memory has another order",
    "nvvm.griddepcontrol.wait": "it orders the grid after another one",
    "nvvm.cluster.wait": "nothing passes between the CTAs",
}

# All that goes through the barriers of these kernels goes from one thread to the other threads of its warp.
WITHIN_A_WARP = {"prim_mbarrier__default.2", "ct_prim_mbarrier_lifecycle"}

# Kernels whose silence has a cause that is not repaired yet.
OPEN = {
    "ct_prim_reduction_cluster_tmem_reduce": "tcgen05.cp with a descriptor that is computed reads shared memory",
    "ct_prim_tma_tma_tensormap_replace": "fences of tensor maps in global memory",
}


@dataclass(frozen=True)
class Judged:
    """What is known of a text: the codes that are found, those of errors, and whether all of it was followed."""

    codes: frozenset[str]
    errors: frozenset[str]
    followed: bool


def _module(text: str) -> tuple[Sequence[Operation], dict[str, Alias]]:
    module = scan(Source("kernel.mlir", text)).module
    return module.operations, module.aliases


def judged(text: str) -> Judged:
    outcomes = list(verify(BOOK, *_module(text)))
    codes = frozenset(fault.code for outcome in outcomes for fault in outcome.faults)
    errors = frozenset(code for code in codes if BOOK.findings[code].severity is Severity.ERROR)
    return Judged(
        codes,
        errors,
        not any(outcome.doubts or len(outcome.executed) < len(outcome.steps) for outcome in outcomes),
    )


def kind_of(line: str) -> str | None:
    """The operation of a line, if it is a fence, a commit or a wait."""
    found = _SYNCHRONISES.search(line)
    return None if found is None or line.lstrip().startswith("//") else found[0]


def without(text: str, kinds: Collection[str]) -> str:
    """The text without the operations of some kinds; what has a result that is used becomes a constant."""
    lines = []
    for line in text.split("\n"):
        if kind_of(line) not in kinds:
            lines.append(line)
        elif (result := re.match(r"(\s*%[\w#]+) = .*-> (i\d+)\s*$", line)) is not None:
            lines.append(f"{result[1]} = arith.constant {'true' if result[2] == 'i1' else f'1 : {result[2]}'}")
    return "\n".join(lines)


def kinds_of(text: str) -> list[str]:
    return sorted({kind for line in text.split("\n") if (kind := kind_of(line)) is not None})


def silent(text: str, each: bool = True) -> Iterator[str]:
    """The kinds of operations whose loss nothing tells; first all of them together.

    Args:
        each: whether each kind is deleted alone as well.
    """
    kinds, before = kinds_of(text), judged(text)
    if not kinds or not before.followed:
        return
    after = judged(without(text, kinds))
    if after.followed and not after.errors - before.errors:
        yield "all"
    for kind in kinds if each else ():
        after = judged(without(text, {kind}))
        if after.followed and not after.codes - before.codes:
            yield kind


def kernels(most: int | None, size: int) -> list[Path]:
    """Some real kernels of all kinds, no larger than so many bytes; the same in each run."""
    files = [
        path
        for pattern in ("corpus/*/*.mlir", "field/*/*.mlir")
        for path in corpus_files(pattern)
        if path.stat().st_size <= size and ".generic" not in path.name
    ]
    return files if most is None else sorted(random.Random(3).sample(files, min(most, len(files))))


def _marked() -> list[object]:
    """Real kernels: a handful of small ones in the plain run, a dozen in a sweep, all in a long run."""
    plain, sweep = set(kernels(6, SMALL // 2)), set(kernels(12, SMALL))
    found = []
    for path in kernels(None, 1 << 30):
        mark = None if path in plain else pytest.mark.sweep if path in sweep else pytest.mark.long
        marks = [mark] if mark else []
        if path.stem in OPEN:
            marks.append(pytest.mark.xfail(reason=OPEN[path.stem]))
        found.append(pytest.param(path, marks=marks, id=f"{path.parent.name}/{path.stem}"))
    return found or [pytest.param(None, marks=pytest.mark.skip(reason="no ../shared beside this checkout"))]


@pytest.mark.parametrize("path", _marked())
def test_a_real_kernel_without_its_synchronisation_is_told(path):
    found = set(silent(path.read_text())) - set(REDUNDANT)
    assert not found or path.stem in WITHIN_A_WARP


# Practices whose fences and waits stand alone: no other thread accesses what they would order.
NOTHING_ORDERED = {"interleaved rows", "a wait behind a look", "one of two warps enters a loop", "a letter"}


@pytest.mark.parametrize("name", [name for name, (body, *_) in CASES.items() if set(kinds_of(body)) - set(REDUNDANT)])
def test_a_practice_without_its_synchronisation_is_told(name):
    body, threads, ctas, *_ = CASES[name]
    text = FRAME.replace("BODY", body).replace("THREADS", str(threads)).replace("CTAS", str(ctas))
    assert ("all" in silent(text, each=False)) == (name in NOTHING_ORDERED)


# One warp writes a stage of a ring in shared memory, the other reads it.
_AT = """
        %slot = llvm.getelementptr %full[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %place = llvm.getelementptr %slot[256] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
"""
_WRITES = _AT + "        llvm.store %k, %place : i32, !llvm.ptr<3>\n"
_READS = _AT + "        %seen = llvm.load %place : !llvm.ptr<3> -> i32\n"


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_ring_without_its_waits_is_told(stages):
    text = ring(stages, _WRITES + ARRIVAL, _READS + ARRIVAL)
    assert judged(text).errors == set()
    assert set(silent(text)) <= set(REDUNDANT)


# Swizzled pointers, places of each thread behind a plain pointer, descriptors that the kernel fills itself.
PLAIN = [
    "prim_cp_async_shared_global_swizzled__default",
    "ct_prim_cp_async_mbarrier_arrive_cta",
    "ct_prim_cp_async_mbarrier_arrive_cluster",
    "ct_prim_tcgen05_slicek_m32n8k128",
]


@pytest.mark.parametrize("name", PLAIN)
def test_accesses_through_plain_pointers_are_ordered(name):
    files = [path for path in kernels(None, SMALL) if path.stem == name]
    if not files:
        pytest.skip("no ../shared beside this checkout")
    assert set(silent(files[0].read_text())) <= set(REDUNDANT)


def test_registers_of_a_fragment_that_threads_write_are_named(hopper_gemm):
    """A fragment of registers is memory that no allocation made."""
    fence = "nvvm.wgmma.fence.aligned"
    cleared = (
        f"{fence}\n%zeros = arith.constant dense<0.0> : vector<128xf32>\n"
        "cute.memref.store_vec(%zeros, %frg_C) : (vector<128xf32>, !memref_rmem_f32) -> ()"
    )
    assert hopper_gemm.count(fence) == 1
    (fault,) = (
        fault
        for outcome in verify(BOOK, *_module(hopper_gemm.replace(fence, cleared)))
        for fault in outcome.faults
        if fault.code == "PR102"
    )
    assert "%frg_C" in fault.message


@pytest.mark.sweep
def test_uses_of_a_named_barrier_that_count_differently_are_an_error_however_often_loops_run():
    files = [path for path in kernels(None, 1 << 30) if path.stem == "dense_gemm_persistent__default"]
    files = [path for path in files if path.parent.name == "sm_100a"]
    if not files:
        pytest.skip("no ../shared beside this checkout")
    use = "nvvm.barrier id = %c2_i32 number_of_threads = %c160_i32"
    before, found, after = files[0].read_text().rpartition(use)
    assert found
    more = f"%more = arith.constant 192 : i32\n{use.replace('%c160_i32', '%more')}"
    assert "PR133" in judged(before + more + after).errors


@pytest.mark.parametrize("text", [ring(2), RING], ids=["ir", "ptx"])
def test_an_error_of_the_machine_itself_is_a_kernel_that_is_not_verified(text: str, monkeypatch: pytest.MonkeyPatch):
    def fails(machine: Machine) -> None:
        raise IndexError(machine.steps)

    monkeypatch.setattr(Machine, "run", fails)
    report = tileproof.check(text)
    (kernel,) = report.files[0].kernels
    assert "failure" in {one.case for one in kernel.reasons}
    assert kernel.steps > kernel.executed == 0
    assert [(one.code, one.severity) for one in report.diagnostics] == [("PR190", Severity.NOTE)]


@pytest.mark.parametrize(("text", "name"), [(ring(2), "compile_kernel"), (RING, "compile_function")], ids=["ir", "ptx"])
def test_a_kernel_that_cannot_be_made_a_program_is_not_verified(text: str, name: str, monkeypatch: pytest.MonkeyPatch):
    def fails(*_: object) -> None:
        raise KeyError(name)

    monkeypatch.setattr(f"tileproof.protocol.verify.{name}", fails)
    kept_outcomes.memory.cache_clear()
    report = tileproof.check(text)
    (kernel,) = report.files[0].kernels
    assert "failure" in {one.case for one in kernel.reasons}
    assert [(one.code, one.severity) for one in report.diagnostics] == [("PR190", Severity.NOTE)]
