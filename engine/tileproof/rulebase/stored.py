"""A rulebook as it lies in the cache: in parts, each of which is read when something in it is first asked for.

A check needs a tenth of all that the rule files declare, and to make the values of all of them takes longer than to
check a small file. The texts of the rule files are left out: who asks for the book has them.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Hashable, Iterator, MutableMapping
from typing import Any, Generic, TypeVar

from tileproof.base.records import dataclass
from tileproof.base.source import Source
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import Rule

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class _Packed:
    """One mapping of a rulebook.

    Attributes:
        places: of each key, in order, the part that has its value.
        parts: pickles of dictionaries; values that share something are in one.
    """

    places: dict[Any, int]
    parts: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """A rulebook in parts."""

    fields: dict[str, _Packed]
    codes_on: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, book: Rulebook, files: tuple[Source, ...]) -> Stored:
        import dataclasses  # noqa: PLC0415  to import it takes longer than to read what is stored

        fields = {one.name: _packed(getattr(book, one.name), files) for one in dataclasses.fields(book)}
        return cls(fields, book.codes_on)

    def book(self, files: tuple[Source, ...]) -> Rulebook:
        """The rulebook; ``files`` are those that it was made of."""

        def read(part: bytes) -> Any:
            return _Reader(io.BytesIO(part), files).load()

        book = Rulebook(**{name: _Shelf(one, read) for name, one in self.fields.items()})
        vars(book)["codes_on"] = self.codes_on  # the value of the property, which would read all rules
        return book


class _Shelf(MutableMapping[K, V], Generic[K, V]):
    """A mapping whose values are read, part by part, when they are first asked for."""

    def __init__(self, packed: _Packed, read: Callable[[bytes], dict[K, V]]) -> None:
        self._packed = packed
        self._read = read
        self._keys: dict[K, None] = dict.fromkeys(packed.places)
        self._values: dict[K, V] = {}

    def __getitem__(self, key: K) -> V:
        if key not in self._values:
            if key not in self._keys:
                raise KeyError(key)
            for one, value in self._read(self._packed.parts[self._packed.places[key]]).items():
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


def _packed(mapping: MutableMapping[Any, Any], files: tuple[Source, ...]) -> _Packed:
    groups: dict[Hashable, dict[Any, Any]] = {}
    for key, value in mapping.items():
        groups.setdefault(_company(value), {})[key] = value
    parts = []
    places: dict[Any, int] = {}
    for number, group in enumerate(groups.values()):
        file = io.BytesIO()
        _Writer(file, files).dump(group)
        parts.append(file.getvalue())
        places |= dict.fromkeys(group, number)
    return _Packed({key: places[key] for key in mapping}, tuple(parts))


def _company(value: object) -> Hashable:
    """What is the same of values that are read together: rules of a schema; one value of several keys; all tuples,
    since those of the two contracts have members in common."""
    if isinstance(value, Rule):
        return value.schema
    return tuple if isinstance(value, tuple) else id(value)


class _Writer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, files: tuple[Source, ...]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.numbers = {file: number for number, file in enumerate(files)}

    def persistent_id(self, value: object) -> int | None:
        return self.numbers.get(value) if isinstance(value, Source) else None


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, files: tuple[Source, ...]) -> None:
        super().__init__(file)
        self.files = files

    def persistent_load(self, number: int) -> Source:
        return self.files[number]
