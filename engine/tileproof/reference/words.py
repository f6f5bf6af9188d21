"""Packed words by name: what their bits mean, and the word for some fields (``tileproof decode`` and ``encode``).

A name is declared in one contract or in both; without a choice the hardware's declaration counts. A word means nothing
where a field has no such code, a bit of no field is set, or the rules of its schema reject what it says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.base.source import Span
from tileproof.base.spelling import get_close_matches
from tileproof.dialects.configuration import Facts
from tileproof.evaluate.bitfields import PackError, Shown, lost, pack, show, solved, word_for
from tileproof.evaluate.python import judge_for
from tileproof.judge.messages import render
from tileproof.reference.facts import BadQuery, integer, value_of
from tileproof.rulebase.bitfield import BitField, Word
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import CONTRACTS, Enumerated
from tileproof.rulebase.expression import Scalar, facts_of


class Meaningless(ValueError):
    """A word that means nothing: the field, its bits and what it may hold."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A word and what it says.

    Attributes:
        fields: in the order of the declaration; one over others only where its code means something.
        violated: code, severity and message of each rule of the schema that the facts violate.
        lost: of encoded facts, the fields that are read back as something else, since others lie over them.
    """

    book: Rulebook
    word: Word
    contract: str
    value: int
    fields: tuple[Shown, ...]
    violated: tuple[tuple[str, str, str], ...]
    lost: tuple[str, ...] = ()

    @property
    def status(self) -> int:
        """1 where a rule of severity error rejects it."""
        return int(any(severity == Severity.ERROR.value for _, severity, _ in self.violated))

    @property
    def hexadecimal(self) -> str:
        """The word with all its digits."""
        return f"0x{self.value:0{-(-self.word.width // 4)}x}"


def names(book: Rulebook) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The names of all field sets, each with its contracts."""
    found: dict[str, list[str]] = {}
    for name, contract in book.words:
        found.setdefault(name, []).append(contract)
    return tuple((name, tuple(one for one in CONTRACTS if one in found[name])) for name in sorted(found))


def decode(book: Rulebook, name: str, text: str, given: Mapping[str, str], contract: str | None = None) -> Decoded:
    """What the bits of a word mean.

    Args:
        text: the word, hexadecimal, decimal or binary.
        given: facts that the word does not hold but needs, such as the kind of an instruction descriptor.

    Raises:
        BadQuery: no such field set or fact, or the text is no word of its width.
        Meaningless: a code without a meaning, or a bit of no field.
    """
    ruleset, declared = _chosen(book, name, contract)
    value = integer("the word", text.replace("_", ""))
    schema = declared[0].schema
    known = {fact: value_of(book, schema, fact, one) for fact, one in given.items()}
    word = _of(ruleset, name, declared, known)
    if not 0 <= value < 1 << word.width:
        raise BadQuery(f"{text} is no word of {word.width} bits, as {name} is")
    try:
        fields = show(ruleset, name, value, known)
    except PackError as error:
        raise Meaningless(_with_hint(error)) from None
    facts = {**known, **{fact: one for field in fields for fact, one in field.facts}}
    return Decoded(book, word, ruleset.contract, value, fields, _violated(ruleset, schema, facts))


def encode(book: Rulebook, name: str, given: Mapping[str, str], contract: str | None = None) -> Decoded:
    """The word for some fields; the bits of those that are not given are zero, if that means something.

    Args:
        given: values of facts by their names, or codes by the names of fields.

    Raises:
        BadQuery: no such field set, field or value, or a field that must be given.
    """
    ruleset, declared = _chosen(book, name, contract)
    schema = declared[0].schema
    fields = book.schemas[schema].fields
    facts = {fact: value_of(book, schema, fact, text) for fact, text in given.items() if fact in fields}
    word = _of(ruleset, name, declared, facts)
    by_name = {field.name: field for field in word.fields}
    for key, text in given.items():
        if key not in fields:
            if key not in by_name:
                known = ", ".join(dict.fromkeys((*by_name, *fields)))
                raise BadQuery(f"unknown field '{key}' of {name}; use {known}")
            facts.update(_field(ruleset, schema, by_name[key], text, facts))
    for field in word.fields:
        missing = facts_of(field.value) - facts.keys()
        if missing and not field.over:
            try:
                facts.update(solved(ruleset, field.value, 0, facts))
            except LookupError:
                raise BadQuery(f"{name} needs {', '.join(sorted(missing))} ({field}): 0 means nothing there") from None
    try:
        value = pack(ruleset, name, facts)
        fields_shown = show(ruleset, name, value, {fact: facts[fact] for fact in facts.keys() - _held(word)})
        gone = tuple(field.name for field in lost(ruleset, name, facts))
    except PackError as error:
        raise BadQuery(_with_hint(error)) from None
    return Decoded(book, word, ruleset.contract, value, fields_shown, _violated(ruleset, schema, facts), gone)


def _chosen(book: Rulebook, name: str, contract: str | None) -> tuple[Ruleset, tuple[Word, ...]]:
    known = dict(names(book))
    if name not in known:
        near = get_close_matches(name, known, 4, 0.4)
        raise BadQuery(f"no field set is called '{name}'; " + (f"nearest: {', '.join(near)}" if near else "see --list"))
    if contract is not None and contract not in known[name]:
        raise BadQuery(f"{name} is declared in contract {known[name][0]} only")
    ruleset = book.under(contract or known[name][0])
    return ruleset, book.words[name, ruleset.contract]


def _of(ruleset: Ruleset, name: str, declared: tuple[Word, ...], facts: Mapping[str, Scalar]) -> Word:
    """The declaration that the facts choose among several."""
    try:
        return word_for(ruleset, name, facts)
    except PackError:
        deciding = sorted({fact for word in declared if word.when is not None for fact in facts_of(word.when)})
        schema = ruleset.book.schemas[declared[0].schema]
        choice = [
            f"{fact}={'|'.join(str(value).removeprefix('.') for value in ruleset.book.domain(schema.name, fact))}"
            for fact in deciding
            if fact not in facts
        ]
        raise BadQuery(f"{name} has several layouts: give {' '.join(choice)}") from None


def _field(
    ruleset: Ruleset, schema: str, field: BitField, text: str, known: Mapping[str, Scalar]
) -> Mapping[str, Scalar]:
    """The facts of a field that was given by its name: by the code in its bits, or by the value of its fact."""
    try:
        code = int(text, 0)
    except ValueError:
        (*_, fact) = sorted(facts_of(field.value) - known.keys()) or sorted(facts_of(field.value))
        return {fact: value_of(ruleset.book, schema, fact, text)}
    try:
        return solved(ruleset, field.value, code, known)
    except LookupError:
        raise BadQuery(f"{code} in {field} is not a valid '{field.name}'") from None


def _held(word: Word) -> set[str]:
    """The facts that the bits of a word hold, but for those that choose its declaration."""
    chosen = facts_of(word.when) if word.when is not None else frozenset()
    return {fact for field in word.fields for fact in facts_of(field.value)} - chosen


def _with_hint(error: PackError) -> str:
    return f"{error}; {error.hint}" if error.hint else str(error)


def _violated(ruleset: Ruleset, schema: str, facts: Mapping[str, Scalar]) -> tuple[tuple[str, str, str], ...]:
    judge = judge_for(ruleset, schema)
    shown = Facts(schema, facts, {}, {}, Span(0, 0))
    return tuple(
        (rule.code, rule.severity.value, render(judge, rule, rule.message, shown) or rule.message)
        for rule in judge.violated(facts)
    )


# -- how they are shown


def lines(decoded: Decoded) -> Iterator[str]:
    """A decoded word for people: one line a field, and what is wrong with it."""
    word = decoded.word
    yield f"{decoded.hexadecimal}  {word.name}, {word.width} bits, contract {decoded.contract}"
    widest = max((len(field.name) for field in decoded.fields), default=0)
    for field in decoded.fields:
        first, last = field.bits
        place = f"{first}-{last}" if last > first else f"{first}"
        meaning = ", ".join(f"{fact} = {_spelled(decoded, fact, value)}" for fact, value in field.facts)
        yield f"  {place:>5}  {field.name:<{widest}}  {field.code:#x}  {meaning}".rstrip()
    yield from remarks(decoded)


def remarks(decoded: Decoded) -> Iterator[str]:
    """What is to be said of a word besides its fields."""
    for name in decoded.lost:
        field = next(one for one in decoded.word.fields if one.name == name)
        sharing = [one for one in decoded.word.fields if one.mask & field.mask and one is not field]
        over = ", ".join(f"{one.name} ({one})" for one in sharing)
        yield f"  note: {name} ({field}) does not read back: it shares bits with {over}"
    for code, severity, message in decoded.violated:
        yield f"  {severity}: {code}: {message}"


def as_json(decoded: Decoded) -> dict[str, Any]:
    """A decoded word as a JSON object."""
    return {
        "as": decoded.word.name,
        "contract": decoded.contract,
        "width": decoded.word.width,
        "value": decoded.hexadecimal,
        "fields": [
            {
                "name": field.name,
                "bits": list(field.bits),
                "code": field.code,
                "facts": {fact: _spelled(decoded, fact, value) for fact, value in field.facts},
            }
            for field in decoded.fields
        ],
        "lost": list(decoded.lost),
        "violations": [
            {"code": code, "severity": severity, "message": message} for code, severity, message in decoded.violated
        ],
        "sources": list(decoded.word.sources),
    }


def listing(book: Rulebook) -> list[dict[str, Any]]:
    """Every declaration of a field set, as JSON objects."""
    found = []
    for name, contracts in names(book):
        for word in dict.fromkeys(word for contract in contracts for word in book.words[name, contract]):
            found.append(
                {
                    "as": name,
                    "contract": word.contract,
                    "width": word.width,
                    "title": book.schemas[word.schema].title,
                    "fields": [{"name": field.name, "bits": [field.low, field.high]} for field in word.fields],
                    "sources": list(word.sources),
                }
            )
    return found


def _spelled(decoded: Decoded, fact: str, value: Scalar) -> Scalar:
    """A value as ``encode`` takes it: a number, or a member by its first spelling."""
    kind = decoded.book.schemas[decoded.word.schema].fields[fact]
    if isinstance(kind, Enumerated):
        member = str(value)
        return next(iter(decoded.book.enums[kind.enum].members[member]), member.removeprefix("."))
    return value
