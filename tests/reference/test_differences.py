"""Where the contracts differ: every witness is answered by ``legal`` as it says."""

from __future__ import annotations

import json
import shlex
from functools import cache

import pytest
from click.testing import CliRunner

from tileproof.checking.instruction import context, legal
from tileproof.cli import main
from tileproof.reference.differences import Difference, Kind, as_json, as_markdown, as_text, differences
from tileproof.rulebase.contradiction import Accepts
from tileproof.rulebase.load import load, shipped_files

BOOK = load(shipped_files())


@cache
def found() -> list[Difference]:
    return differences(BOOK, "tileiras", "ptx", 5)


def answered(one: Difference, contract: str):
    assert one.witness is not None and one.witness.text is not None and one.witness.target is not None
    target, _, version = one.witness.target.partition(", PTX ")
    major, _, minor = version.partition(".")
    where = context(BOOK, target, (int(major), int(minor)) if version else None)
    return legal(BOOK.under(contract), one.witness.text, where)


def test_each_witness_is_answered_differently():
    spoken = [one for one in found() if one.accepting and one.witness and one.witness.text]
    for one in spoken:
        assert answered(one, one.accepting).legal, one
        refused = answered(one, one.rejecting)
        assert not refused.legal, one
        assert set(refused.codes) & set(one.rules), one
    assert len(spoken) > 50
    contradictions = [
        one for one in found() if isinstance(getattr(BOOK.contradictions.get(one.code or ""), "proof", None), Accepts)
    ]
    assert sum(one.witness is not None and one.witness.text is not None for one in contradictions) > 25


def test_a_note_is_made_of_its_witness():
    noted = [one for one in found() if one.kind is Kind.READING and one.witness and one.witness.text]
    for one in noted:
        assert set(answered(one, "tileiras").codes) & set(one.rules), one
    assert len(noted) >= 5


@pytest.mark.parametrize("extra", [[], ["--format", "json"]], ids=["text", "json"])
def test_a_witness_can_be_pasted(extra):
    one = next(one for one in found() if one.code == "RP312")
    assert one.witness is not None and one.witness.command is not None
    words = shlex.split(one.witness.command)[1:]
    status = {c: CliRunner().invoke(main, [*words, "--contract", c, *extra]).exit_code for c in ("tileiras", "ptx")}
    assert status == {"tileiras": 0, "ptx": 1}


def test_each_difference_has_a_command_and_a_reason_where_it_is_no_instruction():
    without = [one for one in found() if one.witness is None or one.witness.text is None]
    assert {one.unsaid for one in without}.isdisjoint({""})
    assert all(one.unsaid == "" for one in found() if one not in without)
    assert all(one.command.startswith("tileproof legal ") for one in found() if one not in without)
    kinds = {one.command.rpartition(" ")[0] for one in without}
    assert kinds == {"tileproof rules contradictions", "tileproof rules show"}
    for kind in kinds:
        one = next(one for one in without if one.command.startswith(kind))
        done = CliRunner().invoke(main, shlex.split(one.command)[1:])
        assert done.exit_code == 0
        assert (one.code or one.rules[0]) in done.output


def test_every_contradiction_is_there_with_both_sides_and_a_witness():
    codes = {one.code: one for one in found() if one.code}
    assert set(codes) == set(BOOK.contradictions)
    for one in codes.values():
        assert one.claim and one.against
        assert one.sources["both sides"]
        assert one.witness is not None, one
        unprovable = BOOK.contradictions[one.code].proof.__class__.__name__ == "Some"
        assert one.witness.text or one.witness.facts or one.witness.values or unprovable, one


def test_groups_of_rules_have_a_source_of_each_side():
    groups = [one for one in found() if one.code is None]
    assert groups
    for one in groups:
        assert one.accepting is not None and one.rejecting is not None
        assert all(one.sources[contract] for contract in (one.accepting, one.rejecting)), one
    keys = [(one.schema, one.accepting, one.kind) for one in groups]
    assert len(keys) == len(set(keys)), "what is about one schema is one group"
    shown = {(code, one.accepting) for one in groups for code in one.rules}
    assert len(shown) == sum(len(one.rules) for one in groups), "each rule once"


def test_the_most_important_come_first_and_operands_are_folded():
    kinds = [one.kind for one in found()]
    assert kinds == sorted(kinds)
    assert kinds[0] is Kind.BITS
    assert sum(one.kind is Kind.OPERANDS for one in found()) < 10


def test_the_same_differences_in_every_format():
    text, page = "\n".join(as_text(found())), "\n".join(as_markdown(found()))
    rows = json.loads(as_json(found()))
    assert len(rows) == len(found()) == page.count("\n| ") - page.count("\n| | claim")
    for one in found():
        assert one.code is None or f"  {one.code}" in text
    assert text.count("witness  ") >= 100
    assert text.endswith(f"{len(rows)} differences")


@pytest.mark.sweep
def test_the_command_in_markdown():
    result = CliRunner().invoke(main, ["rules", "diff", "ptx", "tileiras", "--format", "markdown"])
    assert result.exit_code == 0
    assert "## The pages allow what the hardware rejects" in result.output
