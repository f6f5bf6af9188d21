"""All legal configurations of a schema, by backtracking over the Python reading of its rules.

A rule that has read enough to fail cuts the branch: what it decided without a fact does not depend on that fact. Where
no value of a fact is legal, the search goes back to one that a failing rule reads. That nothing is missed is shown by
the other reading: Z3 finds no legal configuration outside (tests/suggesting/test_suggest.py).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
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
    choices = _choices(plan, options)
    if many:
        for i, fact in enumerate(plan.order[len(plan.fixed) :], len(plan.fixed)):
            read = frozenset().union(*(check.rule.facts for check in plan.readers[fact]))
            choices[fact] = _Beside(choices[fact], [name for name in plan.order[:i] if name in read])
    yield from _extend(present, plan.order, choices)


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
    search = _extend(present, plan.order, _choices(plan, options))
    try:
        first = next(search)
    except StopIteration as stopped:
        assert stopped.value is not None, "nothing was found"
        found: frozenset[str] = stopped.value
        return found
    return chain((first,), search)


class _Legal:
    """The values of a fact that no rule rejects beside the facts before it."""

    def __init__(self, fact: str, values: Sequence[Scalar], readers: Sequence[Check]) -> None:
        self.fact = fact
        self.values = values
        self.readers = readers

    def beside(self, present: dict[str, Scalar], blamed: set[str]) -> Iterable[Scalar]:
        """Each value when it is asked for; what rules the others out is added to ``blamed``."""
        for value in self.values:
            present[self.fact] = value
            for check in self.readers:
                if check(present) is False:
                    blamed |= check.rule.facts
                    break
            else:
                yield value


class _Beside(_Legal):
    """The same, worked out once for each choice of the facts before it that the rules read."""

    def __init__(self, every: _Legal, before: Sequence[str]) -> None:
        super().__init__(every.fact, every.values, every.readers)
        self.before = before
        self.known: dict[tuple[Scalar, ...], tuple[tuple[Scalar, ...], frozenset[str]]] = {}

    def beside(self, present: dict[str, Scalar], blamed: set[str]) -> Iterable[Scalar]:
        key = tuple([present[name] for name in self.before])
        found = self.known.get(key)
        if found is None:
            ruled_out: set[str] = set()
            kept = tuple(super().beside(present, ruled_out))
            found = self.known[key] = kept, frozenset(ruled_out)
        blamed |= found[1]
        return found[0]


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


def _choices(plan: _Plan, options: Mapping[str, Sequence[Scalar]]) -> dict[str, _Legal]:
    return {fact: _Legal(fact, options[fact], readers) for fact, readers in plan.readers.items()}


def _extend(
    present: dict[str, Scalar], order: Sequence[str], choices: Mapping[str, _Legal]
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
    for value in choices[fact].beside(present, blamed):
        present[fact] = value
        inner = yield from _extend(present, order, choices)
        if inner is None:
            legal = True
        elif fact not in inner:
            del present[fact]
            return inner
        else:
            blamed |= inner
    present.pop(fact, None)
    return None if legal else frozenset(blamed & present.keys())
