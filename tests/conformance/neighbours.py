"""Instructions on both sides of the constants of rules, to ask ptxas about.

The mutation run (``rulebase/mutation.py``) tells which changed constants only a record notices. For each of them an
instruction is sought that is legal by the rules as they are and illegal by the changed ones, or the reverse. What ptxas
says of these instructions is kept in boundaries.txt, so that the default suite knows it without ptxas. Candidates are
legal configurations of the declarations with one fact changed: to each member of its enum, or to a number near one that
rules or their tables name.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from rule_mutants import Mutant, mutants
from rule_records import numbers, texts_of, tried

from conformance.generator import Configuration, Pool, version
from rulebase.mutation import Bench
from tileproof.base.diagnostic import Severity
from tileproof.evaluate.python import Check, Judge, judge_for
from tileproof.ptx.parse_facts import lower
from tileproof.ptx.registers import by_letter
from tileproof.ptx.spell import forms_of, spell
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import HARDWARE, Instruction
from tileproof.rulebase.expression import Scalar
from tileproof.rulebase.fault import RuleError

# The rule files that judge instructions.
CHAPTERS = tuple(f"rules/{name}" for name in ("mma/", "copy/", "sync/", "tcgen05/", "ptx.", "setmaxnreg.", "targets."))
SIZE = 24  # legal configurations of a declaration


@dataclass(frozen=True, eq=False)
class Candidate:
    """An instruction for a target and a PTX version, its facts, and the rules of severity error that it violates."""

    target: str
    ptx: tuple[int, int]
    text: str
    facts: dict[str, Scalar]
    violated: frozenset[str]


def candidates(book: Rulebook, places: set[tuple[str, tuple[int, int]]]) -> Iterator[tuple[str, Candidate]]:
    """Instructions that violate at most one rule, each with its schema; the newest PTX first."""
    rng = random.Random(1)
    letters = by_letter(book)
    for declaration in (one for same in book.instructions.values() for one in same):
        judge = judge_for(book.under(HARDWARE), declaration.schema)
        found: dict[tuple[str, tuple[int, int], str], Candidate] = {}
        for base in islice(Pool(book, declaration, rng, SIZE).configurations, SIZE):
            for facts in changed(book, judge, base):
                target, ptx = str(facts["target"])[1:], version(facts["ptx"])
                if (target, ptx) not in places:
                    continue
                for text in spelled(book, declaration, facts):
                    if (target, ptx, text) in found or "smem" in text:
                        continue
                    lowered = lower(book, text, letters)
                    if (
                        lowered.faults
                        or lowered.declaration is None
                        or lowered.declaration.schema != declaration.schema
                    ):
                        continue
                    values = {**lowered.values, "target": facts["target"], "ptx": facts["ptx"]}
                    broken = frozenset(c.rule.code for c in judge.checks if _error(c) and c(values) is False)
                    if len(broken) <= 1:
                        found[target, ptx, text] = Candidate(target, ptx, text, values, broken)
        for one in sorted(found.values(), key=lambda one: -one.ptx[0] * 100 - one.ptx[1]):
            yield declaration.schema, one


def _error(check: Check) -> bool:
    return check.rule.severity is Severity.ERROR


def changed(book: Rulebook, judge: Judge, base: Configuration) -> Iterator[dict[str, Scalar]]:
    """A configuration, and what it is with one fact changed."""
    yield base.facts
    texts = [text for check in judge.checks for text in texts_of(check.rule)]
    by_fact: dict[str, set[int]] = defaultdict(set)
    for check in judge.checks:
        near = set(numbers(book, texts_of(check.rule), HARDWARE))
        for fact in check.rule.facts:
            by_fact[fact] |= near
    assert texts
    for fact in sorted(base.facts):
        for value in tried(book, judge.schema, fact, by_fact[fact]):
            if value != base.facts[fact]:
                yield {**base.facts, fact: value}


def spelled(book: Rulebook, declaration: Instruction, facts: dict[str, Scalar]) -> Iterator[str]:
    for form in forms_of(declaration, facts) or declaration.forms[:1]:
        try:
            yield spell(book, declaration, facts, form)
        except ValueError:  # no text says it
            continue


def telling(bench: Bench, near: dict[str, Sequence[Candidate]]) -> Iterator[tuple[Mutant, Candidate | None]]:
    """For each mutant of judged instructions that only a record notices: an instruction that tells it, if any does."""
    book = bench.book
    below = defaultdict(list)
    for schema in near:
        for name in book.lineage(schema):
            below[name].append(schema)
    taken: dict[str, list[Candidate]] = defaultdict(list)
    for file in bench.files:
        if not file.name.startswith(CHAPTERS):
            continue
        for mutant in mutants(book, file):
            if mutant.keyword not in ("rule", "ladder", "table") or bench.noticed(mutant) != "record":
                continue
            yield mutant, _told(bench, mutant, near, below, taken)


def _told(
    bench: Bench,
    mutant: Mutant,
    near: dict[str, Sequence[Candidate]],
    below: dict[str, list[str]],
    taken: dict[str, list[Candidate]],
) -> Candidate | None:
    for text in (mutant.text, *(text for _, text in mutant.others)):
        try:
            book, new = bench.load(mutant, text)
        except RuleError:
            continue
        codes = [code for code in bench.rules_of(new) if book.rules[code].contract in (None, HARDWARE)]
        codes = [code for code in codes if book.rules[code].severity is Severity.ERROR]
        for code in codes:
            check = Check(book.under(HARDWARE), book.rules[code])
            for schema in below[book.rules[code].schema]:
                if not any(one.code == code for one in book.rules_on(schema, HARDWARE, inherited=True)):
                    continue
                for shelf in (taken[schema], near[schema]):
                    for one in shelf:
                        if one.violated <= {code} and (check(one.facts) is False) != (code in one.violated):
                            if shelf is not taken[schema]:
                                taken[schema].append(one)
                            return one
        return None
    return None
