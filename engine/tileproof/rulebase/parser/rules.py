"""Rule files and placeholders to values, by grammar/rules.lark and grammar/rule_expression.lark."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import VisitError
from lark.visitors import merge_transformers

from tileproof.base.diagnostic import Severity
from tileproof.base.patterns import regex
from tileproof.base.records import replace
from tileproof.base.source import Source, Span
from tileproof.rulebase.book import Declaration
from tileproof.rulebase.declarations import (
    CONTRACTS,
    Atom,
    Binding,
    Bounded,
    Case,
    Domain,
    Enum,
    Enumerated,
    EnumOrigin,
    Example,
    Finding,
    FlagOrigin,
    Instruction,
    Modifiers,
    MoreMembers,
    MoreRows,
    Notation,
    OperandForm,
    PatternOrigin,
    Rule,
    Schema,
    Table,
    Total,
    Unjudged,
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
    Value,
)
from tileproof.rulebase.parser.contradictions import ContradictionBuilder
from tileproof.rulebase.parser.fragments import Part, cited
from tileproof.syntax import SyntaxFault
from tileproof.syntax.driver import compile_grammar, end_of, run, start_of


def version(text: str) -> int:
    """``8.6`` as 806: versions compare as integers."""
    major, minor = text.split(".")
    return int(major) * 100 + int(minor)


class _ExpressionBuilder(Transformer[Token, Any]):
    """Reductions of grammar/rule_expression.lark.

    Args:
        text: what is parsed; without it spans may lack the brackets at their ends.
    """

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.text = text

    def _span(self, *items: Any) -> Span:
        """From the first to the last of tokens and expressions, brackets around them included."""
        first, last = items[0], items[-1]
        start = start_of(first) if isinstance(first, Token) else first.span.start
        end = end_of(last) if isinstance(last, Token) else last.span.end
        return _balanced(self.text, start, end)

    def number(self, items: list[Token]) -> Number:
        return Number(int(items[0]), self._span(items[0]))

    def version(self, items: list[Token]) -> Number:
        return Number(version(items[0]), self._span(items[0]))

    def symbol(self, items: list[Token]) -> Symbol:
        return Symbol(str(items[0]), self._span(items[0]))

    def fact(self, items: list[Token]) -> Fact:
        return Fact(str(items[0]), self._span(items[0]))

    def negative(self, items: list[Expression]) -> Expression:
        start, end = items[0].span
        span = Span(max(self.text.rfind("-", 0, start), 0), end) if self.text else items[0].span
        if isinstance(items[0], Number):
            return Number(-items[0].value, span)
        return Arithmetic("-", Number(0, items[0].span), items[0], span)

    def call(self, items: list[Any]) -> Lookup:
        column = str(items[-1])[1:] if len(items) > 1 and isinstance(items[-1], Token) else None
        arguments = tuple(items[1 : len(items) - (column is not None)])
        return Lookup(str(items[0]), arguments, column, self._span(items[0], items[-1]))

    def arithmetic(self, items: list[Any]) -> Arithmetic:
        left, operator, right = items
        return Arithmetic(str(operator), left, right, self._span(left, right))

    def comparison(self, items: list[Any]) -> Comparison:
        left, operator, right = items
        return Comparison(str(operator), left, right, self._span(left, right))

    def membership(self, items: list[Expression]) -> Membership:
        return Membership(items[0], items[1], self._span(*items))

    def exclusion(self, items: list[Any]) -> Not:
        item, _, collection = items
        return Not(self.membership([item, collection]), self._span(item, collection))

    def members(self, items: list[Expression]) -> Members:
        return Members(tuple(items), self._span(*items) if items else Span(0, 0))

    def range(self, items: list[Expression]) -> Range:
        bounds = []
        for item in items:
            if not isinstance(item, Number):
                raise SyntaxFault("the ends of a range are integers", *item.span)
            bounds.append(item.value)
        first, last, *step = bounds
        if last < first or (step and step[0] <= 0):
            raise SyntaxFault("a range runs upwards, by a positive step", *self._span(*items))
        return Range(first, last, step[0] if step else 1, self._span(*items))

    def negation(self, items: list[Any]) -> Not:
        word, operand = items
        return Not(operand, self._span(word, operand))

    def conjunction(self, items: list[Expression]) -> Connective:
        return Connective("and", tuple(items), self._span(*items))

    def disjunction(self, items: list[Expression]) -> Connective:
        return Connective("or", tuple(items), self._span(*items))


_BRACKET = regex(r"#[^\n]*|[(){}]")


def _balanced(text: str, start: int, end: int) -> Span:
    """A span of a text, extended to the brackets that close or open its content."""
    if not text:
        return Span(start, end)
    depth = least = 0
    for bracket in _BRACKET.finditer(text, start, end):
        depth += (bracket[0] in "({") - (bracket[0] in ")}")
        least = min(least, depth)
    for bracket in _BRACKET.finditer(text, end):
        if depth <= least:
            break
        depth += (bracket[0] in "({") - (bracket[0] in ")}")
        end = bracket.end()
    for _ in range(-least):
        start = max(text.rfind(opening, 0, start) for opening in "({")
    return Span(start, end)


class _FileBuilder(ContradictionBuilder):
    """Reductions of grammar/rules.lark to declarations. Expressions come from ``_ExpressionBuilder``."""

    def start(self, items: list[Any]) -> list[Declaration]:
        return [declaration for item in items for declaration in (item.value if isinstance(item, Part) else (item,))]

    # -- pieces

    def number(self, items: list[Token]) -> int:
        return int(items[0])

    def version(self, items: list[Token]) -> int:
        return version(items[0])

    def text(self, items: list[Token]) -> str:
        return _string(items)

    def symbol(self, items: list[Token]) -> str:
        return str(items[0])

    def symbols(self, items: list[Token]) -> tuple[Token, ...]:
        return tuple(items)

    def members(self, items: list[int | str]) -> frozenset[int | str]:
        return frozenset(items)

    def range(self, items: list[Token]) -> range:
        first, last, *step = map(int, items)
        return range(first, last + 1, *step)

    def contract(self, items: list[Token]) -> Part:
        if items[0] not in CONTRACTS:
            raise SyntaxFault(f"unknown contract '{items[0]}'", *self._place(items[0]).span)
        return Part("contract", str(items[0]))

    # -- enums, tables, schemas, atoms

    def member(self, items: list[Token]) -> tuple[Token, tuple[str, ...]]:
        return items[0], tuple(_string([item]) for item in items[1:])

    def enum(self, items: list[Any]) -> Enum:
        name, *members = items
        return Enum(str(name), _unique(members, "member"), self._place(name), self._places(members))

    def more_members(self, items: list[Any]) -> MoreMembers:
        name, *members = items
        return MoreMembers(str(name), _unique(members, "member"), self._place(name), self._places(members))

    def _places(self, members: list[tuple[Token, tuple[str, ...]]]) -> dict[str, Place]:
        return {str(member): self._place(member) for member, _ in members}

    def column(self, items: list[Token]) -> Part:
        return Part("key", (str(items[0]), str(items[1])))

    def row(self, items: list[Any]) -> Part:
        return Part("row", items)

    def table(self, items: list[Any]) -> Table:
        name, *rest = items
        parts = [part for part in rest if isinstance(part, Part)]
        columns = tuple(str(item) for item in rest if isinstance(item, Token))
        keys = tuple(part.value for part in parts if part.kind == "key")
        table = Table(
            name=str(name),
            keys=keys,
            columns=columns,
            contract=_only("contract", parts),
            total=_only("total", parts),
            rows={},
            citations=cited(parts),
            place=self._place(name),
            places={},
        )
        for at, cells in self._cells(name, parts):
            try:
                table.add(cells, at)
            except ValueError as fault:
                raise SyntaxFault(str(fault), *at.span) from None
        return table

    def more_rows(self, items: list[Any]) -> MoreRows:
        name, *rest = items
        parts = [part for part in rest if isinstance(part, Part)]
        cells = tuple(self._cells(name, parts))
        return MoreRows(str(name), _only("contract", parts), cells, cited(parts), self._place(name))

    def _cells(self, name: Token, parts: list[Part]) -> Iterator[tuple[Place, tuple[tuple[str, ...] | Value, ...]]]:
        """The cells of each row, and where it begins: at its first key."""
        for cells in _all("row", parts):
            first = cells[0][0] if isinstance(cells[0], tuple) else name
            yield self._place(first), tuple(tuple(map(str, c)) if isinstance(c, tuple) else c for c in cells)

    def total(self, items: list[Expression | Token]) -> Part:
        of = next((str(item) for item in items if isinstance(item, Token)), None)
        when = next((item for item in items if item is not None and not isinstance(item, Token)), None)
        return Part("total", Total(when, of))

    def enumerated(self, items: list[Token]) -> Enumerated:
        return Enumerated(str(items[0]))

    def signed(self, items: list[Token]) -> int:
        return int(str(items[0]) + str(items[1]))

    def bounded(self, items: list[int]) -> Bounded:
        return Bounded(*items)

    def field(self, items: list[Any]) -> list[tuple[Token, tuple[Domain, int | str]]]:
        *names, domain, value = items
        return [(name, (domain, value)) for name in names]

    def schema(self, items: list[Any]) -> Schema:
        names = [item for item in items if isinstance(item, Token) and item.type == "NAME"]
        title = next(item for item in items if isinstance(item, Token) and item.type == "STRING")
        fields = _unique([pair for item in items if isinstance(item, list) for pair in item], "fact")
        domains = {name: domain for name, (domain, _) in fields.items()}
        instance = {name: value for name, (_, value) in fields.items()}
        parents = tuple(map(str, names[1:]))
        return Schema(str(names[0]), _string([title]), parents, domains, instance, self._place(names[0]))

    def translation(self, items: list[Token]) -> tuple[str, str]:
        return str(items[0]), str(items[1])

    def binding(self, items: list[Any]) -> Binding:
        tokens = [item for item in items if isinstance(item, Token) and item.type not in ("STRING", "ALWAYS")]
        pattern = _string([item for item in items if isinstance(item, Token) and item.type == "STRING"])
        *facts, parameter = tokens
        translation = tuple(item for item in items if isinstance(item, tuple))
        default = tuple(item for item in items if isinstance(item, (int, str)) and not isinstance(item, Token))
        chosen = int(parameter) if parameter.type == "INTEGER" else str(parameter)
        how = next((str(item) for item in items if isinstance(item, Token) and item.type == "ALWAYS"), "")
        names = tuple(map(str, facts))
        return Binding(names, chosen, pattern, translation, default or None, how == "written", how == "unwritten")

    def written(self, items: list[Token]) -> Binding:
        name, value = items
        text = _string([value]) if value.type == "STRING" else str(value)
        return Binding((), str(name), "", (), (), written=text)

    def atom(self, items: list[Any]) -> Atom:
        *types, schema = (item for item in items if isinstance(item, Token))
        clauses = [item for item in items if not isinstance(item, Token)]
        bindings = tuple(clause for clause in clauses if isinstance(clause, Binding))
        given = [pair for clause in clauses if isinstance(clause, Part) for pair in clause.value.items()]
        return Atom(tuple(map(str, types)), str(schema), bindings, tuple(given), self._place(types[0]))

    def unjudged(self, items: list[Token]) -> Unjudged:
        types = [item for item in items if item.type != "STRING"]
        reason = _string([item for item in items if item.type == "STRING"])
        return Unjudged(tuple(map(str, types)), reason, self._place(types[0]))

    # -- instructions

    def always(self, items: list[FlagOrigin]) -> Part:
        return Part("always", tuple(items))

    def ignores(self, items: list[Token]) -> Part:
        return Part("ignores", tuple(map(str, items)))

    def flag(self, items: list[Token]) -> FlagOrigin:
        return FlagOrigin(str(items[0]), many=len(items) > 1)

    def sets(self, items: list[tuple[Token, Scalar]]) -> Part:
        return Part("sets", _unique(items, "fact"))

    def enum_origin(self, items: list[Token]) -> EnumOrigin:
        name, *marks = map(str, items)
        return EnumOrigin(name, "*" in marks, "behind" in marks)

    def pattern_origin(self, items: list[Token]) -> PatternOrigin:
        return PatternOrigin(_string(items))

    def modifiers(self, items: list[Any]) -> Part:
        at = next(i for i, item in enumerate(items) if not isinstance(item, Token))
        facts, origin, default = tuple(map(str, items[:at])), items[at], tuple(items[at + 1 :])
        place = self._place(items[0]).span
        if isinstance(origin, FlagOrigin):
            if len(facts) != 1 or default:
                raise SyntaxFault("a flag gives one fact and has no other value", *place)
            default = (".no",)
        elif isinstance(origin, PatternOrigin) and origin.pattern.count("{}") != len(facts):
            raise SyntaxFault(f"the pattern has {origin.pattern.count('{}')} holes for {len(facts)} facts", *place)
        if default and len(default) != len(facts):
            raise SyntaxFault(f"{len(facts)} facts need as many values after 'else'", *place)
        return Part("modifiers", Modifiers(facts, origin, default or None))

    def plain(self, items: list[Token]) -> Part:
        return Part("operand", (Notation.VALUE, tuple(map(str, items))))

    def braces(self, items: list[Token]) -> Part:
        notation = Notation.TUPLE if len(items) == 1 else Notation.MEMBERS
        return Part("operand", (notation, tuple(map(str, items))))

    def address(self, items: list[Token]) -> Part:
        return Part("operand", (Notation.ADDRESS, tuple(map(str, items))))

    def either(self, items: list[Token]) -> Part:
        return Part("operand", (Notation.EITHER, tuple(map(str, items))))

    def operands(self, items: list[Any]) -> Part:
        operands = [item.value for item in items if isinstance(item, Part)]
        given = [item for item in items if item is not None and not isinstance(item, Part)]
        names = tuple(names for _, names in operands)
        notations = tuple(notation for notation, _ in operands)
        return Part("form", OperandForm(names, notations, tuple(_unique(given, "fact").items())))

    def instruction(self, items: list[Any]) -> Instruction:
        name, *rest = items
        tokens = [item for item in rest if isinstance(item, Token)]
        parts = [item for item in rest if isinstance(item, Part)]
        *selectors, schema = map(str, tokens)
        return Instruction(
            name=str(name),
            selectors=tuple(selectors),
            schema=schema,
            always=tuple(flag for value in _all("always", parts) for flag in value),
            ignores=tuple(modifier for value in _all("ignores", parts) for modifier in value),
            modifiers=_all("modifiers", parts),
            sets=tuple(pair for value in _all("sets", parts) for pair in value.items()),
            forms=_all("form", parts),
            order=_order(selectors, parts),
            place=self._place(name),
        )

    def here(self, items: list[Token]) -> Part:
        return Part("here", str(items[0]))

    # -- rules

    def when(self, items: list[Expression]) -> Part:
        return Part("when", items[0])

    def require(self, items: list[Expression]) -> Part:
        return Part("require", items[0])

    def message(self, items: list[Token]) -> Part:
        return Part("message", (Severity(str(items[0])), _string(items[1:])))

    def hint(self, items: list[Token]) -> Part:
        return Part("hint", _string(items))

    def why(self, items: list[Token]) -> Part:
        return Part("why", _string(items))

    def given(self, items: list[Any]) -> tuple[Token, int | str]:
        return items[0], items[1]

    def passing(self, items: list[Any]) -> Part:
        return Part("passing", _unique(items, "fact"))

    def failing(self, items: list[Any]) -> Part:
        return Part("failing", _unique(items, "fact"))

    def was(self, items: list[Token]) -> Part:
        return Part("was", tuple(map(str, items)))

    def refines(self, items: list[Token]) -> Part:
        return Part("refines", tuple(map(str, items)))

    def replaces(self, items: list[Token]) -> Part:
        return Part("replaces", tuple(map(str, items)))

    def _clauses(self, code: Token, parts: list[Part]) -> dict[str, Any]:
        place = self._place(code)
        for kind in ("when", "require", "message", "hint", "why"):
            if sum(part.kind == kind for part in parts) > 1:
                raise SyntaxFault(f"{code} has two '{kind}' clauses", *place.span)
        message = _only("message", parts)
        if message is None:
            raise SyntaxFault(f"{code} needs an error, warning or note clause with its message", *place.span)
        return {
            "code": str(code),
            "former": _only("was", parts) or (),
            "severity": message[0],
            "message": message[1],
            "hint": _only("hint", parts) or "",
            "why": _only("why", parts) or "",
            "citations": cited(parts),
            "place": place,
        }

    def rule(self, items: list[Any]) -> Rule:
        code, name, *rest = items
        schema = next(item for item in rest if isinstance(item, Token))
        parts = [item for item in rest if isinstance(item, Part)]
        clauses = self._clauses(code, parts)
        require = _only("require", parts)
        if require is None:
            raise SyntaxFault(f"{code} needs a require clause", *clauses["place"].span)

        def examples(kind: str) -> tuple[Example, ...]:
            return tuple(Example(facts, clauses["place"]) for facts in _all(kind, parts))

        return Rule(
            name=str(name),
            schema=str(schema),
            contract=_only("contract", parts),
            refines=_only("refines", parts) or (),
            replaces=_only("replaces", parts) or (),
            when=_only("when", parts),
            require=require,
            passing=examples("passing"),
            failing=examples("failing"),
            **clauses,
        )

    def ladder(self, items: list[Any]) -> Part:
        """Each rule of a ladder refines all those above it: only the first violated one reports."""
        _, *rules = items
        above: tuple[str, ...] = ()
        steps = []
        for step in rules:
            steps.append(replace(step, refines=(*step.refines, *above)))
            above += (step.code,)
        return Part("ladder", tuple(steps))

    def finding(self, items: list[Any]) -> Finding:
        code, name, *parts = items
        cases = _unique(list(_all("case", parts)), "case")
        places = _unique(list(_all("at", parts)), "place")
        return Finding(name=str(name), cases=cases, places=places, **self._clauses(code, parts))

    def stated(self, items: list[Token]) -> Part:
        return Part("fact", (items[0], str(items[1]) if len(items) > 1 else None))

    def case_hint(self, items: list[Token]) -> Part:
        return Part("hint", _string(items))

    def case(self, items: list[Any]) -> Part:
        name, *rest = items
        parts = [item for item in rest if isinstance(item, Part)]
        strings = [item for item in rest if isinstance(item, Token)]
        facts = _unique(list(_all("fact", parts)), "fact")
        hint = _only("hint", parts) or ""
        return Part("case", (name, Case(str(name), facts, _string(strings), hint, self._place(name))))

    def at(self, items: list[Token]) -> Part:
        return Part("at", (items[0], _string(items[1:])))


def _string(tokens: Sequence[Token]) -> str:
    """Adjacent strings are one, as in Python."""
    return "".join(str(ast.literal_eval(str(token))) for token in tokens)


def _all(kind: str, parts: list[Part]) -> tuple[Any, ...]:
    return tuple(part.value for part in parts if part.kind == kind)


def _only(kind: str, parts: list[Part]) -> Any:
    return next((part.value for part in parts if part.kind == kind), None)


def _unique(pairs: list[tuple[Token, Any]], what: str) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if str(key) in seen:
            raise SyntaxFault(f"{what} '{key}' is declared twice", start_of(key), end_of(key))
        seen[str(key)] = value
    return seen


@cache
def _files() -> Lark:
    return compile_grammar("rules", ["start"])


@cache
def _expressions() -> Lark:
    return compile_grammar("rule_expression", ["expression"], _ExpressionBuilder())


def declarations(source: Source) -> list[Declaration]:
    """The declarations of a rule file, names not yet resolved.

    Raises:
        SyntaxFault: the text is not in grammar/rules.lark, or a declaration is incomplete.
    """
    tree = run(_files(), source.text, "start")
    builder: _FileBuilder = merge_transformers(_FileBuilder(source), rule_expression=_ExpressionBuilder(source.text))  # type: ignore[no-untyped-call]
    try:
        found: list[Declaration] = builder.transform(tree)
    except VisitError as error:
        if isinstance(error.orig_exc, SyntaxFault):
            raise error.orig_exc from None
        raise
    return found


def expression(text: str) -> Expression:
    """An expression in a placeholder.

    Raises:
        SyntaxFault: the text is not in grammar/rule_expression.lark.
    """
    found: Expression = run(_expressions(), text, "expression")
    return found


def _order(selectors: Sequence[str], parts: Sequence[Part]) -> tuple[str | int, ...]:
    """In what order an opcode is written: modifiers themselves, and clauses by number."""
    placed = [part.value for part in parts if part.kind == "here"]
    order: list[str | int] = [selector for selector in selectors if selector not in placed]
    clauses = 0
    for part in parts:
        if part.kind == "always":
            order += [flag.modifier for flag in part.value]
        elif part.kind == "here":
            order.append(part.value)
        elif part.kind == "modifiers":
            order.append(clauses)
            clauses += 1
    return tuple(order)
