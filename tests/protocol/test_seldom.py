"""Whether roles go around as often as each other, where threads wait for ever in a run with larger integers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tileproof.protocol import seldom

A, B = 10, 30  # the loops of two roles


@pytest.mark.parametrize(
    ("hung", "ended", "loads", "answer"),
    [
        ({A: 14, B: 14}, [{A: 1, B: 1}, {A: 3, B: 3}], False, True),
        ({A: 14, B: 14}, [{A: 1, B: 1}], False, False),
        ({A: 14, B: 14}, [{A: 1, B: 1}, {A: 3, B: 3}], True, False),
        ({A: 14, B: 14}, [{A: 1, B: 3}, {A: 3, B: 3}], False, False),
        ({A: 2, B: 14}, [{A: 1, B: 1}, {A: 3, B: 3}], False, False),
        ({B: 14}, [{A: 1, B: 1}, {A: 3, B: 3}], False, False),
        ({B: 14}, [{A: 1, B: 3}, {B: 1}], False, False),
    ],
    ids=["together", "one length", "loaded", "apart before", "apart", "nothing to do", "never together"],
)
def test_roles_are_in_step_where_all_their_loops_go_around_as_often(
    hung: dict[int, int], ended: list[dict[int, int]], loads: bool, answer: bool, monkeypatch: pytest.MonkeyPatch
):
    """A role that had nothing to do in the run may go by an integer of its own (ThunderKittens)."""
    monkeypatch.setattr(seldom, "loops_at", lambda code, at: True)
    monkeypatch.setattr(seldom, "deciders", lambda code, places, through: (frozenset(places), frozenset()))
    code = {at: SimpleNamespace(kind="test", target=at + 5) for at in (A, B)}
    reached = SimpleNamespace(by_size={"size": dict(enumerate(ended))})
    study = SimpleNamespace(loads=loads, compiled=SimpleNamespace(code=code), reached=reached)
    run = SimpleNamespace(machine=SimpleNamespace(coverage=SimpleNamespace(lengths=hung)))
    assert seldom._in_step(study, run) is answer  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lengths", "answer"), [({A: 3}, True), ({}, False), ({A: 0, B: 0}, False), ({A + 1: 1}, False)]
)
def test_a_run_in_which_no_loop_goes_around_is_no_longer_one(
    lengths: dict[int, int], answer: bool, monkeypatch: pytest.MonkeyPatch
):
    """The number of its tiles is a quotient, and what divides is larger here (ThunderKittens, attention of sm_103a)."""
    monkeypatch.setattr(seldom, "loops_at", lambda code, at: True)
    code = {A: SimpleNamespace(kind="test"), A + 1: SimpleNamespace(kind="wait"), B: SimpleNamespace(kind="test")}
    study = SimpleNamespace(compiled=SimpleNamespace(code=code))
    run = SimpleNamespace(machine=SimpleNamespace(coverage=SimpleNamespace(lengths=lengths)))
    assert seldom._goes_around(study, run) is answer  # type: ignore[arg-type]
