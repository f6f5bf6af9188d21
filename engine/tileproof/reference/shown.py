"""What ``tileproof builtin`` answers: lines for people, an object for programs, an exit status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tileproof.base.records import dataclass
from tileproof.reference.builtins import as_json, builtins, judged, lines
from tileproof.reference.selection import Meaning, Selected, ambiguous, meanings, named, select
from tileproof.reference.tables import rows, spelled
from tileproof.rulebase.book import Rulebook


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer.

    Attributes:
        status: 0; 1 where it means several things, or a check of the page fails.
    """

    lines: tuple[str, ...]
    as_json: Any
    status: int


def of_id(book: Rulebook, identifier: int, target: str | None) -> Answer:
    """All that an id means.

    Raises:
        NoMeaning: nothing.
        BadRequest: no such target.
    """
    found = meanings(book, identifier)
    several = ambiguous(found)
    text = [f"{identifier} is ambiguous: {', '.join(one.name for one in found)}"] if several else []
    for one in found:
        text += _meaning_lines(book, one, target)
    answer = {"id": identifier, "ambiguous": several, "meanings": [_meaning(book, one, target) for one in found]}
    return Answer(tuple(text), answer, int(several))


def of_name(book: Rulebook, name: str, given: Mapping[str, str], target: str | None) -> Answer:
    """A builtin or an intrinsic; with arguments, the intrinsics that they select.

    Raises:
        BadQuery: no such name or argument, or a name that begins several.
        BadRequest: no such target.
    """
    found = named(book, name)
    if isinstance(found, Meaning):
        return Answer(tuple(_meaning_lines(book, found, target)), _meaning(book, found, target), 0)
    judgement = judged(book, found, target)
    text, answer = _titled(found.name, lines(found, judgement)), as_json(found, judgement)
    status = 0
    if given:
        chosen = select(book, found, given)
        text += _titled("", _selected_lines(chosen))
        answer["selected"] = {
            "faults": [{"code": code, "message": message} for code, message in chosen.faults],
            "by_n": list(chosen.by_n),
            "by_size": list(chosen.by_size),
            "open": list(chosen.open),
        }
        status = int(bool(chosen.faults))
    return Answer(tuple(text), answer, status)


def everything(book: Rulebook) -> Answer:
    """All builtins, the groups of the WGMMA range, the intrinsics and those by N."""
    table: list[tuple[str, ...]] = [("id", "name", "family", "operation", "shape", "types", "gate")]
    for one in builtins(book):
        gate = one.gate.expression if one.gate is not None else ""
        table.append((one.ids, one.name, one.family, one.operation, one.shape, " ".join(one.types), gate or "-"))
    groups = [
        (f"{row['first']}-{row['last']}", spelled(book, "wgmma_group", key), str(row["edg"]), str(row["nvvm"]))
        for key, row in rows(book, "wgmma_group").items()
    ]
    intrinsics = [
        (f"{row['first']}-{row['last']}", spelled(book, "intrinsic", key), str(row["usage"]))
        for key, row in rows(book, "intrinsic").items()
    ]
    by_n = [("N", "integer", "float")]
    by_n += [(str(row["N"]), str(row["integer"]), str(row["float"])) for row in rows(book, "wgmma_dispatch").values()]
    text = [*_aligned(table), "", *_aligned(groups), "", *_aligned(intrinsics), "", *_aligned(by_n)]
    answer = {
        "builtins": [as_json(one) for one in builtins(book)],
        "groups": [
            {"name": spelled(book, "wgmma_group", key), "first": row["first"], "last": row["last"]}
            for key, row in rows(book, "wgmma_group").items()
        ],
        "intrinsics": [
            {"name": spelled(book, "intrinsic", key), "first": row["first"], "last": row["last"], "usage": row["usage"]}
            for key, row in rows(book, "intrinsic").items()
        ],
        "by_n": [dict(row) for row in rows(book, "wgmma_dispatch").values()],
    }
    return Answer(tuple(text), answer, 0)


def _meaning_lines(book: Rulebook, one: Meaning, target: str | None) -> list[str]:
    if one.builtin is not None:
        return _titled(one.name, lines(one.builtin, judged(book, one.builtin, target)))
    content = [(one.kind, one.said)]
    content += [("candidate", candidate) for candidate in one.candidates]
    return _titled(one.name, content)


def _meaning(book: Rulebook, one: Meaning, target: str | None) -> dict[str, Any]:
    if one.builtin is not None:
        return as_json(one.builtin, judged(book, one.builtin, target))
    return {"kind": one.kind, "name": one.name, "said": one.said, "candidates": list(one.candidates)}


def _selected_lines(chosen: Selected) -> Iterable[tuple[str, str]]:
    yield from (("error", f"{code}: {message}") for code, message in chosen.faults)
    if chosen.by_n:
        yield "by N", " or ".join(map(str, chosen.by_n))
    if chosen.by_size:
        yield "by size", " or ".join(map(str, chosen.by_size))
    if chosen.open:
        yield "open", ", ".join(chosen.open)


def _titled(title: str, content: Iterable[tuple[str, str]]) -> list[str]:
    return [title] * bool(title) + [f"  {label:<9}  {text}" for label, text in content]


def _aligned(table: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in table]
