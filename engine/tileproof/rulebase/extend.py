"""``extend enum`` and ``extend table``: what a rule file adds to declarations of other files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import CONTRACTS, MoreMembers, MoreRows
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
        for place, cells in more.cells:
            try:
                table.add(cells, place)
            except ValueError as fault:
                yield RuleFault(place, f"{fault}: {' '.join(('<keys>', '->', *table.columns))}")
