"""Outcomes of kernels, kept by the text that their studies read: in the memory of a process, and in the cache.

What is kept is an outcome as bytes. Places in it are those of the text that the study reads, so that they are right
wherever that text is next; an operation of the kernel is its number, and is that of the kernel which is asked about.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Protocol, cast

from tileproof.base import pickles
from tileproof.base.digest import blake2b
from tileproof.base.files import replace_bytes
from tileproof.base.patterns import regex
from tileproof.base.records import replace
from tileproof.base.source import Span
from tileproof.checking import results
from tileproof.judge.outcome import Options
from tileproof.mlir.ir import Operation
from tileproof.protocol.faults import ProtocolFault
from tileproof.protocol.runs import Outcome
from tileproof.rulebase.book import Rulebook

_SUFFIX = ".kernel"
_MOST_BYTES = 50_000_000  # of outcomes that a process keeps in memory
_NOWHERE = Span(0, 0)
_LINE = regex(r"<at (-?\d{1,12})>")


class Elsewhere(Exception):
    """A place is not in the text that a study reads."""


class Places(Protocol):
    """Where the text that a study reads is in a file."""

    def inside(self, span: Span) -> tuple[int, int]:
        """A place of the file as one of the text; raises ``Elsewhere``."""

    def outside(self, start: int, end: int) -> Span:
        """A place of the text as one of the file; raises ``Elsewhere``."""


class Kept:
    """What is kept of outcomes, by the digests of the texts.

    Attributes:
        added: what was kept since this was made.
    """

    def __init__(self, book: Rulebook, options: Options) -> None:
        self.memory = memory(book)
        self.options = options
        self.added: dict[str, bytes] = {}

    def get(self, name: str) -> bytes | None:
        return self.memory.contents.get(name) or self.on_disk(name)

    def add(self, name: str, content: bytes) -> None:
        """Keep an outcome."""
        self.memory.add(name, content)
        self.added[name] = content
        folder = results.folder() if self.options.state else None
        if folder is not None:
            with suppress(OSError):
                replace_bytes(folder / f"{self.stated(name)}{_SUFFIX}", content)

    def on_disk(self, name: str) -> bytes | None:
        folder = results.folder() if self.options.state else None
        if folder is None:
            return None
        path = folder / f"{self.stated(name)}{_SUFFIX}"
        try:
            content = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        return content

    def stated(self, name: str) -> str:
        """A digest with the rules and the code, which what is in the cache depends on as well."""
        return digest(self.options.state, name)


def digest(*parts: str) -> str:
    """What tells texts apart."""
    whole = "".join(f"{len(part)} {part}" for part in parts)
    return blake2b(whole.encode("utf-8", "surrogatepass")).hexdigest()[:40]


# -- lines in hints


def line(operation: Operation) -> str:
    """Stands in hints for the line of an operation, which changes with what is before it."""
    return f"<at {operation.name_span.start}>"


def with_lines(outcome: Outcome, said: Callable[[int], str]) -> Outcome:
    """An outcome with something else for the lines in its hints."""

    def changed(faults: Sequence[ProtocolFault]) -> tuple[ProtocolFault, ...]:
        return tuple(replace(one, hint=_LINE.sub(lambda at: said(int(at[1])), one.hint)) for one in faults)

    if not any("<at " in fault.hint for fault in (*outcome.faults, *outcome.explained)):
        return outcome
    return replace(outcome, faults=changed(outcome.faults), explained=changed(outcome.explained))


# -- outcomes as bytes


def written(outcome: Outcome, places: Places, operations: Sequence[Operation]) -> bytes:
    """An outcome as bytes.

    Args:
        operations: those that are numbers in it.

    Raises:
        Elsewhere: a place of it is not in the text that the study reads.
    """
    content = io.BytesIO()
    by_id = {id(one): one for one in outcome.steps}
    executed, guessed = (
        tuple(one for key, one in by_id.items() if key in keys) for keys in (outcome.executed, outcome.guessed)
    )
    bare = replace(outcome, executed=frozenset(), guessed=frozenset())
    _Writer(content, places, operations).dump((bare, executed, guessed))
    return content.getvalue()


def read(content: io.BytesIO, places: Places, operations: Sequence[Operation]) -> Outcome:
    """An outcome of the kernel with these operations.

    Raises:
        Exception: any, where the content is damaged.
    """
    found = cast(
        "tuple[Outcome, tuple[Operation, ...], tuple[Operation, ...]]", _Reader(content, places, operations).load()
    )
    outcome, executed, guessed = found
    return replace(outcome, executed=frozenset(map(id, executed)), guessed=frozenset(map(id, guessed)))


class _Writer(pickles.Pickler):
    def __init__(self, file: io.BytesIO, places: Places, operations: Sequence[Operation]) -> None:
        super().__init__(file, pickles.NEWEST)
        self.places = places
        self.numbers = {id(one): number for number, one in enumerate(operations)}

    def persistent_id(self, value: object) -> int | None:
        return self.numbers.get(id(value)) if type(value) is Operation else None

    def reducer_override(self, value: object) -> Any:
        if type(value) is Span and value != _NOWHERE:
            return _placed, self.places.inside(value)
        return NotImplemented


def _placed(start: int, end: int) -> Span:
    """Stands in what is kept for the places of the text that is read."""
    return Span(start, end)


class _Reader(pickles.Unpickler):
    def __init__(self, file: io.BytesIO, places: Places, operations: Sequence[Operation]) -> None:
        super().__init__(file)
        self.places = places
        self.operations = operations

    def persistent_load(self, number: int) -> Operation:
        return self.operations[number]

    def find_class(self, module: str, name: str) -> object:
        if (module, name) == (__name__, _placed.__name__):
            return self.places.outside
        return super().find_class(module, name)


class _Memory:
    """Outcomes as bytes, the first of which go where there are too many."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.size = 0

    def add(self, name: str, content: bytes) -> None:
        self.size += len(content) - len(self.contents.pop(name, b""))
        self.contents[name] = content
        while self.size > _MOST_BYTES:
            self.size -= len(self.contents.pop(next(iter(self.contents))))


@lru_cache(maxsize=4)
def memory(book: Rulebook) -> _Memory:
    """What this process keeps."""
    return _Memory()


__all__ = ["Elsewhere", "Kept", "Places", "digest", "memory", "read", "written"]
