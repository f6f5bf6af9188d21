"""What shares shared memory: the fields of an allocation, the operands of an MMA, and those who write and who read.

Memory may be used twice: an epilogue lays its output out where the operands were, with another swizzle. So a reader is
wrong only where *nobody* writes its memory as it reads it, and two operands only where one MMA reads both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import pairwise

from tileproof.base.records import dataclass
from tileproof.base.source import Span
from tileproof.dialects.facts import Facts
from tileproof.layout import Layout, Swizzle, idx2crd, is_static_layout
from tileproof.layout.values import ComposedLayout, show
from tileproof.memory.descriptors import MMAS
from tileproof.memory.pointers import Field, Place, Places, View, fields_of, first_collision, size_of
from tileproof.memory.tensor_maps import Arguments, argument_of, kernel_name
from tileproof.mlir.ir import Alias, Operation
from tileproof.mlir.scopes import Scope, walk
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar

_COPIES = ("cute.copy", "cute.copy_atom_call")
_STORES = {"cute.memref.store": 0, "cute.memref.store_vec": 1}
_LOADS = {"cute.memref.load": 0, "cute.memref.load_vec": 0}
_BULK = "nvvm.cp.async.bulk.tensor.shared"
# Operations on addresses in shared memory that neither read nor write what lies there as a tensor.
_HARMLESS = ("nvvm.mbarrier", "nvvm.tcgen05", "nvvm.fence", "nvvm.mapa", "nvvm.elect", "llvm.ptrtoint", "llvm.getel")
_OPAQUE = ("llvm.", "nvvm.", "func.", "ptr.", "memref.", "vector.", "cute_nvgpu.arch.", "cuda.")
_LARGEST = 1 << 18  # elements of a layout in which a collision is looked for: no target has more bytes


@dataclass(frozen=True, slots=True)
class _Use:
    """Somebody who reads or writes shared memory.

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
    run = _Run(book, aliases, arguments, Places(aliases))
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
        if name == "cute.memref.alloca":
            if fields := fields_of(operation):
                yield self.allocation(operation, fields)
        elif name == "cute.mma.make_fragment" and len(operation.operands) == 2:
            place = self.places.of(operation.operands[1], scope)
            if place is not None and place.view is not None and len(operation.inputs) == 2:
                yield self.operand(operation, place, place.view)
        elif name in MMAS:
            self.mma(operation, scope)
        elif name in _COPIES:
            self.use(operation, 1, scope, self.readers, "a copy reads it")
            self.use(operation, 2, scope, self.writers, "a copy writes it")
        elif name in _STORES:
            self.use(operation, _STORES[name], scope, self.writers, "the kernel writes it")
        elif name in _LOADS:
            self.use(operation, _LOADS[name], scope, self.readers, "the kernel reads it")
        elif name.startswith(_BULK):
            self.bulk(operation, scope)
        elif name == "nvvm.cp.async.shared.global":
            self.use(operation, 0, scope, self.writers, "cp.async writes it")
        elif name.startswith(_OPAQUE) and not name.startswith(_HARMLESS):
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
        argument = argument_of(operation.operands[1], scope)
        found = None if argument is None else self.arguments.get((kernel_name(argument[0]) or "", argument[1]))
        row = None if found is None else self.book.shared_table("smem_swizzle").rows.get((found.swizzle,))
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
        values: dict[str, Scalar] = {"inside": ".yes", "apart": ".yes"}
        spelled: dict[str, str] = {}
        size = size_of(operation, self.aliases)
        for one in fields:
            if size is not None and one.end > size and values["inside"] == ".yes":
                values["inside"] = ".no"
                spelled["inside"] = f"'{one.name}' ends at byte {one.end} of {size}"
        ordered = sorted(fields, key=lambda one: (one.start, one.end))
        for one, other in pairwise(ordered):
            if one.start < other.start < one.end:
                values["apart"] = ".no"
                shared = one.end - other.start
                spelled["apart"] = (
                    f"'{other.name}' begins at byte {other.start}, {shared} bytes before '{one.name}' ends"
                )
                break
        return Facts("shared_allocation", values, spelled, {}, operation.name_span)

    def operand(self, operation: Operation, place: Place, view: View) -> Facts:
        """An operand: its view inside the field or the allocation, and no two of its elements in one place."""
        values: dict[str, Scalar] = {"fits": ".yes", "injective": ".yes"}
        spelled: dict[str, str] = {}
        if view.start is not None and view.size is not None:
            size = size_of(place.allocation, self.aliases)
            holder = next((f for f in fields_of(place.allocation) if f.start <= view.start < f.end), None)
            end = holder.end if holder is not None else size
            if end is not None and view.start + view.size > end:
                values["fits"] = ".no"
                where = f"'{holder.name}' ends" if holder is not None else "the allocation ends"
                spelled["fits"] = f"its layout ends at byte {view.start + view.size}, {where} at byte {end}"
        layout = view.layout.outer if isinstance(view.layout, ComposedLayout) else view.layout
        if isinstance(layout, Layout) and is_static_layout(layout) and (view.size or 0) <= _LARGEST:
            collision = first_collision(layout)
            if collision is not None:
                here, there = (show(idx2crd(index, layout.shape)) for index in collision)
                values["injective"], spelled["injective"] = ".no", f"{here} and {there} are one place in {layout}"
        return Facts("shared_operand", values, spelled, {}, operation.inputs[1].span)

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
            apart = a.view.start == b.view.start and once
            values: dict[str, Scalar] = {"apart": ".yes" if apart else ".no"}
            spans = f"A has bytes {_bytes(a.view)} and B bytes {_bytes(b.view)} of one allocation"
            yield Facts("shared_operands", values, {"apart": spans}, {}, span)


def _meet(one: Place, other: Place) -> bool:
    """Whether two places of one allocation may have a byte in common."""
    a, b = _extent(one), _extent(other)
    return a is None or b is None or (a[0] < b[1] and b[0] < a[1])


def _extent(place: Place) -> tuple[int, int] | None:
    """The bytes that a place may have: those of its view, or else of the field that a pointer leads to."""
    view = place.view
    if view is not None:
        return (view.start, view.start + view.size) if view.start is not None and view.size is not None else None
    start = place.start
    holder = next((f for f in fields_of(place.allocation) if start is not None and f.start <= start < f.end), None)
    return None if holder is None else (holder.start, holder.end)


def _with(swizzle: Swizzle | None) -> str:
    return f"with {swizzle}" if swizzle is not None else "without a swizzle"


def _bytes(view: View) -> str:
    assert view.start is not None and view.size is not None, "what overlaps is known"
    return f"{view.start} to {view.start + view.size - 1}"
