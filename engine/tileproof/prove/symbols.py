"""Dynamic leaves as polynomials: their known properties, and what follows without a solver.

A dynamic leaf ``?{div=16}`` is sixteen times an unknown *quotient*. A number is an ``int``, or a ``Polynomial`` over
quotients; as coefficients carry the divisors, a number is a multiple of ``n`` where all its coefficients are.

What is decided here is decided for all values, but not everything that is true is found: ``nonnegative`` and ``zero``
answer True only where they are certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain, count, islice, product
from math import gcd, lcm, prod
from types import MappingProxyType
from typing import TypeAlias

from tileproof.base.records import dataclass, replace

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
        near: the quotient from which on counterexamples are sought, where that is not the least.
        hidden: of an assumption's division, which no user wrote as a name.
    """

    name: str
    div: int
    least: int
    most: int
    near: int | None = None
    hidden: bool = False

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
    """That a number is zero, not negative, or not zero (``==``, ``>=``, ``!=``), as the user wrote it."""

    number: Number
    relation: str
    text: str

    @property
    def equal(self) -> bool:
        return self.relation == "=="

    def holds(self, values: Values) -> bool:
        return self.says(at(self.number, values))

    def says(self, value: int | Fraction) -> bool:
        """Does it hold where the number has this value?"""
        match self.relation:
            case "==":
                return value == 0
            case "!=":
                return value != 0
            case _:
                return value >= 0


@dataclass(frozen=True, slots=True)
class Division:
    """``number == divisor * (quotient - shift) + remainder`` with a remainder in ``[0, divisor)``, of an assumption.

    Attributes:
        quotient: the symbol, which is not negative.
    """

    quotient: str
    shift: int
    number: Number
    divisor: int

    def value(self, values: Values) -> int:
        return at(self.number, values) // self.divisor + self.shift


MANY = 4096
"""How many combinations of values of dynamic leaves are tried one by one at most."""
FAR = (1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 64, 100, 128, 256, 512, 1000, 1024, 4096)
"""How far from the least values counterexamples are sought where all near ones are too many."""


@dataclass(frozen=True)
class LeafFacts:
    """All that is known of the dynamic leaves of a question.

    Attributes:
        divisions: those of the assumptions, whose quotients are symbols too.
        named: values that an assumption defined, by name.
        texts: the assumptions and definitions as the user wrote them.
    """

    symbols: tuple[Symbol, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    divisions: tuple[Division, ...] = ()
    named: tuple[tuple[str, Number], ...] = ()
    texts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Inequalities are tightened to integers, and what is neither negative nor positive is zero; that may determine
        a symbol, and so tighten more."""
        for _ in range(_TIGHTENED):
            equations = _solved(self.assumptions)
            tight = tuple(
                one if one.equal else replace(one, number=_tightened(_without(equations, one.number), one.relation))
                for one in self.assumptions
            )
            bounded = {one.number for one in tight if one.relation == ">="}
            found = tuple(
                replace(one, relation="==") if one.relation == ">=" and times(one.number, -1) in bounded else one
                for one in tight
            )
            if found == self.assumptions:
                break
            object.__setattr__(self, "assumptions", found)

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
        """The values of the leaves themselves and of defined names, in the order in which they were written."""
        leaves = {symbol.name: symbol.div * values[symbol.name] for symbol in self.symbols if not symbol.hidden}
        return leaves | {name: at(number, values) for name, number in self.named}

    def most(self, number: Number) -> int:
        """A bound for the absolute value."""
        return sum(
            abs(factor) * prod(self[name].quotients.stop - 1 for name in names) for names, factor in _terms(number)
        )

    @cached_property
    def _ranges(self) -> dict[str, range]:
        """The quotients that each symbol may have: its own range, cut by the assumptions about it alone."""
        ranges = {symbol.name: symbol.quotients for symbol in self.symbols}
        numbers = [(one.number, one.equal) for one in self.assumptions if one.relation != "!="]
        numbers += [(self.reduced(number), equal) for number, equal in numbers]
        numbers += [(total(Polynomial((((n,), f),)), self.reduced(rest)), True) for n, f, rest in self._equations]
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
            number = self.reduced(assumption.number)
            if isinstance(number, int) and not assumption.says(number):
                return f"the assumption {assumption.text} never holds"
        return None

    def everything(self) -> Iterator[Values] | None:
        """All values, where they are few; else None."""
        free = self._order[0]
        if prod(len(self._ranges[name]) for name in free) > MANY:
            return None
        combinations = product(*(self._ranges[name] for name in free))
        derived = (self._derived(dict(zip(free, one, strict=True))) for one in combinations)
        return (values for values in derived if values is not None and self.admits(values))

    def some(self, count: int, residues: Mapping[str, tuple[int, int]] = MappingProxyType({})) -> Iterator[Values]:
        """Small values first, as many as ``count``; not all there are.

        Args:
            residues: for some symbols a remainder of the quotient and its divisor, which all values have.
        """
        free = self._order[0]
        near = max(2, int(MANY ** (1 / max(1, len(free)))))
        picks = [islice(self._picks(name, *residues.get(name, (0, 1))), near) for name in free]
        found = 0
        for one in _nearest_first(picks):
            values = self._derived(dict(zip(free, one, strict=True)))
            if values is not None and self.admits(values):
                yield values
                found += 1
                if found >= count:
                    return

    @property
    def free(self) -> list[str]:
        """The symbols that may be chosen; the others follow from them."""
        return self._order[0]

    def least(self, name: str) -> int:
        """The least quotient that a symbol may have, or that from which on counterexamples are sought."""
        return max(self._ranges[name].start, self[name].near or 0)

    def with_value(self, values: Values, name: str, value: int) -> dict[str, int] | None:
        """The values with another one for a free symbol, and what follows from it; None where the facts exclude it."""
        found = self._derived({one: value if one == name else values[one] for one in self.free})
        return found if found is not None and self.admits(found) else None

    def _picks(self, name: str, remainder: int, divisor: int) -> Iterator[int]:
        """Quotients of a symbol: the next ones to where counterexamples are sought, then some further away."""
        values = self._ranges[name]
        start = self.least(name)
        start += (remainder - start) % divisor
        seen = set()
        steps = chain(range(6), FAR, range(6, MANY))
        for value in (start + sign * step * divisor for step in steps for sign in ((1, -1) if step else (1,))):
            if value in values and value not in seen:
                seen.add(value)
                yield value

    @cached_property
    def _order(self) -> tuple[list[str], list[tuple[str, int, Number] | Division]]:
        """The symbols that may be chosen, and how the others follow from them, one after the other."""
        solved = {name for name, _, _ in self._equations}
        quotients = [one for one in self.divisions if one.quotient not in solved]
        rest: list[tuple[str, int, Number] | Division] = [*self._equations, *quotients]
        computed = {_gives(one) for one in rest}
        steps: list[tuple[str, int, Number] | Division] = []
        known = {symbol.name for symbol in self.symbols} - computed
        while rest:
            one = next((one for one in rest if _needs(one) <= known), None)
            if one is None:  # some need each other: one of them is chosen, and what it gives has to agree
                one = next((one for one in rest if isinstance(one, Division)), rest[0])
                computed.remove(_gives(one))
            else:
                steps.append(one)
            rest.remove(one)
            known.add(_gives(one))
        return [symbol.name for symbol in self.symbols if symbol.name not in computed], steps

    def _derived(self, values: dict[str, int]) -> dict[str, int] | None:
        """The values with those that equations and divisions determine; None where they come out fractional."""
        for step in self._order[1]:
            if isinstance(step, Division):
                values[step.quotient] = step.value(values)
                continue
            name, factor, rest = step
            value = -at(rest, values)
            if value % factor:
                return None
            values[name] = value // factor
        return values

    @cached_property
    def _equations(self) -> list[tuple[str, int, Number]]:
        return _solved(self.assumptions)

    def zero(self, number: Number) -> bool:
        """Is it certainly zero?"""
        return number == 0 or not any(self._substituted(number, 0).values())

    def reduced(self, number: Number) -> Number:
        """The number without the symbols that equations determine, where these come out whole."""
        return _without(self._equations, number)

    def excludes(self, residues: Mapping[str, tuple[int, int]]) -> bool:
        """Do the assumptions rule out that quotients have these remainders, each with its divisor? May miss some."""
        remainders = {name: remainder for name, (remainder, _) in residues.items()}
        for name, (remainder, divisor) in residues.items():
            first = self._ranges[name].start
            if first + (remainder - first) % divisor not in self._ranges[name]:
                return True
        for one in self.assumptions:
            names = names_in(one.number)
            if one.equal and names <= residues.keys():
                period = gcd(*(residues[name][1] * _factor_of(one.number, name) for name in names))
                if period and at(one.number, remainders) % period:
                    return True
        divided = {}
        for division in self.divisions:
            number = self.reduced(division.number)
            if all(
                name in residues and residues[name][1] * _factor_of(number, name) % division.divisor == 0
                for name in names_in(number)
            ):
                left = at(number, remainders) % division.divisor
                by = total(number, -left, division.divisor * division.shift)
                divided[division.quotient] = {n: Fraction(f, division.divisor) for n, f in _terms(by)}
        if not divided:
            return False
        for one in self.assumptions:
            terms = {names: Fraction(factor) for names, factor in _terms(self.reduced(one.number))}
            for name, replacement in divided.items():
                terms = _replace(terms, name, replacement)
            left_over = {names for names, factor in terms.items() if factor and names}
            if not left_over and not one.says(terms.get((), Fraction(0))):
                return True
        return False

    def periods(self, numbers: Iterable[Number], period: int, most: int) -> dict[str, int]:
        """For each symbol in some numbers how far its quotient moves until all of them are the same modulo a period.

        Symbols that divisions of the assumptions relate to them move as far as the remainders stay the same; those that
        are in no number are left out where there would be more than ``most`` classes.
        """
        found: dict[str, int] = {}
        for number in numbers:
            for name in names_in(number):
                step = period // gcd(period, _factor_of(number, name))
                found[name] = lcm(found.get(name, 1), step)
        for division in self.divisions:
            number = self.reduced(division.number)
            if names_in(number) <= found.keys():
                for name in names_in(number):
                    step = division.divisor // gcd(division.divisor, _factor_of(number, name))
                    found[name] = lcm(found[name], step)
        found = self._related(found, most)
        return {name: found[name] for name in sorted(found)}

    def _related(self, found: dict[str, int], most: int) -> dict[str, int]:
        """Periods with those of the symbols that divisions relate to them, as long as there are few classes."""
        numbers = [(self.reduced(division.number), division.divisor) for division in self.divisions]
        for _ in numbers:
            for number, divisor in numbers:
                if not names_in(number) & found.keys():
                    continue
                steps = {name: divisor // gcd(divisor, _factor_of(number, name)) for name in names_in(number)}
                wider = found | {name: lcm(found.get(name, 1), step) for name, step in steps.items()}
                if prod(wider.values()) <= most:
                    found = wider
        return found

    def nonnegative(self, number: Number) -> bool:
        """Is it certainly not negative? Every quotient is written as its least value and something not negative: a
        polynomial whose coefficients then are not negative is not. An assumption ``a >= b`` writes ``a`` as ``b`` and
        something not negative."""
        if isinstance(number, int):
            return number >= 0
        return any(all(factor >= 0 for factor in self._substituted(number, slacks).values()) for slacks in (1, -1, 0))

    def positive(self, number: Number) -> bool:
        """Is it certainly at least one?"""
        return self.nonnegative(total(number, -1))

    def _substituted(self, number: Number, slacks: int) -> dict[Monomial, Fraction]:
        """The number in unknowns that are not negative: what is left of a symbol above its least value or below its
        largest, and of a side of an assumption above the other.

        Args:
            slacks: whether to use the assumptions ``a >= b``: in their order, in the reverse order, or (0) not.
        """
        terms = {names: Fraction(factor) for names, factor in _terms(number)}
        for name, factor, rest in self._equations:
            terms = _replace(terms, name, {n: Fraction(-f, factor) for n, f in _terms(rest)})
        replaced = self._triangular(slacks) if slacks else {}
        for name, by in replaced.items():
            terms = _replace(terms, name, by)
        for symbol in self.symbols:
            if symbol.name not in replaced:
                values = self._ranges[symbol.name]
                falls = slacks and all(factor < 0 for names, factor in terms.items() if symbol.name in names)
                # Where it only takes away, what counts is how much it is at most.
                end, sign = (values.stop - 1, -1) if falls else (values.start, 1)
                terms = _replace(terms, symbol.name, {(): Fraction(end), (f"\1{symbol.name}",): Fraction(sign)})
        return {names: factor for names, factor in terms.items() if factor}

    def _triangular(self, direction: int) -> dict[str, dict[Monomial, Fraction]]:
        """Symbols as other symbols and slacks, by the assumptions ``a >= b`` in this direction: each without those
        before it."""
        replaced: dict[str, dict[Monomial, Fraction]] = {}
        for place, assumption in [*enumerate(self.assumptions)][::direction]:
            number = self.reduced(assumption.number)
            if assumption.relation != ">=" or len(names_in(number)) == 1:
                continue  # equations and ranges are used otherwise
            terms = {names: Fraction(factor) for names, factor in _terms(number)}
            for name, by in replaced.items():
                terms = _replace(terms, name, by)
            for names, factor in sorted(terms.items()):
                alone = sum(names[0] in others for others in terms if names) == 1
                if len(names) == 1 and factor > 0 and alone and names[0] in self._by_name:
                    rest = {others: -f / factor for others, f in terms.items() if others != names}
                    for name, by in replaced.items():
                        replaced[name] = _replace(by, names[0], {**rest, (f"\0{place}",): 1 / factor})
                    replaced[names[0]] = {**rest, (f"\0{place}",): 1 / factor}
                    break
        return replaced


_TIGHTENED = 4


def _nearest_first(picks: Sequence[Iterator[int]]) -> Iterator[tuple[int, ...]]:
    """All choices of one number of each, by the last place at which one is picked, then by the sum of the places.

    No more is picked than what is asked for needs: who seeks one admissible choice mostly takes one of the first.
    """
    if not picks:
        yield ()
        return
    picked: list[list[int]] = [[] for _ in picks]
    for level in count():
        for numbers, more in zip(picked, picks, strict=True):
            numbers.extend(islice(more, 1))
        grown = [i for i, numbers in enumerate(picked) if len(numbers) > level]
        if not grown or not all(picked):
            return
        here = chain.from_iterable(
            product(
                *(range(min(len(numbers), level)) for numbers in picked[:i]),  # so that no choice comes twice
                (level,),
                *(range(len(numbers)) for numbers in picked[i + 1 :]),
            )
            for i in grown
        )
        for places in sorted(here, key=lambda places: (sum(places), places)):
            yield tuple([numbers[at] for numbers, at in zip(picked, places, strict=True)])


def _solved(assumptions: Iterable[Assumption]) -> list[tuple[str, int, Number]]:
    """(name, factor, rest) of each assumption ``factor * name + rest == 0``, rest without the name.

    Each is written without the symbols that those before it determine.
    """
    found: list[tuple[str, int, Number]] = []
    equal = [one.number for one in assumptions if one.equal]
    for written in sorted(equal, key=lambda number: len(names_in(number))):
        terms = {names: Fraction(factor) for names, factor in _terms(written)}
        for name, factor, rest in found:
            terms = _replace(terms, name, {n: Fraction(-f, factor) for n, f in _terms(rest)})
        scale = lcm(*(factor.denominator for factor in terms.values()))
        number = _number({names: int(factor * scale) for names, factor in terms.items()})
        number = quotient(number, content(number) or 1) or 0
        # The least coefficient first: what it divides comes out whole.
        for names, factor in sorted(_terms(number), key=lambda term: abs(term[1])):
            rest = total(number, Polynomial(((names, -factor),)))
            if len(names) == 1 and names[0] not in names_in(rest) and names[0] not in {e[0] for e in found}:
                found.append((names[0], factor, rest))
                break
    return found


def _tightened(number: Number, relation: str) -> Number:
    """The number of ``number >= 0`` without a common divisor: the constant is rounded down."""
    terms = dict(_terms(number))
    constant = terms.pop((), 0)
    divisor = gcd(*terms.values())
    if relation != ">=" or divisor < 2:
        return number
    return total(_number({names: factor // divisor for names, factor in terms.items()}), constant // divisor)


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


def _without(equations: Iterable[tuple[str, int, Number]], number: Number) -> Number:
    """The number without the symbols that equations determine as whole numbers."""
    for name, factor, rest in equations:
        by = quotient(times(rest, -1), factor)
        if by is not None and name in names_in(number):
            parts = [
                product_of([factor_of, *(by if n == name else Polynomial((((n,), 1),)) for n in names)])
                for names, factor_of in _terms(number)
            ]
            number = total(*parts)
    return number


def _factor_of(number: Number, name: str) -> int:
    """What divides the coefficient of each term with the name."""
    return gcd(*(factor for names, factor in _terms(number) if name in names))


def _gives(step: tuple[str, int, Number] | Division) -> str:
    return step.quotient if isinstance(step, Division) else step[0]


def _needs(step: tuple[str, int, Number] | Division) -> frozenset[str]:
    return names_in(step.number if isinstance(step, Division) else step[2])
