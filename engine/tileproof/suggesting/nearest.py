"""The legal configuration that changes the fewest pieces of a text, and its values least.

A *piece* is what an author writes at once: a modifier, an operand, a parameter of a type. The search starts with all
pieces as they are. Where no choice of what is open is legal, some piece among those whose facts rule everything out has
to change (``evaluate.enumerate.first_or_conflict``); so the sets of changed pieces grow one by one, only by pieces
that a conflict names, and the first sets that are enough are the least: hitting sets of conflicts in order of size.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.evaluate.enumerate import first_or_conflict
from tileproof.evaluate.python import Judge
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar

_MOST_CHOICES = 48  # legal configurations of one set that are compared


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the text and the values that its facts may have."""

    name: str
    values: Mapping[str, Sequence[Scalar]]


@dataclass(frozen=True, slots=True)
class Found:
    """A legal configuration near the text.

    Attributes:
        changed: the pieces that are not as they were.
    """

    facts: Mapping[str, Scalar]
    changed: frozenset[str]


@dataclass(frozen=True, slots=True)
class Start:
    """Where a search starts.

    Attributes:
        fixed: facts that stay; written: those of the pieces as they are.
        open: facts that the text leaves open, with the values that they may have, the usual first.
    """

    fixed: Mapping[str, Scalar]
    written: Mapping[str, Scalar]
    open: Mapping[str, Sequence[Scalar]]
    pieces: Sequence[Piece]


def nearest(
    judge: Judge, start: Start, most: int, accepted: Callable[[Found], bool], deadline: float, budget: list[int]
) -> Iterator[list[Found]]:
    """The legal configurations with 0, 1, 2, ... changed pieces, of each number the nearest values first.

    Of a set of pieces that is enough no larger one is tried.

    Args:
        most: the pieces that change at most.
        accepted: what a configuration must fulfil beyond the rules, such as that its text says it.
        deadline: of ``time.monotonic``.
        budget: how many sets of pieces may be tried; it is counted down.
    """
    of_fact = {fact: piece for piece in start.pieces for fact in piece.values}
    by_name = {piece.name: piece for piece in start.pieces}
    level: dict[frozenset[str], None] = {frozenset(): None}
    for _ in range(most + 1):
        found: list[Found] = []
        beyond: dict[frozenset[str], None] = {}
        for changed in level:
            budget[0] -= 1
            if budget[0] < 0 or time.monotonic() > deadline:
                return
            options = _options(judge.ruleset.book, judge.schema, start, [by_name[name] for name in changed])
            outcome = first_or_conflict(judge, options)
            if isinstance(outcome, frozenset):
                for fact in sorted(outcome):
                    piece = of_fact.get(fact)
                    if piece is not None and piece.name not in changed:
                        beyond[changed | {piece.name}] = None
                continue
            legal = [Found(facts, _changed(start, facts)) for facts in islice(outcome, _MOST_CHOICES)]
            legal = [one for one in legal if accepted(one)]
            found += legal
            # The text may not be able to say any of these: then another piece has to change too.
            if not legal:
                beyond.update(dict.fromkeys(changed | {name} for name in by_name if name not in changed))
        yield sorted(found, key=lambda one: _distance(judge, start, one))
        if not beyond:
            return
        level = beyond


def _changed(start: Start, facts: Mapping[str, Scalar]) -> frozenset[str]:
    written = start.written
    return frozenset(p.name for p in start.pieces if any(f in written and facts.get(f) != written[f] for f in p.values))


def _options(book: Rulebook, schema: str, start: Start, changed: Sequence[Piece]) -> dict[str, Sequence[Scalar]]:
    """What to try for each fact: changed pieces have all their values, the nearest first."""
    options: dict[str, Sequence[Scalar]] = {name: (value,) for name, value in start.fixed.items()}
    options |= {name: (value,) for name, value in start.written.items()}
    options |= start.open
    for piece in changed:
        for fact, values in piece.values.items():
            if fact in start.written:
                options[fact] = by_distance(book, schema, fact, values, start.written[fact])
    return options


def by_distance(book: Rulebook, schema: str, fact: str, values: Sequence[Scalar], present: Scalar) -> list[Scalar]:
    """Values by how far they are from the present one: integers by difference, symbols by letters, then by the enum."""
    if isinstance(present, int):
        numbers = sorted((abs(value - present), value) for value in values if isinstance(value, int))
        return [value for _, value in numbers]
    order = {value: i for i, value in enumerate(book.domain(schema, fact))}
    at = order.get(present, 0)
    ranked = [
        (_letters(str(value), present), abs(order.get(value, 0) - at), order.get(value, 0), value) for value in values
    ]
    return [value for *_, value in sorted(ranked)]


@lru_cache(maxsize=1 << 14)
def _letters(left: str, right: str) -> int:
    """How many letters differ between two words, added and left out ones too."""
    return distance(left, right)


def distance(left: Sequence[str], right: Sequence[str]) -> int:
    """How many elements are replaced, dropped or added to get from one list to another."""
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        above, row = row, [i]
        for j, other in enumerate(right, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (letter != other)))
    return row[-1]


def _distance(judge: Judge, start: Start, found: Found) -> tuple[float, ...]:
    """Pieces that changed, warnings, facts that changed, how far their values moved, and how early they are written.

    Of two that must agree the later one follows the earlier one: B takes the type of A.
    """
    book = judge.ruleset.book
    warnings = sum(rule.severity is Severity.WARNING for rule in judge.violated(found.facts))
    facts, moved, places = 0, 0.0, 0
    for place, (name, before) in enumerate(start.written.items()):
        after = found.facts.get(name)
        if after is None or after == before:
            continue
        facts += 1
        places += place
        if isinstance(before, int):
            assert isinstance(after, int), "a fact with bounds is an integer"
            moved += abs(after - before) / max(1, abs(before))
        else:
            domain = list(book.domain(judge.schema, name))
            apart = abs(domain.index(after) - domain.index(before)) / len(domain) if before in domain else 1
            moved += _letters(str(before), str(after)) + apart / 10
    return len(found.changed), warnings, facts, moved, -places
