"""No expression ends in anything but a value or one sentence: every function, given whatever arguments."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tileproof.calculate.evaluate import FUNCTIONS
from tileproof.calculate.text import ExpressionError, value_of

ARGUMENTS = (
    """
0|1|-1|7|()|(())|(4)|(4,8)|(4,8):(8,1)|((2,2),8):((1,4),16)|8:1|8:0|0:1|(0,3):(1,2)|(4,-8):(8,1)|(4,8):(-1,4)|?:1
(?,?{div=8}):(1,?)|?|?{i64 div=16}|(?{div=0}):1|_|(_,3)|(3,_)|S<3,4,3>|S<0,4,3>|S<3,4,-3>|S<63,63,63>|""|0x10|-0
S<3,3,3> o 0 o (8,64):(64,1)|S<3,4,3> o ? o (64,8):(1,64)|[2:1;4:1]|[_;4:1]|1@0|(1@0,1@1)|(4,8):(1@0,1@1)
(4,8):(1@1@0,2@1)|(0,0) o (4,8):(1@0,1@1)|9223372036854775807|1000000:1|(1024,1024,1024):(1,1024,1048576)|1/2
(9223372036854775807,9223372036854775807):(1,9223372036854775807)|((((4))))|(4,5):(6,1)|(3,5,7):(35,7,1)|(2,2):(1,1)
(2,(2,(2,(2,2)))):(1,(2,(4,(8,16))))|(4:1,8:2)|(4,8):(0,0)|1:0|(1,1):(0,0)|(6,10):(1,?{div=6})
""".strip()
    .replace("\n", "|")
    .split("|")
)


def expressions(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    names = list(FUNCTIONS)
    found = []
    for _ in range(count):
        name = rng.choice(names)
        arguments = [rng.choice(ARGUMENTS) for _ in FUNCTIONS[name].signature.split(",")][rng.random() < 0.2 :]
        if arguments and rng.random() < 0.15:
            arguments[0] = f"{rng.choice(names)}({rng.choice(ARGUMENTS)}, {rng.choice(ARGUMENTS)})"
        found.append(f"{name}({', '.join(arguments)})")
    return found


@pytest.mark.parametrize("count", [4_000, pytest.param(20_000, marks=pytest.mark.sweep)])
def test_every_expression_ends_in_a_value_or_one_sentence(count: int):
    answered: Counter[str] = Counter()
    for expression in expressions(seed=1, count=count):
        try:
            value_of(expression)
        except ExpressionError as refused:
            assert str(refused).strip(), expression
            assert "\n" not in str(refused), expression
        else:
            answered[expression.partition("(")[0]] += 1
    assert len(answered) > 0.8 * len(FUNCTIONS)
