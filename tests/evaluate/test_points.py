"""A set of configurations as a formula: it holds at these and at no other."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
import z3

from tileproof.evaluate.solver import Question, differ
from tileproof.evaluate.z3 import Encoder, points
from tileproof.rulebase.load import load, shipped_files

BOOK = load(shipped_files())
ENCODER = Encoder(BOOK.under("ptx"), "wgmma.mma_async")
DOMAINS = {"M": range(3), "N": range(8, 16, 2), "K": (5, 6, 9, 40)}
EVERYWHERE = list(product(*DOMAINS.values()))
COUNTS = {name: len(values) for name, values in DOMAINS.items()}


def held(members: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    formula = points(ENCODER, COUNTS, members)
    variables = [ENCODER.variables[name] for name in DOMAINS]

    def at(point: tuple[int, ...]) -> bool:
        values = zip(variables, map(z3.IntVal, point), strict=True)
        return z3.is_true(z3.simplify(z3.substitute(formula, *values)))

    return [point for point in EVERYWHERE if at(point)]


@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 0.8, 0.98])
@pytest.mark.parametrize("seed", range(5))
def test_any_set_of_points_is_its_formula(share: float, seed: int):
    chance = Random(seed)
    members = [point for point in EVERYWHERE if chance.random() < share]
    chance.shuffle(members)
    assert held(members) == sorted(members)


def test_no_point_all_of_them_and_planes():
    assert held([]) == []
    assert held(EVERYWHERE) == EVERYWHERE
    for i, values in enumerate(DOMAINS.values()):
        plane = [point for point in EVERYWHERE if point[i] == values[1]]
        assert held(plane) == plane


def test_a_point_that_is_named_twice_stands_for_no_other():
    without = [point for point in EVERYWHERE if point != (2, 14, 40)]
    assert held([*without, without[0]]) == without


@pytest.mark.parametrize("linear", [False, True])
def test_a_question_about_some_facts_has_these_in_its_answer(linear: bool):
    question = Question(ENCODER, 10, ("N", "M"), linear)
    apart = differ(ENCODER.variables["N"] > 250, ENCODER.variables["N"] * ENCODER.variables["N"] > 249 * 249)
    solved = question.ask(apart)
    assert solved.model.keys() == {"M", "N"}
    assert solved.model["N"] == 250
