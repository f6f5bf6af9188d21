"""The other reading of a rule: a Z3 formula over one variable a fact. The only importer of z3.

Facts are integers; members of enums are numbered, each name once for all enums. Every term comes with the condition
under which it is defined, because a rule is silent where a table it reads has no row; ``and`` and ``or`` read their
right side only where the left one leaves the question open, as Python does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import TypeAlias

import z3

from tileproof.records import dataclass
from tileproof.rule import (
    Arithmetic,
    Bounded,
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
    Rule,
    Rulebook,
    Scalar,
    Symbol,
    Value,
)


class Answer(Enum):
    """What the solver said. Unknown is never a proof."""

    SATISFIABLE = "satisfiable"
    UNSATISFIABLE = "unsatisfiable"
    UNKNOWN = "unknown"


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

    def __init__(self, book: Rulebook, contract: str, schema: str) -> None:
        self.book = book
        self.contract = contract
        self.schema = book.schemas[schema]
        self.variables = {name: z3.Int(name) for name in self.schema.fields}

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each name that is a member of an enum."""
        names = dict.fromkeys(name for enum in self.book.enums.values() for name in enum.members)
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
                values = self.book.domain(self.schema.name, name)
                return z3.Or([variable == self.number(value) for value in values])

    def domains(self) -> list[Formula]:
        """That all facts have values of their domains."""
        return [self.domain(name) for name in self.variables]

    def assigned(self, facts: Mapping[str, Scalar]) -> Formula:
        """That facts have these values."""
        return z3.And([self.variables[name] == self.number(value) for name, value in facts.items()])

    def one_of(self, options: Iterable[Mapping[str, Scalar]]) -> Formula:
        """That facts have the values of one of these."""
        return z3.Or([self.assigned(facts) for facts in options])

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
        table = self.book.tables[lookup.table, self.contract]
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


@dataclass(frozen=True, slots=True)
class Solved:
    """An answer, with a configuration where there is one."""

    answer: Answer
    model: Mapping[str, Scalar]
    core: tuple[str, ...] = ()


class Question:
    """A set of constraints put to Z3 with a time budget."""

    def __init__(self, encoder: Encoder, seconds: float) -> None:
        self.encoder = encoder
        self.solver = z3.Solver()
        self.solver.set("timeout", max(1, int(seconds * 1000)))
        self.solver.add(*encoder.domains())

    def ask(self, *constraints: Formula, named: Mapping[str, Formula] | None = None) -> Solved:
        """Whether the constraints can hold together; of the named ones, an unsatisfiable core."""
        self.solver.push()
        try:
            self.solver.add(*constraints)
            for name, constraint in (named or {}).items():
                self.solver.assert_and_track(constraint, name)
            result = self.solver.check()
            if result == z3.sat:
                return Solved(Answer.SATISFIABLE, configuration(self.encoder, self.solver.model()))
            if result == z3.unsat:
                core = tuple(sorted(str(name) for name in self.solver.unsat_core())) if named else ()
                return Solved(Answer.UNSATISFIABLE, {}, core)
            return Solved(Answer.UNKNOWN, {})
        finally:
            self.solver.pop()


def differ(left: Formula, right: Formula) -> Formula:
    """Where two formulas have different values."""
    return z3.Xor(left, right)


def overlap(fields: Iterable[tuple[int, int]], width: int) -> Formula:
    """That some codes, put at their places in a word by or, are not read back from it.

    Args:
        fields: the lowest bit and the number of bits of each.
    """
    word = z3.BitVecVal(0, width)
    codes = [(low, z3.BitVec(f"code{i}", bits)) for i, (low, bits) in enumerate(fields)]
    for low, code in codes:
        word |= z3.ZeroExt(width - code.size(), code) << low
    return z3.Or([z3.Extract(low + code.size() - 1, low, word) != code for low, code in codes])


def unequal(left: z3.ExprRef, right: z3.ExprRef) -> Formula:
    """That two terms have different values."""
    return left != right


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


@dataclass(frozen=True, slots=True)
class Wish:
    """That a fact has a value, and how much that counts."""

    fact: str
    value: Scalar
    weight: int = 1


def nearest(encoder: Encoder, kept: Iterable[Formula], wishes: Iterable[Wish], seconds: float) -> Solved:
    """A configuration that keeps the formulas and as many wishes as can be (MaxSMT).

    Among those with the fewest changes the one whose values moved least (members of an enum by order), then the one
    with the least numbers: the answer does not depend on the solver's mood.
    """
    optimiser = z3.Optimize()
    optimiser.set("timeout", max(1, int(seconds * 1000)))
    optimiser.add(*encoder.domains(), *kept)
    distances = []
    for wish in wishes:
        variable, number = encoder.variables[wish.fact], encoder.number(wish.value)
        optimiser.add_soft(variable == number, wish.weight, "changes")
        distances.append(z3.If(variable >= number, variable - number, number - variable))
    if distances:
        optimiser.minimize(z3.Sum(distances))
    optimiser.minimize(z3.Sum(list(encoder.variables.values())))
    result = optimiser.check()
    if result == z3.sat:
        return Solved(Answer.SATISFIABLE, configuration(encoder, optimiser.model()))
    return Solved(Answer.UNSATISFIABLE if result == z3.unsat else Answer.UNKNOWN, {})


def cheapest(
    strongest: Sequence[int], heavy: Sequence[bool], enough: Callable[[tuple[int, ...]], bool], seconds: float
) -> tuple[int, ...] | None:
    """How strong each of some operations has to be: the fewest of them first, then the weakest.

    An implicit hitting set. Which choices are enough only ``enough`` knows, and it is asked about one at a time. What
    it says of one that is not enough holds for all that are as weak everywhere. Z3 keeps these clauses and proposes
    the cheapest choice that none of them rules out; so the first one that is enough is as cheap as any can be.

    Args:
        strongest: the strength that each may have at most; 0 is that it is not there.
        heavy: whether its strength counts beyond its being there.
        enough: whether a choice is enough; of a choice that is, every stronger one is too.
        seconds: for each proposal.

    Returns:
        None where the budget did not suffice, or no choice is enough.
    """
    optimiser = z3.Optimize()
    optimiser.set("timeout", max(1, int(seconds * 1000)))
    strengths = [z3.Int(f"strength{i}") for i in range(len(strongest))]
    for one, most in zip(strengths, strongest, strict=True):
        optimiser.add(one >= 0, one <= most)
    zero = z3.IntVal(0)
    optimiser.minimize(z3.Sum([zero, *(z3.If(one > 0, 1, 0) for one in strengths)]))
    optimiser.minimize(z3.Sum([zero, *(one for one, counts in zip(strengths, heavy, strict=True) if counts)]))
    for _ in range(_PROPOSALS):
        if optimiser.check() != z3.sat:
            return None
        model = optimiser.model()
        proposal = tuple(model.eval(one, model_completion=True).as_long() for one in strengths)
        if enough(proposal):
            return proposal
        optimiser.add(z3.Or([one > held for one, held in zip(strengths, proposal, strict=True)]))
    return None


_PROPOSALS = 400


def configuration(encoder: Encoder, model: z3.ModelRef) -> dict[str, Scalar]:
    """A model in the terms of the schema."""
    found: dict[str, Scalar] = {}
    for name, variable in encoder.variables.items():
        number = model.eval(variable, model_completion=True).as_long()
        if isinstance(encoder.schema.fields[name], Bounded):
            found[name] = number
        else:
            domain = encoder.book.domain(encoder.schema.name, name)
            found[name] = next(value for value in domain if encoder.number(value) == number)
    return found


def solve(script: str, names: Iterable[str], seconds: float) -> tuple[Answer, dict[str, int], str]:
    """Whether the assertions of an SMT-LIB script over bit vectors can hold together.

    Args:
        script: its declarations and assertions; commands that ask are passed over.
        names: the constants whose values are wanted.

    Returns:
        The answer; where it is satisfiable the values, unsigned; where it is unknown the solver's reason.
    """
    solver = z3.SolverFor("QF_BV" if "(set-logic QF_BV)" in script else "BV")
    solver.set("timeout", max(1, int(seconds * 1000)))
    # (get-value) would be executed by the parser; what it asks for is read from the model.
    for assertion in z3.parse_smt2_string("\n".join(x for x in script.split("\n") if not x.startswith("(get-value"))):
        solver.add(assertion)
    result = solver.check()
    if result == z3.sat:
        model = solver.model()
        # Names that the script defines stand in the model too, by their definitions.
        values = {constant.name(): model[constant] for constant in model.decls() if constant.arity() == 0}
        found = {name: value.as_long() for name, value in values.items() if isinstance(value, z3.BitVecNumRef)}
        return Answer.SATISFIABLE, {name: found.get(name, 0) for name in names}, ""
    if result == z3.unsat:
        return Answer.UNSATISFIABLE, {}, ""
    return Answer.UNKNOWN, {}, solver.reason_unknown()
