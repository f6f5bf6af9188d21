"""Proofs of the contradictions that rule files state: each has a witness, or is shown to leave none.

A claim about all configurations is refuted by one for which it is false, a claim that needs one by there being none;
both over the configurations that contract tileiras accepts. What one contract accepts and the other rejects has a
configuration that does so, which is judged by the compiled rules as well. Words are compared as fields are packed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from tileproof.audit.contracts import Comparison, shown_facts
from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.evaluate.python import Check, Judge, function
from tileproof.evaluate.solver import Answer, Question, collision, unequal
from tileproof.evaluate.z3 import Encoder, Formula
from tileproof.rulebase.bitfield import Word
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.contradiction import (
    Accepts,
    Always,
    Contradiction,
    Differ,
    Notes,
    Overlap,
    Some,
    counted,
)
from tileproof.rulebase.declarations import CONTRACTS, PAGES, Rule
from tileproof.rulebase.expression import Arithmetic, Expression, Lookup, Number, Scalar, facts_of, walk

WITNESS, NONE, UNPROVED = "witness", "none", "unproved"


@dataclass(frozen=True, slots=True)
class Proved:
    """What the proof of a contradiction found.

    Attributes:
        by: ``witness``; ``none``, where the solver shows that no configuration keeps the claim; ``unproved``.
        facts: the witness, those that decide.
        values: parts of the claim with what they are for the witness, or for all.
    """

    contradiction: Contradiction
    by: str
    facts: dict[str, Scalar]
    values: tuple[tuple[str, str], ...] = ()


def prove(book: Rulebook, item: Contradiction, seconds: float) -> Proved:
    """Prove one contradiction; where that fails it is ``unproved``."""
    match item.proof:
        case Always(expression):
            return _always(book, item, expression, seconds)
        case Some(expression):
            return _some(book, item, expression, seconds)
        case Accepts():
            return _accepts(book, item, item.proof, seconds)
        case Notes(code):
            return _notes(book, item, book.rules[code], seconds)
        case Overlap(word, names):
            return _overlap(book, item, word, names)
        case Differ(words):
            return _differ(book, item, words, seconds)


def prove_all(book: Rulebook, seconds: float, codes: Iterable[str] = ()) -> Iterator[Proved]:
    """The contradictions in the order of their codes; of some codes only those."""
    for code in tuple(codes) or sorted(book.contradictions):
        yield prove(book, book.contradictions[code], seconds)


def _claim(book: Rulebook, item: Contradiction, expression: Expression) -> tuple[Expression, Encoder, list[Formula]]:
    """A claim with its tables counted, and the configurations that it is about."""
    assert item.schema is not None, "checked when the rulebook was loaded"
    encoder = Encoder(book.under(PAGES), item.schema)
    return counted(book.tables, PAGES, expression), encoder, _legal(book, PAGES, encoder)


def _always(book: Rulebook, item: Contradiction, expression: Expression, seconds: float) -> Proved:
    claim, encoder, legal = _claim(book, item, expression)
    value, defined = encoder.term(claim)
    question, wanted = Question(encoder, seconds), [*legal, defined, unequal(value, True)]
    if question.ask(*wanted).answer is not Answer.SATISFIABLE:
        return Proved(item, UNPROVED, {})
    model = _plainest(question, wanted)
    facts = {name: model[name] for name in sorted(facts_of(claim))}
    if function(book.under(PAGES), claim)(facts):  # the two readings of the claim must agree on the witness
        return Proved(item, UNPROVED, facts)
    return Proved(item, WITNESS, facts, _values(book, item, expression, facts))


def _some(book: Rulebook, item: Contradiction, expression: Expression, seconds: float) -> Proved:
    claim, encoder, legal = _claim(book, item, expression)
    found = Question(encoder, seconds).ask(*legal, encoder.true(claim))
    # A claim about nothing would hold for nothing as well.
    alive = Question(encoder, seconds).ask(*legal).answer is Answer.SATISFIABLE
    by = NONE if alive and found.answer is Answer.UNSATISFIABLE else UNPROVED
    return Proved(item, by, {}, _values(book, item, expression, {}))


def _accepts(book: Rulebook, item: Contradiction, proof: Accepts, seconds: float) -> Proved:
    rule = book.rules[proof.code]
    schema = item.schema or rule.schema
    (rejecting,) = (contract for contract in CONTRACTS if contract != proof.accepting)
    if rule.contract not in (None, rejecting):
        return Proved(item, UNPROVED, {})
    compared = Comparison(book, schema, proof.accepting, rejecting, seconds)
    violated = compared.encoder.reading(rule).violated
    wanted = [*compared.accepted, violated, compared.encoder.assigned(dict(proof.facts))]
    if compared.question.ask(*wanted).answer is not Answer.SATISFIABLE:
        return Proved(item, UNPROVED, {})
    witness = compared.plainest(wanted)
    facts = {**book.schemas[schema].instance, **witness}
    accepted = not _errors(book.under(proof.accepting), schema, facts)
    rejected = Check(book.under(rejecting), rule)(facts) is False and _errors(book.under(rejecting), schema, facts)
    return Proved(item, WITNESS if accepted and rejected else UNPROVED, {**dict(proof.facts), **witness})


def _errors(ruleset: Ruleset, schema: str, facts: dict[str, Scalar]) -> list[str]:
    violated = Judge(ruleset, schema, inherited=True).violated(facts)
    return [rule.code for rule in violated if rule.severity is Severity.ERROR]


def _notes(book: Rulebook, item: Contradiction, rule: Rule, seconds: float) -> Proved:
    if (rule.contract, rule.severity) != (PAGES, Severity.NOTE):
        return Proved(item, UNPROVED, {})
    schema = item.schema or rule.schema
    encoder = Encoder(book.under(PAGES), schema)
    question = Question(encoder, seconds)
    wanted = [encoder.reading(rule).violated, *_legal(book, PAGES, encoder)]
    if question.ask(*wanted).answer is not Answer.SATISFIABLE:
        wanted = wanted[:1]  # an error of the page that counts says the same
    if question.ask(*wanted).answer is not Answer.SATISFIABLE:
        return Proved(item, UNPROVED, {})
    model = _plainest(question, wanted)
    facts = {name: model[name] for name in sorted(rule.facts)}
    return Proved(item, WITNESS if Check(book.under(PAGES), rule)(facts) is False else UNPROVED, facts)


def _overlap(book: Rulebook, item: Contradiction, name: str, names: tuple[str, str]) -> Proved:
    (word,) = book.words[name, PAGES]
    chosen = [next(field for field in word.fields if field.name == one) for one in names]
    codes = collision([(field.low, field.width) for field in chosen], word.width)
    if codes is None:
        return Proved(item, UNPROVED, {})
    packed = 0
    for field, code in zip(chosen, codes, strict=True):
        packed |= code << field.low
    read = [(packed & field.mask) >> field.low for field in chosen]
    values = [
        (f"{field.name} ({field})", f"{code}, read back {back}")
        for field, code, back in zip(chosen, codes, read, strict=True)
    ]
    return Proved(item, WITNESS if read != list(codes) else UNPROVED, {}, (*values, ("word", hex(packed))))


def _differ(book: Rulebook, item: Contradiction, words: Iterable[tuple[str, str]], seconds: float) -> Proved:
    chosen = [(book.words[name, contract][0], contract) for name, contract in words]
    encoders = [Encoder(book.under(contract), word.schema) for word, contract in chosen]
    terms = [encoder.term(_packed(word)) for encoder, (word, _) in zip(encoders, chosen, strict=True)]
    (one, one_defined), (other, other_defined) = terms
    question = Question(encoders[0], seconds)
    wanted = [one_defined, other_defined, unequal(one, other)]
    for contract in CONTRACTS:
        wanted += _legal(book, contract, Encoder(book.under(contract), chosen[0][0].schema))
    if question.ask(*wanted).answer is not Answer.SATISFIABLE:
        return Proved(item, UNPROVED, {})
    model = _plainest(question, wanted)
    facts = {name: model[name] for name in sorted(facts_of(_packed(chosen[0][0])))}
    values = []
    for word, contract in chosen:
        value = function(book.under(contract), _packed(word))(facts)
        values.append((f"{word.name} in {contract}", hex(int(str(value)))))
    return Proved(item, WITNESS if values[0][1] != values[1][1] else UNPROVED, facts, tuple(values))


def _packed(word: Word) -> Expression:
    """The word as a sum of its codes, each at its place."""
    total: Expression = Number(0)
    for field in word.fields:
        total = Arithmetic("+", total, Arithmetic("*", field.value, Number(1 << field.low)))
    return total


def _values(
    book: Rulebook, item: Contradiction, claim: Expression, facts: dict[str, Scalar]
) -> tuple[tuple[str, str], ...]:
    """What the tables of a claim say for a witness, in the words of the rule file."""
    found = {}
    for part in walk(claim):
        if isinstance(part, Lookup) and facts_of(known := counted(book.tables, PAGES, part)) <= facts.keys():
            try:
                value = function(book.under(PAGES), known)(facts)
            except KeyError:
                continue
            start, end = part.span
            shown = ", ".join(map(str, sorted(value, key=str))) if isinstance(value, frozenset) else str(value)
            found[" ".join(item.place.source.text[start:end].split())] = shown
    return tuple(found.items())


def _plainest(question: Question, wanted: list[Formula]) -> dict[str, Scalar]:
    """A solution that is like the schema's instance where it can be."""
    kept: dict[str, Scalar] = {}
    for name, value in question.encoder.schema.instance.items():
        if question.ask(*wanted, question.encoder.assigned({**kept, name: value})).answer is Answer.SATISFIABLE:
            kept[name] = value
    return dict(question.ask(*wanted, question.encoder.assigned(kept)).model)


def _legal(book: Rulebook, contract: str, encoder: Encoder) -> list[Formula]:
    """That the configurations are legal in a contract."""
    rules = book.rules_on(encoder.schema.name, contract, inherited=True)
    return [encoder.reading(rule).kept for rule in rules if rule.severity is Severity.ERROR]


# -- how they are shown


def as_text(proved: Proved) -> Iterator[str]:
    """One contradiction and its proof for people."""
    item = proved.contradiction
    yield f"{item.code} {item.name}"
    yield f"  claim:   {item.claim}"
    yield f"  against: {item.against}"
    if proved.by == UNPROVED:
        yield "  unproved"
    elif proved.by == NONE:
        yield "  proof:   no configuration keeps the claim (Z3: unsat)"
    else:
        yield "  proof:   a witness" + (f": {shown_facts(proved.facts)}" if proved.facts else "")
    for name, value in proved.values:
        yield f"           {name} = {value}"
    for source in item.sources:
        yield f"  source:  {source}"


def as_json(found: Iterable[Proved]) -> str:
    """Contradictions as a JSON array."""
    rows: list[dict[str, Any]] = [
        {
            "code": one.contradiction.code,
            "name": one.contradiction.name,
            "claim": one.contradiction.claim,
            "against": one.contradiction.against,
            "proof": one.by,
            "witness": one.facts,
            "values": dict(one.values),
            "covers": list(one.contradiction.covers),
            "sources": list(one.contradiction.sources),
        }
        for one in found
    ]
    return json.dumps(rows, indent=2)
