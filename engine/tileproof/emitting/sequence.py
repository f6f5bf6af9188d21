"""A template filled in: the lines of one instruction's sequence, by their part."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field, replace
from tileproof.evaluate.bitfields import pack
from tileproof.evaluate.python import function
from tileproof.ptx.opcode import ptx_spellings
from tileproof.ptx.select import Lowered, holds
from tileproof.rulebase.book import Ruleset
from tileproof.rulebase.declarations import Enumerated
from tileproof.rulebase.expression import Expression, Fact, Lookup, Scalar
from tileproof.rulebase.placeholder import parsed
from tileproof.rulebase.template import FUNCTIONS, INSTRUCTION, PARTS, Line, Template, pieces

_REGISTER = regex(r"(?<![.\w])([a-z])(\d+)\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class Placed:
    """The place of an operand in shared memory: bytes from the start, and its descriptor at address 0."""

    offset: int
    word: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """The sequence of one instruction.

    Attributes:
        operands: the registers of each operand, by its name.
        made: operands that the lines themselves give their values.
        writes, updates: operands that hold a result; those that hold something before as well.
        parts: lines by part (``module``, ``entry``, ``setup``, ``emit``, ``finish``).
        title: a comment above it.
        uniform: whether what it reads is the same for all threads, as the barriers are that they wait on together.
    """

    instruction: str
    operands: Mapping[str, str]
    made: frozenset[str]
    writes: tuple[str, ...]
    updates: tuple[str, ...]
    parts: Mapping[str, tuple[str, ...]]
    title: str = ""
    uniform: bool = False

    @classmethod
    def note(cls, title: str) -> Sequence:
        """A comment alone."""
        return cls("", {}, frozenset(), (), (), dict.fromkeys(PARTS, ()), title)

    def step(self, title: str) -> Sequence:
        """The same as a step of a kernel's protocol, under a comment."""
        return replace(self, title=title, uniform=True)

    def registers(self, *names: str) -> tuple[str, ...]:
        """The registers of some operands, in order; of all without a name."""
        chosen = names or tuple(self.operands)
        found = (f"{m[1]}{m[2]}" for name in chosen for m in _REGISTER.finditer(self.operands[name]))
        return tuple(dict.fromkeys(found))


def template_for(ruleset: Ruleset, schema: str, form: str, facts: Mapping[str, Scalar]) -> Template | None:
    """The template of a schema, else of what it extends; of several the first whose condition holds."""
    for name in ruleset.book.lineage(schema):
        for template in ruleset.book.templates.get((name, ruleset.contract), ()):
            if template.form == form and holds(ruleset, template.when, facts):
                return template
    return None


def sequence(
    ruleset: Ruleset, lowered: Lowered, placed: Mapping[str, Placed] | None = None, form: str = "ptx"
) -> Sequence | None:
    """The sequence of an instruction; without a template for it the instruction alone.

    Args:
        placed: operands in shared memory; the descriptors of others are loaded like registers.
        form: None is returned where there is no template of a form other than ``ptx``.
    """
    spelled = lowered.spelled
    template = template_for(ruleset, spelled.declaration.schema, form, spelled.facts)
    if template is None and form != "ptx":
        return None
    lines = template.lines if template is not None else (Line("emit", "{instruction}", None),)
    before = lowered.by.lines if lowered.by is not None and form == "ptx" else ()
    facts = {**spelled.facts, **lowered.facts}
    if template is not None:
        facts = _told(ruleset, template, facts)
    # A fact of the instruction overrides one of the atom with the same name.
    facts |= {name: value for name, value in spelled.facts.items() if name not in lowered.facts or lowered.by is None}
    filler = Filler(ruleset, facts, spelled.declaration.schema, spelled.operands, spelled.text, placed or {})
    return Sequence(
        spelled.text,
        spelled.operands,
        *_filled(filler, (*before, *lines), template),
    )


def lone(ruleset: Ruleset, schema: str, facts: Mapping[str, Scalar]) -> Sequence | None:
    """The sequence of an atom that a template spells by itself, registers and all: the rules know no instruction of it.

    None where no template of the schema, or no line of it, is for these facts.
    """
    template = template_for(ruleset, schema, "ptx", facts)
    if template is None:
        return None
    filler = Filler(ruleset, _told(ruleset, template, facts), template.schema, {}, "", {})
    parts = {part: tuple(filler.lines(template.lines, part)) for part in PARTS}
    text = " ".join(parts["emit"])
    registers = {match[0]: match[0] for match in _REGISTER.finditer(text)}
    writes, updates = (tuple(filter(registers.get, names)) for names in (template.writes, template.updates))
    return Sequence(text, registers, frozenset(), writes, updates, parts) if text else None


def text_of(ruleset: Ruleset, template: Template, facts: Mapping[str, Scalar]) -> tuple[str, ...]:
    """The lines of a template that spells everything itself."""
    filler = Filler(ruleset, _told(ruleset, template, facts), template.schema, {}, "", {})
    return tuple(filler.lines(template.lines, "emit"))


def _told(ruleset: Ruleset, template: Template, facts: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The facts with what the template has for those that are not given, and what it derives of them."""
    found = {**dict(template.defaults), **facts}
    for name, expression, when in template.carried:
        if holds(ruleset, when, facts):
            try:
                value = _computed(ruleset, expression)(facts)
            except KeyError:
                continue
            assert isinstance(value, (int, str)), "checked when the rulebook was loaded"
            found[name] = value
    return found


def _filled(
    filler: Filler, lines: tuple[Line, ...], template: Template | None
) -> tuple[frozenset[str], tuple[str, ...], tuple[str, ...], dict[str, tuple[str, ...]]]:
    parts = {part: tuple(filler.lines(lines, part)) for part in PARTS}
    writes = template.writes if template is not None else ()
    updates = template.updates if template is not None else ()
    return frozenset(filler.used), writes, updates, parts


@dataclass()
class Filler:
    """Fills the placeholders of one sequence's lines.

    Attributes:
        used: operands that a line names; counts: how many registers of each prefix were handed out.
    """

    ruleset: Ruleset
    facts: Mapping[str, Scalar]
    schema: str
    operands: Mapping[str, str]
    instruction: str
    placed: Mapping[str, Placed]
    used: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)

    def lines(self, lines: tuple[Line, ...], part: str) -> Iterator[str]:
        """The lines of a part whose conditions hold; one with an unknown value is omitted."""
        for line in lines:
            if line.part == part and holds(self.ruleset, line.when, self.facts):
                used = set(self.used)
                try:
                    yield "".join(self.fill(text) if held else text for held, text in pieces(line.text))
                except KeyError:
                    self.used = used

    def fill(self, text: str) -> str:
        if text == INSTRUCTION:
            return self.instruction
        if text in self.operands:
            self.used.add(text)
            return self.operands[text]
        expression = _parsed(text)
        if isinstance(expression, Lookup) and expression.table in FUNCTIONS:
            return self.call(expression)
        value = _computed(self.ruleset, expression)(self.facts)
        return self.spell(expression, value) if isinstance(value, str) else str(value)

    def call(self, call: Lookup) -> str:
        name = call.arguments[0]
        assert isinstance(name, Fact), "checked when the rulebook was loaded"
        match call.table:
            case "registers":
                count = _computed(self.ruleset, call.arguments[1])(self.facts)
                assert isinstance(count, int), "checked when the rulebook was loaded"
                return self.registers(name.name, count)
            case "word":
                return hex(pack(self.ruleset, name.name, self.word_facts(name.name)))
            case "descriptor":
                return f"0x{self.placed[name.name].word:016x}"
            case "place":
                return str(self.placed[name.name].offset)
            case _:
                return self.passed(call.table, name.name)

    def passed(self, what: str, operand: str) -> str:
        """The types of an operand's registers for a compiler, or the values themselves."""
        row = self.ruleset.book.shared_table("passed_operand").rows[str(self.facts[f"{operand}.type"]),]
        count = self.facts[f"{operand}.registers"]
        assert isinstance(count, int), "a number of registers"
        llvm, mlir = map(str, row)
        values = [f"%{operand}{i}" for i in range(count)]
        match what:
            case "llvm_types":
                return ", ".join([llvm] * count)
            case "llvm_values":
                return ", ".join(f"{llvm} {value}" for value in values)
            case "mlir_types":
                return ", ".join([mlir] * count)
            case "mlir_type":
                return mlir
            case _:
                return ", ".join(values)

    def registers(self, prefix: str, count: int) -> str:
        """The next registers of a prefix, numbered through the sequence."""
        start = self.counts.get(prefix, 0)
        self.counts[prefix] = start + count
        return ", ".join(f"%{prefix}{i}" for i in range(start, start + count))

    def word_facts(self, name: str) -> dict[str, Scalar]:
        """The facts of a packed word: those of the atom, else those of the word's legal instance."""
        found: dict[str, Scalar] = {}
        for word in self.ruleset.book.words[name, self.ruleset.contract]:
            schema = self.ruleset.book.schemas[word.schema]
            found.update(schema.instance)
            found.update({fact: value for fact, value in self.facts.items() if fact in schema.fields})
        return found

    def spell(self, expression: Expression, value: str) -> str:
        """A member of an enum as PTX spells it, without its dot."""
        enum = None
        if isinstance(expression, Fact):
            domain = self.ruleset.book.schemas[self.schema].fields.get(expression.name)
            enum = domain.enum if isinstance(domain, Enumerated) else None
        spellings = (
            {member: text for text, member in reversed(ptx_spellings(self.ruleset.book, enum).items())} if enum else {}
        )
        return spellings.get(value, value).removeprefix(".")


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Expression:
    return parsed(text)


@lru_cache(maxsize=4096)
def _computed(ruleset: Ruleset, expression: Expression) -> Callable[[Mapping[str, Scalar]], object]:
    return function(ruleset, expression)
