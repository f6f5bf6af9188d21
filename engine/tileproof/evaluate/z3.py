"""The other reading of a rule: a Z3 formula over one variable a fact. The only importer of z3.

Facts are integers; members of enums are numbered, each name once for all enums. Every term comes with the condition
under which it is defined, because a rule is silent where a table it reads has no row; ``and`` and ``or`` read their
right side only where the left one leaves the question open, as Python does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

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
        return _all([self.applies, z3.Not(self.violated)])

    @property
    def kept(self) -> Formula:
        """Where the rule is not violated, be it silent."""
        return z3.Not(self.violated)

    @property
    def silent(self) -> Formula:
        """Where the rule does not apply."""
        return z3.Not(self.applies)


_TRUE = z3.BoolVal(True)

# The operators of Z3's Python look for the sort that all operands have and change each to it: that took more time than
# the solver. Here the sorts are known, and an integer is made once.
_integer = lru_cache(maxsize=1 << 16)(z3.IntVal)


def _all(formulas: Sequence[Formula]) -> Formula:
    return _joined(z3.Z3_mk_and, formulas)


def _any(formulas: Sequence[Formula]) -> Formula:
    return _joined(z3.Z3_mk_or, formulas)


def _joined(make: Callable[..., Any], formulas: Sequence[Formula]) -> Formula:
    if len(formulas) == 1:
        return formulas[0]
    context = z3.main_ctx()
    return z3.BoolRef(make(context.ref(), len(formulas), (z3.Ast * len(formulas))(*[f.ast for f in formulas])), context)


def _is(value: z3.ArithRef, number: int) -> Formula:
    return _compared(z3.Z3_mk_eq, value, number)


def _compared(make: Callable[..., Any], value: z3.ArithRef, number: int) -> Formula:
    context = z3.main_ctx()
    return z3.BoolRef(make(context.ref(), value.ast, _integer(number).ast), context)


class Encoder:
    """Formulas over the facts of one schema in one contract."""

    def __init__(self, ruleset: Ruleset, schema: str) -> None:
        self.ruleset = ruleset
        self.schema = ruleset.book.schemas[schema]
        self.variables = {name: z3.Int(name) for name in self.schema.fields}
        self._domains: dict[str, Formula] = {}

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
        if name not in self._domains:
            variable = self.variables[name]
            match self.schema.fields[name]:
                case Bounded(first, last):
                    self._domains[name] = _in_range(variable, range(first, last + 1))
                case _:
                    values = self.ruleset.book.domain(self.schema.name, name)
                    self._domains[name] = _any([_is(variable, self.number(value)) for value in values])
        return self._domains[name]

    def assigned(self, facts: Mapping[str, Scalar]) -> Formula:
        """That facts have these values."""
        return _all([_is(self.variables[name], self.number(value)) for name, value in facts.items()])

    def reading(self, rule: Rule) -> Reading:
        """The formulas of a rule."""
        when, when_defined = self.term(rule.when) if rule.when is not None else (_TRUE, _TRUE)
        require, defined = self.term(rule.require)
        applies = _all([when_defined, when, defined])
        return Reading(applies, _all([applies, z3.Not(require)]))

    def true(self, expression: Expression) -> Formula:
        """That an expression is defined and true."""
        value, defined = self.term(expression)
        return _all([defined, value])

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
                return compute[operator], _all([a_defined, b_defined])
            case Comparison(operator, left, right):
                (a, a_defined), (b, b_defined) = self.term(left), self.term(right)
                compare = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
                return compare[operator], _all([a_defined, b_defined])
            case Membership(item, collection):
                value, defined = self.term(item)
                belongs, known = self.belongs(value, collection)
                return belongs, _all([defined, known])
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
            defined = _all([defined, _any([decided, right_defined])])
            value = _all([value, right]) if operator == "and" else _any([value, right])
        assert value is not None, "a connective has operands"
        return value, defined

    def belongs(self, value: z3.ExprRef, collection: Expression) -> tuple[Formula, Formula]:
        match collection:
            case Members(items):
                terms = [self.term(item) for item in items]
                return _any([value == item for item, _ in terms]), _all([defined for _, defined in terms])
            case Range(first, last, step):
                return _in_range(value, range(first, last + 1, step)), _TRUE
            case Lookup():
                matches, arguments_defined = self.rows(collection)
                inside = _any([_all([match, self.contains(cell, value)]) for match, cell in matches])
                return inside, _all([arguments_defined, _any([match for match, _ in matches])])
            case _:
                raise TypeError("checked when the rulebook was loaded")

    def contains(self, cell: Value, value: z3.ExprRef) -> Formula:
        if isinstance(cell, range):
            return _in_range(value, cell)
        if isinstance(cell, frozenset):
            return _any([_is(value, self.number(item)) for item in sorted(cell, key=str)])
        raise TypeError("checked when the rulebook was loaded")

    def lookup(self, lookup: Lookup) -> tuple[z3.ExprRef, Formula]:
        matches, defined = self.rows(lookup)
        value: z3.ExprRef = z3.IntVal(0)
        for match, cell in matches:
            if isinstance(cell, (frozenset, range)):
                raise TypeError("checked when the rulebook was loaded")
            value = z3.If(match, _integer(self.number(cell)), value)
        return value, _all([defined, _any([match for match, _ in matches])])

    def rows(self, lookup: Lookup) -> tuple[list[tuple[Formula, Value]], Formula]:
        """For each row, that its keys match, and the cell that is looked up; and that the keys are defined."""
        table = self.ruleset.book.tables[lookup.table, self.ruleset.contract]
        column = table.column(lookup.column)
        assert column is not None, "checked when the rulebook was loaded"
        arguments = [self.term(argument) for argument in lookup.arguments]
        matches = [
            (
                _all([_is(a, self.numbers[key]) for (a, _), key in zip(arguments, keys, strict=True)]),
                row[column],
            )
            for keys, row in table.rows.items()
        ]
        return matches, _all([defined for _, defined in arguments])


def _in_range(value: z3.ArithRef, values: range) -> Formula:
    if len(values) == 1:
        return _is(value, values.start)
    inside = [_compared(z3.Z3_mk_ge, value, values.start), _compared(z3.Z3_mk_le, value, values[-1])]
    if values.step != 1:
        inside.append((value - values.start) % values.step == 0)
    return _all(inside)


def points(encoder: Encoder, counts: Mapping[str, int], values: Iterable[tuple[int, ...]]) -> Formula:
    """That facts, as numbers, are one of these points.

    Points that differ in few facts are told apart by those alone: from the last fact on, the values are put together
    behind which the same may follow, and a fact of which every value has the same behind it is left out.

    Args:
        counts: how many values each fact may have here at all, the facts in the order of the coordinates.
    """
    after: list[Formula | None] = [None]  # what may follow, by number; None: anything
    level = [(value[:-1], value[-1], 0) for value in values]
    for name, count in reversed(tuple(counts.items())):
        behind: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        for head, number, rest in level:
            behind.setdefault(head, []).append((number, rest))
        known: dict[tuple[tuple[int, int], ...], int] = {}
        level = []
        for head, pairs in behind.items():
            alike = tuple(sorted(set(pairs)))
            if alike not in known:
                known[alike] = len(after)
                after.append(_following(encoder.variables[name], count, alike, after))
            level.append((head[:-1], head[-1] if head else 0, known[alike]))
    if not level:
        return z3.BoolVal(False)
    whole = after[-1]
    return _TRUE if whole is None else whole


def _following(
    variable: z3.ArithRef, count: int, pairs: Sequence[tuple[int, int]], after: Sequence[Formula | None]
) -> Formula | None:
    """That a fact has one of some values, and what follows is what may follow there; None where it is anything.

    Args:
        count: of the values that the fact may have.
        pairs: the values, in order, each with the number of what may follow.
    """
    numbers: dict[int, list[int]] = {}
    for number, rest in pairs:
        numbers.setdefault(rest, []).append(number)
    parts = []
    for rest, held in numbers.items():
        among = [] if len(held) == count else [_among(variable, held)]
        following = after[rest]
        among += [] if following is None else [following]
        if not among:
            return None
        parts.append(_all(among))
    return _any(parts)


def _among(variable: z3.ArithRef, numbers: Sequence[int]) -> Formula:
    """That a fact has one of these values, which are in order; even runs become ranges."""
    runs: list[range] = []
    for number in numbers:
        if runs:
            run = runs[-1]
            step = run.step if len(run) > 1 else number - run.start
            if number == run[-1] + step:
                runs[-1] = range(run.start, number + 1, step)
                continue
        runs.append(range(number, number + 1))
    return _any([_in_range(variable, run) for run in runs])


def configuration(encoder: Encoder, model: z3.ModelRef, facts: Iterable[str]) -> dict[str, Scalar]:
    """The facts of a model in the terms of the schema."""
    found: dict[str, Scalar] = {}
    for name in facts:
        number = model.eval(encoder.variables[name], model_completion=True).as_long()
        if isinstance(encoder.schema.fields[name], Bounded):
            found[name] = number
        else:
            domain = encoder.ruleset.book.domain(encoder.schema.name, name)
            found[name] = next(value for value in domain if encoder.number(value) == number)
    return found
