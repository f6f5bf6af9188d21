"""Hints of `check` tell the nearest legal atom, and no one waits for the solver for that."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tileproof

ATOM = "!cute_nvgpu.sm90.mma<64x{}x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>"
USES = "\n".join(f'%{i} = "test.use"() : () -> {ATOM.format(n)}' for i, n in enumerate((100, 12, 257, 264, 300, 1)))


def test_the_hint_holds_a_legal_atom():
    (found,) = tileproof.check(f'%0 = "test.use"() : () -> {ATOM.format(100)}\n').diagnostics
    nearest = found.hint.partition("the nearest legal atom is ")[2]
    assert nearest == ATOM.format(96)
    assert tileproof.legal(nearest, "sm_90a").legal


def test_only_a_few_atoms_of_a_file_are_mended():
    hints = [found.hint for found in tileproof.check(USES + "\n").diagnostics]
    assert len(hints) == 6
    assert ["nearest legal atom" in hint for hint in hints] == [True] * 4 + [False] * 2


ASK = """
import sys
from tileproof.cli import main
try:
    main()
except SystemExit:
    pass
print("z3" in sys.modules)
"""


@pytest.mark.parametrize(
    ("arguments", "solver"),
    [
        (["legal", "--target", "sm_90a", ATOM.format(100)], "False"),
        (["check", "--ignore", "WG101", "KERNEL"], "False"),
        (["check", "--verify-diagnostics", "KERNEL"], "False"),
        (["check", "KERNEL"], "False"),
    ],
    ids=["legal", "ignored", "verified", "shown"],
)
def test_no_hint_waits_for_the_solver(arguments: list[str], solver: str, tmp_path):
    kernel = tmp_path / "kernel.mlir"
    kernel.write_text(f'%0 = "test.use"() : () -> {ATOM.format(100)}\n', encoding="utf-8")
    given = [str(kernel) if argument == "KERNEL" else argument for argument in arguments]
    done = subprocess.run([sys.executable, "-c", ASK, *given], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == solver


@pytest.mark.parametrize(
    ("text", "opcode"),
    [
        (
            "tcgen05.mma.cta_group::1.kind::mxf8f6f4.scale_vec::1X [r0],[r1],l2,r5,p0;",
            "tcgen05.mma.cta_group::1.kind::f8f6f4 ",
        ),
        ("tcgen05.mma.cta_group::1.kind::f16.f32.f16.f16 [r0],[r1],l2,r3;", "tcgen05.mma.cta_group::1.kind::f16 "),
        ("mbarrier.arrive_drop.expect_tx.b64.acquire.cluster.shared l0+-1,[r0],r1;", "mbarrier.arrive_drop.expect_tx."),
    ],
    ids=["block-scale-missing", "page-template", "displaced-register"],
)
def test_a_repair_is_legal_as_it_is_written(text: str, opcode: str):
    repair = tileproof.repair(text, "sm_100a")
    assert repair.text.startswith(opcode)
    assert tileproof.legal(repair.text, "sm_100a").legal
