"""Declarations of rule files to a rulebook: name resolution and the checks that need no solver.

After this, every name in every expression means something (``resolve``). What only a solver can tell (a rule that can
never fail, one that others imply) is checked by the room ``audit``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from tileproof.base import cache
from tileproof.base.records import replace
from tileproof.base.source import Source, Span
from tileproof.rulebase.atoms import missing_fragments, missing_rules, share_declarations
from tileproof.rulebase.bitfield import Canonical, Word
from tileproof.rulebase.book import Declaration, Rulebook
from tileproof.rulebase.checklist import strange_rows
from tileproof.rulebase.contradiction import Contradiction
from tileproof.rulebase.declarations import (
    CONTRACTS,
    Atom,
    Enum,
    Finding,
    Instruction,
    MoreMembers,
    MoreRows,
    Rule,
    Schema,
    Table,
    Unjudged,
)
from tileproof.rulebase.expression import Place
from tileproof.rulebase.extend import extend_enum, extend_table
from tileproof.rulebase.fault import RuleError, RuleFault
from tileproof.rulebase.fragment import Fragment
from tileproof.rulebase.parser import rules as syntax
from tileproof.rulebase.references import Cited, Reference, UnknownSource, resolve
from tileproof.rulebase.resolve import Resolver
from tileproof.rulebase.template import Lowering, Template
from tileproof.rulebase.total import missing_rows
from tileproof.syntax import SyntaxFault


@lru_cache(maxsize=256)
def _declared(file: Source, readers: tuple[str, ...]) -> tuple[Declaration, ...]:
    """The declarations of one file: of a project that changes its own rules, ours are not read again.

    Raises:
        SyntaxFault: the text is not in the rule language.
    """
    return cache.made("rule-file", [*readers, file.name, file.text], lambda: tuple(syntax.declarations(file)))


def collected(files: tuple[Source, ...], readers: tuple[str, ...]) -> Rulebook:
    """The rulebook of these files.

    Args:
        readers: the code and the grammars by which they are read.

    Raises:
        RuleError: with every fault found, each at its line and column.
    """
    faults: list[RuleFault] = []
    declarations: list[Declaration] = []
    for file in files:
        try:
            declarations += _declared(file, readers)
        except SyntaxFault as fault:
            faults.append(RuleFault(Place(file, Span(fault.start, fault.end)), str(fault)))
    if faults:  # what an unread file declares would be missed everywhere
        raise RuleError(faults)
    book = _collect(list(_with_references(declarations, faults)), faults)
    if not faults:
        faults += Resolver(book).faults()
    if not faults:
        faults += missing_rows(book)
        faults += missing_fragments(book)
        faults += missing_rules(book)
        faults += strange_rows(book)
    if faults:
        raise RuleError(faults)
    return book


def _with_references(declarations: list[Declaration], faults: list[RuleFault]) -> Iterator[Declaration]:
    """The declarations with what their sources cite found among the declared references."""
    references = {item.title: item for item in declarations if isinstance(item, Reference)}
    for item in declarations:
        if not isinstance(item, Cited):
            yield item
            continue
        citations = []
        for citation in item.citations:
            try:
                citations.append(resolve(citation, references))
            except UnknownSource as unknown:
                faults.append(RuleFault(citation.place, str(unknown)))
        yield replace(item, citations=tuple(citations))


def _collect(declarations: list[Declaration], faults: list[RuleFault]) -> Rulebook:
    book = Rulebook({}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {})
    names: dict[str, str] = {}

    def put(shelf: dict[str, Declaration], key: str, item: Declaration, what: str) -> None:
        if key in shelf:
            faults.append(RuleFault(item.place, f"{what} '{key}' is declared twice, first at {shelf[key].place}"))
        shelf.setdefault(key, item)

    for item in declarations:
        match item:
            case Reference():
                put(book.references, item.title, item, "reference")  # type: ignore[arg-type]
            case Enum():
                put(book.enums, item.name, item, "enum")  # type: ignore[arg-type]
            case Schema():
                put(book.schemas, item.name, item, "schema")  # type: ignore[arg-type]
            case Atom():
                for type_ in item.types:
                    put(book.atoms, type_, item, "atom")  # type: ignore[arg-type]
            case Unjudged():
                for type_ in item.types:
                    put(book.unjudged, type_, item, "atom")  # type: ignore[arg-type]
            case Instruction():
                same = book.instructions.get(item.name, ())
                if any((set(x.selectors), x.modifiers) == (set(item.selectors), item.modifiers) for x in same):
                    faults.append(RuleFault(item.place, f"instruction '{item.name}' is declared twice"))
                book.instructions[item.name] = (*same, item)
            case Fragment():
                for type_ in item.types:
                    put(book.fragments, type_, item, "fragment")  # type: ignore[arg-type]
            case Word():
                for contract in (item.contract,) if item.contract else CONTRACTS:
                    book.words[item.name, contract] = (*book.words.get((item.name, contract), ()), item)
            case Lowering() | Template():
                for contract in (item.contract,) if item.contract else CONTRACTS:
                    kept: dict[tuple[str, str], tuple[Declaration, ...]]
                    kept = book.lowerings if isinstance(item, Lowering) else book.templates  # type: ignore[assignment]
                    kept[item.schema, contract] = (*kept.get((item.schema, contract), ()), item)
            case Canonical():
                put(book.canonical, item.name, item, "canonical layout")  # type: ignore[arg-type]
            case Table():
                for contract in (item.contract,) if item.contract else CONTRACTS:
                    if (item.name, contract) in book.tables:
                        faults.append(RuleFault(item.place, f"table '{item.name}' is declared twice in {contract}"))
                    book.tables.setdefault((item.name, contract), item)
            case Contradiction():
                put(book.contradictions, item.code, item, "contradiction")  # type: ignore[arg-type]
            case Rule() | Finding():
                shelf = book.rules if isinstance(item, Rule) else book.findings
                put(shelf, item.code, item, "code")  # type: ignore[arg-type]
                for name in (item.name, *item.former):
                    if names.setdefault(name, item.code) != item.code:
                        faults.append(RuleFault(item.place, f"'{name}' already names {names[name]}"))
    for item in (item for item in declarations if isinstance(item, MoreMembers)):
        faults += extend_enum(book, item)
    for item in (item for item in declarations if isinstance(item, MoreRows)):
        faults += extend_table(book, item)
    faults += share_declarations(book)
    own = dict(book.schemas)
    for name in own:
        book.schemas[name] = _inherit(name, own, faults, ())
    return book


def _inherit(name: str, own: dict[str, Schema], faults: list[RuleFault], below: tuple[str, ...]) -> Schema:
    """A schema with the facts of those that it extends; its own declarations win."""
    schema = own[name]
    fields, instance = {}, {}
    for parent in schema.parents:
        if parent not in own or parent in below or parent == name:
            faults.append(RuleFault(schema.place, f"'{parent}' is not a schema that can be extended"))
            continue
        above = _inherit(parent, own, faults, (*below, name))
        fields.update(above.fields)
        instance.update(above.instance)
    return replace(schema, fields={**fields, **schema.fields}, instance={**instance, **schema.instance})
