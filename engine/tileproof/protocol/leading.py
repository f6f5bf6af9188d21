"""Numbers with which threads come to steps that no run has executed, found by the conditions on the way there.

Where one integer alone decides a branch, numbers are tried until threads go there (``entrances.py``). Several may have
to go together: a loop that a compiler unrolled has a tail where the number of its turns leaves a remainder of 3, and
that is a quotient of a length. Here Z3 is asked for numbers that fulfil all conditions on the way (``conditions.py``),
as many of them as can be what runs suppose anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tileproof.base.patterns import regex
from tileproof.base.records import replace
from tileproof.evaluate.integers import Integer
from tileproof.protocol.conditions import Conditions
from tileproof.protocol.explore import chain_of, guards_of, wanted_ways
from tileproof.protocol.faults import ProtocolFault
from tileproof.protocol.folding import Extents
from tileproof.protocol.lengths import of_its_steps
from tileproof.protocol.program import Instruction
from tileproof.protocol.runs import Run
from tileproof.protocol.study import FEW, Study

_PARTS = ((1, 1), (3, 1), (1, 2), (3, 2), (3, 4), (5, 4), (7, 4))  # of what a run supposes, as fractions
_THREAD = regex(r"sreg\.tid\.([xyz])$")
_TIMES = 8  # more is no number for a run


def led_runs(study: Study, long: Run, faults: list[ProtocolFault]) -> None:
    """Run with numbers that fulfil the conditions on the way to steps that are missing."""
    code, guards, tile = study.compiled.code, guards_of(study.compiled.code), study.limit("tile_elements")
    usual = long.machine.shape.extents
    budget, seconds = study.share("wide", long.machine), study.limit("led_time") / 1000
    tried: set[tuple[int, bool]] = set()
    few = Extents(FEW, FEW, usual.counted, usual.given, usual.units)
    while budget > 0 and len(tried) < study.limit("led_ways"):
        wanted = next((one for one in wanted_ways(code, guards, study.reached).items() if one not in tried), None)
        if wanted is None:
            return
        tried.add(wanted)
        numbers = numbers_for(code, *wanted, study.shape.block, partial(few.usual, tile=tile), seconds)
        size = replace(few, given=tuple(sorted({**dict(few.given), **numbers}.items())))
        if numbers and not any(ran.recipe.extents.given == size.given for ran in study.ran):
            budget -= of_its_steps(study, faults, partial(study.run, size, study.shape.extent, FEW, budget=budget))


def numbers_for(
    code: Sequence[Instruction],
    place: int,
    way: bool,
    block: tuple[int, int, int],
    usual: Callable[[int], int],
    seconds: float,
) -> dict[int, int]:
    """The integers, by term, with which threads may go a way of a branch; none where nothing is known of them.

    Args:
        block: the threads of a CTA along x, y and z.
        usual: the integer of a term that runs suppose.
        seconds: the budget of one question.
    """
    conditions = Conditions(code, guards_of(code))
    chain = (*chain_of(code, conditions.guards, place), (place, way))
    said = [one for one in (conditions.condition(*each) for each in chain) if one is not None]
    if not conditions.terms or conditions.condition(place, way) is None:
        return {}
    from tileproof.evaluate.solver import numbers  # noqa: PLC0415

    wanted: dict[Integer, Sequence[int]] = {}
    for name, one in conditions.places.items():
        if (thread := _THREAD.search(name)) is not None:
            said.append(Integer("below", (one, Integer("number", value=block["xyz".index(thread[1])]))))
        else:
            wanted[one] = (0,)
    for one, term in conditions.terms.items():
        number = usual(term)
        near = [number * times // parts for times, parts in _PARTS]
        wanted[one] = (*near, number + 1, number - 1, 1, 0, _TIMES * number)
    found = numbers(conditions.bounded(said), wanted, seconds)
    return {} if found is None else {term: found[one] for one, term in conditions.terms.items()}


__all__ = ["led_runs", "numbers_for"]
