"""A repair is legal, keeps the target and the registers, and changes no more than it must."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from functools import cache

import pytest
import single_edits
from ptxas import CRASHED, needs_ptxas, reasons

import tileproof
from conformance.generator import samples
from conformance.test_conformance import NEWEST, places
from conftest import command
from tileproof.checking.instruction import context, legal
from tileproof.evaluate.answer import Answer
from tileproof.suggesting.repair import Repair, repair_instruction

BOOK = tileproof.load_rules()
PTX = BOOK.under("ptx")


@cache
def illegal(seed: int, count: int) -> tuple[tuple[str, str], ...]:
    """Illegal instructions of all declarations, each with its target."""
    newest = [place for place in places() if place[1] == NEWEST]
    found = []
    for sample in samples(BOOK, seed, 3 * count, newest, pool=2):
        verdict = legal(PTX, sample.text, context(BOOK, sample.target))
        if not verdict.legal and "PT001" not in verdict.codes:
            found.append((sample.text, sample.target))
    return tuple(found[:count])


@cache
def mended(seed: int, count: int) -> tuple[tuple[str, str, Repair], ...]:
    """Illegal instructions and their repairs."""
    found = []
    for text, target in illegal(seed, count):
        try:
            repair = repair_instruction(PTX, text, context(BOOK, target))
        except ValueError:
            continue  # the name is that of no instruction
        found.append((text, target, repair))
    assert len(found) > 0.95 * min(count, len(illegal(seed, count)))
    return tuple(found)


def check_repairs(seed: int, count: int) -> None:
    found = mended(seed, count)
    assert sum(repair.answer is Answer.SATISFIABLE for _, _, repair in found) > 0.6 * len(found)
    for text, target, repair in found:
        if repair.answer is Answer.SATISFIABLE:
            assert legal(PTX, repair.text, context(BOOK, target)).legal, (target, text, repair.text)
            assert not {change.fact for change in repair.changes} & {"target", "ptx"}


def check_least(seed: int, count: int, most: int) -> None:
    """Where one edit is enough, one edit is made; an edit that ptxas merely forgives does not count."""
    found = [(text, target, repair.text) for text, target, repair in mended(seed, count)]
    worse = []
    for text, target, ours in random.Random(seed).sample(found, min(most, len(found))):
        if ours and single_edits.edits(text, ours) <= 1:
            continue
        where = context(BOOK, target)
        for one in single_edits.single_edits(BOOK, text):
            verdict = legal(PTX, one, where)
            if verdict.legal and not verdict.codes:
                worse.append((target, text, ours, one))
                break
    assert len(worse) <= 0.01 * min(most, len(found)), worse[:3]


@pytest.mark.sweep
def test_some_repairs_are_legal_and_least():
    check_repairs(seed=1, count=8)
    check_least(seed=1, count=8, most=8)


COUNTS = [pytest.param(40, marks=pytest.mark.sweep), pytest.param(2000, marks=pytest.mark.long)]


@pytest.mark.parametrize("count", COUNTS)
def test_many_repairs_are_legal_and_least(count: int):
    check_repairs(seed=5, count=count)
    check_least(seed=5, count=count, most=count)


@needs_ptxas
@pytest.mark.parametrize("count", COUNTS)
def test_ptxas_takes_many_repairs(count: int):
    batches: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for text, target, repair in mended(5, count):
        if repair.text:
            batches[target].append((text, repair.text))
    wrong = []
    for target, pairs in sorted(batches.items()):
        answers = reasons([after for _, after in pairs], target, "9.5")
        wrong += [(target, *pair, reason) for pair, reason in zip(pairs, answers, strict=True) if reason]
    assert [one for one in wrong if one[-1] != CRASHED] == []


CASES = [
    # the target, what is wrong, what is right
    ("sm_90a", "m64n100k16.f32.f16.f16 {D50},l0,l1,p0,1,1,0,0", "m64n96k16.f32.f16.f16 {D48},l0,l1,p0,1,1,0,0"),
    ("sm_90a", "m64n96k16.f32.f16.f16 {D46},l0,l1,p0,1,1,0,0", "m64n96k16.f32.f16.f16 {D46,f46,f47},l0,l1,p0,1,1,0,0"),
    ("sm_90a", "m64n8k16.f32.f16.f16 {D4},l0,l1,p0,1,1,0", "m64n8k16.f32.f16.f16 {D4},l0,l1,p0,1,1,0,0"),
]


# The target, what is wrong, what is right.
WHOLE = [
    # Operands in another order stay with their registers.
    ("sm_90", "stmatrix.sync.aligned.m8n8.x2.shared.b16 {r0,r1},[r4];", "[r4],{r0,r1};"),
    ("sm_100a", "tcgen05.st.sync.aligned.32x32b.x2.b32 {r0,r1},[r4];", "tcgen05.st.sync.aligned.32x32b.x2.b32 [r4],"),
    ("sm_100a", "tcgen05.mma.cta_group::1.kind::f16 l0,l1,[r0],r1,p0;", "[r0],l0,l1,r1,p0;"),
    ("sm_100a", "tcgen05.mma.cta_group::1.kind::f16 [r0],r1,l0,l1,p0;", "[r0],l0,l1,r1,p0;"),
    ("sm_90", "mbarrier.arrive.expect_tx.shared::cta.b64 l0,r1,[r0];", "l0,[r0],r1;"),
    ("sm_90", "mbarrier.try_wait.parity.shared::cta.b64 [r0],p0,r1;", "p0,[r0],r1;"),
    # A misspelled word is the one that is nearly it.
    ("sm_90", "fence.proxy.asyncc;", "fence.proxy.async;"),
    ("sm_100a", "tcgen05.mma.cta_grup::2.kind::f16 [r0],l0,l1,r1,p0;", ".cta_group::2.kind::f16 "),
    ("sm_100a", "tcgen05.mma.cta_group::2.kind::f8f6f5 [r0],l0,l1,r1,p0;", ".kind::f8f6f4 "),
    ("sm_90", "fence.proxi.async;", "fence.proxy.async;"),
    ("sm_90", "mbarrier.arrive.expct_tx.shared::cta.b64 l0,[r0],r1;", "mbarrier.arrive.expect_tx.shared::cta.b64 l0,"),
    ("sm_100a", "cp.async.bulk.prefech.tensor.2d.L2.global.tile [l0,{r1,r2}];", "cp.async.bulk.prefetch.tensor.2d.L2."),
    # What is added stands where the PTX ISA writes it.
    ("sm_100a", "tcgen05.alloc.sync.aligned.shared::cta.b32 [r0],64;", "tcgen05.alloc.cta_group::1.sync.aligned."),
    ("sm_90", "mbarrier.arrive.expect_tx.b64 l0,[r0],r1;", "mbarrier.arrive.expect_tx.shared.b64 l0,[r0],r1;"),
    ("sm_90", "cp.async.bulk.tensor.2d.shared::cluster.global.multicast::cluster [r0],[l0,{r1,r2}],[r4],h0;",
     ".global.mbarrier::complete_tx::bytes.multicast::cluster [r0]"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "wrong", "right"), WHOLE)
def test_a_repair_is_what_the_author_meant(target: str, wrong: str, right: str):
    repair = tileproof.repair(wrong, target)
    assert right in repair.text
    assert tileproof.legal(repair.text, target).legal
    assert repair.changes


def test_what_another_target_has_as_it_is_is_said():
    text = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {f0,f1,f2,f3},{r0,r1,r2,r3},{r4,r5},{f4,f5,f6,f7};"
    repair = tileproof.repair(text, "sm_80")
    assert repair.elsewhere == f"{text} (target sm_89)"
    done = command("suggest", "--target", "sm_80", "--repair", text)
    assert f"elsewhere: {text}" in done.stdout
    assert tileproof.repair(text, "sm_89", ptx=(8, 0)).elsewhere.startswith(f"{text} (ptx ")


@pytest.mark.parametrize(("target", "wrong", "right"), CASES)
def test_registers_stay_and_new_ones_have_new_names(target: str, wrong: str, right: str):
    def whole(text: str) -> str:
        tuples = re.sub(r"D(\d+)", lambda found: ",".join(f"f{i}" for i in range(int(found[1]))), text)
        return f"wgmma.mma_async.sync.aligned.{tuples};"

    repair = tileproof.repair(whole(wrong), target)
    assert repair.text == whole(right)


def test_the_target_stays_unless_it_may_change():
    text = "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {r0,r1},l0,l1,p0,1,1,0,0;"
    repair = tileproof.repair(text, "sm_80")
    assert (repair.answer, repair.text) == (Answer.UNSATISFIABLE, "")
    assert "target sm_90a" in repair.elsewhere
    moved = tileproof.repair(text, "sm_80", allow_target=True)
    assert moved.text == text
    assert {change.fact for change in moved.changes} <= {"target", "ptx"}
    assert tileproof.legal(moved.text, "sm_90a").legal


@pytest.mark.parametrize(
    ("atom", "legal_on", "shown"),
    [
        ("!cute_nvgpu.sm90.mma<64x100x16, ...>", "sm_90a", "64x96x16"),
        ("cute_nvgpu.sm90.mma<64x100x16>", "sm_90a", "64x96x16"),
        ("cute_nvgpu.sm80.mma<16x8x12, elem_type = (bf16, bf16, f32)>", "sm_80", "16x8x"),
    ],
)
def test_a_type_may_be_written_in_part(atom: str, legal_on: str, shown: str):
    repair = tileproof.repair(atom)
    assert shown in repair.text
    assert tileproof.legal(repair.text, legal_on).legal


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f23 {f0,f1,f2,f3},{r0,r1,r2,r3},{r4,r5},{f4,f5,f6,f7};",
            "f16.f32 ",
        ),
        (
            "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {f0,f1,f2,f3},{r0,r1,r2,r3},{r4,r5},{f4,f5,f6,f7};",
            "row.col",
        ),
        (
            "mma.synk.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f0,f1,f2,f3},{r0,r1,r2,r3},{r4,r5},{f4,f5,f6,f7};",
            "mma.sync.",
        ),
        ("ldmatrx.sync.aligned.m8n8.x4.shared.b16 {r0,r1,r2,r3},[r4];", "ldmatrix.sync"),
        ("@r9 mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {d0,d1},{d2},{d3},{d4,d5};", "@p0 mma"),
    ],
)
def test_a_word_is_mended(text: str, right: str):
    repair = tileproof.repair(text, "sm_80")
    assert right in repair.text
    assert tileproof.legal(repair.text, "sm_80").legal


def test_the_command_line_names_what_would_be_legal_elsewhere():
    done = command("suggest", "--target", "sm_80", "--repair", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [r0],{r1};")
    assert done.returncode == 1
    assert "no legal form was found; elsewhere: stmatrix" in done.stdout
    moved = command(
        "suggest",
        "--target",
        "sm_80",
        "--allow-target",
        "--repair",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [r0],{r1};",
    )
    assert moved.returncode == 0
    assert "target: sm_80 -> sm_90" in moved.stdout
