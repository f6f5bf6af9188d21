"""Witness kernels: a proof about a layout and an MMA, as a kernel that shows it on the hardware.

The kernel fills shared memory with A and B through their layouts, runs the MMA with the descriptors of these layouts,
as often as the tiles are larger than one instruction, and stores D. ``predicted`` says what it computes, by the same
layouts: the product itself where each layout is what its descriptor describes. A layout that no descriptor describes
is read with the descriptor of the best one; then it is the product of what the tensor core finds instead, and a comment
of the kernel has coordinates that show it. ``run`` compares, on a GPU.

>>> from tileproof import load_rules
>>> book = load_rules()
>>> atom = "!cute_nvgpu.sm90.mma<64x8x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>"
>>> made = witness(book, atom, "sm_90a")
>>> print(made.layouts["a"])
S<1,3,3> o 0 o (64,16):(16,1)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tileproof.base.records import dataclass, replace
from tileproof.checking.instruction import context, contexts
from tileproof.descriptors.acting import descriptors
from tileproof.descriptors.canonical import NoDescriptor, OperandDescriptor, TiledOperand, Undecided
from tileproof.dialects.fragments import fragments
from tileproof.emitting import kernel
from tileproof.emitting.atom import Asked, BadAtom, Refused, read, sequence_of
from tileproof.emitting.fill import THREADS, NotStatic, fill
from tileproof.emitting.operands import best_layout
from tileproof.emitting.sequence import Placed, Sequence
from tileproof.evaluate.hardware import smem_bits, swizzle_period
from tileproof.layout import ComposedLayout, Layout, Swizzle, cosize, crd2idx, is_static_layout, size
from tileproof.layout.basics import modes
from tileproof.memory.descriptors import atom_node, operand_of
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import HARDWARE
from tileproof.rulebase.expression import Scalar
from tileproof.suggesting.layouts import Placement
from tileproof.syntax import SyntaxFault
from tileproof.syntax.layouts import layout as parse_layout

OPERANDS = ("a", "b")


class NoGpu(RuntimeError):
    """No GPU, no cuda-bindings, or too old a driver; the message says which."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of a witness in shared memory.

    Attributes:
        layout: through which it is written; read: that the descriptors describe, of elements.
        descriptor: of the first tile, at address 0; steps: to the other tiles along MN and K, in its units.
        bits: of an element.
        extents: rows and columns of one instruction's tile.
        why: why no descriptor describes the layout; empty where one does.
    """

    layout: Layout | ComposedLayout
    read: Layout | ComposedLayout
    descriptor: int
    steps: Layout | None
    bits: int
    extents: tuple[int, int]
    why: str = ""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return _shape(self.layout)

    @property
    def tiles(self) -> tuple[int, int]:
        """Tiles along the rows and along the columns."""
        (rows, columns), (row, column) = self.shape, self.extents
        return rows // row, columns // column

    @property
    def bytes(self) -> int:
        """From the start to the end of what is written or read."""
        ends = [cosize(one) for one in (self.layout, self.read)]
        return max(-(-end * self.bits // 8) for end in ends if isinstance(end, int))

    def step(self, row: int, column: int) -> int:
        """From the descriptor of the first tile to another one's."""
        found = 0 if self.steps is None else crd2idx((row, column), self.steps)
        assert isinstance(found, int), "the layout is static"
        return found


@dataclass(frozen=True, slots=True)
class Witness:
    """A kernel and its parts.

    Attributes:
        text: PTX; its entry ``witness`` takes ``from`` (registers that are read, a row a thread), ``to`` (those that
            are written, block of D by block), ``a`` and ``b``, dense arrays whose first mode runs fastest.
        registers: that are read, and that are written.
        bytes: of dynamic shared memory that a launch asks for.
    """

    text: str
    atom: str
    target: str
    facts: Mapping[str, Scalar]
    operands: Mapping[str, Operand]
    registers: tuple[tuple[str, ...], tuple[str, ...]]
    bytes: int

    @property
    def layouts(self) -> dict[str, Layout | ComposedLayout]:
        """Through which A and B are written."""
        return {name: one.layout for name, one in self.operands.items()}

    @property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """Rows and columns of A and B."""
        return {name: one.shape for name, one in self.operands.items()}


def witness(
    book: Rulebook,
    atom: str,
    target: str,
    layouts: Mapping[str, str] | None = None,
    ptx: tuple[int, int] | None = None,
) -> Witness:
    """The kernel for an atom that reads A and B from shared memory.

    Args:
        layouts: of ``a`` and ``b``, ``(mn,k)`` to elements, of one tile of the atom or several; without one the best
            that there is.
        ptx: the PTX version, such as (8, 7); None for the oldest that has the atom, which most drivers assemble.

    Raises:
        BadAtom: the atom does not read both operands by descriptors, or a layout cannot be filled.
        BadRequest: no such target, or no such version.
        Refused: it is not legal.
    """
    where, asked = _read_atom(book, atom, contexts(book, target) if ptx is None else [context(book, target, ptx)])
    if asked.lowered is None or not asked.atom:
        raise BadAtom("a witness requires an MMA atom")
    facts = {**asked.facts, **asked.lowered.facts}
    operands = _operands(book, asked.atom, facts, layouts or {})
    period = swizzle_period(book)
    places = {"a": 0, "b": -(-operands["a"].bytes // period) * period}
    placed = {name: Placed(places[name], one.descriptor) for name, one in operands.items()}
    size_ = places["b"] + operands["b"].bytes
    row = book.shared_table("shared_capacity").rows.get((str(where["target"]),))
    if row is not None and isinstance(row[0], int) and size_ > row[0]:
        raise BadAtom(f"A and B require {size_} bytes of shared memory: {target} has {row[0]} for a block")
    one = sequence_of(book, asked, placed)
    results = one.registers(*one.writes, *one.updates) if one.writes or one.updates else ()
    try:
        blocks = _repeated(book, asked, one, operands, placed, len(results))
        blocks[0] = _filled(blocks[0], operands, placed)
    except NotStatic as error:
        raise BadAtom(str(error)) from None
    comments = [asked.atom, *(f"{name} through {one.layout}" for name, one in operands.items())]
    comments += [f"no descriptor describes {name}: {one.why}" for name, one in operands.items() if one.why]
    shown = [f"({m},{n})" for m, n in _wrong(operands)[:_SHOWN]] if any(one.why for one in operands.values()) else []
    comments += [f"D is not the product of A and B at (m,n) = {', '.join(shown)}, ..."] if shown else []
    text = kernel.module(book, where, [("witness", blocks, comments)], OPERANDS)
    made = one.registers(*one.made) if one.made else ()
    loaded = tuple(name for name in one.registers() if name not in made)
    return Witness(text, asked.atom, target, facts, operands, (loaded, results), size_)


def _read_atom(book: Rulebook, atom: str, contexts: Iterable[dict[str, Scalar]]) -> tuple[dict[str, Scalar], Asked]:
    """An atom in the first context in which it is legal; as ``read`` raises in the last one where there is none."""
    refused: Refused | None = None
    for where in contexts:
        try:
            return where, read(book.under(HARDWARE), atom, where)
        except Refused as reason:
            refused = reason
    assert refused is not None, "each target has a PTX version"
    raise refused


_SHOWN = 8
"""Wrong coordinates in the comment of a kernel whose layout is refuted."""


def _operands(book: Rulebook, atom: str, facts: Mapping[str, Scalar], texts: Mapping[str, str]) -> dict[str, Operand]:
    """A and B with their descriptors."""
    node = atom_node(atom)
    known = {name: operand_of(book, node, name.upper()) if node is not None else None for name in OPERANDS}
    if any(known[name] is None or facts.get(f"{name}.source", ".smem_desc") != ".smem_desc" for name in OPERANDS):
        raise BadAtom(f"a witness requires both operands in shared memory; {atom} does not read both there")
    given = {name: _layout(name, texts[name]) for name in OPERANDS if name in texts}
    columns = {name: _shape(layout)[1] for name, layout in given.items()}
    if len(set(columns.values())) > 1:
        raise BadAtom(f"A has {columns['a']} columns along K, B has {columns['b']}")
    found = {}
    for name in OPERANDS:
        one = known[name]
        assert one is not None
        word, major, extents = one
        bits = smem_bits(book, facts, name)
        shape = _shape(given[name]) if name in given else (extents[0], next(iter(columns.values()), extents[1]))
        if any(whole % part for whole, part in zip(shape, extents, strict=True)):
            raise BadAtom(
                f"a tile of {shape[0]}x{shape[1]} elements of {name.upper()} is not a whole number of tiles of"
                f" {extents[0]}x{extents[1]}"
            )
        best = best_layout(book, atom, name, bits, shape)
        layout = given.get(name) or (best.layout if best is not None else None)
        if layout is None:
            raise BadAtom(f"no layout of {shape[0]}x{shape[1]} elements of {name.upper()} has a descriptor")
        found[name] = _operand(book, word, major, bits, extents, layout, best)
    return found


def _operand(
    book: Rulebook,
    word: str,
    major: str,
    bits: int,
    extents: tuple[int, int],
    layout: Layout | ComposedLayout,
    best: Placement | None,
) -> Operand:
    """An operand by its layout; one that no descriptor describes has that of the best layout."""
    why = ""
    for one in (layout, *((best.layout,) if best is not None else ())):
        try:
            whole, (descriptor, *_) = descriptors(book.under(HARDWARE), word, one, bits, extents, None, (major,))
            steps = whole.view
        except (NoDescriptor, Undecided) as error:
            if isinstance(error, Undecided):
                raise NotStaticLayout(layout) from None
            why = why or str(error)
            continue
        view = _read(book, descriptor, whole, bits)
        return Operand(layout, view, descriptor.value, steps, bits, extents, why)
    raise BadAtom(why)


class NotStaticLayout(BadAtom):
    """A layout with dynamic leaves."""

    def __init__(self, layout: Layout | ComposedLayout) -> None:
        super().__init__(f"{layout} is not static")


def _read(book: Rulebook, descriptor: OperandDescriptor, whole: TiledOperand, bits: int) -> Layout | ComposedLayout:
    """What the descriptors of all tiles describe, ``(mn,k)`` to elements."""
    rows, columns = modes(descriptor.canonical)
    if whole.rest is not None:
        # `rest` has the tiles along MN and along K, each at its place in elements.
        down, along = modes(whole.rest)[:2]
        rows, columns = (
            Layout((tile.shape, more.shape), (tile.stride, more.stride))
            for tile, more in ((rows, down), (columns, along))
        )
    layout = Layout((rows.shape, columns.shape), (rows.stride, columns.stride))
    count, base, shift = book.shared_table("smem_swizzle").rows[descriptor.swizzle,][:3]
    assert isinstance(count, int) and isinstance(base, int) and isinstance(shift, int)
    start = descriptor.start * 8 // bits
    if count == 0 and start == 0:
        return layout
    return ComposedLayout(Swizzle(count, base + 4 - bits.bit_length(), shift), start, layout)


def _repeated(
    book: Rulebook,
    asked: Asked,
    one: Sequence,
    operands: Mapping[str, Operand],
    placed: Mapping[str, Placed],
    results: int,
) -> list[Sequence]:
    """The sequence for each block of D, in which the instruction goes along K."""
    (down, along), (across, _) = (operands[name].tiles for name in OPERANDS)
    if (down, across, along) == (1, 1, 1):
        return [one]
    enabling = [name for name, text in one.operands.items() if re.fullmatch(r"p\d+", text)]
    if not enabling or asked.facts.get("ctas", 1) != 1:
        raise BadAtom(
            "a witness of several tiles requires an instruction of one block with a predicate that accumulates"
        )
    blocks = [(m, n) for n in range(across) for m in range(down)]
    registers = {name: one.operands[name] for name in (*OPERANDS, enabling[0])}
    if one.updates:  # D is in registers: each block of it is a sequence of its own
        row = -(-results * 4 // 16) * 16
        return [
            replace(
                one,
                parts={
                    **one.parts,
                    "setup": (*one.parts["setup"], f"add.u64 destination, destination, {i * THREADS * row};"),
                    "emit": _spread(one, _steps(operands, registers, [(m, n)], along)),
                },
            )
            for i, (m, n) in enumerate(blocks)
        ]
    width = operands["b"].extents[0]
    if width * len(blocks) > _COLUMNS:
        raise BadAtom(f"{len(blocks)} blocks of D of {width} columns are more than the {_COLUMNS} that D has")
    assert asked.lowered is not None
    wide = replace(asked.lowered, facts={**asked.lowered.facts, "N": width * len(blocks)})
    stored = sequence_of(book, replace(asked, lowered=wide), placed)
    lines = list(_steps(operands, registers, blocks, along, (one.operands["d"].strip("[]"), width)))
    return [replace(one, parts={**one.parts, "emit": _spread(one, lines), "finish": stored.parts["finish"]})]


_COLUMNS = 256  # of tensor memory that the template of tcgen05.mma keeps for D


def _spread(one: Sequence, lines: Iterable[str]) -> tuple[str, ...]:
    """The emitted lines with others in the place of the instruction; an empty one stands for it."""
    return tuple(
        again
        for line in one.parts["emit"]
        for again in ([x or line for x in lines] if line == one.instruction else [line])
    )


def _steps(
    operands: Mapping[str, Operand],
    registers: Mapping[str, str],
    blocks: list[tuple[int, int]],
    along: int,
    column: tuple[str, int] | None = None,
) -> list[str]:
    """The instruction (an empty line) for each tile, and before it what its descriptors move by.

    Args:
        column: the register with the first column of D, and the columns of a block.
    """
    enable = next(text for name, text in registers.items() if name not in OPERANDS)
    lines: list[str] = []
    at = dict.fromkeys(OPERANDS, 0)
    for i, (m, n) in enumerate(blocks):
        if i and column is not None:
            lines.append(f"add.u32 {column[0]}, {column[0]}, {column[1]};")
        for k in range(along):
            for name, row in zip(OPERANDS, (m, n), strict=True):
                to = operands[name].step(row, k)
                if to != at[name]:
                    lines.append(f"add.s64 {registers[name]}, {registers[name]}, {to - at[name]};")
                    at[name] = to
            if along > 1 and (k == 1 or (k == 0 and i)):
                lines.append(f"setp.{'eq' if k else 'ne'}.u32 {enable}, 0, 0;")
            lines.append("")
    if column is not None and len(blocks) > 1:
        lines.append(f"sub.u32 {column[0]}, {column[0]}, {column[1] * (len(blocks) - 1)};")
    return lines


def _layout(name: str, text: str) -> Layout | ComposedLayout:
    try:
        found = parse_layout(text)
    except SyntaxFault as fault:
        raise BadAtom(f"the layout of {name} cannot be read: column {fault.start + 1}: {fault}") from None
    if not isinstance(found, Layout | ComposedLayout):
        raise BadAtom(f"'{text}' is not a layout of {name.upper()}")
    if not is_static_layout(found.outer if isinstance(found, ComposedLayout) else found):
        raise NotStaticLayout(found)
    outer = found.outer if isinstance(found, ComposedLayout) else found
    if not isinstance(outer.shape, tuple) or len(outer.shape) != 2:
        raise BadAtom(f"'{text}' is not a layout of rows and columns, (mn,k)")
    return found


def _shape(layout: Layout | ComposedLayout) -> tuple[int, int]:
    outer = layout.outer if isinstance(layout, ComposedLayout) else layout
    assert isinstance(outer.shape, tuple), "rows and columns"
    rows, columns = (size(mode) for mode in outer.shape)
    assert isinstance(rows, int) and isinstance(columns, int), "it is static"
    return rows, columns


def _filled(one: Sequence, operands: Mapping[str, Operand], placed: Mapping[str, Placed]) -> Sequence:
    """The sequence with the operands written before it, visible to the tensor core."""
    lines = [".reg .b64 array;"]
    for name in OPERANDS:
        lines += [f"ld.param.b64 array, [{name}];", "cvta.to.global.u64 array, array;"]
        lines += fill("array", placed[name].offset, operands[name].layout, operands[name].bits, f"fill_{name}")
    lines += ["fence.proxy.async.shared::cta;", "barrier.sync 0;"]
    return replace(one, parts={**one.parts, "setup": (*lines, *one.parts["setup"])})


def _found(one: Operand) -> dict[int, int]:
    """For each element of an operand, by its index, the index of the one that the tensor core finds in its place.

    Where nothing was written there is none; of several that were written to one place, the last.
    """
    rows, columns = one.shape
    written = {crd2idx(i, one.layout): i for i in range(rows * columns)}
    places = ((i, crd2idx(i, one.read)) for i in range(rows * columns))
    return {i: written[place] for i, place in places if place in written}


def _wrong(operands: Mapping[str, Operand]) -> list[tuple[int, int]]:
    """The coordinates (m,n) whose row of A or column of B is not the one that the tensor core reads."""
    bad = []
    for one in (operands[name] for name in OPERANDS):
        rows, columns = one.shape
        found = _found(one)
        bad.append([any(found.get(row + rows * k) != row + rows * k for k in range(columns)) for row in range(rows)])
    return [(m, n) for n, column in enumerate(bad[1]) for m, row in enumerate(bad[0]) if row or column]


def found_by(made: Witness, name: str, values: Any) -> Any:
    """An operand as the tensor core reads it: an array of its rows and columns, 0 where nothing was written.

    Args:
        values: a numpy array of rows and columns.
    """
    import numpy as np  # noqa: PLC0415  what a kernel alone does not need

    rows, columns = made.shapes[name]
    flat = np.asarray(values).reshape((rows, columns)).ravel(order="F")
    found = _found(made.operands[name])
    seen = [flat[found[i]] if i in found else 0 for i in range(rows * columns)]
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
    down = made.operands["a"].tiles[0]
    height, width = (made.operands[name].extents[0] for name in OPERANDS)
    for block, thread, value in np.ndindex(*values.shape):
        m, n = holders(thread, value)
        found[m + height * (block % down), n + width * (block // down)] = values[block, thread, value]
    wrong = np.argwhere(found != dense["a"] @ dense["b"].T)
    agrees = bool((found == predicted(made, dense["a"], dense["b"])).all())
    return WitnessResult(agrees, tuple((int(m), int(n)) for m, n in wrong))


def _holders(book: Rulebook, made: Witness) -> Callable[[int, int], tuple[int, int]]:
    """Which element of D a thread keeps as its value of a number: the fragment C of the atom."""
    node = atom_node(made.atom)
    held = fragments(node, book) if node is not None else None
    if held is None or "C" not in held.layouts or made.facts.get("d.type") not in (".f32", ".s32"):
        raise BadAtom(f"the fragment of D of {made.atom} in 32-bit registers is not known")
    layout, rows = held.layouts["C"], made.operands["a"].extents[0]

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
    """The words of D, block by block, a row a thread."""
    import numpy as np  # noqa: PLC0415

    try:
        from cuda.bindings import driver  # noqa: PLC0415
    except ImportError as error:
        raise NoGpu("cuda-bindings is not installed (pip install 'tileproof[gpu]')") from error

    def call(result: tuple[Any, ...]) -> Any:
        status, *rest = result
        if status == driver.CUresult.CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
            raise NoGpu(f"the driver is too old for PTX {made.text.split()[1]}")
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
        call(driver.cuFuncSetAttribute(function, attribute, made.bytes))
        loaded, results = (len(names) for names in made.registers)
        row = -(-results // 4) * 4
        given = np.zeros((THREADS, -(-loaded // 4) * 4), dtype=np.uint32)  # accumulators 0, scale-d false
        blocks = made.operands["a"].tiles[0] * made.operands["b"].tiles[0]
        output = np.zeros((blocks, THREADS, row), dtype=np.uint32)
        addresses = []
        for array in (given, output, a, b):
            flat = np.ascontiguousarray(array)
            addresses.append(call(driver.cuMemAlloc(max(flat.nbytes, 16))))
            call(driver.cuMemcpyHtoD(addresses[-1], flat.ctypes.data, flat.nbytes))
        values = np.array([int(address) for address in addresses], dtype=np.uint64)
        pointers = np.array([values.ctypes.data + 8 * i for i in range(4)], dtype=np.uint64)
        call(driver.cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, made.bytes, 0, pointers.ctypes.data, 0))
        call(driver.cuCtxSynchronize())
        call(driver.cuMemcpyDtoH(output.ctypes.data, addresses[1], output.nbytes))
        for address in addresses:
            call(driver.cuMemFree(address))
        return output[:, :, :results].copy()
    finally:
        call(driver.cuDevicePrimaryCtxRelease(device))
