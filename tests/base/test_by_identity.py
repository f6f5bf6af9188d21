"""Results that are kept by which objects a function was given."""

from __future__ import annotations

from tileproof.base import by_identity as module
from tileproof.base.by_identity import by_identity


def test_the_same_objects_are_asked_once_and_equal_ones_again():
    asked = []

    @by_identity
    def total(parts, more):
        asked.append(parts)
        return sum(parts) + more

    parts = tuple(range(1000, 1100))
    assert total(parts, 1) == total(parts, 1) == sum(parts) + 1
    assert len(asked) == 1
    assert total((*parts[:50], *parts[50:]), 1) == sum(parts) + 1
    assert total(parts, 2) == sum(parts) + 2
    assert len(asked) == 3


def test_what_is_kept_is_bounded_and_never_that_of_another_object(monkeypatch):
    monkeypatch.setattr(module, "MOST", 8)

    @by_identity
    def first(parts):
        return parts[0]

    for i in range(1000):  # each tuple is gone before the next is made, which may then lie where it lay
        assert first((i, i)) == i
