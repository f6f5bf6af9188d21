"""What people call the barriers and the warps of a kernel, by what a run shows them doing.

A ring is the barriers that one operation goes through, stage by stage. Its barriers are *full* where copies complete,
or where threads begin by waiting for a phase that others complete; they are *empty* where threads begin by going on:
the stages are free at first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from tileproof.protocol.diagnosis.scene import Scene
from tileproof.protocol.trace import TraceStep
from tileproof.protocol.warps import BarrierKey
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import state


def barrier_names(scene: Scene) -> dict[BarrierKey, str]:
    """The names of the barriers that are stages of rings."""
    found: dict[BarrierKey, str] = {}
    for key in sorted(scene.machine.barriers):
        if key in found:
            continue
        ring = scene.stages(key)
        side = _side(scene, ring)
        if side is None or len(ring) == 1:
            continue
        name = _buffer(scene, ring) or _buffer(scene, scene.partner(ring)) or _memory(scene, key)
        for i, one in enumerate(ring):
            facts = {"stage": i, "ring": name, "stages": len(ring)}
            found.setdefault(one, state(scene.machine.book, "PR191", side, **facts).message)
    return found


def _side(scene: Scene, ring: Sequence[BarrierKey]) -> str | None:
    """Whether the barriers of a ring say that stages are full, or empty; None where the run does not show it."""
    events = [event for key in ring for event in scene.by_key[key]]
    if any(event.kind == "copy" for event in events):
        return "full"
    if any(event.kind == "copy" for key in scene.partner(ring) for event in scene.by_key[key]):
        return "empty"
    passes = [event for event in events if event.kind == "pass"]
    if passes:
        return "empty" if any(event.phase == 0 for event in passes) else "full"
    return "full" if any(key in ring for _, _, key in scene.waiting) else None


def _buffer(scene: Scene, ring: Sequence[BarrierKey]) -> str:
    """The memory that the copies of a ring fill, where the IR has a name for it."""
    names = {event.buffer for key in ring for event in scene.by_key[key] if event.buffer}
    named = sorted(name for name in names if not name.startswith("%"))
    return named[0] if named else ""


def _memory(scene: Scene, key: BarrierKey) -> str:
    """The memory that a barrier lies in."""
    return scene.machine.allocations.by_serial[key[1]].field_at(key[2])


def warps(book: Rulebook, history: Iterable[TraceStep], cta: int, some: Sequence[int]) -> str:
    """Warps by what they do: ``TMA warp 4``, ``epilogue warps 0-3``."""
    roles: dict[int, set[str]] = defaultdict(set)
    known = book.enums["warp_work"].by_spelling
    for one in history:
        if one.cta == cta and (role := known.get(one.step)) is not None:
            for warp in one.warps:
                roles[warp].add(role[1:])
    order = [member[1:] for member in book.enums["warp_work"].members]
    mine = set().union(*(roles[warp] for warp in some)) if some else set()
    role = next((one for one in order if one in mine), "some")
    return state(book, "PR191", role, warps=_ranges(some)).message


def _ranges(numbers: Sequence[int]) -> str:
    """``warp 4``, ``warps 0-3, 8``."""
    runs: list[list[int]] = []
    for one in sorted(numbers):
        if runs and runs[-1][-1] == one - 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    text = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"warp {text}" if len(numbers) == 1 else f"warps {text}"


__all__ = ["barrier_names", "warps"]
