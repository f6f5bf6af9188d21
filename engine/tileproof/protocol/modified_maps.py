"""A run in which each tile has a tensor map of its own.

A grouped GEMM modifies its tensor maps when the next tile belongs to another group, which the numbers of a run never
come to: it has all its tiles in one group. Each group may be as small as a tile. So kernels that modify a tensor map
where something supposed or unknown decides on it, in a loop, are run once with that taken each time around, for what is
wrong with the maps alone.
"""

from __future__ import annotations

from tileproof.protocol.explore import chain_of, guards_of
from tileproof.protocol.faults import TENSOR_MAPS, ProtocolFault
from tileproof.protocol.runs import Run, each_once, key_of
from tileproof.protocol.study import Study


def of_small_groups(study: Study, long: Run, faults: list[ProtocolFault]) -> None:
    """Add what is wrong with tensor maps that are modified in each turn of a loop."""
    machine = long.machine
    if not (machine.maps.modified and machine.coverage.complete):
        return
    forced = _small_groups(study, long)
    if not forced:
        return
    shape, noted = machine.shape, study.noted()
    run = study.run(shape.extents, shape.extent, machine.tiles, forced, study.reached.agreed(forced))
    study.forget(noted)  # it is made for the maps alone
    if run.machine.taint.released or not run.machine.coverage.complete:
        return
    known = {key_of(fault) for fault in faults}
    faults += [one for one in each_once(run.machine.faults) if one.code in TENSOR_MAPS and key_of(one) not in known]


def _small_groups(study: Study, long: Run) -> dict[int, bool]:
    """Which way leads to the modifications, at the branches inside a loop that nothing known decides."""
    code, doubtful = study.compiled.code, long.machine.coverage.doubtful
    steps = {one[1:] for one in study.book.enums["map_step"].members}
    guards = guards_of(code)
    found: dict[int, bool] = {}
    for place, one in enumerate(code):
        if one.effect is None or one.effect.name not in steps:
            continue
        looped = False
        for at, way in chain_of(code, guards, place):
            if code[at].kind != "branch":
                looped = True
            elif looped and at in doubtful:
                found[at] = way
    return found


__all__ = ["of_small_groups"]
