"""Every copy and synchronisation atom has a PTX spelling that assembles, or is refused in one line."""

from __future__ import annotations

from pathlib import Path

import ptxas
import pytest
from emit_cases import ATOMS, BOX, LOAD
from test_sweep import joined
from test_sweep import run as assembled

import tileproof
from conftest import command
from tileproof.checking.instruction import context
from tileproof.emitting.atom import BadAtom, emit_atom
from tileproof.emitting.kernel import module
from tileproof.emitting.sequence import sequence
from tileproof.ptx.select import Lowered, legal_form
from tileproof.rulebase.declarations import EnumOrigin

BOOK = tileproof.load_rules()


def test_an_atom_is_emitted_as_its_instruction():
    ruleset = BOOK.under("ptx")
    said = {one: emit_atom(ruleset, f"!cute_nvgpu.atom.{one[0]}", context(BOOK, one[1])) for one in ATOMS}
    assert [atom for (atom, _, says), text in said.items() if says not in text] == []


@pytest.mark.parametrize(("atom", "target", "says"), ATOMS, ids=[atom for atom, _, _ in ATOMS])
@ptxas.needs_ptxas
def test_an_atom_is_emitted_as_its_instruction_and_assembles(atom: str, target: str, says: str, tmp_path: Path):
    text = emit_atom(BOOK.under("ptx"), f"!cute_nvgpu.atom.{atom}", context(BOOK, target))
    assert says in text
    assert not assembled(target, text, tmp_path, quick=False), text


@pytest.mark.parametrize(
    ("atom", "target", "status", "says"),
    [
        ("tmem_load_spcompress<f16>", "sm_100a", 1, "TG101"),
        ("sm100_s2t_copy_v2<f16>", "sm_100a", 1, "IR004"),
        ("universal_copy<i4>", "sm_80", 2, "no PTX instruction for"),
        (LOAD.format(mode="gather4", ctas=1, box=BOX), "sm_90", 2, "no PTX instruction for"),
        ("tmem_load_red<f32, 32 DP, 32 bit, x4, max>", "sm_100a", 2, "no PTX instruction for"),
        ("simt_multimem_st<f4E2M1FN, 32 b>", "sm_90", 2, "no PTX instruction for"),
        ("tmem_to_smem_copy<f16>", "sm_100a", 1, "has no PTX instruction"),
        ("dsmem_store<f16, 16 b>", "sm_90", 1, "CP132"),
        ("nothing<f16>", "sm_90", 1, "AT001"),
    ],
)
def test_an_atom_without_an_instruction_is_refused_in_one_line(atom: str, target: str, status: int, says: str):
    done = command("emit", "--atom", f"!cute_nvgpu.atom.{atom}", "--target", target)
    assert done.returncode == status, done.stdout + done.stderr
    assert says in done.stdout + done.stderr
    assert ".entry" not in done.stdout
    if status == 2:
        assert len(done.stderr.splitlines()) == 1


@ptxas.needs_ptxas
def test_every_instruction_that_legal_knows_is_emitted_and_assembles(tmp_path: Path):
    """One of each declaration, on the first of these targets that takes it."""
    declared = [item for same in BOOK.instructions.values() for item in same]
    found: dict[str, list[str]] = {}
    for declaration in declared:
        # What an enum of one member is read from can be nothing else.
        clauses = [clause for clause in declaration.modifiers if isinstance(clause.origin, EnumOrigin)]
        only = {clause: list(BOOK.enums[clause.origin.enum].members) for clause in clauses}  # type: ignore[union-attr]
        given = {fact: members[0] for clause, members in only.items() if len(members) == 1 for fact in clause.facts}
        for target in ("sm_100a", "sm_103a", "sm_90a", "sm_120a", "sm_80", "sm_75"):
            where = context(BOOK, target)
            spelled = legal_form(BOOK.under("ptx"), where, declaration, given)
            if spelled is not None:
                break
        assert spelled is not None, f"{declaration.name} {declaration.schema} is legal nowhere"
        one = sequence(BOOK.under("ptx"), Lowered(spelled, None, spelled.facts))
        assert one is not None
        found.setdefault(target, []).append(module(BOOK, where, [("NAME", [one], [])]))
    assert sum(map(len, found.values())) == len(declared) > 80
    for target, texts in found.items():
        said = assembled(target, joined(texts), tmp_path, quick=False)
        assert not said, [text for text in texts if assembled(target, joined([text]), tmp_path, quick=False)]


def test_an_atom_of_the_registry_that_has_no_facts_is_told_apart_from_a_misspelled_one():
    with pytest.raises(BadAtom, match="do not declare the parameters"):
        emit_atom(BOOK.under("ptx"), "!cute_nvgpu.smem_desc", context(BOOK, "sm_90a"))


def test_what_an_atom_without_a_declared_instruction_writes_is_an_output():
    atom = "!cute_nvgpu.atom.{}"
    text = emit_atom(BOOK.under("ptx"), atom.format("g2r<f32 copy_bits = 64>"), context(BOOK, "sm_80"), "inline_asm")
    assert ': "=r"(r0), "=r"(r1)\n  : "l"(l0)' in text
    text = emit_atom(
        BOOK.under("ptx"), atom.format("universal_fma<1x1x1, (f32, f32) -> f32>"), context(BOOK, "sm_80"), "llvm"
    )
    assert '"=f,0,f,f,~{memory}"' in text
    text = emit_atom(BOOK.under("ptx"), atom.format("g2r<f32 copy_bits = 64>"), context(BOOK, "sm_80"))
    assert "st.global.b32 [destination+4], r1;" in text
    assert "ld.global.b32 r0, [source" not in text
