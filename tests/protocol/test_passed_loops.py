"""Whether all threads of a run went past a loop that takes part in the protocol."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tileproof.protocol.program import goes_past
from tileproof.protocol.runs import Run
from tileproof.protocol.state import Coverage

STEP = SimpleNamespace(pure=False)
# if: a loop around a step; else: a step.
CODE = [
    SimpleNamespace(kind="branch", effect=None, other=3, target=4),
    SimpleNamespace(kind="test", effect=None, target=3),
    SimpleNamespace(kind="effect", effect=STEP),
    SimpleNamespace(kind="effect", effect=STEP),
]


@pytest.mark.parametrize(
    ("ways", "doubtful", "passed"),
    [
        ({True}, {0}, False),
        ({False}, {0}, True),
        ({True, False}, {0}, False),
        ({False}, set(), False),
    ],
)
def test_a_branch_past_a_loop(ways: set[bool], doubtful: set[int], passed: bool):
    coverage = Coverage(went={0: ways}, doubtful=doubtful)
    run = Run(SimpleNamespace(coverage=coverage, program=SimpleNamespace(code=CODE)), ())
    assert bool(run.passed_loops()) is passed


def test_the_way_past_it():
    assert [goes_past(CODE, 0, way) for way in (True, False)] == [False, True]
