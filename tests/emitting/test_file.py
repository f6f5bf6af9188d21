"""`emit FILE`: what was checked is emitted with its descriptors; what has errors is not."""

from __future__ import annotations

import re
from pathlib import Path

import ptxas
import pytest
from test_sweep import run as assembled

import tileproof
from conftest import command, corpus_files
from tileproof.base.source import Source
from tileproof.emitting.atom import Refused
from tileproof.emitting.file import emit_file
from tileproof.memory.listing import descriptors

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
    operations = [i + 1 for i, line in enumerate(written) if re.search(r"\bcute\.(gemm|copy)\(", line)]
    assert [int(line) for kind, _, line in entries if kind != "protocol"] == operations
    names = {"mma": "cute.gemm(", "copy": "cute.copy(", "protocol": "cuda.kernel"}
    for kind, _, line in entries:
        assert names[kind] in written[int(line) - 1]
    known = {f"0x{one.value:016x}" for one in descriptors(BOOK, source(GEMM), "ptx") or () if one.value is not None}
    used = re.findall(r"or\.b64 l\d, wide, (0x[0-9a-f]{16});", text)
    assert set(used) == known
    assert len(used) == 2 * sum(kind == "mma" for kind, _, _ in entries)


@ptxas.needs_ptxas
def test_the_module_assembles(tmp_path: Path):
    assert not assembled("sm_90a", emit_file(BOOK, source(GEMM)), tmp_path, quick=False)


def test_what_the_kernel_orders_by_itself_stands_in_its_order():
    """Each operation of the protocol by its line, the MMAs and copies between them by their entries."""
    text = emit_file(BOOK, source(GEMM))
    protocol = text[text.index(".entry protocol_") :]
    written = source(GEMM).text.splitlines()
    ordering = r"nvvm\.(mbarrier|fence|barrier|wgmma|cp\.async|cluster\.)|\bcute\.(gemm|copy)\("
    expected = [i + 1 for i, line in enumerate(written) if re.search(ordering, line)]
    assert [int(line) for line in re.findall(r"  // hopper_gemm\.mlir:(\d+): ", protocol)] == expected
    for line, name in re.findall(r"mlir:(\d+): cute\.\w+, see (\w+)", protocol):
        assert f".entry {name}(" in text
        assert name.endswith(f"_line_{line}")


# Of each generation one with atoms, and those that write the NVVM dialect by hand; the long run has all.
IN_CI = {
    "sm_80/tensorop_gemm__default",
    "sm_90a/dense_gemm_persistent__default",
    "sm_100a/prim_tcgen05_1cta_mma_a_from_tmem__default",
    "sm_100a/prim_tcgen05_2cta_mma_basic__default",
    "sm_100a/prim_mbarrier__default.2",
    "sm_120a/blockscaled_cooperative__nvf4_t128x128x128",
}
INVALID = "nb_cute_layout_algebra__nb.5.mlir"  # a derefine between two profiles: no dialect accepts it
KERNELS = [
    pytest.param(
        path,
        marks=() if f"{path.parent.name}/{path.stem}" in IN_CI else pytest.mark.long,
        id=f"{path.parent.name}/{path.stem}",
    )
    for path in corpus_files()
]
NONE = [pytest.param(None, marks=pytest.mark.skip(reason="no ../shared beside this checkout"))]


@pytest.mark.parametrize("path", KERNELS or NONE)
@ptxas.needs_ptxas
def test_every_real_kernel_is_emitted_and_assembles(path: Path, tmp_path: Path):
    target = path.parent.name
    if path.name == INVALID:
        with pytest.raises(Refused):
            emit_file(BOOK, source(path), target)
        return
    text = emit_file(BOOK, source(path), target)
    assert not assembled(target, text, tmp_path, quick=False)
    operations = len(re.findall(r'\bcute\.(?:gemm|copy|mma_atom_call|copy_atom_call)"?\(', source(path).text))
    written = re.findall(r"\.entry (mma|copy)_\d+", text)
    assert len(written) + text.count("no instruction on") >= operations


@pytest.mark.parametrize(
    ("arguments", "status", "shown"),
    [
        ((str(GEMM),), 0, "wgmma.mma_async"),
        ((str(BROKEN),), 1, "WG101"),
        ((str(GEMM), "--target", "sm_100a"), 1, "error"),
        ((str(GEMM), "--target", "sm_9"), 2, "unknown target"),
        (("nowhere.mlir",), 2, "nowhere.mlir"),
        ((str(GEMM), str(GEMM)), 2, "one file"),
        ((str(GEMM), "--form", "llvm"), 2, "require --atom"),
    ],
)
def test_nothing_is_emitted_from_what_has_errors(arguments: tuple[str, ...], status: int, shown: str):
    done = command("emit", *arguments)
    assert done.returncode == status, done.stderr
    assert shown in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    if status:
        assert ".entry" not in done.stdout
