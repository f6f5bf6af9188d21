"""Name resolution: that every name in a rulebook means something, and every expression is of the kind it must be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, replace
from tileproof.base.source import Span
from tileproof.rulebase.bitfield import FORM_FACTS, Canonical, Word, invertible
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import (
    CONTRACTS,
    HARDWARE,
    PAGES,
    Atom,
    Bounded,
    Domain,
    Enumerated,
    EnumOrigin,
    Instruction,
    Modifiers,
    Rule,
    Schema,
    Table,
)
from tileproof.rulebase.expression import (
    Arithmetic,
    Comparison,
    Connective,
    Expression,
    Fact,
    Lookup,
    Members,
    Membership,
    Not,
    Number,
    Place,
    Range,
    Scalar,
    Symbol,
    facts_of,
)
from tileproof.rulebase.fault import RuleFault
from tileproof.rulebase.findings import problems
from tileproof.rulebase.fragment import COPY_ROLES, MMA_ROLES, Applies, Fragment, expressions, leaves
from tileproof.rulebase.placeholder import parsed
from tileproof.rulebase.template import FUNCTIONS, INSTRUCTION, REGISTERS, WORD, Line, Lowering, Template, pieces
from tileproof.syntax import SyntaxFault

if TYPE_CHECKING:
    from tileproof.rulebase.contradiction import Contradiction

MESSAGE_FUNCTIONS = ("nearest", "legal")
VERSION = "version"
PLACEHOLDER = regex(r"\{([^{}]*)\}")
REGISTER_NAME = regex(r"[a-z]\d+", re.ASCII)


INTEGER, BOOLEAN = "integer", "truth value"


@dataclass(frozen=True, slots=True)
class OneOf:
    """The kind of a table's column whose cells are members of several enums: what it is compared with tells which."""

    enums: tuple[str, ...]

    def __str__(self) -> str:
        return " or ".join(self.enums)


@dataclass(frozen=True, slots=True)
class SetOf:
    """The kind of a set, by the kind of its members."""

    of: str | OneOf


# An enum's name, INTEGER, BOOLEAN or a set; None where a lone symbol waits for its other side to name the enum.
Kind: TypeAlias = "str | OneOf | SetOf | None"


class _Mismatch(Exception):
    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.span = span


class Resolver:
    """Checks what the rules of a book mean. One use; collects faults instead of stopping at the first."""

    def __init__(self, book: Rulebook) -> None:
        self.book = book

    def faults(self) -> Iterator[RuleFault]:
        for table in dict.fromkeys(self.book.tables.values()):
            yield from self.table(table)
        for schema in self.book.schemas.values():
            yield from self.schema(schema)
        for atom in dict.fromkeys(self.book.atoms.values()):
            yield from self.atom(atom)
        for instruction in (item for same in self.book.instructions.values() for item in same):
            yield from self.instruction(instruction)
        for rule in self.book.rules.values():
            yield from self.rule(rule)
        for finding in self.book.findings.values():
            for case, problem in problems(self.book, finding):
                yield RuleFault(case.place, f"{finding.code}: {problem}")
        for fragment in dict.fromkeys(self.book.fragments.values()):
            yield from self.fragment(fragment)
        for word in dict.fromkeys(word for same in self.book.words.values() for word in same):
            yield from self.word(word)
        for canonical in self.book.canonical.values():
            yield from self.canonical(canonical)
        for lowering in dict.fromkeys(item for same in self.book.lowerings.values() for item in same):
            yield from self.lowering(lowering)
        for template in dict.fromkeys(item for same in self.book.templates.values() for item in same):
            yield from self.template(template)
        for contradiction in self.book.contradictions.values():
            yield from self.contradiction(contradiction)

    def table(self, table: Table) -> Iterator[RuleFault]:
        for i, (_, enum) in enumerate(table.keys):
            if enum not in self.book.enums:
                yield RuleFault(table.place, f"unknown enum '{enum}'")
                continue
            for key in table.rows:
                if key[i] not in self.book.enums[enum].members:
                    yield RuleFault(table.places[key], f"table '{table.name}': '{key[i]}' is not in enum {enum}")
        if table.total is not None and table.total.of is not None:
            of = self.book.tables.get((table.total.of, table.contract or CONTRACTS[0]))
            for name, _ in table.keys:
                if of is None or name not in of.columns:
                    yield RuleFault(table.place, f"table '{table.total.of}' has no column '{name}'")
        if table.total is not None and table.total.when is not None:
            keys = Schema(table.name, "", (), {name: Enumerated(enum) for name, enum in table.keys}, {}, table.place)
            try:
                Scope(self.book, keys, table.contract or CONTRACTS[0]).expect(table.total.when, BOOLEAN)
            except _Mismatch as fault:
                yield RuleFault(Place(table.place.source, fault.span), str(fault))

    def schema(self, schema: Schema) -> Iterator[RuleFault]:
        for name, domain in schema.fields.items():
            if isinstance(domain, Enumerated) and domain.enum not in self.book.enums:
                yield RuleFault(schema.place, f"unknown enum '{domain.enum}'")
            elif not self.belongs(schema, name, schema.instance[name]):
                yield RuleFault(schema.place, f"{schema.instance[name]} is not a value of '{name}'")

    def belongs(self, schema: Schema, name: str, value: Scalar) -> bool:
        match schema.fields[name]:
            case Enumerated(enum):
                return value in self.book.enums[enum].members
            case Bounded(first, last):
                return isinstance(value, int) and first <= value <= last

    def atom(self, atom: Atom) -> Iterator[RuleFault]:
        schema = self.book.schemas.get(atom.schema)
        if schema is None:
            yield RuleFault(atom.place, f"unknown schema '{atom.schema}'")
            return
        for binding in atom.bindings:
            for name in binding.facts:
                if name not in schema.fields:
                    yield RuleFault(atom.place, f"schema '{schema.name}' has no fact '{name}'")
                elif any(not self.belongs(schema, name, value) for _, value in binding.translation):
                    yield RuleFault(atom.place, f"a translation gives no value of '{name}'")
            if binding.default is not None and len(binding.default) != len(binding.facts):
                yield RuleFault(atom.place, f"{len(binding.facts)} facts need as many values after 'else'")
        for name, value in atom.sets:
            if name not in schema.fields:
                yield RuleFault(atom.place, f"schema '{schema.name}' has no fact '{name}'")
            elif not self.belongs(schema, name, value):
                yield RuleFault(atom.place, f"{value} is not a value of '{name}'")

    def instruction(self, instruction: Instruction) -> Iterator[RuleFault]:
        schema = self.book.schemas.get(instruction.schema)
        if schema is None:
            yield RuleFault(instruction.place, f"unknown schema '{instruction.schema}'")
            return
        given = [*instruction.sets, *(pair for form in instruction.forms for pair in form.sets)]
        for modifiers in instruction.modifiers:
            enum = modifiers.origin.enum if isinstance(modifiers.origin, EnumOrigin) else None
            if enum is not None and enum not in self.book.enums:
                yield RuleFault(instruction.place, f"unknown enum '{enum}'")
                continue
            given += self.defaults(modifiers)
            for name in modifiers.facts:
                if name not in schema.fields:
                    yield RuleFault(instruction.place, f"schema '{schema.name}' has no fact '{name}'")
                elif enum is not None and not self.draws(schema, name, enum):
                    yield RuleFault(instruction.place, f"not every {enum} is a value of '{name}'")
        for name, value in given:
            if name not in schema.fields:
                yield RuleFault(instruction.place, f"schema '{schema.name}' has no fact '{name}'")
            elif not self.belongs(schema, name, value):
                yield RuleFault(instruction.place, f"{value} is not a value of '{name}'")
        if "ptx" in self.book.schemas and "ptx" not in self.book.lineage(schema.name):
            yield RuleFault(
                instruction.place, f"schema '{schema.name}' does not extend 'ptx', as an instruction's must"
            )
        if not instruction.forms:
            yield RuleFault(instruction.place, f"instruction '{instruction.name}' has no operands clause")

    def draws(self, schema: Schema, name: str, enum: str) -> bool:
        return all(self.belongs(schema, name, member) for member in self.book.enums[enum].members)

    def defaults(self, modifiers: Modifiers) -> Iterator[tuple[str, Scalar]]:
        if modifiers.default is not None:
            yield from zip(modifiers.facts, modifiers.default, strict=True)

    def rule(self, rule: Rule) -> Iterator[RuleFault]:
        schema = self.book.schemas.get(rule.schema)
        if schema is None:
            yield RuleFault(rule.place, f"unknown schema '{rule.schema}'")
            return
        for code in rule.replaces:
            known = self.book.rules.get(code)
            if known is None or known.schema == rule.schema or known.schema not in self.book.lineage(rule.schema):
                yield RuleFault(
                    rule.place, f"{rule.code} replaces '{code}', which is not a rule that '{rule.schema}' inherits"
                )
        contracts = (rule.contract,) if rule.contract else CONTRACTS
        for code in rule.refines:
            if code not in self.book.rules:
                yield RuleFault(rule.place, f"{rule.code} refines '{code}', which is not a rule")
            elif self.book.rules[code].severity.rank < rule.severity.rank:
                # Else a milder complaint would hide a graver one, and what is illegal would pass.
                yield RuleFault(
                    rule.place, f"{rule.code} refines {code}, which is only a {self.book.rules[code].severity}"
                )
        for contract in contracts:
            scope = Scope(self.book, schema, contract)
            try:
                for condition in (rule.when, rule.require) if rule.when is not None else (rule.require,):
                    scope.expect(condition, BOOLEAN)
            except _Mismatch as fault:
                yield RuleFault(Place(rule.place.source, fault.span), str(fault))
                return
            for text in (rule.message, rule.hint):
                for placeholder in PLACEHOLDER.finditer(text):
                    if problem := scope.placeholder(placeholder[1]):
                        yield RuleFault(rule.place, f"{rule.code}: placeholder {placeholder[0]}: {problem}")
                        return
        for example in (*rule.passing, *rule.failing):
            for name, value in example.facts.items():
                if name not in schema.fields:
                    yield RuleFault(example.place, f"{rule.code}: schema '{schema.name}' has no fact '{name}'")
                elif not self.belongs(schema, name, value):
                    yield RuleFault(example.place, f"{rule.code}: {value} is not a value of '{name}'")

    def fragment(self, fragment: Fragment) -> Iterator[RuleFault]:
        if not fragment.sources:
            yield RuleFault(fragment.place, "a fragment needs a source")
        schema, scope = fragment.schema, Scope(self.book, fragment.schema, fragment.contract or HARDWARE)
        for taken in fragment.taken:
            if isinstance(taken.domain, Enumerated) and taken.kind not in self.book.enums:
                yield RuleFault(fragment.place, f"'{taken.kind}' is neither integer nor bits nor an enum")
                return
            if taken.default is not None and len(taken.default) != len(taken.facts):
                yield RuleFault(fragment.place, f"{len(taken.facts)} facts need as many values after 'else'")
            for name, value in zip(taken.facts, taken.default or (), strict=False):
                if not self.belongs(schema, name, value):
                    yield RuleFault(fragment.place, f"{value} is not a value of '{name}'")
            if taken.parameter is None and taken.default is None and not fragment.applies:
                yield RuleFault(fragment.place, f"'{taken.facts[0]}' has no value")
        for applies in fragment.applies:
            yield from self.applies(fragment, applies)
        roles = {row.role for row in fragment.rows}
        for row in fragment.rows:
            if row.role not in MMA_ROLES and row.role not in COPY_ROLES:
                yield RuleFault(fragment.place, f"unknown operand '{row.role}'")
            if isinstance(row.layout, str) and row.layout not in roles:
                yield RuleFault(fragment.place, f"this fragment has no operand '{row.layout}'")
            try:
                if row.when is not None:
                    scope.expect(row.when, BOOLEAN)
                for expression in expressions(row):
                    scope.expect(expression, INTEGER)
            except _Mismatch as fault:
                yield RuleFault(Place(fragment.place.source, fault.span), str(fault))
                return

    def word(self, word: Word) -> Iterator[RuleFault]:
        if not word.sources:
            yield RuleFault(word.place, f"'{word.name}' needs a source")
        if word.schema not in self.book.schemas:
            yield RuleFault(word.place, f"unknown schema '{word.schema}'")
            return
        schema = self.book.schemas[word.schema]
        try:
            for contract in (word.contract,) if word.contract else CONTRACTS:
                scope = Scope(self.book, schema, contract)
                if word.when is not None:
                    scope.expect(word.when, BOOLEAN)
                for field in word.fields:
                    scope.expect(field.value, INTEGER)
        except _Mismatch as fault:
            yield RuleFault(Place(word.place.source, fault.span), str(fault))
            return
        for field in word.fields:
            if not invertible(field.value):
                yield RuleFault(
                    word.place,
                    f"'{field.name}' of '{word.name}' cannot be read back: a field holds a constant, a fact, a fact "
                    "divided by a number, or what a table has for facts",
                )

    def canonical(self, canonical: Canonical) -> Iterator[RuleFault]:
        if not canonical.sources:
            yield RuleFault(canonical.place, f"'{canonical.name}' needs a source")
        for form in canonical.forms:
            for expression in leaves(form.layout):
                for fact in sorted(facts_of(expression) - set(FORM_FACTS)):
                    yield RuleFault(canonical.place, f"unknown '{fact}' in a form; use {', '.join(FORM_FACTS)}")

    def lowering(self, lowering: Lowering) -> Iterator[RuleFault]:
        """That an atom's facts give those of the instruction, and that its lines can be written."""
        if not lowering.sources:
            yield RuleFault(lowering.place, f"the lowering of '{lowering.schema}' needs a source")
        for name in (lowering.schema, lowering.to):
            if name not in self.book.schemas:
                yield RuleFault(lowering.place, f"unknown schema '{name}'")
                return
        schema, to = self.book.schemas[lowering.schema], self.book.schemas[lowering.to]
        for contract in (lowering.contract,) if lowering.contract else CONTRACTS:
            scope = Scope(self.book, schema, contract)
            fields = {**self.word_fields(lowering.lines, contract), **to.fields}
            try:
                if lowering.when is not None:
                    scope.expect(lowering.when, BOOLEAN)
                self.carried(lowering.carried, scope, fields, f"schema '{to.name}'")
            except _Mismatch as fault:
                yield RuleFault(Place(lowering.place.source, fault.span), str(fault))
            yield from self.lines(lowering.lines, scope, self.operands(to.name), lowering.place)

    def template(self, template: Template) -> Iterator[RuleFault]:
        """That a template's operands are those of an instruction, and that its lines can be written."""
        if not template.sources:
            yield RuleFault(template.place, f"template '{template.name}' needs a source")
        if template.schema not in self.book.schemas:
            yield RuleFault(template.place, f"unknown schema '{template.schema}'")
            return
        schema = self.book.schemas[template.schema]
        operands = self.operands(schema.name)
        for name in (*template.writes, *template.updates):
            # Without an instruction the lines name registers themselves.
            if name not in operands and (operands or not REGISTER_NAME.fullmatch(name)):
                yield RuleFault(template.place, f"no instruction on '{schema.name}' has an operand '{name}'")
        # What the atom alone says, the template has a default for.
        given: dict[str, Domain] = {name: Bounded(0, 0) for name, _ in template.defaults}
        schema = replace(schema, fields={**given, **schema.fields})
        for contract in (template.contract,) if template.contract else CONTRACTS:
            scope = Scope(self.book, schema, contract)
            try:
                if template.when is not None:
                    scope.expect(template.when, BOOLEAN)
                self.carried(
                    template.carried, scope, self.word_fields(template.lines, contract), "no word of its lines"
                )
            except _Mismatch as fault:
                yield RuleFault(Place(template.place.source, fault.span), str(fault))
            yield from self.lines(template.lines, scope, operands, template.place)

    def contradiction(self, item: Contradiction) -> Iterator[RuleFault]:
        """That what a contradiction names is declared, and its claim can be computed."""
        for problem in self.unknown_in(item):
            yield RuleFault(item.place, f"{item.code}: {problem}")

    def unknown_in(self, item: Contradiction) -> Iterator[str]:
        """The names in a contradiction that mean nothing, and what is wrong with its claim."""
        from tileproof.rulebase import contradiction as c  # noqa: PLC0415  not where the book is in the cache

        if item.schema is not None and item.schema not in self.book.schemas:
            yield f"unknown schema '{item.schema}'"
            return
        match item.proof:
            case c.Always(expression) | c.Some(expression):
                if item.schema is None:
                    yield "a claim needs a schema: `on NAME`"
                    return
                try:
                    claim = c.counted(self.book.tables, PAGES, expression)
                    Scope(self.book, self.book.schemas[item.schema], PAGES).expect(claim, BOOLEAN)
                except _Mismatch as fault:
                    yield str(fault)
            case c.Accepts(accepting, code, facts):
                if accepting not in CONTRACTS or code not in self.book.rules:
                    yield f"no contract '{accepting}' or no rule '{code}'"
                    return
                schema = self.book.schemas[item.schema or self.book.rules[code].schema]
                for name, value in facts:
                    if name not in schema.fields or not self.belongs(schema, name, value):
                        yield f"{value} is not a value of a fact '{name}' of '{schema.name}'"
            case c.Notes(code):
                if code not in self.book.rules:
                    yield f"no rule '{code}'"
            case c.Overlap(word, names):
                known = {field.name for one in self.book.words.get((word, PAGES), ()) for field in one.fields}
                yield from (f"word '{word}' has no field '{name}'" for name in names if name not in known)
            case c.Differ(words):
                known = {f"'{name}' in {contract}" for name, contract in self.book.words}
                named = (f"'{name}' in {contract}" for name, contract in words)
                yield from (f"no word {one}" for one in named if one not in known)

    def carried(
        self,
        carried: tuple[tuple[str, Expression, Expression | None], ...],
        scope: Scope,
        fields: dict[str, Domain],
        where: str,
    ) -> None:
        """Raise unless derived facts are facts of the place, and of their kind."""
        for name, expression, when in carried:
            if when is not None:
                scope.expect(when, BOOLEAN)
            if name not in fields:
                raise _Mismatch(f"{where} has no fact '{name}'", expression.span)
            domain = fields[name]
            scope.expect(expression, domain.enum if isinstance(domain, Enumerated) else INTEGER)

    def word_fields(self, lines: tuple[Line, ...], contract: str) -> dict[str, Domain]:
        """The facts of the words that lines pack."""
        found: dict[str, Domain] = {}
        for text in (text for line in lines for held, text in pieces(line.text) if held):
            name = text.removeprefix(f"{WORD}(").removesuffix(")").strip()
            for word in self.book.words.get((name, contract), ()) if text.startswith(f"{WORD}(") else ():
                found.update(self.book.schemas[word.schema].fields if word.schema in self.book.schemas else {})
        return found

    def operands(self, schema: str) -> frozenset[str]:
        """The operands of the instructions on a schema or on those that extend it."""
        instructions = [item for same in self.book.instructions.values() for item in same]
        known = [item for item in instructions if item.schema in self.book.schemas]
        fitting = [item for item in known if schema in self.book.lineage(item.schema)]
        return frozenset(name for item in fitting for form in item.forms for names in form.items for name in names)

    def lines(
        self, lines: tuple[Line, ...], scope: Scope, operands: frozenset[str], place: Place
    ) -> Iterator[RuleFault]:
        for line in lines:
            if line.when is not None:
                try:
                    scope.expect(line.when, BOOLEAN)
                except _Mismatch as fault:
                    yield RuleFault(Place(place.source, fault.span), str(fault))
            for held, text in pieces(line.text):
                if held and (wrong := self.hole(text, scope, operands)):
                    yield RuleFault(place, f"{{{text}}}: {wrong}")
                elif not held and ("{" in text or "}" in text) and text not in ("{", "}"):
                    yield RuleFault(place, f"unmatched brace; write a literal brace twice: {text}")

    def hole(self, text: str, scope: Scope, operands: frozenset[str]) -> str | None:
        """What is wrong with a placeholder of a template, or None."""
        if text == INSTRUCTION or text in operands:
            return None
        try:
            expression = parsed(text)
        except SyntaxFault as fault:
            return str(fault)
        if not isinstance(expression, Lookup) or expression.table not in FUNCTIONS:
            return scope.placeholder(text)
        first = expression.arguments[0] if expression.arguments else None
        if not isinstance(first, Fact):
            return f"the first argument of {expression.table} must be a name"
        if expression.table == REGISTERS:
            return (
                scope.sum(expression.arguments[1]) if len(expression.arguments) == 2 else "registers requires a number"
            )
        if expression.table == WORD:
            known = (first.name, scope.contract) in self.book.words
            return None if known else f"unknown word '{first.name}'"
        return None if first.name in operands else f"no instruction has an operand '{first.name}'"

    def applies(self, fragment: Fragment, applies: Applies) -> Iterator[RuleFault]:
        """How the facts of an instruction give those of a fragment."""
        if applies.schema not in self.book.schemas:
            yield RuleFault(fragment.place, f"unknown schema '{applies.schema}'")
            return
        scope = Scope(self.book, self.book.schemas[applies.schema], fragment.contract or HARDWARE)
        own = fragment.schema.fields
        try:
            for name, expression in applies.given:
                if name not in own:
                    raise _Mismatch(f"this fragment has no fact '{name}'", expression.span)
                domain = own[name]
                scope.expect(expression, domain.enum if isinstance(domain, Enumerated) else INTEGER)
            if applies.when is not None:
                scope.expect(applies.when, BOOLEAN)
        except _Mismatch as fault:
            yield RuleFault(Place(fragment.place.source, fault.span), str(fault))


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that an expression may use."""

    book: Rulebook
    schema: Schema
    contract: str

    def placeholder(self, text: str) -> str | None:
        """What is wrong with a placeholder, or None."""
        try:
            expression = parsed(text)
            if isinstance(expression, Lookup) and expression.table in MESSAGE_FUNCTIONS:
                if len(expression.arguments) != 1 or not isinstance(expression.arguments[0], Fact):
                    return f"{expression.table} requires one fact"
                expression = expression.arguments[0]
            if isinstance(expression, Lookup) and expression.table == VERSION:
                if len(expression.arguments) != 1:
                    return f"{VERSION} requires one version"
                self.expect(expression.arguments[0], INTEGER)
                return None
            self.kind(expression)
        except (SyntaxFault, _Mismatch) as fault:
            return str(fault)
        return None

    def sum(self, expression: Expression) -> str | None:
        """What is wrong with an integer, or None."""
        try:
            self.expect(expression, INTEGER)
        except _Mismatch as fault:
            return str(fault)
        return None

    def expect(self, expression: Expression, wanted: Kind) -> None:
        """Raise unless the expression is of that kind; a symbol becomes a member of the enum that is wanted."""
        if isinstance(expression, Symbol):
            enums = [self.book.enums[name] for name in _enums(wanted) if name in self.book.enums]
            if not enums:
                raise _Mismatch(f"expected {_name(wanted)}, found '{expression.name}'", expression.span)
            if not any(expression.name in enum.members for enum in enums):
                raise _Mismatch(f"expected {_name(wanted)}, found '{expression.name}'", expression.span)
            return
        found = self.kind(expression)
        if wanted is not None and found is not None and found != wanted and not _enums(found) & _enums(wanted):
            raise _Mismatch(f"expected {_name(wanted)}, found {_name(found)}", expression.span)

    def kind(self, expression: Expression) -> Kind:
        """The kind of an expression, after checking everything inside it."""
        match expression:
            case Number():
                return INTEGER
            case Symbol():
                return None
            case Fact():
                return self.fact(expression)
            case Lookup():
                return self.lookup(expression)
            case Arithmetic():
                self.expect(expression.left, INTEGER)
                self.expect(expression.right, INTEGER)
                if expression.operator in "/%" and not self.positive(expression.right):
                    raise _Mismatch("a divisor must be positive, or a table of positive numbers", expression.span)
                return INTEGER
            case Comparison():
                if expression.operator not in ("==", "!="):
                    self.expect(expression.left, INTEGER)
                    self.expect(expression.right, INTEGER)
                else:
                    self.alike(expression.left, expression.right)
                return BOOLEAN
            case Membership():
                self.membership(expression.item, expression.collection)
                return BOOLEAN
            case Members():
                kinds = {self.kind(item) for item in expression.items}
                if len(kinds) != 1:
                    raise _Mismatch("the members of a set must be of one kind", expression.span)
                only = kinds.pop()
                return SetOf(only) if isinstance(only, str) else None
            case Range():
                return SetOf(INTEGER)
            case Not():
                self.expect(expression.operand, BOOLEAN)
                return BOOLEAN
            case Connective():
                for operand in expression.operands:
                    self.expect(operand, BOOLEAN)
                return BOOLEAN

    def fact(self, fact: Fact) -> Kind:
        domain = self.schema.fields.get(fact.name)
        if domain is None:
            raise _Mismatch(f"schema '{self.schema.name}' has no fact '{fact.name}'", fact.span)
        return domain.enum if isinstance(domain, Enumerated) else INTEGER

    def lookup(self, lookup: Lookup) -> Kind:
        table = self.book.tables.get((lookup.table, self.contract))
        if table is None:
            raise _Mismatch(f"unknown table '{lookup.table}' in contract {self.contract}", lookup.span)
        if len(lookup.arguments) != len(table.keys):
            raise _Mismatch(f"table '{table.name}' has {len(table.keys)} keys", lookup.span)
        for argument, (_, enum) in zip(lookup.arguments, table.keys, strict=True):
            self.expect(argument, enum)
        column = table.column(lookup.column)
        if column is None:
            raise _Mismatch(f"table '{table.name}' has the columns {', '.join(table.columns)}", lookup.span)
        return self.column_kind(table, column, lookup.span)

    def column_kind(self, table: Table, column: int, span: Span) -> Kind:
        cells = [row[column] for row in table.rows.values()]
        if all(isinstance(cell, int) for cell in cells):
            return INTEGER
        scalars = all(isinstance(cell, (int, str)) for cell in cells)
        items = {item for cell in cells for item in ([cell] if isinstance(cell, (int, str)) else cell)}
        if all(isinstance(item, int) for item in items):
            return SetOf(INTEGER)
        fitting = tuple(enum.name for enum in self.book.enums.values() if items <= enum.members.keys())
        if not fitting:
            raise _Mismatch(f"a column of table '{table.name}' holds values of different kinds", span)
        kind = fitting[0] if len(fitting) == 1 else OneOf(fitting)
        return kind if scalars else SetOf(kind)

    def positive(self, divisor: Expression) -> bool:
        if isinstance(divisor, Number):
            return divisor.value > 0
        if isinstance(divisor, Lookup):
            table = self.book.tables[divisor.table, self.contract]
            column = table.column(divisor.column)
            cells = [row[column] for row in table.rows.values()] if column is not None else []
            return all(isinstance(cell, int) and cell > 0 for cell in cells)
        return False

    def alike(self, left: Expression, right: Expression) -> None:
        kind = self.kind(left) or self.kind(right)
        if kind is None:
            raise _Mismatch("two members of enums are compared with each other", left.span)
        if not self.also(left, self.kind(right)) and not self.also(right, self.kind(left)):
            self.expect(left, kind)
            self.expect(right, kind)

    def membership(self, item: Expression, collection: Expression) -> None:
        if isinstance(collection, Members):
            for member in collection.items:
                self.alike(item, member)
            return
        kind = self.kind(collection)
        if not isinstance(kind, SetOf):
            raise _Mismatch(f"expected a set, found {_name(kind)}", collection.span)
        if not self.also(collection, self.kind(item)):
            self.expect(item, kind.of)

    def also(self, lookup: Expression, kind: Kind) -> bool:
        """Whether all that a column holds is of an enum too: several enums may have members of the same names."""
        if not isinstance(lookup, Lookup) or not isinstance(kind, str) or kind not in self.book.enums:
            return False
        table = self.book.tables[lookup.table, self.contract]
        column = table.column(lookup.column)
        assert column is not None, "the caller asked for the kind of the column"
        cells = [row[column] for row in table.rows.values()]
        items = {item for cell in cells for item in ([cell] if isinstance(cell, (int, str)) else cell)}
        return items <= self.book.enums[kind].members.keys()


def _enums(kind: Kind) -> frozenset[str]:
    """The enums that a kind may be."""
    if isinstance(kind, OneOf):
        return frozenset(kind.enums)
    return frozenset({kind}) if isinstance(kind, str) else frozenset()


def _name(kind: Kind) -> str:
    if isinstance(kind, SetOf):
        return f"set of {kind.of}"
    return str(kind) if kind is not None else "member of an enum"
