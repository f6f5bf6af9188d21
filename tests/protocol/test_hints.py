"""Hints that say what to insert or delete, and where, are true: the finding is gone, and no other came."""

from __future__ import annotations

import pytest

import tileproof
from protocol.test_diagnosis import applied
from scheduling.test_classes import cases
from tileproof.base.diagnostic import Diagnostic, Severity

CASES = {f"{name}-{number}": text for name, number, text in cases()}


def errors(text: str) -> list[Diagnostic]:
    return [one for one in tileproof.check(text).diagnostics if one.severity is Severity.ERROR]


@pytest.fixture(scope="module")
def repaired() -> dict[str, list[tuple[Diagnostic, list[Diagnostic], list[Diagnostic]]]]:
    """Of each faulty kernel with such a hint: the finding, all findings before, and those after."""
    found = {}
    for name, text in CASES.items():
        before = errors(text)
        changed = [(one, applied(text, one.hint)) for one in before]
        found[name] = [(one, before, errors(new)) for one, new in changed if new is not None]
    return found


def test_what_hints_say_repairs_the_kernels_of_these_tests(repaired):
    for name, tried in repaired.items():
        for one, before, after in tried:
            assert len(after) < len(before), (name, one.hint)
            assert {other.code for other in after} <= {other.code for other in before}, (name, one.hint)
    assert len([name for name, tried in repaired.items() if tried]) >= 8


def test_each_kind_of_insertion_is_among_them(repaired):
    hints = " ".join(one.hint for tried in repaired.values() for one, _, _ in tried)
    for operation in ("fence.proxy", "nvvm.barrier", "wait"):
        assert operation in hints
