"""The rings that the barriers of a kernel form, operation by operation: what one run shows, for who reads the kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tileproof.base.records import dataclass
from tileproof.dialects.operands import resolve
from tileproof.memory.tensor_maps import kernel_arguments
from tileproof.mlir.ir import Alias, Operation
from tileproof.protocol.actions import ACTIONS
from tileproof.protocol.diagnosis.names import barrier_names
from tileproof.protocol.diagnosis.scene import Scene
from tileproof.protocol.folding import Extents
from tileproof.protocol.launch import launch
from tileproof.protocol.ledger import Recorded
from tileproof.protocol.program import compile_kernel
from tileproof.protocol.state import Surroundings
from tileproof.protocol.steps import effects, of_wgmma
from tileproof.protocol.structuring import Unstructured
from tileproof.protocol.study import Study
from tileproof.protocol.verify import boxes, kernels
from tileproof.rulebase.book import Rulebook


@dataclass(frozen=True, slots=True)
class AtBarriers:
    """What an operation did at mbarriers in a run.

    Attributes:
        names: of the barriers of rings, in their order; none where a barrier is in no ring.
        barriers: how many barriers the operation named.
    """

    names: tuple[str, ...]
    barriers: int


def at_barriers(
    book: Rulebook, operations: Sequence[Operation], aliases: Mapping[str, Alias]
) -> dict[int, AtBarriers]:
    """What each operation that names mbarriers did, by the offset at which it stands.

    Args:
        operations: of the module, at the top level.
    """
    found: dict[int, AtBarriers] = {}
    known = dict(aliases)
    maps = kernel_arguments(book, operations, known)
    for kernel in kernels(operations):
        inside = list(kernel.walk())
        try:
            compiled = compile_kernel(
                kernel, known, effects(book, known, any(of_wgmma(book, one) for one in inside)), book
            )
        except Unstructured:
            continue
        if not any(one.kind == "effect" for one in compiled.code):
            continue
        shape = launch(book, kernel, inside, operations, known).shapes[0]
        module = Surroundings(lambda text: resolve(text, known), boxes(kernel, compiled, maps))
        study = Study(book, kernel, compiled, shape, module, dict(ACTIONS), False, False)
        recorded = Recorded()
        turns = shape.extent
        run = study.run(
            Extents(turns, turns), turns, study.limit("long_tiles"), program=compiled, recorded=recorded
        )
        scene = Scene(run.machine, (), recorded)
        names = barrier_names(scene)
        at = {id(one): one for one in inside}
        for number, keys in scene.targets.items():
            mine = tuple(dict.fromkeys(names[key] for key in sorted(keys) if key in names))
            if number in at:
                found[at[number].span.start] = AtBarriers(mine, len(keys))
    return found
