"""CUDA C++ for sm_90a, built with nvcc and launched with CuPy: what the measuring programs of this folder share."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PRELUDE = r"""
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long long u64;
extern __shared__ u8 smem[];
__device__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ void async_proxy_fence() { asm volatile("fence.proxy.async;" ::: "memory"); }
"""


_FOLDER = tempfile.TemporaryDirectory()  # CuPy reads a binary when a kernel is first asked for


def compiled(source: str, folder: str) -> Path:
    """The binary of a source, in a folder.

    Raises:
        CalledProcessError: nvcc does not accept it; its messages are printed.
    """
    text, binary = Path(folder, "kernels.cu"), Path(folder, "kernels.cubin")
    text.write_text(PRELUDE + source, encoding="utf-8")
    target = "-gencode=arch=compute_90a,code=sm_90a"
    subprocess.run(["nvcc", "-w", target, "-cubin", "-o", str(binary), str(text)], check=True)
    return binary


def built(source: str) -> Any:
    """The module of a source."""
    import cupy  # type: ignore[import-not-found]  # noqa: PLC0415  where there is a GPU

    return cupy.RawModule(path=str(compiled(source, _FOLDER.name)))


def registers(count: int, first: int = 0) -> str:
    """Operands of inline PTX from a number on, as a vector: ``{%4,%5}``."""
    return "{" + ",".join(f"%{first + i}" for i in range(count)) + "}"


def card() -> str:
    """The GPU and its driver."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = subprocess.run(query, check=True, capture_output=True, text=True).stdout.strip().split(", ")
    return f"{name}, driver {driver}"


def write(path: Path, lines: Sequence[str]) -> None:
    """Record the answers, and who gave them."""
    path.write_text("\n".join([f"# {card()}", *lines, ""]), encoding="utf-8")
