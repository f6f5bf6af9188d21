"""A rule over many configurations at once says what it says of each of them."""

from __future__ import annotations

import random

import pytest

import tileproof
from tileproof.evaluate.python import Check, sweep_of

BOOK = tileproof.load_rules()
VERDICTS = (True, False, None)


@pytest.mark.parametrize("contract", ["ptx", "tileiras"])
@pytest.mark.parametrize("known", [0, 1], ids=["all vary", "one is fixed"])
def test_a_sweep_divides_configurations_as_the_rule_does(contract: str, known: int):
    ruleset = BOOK.under(contract)
    rng = random.Random(contract)
    reached = set()
    for rule in rng.sample([rule for rule in BOOK.rules.values() if rule.contract in (None, contract)], 150):
        names = sorted(rule.facts)
        instance = BOOK.schemas[rule.schema].instance
        fixed = {name: instance[name] for name in names[:known]}
        varied = names[known:]
        domains = [BOOK.domain(rule.schema, name) for name in varied]
        rows = [tuple(rng.choice(domain) for domain in domains) for _ in range(20)]
        rows.append(tuple(instance[name] for name in varied))
        found = sweep_of(ruleset, rule, varied)(fixed, rows, [(i,) for i in range(len(rows))])
        check = Check(ruleset, rule)
        verdicts = [check({**fixed, **dict(zip(varied, row, strict=True))}) for row in rows]
        for verdict, points in zip(VERDICTS, found, strict=True):
            assert points == [(i,) for i, one in enumerate(verdicts) if one is verdict]
        reached |= {*verdicts}
    assert reached == {*VERDICTS}
