"""From the texts of a question to the claim: what every way of asking, command line or function, goes through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tileproof.layout import LayoutError, Swizzle, Tuple
from tileproof.prove import reach
from tileproof.prove.access import Accesses, positions
from tileproof.prove.equivalence import Equivalent
from tileproof.prove.maps import Map
from tileproof.prove.parse import AnyText, MemoryLayout, base_of, facts, read
from tileproof.prove.reach import How, Reaches
from tileproof.prove.symbols import Number, content, product_of
from tileproof.prove.threads import through

if TYPE_CHECKING:
    from tileproof.prove.hardware import WarpAccess

Texts = tuple[str, ...]
Element = str | int | None
Pointer = str | Swizzle | None


def _bits(element: Element) -> int | None:
    if element is None:
        return None
    from tileproof.prove.hardware import element_bits  # noqa: PLC0415 - reads the rule files

    bits = element_bits(element)
    if bits is not None and not 1 <= bits <= 1024:
        raise LayoutError(f"an element must have 1 to 1024 bits, not {bits}")
    return bits


def equivalent(first: AnyText, second: AnyText, element: Element = None, assume: Texts = ()) -> Equivalent:
    """That two layouts are one function of an index."""
    bits = _bits(element)
    one = read(first, bits)
    return Equivalent.of(one, read(second, bits, beside=one), assume)


def injective(layout: AnyText, element: Element = None, assume: Texts = ()) -> Reaches:
    """That no two coordinates have the same value."""
    return reach.injective(read(layout, _bits(element)), assume)


def bijective(layout: AnyText, element: Element = None, assume: Texts = ()) -> Reaches:
    """That the offsets are 0 to size - 1, each once."""
    return reach.bijective(read(layout, _bits(element)), assume)


def covers(
    layout: AnyText, tile: str | Tuple, at_least_once: bool = False, element: Element = None, assume: Texts = ()
) -> Reaches:
    """That each element of a tile is reached."""
    shape: Any = tile
    if isinstance(tile, str):
        from tileproof.syntax.layouts import layout as parse  # noqa: PLC0415

        shape = parse(tile)
    how = How.AT_LEAST_ONCE if at_least_once else How.ONCE
    return reach.covers(read(layout, _bits(element)), shape, str(tile), how, assume)


def aligned(
    layout: AnyText,
    vector: int,
    element: Element = None,
    size: int | None = None,
    mode: int | None = None,
    swizzle: Pointer = None,
    align: int | None = None,
    assume: Texts = (),
) -> Accesses:
    """That each access of ``vector`` elements along a mode is contiguous and starts at a multiple of ``size`` bytes."""
    operand = read(layout, _bits(element), swizzle, align)
    bits = _element(operand)
    if vector < 1:
        raise LayoutError(f"an access must have at least one element, not {vector}")
    if size is None:
        size = vector * bits // 8
        if size < 1 or vector * bits % 8 or size & (size - 1):
            raise LayoutError(f"{vector} elements of {bits} bits are not a power of two of bytes: use --bytes")
    if size < 1 or size & (size - 1):
        raise LayoutError(f"the alignment must be a power of two of bytes, not {size}")
    base = base_of(operand.align, max(size, operand.window)) if operand.align is not None else None
    what = operand.addresses(base)
    run = positions(what, _contiguous(operand) if mode is None else mode)
    known = facts((operand,), assume, base)
    return Accesses(
        operand.text,
        what.reduced(known.reduced),
        known,
        run,
        range(0),
        vector,
        bits,
        size,
        1,
        None,
        f"has every access of {vector} elements contiguous and at a multiple of {size} bytes",
    )


def conflict_free(
    layout: AnyText,
    access: str,
    element: Element = None,
    tv: AnyText | None = None,
    mode: int | None = None,
    swizzle: Pointer = None,
    align: int | None = None,
    assume: Texts = (),
) -> Accesses:
    """That no phase of an access to shared memory needs two words of one bank."""
    from tileproof.prove import hardware  # noqa: PLC0415 - reads the rule files

    how = hardware.access(access)
    memory = read(layout, _bits(element), swizzle, align)
    bits = _element(memory)
    vector, left = divmod(8 * how.width, bits)
    if left or vector < 1:
        raise LayoutError(f"{how.name} moves {how.width} bytes per lane, not a whole number of elements of {bits} bits")
    base = base_of(memory.align, max(how.width, memory.window)) if memory.align is not None else None
    what, operands = memory.addresses(base), [memory]
    if tv is not None:
        threads = read(tv, beside=memory)
        operands.append(threads)
        _thread_values(threads.elements, threads.text)
        what, rows, run = through(threads.elements, memory, what)
    elif how.rows:
        run_mode = _contiguous(memory) if mode is None else mode
        rows, run = _matrices(what, run_mode, memory.text)
        _holds_matrices(what, rows, run, how, vector)
    else:
        rows, run = _thread_values(what, memory.text)
    known = facts(operands, assume, base)
    claim = f"is free of bank conflicts under {how.name} of {bits}-bit elements"
    what = what.reduced(known.reduced)
    return Accesses(memory.text, what, known, run, rows, vector, bits, how.width, how.lanes, how.banks, claim)


def _element(operand: MemoryLayout) -> int:
    if operand.bits is None:
        raise LayoutError("missing element type for addresses: use --element, such as --element f16")
    return operand.bits


def _contiguous(operand: MemoryLayout) -> int:
    """The mode whose first leaf steps from element to element; the first mode where there is none."""
    what = operand.elements
    shape = what.shape if isinstance(what.shape, tuple) else (what.shape,)
    for mode in range(len(shape)):
        leaves = [what.leaves[place] for place in positions(what, mode) if what.leaves[place].extent != 1]
        if leaves and leaves[0].steps == (1,):
            return mode
    return 0


def _thread_values(what: Map, text: str) -> tuple[range, range]:
    if not isinstance(what.shape, tuple) or len(what.shape) != 2:
        raise LayoutError(f"a TV layout has two modes, (threads, values), unlike {text}")
    return positions(what, 0), positions(what, 1)


def _matrices(what: Map, run: int, text: str) -> tuple[range, range]:
    if not isinstance(what.shape, tuple) or len(what.shape) < 2:
        raise LayoutError(f"matrices require a layout of rows and columns, unlike {text}")
    columns = positions(what, run)
    return positions(what, 1 if run == 0 else 0), columns


def _holds_matrices(what: Map, rows: range, run: range, how: WarpAccess, vector: int) -> None:
    height, length = (product_of(what.leaves[place].extent for place in places) for places in (rows, run))
    for number, wanted, name in ((height, how.rows, "rows"), (length, vector, "elements per row")):
        if content(number) % wanted:
            raise LayoutError(f"{how.name} moves matrices of {wanted} {name}, which do not divide {_shown(number)}")
    tile = what.size
    if isinstance(tile, int) and tile < how.matrices * how.rows * vector:
        raise LayoutError(f"{how.name} moves {how.matrices} matrices, more than a tile of {tile} elements holds")


def _shown(number: Number) -> str:
    return str(number) if isinstance(number, int) else "the dynamic extent for all its values"
