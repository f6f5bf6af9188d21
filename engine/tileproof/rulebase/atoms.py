"""Which declaration reads which atom: that of its member of the enum ``atom``, however the type is spelled."""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.base.patterns import regex
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import CONTRACTS
from tileproof.rulebase.fault import RuleFault

ATOM = "atom"
_REGISTRY, _INTERFACES, _MMA = "registry", "interfaces", ".mma"  # rules/atoms.rule
_TYPE = regex(r"[A-Za-z_][\w.]*")  # other spellings are for messages only


def share_declarations(book: Rulebook) -> Iterator[RuleFault]:
    """Enter each declaration under every spelling that it reads, and report the spellings that none reads.

    A member with one declaration is read by it in all its spellings; of several, each spelling has its own.
    """
    enum = book.enums.get(ATOM)
    if enum is None:
        return
    places = {type_: declaration.place for type_, declaration in book.atoms.items()}
    places |= {type_: unjudged.place for type_, unjudged in book.unjudged.items()}
    for type_, place in places.items():
        if type_ not in enum.by_spelling:
            write = f'`extend enum {ATOM} {{ .NAME "{type_}"; }}`'
            yield RuleFault(place, f"'{type_}' spells no member of the enum '{ATOM}': write {write}")
    for member, spellings in enum.members.items():
        declared = dict.fromkeys(book.atoms[one] for one in spellings if one in book.atoms)
        lacking = [
            one for one in spellings if one not in book.atoms and one not in book.unjudged and _TYPE.fullmatch(one)
        ]
        for spelling in lacking:
            if len(declared) == 1:
                book.atoms[spelling] = next(iter(declared))
                continue
            why = "the other spellings of this member have several" if declared else f"no rule judges {member}"
            yield RuleFault(
                enum.places[member],
                f"the atom {spelling} has no declaration, and {why}: write `atom {spelling} on SCHEMA {{ ... }}`,"
                f' or `atom {spelling} unjudged "why";` where it has nothing to judge',
            )
    for spellings in enum.members.values():
        held = dict.fromkeys(book.fragments[one] for one in spellings if one in book.fragments)
        if len(held) == 1:
            for spelling in spellings:
                book.fragments.setdefault(spelling, next(iter(held)))


def missing_rules(book: Rulebook) -> Iterator[RuleFault]:
    """The declarations of atoms whose facts no rule judges though they are not said to be so, and the reverse."""
    if ATOM not in book.enums:
        return
    for declaration in dict.fromkeys(book.atoms.values()):
        judged = any(book.rules_on(declaration.schema, contract, inherited=True) for contract in CONTRACTS)
        said = [book.unjudged[one] for one in declaration.types if one in book.unjudged]
        if judged and said:
            yield RuleFault(said[0].place, f"rules on '{declaration.schema}' judge {declaration.type}")
        elif not judged and not said:
            write = f"`rule CODE name on {declaration.schema} {{ require ... error ... source ... }}`"
            otherwise = f'`atom {declaration.type} unjudged "why";`'
            message = f"no rule on '{declaration.schema}' judges {declaration.type}: write {write}, or {otherwise}"
            yield RuleFault(declaration.place, message)


def missing_fragments(book: Rulebook) -> Iterator[RuleFault]:
    """The MMA atoms of which no fragment says which thread holds what: by their type, or by their schema."""
    registry = book.tables.get((_REGISTRY, CONTRACTS[0]))
    column = registry.column(_INTERFACES) if registry is not None else None
    if registry is None or column is None:
        return
    fragments = dict.fromkeys(book.fragments.values())
    covered = {name for one in fragments for on in one.applies for name in book.lineage(on.schema)}
    for (member,), row in registry.rows.items():
        interfaces = row[column]
        if not isinstance(interfaces, frozenset) or _MMA not in interfaces:
            continue
        for spelling in book.enums[ATOM].members[member]:
            declaration = book.atoms.get(spelling)
            if declaration is not None and spelling not in book.fragments and declaration.schema not in covered:
                write = f"fragment {spelling} {{ M, N, K : integer from 0; threads ...; A ...; B ...; C ...; }}"
                yield RuleFault(
                    declaration.place, f"no fragment says which thread holds what of {spelling}: write `{write}`"
                )
