"""The ledger of the reference pages: each row of their checklist with what carries it.

The rows, and which declarations cover them, are rule data; a test carries a row where its name ends with the id or a
comment beside its cases says ``checklist: MMA03``. Tests are in a checkout only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.checklist import CHECKLIST, carriers

_LARGEST = 2_000_000  # bytes of a file of tests that is read
_NAMED = regex(r"def test_\w*|checklist:.*")
_ID = regex(r"[A-Z]{3}\d\d(?!\d)")


@dataclass(frozen=True, slots=True)
class Row:
    """One row.

    Attributes:
        what: as the checklist says it.
        pages: where the pages say it.
        carriers: names of declarations by what they are: ``rule``, ``table``, ``word``, ...
        tests: files, relative to the folder of tests; None where the tests are not there.
    """

    id: str
    what: str
    pages: str
    carriers: Mapping[str, tuple[str, ...]]
    tests: tuple[str, ...] | None

    @property
    def data(self) -> tuple[str, ...]:
        """The declarations that carry it, contradictions left out: those say where the pages are wrong."""
        return tuple(name for kind, names in self.carriers.items() if kind != "contradiction" for name in names)


def ledger(book: Rulebook, tests: Path | None) -> tuple[Row, ...]:
    """All rows, in the order of the checklist.

    Args:
        tests: the folder of tests; None where there is none.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for kind, name, item in carriers(book):
        for row in item.covers:
            found.setdefault(row, {}).setdefault(kind, []).append(name)
    tested = _tested(tests) if tests is not None and tests.is_dir() else None
    rows = []
    for (member,), (what, pages) in book.shared_table(CHECKLIST).rows.items():
        id_ = member[1:]
        held = {kind: tuple(sorted(set(names))) for kind, names in sorted(found.get(id_, {}).items())}
        rows.append(Row(id_, str(what), str(pages), held, None if tested is None else tested.get(id_, ())))
    return tuple(rows)


def _tested(folder: Path) -> dict[str, tuple[str, ...]]:
    """The files of tests that name each row."""
    found: dict[str, set[str]] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".py", ".toml", ".mlir", ".ptx", ".txt") or path.stat().st_size > _LARGEST:
            continue
        for named in _NAMED.findall(path.read_text(encoding="utf-8", errors="replace")):
            for row in _ID.findall(named):
                found.setdefault(row, set()).add(path.relative_to(folder).as_posix())
    return {row: tuple(sorted(files)) for row, files in found.items()}


def as_text(rows: tuple[Row, ...]) -> Iterator[str]:
    """The ledger for people, and a count at the end."""
    for row in rows:
        yield f"{row.id}  {row.what} ({row.pages})"
        for kind, names in row.carriers.items():
            yield f"       {kind + ':':<14} {', '.join(names)}"
        if row.tests is not None:
            yield f"       {'test:':<14} {', '.join(row.tests) or 'none'}"
    data = sum(bool(row.data) for row in rows)
    tested = sum(bool(row.tests) for row in rows)
    tests = f", {tested} a test" if any(row.tests is not None for row in rows) else "; the tests are in a checkout only"
    yield f"{data} of {len(rows)} rows have rule data{tests}"


def as_json(rows: tuple[Row, ...]) -> str:
    """The ledger as a JSON array."""
    return json.dumps(
        [
            {
                "id": row.id,
                "what": row.what,
                "pages": row.pages,
                "carriers": {kind: list(names) for kind, names in row.carriers.items()},
                "tests": None if row.tests is None else list(row.tests),
            }
            for row in rows
        ],
        indent=2,
    )
