"""Bulk tensor copies and other operations of ``cute_nvgpu`` whose result their operands decide."""

from __future__ import annotations

from tileproof import layout as algebra
from tileproof.dialects.fragments import fragments, shipped
from tileproof.dialects.infer.call import (
    Call,
    Results,
    Unknown,
    infers,
    layout_operand,
    of_layout,
    operand,
    tuple_operand,
)
from tileproof.dialects.infer.memory import advance
from tileproof.dialects.values import (
    Atom,
    CoordIterator,
    Descriptor,
    Pointer,
    Scalar,
    Tensor,
    TiledCopy,
    TiledMma,
    element_bits,
    read_type,
)
from tileproof.evaluate.hardware import descriptor_unit
from tileproof.layout import LayoutError, tiled
from tileproof.layout.basics import concatenate, modes
from tileproof.layout.leaves import divide_integers, integer, multiply_integers
from tileproof.layout.values import Basis, Layout
from tileproof.mlir.types import Node
from tileproof.syntax import SyntaxFault
from tileproof.syntax.layouts import layout as parse_layout

_LOAD, _STORE = "!cute_nvgpu.atom.non_exec_tiled_tma_load", "!cute_nvgpu.atom.non_exec_tiled_tma_store"


@infers("arch.make_warp_uniform", dialect="cute_nvgpu")
def make_warp_uniform(call: Call) -> Results:
    return (Scalar(32),)


@infers("atom.set_value", dialect="cute_nvgpu")
def set_value(call: Call) -> Results:
    """The same atom with another state."""
    atom = operand(call, 0)
    if not isinstance(atom, Atom | TiledMma | TiledCopy):
        raise Unknown
    return (atom,)


@infers(
    "make_umma_smem_desc",
    "make_gmma_smem_desc",
    "sm103.make_umma_smem_desc_circular",
    "sm107.make_umma_smem_desc",
    "sm107.make_umma_smem_desc_circular",
    dialect="cute_nvgpu",
)
def make_smem_desc(call: Call) -> Results:
    return (Descriptor(),)


@infers("atom.make_exec_tma", dialect="cute_nvgpu")
def make_exec_tma(call: Call) -> Results:
    """The atom as it runs: its layout in memory is in its descriptor from now on."""
    atom = operand(call, 0)
    if not isinstance(atom, Atom):
        raise Unknown
    node = atom.node
    if {child.key for child in node.children} - {"", "copy_bits", "tma_gbasis", "tma_format"}:
        raise Unknown
    words = [child.text for child in node.positional]
    bits, basis = _word(node, "copy_bits"), f'g_stride = <"()"> {{}}tma_gbasis = <"{_word(node, "tma_gbasis")}">'
    if node.text == _LOAD and len(words) == 2:
        count = 2 if "2sm" in words[0] else 1
        shared = "mcast = true " if "multicast" in words[0] else ""
        about = f"copy_bits = {bits}, mode = tiled, num_cta = {count}, {basis.format(shared)}"
        return (read_type(f"!cute_nvgpu.atom.tma_load<{words[1]}, {about}>"),)
    if node.text == _STORE and len(words) == 1:
        about = f"copy_bits = {bits}, mode = tiled, {basis.format('')}"
        return (read_type(f"!cute_nvgpu.atom.tma_store<{words[0]}, {about}>"),)
    raise Unknown


def _word(node: Node, name: str) -> str:
    """A parameter that is one number or one quoted text."""
    parameter = node.parameter(name)
    leaves = [] if parameter is None else [child for child in parameter.walk() if not child.children]
    if len(leaves) != 1:
        raise Unknown
    return leaves[0].text


@infers("atom.get_coord_tensor", dialect="cute_nvgpu")
def get_coord_tensor(call: Call) -> Results:
    """The coordinates of a shape, by the strides that the atom keeps."""
    atom, shape = operand(call, 0), tuple_operand(call, 1)
    if not isinstance(atom, Atom) or len(call.operands) != 2:
        raise Unknown
    try:
        stride = parse_layout(_word(atom.node, "g_stride"))
    except SyntaxFault:
        raise Unknown from None
    if not isinstance(stride, tuple) or not stride:
        raise Unknown
    if not all(isinstance(step, Basis) and len(step.path) == 1 for step in stride):
        raise Unknown
    if not isinstance(shape, tuple) or len(shape) != len(stride) or any(isinstance(part, tuple) for part in shape):
        raise Unknown
    rank = 1 + max(step.path[-1] for step in stride if isinstance(step, Basis))
    return (Tensor(CoordIterator((0,) * rank), Layout(shape, stride)),)


@infers("atom.tma_partition", dialect="cute_nvgpu")
def tma_partition(call: Call) -> Results:
    atom, coord, ctas = operand(call, 0), tuple_operand(call, 1), layout_operand(call, 2)
    shared, remote = operand(call, 3), operand(call, 4)
    found = fragments(atom.node, call.book) if isinstance(atom, Atom) else None
    if found is None or "S" not in found.layouts or not isinstance(ctas, Layout):
        raise Unknown
    if not isinstance(shared, Tensor) or not isinstance(shared.iterator, Pointer) or not isinstance(remote, Tensor):
        raise Unknown
    if not isinstance(remote.iterator, CoordIterator) or not isinstance(remote.layout, Layout):
        raise Unknown
    if not isinstance(shared.layout, Layout):
        raise Unknown
    values = algebra.size(found.layouts["S"], [1])
    if not isinstance(values, int):
        raise Unknown
    each = divide_integers(values, algebra.cosize(ctas))
    share = multiply_integers(integer(algebra.crd2idx(coord, ctas)), each)
    try:
        layouts, starts = tiled.bulk_partition(shared.layout, remote.layout, values, share)
    except LayoutError:
        raise Unknown from None
    return (
        Tensor(advance(shared.iterator, starts[0]), layouts[0]),
        Tensor(advance(remote.iterator, starts[1]), layouts[1]),
    )


@infers("atom.make_tmem_copy", "atom.make_s2t_copy", dialect="cute_nvgpu")
def make_tmem_copy(call: Call) -> Results:
    """A copy between registers or shared memory and what its atom covers of a tensor in tensor memory."""
    atom, tensor = operand(call, 0), operand(call, 1)
    found = fragments(atom.node, call.book) if isinstance(atom, Atom) else None
    if not isinstance(atom, Atom) or found is None or "T" not in found.layouts:
        raise Unknown
    match tensor:
        case Tensor(Pointer(element=element, space="tmem"), Layout() as data):
            if element_bits(element) != found.facts.get("bits"):
                raise Unknown
        case _:
            raise Unknown
    try:
        addresses = found.layouts["T"]
        if call.name.endswith("make_tmem_copy"):
            threads, values = modes(addresses)
            addresses = concatenate([threads, tiled.outer_of(algebra.coalesce(values))])
        return (TiledCopy(atom, *tiled.copy_of_addresses(addresses, data)),)
    except LayoutError:
        raise Unknown from None


@infers("atom.get_copy_s2t_smem_desc_view", dialect="cute_nvgpu")
def get_copy_s2t_smem_desc_view(call: Call) -> Results:
    """The descriptors of what a copy takes from shared memory, one an atom; their addresses count 16 bytes."""
    copy, view = operand(call, 0), operand(call, 1)
    found = fragments(copy.atom.node, call.book) if isinstance(copy, TiledCopy) else None
    match view:
        case Tensor(Pointer(element=element, space="smem"), Layout() as data):
            bits = element_bits(element)
        case Tensor(Pointer(space="smem"), data):
            raise LayoutError(f"expects a view type with a normal affine layout, but got '{of_layout(data)}'")
        case _:
            raise Unknown
    if found is None or bits is None or not isinstance(copy, TiledCopy):
        raise Unknown
    if bits != found.facts.get("bits"):
        raise LayoutError(f"expects same value type of atom and view, but got '{copy.atom}' and '{view}'")
    first = modes(data)[0]
    if len(modes(first)) != 2 or algebra.size(first, [1]) != 1:
        wanted = "expects the mode 0 to be rank 2 and the size of mode [0,1] to be 1"
        raise LayoutError(f"{wanted}, but got '{of_layout(data)}'")
    return (
        Tensor(
            Descriptor(),
            algebra.recast_layout(data, 8 * descriptor_unit(shipped() if call.book is None else call.book), bits),
        ),
    )
