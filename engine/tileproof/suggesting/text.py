"""``suggest``: legal configurations for a partial description, and the nearest repair of an illegal one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tileproof.base.patterns import regex
from tileproof.base.spelling import get_close_matches
from tileproof.dialects.atom_names import nearest_atom
from tileproof.dialects.facts import MalformedAtom
from tileproof.evaluate.answer import Answer
from tileproof.judge.messages import version_text
from tileproof.mlir.types import Kind
from tileproof.ptx.parse_facts import lower
from tileproof.ptx.registers import by_letter
from tileproof.ptx.select import legal_form
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import Bounded
from tileproof.rulebase.expression import Scalar
from tileproof.suggesting.configurations import Query, Suggestion, contradiction
from tileproof.suggesting.families import families
from tileproof.syntax import SyntaxFault
from tileproof.syntax.types import type_tree

if TYPE_CHECKING:
    from tileproof.suggesting.repair import Repair
    from tileproof.suggesting.writing import Change


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
    choices = f"; it is one of {', '.join(dict.fromkeys(names))}" if names else "; it is an integer"
    hint = f"; did you mean {close[0]}?" if close else choices
    raise BadQuery(f"'{text}' is not a value of {fact}{hint}")


def as_text(found: Sequence[Suggestion], limit: int | None) -> Iterator[str]:
    """One block per suggestion: its cost, the atom, the instruction. Without a limit all are shown."""
    shown = found if limit is None else found[:limit]
    for i, suggestion in enumerate(shown, 1):
        atom, ptx = suggestion.atom, suggestion.ptx
        yield f"{i}. {suggestion.why}"
        if atom:
            yield f"   {atom}"
        if ptx:
            yield f"   {_short(ptx)}"
    if limit is not None and found:
        rest = len(found) - len(shown)
        yield f"{rest} more; --all shows them and what is not usual" if rest else "--all shows also what is not usual"


def _short(text: str) -> str:
    return text if len(text) <= 160 else text[:157] + "..."


def as_json(found: Sequence[Suggestion], limit: int | None) -> Iterator[str]:
    """The suggestions as lines of a JSON object, whole instructions included, one line each."""
    shown = found if limit is None else found[:limit]
    quoted = json.JSONEncoder().encode
    yield f'{{"version": 1, "total": {len(found)}, "suggestions": ['
    for i, suggestion in enumerate(shown, 1):
        row = {
            "rank": i,
            "family": suggestion.family,
            "atom": suggestion.atom or None,
            "ptx": suggestion.ptx or None,
            "instructions": suggestion.instructions,
            "traffic": suggestion.traffic,
            "sparse": suggestion.sparse,
            "unusual": suggestion.unusual,
            "why": suggestion.why,
            "facts": suggestion.facts,
        }
        yield quoted(row) + ("," if i < len(shown) else "")
    yield "]}"


def nothing(book: Rulebook, query: Query) -> str:
    """Why nothing fits a query: the facts that contradict each other."""
    target = str(query.context["target"])[1:]
    names = contradiction(book, query)
    shown = [_asked(query, name) for name in names]
    if not shown:
        table = book.shared_table("target")
        first, ptx = table.rows[str(query.context["target"]),][table.column("ptx") or 0], query.context["ptx"]
        if isinstance(first, int) and isinstance(ptx, int) and ptx < first:
            why = f"{target} and PTX ISA {version_text(ptx)} contradict each other: it requires {version_text(first)}"
            return f"no legal configuration matches: {why}"
        return f"no legal configuration matches: {target} has no MMA"
    if len(shown) == 1:
        return f"no legal configuration matches: none on {target} fits {shown[0]}"
    listed = f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"no legal configuration matches: {listed} contradict each other on {target}"


def _asked(query: Query, name: str) -> str:
    if name == "tile":
        return f"a tile of {'x'.join(map(str, query.tile or ()))}"
    if name == "sparsity":
        return f"sparsity = {query.sparsity}"
    if name == "warps":
        return f"warps = {query.warps}"
    values = [str(value).removeprefix(".") for value in query.facts[name]]
    return f"{name} = {' or '.join(values)}"


def repaired(
    ruleset: Ruleset, text: str, where: Mapping[str, Scalar] | None, seconds: float, allow_target: bool = False
) -> Repair:
    """The nearest legal form of a PTX instruction or of an atom type.

    Args:
        where: target and PTX version; without them those of the first target that has the instruction or the atom.
        allow_target: whether these may change where nothing else helps.

    Raises:
        BadQuery: the text is neither.
    """
    from tileproof.suggesting.repair import repair_atom, repair_instruction  # noqa: PLC0415  configurations need none

    stripped = text.strip()
    if not stripped.lstrip("!").startswith(("cute_nvgpu.", "cute.")):
        whole = stripped if stripped.endswith(";") else stripped + ";"
        try:
            place = where or _first_with(ruleset, whole)
            return repair_instruction(ruleset, whole, place, seconds, allow_target)
        except ValueError as error:
            raise BadQuery(str(error)) from None
    atom_text = _ELLIPSIS.sub("", stripped if stripped.startswith("!") else f"!{stripped}")
    try:
        tree = type_tree(atom_text)
        node = next(
            node for node in tree.walk() if node.kind is Kind.TYPE and node.text.lstrip("!") in ruleset.book.atoms
        )
        atom = ruleset.book.atoms[node.text.lstrip("!")]
        return repair_atom(ruleset, atom, node, atom_text, seconds, where, partial=True)
    except (SyntaxFault, MalformedAtom) as error:
        raise BadQuery(str(error)) from None
    except StopIteration:
        close = nearest_atom(ruleset.book, stripped.lstrip("!").partition("<")[0])
        question = f"; did you mean {close}?" if close else ""
        raise BadQuery(f"'{text}' has no atom that is declared in rules/{question}") from None


_ELLIPSIS = regex(r",?\s*\.\.\.\s*(?=>)")


def _first_with(ruleset: Ruleset, text: str) -> Mapping[str, Scalar]:
    """The first target that has the instruction of a text, with its last PTX version."""
    lowered = lower(ruleset.book, text, by_letter(ruleset.book))
    table = ruleset.book.shared_table("target")
    places = [{"target": key[0], "ptx": row[table.column("last") or 0]} for key, row in table.rows.items()]
    name = lowered.declaration.name if lowered.declaration is not None else ""
    for place in places:
        where = {name: value for name, value in place.items() if isinstance(value, (int, str))}
        for one in ruleset.book.instructions.get(name, ()):
            if legal_form(ruleset, where, one, {}) is not None:
                return where
    return {"target": ".sm_90a", "ptx": max(ruleset.book.domain("ptx", "ptx"), key=int)}


def repair_as_text(repair: Repair) -> Iterator[str]:
    """The legal form, what changed, and what was in conflict."""
    if repair.answer is Answer.UNKNOWN:
        yield "unknown: Z3 found no answer in time"
    elif repair.answer is Answer.UNSATISFIABLE:
        yield "no legal form was found" + (f"; elsewhere: {repair.elsewhere}" if repair.elsewhere else "")
    elif not repair.changes:
        yield f"{repair.text}\n  already legal"
        return
    else:
        yield repair.text
        for change in repair.changes:
            yield f"  {change.fact}: {_shown(change, change.before)} -> {_shown(change, change.after)}"
        if repair.elsewhere:
            yield f"  elsewhere: {repair.elsewhere}"
    if repair.conflict.codes:
        yield f"  in conflict: {', '.join(repair.conflict.codes)} with {', '.join(repair.conflict.facts)}"


def repair_as_json(repair: Repair) -> str:
    """The repair as a JSON object."""
    found: dict[str, Any] = {
        "answer": {"satisfiable": "repaired", "unsatisfiable": "none", "unknown": "unknown"}[repair.answer.value],
        "text": repair.text or None,
        "changes": [{"fact": change.fact, "before": change.before, "after": change.after} for change in repair.changes],
        "elsewhere": repair.elsewhere or None,
        "conflict": {"rules": list(repair.conflict.codes), "facts": list(repair.conflict.facts)},
    }
    return json.dumps(found, indent=2)


def _shown(change: Change, value: Scalar | None) -> str:
    if value is None:
        return "(none)"
    if change.fact == "ptx":
        return version_text(value)
    return str(value).removeprefix(".")
