"""What operations must look like, as rules/operations says: operands, their types, attributes, and names at all.

The tables have two generations. A module of the published one is judged by its own rows where it has some. Of an
operation without a row, and of a type that is of no known kind, nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, lru_cache

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.base.spelling import get_close_matches
from tileproof.dialects.operations import Operations
from tileproof.mlir.ir import Operation
from tileproof.mlir.signature import parameters
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import Stated, state

_UNBOUNDED = 65535  # operands: any number
_NEAR = 0.75  # of get_close_matches: less is no spelling mistake

Types = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with an operation, and the place of the operand or result that it is about.

    Attributes:
        operand, result: its position; None where the fault is about the whole operation.
    """

    stated: Stated
    operand: int | None = None
    result: int | None = None


@dataclass(frozen=True, slots=True)
class Constraint:
    """The types that one operand may have.

    Attributes:
        said: how the verifier names them.
        kinds: members of ``value_kind``.
    """

    said: str
    kinds: frozenset[str]


@dataclass(frozen=True, eq=False)
class Form:
    """The rows of one operation.

    Attributes:
        operands: how many it may have.
        relation: a member of ``type_relation``, and how the verifier states it.
        attributes: those that it needs.
        at: constraints by position: ``operand_0``, ``result_0``, ``every``, ``from_1``.
    """

    operands: range
    relation: str
    relation_said: str
    attributes: frozenset[str]
    at: Mapping[str, Constraint]

    def operand(self, index: int) -> Constraint | None:
        """The constraint on an operand."""
        found = self.at.get(f"operand_{index}") or self.at.get("every")
        if found is None:
            for name, constraint in self.at.items():
                if name.startswith("from_") and index >= int(name.removeprefix("from_")):
                    return constraint
        return found

    @cached_property
    def count(self) -> str:
        """How many operands it has, in words."""
        least, most = self.operands[0], self.operands[-1]
        if most == _UNBOUNDED:
            return f"{least} or more operands"
        return f"{least} operands" if least == most else f"{least} to {most} operands"


class Forms:
    """The operations of a rulebook by name, with the types that their operands may have."""

    def __init__(self, book: Rulebook) -> None:
        self.book = book
        self.wheel = _forms(book, "wheel")
        self.published = _forms(book, "published")
        self.kinds = book.enums["value_kind"].by_spelling
        self.operations = book.enums["dialect_operation"].by_spelling
        self.dialects = frozenset(member[1:] for member in book.enums["dialect_operation"].members)
        self.types = book.enums["dialect_type"].by_spelling
        self.judged = lru_cache(maxsize=65536)(self._types)
        self.attributes = {name: (constraint, re.compile(pattern)) for name, constraint, pattern in _attributes(book)}

    @staticmethod
    def of(book: Rulebook) -> Forms:
        """Those of a rulebook, read once."""
        return _read(book)

    def fault(self, operation: Operation, operands: Types, results: Types, published: bool) -> Fault | None:
        """The first thing that is wrong with an operation whose operands and results have these types.

        Args:
            operands: one for each operand; None where its type is not known.
            results: those that are declared; empty where none are.
            published: whether the module is of the published generation.
        """
        name = operation.name
        own = self.published.get(name) if published else None
        form = own or self.wheel.get(name)
        if form is None:
            return None
        if len(operands) not in form.operands:
            return Fault(state(self.book, "IR023", "count", operation=name, count=form.count, found=len(operands)))
        if form.attributes or own is not None:
            said = self._attribute_fault(operation, form, own is not None)
            if said is not None:
                return Fault(said)
        return self.judged(name, form, operands, results)

    def _attribute_fault(self, operation: Operation, form: Form, published: bool) -> Stated | None:
        name = operation.name
        if operation.generic:
            written = dict(parameters(operation))
            for attribute in sorted(form.attributes - written.keys()):
                return state(self.book, "IR023", "attribute", operation=name, attribute=attribute)
            for attribute, text in written.items() if published else ():
                constraint, pattern = self.attributes.get(attribute, ("", None))
                if pattern is not None and not pattern.fullmatch(text):
                    return state(
                        self.book, "IR023", "value", operation=name, attribute=attribute, constraint=constraint
                    )
        elif published and form.attributes and not form.attributes <= dict(parameters(operation)).keys():
            return state(self.book, "IR023", "parameter", operation=name)
        return None

    def _types(self, name: str, form: Form, operands: Types, results: Types) -> Fault | None:
        for index, text in enumerate(operands):
            constraint = form.operand(index)
            if constraint is not None and text is not None and self._refused(text, constraint):
                return Fault(self._kind(name, f"operand #{index}", constraint, text), operand=index)
        for index, text in enumerate(results):
            constraint = form.at.get(f"result_{index}")
            if constraint is not None and text is not None and self._refused(text, constraint):
                return Fault(self._kind(name, f"result #{index}", constraint, text), result=index)
        if form.relation != ".free":
            related = _RELATED[form.relation](operands, results)
            if len({text for text in related if text is not None}) > 1:
                return Fault(state(self.book, "IR023", "relation", operation=name, relation=form.relation_said))
        return None

    def _kind(self, name: str, what: str, constraint: Constraint, text: str) -> Stated:
        return state(self.book, "IR023", "type", operation=name, what=what, constraint=constraint.said, found=text)

    def _refused(self, text: str, constraint: Constraint) -> bool:
        kind = self.kinds.get(_spelling(text))
        return kind is not None and kind not in constraint.kinds

    def unknown_operation(self, name: str) -> Stated | None:
        """The note about a name that a known dialect does not have."""
        if name in self.operations or name.partition(".")[0] not in self.dialects:
            return None
        known = Operations.of(self.book)
        if known.step(name) or name in known.aliasing:
            return None  # of another release than the one whose names are listed
        dialect, _, short = name.partition(".")
        if (nearest := _nearest(name, f"{dialect}.", self.operations)) is not None:
            return state(self.book, "IR024", "near", dialect=dialect, name=short, nearest=nearest)
        return state(self.book, "IR024", "here", dialect=dialect, name=short)

    def unknown_type(self, name: str) -> Stated | None:
        """The note about a type, without its parameters, that ``cute`` or ``cute_nvgpu`` does not have."""
        if name in self.types or not name.startswith(("!cute.", "!cute_nvgpu.")):
            return None
        dialect, _, short = name[1:].partition(".")
        if (nearest := _nearest(name, f"!{dialect}.", self.types)) is not None:
            return state(self.book, "IR025", "near", dialect=dialect, name=short, nearest=nearest)
        return state(self.book, "IR025", "here", dialect=dialect, name=short)


def _nearest(name: str, beginning: str, known: Collection[str]) -> str | None:
    """The known name with this beginning that is most like a name, where one is."""
    own = [other for other in known if other.startswith(beginning)]
    close = get_close_matches(name, own, 1, _NEAR)
    return close[0] if close else None


_RELATED: Mapping[str, Callable[[Types, Types], Sequence[str | None]]] = {
    ".all_alike": lambda operands, results: (*operands, *results),
    ".operands_alike": lambda operands, _: operands,
    ".choice_alike": lambda operands, results: (*operands[1:], *results),
}

_VECTOR = regex(r"vector<(?:\[?\d+\]?x)*([^>]*)>")
_MEMORY = regex(r"(!cute\.(?:ptr|memref))<[^,<]*, (\w+)")


@lru_cache(maxsize=65536)
def _spelling(text: str) -> str:
    """How ``value_kind`` spells what a type is."""
    if text.startswith("vector<"):
        found = _VECTOR.match(text)
        return f"vector<{found[1]}>" if found else text
    if text.startswith("!llvm.ptr"):
        return text
    found = _MEMORY.match(text)
    return f"{found[1]}<{found[2]}>" if found else text.partition("<")[0]


@lru_cache(maxsize=8)
def _read(book: Rulebook) -> Forms:
    return Forms(book)


def _forms(book: Rulebook, generation: str) -> dict[str, Form]:
    spoken = book.enums["type_constraint"].members
    kinds = book.shared_table("type_constraint").rows
    relations = book.enums["type_relation"].members
    at: dict[str, dict[str, Constraint]] = {}
    for (member, position), (constraint,) in book.shared_table(f"{generation}_type").rows.items():
        accepted = kinds[str(constraint),][0]
        assert isinstance(accepted, frozenset)
        found = Constraint(spoken[str(constraint)][0], frozenset(map(str, accepted)))
        at.setdefault(member, {})[position[1:]] = found
    forms = {}
    for (member,), (operands, relation, attributes) in book.shared_table(f"{generation}_operation").rows.items():
        assert isinstance(operands, range) and isinstance(attributes, frozenset)
        said = relations[str(relation)]
        needed = frozenset(str(name)[1:] for name in attributes)
        form = Form(operands, str(relation), said[0] if said else "", needed, at.get(member, {}))
        for spelling in book.enums[f"{generation}_operation"].members[member]:
            forms[spelling] = form
    return forms


def _attributes(book: Rulebook) -> list[tuple[str, str, str]]:
    """Attributes whose form is known: the name, what it must be, and the pattern of its text."""
    found = []
    for (attribute,), (constraint,) in book.shared_table("published_attribute").rows.items():
        pattern = book.shared_table("attribute_constraint").rows[str(constraint),][0]
        said = book.enums["attribute_constraint"].members[str(constraint)][0]
        found.append((attribute[1:], said, str(pattern)))
    return found
