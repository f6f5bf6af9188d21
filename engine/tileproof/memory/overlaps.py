"""Users of shared memory: the fields of an allocation, the operands of an MMA, writers and readers.

Memory may be used twice: an epilogue lays its output out where the operands were, with another swizzle. So a reader is
an error only if *no* writer uses its layout, and two operands only where one MMA reads both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tileproof.base.records import dataclass, field
from tileproof.base.source import Span
from tileproof.dialects.configuration import Facts
from tileproof.dialects.operations import Operations, StepOperands
from tileproof.layout import Layout, Swizzle, idx2crd, is_static_layout
from tileproof.layout.values import ComposedLayout, show
from tileproof.memory.k_blocks import k_blocks
from tileproof.memory.pointers import Field, Place, Places, View, fields_of, first_collision, size_of
from tileproof.memory.tensor_maps import Arguments, argument_of, kernel_name
from tileproof.mlir.ir import Alias, Operation
from tileproof.mlir.scopes import Scope, walk
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar

_TENSORS = "cute.memref."  # accesses to elements of a tensor, not of a pointer
# Operations on addresses in shared memory that neither read nor write a tensor there.
_HARMLESS = ("nvvm.mbarrier", "nvvm.tcgen05", "nvvm.fence", "nvvm.mapa", "nvvm.elect")
_OPAQUE = ("llvm.", "nvvm.", "func.", "ptr.", "memref.", "vector.", "cute_nvgpu.arch.", "cuda.")
_NAMED = ".memory"  # of the enum `memory_name`; the text is the kernel's own name
_LARGEST = 1 << 18  # elements of a layout in which a collision is looked for


@dataclass(frozen=True, slots=True)
class _Use:
    """A reader or writer of shared memory.

    Attributes:
        swizzle: of byte addresses; None where there is none.
        known: whether the swizzle is known.
        how: for the reader of a message.
    """

    place: Place
    swizzle: Swizzle | None
    known: bool
    how: str
    span: Span


def sharing(
    book: Rulebook, operations: Sequence[Operation], aliases: dict[str, Alias], arguments: Arguments
) -> Iterator[Facts]:
    """The configurations that the rules judge."""
    run = _Run(book, aliases, arguments, Places(Operations.of(book), aliases))
    for operation, scope in walk(operations):
        yield from run.visit(operation, scope)
    yield from run.handovers()
    yield from run.overlaps()


@dataclass(slots=True)
class _Run:
    book: Rulebook
    aliases: dict[str, Alias]
    arguments: Arguments
    places: Places
    writers: list[_Use] = field(default_factory=list)
    readers: list[_Use] = field(default_factory=list)
    pairs: list[tuple[Place, Place, Span]] = field(default_factory=list)

    def visit(self, operation: Operation, scope: Scope) -> Iterator[Facts]:
        name = operation.name
        moves = self.places.operations.moves(operation)
        if moves == "fragment" and len(operation.operands) == 2:
            place = self.places.of(operation.operands[1], scope)
            if place is not None and place.view is not None and len(operation.inputs) == 2:
                yield from self.operand(operation, place, place.view)
        if moves:
            return  # what only says where memory is neither reads nor writes it
        match self.places.operations.step_operands(name):
            case StepOperands("allocate"):
                if fields := fields_of(operation):
                    yield self.allocation(operation, fields)
            case StepOperands("mma"):
                self.mma(operation, scope)
                yield from k_blocks(operation, scope, self.places.operations, self.aliases)
            case StepOperands("copy", _, source, target):
                self.use(operation, source, scope, self.readers, "a copy reads it")
                self.use(operation, target, scope, self.writers, "a copy writes it")
            case StepOperands("write", target) if name.startswith(_TENSORS):
                self.use(operation, target, scope, self.writers, "the kernel writes it")
            case StepOperands("read", source) if name.startswith(_TENSORS):
                self.use(operation, source, scope, self.readers, "the kernel reads it")
            case StepOperands("bulk_load"):
                self.bulk(operation, scope)
            case StepOperands("async_load", target):
                self.use(operation, target, scope, self.writers, "cp.async writes it")
            case _ if name.startswith(_OPAQUE) and not name.startswith(_HARMLESS):
                for index in range(len(operation.operands)):
                    self.use(operation, index, scope, self.writers, "", known=False)

    def use(
        self, operation: Operation, index: int, scope: Scope, uses: list[_Use], how: str, *, known: bool = True
    ) -> None:
        """Note that an operation reads or writes the memory of an operand."""
        if index >= len(operation.operands):
            return
        place = self.places.of(operation.operands[index], scope)
        if place is not None:
            uses.append(_Use(place, place.swizzle, known, how, operation.name_span))

    def bulk(self, operation: Operation, scope: Scope) -> None:
        """A bulk tensor copy into shared memory: its swizzle is that of the tensor map."""
        place = self.places.of(operation.operands[0], scope) if operation.operands else None
        if place is None or len(operation.operands) < 2:
            return
        argument = argument_of(operation.operands[1], scope, self.places.operations)
        found = None if argument is None else self.arguments.get((kernel_name(argument[0]) or "", argument[1]))
        row = None if found is None else self.book.shared_table("smem_swizzle").rows.get((found.swizzle or "",))
        numbers = tuple(n for n in row[:3] if isinstance(n, int)) if row is not None else ()
        swizzle = Swizzle(*numbers) if len(numbers) == 3 and numbers[0] else None
        self.writers.append(_Use(place, swizzle, row is not None, "TMA writes it", operation.name_span))

    def mma(self, operation: Operation, scope: Scope) -> None:
        """An MMA: its operands in shared memory are read."""
        groups = operation.groups
        if len(groups) != 5 or sum(groups) != len(operation.operands):
            return
        first = sum(groups[:2])
        found = []
        for role, index in (("A", first), ("B", first + groups[2])):
            place = self.places.of(operation.operands[index], scope)
            found.append(place)
            if place is not None and place.view is not None:
                self.readers.append(_Use(place, place.swizzle, True, f"{role} is read", operation.name_span))
        a, b = found
        if a is not None and b is not None and a.allocation is b.allocation:
            self.pairs.append((a, b, operation.name_span))

    # ------------------------------------------------------------------------------------------------ what is judged

    def allocation(self, operation: Operation, fields: tuple[Field, ...]) -> Facts:
        """The fields of a struct: each inside, and apart from the others but where two begin together, as a union."""
        values: dict[str, Scalar] = {"overlap": 0, "beyond": 0}
        spelled: dict[str, str] = {}
        size = size_of(operation, self.aliases)
        last = next((one for one in fields if size is not None and one.end > size), None)
        if last is not None and size is not None:
            values |= {"last": _NAMED, "beyond": last.end - size, "last.end": last.end, "size": size}
            spelled["last"] = last.name
        ordered = sorted(fields, key=lambda one: (one.start, one.end))
        pair = next((pair for pair in pairwise(ordered) if pair[0].start < pair[1].start < pair[0].end), None)
        if pair is not None:
            first, second = pair
            values |= {"first": _NAMED, "second": _NAMED, "second.start": second.start}
            values["overlap"] = first.end - second.start
            spelled |= {"first": first.name, "second": second.name}
        return Facts("shared_allocation", values, spelled, {}, operation.name_span)

    def operand(self, operation: Operation, place: Place, view: View) -> Iterator[Facts]:
        """An operand: its view inside the field or the allocation, and no two of its elements in one place."""
        span = operation.inputs[1].span
        if view.start is not None and view.size is not None:
            size = size_of(place.allocation, self.aliases)
            holder = next((f for f in fields_of(place.allocation) if f.start <= view.start < f.end), None)
            end = holder.end if holder is not None else size
            if end is not None:
                reached = view.start + view.size
                values: dict[str, Scalar] = {"beyond": max(reached - end, 0), "end": reached}
                values |= {"memory": _NAMED, "memory.end": end}
                named = f"'{holder.name}'" if holder is not None else "the allocation"
                yield Facts("shared_operand", values, {"memory": named}, {}, span)
        layout = view.layout.outer if isinstance(view.layout, ComposedLayout) else view.layout
        if isinstance(layout, Layout) and is_static_layout(layout) and (view.size or 0) <= _LARGEST:
            collision = first_collision(layout)
            if collision is not None:
                here, there = (show(idx2crd(index, layout.shape)) for index in collision)
                spelled = {"injective": f"{here} and {there} have one offset in {layout}"}
                yield Facts("shared_operand", {"injective": ".no"}, spelled, {}, span)

    def handovers(self) -> Iterator[Facts]:
        """Each reader against those who write its memory."""
        for reader in self.readers:
            written = [
                one
                for one in self.writers
                if one.place.allocation is reader.place.allocation and _meet(one.place, reader.place)
            ]
            if not written or any(not one.known for one in written):
                continue
            agrees = any(one.swizzle == reader.swizzle for one in written)
            values: dict[str, Scalar] = {"agrees": ".yes" if agrees else ".no"}
            spelled: dict[str, str] = {}
            if not agrees:
                how = " and ".join(dict.fromkeys(f"{one.how} {_with(one.swizzle)}" for one in written))
                spelled["agrees"] = f"{reader.how} {_with(reader.swizzle)}, and {how}"
            yield Facts("shared_handover", values, spelled, {}, reader.span)

    def overlaps(self) -> Iterator[Facts]:
        """Operands of one MMA: apart, or one memory on purpose, which is written once for both."""
        written = {id(one.place.view): one.place.view for one in self.writers if one.place.view is not None}
        for a, b, span in self.pairs:
            if a.view is None or b.view is None or not a.view.overlaps(b.view):
                continue
            as_a, as_b = ({key for key, view in written.items() if view == one} for one in (a.view, b.view))
            once = not as_a or not as_b or (as_a == as_b and len(as_a) == 1)
            values: dict[str, Scalar] = {"one_matrix": ".yes" if a.view.start == b.view.start and once else ".no"}
            (a_first, a_last), (b_first, b_last) = _bytes(a.view), _bytes(b.view)
            values |= {"a.first": a_first, "a.last": a_last, "b.first": b_first, "b.last": b_last}
            values["common"] = min(a_last, b_last) - max(a_first, b_first) + 1
            yield Facts("shared_operands", values, {}, {}, span)


def _meet(one: Place, other: Place) -> bool:
    """Whether two places of one allocation may have a byte in common."""
    a, b = _extent(one), _extent(other)
    return a is None or b is None or (a[0] < b[1] and b[0] < a[1])


def _extent(place: Place) -> tuple[int, int] | None:
    """The bytes that a place may have: those of its view, or else of the field that a pointer points to."""
    view = place.view
    if view is not None:
        return (view.start, view.start + view.size) if view.start is not None and view.size is not None else None
    start = place.start
    holder = next((f for f in fields_of(place.allocation) if start is not None and f.start <= start < f.end), None)
    return None if holder is None else (holder.start, holder.end)


def _with(swizzle: Swizzle | None) -> str:
    return f"with {swizzle}" if swizzle is not None else "without a swizzle"


def _bytes(view: View) -> tuple[int, int]:
    """The first and the last byte of a view."""
    assert view.start is not None and view.size is not None, "what overlaps is known"
    return view.start, view.start + view.size - 1
