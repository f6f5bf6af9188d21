"""What a check of PTX without a protocol loads: most of the time of a small file is imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TEXT = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n"
CODE = """
import sys
from tileproof.cli.__main__ import run
sys.argv = ["tileproof", "check", "--no-cache", sys.argv[1]]
try:
    run()
except SystemExit as ended:
    assert ended.code == 0
print(*sys.modules)
"""
NOT_NEEDED = (
    *("tileproof.dataflow.wgmma", "tileproof.ptx.values", "tileproof.rulebase.resolve", "tileproof.judge.messages"),
    *("lark", "z3", "numpy", "tileproof.layout", "tileproof.mlir.scanner", "tileproof.syntax.layouts"),
    *("click", "datetime", "inspect", "linecache", "shutil", "uuid"),
    *("dataclasses", "decimal", "difflib", "fractions", "hashlib", "json", "pickle", "random", "tempfile", "tomllib"),
    *("tileproof.dialects.facts", "tileproof.dialects.values", "tileproof.checking.mlir", "tileproof.protocol.machine"),
)


def test_a_small_file_of_ptx_loads_nothing_of_the_ir_and_no_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "k.ptx"
    path.write_text(TEXT, encoding="utf-8")
    monkeypatch.delenv("TILEPROOF_NO_CACHE")  # which click reads
    for _ in range(2):  # the first may have to read the rules
        done = subprocess.run([sys.executable, "-c", CODE, str(path)], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert "tileproof.checking.ptx" in loaded
    assert [one for one in loaded if any(f"{one}.".startswith(f"{name}.") for name in NOT_NEEDED)] == []
