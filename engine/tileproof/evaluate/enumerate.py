"""All legal configurations of a schema, by backtracking over the Python reading of its rules.

A rule that has read enough to fail cuts the branch: what it decided without a fact does not depend on that fact. Where
no value of a fact is legal, the search goes back to one that a failing rule reads. That nothing is missed is shown by
the other reading: Z3 finds no legal configuration outside (tests/suggesting/test_suggest.py).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence

from tileproof.base.diagnostic import Severity
from tileproof.evaluate.python import Check, Judge
from tileproof.rulebase.expression import Scalar


def legal_configurations(
    judge: Judge, options: Mapping[str, Sequence[Scalar]], clean: bool = False
) -> Iterator[dict[str, Scalar]]:
    """Every legal choice of one option for each fact, in the order of the options.

    Args:
        options: facts and the values to try; a fact with one value is fixed, one that is not there is unknown.
        clean: only configurations without warnings.
    """
    counting = (Severity.ERROR, Severity.WARNING) if clean else (Severity.ERROR,)
    checks = [check for check in judge.checks if check.rule.severity in counting]
    order = ordered(checks, options)
    readers = {fact: [check for check in checks if fact in check.rule.facts] for fact in order}
    yield from _extend({}, order, options, readers)


def ordered(checks: Sequence[Check], options: Mapping[str, Sequence[Scalar]]) -> list[str]:
    """Facts with one value first, then those that rules connect most with what is there, the fewest values first."""
    order = [fact for fact, values in options.items() if len(values) == 1]
    rest = {fact: len(values) for fact, values in options.items() if len(values) != 1}
    missing = [set(check.rule.facts).difference(order) for check in checks]
    ready = dict.fromkeys(rest, 0)  # how many rules have read all but this fact
    readers: dict[str, list[set[str]]] = {fact: [] for fact in rest}
    for facts in missing:
        for fact in facts & rest.keys():
            readers[fact].append(facts)
        _count(facts, ready)
    while rest:
        chosen = min(rest, key=lambda fact: (-ready[fact], rest[fact]))
        order.append(chosen)
        del rest[chosen]
        for facts in readers[chosen]:
            facts.discard(chosen)
            _count(facts, ready)
    return order


def _count(facts: set[str], ready: dict[str, int]) -> None:
    if len(facts) == 1:
        (fact,) = facts
        if fact in ready:
            ready[fact] += 1


def _extend(
    present: dict[str, Scalar],
    order: Sequence[str],
    options: Mapping[str, Sequence[Scalar]],
    readers: Mapping[str, Sequence[Check]],
) -> Generator[dict[str, Scalar], None, frozenset[str] | None]:
    """Yields what is legal; returns None where something was, else facts whose present values rule everything out.

    Where the present fact is not among these, its other values need not be tried (conflict-directed backjumping).
    """
    if len(present) == len(order):
        yield dict(present)
        return None
    fact = order[len(present)]
    blamed: set[str] = set()
    legal = False
    for value in options[fact]:
        present[fact] = value
        failed = next((check for check in readers[fact] if check(present) is False), None)
        if failed is not None:
            blamed |= failed.rule.facts
        else:
            inner = yield from _extend(present, order, options, readers)
            if inner is None:
                legal = True
            elif fact not in inner:
                del present[fact]
                return inner
            else:
                blamed |= inner
        del present[fact]
    return None if legal else frozenset(blamed & present.keys())
