"""NVIDIA's compiler of CuTe DSL: modules of IR to PTX.

The native library may die: it lives in a process of its own for each module. It needs no GPU.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

LOWER = """
import sys
from cutlass._mlir import ir, passmanager
with ir.Context():
    module = ir.Module.parse(sys.stdin.read())
    options = "check-inline-asm=false cubin-format=bin opt-level=3 enable-cuda-dialect=true"
    options += f" cuda-dialect-external-module=true cubin-chip={sys.argv[1]} dump-ptx-path={sys.argv[2]}"
    passmanager.PassManager.parse("builtin.module(cute-to-nvvm{" + options + "})").run(module.operation)
"""


def needs_compiler(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that lowers IR: one of the oracle's, skipped where the wheel is missing."""
    installed = find_spec("cutlass") is not None
    return pytest.mark.oracle(pytest.mark.skipif(not installed, reason="nvidia-cutlass-dsl is not installed")(test))


def lowered(text: str, target: str, folder: Path) -> str | None:
    """The PTX of a module; None where the compiler does not take it."""
    for old in folder.glob("*.ptx"):
        old.unlink()
    command = [sys.executable, "-c", LOWER, target, str(folder / "lowered")]
    subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=300)
    found = sorted(folder.glob("*.ptx"))
    return found[0].read_text(encoding="utf-8").rstrip("\0") if found else None
