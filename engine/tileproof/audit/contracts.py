"""Where the two contracts differ: what the reference pages allow and the hardware does not, and the reverse.

For each error rule of one contract Z3 is asked for configurations that it rejects and the other contract accepts. Such
a region is given by the values that each fact of the rule takes in it, by one witness as near to the schema's legal
instance as a greedy search finds, and by what both sides have to say for themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.evaluate.solver import Answer, Question
from tileproof.evaluate.z3 import Encoder, Formula
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import HARDWARE, Bounded, Rule
from tileproof.rulebase.expression import Lookup, Scalar, walk

_MOST = 24  # values of an integer that are looked for before a region is called wide


@dataclass(frozen=True, slots=True)
class Region:
    """Configurations that one rule rejects and the other contract accepts.

    Attributes:
        extent: for each fact of the rule the values it takes there; None where there are many.
        witness: the facts that differ from the schema's instance.
        accepting_sources: of the rules of the accepting contract about the same facts.
        unknown: Z3 found no answer in time; there is no witness then.
    """

    schema: str
    rule: Rule
    accepting: str
    rejecting: str
    extent: dict[str, tuple[Scalar, ...] | None]
    witness: dict[str, Scalar]
    accepting_sources: tuple[str, ...]
    unknown: bool = False


def differences(book: Rulebook, accepting: str, rejecting: str, seconds: float) -> Iterator[Region]:
    """The regions that contract ``accepting`` takes and contract ``rejecting`` does not, schema by schema."""
    for schema in book.schemas:
        rules = [rule for rule in book.rules_on(schema, rejecting) if rule.severity is Severity.ERROR]
        # A rule of both contracts that reads the same tables in both cannot tell them apart.
        if all(rule.contract is None and not _contracted(book, rule) for rule in rules):
            continue
        yield from Comparison(book, schema, accepting, rejecting, seconds).regions(rules)


def _contracted(book: Rulebook, rule: Rule) -> bool:
    expressions = [rule.require, *([rule.when] if rule.when is not None else [])]
    lookups = [part for whole in expressions for part in walk(whole) if isinstance(part, Lookup)]
    return any(book.tables[lookup.table, HARDWARE].contract is not None for lookup in lookups)


class Comparison:
    """One schema in two contracts: which configurations one accepts that a rule of the other rejects."""

    def __init__(self, book: Rulebook, schema: str, accepting: str, rejecting: str, seconds: float) -> None:
        self.book = book
        self.schema = schema
        self.accepting = accepting
        self.rejecting = rejecting
        self.encoder = Encoder(book.under(rejecting), schema)
        other = Encoder(book.under(accepting), schema)
        self.accepting_rules = [
            rule for rule in book.rules_on(schema, accepting, inherited=True) if rule.severity is Severity.ERROR
        ]
        self.accepted = [other.reading(rule).kept for rule in self.accepting_rules]
        self.question = Question(self.encoder, seconds)

    def regions(self, rules: Iterable[Rule]) -> Iterator[Region]:
        for rule in rules:
            wanted = [*self.accepted, self.encoder.reading(rule).violated]
            answer = self.question.ask(*wanted).answer
            if answer is not Answer.UNSATISFIABLE:
                yield self.region(rule, wanted, unknown=answer is Answer.UNKNOWN)

    def region(self, rule: Rule, wanted: list[Formula], unknown: bool) -> Region:
        sources = self.counterparts(rule)
        if unknown:
            return Region(self.schema, rule, self.accepting, self.rejecting, {}, {}, sources, unknown=True)
        extent = {fact: self.values(fact, wanted) for fact in sorted(rule.facts)}
        witness = self.plainest(wanted)
        return Region(self.schema, rule, self.accepting, self.rejecting, extent, witness, sources)

    def counterparts(self, rule: Rule) -> tuple[str, ...]:
        """Sources of the rules that the accepting contract has in this one's place: those with the most facts alike."""
        others = [other for other in self.accepting_rules if other is not rule and other.facts & rule.facts]
        own = [other for other in others if other.contract == self.accepting] or others
        most = max((len(other.facts & rule.facts) for other in own), default=0)
        closest = [other for other in own if len(other.facts & rule.facts) == most]
        return tuple(dict.fromkeys(source for other in closest for source in other.sources))

    def values(self, fact: str, wanted: list[Formula]) -> tuple[Scalar, ...] | None:
        """The values of a fact in a region."""
        if not isinstance(self.encoder.schema.fields[fact], Bounded):
            domain = self.book.domain(self.schema, fact)
            return tuple(
                value
                for value in domain
                if self.question.ask(*wanted, self.encoder.assigned({fact: value})).answer is Answer.SATISFIABLE
            )
        found: list[int] = []
        variable = self.encoder.variables[fact]
        while len(found) <= _MOST:
            solved = self.question.ask(*wanted, *[variable != value for value in found])
            if solved.answer is not Answer.SATISFIABLE:
                return tuple(sorted(found))
            value = solved.model[fact]
            assert isinstance(value, int), "the fact is bounded"
            found.append(value)
        return None

    def plainest(self, wanted: list[Formula]) -> dict[str, Scalar]:
        """A solution that differs from the schema's instance in as few facts as a greedy search finds; those facts."""
        kept: dict[str, Scalar] = {}
        for name, value in self.encoder.schema.instance.items():
            trial = {**kept, name: value}
            if self.question.ask(*wanted, self.encoder.assigned(trial)).answer is Answer.SATISFIABLE:
                kept = trial
        model = self.question.ask(*wanted, self.encoder.assigned(kept)).model
        return {name: value for name, value in model.items() if name not in kept}


def as_text(regions: Iterable[Region]) -> Iterator[str]:
    """The regions, grouped by schema."""
    group = None
    for region in regions:
        if (region.schema, region.accepting) != group:
            group = (region.schema, region.accepting)
            yield f"{region.schema}: accepted in {region.accepting}, rejected in {region.rejecting}"
        yield f"  {region.rule.code} {region.rule.name}"
        if region.unknown:
            yield "    Z3 found no answer in time"
            continue
        for fact, values in region.extent.items():
            shown = "many values" if values is None else ", ".join(map(str, values))
            yield f"    {fact}: {shown}"
        yield f"    witness: {shown_facts(region.witness)}"
        for source in region.rule.sources:
            yield f"    {region.rejecting}: {source}"
        for source in region.accepting_sources:
            yield f"    {region.accepting}: {source}"


def as_json(regions: Iterable[Region]) -> str:
    """The regions as a JSON array."""
    found = [
        {
            "schema": region.schema,
            "accepting": region.accepting,
            "rejecting": region.rejecting,
            "code": region.rule.code,
            "name": region.rule.name,
            "extent": {fact: None if values is None else list(values) for fact, values in region.extent.items()},
            "witness": region.witness,
            "sources": {region.rejecting: list(region.rule.sources), region.accepting: list(region.accepting_sources)},
            "unknown": region.unknown,
        }
        for region in regions
    ]
    return json.dumps(found, indent=2)


def shown_facts(facts: dict[str, Scalar]) -> str:
    """Facts as a rule file writes them."""
    return "{" + ", ".join(f"{name} = {value}" for name, value in facts.items()) + "}"
