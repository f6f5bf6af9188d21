"""Each class of faults that an insertion repairs is repaired: of the faulty kernels of the protocol's own tests."""

# checklist: PRO03

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tileproof
from tileproof.base.diagnostic import Severity
from tileproof.base.source import Source
from tileproof.checking.expectations import expectations, split
from tileproof.scheduling.synthesis import schedule

KERNELS = Path(__file__).parents[1] / "protocol"
BOOK = tileproof.load_rules()

# What none of the operations that are inserted can order: it needs a barrier, or an mbarrier and its address.
BEYOND = {
    "21_reloaded_while_read.mlir": {0},
    "22_thread_sync_fence.mlir": {0},
    "29_tensor_memory_lifetime.mlir": {2, 4},
    "answer_overwritten_bad.mlir": {0},
    "descriptor_words.mlir": {0},
    "freed_while_loaded_bad.mlir": {0},
    "letter_overwritten_bad.mlir": {0},
    "peer_never_waited_for_bad.mlir": {0},
    "scales_copied_by_another_warp_bad.mlir": {0},
}


def errors(text: str) -> set[str]:
    return {one.code for one in tileproof.check(text).diagnostics if one.severity is Severity.ERROR}


def cases() -> Iterator[tuple[str, int, str]]:
    """The kernels with a fault, by file and number."""
    for path in sorted([*(KERNELS / "facts").glob("*_bad.mlir"), *(KERNELS / "bugs").glob("*.mlir")]):
        source = Source(path.name, path.read_text("utf-8"))
        for number, part in enumerate(split(source)):
            if expectations(part):
                yield path.name, number, part.text.lstrip("\n")


MINE = {member[1:] for member in BOOK.enums["schedule_finding"].members}
FAULTY = [(name, number, text) for name, number, text in cases() if errors(text) & MINE]


def test_what_is_beyond_insertions_is_there():
    assert {(name, number) for name, numbers in BEYOND.items() for number in numbers} <= {
        (name, number) for name, number, _ in FAULTY
    }


@pytest.mark.parametrize(("name", "number", "text"), [pytest.param(*one, id=f"{one[0]}-{one[1]}") for one in FAULTY])
def test_each_class_that_insertions_repair_is_repaired(name, number, text):
    found = schedule(BOOK, Source(name, text))
    assert found.verified is (number not in BEYOND.get(name, set()))
    if found.verified:
        assert errors(found.source.text) == set()
        assert found.inserted
