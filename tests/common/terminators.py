"""The terminators of structured operations that a custom form does not print."""

from __future__ import annotations

from dataclasses import replace

from tileproof.mlir.ir import Block, Module, Operation, Region

# The custom forms of these operations omit a terminator without operands; the generic form spells it out.
IMPLICIT_TERMINATORS = {"scf.if": "scf.yield", "scf.for": "scf.yield", "scf.while": "scf.yield"}


def with_terminators(module: Module) -> Module:
    """The module with every implicit terminator made explicit, as the generic form has it."""
    items = tuple(_complete(item) if isinstance(item, Operation) else item for item in module.items)
    return module.with_items(items)


def _complete(operation: Operation) -> Operation:
    regions = tuple(
        Region(tuple(replace(block, operations=tuple(map(_complete, block.operations))) for block in region.blocks))
        for region in operation.regions
    )
    terminator = IMPLICIT_TERMINATORS.get(operation.name)
    if terminator is not None and not operation.generic:
        regions = tuple(Region((*region.blocks[:-1], _terminated(region.blocks[-1], terminator))) for region in regions)
    return replace(operation, regions=regions)


def _terminated(block: Block, terminator: str) -> Block:
    if block.operations and block.operations[-1].name in (terminator, "scf.condition"):
        return block
    made = Operation(terminator, (), (), (), (), (), (), (), False, (terminator,))
    return replace(block, operations=(*block.operations, made))
