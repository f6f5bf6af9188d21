"""Names of a module that nothing declares: registers, labels that branches go to, functions that are defined twice."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from tileproof.base.patterns import regex
from tileproof.base.source import Span
from tileproof.ptx.module import Fault, Function, Module, Scope, Statement, fault
from tileproof.ptx.registers import special
from tileproof.ptx.text import operands_of
from tileproof.ptx.vocabulary import word_of
from tileproof.rulebase.book import Rulebook

_NAME = regex(r"(?<![\w$.%])[%$_a-zA-Z][\w$]*+", re.ASCII)
_MOST = 100  # faults of one module


def names_in(text: str) -> list[str]:
    """The names in the operands of an instruction, in their order, each as often as it stands there."""
    return _NAME.findall(text)


def name_faults(book: Rulebook, module: Module) -> Iterator[Fault]:
    """What is wrong with the names of a module, at most a hundred faults, in textual order."""
    merged = _merged(module)
    found = [*_functions(module), *_undeclared(book, module, merged.keys()), *_targets(book, module), *merged.values()]
    yield from sorted(found, key=lambda one: one.span)[:_MOST]


def _functions(module: Module) -> Iterator[Fault]:
    defined: dict[str, Function] = {}
    for function in module.functions:
        if function.body is None:
            continue
        first = defined.setdefault(function.name, function)
        if first is not function:
            places = (("first", first.span),)
            yield fault("PT014", "function", function.span, at=places, name=function.name)


def _merged(module: Module) -> dict[int, Fault]:
    """Instructions over several lines that are no single instruction, by their places: a semicolon is missing."""
    found = {}
    for statement in module.instructions:
        body = module.plain[statement.body_start : statement.end - 1]
        if "\n" in body and "(" not in body and operands_of(body.strip()) is None:
            span = Span(statement.opcode_start, statement.opcode_start + len(statement.opcode))
            found[statement.start] = fault("PT013", "merged", span)
    return found


def _undeclared(book: Rulebook, module: Module, merged: Collection[int]) -> Iterator[Fault]:
    functions = {function.name for function in module.functions}
    known: dict[int, set[str]] = {}
    text, find = module.plain, _NAME.findall
    count = 0
    last: Scope | None = None
    seen: set[str] = set()
    for statement in module.instructions:
        names = find(text, statement.body_start, statement.end)
        if statement.guard:
            names.append(statement.guard)
        scope = statement.scope
        if scope is not last:
            last, seen = scope, known.setdefault(id(scope), set())
        for name in names:
            if name in seen:
                continue
            if scope.register(name) is not None:
                seen.add(name)
                continue
            if _declared(book, statement, name) or name in functions:
                seen.add(name)
                continue
            word = word_of(book, statement.opcode)
            if (word.jump in ("branch", "indexed") and name != statement.guard) or not word.name or not statement.body:
                continue  # a label, an instruction whose operands are unknown, one outside of all functions
            if statement.start in merged:
                continue
            seen.add(name)  # once a block
            count += 1
            if count > _MOST:
                return
            yield fault("PT008", "here", _place(text, statement, name), register=name)


def _declared(book: Rulebook, statement: Statement, name: str) -> bool:
    scope = statement.scope
    return (
        scope.variable(name) is not None
        or scope.label(name) is not None
        or scope.table(name) is not None
        or special(book, name) is not None
        or _constant(book, name)
    )


def _constant(book: Rulebook, name: str) -> bool:
    """Whether a name is a special register that no judged operand is, or a constant."""
    known = book.enums["special_name"].by_spelling
    return name in known or name.removesuffix("_64").rstrip("0123456789") in known


def _place(text: str, statement: Statement, name: str) -> Span:
    for found in _NAME.finditer(text, statement.start, statement.end):
        if found[0] == name:
            return Span(*found.span())
    return Span(statement.start, statement.end)


def _targets(book: Rulebook, module: Module) -> Iterator[Fault]:
    """Branches to labels that they do not see."""
    homes: dict[str, str] = {}
    for function in module.functions:
        for label in function.labels:
            homes.setdefault(label.name, function.name)
    count = 0
    for statement in module.instructions:
        jump = word_of(book, statement.opcode).jump
        if jump not in ("branch", "indexed"):
            continue
        for name, fact in _unseen(module, statement, jump):
            count += 1
            if count > _MOST:
                return
            place = _place(module.plain, statement, name)
            here = statement.body
            if fact == "label" and name in homes and not _in_function(module, homes[name], here):
                yield fault("PT015", "elsewhere", place, label=name, function=homes[name])
            elif fact == "table":
                yield fault("PT015", "table", place, label=name)
            else:
                yield fault("PT015", "here", place, label=name)


def _in_function(module: Module, name: str, number: int) -> bool:
    return any(one.name == name and one.number == number for one in module.functions)


def _unseen(module: Module, statement: Statement, jump: str) -> Iterator[tuple[str, str]]:
    names = names_in(module.operands(statement))
    if jump == "branch":
        if names and statement.scope.label(names[-1]) is None:
            yield names[-1], "label"
        return
    table: tuple[str, ...] | None = statement.scope.table(names[-1]) if names else None
    if table is None:
        yield (names[-1] if names else statement.opcode), "table"
        return
    scope: Scope = statement.scope
    yield from ((name, "label") for name in table if scope.label(name) is None)


__all__ = ["name_faults", "names_in"]
