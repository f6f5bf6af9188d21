"""Dynamic leaves as polynomials: their known properties, and what follows without a solver.

A dynamic leaf ``?{div=16}`` is sixteen times an unknown *quotient*. A number is an ``int``, or a ``Polynomial`` over
quotients; as coefficients carry the divisors, a number is a multiple of ``n`` where all its coefficients are.

What is decided here is decided for all values, but not everything that is true is found: ``nonnegative`` and ``zero``
answer True only where they are certain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import gcd, prod
from typing import TypeAlias

from tileproof.base.records import dataclass
from tileproof.layout import LayoutError

Monomial: TypeAlias = tuple[str, ...]
Values: TypeAlias = Mapping[str, int]
"""The quotient of each symbol, by name."""


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A sum of products of quotients: ``terms`` maps sorted names to coefficients, none of them zero."""

    terms: tuple[tuple[Monomial, int], ...]

    def __add__(self, other: Number) -> Number:
        return total(self, other)

    def __mul__(self, other: Number) -> Number:
        return times(self, other)

    __radd__, __rmul__ = __add__, __mul__


Number: TypeAlias = int | Polynomial
"""An integer, static or dynamic."""


def _terms(number: Number) -> Iterable[tuple[Monomial, int]]:
    if isinstance(number, Polynomial):
        return number.terms
    return (((), number),) if number else ()


def _number(terms: Mapping[Monomial, int]) -> Number:
    kept = tuple(sorted((names, factor) for names, factor in terms.items() if factor))
    if not kept:
        return 0
    return kept[0][1] if len(kept) == 1 and kept[0][0] == () else Polynomial(kept)


def total(*numbers: Number) -> Number:
    """The sum."""
    if all(isinstance(number, int) for number in numbers):
        return sum(map(whole, numbers))
    terms: dict[Monomial, int] = {}
    for number in numbers:
        for names, factor in _terms(number):
            terms[names] = terms.get(names, 0) + factor
    return _number(terms)


def times(a: Number, b: Number) -> Number:
    """The product."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    terms: dict[Monomial, int] = {}
    for (left, x), (right, y) in product(_terms(a), _terms(b)):
        names = tuple(sorted(left + right))
        terms[names] = terms.get(names, 0) + x * y
    return _number(terms)


def product_of(numbers: Iterable[Number]) -> Number:
    """The product of all."""
    result: Number = 1
    for number in numbers:
        result = times(result, number)
    return result


def content(number: Number) -> int:
    """The largest integer known to divide it; zero for zero."""
    return gcd(*(factor for _, factor in _terms(number)))


def quotient(number: Number, divisor: int) -> Number | None:
    """``number / divisor`` where that is known to be whole."""
    if divisor == 0 or content(number) % divisor:
        return None
    return _number({names: factor // divisor for names, factor in _terms(number)})


def modulo(number: Number, period: int) -> Number:
    """The number without what is known to be a multiple of the period."""
    return _number({names: factor for names, factor in _terms(number) if factor % period})


def at(number: Number, values: Values) -> int:
    """Its value where the quotients have these."""
    if isinstance(number, int):
        return number
    return sum(factor * prod(values[name] for name in names) for names, factor in number.terms)


def whole(number: Number) -> int:
    """A number that is static.

    Raises:
        TypeError: it is not: a mistake of ours, as claims are made static before they are enumerated.
    """
    if isinstance(number, Polynomial):
        raise TypeError(f"{number} is dynamic")
    return number


def names_in(number: Number) -> frozenset[str]:
    """The symbols that occur."""
    return frozenset(name for names, _ in _terms(number) for name in names)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A dynamic leaf.

    Attributes:
        div: its known divisor.
        least: 1 for an extent (a shape with an extent of zero has no coordinates), 0 for a stride or an offset.
        most: the largest value: that of a signed integer of its width.
    """

    name: str
    div: int
    least: int
    most: int

    @property
    def number(self) -> Number:
        return Polynomial((((self.name,), self.div),))

    @property
    def quotients(self) -> range:
        """The values of its quotient; empty where no multiple of the divisor is in range."""
        return range(-(-self.least // self.div), self.most // self.div + 1)

    def __str__(self) -> str:
        return f"{self.name} % {self.div} == 0" if self.div > 1 else self.name


@dataclass(frozen=True, slots=True)
class Assumption:
    """That a number is zero (``equal``) or not negative, as the user wrote it."""

    number: Number
    equal: bool
    text: str

    def holds(self, values: Values) -> bool:
        value = at(self.number, values)
        return value == 0 if self.equal else value >= 0


MANY = 4096
"""How many combinations of values of dynamic leaves are tried one by one at most."""


@dataclass(frozen=True)
class LeafFacts:
    """All that is known of the dynamic leaves of a question."""

    symbols: tuple[Symbol, ...] = ()
    assumptions: tuple[Assumption, ...] = ()

    def __post_init__(self) -> None:
        # What is neither negative nor positive is zero.
        bounded = {assumption.number for assumption in self.assumptions}
        both = tuple(
            replace(assumption, equal=True) if times(assumption.number, -1) in bounded else assumption
            for assumption in self.assumptions
        )
        object.__setattr__(self, "assumptions", both)

    @cached_property
    def _by_name(self) -> dict[str, Symbol]:
        return {symbol.name: symbol for symbol in self.symbols}

    def __getitem__(self, name: str) -> Symbol:
        return self._by_name[name]

    def admits(self, values: Values) -> bool:
        """Are these values within their ranges, and do all assumptions hold?"""
        ranges = all(values[symbol.name] in symbol.quotients for symbol in self.symbols)
        return ranges and all(assumption.holds(values) for assumption in self.assumptions)

    def shown(self, values: Values) -> dict[str, int]:
        """The values of the leaves themselves, in the order in which they were written."""
        return {symbol.name: symbol.div * values[symbol.name] for symbol in self.symbols}

    def most(self, number: Number) -> int:
        """A bound for the absolute value."""
        return sum(
            abs(factor) * prod(self[name].quotients.stop - 1 for name in names) for names, factor in _terms(number)
        )

    @cached_property
    def _ranges(self) -> dict[str, range]:
        """The quotients that each symbol may have: its own range, cut by the assumptions about it alone."""
        ranges = {symbol.name: symbol.quotients for symbol in self.symbols}
        numbers = [(assumption.number, assumption.equal) for assumption in self.assumptions]
        numbers += [(self.reduced(number), equal) for number, equal in numbers]
        for number, equal in numbers:
            terms = dict(_terms(number))
            constant = terms.pop((), 0)
            if len(terms) == 1 and len(next(iter(terms))) == 1:
                ((name,), factor) = next(iter(terms.items()))
                low, high = ranges[name].start, ranges[name].stop - 1
                if factor < 0 or equal:
                    high = min(high, constant // -factor if factor < 0 else -constant // factor)
                if factor > 0 or equal:
                    low = max(low, -(constant // factor) if factor > 0 else -(-constant // -factor))
                ranges[name] = range(low, high + 1)
        return ranges

    def fault(self) -> str | None:
        """Why nothing can satisfy these facts, where that is plain to see."""
        for symbol in self.symbols:
            if not symbol.quotients:
                values = f"[{symbol.least}, {symbol.most}]"
                return f"no multiple of {symbol.div} is in {values}: {symbol.name} has no value"
            if not self._ranges[symbol.name]:
                return f"the assumptions leave {symbol.name} no value"
        for assumption in self.assumptions:
            if isinstance(assumption.number, int) and not assumption.holds({}):
                return f"the assumption {assumption.text} never holds"
        return None

    def everything(self) -> Iterator[Values] | None:
        """All values, where they are few; else None."""
        if prod(map(len, self._ranges.values())) > MANY:
            return None
        names = list(self._ranges)
        combinations = product(*self._ranges.values())
        return (v for v in (dict(zip(names, c, strict=True)) for c in combinations) if self.admits(v))

    def some(self, count: int) -> Iterator[Values]:
        """Small values, as many as ``count``; not all there are."""
        names = list(self._ranges)
        found = 0
        for shift in range(4):  # all quotients small, then larger ones
            picks = [
                tuple(dict.fromkeys((r[0], *r[1:3], *r[shift * 3 : shift * 3 + 3]))) for r in self._ranges.values()
            ]
            for place, combination in enumerate(product(*picks)):
                values = self._derived(dict(zip(names, combination, strict=True)))
                if values is not None and self.admits(values):
                    yield values
                    found += 1
                if found >= count or place >= MANY:
                    break
            if found >= count:
                return

    def _derived(self, values: dict[str, int]) -> dict[str, int] | None:
        """The values with those that equations determine; None where they come out fractional."""
        for name, factor, rest in self._equations:
            value = -at(rest, values)
            if value % factor:
                return None
            values[name] = value // factor
        return values

    @cached_property
    def _equations(self) -> list[tuple[str, int, Number]]:
        """(name, factor, rest) of each assumption ``factor * name + rest == 0``, rest without the name."""
        found: list[tuple[str, int, Number]] = []
        for assumption in self.assumptions:
            if not assumption.equal:
                continue
            # The least coefficient first: what it divides comes out whole.
            for names, factor in sorted(_terms(assumption.number), key=lambda term: abs(term[1])):
                rest = total(assumption.number, Polynomial(((names, -factor),)))
                if len(names) == 1 and names[0] not in names_in(rest) and names[0] not in {e[0] for e in found}:
                    found.append((names[0], factor, rest))
                    break
        return found

    def zero(self, number: Number) -> bool:
        """Is it certainly zero?"""
        return number == 0 or not any(self._substituted(number, slacks=False).values())

    def reduced(self, number: Number) -> Number:
        """The number without the symbols that equations determine, where these come out whole."""
        for name, factor, rest in self._equations:
            by = quotient(times(rest, -1), factor)
            if by is not None and name in names_in(number):
                parts = [
                    product_of([factor_of, *(by if n == name else Polynomial((((n,), 1),)) for n in names)])
                    for names, factor_of in _terms(number)
                ]
                number = total(*parts)
        return number

    def nonnegative(self, number: Number) -> bool:
        """Is it certainly not negative? Every quotient is written as its least value and something not negative: a
        polynomial whose coefficients then are not negative is not. An assumption ``a >= b`` writes ``a`` as ``b`` and
        something not negative."""
        if isinstance(number, int):
            return number >= 0
        return any(
            all(factor >= 0 for factor in self._substituted(number, slacks).values()) for slacks in (True, False)
        )

    def positive(self, number: Number) -> bool:
        """Is it certainly at least one?"""
        return self.nonnegative(total(number, -1))

    def _substituted(self, number: Number, slacks: bool) -> dict[Monomial, Fraction]:
        terms = {names: Fraction(factor) for names, factor in _terms(number)}
        for name, factor, rest in self._equations:
            terms = _replace(terms, name, {n: Fraction(-f, factor) for n, f in _terms(rest)})
        replaced: dict[str, dict[Monomial, Fraction]] = {}
        if slacks:
            for place, assumption in enumerate(self.assumptions):
                slack = self._slack(assumption, replaced)
                if slack is not None:
                    name, factor, rest = slack
                    replaced[name] = {n: Fraction(-f, factor) for n, f in _terms(rest)}
                    replaced[name][f"\0{place}",] = Fraction(1, factor)
            for _ in replaced:  # one may bring another back
                for name, by in replaced.items():
                    terms = _replace(terms, name, by)
        for symbol in self.symbols:
            if symbol.name not in replaced:
                least = self._ranges[symbol.name].start
                terms = _replace(terms, symbol.name, {(): Fraction(least), (f"\1{symbol.name}",): Fraction(1)})
        return {names: factor for names, factor in terms.items() if factor}

    def _slack(self, assumption: Assumption, taken: Mapping[str, object]) -> tuple[str, int, Number] | None:
        number = self.reduced(assumption.number)
        if assumption.equal or len(names_in(number)) == 1:
            return None  # equations and ranges are used otherwise
        for names, factor in _terms(number):
            rest = total(number, Polynomial(((names, -factor),)))
            if len(names) == 1 and factor > 0 and names[0] not in names_in(rest) and names[0] not in taken:
                return names[0], factor, rest
        return None


def _replace(terms: dict[Monomial, Fraction], name: str, by: Mapping[Monomial, Fraction]) -> dict[Monomial, Fraction]:
    """The polynomial with another in the place of a variable."""
    result: dict[Monomial, Fraction] = {}
    for names, factor in terms.items():
        parts: dict[Monomial, Fraction] = {tuple(n for n in names if n != name): factor}
        for _ in range(names.count(name)):
            grown: dict[Monomial, Fraction] = {}
            for (left, x), (right, y) in product(parts.items(), by.items()):
                both = tuple(sorted(left + right))
                grown[both] = grown.get(both, Fraction(0)) + x * y
            parts = grown
        for both, value in parts.items():
            result[both] = result.get(both, Fraction(0)) + value
    return result


_RELATION = re.compile(r"(<=|>=|==|<|>)")
_FACTOR = re.compile(r"(?:\?)?([A-Za-z_]\w*|[0-9]{1,18})\Z")


_REMAINDER = re.compile(r"\s*(\??[A-Za-z_]\w*)\s*%\s*([1-9][0-9]{0,9})\s*==\s*([0-9]{1,10})\s*\Z")


def assumption(text: str, symbols: dict[str, Symbol]) -> Assumption:
    """``ld >= m``, ``m == 16*n``, ``k < 64``: a relation between sums of products of names and integers; or ``d % 32 ==
    1``, for which the quotient is added to the symbols.

    Raises:
        LayoutError: it is not of that form, or names a leaf that no layout has.
    """
    if (remainder := _REMAINDER.match(text)) is not None:
        number, divisor, left = _product(remainder[1], text, symbols), int(remainder[2]), int(remainder[3])
        name = f"{'?' + remainder[1].removeprefix('?')} / {divisor}"
        most = symbols["?" + remainder[1].removeprefix("?")].most
        quotient_of = symbols.setdefault(name, Symbol(name, 1, 0, most // divisor))
        return Assumption(total(number, times(quotient_of.number, -divisor), -left), True, text)
    parts = _RELATION.split(text)
    if len(parts) != 3:
        raise LayoutError(
            f"an assumption must be a relation such as 'ld >= m', 'm == 16*n' or 'd % 32 == 1', not '{text}'"
        )
    left_side, right_side = (_sum(part, text, symbols) for part in (parts[0], parts[2]))
    difference = total(left_side, times(right_side, -1))
    match parts[1]:
        case "==":
            return Assumption(difference, True, text)
        case ">=" | ">":
            return Assumption(total(difference, -(parts[1] == ">")), False, text)
        case _:
            return Assumption(total(times(difference, -1), -(parts[1] == "<")), False, text)


def _sum(text: str, whole: str, symbols: Mapping[str, Symbol]) -> Number:
    return total(*(_product(part, whole, symbols) for part in text.split("+")))


def _product(text: str, whole: str, symbols: Mapping[str, Symbol]) -> Number:
    factors: list[Number] = []
    for part in text.split("*"):
        factor = _FACTOR.match(part.strip())
        if factor is None:
            raise LayoutError(f"'{part.strip()}' in the assumption '{whole}' is neither a name nor an integer")
        if factor[1][0].isdigit():
            factors.append(int(factor[1]))
        elif (symbol := symbols.get("?" + factor[1])) is not None:
            factors.append(symbol.number)
        else:
            known = ", ".join(symbols) or "none"
            raise LayoutError(f"the assumption '{whole}' names ?{factor[1]}, but the dynamic leaves are: {known}")
    return product_of(factors)
