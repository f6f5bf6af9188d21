"""The chapters of rules/copy against ptxas and against the reference pages."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
from ptxas import needs_ptxas, reasons

import tileproof
from tileproof.checking.instruction import Verdict, context, legal, version
from tileproof.evaluate.python import Judge
from tileproof.rulebase.book import Rulebook

CASES = sorted((Path(__file__).parent / "cases").glob("copy_*.toml"))


@pytest.fixture(scope="module")
def book() -> Rulebook:
    return tileproof.load_rules()


def judge(book: Rulebook, text: str, target: str = "sm_100a") -> Verdict:
    return legal(book.under("ptx"), text, context(book, target))


@needs_ptxas
def test_the_cases_are_judged_as_ptxas_does(book: Rulebook):
    batches: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in CASES:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        for case in data["case"]:
            merged = {**data["defaults"], **case}
            if "instr" in case:
                batches[merged["target"], merged.get("ptx", "9.5")].append(case["instr"])
    assert sum(map(len, batches.values())) > 150
    for (target, ptx), texts in batches.items():
        if target == "sm_70":
            continue  # ptxas 13.5 no longer knows it
        where = context(book, target, version(ptx))
        for text, reason in zip(texts, reasons(texts, target, ptx), strict=True):
            verdict = legal(book.under("ptx"), text, where)
            assert verdict.legal is (reason is None), f"{target} {ptx} {text}: {verdict.message}; ptxas: {reason}"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        *((f"ldmatrix.sync.aligned.m8n8.x8.shared.b16 {{{regs}}},[r9];", "LM150") for regs in ("r0", "r0,r1,r2,r3")),
        *((f"stmatrix.sync.aligned.m8n8.x8.shared.b16 [r9],{{{regs}}};", "LM250") for regs in ("r0", "r0,r1")),
        ("cp.async.wait_group -1;", "CA150"),
    ],
)
def test_holes_in_ptxas_are_legal_with_a_warning(book: Rulebook, text: str, code: str):
    verdict = judge(book, text)
    assert verdict.legal
    assert verdict.codes == (code,)
    assert any(source.startswith("deviation: ") for source in book.rules[code].sources)


def test_a_16_byte_cp_async_is_cg_on_the_page_and_either_in_hardware_CPY03(book: Rulebook):
    """That the contracts differ here is found by test_atoms."""
    for level in ("ca", "cg"):
        assert judge(book, f"cp.async.{level}.shared.global [r0],[l0],16;").legal
    page = Judge(book.under("tileiras"), "simt_async_copy")
    for bits, level in ((32, ".ca"), (64, ".ca"), (128, ".cg")):
        assert page.legal({"level": ".ca", "bits": bits, "unit": ".b"}, "level") == (level,)


@pytest.mark.parametrize(("mode", "ranks"), [("tile", range(1, 6)), ("im2col", range(3, 6))])
def test_boxes_have_rank_1_to_5_and_windows_3_to_5_CPY04(book: Rulebook, mode: str, ranks: range):
    for rank in range(7):
        coords = ",".join(f"r{i}" for i in range(rank)) or "r0"
        offsets = ",{" + ",".join(f"h{i}" for i in range(max(rank - 2, 1))) + "}" if mode == "im2col" else ""
        text = (
            f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes"
            f" [r9],[l0,{{{coords}}}],[r10]{offsets};"
        )
        assert judge(book, text).legal is (rank in ranks), text
