"""Real kernels: each descriptor that we derive from the IR is a constant of the PTX that CuTe DSL made of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import tileproof
from conftest import SHARED, corpus, corpus_files, some
from tileproof.base.source import Source
from tileproof.cli import main
from tileproof.memory.listing import descriptors

FILES = corpus_files()
BOOK = tileproof.load_rules()


def ptx_of(path: Path) -> Path:
    return path.with_name(path.name.replace(".generic.mlir", ".ptx").replace(".mlir", ".ptx"))


def constants(text: str) -> set[int]:
    decimal = {int(number) % 2**64 for number in re.findall(r"(?<![\w.])-?\d+(?![\w.])", text)}
    return decimal | {int(number, 16) for number in re.findall(r"0x([0-9A-Fa-f]+)", text)}


@corpus()
def test_static_descriptors_stand_in_the_ptx(path):
    listed = descriptors(BOOK, Source(path.name, path.read_text()), "ptx")
    assert listed is not None
    if not ptx_of(path).exists():
        assert not listed
        return
    known = constants(ptx_of(path).read_text())
    for one in listed:
        if one.value is None:
            assert path.parent.name == "sm_103a"
            assert one.reason == "bits 16-29 are the absolute address of the next buffer, a run-time value"
            continue
        low, high = one.value & 0xFFFFFFFF, one.value >> 32
        assert one.value in known or (low == 0 and high in known), one


needs_corpus = pytest.mark.skipif(not FILES, reason="no ../shared beside this checkout")


@needs_corpus
@pytest.mark.sweep
def test_how_many_there_are():
    listed = [one for path in FILES for one in descriptors(BOOK, Source(path.name, path.read_text()), "ptx") or ()]
    assert len(listed) > 100
    assert sum(one.value is None for one in listed) == 16
    assert {one.swizzle for one in listed} >= {"128"}


@needs_corpus
def test_generic_and_custom_forms_agree():
    pairs = [(p, p.with_name(p.name.replace(".generic", ""))) for p in FILES if ".generic." in p.name]
    assert pairs
    for generic, custom in pairs:
        one, other = (
            [
                (d.operand, d.swizzle, d.lbo, d.sbo, d.value)
                for d in descriptors(BOOK, Source("", p.read_text()), "ptx") or ()
            ]
            for p in (generic, custom)
        )
        assert one == other


@needs_corpus
def test_the_command_prints_them():
    path = SHARED / "corpus" / "sm_90a" / "dense_gemm__default.mlir"
    done = CliRunner().invoke(main, ["descriptors", str(path), "--format", "json"])
    assert done.exit_code == 0
    first = json.loads(done.stdout)["descriptors"][0]
    line = first.pop("line")
    assert "make_fragment A" in path.read_text().splitlines()[line - 1]
    assert first == {
        "file": str(path),
        "column": 7,
        "operand": "A",
        "swizzle": 128,
        "lbo": 16,
        "sbo": 1024,
        "value": "0x4000004000010000",
    }


PERMUTATION = re.compile(r', permutation_MNK = <"[^"]*">')
TILED = [
    *("sm_90a/dense_gemm__default.mlir", "sm_100a/dense_gemm__default.mlir"),
    "sm_100a/dense_blockscaled__nvf4_t256x128_c2x1.mlir",
]


@pytest.mark.parametrize("name", some(["", *TILED], 2))
def test_a_tiled_mma_may_leave_its_permutation_out(name, hopper_gemm):
    if name and not (SHARED / "corpus" / name).exists():
        pytest.skip("no ../shared beside this checkout")
    text = (SHARED / "corpus" / name).read_text("utf-8") if name else hopper_gemm
    shorter = PERMUTATION.sub("", text)
    assert shorter != text

    def answers(of: str) -> list[object]:
        listed = descriptors(BOOK, Source("x", of), "ptx") or []
        return [(one.operand, one.swizzle, one.lbo, one.sbo, one.value, one.reason) for one in listed]

    assert answers(shorter) == answers(text) != []
    assert not tileproof.check(text=shorter, ignore=("PR",)).diagnostics
