"""`tileproof layout`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tileproof.cli import main


def run(*arguments: str, stdin: str | None = None):
    return CliRunner().invoke(main, ["layout", *arguments], input=stdin)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("composition((20):(2), (5,4):(4,1))", "(5,4):(8,2)"),
        ("coalesce((7):(1))", "7:1"),
        ("raked_product((16):(1), (1):(1))", "(16):(1)"),
        ("complement((4,2):(1,8), 32)", "(2,2):(4,16)"),
        ("size((4,(2,3)):(1,(4,8)))", "24"),
        ("logical_divide((4,2,3):(2,1,8), 4:2)", "((2,2),(2,3)):((4,1),(2,8))"),
    ],
)
def test_an_expression_prints_its_value_as_cute_does(expression: str, value: str):
    result = run(expression)
    assert (result.exit_code, result.stdout) == (0, value + "\n")
    assert json.loads(run("--format", "json", expression).stdout) == {"result": value}


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("composition((4,3):(1,5), 6:1)", "6"),
        ("composition(4:1", "unexpected end"),
        ("compose(4:1, 2:1)", "unknown function 'compose'"),
        ("size(" * 500, "nest deeper"),
        ("9" * 5000 + ":1", "64 bits"),
    ],
)
def test_an_expression_without_a_value_says_why_in_one_line(expression: str, reason: str):
    result = run(expression)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert reason in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_stream_is_answered_line_by_line_in_order():
    lines = [
        '{"expr": "size(4:1)"}',
        "",
        "not json",
        '{"expr": 3}',
        '{"expr": "size("}',
        '{"expr": "depth((1,(2)):0)"}',
    ]
    result = run("--jsonl", stdin="\n".join(lines))
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert answers[0] == {"result": "4"}
    assert [list(answer) for answer in answers] == [["result"], ["error"], ["error"], ["error"], ["error"]]


def test_the_functions_are_listed():
    listed = run("--functions").stdout
    for name in ("composition(", "complement(", "zipped_divide(", "raked_product(", "crd2idx("):
        assert name in listed


def test_nothing_to_compute_is_refused():
    assert run().exit_code == 2
