"""All legal configurations of a schema, by backtracking over the Python reading of its rules.

A rule that has read enough to fail cuts the branch: what it decided without a fact does not depend on that fact. That
nothing is missed is shown by the other reading: Z3 finds no legal configuration outside (tests/rules/test_suggest.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tileproof.diagnostic import Severity
from tileproof.evaluate import Check, Judge
from tileproof.rule import Scalar


def legal_configurations(
    judge: Judge, options: Mapping[str, Sequence[Scalar]], clean: bool = False
) -> Iterator[dict[str, Scalar]]:
    """Every legal choice of one option for each fact, in the order of the options.

    Args:
        options: facts and the values to try; a fact with one value is fixed, one that is not there is unknown.
        clean: only what no rule warns of.
    """
    counting = (Severity.ERROR, Severity.WARNING) if clean else (Severity.ERROR,)
    checks = [check for check in judge.checks if check.rule.severity in counting]
    order = ordered(checks, options)
    readers = {fact: [check for check in checks if fact in check.rule.facts] for fact in order}
    yield from _extend({}, order, options, readers)


def ordered(checks: Sequence[Check], options: Mapping[str, Sequence[Scalar]]) -> list[str]:
    """Facts with one value first, then those that rules connect most with what is there, the fewest values first."""
    order = [fact for fact, values in options.items() if len(values) == 1]
    rest = [fact for fact in options if fact not in order]
    while rest:
        known = set(order)

        def weight(fact: str, known: set[str] = known) -> tuple[int, int]:
            ready = sum(fact in check.rule.facts and check.rule.facts <= known | {fact} for check in checks)
            return (-ready, len(options[fact]))

        chosen = min(rest, key=weight)
        order.append(chosen)
        rest.remove(chosen)
    return order


def _extend(
    present: dict[str, Scalar],
    order: Sequence[str],
    options: Mapping[str, Sequence[Scalar]],
    readers: Mapping[str, Sequence[Check]],
) -> Iterator[dict[str, Scalar]]:
    if len(present) == len(order):
        yield dict(present)
        return
    fact = order[len(present)]
    for value in options[fact]:
        present[fact] = value
        if all(check(present) is not False for check in readers[fact]):
            yield from _extend(present, order, options, readers)
        del present[fact]
