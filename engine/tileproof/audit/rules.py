"""Checks of the rule base itself: what only examples, a solver or an enumeration can tell.

For every rule, in each of its contracts:

- it has a source, a passing and a failing example, and they behave as they say;
- it can hold and it can fail (a rule that cannot fail checks nothing; one that cannot hold forbids its whole schema);
- the other rules do not already imply it;
- its two readings agree on every configuration of the facts it reads. The Python function is run over the product of
  their domains, some thousand points at a time. Each time that gives three sets (kept, violated, silent), and Z3 is
  asked for a point where its formula differs from the set: the comparison is complete, and it costs a few questions
  a rule instead of one for each of a million points. Who wants an answer sooner names the most configurations of a
  rule: then facts with many values have a part of them, with the ends and those near what the rule names.

A rule that reads no table of its contract is the same formula in both: what asks about it alone is asked once.

And for every table that rules read: each of its rows can be asked for. For every packed word: see ``wordcheck``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from random import Random

from tileproof.audit.bitfields import check_words
from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass, field
from tileproof.base.source import Source
from tileproof.evaluate.python import Check, Judge, Points, function, sweep_of
from tileproof.evaluate.solver import Answer, Question, Together, differ
from tileproof.evaluate.z3 import Encoder, Formula, Reading, points
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import CONTRACTS, HARDWARE, Rule
from tileproof.rulebase.expression import Expression, Lookup, Number, Scalar, Symbol, facts_of, walk
from tileproof.rulebase.fault import RuleFault
from tileproof.rulebase.load import load

LARGEST_LATTICE = 4_000_000
_PART = 100_000  # configurations that are compared of a larger lattice: those of numbers of bytes
_FEW = 64  # values that a long domain keeps before a shorter one loses some
SHARE = 30_000  # configurations of a rule that are compared where an answer is wanted within seconds
ONE_QUESTION = 90_000  # configurations that one question to Z3 compares; larger ones may take it minutes


@dataclass(slots=True)
class Audit:
    """What the checks found, and how much they looked at."""

    faults: list[RuleFault] = field(default_factory=list)
    unknown: list[RuleFault] = field(default_factory=list)
    questions: int = 0
    configurations: int = 0


def check_book(
    book: Rulebook,
    seconds: float,
    step: Callable[[], None] = lambda: None,
    codes: Collection[str] | None = None,
    most: int = LARGEST_LATTICE,
) -> Audit:
    """Check the rules of a book.

    Args:
        step: called after each rule.
        codes: of the rules to check; None for all of them, and for what is not about one rule.
        most: configurations of one rule for which its two readings are compared.
    """
    outcome = check_whole(book, seconds) if codes is None else Audit()
    for code in book.rules if codes is None else codes:
        _add(outcome, check_rule(book, code, seconds, most))
        step()
    return outcome


def check_files(
    files: tuple[Source, ...],
    seconds: float,
    jobs: int,
    step: Callable[[], None] = lambda: None,
    codes: Collection[str] | None = None,
    most: int = LARGEST_LATTICE,
) -> Audit:
    """Check the rules of these files in several processes; the outcome is that of ``check_book``."""
    from concurrent.futures import ProcessPoolExecutor, as_completed  # noqa: PLC0415  imported only where it is used: 15 ms

    book = load(files)
    asked = tuple(book.rules if codes is None else codes)
    groups: dict[str, list[str]] = {}  # one process makes the formulas of a schema
    for code in asked:
        groups.setdefault(book.rules[code].schema, []).append(code)
    found: dict[str, Audit] = {}
    with ProcessPoolExecutor(jobs) as pool:
        order = sorted(groups.values(), key=len, reverse=True)
        begun = {pool.submit(_Job(files, seconds, most), group): group for group in order}
        outcome = check_whole(book, seconds) if codes is None else Audit()
        for job in as_completed(begun):
            for code, one in zip(begun[job], job.result(), strict=True):
                found[code] = one
                step()
    for code in asked:
        _add(outcome, found[code])
    return outcome


@dataclass(frozen=True, slots=True)
class _Job:
    """Checks some rules in another process, which loads them itself."""

    files: tuple[Source, ...]
    seconds: float
    most: int

    def __call__(self, codes: Sequence[str]) -> list[Audit]:
        book = load(self.files)
        return [check_rule(book, code, self.seconds, self.most) for code in codes]


def check_rule(book: Rulebook, code: str, seconds: float, most: int = LARGEST_LATTICE) -> Audit:
    """Check one rule in each of its contracts."""
    outcome = Audit()
    rule = book.rules[code]
    if rule.contract:
        _RuleCheck(book.under(rule.contract), rule, seconds, outcome, most).run()
        return outcome
    for contract in CONTRACTS:
        alone = contract == CONTRACTS[0] or not _reads_alike(book, rule)
        _RuleCheck(book.under(contract), rule, seconds, outcome, most).run(alone)
    return outcome


def _reads_alike(book: Rulebook, rule: Rule) -> bool:
    """Whether the tables that a rule reads are the same in all contracts."""
    parts = (part for whole in _expressions(rule) for part in walk(whole))
    names = {part.table for part in parts if isinstance(part, Lookup)}
    return all(
        book.tables[name, contract] == book.tables[name, CONTRACTS[0]] for name in names for contract in CONTRACTS
    )


def _expressions(rule: Rule) -> list[Expression]:
    return [rule.require, *([rule.when] if rule.when is not None else [])]


@lru_cache(maxsize=32)
def _schema(ruleset: Ruleset, schema: str, seconds: float) -> tuple[Judge, Encoder, dict[str, Reading], Together]:
    """The rules of a schema in both readings, and what asks about several of them: the checks of all share them."""
    judge, encoder = Judge(ruleset, schema), Encoder(ruleset, schema)
    readings = {check.rule.code: encoder.reading(check.rule) for check in judge.checks}
    return judge, encoder, readings, Together(encoder, seconds)


def check_whole(book: Rulebook, seconds: float) -> Audit:
    """What is not about one rule: that instances are legal, rows of tables can be read, and words read back."""
    outcome = Audit()
    for contract in CONTRACTS:
        for schema in book.schemas:
            judge = Judge(book.under(contract), schema, inherited=True)
            for broken in judge.violated(book.schemas[schema].instance):
                if broken.severity is Severity.ERROR:
                    place = book.schemas[schema].place
                    outcome.faults.append(
                        RuleFault(place, f"the instance of '{schema}' violates {broken.code} in {contract}")
                    )
    outcome.faults += unreachable_rows(book)
    for fault in check_words(book, seconds):
        (outcome.unknown if fault.facts is None else outcome.faults).append(RuleFault(fault.word.place, str(fault)))
    return outcome


def _add(outcome: Audit, more: Audit) -> None:
    outcome.faults += more.faults
    outcome.unknown += more.unknown
    outcome.questions += more.questions
    outcome.configurations += more.configurations


class _RuleCheck:
    """The checks of one rule in one contract."""

    def __init__(self, ruleset: Ruleset, rule: Rule, seconds: float, outcome: Audit, most: int) -> None:
        self.ruleset = ruleset
        self.book = ruleset.book
        self.contract = ruleset.contract
        self.rule = rule
        self.outcome = outcome
        self.judge, self.encoder, self.readings, self.together = _schema(ruleset, rule.schema, seconds)
        self.check = Check(ruleset, rule)
        self.reading = self.readings[rule.code]
        self.seconds = seconds
        self.most = most

    def fault(self, message: str) -> None:
        self.outcome.faults.append(RuleFault(self.rule.place, f"{self.rule.code} in {self.contract}: {message}"))

    def unknown(self, message: str) -> None:
        self.outcome.unknown.append(RuleFault(self.rule.place, f"{self.rule.code} in {self.contract}: {message}"))

    def run(self, alone: bool = True) -> None:
        """All checks.

        Args:
            alone: also those that no other rule plays a part in.
        """
        self.documented()
        self.examples()
        if alone:
            self.can(f"holds {self.rule.code}", self.reading.holds, "can never hold")
            self.can(f"violated {self.rule.code}", self.reading.violated, "can never be violated")
        self.needed()
        if alone:
            self.agree()

    def documented(self) -> None:
        if not self.rule.sources:
            self.fault("has no source")
        if not self.rule.passing or not self.rule.failing:
            self.fault("needs a passing and a failing example")

    def examples(self) -> None:
        instance = self.book.schemas[self.rule.schema].instance
        for example in self.rule.passing:
            facts = {**instance, **example.facts}
            if self.check(facts) is not True:
                self.fault(f"the passing example {_shown(example.facts)} does not pass")
            errors = [r.code for r in self.judge.violated(facts) if r.severity is Severity.ERROR]
            if errors and self.rule.severity is Severity.ERROR:
                self.fault(f"the passing example {_shown(example.facts)} violates {', '.join(errors)}")
        for example in self.rule.failing:
            if self.rule not in self.judge.violated({**instance, **example.facts}):
                self.fault(f"the failing example {_shown(example.facts)} is not reported")

    def can(self, name: str, formula: Formula, otherwise: str) -> None:
        answer = self.possible({name: formula})
        if answer is Answer.UNSATISFIABLE:
            self.fault(otherwise)
        elif answer is Answer.UNKNOWN:
            self.unknown(f"Z3 did not decide in time whether it {otherwise}")

    def possible(self, formulas: Mapping[str, Formula]) -> Answer:
        """Whether formulas, by names of their own, can hold together."""
        self.outcome.questions += 1
        found = self.together.can(formulas)
        if found is Answer.UNKNOWN:  # alone it may be decided
            found = Question(self.encoder, self.seconds).ask(*formulas.values()).answer
        return found

    def needed(self) -> None:
        """That the other errors of the contract do not imply this one."""
        if self.rule.severity is not Severity.ERROR:
            return
        others = {
            check.rule.code: self.readings[check.rule.code].kept
            for check in self.judge.checks
            if check.rule is not self.rule and check.rule.severity is Severity.ERROR
        }
        if not others:
            return
        kept = {f"kept {code}": formula for code, formula in others.items()}
        answer = self.possible({f"violated {self.rule.code}": self.reading.violated, **kept})
        if answer is Answer.UNSATISFIABLE:
            solved = Question(self.encoder, self.seconds).ask(self.reading.violated, named=others)
            self.fault(f"is implied by {', '.join(solved.core or others)}")
        elif answer is Answer.UNKNOWN:
            self.unknown("Z3 did not decide in time whether the other rules imply it")

    def agree(self) -> None:
        """That the Python function and the formula say the same everywhere."""
        domains = self.domains()
        names = sorted(domains, key=lambda name: len(domains[name]))
        size = prod(len(values) for values in domains.values())
        if size > LARGEST_LATTICE:
            self.unknown(f"its {size} configurations are too many to compare the two readings")
            return
        self.outcome.configurations += size
        # One question to Z3 compares the readings on all values of the inner facts; the outer ones are fixed for it.
        inner: list[str] = []
        while names and (not inner or prod(len(domains[name]) for name in (*inner, names[-1])) <= ONE_QUESTION):
            inner.insert(0, names.pop())
        varied = {name: domains[name] for name in inner}
        sweep = sweep_of(self.ruleset, self.rule, inner)
        question = Question(self.encoder, self.seconds, self.rule.facts, linear=True)
        for chosen in product(*(domains[name] for name in names)):
            found = self.compare(question, dict(zip(names, chosen, strict=True)), varied, sweep)
            if found is not None:
                self.fault(f"its two readings differ at {_shown(found)}")
                return

    def compare(
        self,
        question: Question,
        facts: dict[str, Scalar],
        domains: Mapping[str, Sequence[Scalar]],
        sweep: Callable[..., Sequence[Points]],
    ) -> dict[str, Scalar] | None:
        """Where the readings differ on the values of some facts, the others fixed; None where nowhere.

        Args:
            sweep: the Python reading, ``sweep_of`` these facts.
        """
        numbers = {name: [self.encoder.number(value) for value in values] for name, values in domains.items()}
        counts = {name: len(values) for name, values in domains.items()}
        sets = sweep(facts, product(*domains.values()), product(*numbers.values()))
        formulas = (self.reading.holds, self.reading.violated, self.reading.silent)
        chosen = [
            points(self.encoder, {name: whole}, [(number,) for number in numbers[name]])
            for name, count in counts.items()
            if count < (whole := len(self.domain(name)))
        ]
        assigned = [self.encoder.assigned(facts), *chosen]
        # The three sets and the three formulas each divide the domain: two equalities give the third, the largest one.
        for members, formula in sorted(zip(sets, formulas, strict=True), key=lambda pair: len(pair[0]))[:2]:
            self.outcome.questions += 1
            solved = question.ask(*assigned, differ(formula, points(self.encoder, counts, members)))
            if solved.answer is Answer.SATISFIABLE:
                return {**facts, **{name: solved.model[name] for name in domains}}
            if solved.answer is Answer.UNKNOWN:
                self.unknown(f"Z3 could not compare the two readings in time at {_shown(facts)}")
        return None

    def domain(self, name: str) -> Sequence[Scalar]:
        return self.book.domain(self.rule.schema, name)

    def domains(self) -> dict[str, Sequence[Scalar]]:
        """The values of the facts that the rule reads; where they have too many configurations, a part of them.

        The longest domain loses values until they are few enough. Its ends stay, and what the rule names and its
        neighbours.
        """
        found = {name: self.domain(name) for name in sorted(self.rule.facts)}
        whole = prod(map(len, found.values()))
        most = self.most if whole <= LARGEST_LATTICE else min(self.most, _PART)
        parts = [part for text in _expressions(self.rule) for part in walk(text)]
        named = {one.value for one in parts if isinstance(one, Number)}
        symbols = {one.name for one in parts if isinstance(one, Symbol)}
        marked: set[Scalar] = {*symbols, *(number + step for number in named for step in (-1, 0, 1))}
        chance = Random(self.rule.code)
        while (size := prod(map(len, found.values()))) > most:
            longest = max(found, key=lambda name: len(found[name]))
            values = found[longest]
            count = min(max(len(values) * most // size, _FEW), len(values) // 2)
            ends = {values[0], values[-1]}
            kept: set[Scalar] = {*ends, *marked.intersection(values), *_runs(values, count, chance)}
            if len(kept) == len(values):
                return found
            numbers = [value for value in kept if isinstance(value, int)]
            in_order = sorted(numbers) if len(numbers) == len(kept) else [value for value in values if value in kept]
            found[longest] = tuple(in_order)
        return found


def _runs(values: Sequence[Scalar], count: int, chance: Random) -> Iterator[Scalar]:
    """About so many of some values, in a few runs: Z3 compares a run at once."""
    length = max(count // 8, 1)
    for start in chance.sample(range(0, len(values), length), count // length):
        yield from values[start : start + length]


def unreachable_rows(book: Rulebook) -> Iterator[RuleFault]:
    """Rows of tables that no rule can ever ask for. Tables that only the engine reads are left alone."""
    asked: dict[tuple[str, str], set[tuple[Scalar, ...]]] = {}
    for rule in book.rules.values():
        for contract in (rule.contract,) if rule.contract else CONTRACTS:
            for part in (part for whole in _expressions(rule) for part in walk(whole)):
                if isinstance(part, Lookup):
                    keys = asked.setdefault((part.table, contract), set())
                    keys.update(_keys(book.under(contract), rule.schema, part))
    for name, contract in sorted(asked):
        table = book.tables[name, contract]
        reached = asked[name, contract] | asked.get((name, CONTRACTS[contract == CONTRACTS[0]]), set())
        for row in table.rows:
            if row not in reached and contract in (HARDWARE, table.contract):
                yield RuleFault(table.place, f"no rule can reach row {' '.join(row)} of table '{name}'")


def _keys(ruleset: Ruleset, schema: str, lookup: Lookup) -> Iterator[tuple[Scalar, ...]]:
    """All keys that a lookup can have, over the domains of the facts that they are made of."""
    facts = sorted(facts_of(lookup))
    if prod(len(ruleset.book.domain(schema, fact)) for fact in facts) > LARGEST_LATTICE:
        yield from ruleset.table(lookup.table).rows
        return
    functions = [function(ruleset, argument) for argument in lookup.arguments]
    for values in product(*(ruleset.book.domain(schema, fact) for fact in facts)):
        chosen = dict(zip(facts, values, strict=True))
        try:
            yield tuple(compute(chosen) for compute in functions)  # type: ignore[misc]
        except KeyError:  # a table that the key itself is read from has no row
            continue


def _shown(facts: dict[str, Scalar]) -> str:
    return "{" + ", ".join(f"{name} = {value}" for name, value in facts.items()) + "}"
