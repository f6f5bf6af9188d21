"""`legal` judges instructions that differ in the numbers of their registers once, and none for another."""

from __future__ import annotations

import random
import re

import pytest

import tileproof
from conformance.generator import samples
from tileproof.checking import instruction as verb
from tileproof.checking.instruction import Verdict, context, legal

BOOK = tileproof.load_rules()
RULES = BOOK.under("ptx")
WHERE = {target: context(BOOK, target) for target in ("sm_90a", "sm_100a")}


def alone(text: str, target: str) -> Verdict:
    """The verdict on an instruction that nothing was asked before."""
    return verb._verdict(RULES, text, *WHERE[target].items())[0]


def forget() -> None:
    verb._judged.cache_clear()
    verb._verdicts.cache_clear()


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The instructions that are judged, in order, and nothing known at first."""
    texts: list[str] = []
    real = verb._verdict

    def verdict(ruleset, text: str, *where):
        texts.append(text)
        return real(ruleset, text, *where)

    forget()
    monkeypatch.setattr(verb, "_verdict", verdict)
    return texts


@pytest.mark.parametrize(
    ("count", "pool", "share"),
    [(150, 2, slice(0, None, 5)), pytest.param(1500, 30, slice(None), marks=pytest.mark.sweep)],
)
@pytest.mark.parametrize("target", WHERE)
def test_answers_are_those_that_each_has_alone(target: str, count: int, pool: int, share: slice):
    forget()
    rng = random.Random(target)
    for sample in samples(BOOK, 2, count, [(target, (9, 5))], pool, share):
        for _ in range(2):
            text = re.sub(r"(?<![\w%.])([rfdlhpq])\d+\b", lambda one: f"{one[1]}{rng.randrange(40)}", sample.text)
            assert legal(RULES, text, WHERE[target]) == alone(text, target), text


MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
LOAD = "tcgen05.ld.sync.aligned.32x32b.x4.b32 "


def test_other_registers_are_no_other_instruction(judged: list[str]):
    for first in (0, 4, 17):
        d = ", ".join(f"f{first + i}" for i in range(4))
        text = f"{MMA} {{{d}}}, {{r{first},r1,r2,r3}}, {{r{first + 4},r5}}, {{{d}}};"
        assert legal(RULES, text, WHERE["sm_90a"]).legal
    assert len(judged) == 1


@pytest.mark.parametrize(
    ("right", "other"),
    [
        (f"{LOAD}{{r1,r2,r3,r4}}, [r0];", f"{LOAD}{{r1,r2,r3,r3}}, [r0];"),
        (f"{LOAD}{{r1,r2,r3,r4}}, [r0];", f"{LOAD}{{r1,r2,\r r3,r3}}, [r0];"),
        (f"{LOAD}{{r1,r2,r3,/**/r4}}, [r0];", f"{LOAD}{{r1,r2,r3,/**/r3}}, [r0];"),
        (f"{LOAD}{{r1,r2,r3,r4}}, [r0];", f"{LOAD}{{4r}}, [r0];"),
        (f"{LOAD}{{r1,r2,r3,r4}}, [r0];", f"{LOAD}{{\t4r}}, [r0];"),
        (f"{LOAD}{{r1,r2,r3,r4}}, [r0];", f"{LOAD}{{r1,r2,r3,f4}}, [f0];"),
        (f"{LOAD}{{r1,r2,r3,r4}}, [r0];", f"{LOAD}{{r1,r2,r3,r4}}, [r];"),
        (f"{LOAD}{{r1,r2,r3,r4}}, [r0+4];", f"{LOAD}{{r1,r2,r3,r4}}, [r0+5];"),
        (f"@p1 {LOAD}{{r1,r2,r3,r4}}, [r0];", f"@r1 {LOAD}{{r1,r2,r3,r4}}, [r0];"),
    ],
)
def test_what_rules_read_makes_another_instruction(judged: list[str], right: str, other: str):
    where = WHERE["sm_100a"]
    legal(RULES, right, where)
    assert legal(RULES, other, where) == alone(other, "sm_100a")
    assert other in judged


def test_faults_name_the_registers_and_the_column_of_their_own_text(judged: list[str]):
    where = WHERE["sm_90a"]
    for text in ("@r7 wgmma.fence.sync.aligned;", "@r19 wgmma.fence.sync.aligned;"):
        assert legal(RULES, text, where) == alone(text, "sm_90a")
        assert text[1:4].strip() in legal(RULES, text, where).message
