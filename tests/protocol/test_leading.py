"""Numbers that only together lead to steps: they are found by the conditions on the way there."""

from __future__ import annotations

from typing import Any

import pytest

import tileproof
from protocol.test_never import WINDOW
from tileproof.protocol import leading

# All threads meet once more where two lengths differ by 5 and the tiles of one leave a remainder of 3.
TAIL = (
    WINDOW.replace("(.param .u32 length)", "(.param .u32 length, .param .u32 other)")
    .replace(
        """  setp.lt.s32 %p1, %r9, COUNT;
  @%p1 bra SHORT;
""",
        """  ld.param.u32 %r2, [length];
  ld.param.u32 %r3, [other];
  sub.s32 %r4, %r3, %r2;
  setp.ne.s32 %p1, %r4, 5;
  @%p1 bra SHORT;
  add.s32 %r5, %r2, 63;
  shr.u32 %r6, %r5, 6;
  and.b32 %r7, %r6, 3;
  setp.ne.s32 %p1, %r7, 3;
  @%p1 bra SHORT;
  mbarrier.arrive.shared::cta.b64 _, [%r10];
""",
    )
    .replace("COMPUTED", "")
)
STEPS = 6


def judged(text: str) -> tuple[str, int, set[str]]:
    report = tileproof.check(text)
    (kernel,) = report.files[0].kernels
    return kernel.status, kernel.steps, {one.code for one in report.diagnostics if one.severity.value == "error"}


def test_numbers_that_go_together_lead_to_a_step(monkeypatch: pytest.MonkeyPatch):
    found: list[dict[int, int]] = []
    numbers_for = leading.numbers_for

    def watched(*arguments: Any) -> dict[int, int]:
        found.append(numbers_for(*arguments))
        return found[-1]

    monkeypatch.setattr(leading, "numbers_for", watched)
    assert judged(TAIL) == ("followed", STEPS, set())
    other, length = found[-1].values()  # in the order of the conditions
    assert (other - length, (length + 63 >> 6) % 4) == (5, 3)


def test_a_run_with_a_finding_of_its_own_says_nothing():
    """A caller may never give such numbers together: the second arrival is missing, and the note names the steps."""
    missing = TAIL.replace("  mbarrier.arrive.shared::cta.b64 _, [%r10];\nSECOND", "SECOND")
    assert missing != TAIL
    status, _, errors = judged(missing)
    assert status == "partly" or errors == {"PR126"}
