"""Where the async proxy of a GPU read what was there before, the check says that a proxy fence is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from order_kernels import FENCES, READERS, kernel

import tileproof

LINES = Path(__file__).with_name("orders.txt").read_text(encoding="utf-8").splitlines()[1:]
WRONG = {(reader, fence): int(count) for reader, fence, count in re.findall(r"(.*), (.*): (\d+) of", "\n".join(LINES))}


@pytest.mark.parametrize("fence", FENCES)
@pytest.mark.parametrize("reader", READERS)
def test_what_was_read_too_early_is_reported(reader: str, fence: str):
    reported = "PR110" in {found.code for found in tileproof.check(kernel(reader, fence)).diagnostics}
    assert reported or WRONG[reader, fence] == 0
    assert reported or "fence.proxy.async" in "".join(FENCES[fence])


def test_without_a_fence_stale_bytes_were_read():
    assert all(WRONG[reader, "no fence"] > 0 for reader in READERS)
