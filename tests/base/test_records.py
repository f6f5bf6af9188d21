"""A record is what the standard library's dataclass would be."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from tileproof.base import records


def written(field) -> type:
    """A class body with everything that the package uses."""

    class Written:
        """A class body."""

        a: int
        b: str = "b"
        c: list[int] = field(default_factory=list, repr=False)
        d: int = field(default=0, compare=False)

        def __post_init__(self) -> None:
            if self.a < 0:
                raise ValueError("a is negative")

    return Written


OPTIONS = [
    {"frozen": True, "slots": True},
    {"frozen": True},
    {"slots": True},
    {},
    {"frozen": True, "eq": False},
    {"eq": False},
]


def both(options):
    """The class as a record and as a dataclass."""
    return [one.dataclass(**options)(written(one.field)) for one in (records, dataclasses)]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_record_does_what_a_dataclass_does(options):
    seen = []
    for kind in both(options):
        one, two, three = kind(1), kind(1, "b", d=5), kind(a=2, c=[1])
        frozen = options.get("frozen", False)
        answers = [repr(one), repr(three), one == two, one == three, one != "x", one.c is not two.c]
        answers += [kind.__match_args__, [item.name for item in dataclasses.fields(one)]]
        answers += [repr(dataclasses.replace(three, b="c")), hasattr(one, "__dict__"), kind.__doc__]
        answers += [[(item.type, item.compare, item.repr, item.init) for item in dataclasses.fields(kind)]]
        answers += [dataclasses.is_dataclass(kind), dataclasses.asdict(three), kind.__dataclass_params__.frozen]
        answers += [kind.__hash__ is None, kind.__hash__ is object.__hash__]
        with pytest.raises(TypeError):
            kind()
        with pytest.raises(TypeError):
            kind(1, e=2)
        with pytest.raises(ValueError, match="negative"):
            kind(-1)
        if frozen:
            with pytest.raises(dataclasses.FrozenInstanceError):
                one.a = 3
            with pytest.raises(dataclasses.FrozenInstanceError):
                del one.a
        else:
            one.a = 3
        seen.append([*answers, one.a])
    assert seen[0] == seen[1]


@records.dataclass(frozen=True, slots=True)
class Point:
    """To pickle, a class has a name in a module."""

    x: int
    y: int = 0

    def __repr__(self) -> str:
        return f"{self.x},{self.y}"


@records.dataclass(frozen=True)
class Empty:
    """No field."""


def test_a_record_is_pickled_copied_and_hashed():
    point = Point(1, 2)
    assert pickle.loads(pickle.dumps(point)) == point == copy.deepcopy(point)
    assert len({point, Point(1, 2), Point(2)}) == 2
    assert repr(point) == "1,2"
    assert Empty() == Empty() != point
    assert hash(Empty()) == hash(Empty())


@pytest.mark.parametrize("kind", [Point, *both({"frozen": True, "slots": True}), *both({})], ids=str)
def test_a_record_is_replaced_as_a_dataclass_is(kind):
    """Also one that the standard library made: ``replace`` does not ask who did."""
    one = kind(1)
    name = dataclasses.fields(one)[1].name
    for changes in ({}, {name: 5}):
        assert records.replace(one, **changes) == dataclasses.replace(one, **changes)
    assert records.replace(one) is not one
    with pytest.raises(TypeError):
        records.replace(one, nothing=1)
    if hasattr(one, "c"):
        assert records.replace(one).c is one.c
        with pytest.raises(ValueError, match="negative"):
            records.replace(one, a=-1)


def test_a_field_of_the_standard_library_is_refused():
    """It would be taken for a default."""
    with pytest.raises(TypeError, match=r"Written\.c"):
        records.dataclass()(written(dataclasses.field))
