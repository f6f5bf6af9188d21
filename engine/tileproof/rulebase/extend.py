"""``extend enum`` and ``extend table``: what a rule file adds to declarations of other files."""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.base.records import replace
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import CONTRACTS, MoreMembers, MoreRows, Table
from tileproof.rulebase.expression import Value
from tileproof.rulebase.fault import RuleFault


def extend_enum(book: Rulebook, more: MoreMembers) -> Iterator[RuleFault]:
    """Add members to an enum, and spellings to members that it has."""
    enum = book.enums.get(more.enum)
    if enum is None:
        yield RuleFault(more.place, f"no enum is called '{more.enum}'")
        return
    members, spelled = dict(enum.members), dict(enum.by_spelling)
    for member, spellings in more.members.items():
        if not spellings and member in members:
            yield RuleFault(more.places[member], f"'{member}' is a member of '{enum.name}' already")
        for spelling in spellings:
            if spelled.setdefault(spelling, member) != member or spelling in members.get(member, ()):
                yield RuleFault(more.places[member], f'"{spelling}" already spells {spelled[spelling]}')
        members[member] = (*members.get(member, ()), *spellings)
    book.enums[more.enum] = replace(enum, members=members, places={**more.places, **enum.places})


def extend_table(book: Rulebook, more: MoreRows) -> Iterator[RuleFault]:
    """Add rows to a table: to that of the contract, or where none is named to all tables of the name."""
    contracts = (more.contract,) if more.contract else CONTRACTS
    found = [book.tables[more.table, one] for one in contracts if (more.table, one) in book.tables]
    tables = list(dict.fromkeys(found))
    if not tables:
        where = f" in contract {more.contract}" if more.contract else ""
        yield RuleFault(more.place, f"no table is called '{more.table}'{where}")
    for table in tables:
        if more.contract is not None and table.contract is None:
            yield RuleFault(more.place, f"table '{more.table}' is of both contracts: leave out 'in {more.contract}'")
            continue
        # Declarations are shared by all rulebooks of this process: a table grows as a copy.
        citations = (*table.citations, *more.citations)
        grown = replace(table, rows=dict(table.rows), places=dict(table.places), citations=citations)
        for place, cells in more.cells:
            for column, cell in zip(table.columns, cells[len(table.keys) :], strict=False):
                if (strange := _strange(book, grown, column, cell)) is not None:
                    yield RuleFault(place, strange)
            try:
                grown.add(cells, place)
            except ValueError as fault:
                yield RuleFault(
                    place, f"{fault}: {'  '.join((*(f'<{name}>' for name, _ in table.keys), *table.columns))}"
                )
        book.tables.update({key: grown for key, known in book.tables.items() if known is table})


def _strange(book: Rulebook, table: Table, column: str, cell: tuple[str, ...] | Value) -> str | None:
    """What is wrong with a new cell of a column, by the enums that all cells of the column are members of."""
    at = table.columns.index(column)
    items = _members(cell)
    held = {item for row in table.rows.values() for item in _members(row[at])}
    fitting = [enum for enum in book.enums.values() if held and held <= enum.members.keys()]
    missing = [item for item in items if fitting and not any(item in enum.members for enum in fitting)]
    if not missing:
        return None
    names = " or ".join(enum.name for enum in fitting)
    write = f"`extend enum {fitting[0].name} {{ {missing[0]}; }}`"
    return (
        f"'{missing[0]}' in column '{column}' of table '{table.name}' is no {names}: write one, or add it with {write}"
    )


def _members(cell: tuple[str, ...] | Value) -> list[str]:
    """The members of enums in a cell."""
    items = [cell] if isinstance(cell, (int, str)) else list(cell)
    return [item for item in items if isinstance(item, str) and item.startswith(".")]
