"""How fast `legal` is: from text beside ptxas, and on structured facts."""

from __future__ import annotations

import json
import random
import time

import pytest
from ptxas import needs_ptxas, reasons

import tileproof
from conformance.generator import samples, varied
from tileproof.base import spelling
from tileproof.checking import instruction as verb
from tileproof.checking.instruction import context, legal
from tileproof.ptx import opcode, parse_facts, registers, text

BOOK = tileproof.load_rules()
PLACES = [("sm_90a", (9, 5))]
COUNT = 50_000


@pytest.fixture(scope="module")
def instructions() -> list[str]:
    return [sample.text for sample in samples(BOOK, 1, COUNT, PLACES)]


def forget() -> None:
    """Empty what earlier rounds have left in the caches: each round reads its instructions for the first time."""
    for module in (parse_facts, opcode, spelling, registers, text, verb):
        for function in vars(module).values():
            if hasattr(function, "cache_clear"):
                function.cache_clear()


def test_from_text(benchmark, instructions):
    where = context(BOOK, "sm_90a")
    found = benchmark.pedantic(
        lambda: [legal(BOOK.under("ptx"), instruction, where).legal for instruction in instructions],
        setup=forget,
        rounds=3,
    )
    assert {*found} == {True, False}
    benchmark.extra_info["instructions a second"] = round(len(found) / benchmark.stats.stats.min)


def test_new_opcodes(benchmark):
    """A stream in which many opcodes are new, most of them wrong, beside one in which the same opcodes come again."""
    places = [("sm_90a", (9, 5)), ("sm_100a", (8, 6)), ("sm_120a", (9, 5)), ("sm_80", (9, 5))]
    base = list(samples(BOOK, 2, 10_000, places))
    asked = [
        json.dumps({"target": one.target, "instr": one.text, "ptx": one.ptx})
        for one in varied(BOOK, 3, base, 2 * len(base))
    ]
    ruleset = BOOK.under("ptx")
    repeated = asked[:100] * (len(asked) // 100)
    answered(ruleset, asked)  # what is compiled once is not the question
    alike = min(answered(ruleset, repeated) for _ in range(3))
    seconds = benchmark.pedantic(lambda: answered(ruleset, asked), rounds=3)
    benchmark.extra_info["lines a second of CPU"] = round(len(asked) / seconds)
    benchmark.extra_info["times lines that repeat"] = round(seconds / alike, 1)
    # 15 measured on a busy machine.
    assert seconds < 40 * alike


def answered(ruleset, asked: list[str]) -> float:
    """Seconds of CPU for the answers, nothing known of the lines."""
    forget()
    begun = time.process_time()
    assert len(list(verb.answers(ruleset, asked))) == len(asked)
    return time.process_time() - begun


@needs_ptxas
def test_ptxas(benchmark, instructions):
    found = benchmark.pedantic(lambda: reasons(instructions, "sm_90a", "9.5"), rounds=1)
    assert None in found  # what ptxas takes
    benchmark.extra_info["instructions a second"] = round(len(found) / benchmark.stats.stats.min)


@pytest.mark.parametrize("columns", ["lists", "numpy"])
def test_structured(benchmark, columns):
    rng = random.Random(1)
    schema = "wgmma.mma_async"
    rows = 200_000
    facts = {fact: [rng.choice(BOOK.domain(schema, fact)) for _ in range(rows)] for fact in BOOK.schemas[schema].fields}
    if columns == "numpy":
        numpy = pytest.importorskip("numpy", reason="numpy is not installed")
        facts = {name: numpy.array(values) for name, values in facts.items()}
    found = benchmark.pedantic(lambda: tileproof.legal_many(schema, facts), rounds=3)
    assert len(found) == rows
    benchmark.extra_info["configurations a second"] = round(rows / benchmark.stats.stats.min)


def test_a_repair(benchmark):
    text = "wgmma.mma_async.sync.aligned.m64n100k16.f32.f16.f16 {f0}, l0, l1, p0, 1, 1, 0, 0;"
    repair = benchmark(tileproof.repair, text, target="sm_90a")
    assert repair.text
