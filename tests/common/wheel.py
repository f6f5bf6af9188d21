"""NVIDIA's own dialect as the judge of single operations: what it infers, against what we infer.

Each case declares a result that the operation does not have, and reads the inferred one from the complaint. The native
library may die: it lives in a process of its own, which is started again behind the case that killed it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence

import pytest
from partition_cases import Case

from tileproof.dialects.infer import Outcome, Refusal, infer

WORKER = """
import json, sys
from cutlass._mlir import ir
with ir.Context():
    for line in sys.stdin:
        try:
            ir.Module.parse(json.loads(line))
            print("null", flush=True)
        except Exception as error:
            print(json.dumps(str(error)), flush=True)
"""
INFERRED = re.compile(r"inferred type\(s\) '(.*?)' are incompatible", re.DOTALL)


def ours(case: Case) -> Outcome:
    return infer(case.name, case.operands, case.parameters, ())


def answers(asked: Sequence[Case]) -> list[str | None]:
    """What the wheel says of each case; None where it died."""
    found: list[str | None] = []
    while len(found) < len(asked):
        rest = "".join(json.dumps(case.module()) + "\n" for case in asked[len(found) :])
        done = subprocess.run([sys.executable, "-c", WORKER], input=rest, capture_output=True, text=True, check=False)
        found += [json.loads(line) or "" for line in done.stdout.splitlines()]
        if len(found) < len(asked):
            found.append(None)
    return found


def disagreements(asked: Sequence[Case]) -> Counter[str]:
    """How many cases ended how; a result that differs, or one where the other side refuses, fails the test."""
    pytest.importorskip("cutlass", reason="nvidia-cutlass-dsl is not installed")
    verdicts: Counter[str] = Counter()
    for case, answer in zip(asked, answers(asked), strict=True):
        outcome = ours(case)
        found = INFERRED.search(answer or "")
        if isinstance(outcome, Refusal):
            assert found is None, (case, answer, outcome)
            verdicts["refused"] += 1
        elif outcome is None:
            verdicts["unknown"] += 1
        elif answer is not None:
            assert found is not None, (case, answer, outcome)
            assert found[1] == "', '".join(map(str, outcome)), case
            verdicts["equal"] += 1
    return verdicts
