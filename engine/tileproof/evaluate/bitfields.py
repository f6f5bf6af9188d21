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

from collections.abc import Callable, Mapping
from functools import lru_cache

from tileproof.base.records import dataclass
from tileproof.evaluate.python import function
from tileproof.rulebase.bitfield import BitField, Word
from tileproof.rulebase.book import Ruleset
from tileproof.rulebase.expression import Arithmetic, Expression, Fact, Lookup, Number, Scalar, Value, facts_of


class PackError(ValueError):
    """Facts that a word cannot hold, or a word that decodes to no facts."""


def pack(ruleset: Ruleset, name: str, facts: Mapping[str, Scalar]) -> int:
    """The word for these facts.

    Raises:
        PackError: a fact is missing, is not a value of its field, or does not fit; the message names the field.
    """
    word = word_for(ruleset, name, facts)
    packed = 0
    for field, value in _codes(ruleset, word):
        try:
            code = value(facts)
        except KeyError:
            given = ", ".join(f"{fact} = {facts.get(fact, 'missing')}" for fact in sorted(facts_of(field.value)))
            raise PackError(f"'{field.name}' of {name} has no code for {given}") from None
        assert isinstance(code, int), "checked when the rulebook was loaded"
        if not 0 <= code < 1 << field.width:
            raise PackError(f"{code} does not fit in '{field.name}' of {name}, {field}")
        back = _solved(ruleset, field.value, code, facts)
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
            facts.update(_solved(ruleset, field.value, code, facts))
        except LookupError:
            raise PackError(f"{code} in {field} is not a valid '{field.name}' of {name}") from None
    stray = packed & ~_mask(word)
    if stray:
        raise PackError(f"bit {stray.bit_length() - 1} of {name} is set, but is in no field")
    return facts


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
            tuple((fact, facts[fact]) for fact in sorted(facts_of(field.value)) if fact not in (known or {})),
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
            if function(ruleset, word.when)(facts):
                return word
        except KeyError:
            continue
    raise PackError(f"unknown word '{name}'" if not same else f"no '{name}' is declared for these facts")


@lru_cache(maxsize=64)
def _codes(ruleset: Ruleset, word: Word) -> tuple[tuple[BitField, Callable[[Mapping[str, Scalar]], Value]], ...]:
    return tuple((field, function(ruleset, field.value)) for field in word.fields)


def _mask(word: Word) -> int:
    mask = 0
    for field in word.fields:
        mask |= field.mask
    return mask


def _solved(ruleset: Ruleset, value: Expression, code: int, known: Mapping[str, Scalar]) -> dict[str, Scalar]:
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
        case Lookup(table, arguments, column):
            declared = ruleset.table(table)
            at = declared.column(column)
            assert at is not None, "checked when the rulebook was loaded"
            names = [argument.name for argument in arguments if isinstance(argument, Fact)]
            fixed = {name: known[name] for name in names[:-1] if name in known}
            for keys, row in declared.rows.items():
                found = dict(zip(names, keys, strict=True))
                if row[at] == code and all(found[name] == value for name, value in fixed.items()):
                    return dict(found)
    raise LookupError(code)
