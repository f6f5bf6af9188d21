"""An mbarrier of the abstract machine completes its phases where that of a GPU did.

A recorded list becomes a kernel of one thread that waits where test_wait was asked: the check must report that the wait
never returns exactly where the GPU said that the phase is not complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import tileproof

NEVER_RETURNS = {"PR124", "PR125", "PR126"}
OPERATIONS = {
    "init": "mbarrier.init.shared::cta.b64 [bar], {};",
    "arrive": "mbarrier.arrive.shared::cta.b64 state, [bar], {};",
    "expect": "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], {};",
    "complete": "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], {};",
    "arrive_expect": "mbarrier.arrive.expect_tx.shared::cta.b64 state, [bar], {};",
    "parity": "again: mbarrier.try_wait.parity.shared::cta.b64 done, [bar], {}; @!done bra again;",
}
KERNEL = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry steps() .reqntid 1 {{
  .reg .pred done; .reg .b64 state; .shared .align 8 .b64 bar;
  {}
  ret;
}}
"""
LATEST = 1  # questions of a random list

Steps = tuple[tuple[str, int], ...]


def recorded() -> Iterator[tuple[str, Steps, str]]:
    """The operations up to each question, with the question, and the answer: ``1`` where the phase is complete."""
    for text in Path(__file__).with_name("mbarriers.txt").read_text(encoding="utf-8").splitlines()[1:]:
        name, _, whole = text.partition(": ")
        found = re.findall(r"(\w+) (\d+)(?: = (\w+))?", whole)
        if not {step for step, _, _ in found} <= set(OPERATIONS) or [step for step, _, _ in found].count("init") > 1:
            continue
        asked = []
        before: Steps = ()
        for step, number, answer in found:
            if answer:
                asked.append((name, (*before, (step, int(number))), answer))
            if step != "parity":
                before = (*before, (step, int(number)))
        yield from asked[-LATEST:] if name.startswith("random") else asked


def codes(steps: Sequence[tuple[str, int]]) -> set[str]:
    """What a check reports of the kernel."""
    lines = (OPERATIONS[step].format(number) for step, number in steps)
    return {found.code for found in tileproof.check(KERNEL.format("\n  ".join(lines))).diagnostics}


ASKED = list(recorded())


def test_phases_are_complete_where_those_of_the_gpu_are():
    asked = [(name, steps, answer) for name, steps, answer in ASKED if answer != "trap"]
    assert len(asked) > 50
    wrong = [(name, steps) for name, steps, answer in asked if bool(NEVER_RETURNS & codes(steps)) != (answer == "0")]
    assert wrong == []


def test_an_arrival_that_traps_is_one_too_many():
    trapped = {name: codes(steps) for name, steps, answer in ASKED if answer == "trap" and steps[-1][0] == "arrive"}
    assert len(trapped) == 2 and all("PR122" in found for found in trapped.values()), trapped
