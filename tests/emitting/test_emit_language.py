"""Lowerings and templates in rule files: what they mean, and what is said where one makes no sense."""

from __future__ import annotations

import pytest

from tileproof.base.source import Source
from tileproof.emitting.sequence import text_of
from tileproof.ptx.select import carry, lower_atom
from tileproof.rulebase.load import RuleError, load

PRELUDE = """
reference "a" {}
enum kind { .f16; .s8 ".i8"; }
table bits (type: kind) -> width source "a" { .f16 16; .s8 8; }
schema thing "an atom" { N : 0..32 = 8; type : kind = .f16; }
schema act "an instruction" { N : 0..32 = 8; M : 0..32 = 1; type : kind = .f16; }
instruction act.now on act { type from kind; operands d, [p]; }
"""
LOWERING = 'lowering thing to act {{ source "a" {body} }}'
TEMPLATE = 'template one on act {{ source "a" {body} }}'


def faults_of(text: str) -> str:
    try:
        load((Source("test.rule", PRELUDE + text),))
    except RuleError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (LOWERING.format(body="with M = N / 2;"), ""),
        (LOWERING.format(body="with K = N;"), "schema 'act' has no fact 'K'"),
        (LOWERING.format(body="with M = type;"), "expected integer, found kind"),
        (LOWERING.format(body="with M = N when N;"), "expected truth value, found integer"),
        ('lowering thing to deed { source "a" }', "unknown schema 'deed'"),
        ("lowering thing to act { }", "needs a source"),
        (TEMPLATE.format(body='emit "{instruction} {d} {N} {bits(type).width} {{}}";'), ""),
        (TEMPLATE.format(body='emit "{e}";'), "schema 'act' has no fact 'e'"),
        (TEMPLATE.format(body='emit "{N";'), "write a literal brace twice"),
        (TEMPLATE.format(body='emit "{registers(r, type)}";'), "expected integer, found kind"),
        (TEMPLATE.format(body='emit "{word(nothing)}";'), "unknown word 'nothing'"),
        (TEMPLATE.format(body='emit "{descriptor(e)}";'), "no instruction has an operand 'e'"),
        (TEMPLATE.format(body='emit "a" when N;'), "expected truth value, found integer"),
        (TEMPLATE.format(body="writes e;"), "no instruction on 'act' has an operand 'e'"),
        (TEMPLATE.format(body="writes r0;"), "no instruction on 'act' has an operand 'r0'"),
        (TEMPLATE.format(body='writes r0; emit "ld.b32 r0, [l0];";').replace("on act", "on thing"), ""),
        (TEMPLATE.format(body="writes e;").replace("on act", "on thing"), "has an operand 'e'"),
        (TEMPLATE.format(body='emit "{W}";'), "has no fact 'W'"),
        (TEMPLATE.format(body='default W = 1; emit "{W}";'), ""),
        ('template one on act as poem { source "a" }', "not as poem"),
        ("template one on act { }", "needs a source"),
    ],
)
def test_a_fault_in_a_lowering_or_a_template_is_told(text: str, fault: str):
    found = faults_of(text)
    assert fault in found
    assert bool(found) == bool(fault)


def test_facts_carry_over_and_others_are_derived():
    text = LOWERING.format(body="when N > 4; with M = N / 2 when type == .s8; with M = 3 when type == .f16;")
    book = load((Source("test.rule", PRELUDE + text),))
    (lowering,) = book.lowerings["thing", "ptx"]
    assert carry(book.under("ptx"), lowering, {"N": 8, "type": ".s8"}) == {"N": 8, "type": ".s8", "M": 4}
    found = lower_atom(book.under("ptx"), {}, "thing", {"N": 8, "type": ".f16"})
    assert found is not None
    assert found.text == "act.now.f16 r0,[r1];"
    assert found.spelled.operands == {"d": "r0", "p": "r1"}
    assert lower_atom(book.under("ptx"), {}, "thing", {"N": 2, "type": ".f16"}) is None


def test_a_line_is_left_out_where_its_condition_fails_or_a_fact_is_unknown():
    text = TEMPLATE.format(
        body='emit "{{{registers(r, 2)}}} {registers(r, 1)} .{type}"; emit "no" when N > 8; emit "{M}";'
    )
    book = load((Source("test.rule", PRELUDE + text),))
    (template,) = book.templates["act", "ptx"]
    assert text_of(book.under("ptx"), template, {"N": 8, "type": ".s8"}) == ("{%r0, %r1} %r2 .i8",)
