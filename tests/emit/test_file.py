"""`emit FILE`: what was checked is emitted with its descriptors; what has errors is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_sweep import run as assembled

import ptxas
import tileproof
from conftest import tileproof as command
from tileproof.source import Source
from tileproof.verbs.descriptors import descriptors
from tileproof.verbs.emit_file import emit_file

BOOK = tileproof.load_rules()
ROOT = Path(__file__).parents[2]
GEMM = ROOT / "examples" / "hopper_gemm.mlir"
BROKEN = ROOT / "examples" / "hopper_gemm_broken.mlir"


def source(path: Path) -> Source:
    return Source(path.name, path.read_text(encoding="utf-8"))


def test_each_mma_and_copy_has_an_entry_with_the_descriptors_of_the_kernel():
    text = emit_file(BOOK, source(GEMM))
    assert ".target sm_90a" in text
    entries = re.findall(r"\.visible \.entry (\w+)_(\d+)_line_(\d+)\(", text)
    written = source(GEMM).text.splitlines()
    operations = [line for line in written if re.search(r"\bcute\.(gemm|copy)\(", line)]
    assert len(operations) == len(entries) + text.count("the compiler's own")
    for kind, _, line in entries:
        assert ("cute.gemm(" if kind == "mma" else "cute.copy(") in written[int(line) - 1]
    known = {f"0x{one.value:016x}" for one in descriptors(BOOK, source(GEMM)) or () if one.value is not None}
    used = re.findall(r"or\.b64 l\d, wide, (0x[0-9a-f]{16});", text)
    assert set(used) == known
    assert len(used) == 2 * sum(kind == "mma" for kind, _, _ in entries)


@ptxas.needs_ptxas
def test_the_module_assembles(tmp_path: Path):
    assert not assembled("sm_90a", emit_file(BOOK, source(GEMM)), tmp_path, quick=False)


@pytest.mark.parametrize(
    ("arguments", "status", "shown"),
    [
        ((str(GEMM),), 0, "wgmma.mma_async"),
        ((str(BROKEN),), 1, "WG101"),
        ((str(GEMM), "--target", "sm_100a"), 1, "error"),
        ((str(GEMM), "--target", "sm_9"), 2, "no target"),
        (("nowhere.mlir",), 2, "nowhere.mlir"),
        ((str(GEMM), str(GEMM)), 2, "one file"),
        ((str(GEMM), "--form", "llvm"), 2, "go with --atom"),
    ],
)
def test_nothing_is_emitted_from_what_has_errors(arguments: tuple[str, ...], status: int, shown: str):
    done = command("emit", *arguments)
    assert done.returncode == status, done.stderr
    assert shown in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    if status:
        assert ".entry" not in done.stdout
