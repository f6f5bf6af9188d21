"""Intrinsics by llc, operations of the NVVM dialect by the MLIR of nvidia-cutlass-dsl."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tileproof
from tileproof.checking.instruction import context
from tileproof.emitting.atom import emit_atom
from tileproof.suggesting.configurations import Query, suggest

BOOK = tileproof.load_rules()
LLC = shutil.which("llc")
INTRINSICS = Path(__file__).parent / "intrinsics.txt"
PARSE = """
import sys
from cutlass._mlir import ir
with ir.Context(), ir.Location.unknown():
    ir.Module.parse(sys.stdin.read())
"""


def emitted(atom: str, target: str, form: str) -> str:
    return emit_atom(BOOK.under("ptx"), atom, context(BOOK, target), form)


def compiled(call: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A function around a call in LLVM IR, through llc."""
    found = re.match(r"%d = call ({.*?}) (@[\w.]+|asm .*\")\((.*)\)\n", call)
    assert found is not None, call
    result, name, given = found.groups()
    types = ", ".join(argument.rpartition(" ")[0] for argument in given.split(", "))
    declared = f"declare {result} {name}({types})\n" if name.startswith("@") else ""
    source = folder / "call.ll"
    source.write_text(f"{declared}define {result} @f({given}) {{\n  {call}\n  ret {result} %d\n}}\n")
    command = [str(LLC), "-march=nvptx64", "-mcpu=sm_80", "-mattr=+ptx71", str(source), "-o", "-"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(LLC is None, reason="llc is not installed")
def test_llc_knows_the_intrinsics_of_mma_and_prints_the_same_instruction(tmp_path: Path):
    found = suggest(BOOK, Query("ptx", context(BOOK, "sm_80"), {}))
    chosen = [one for one in found if one.family == "mma.sync" and one.ptx]
    seen = 0
    for one in random.Random(7).sample(chosen, 30):
        call = emitted(one.ptx, "sm_80", "llvm")
        if "@llvm.nvvm.mma" not in call:
            continue
        done = compiled(call, tmp_path)
        if "invalid intrinsic" in done.stderr or "sm_90" in done.stderr:
            continue  # newer than this llc
        assert done.returncode == 0, done.stderr + call
        printed = next(line.split()[0] for line in done.stdout.splitlines() if "mma." in line)
        assert sorted(printed.split(".")) == sorted(one.ptx.split()[0].split("."))
        seen += 1
    assert seen > 10


@pytest.mark.parametrize(
    "target", ["sm_70", "sm_75", "sm_80", "sm_89", pytest.param("sm_90a", marks=pytest.mark.sweep)]
)
def test_each_intrinsic_that_is_called_is_one_of_llvms(target: str):
    """By name, for all that is suggested; what LLVM has no intrinsic of is inline assembly."""
    lines = INTRINSICS.read_text(encoding="ascii").splitlines()
    known = {line for line in lines if not line.startswith("#")}
    found = suggest(BOOK, Query("ptx", context(BOOK, target), {}))
    opcodes = sorted({one.ptx.split()[0] for one in found if one.family == "mma.sync" and one.ptx})
    calls = {opcode: emitted(opcode, target, "llvm") for opcode in opcodes}
    names = {opcode: re.search(r"@(llvm\.[\w.]+)", call) for opcode, call in calls.items()}
    strangers = {opcode: name[1] for opcode, name in names.items() if name is not None and name[1] not in known}
    assert not strangers
    assert all("asm sideeffect" in calls[opcode] for opcode, name in names.items() if name is None)
    assert any(names.values())


@pytest.mark.skipif(LLC is None, reason="llc is not installed")
def test_llc_takes_inline_assembly_where_there_is_no_intrinsic(tmp_path: Path):
    call = emitted("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "sm_90a", "llvm")
    done = compiled(call, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "wgmma.wait_group.sync.aligned 0;" in done.stdout


@pytest.mark.oracle
@pytest.mark.skipif(find_spec("cutlass") is None, reason="nvidia-cutlass-dsl is not installed")
@pytest.mark.parametrize(
    ("opcode", "target"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_80"),
        ("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", "sm_80"),
        ("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_80"),
        ("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16", "sm_90a"),
        ("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2", "sm_90a"),
        ("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8", "sm_90a"),
    ],
)
def test_mlir_parses_the_operations(opcode: str, target: str):
    text = emitted(opcode, target, "nvvm")
    if "inline_asm" in text:
        names, types = re.search(r'" ([%\w, ]+) : \(([^)]*)\) ->', text).groups()  # type: ignore[union-attr]
        arguments = list(zip(names.split(", "), types.split(", "), strict=True))
    elif "wgmma" in text:
        result = re.search(r"-> (.*)", text)[1]  # type: ignore[index]
        arguments = [("%a", "i64"), ("%b", "i64"), ("%c", result)]
    else:
        kinds = re.search(r": \((.*)\) ->", text)[1].split(", ")  # type: ignore[index]
        groups = [group.split(", ") for group in re.findall(r"[ABC]\[(.*?)\]", text)]
        arguments = [(name, kind) for group, kind in zip(groups, kinds, strict=True) for name in group]
    given = ", ".join(f"{name}: {kind}" for name, kind in arguments)
    module = f"func.func @f({given}) {{\n{text}return\n}}\n"
    done = subprocess.run([sys.executable, "-c", PARSE], input=module, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:] + module


def test_llvm_has_its_own_names_for_the_warpgroups_intrinsics():
    """Upstream: commit_group and wait_group; pages: commit.group and wait.group. No mma_async: inline assembly."""
    text = emitted("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "sm_90a", "llvm")
    assert "@llvm.nvvm.wgmma.mma_async" not in text
    assert "asm sideeffect" in text
