"""Questions to Z3, each with a budget: ``unknown`` is an answer of its own.

A budget is given in seconds and counted in Z3's own steps, so that an answer does not depend on how busy a machine is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import z3

from tileproof.base.records import dataclass
from tileproof.evaluate.answer import Answer
from tileproof.evaluate.integers import Integer
from tileproof.evaluate.z3 import Encoder, Formula, configuration
from tileproof.rulebase.expression import Scalar

__all__ = [
    "Answer",
    "Question",
    "Solved",
    "Together",
    "collision",
    "differ",
    "fulfilled",
    "minimal",
    "overlap",
    "solve",
    "unequal",
]


_STEPS = 2_000_000  # of Z3 in a second: on questions that it does not answer soon, measured 1.9 to 2.4 million
_MOST = (1 << 32) - 1  # that Z3 takes
_SLOWER = 10  # that a machine may be, before time ends a question after all


def _limit(solver: z3.Solver, seconds: float) -> None:
    """Give each question to a solver a budget."""
    solver.set("rlimit", _steps(seconds))
    solver.set("timeout", int(min(seconds * _SLOWER * 1000 + 1000, _MOST)))


def _steps(seconds: float) -> int:
    return int(min(max(seconds * _STEPS, 1), _MOST))


@dataclass(frozen=True, slots=True)
class Solved:
    """An answer, with a configuration where there is one."""

    answer: Answer
    model: Mapping[str, Scalar]
    core: tuple[str, ...] = ()


class Question:
    """A set of constraints put to Z3 with a time budget.

    Args:
        facts: those that the constraints are about; None for all of the schema. Only these are in a configuration.
        linear: whether the solver of linear integers is asked first: soon done where nothing is multiplied.
    """

    def __init__(
        self, encoder: Encoder, seconds: float, facts: Collection[str] | None = None, linear: bool = False
    ) -> None:
        self.encoder = encoder
        self.facts = tuple(encoder.variables) if facts is None else tuple(sorted(facts))
        self.seconds = seconds
        self.linear = self.made(z3.SolverFor("QF_LIA")) if linear else None

    @cached_property
    def general(self) -> z3.Solver:
        """The solver of everything."""
        return self.made(z3.Solver())

    def made(self, solver: z3.Solver) -> z3.Solver:
        """A solver that knows the budget and the domains."""
        _limit(solver, self.seconds)
        solver.add(*map(self.encoder.domain, self.facts))
        return solver

    def ask(self, *constraints: Formula, named: Mapping[str, Formula] | None = None) -> Solved:
        """Whether the constraints can hold together; of the named ones, an unsatisfiable core."""
        if self.linear is not None:
            solved = self._asked(self.linear, constraints, named or {})
            if solved.answer is not Answer.UNKNOWN:
                return solved
        return self._asked(self.general, constraints, named or {})

    def _asked(self, solver: z3.Solver, constraints: Sequence[Formula], named: Mapping[str, Formula]) -> Solved:
        solver.push()
        try:
            solver.add(*constraints)
            for name, constraint in named.items():
                solver.assert_and_track(constraint, name)
            result = solver.check()
            if result == z3.sat:
                return Solved(Answer.SATISFIABLE, configuration(self.encoder, solver.model(), self.facts))
            if result == z3.unsat:
                core = tuple(sorted(str(name) for name in solver.unsat_core())) if named else ()
                return Solved(Answer.UNSATISFIABLE, {}, core)
            return Solved(Answer.UNKNOWN, {})
        finally:
            solver.pop()


def fulfilled(conditions: Sequence[Integer], seconds: float) -> Answer:
    """Whether there are numbers with which no condition is 0; some are tried before (``integers``)."""
    solver, _ = _of_integers(conditions, seconds)
    result = solver.check()
    if result == z3.unsat:
        return Answer.UNSATISFIABLE
    return Answer.SATISFIABLE if result == z3.sat else Answer.UNKNOWN


def numbers(
    conditions: Sequence[Integer], wanted: Mapping[Integer, Sequence[int]], seconds: float
) -> dict[Integer, int] | None:
    """Numbers with which no condition is 0; None where none are found.

    Args:
        wanted: the numbers that a variable should have, the best first: each gets the first that goes together with
            those of the variables before it, or one between the least and the largest of them if it can.
        seconds: the budget of one question; the first that is not answered in it is the last.
    """
    solver, formula = _of_integers(conditions, seconds)
    answer = solver.check()
    if answer != z3.sat:
        return None
    model = solver.model()
    for one, best in wanted.items():
        mine = formula(one)
        for choice in (*(mine == number for number in best), z3.And(mine >= min(best), mine <= max(best))):
            if answer != z3.unknown and (answer := solver.check(choice)) == z3.sat:
                model = solver.model()
                solver.add(choice)
                break
    return {one: model.eval(formula(one), model_completion=True).as_long() for one in wanted}


def _of_integers(conditions: Sequence[Integer], seconds: float) -> tuple[z3.Solver, Callable[[Integer], Any]]:
    """A solver that is told the conditions, and the formulas of integers."""
    solver, made = z3.Solver(), dict[Integer, Any]()
    _limit(solver, seconds)

    def formula(one: Integer) -> Any:
        if one not in made:
            made[one] = _formula(one, [formula(part) for part in one.parts], solver)
        return made[one]

    solver.add(*(formula(one) != 0 for one in conditions))
    return solver, formula


def _formula(one: Integer, parts: Sequence[Any], solver: z3.Solver) -> Any:
    """The formula of an integer by those of its parts; what it takes for there to be one is added to a solver."""
    if one.how == "number":
        return z3.IntVal(one.value)
    if one.how == "variable":
        variable = z3.Int(f"v{one.value}")
        if one.natural:
            solver.add(variable >= 0)
        return variable
    if one.how in ("floor", "ceiling", "quotient", "remainder"):
        solver.add(parts[1] > 0)
    return _FORMULAS[one.how](*parts)


def _truth(formula: Formula) -> Any:
    return z3.If(formula, z3.IntVal(1), z3.IntVal(0))


def _toward_zero(a: Any, b: Any) -> Any:
    return z3.If(a >= 0, a / b, -(-a / b))


_FORMULAS: Mapping[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "least": lambda a, b: z3.If(a < b, a, b),
    "largest": lambda a, b: z3.If(a < b, b, a),
    "floor": lambda a, b: a / b,  # of integers Z3 rounds down where the divisor is positive
    "ceiling": lambda a, b: -(-a / b),
    "quotient": _toward_zero,
    "remainder": lambda a, b: a - b * _toward_zero(a, b),
    "equal": lambda a, b: _truth(a == b),
    "below": lambda a, b: _truth(a < b),
    "below_unsigned": lambda a, b: _truth(z3.If((a < 0) == (b < 0), a < b, b < 0)),
    "not": lambda a: _truth(a == 0),
    "both": lambda a, b: _truth(z3.And(a != 0, b != 0)),
    "either": lambda a, b: _truth(z3.Or(a != 0, b != 0)),
    "select": lambda c, a, b: z3.If(c != 0, a, b),
}


class Together:
    """Formulas about one schema that are asked about in many combinations: Z3 is given each of them once."""

    def __init__(self, encoder: Encoder, seconds: float) -> None:
        self.solver = z3.SolverFor("QF_LIA")
        _limit(self.solver, seconds)
        self.solver.add(*map(encoder.domain, encoder.variables))
        self.literals: dict[str, Formula] = {}

    def can(self, formulas: Mapping[str, Formula]) -> Answer:
        """Whether formulas can hold together, each under a name that is always its own."""
        for name in formulas.keys() - self.literals.keys():
            self.literals[name] = z3.Bool(name)
            self.solver.add(z3.Implies(self.literals[name], formulas[name]))
        result = self.solver.check(*(self.literals[name] for name in formulas))
        if result == z3.unknown:
            return Answer.UNKNOWN
        return Answer.SATISFIABLE if result == z3.sat else Answer.UNSATISFIABLE


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


def collision(fields: Sequence[tuple[int, int]], width: int) -> tuple[int, ...] | None:
    """Codes of fields that are not read back from a word in which they are put by or; None where all are."""
    solver = z3.Solver()
    solver.add(overlap(fields, width))
    if solver.check() != z3.sat:
        return None
    model = solver.model()
    codes = [z3.BitVec(f"code{i}", bits) for i, (_, bits) in enumerate(fields)]
    return tuple(model.eval(code, model_completion=True).as_long() for code in codes)


def unequal(left: z3.ExprRef, right: z3.ExprRef | bool) -> Formula:
    """That two terms have different values."""
    return left != right


_PROPOSALS = 400


def minimal(
    strongest: Sequence[int], enough: Callable[[tuple[int, ...]], bool], most: int
) -> list[tuple[int, ...]] | None:
    """All choices of how strong some operations are of which nothing can be made weaker.

    Z3 proposes choices that are not as strong everywhere as one that was found, nor as weak everywhere as one that is
    not enough, until there is none. One that is enough is weakened until it is minimal.

    Args:
        strongest: the strength that each may have at most; 0 is that it is not there.
        enough: whether a choice is enough; of a choice that is, every stronger one is too.
        most: how many of them.

    Returns:
        None where there are more, or too many choices had to be asked about.
    """
    solver = z3.Solver()
    strengths = [z3.Int(f"strength{i}") for i in range(len(strongest))]
    for one, top in zip(strengths, strongest, strict=True):
        solver.add(one >= 0, one <= top)
    found: list[tuple[int, ...]] = []
    for _ in range(_PROPOSALS):
        if solver.check() != z3.sat:
            return found
        model = solver.model()
        held = [model.eval(one, model_completion=True).as_long() for one in strengths]
        if not enough(tuple(held)):
            for i, top in enumerate(strongest):  # the strongest that is not enough says most
                while held[i] < top and not enough((*held[:i], held[i] + 1, *held[i + 1 :])):
                    held[i] += 1
            solver.add(z3.Or([one > power for one, power in zip(strengths, held, strict=True)]))
            continue
        for i in range(len(held)):
            while held[i] > 0 and enough((*held[:i], held[i] - 1, *held[i + 1 :])):
                held[i] -= 1
        if len(found) == most:
            return None
        found.append(tuple(held))
        solver.add(z3.Or([one < power for one, power in zip(strengths, held, strict=True)]))
    return None


def solve(script: str, names: Iterable[str], seconds: float) -> tuple[Answer, dict[str, int], str]:
    """Whether the assertions of an SMT-LIB script over bit vectors can hold together.

    Args:
        script: its declarations and assertions; query commands are ignored.
        names: the constants whose values are wanted.

    Returns:
        The answer; where it is satisfiable the values, unsigned; where it is unknown the solver's reason.
    """
    solver = z3.SolverFor("QF_BV" if "(set-logic QF_BV)" in script else "BV")
    _limit(solver, seconds)
    # (get-value) would be executed by the parser; its values are read from the model.
    for assertion in z3.parse_smt2_string("\n".join(x for x in script.split("\n") if not x.startswith("(get-value"))):
        solver.add(assertion)
    result = solver.check()
    if result == z3.sat:
        model = solver.model()
        # Names that the script defines are in the model too, by their definitions.
        values = {constant.name(): model[constant] for constant in model.decls() if constant.arity() == 0}
        found = {name: value.as_long() for name, value in values.items() if isinstance(value, z3.BitVecNumRef)}
        return Answer.SATISFIABLE, {name: found.get(name, 0) for name in names}, ""
    if result == z3.unsat:
        return Answer.UNSATISFIABLE, {}, ""
    reason = solver.reason_unknown()
    return Answer.UNKNOWN, {}, f"{_steps(seconds)} steps" if reason == "canceled" else reason
