"""MMA instructions whose fragments are measured, and what their registers hold: small integers of a generator."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

BITS = {
    **dict.fromkeys(("f64",), 64),
    **dict.fromkeys(("f32", "tf32", "s32"), 32),
    **dict.fromkeys(("f16", "bf16", "u16"), 16),
    **dict.fromkeys(("s8", "u8", "e4m3", "e5m2"), 8),
    **dict.fromkeys(("s4", "u4"), 4),
    "b1": 1,
}
_DENSE = (
    *("m16n8k4.f32.tf32.tf32.f32", "m16n8k8.f32.tf32.tf32.f32", "m16n8k8.f32.f16.f16.f32", "m16n8k8.f32.bf16.bf16.f32"),
    *("m16n8k8.f16.f16.f16.f16", "m16n8k16.f32.bf16.bf16.f32", "m16n8k16.f32.f16.f16.f32", "m16n8k16.f16.f16.f16.f16"),
    *("m8n8k16.s32.s8.s8.s32", "m16n8k16.s32.s8.s8.s32", "m16n8k16.s32.u8.s8.s32", "m16n8k32.s32.u8.u8.s32"),
    *("m16n8k32.f32.e4m3.e5m2.f32", "m16n8k16.f32.e4m3.e4m3.f32", "m8n8k32.s32.s4.s4.s32", "m16n8k32.s32.s4.s4.s32"),
    *("m16n8k64.s32.u4.u4.s32", "m8n8k4.f64.f64.f64.f64", "m16n8k4.f64.f64.f64.f64", "m16n8k8.f64.f64.f64.f64"),
    *("m16n8k16.f64.f64.f64.f64", "m8n8k128.s32.b1.b1.s32", "m16n8k128.s32.b1.b1.s32", "m16n8k256.s32.b1.b1.s32"),
)
_SPARSE = {  # and the number of selectors
    "m16n8k8.f32.tf32.tf32.f32": 4,
    "m16n8k16.f32.tf32.tf32.f32": 2,
    "m16n8k16.f32.f16.f16.f32": 4,
    "m16n8k32.f32.bf16.bf16.f32": 2,
    "m16n8k32.s32.s8.s8.s32": 2,
    "m16n8k64.s32.u8.u8.s32": 1,
    "m16n8k64.s32.s4.s4.s32": 2,
    "m16n8k128.s32.u4.u4.s32": 1,
    "m16n8k64.f32.e4m3.e5m2.f32": 1,
}
_WARPGROUP = (
    *("m64n24k16.f32.f16.f16", "m64n24k16.f16.f16.f16", "m64n64k16.f32.bf16.bf16", "m64n8k8.f32.tf32.tf32"),
    *("m64n16k32.s32.s8.u8", "m64n40k32.f32.e4m3.e5m2"),
)
_SPARSE_WARPGROUP = {
    "m64n24k32.f32.f16.f16": 2,
    "m64n24k32.f16.f16.f16": 2,
    "m64n16k16.f32.tf32.tf32": 2,
    "m64n16k64.s32.s8.s8": 1,
    "m64n24k64.f32.e4m3.e4m3": 1,
}
_PAIRS = (0x4, 0x8, 0xC, 0x9, 0xD, 0xE)  # of two kept elements among four: their places, two bits each


class Mma(NamedTuple):
    """An instruction; ``d``, ``a``, ``b``: types; ``selector``: of its metadata, None where A is not sparse."""

    opcode: str
    shape: tuple[int, int, int]
    d: str
    a: str
    b: str
    selector: int | None = None

    @property
    def threads(self) -> int:
        """Those that execute it together."""
        return 128 if self.opcode.startswith("wgmma") else 32

    @property
    def kept(self) -> int:
        """The columns of A that registers hold."""
        return self.shape[2] if self.selector is None else self.shape[2] // 2

    @property
    def name(self) -> str:
        """As the recorded lines spell it."""
        return self.opcode if self.selector is None else f"{self.opcode} selector {self.selector}"

    def values(self, role: str) -> list[int]:
        """The elements of A or B: of the registers, thread by thread; of a B in shared memory row by row."""
        m, n, k = self.shape
        kind = self.a if role == "a" else self.b
        return list(_numbers(f"{role} {self.opcode}", kind, m * self.kept if role == "a" else n * k))

    def words(self, role: str) -> list[list[int]]:
        """The 32-bit words of the registers of each thread."""
        values, kind = self.values(role), self.a if role == "a" else self.b
        each = len(values) // self.threads
        return [packed(kind, values[at : at + each]) for at in range(0, len(values), each)]

    def metadata(self) -> list[int]:
        """The register of metadata of each thread."""
        state = _seed(f"metadata {self.name}")
        found = []
        for _ in range(self.threads):
            word = 0
            for at in range(8):
                state = state * 48271 % 2147483647
                word |= ((0x4, 0xE)[(state >> 8) % 2] if self.a == "tf32" else _PAIRS[(state >> 8) % 6]) << 4 * at
            found.append(word)
        return found


def mmas() -> Iterator[Mma]:
    """All instructions."""
    for text in _DENSE:
        yield _mma("mma.sync.aligned", text)
    for text, selectors in _SPARSE.items():
        for selector in range(selectors):
            yield _mma("mma.sp::ordered_metadata.sync.aligned", text, selector)
    for text in _WARPGROUP:
        yield _mma("wgmma.mma_async.sync.aligned", text)
    for text, selectors in _SPARSE_WARPGROUP.items():
        for selector in range(selectors):
            yield _mma("wgmma.mma_async.sp.sync.aligned", text, selector)


def _mma(name: str, text: str, selector: int | None = None) -> Mma:
    shape, types = text.split(".", 1)
    d, a, b = types.split(".")[:3]
    found = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", shape)
    assert found is not None
    m, n, k = map(int, found.groups())
    layouts = ".row.col" if name.startswith("mma") else ""
    return Mma(f"{name}.{shape}{layouts}.{types}{'.and.popc' * (a == 'b1')}", (m, n, k), d, a, b, selector)


def _seed(name: str) -> int:
    return sum(map(ord, name)) % 2147483647


def _numbers(name: str, kind: str, count: int) -> Iterator[int]:
    state = _seed(name)
    for _ in range(count):
        state = state * 48271 % 2147483647
        yield (state >> 8) % 2 if kind == "b1" else (state >> 8) % 4 if kind[0] == "u" else (state >> 8) % 7 - 3


def code(kind: str, value: int) -> int:
    """The bits of a small integer."""
    if kind in ("f16", "f64"):
        return int.from_bytes(struct.pack("<e" if kind == "f16" else "<d", value), "little")
    if kind in ("f32", "tf32", "bf16"):
        return int.from_bytes(struct.pack("<f", value), "little") >> (16 if kind == "bf16" else 0)
    if kind in ("e4m3", "e5m2"):
        size = (0, 0x38, 0x40, 0x44) if kind == "e4m3" else (0, 0x3C, 0x40, 0x42)
        return size[abs(value)] | 0x80 * (value < 0)
    return value & (1 << BITS[kind]) - 1


def packed(kind: str, values: list[int]) -> list[int]:
    """Elements in 32-bit words, the first in the lowest bits."""
    whole = sum(code(kind, value) << BITS[kind] * at for at, value in enumerate(values))
    return [whole >> 32 * at & 0xFFFFFFFF for at in range(max(1, len(values) * BITS[kind] // 32))]
