"""Questions in SMT-LIB 2, logic QF_BV: Z3 reads the same text that ``--smt2`` writes for other solvers.

A term is text with the bound of its absolute value. When the script is finished its width is chosen so that the
largest bound, and a sign, fit: nothing wraps, so bit vectors equal the integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tileproof.base.records import dataclass
from tileproof.layout import Swizzle
from tileproof.layout.swizzle import read_mask
from tileproof.prove.maps import Inner, Map, Scale, Stage, window
from tileproof.prove.symbols import LeafFacts, Number

_WIDTH = "#W"


@dataclass(frozen=True, slots=True)
class Term:
    """A bit vector.

    Attributes:
        bound: of its absolute value.
    """

    text: str
    bound: int


def literal(value: int) -> Term:
    text = f"(_ bv{abs(value)} {_WIDTH})"
    return Term(text if value >= 0 else f"(bvneg {text})", abs(value))


def add(terms: Iterable[Term]) -> Term:
    parts = [term for term in terms if term.bound]
    if len(parts) < 2:
        return parts[0] if parts else literal(0)
    return Term(f"(bvadd {' '.join(part.text for part in parts)})", sum(part.bound for part in parts))


def multiply(a: Term, b: Term) -> Term:
    for one, other in ((a, b), (b, a)):
        if one.text == literal(1).text:
            return other
    if not a.bound or not b.bound:
        return literal(0)
    return Term(f"(bvmul {a.text} {b.text})", a.bound * b.bound)


def masked(a: Term, mask: int) -> Term:
    return Term(f"(bvand {a.text} {literal(mask).text})", mask)


def remainder(a: Term, modulus: int) -> Term:
    """``a`` modulo a power of two, negative numbers included."""
    return masked(a, modulus - 1) if modulus > 1 else literal(0)


def divided(a: Term, power: int) -> Term:
    """``a`` divided by a power of two, rounded down."""
    shift = power.bit_length() - 1
    return Term(f"(bvashr {a.text} {literal(shift).text})", a.bound) if shift else a


def equals(a: Term, b: Term) -> str:
    return f"(= {a.text} {b.text})"


def differs(a: Term, b: Term) -> str:
    return f"(not (= {a.text} {b.text}))"


def any_of(conditions: Iterable[str]) -> str:
    parts = list(conditions)
    return parts[0] if len(parts) == 1 else f"(or {' '.join(parts)})" if parts else "false"


def all_of(conditions: Iterable[str]) -> str:
    parts = list(conditions)
    return parts[0] if len(parts) == 1 else f"(and {' '.join(parts)})" if parts else "true"


class Script:
    """A question under construction: satisfiable where there is a counterexample."""

    def __init__(self, facts: LeafFacts, comments: Iterable[str]) -> None:
        self.facts = facts
        self.comments = tuple(comments)
        self.lines: list[str] = []
        self.variables: dict[str, str] = {}
        self.bound = 1
        self.quantified = False
        self.inline = False  # write terms out instead of naming them, as what depends on a bound variable must be
        self.symbols: dict[str, Term] = {}
        self.least: dict[str, int] = {}
        for place, symbol in enumerate(facts.symbols):
            values = symbol.quotients
            self.comment(f"q{place} * {symbol.div} is {symbol.name}")
            self.symbols[symbol.name] = self._declare(f"q{place}", symbol.name, values.stop - 1)
            self.require(f"(bvuge q{place} {self.seen(literal(values.start)).text})")
            if not symbol.hidden:
                self.least[f"q{place}"] = values.start
        for assumption in facts.assumptions:
            self.comment(assumption.text)
            value = self.number(assumption.number)
            zero = literal(0)
            if assumption.relation == ">=":
                self.require(f"(bvsge {value.text} {zero.text})")
            else:
                self.require(equals(value, zero) if assumption.equal else differs(value, zero))

    def comment(self, text: str) -> None:
        self.lines.append("; " + " ".join(text.split()))

    def _declare(self, name: str, what: str, most: int) -> Term:
        self.variables[name] = what
        self.lines.append(f"(declare-const {name} (_ BitVec {_WIDTH}))")
        self.require(f"(bvule {name} {self.seen(literal(most)).text})")
        return Term(name, most)

    def seen(self, term: Term) -> Term:
        """The term itself, for which there must be room."""
        self.bound = max(self.bound, term.bound)
        return term

    def require(self, condition: str) -> None:
        self.lines.append(f"(assert {condition})")

    def below(self, name: str, what: str, extent: Number) -> Term:
        """A variable in ``[0, extent)``."""
        if isinstance(extent, int):
            return self._declare(name, what, extent - 1)
        bound = self.number(extent)
        variable = self._declare(name, what, max(self.facts.most(extent) - 1, 0))
        self.require(f"(bvult {variable.text} {bound.text})")
        return variable

    def number(self, number: Number) -> Term:
        """A polynomial."""
        if isinstance(number, int):
            return self.seen(literal(number))
        parts = []
        for names, factor in number.terms:
            part = literal(factor)
            for name in names:
                part = multiply(part, self.symbols[name])
            parts.append(part)
        return self.seen(add(parts))

    def named(self, name: str, term: Term) -> Term:
        """A name for a term that is used several times."""
        self.seen(term)
        if self.inline:
            return term
        self.lines.append(f"(define-fun {name} () (_ BitVec {_WIDTH}) {term.text})")
        return Term(name, term.bound)

    def coordinates(self, prefix: str, what: Map) -> list[Term]:
        """A variable for each leaf."""
        return [
            literal(0) if leaf.extent == 1 else self.below(f"{prefix}{place}", f"{prefix}{place}", leaf.extent)
            for place, leaf in enumerate(what.leaves)
        ]

    def value(self, name: str, what: Map, coordinates: Iterable[Term]) -> list[Term]:
        """The components of a map at some coordinates, each named."""
        places = list(coordinates)
        found = []
        for i, start in enumerate(what.start):
            parts = [self.number(start)]
            parts += [multiply(c, self.number(leaf.steps[i])) for c, leaf in zip(places, what.leaves, strict=True)]
            label = name if len(what.start) == 1 else f"{name}_{i}"
            result = self.named(f"{label}_sum" if what.stages else label, self.seen(add(parts)))
            for place, stage in enumerate(what.stages):
                last = place == len(what.stages) - 1
                result = self._staged(label if last else f"{label}_{place}", stage, result)
            found.append(result)
        return found

    def _staged(self, name: str, stage: Stage, value: Term) -> Term:
        match stage:
            case Swizzle(_, _, shift):
                read = masked(value, read_mask(stage))
                moved = f"({'bvlshr' if shift >= 0 else 'bvshl'} {read.text} {literal(abs(shift)).text})"
                return self.named(name, Term(f"(bvxor {value.text} {moved})", value.bound + window(stage)))
            case Scale(factor, start):
                return self.named(name, add([multiply(literal(factor), value), self.number(start)]))
            case Inner():
                return self._inner(name, stage, value)

    def _inner(self, name: str, inner: Inner, value: Term) -> Term:
        digits = self.digits(name, value, [extent for extent, _ in inner.modes])
        return self.named(
            name, add(multiply(d, self.number(stride)) for d, (_, stride) in zip(digits, inner.modes, strict=True))
        )

    def digits(self, name: str, index: Term, extents: list[Number]) -> list[Term]:
        """The coordinates of an index that is not negative, the first extent fastest; the last has no upper end."""
        found = []
        rest = index
        for place, extent in enumerate(extents):
            if place == len(extents) - 1:
                found.append(rest)
            elif extent == 1:
                found.append(literal(0))
            else:
                by = self.number(extent)
                found.append(self.named(f"{name}_d{place}", Term(f"(bvurem {rest.text} {by.text})", by.bound)))
                rest = self.named(f"{name}_r{place}", Term(f"(bvudiv {rest.text} {by.text})", rest.bound))
        return found

    def at_most(self, name: str, value: int) -> str:
        """The condition that a variable, which is not negative, has no larger value."""
        return f"(bvule {name} {literal(value).text})"

    def around(self, bound: int) -> list[str]:
        """The conditions under which no dynamic leaf is further from its least value than ``bound`` quotients."""
        wide = 1 << self.bound.bit_length()
        return [self.at_most(name, min(least + bound, wide)) for name, least in self.least.items()]

    def text(self, more: Iterable[str] = ()) -> str:
        """The whole script, perhaps under more conditions."""
        width = self.bound.bit_length() + 2
        head = [f"; {' '.join(comment.split())}" for comment in self.comments]
        logic = "BV" if self.quantified else "QF_BV"
        ask = ["(check-sat)", f"(get-value ({' '.join(self.variables)}))"] if self.variables else ["(check-sat)"]
        lines = [*self.lines, *(f"(assert {condition})" for condition in more)]
        body = "\n".join(lines).replace(_WIDTH, str(width))
        options = ["(set-option :produce-models true)", f"(set-logic {logic})"]
        return "\n".join([*head, *options, body, *ask]) + "\n"


def values_of(model: Mapping[str, int], facts: LeafFacts) -> dict[str, int]:
    """The quotients of the dynamic leaves in a solver's answer."""
    return {symbol.name: model[f"q{place}"] for place, symbol in enumerate(facts.symbols)}
