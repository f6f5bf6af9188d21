"""The rule language: what a rule file may say, and where its faults are reported."""

from __future__ import annotations

import pytest

from tileproof.audit.rules import check_book
from tileproof.base.source import Source
from tileproof.evaluate.python import Check, Judge, sweep_of
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.load import RuleError, load

PRELUDE = """
enum kind { .f16 "half"; .s8 "char"; .b1; }
enum side { .left; .right; }
table size (type: kind) -> bits, widths { .f16 16 {1, 2}; .s8 8 1..4; }
schema thing "a thing" { N : 0..40 = 8; M : 0..40 = 1; type : kind = .f16; side : side = .left; } reference "nowhere" {}
"""
RULE = """
rule XX1 some-fault on thing {{
  {body}
  error "N = {{N}}"
  source "nowhere"
  pass {{ N = 8 }}
  fail {{ N = 9 }}
}}
"""


def book_of(*texts: str) -> Rulebook:
    return load((Source("test.rule", PRELUDE + "".join(texts)),))


def faults_of(*texts: str) -> list[str]:
    with pytest.raises(RuleError) as error:
        book_of(*texts)
    return [str(fault) for fault in error.value.faults]


def rule_of(body: str) -> Check:
    book = book_of(RULE.format(body=body))
    return Check(book.under("ptx"), book.rules["XX1"])


@pytest.mark.parametrize(
    ("body", "facts", "expected"),
    [
        ("require N in 8..32 step 8", {"N": 16}, True),
        ("require N in 8..32 step 8", {"N": 17}, False),
        ("require N not in {1, 2}", {"N": 2}, False),
        ("require type in {.f16, .s8}", {"type": ".b1"}, False),
        ("when side == .right require N == 8", {"side": ".left", "N": 9}, None),
        ("when side == .right require N == 8", {"side": ".right", "N": 9}, False),
        ("require N % 8 == 0 and not (N > 16 or M < 0)", {"N": 24, "M": 1}, False),
        ("require N * 2 - 1 <= M + -3", {"N": 2, "M": 6}, True),
        ("require 7 / 2 == N", {"N": 3}, True),
        ("require size(type).bits == N", {"type": ".s8", "N": 8}, True),
        ("require N in size(type).widths", {"type": ".s8", "N": 3}, True),
        ("require N in size(type).widths", {"type": ".f16", "N": 3}, False),
        # A table without the row, or an unknown fact: the rule has nothing to say ...
        ("require size(type).bits == N", {"type": ".b1", "N": 8}, None),
        ("require size(type).bits == N", {"N": 8}, None),
        # ... unless the answer was clear before the table was asked.
        ("require N == 8 or size(type).bits == N", {"type": ".b1", "N": 8}, True),
        ("require N == 8 and size(type).bits == N", {"type": ".b1", "N": 9}, False),
    ],
)
def test_a_rule_says_yes_no_or_nothing(body: str, facts: dict[str, int | str], expected: bool | None):
    assert rule_of(body)(facts) is expected


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("rule XX1 a-fault on thing {\n  requir N == 8\n}", "test.rule:7:3: unexpected 'requir'"),
        ("rule XX1 a-fault on thing {", "test.rule:6:28: unexpected end"),
        (RULE.format(body="require M2 == 8"), "test.rule:8:11: schema 'thing' has no fact 'M2'"),
        (RULE.format(body="require type == .f61"), "test.rule:8:19: expected kind, found '.f61'"),
        (RULE.format(body="require type in {.f16, .left}"), "test.rule:8:26: expected kind, found '.left'"),
        (RULE.format(body="require type == N"), "test.rule:8:19: expected kind, found integer"),
        (RULE.format(body="require N in 8..4"), "test.rule:8:16: a range runs upwards, by a positive step"),
        (RULE.format(body="require N % M == 0"), "test.rule:8:11: a divisor must be positive"),
        (RULE.format(body="require N + 1"), "test.rule:8:11: expected truth value, found integer"),
        (RULE.format(body="require weight(type) == 1"), "unknown table 'weight' in contract ptx"),
        (RULE.format(body="require size(type).mass == 1"), "table 'size' has the columns bits, widths"),
        (RULE.format(body="require size(side).bits == 1"), "expected kind, found side"),
        (RULE.format(body="require N == 8").replace("{N}", "{n}"), "placeholder {n}: schema 'thing' has no fact 'n'"),
        (RULE.format(body="require N == 8").replace("{N}", "{N +}"), "placeholder {N +}: unexpected end"),
        (RULE.format(body="require N == 8").replace("{N}", "{nearest(3)}"), "nearest requires one fact"),
        (RULE.format(body="require N == 8").replace("N = 9", "N = 99"), "XX1: 99 is not a value of 'N'"),
        (RULE.format(body="require N == 8").replace("on thing", "on nothing"), "unknown schema 'nothing'"),
        (RULE.format(body="require N == 8").replace("on thing", "on thing in cuda"), "unknown contract 'cuda'"),
        (RULE.format(body="require N == 8").replace("thing {", "thing refines XX2 {"), "refines 'XX2'"),
        (RULE.format(body="require N == 8") * 2, "code 'XX1' is declared twice, first at test.rule:7:6"),
        (RULE.format(body="when N == 1"), "XX1 needs a require clause"),
        (RULE.format(body="require N == 8 require M == 1"), "XX1 has two 'require' clauses"),
        ("table t (x: kind) -> y { .f16 1 2; }", "a row of this table has 2 cells, not 3"),
        ("table t (x: kind) -> y { .f16 1; .f16 2; }", "the table has two rows for .f16"),
        ("table t (x: kind) -> y { .left 1; }", "table 't': '.left' is not in enum kind"),
        ("schema s \"s\" { a : kind = .left; }", ".left is not a value of 'a'"),
        ("schema s \"s\" { a : 1..2 = 3; }", "3 is not a value of 'a'"),
        ("atom x.y on thing { Q from 0; }", "schema 'thing' has no fact 'Q'"),
    ],
)  # fmt: skip
def test_a_fault_is_reported_where_it_is(text: str, fault: str):
    assert fault in "\n".join(faults_of(text))


def test_all_faults_are_reported_not_only_the_first():
    one = RULE.format(body="require M2 == 8")
    other = RULE.format(body="require M3 == 8").replace("XX1 some", "XX2 other")
    assert len(faults_of(one, other)) == 2


def test_a_ladder_reports_its_first_violated_rule():
    steps = "".join(
        RULE.format(body=body).replace("XX1 some-fault", f"XX{i} fault-{i}")
        for i, body in enumerate(("require N < 20", "require N < 10", "require M == 1"))
    )
    book = book_of(f"ladder steps {{ {steps} }}")
    judge = Judge(book.under("ptx"), "thing")
    instance = book.schemas["thing"].instance
    assert [rule.code for rule in judge.violated({**instance, "N": 30, "M": 2})] == ["XX0"]
    assert [rule.code for rule in judge.violated({**instance, "N": 12, "M": 2})] == ["XX1"]
    assert [rule.code for rule in judge.violated({**instance, "M": 2})] == ["XX2"]


def test_a_rule_of_one_contract_is_unknown_to_the_other():
    book = book_of(RULE.format(body="require N == 8").replace("on thing", "on thing in tileiras"))
    facts = {**book.schemas["thing"].instance, "N": 9}
    assert Judge(book.under("ptx"), "thing").violated(facts) == ()
    assert len(Judge(book.under("tileiras"), "thing").violated(facts)) == 1


def test_the_nearest_legal_values_are_those_at_the_least_distance():
    book = book_of(RULE.format(body="require N in {4, 8, 24}"))
    judge = Judge(book.under("ptx"), "thing")
    assert judge.nearest({"N": 6}, "N") == (4, 8)
    assert judge.nearest({"N": 10**30}, "N") == (24,)
    assert judge.nearest({"N": 0}, "N") == (4,)


CHECKED = [
    ("require N == 8 or N != 8", "can never be violated"),
    ("require N > 40", "can never hold"),
    ("when size(type).bits == 3 require N == 8", "can never hold"),
    ("require N == 9", "the passing example {N = 8} does not pass"),
    ("require N in {8, 9}", "the failing example {N = 9} is not reported"),
]


@pytest.mark.parametrize(("body", "fault"), CHECKED)
def test_the_rule_base_is_checked_for_rules_that_say_nothing(body: str, fault: str):
    outcome = check_book(book_of(RULE.format(body=body)), 10)
    assert any(fault in found.message for found in outcome.faults)


def test_a_rule_without_source_or_examples_is_refused():
    text = 'rule XX1 bare on thing { require N == 8 error "no" }'
    messages = [fault.message for fault in check_book(book_of(text), 10).faults]
    assert any("has no source" in message for message in messages)
    assert any("needs a passing and a failing example" in message for message in messages)


def test_a_rule_that_others_imply_is_refused():
    weaker = RULE.format(body="require N < 9").replace("XX1 some-fault", "XX2 weaker")
    messages = [fault.message for fault in check_book(book_of(RULE.format(body="require N == 8"), weaker), 10).faults]
    assert any("is implied by XX1" in message for message in messages)


def test_a_difference_between_the_two_readings_is_found(monkeypatch: pytest.MonkeyPatch):
    """The comparison is not vacuous: a function that is wrong at one point of the lattice is caught, there."""

    def wrong(ruleset, rule, names):
        sweep = sweep_of(ruleset, rule, names)

        def moved(*given):
            holds, violated, silent = sweep(*given)
            return [*holds, (17,)], [point for point in violated if point != (17,)], silent

        return moved

    monkeypatch.setattr("tileproof.audit.rules.sweep_of", wrong)
    outcome = check_book(book_of(RULE.format(body="require N == 8")), 10)
    assert any("its two readings differ at {N = 17}" in fault.message for fault in outcome.faults)


def test_a_difference_at_one_point_of_many_facts_is_found(monkeypatch: pytest.MonkeyPatch):
    """A rule that reads them all: the point that the function has in the wrong set is the only one that is told."""
    body = "when type == .s8 require N % 2 == M % 3 or side == .right"
    names: list[str] = []
    point: list[tuple[int, ...]] = []

    def wrong(ruleset, rule, inner):
        sweep = sweep_of(ruleset, rule, inner)

        def moved(facts, configurations, points):
            sets = sweep(facts, configurations, points)
            if not point and sets[1]:
                names.extend(inner)
                point.append(sets[1].pop(len(sets[1]) // 2))
                sets[2].append(point[0])
            return sets

        return moved

    monkeypatch.setattr("tileproof.audit.rules.sweep_of", wrong)
    outcome = check_book(book_of(RULE.format(body=body)), 10)
    said = next(fault.message for fault in outcome.faults if "its two readings differ at" in fault.message)
    chosen = dict(zip(names, point[0], strict=True))
    assert f"N = {chosen['N']}" in said
    assert f"M = {chosen['M']}" in said


def test_what_z3_cannot_tell_in_time_is_unknown_not_proved():
    outcome = check_book(book_of(RULE.format(body="require N * N * M * M * N != 7 * M + 11 * N")), 0.000001)
    assert outcome.unknown
    assert all("did not decide" in fault.message or "could not" in fault.message for fault in outcome.unknown)


SIZES = "table sizes (type: kind, side: side) -> bits {total} {{ .f16 .left | .right 16; .s8 .left 8; {more} }}"


def test_a_total_table_with_every_row_loads() -> None:
    whole = book_of(SIZES.format(total="total", more=".s8 .right 8; .b1 .left | .right 1;"))
    assert whole.tables["sizes", "ptx"].rows[".b1", ".right"] == (1,)
    partial = book_of(SIZES.format(total="", more=""))
    assert (".b1", ".right") not in partial.tables["sizes", "ptx"].rows


@pytest.mark.parametrize(
    ("total", "fault"),
    [
        ("total", "test.rule:7:7: table 'sizes' is total and has no row for .s8 .right, .b1 .left, .b1 .right: write"),
        (
            "total when type != .b1",
            "table 'sizes' is total and has no row for .s8 .right: write `.s8  .right  <bits>;`",
        ),
        ("total when size(type).bits == 8", "has no row for .s8 .right: write"),
        ("total when 1 in size(type).widths and not side == .left", "has no row for .s8 .right: write"),
        ("total when type == 3", "expected kind, found integer"),
        ("total when wide == .yes", "has no fact 'wide'"),
        ("total of size", "table 'size' has no column 'type'"),
        ("total of nothing", "table 'nothing' has no column 'type'"),
    ],
)
def test_a_total_table_names_the_rows_that_it_lacks(total: str, fault: str) -> None:
    faults = faults_of("\n", SIZES.format(total=total, more=""))
    assert any(fault in one for one in faults), faults


def test_a_table_is_total_over_the_rows_of_another() -> None:
    pairs = "table pairs (name: side) -> type, side { .left .f16 .left; .right .s8 .right; }"
    (fault,) = faults_of(pairs, SIZES.format(total="total of pairs", more=""))
    assert "table 'sizes' is total and has no row for .s8 .right: write `.s8  .right  <bits>;`" in fault
    book_of(pairs, SIZES.format(total="total of pairs", more=".s8 .right 8;"))


def test_an_extension_adds_members_spellings_and_rows() -> None:
    book = book_of(
        'extend enum kind { .f32 "single"; .f16 "fp16"; }'
        "extend table size { .f32 32 {4}; .b1 1 {1, 2}; }"
        'rule XX1 some-fault on thing { require type != .f32 error "{type}" source "nowhere" }'
    )
    assert book.enums["kind"].by_spelling["single"] == ".f32"
    assert book.enums["kind"].members[".f16"] == ("half", "fp16")
    assert book.tables["size", "ptx"].rows[".f32",] == (32, frozenset({4}))
    assert book.tables["size", "tileiras"] is book.tables["size", "ptx"]
    assert Judge(book.under("ptx"), "thing").violated({"type": ".f32"})


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("extend enum size { .a; }", "test.rule:7:13: no enum is called 'size'"),
        ("extend enum kind { .b1; }", "test.rule:7:20: '.b1' is a member of 'kind' already"),
        ('extend enum kind { .f32 "half"; }', 'test.rule:7:20: "half" already spells .f16'),
        ("extend table sizes { .f16 16; }", "test.rule:7:14: no table is called 'sizes'"),
        ("extend table size { .f16 16 {1}; }", "test.rule:7:21: the table has two rows for .f16"),
        ("extend table size { .b1 16; }", "test.rule:7:21: a row of this table has 3 cells, not 2"),
        ("extend table size { .f32 16 {1}; }", "test.rule:7:21: table 'size': '.f32' is not in enum kind"),
        ("extend table size in ptx { .b1 1 {1}; }", "table 'size' is of both contracts: leave out 'in ptx'"),
        (
            "table hand (type: kind) -> side { .f16 .left; } extend table hand { .s8 .middle; }",
            "'.middle' in column 'side' of table 'hand' is no side: write one, or add it with `extend enum side",
        ),
    ],
)
def test_a_wrong_extension_is_a_fault(text: str, fault: str) -> None:
    faults = faults_of("\n", text)
    assert any(fault in one for one in faults), faults


PARENT = 'rule XX1 narrow on thing { require N < 9 error "{N}" source "nowhere" pass { N = 8 } fail { N = 9 } }'
CHILD = 'schema wide extends thing "a wide thing" {}'
WIDER = (
    'rule XX2 wider on wide replaces XX1 { require N < 17 error "{N}" source "nowhere" pass { N = 9 } fail { N = 17 } }'
)


def test_a_rule_replaces_one_that_its_schema_inherits() -> None:
    book = book_of(PARENT, CHILD, WIDER)
    broken = {schema: Judge(book.under("ptx"), schema, inherited=True).violated for schema in ("thing", "wide")}
    assert [rule.code for rule in broken["thing"]({"N": 9})] == ["XX1"]
    assert broken["wide"]({"N": 9}) == ()
    assert [rule.code for rule in broken["wide"]({"N": 17})] == ["XX2"]


def test_what_is_not_inherited_cannot_be_replaced() -> None:
    assert faults_of(PARENT, CHILD, WIDER.replace("on wide", "on thing")) == [
        f"test.rule:6:{len(PARENT + CHILD) + 6}: XX2 replaces 'XX1', which is not a rule that 'thing' inherits"
    ]


ATOMS = 'enum atom { .a "d.one" "d.two"; .b "d.three"; .none "a type that is not an atom"; }'
DECLARED = "atom d.one on thing { N from 0; } "


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (DECLARED + "atom d.three on thing { N from 1; }", []),
        (DECLARED + 'atom d.three unjudged "it has no parameters";', []),
        (DECLARED, ["the atom d.three has no declaration, and no rule judges .b: write `atom d.three on SCHEMA"]),
        (DECLARED + "atom d.three, d.four on thing { N from 0; }", ["'d.four' spells no member of the enum 'atom'"]),
        (
            DECLARED + "atom d.three on empty { N from 0; }",
            ["no rule on 'empty' judges d.three: write `rule CODE name"],
        ),
        (DECLARED + 'atom d.three on empty { N from 0; } atom d.three unjudged "none";', []),
        (
            DECLARED + 'atom d.three on thing { N from 0; } atom d.three unjudged "none";',
            ["rules on 'thing' judge d.three"],
        ),
    ],
)
def test_each_spelling_of_an_atom_is_declared(text: str, faults: list[str]) -> None:
    texts = (ATOMS, 'schema empty "" { N : 0..4 = 1; }', PARENT, text)
    if not faults:
        book = book_of(*texts)
        assert book.atoms["d.two"] is book.atoms["d.one"]
    else:
        found = faults_of(*texts)
        assert all(any(fault in one for one in found) for fault in faults), found


def test_of_several_declarations_each_spelling_has_its_own() -> None:
    atoms = ATOMS.replace('"d.two"', '"d.two" "d.also"')
    texts = (atoms, PARENT, DECLARED, "atom d.two on thing { N from 1; } atom d.three on thing { N from 0; }")
    (fault,) = faults_of(*texts)
    assert "the atom d.also has no declaration, and the other spellings of this member have several" in fault
