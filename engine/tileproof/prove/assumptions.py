"""What the user assumes of dynamic leaves, as facts about polynomials.

Sums, differences and products are polynomials as they are. A division brings a symbol of its own, the quotient:
``a / n`` is ``q``, ``a % n`` is ``a - n*q``, and ``0 <= a - n*q <= n - 1`` says which integer ``q`` is. What is known
to be a multiple of ``n`` needs no symbol, so that ``ld % 16 == 8`` of a multiple of 8 makes ``ld`` an odd multiple.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tileproof.layout import LayoutError
from tileproof.prove.symbols import (
    Assumption,
    Division,
    LeafFacts,
    Number,
    Polynomial,
    Symbol,
    modulo,
    quotient,
    times,
    total,
)
from tileproof.syntax import SyntaxFault
from tileproof.syntax.assumptions import Definition, Expression, Name, Operation, Relation, parse

MOST_DIVISOR = 1 << 31


def read_assumptions(texts: Iterable[str], symbols: Mapping[str, Symbol]) -> LeafFacts:
    """The facts about some leaves, by name, under assumptions such as ``ld >= m``, ``d % 32 == 1`` or ``pad = ld - k``.

    Raises:
        LayoutError: a text is no assumption, or names what no layout and no definition has.
    """
    reader = _Reader(symbols)
    written: list[str] = []
    for text in texts:
        reader.read(text)
        written.append(reader.text)
    return LeafFacts(
        tuple(reader.symbols.values()),
        tuple(reader.assumptions),
        tuple(reader.divisions.values()),
        tuple(reader.defined.items()),
        tuple(written),
    )


def _one_remainder(found: Relation) -> Relation:
    """``a % n == b % n`` as ``(a - b) % n == 0``: one quotient instead of two, and none where both are multiples."""
    match found:
        case Relation("==" | "!=", Operation("%", left, int(n)), Operation("%", right, int(m))) if n == m:
            return Relation(found.operator, Operation("%", Operation("-", left, right), n), 0)
    return found


class _Reader:
    """Reads assumptions one by one; what a definition names is known to those after it."""

    def __init__(self, symbols: Mapping[str, Symbol]) -> None:
        self.symbols = dict(symbols)
        self.leaves = tuple(symbols)
        self.defined: dict[str, Number] = {}
        self.assumptions: list[Assumption] = []
        self.divisions: dict[tuple[Number, int], Division] = {}
        self.text = ""

    def read(self, text: str) -> None:
        self.text = " ".join(text.split())
        try:
            found = parse(text)
        except SyntaxFault as fault:
            raise LayoutError(
                "an assumption must be a relation such as 'ld >= m', 'ld - k == 8' or 'd % 32 == 1', or a definition"
                f" such as 'pad = ld - k', not '{text}': {fault}"
            ) from None
        if isinstance(found, Relation):
            found = _one_remainder(found)
            self._relate(found.operator, self._number(found.left), self._number(found.right))
        else:
            self._define(found)

    def _define(self, found: Definition) -> None:
        value = self._number(found.value)
        leaf = self.symbols.get("?" + found.name)
        if leaf is not None:
            self._relate("==", leaf.number, value)
        elif found.name in self.defined:
            raise LayoutError(f"'{found.name}' is defined twice")
        else:
            self.defined[found.name] = value

    def _relate(self, operator: str, left: Number, right: Number) -> None:
        if operator in ("<", "<="):
            left, right = right, left
        difference = total(left, times(right, -1), -1 if operator in ("<", ">") else 0)
        relation = operator if operator in ("==", "!=") else ">="
        self.assumptions.append(Assumption(difference, relation, self.text))

    def _number(self, expression: Expression) -> Number:
        match expression:
            case Name(name):
                return self._named(name)
            case Operation("+", left, right):
                return total(self._number(left), self._number(right))
            case Operation("-", left, right):
                return total(self._number(left), times(self._number(right), -1))
            case Operation("*", left, right):
                return times(self._number(left), self._number(right))
            case Operation(operator, left, right):
                by = self._divided(self._number(left), self._number(right), operator)
                return by if operator == "/" else self._remainder(self._number(left), self._number(right), by)
        return expression

    def _named(self, name: str) -> Number:
        if (leaf := self.symbols.get("?" + name)) is not None and not leaf.hidden:
            return leaf.number
        if name in self.defined:
            return self.defined[name]
        known = ", ".join((*self.leaves, *self.defined)) or "none"
        raise LayoutError(f"the assumption '{self.text}' names ?{name}, but the dynamic leaves are: {known}")

    def _remainder(self, number: Number, divisor: Number, by: Number) -> Number:
        return total(number, times(times(divisor, by), -1))

    def _divided(self, number: Number, divisor: Number, operator: str) -> Number:
        """The quotient, rounded down."""
        if not isinstance(divisor, int) or not 1 <= divisor <= MOST_DIVISOR:
            raise LayoutError(f"'{operator}' requires a positive integer on its right in '{self.text}'")
        rest = modulo(number, divisor)
        multiple = quotient(total(number, times(rest, -1)), divisor)
        assert multiple is not None, "each term is a multiple"
        if isinstance(rest, int):
            return total(multiple, rest // divisor)
        return total(multiple, self._quotient(rest, divisor))

    def _quotient(self, number: Polynomial, divisor: int) -> Number:
        inner = next((one for one in self.divisions.values() if self.symbols[one.quotient].number == number), None)
        if inner is not None and inner.shift == 0 and isinstance(inner.number, Polynomial):
            return self._quotient(inner.number, inner.divisor * divisor)  # (a / n) / m is a / (n*m)
        division = self.divisions.get((number, divisor))
        if division is None:
            bounds = LeafFacts(tuple(self.symbols.values()))
            least = -bounds.most(total(*(Polynomial((term,)) for term in number.terms if term[1] < 0)))
            most = bounds.most(total(*(Polynomial((term,)) for term in number.terms if term[1] > 0)))
            shift = -(least // divisor)
            name = f"quotient {len(self.divisions)} by {divisor}"
            division = Division(name, shift, number, divisor)
            near = shift or None
            self.symbols[name] = Symbol(name, 1, 0, most // divisor + shift, near, hidden=True)
            self.divisions[number, divisor] = division
            left = total(number, times(total(self.symbols[name].number, -shift), -divisor))
            self.assumptions.append(Assumption(left, ">=", self.text))
            within = total(times(left, -1), divisor - 1)
            self.assumptions.append(Assumption(within, ">=", self.text))
        return total(self.symbols[division.quotient].number, -division.shift)
