"""Members of enums that Python acts on: each one that rule files name has something that acts on it.

Most enums are words of the rules alone. These few choose what the engine does: a step of the protocol has an action. A
rule file may give an action another operation; what no action does yet, it cannot add. This is the one place where
the enums are compared with the tables of Python.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.base.records import dataclass
from tileproof.base.source import Source
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import CONTRACTS
from tileproof.rulebase.fault import RuleFault
from tileproof.rulebase.load import RuleError, default_files, load, shipped_files


@dataclass(frozen=True, slots=True)
class ActedOn:
    """An enum that Python acts on.

    Attributes:
        what: what a member is, for messages.
        has: what Python has for each.
        known: the members that it has one for.
        table, column: where rule files use the members; empty where the enum alone says it.
    """

    enum: str
    what: str
    has: str
    known: frozenset[str]
    table: str = ""
    column: str = ""


def acted_on() -> tuple[ActedOn, ...]:
    """The enums that Python acts on, with what it has for each member."""
    from tileproof.protocol.actions import ACTIONS, copies  # noqa: PLC0415  not to list rules
    from tileproof.scheduling.plan import ROLES  # noqa: PLC0415

    return (
        ActedOn("protocol_step", "step", "action", frozenset(f".{name}" for name in ACTIONS), "protocol", "step"),
        ActedOn("protocol_copy", "copy", "action", frozenset(f".{name}" for name in copies.COPIES)),
        ActedOn("schedule_role", "role", "meaning", ROLES, "schedule", "role"),
    )


def unimplemented(book: Rulebook) -> Iterator[RuleFault]:
    """The members of enums that Python is to act on and cannot: where they are declared, and where tables name them."""
    for one in acted_on():
        enum = book.enums.get(one.enum)
        members = enum.members if enum is not None else {}
        known = ", ".join(sorted(one.known & members.keys()))
        for member in members:
            if enum is not None and member not in one.known:
                message = f"the {one.what} '{member}' has no {one.has}; known {one.has}s: {known}"
                yield RuleFault(enum.places[member], message)
        table = book.tables.get((one.table, CONTRACTS[0]))
        for key, row in table.rows.items() if table is not None else ():
            cell = row[table.column(one.column) or 0] if table is not None else ""
            if table is not None and cell not in members:
                message = f"'{cell}' is no {one.enum}, so it has no {one.has}; known {one.has}s: {known}"
                yield RuleFault(table.places[key], message)
    yield from _unnamed(book)


def _unnamed(book: Rulebook) -> Iterator[RuleFault]:
    """Operations that instructions in inline assembly are said to be the same as, and that no table knows."""
    table, operations = book.tables.get(("assembly", CONTRACTS[0])), book.enums.get("protocol_operation")
    known = {} if operations is None else operations.by_spelling
    for key, row in table.rows.items() if table is not None else ():
        for one in filter(None, str(row[0]).split(";")):
            name = one.split()[0]
            if table is not None and not name.startswith("arith.") and name not in known:
                message = f"'{name}' in column 'operation' of table 'assembly' is no protocol_operation"
                yield RuleFault(table.places[key], message)


def unfollowed(book: Rulebook) -> Iterator[RuleFault]:
    """Operations that an extension gives a step, in kernels that would not be followed for their sake."""
    operations, words = book.enums.get("protocol_operation"), book.enums.get("protocol_word")
    for member, spellings in operations.members.items() if operations is not None else ():
        if operations is None or words is None or operations.places[member].source is operations.place.source:
            continue  # the operations of rules/ without such a word do nothing asynchronous by themselves
        for spelling in spellings:
            if not any(word in spelling for word in words.by_spelling):
                write = f'`extend enum protocol_word {{ {member} "{spelling}"; }}`'
                message = f"a kernel is not followed for the sake of '{spelling}': write {write}"
                yield RuleFault(operations.places[member], message)


def load_implemented(files: tuple[Source, ...]) -> Rulebook:
    """The rulebook of these files, all of whose steps the engine can execute.

    That it executes those of our own files is what ``rules check`` and the tests show.

    Raises:
        RuleError: with every fault found, each at its line and column.
    """
    book = load(files)
    if files == default_files() or files == shipped_files():
        return book
    if faults := (*unimplemented(book), *unfollowed(book)):
        raise RuleError(faults)
    return book
