"""``dataclass``, ``field`` and ``replace`` of the standard library, made in a tenth of the time.

The standard library looks at every annotation and compiles up to six methods a class from text, one after the other:
half a millisecond a class, and a check of one kernel loads two hundred. Only to import it takes as long as twenty of
ours: it reads how functions are written. Here only the fields are collected. ``__init__`` is made when the first record
of its class is; the other methods are closures over the names of the fields, and compare, hash and print as the
standard library's do. What that keeps of a class is made when it asks, so its ``fields`` and ``replace`` work as ever.
Records are pickled and copied as calls of their class.

A record inherits from no other record, and all that is annotated in it is a field and an argument of ``__init__``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from operator import attrgetter
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

from tileproof.base.kept_code import compiled

__all__ = ["dataclass", "field", "replace"]


class _Missing:
    """No value."""


_NONE: Any = _Missing()


class Field:
    """What a class body says of a field."""

    __slots__ = ("annotation", "compare", "default", "default_factory", "name", "repr")

    def __init__(self, default: Any, default_factory: Any, compare: bool, repr: bool) -> None:
        self.default = default
        self.default_factory = default_factory
        self.compare = compare
        self.repr = repr
        self.name = ""
        self.annotation: object = None


Fields = tuple[Field, ...]


def _field(
    *, default: object = _NONE, default_factory: object = _NONE, compare: bool = True, repr: bool = True
) -> Field:
    """As ``dataclasses.field``, with the arguments that are used here."""
    return Field(default, default_factory, compare, repr)


def _replace(record: Any, /, **changes: Any) -> Any:
    """As ``dataclasses.replace``: a record of the same class, made by ``__init__``, some fields with other values."""
    kind: Any = type(record)
    values, places = _places(kind)
    given = [*values(record)]
    for name, value in changes.items():
        if name not in places:
            raise TypeError(f"{kind.__qualname__} has no field '{name}'")
        given[places[name]] = value
    return kind(*given)


@cache
def _places(kind: Any) -> tuple[Callable[[Any], Iterable[Any]], dict[str, int]]:
    """The values of a record's fields, and at which place each field is."""
    names: tuple[str, ...] = kind.__match_args__
    values = attrgetter(*names) if len(names) > 1 else lambda record: [getattr(record, name) for name in names]
    return values, {name: place for place, name in enumerate(names)}


def _record(*, frozen: bool = False, slots: bool = False, eq: bool = True) -> Callable[[type], type]:
    """As ``dataclasses.dataclass``, with the arguments that are used here."""

    def make(written: type) -> type:
        fields = tuple(_fields(written))
        names = tuple(one.name for one in fields)
        methods = {"__init__": _Init(fields, frozen), "__repr__": _repr(fields), "__reduce__": _reduce(names)}
        if eq:
            methods |= _comparison([one.name for one in fields if one.compare], frozen)
        if frozen:
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
        methods = {name: made for name, made in methods.items() if name not in vars(written)}
        methods |= {"__match_args__": names, **_STANDARD, "__record__": (fields, frozen, slots, eq)}
        return _slotted(written, names, methods) if slots else _plain(written, fields, methods)

    return make


def _fields(written: type) -> Iterable[Field]:
    """The fields that a class body declares."""
    body = vars(written)
    for name, annotation in body.get("__annotations__", {}).items():
        value = body.get(name, _NONE)
        one = value if isinstance(value, Field) else Field(value, _NONE, True, True)
        if hasattr(value, "default_factory") and one is not value:
            raise TypeError(f"{written.__qualname__}.{name}: a field of a record is made by base/records.py")
        one.name, one.annotation = name, annotation
        yield one


def _plain(written: type, fields: Fields, methods: dict[str, Any]) -> type:
    """The class itself: of its fields it keeps the defaults."""
    for one in fields:
        if one.default is not _NONE:
            setattr(written, one.name, one.default)
        elif one.name in vars(written):
            delattr(written, one.name)
    for name, made in methods.items():
        setattr(written, name, made)
    return written


def _slotted(written: type, names: tuple[str, ...], methods: dict[str, Any]) -> type:
    """The class again, with a slot for each field."""
    body = {**vars(written), **methods, "__slots__": names}
    for name in (*names, "__dict__", "__weakref__"):
        body.pop(name, None)
    kind = type(written)(written.__name__, written.__bases__, body)
    kind.__qualname__ = written.__qualname__
    return kind


class _Init:
    """``__init__`` of a class, until it is asked for: then it is compiled and takes the place of this."""

    def __init__(self, fields: Fields, frozen: bool) -> None:
        self.fields = fields
        self.frozen = frozen

    def __get__(self, record: object, kind: type[Any]) -> Any:
        made = _init(kind, self.fields, self.frozen)
        kind.__init__ = made
        return made if record is None else made.__get__(record, kind)


def _init(kind: Any, fields: Fields, frozen: bool) -> Any:
    """``__init__`` of a class: the code of its form, with the names of its fields in place of ``_0``, ``_1``, ..."""
    form = tuple(one.default_factory is not _NONE for one in fields)
    opened = frozen and "__slots__" in vars(kind)
    code = _code(form, frozen and not opened, opened, hasattr(kind, "__post_init__"))
    written = {f"_{place}": one.name for place, one in enumerate(fields)}
    code = code.replace(
        co_varnames=tuple(written.get(name, name) for name in code.co_varnames),
        co_names=tuple(written.get(name, name) for name in code.co_names),
        co_consts=tuple(written.get(one, one) if isinstance(one, str) else one for one in code.co_consts),
    )
    names: dict[str, Any] = {"_put": object.__setattr__, "_missing": _NONE}
    if opened:
        names |= {"_kind": kind, "_open": type(kind)(kind.__name__, kind.__bases__, {"__slots__": kind.__match_args__})}
    names |= {f"_make{place}": one.default_factory for place, one in enumerate(fields) if form[place]}
    given = tuple(one.default for one, made in zip(fields, form, strict=True) if made or one.default is not _NONE)
    return FunctionType(code, names, "__init__", given)


@cache
def _code(form: tuple[bool, ...], frozen: bool, opened: bool, finished: bool) -> CodeType:
    """The code of ``__init__`` for fields ``_0``, ``_1``, ...: to compile it takes longer than all else of a class.

    A frozen record is of an open class with the same slots until all its fields have their values. To set each of them
    by ``object.__setattr__`` takes four times as long, and the machine of the protocol makes many records.

    Args:
        form: for each field whether its value is made where none is given.
        frozen: whether fields cannot be set as usual; ``opened``: whether there is an open class.
        finished: whether the class has a ``__post_init__``.
    """
    lines = ["_put(self, '__class__', _open)"] if opened else []
    for place, made in enumerate(form):
        name = f"_{place}"
        value = f"_make{place}() if {name} is _missing else {name}" if made else name
        lines.append(f"_put(self, '{name}', {value})" if frozen else f"self.{name} = {value}")
    if opened:
        lines.append("self.__class__ = _kind")
    if finished:
        lines.append("self.__post_init__()")
    parameters = ", ".join(["self", *(f"_{place}" for place in range(len(form)))])
    names: dict[str, Any] = {}
    exec(compiled(f"def __init__({parameters}):\n " + "\n ".join(lines or ["pass"]), "exec"), names)
    code: CodeType = names["__init__"].__code__
    return code


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


def _reduce(names: tuple[str, ...]) -> Any:
    def call(self: object) -> tuple[type, Iterable[object]]:
        return type(self), tuple(getattr(self, name) for name in names)

    return call


def _refuse(self: object, name: str, *_: object) -> NoReturn:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415  no program of ours comes here

    raise FrozenInstanceError(f"cannot assign to field '{name}'")


class _Standard:
    """What the standard library's ``dataclass`` keeps of a class, made when somebody asks for it.

    It is taken from a class that the standard library makes of the same fields.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, record: object, kind: type[Any]) -> Any:
        import dataclasses  # noqa: PLC0415  to import it is what is spared

        fields, frozen, _, eq = kind.__record__
        stated = []
        for one in fields:
            given = {"default": one.default, "default_factory": one.default_factory}
            given = {name: value for name, value in given.items() if value is not _NONE}
            stated.append((one.name, one.annotation, dataclasses.field(compare=one.compare, repr=one.repr, **given)))
        made = dataclasses.make_dataclass(kind.__name__, stated, frozen=frozen, eq=eq, init=False, repr=False)
        for name in _STANDARD:
            setattr(kind, name, getattr(made, name))
        return getattr(made, self.name)


_STANDARD = {name: _Standard(name) for name in ("__dataclass_fields__", "__dataclass_params__")}

if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace  # type checkers know these
else:
    dataclass, field, replace = _record, _field, _replace
