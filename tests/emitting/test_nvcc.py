"""Every inline-assembly form compiles: each is the body of a small CUDA C++ kernel, and nvcc has the last word."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import ptxas
import pytest

import tileproof
from tileproof.checking.instruction import context
from tileproof.emitting.atom import emit_atom
from tileproof.ptx.select import legal_form
from tileproof.suggesting.configurations import Query, suggest

BOOK = tileproof.load_rules()
RULES = BOOK.under("ptx")
TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_103a", "sm_120a")
ATOMS = {
    "sm_90a": [
        "!cute_nvgpu.sm90.mma<64x64x16, ab_major = (k, mn), elem_type = (f16, f16, f32), frag_kind = ss>",
        "!cute_nvgpu.sm90.mma<64x64x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = rs>",
    ],
    "sm_100a": [
        f"!cute_nvgpu.sm100.mma<{m}x64x16, num_cta = {ctas}, ab_major = (k, k), elem_type = (f16, f16, f32),"
        f" frag_kind = {kind}, c_scale_exp = {scale}>"
        for m, ctas, kind, scale in ((128, 1, "ss", 0), (256, 2, "ss", 0), (128, 1, "ts", 0), (128, 1, "ss", 3))
    ],
}


@cache
def compiler() -> str | None:
    """nvcc, if it compiles an empty kernel: it needs a compiler for the host and the headers of the runtime."""
    found = ptxas.find()
    nvcc = found.parent / "nvcc" if found is not None else None
    if nvcc is None or not nvcc.is_file():
        return None
    command = [str(nvcc), "-x", "cu", "-arch=sm_90a", "-cubin", "-o", "/dev/null", "-"]
    done = subprocess.run(command, input="__global__ void f() {}\n", capture_output=True, text=True, check=False)
    return str(nvcc) if done.returncode == 0 else None


def instructions(target: str) -> dict[str, str]:
    """Statements of CUDA C++ by instruction: a legal one of each declaration, and of each form that is suggested."""
    where = context(BOOK, target)
    texts = list(ATOMS.get(target, ()))
    for declaration in (one for same in BOOK.instructions.values() for one in same):
        spelled = legal_form(RULES, where, declaration, dict(declaration.sets))
        texts += [spelled.text] if spelled is not None else []
    suggested = suggest(BOOK, Query("ptx", where, {"N": (64,), "M": (64, 128)} if target != "sm_120a" else {}))
    opcodes = dict.fromkeys(one.ptx.split()[0] for one in suggested if one.ptx)
    texts += list(opcodes)[:: max(1, len(opcodes) // 60)]
    return {text: emit_atom(RULES, text, where, "inline_asm").partition("\n\n")[0] for text in dict.fromkeys(texts)}


def compiled(statements: list[str], target: str, folder: Path) -> str:
    """What nvcc says against kernels with these bodies; empty where nothing."""
    source = folder / "kernels.cu"
    bodies = (f"__global__ void kernel{i}() {{\n{text}\n}}\n" for i, text in enumerate(statements))
    source.write_text("".join(bodies), encoding="ascii")
    command = [compiler() or "", f"-arch={target}", "-cubin", str(source), "-o", str(folder / "kernels.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    return (done.stdout + done.stderr)[:2000] or "failed" if done.returncode else ""


@pytest.mark.oracle
@pytest.mark.parametrize("target", TARGETS)
def test_every_inline_assembly_compiles(target: str, tmp_path: Path):
    if compiler() is None:
        pytest.skip("nvcc does not compile here (pip install 'tileproof[oracle]'; it needs a host compiler)")
    found = instructions(target)
    assert len(found) > 10
    if compiled(list(found.values()), target, tmp_path):
        for text, statement in found.items():
            said = compiled([statement], target, tmp_path)
            assert not said, f"{text}\n{statement}\n{said}"
        pytest.fail("kernels that compile alone do not compile together")


def test_what_is_known_is_given_and_what_a_kernel_declares_comes_in():
    text = emit_atom(RULES, ATOMS["sm_100a"][0], context(BOOK, "sm_100a"), "inline_asm")
    assert "r1 = 0x8100010" in text
    assert '"r"(finished)' in text
    assert "unsigned finished;  // address in shared memory" in text
    assert "[finished]" not in text.partition("\n\n")[0]
    assert "i32 %finished" in text
