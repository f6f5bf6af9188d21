"""Every kind of question, case by case, as the command line answers it."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from prove_cases import CASES, VACUOUS

from tileproof.cli import main

KEYS = ["verdict", "by", "statement", "message", "counterexample", "reason", "values"]


def ask(*arguments: str):
    return CliRunner().invoke(main, ["prove", *arguments, "--format", "json"])


def name(case):
    return " ".join(case[2])


@pytest.mark.parametrize(("verdict", "by", "arguments", "found"), CASES, ids=map(name, CASES))
def test_the_verdict(verdict, by, arguments, found):  # checklist: BUGS 15
    result = ask(*arguments)
    assert result.exit_code == (0 if verdict == "proved" else 1), result.output
    answer = json.loads(result.stdout)
    assert list(answer) == KEYS
    assert (answer["verdict"], answer["by"]) == (verdict, by), answer
    if verdict == "refuted":
        assert answer["message"]
        assert {key: answer["counterexample"].get(key) for key in found} == found, answer
    else:
        assert answer["counterexample"] is None


@pytest.mark.parametrize(("verdict", "by", "arguments", "why"), VACUOUS, ids=map(name, VACUOUS))
def test_nothing_is_never_proved(verdict, by, arguments, why):
    result = ask(*arguments)
    answer = json.loads(result.stdout)
    assert (answer["verdict"], answer["by"], result.exit_code) == (verdict, by, 1)
    assert why in answer["reason"]
