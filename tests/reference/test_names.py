"""Names of the pages against what is installed: the intrinsics of LLVM, the operations of NVIDIA's dialect."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from tileproof.reference.builtins import builtins
from tileproof.reference.tables import rows, spelled
from tileproof.rulebase.load import load, shipped_files

BOOK = load(shipped_files())
LLC = shutil.which("llc")


def of_llvm() -> frozenset[str]:
    """The intrinsics whose names are in the library of the installed llc."""
    linked = subprocess.run(["ldd", str(LLC)], capture_output=True, text=True, check=False).stdout
    library = re.search(r"(/\S*libLLVM\S*)", linked)
    held = Path(library[1] if library else str(LLC)).read_bytes()
    return frozenset(name.decode() for name in re.findall(rb"llvm\.nvvm\.[a-z0-9_.]+", held))


@pytest.mark.skipif(LLC is None, reason="llc is not installed")
def test_each_wmma_builtin_is_an_intrinsic_of_llvm_BLT01_BLT07():
    known = of_llvm()
    if not any(name.startswith("llvm.nvvm.wmma.") for name in known):
        pytest.skip("this llc keeps its intrinsics elsewhere")
    made = {one.name: one.llvm for one in builtins(BOOK) if one.family != "WGMMA"}
    assert len(made) == 86
    assert {name: one for name, one in made.items() if one not in known} == {}


@pytest.mark.skipif(LLC is None, reason="llc is not installed")
def test_llvm_has_none_of_the_names_that_only_the_page_of_builtins_writes_BLT07():
    known = of_llvm()
    for row in rows(BOOK, "wgmma_intrinsic_name").values():
        name = spelled(BOOK, "wgmma_intrinsic_name", row["builtins"])
        assert name not in known


@pytest.mark.oracle
@pytest.mark.skipif(find_spec("nvidia_cutlass_dsl") is None, reason="nvidia-cutlass-dsl is not installed")
def test_the_four_operations_are_in_nvidias_dialect_BLT07():
    """Page P4 names them as the dialect does; a store, which the page of builtins has, is not among them."""
    spec = find_spec("nvidia_cutlass_dsl")
    assert spec is not None and spec.submodule_search_locations is not None
    folder = Path(next(iter(spec.submodule_search_locations)))
    library = next(path for path in sorted(folder.rglob("_cutlass_ir*.so")) if path.stat().st_size > 1_000_000)
    held = frozenset(name.decode() for name in re.findall(rb"nvvm\.wgmma\.[a-z_.]+", library.read_bytes()))
    named = {".fence.aligned", ".mma_async", ".commit.group.sync.aligned", ".wait.group.sync.aligned"}
    assert {f"nvvm.wgmma{name}" for name in named} <= held
    assert not any("store" in name for name in held)
