"""The examples of a rule as text that a user could have written: an instruction of PTX, or the type of an atom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from tileproof.base.records import dataclass
from tileproof.checking.instruction import BadRequest, context, legal
from tileproof.ptx.spell import forms_of, spell
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import HARDWARE, Example, Instruction, Rule
from tileproof.rulebase.expression import Scalar
from tileproof.suggesting.families import atom_type

Facts: TypeAlias = "dict[str, Scalar]"

# Between them these targets have every feature that an atom may need.
_TARGETS = (".sm_90a", ".sm_100a", ".sm_120a", ".sm_80", ".sm_75", ".sm_103a", ".sm_107a")


@dataclass(frozen=True, slots=True)
class Written:
    """An example as text. ``where``: the target and the PTX version, as in ``sm_90a`` and ``sm_90a, PTX 8.0``."""

    text: str
    where: str


def written(book: Rulebook, rule: Rule) -> tuple[Written | None, Written | None]:
    """A wrong and a right example of a rule, judged as they say: the rule reports the one, the other is legal.

    Both are of one kind where that can be, instructions rather than atoms; those with the fewest other faults are
    taken. None where the rule is about neither, or where no text says the facts of an example.
    """
    right = (*rule.passing, Example({}, rule.place))  # the legal instance, where the rule holds for it
    found: list[tuple[Written | None, Written | None]] = []
    for atoms in (False, True):
        wrong_ones = (one for one in _judged(book, rule, rule.failing, atoms) if rule.code in one[0])
        right_ones = (one for one in _judged(book, rule, right, atoms) if one[2] and rule.code not in one[0])
        found.append((_purest(wrong_ones, 1), _purest(right_ones, 0)))
        if all(found[-1]):
            return found[-1]
    return max(found, key=lambda pair: pair[0] is not None)


@dataclass(frozen=True, slots=True)
class Placed:
    """A configuration as text, with the facts of the place where it is judged; ``where`` names it."""

    text: str
    where: str
    place: Facts


def texts(book: Rulebook, schema: str, facts: Facts) -> Iterator[Placed]:
    """The instructions and types of atoms that say these facts, those of the schema first."""
    for declaration in (item for same in book.instructions.values() for item in same):
        if schema in book.lineage(declaration.schema):
            full = {**book.schemas[declaration.schema].instance, **dict(declaration.sets), **facts}
            for text in _spelled(book, declaration, full):
                for place, newest in _places(book, full, atom=False):
                    yield Placed(text, _named(place, newest), place)
    for atom in book.atoms.values():
        if schema in book.lineage(atom.schema):
            full = {**book.schemas[atom.schema].instance, **dict(atom.sets), **facts}
            if text := atom_type(book, atom, full):
                for place, newest in _places(book, full, atom=True):
                    yield Placed(text, _named(place, newest), place)


def _purest(ones: Iterable[tuple[tuple[str, ...], Written, bool]], enough: int) -> Written | None:
    """The text of which the fewest codes are reported; the first of ``enough`` of them ends the search."""
    best: tuple[tuple[str, ...], Written, bool] | None = None
    for one in ones:
        best = one if best is None or len(one[0]) < len(best[0]) else best
        if len(best[0]) <= enough:
            break
    return best[1] if best else None


def _judged(
    book: Rulebook, rule: Rule, examples: Iterable[Example], atoms: bool
) -> Iterator[tuple[tuple[str, ...], Written, bool]]:
    """The texts of examples, each with the codes that are reported of it and whether it is legal."""
    for example in examples:
        for text, facts in _atoms(book, rule, example) if atoms else _instructions(book, rule, example):
            for where, newest in _places(book, facts, atoms):
                verdict = legal(book.under(rule.contract or HARDWARE), text, where)
                yield verdict.codes, Written(text, _named(where, newest)), verdict.legal


def _instructions(book: Rulebook, rule: Rule, example: Example) -> Iterator[tuple[str, Facts]]:
    """Instructions with the facts of an example, and all that they say."""
    for declaration in (item for same in book.instructions.values() for item in same):
        if rule.schema in book.lineage(declaration.schema):
            for facts in _completed(book, rule, example, declaration.schema, dict(declaration.sets)):
                yield from ((text, facts) for text in _spelled(book, declaration, facts))


def _atoms(book: Rulebook, rule: Rule, example: Example) -> Iterator[tuple[str, Facts]]:
    """Types of atoms with the facts of an example, and all that they say."""
    for atom in book.atoms.values():
        if rule.schema in book.lineage(atom.schema):
            for facts in _completed(book, rule, example, atom.schema, dict(atom.sets)):
                if text := atom_type(book, atom, facts):
                    yield text, facts


def _completed(book: Rulebook, rule: Rule, example: Example, schema: str, sets: Facts) -> Iterator[Facts]:
    """The facts of an example, completed by the legal instance of the text's schema, then by that of the rule's."""
    facts = {**book.schemas[schema].instance, **sets, **example.facts}
    yield facts
    base = {**book.schemas[rule.schema].instance, **example.facts}
    decided = {**facts, **{name: base[name] for name in rule.facts}}
    if decided != facts:
        yield decided


def _spelled(book: Rulebook, declaration: Instruction, facts: dict[str, Scalar]) -> Iterator[str]:
    for form in forms_of(declaration, facts):
        try:
            yield spell(book, declaration, facts, form)
        except ValueError:
            continue  # a fact that has no spelling in PTX


def _places(book: Rulebook, facts: dict[str, Scalar], atom: bool) -> Iterator[tuple[dict[str, Scalar], bool]]:
    """Where to judge a text: at the version of the facts, and at the newest that knows the target."""
    targets = [str(facts["target"])] if "target" in facts else []
    for target in (*targets, *_TARGETS) if atom else targets:
        try:
            newest = context(book, target[1:])
        except BadRequest:
            continue
        yield newest, True
        if "ptx" in facts and facts["ptx"] != newest["ptx"]:
            yield {**newest, "ptx": facts["ptx"]}, False


def _named(where: dict[str, Scalar], newest: bool) -> str:
    version = int(where["ptx"])
    return str(where["target"])[1:] + ("" if newest else f", PTX {version // 100}.{version % 100}")
