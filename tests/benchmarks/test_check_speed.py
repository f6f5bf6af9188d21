"""How fast `check` is, measured side by side. Run with `pytest tests/benchmarks --benchmark-enable -o addopts=`."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tileproof
from conftest import SHARED
from tileproof.base.source import Source
from tileproof.mlir.scanner import scan
from tileproof.syntax.layouts import layout
from tileproof.syntax.modules import outlines
from tileproof.syntax.types import type_tree

GEMM = SHARED / "corpus/sm_90a/dense_gemm__default.mlir"
FMHA = SHARED / "corpus/sm_100a/fmha__default.mlir"
needs_corpus = pytest.mark.skipif(not FMHA.exists(), reason="no ../shared beside this checkout")
needs_wheel = pytest.mark.skipif(find_spec("cutlass") is None, reason="nvidia-cutlass-dsl is not installed")

NATIVE = """
import cutlass
from cutlass._mlir import ir
with ir.Context():
    ir.Module.parse(open({path!r}).read()).operation.verify()
"""


def cold() -> None:
    """Forget what was parsed, so that each round pays for it."""
    type_tree.cache_clear()
    layout.cache_clear()


@needs_corpus
@pytest.mark.benchmark(group="cold check of a 126 KB kernel")
def test_tileproof_check(benchmark):
    command = [sys.executable, "-m", "tileproof.cli", "check", str(GEMM)]
    done = benchmark.pedantic(lambda: subprocess.run(command, check=True, capture_output=True), rounds=7)
    assert b"1 kernel verified" in done.stdout


@needs_corpus
@needs_wheel
@pytest.mark.benchmark(group="cold check of a 126 KB kernel")
def test_native_parse_and_verify(benchmark):
    command = [sys.executable, "-c", NATIVE.format(path=str(GEMM))]
    done = benchmark.pedantic(lambda: subprocess.run(command, check=True, capture_output=True), rounds=5)
    assert done.stderr == b""


@pytest.mark.benchmark(group="start")
@pytest.mark.parametrize(
    "arguments", [["-c", "pass"], ["-m", "tileproof.cli", "--version"]], ids=["python", "tileproof"]
)
def test_start(benchmark, arguments: list[str]):
    command = [sys.executable, *arguments]
    done = benchmark.pedantic(lambda: subprocess.run(command, check=True, capture_output=True), rounds=9)
    assert (b"tileproof" in done.stdout) is ("--version" in arguments)


@needs_corpus
@pytest.mark.benchmark(group="1 MB of IR in one process")
def test_check_of_a_megabyte(benchmark):
    text = FMHA.read_text(encoding="utf-8")
    benchmark.extra_info["MB"] = len(text) / 1e6
    report = benchmark.pedantic(tileproof.check, (text,), setup=cold, rounds=5)
    assert report.files[0].kernels


@needs_corpus
@pytest.mark.benchmark(group="1 MB of IR in one process")
def test_twice_the_text_takes_twice_the_time(benchmark):
    text = FMHA.read_text(encoding="utf-8")
    report = benchmark.pedantic(tileproof.check, (text + text,), setup=cold, rounds=3)
    assert report.files[0].kernels


@needs_corpus
@pytest.mark.benchmark(group="scanner and grammar")
@pytest.mark.parametrize("reader", [lambda text: scan(Source("x", text)), outlines], ids=["scanner", "lark"])
def test_reading_the_shape(benchmark, reader):
    text = Path(GEMM).read_text(encoding="utf-8")
    assert benchmark.pedantic(reader, (text,), rounds=5)
