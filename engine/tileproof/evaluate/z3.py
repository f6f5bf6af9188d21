"""The other reading of a rule: a Z3 formula over one variable a fact. The only importer of z3.

Facts are integers; members of enums are numbered, each name once for all enums. Every term comes with the condition
under which it is defined, because a rule is silent where a table it reads has no row; ``and`` and ``or`` read their
right side only where the left one leaves the question open, as Python does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TypeAlias

import z3

from tileproof.base.records import dataclass
from tileproof.rulebase.book import Ruleset
from tileproof.rulebase.declarations import Bounded, Rule
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
    Range,
    Scalar,
    Symbol,
    Value,
)

Formula: TypeAlias = z3.BoolRef


@dataclass(frozen=True, slots=True)
class Reading:
    """A rule as formulas: where it applies (all it reads is defined, ``when`` is true) and where it is violated."""

    applies: Formula
    violated: Formula

    @property
    def holds(self) -> Formula:
        """Where the rule applies and is kept."""
        return z3.And(self.applies, z3.Not(self.violated))

    @property
    def kept(self) -> Formula:
        """Where the rule is not violated, be it silent."""
        return z3.Not(self.violated)

    @property
    def silent(self) -> Formula:
        """Where the rule does not apply."""
        return z3.Not(self.applies)


_TRUE = z3.BoolVal(True)


class Encoder:
    """Formulas over the facts of one schema in one contract."""

    def __init__(self, ruleset: Ruleset, schema: str) -> None:
        self.ruleset = ruleset
        self.schema = ruleset.book.schemas[schema]
        self.variables = {name: z3.Int(name) for name in self.schema.fields}

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each name that is a member of an enum."""
        names = dict.fromkeys(name for enum in self.ruleset.book.enums.values() for name in enum.members)
        return {name: number for number, name in enumerate(names)}

    def number(self, value: Scalar) -> int:
        """A value of a fact as an integer."""
        return value if isinstance(value, int) else self.numbers[value]

    def domain(self, name: str) -> Formula:
        """That a fact has a value of its domain."""
        variable = self.variables[name]
        match self.schema.fields[name]:
            case Bounded(first, last):
                return z3.And(variable >= first, variable <= last)
            case _:
                values = self.ruleset.book.domain(self.schema.name, name)
                return z3.Or([variable == self.number(value) for value in values])

    def domains(self) -> list[Formula]:
        """That all facts have values of their domains."""
        return [self.domain(name) for name in self.variables]

    def assigned(self, facts: Mapping[str, Scalar]) -> Formula:
        """That facts have these values."""
        return z3.And([self.variables[name] == self.number(value) for name, value in facts.items()])

    def reading(self, rule: Rule) -> Reading:
        """The formulas of a rule."""
        when, when_defined = self.term(rule.when) if rule.when is not None else (_TRUE, _TRUE)
        require, defined = self.term(rule.require)
        applies = z3.And(when_defined, when, defined)
        return Reading(applies, z3.And(applies, z3.Not(require)))

    def true(self, expression: Expression) -> Formula:
        """That an expression is defined and true."""
        value, defined = self.term(expression)
        return z3.And(defined, value)

    def not_true(self, expression: Expression) -> Formula:
        """That an expression is false, or reads a row that a table does not have."""
        return z3.Not(self.true(expression))

    def term(self, expression: Expression) -> tuple[z3.ExprRef, Formula]:
        """The value of an expression and where it is defined."""
        match expression:
            case Number(value):
                return z3.IntVal(value), _TRUE
            case Symbol(name):
                return z3.IntVal(self.numbers[name]), _TRUE
            case Fact(name):
                return self.variables[name], _TRUE
            case Lookup():
                return self.lookup(expression)
            case Arithmetic(operator, left, right):
                (a, a_defined), (b, b_defined) = self.term(left), self.term(right)
                # Z3's div and mod round down for positive divisors, the only ones the language has.
                compute = {"+": a + b, "-": a - b, "*": a * b, "/": a / b, "%": a % b}
                return compute[operator], z3.And(a_defined, b_defined)
            case Comparison(operator, left, right):
                (a, a_defined), (b, b_defined) = self.term(left), self.term(right)
                compare = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
                return compare[operator], z3.And(a_defined, b_defined)
            case Membership(item, collection):
                value, defined = self.term(item)
                belongs, known = self.belongs(value, collection)
                return belongs, z3.And(defined, known)
            case Not(operand):
                value, defined = self.term(operand)
                return z3.Not(value), defined
            case Connective(operator, operands):
                return self.connective(operator, operands)
            case Members() | Range():
                raise TypeError("a set stands alone only after 'in'")

    def connective(self, operator: str, operands: Iterable[Expression]) -> tuple[z3.ExprRef, Formula]:
        value: z3.ExprRef | None = None
        defined: Formula = _TRUE
        for operand in operands:
            right, right_defined = self.term(operand)
            if value is None:
                value, defined = right, right_defined
                continue
            decided = z3.Not(value) if operator == "and" else value
            defined = z3.And(defined, z3.Or(decided, right_defined))
            value = z3.And(value, right) if operator == "and" else z3.Or(value, right)
        assert value is not None, "a connective has operands"
        return value, defined

    def belongs(self, value: z3.ExprRef, collection: Expression) -> tuple[Formula, Formula]:
        match collection:
            case Members(items):
                terms = [self.term(item) for item in items]
                return z3.Or([value == item for item, _ in terms]), z3.And([defined for _, defined in terms])
            case Range(first, last, step):
                return _in_range(value, range(first, last + 1, step)), _TRUE
            case Lookup():
                matches, arguments_defined = self.rows(collection)
                inside = z3.Or([z3.And(match, self.contains(cell, value)) for match, cell in matches])
                return inside, z3.And(arguments_defined, z3.Or([match for match, _ in matches]))
            case _:
                raise TypeError("checked when the rulebook was loaded")

    def contains(self, cell: Value, value: z3.ExprRef) -> Formula:
        if isinstance(cell, range):
            return _in_range(value, cell)
        if isinstance(cell, frozenset):
            return z3.Or([value == self.number(item) for item in sorted(cell, key=str)])
        raise TypeError("checked when the rulebook was loaded")

    def lookup(self, lookup: Lookup) -> tuple[z3.ExprRef, Formula]:
        matches, defined = self.rows(lookup)
        value: z3.ExprRef = z3.IntVal(0)
        for match, cell in matches:
            if isinstance(cell, (frozenset, range)):
                raise TypeError("checked when the rulebook was loaded")
            value = z3.If(match, z3.IntVal(self.number(cell)), value)
        return value, z3.And(defined, z3.Or([match for match, _ in matches]))

    def rows(self, lookup: Lookup) -> tuple[list[tuple[Formula, Value]], Formula]:
        """For each row, that its keys match, and the cell that is looked up; and that the keys are defined."""
        table = self.ruleset.book.tables[lookup.table, self.ruleset.contract]
        column = table.column(lookup.column)
        assert column is not None, "checked when the rulebook was loaded"
        arguments = [self.term(argument) for argument in lookup.arguments]
        matches = [
            (
                z3.And([a == self.numbers[key] for (a, _), key in zip(arguments, keys, strict=True)]),
                row[column],
            )
            for keys, row in table.rows.items()
        ]
        return matches, z3.And([defined for _, defined in arguments])


def _in_range(value: z3.ExprRef, values: range) -> Formula:
    inside = z3.And(value >= values.start, value <= values[-1])
    return z3.And(inside, (value - values.start) % values.step == 0) if values.step != 1 else inside


def points(encoder: Encoder, names: tuple[str, ...], values: Iterable[tuple[int, ...]]) -> Formula:
    """That the facts ``names``, as numbers, are one of these points; even runs along the last fact become ranges."""
    runs: list[tuple[tuple[int, ...], range]] = []
    for value in sorted(values):
        head, last = value[:-1], value[-1]
        if runs and runs[-1][0] == head:
            run = runs[-1][1]
            step = run.step if len(run) > 1 else last - run.start
            if last == run[-1] + step:
                runs[-1] = (head, range(run.start, last + 1, step))
                continue
        runs.append((head, range(last, last + 1)))
    variables = [encoder.variables[name] for name in names]
    return z3.Or(
        [
            z3.And(
                *[variable == at for variable, at in zip(variables, head, strict=False)],
                _in_range(variables[-1], run),
            )
            for head, run in runs
        ]
    )


def configuration(encoder: Encoder, model: z3.ModelRef) -> dict[str, Scalar]:
    """A model in the terms of the schema."""
    found: dict[str, Scalar] = {}
    for name, variable in encoder.variables.items():
        number = model.eval(variable, model_completion=True).as_long()
        if isinstance(encoder.schema.fields[name], Bounded):
            found[name] = number
        else:
            domain = encoder.ruleset.book.domain(encoder.schema.name, name)
            found[name] = next(value for value in domain if encoder.number(value) == number)
    return found
