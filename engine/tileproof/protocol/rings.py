"""The rings that the barriers of a kernel form, operation by operation: what one run shows to who reads the kernel."""

from __future__ import annotations

from collections.abc import Sequence

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


def barriers_at(
    book: Rulebook, operations: Sequence[Operation], aliases: dict[str, Alias]
) -> dict[int, tuple[str, ...]]:
    """The barriers of rings that each operation came to in a run, by the offset at which it stands.

    Of a kernel that may be launched in several ways the first is run. One with branches that cannot be followed is left
    out.

    Args:
        operations: of the module, at the top level.
    """
    found: dict[int, tuple[str, ...]] = {}
    maps = kernel_arguments(book, operations, aliases)
    for kernel in kernels(operations):
        inside = list(kernel.walk())
        step = effects(book, aliases, any(of_wgmma(book, one) for one in inside))
        try:
            compiled = compile_kernel(kernel, aliases, step, book)
        except Unstructured:
            continue
        if not any(one.kind == "effect" for one in compiled.code):
            continue
        shape = launch(book, kernel, inside, operations, aliases).shapes[0]
        module = Surroundings(lambda text: resolve(text, aliases), boxes(kernel, compiled, maps))
        study = Study(book, kernel, compiled, shape, module, dict(ACTIONS), explain=False, thorough=False)
        recorded, turns = Recorded(), shape.extent
        size = Extents(turns, turns), turns, study.limit("long_tiles")
        scene = Scene(study.run(*size, program=compiled, recorded=recorded).machine, (), recorded)
        names = barrier_names(scene)
        for one in inside:
            keys = scene.targets.get(id(one), {})
            if mine := tuple(dict.fromkeys(names[key] for key in sorted(keys) if key in names)):
                found[one.span.start] = mine
    return found
