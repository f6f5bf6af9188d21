"""What an id means, and which ids a meaning has: builtins, groups of builtins, LLVM intrinsics and opcodes.

The page gives some ids twice and leaves others open. So the answer to an id is all that it may mean: one ``Meaning``
for each claim. A meaning is determined where a table has a row for it; else it has candidates, or none at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tileproof.base.records import dataclass
from tileproof.base.source import Span
from tileproof.base.spelling import get_close_matches
from tileproof.dialects.configuration import Facts
from tileproof.evaluate.python import judge_for
from tileproof.judge.messages import render
from tileproof.ptx.opcode import read_opcode
from tileproof.reference.builtins import Builtin, builtins
from tileproof.reference.facts import BadQuery, integer, value_of
from tileproof.reference.tables import number, numbers, rows, spelled, within
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import PAGES

_NEAREST = 6


class NoMeaning(ValueError):
    """An id that means nothing; the message names what is near."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """One thing that an id may mean.

    Attributes:
        kind: ``builtin``, ``group``, ``intrinsic`` or ``opcode``.
        name: as the page spells it.
        said: what the page says of it, in words.
        candidates: what it may be, where the page leaves it open.
        builtin: where it is one.
    """

    kind: str
    name: str
    said: str
    candidates: tuple[str, ...] = ()
    builtin: Builtin | None = None


def meanings(book: Rulebook, identifier: int) -> tuple[Meaning, ...]:
    """All that the pages say that an id means.

    Raises:
        NoMeaning: nothing.
    """
    found = (*_builtins(book, identifier), *_groups(book, identifier), *_intrinsics(book, identifier))
    if not found:
        raise NoMeaning(_gap(book, identifier))
    return found


def ambiguous(found: Iterable[Meaning]) -> bool:
    """Whether claims exclude each other: several builtins, or a builtin and a group of others."""
    claims = tuple(found)
    owned = [one for one in claims if one.kind in ("builtin", "group")]
    return len(owned) > 1 or any(one.builtin is not None and one.builtin.first != one.builtin.last for one in owned)


def _builtins(book: Rulebook, identifier: int) -> Iterator[Meaning]:
    for one in builtins(book):
        if one.first <= identifier <= one.last:
            yield Meaning("builtin", one.name, f"{one.family}, {one.operation}, {one.shape}", (), one)


def _groups(book: Rulebook, identifier: int) -> Iterator[Meaning]:
    """The groups of the WGMMA range; those whose ids have names of their own are the builtins."""
    for key, row in within(book, "wgmma_group", identifier):
        name = spelled(book, "wgmma_group", key)
        if not any(one.member in rows(book, "wgmma_builtin") for one in builtins(book) if one.first == identifier):
            yield Meaning("group", name, f"handled by {row['edg']} (EDG), {row['nvvm']} (NVVM)")


def _intrinsics(book: Rulebook, identifier: int) -> Iterator[Meaning]:
    for row in rows(book, "wgmma_dispatch").values():
        for element in ("integer", "float"):
            if row[element] == identifier:
                yield Meaning("intrinsic", f"WGMMA by N, {element} elements", f"N = {row['N']}")
    yield from _of_grid(book, identifier)
    for key, row in within(book, "intrinsic", identifier):
        if row["first"] == row["last"]:
            yield Meaning("intrinsic", spelled(book, "intrinsic", key), str(row["usage"]))
    for key, row in within(book, "tcgen05_isd", identifier):
        names = tuple(book.enums["tcgen05_variant"].by_spelling)
        said = f"one of {row['opcodes']} opcodes by {row['variants']} variants; which is undetermined"
        yield Meaning("opcode", spelled(book, "tcgen05_isd", key), said, names)
    for key, row in rows(book, "fragment_iteration").items():
        if identifier in numbers(row["intrinsics"]):
            counts = ", ".join(
                f"{label} {'/'.join(map(str, sorted(numbers(row[column]))))}"
                for label, column in (("B", "load_b"), ("A", "load_a"), ("C", "load_c"), ("D", "store_d"))
            )
            yield Meaning("intrinsic", spelled(book, "iteration_family", key), f"an MMA; fragments: {counts}")
    for key, row in rows(book, "fragment_count").items():
        if identifier in numbers(row["intrinsics"]):
            said = f"fragments of {row['count']} registers: {row['example']}"
            yield Meaning("intrinsic", spelled(book, "fragment_condition", key), said)
    for row in rows(book, "satf_exception").values():
        if row["id"] == identifier:
            yield Meaning("intrinsic", str(identifier), "an MMA without the operand satf")


def _of_grid(book: Rulebook, identifier: int) -> Iterator[Meaning]:
    """An entry of the 5-D grid: determined where the table of sizes has it, else open in what its block leaves open."""
    listed = False
    for key, row in rows(book, "wgmma_size").items():
        for element in ("integer", "float"):
            if identifier in numbers(row[element]):
                listed, size = True, spelled(book, "wgmma_size", key)
                yield Meaning("intrinsic", f"WGMMA of {_sized(book)}, {element}", f"accumulator size {size}")
    for _, row in within(book, "wgmma_grid", identifier):
        known = f"N = {row['N']}" if row["N"] else "the remaining entries"
        sure = "" if row["exact"] == ".yes" else " (the page's base is approximate)"
        said = f"entry {identifier - number(row['first'])} of the block of {known}{sure}"
        if listed:
            yield Meaning("intrinsic", "WGMMA 5-D grid", said)
            continue
        variants = numbers(rows(book, "wgmma_dimension")[".variant"]["values"])
        left = [name.partition(":")[0] for name in book.enums["wgmma_dimension"].by_spelling][1:]
        names = tuple(one.name for one in builtins(book) if one.first in variants)
        yield Meaning("intrinsic", "WGMMA 5-D grid", f"{said}; undetermined: {', '.join(left)}", names)


def _sized(book: Rulebook) -> str:
    """The builtin that the table of sizes is of."""
    (extent,) = rows(book, "wgmma_grid_extent").values()
    return spelled(book, "builtin", extent["sized"])


def _gap(book: Rulebook, identifier: int) -> str:
    """What is around an id that means nothing."""
    for key, row in rows(book, "intrinsic").items():
        if number(row["first"]) <= identifier <= number(row["last"]):
            known = sorted(number(cell) for one in rows(book, "wgmma_dispatch").values() for cell in _pair(one))
            near = sorted(known, key=lambda one: abs(one - identifier))[:2]
            listed = ", ".join(map(str, sorted(near)))
            of = f"{row['first']}-{row['last']} of {spelled(book, 'intrinsic', key)}"
            return f"{identifier} is in the range {of}, but in no row of the page's table; nearest: {listed}"
    whole = rows(book, "builtin_range")[".all"]
    ranges = [(number(whole["first"]), number(whole["last"]))]
    ranges += [(number(row["first"]), number(row["last"])) for row in rows(book, "intrinsic").values()]
    ranges += [(one, one) for one in sorted(_of_mmas(book))]
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    shown = ", ".join(f"{a}-{b}" if a != b else str(a) for a, b in joined)
    return f"no builtin or intrinsic has the id {identifier}; ids are {shown}"


def _of_mmas(book: Rulebook) -> frozenset[int]:
    """The intrinsics of MMAs and their fragments that the tables name."""
    tables = (rows(book, "fragment_count"), rows(book, "fragment_iteration"))
    listed = {one for table in tables for row in table.values() for one in numbers(row["intrinsics"])}
    return frozenset(listed | {number(row["id"]) for row in rows(book, "satf_exception").values()})


def _pair(row: Mapping[str, Any]) -> tuple[Any, Any]:
    return row["integer"], row["float"]


# -- names


def named(book: Rulebook, text: str) -> Builtin | Meaning:
    """The builtin or intrinsic of a name; leading underscores may be omitted.

    Raises:
        BadQuery: there is none, or the text begins several; the candidates are named.
    """
    known = {one.name.lstrip("_"): one for one in builtins(book)}
    wanted = text.strip().lower().lstrip("_")
    if wanted in known:
        return known[wanted]
    spellings = book.enums["intrinsic"].by_spelling
    if text.strip() in spellings:
        row = rows(book, "intrinsic")[spellings[text.strip()]]
        ids = str(row["first"]) if row["first"] == row["last"] else f"{row['first']}-{row['last']}"
        return Meaning("intrinsic", text.strip(), f"{ids}: {row['usage']}")
    if (found := _by_opcode(book, text.strip())) is not None:
        return found
    begun = [one.name for name, one in known.items() if wanted and wanted in name]
    begun += [name for name in spellings if wanted and wanted in name]
    if len(begun) > 1:
        more = f" and {len(begun) - _NEAREST} more" * (len(begun) > _NEAREST)
        raise BadQuery(f"'{text}' is ambiguous: {', '.join(begun[:_NEAREST])}{more}")
    near = begun or get_close_matches(wanted, [*known, *spellings], _NEAREST, 0.5)
    shown = ", ".join(known[one].name if one in known else one for one in near)
    raise BadQuery(f"no builtin or intrinsic is called '{text}'" + (f"; nearest: {shown}" if near else ""))


def _by_opcode(book: Rulebook, text: str) -> Meaning | None:
    """The intrinsic of an MMA with its shape and types in its name, as NVVM WGMMA Ops builds it; None for another name.

    Raises:
        BadQuery: the rest of the name is no shape and types.
    """
    prefix = spelled(book, "wgmma_intrinsic_name", ".mma_sync")
    if not text.startswith(f"{prefix}."):
        return None
    (instruction,) = rows(book, "wgmma_instruction").values()
    opcode = f"{instruction['opcode']}{text.removeprefix(prefix)}"
    read = read_opcode(book, opcode)
    if read.faults or read.declaration is None:
        raise BadQuery(f"'{text}': {read.faults[0].stated.message}")
    ids = [row for row in rows(book, "wgmma_dispatch").values() if row["N"] == read.values.get("N")]
    listed = [f"{row[element]} ({element})" for row in ids for element in ("integer", "float")]
    said = f"N = {read.values.get('N')}: {' or '.join(listed) or 'no intrinsic by N'}; {opcode}"
    return Meaning("intrinsic", text, said)


# -- from a meaning to ids


@dataclass(frozen=True, slots=True)
class Selected:
    """What a WGMMA builtin becomes with some arguments.

    Attributes:
        faults: codes and messages of the page's checks.
        by_n, by_size: the intrinsics of the two strategies; several where the page leaves it open.
        open: what the arguments or the page leave open, in words.
    """

    faults: tuple[tuple[str, str], ...]
    by_n: tuple[int, ...]
    by_size: tuple[int, ...]
    open: tuple[str, ...]


ARGUMENTS = {"N": "wgmma.call", "rowcol": "wgmma.call", "overflow": "wgmma.call", "call": "wgmma.call"}
ELEMENT, SIZE = "element", "size"


def select(book: Rulebook, builtin: Builtin, given: Mapping[str, str]) -> Selected:
    """The intrinsics of a WGMMA builtin with these arguments.

    Args:
        given: ``N``, ``element`` (integer or float), ``size`` (of the accumulator), ``rowcol``, ``overflow``, ``call``.

    Raises:
        BadQuery: an argument that there is not, or a value that it cannot have.
    """
    if builtin.member not in rows(book, "wgmma_builtin"):
        raise BadQuery(f"{builtin.name} takes no arguments: it has one id")
    for name in given:
        if name not in (*ARGUMENTS, ELEMENT, SIZE):
            raise BadQuery(f"unknown argument '{name}'; use {', '.join((*ARGUMENTS, ELEMENT, SIZE))}")
    facts = dict(book.schemas["wgmma.call"].instance)
    facts.update({name: value_of(book, "wgmma.call", name, text) for name, text in given.items() if name in ARGUMENTS})
    judge = judge_for(book.under(PAGES), "wgmma.call")
    shown = Facts(judge.schema, facts, {}, {}, Span(0, 0))
    faults = tuple((rule.code, render(judge, rule, rule.message, shown)) for rule in judge.violated(facts))
    elements = tuple(name.partition(" ")[0] for name in book.enums["wgmma_element"].by_spelling)
    chosen = given.get(ELEMENT)
    if chosen is not None and chosen not in elements:
        raise BadQuery(f"element is {' or '.join(elements)}, not '{chosen}'")
    kinds = elements if chosen is None else (chosen,)
    missing = [] if chosen else [ELEMENT]
    by_n: list[int] = []
    if "N" in given:
        for row in rows(book, "wgmma_dispatch").values():
            by_n += [number(row[kind]) for kind in kinds if row["N"] == facts["N"]]
        if not by_n and not faults:
            missing.append(f"N = {facts['N']} passes the page's check, and no intrinsic has it")
    else:
        missing.append("N")
    by_size: list[int] = []
    if builtin.name == _sized(book):
        sizes = {row["size"]: row for row in rows(book, "wgmma_size").values()}
        wanted = integer(SIZE, given[SIZE]) if SIZE in given else None
        if wanted is not None:
            by_size = sorted(item for kind in kinds for item in numbers(sizes.get(wanted, sizes[0])[kind]))
    return Selected(faults, tuple(by_n), tuple(by_size), tuple(missing))
