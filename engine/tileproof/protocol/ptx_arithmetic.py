"""What PTX instructions compute, of the values of the machine: integers of the width that the opcode says.

A register holds an integer as a signed one of its width; an instruction of an unsigned type reads it as unsigned. An
address stays one as long as it is displaced, aligned or swizzled, shifted into a descriptor or packed with other words.
What is not computed here is unknown. Terms of suppositions are those of the IR: a comparison in PTX and its counterpart
in another role of the kernel decide alike.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeAlias

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, replace
from tileproof.evaluate.hardware import descriptor_unit, field, limit
from tileproof.protocol import budget
from tileproof.protocol.folding import select, with_address
from tileproof.protocol.ptx_floats import MOVED, Computation, float_computation
from tileproof.protocol.smem_descriptors import described, displaced_descriptor, is_descriptor
from tileproof.protocol.terms import absorbing, is_truth, lift
from tileproof.protocol.values import Address, Lanes, Open, Supposed, Value, term_of
from tileproof.rulebase.book import Rulebook

_TYPE = regex(r"([usb])(8|16|32|64|128)\Z")
_COMPARISONS: dict[str, tuple[str, Callable[[int, int], bool]]] = {
    "eq": ("eq", operator.eq),
    "ne": ("ne", operator.ne),
    "lt": ("slt", operator.lt),
    "le": ("sle", operator.le),
    "gt": ("sgt", operator.gt),
    "ge": ("sge", operator.ge),
    "lo": ("ult", operator.lt),
    "ls": ("ule", operator.le),
    "hi": ("ugt", operator.gt),
    "hs": ("uge", operator.ge),
}
# Of floating-point numbers: what each says, and its contrary, which holds as well where one of them is no number.
_FLOATS: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    "eq": ("feq", operator.eq),
    "neu": ("fne", operator.ne),
    "lt": ("flt", operator.lt),
    "geu": ("fge", lambda a, b: not a < b),
    "gt": ("fgt", operator.gt),
    "leu": ("fle", lambda a, b: not a > b),
}
_FORMATS = {"f32": ("<I", "<f"), "f64": ("<Q", "<d")}
_ANSWERED = "clusterlaunchcontrol.query_cancel.is_canceled"
_FIRST_CTA = regex(r"clusterlaunchcontrol\.query_cancel\.get_first_ctaid(::[xyz]|\.v4)\.")

Lifted: TypeAlias = Callable[..., Value]


def signed(value: int, bits: int) -> int:
    """The lowest bits of an integer as a signed one."""
    half = 1 << bits - 1
    if -half <= value < half:
        return value
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >= half else value


def _unsigned(value: int, bits: int) -> int:
    return value if 0 <= value < 1 << bits else value & (1 << bits) - 1


def _quotient(a: int, b: int) -> int | None:
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int | None:
    quotient = _quotient(a, b)
    return None if quotient is None else a - quotient * b


def _selected_bytes(a: int, b: int, selector: int) -> int:
    """``prmt``: four bytes of two words, or their signs."""
    whole = (b & 0xFFFFFFFF) << 32 | a & 0xFFFFFFFF
    found = 0
    for i in range(4):
        chosen = selector >> 4 * i
        byte = whole >> 8 * (chosen & 7) & 0xFF
        if chosen & 8:
            byte = 0xFF if byte & 0x80 else 0
        found |= byte << 8 * i
    return signed(found, 32)


def _looked_up(a: int, b: int, c: int, table: int) -> int:
    """``lop3``: each bit by a table of three bits."""
    found = 0
    for i in range(8):
        if table >> i & 1:
            found |= (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
    return signed(found, 32)


def _funnel(opcode: str) -> Callable[[int, int, int], int]:
    left, wraps = opcode.startswith("shf.l"), ".wrap" in opcode

    def function(low: int, high: int, by: int) -> int:
        whole = (high & 0xFFFFFFFF) << 32 | low & 0xFFFFFFFF
        amount = by & 31 if wraps else min(by & 0xFFFFFFFF, 32)
        return signed(whole >> (32 - amount) if left else whole >> amount, 32)

    return function


@lru_cache(maxsize=4096)
def computation(book: Rulebook, opcode: str) -> Computation | None:
    """What an opcode computes; None where nothing is known of its result."""
    name, *pieces = opcode.split(".")
    if opcode.startswith(_ANSWERED):
        return _answered(opcode)
    if _FIRST_CTA.match(opcode):
        return _first_cta(opcode)
    if name != "setp" and "f32" in pieces:
        if name not in MOVED:
            return float_computation(opcode, name, pieces)
        pieces[-1] = "b32"
    makes = _MAKERS.get(name)
    if makes is None or not pieces:
        return None
    types = [found for piece in pieces if (found := _TYPE.match(piece)) is not None]
    predicate = pieces[-1] == "pred"
    if name == "setp" and pieces[-1] in _FORMATS:
        return _compare_floats(opcode, pieces)
    if not predicate and (not types or _TYPE.match(pieces[-1]) is None):
        return None
    if {"sat", "cc", "relu"} & set(pieces):
        return None
    kind, bits = ("p", 1) if predicate else (types[-1][1], int(types[-1][2]))
    return makes(_Opcode(book, opcode, name, tuple(pieces), kind, bits))


@dataclass(frozen=True, slots=True)
class _Opcode:
    """An opcode cut into pieces; ``kind`` is u, s, b, or p of a predicate, ``bits`` the width of its last type."""

    book: Rulebook
    text: str
    name: str
    pieces: tuple[str, ...]
    kind: str
    bits: int

    def read(self, value: int) -> int:
        """How it reads an operand."""
        return _unsigned(value, self.bits) if self.kind in "ub" else signed(value, self.bits)


def _integers(one: _Opcode, name: str, count: int, function: Callable[..., int | None], bits: int = 0) -> Computation:
    """A function of integers."""
    wide = bits or one.bits

    def whole(*operands: int) -> int | None:
        found = function(*operands)
        return None if found is None else signed(found, wide)

    lifted = lift(whole, name)
    return Computation(f"arith.{name}", count, lambda *values: (lifted(*values),))


_BYTE = 8


def sum_of(bits: int) -> Lifted:
    """Addition modulo so many bits."""
    half, mask = 1 << bits - 1, (1 << bits) - 1

    def columns(a: int | tuple[int, ...], b: int | tuple[int, ...]) -> tuple[int, ...]:
        if isinstance(a, tuple) and isinstance(b, tuple):
            return tuple([(one + other + half & mask) - half for one, other in zip(a, b, strict=True)])
        each, more = (a, b) if isinstance(a, tuple) else (b, a)
        return tuple([(one + more + half & mask) - half for one in each])  # type: ignore[operator,union-attr]

    return lift(lambda a, b: (a + b + half & mask) - half, "addi", columns)


def _add(one: _Opcode) -> Computation:
    lifted = sum_of(one.bits)
    return Computation("arith.addi", 2, lambda a, b: (displaced(one.book, lifted, a, b),))


def _subtract(one: _Opcode) -> Computation:
    bits = one.bits
    lifted = lift(lambda a, b: signed(a - b, bits), "subi")

    def function(a: Value, b: Value) -> Sequence[Value]:
        if not isinstance(a, Address):
            return (_short_of(a, b) if isinstance(b, Address) else lifted(a, b),)
        if isinstance(b, Address):
            known = a.memory == b.memory and a.offset is not None and b.offset is not None and a.unit == b.unit
            return (a.offset - b.offset if known else None,)  # type: ignore[operator]
        return (displaced(one.book, lifted, a, lifted(0, b)),)

    return Computation("arith.subi", 2, function)


def _short_of(whole: Value, base: Address) -> Value:
    """A number less an address in shared memory, of which the lowest bits are taken then, to round the address up."""
    if type(whole) is not int or base.memory.space != "smem" or base.unit != _BYTE:
        return None
    offset = None if base.offset is None else whole - base.offset
    return base.at(offset, -_BYTE, 1, tuple(None if part is None else whole - part for part in base.parts))


def _product(a: Value, b: Value, lifted: Lifted) -> Value:
    zero = absorbing(a, b)
    return lifted(a, b) if zero is None else zero


def _multiply(one: _Opcode) -> Computation | None:
    how, added = one.pieces[0], one.name == "mad"
    if how not in ("lo", "wide", "hi"):
        return None
    bits, result = one.bits, one.bits * 2 if how == "wide" else one.bits

    def times(a: int, b: int) -> int:
        found = one.read(a) * one.read(b)
        return signed(found >> bits if how == "hi" else found, result)

    lifted = lift(times, "muli" if how != "hi" else one.text)
    if not added:
        return Computation("arith.muli", 2, lambda a, b: (_product(a, b, lifted),))
    total = sum_of(result)
    return Computation("mad", 3, lambda a, b, c: (displaced(one.book, total, _product(a, b, lifted), c),))


def _divide(one: _Opcode) -> Computation | None:
    if one.kind == "b":
        return None
    function = _quotient if one.name == "div" else _remainder
    name = "divsi" if one.name == "div" else "remsi"
    return _integers(one, name, 2, lambda a, b: function(one.read(a), one.read(b)))


def _extreme(one: _Opcode) -> Computation:
    function = min if one.name == "min" else max
    return _integers(one, f"{one.name}si", 2, lambda a, b: function(one.read(a), one.read(b)))


def _conjoin(one: _Opcode) -> Computation:
    book, bits = one.book, one.bits
    lifted = lift(operator.and_, "andi")
    unit = descriptor_unit(book)
    low = (1 << field(book, "tcgen05.descriptor", "start").width) - 1
    full = (low + 1) * unit - 1  # the bits of an address
    pair, period, swizzled = 1 << limit(book, "pair_bit"), limit(book, "swizzle_bytes"), _swizzle_reach(book)

    def aligned(base: Address, mask: int) -> Value:
        mask &= (1 << bits) - 1
        if is_negated(base):
            return _bits_of(base, 0, mask, period)
        counted = is_descriptor(base, unit)
        by = _shift_of(base) if is_shifted(base) else unit.bit_length() - 1 if counted else 0
        if is_shifted(base) or (base.memory.space == "smem" and mask << by < swizzled):
            return _bits_of(base, by, mask, swizzled)
        if base.memory.space == "tmem":
            kept = mask & base.memory.columns
            at_lane_0 = base.lane == 0 and base.first_lane == 0  # as allocations are
            return base if kept == base.memory.columns else 0 if not kept and at_lane_0 else None
        if base.memory.space != "smem":
            return None
        if counted:
            if not ~mask & low:
                return base
            mask = (mask & low) * unit  # what is below counts no bit of the descriptor
        clear = ~mask & full
        if clear == full or (clear & clear + 1 and clear >= period):  # neither rounds down nor clears low bits alone
            return None
        offset = None if base.offset is None else base.offset & ~clear
        parts = tuple(None if part is None else part & ~clear for part in base.parts)
        there = base.at(offset, base.unit, base.extent, parts)
        if counted:
            return there
        others = (mask | pair | full) & 0xFFFFFFFF == 0xFFFFFFFF  # none but the bit of the pair is cleared above
        return replace(there, leader=True) if others and not mask & pair else there

    def function(a: Value, b: Value) -> Sequence[Value]:
        base, mask = (a, b) if isinstance(a, Address) else (b, a)
        if isinstance(base, Address):
            return (aligned(base, mask) if isinstance(mask, int) else None,)
        return (_with_known(lifted, 0, a, b),)

    return Computation("arith.andi", 2, function)


def _with_known(lifted: Lifted, decisive: int, a: Value, b: Value) -> Value:
    """A conjunction or disjunction, which one operand may decide alone."""
    for one in (a, b):
        if type(one) is int and one == decisive:
            return decisive
    if a is None or b is None or isinstance(a, Open) or isinstance(b, Open):
        known = a if isinstance(a, Lanes) else b
        if isinstance(known, Lanes):
            return Lanes(tuple(one if one == decisive else None for one in known.each), known.term)
    found = lifted(a, b)
    if isinstance(found, Lanes) and isinstance(a, Lanes) is not isinstance(b, Lanes):
        lanes, truth = (a, b) if isinstance(a, Lanes) else (b, a)
        if isinstance(lanes, Lanes) and lanes.term is None and is_truth(truth):
            return Lanes(found.each, term_of(truth))  # a run that is told of the truth computes it anew
    return found


def _disjoin(one: _Opcode) -> Computation:
    lifted = lift(operator.or_, "ori")

    def function(a: Value, b: Value) -> Sequence[Value]:
        if isinstance(a, Address) or isinstance(b, Address):
            return (displaced(one.book, lifted, a, b),)
        return (_with_known(lifted, 1, a, b) if one.kind == "p" else lifted(a, b),)

    return Computation("arith.ori", 2, function)


def _exclude(one: _Opcode) -> Computation:
    lifted = lift(operator.xor, "xori")
    raised = lift(operator.lshift, "shli")
    unit, pair = descriptor_unit(one.book), 1 << limit(one.book, "pair_bit")
    reach = 1 << field(one.book, "tcgen05.descriptor", "start").width

    def function(a: Value, b: Value) -> Sequence[Value]:
        base, bits = (a, b) if isinstance(a, Address) else (b, a)
        if not isinstance(base, Address):
            return (lifted(a, b),)
        if base.memory.space != "smem" or is_negated(base) or isinstance(bits, Supposed):
            return (None,)
        if is_descriptor(base, unit):  # other fields than the start address do not say where it is
            return (base if isinstance(bits, int) and not bits & reach - 1 else None,)
        if is_shifted(base):  # its bits are those of the address, so much higher
            return (_swizzled(base, raised(bits, _shift_of(base))),)
        if isinstance(bits, int) and bits & pair and not base.leader and not isinstance(base.peer, Lanes):
            base, bits = replace(base, peer=not base.peer), bits & ~pair
        if isinstance(bits, Lanes) and any(by is not None and by & pair for by in bits.each) and not base.leader:
            base = replace(
                base, peer=_others(base.peer, Lanes(tuple(by if by is None else by & pair for by in bits.each)))
            )
            bits = Lanes(tuple(by if by is None else by & ~pair for by in bits.each))
        return (_swizzled(base, bits),)

    return Computation("arith.xori", 2, function)


def _others(usual: bool | Lanes, flipped: Lanes) -> Lanes:
    """Which threads name the other CTA of a pair, where some of them name another one than they did."""
    before = usual.each if isinstance(usual, Lanes) else (int(usual),) * len(flipped.each)
    both = zip(before, flipped.each, strict=True)
    return Lanes(tuple(None if was is None or by is None else int(bool(was) is not bool(by)) for was, by in both))


def _swizzled(base: Address, bits: Value) -> Value:
    """An address with bits flipped: an allocation begins at a multiple of what is flipped."""
    if isinstance(bits, Lanes):
        starts = base.parts or (base.offset,) * len(bits.each)
        both = zip(starts, bits.each, strict=False)
        parts = tuple(None if at is None or by is None or by < 0 else at ^ by for at, by in both)
        return base.at(None, base.unit, None, parts)
    if not isinstance(bits, int) or bits < 0:
        return None
    parts = tuple(None if part is None else part ^ bits for part in base.parts)
    return base.at(None if base.offset is None else base.offset ^ bits, base.unit, base.extent, parts)


def _invert(one: _Opcode) -> Computation:
    if one.kind == "p":
        lifted = lift(operator.xor, "xori")
        return Computation("arith.xori", 1, lambda a: (lifted(a, 1),))
    return _integers(one, "not", 1, operator.invert)


def _negate(one: _Opcode) -> Computation:
    return _integers(one, one.name, 1, operator.neg if one.name == "neg" else lambda a: abs(signed(a, one.bits)))


def _left(one: _Opcode) -> Computation:
    bits, unit, period = one.bits, descriptor_unit(one.book), limit(one.book, "swizzle_bytes")
    steps = unit.bit_length() - 1  # from bytes to what a descriptor counts in
    lifted = lift(lambda a, b: signed(a << b, bits) if 0 <= b < bits else 0, "shli")

    def function(a: Value, b: Value) -> Sequence[Value]:
        if isinstance(a, Address):
            if is_descriptor(a, unit) and b == steps:
                return (replace(a, unit=_BYTE, extent=None),)
            return (_above_start(a, b, bits, period) if isinstance(b, int) and steps <= b <= bits else None,)
        return (lifted(a, b),)

    return Computation("arith.shli", 2, function)


def _above_start(base: Address, by: int, bits: int, period: int) -> Value:
    """An address in shared memory, shifted left for another field of a descriptor than its start.

    Its low bits are known, for an allocation begins at a multiple of a swizzle; the others are no bits of the start.

    Args:
        period: the bytes in which the widest swizzle repeats.
    """
    if base.memory.space != "smem" or base.unit != _BYTE or base.offset is None or base.parts:
        return None
    return Supposed(signed((base.offset & period - 1) << by, bits), hash((base.memory.serial, base.offset, int(by))))


def _right(one: _Opcode) -> Computation:
    bits, unit = one.bits, descriptor_unit(one.book)
    steps, reach = unit.bit_length() - 1, _swizzle_reach(one.book).bit_length() - 1
    name = "shrsi" if one.kind == "s" else "shrui"
    lifted = lift(lambda a, b: signed(one.read(a) >> min(max(b, 0), bits), bits) if b >= 0 else None, name)

    def function(a: Value, b: Value) -> Sequence[Value]:
        if isinstance(a, Address):
            if is_negated(a) or is_shifted(a):
                return (None,)
            if a.memory.space == "smem" and b == steps:
                return (described(a, unit),)
            if a.memory.space == "smem" and a.unit == _BYTE and isinstance(b, int) and 0 < b < reach:
                return (replace(a, unit=-_BYTE << b),)
            return (_lane(a, b),)
        return (lifted(a, b),)

    return Computation(f"arith.{name}", 2, function)


def _swizzle_reach(book: Rulebook) -> int:
    """The bytes below which the bits of an address are known, for its allocation is supposed to begin at a multiple."""
    return budget.limit(book, "swizzle_reach", ptx=True)


def is_shifted(base: Address) -> bool:
    """Whether it is an address shifted right, so that a swizzle can take bits of it."""
    return base.unit < -_BYTE


def _shift_of(base: Address) -> int:
    """By how many bits it is."""
    return (-base.unit // _BYTE).bit_length() - 1


def is_negated(base: Address) -> bool:
    """Whether it is a number less an address: of that only the lowest bits are known."""
    return base.unit == -_BYTE


def _bits_of(base: Address, by: int, mask: int, period: int) -> Value:
    """Bits of an address that are the same wherever its allocation lies, for that begins at a multiple of some bytes.

    Args:
        by: how far they are shifted right.
        mask: which are taken then.
        period: the bytes, a power of two.
    """
    if mask << by >= period:
        return None
    if base.parts:
        return Lanes(tuple(None if part is None else part >> by & mask for part in base.parts))
    return None if base.offset is None else base.offset >> by & mask


def _lane(base: Address, by: Value) -> Value:
    return 0 if base.memory.space == "tmem" and by == base.memory.lane else None


def displaced(book: Rulebook, lifted: Lifted, a: Value, b: Value) -> Value:
    """A sum, perhaps of an address or of a descriptor, whose lowest bits count 16 bytes."""
    base, distance = (a, b) if isinstance(a, Address) else (b, a)
    if not isinstance(base, Address):
        return lifted(a, b)
    if is_shifted(base) or is_negated(base):
        return None
    if not is_descriptor(base, descriptor_unit(book)):
        return with_address(lifted, base, distance)
    return displaced_descriptor(base, distance, 1 << field(book, "tcgen05.descriptor", "start").width)


def _select(one: _Opcode) -> Computation:
    return Computation("arith.select", 3, lambda a, b, c: (select(c, a, b),))


def _compare(one: _Opcode) -> Computation | None:
    """``setp``: the second destination and a third predicate to combine with are not read here."""
    found = _COMPARISONS.get(one.pieces[0])
    if found is None or one.kind == "p":
        return None
    name, compare = found
    if one.kind == "u" and name.startswith("s"):
        name = "u" + name[1:]
    reads = one.read if one.kind != "b" else lambda value: signed(value, one.bits)
    if name.startswith("u"):
        reads = lambda value: _unsigned(value, one.bits)  # noqa: E731
    lifted = lift(lambda a, b: int(compare(reads(a), reads(b))), name)

    def compared(a: Value, b: Value) -> Value:
        if isinstance(a, Address) and isinstance(b, Address):
            known = a.memory == b.memory and a.offset is not None and b.offset is not None and not a.parts + b.parts
            known = known and not (is_shifted(a) or is_shifted(b) or is_negated(a) or is_negated(b))
            return int(compare(a.offset, b.offset)) if known else None  # type: ignore[arg-type]
        if (isinstance(a, Address) and type(b) is int and b == 0) or (isinstance(b, Address) and type(a) is int):
            unknown = any(isinstance(one, Address) and None in one.parts for one in (a, b))  # some may have none
            return None if unknown else {"eq": 0, "ne": 1}.get(name)
        return lifted(a, b)

    joins = {"and": lift(operator.and_, "andi"), "or": lift(operator.or_, "ori"), "xor": lift(operator.xor, "xori")}
    joined = joins.get(one.pieces[1]) if len(one.pieces) > 2 else None
    if joined is None:
        return Computation(f"arith.cmpi {name}", 2, lambda a, b: (compared(a, b),))
    decisive = {"and": 0, "or": 1}.get(one.pieces[1], 2)
    return Computation(one.text, 3, lambda a, b, c: (_with_known(joined, decisive, compared(a, b), c),))


def _compare_floats(opcode: str, pieces: Sequence[str]) -> Computation | None:
    """A comparison of numbers that a kernel gets, as of a scale factor with zero: by it roles leave steps out."""
    found = _FLOATS.get(pieces[0])
    if found is None or len(pieces) != 2:
        return None
    name, compare = found
    whole, number = _FORMATS[pieces[1]]
    bits = 8 * struct.calcsize(whole)

    def read(value: int) -> float:
        held: float = struct.unpack(number, struct.pack(whole, _unsigned(value, bits)))[0]
        return held

    lifted = lift(lambda a, b: int(compare(read(a), read(b))), name)
    return Computation(opcode, 2, lambda a, b: (lifted(a, b),))


def _convert(one: _Opcode) -> Computation | None:
    types = [found for piece in one.pieces if (found := _TYPE.match(piece)) is not None]
    if len(types) != 2 or any(piece[0] in "fe" for piece in one.pieces):
        return None
    (_, to), (kind, of) = ((found[1], int(found[2])) for found in types)

    def convert(a: int) -> int:
        return signed(_unsigned(a, of) if kind in "ub" else signed(a, of), to)

    lifted = lift(convert, one.text)

    def function(a: Value) -> Sequence[Value]:
        if isinstance(a, Address):
            least = 16 if is_descriptor(a, descriptor_unit(one.book)) else 32  # the bits that it has in shared memory
            return (a if min(to, of) >= least else None,)
        if isinstance(a, int) and convert(a) == a:
            return (a,)
        if isinstance(a, Lanes) and all(each is None or convert(each) == each for each in a.each):
            return (a,)
        return (lifted(a),)

    return Computation("arith.extui", 1, function)


def _move(one: _Opcode) -> Computation:
    if one.kind == "p":  # compilers write -1 for a predicate that holds
        return Computation("arith.extui", 1, lambda a: (1 if type(a) is int and a else a,))
    return Computation("arith.extui", 1, lambda a: (a,))


def _extract(one: _Opcode) -> Computation:
    bits, unit = one.bits, descriptor_unit(one.book)
    period, steps = _swizzle_reach(one.book), unit.bit_length() - 1

    def cut_out(a: int, at: int, width: int) -> int:
        at, width = at & 0xFF, width & 0xFF
        found = _unsigned(a, bits) >> at & (1 << width) - 1
        return signed(signed(found, width) if one.kind == "s" and width else found, bits)

    lifted = lift(cut_out, one.text)

    def function(a: Value, at: Value, width: Value) -> Sequence[Value]:
        if isinstance(a, Address):
            if a.memory.space != "smem" or is_shifted(a):
                return (None,)
            if isinstance(at, int) and isinstance(width, int) and at >= 0 and 0 < at + width < period.bit_length():
                return (_bits_of(a, at, (1 << width) - 1, period) if a.unit == _BYTE and width >= 0 else None,)
            return (described(a, unit) if at == steps else None,)
        return (lifted(a, at, width),)

    return Computation(one.text, 3, function)


def _insert(one: _Opcode) -> Computation:
    bits, unit = one.bits, descriptor_unit(one.book)

    def put(a: int, b: int, at: int, width: int) -> int:
        at, width = at & 0xFF, width & 0xFF
        mask = ((1 << width) - 1) << at & (1 << bits) - 1
        return signed(b & ~mask | a << at & mask, bits)

    lifted = lift(put, one.text)

    def function(a: Value, b: Value, at: Value, width: Value) -> Sequence[Value]:
        if isinstance(a, Address):
            return (a if at == 0 and is_descriptor(a, unit) else None,)
        if isinstance(b, Address):
            return (b if is_descriptor(b, unit) and isinstance(at, int) and at >= 2 * _BYTE else None,)
        return (lifted(a, b, at, width),)

    return Computation(one.text, 4, function)


def _answered(opcode: str) -> Computation:
    """Whether an answer of the hardware gives a CTA the work of another one: all who read it find the same."""
    lifted = lift(lambda a, b: int(a != b), "ne")
    return Computation(opcode, 1, lambda a: (lifted(a, 0),))


def _first_cta(opcode: str) -> Computation:
    """A place in the grid that an answer gives: a run supposes the first one, all who read it alike."""
    if ".v4." not in opcode:
        lifted = lift(lambda a: 0, opcode)
        return Computation(opcode, 1, lambda a: (lifted(a),))
    each = [lift(lambda a: 0, opcode.replace(".v4", f"::{place}")) for place in "xyz"]
    return Computation(opcode, 1, lambda a: (*(one(a) for one in each), None), 4)


def _words(one: _Opcode, count: int, function: Callable[..., int | None]) -> Computation | None:
    return _integers(one, one.text, count, function) if one.bits == 32 else None


def _popular(one: _Opcode) -> Computation:
    count = lift(lambda a: _unsigned(a, one.bits).bit_count(), one.text)
    return Computation(one.text, 1, lambda a: (count(a),))


def _leading(one: _Opcode) -> Computation:
    return _integers(one, one.text, 1, lambda a: one.bits - _unsigned(a, one.bits).bit_length(), 32)


def _highest(one: _Opcode) -> Computation:
    """``bfind``: where the highest bit is that is not as the sign; with ``.shiftamt`` how far it is from the top."""

    def place(a: int) -> int:
        whole = ~a if one.kind == "s" and signed(a, one.bits) < 0 else a
        found = _unsigned(whole, one.bits).bit_length() - 1
        return one.bits - 1 - found if found >= 0 and "shiftamt" in one.pieces else found

    return _of_known(_integers(one, one.text, 1, place, 32))


def _reversed(one: _Opcode) -> Computation:
    return _of_known(_integers(one, one.text, 1, lambda a: int(f"{_unsigned(a, one.bits):0{one.bits}b}"[::-1], 2)))


def _of_known(found: Computation) -> Computation:
    """A computation that says nothing of what stands for any number: which bits that has would be made up."""
    return replace(found, function=lambda a: (None,) if isinstance(a, Open) else found.function(a))


_MAKERS: dict[str, Callable[[_Opcode], Computation | None]] = {
    "mov": _move,
    "cvta": _move,
    "cvt": _convert,
    "add": _add,
    "sub": _subtract,
    "mul": _multiply,
    "mad": _multiply,
    "div": _divide,
    "rem": _divide,
    "min": _extreme,
    "max": _extreme,
    "and": _conjoin,
    "or": _disjoin,
    "xor": _exclude,
    "not": _invert,
    "neg": _negate,
    "abs": _negate,
    "shl": _left,
    "shr": _right,
    "selp": _select,
    "setp": _compare,
    "bfe": _extract,
    "bfi": _insert,
    "lop3": lambda one: _words(one, 4, _looked_up),
    "prmt": lambda one: _words(one, 3, _selected_bytes) if len(one.pieces) == 1 else None,
    "shf": lambda one: _words(one, 3, _funnel(one.text)),
    "popc": _popular,
    "clz": _leading,
    "bfind": _highest,
    "brev": _reversed,
}


def pack(values: Sequence[Value], bits: int) -> Value:
    """A register of several parts, the lowest first; an address in the lowest is the address of all."""
    if isinstance(values[0], Address):
        return values[0]
    count = len(values)

    def joined(*parts: int) -> int:
        whole = sum((part & (1 << bits) - 1) << i * bits for i, part in enumerate(parts))
        return signed(whole, bits * count)

    return lift(joined, f"join {bits}")(*values)


def unpack(value: Value, index: int, bits: int) -> Value:
    """One part of a register."""
    if isinstance(value, Address):
        return value if index == 0 else None
    return lift(lambda whole: signed(whole >> index * bits, bits), f"part {index} of {bits}")(value)


__all__ = ["Computation", "computation", "displaced", "pack", "signed", "sum_of", "unpack"]
