"""Witness kernels: a proof about a layout and an MMA, as a kernel that shows it on the hardware.

The kernel fills shared memory with A and B through their layouts, runs one MMA with the emitted descriptors and stores
D. ``predicted`` says what it computes, by the same layouts: the product itself where each layout is what its descriptor
describes, and where one is not, the product of what the tensor core finds instead. ``run`` compares, on a GPU.

>>> from tileproof import load_rules
>>> book = load_rules()
>>> atom = "!cute_nvgpu.sm90.mma<64x8x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>"
>>> made = witness(book, atom, "sm_90a")
>>> print(made.layouts["a"])
S<1,3,3> o 0 o (64,16):(16,1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tileproof.base.records import dataclass
from tileproof.checking.instruction import context
from tileproof.dialects.fragments import fragments
from tileproof.emitting import kernel
from tileproof.emitting.atom import BadAtom, read, sequence_of
from tileproof.emitting.fill import THREADS, NotStatic, fill
from tileproof.emitting.operands import place
from tileproof.emitting.sequence import Placed, Sequence
from tileproof.evaluate.hardware import smem_bits
from tileproof.layout import ComposedLayout, Layout, crd2idx, size
from tileproof.memory.descriptors import atom_node
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import HARDWARE
from tileproof.rulebase.expression import Scalar
from tileproof.suggesting.layouts import Placement
from tileproof.syntax import SyntaxFault
from tileproof.syntax.layouts import layout as parse_layout

OPERANDS = ("a", "b")
BYTES = 98304  # of dynamic shared memory that a launch asks for; no operand of one instruction needs more


class NoGpu(RuntimeError):
    """No GPU, or no cuda-bindings; the message says which."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A kernel and its parts.

    Attributes:
        text: PTX; its entry ``witness`` takes ``from`` (registers that are read, a row a thread), ``to`` (those that
            are written), ``a`` and ``b``, dense arrays whose first mode runs fastest.
        layouts: through which A and B are written; read: the layouts that the descriptors describe.
        shapes: rows and columns of A and B.
        bits: of an element of A and of B in memory.
    """

    text: str
    atom: str
    target: str
    facts: Mapping[str, Scalar]
    layouts: Mapping[str, Layout | ComposedLayout]
    read: Mapping[str, Layout | ComposedLayout]
    shapes: Mapping[str, tuple[int, int]]
    bits: Mapping[str, int]
    registers: tuple[tuple[str, ...], tuple[str, ...]]


def witness(book: Rulebook, atom: str, target: str, layouts: Mapping[str, str] | None = None) -> Witness:
    """The kernel for an atom that reads A and B from shared memory.

    Args:
        layouts: of ``a`` and ``b``, ``(mn,k)`` to elements; without one the best that there is. The descriptors are
            those of the best: another layout is refuted by the numbers.

    Raises:
        BadAtom: the atom does not read both operands by descriptors, or a layout cannot be filled.
        Refused: it is not legal.
    """
    where = context(book, target)
    asked = read(book.under(HARDWARE), atom, where)
    if asked.lowered is None or not asked.atom:
        raise BadAtom("a witness requires an MMA atom")
    facts = {**asked.facts, **asked.lowered.facts}
    spots = place(book, asked.atom, facts)
    if set(spots) != set(OPERANDS):
        raise BadAtom(f"a witness requires both operands in shared memory; {asked.atom} does not read both there")
    one = sequence_of(book, asked, {name: placed for name, (placed, _) in spots.items()})
    chosen = {name: _layout(name, (layouts or {}).get(name), spot) for name, (_, spot) in spots.items()}
    bits = {name: smem_bits(book, facts, name) for name in OPERANDS}
    try:
        filled = _filled(one, chosen, {name: placed for name, (placed, _) in spots.items()}, bits)
    except NotStatic as error:
        raise BadAtom(str(error)) from None
    comments = [asked.atom, *(f"{name} through {chosen[name]}" for name in OPERANDS)]
    text = kernel.module(book, where, [("witness", [filled], comments)], OPERANDS)
    results = one.registers(*one.writes, *one.updates) if one.writes or one.updates else ()
    read_ = {name: spot.layout for name, (_, spot) in spots.items()}
    shapes = {name: _shape(spot.layout) for name, (_, spot) in spots.items()}
    made = one.registers(*one.made) if one.made else ()
    loaded = tuple(name for name in one.registers() if name not in made)
    return Witness(text, asked.atom, target, facts, chosen, read_, shapes, bits, (loaded, results))


def _layout(name: str, text: str | None, spot: Placement) -> Layout | ComposedLayout:
    if text is None:
        return spot.layout
    try:
        found = parse_layout(text)
    except SyntaxFault as fault:
        raise BadAtom(f"the layout of {name} cannot be read: column {fault.start + 1}: {fault}") from None
    if not isinstance(found, Layout | ComposedLayout) or size(found) != size(spot.layout):
        raise BadAtom(f"'{text}' is not a layout of the {size(spot.layout)} elements of {name}")
    return found


def _shape(layout: Layout | ComposedLayout) -> tuple[int, int]:
    outer = layout.outer if isinstance(layout, ComposedLayout) else layout
    assert isinstance(outer.shape, tuple), "rows and columns"
    rows, columns = (size(mode) for mode in outer.shape)
    assert isinstance(rows, int) and isinstance(columns, int), "a placement is static"
    return rows, columns


def _filled(
    one: Sequence,
    layouts: Mapping[str, Layout | ComposedLayout],
    placed: Mapping[str, Placed],
    bits: Mapping[str, int],
) -> Sequence:
    """The sequence with the operands written before it, visible to the tensor core."""
    lines = [".reg .b64 array;"]
    for name in OPERANDS:
        lines += [f"ld.param.b64 array, [{name}];", "cvta.to.global.u64 array, array;"]
        lines += fill("array", placed[name].offset, layouts[name], bits[name], f"fill_{name}")
    lines += ["fence.proxy.async.shared::cta;", "barrier.sync 0;"]
    return replace(one, parts={**one.parts, "setup": (*lines, *one.parts["setup"])})


def found_by(made: Witness, name: str, values: Any) -> Any:
    """An operand as the tensor core reads it: an array of its rows and columns, 0 where nothing was written.

    Args:
        values: a numpy array of rows and columns.
    """
    import numpy as np  # noqa: PLC0415  what a kernel alone does not need

    rows, columns = made.shapes[name]
    flat = np.asarray(values).reshape((rows, columns)).ravel(order="F")
    memory = {crd2idx(i, made.layouts[name]): flat[i] for i in range(rows * columns)}
    seen = [memory.get(crd2idx(i, made.read[name]), 0) for i in range(rows * columns)]
    return np.array(seen, dtype=flat.dtype).reshape((rows, columns), order="F")


def predicted(made: Witness, a: Any, b: Any) -> Any:
    """The expected D: the product of the operands as the tensor core reads them, in small integers without rounding."""
    return found_by(made, "a", a).astype("float64") @ found_by(made, "b", b).astype("float64").T


@dataclass(frozen=True, slots=True)
class WitnessResult:
    """The result of a GPU.

    Attributes:
        as_predicted: D is bit for bit the expected one.
        wrong: the coordinates (m,n) where D is not the product of A and B.
    """

    as_predicted: bool
    wrong: tuple[tuple[int, int], ...]


def run(book: Rulebook, made: Witness, seed: int = 0) -> WitnessResult:
    """Run a witness on the first GPU, on small integers, so that no sum is rounded.

    Raises:
        NoGpu: there is none, or cuda-bindings (extra ``gpu``) is not installed.
        RuntimeError: the kernel does not load or run.
        BadAtom: the accumulator is not of 32 bits, or who holds it is not known.
    """
    import numpy as np  # noqa: PLC0415

    chance = np.random.default_rng(seed)
    dense = {name: chance.integers(0, 8, made.shapes[name]) for name in OPERANDS}
    holders = _holders(book, made)
    arrays = {name: encode(str(made.facts[f"{name}.type"]), dense[name].ravel(order="F")) for name in OPERANDS}
    raw = _launch(made, arrays["a"], arrays["b"])
    found = np.zeros((made.shapes["a"][0], made.shapes["b"][0]))
    values = raw.view(np.float32 if made.facts["d.type"] == ".f32" else np.int32)
    for thread in range(values.shape[0]):
        for value in range(values.shape[1]):
            m, n = holders(thread, value)
            found[m, n] = values[thread, value]
    wrong = np.argwhere(found != dense["a"] @ dense["b"].T)
    agrees = bool((found == predicted(made, dense["a"], dense["b"])).all())
    return WitnessResult(agrees, tuple((int(m), int(n)) for m, n in wrong))


def _holders(book: Rulebook, made: Witness) -> Callable[[int, int], tuple[int, int]]:
    """Which element of D a thread keeps as its value of a number: the fragment C of the atom."""
    node = atom_node(made.atom)
    held = fragments(node, book) if node is not None else None
    if held is None or "C" not in held.layouts or made.facts.get("d.type") not in (".f32", ".s32"):
        raise BadAtom(f"the fragment of D of {made.atom} in 32-bit registers is not known")
    layout, rows = held.layouts["C"], made.shapes["a"][0]

    def holder(thread: int, value: int) -> tuple[int, int]:
        at = crd2idx((thread, value), layout)
        assert isinstance(at, int), "a fragment is static"
        return at % rows, at // rows

    return holder


def encode(element: str, values: Any) -> Any:
    """Small whole numbers from 0 to 7 as stored in memory, in numpy's unsigned integers of the same size.

    Raises:
        BadAtom: an element type that is not written here.
    """
    import numpy as np  # noqa: PLC0415

    numbers = np.asarray(values)
    match element:
        case ".f16":
            return numbers.astype(np.float16).view(np.uint16)
        case ".bf16":
            return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        case ".tf32":
            return numbers.astype(np.float32).view(np.uint32)
        case ".s8" | ".u8":
            return numbers.astype(np.uint8)
        case ".e4m3":
            # The exponent of float16 counts from 15 and has 10 bits after it, that of e4m3 from 7, with 3.
            wide = numbers.astype(np.float16).view(np.uint16)
            return np.where(numbers == 0, 0, (wide >> 7) - (8 << 3)).astype(np.uint8)
        case ".e5m2":
            return (numbers.astype(np.float16).view(np.uint16) >> 8).astype(np.uint8)
    raise BadAtom(f"a witness does not support the element type {element[1:]}")


def _launch(made: Witness, a: Any, b: Any) -> Any:
    """The words of D, a row a thread."""
    import numpy as np  # noqa: PLC0415

    try:
        from cuda.bindings import driver  # noqa: PLC0415
    except ImportError as error:
        raise NoGpu("cuda-bindings is not installed (pip install 'tileproof[gpu]')") from error

    def call(result: tuple[Any, ...]) -> Any:
        status, *rest = result
        if int(status) != 0:
            raise RuntimeError(f"CUDA driver error {status.name}")
        return rest[0] if len(rest) == 1 else rest

    try:
        call(driver.cuInit(0))
        device = call(driver.cuDeviceGet(0))
    except RuntimeError as error:  # the driver's library may be missing, too
        raise NoGpu(str(error)) from None
    held = call(driver.cuDevicePrimaryCtxRetain(device))
    call(driver.cuCtxSetCurrent(held))
    try:
        module = call(driver.cuModuleLoadData(made.text.encode() + b"\0"))
        function = call(driver.cuModuleGetFunction(module, b"witness"))
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        call(driver.cuFuncSetAttribute(function, attribute, BYTES))
        loaded, results = (len(names) for names in made.registers)
        row = -(-results // 4) * 4
        given = np.zeros((THREADS, -(-loaded // 4) * 4), dtype=np.uint32)  # accumulators 0, scale-d false
        output = np.zeros((THREADS, row), dtype=np.uint32)
        addresses = []
        for array in (given, output, a, b):
            flat = np.ascontiguousarray(array)
            addresses.append(call(driver.cuMemAlloc(max(flat.nbytes, 16))))
            call(driver.cuMemcpyHtoD(addresses[-1], flat.ctypes.data, flat.nbytes))
        values = np.array([int(address) for address in addresses], dtype=np.uint64)
        pointers = np.array([values.ctypes.data + 8 * i for i in range(4)], dtype=np.uint64)
        call(driver.cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, BYTES, 0, pointers.ctypes.data, 0))
        call(driver.cuCtxSynchronize())
        call(driver.cuMemcpyDtoH(output.ctypes.data, addresses[1], output.nbytes))
        for address in addresses:
            call(driver.cuMemFree(address))
        return output[:, :results].copy()
    finally:
        call(driver.cuDevicePrimaryCtxRelease(device))
