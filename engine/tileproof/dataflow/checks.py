"""All checks of the functions of a module. Those of instructions that it has not are not even loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from tileproof.base.diagnostic import Diagnostic
from tileproof.base.source import Source
from tileproof.dataflow.findings import Reporter
from tileproof.dialects.configuration import Facts
from tileproof.ptx.graph import Graphs
from tileproof.rulebase.book import Ruleset

_MULTIPLIES = ("wgmma.mma", "mma.", "wmma.mma")  # how opcodes begin of instructions with accumulators in registers


def check_threads(
    ruleset: Ruleset,
    source: Source,
    graphs: Graphs,
    judge: Callable[[Facts], Iterable[Diagnostic]] | None = None,
) -> Iterator[Diagnostic]:
    """What is wrong on the paths of a thread through each function, each finding once.

    Args:
        judge: what the rules say of facts; without it the operands of MMAs are not looked at.
    """
    book, module = ruleset.book, graphs.module
    found: dict[Diagnostic, None] = {}
    for function in module.functions:
        if function.body is None or function.kind != "entry":
            continue  # a device function is a part of the kernels that call it
        parts = graphs.parts(function)
        opcodes = {one.opcode for part in parts for one in module.instructions[part.first : part.last]}

        def has(*beginnings: str, among: set[str] = opcodes) -> bool:
            return any(one.startswith(beginnings) for one in among)

        if not has("wgmma.", "tcgen05.", "cp.async", "cp.reduce", *_MULTIPLIES):
            continue
        from tileproof.ptx.values import Values  # noqa: PLC0415

        graph = graphs.whole(function)
        report = Reporter(book, source, graph.module)
        values = Values(book, graph)
        if has("wgmma.mma"):
            from tileproof.dataflow.wgmma import check_wgmma  # noqa: PLC0415

            found.update(dict.fromkeys(check_wgmma(report, graph)))
        if has("cp.async", "cp.reduce"):
            from tileproof.dataflow.groups import check_async_copies, check_bulk_stores  # noqa: PLC0415

            found.update(dict.fromkeys(check_async_copies(report, graph, values)))
            found.update(dict.fromkeys(check_bulk_stores(report, graph, values)))
        if has("tcgen05."):
            from tileproof.dataflow.groups import check_tensor_cores  # noqa: PLC0415
            from tileproof.dataflow.tensor_memory import check_allocations  # noqa: PLC0415

            found.update(dict.fromkeys(check_tensor_cores(report, graph, values)))
            found.update(dict.fromkeys(check_allocations(report, graph, values)))
        if has(*_MULTIPLIES):
            from tileproof.dataflow.accumulators import check_accumulators  # noqa: PLC0415

            found.update(dict.fromkeys(check_accumulators(report, graph, values, _MULTIPLIES)))
        if judge is not None and has("tcgen05.mma", "wgmma.mma"):
            from tileproof.dataflow.operands import operand_facts  # noqa: PLC0415
            from tileproof.dataflow.tiles import tile_facts  # noqa: PLC0415

            for facts in chain(operand_facts(ruleset, graph, values), tile_facts(ruleset, graph, values)):
                found.update(dict.fromkeys(judge(facts)))
    yield from found
