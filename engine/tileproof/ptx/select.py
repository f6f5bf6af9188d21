"""From an atom's facts to the PTX instruction that does it, operands and all.

The ``lowering`` declarations say what the facts give. What they leave open (the class of a register, a collector, a
mask) is chosen by ``evaluate.enumerate``: the first legal choice, the values of the schema's legal instance before
others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache

from tileproof.base.records import dataclass
from tileproof.evaluate.enumerate import legal_configurations
from tileproof.evaluate.python import function, judge_for
from tileproof.ptx.opcode import ptx_spellings
from tileproof.ptx.spell import forms_of, operands_by_name, spell
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import EnumOrigin, Instruction, OperandForm
from tileproof.rulebase.expression import Expression, Scalar
from tileproof.rulebase.template import Lowering


@dataclass(frozen=True, slots=True)
class Spelled:
    """An instruction with all its facts; registers are named by class."""

    book: Rulebook
    declaration: Instruction
    form: OperandForm
    facts: Mapping[str, Scalar]
    text: str

    @property
    def operands(self) -> dict[str, str]:
        """The operands by their names in the declaration, as the text has them."""
        return operands_by_name(self.form, self.facts)


@dataclass(frozen=True)
class Lowered:
    """An atom's instruction, and the declaration that says so; None where facts simply carry over.

    Attributes:
        facts: all that is known: of the atom, and what the lowering derives from it.
    """

    spelled: Spelled
    by: Lowering | None
    facts: Mapping[str, Scalar]

    @cached_property
    def text(self) -> str:
        """The instruction."""
        return self.spelled.text


def holds(ruleset: Ruleset, condition: Expression | None, facts: Mapping[str, Scalar]) -> bool:
    """Whether a condition is known to hold; none always does."""
    if condition is None:
        return True
    try:
        return bool(_compiled(ruleset, condition)(facts))
    except KeyError:
        return False


_compiled = lru_cache(maxsize=4096)(function)


def instructions_on(book: Rulebook, schema: str) -> tuple[Instruction, ...]:
    """The instructions of exactly this schema."""
    return tuple(item for same in book.instructions.values() for item in same if item.schema == schema)


def lower_atom(
    ruleset: Ruleset,
    where: Mapping[str, Scalar],
    schema: str,
    facts: Mapping[str, Scalar],
    otherwise: Iterable[Instruction] = (),
) -> Lowered | None:
    """The instruction of an atom; None where the target has no legal one.

    Args:
        where: target and PTX version.
        otherwise: the instructions to try where no lowering is declared for the schema; all facts carry over to them.
    """
    lowerings = ruleset.book.lowerings.get((schema, ruleset.contract), ())
    for lowering in lowerings:
        if not holds(ruleset, lowering.when, facts):
            continue
        carried = carry(ruleset, lowering, facts)
        if carried is None:
            continue
        for declaration in instructions_on(ruleset.book, lowering.to):
            if (found := legal_form(ruleset, where, declaration, carried)) is not None:
                return Lowered(found, lowering, {**facts, **carried})
    for declaration in () if lowerings else otherwise:
        if (found := legal_form(ruleset, where, declaration, facts)) is not None:
            return Lowered(found, None, facts)
    return None


def carry(ruleset: Ruleset, lowering: Lowering, facts: Mapping[str, Scalar]) -> dict[str, Scalar] | None:
    """The facts that those of the atom give, under the instruction's names; None where a table has no row for them."""
    fields = ruleset.book.schemas[lowering.to].fields
    found = {name: value for name, value in facts.items() if name in fields}
    for name, expression, when in lowering.carried:
        if holds(ruleset, when, facts):
            try:
                value = _compiled(ruleset, expression)(facts)
            except KeyError:
                return None
            assert isinstance(value, (int, str)), "checked when the rulebook was loaded"
            found[name] = value
    return found


def legal_form(
    ruleset: Ruleset,
    where: Mapping[str, Scalar],
    declaration: Instruction,
    facts: Mapping[str, Scalar],
) -> Spelled | None:
    """The instruction with these facts and operands that suit them; None where there is no legal one."""
    fields = ruleset.book.schemas[declaration.schema].fields
    fixed = {name: value for name, value in {**facts, **where}.items() if name in fields}
    if any(fixed.get(name, value) != value for name, value in declaration.sets):
        return None
    fixed.update(declaration.sets)
    if not spellable(ruleset.book, declaration, fixed):
        return None
    return _legal_form(ruleset, declaration, tuple(sorted(fixed.items())))


def spellable(book: Rulebook, declaration: Instruction, facts: Mapping[str, Scalar]) -> bool:
    """Whether the opcode of a declaration can say these facts."""
    return all(facts[fact] in said for fact, said in _said(book, declaration) if fact in facts)


@lru_cache(maxsize=1024)
def _said(book: Rulebook, declaration: Instruction) -> tuple[tuple[str, frozenset[Scalar]], ...]:
    """The facts that modifiers of an enum give, each with the values that it can get so."""
    found = []
    for clause in declaration.modifiers:
        if isinstance(clause.origin, EnumOrigin):
            members = frozenset(ptx_spellings(book, clause.origin.enum).values())
            for i, fact in enumerate(clause.facts):
                found.append((fact, members | {clause.default[i]} if clause.default is not None else members))
    return tuple(found)


@lru_cache(maxsize=1024)
def _sayable(declaration: Instruction, fields: Iterable[str]) -> frozenset[str]:
    """The facts that the text of an instruction and its place can say; others are the atom's alone."""
    parts = {name for form in declaration.forms for names in form.items for name in names}
    names = {"target", "ptx", "ignored", "formats", *(name for name, _ in declaration.sets)}
    names |= {fact for clause in declaration.modifiers for fact in clause.facts}
    names |= {name for form in declaration.forms for name, _ in form.sets}
    return frozenset(names | {fact for fact in fields if fact.rpartition(".")[0] in parts})


@lru_cache(maxsize=1 << 16)
def _legal_form(ruleset: Ruleset, declaration: Instruction, given: tuple[tuple[str, Scalar], ...]) -> Spelled | None:
    fixed = dict(given)
    schema = ruleset.book.schemas[declaration.schema]
    judge = judge_for(ruleset, declaration.schema)
    usual_first = sorted(
        forms_of(declaration, fixed),
        key=lambda form: sum(schema.instance[name] != value for name, value in form.sets if name not in fixed),
    )
    said = dict(_said(ruleset.book, declaration))
    sayable = _sayable(declaration, tuple(schema.fields))
    # What is legal with a warning, such as a tuple that ptxas does not count, is for those who wrote it.
    for clean in (True, False):
        for form in usual_first:
            chosen = {**fixed, **dict(form.sets)}
            options: dict[str, Sequence[Scalar]] = {}
            for fact in schema.fields:
                if fact in chosen:
                    options[fact] = (chosen[fact],)
                elif fact in sayable:
                    usual = schema.instance[fact]
                    values = (usual, *(v for v in ruleset.book.domain(schema.name, fact) if v != usual))
                    options[fact] = tuple(v for v in values if v in said[fact]) if fact in said else values
            found = next(legal_configurations(judge, options, clean), None)
            if found is not None:
                try:
                    return Spelled(
                        ruleset.book, declaration, form, found, spell(ruleset.book, declaration, found, form)
                    )
                except ValueError:  # only the IR can say this
                    continue
    return None
