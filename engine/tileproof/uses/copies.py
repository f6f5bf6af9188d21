"""``cute.copy(atom, source, destination)``: a copy atom, its operands, and the binding of the atom.

A TMA atom is made without an mbarrier: ``make_exec_tma`` makes it executable and ``set_value`` binds the mbarrier, the
multicast mask and the cache policy to it, each time as a new value. ``Definitions`` follows that chain backwards.
"""

from __future__ import annotations

from tileproof.base.records import dataclass, field
from tileproof.dialects.configuration import Facts
from tileproof.dialects.operands import field_set, resolve
from tileproof.dialects.operations import Operations
from tileproof.dialects.values import CoordIterator, Descriptor, Pointer, Tensor, element_bits, read_type
from tileproof.layout.tuples import leaves
from tileproof.layout.values import ComposedLayout, Layout
from tileproof.memory.pointers import byte_swizzle
from tileproof.mlir.ir import Alias, Operation, TypeUse
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar

SIDES = ("source", "destination")
_ENDLESS = 1 << 20  # bits of a run that nothing is known to end


@dataclass(frozen=True, slots=True)
class Binding:
    """The binding of an atom since its creation: each field with the type of its value."""

    fields: dict[str, str]


@dataclass(slots=True)
class Definitions:
    """The operations that define values, as far as a walk in textual order has come."""

    made: dict[str, tuple[str, str | None, str]] = field(default_factory=dict)  # kind, the atom it is made of, type

    def add(self, operation: Operation, aliases: dict[str, Alias]) -> None:
        """Note what an operation defines."""
        step: tuple[str, str | None, str]
        if operation.name == "cute_nvgpu.atom.make_exec_tma":
            step = ("", None, "")
        elif operation.name == "cute_nvgpu.atom.set_value" and operation.operands:
            value = resolve(operation.inputs[1].text, aliases) if len(operation.inputs) > 1 else ""
            step = (field_set(operation) or "?", operation.operands[0], value)
        else:
            for result in operation.results:
                self.made.pop(result.name, None)
            return
        for result in operation.results:
            self.made[result.name] = step

    def binding(self, value: str) -> Binding | None:
        """The binding of an atom; None if its creation is not in the file."""
        fields: dict[str, str] = {}
        at: str | None = value
        while at is not None:
            if at not in self.made:
                return None
            name, before, type_text = self.made[at]
            if name:
                fields.setdefault(name, type_text)
            at = before
        return Binding(fields)


@dataclass(frozen=True, slots=True)
class Copy:
    """One use of a copy atom.

    Attributes:
        atom: the type of the atom, aliases resolved; ``value`` is its name.
        sides: the types of source and destination, aliases resolved.
        uses: the same as written.
    """

    operation: Operation
    atom: str
    value: str
    sides: tuple[str, ...]
    uses: tuple[TypeUse, ...]

    def facts(self, book: Rulebook, member: str, name: str, atom: Facts | None, binding: Binding | None) -> Facts:
        """The facts of the schema ``copy.use``.

        Args:
            member, name: the atom, as a member of the enum ``atom`` and as written.
            atom: the facts of the atom itself, if its parameters are known.
            binding: its binding, if known.
        """
        values: dict[str, Scalar] = {"atom": member}
        spelled = {"atom": name}
        runs = []
        spaces = book.enums["residency"].by_spelling
        for side, text in zip(SIDES, self.sides, strict=True):
            space, bits, run = _side(text)
            if space:
                values[side], spelled[side] = spaces.get(space, space), space
            if bits is not None:
                values[f"{side}.bits"] = bits
            runs.append(run)
            if (unsplit := _unsplit(text)) is not None:
                values["unsplit"] = unsplit
        known = [run for run in runs if run is not None]
        if len(known) == len(runs):
            values["run"] = min(known)
        given = atom.values if atom is not None else {}
        width, source = given.get("bits"), values.get("source.bits")
        if isinstance(width, int) and isinstance(source, int):
            values["bits"] = width or source
            values["elements"] = (width or source) // source
        values["multicast"] = given.get("multicast", ".no")
        if binding is not None:
            bound = binding.fields
            for fact, names in (
                ("barrier", {"tma_bar", "mbar_ptr"}),
                ("mask", {"mcast_mask"}),
                ("cache", {"cache_policy"}),
            ):
                values[fact] = ".yes" if names & bound.keys() else ".no"
            if (mask := element_bits(bound.get("mcast_mask", ""))) is not None:
                values["mask.bits"] = mask
        spans = {side: use.span for side, use in zip(SIDES, self.uses, strict=True)}
        return Facts("copy.use", values, spelled, spans, self.operation.name_span)


def _side(text: str) -> tuple[str, int | None, int | None]:
    """The kind of memory of an operand, the bits of its elements, and the number of contiguous bits at its start."""
    match read_type(text):
        case Tensor(CoordIterator()):
            return "coord_tensor", None, None
        case Tensor(Descriptor()):
            return "smem_desc_view", None, None
        case Tensor(Pointer(element=element, space=space), layout):
            bits = element_bits(element)
            return space, bits, None if bits is None else _run(layout, bits)
    return "", None, None


def _unsplit(text: str) -> int | None:
    """The bytes at consecutive addresses that the swizzle of shared memory leaves contiguous, 32 at most."""
    match read_type(text):
        case Tensor(Pointer(space="smem")) as memory:
            swizzle = byte_swizzle(memory)
            return 32 if swizzle is None else 1 << min(max(swizzle.base, 0), 5)
    return None


def _run(layout: Layout | ComposedLayout, bits: int) -> int | None:
    if isinstance(layout, ComposedLayout):
        return None
    count = 1
    for extent, stride in zip(leaves(layout.shape), leaves(layout.stride), strict=True):
        if extent == 1:
            continue
        if not isinstance(extent, int) or not isinstance(stride, int):
            return _ENDLESS
        if stride != count:
            break
        count *= extent
    return count * bits


def read_copy(book: Rulebook, operation: Operation, aliases: dict[str, Alias]) -> Copy | None:
    """The parts of a ``cute.copy``; None for any other operation and for one that is incomplete."""
    groups = operation.input_groups
    if Operations.of(book).step(operation.name) != "copy" or len(groups) < 3 or not operation.operands:
        return None
    if any(len(group) != 1 for group in groups[:3]):
        return None
    uses = (groups[1][0], groups[2][0])
    sides = tuple(resolve(use.text, aliases) for use in uses)
    return Copy(operation, resolve(groups[0][0].text, aliases), operation.operands[0], sides, uses)
