"""All legal configurations of a schema, by backtracking over the Python reading of its rules.

A rule that has read enough to fail cuts the branch: what it decided without a fact does not depend on that fact. Where
no value of a fact is legal, the search goes back to one that a failing rule reads. That nothing is missed is shown by
the other reading: Z3 finds no legal configuration outside (tests/suggesting/test_suggest.py).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.evaluate.python import Check, Judge
from tileproof.rulebase.expression import Scalar


def legal_configurations(
    judge: Judge,
    options: Mapping[str, Sequence[Scalar]],
    clean: bool = False,
    about: frozenset[str] | None = None,
    many: bool = False,
) -> Iterator[dict[str, Scalar]]:
    """Every legal choice of one option for each fact, in the order of the options.

    Args:
        options: facts and the values to try; a fact with one value is fixed, one that is not there is unknown.
        clean: only configurations without warnings.
        about: only the rules that read one of these facts count.
        many: that all of many will be asked for: what is legal beside some facts is then worked out once.
    """
    plan = _plan(judge, clean, about, tuple([(fact, len(values)) for fact, values in options.items()]))
    present = {fact: options[fact][0] for fact in plan.fixed}
    # What is fixed is judged as a whole.
    if any(check(present) is False for check in plan.first):
        return
    if not many:
        yield from _extend(present, plan.order, options, plan.readers)
        return
    beside = {}
    for i, fact in enumerate(plan.order[len(plan.fixed) :], len(plan.fixed)):
        read = frozenset().union(*(check.rule.facts for check in plan.readers[fact]))
        beside[fact] = _Beside(plan.readers[fact], tuple(options[fact]), [n for n in plan.order[:i] if n in read])
    yield from _extend_beside(present, plan.order, beside)


def first_or_conflict(
    judge: Judge, options: Mapping[str, Sequence[Scalar]]
) -> Iterator[dict[str, Scalar]] | frozenset[str]:
    """The legal choices of one option for each fact; where there is none, facts of which one at least must change.

    These are facts with one option. Whatever the values of the other facts, some rule is violated as long as they stay.
    """
    plan = _plan(judge, False, None, tuple([(fact, len(values)) for fact, values in options.items()]))
    present = {fact: options[fact][0] for fact in plan.fixed}
    broken = [check.rule.facts.intersection(present) for check in plan.first if check(present) is False]
    if broken:
        return min(broken, key=len)
    search = _extend(present, plan.order, options, plan.readers)
    try:
        first = next(search)
    except StopIteration as stopped:
        assert stopped.value is not None, "nothing was found"
        found: frozenset[str] = stopped.value
        return found
    return chain((first,), search)


class _Beside:
    """The values of a fact that no rule rejects beside the facts before it, worked out once for each of these."""

    def __init__(self, readers: Sequence[Check], values: Sequence[Scalar], before: Sequence[str]) -> None:
        self.readers = readers
        self.values = values
        self.before = before
        self.known: dict[tuple[Scalar, ...], tuple[tuple[Scalar, ...], frozenset[str]]] = {}

    def legal(self, fact: str, present: dict[str, Scalar]) -> tuple[tuple[Scalar, ...], frozenset[str]]:
        """The values, and the facts that rule the others out."""
        key = tuple([present[name] for name in self.before])
        found = self.known.get(key)
        if found is None:
            kept, blamed = [], set[str]()
            for value in self.values:
                present[fact] = value
                failed = next((check for check in self.readers if check(present) is False), None)
                if failed is None:
                    kept.append(value)
                else:
                    blamed |= failed.rule.facts
                del present[fact]
            found = self.known[key] = tuple(kept), frozenset(blamed)
        return found


@dataclass(frozen=True, slots=True)
class _Plan:
    """How to search among facts with so many values.

    Attributes:
        fixed: facts with one value; first: the rules that read some of them.
        order: all facts, these first; readers: of the others the rules that read them.
    """

    fixed: tuple[str, ...]
    first: tuple[Check, ...]
    order: tuple[str, ...]
    readers: Mapping[str, tuple[Check, ...]]


@lru_cache(maxsize=4096)
def _plan(judge: Judge, clean: bool, about: frozenset[str] | None, sizes: tuple[tuple[str, int], ...]) -> _Plan:
    counting = (Severity.ERROR, Severity.WARNING) if clean else (Severity.ERROR,)
    checks = [check for check in judge.checks if check.rule.severity in counting]
    if about is not None:
        checks = [check for check in checks if not about.isdisjoint(check.rule.facts)]
    order = ordered(checks, {fact: range(size) for fact, size in sizes})
    fixed = tuple(fact for fact, size in sizes if size == 1)
    first = tuple(check for check in checks if not check.rule.facts.isdisjoint(fixed))
    readers = {fact: tuple(check for check in checks if fact in check.rule.facts) for fact in order[len(fixed) :]}
    return _Plan(fixed, first, tuple(order), readers)


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
    about = readers[fact]
    for value in options[fact]:
        present[fact] = value
        for check in about:
            if check(present) is False:
                blamed |= check.rule.facts
                break
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


def _extend_beside(
    present: dict[str, Scalar], order: Sequence[str], beside: Mapping[str, _Beside]
) -> Generator[dict[str, Scalar], None, frozenset[str] | None]:
    """As ``_extend``, with what is known of each fact beside those before it."""
    if len(present) == len(order):
        yield dict(present)
        return None
    fact = order[len(present)]
    values, ruled_out = beside[fact].legal(fact, present)
    blamed = set(ruled_out)
    legal = False
    for value in values:
        present[fact] = value
        inner = yield from _extend_beside(present, order, beside)
        if inner is None:
            legal = True
        elif fact not in inner:
            del present[fact]
            return inner
        else:
            blamed |= inner
        del present[fact]
    return None if legal else frozenset(blamed & present.keys())
