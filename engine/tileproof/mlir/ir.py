"""MLIR modules as frozen values: operations, blocks, regions, and the position of each in the text.

Operations are read structurally. What every operation has (results, name, operands, attributes, regions, the types it
mentions) is kept apart; what only the operation itself understands (the words of its custom syntax) stays text. So an
operation of an unknown dialect is kept like any other.

Values compare by content and ignore places, so that ``parse(print(parse(text))) == parse(text)`` is a law.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.base.records import dataclass, field, replace
from tileproof.base.source import Source, Span

_NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class TypeUse:
    """A type as written at one place, an alias unresolved."""

    text: str
    span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Attribute:
    """``name = text``, or a unit attribute with an empty text."""

    name: str
    text: str
    span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Result:
    """``%name`` or ``%name:count`` at the left of an operation."""

    name: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a block. Custom forms such as ``scf.for`` leave its type to the operation: then it is None."""

    name: str
    type: TypeUse | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Operations in order. A region's entry block may have no label."""

    label: str | None
    arguments: tuple[Argument, ...]
    operations: tuple[Operation, ...]
    header: str = ""


@dataclass(frozen=True, slots=True)
class Region:
    """Blocks in order; the first one is the entry."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation in custom or generic form.

    Attributes:
        operands: every use of an SSA value in order, ``%x`` or ``%x#1``; initial values of loop arguments included.
        inputs, outputs: the types of the signature. A custom form that prints one list (``: T``) has it in ``inputs``.
        groups: how many of ``inputs`` belong together: 1, or the length of a bracketed list of operands.
        pieces: the text around the regions: ``len(regions) + 1`` of them, whitespace and comments reduced to one space.
    """

    name: str
    results: tuple[Result, ...]
    operands: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    inputs: tuple[TypeUse, ...]
    outputs: tuple[TypeUse, ...]
    regions: tuple[Region, ...]
    successors: tuple[str, ...]
    generic: bool
    pieces: tuple[str, ...]
    groups: tuple[int, ...] = ()
    span: Span = field(default=_NOWHERE, compare=False)
    name_span: Span = field(default=_NOWHERE, compare=False)

    def walk(self) -> Iterator[Operation]:
        """This operation and all inside it, in textual order."""
        left = [self]
        while left:
            operation = left.pop()
            yield operation
            for region in reversed(operation.regions):
                for block in reversed(region.blocks):
                    left += reversed(block.operations)

    @property
    def input_groups(self) -> tuple[tuple[TypeUse, ...], ...]:
        """``inputs`` by operand: operands that come as one list in one group."""
        groups, at = [], 0
        for size in self.groups:
            groups.append(self.inputs[at : at + size])
            at += size
        return tuple(groups)

    def attribute(self, name: str) -> Attribute | None:
        """The attribute or property of that name."""
        return next((a for a in self.attributes if a.name == name), None)


@dataclass(frozen=True, slots=True)
class Alias:
    """``!name = type`` or ``#name = attribute``; the name keeps its sigil."""

    name: str
    text: str
    span: Span = field(default=_NOWHERE, compare=False)
    text_span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Module:
    """A file of IR: aliases and top-level operations in textual order.

    Attributes:
        source: the text that was parsed, as long as nothing of the module was changed.
        types: each distinct dialect type text in the file, with the offset of its first occurrence.
    """

    items: tuple[Alias | Operation, ...]
    source: Source | None = field(default=None, compare=False)
    types: dict[str, int] = field(default_factory=dict, compare=False, repr=False)

    @property
    def aliases(self) -> dict[str, Alias]:
        """Aliases by name, sigil included."""
        return {item.name: item for item in self.items if isinstance(item, Alias)}

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The top-level operations."""
        return tuple(item for item in self.items if isinstance(item, Operation))

    def walk(self) -> Iterator[Operation]:
        """Every operation, in textual order."""
        for operation in self.operations:
            yield from operation.walk()

    def with_items(self, items: tuple[Alias | Operation, ...]) -> Module:
        """The module with other contents; it has no source text any more."""
        return replace(self, items=items, source=None, types={})

    @property
    def text(self) -> str:
        """The source text; empty if the module has none any more."""
        return self.source.text if self.source is not None else ""

    def __str__(self) -> str:
        """The text: byte for byte the source where nothing was changed, canonical otherwise."""
        return self.source.text if self.source is not None else print_module(self)


def print_module(module: Module) -> str:
    """The canonical text of a module: one operation a line, two spaces a level."""
    lines: list[str] = []
    for item in module.items:
        if isinstance(item, Alias):
            lines.append(f"{item.name} = {item.text}")
        else:
            _print_operation(item, 0, lines)
    return "\n".join(lines) + "\n" if lines else ""


def _print_operation(operation: Operation, level: int, lines: list[str]) -> None:
    indent = "  " * level
    open_line = indent + operation.pieces[0]
    for region, piece in zip(operation.regions, operation.pieces[1:], strict=True):
        lines.append(open_line + "{")
        for block in region.blocks:
            if block.header:
                lines.append(indent + block.header)
            for inner in block.operations:
                _print_operation(inner, level + 1, lines)
        open_line = indent + "}" + piece
    lines.append(open_line.rstrip())
