"""Repairs of a packed word that a kernel assembles: which constants make some of its fields what they have to be.

A constant is the value of a field, what the field counts, or a word with several fields in it. Which of them it is
nobody has to know: each constant that the word is computed from is tried, and the word computed with it in its place.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence

from tileproof.base.diagnostic import Edit
from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, replace
from tileproof.base.source import Source, Span
from tileproof.dialects.configuration import WrongWord
from tileproof.evaluate.bitfields import PackError
from tileproof.evaluate.hardware import Field
from tileproof.evaluate.hardware import field as field_of
from tileproof.memory.instruction_words import known_fields
from tileproof.memory.known_bits import fold
from tileproof.mlir.ir import Operation
from tileproof.mlir.scopes import Origin, Scope, walk
from tileproof.rulebase.book import Ruleset
from tileproof.rulebase.expression import Scalar

_CONSTANTS = ("arith.constant", "llvm.mlir.constant")
_DEEPEST = 12  # operations between a constant and the word
_NUMBER = regex(r"(?<=[ (])(-?\d+)(?= : i\d+)")
_NAME = regex(r"%[\w$.-]+(?:#\d+)?")


@dataclass(frozen=True, slots=True)
class _Use:
    """A constant where it is used."""

    user: Operation
    index: int
    constant: Operation
    value: int
    width: int


def repaired(ruleset: Ruleset, source: Source, operations: Sequence[Operation], wrong: WrongWord) -> tuple[Edit, ...]:
    """The edits of the text with which the fields are right and all others stay; empty where no such are found."""
    for operation, scope in walk(operations):
        if operation is wrong.maker and len(operation.results) == 1:
            return _Search(ruleset, source, scope, wrong).edits()
    return ()


class _Search:
    """The search for constants, at the operation that makes the word."""

    def __init__(self, ruleset: Ruleset, source: Source, scope: Scope, wrong: WrongWord) -> None:
        self.ruleset, self.source, self.wrong = ruleset, source, wrong
        self.name = wrong.maker.results[0].name
        self.scope: Scope = ChainMap({self.name: Origin(wrong.maker, 0)}, scope)  # type: ignore[arg-type]
        self.before = self.fields(self.scope)

    def fields(self, scope: Scope) -> Mapping[str, Scalar]:
        """The known fields of the word."""
        known = fold(self.ruleset.book, self.name, scope)
        try:
            return known_fields(self.ruleset, self.wrong.word, known.ones, known.unknown)
        except PackError:
            return {}

    def edits(self) -> tuple[Edit, ...]:
        """Of one constant for all fields, else of one for each."""
        uses = list(self.uses(self.wrong.maker, _DEEPEST))
        groups = [dict(self.wrong.right)]
        if len(self.wrong.right) > 1:
            groups.append({})
        for group in groups:
            found = [self.edit(uses, one) for one in ([group] if group else _alone(self.wrong.right))]
            if all(found):
                return tuple(edit for edits in found for edit in edits)
        return ()

    def uses(self, operation: Operation, depth: int) -> Iterator[_Use]:
        """The constants that an operation computes with."""
        for index, name in enumerate(operation.operands):
            origin = self.scope.get(name)
            if origin is None or origin.argument:
                continue
            if origin.operation.name not in _CONSTANTS:
                if depth:
                    yield from self.uses(origin.operation, depth - 1)
                continue
            known = fold(self.ruleset.book, name, self.scope)
            if known.value is not None:
                yield _Use(operation, index, origin.operation, known.value, known.width)

    def edit(self, uses: Sequence[_Use], right: Mapping[str, int]) -> tuple[Edit, ...]:
        """The edits of one constant that make some fields right, and leave all others."""
        wanted = {**self.before, **right}
        for use in uses:
            for value in dict.fromkeys(self.values(use, right)):
                edits = self.written(use, value)
                if edits and self.fields(self.changed(use, value)) == wanted:
                    return edits
        return ()

    def values(self, use: _Use, right: Mapping[str, int]) -> Iterator[int]:
        """What a constant may have to be."""
        fields = {name: field_of(self.ruleset.book, self.wrong.word, name) for name in right}
        if len(right) == 1:
            [(name, value)] = right.items()
            yield value // fields[name].unit
            yield value
        word = use.value
        for name, value in right.items():
            one = fields[name]
            word = word & ~_mask(one) | value // one.unit << one.low
        yield word

    def changed(self, use: _Use, value: int) -> Scope:
        """What is visible once a use has another constant."""
        other = f"{use.constant.results[0].name}'"
        constant = replace(use.constant, pieces=(f"{use.constant.name} {value} : i{use.width}",), attributes=())
        operands = (*use.user.operands[: use.index], other, *use.user.operands[use.index + 1 :])
        user = Origin(replace(use.user, operands=operands), 0)
        return ChainMap({other: Origin(constant, 0), use.user.results[0].name: user}, self.scope)  # type: ignore[arg-type]

    def written(self, use: _Use, value: int) -> tuple[Edit, ...]:
        """A constant of its own before the operation that uses it: the one there is may have other uses."""
        start = use.user.span.start
        text = self.source.text[start : use.user.span.end]
        names = [one for one in _NAME.finditer(text) if one.start() > text.find("=")]
        constant = self.source.text[use.constant.span.start : use.constant.span.end]
        numbers = list(_NUMBER.finditer(constant))
        if len(numbers) != 1 or [one[0] for one in names[: len(use.user.operands)]] != list(use.user.operands):
            return ()
        line = self.source.text.rfind("\n", 0, start) + 1
        indent = self.source.text[line:start]
        if indent.strip():
            return ()
        own = f"%tileproof_{self.source.position(start).line}_{use.index}"
        signed = value - (1 << use.width) if value >> use.width - 1 and use.width > 1 else value
        at = numbers[0]
        after = constant[constant.index("=") : at.start()] + str(signed) + constant[at.end() :]
        name = names[use.index]
        return (
            Edit(Span(line, line), f"{indent}{own} {after}\n"),
            Edit(Span(start + name.start(), start + name.end()), own),
        )


def _alone(right: Mapping[str, int]) -> list[dict[str, int]]:
    return [{name: value} for name, value in right.items()]


def _mask(one: Field) -> int:
    return (1 << one.width) - 1 << one.low


__all__ = ["repaired"]
