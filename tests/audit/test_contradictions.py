"""Contradictions of the reference pages: each is proved, and each row of FACTS, section 5, is among them."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from conftest import SHARED
from tileproof.audit.contradictions import NONE, UNPROVED, WITNESS, as_text, prove
from tileproof.base.source import Source
from tileproof.cli import main
from tileproof.rulebase.contradiction import Accepts, Always, Differ, Notes, Overlap, Some
from tileproof.rulebase.load import RuleError, load, shipped_files

BOOK = load(shipped_files())
SOLVED_AT_ONCE = [code for code, item in BOOK.contradictions.items() if not isinstance(item.proof, Accepts | Notes)]
SOLVED_BY_RULES = [code for code in BOOK.contradictions if code not in SOLVED_AT_ONCE]


@pytest.mark.parametrize("code", SOLVED_AT_ONCE)
def test_a_claim_is_refuted(code: str):
    item = BOOK.contradictions[code]
    proved = prove(BOOK, item, 20)
    assert proved.by == {Some: NONE}.get(type(item.proof), WITNESS), "\n".join(as_text(proved))
    assert item.claim and item.against and item.sources


@pytest.mark.sweep
@pytest.mark.parametrize("code", SOLVED_BY_RULES)
def test_the_contracts_differ(code: str):
    """A configuration that the solver finds is judged by the compiled rules of both contracts."""
    proved = prove(BOOK, BOOK.contradictions[code], 60)
    assert proved.by == WITNESS, "\n".join(as_text(proved))


@pytest.mark.parametrize("code", ["RP310", "RP315", "RP401", "RP405"])
def test_some_contracts_differ(code: str):
    assert prove(BOOK, BOOK.contradictions[code], 60).by == WITNESS


def test_there_are_proofs_of_every_kind():
    kinds = {type(item.proof) for item in BOOK.contradictions.values()}
    assert kinds == {Always, Some, Accepts, Notes, Overlap, Differ}
    assert len(BOOK.contradictions) > 90


# A word of each row of FACTS, section 5, and the contradictions that have it.
FACTS = {
    "descriptor: lbo at bits 14-29": ["RP301"],
    "tf32 WGMMA K = 16": ["RP401"],
    "m64n128k16.f32 shows 32 accumulator registers": ["RP402", "RP403"],
    "WGMMA s4/u4 K = 64": ["RP310", "RP311", "RP312"],
    'integer WGMMA "forced .satfinite"': ["RP313"],
    "FP8 accumulator is f32 only on SM89": ["RP317"],
    '"no sparse FP8 companion"': ["RP320", "RP406"],
    "UMMA M 64 or 128 = 2-CTA": ["RP327", "RP328", "RP329"],
    "(64,16) -> kind::mxf4": ["RP330", "RP332", "RP407", "RP408", "RP409"],
    'NVFP4 "4-bit fixed point E0M3"': ["RP331"],
    "wait depth fits in 6 bits": ["RP315"],
    "commit and wait carry type and layout attributes": ["RP345", "RP346"],
    "SM75 m8n8k16/k32/k128": ["RP337"],
    "m16n8k4 f64 as SM80": ["RP405"],
    "the packed MMA word: bits [2:0] rounding overlap": ["RP150", "RP151"],
    "builtin id ranges overlap": ["RP104", "RP105", "RP107"],
    "wait depth N": ["RP303"],
    "scale-input accumulator": ["RP343", "RP344"],
    "sparse int8 ordered metadata": ["RP321", "RP339"],
    "sparsity selector is one bit": ["RP322"],
    "m16n8k16.row.row": ["RP316", "RP323"],
    "SM120 templates without byte-id": ["RP324", "RP325", "RP326"],
    "tcgen05.mma with type suffixes": ["RP340", "RP341"],
    "16-byte cp.async is always cg": ["RP333"],
    "tmem -> smem and tmem -> tmem": ["RP334", "RP335"],
    "A, B, D share one element type": ["RP336"],
    "dense s4 m8n8k64, m16n8k128": ["RP318", "RP319", "RP338"],
    "scale-D is an immediate": ["RP314", "RP404"],
    "mbarrier completes WGMMA": ["RP304"],
    "`llvm.nvvm.wgmma.commit.group...`": ["RP302", "RP201"],
    "packed return masked": ["RP202"],
}


def test_every_row_of_the_facts_is_a_contradiction():
    assert all(code in BOOK.contradictions for codes in FACTS.values() for code in codes)
    path = SHARED / "reference" / "FACTS.md"
    if not path.is_file():
        pytest.skip("no ../shared beside this checkout")
    section = path.read_text(encoding="utf-8").partition("## 5.")[2]
    claims = re.findall(r"^\| (.*?) \|", section, re.M)[1:]
    missing = [claim for claim in claims if not any(claim.startswith(known) for known in FACTS)]
    assert missing == []
    assert len(claims) == len(FACTS)


# -- what rule files may say


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('claim "a" against "b" source "tileproof"', "needs a proof"),
        ('claim "a" always 1 == 2 source "tileproof"', "needs a against"),
        ('claim "a" against "b" always 1 == 2', "needs a source"),
        ('claim "a" against "b" always 1 == 2 source "tileproof"', "a claim needs a schema"),
        ('claim "a" against "b" overlap mma.word rnd, colour source "tileproof"', "has no field 'colour'"),
        ('claim "a" against "b" differ wgmma.config, nothing source "tileproof"', "no word 'nothing' in tileiras"),
        ('claim "a" against "b" notes XX1 source "tileproof"', "no rule 'XX1'"),
        ('claim "a" against "b" accepts cuda rejects WG101 source "tileproof"', "no contract 'cuda'"),
        (
            'claim "a" against "b" accepts ptx rejects WG101 { N = .f16 } source "tileproof"',
            "is not a value of a fact 'N'",
        ),
    ],
)
def test_what_a_contradiction_needs(body: str, fault: str):
    with pytest.raises(RuleError, match=re.escape(fault)):
        load((*shipped_files(), Source("own.rule", f"contradiction OWN1 own {{ {body} }}\n")))


@pytest.mark.parametrize(
    "body",
    [
        "on wgmma.call { claim 'a' against 'b' always N >= 0 source 'tileproof' }",
        "on wgmma.call { claim 'a' against 'b' some N == 8 source 'tileproof' }",
        "{ claim 'a' against 'b' overlap mma.word aty, bty source 'tileproof' }",
        "{ claim 'a' against 'b' differ wgmma.config, wgmma.config source 'tileproof' }",
        "{ claim 'a' against 'b' accepts ptx rejects WG101 { N = 64 } source 'tileproof' }",
        "{ claim 'a' against 'b' notes WG101 source 'tileproof' }",
    ],
)
def test_what_is_no_contradiction_is_not_proved(body: str):
    text = "contradiction OWN1 own " + body.replace("'", '"')
    book = load((*shipped_files(), Source("own.rule", text)))
    assert prove(book, book.contradictions["OWN1"], 20).by == UNPROVED


def test_the_command():
    text = CliRunner().invoke(main, ["rules", "contradictions", "rp15"])
    assert text.exit_code == 0 and text.stdout.endswith("8 contradictions, 8 proved\n")
    assert "the rounding mode" in text.stdout and "proof:   a witness" in text.stdout
    one = json.loads(CliRunner().invoke(main, ["rules", "contradictions", "RP139", "--format", "json"]).stdout)
    assert (one[0]["code"], one[0]["proof"], one[0]["covers"]) == ("RP139", "none", ["BLT05"])
    assert CliRunner().invoke(main, ["rules", "contradictions", "WG101"]).exit_code == 2
