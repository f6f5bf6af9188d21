"""`legal` judges instructions that differ in the numbers of their registers once, and none for another."""

from __future__ import annotations

import gc
import json
import random
import re
import weakref

import pytest

import tileproof
from conformance.generator import samples
from tileproof.base import spelling
from tileproof.checking import instruction as verb
from tileproof.checking.instruction import Verdict, context, legal
from tileproof.ptx import opcode, parse_facts
from tileproof.ptx import text as cutting
from tileproof.rulebase import findings, placeholder

BOOK = tileproof.load_rules()
RULES = BOOK.under("ptx")
WHERE = {target: context(BOOK, target) for target in ("sm_90a", "sm_100a")}


def alone(text: str, target: str) -> Verdict:
    """The verdict on an instruction that nothing was asked before."""
    return verb._verdict(RULES, text, *WHERE[target].items())[0]


def forget() -> None:
    verb._verdicts.cache_clear()
    verb._lowered.cache_clear()


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
    [(150, 2, slice(0, None, 5)), pytest.param(700, 15, slice(None), marks=pytest.mark.sweep)],
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


def lines(count: int) -> list[str]:
    """Requests of all kinds, with malformed ones between them; each twice, with other registers."""
    found = []
    for sample in samples(
        BOOK, 4, count, [("sm_90a", (9, 5)), ("sm_100a", (8, 6)), ("sm_80", (9, 5))], 2, slice(1, None, 6)
    ):
        other = re.sub(r"(?<![\w%.])([rfdlhpq])(\d+)\b", lambda one: f"{one[1]}{int(one[2]) + 3}", sample.text)
        for text in (sample.text, other, sample.text.replace(".sync", ".sinc"), sample.text.partition(" ")[0]):
            found.append(json.dumps({"target": sample.target, "instr": text, "ptx": sample.ptx}) + "\n")
    bad = [
        "{",
        " [1]\n",
        '{"target": "sm_9", "instr": ";"}\n',
        '{"target": 1}',
        "x\n",
        '{"instr": "", "target": "sm_80"} y\n',
    ]
    for i, line in enumerate(bad):
        found.insert(7 * i, line)
    return found


def one_by_one(asked: list[str]) -> list[str]:
    """The answers, each found with nothing known but the rules."""
    answers = []
    for line in asked:
        forget()
        for module in (parse_facts, opcode, cutting, spelling):
            for function in vars(module).values():
                if hasattr(function, "cache_clear") and function.__name__ not in ("_plans", "_beginnings"):
                    function.cache_clear()
        answers.append(verb.answer(RULES, line))
    return answers


def test_a_stream_has_the_answers_of_its_lines():
    asked = lines(60)
    alone = one_by_one(asked)
    forget()
    assert list(verb.answers(RULES, asked)) == alone
    assert list(verb.answers(RULES, reversed(asked))) == alone[::-1]


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch):
    asked = lines(60)
    forget()
    unbounded = list(verb.answers(RULES, asked))
    monkeypatch.setattr(verb, "_MOST", 5)
    forget()
    assert list(verb.answers(RULES, asked)) == unbounded
    for target, ptx in (("sm_90a", (9, 5)), ("sm_100a", (8, 6)), ("sm_80", (9, 5))):
        known = verb._verdicts(RULES, *context(BOOK, target, ptx).items())
        assert known.by_text
        assert max(map(len, (known.by_text, known.first, known.alike))) <= 5


@pytest.mark.parametrize("module", [verb, parse_facts, opcode, cutting, spelling, findings, placeholder])
def test_no_cache_grows_for_ever(module):
    caches = [one for one in vars(module).values() if hasattr(one, "cache_parameters")]
    assert all(one.cache_parameters()["maxsize"] is not None for one in caches)


def test_an_opcode_that_is_forgotten_is_gone():
    """A stream is answered without the garbage collector: faults must not keep what they are faults of."""
    gc.disable()
    try:
        read = opcode.read_opcode(BOOK, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32.f99.aligned")
        assert {fault.code for fault in read.faults} >= {"PT003", "PT005"}
        left = weakref.ref(read)
        del read
        opcode.read_opcode.cache_clear()
        assert left() is None
    finally:
        gc.enable()
