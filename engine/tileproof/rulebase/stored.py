"""A rulebook as it lies in the cache: in parts, each of which is read when something in it is first asked for.

A check needs a tenth of all that the rule files declare, and to make the values of all of them takes longer than to
check a small file. The texts of the rule files are left out: who asks for the book has them.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Hashable, Iterator, MutableMapping
from typing import Any, Generic, TypeVar

from tileproof.base import pickles
from tileproof.base.records import dataclass
from tileproof.base.source import Source
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import Rule

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Stored:
    """What a rulebook has, and where.

    Attributes:
        places: of each of its mappings, of each key in order, the name of the part that has its value.
    """

    places: dict[str, dict[Any, str]]
    codes_on: dict[str, tuple[str, ...]]

    def book(self, part: Callable[[str], bytes], files: tuple[Source, ...]) -> Rulebook:
        """The rulebook; ``files`` are those that it was made of, and ``part`` gives what ``packed`` gave."""

        def read(name: str) -> Any:
            return _Reader(io.BytesIO(part(name)), files).load()

        book = Rulebook(**{name: _Shelf(places, read) for name, places in self.places.items()})
        vars(book)["codes_on"] = self.codes_on  # the value of the property, which would read all rules
        return book


def packed(book: Rulebook, files: tuple[Source, ...]) -> tuple[Stored, dict[str, bytes]]:
    """A rulebook as it is stored: its parts are pickles of dictionaries; values that share something are in one."""
    import dataclasses  # noqa: PLC0415  to import it takes longer than to read what is stored

    places: dict[str, dict[Any, str]] = {}
    parts: dict[str, bytes] = {}
    for one in dataclasses.fields(book):
        mapping = getattr(book, one.name)
        groups: dict[Hashable, dict[Any, Any]] = {}
        for key, value in mapping.items():
            groups.setdefault(_company(value), {})[key] = value
        found: dict[Any, str] = {}
        for number, group in enumerate(groups.values()):
            file = io.BytesIO()
            _Writer(file, files).dump(group)
            parts[f"{one.name} {number}"] = file.getvalue()
            found |= dict.fromkeys(group, f"{one.name} {number}")
        places[one.name] = {key: found[key] for key in mapping}
    return Stored(places, book.codes_on), parts


class _Shelf(MutableMapping[K, V], Generic[K, V]):
    """A mapping whose values are read, part by part, when they are first asked for."""

    def __init__(self, places: dict[K, str], read: Callable[[str], dict[K, V]]) -> None:
        self._places = places
        self._read = read
        self._keys: dict[K, None] = dict.fromkeys(places)
        self._values: dict[K, V] = {}

    def __getitem__(self, key: K) -> V:
        if key not in self._values:
            if key not in self._keys:
                raise KeyError(key)
            for one, value in self._read(self._places[key]).items():
                if one in self._keys:
                    self._values.setdefault(one, value)
        return self._values[key]

    def __setitem__(self, key: K, value: V) -> None:
        self._keys[key] = None
        self._values[key] = value

    def __delitem__(self, key: K) -> None:
        del self._keys[key]
        self._values.pop(key, None)

    def __iter__(self) -> Iterator[K]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys


def _company(value: object) -> Hashable:
    """What is the same of values that are read together: rules of a schema; one value of several keys; all tuples,
    since those of the two contracts have members in common."""
    if isinstance(value, Rule):
        return value.schema
    return tuple if isinstance(value, tuple) else id(value)


class _Writer(pickles.Pickler):
    def __init__(self, file: io.BytesIO, files: tuple[Source, ...]) -> None:
        super().__init__(file, pickles.NEWEST)
        self.numbers = {file: number for number, file in enumerate(files)}

    def persistent_id(self, value: object) -> int | None:
        return self.numbers.get(value) if isinstance(value, Source) else None


class _Reader(pickles.Unpickler):
    def __init__(self, file: io.BytesIO, files: tuple[Source, ...]) -> None:
        super().__init__(file)
        self.files = files

    def persistent_load(self, number: int) -> Source:
        return self.files[number]
