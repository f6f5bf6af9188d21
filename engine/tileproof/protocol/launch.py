"""What a kernel is launched with, as far as the text says it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tileproof.evaluate import hardware
from tileproof.mlir.ir import Operation
from tileproof.protocol.budget import limit
from tileproof.protocol.folding import Extents, Shape
from tileproof.protocol.steps import words
from tileproof.rulebase.book import Rulebook

_DIMENSIONS = re.compile(r"\d+")


def launch(book: Rulebook, kernel: Operation, inside: Sequence[Operation]) -> Shape:
    """The launch configuration: what the kernel declares, one warpgroup by default.

    Args:
        inside: the operations of the kernel, whose allocations give the depth of the deepest ring.
    """
    block = _three(kernel, "nvvm.reqntid", (128, 1, 1))
    cluster = _three(kernel, "nvvm.cluster_dim", (1, 1, 1))
    facts = kernel.attribute("cutlass_launch_facts")
    text = facts.text if facts is not None else words(kernel)
    if (found := re.search(r"cluster_dim\s*=\s*array<i64:\s*([^>]*)>", text)) is not None:
        numbers = [int(n) for n in _DIMENSIONS.findall(found[1])]
        if len(numbers) == 3:
            cluster = (numbers[0], numbers[1], numbers[2])
    depth = 2
    for operation in inside:
        fields = operation.attribute("smem.struct_fields")
        if fields is not None:
            for size in re.findall(r'"[^":]*mbar[^":]*:(\d+):\d+"|"[^":]*pipeline[^":]*:(\d+):\d+"', fields.text):
                depth = max(depth, min(int(size[0] or size[1]) // 8, 16))
    rounds, more = limit(book, "ring_rounds"), limit(book, "ring_turns")
    turns = max(rounds * depth + more, limit(book, "least_turns"))
    return Shape(block, cluster, turns, Extents(turns, turns), hardware.limit(book, "warp_threads"))


def _three(kernel: Operation, name: str, default: tuple[int, int, int]) -> tuple[int, int, int]:
    attribute = kernel.attribute(name)
    if attribute is None:
        return default
    numbers = [int(n) for n in _DIMENSIONS.findall(attribute.text.partition(":")[2])]
    return (numbers[0], numbers[1], numbers[2]) if len(numbers) == 3 and all(numbers) else default
