"""The nearest legal form of an illegal instruction or atom, and the rules in conflict.

Z3 finds a legal configuration that keeps as many facts as possible (MaxSMT). A change of the target or the PTX
version counts most, since those are seldom the author's to choose; the text of an operand least, since registers follow
from the opcode. The other half is the least set of facts and rules that cannot hold together (an unsatisfiable core).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.dialects.facts import Facts, atom_facts
from tileproof.evaluate.solver import Answer, Question, Wish, nearest
from tileproof.evaluate.z3 import Encoder, Formula
from tileproof.mlir.types import Node
from tileproof.ptx.parse_facts import Lowered, lower
from tileproof.ptx.registers import by_letter
from tileproof.ptx.spell import forms_of, operand_texts, said_by_forms, spell
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import Atom, Instruction, OperandForm, Rule
from tileproof.rulebase.expression import Scalar

_TARGET, _PTX, _OPCODE, _OPERAND, _OPEN = 200, 100, 8, 2, 1  # what a change costs
_SHOWN = ("class", "registers", "value", "offset", "negated")  # the text of an operand


@dataclass(frozen=True, slots=True)
class Change:
    """One fact that the repair changes; ``before`` is None where the text left it open."""

    fact: str
    before: Scalar | None
    after: Scalar


@dataclass(frozen=True, slots=True)
class Conflict:
    """Facts and rules that cannot hold together, none of which can be left out."""

    facts: tuple[str, ...]
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """The outcome.

    Attributes:
        answer: unsatisfiable if nothing near is legal, unknown after the time limit: then there is no text.
        text: the legal form.
    """

    answer: Answer
    text: str
    changes: tuple[Change, ...]
    conflict: Conflict


def repair_instruction(ruleset: Ruleset, text: str, where: Mapping[str, Scalar], seconds: float = 5.0) -> Repair:
    """The nearest legal form of a PTX instruction.

    Args:
        where: target and PTX version.

    Raises:
        ValueError: the text has no instruction that the rules declare.
    """
    lowered = lower(ruleset.book, text, by_letter(ruleset.book))
    if lowered.declaration is None or lowered.instruction is None:
        raise ValueError(lowered.faults[0].stated.message)
    declaration = lowered.declaration
    present: dict[str, Scalar] = {**lowered.values, **where}
    fields = ruleset.book.schemas[declaration.schema].fields
    present = {name: value for name, value in present.items() if name in fields}
    encoder, rules, kept = _readings(ruleset, declaration.schema)
    instance = ruleset.book.schemas[declaration.schema].instance
    conflict = least_conflict(encoder, rules, present, seconds)
    best: tuple[int, Instruction, Mapping[str, Scalar]] | None = None
    answer = Answer.UNSATISFIABLE
    for one in _alternatives(ruleset.book, declaration):
        price = _OPCODE * len(set(one.selectors) ^ set(declaration.selectors))
        if best is not None and best[0] <= price:
            break  # and so are those that follow
        wishes = [Wish(name, value, _weight(one, name)) for name, value in present.items()]
        wishes += [Wish(name, value, _OPEN) for name, value in instance.items() if name not in present]
        solved = nearest(encoder, [*kept, _written_as(encoder, one)], wishes, seconds)
        if solved.answer is Answer.SATISFIABLE:
            price += sum(wish.weight for wish in wishes if solved.model[wish.fact] != wish.value)
            if best is None or price < best[0]:
                best = price, one, solved.model
        elif solved.answer is Answer.UNKNOWN:
            answer = Answer.UNKNOWN
    if best is None:
        return Repair(answer, "", (), conflict)
    _, chosen, model = best
    form = _form(lowered, chosen, model)
    shown = _relevant(chosen, form)
    if chosen is not declaration:
        shown |= {name for name, _ in chosen.sets}
    changes = tuple(
        Change(name, present.get(name), model[name])
        for name in fields
        if name in shown and present.get(name) != model[name]
    )
    return Repair(Answer.SATISFIABLE, _text(ruleset.book, lowered, chosen, model, form, changes), changes, conflict)


def _alternatives(book: Rulebook, declaration: Instruction) -> list[Instruction]:
    """A declaration, and those of the same name and facts that other modifiers choose, the least different first."""
    own = set(declaration.selectors)
    others = [one for one in book.instructions[declaration.name] if one.schema == declaration.schema]
    return sorted(others, key=lambda one: (one is not declaration, len(own ^ set(one.selectors))))


def _written_as(encoder: Encoder, declaration: Instruction) -> Formula:
    """That a declaration can spell a configuration: its facts, and those of one of its forms."""
    fields = encoder.schema.fields
    options = [{**dict(declaration.sets), **said} for _, said in said_by_forms(declaration)]
    return encoder.one_of({name: v for name, v in option.items() if name in fields} for option in options)


@lru_cache(maxsize=32)
def _readings(ruleset: Ruleset, schema: str) -> tuple[Encoder, tuple[Rule, ...], list[Formula]]:
    """The formulas of the rules that a legal configuration keeps."""
    encoder = Encoder(ruleset, schema)
    rules = _hard(ruleset, schema)
    return encoder, rules, [encoder.reading(rule).kept for rule in rules]


def _hard(ruleset: Ruleset, schema: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in ruleset.rules_on(schema, inherited=True) if rule.severity is Severity.ERROR)


def _weight(declaration: Instruction, fact: str) -> int:
    if fact in ("target", "ptx"):
        return _TARGET if fact == "target" else _PTX
    return _OPCODE if any(fact in clause.facts for clause in declaration.modifiers) else _OPERAND


def _form(lowered: Lowered, declaration: Instruction, model: Mapping[str, Scalar]) -> OperandForm:
    """How to write the operands: as they are written, or with as many of them as there are, or nearly."""
    fitting = forms_of(declaration, model) or declaration.forms
    if lowered.form in fitting:
        assert lowered.form is not None
        return lowered.form
    assert lowered.instruction is not None
    count = len(lowered.instruction.operands)
    return min(fitting, key=lambda form: abs(len(form.items) - count))


def _relevant(declaration: Instruction, form: OperandForm) -> frozenset[str]:
    """The facts that the text of an instruction shows."""
    names = {"target", "ptx", *(fact for clause in declaration.modifiers for fact in clause.facts)}
    parts = [part for items in form.items for part in items]
    return frozenset(names | {f"{part}.{suffix}" for part in parts for suffix in _SHOWN})


def _text(
    book: Rulebook,
    lowered: Lowered,
    declaration: Instruction,
    model: Mapping[str, Scalar],
    form: OperandForm,
    changes: tuple[Change, ...],
) -> str:
    """The instruction with the changes; operands that keep their facts keep their text."""
    assert lowered.instruction is not None
    changed = {change.fact for change in changes}
    opcode_facts = {fact for clause in declaration.modifiers for fact in clause.facts}
    fresh = spell(book, declaration, model, form)
    opcode, _, _ = fresh.rstrip(";").partition(" ")
    if declaration is lowered.declaration and not changed & opcode_facts and not lowered.opcode_faults:
        opcode = lowered.instruction.opcode
    operands = operand_texts(form, model)
    if lowered.form is form:
        for i in range(len(lowered.instruction.operands)):
            start, end = lowered.instruction.span(i)
            facts = {f"{part}.{suffix}" for part in form.items[i] for suffix in _SHOWN}
            if not changed & facts:
                operands[i] = lowered.text[start:end]
    guard = lowered.text[: lowered.instruction.opcode_start]
    return f"{guard}{opcode} {','.join(operands)};" if operands else f"{guard}{opcode};"


def repair_atom(ruleset: Ruleset, atom: Atom, node: Node, text: str, seconds: float = 5.0) -> Repair:
    """The nearest legal form of an atom type such as ``cute_nvgpu.sm90.mma<64x100x16, ...>``.

    Raises:
        MalformedAtom: a parameter is missing or has no meaning.
    """
    facts = atom_facts(ruleset.book, atom, node, 0)
    encoder, rules, kept = _readings(ruleset, atom.schema)
    present = {name: value for name, value in facts.values.items() if name in encoder.variables}
    solved = nearest(encoder, kept, [Wish(name, value) for name, value in present.items()], seconds)
    conflict = least_conflict(encoder, rules, present, seconds)
    if solved.answer is not Answer.SATISFIABLE:
        return Repair(solved.answer, "", (), conflict)
    changes = tuple(
        Change(name, value, solved.model[name]) for name, value in present.items() if solved.model[name] != value
    )
    return Repair(Answer.SATISFIABLE, _spliced(ruleset.book, atom, facts, text, changes), changes, conflict)


def _spliced(book: Rulebook, atom: Atom, facts: Facts, text: str, changes: tuple[Change, ...]) -> str:
    """The atom's text with the changed parameters written anew, from the last to the first."""
    written = {change.fact: ir_spelling(book, atom, change.fact, change.after) for change in changes}
    for fact, span in sorted(facts.spans.items(), key=lambda item: -item[1].start):
        if fact in written:
            text = text[: span.start] + written[fact] + text[span.end :]
    return text


def ir_spelling(book: Rulebook, atom: Atom, fact: str, value: Scalar) -> str:
    """The spelling of a fact's value as an atom's parameter."""
    for binding in atom.bindings:
        if fact in binding.facts:
            for spelling, member in binding.translation:
                if member == value:
                    return spelling
    for enum in book.enums.values():
        if isinstance(value, str) and value in enum.members and enum.members[value]:
            return enum.members[value][0]
    return str(value).removeprefix(".")


def least_conflict(
    encoder: Encoder, rules: tuple[Rule, ...], present: Mapping[str, Scalar], seconds: float
) -> Conflict:
    """A least set of facts and rules that cannot hold together; empty where they can, or where the time is up.

    Named by the solver, then thinned one by one: what can be left out is.
    """
    named = {f"rule {rule.code}": encoder.reading(rule).kept for rule in rules}
    named |= {f"fact {name}": encoder.assigned({name: value}) for name, value in present.items()}
    question = Question(encoder, seconds)
    solved = question.ask(named=named)
    if solved.answer is not Answer.UNSATISFIABLE:
        return Conflict((), ())
    core = list(solved.core)
    for name in list(core):
        rest = {other: named[other] for other in core if other != name}
        if question.ask(named=rest).answer is Answer.UNSATISFIABLE:
            core.remove(name)
    return Conflict(tuple(_of("fact ", core)), tuple(_of("rule ", core)))


def _of(kind: str, names: list[str]) -> Iterator[str]:
    return (name.removeprefix(kind) for name in names if name.startswith(kind))
