"""A rulebook that comes out of the cache in parts is the one that went in."""

from __future__ import annotations

import dataclasses

import pytest

from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.collect import collected
from tileproof.rulebase.load import load, readers, shipped_files
from tileproof.rulebase.stored import packed

pytestmark = pytest.mark.sweep  # reads all rule files anew
FILES = shipped_files()


@pytest.fixture(scope="module")
def read() -> Rulebook:
    return collected(FILES, readers())


@pytest.fixture(scope="module")
def kept(read: Rulebook) -> Rulebook:
    stored, parts = packed(read, FILES)
    return stored.book(parts.__getitem__, FILES)


def same(a: object, b: object) -> bool:
    """Whether two values are alike to the last field; many records are equal only to themselves."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, one.name), getattr(b, one.name)) for one in dataclasses.fields(a))
    return a == b


@pytest.mark.parametrize("field", [one.name for one in dataclasses.fields(Rulebook)])
def test_every_shelf_has_the_same_in_the_same_order(read: Rulebook, kept: Rulebook, field: str):
    assert list(getattr(kept, field)) == list(getattr(read, field))
    assert same(dict(getattr(kept, field)), dict(getattr(read, field)))


def test_a_value_of_several_keys_is_one_value(read: Rulebook, kept: Rulebook):
    for field in dataclasses.fields(Rulebook):
        before, after = getattr(read, field.name), getattr(kept, field.name)
        for a, b in zip(list(before)[:-1], list(before)[1:], strict=True):
            assert (before[a] is before[b]) == (after[a] is after[b]), (field.name, a, b)


def test_places_are_in_the_files_that_it_was_asked_with(kept: Rulebook):
    assert all(any(rule.place.source is file for file in FILES) for rule in kept.rules.values())


@pytest.mark.parametrize("contract", ["ptx", "tileiras"])
@pytest.mark.parametrize("inherited", [False, True])
def test_rules_of_a_schema_are_in_the_order_of_the_files(read: Rulebook, contract: str, inherited: bool):
    kept = load(FILES)
    for schema in read.schemas:
        named = read.lineage(schema) if inherited else (schema,)
        found = [one for one in read.rules.values() if one.schema in named and one.contract in (None, contract)]
        replaced = {code for one in found for code in one.replaces}
        wanted = [one.code for one in found if one.code not in replaced]
        assert [one.code for one in kept.rules_on(schema, contract, inherited)] == wanted


def test_what_is_not_there_is_missing(kept: Rulebook):
    assert kept.rules.get("WG000") is None
    assert "WG000" not in kept.rules
    with pytest.raises(KeyError):
        kept.enums["no enum"]
