"""The MMA instructions that the grammar of the PTX ISA can write, legal or not; for ptxas to say which are.

Written from the ISA's syntax alone, wider than any table of legal shapes: every shape with every pair of types of one
size and every accumulator. The registers follow from shape and types: a warp's 32 lanes, or a warpgroup's 128 threads,
share a fragment. Nothing here reads rules/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product

BITS = {
    **{"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "f32": 32, "s32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1},
    **{"e4m3": 8, "e5m2": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4},
}
NARROW = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
PAIRS = [
    *((one, one) for one in ("f16", "bf16", "tf32", "f64", "b1")),
    *product(("s8", "u8"), repeat=2),
    *product(("s4", "u4"), repeat=2),
    *product(NARROW, repeat=2),
]
FLOATS = [("f16", "f16"), ("f32", "f32"), ("f32", "f16"), ("f16", "f32")]
DEPTHS = (4, 8, 16, 32, 64, 128, 256)
_LETTER = {"f32": "f", "f64": "d"}
_TYPE = re.compile(r"(f16|bf16|tf32|f32|f64|s32|s8|u8|s4|u4|b1|e4m3|e5m2|e3m2|e2m3|e2m1)$")


def accumulators(a: str) -> list[tuple[str, str]]:
    """Types of D and C that make any sense."""
    if a == "f64":
        return [("f64", "f64")]
    return [("s32", "s32")] if a in ("s8", "u8", "s4", "u4", "b1") else FLOATS


class _Registers:
    def __init__(self) -> None:
        self.used: dict[str, int] = {}

    def tuple(self, letter: str, count: int) -> str:
        first = self.used.get(letter, 0)
        self.used[letter] = first + count
        return "{" + ",".join(f"{letter}{first + i}" for i in range(count)) + "}"


def _fragment(registers: _Registers, elements: int, kind: str, stored: int, lanes: int = 32) -> str:
    """The registers of one thread for its share of a fragment."""
    width = 64 if kind == "f64" else 32
    return registers.tuple(_LETTER.get(kind, "r"), max(1, -(-elements * stored // (lanes * width))))


def _stored(kind: str, packed: bool) -> int:
    """The bits that an element has in its register: FP6 and FP4 fill a byte unless they are packed."""
    return 8 if kind in NARROW and not packed else BITS[kind]


def warp() -> Iterator[str]:
    """mma and mma.sp without scale factors."""
    for m, k, (a, b) in product((8, 16), DEPTHS, PAIRS):
        for d, c in accumulators(a):
            layouts = list(product(("row", "col"), repeat=2)) if (m, k) == (8, 4) else [("row", "col")]
            kinds = ("", ".kind::f8f6f4") if a in NARROW else ("",)
            operations = ("", ".xor.popc", ".and.popc") if a == "b1" else ("",)
            ends = ("", ".satfinite") if d == "s32" and a != "b1" else ("",)
            for sparse, (la, lb), kind, op, end in product(
                ("", ".sp", ".sp::ordered_metadata"), layouts, kinds, operations, ends
            ):
                registers = _Registers()
                # m8n8k4 of floats is four products, one of each quad pair: every lane holds a fragment of its own.
                share = 8 if (m, k) == (8, 4) and a != "f64" else 32
                share_a = share if share == 32 or a not in ("tf32",) else 8
                operands = [
                    _fragment(registers, m * 8, d, BITS[d], share),
                    _fragment(registers, m * k // (2 if sparse else 1), a, _stored(a, packed=False), share_a),
                    _fragment(registers, k * 8, b, _stored(b, packed=False), share_a),
                    _fragment(registers, m * 8, c, BITS[c], share),
                ]
                if sparse:
                    operands += ["r200", "0"]
                opcode = f"mma{sparse}.sync.aligned.m{m}n8k{k}.{la}.{lb}{kind}.{d}.{a}.{b}.{c}{op}{end}"
                yield f"{opcode} {','.join(operands)};"


def scaled() -> Iterator[str]:
    """mma with block scaling."""
    kinds = ("mxf8f6f4", "mxf4", "mxf4nvf4")
    for k, (a, b), kind, vector, scale in product(
        (32, 64, 128), product(NARROW, repeat=2), kinds, ("1X", "2X", "4X"), ("ue8m0", "ue4m3")
    ):
        for sparse in ("", ".sp::ordered_metadata"):
            registers = _Registers()
            packed = kind != "mxf8f6f4"
            operands = [
                registers.tuple("f", 4),
                _fragment(registers, 16 * k // (2 if sparse else 1), a, _stored(a, packed)),
                _fragment(registers, k * 8, b, _stored(b, packed)),
                registers.tuple("f", 4),
                *(("r200", "0") if sparse else ()),
                *("r201", "{0,0}", "r202", "{0,0}"),
            ]
            opcode = f"mma{sparse}.sync.aligned.m16n8k{k}.row.col.kind::{kind}.block_scale.scale_vec::{vector}"
            yield f"{opcode}.f32.{a}.{b}.f32.{scale} {','.join(operands)};"


def wmma() -> Iterator[str]:
    """wmma.mma."""
    shapes = [(16, 16), (32, 8), (8, 32), (8, 8), (16, 8), (8, 16)]
    for (m, n), k, a in product(
        shapes, (4, 8, 16, 32, 128), ("f16", "bf16", "tf32", "f64", "s8", "u8", "s4", "u4", "b1")
    ):
        for (d, c), la, lb in product(accumulators(a), ("row", "col"), ("row", "col")):
            operations = (".xor.popc", ".and.popc") if a == "b1" else ("",)
            roundings = ("", ".rz") if a == "f64" else ("",)
            ends = ("", ".satfinite") if d == "s32" and a != "b1" else ("",)
            for op, rounding, end in product(operations, roundings, ends):
                registers = _Registers()
                operands = [
                    _fragment(registers, m * n, d, BITS[d]),
                    registers.tuple("r", 8) if a == "f16" else _fragment(registers, m * k, a, BITS[a]),
                    registers.tuple("r", 8) if a == "f16" else _fragment(registers, n * k, a, BITS[a]),
                    _fragment(registers, m * n, c, BITS[c]),
                ]
                types = f"{d}.{c}" if a == "f16" else f"{d}.{a}.{a}.{c}"
                opcode = f"wmma.mma{op}.sync.aligned.{la}.{lb}.m{m}n{n}k{k}{rounding}.{types}{end}"
                yield f"{opcode} {','.join(operands)};"


def wgmma(widths: Iterable[int] = range(8, 264, 8)) -> Iterator[str]:
    """wgmma.mma_async, dense and sparse, with signs of 1."""
    for n, (a, b), sparse, source in product(widths, PAIRS, ("", ".sp"), ("desc", "regs")):
        if a in ("f64", "s4", "u4", "e3m2", "e2m3", "e2m1") or b in ("e3m2", "e2m3", "e2m1"):
            continue  # of no type with 256 bits a row
        k = 256 // BITS[a] * (2 if sparse else 1)
        for d in dict.fromkeys(d for d, _ in accumulators(a)):
            trailing: list[tuple[int, ...]] = [()]
            if a in ("tf32", "e4m3", "e5m2", "f16", "bf16"):
                trailing = [(1, 1)]
            if a in ("f16", "bf16"):
                trailing = [(1, 1, *t) for t in product((0, 1), repeat=2 if source == "desc" else 1)]
            for rest, end in product(trailing, ("", ".satfinite") if d == "s32" and a != "b1" else ("",)):
                registers = _Registers()
                operands = [
                    _fragment(registers, 64 * n, d, BITS[d], 128),
                    "l0" if source == "desc" else registers.tuple("r", 4),
                    "l1",
                    *(("r250", "0") if sparse else ()),
                    *("p0", *map(str, rest)),
                ]
                op = ".and.popc" if a == "b1" else ""
                yield f"wgmma.mma_async{sparse}.sync.aligned.m64n{n}k{k}.{d}.{a}.{b}{op}{end} {','.join(operands)};"


def key(text: str) -> tuple[object, ...]:
    """What an instruction computes, however it is written: types in their order, other words, source, immediates."""
    opcode, _, operands = text.rstrip(";").partition(" ")
    words = opcode.split(".")
    types = tuple(word for word in words if _TYPE.fullmatch(word) or word in ("row", "col"))
    others = frozenset(words) - frozenset(types)
    # Left out, they are meant.
    others -= {"scale_vec::1X"} | ({"scale_vec::2X"} if "kind::mxf4" in others else set())
    if not opcode.startswith("wgmma"):
        return types, others
    pieces = re.sub(r"\{[^}]*\}", "regs", operands).split(",")
    return types, others, pieces[1] == "regs", tuple(pieces[pieces.index("p0") + 1 :])
