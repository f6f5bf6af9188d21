"""Hazards that rest on how many threads take part, which an integer that the kernel gets says.

``if (threadIdx.x < n) list[threadIdx.x] = ...`` writes behind the list where ``n`` is larger than the list is long, and
what lies there may be read meanwhile. The text does not say how long the list is, and no caller gives such a number. It
shows in a run with a smaller one: the same steps are executed, loops around them go around as often, and they have no
byte in common.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tileproof.base.records import replace
from tileproof.mlir.ir import Operation
from tileproof.protocol.deciding import deciding, in_order
from tileproof.protocol.explore import around, guards_of
from tileproof.protocol.faults import HAZARDS, ProtocolFault
from tileproof.protocol.memory import Span
from tileproof.protocol.runs import Recipe, Run, even, key_of
from tileproof.protocol.study import Study
from tileproof.protocol.terms import PLACES

_FINDINGS = 4  # that are looked at
_INTEGERS = 4  # that may bound the threads of one
_SHARE = 4  # of a number: the next smaller one
_OFTEN = 8  # turns of a loop, more than the stages of most rings


def of_bounded_threads(study: Study, long: Run, faults: list[ProtocolFault]) -> None:
    """State hazards as doubts that are none where fewer threads take part."""
    noted = study.noted()
    found: list[tuple[ProtocolFault, int, int]] = []
    for fault in [one for one in faults if one.code in HAZARDS and one.trace][:_FINDINGS]:
        ran = next((one for one in study.ran if key_of(fault) in one.places and not one.recipe.forced), None)
        numbers = _bound(study, fault, ran.recipe, study.share("trial", long.machine)) if ran is not None else None
        if numbers is not None:
            found.append((fault, *numbers))
    study.forget(noted)
    for fault, wrong, right in found:
        study.doubt("bounded_threads", fault.operation, fault, code=fault.code, wrong=wrong, right=right)
        faults.remove(fault)


def _bound(study: Study, fault: ProtocolFault, recipe: Recipe, budget: int) -> tuple[int, int] | None:
    """An integer with which a run has a hazard, and a smaller one with which its accesses do not meet."""
    code, guards = study.compiled.code, guards_of(study.compiled.code)
    operations = [fault.operation, *(other for _, other in fault.trace)]
    places = [at for at, one in enumerate(code) if any(one.operation is other for other in operations)]
    behind = sorted({guard for at in places for guard in around(guards, at)})
    uneven = [at for at in behind if code[at].kind == "branch" and at in study.reached.uneven]
    loops = [at for at in behind if code[at].kind != "branch"]
    terms = deciding(code, uneven)[0] - PLACES if uneven else frozenset()
    turns: Mapping[int, int] = {}
    if terms and loops:
        turns = study.again(recipe).machine.coverage.lengths
    for term in in_order(code, terms)[:_INTEGERS]:
        usual = recipe.extents.usual(term, study.limit("tile_elements"))
        number = usual // _SHARE
        while number:
            size = replace(recipe.extents, given=tuple({**dict(recipe.extents.given), term: number}.items()))
            spans: dict[int, set[Span]] = {id(one): set() for one in operations}
            one = study.run(size, recipe.turns, recipe.tiles, budget=budget, spans=spans)
            lengths = one.machine.coverage.lengths
            as_often = all(lengths.get(at, 0) >= min(turns.get(at, 0), _OFTEN) for at in loops)
            if not (even(one) and as_often and all(spans.values())):
                break
            if key_of(fault) not in one.places() and _apart(spans[id(fault.operation)], spans, operations[1:]):
                return usual, number
            number //= _SHARE
    return None


def _apart(mine: Collection[Span], spans: Mapping[int, Collection[Span]], others: Sequence[Operation]) -> bool:
    """Whether an operation touched no byte that others did."""
    return not any(
        where[:2] == place[:2] and where[2] < place[3] and place[2] < where[3]
        for other in others
        for place in spans[id(other)]
        for where in mine
    )


__all__ = ["of_bounded_threads"]
