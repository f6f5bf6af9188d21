"""``suggest``: legal configurations for a partial description, and the nearest repair of an illegal one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from tileproof.dialects.facts import MalformedAtom
from tileproof.evaluate.solver import Answer
from tileproof.judge.messages import version_text
from tileproof.mlir.types import Kind
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import Bounded
from tileproof.rulebase.expression import Scalar
from tileproof.suggesting.configurations import Query, Suggestion, families
from tileproof.suggesting.repair import Change, Repair, repair_atom, repair_instruction
from tileproof.syntax import SyntaxFault
from tileproof.syntax.types import type_tree


class BadQuery(ValueError):
    """A description that makes no sense: an unknown fact or value, a tile that is none."""


def query(
    ruleset: Ruleset,
    where: Mapping[str, Scalar],
    wanted: Mapping[str, Iterable[str]],
    tile: str | None = None,
    sparsity: str = "any",
    warps: int | None = None,
) -> Query:
    """The query, from the words of the command line.

    Args:
        wanted: spelled values by fact, such as ``{"a.type": ["e4m3", "e5m2"], "N": ["64"]}``.
        tile: such as ``128x128x64``.

    Raises:
        BadQuery: an unknown fact or value; the message has the nearest one.
    """
    facts = {fact: tuple(_value(ruleset.book, fact, text) for text in texts) for fact, texts in wanted.items()}
    return Query(ruleset.contract, where, facts, _tile(tile) if tile else None, sparsity, warps)


def _tile(text: str) -> tuple[int, int, int]:
    pieces = text.lower().split("x")
    if len(pieces) != 3 or not all(piece.isdecimal() and len(piece) < 10 and int(piece) for piece in pieces):
        raise BadQuery(f"'{text}' is not a tile such as 128x128x64")
    m, n, k = map(int, pieces)
    return m, n, k


def _value(book: Rulebook, fact: str, text: str) -> Scalar:
    """A value as the user spells it: ``e4m3``, ``.e4m3``, ``f8E4M3FN``, ``64``."""
    domains = [
        book.schemas[family.schema].fields[fact]
        for family in families(book)
        if fact in book.schemas[family.schema].fields
    ]
    if not domains:
        known = sorted({name for family in families(book) for name in book.schemas[family.schema].fields})
        close = get_close_matches(fact, known, 1)
        raise BadQuery(f"unknown fact '{fact}'" + (f"; did you mean {close[0]}?" if close else ""))
    names: list[str] = []
    for domain in dict.fromkeys(domains):
        if isinstance(domain, Bounded):
            if text.removeprefix("-").isdecimal() and len(text) < 12:
                return int(text)
            continue
        enum = book.enums[domain.enum]
        if f".{text.removeprefix('.')}" in enum.members:
            return f".{text.removeprefix('.')}"
        if text in enum.by_spelling:
            return enum.by_spelling[text]
        names += [member[1:] for member in enum.members]
    close = get_close_matches(text, names, 1)
    raise BadQuery(f"'{text}' is not a value of {fact}" + (f"; did you mean {close[0]}?" if close else ""))


def as_text(found: Sequence[Suggestion], limit: int | None) -> Iterator[str]:
    """One block per suggestion: its cost, the atom, the instruction."""
    shown = found if limit is None else found[:limit]
    for i, suggestion in enumerate(shown, 1):
        yield f"{i}. {suggestion.why}"
        if suggestion.atom:
            yield f"   {suggestion.atom}"
        if suggestion.ptx:
            yield f"   {_short(suggestion.ptx)}"
    if len(shown) < len(found):
        yield f"{len(found) - len(shown)} more; --all shows them"


def _short(text: str) -> str:
    return text if len(text) <= 160 else text[:157] + "..."


def as_json(found: Sequence[Suggestion], limit: int | None) -> str:
    """The suggestions as a JSON object, whole instructions included."""
    shown = found if limit is None else found[:limit]
    rows = [
        {
            "rank": i,
            "family": suggestion.family,
            "atom": suggestion.atom or None,
            "ptx": suggestion.ptx or None,
            "instructions": suggestion.instructions,
            "traffic": suggestion.traffic,
            "sparse": suggestion.sparse,
            "why": suggestion.why,
            "facts": dict(suggestion.facts),
        }
        for i, suggestion in enumerate(shown, 1)
    ]
    return json.dumps({"version": 1, "total": len(found), "suggestions": rows}, indent=2)


def repaired(ruleset: Ruleset, text: str, where: Mapping[str, Scalar], seconds: float) -> Repair:
    """The nearest legal form of a PTX instruction or of an atom type.

    Raises:
        BadQuery: the text is neither.
    """
    stripped = text.strip()
    if not stripped.lstrip("!").startswith(("cute_nvgpu.", "cute.")):
        try:
            return repair_instruction(ruleset, stripped if stripped.endswith(";") else stripped + ";", where, seconds)
        except ValueError as error:
            raise BadQuery(str(error)) from None
    atom_text = stripped if stripped.startswith("!") else f"!{stripped}"
    try:
        tree = type_tree(atom_text)
        node = next(
            node for node in tree.walk() if node.kind is Kind.TYPE and node.text.lstrip("!") in ruleset.book.atoms
        )
        return repair_atom(ruleset, ruleset.book.atoms[node.text.lstrip("!")], node, atom_text, seconds)
    except (SyntaxFault, MalformedAtom) as error:
        raise BadQuery(str(error)) from None
    except StopIteration:
        raise BadQuery(f"'{text}' has no atom that is declared in rules/") from None


def repair_as_text(repair: Repair) -> Iterator[str]:
    """The legal form, what changed, and what was in conflict."""
    if repair.answer is Answer.UNKNOWN:
        yield "unknown: Z3 found no answer in time"
    elif repair.answer is Answer.UNSATISFIABLE:
        yield "no legal form was found"
    elif not repair.changes:
        yield f"{repair.text}\n  already legal"
        return
    else:
        yield repair.text
        for change in repair.changes:
            yield f"  {change.fact}: {_shown(change, change.before)} -> {_shown(change, change.after)}"
    if repair.conflict.codes:
        yield f"  in conflict: {', '.join(repair.conflict.codes)} with {', '.join(repair.conflict.facts)}"


def repair_as_json(repair: Repair) -> str:
    """The repair as a JSON object."""
    found: dict[str, Any] = {
        "answer": {"satisfiable": "repaired", "unsatisfiable": "none", "unknown": "unknown"}[repair.answer.value],
        "text": repair.text or None,
        "changes": [{"fact": change.fact, "before": change.before, "after": change.after} for change in repair.changes],
        "conflict": {"rules": list(repair.conflict.codes), "facts": list(repair.conflict.facts)},
    }
    return json.dumps(found, indent=2)


def _shown(change: Change, value: Scalar | None) -> str:
    if value is None:
        return "(none)"
    if change.fact == "ptx":
        return version_text(value)
    return str(value).removeprefix(".")
