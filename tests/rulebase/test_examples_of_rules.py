"""The examples of each rule pass and fail as they say, in each contract; the sweep of tests/audit asks Z3 as well."""

from __future__ import annotations

from rule_examples import unlike_what_they_say

from tileproof.base.diagnostic import Severity
from tileproof.evaluate.python import Judge
from tileproof.rulebase.declarations import CONTRACTS
from tileproof.rulebase.load import load, shipped_files

BOOK = load(shipped_files())


def test_examples_do_as_they_say():
    assert [wrong for rule in BOOK.rules.values() for wrong in unlike_what_they_say(BOOK, rule)] == []


def test_the_instance_of_each_schema_is_legal():
    for contract in CONTRACTS:
        for name, schema in BOOK.schemas.items():
            broken = Judge(BOOK.under(contract), name, inherited=True).violated(schema.instance)
            assert [rule.code for rule in broken if rule.severity is Severity.ERROR] == [], (contract, name)
