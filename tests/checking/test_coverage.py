"""What a kernel's coverage says of the steps that no run executed."""

from __future__ import annotations

from dataclasses import dataclass

import tileproof
from tileproof.base.source import Source, Span
from tileproof.checking.coverage import _unreached


@dataclass(frozen=True)
class Step:
    """As much of an operation as has a place."""

    name_span: Span


def test_steps_that_were_not_executed_are_listed_in_the_order_of_the_text():
    """Blocks that jump are laid out as branches and loops: the machine has them in another order than the text."""
    source = Source("k.ptx", "a\nb\nc\nd\ne\n")
    first, second, third, fifth = (Step(Span(2 * i, 2 * i + 1)) for i in (0, 1, 2, 4))
    steps = [fifth, third, first, second]
    reason = _unreached(tileproof.load_rules(), source, steps, frozenset({id(second)}))  # type: ignore[arg-type]
    assert reason.message == "3 of 4 protocol steps were not executed: lines 1, 3-5"
    assert reason.span == first.name_span
