"""The fast reading of a rule: a Python function from facts to whether the rule holds.

An expression becomes Python source once, with its tables bound as dictionaries. Reading an unknown fact or a missing
row raises KeyError, which here means that the rule is silent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, TypeAlias

from tileproof.base.diagnostic import Severity
from tileproof.base.kept_code import compiled
from tileproof.rulebase.book import Ruleset
from tileproof.rulebase.declarations import Rule
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

Facts = Mapping[str, Scalar]


class _Compiler:
    """Python source of expressions.

    Args:
        variables: for some facts the variable that holds their value; others are read from the mapping ``f``.
    """

    def __init__(self, ruleset: Ruleset, variables: Mapping[str, str] = MappingProxyType({})) -> None:
        self.ruleset = ruleset
        self.variables = variables
        self.names: dict[str, object] = {}

    def source(self, expression: Expression) -> str:
        """Python source with the value of an expression."""
        match expression:
            case Number(value):
                return repr(value)
            case Symbol(name):
                return repr(name)
            case Fact(name):
                return self.variables.get(name) or f"f[{name!r}]"
            case Lookup():
                return self.lookup(expression)
            case Arithmetic(operator, left, right):
                return f"({self.source(left)} {operator.replace('/', '//')} {self.source(right)})"
            case Comparison(operator, left, right):
                return f"({self.source(left)} {operator} {self.source(right)})"
            case Membership(item, collection):
                return f"({self.source(item)} in {self.source(collection)})"
            case Members(items):
                return "{" + ", ".join(map(self.source, items)) + "}" if items else "frozenset()"
            case Range(first, last, step):
                return self.bind("r", range(first, last + 1, step))
            case Not(operand):
                return f"(not {self.source(operand)})"
            case Connective(operator, operands):
                return "(" + f" {operator} ".join(map(self.source, operands)) + ")"

    def lookup(self, lookup: Lookup) -> str:
        table = self.ruleset.book.tables[lookup.table, self.ruleset.contract]
        column = table.column(lookup.column)
        assert column is not None, "checked when the rulebook was loaded"
        keyed = {key if len(key) > 1 else key[0]: row[column] for key, row in table.rows.items()}
        keys = ", ".join(map(self.source, lookup.arguments))
        return f"{self.bind('t', keyed)}[{keys}]"

    def bind(self, prefix: str, value: object) -> str:
        name = f"{prefix}{len(self.names)}"
        self.names[name] = value
        return name


def function(ruleset: Ruleset, expression: Expression) -> Callable[[Facts], Value]:
    """A function that computes an expression from facts; it raises KeyError where a fact or a row is missing."""
    compiler = _Compiler(ruleset)
    source = f"lambda f: {compiler.source(expression)}"
    made: Callable[[Facts], Value] = eval(compiled(source, "eval"), {**_NAMES, **compiler.names})
    return made


_NAMES = {"__builtins__": {"KeyError": KeyError}, "frozenset": frozenset}


def scan_of(ruleset: Ruleset, rules: Sequence[Rule]) -> Callable[[Facts], list[int]]:
    """One function that gives the positions of the rules that a configuration violates.

    All rules in one function: a call for each would take most of the time.
    """
    compiler = _Compiler(ruleset)
    lines = ["def scan(f):", " found = []"]
    for i, rule in enumerate(rules):
        when = f"{compiler.source(rule.when)} and " if rule.when is not None else ""
        lines += [" try:", f"  if {when}not {compiler.source(rule.require)}: found.append({i})"]
        lines += [" except KeyError: pass"]
    lines.append(" return found")
    names: dict[str, object] = {**_NAMES, **compiler.names}
    exec(compiled("\n".join(lines), "exec"), names)
    made: Callable[[Facts], list[int]] = names["scan"]  # type: ignore[assignment]
    return made


Points: TypeAlias = "list[tuple[int, ...]]"


def sweep_of(
    ruleset: Ruleset, rule: Rule, names: Sequence[str]
) -> Callable[[Facts, Iterable[tuple[Scalar, ...]], Iterable[tuple[int, ...]]], tuple[Points, Points, Points]]:
    """A function that says where a rule holds, where it is violated and where it is silent, as ``Check`` does.

    It is given the values of the other facts, configurations of the facts ``names``, and of each what stands for it in
    the answer. A call for each configuration would take most of the time.
    """
    variables = {name: f"v{i}" for i, name in enumerate(names)}
    compiler = _Compiler(ruleset, variables)
    require = compiler.source(rule.require)
    verdict = f"holds if {require} else violated"
    if rule.when is not None:
        verdict = f"({verdict}) if {compiler.source(rule.when)} else silent"
    lines = [
        "def sweep(f, configurations, points):",
        " holds, violated, silent = [], [], []",
        f" for ({''.join(f'{variable}, ' for variable in variables.values())}), point in zip(configurations, points):",
        f"  try: ({verdict}).append(point)",
        "  except KeyError: silent.append(point)",
        " return holds, violated, silent",
    ]
    made: dict[str, Any] = {**_NAMES, "zip": zip, **compiler.names}
    exec("\n".join(lines), made)
    found: Callable[..., tuple[Points, Points, Points]] = made["sweep"]
    return found


class Check:
    """A rule ready to run. It is compiled when it is first asked: few of the rules of a schema ever are, one by one."""

    __slots__ = ("_require", "_ruleset", "_when", "rule")

    def __init__(self, ruleset: Ruleset, rule: Rule) -> None:
        self.rule = rule
        self._ruleset = ruleset
        self._when: Callable[[Facts], Value] | None = None
        self._require: Callable[[Facts], Value] | None = None

    def __call__(self, facts: Facts) -> bool | None:
        """True where the rule holds, False where it is violated, None where it does not apply."""
        require = self._require or self._compile()
        try:
            if self._when is not None and not self._when(facts):
                return None
            return bool(require(facts))
        except KeyError:
            return None

    def _compile(self) -> Callable[[Facts], Value]:
        rule = self.rule
        self._when = function(self._ruleset, rule.when) if rule.when is not None else None
        self._require = function(self._ruleset, rule.require)
        return self._require


class Judge:
    """All rules of one schema in one contract, compiled.

    Args:
        inherited: with the rules of the schemas that it extends.
    """

    def __init__(self, ruleset: Ruleset, schema: str, inherited: bool = False) -> None:
        self.ruleset = ruleset
        self.schema = schema
        self.rules = ruleset.rules_on(schema, inherited)
        self._scan = scan_of(ruleset, self.rules)

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """The rules one by one."""
        return tuple(Check(self.ruleset, rule) for rule in self.rules)

    def violated(self, facts: Facts) -> tuple[Rule, ...]:
        """The rules that a configuration violates and that report, those refined away left out."""
        broken = [self.rules[i] for i in self._scan(facts)]
        if len(broken) < 2:
            return tuple(broken)
        codes = {rule.code for rule in broken}
        return tuple(rule for rule in broken if codes.isdisjoint(rule.refines))

    def legal(self, facts: Facts, fact: str, asking: Rule | None = None) -> tuple[Scalar, ...]:
        """The values of one fact, the others kept, that no rule of severity error about it rejects; in domain order.

        Rules about other facts do not count: what else is wrong with a configuration is reported by itself. The rule
        that asks, to say how to satisfy it, counts whatever its severity.
        """
        lawful = self._lawful(facts, fact, asking)
        return tuple(value for value in self.ruleset.book.domain(self.schema, fact) if lawful(value))

    def _lawful(self, facts: Facts, fact: str, asking: Rule | None) -> Callable[[Scalar], bool]:
        counts = [check for check in self.checks if check.rule.severity is Severity.ERROR or check.rule is asking]
        about = [check for check in counts if fact in check.rule.facts]
        trial = dict(facts)

        def lawful(value: Scalar) -> bool:
            trial[fact] = value
            return all(check(trial) is not False for check in about)

        return lawful

    def nearest(self, facts: Facts, fact: str, asking: Rule | None = None) -> tuple[Scalar, ...]:
        """The legal values of a fact nearest to its present one: by distance for integers, by order for enums."""
        domain, present = self.ruleset.book.domain(self.schema, fact), facts[fact]
        lawful = self._lawful(facts, fact, asking)
        if isinstance(domain, range):
            # An integer beyond its domain is farther from every legal value than the domain is long.
            assert isinstance(present, int), "a fact with bounds is an integer"
            for distance in range(max(domain[0] - present, present - domain[-1], 0), _reach(domain, present) + 1):
                values = dict.fromkeys((present - distance, present + distance))
                if found := tuple(value for value in values if value in domain and lawful(value)):
                    return found
            return ()
        at = domain.index(present) if present in domain else 0
        distances = {value: abs(domain.index(value) - at) for value in domain if lawful(value)}
        least = min(distances.values(), default=0)
        return tuple(value for value, distance in distances.items() if distance == least)


def _reach(domain: range, present: int) -> int:
    """The distance of the farthest value."""
    return max(abs(domain[0] - present), abs(domain[-1] - present))


@lru_cache(maxsize=256)
def judge_for(ruleset: Ruleset, schema: str) -> Judge:
    """The rules of a schema and of those that it extends, compiled once."""
    return Judge(ruleset, schema, inherited=True)
