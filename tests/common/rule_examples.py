"""The examples in rules: a passing one passes, and all other errors with it; a failing one is reported."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from tileproof.base.diagnostic import Severity
from tileproof.evaluate.python import Check, Judge
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import CONTRACTS, Rule


@lru_cache(maxsize=64)
def _judge(ruleset: Ruleset, schema: str) -> Judge:
    return Judge(ruleset, schema)


def unlike_what_they_say(book: Rulebook, rule: Rule) -> Iterator[str]:
    """The examples of a rule that do not behave as they say, with the contract."""
    instance = book.schemas[rule.schema].instance
    for contract in CONTRACTS if rule.contract is None else (rule.contract,):
        ruleset = book.under(contract)
        judge, check = _judge(ruleset, rule.schema), Check(ruleset, rule)
        for example in rule.passing:
            facts = {**instance, **example.facts}
            broken = [one.code for one in judge.violated(facts) if one.severity is Severity.ERROR]
            if check(facts) is not True or (broken and rule.severity is Severity.ERROR):
                yield f"{rule.code} in {contract}: pass {example.facts}"
        for example in rule.failing:
            if rule not in judge.violated({**instance, **example.facts}):
                yield f"{rule.code} in {contract}: fail {example.facts}"
