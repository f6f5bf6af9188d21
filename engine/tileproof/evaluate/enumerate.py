"""All legal configurations of a schema, by backtracking over the Python reading of its rules.

A rule that has read enough to fail cuts the branch: what it decided without a fact does not depend on that fact. Where
no value of a fact is legal, the search goes back to one that a failing rule reads. That nothing is missed is shown by
the other reading: Z3 finds no legal configuration outside (tests/suggesting/test_suggest.py).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.evaluate.batch import DENSE, Column
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
    yield from _extend(present, plan.order, _beside(plan, options) if many else _choices(plan, options))


def legal_columns(judge: Judge, options: Mapping[str, Sequence[Scalar]]) -> tuple[dict[str, Column], int]:
    """What ``legal_configurations`` yields as columns of numpy's, in its order, and how many there are.

    One fact after the other is added to all configurations of those before it. What is legal beside these is worked
    out once for each combination of those of them that the rules read.
    """
    import numpy as np  # noqa: PLC0415  who asks for columns has it

    plan = _plan(judge, False, None, tuple([(fact, len(values)) for fact, values in options.items()]))
    present = {fact: options[fact][0] for fact in plan.fixed}
    if any(check(present) is False for check in plan.first):
        return {}, 0
    columns = {fact: Column((options[fact][0],), np.zeros(1, dtype=np.int64)) for fact in plan.fixed}
    rows = 1
    for fact, choice in _beside(plan, options).items():
        before = [columns[name] for name in choice.before]
        first, which = distinct(before, rows)
        combinations = zip(*(map(one.values.__getitem__, one.codes[first].tolist()) for one in before), strict=True)
        number = {value: i for i, value in enumerate(choice.values)}
        legal: list[list[int]] = []
        for values in combinations if before else ((),) * len(first):
            present.update(zip(choice.before, values, strict=True))
            legal.append([number[value] for value in choice.beside(present, set())])
        counts = np.array([len(one) for one in legal], dtype=np.int64)
        added = counts[which]
        begins, own = (np.cumsum(each) - each for each in (counts, added))
        rows = int(added.sum())
        at = np.repeat(begins[which] - own, added) + np.arange(rows)
        columns = {name: Column(one.values, np.repeat(one.codes, added)) for name, one in columns.items()}
        flat = np.array([code for one in legal for code in one], dtype=np.int64)
        columns[fact] = Column(tuple(choice.values), flat[at])
    return columns, rows


def distinct(columns: Sequence[Column], rows: int) -> tuple[Any, Any]:
    """The first rows with each combination of values that occurs, and for each row which of the combinations it has."""
    import numpy as np  # noqa: PLC0415  who asks for columns has it

    combined, count = np.zeros(rows, dtype=np.int64), 1
    for column in columns:
        if count * len(column.values) >= _MOST:  # too many to be told apart by one integer: those that occur are few
            different, combined = np.unique(combined, return_inverse=True)
            count = len(different)
        combined = combined * len(column.values) + column.codes
        count *= len(column.values)
    if count <= max(DENSE, 4 * rows):
        occurring = np.flatnonzero(np.bincount(combined, minlength=count))
        numbers = np.zeros(count, dtype=np.int64)
        numbers[occurring] = np.arange(len(occurring))
        which = numbers[combined]
        count = len(occurring)
    else:
        different, which = np.unique(combined, return_inverse=True)
        count = len(different)
    first = np.zeros(count, dtype=np.int64)
    first[which[::-1]] = np.arange(rows - 1, -1, -1)  # of those that are assigned to one place the last stays
    return first, which


_MOST = 1 << 62


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


def _beside(plan: _Plan, options: Mapping[str, Sequence[Scalar]]) -> dict[str, _Beside]:
    """The choices for each fact that is not fixed, in the order of the plan."""
    every, found = _choices(plan, options), {}
    for i, fact in enumerate(plan.order[len(plan.fixed) :], len(plan.fixed)):
        read = frozenset().union(*(check.rule.facts for check in plan.readers[fact]))
        found[fact] = _Beside(every[fact], [name for name in plan.order[:i] if name in read])
    return found


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
