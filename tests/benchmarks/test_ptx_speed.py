"""How fast `check` is on PTX, beside ptxas -O3. Run with `pytest tests/benchmarks --benchmark-enable -o addopts=`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from ptxas import find, needs_ptxas

from conftest import SHARED

SMALL = SHARED / "corpus/sm_100a/tut_tma_v0__default.ptx"  # 3 KB
LARGE = SHARED / "ptx/cutlass__48__sm_90a.ptx"  # 1.1 MB
FILES = pytest.mark.parametrize("path", [SMALL, LARGE], ids=["3KB", "1MB"])
needs_files = pytest.mark.skipif(not LARGE.exists(), reason="no ../shared beside this checkout")
ENTRY = re.compile(r"^.*?\.entry\s+([\w$]+)", re.MULTILINE)


def check(path: Path) -> list[str]:
    return [sys.executable, "-m", "tileproof.cli", "check", "--no-cache", "--jobs", "1", str(path)]


@needs_files
@FILES
@pytest.mark.benchmark(group="cold verdict on PTX")
def test_tileproof(benchmark, path: Path):
    done = benchmark.pedantic(lambda: subprocess.run(check(path), check=True, capture_output=True), rounds=7)
    assert b"verified" in done.stdout


@needs_files
@needs_ptxas
@FILES
@pytest.mark.benchmark(group="cold verdict on PTX")
def test_ptxas(benchmark, path: Path, tmp_path: Path):
    target = re.search(r"\.target\s+(\w+)", path.read_text(encoding="utf-8"))
    assert target is not None
    command = [str(find()), "-O3", "-arch", target[1], str(path), "-o", str(tmp_path / "out.cubin")]
    benchmark.pedantic(lambda: subprocess.run(command, check=True, capture_output=True), rounds=7)


def repeated(text: str, size: int) -> str:
    """The kernels of a module again and again, under new names, until the text has so many characters."""
    names = re.compile("|".join(sorted(map(re.escape, ENTRY.findall(text)), key=len, reverse=True)))
    first = ENTRY.search(text)
    assert first is not None
    head, kernels = text[: first.start()], text[first.start() :]
    copies = [names.sub(rf"\g<0>_{i}", kernels) for i in range(size // len(kernels) + 1)]
    return "\n".join([head, *copies])


@needs_files
@pytest.mark.benchmark(group="PTX of twice the size")
@pytest.mark.parametrize("size", [2_500_000, 5_000_000])
def test_twice_the_text_takes_twice_the_time(benchmark, size: int, tmp_path: Path):
    path = tmp_path / "long.ptx"
    path.write_text(repeated(LARGE.read_text(encoding="utf-8"), size), encoding="utf-8")
    benchmark.extra_info["MB"] = path.stat().st_size / 1e6
    done = benchmark.pedantic(lambda: subprocess.run(check(path), check=True, capture_output=True), rounds=3)
    assert b"verified" in done.stdout
