"""A verdict for all trip counts is what long runs say, one by one; where it need not be, none is claimed."""

from __future__ import annotations

import pytest

import tileproof
from protocol.rings import ARRIVAL, ring
from tileproof.base.source import Source
from tileproof.mlir.scanner import scan
from tileproof.protocol import verify as protocol
from tileproof.protocol.folding import Extents
from tileproof.protocol.runs import Outcome
from tileproof.protocol.study import Study
from tileproof.protocol.verify import verify

BOOK = tileproof.load_rules()
LONG = 48  # iterations: more than any state below takes to come again, twice


def outcome(text: str, thorough: bool = False) -> Outcome:
    (found,) = verify(BOOK, scan(Source("ring.mlir", text)).module.operations, {}, thorough=thorough)
    return found


def one_by_one(text: str, counts: range, monkeypatch: pytest.MonkeyPatch) -> dict[int, set[str]]:
    """The findings of runs with these trip counts."""
    found: dict[int, set[str]] = {}

    def outcome_of(study: Study) -> Outcome:
        for turns in counts:
            run = study.run(Extents(turns, turns), turns, 3)
            found[turns] = {fault.code for fault in run.faults}
        return Outcome(study.kernel, (), ())

    with monkeypatch.context() as patched:
        patched.setattr(protocol, "conclude", outcome_of)
        outcome(text)
    return found


def skipped(turn: int, otherwise: str) -> str:
    """An arrival that one iteration leaves out."""
    return (
        f"        %turn = arith.constant {turn} : i32\n        %due = arith.cmpi ne, %k, %turn : i32\n"
        f"        scf.if %due {{\n{otherwise}\n        }}"
    )


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_a_ring_is_verified_for_all_trip_counts(stages, monkeypatch):
    text = ring(stages)
    found = outcome(text, thorough=stages > 3)
    assert not found.faults
    assert not found.doubts
    assert found.trip_counts is None
    assert not any(one_by_one(text, range(LONG), monkeypatch).values())


@pytest.mark.parametrize("turn", [0, 1, 5, 9])
def test_a_fault_in_one_iteration_is_found(turn):
    """No state comes again before the iteration whose arrival is missing: what waits for it waits for ever."""
    assert {fault.code for fault in outcome(ring(2, fill=skipped(turn, ARRIVAL))).faults} & {"PR125", "PR126"}


@pytest.mark.parametrize("turn", [200, 1000])
def test_nothing_is_claimed_beyond_a_constant_that_the_counter_has_not_passed(turn, monkeypatch):
    text = ring(2, fill=skipped(turn, ARRIVAL))
    found = outcome(text)
    assert found.trip_counts is not None
    assert found.trip_counts < turn
    assert one_by_one(text, range(turn + 3, turn + 4), monkeypatch)[turn + 3]


def test_nothing_is_claimed_where_a_remainder_of_the_counter_decides(monkeypatch):
    """Each seventh arrival is missing: what repeats after two rounds of the ring is not all that decides."""
    seventh = (
        "        %seven = arith.constant 23 : i32\n        %rest = arith.remsi %k, %seven : i32\n"
        "        %last = arith.constant 22 : i32\n        %due = arith.cmpi ne, %rest, %last : i32\n"
        f"        scf.if %due {{\n{ARRIVAL}\n        }}"
    )
    text = ring(2, fill=seventh)
    found = outcome(text)
    assert found.faults or found.trip_counts is not None
    assert one_by_one(text, range(30, 31), monkeypatch)[30]


def test_a_bound_is_named_where_the_budget_ends():
    found = outcome(ring(16))
    assert found.trip_counts is not None
    assert outcome(ring(16), thorough=True).trip_counts is None


def test_a_loop_whose_length_is_known_needs_no_bound():
    text = ring(2).replace("to %n step", "to %c32 step")
    assert outcome(text).trip_counts is None
    assert not outcome(text).doubts


@pytest.mark.parametrize("stages", [2, 3])
def test_short_trip_counts_are_run_one_by_one(stages, monkeypatch):
    """A wait behind the loop for a phase that only short loops have not completed."""
    waits = "      nvvm.mbarrier.try_wait.parity.shared %full, %c1, %c32 : !llvm.ptr<3>, i32, i32"
    text = ring(stages, after=waits)
    runs = one_by_one(text, range(LONG), monkeypatch)
    assert any(runs.values())
    found = outcome(text)
    assert found.faults or found.doubts or found.trip_counts is not None
