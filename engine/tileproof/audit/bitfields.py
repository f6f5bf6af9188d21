"""Proofs about packed words, by Z3, for all facts that the rules of their schema allow.

- Every field has a code, and the code fits in its bits.
- The codes of all fields, each at its place, are read back from the word as they were put in (over bit-vectors): no
  field overlaps another, but for those that say so.
- The code of a field gives back the facts it was made of.

Together: what is unpacked are the facts that were packed, and no two legal sets of facts share a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.evaluate.solver import Answer, Question, overlap, unequal
from tileproof.evaluate.z3 import Encoder
from tileproof.rulebase.bitfield import BitField, Word
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import CONTRACTS
from tileproof.rulebase.expression import (
    Arithmetic,
    Comparison,
    Connective,
    Expression,
    Fact,
    Lookup,
    Not,
    Number,
    Scalar,
    Symbol,
    facts_of,
)


@dataclass(frozen=True, slots=True)
class WordFault:
    """A claim about a word that does not hold, with the facts for which it fails; None where Z3 could not tell."""

    word: Word
    contract: str
    claim: str
    facts: Mapping[str, Scalar] | None

    def __str__(self) -> str:
        where = f"{self.word.name} in {self.contract}: it does not hold that {self.claim}"
        if self.facts is None:
            return f"{where}; Z3 found no answer in time"
        return f"{where}: {', '.join(f'{name} = {value}' for name, value in self.facts.items())}"


def check_words(book: Rulebook, seconds: float) -> Iterator[WordFault]:
    """What is wrong with the words of a rulebook."""
    for (_, contract), words in sorted(book.words.items()):
        for word in words:
            yield from check_word(book.under(contract), word, seconds)


def check_word(ruleset: Ruleset, word: Word, seconds: float) -> Iterator[WordFault]:
    """What is wrong with one word in one contract."""
    encoder = Encoder(ruleset, word.schema)
    question = Question(encoder, seconds)
    rules = ruleset.rules_on(word.schema, inherited=True)
    legal = [encoder.reading(rule).kept for rule in rules if rule.severity is Severity.ERROR]
    if word.when is not None:
        legal.append(encoder.true(word.when))
    apart = [(field.low, field.width) for field in word.fields if not field.over]
    solved = question.ask(overlap(apart, word.width))
    if solved.answer is not Answer.UNSATISFIABLE:
        yield WordFault(
            word, ruleset.contract, "its fields are disjoint", {} if solved.answer is Answer.SATISFIABLE else None
        )
    facts = sorted({fact for field in word.fields for fact in facts_of(field.value)})
    for claim, expression in _claims(ruleset, word):
        solved = question.ask(*legal, encoder.not_true(expression))
        if solved.answer is Answer.SATISFIABLE:
            yield WordFault(word, ruleset.contract, claim, {fact: solved.model[fact] for fact in facts})
        elif solved.answer is Answer.UNKNOWN:
            yield WordFault(word, ruleset.contract, claim, None)


def _claims(ruleset: Ruleset, word: Word) -> Iterator[tuple[str, Expression]]:
    for field in word.fields:
        fits = (Comparison(">=", field.value, Number(0)), Comparison("<", field.value, Number(1 << field.width)))
        yield f"'{field.name}' always has a code that fits in {field}", Connective("and", fits)
        yield f"unpacking '{field.name}' gives the packed value", _reads_back(ruleset, field)


def _reads_back(ruleset: Ruleset, field: BitField) -> Expression:
    """That the facts of a field are those that its code stands for."""
    code = field.value
    match field.value:
        case Number():
            return Comparison("==", code, field.value)
        case Fact():
            return Comparison("==", field.value, code)
        case Arithmetic("/", fact, unit):
            return Comparison("==", fact, Arithmetic("*", code, unit))
        case Lookup(table, arguments, column):
            # Whatever row has this code for the keys before the last has the last key too: the decoder takes any.
            declared = ruleset.table(table)
            at = declared.column(column)
            assert at is not None, "checked when the rulebook was loaded"
            implied: list[Expression] = []
            for keys, row in declared.rows.items():
                cell = row[at]
                assert isinstance(cell, int), "checked when the rulebook was loaded"
                same = [Comparison("==", a, Symbol(k)) for a, k in zip(arguments, keys, strict=True)]
                found = Connective("and", (Comparison("==", code, Number(cell)), *same[:-1]))
                implied.append(Connective("or", (Not(found), same[-1])))
            return Connective("and", tuple(implied))
    raise TypeError("checked when the rulebook was loaded")


def differing(book: Rulebook, name: str, seconds: float) -> Iterator[tuple[str, str]]:
    """Where two contracts pack a word of one name differently: each field with its place in both, and a witness.

    Yields pairs of a field and a sentence; nothing where the words are one.
    """
    ours, pages = (book.words.get((name, contract), ()) for contract in CONTRACTS)
    for one, other in zip(ours, pages, strict=True):
        if one is other:
            continue
        places = {field.name: field for field in other.fields}
        encoders = [Encoder(book.under(contract), one.schema) for contract in CONTRACTS]
        for field in one.fields:
            twin = places.pop(field.name, None)
            if twin is None:
                yield field.name, f"{field} in ptx, missing in tileiras"
                continue
            if (field.low, field.high) != (twin.low, twin.high):
                yield field.name, f"{field} in ptx, {twin} in tileiras"
            codes = [encoder.term(f.value) for encoder, f in zip(encoders, (field, twin), strict=True)]
            question = Question(encoders[0], seconds)
            solved = question.ask(*(defined for _, defined in codes), unequal(codes[0][0], codes[1][0]))
            if solved.answer is Answer.SATISFIABLE:
                facts = ", ".join(f"{fact} = {solved.model[fact]}" for fact in sorted(facts_of(field.value)))
                yield field.name, f"differs for {facts}"
            elif solved.answer is Answer.UNKNOWN:
                yield field.name, "Z3 did not decide in time whether the values are equal"
        for field in places.values():
            yield field.name, f"{field} in tileiras, missing in ptx"
