"""``dataclass`` of the standard library, made in a quarter of the time.

The standard library compiles up to six methods a class from text, one after the other: half a millisecond a class, and
a check of one kernel loads a hundred and sixty. Here it only collects the fields, so that ``fields``, ``replace`` and
``match`` work as ever. ``__init__`` alone is compiled; the other methods are closures over the names of the fields, and
compare, hash and print as the standard library's do. Records are pickled and copied as calls of their class.

A record inherits from no other record, and all its fields are arguments of ``__init__``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]
Fields = tuple[dataclasses.Field[Any], ...]


def _record(*, frozen: bool = False, slots: bool = False, eq: bool = True) -> Callable[[type], type]:
    """As ``dataclasses.dataclass``, with the arguments that are used here."""

    def make(written: type) -> type:
        kind: type[Any] = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(written)
        fields = dataclasses.fields(kind)
        methods = {"__init__": _init(kind, fields, frozen), "__repr__": _repr(fields), "__reduce__": _reduce(fields)}
        if eq:
            methods |= _comparison([one.name for one in fields if one.compare], frozen)
        if frozen:
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
        for name in methods.keys() - vars(written).keys():
            setattr(kind, name, methods[name])
        return kind

    return make


def _init(kind: type, fields: Fields, frozen: bool) -> Any:
    names: dict[str, Any] = {"_put": object.__setattr__, "_missing": dataclasses.MISSING}
    parameters = ["self"]
    lines = []
    for one in fields:
        name = value = one.name
        if one.default is not dataclasses.MISSING:
            names[f"_default_{name}"] = one.default
            parameters.append(f"{name}=_default_{name}")
        elif one.default_factory is not dataclasses.MISSING:
            names[f"_make_{name}"] = one.default_factory
            parameters.append(f"{name}=_missing")
            value = f"_make_{name}() if {name} is _missing else {name}"
        else:
            parameters.append(name)
        lines.append(f"_put(self, '{name}', {value})" if frozen else f"self.{name} = {value}")
    if hasattr(kind, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), names)
    return names["__init__"]


def _comparison(names: list[str], frozen: bool) -> dict[str, Any]:
    values: Callable[[object], object] = attrgetter(*names) if names else lambda record: ()

    def equal(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def digest(self: object) -> int:
        return hash(values(self))

    return {"__eq__": equal, "__hash__": digest if frozen else None}


def _repr(fields: Fields) -> Any:
    names = [one.name for one in fields if one.repr]

    def shown(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return shown


def _reduce(fields: Fields) -> Any:
    names = [one.name for one in fields]

    def call(self: object) -> tuple[type, Iterable[object]]:
        return type(self), tuple(getattr(self, name) for name in names)

    return call


def _refuse(self: object, name: str, *_: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field '{name}'")


if TYPE_CHECKING:
    from dataclasses import dataclass  # type checkers know this one
else:
    dataclass = _record
