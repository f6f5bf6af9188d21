"""tileproof and ptxas agree on which instructions a target takes."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict

import pytest
from ptxas import CRASHED, needs_ptxas, reasons

import tileproof
from conformance.generator import Sample, samples
from tileproof.checking.instruction import context, legal

BOOK = tileproof.load_rules()
NEWEST = (9, 5)
VERSIONS = [(6, 3), (6, 4), (6, 5), *((7, minor) for minor in range(9)), *((8, minor) for minor in range(9))]
VERSIONS += [(9, minor) for minor in range(6)]


# ptxas loses count of the types where some that it swallows stand between A and a B of e2m1. We refuse these.
_LOST_COUNT = re.compile(r"mma\S*\.e[2-5]m[1-3](\.(tf32|bf16x2|bf16|[su]4|b4|b1)){2,}\.e2m1\.")


# ptxas makes a WMMA an `_mma` of its own, whose operands are pieces of the fragments, and refuses a piece that holds
# constants only. The piece depends on shape and type and is nowhere documented: we accept these.
_PIECES = "instruction '_mma'"


def places() -> list[tuple[str, tuple[int, int]]]:
    """Every target that ptxas 13.5 knows with the newest PTX, and with some older versions that know it."""
    table = BOOK.tables["target", "ptx"]
    found = []
    for (member,), row in table.rows.items():
        first, last = row[table.column("ptx")], row[table.column("last")]
        assert isinstance(first, int) and isinstance(last, int)
        if last < 905:
            continue  # ptxas 13.5 no longer knows it
        versions = [v for v in VERSIONS if v >= divmod(first, 100)]
        found += [(member[1:], NEWEST)] * len(versions) + [(member[1:], v) for v in versions]
    return found


def disagreements(found: list[Sample]) -> list[str]:
    """Instructions on which tileproof and ptxas differ, one line each."""
    batches: dict[tuple[str, tuple[int, int]], list[Sample]] = defaultdict(list)
    for sample in found:
        batches[sample.target, sample.ptx].append(sample)
    differing = []
    for (target, ptx), batch in sorted(batches.items()):
        where = context(BOOK, target, ptx)
        answers = reasons([sample.text for sample in batch], target, f"{ptx[0]}.{ptx[1]}")
        for sample, reason in zip(batch, answers, strict=True):
            verdict = legal(BOOK.under("ptx"), sample.text, where)
            if verdict.legal is (reason is None) or (_LOST_COUNT.search(sample.text) and not verdict.legal):
                continue
            # After some errors ptxas blames an instruction for another's: where we differ it is asked about it alone.
            alone = reasons([sample.text], target, f"{ptx[0]}.{ptx[1]}")[0]
            if alone == CRASHED or (alone is not None and _PIECES in alone and verdict.legal):
                continue  # no judgement on the PTX
            if verdict.legal is not (alone is None):
                ours = "legal" if verdict.legal else f"{','.join(verdict.codes)} {verdict.message}"
                differing.append(f"{target} {ptx[0]}.{ptx[1]} {sample.text}\n    ours: {ours}\n    ptxas: {alone}")
    return differing


def compare(seed: int, count: int, share: slice = slice(None), pool: int = 30) -> None:
    found = list(samples(BOOK, seed, count, places(), pool, share))
    assert len(found) > 0.8 * count, "declarations without a legal instance"
    origins = Counter(sample.origin for sample in found)
    assert min(origins.values()) > count / 10, origins
    differing = disagreements(found)
    shown = "\n".join(differing[:20])
    assert not differing, f"{len(differing)} of {len(found)} differ:\n{shown}"


@needs_ptxas
@pytest.mark.parametrize("half", [0, 1])
def test_conformance_8_000(half: int):
    """Half of the declarations each, for two workers: most of the time goes into legal configurations of them."""
    compare(seed=int(os.environ.get("TILEPROOF_SEED", "1")), count=5_000, share=slice(half, None, 2), pool=8)


@pytest.mark.long
@needs_ptxas
@pytest.mark.parametrize("seed", range(1, 21))
def test_conformance_1_000_000(seed: int):
    """``pytest -m long tests/conformance``: 20 runs of more than 50,000 instructions."""
    compare(seed=1000 + seed, count=60_000)
