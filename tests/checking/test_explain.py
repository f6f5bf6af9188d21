"""``explain``: every code is explained whole, and its examples behave as they say."""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import tileproof
from tileproof.checking.explain import as_json, as_text, find, nearest
from tileproof.checking.instruction import context, legal
from tileproof.cli import main
from tileproof.rulebase.declarations import Rule
from tileproof.rulebase.parser.rules import expression

BOOK = tileproof.load_rules()
DOCUMENTED = BOOK.documented()
FAMILIES = [tuple(codes) for _, codes in groupby(DOCUMENTED, lambda code: code[:2])]
EXPECTED = Path(__file__).parent / "expected"
REPRESENTATIVE = (
    "WG101", "WG104", "UM104", "MM102", "SP130", "BS105", "CA102", "CP113", "CB107", "TC110", "DS121", "DS124", "LM106",
    "PR102", "PR124", "IR001", "AT101", "WM110",
)  # fmt: skip
NUMBERED = re.compile(r"FACTS|BUGS|\b[Pp]ages? P[0-4]\b|reference page P|engine/tileproof")


@pytest.mark.parametrize("codes", FAMILIES, ids=lambda codes: codes[0][:2])
def test_every_code_is_explained(codes: tuple[str, ...]):
    for code in codes:
        item = DOCUMENTED[code]
        told = json.loads(as_json(BOOK, item))
        assert not NUMBERED.search(as_text(BOOK, item)), code
        assert "{" not in told["message"] + told["hint"], code
        assert told["sources"], code
        for citation in item.citations:
            assert citation.url.startswith("https://") or not BOOK.references[citation.reference].url, citation.text
        if isinstance(item, Rule):
            assert expression(told["require"]) == item.require, code
            assert told["when"] is None if item.when is None else expression(told["when"]) == item.when, code
            for example in ("wrong", "right"):
                judged(item, told[example], fails=example == "wrong")


def judged(rule: Rule, example: dict[str, object], fails: bool) -> None:
    """The text of an example is judged as the explanation says."""
    if example["text"] is None:
        assert example["facts"], rule.code
        return
    target, _, version = str(example["where"]).partition(", PTX ")
    major, _, minor = version.partition(".")
    where = context(BOOK, target, (int(major), int(minor)) if version else None)
    verdict = legal(BOOK.under(rule.contract or "ptx"), str(example["text"]), where)
    assert (rule.code in verdict.codes) == fails, (rule.code, example)
    assert fails or verdict.legal, (rule.code, example)


def test_rules_on_instructions_show_instructions():
    """Of the 500 rules on instructions all but a few, whose facts the text of a PTX instruction cannot say."""
    on_instructions = [
        rule for rule in BOOK.rules.values() if rule.contract == "ptx" and "ptx" in BOOK.lineage(rule.schema)
    ]
    shown = [rule for rule in on_instructions[::7] if json.loads(as_json(BOOK, rule))["wrong"]["text"]]
    assert len(shown) >= 0.9 * len(on_instructions[::7])


@pytest.mark.parametrize("code", REPRESENTATIVE)
def test_the_explanation_is_as_expected(code: str, request: pytest.FixtureRequest):
    """The texts are rewritten by ``pytest tests/checking/test_explain.py --regenerate``; read the diff then."""
    expected = EXPECTED / f"{code}.txt"
    shown = as_text(BOOK, DOCUMENTED[code]) + "\n"
    if request.config.getoption("--regenerate"):
        expected.parent.mkdir(exist_ok=True)
        expected.write_text(shown, encoding="utf-8")
    assert shown == expected.read_text(encoding="utf-8")


def test_the_protocol_and_the_descriptors_say_what_goes_wrong_on_the_machine():
    assert [code for code, item in DOCUMENTED.items() if code[:2] in ("PR", "DS") and not item.why] == []


def explain(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments])


@pytest.mark.parametrize("name", ["WG101", "wg101", "wgmma-invalid-n", "wgmma-n"])
def test_codes_and_names_are_found(name: str):
    assert find(BOOK, name) is BOOK.rules["WG101"]
    assert explain(name).stdout.startswith("WG101 wgmma-invalid-n (error)\n")
    assert json.loads(explain(name, "--format", "json").stdout)["code"] == "WG101"


@pytest.mark.parametrize(
    ("name", "near"), [("WG1O1", "WG1"), ("wg-101", "WG101"), ("wgmma-invalid-x", "wgmma-invalid-k"), ("zzz", "")]
)
def test_an_unknown_code_is_answered_with_the_nearest(name: str, near: str):
    assert any(near in one for one in nearest(BOOK, name)) or not near
    result = explain(name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"no rule has the code or name '{name}'" in result.stderr
    assert near in result.stderr
