"""ptxas as an oracle: which instructions of a batch it rejects. It needs no GPU and comes with the extra ``oracle``."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest


@cache
def find() -> Path | None:
    """The ptxas of the PyPI package nvidia-cuda-nvcc, or None."""
    spec = find_spec("nvidia")
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        if found := sorted(Path(folder).glob("*/bin/ptxas")):
            return found[-1]
    return None


_installed = pytest.mark.skipif(find() is None, reason="ptxas is not installed (pip install 'tileproof[oracle]')")


def needs_ptxas(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that asks ptxas: one of the oracle's, skipped where ptxas is missing."""
    return pytest.mark.oracle(_installed(test))


_HEADER = """.version {ptx}
.target {target}
.address_size 64
.visible .entry k()
{{
.reg .b32 %r<260>;
.reg .f32 %f<260>;
.reg .f64 %d<260>;
.reg .b64 %l<16>;
.reg .b16 %h<16>;
.reg .pred %p<8>;
"""


def rejected(instructions: list[str], target: str, ptx: str) -> list[bool]:
    """For each instruction, whether ptxas reports an error on its line.

    ptxas reports all semantic errors of a file with their lines; but a syntax error hides those after it, so the
    instructions must be well-formed.
    """
    ptxas = find()
    assert ptxas is not None
    header = _HEADER.format(ptx=ptx, target=target)
    first = header.count("\n") + 1
    text = header + "\n".join(instructions) + "\nret;\n}\n"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "batch.ptx"
        source.write_text(text, encoding="ascii")
        command = [str(ptxas), "-arch", target, str(source), "-o", str(Path(folder) / "out.cubin")]
        output = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    lines = {int(line) for line in re.findall(r", line (\d+); error", output.stderr + output.stdout)}
    assert bool(lines) is (output.returncode != 0), output.stderr
    return [first + i in lines for i in range(len(instructions))]
