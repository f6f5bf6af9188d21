"""Fragment declarations of rule files to the values of ``tileproof.rulebase.fragment``, by grammar/rules.lark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from lark import Token, Transformer

from tileproof.base.source import Source, Span
from tileproof.rulebase.expression import Arithmetic, Expression, Fact, Number, Place
from tileproof.rulebase.fragment import Applies, Fragment, LayoutLeaf, Modes, Row, Taken, ThreadValues
from tileproof.rulebase.references import Citation
from tileproof.syntax import SyntaxFault
from tileproof.syntax.driver import end_of, start_of


class Part(NamedTuple):
    """A reduced clause on its way into a declaration."""

    kind: str
    value: Any


def cited(parts: Iterable[Part]) -> tuple[Citation, ...]:
    """The citations of all sources of a declaration."""
    return tuple(citation for part in parts if part.kind == "source" for citation in part.value)


class FragmentBuilder(Transformer[Token, Any]):
    """Reductions of ``fragment`` and what is in it."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.file = source

    def _place(self, token: Token) -> Place:
        return Place(self.file, Span(start_of(token), end_of(token)))

    def number_factor(self, items: list[Token]) -> Number:
        return Number(int(items[0]), self._place(items[0]).span)

    def fact_factor(self, items: list[Token]) -> Fact:
        return Fact(str(items[0]), self._place(items[0]).span)

    def arithmetic(self, items: list[Any]) -> Arithmetic:
        left, operator, right = items
        if operator == "%":
            raise SyntaxFault("an extent is a product or a quotient", *self._place(operator).span)
        return Arithmetic(str(operator), left, right, Span(left.span.start, right.span.end))

    def step(self, items: list[Any]) -> LayoutLeaf:
        value: Expression = items[0]
        return LayoutLeaf(value, tuple(map(int, items[1:])))

    def nested_modes(self, items: list[Modes]) -> Modes:
        return tuple(items)

    def thread_values(self, items: list[Any]) -> ThreadValues:
        shape, stride, *unit = items
        if unit and unit[0] != "bits":
            raise SyntaxFault(f"offsets are in bits or in values, not in '{unit[0]}'", *self._place(unit[0]).span)
        return ThreadValues(shape, stride, in_bits=bool(unit))

    def holds(self, items: list[Any]) -> Row:
        role, layout, *rest = items
        kind, tile = next(((part.kind, part.value) for part in rest if isinstance(part, Part)), ("", ()))
        when = next((part for part in rest if not isinstance(part, Part)), None)
        if isinstance(layout, ThreadValues) and _profile(layout.shape) != _profile(layout.stride):
            raise SyntaxFault(f"shape and stride of {role} have different profiles", *self._place(role).span)
        held = layout if isinstance(layout, ThreadValues) else str(layout)
        return Row(str(role), held, tile, kind == "into", when)

    def onto(self, items: list[Expression]) -> Part:
        return Part("onto", tuple(items))

    def into(self, items: list[Expression]) -> Part:
        return Part("into", tuple(items))

    def derived(self, items: list[Any]) -> Part:
        return Part("derived", (str(items[0]), items[1]))

    def applies(self, items: list[Any]) -> Applies:
        schema, *rest = items
        given = tuple(part.value for part in rest if isinstance(part, Part))
        when = next((part for part in rest if not isinstance(part, Part)), None)
        return Applies(str(schema), given, when)

    def taken(self, items: list[Any]) -> Taken:
        *facts, kind = [item for item in items if isinstance(item, Token)]
        chosen = next((item.value for item in items if isinstance(item, Part)), None)
        default = tuple(item for item in items if not isinstance(item, Token | Part))
        return Taken(tuple(map(str, facts)), str(kind), chosen, default or None)

    def parameter(self, items: list[Token]) -> Part:
        (token,) = items
        return Part("parameter", int(token) if token.type == "INTEGER" else str(token))

    def fragment(self, items: list[Any]) -> Fragment:
        types = [item for item in items if isinstance(item, Token)]
        taken = tuple(item for item in items if isinstance(item, Taken))
        rows = tuple(item for item in items if isinstance(item, Row))
        applies = tuple(item for item in items if isinstance(item, Applies))
        citations = cited([item for item in items if isinstance(item, Part)])
        contract = next((item.value for item in items if isinstance(item, Part) and item.kind == "contract"), None)
        names = [fact for one in taken for fact in one.facts]
        if len(set(names)) != len(names):
            raise SyntaxFault("a fact of this fragment is declared twice", *self._place(types[0]).span)
        return Fragment(tuple(map(str, types)), contract, applies, taken, rows, citations, self._place(types[0]))


def _profile(modes: Modes) -> Any:
    return None if isinstance(modes, LayoutLeaf) else tuple(map(_profile, modes))
