"""Packed words by their declarations: constructor, decoder, printer, and where two contracts differ.

The table that packs is the table that unpacks, so the two cannot drift apart. `rulecheck` proves with Z3 that unpacking
what was packed gives the facts back, for all facts that the rules of the schema allow.

>>> from tileproof import load_rules
>>> book = load_rules()
>>> facts = {"address": 0, "lbo": 16, "sbo": 1024, "base_offset": 0, "swizzle": ".b128"}
>>> hex(pack(book.under("ptx"), "wgmma.descriptor", facts))
'0x4000004000010000'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from tileproof.base.records import dataclass
from tileproof.evaluate.python import function
from tileproof.rulebase.bitfield import BitField, Word
from tileproof.rulebase.book import Ruleset
from tileproof.rulebase.expression import Arithmetic, Expression, Fact, Lookup, Number, Scalar, Value, facts_of


class PackError(ValueError):
    """Facts that a word cannot hold, or a word that decodes to no facts.

    Attributes:
        hint: the values that are allowed, where the fault is a value.
        unset: the field that holds no value, where that is all that is wrong of it.
    """

    def __init__(self, message: str, hint: str = "", unset: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        self.unset = unset


def pack(ruleset: Ruleset, name: str, facts: Mapping[str, Scalar]) -> int:
    """The word for these facts.

    A field over others may be left out. Where it is not, what is read back of them is more than what was put there:
    ``lost`` names them.

    Raises:
        PackError: a fact is missing, is not a value of its field, or does not fit; the message names the field.
    """
    word = word_for(ruleset, name, facts)
    packed = 0
    for field, value in _codes(ruleset, word):
        if field.over and not any(fact in facts for fact in facts_of(field.value)):
            continue
        try:
            code = value(facts)
        except KeyError:
            given = ", ".join(f"{fact} = {facts.get(fact, 'missing')}" for fact in sorted(facts_of(field.value)))
            hint = f"use {choices(ruleset, field, facts)}"
            raise PackError(f"'{field.name}' of {name} has no code for {given}", hint) from None
        assert isinstance(code, int), "checked when the rulebook was loaded"
        if not 0 <= code < 1 << field.width:
            message = f"{code} does not fit in '{field.name}' of {name}, {field}"
            raise PackError(message, f"codes are from 0 to {(1 << field.width) - 1}")
        back = solved(ruleset, field.value, code, facts)
        if any(back.get(fact, facts[fact]) != facts[fact] for fact in facts_of(field.value)):
            fact = sorted(facts_of(field.value))[0]
            raise PackError(
                f"'{field.name}' of {name} cannot hold {fact} = {facts[fact]}: it is not a multiple of the unit"
            )
        packed |= code << field.low
    return packed


def unpack(ruleset: Ruleset, name: str, packed: int, known: Mapping[str, Scalar] | None = None) -> dict[str, Scalar]:
    """The facts that a word encodes.

    Args:
        known: facts that the word does not hold but needs, such as the kind of the instruction.

    Raises:
        PackError: the word is too long, has a code without a meaning, or a bit that is always something else.
    """
    facts = dict(known or {})
    word = word_for(ruleset, name, facts)
    if not 0 <= packed < 1 << word.width:
        raise PackError(f"{packed:#x} does not fit in {word.width} bits")
    for field in word.fields:
        code = (packed & field.mask) >> field.low
        try:
            facts.update(solved(ruleset, field.value, code, facts))
        except LookupError:
            if field.over:  # this way of reading the bits says nothing
                continue
            said = f"{field.otherwise}: " if field.otherwise else ""
            hint = f"use {choices(ruleset, field, facts)}"
            message = f"{said}{code} in {field} is not a valid '{field.name}' of {name}"
            raise PackError(message, hint, "" if code else field.name) from None
    stray = packed & ~_mask(word)
    if stray:
        message = f"bit {stray.bit_length() - 1} of {name} is set, but is in no field"
        raise PackError(message, f"the fields are {', '.join(f'{field.name} {field}' for field in word.fields)}")
    return facts


def lost(ruleset: Ruleset, name: str, facts: Mapping[str, Scalar]) -> tuple[BitField, ...]:
    """The fields that share bits with others and are read back as something else; raises as ``pack`` does."""
    packed = pack(ruleset, name, facts)
    word = word_for(ruleset, name, facts)
    return tuple(
        field
        for field, value in _codes(ruleset, word)
        if facts_of(field.value) <= facts.keys() and (packed & field.mask) >> field.low != value(facts)
    )


def choices(ruleset: Ruleset, field: BitField, known: Mapping[str, Scalar]) -> str:
    """The codes that a field may have, with what they mean where a table says it."""
    match field.value:
        case Number(constant):
            return str(constant)
        case Lookup() as lookup:
            kind = ruleset.table(lookup.table).keys[-1][1]
            found: dict[int, str] = {}
            for keys, code in _coded(ruleset, lookup, known):
                if isinstance(code, int):
                    found.setdefault(code, _plain(ruleset, kind, str([*keys.values()][-1])))
            return ", ".join(f"{code} ({meaning})" for code, meaning in sorted(found.items()))
    return f"0 to {(1 << field.width) - 1}"


def _plain(ruleset: Ruleset, enum: str, member: str) -> str:
    """A member as we print it; without a spelling its name."""
    return next(iter(ruleset.book.enums[enum].members[member]), member[1:])


@dataclass(frozen=True, slots=True)
class Shown:
    """One field of a word for the reader.

    Attributes:
        bits: the first and the last one.
        facts: the content of the field; empty for a constant.
    """

    name: str
    bits: tuple[int, int]
    code: int
    facts: tuple[tuple[str, Scalar], ...]

    def __str__(self) -> str:
        first, last = self.bits
        place = f"{first}-{last}" if last > first else f"{first}"
        meaning = ", ".join(f"{name} = {value}" for name, value in self.facts)
        return f"{place:>5}  {self.name:<12} {self.code:#x}" + (f"  {meaning}" if meaning else "")


def show(ruleset: Ruleset, name: str, packed: int, known: Mapping[str, Scalar] | None = None) -> tuple[Shown, ...]:
    """A word field by field; what ``unpack`` raises."""
    facts = unpack(ruleset, name, packed, known)
    word = word_for(ruleset, name, facts)
    return tuple(
        Shown(
            field.name,
            (field.low, field.high),
            (packed & field.mask) >> field.low,
            tuple(
                (fact, facts[fact])
                for fact in sorted(facts_of(field.value))
                if fact not in (known or {}) and fact in facts
            ),
        )
        for field in word.fields
    )


def word_for(ruleset: Ruleset, name: str, facts: Mapping[str, Scalar]) -> Word:
    """The declaration that counts for these facts.

    Raises:
        PackError: there is none.
    """
    same = ruleset.book.words.get((name, ruleset.contract), ())
    for word in same:
        if word.when is None:
            return word
        try:
            if _condition(ruleset, word.when)(facts):
                return word
        except KeyError:
            continue
    raise PackError(f"unknown word '{name}'" if not same else f"no '{name}' is declared for these facts")


@lru_cache(maxsize=256)
def _condition(ruleset: Ruleset, when: Expression) -> Callable[[Mapping[str, Scalar]], Value]:
    return function(ruleset, when)


@lru_cache(maxsize=64)
def _codes(ruleset: Ruleset, word: Word) -> tuple[tuple[BitField, Callable[[Mapping[str, Scalar]], Value]], ...]:
    return tuple((field, function(ruleset, field.value)) for field in word.fields)


def _mask(word: Word) -> int:
    mask = 0
    for field in word.fields:
        mask |= field.mask
    return mask


def solved(ruleset: Ruleset, value: Expression, code: int, known: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The facts for which a field has this code.

    Raises:
        LookupError: there are none.
    """
    match value:
        case Number(constant):
            if code != constant:
                raise LookupError(code)
            return {}
        case Fact(name):
            return {name: code}
        case Arithmetic("/", Fact(name), Number(unit)):
            return {name: code * unit}
        case Lookup() as lookup:
            for keys, other in _coded(ruleset, lookup, known):
                if other == code:
                    return keys
    raise LookupError(code)


def _coded(ruleset: Ruleset, lookup: Lookup, known: Mapping[str, Scalar]) -> Iterator[tuple[dict[str, Scalar], object]]:
    """The facts of each row of a table and its code, of the rows whose keys but the last are as known."""
    declared = ruleset.table(lookup.table)
    at = declared.column(lookup.column)
    assert at is not None, "checked when the rulebook was loaded"
    names = [argument.name for argument in lookup.arguments if isinstance(argument, Fact)]
    fixed = {name: known[name] for name in names[:-1] if name in known}
    for keys, row in declared.rows.items():
        found: dict[str, Scalar] = dict(zip(names, keys, strict=True))
        if all(found[name] == value for name, value in fixed.items()):
            yield found, row[at]
