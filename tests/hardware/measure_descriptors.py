"""Which bytes of shared memory wgmma reads by a descriptor: ``python measure_descriptors.py`` writes descriptors.txt.

Shared memory is filled with numbers that say where they are: an element has a digit of its address, small enough to be
exact in its type, and several passes give all digits. The other operand is a unit matrix, so that the accumulators are
the elements that were read. B is selected by an A in registers, A by a B in shared memory whose layout (no swizzle, two
core matrices on the diagonal) is the same whichever way LBO and SBO are read.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from on_gpu import built, registers, write

SHARED = 227 * 1024  # of a CTA, from address 1024 on
FILLED = 4096  # from this address on the memory says where it is; before it lies the unit matrix
BASE = 0x2000
SWIZZLES = {0: 0, 128: 1, 64: 2, 32: 3}


class Kind(NamedTuple):
    """An element type: its bytes, the columns K of a dense instruction, bits of a digit, passes."""

    size: int
    columns: int
    digit: int
    passes: int
    fill: str  # the value of a digit d
    one: str


KINDS = {
    "f16": Kind(2, 16, 11, 2, "__half_as_ushort(__float2half((float)d))", "0x3c00"),
    "tf32": Kind(4, 8, 11, 2, "__float_as_uint((float)d)", "0x3f800000"),
    "u8": Kind(1, 32, 6, 3, "d", "1"),
    "e4m3": Kind(
        1, 32, 4, 5, "(d ? (d > 1 ? (32 - __clz(d) + 6) << 3 | (d << (4 - (32 - __clz(d)))) & 7 : 0x38) : 0)", "0x38"
    ),
}
WORDS = {1: "u8", 2: "u16", 4: "u32"}


class Operand(NamedTuple):
    """Which operand is read: A or B, of what type, in which major, of an instruction of N columns; of a sparse one?"""

    role: str
    kind: str
    major: str
    columns: int
    sparse: int

    @property
    def name(self) -> str:
        """As the recorded lines spell it."""
        return " ".join(map(str, self))


OPERANDS = [
    *(Operand("a", kind, "k", 0, 0) for kind in KINDS),
    Operand("a", "f16", "mn", 0, 0),
    *(Operand("a", kind, major, 0, 1) for kind, major in (("f16", "k"), ("f16", "mn"), ("u8", "k"))),
    *(Operand("b", "f16", major, columns, 0) for major in ("k", "mn") for columns in (8, 64, 256)),
    *(Operand("b", kind, "k", 64, 0) for kind in ("u8", "e4m3", "tf32")),
    *(Operand("b", kind, major, 64, 1) for kind, major in (("f16", "k"), ("f16", "mn"), ("u8", "k"), ("tf32", "k"))),
]


def word(start: int, lbo: int, sbo: int, swizzle: int, base: int = 0) -> int:
    """A descriptor; offsets in bytes."""
    return start >> 4 | lbo >> 4 << 16 | sbo >> 4 << 32 | base << 49 | SWIZZLES[swizzle] << 62


def descriptors(operand: Operand) -> Iterator[int]:
    """Canonical strides and others, starts within the pattern of a swizzle, all base offsets, and random ones."""
    rng = random.Random(operand.name)
    for swizzle in SWIZZLES:
        row = max(16, swizzle)
        for lbo, sbo in ((16, 8 * row), (0, 0), (2048, 8 * row), (8 * row, 2048), (48, 592), (row, 128), (592, 16)):
            yield word(BASE, lbo, sbo, swizzle)
        for start in (16, 32, 96, 128, 512, 1040):
            yield word(BASE + start, 2048, 8 * row, swizzle)
        for base in range(1, 8):
            yield word(BASE + rng.choice((0, 32, 128, 512)), 2048, 8 * row, swizzle, base)
        for _ in range(4):
            start, lbo, sbo = (16 * rng.randrange(end) for end in (1024, 128, 128))
            yield word(BASE + start, lbo, sbo, swizzle)


def instruction(operand: Operand) -> tuple[str, int, int]:
    """The inline assembly, its accumulators of a thread, and N."""
    kind, sparse = KINDS[operand.kind], bool(operand.sparse)
    columns = operand.columns or kind.columns
    k, integer = kind.columns << sparse, operand.kind == "u8"
    held, in_registers = columns // 2, operand.role == "b"
    name = f"wgmma.mma_async{'.sp' * sparse}.sync.aligned.m64n{columns}k{k}.{'s32' if integer else 'f32'}"
    given = [f'"r"(a[{i}])' for i in range(4)] if in_registers else ['"l"(da)']
    first = registers(4, held) if in_registers else f"%{held}"
    given.append('"l"(db)')
    text = f"{name}.{operand.kind}.{operand.kind} {registers(held)}, {first}, %{held + len(given) - 1}"
    if sparse:
        given.append('"r"(metadata)')
        text += f", %{held + len(given) - 1}, 0"
    text += ", no" + ("" if integer else ", 1, 1")
    if operand.kind == "f16":
        transposed = str(int(operand.major == "mn"))
        text += f", {transposed}" if in_registers else f", {transposed}, 0"
    results = ", ".join(f'"={"r" if integer else "f"}"(d[{i}])' for i in range(held))
    whole = f"{{ .reg .pred no; setp.ne.b32 no, 0, 0; {text}; }}"
    return f'asm volatile("{whole}" : {results} : {", ".join(given)} : "memory");', held, columns


def kernel(number: int, operand: Operand) -> str:
    """A kernel that reads by one descriptor after the other."""
    kind = KINDS[operand.kind]
    text, held, columns = instruction(operand)
    value, per = WORDS[kind.size], 16 // kind.size
    if operand.role == "a":  # the unit matrix B: of a sparse A the columns that the metadata names
        k = "n" if not operand.sparse else "2 * n" if operand.kind == "tf32" else "4 * (n / 2) + n % 2"
        place = f"n / 8 * 128 + k / {per} * {16 * columns} + n % 8 * 16 + k % {per} * {kind.size}"
        unit = f"""for (int i = t; i < 3072; i += 128) smem[i] = 0; __syncthreads();
  if (t < {columns}) {{ int n = t, k = {k}; *({value}*)(smem + {place}) = {kind.one}; }}
  u64 db = 1024 >> 4 | (u64){columns} << 16 | (u64)8 << 32;"""
    else:  # the unit matrix A: register r has row l / 4 + 8 (r % 2), the elements from column l % 4 e + 4 e (r / 2) on
        e = 4 // kind.size
        unit = f"""u32 a[4];
  for (int r = 0; r < 4; r++) {{ a[r] = 0; for (int j = 0; j < {e}; j++) {{
    int row = t % 32 / 4 + 8 * (r % 2) + t / 32 * 16, k = t % 4 * {e} + j + 4 * {e} * (r / 2);
    if (row % {kind.columns} == k) a[r] |= {kind.one}u << (8 * {kind.size} * j); }} }}"""
    number_type = "int" if operand.kind == "u8" else "float"
    return f"""
extern "C" __global__ void __launch_bounds__(128)
k{number}(const u64* all, int count, int pass, u32 metadata, u16* out) {{
  int t = threadIdx.x;
  {unit}
  for (u32 at = {FILLED} + {kind.size} * t; at < 1024 + {SHARED}; at += {kind.size} * 128) {{
    u32 d = at / {kind.size} >> ({kind.digit} * pass) & {(1 << kind.digit) - 1};
    *({value}*)(smem + at - 1024) = {kind.fill}; }}
  async_proxy_fence(); __syncthreads();
  for (int i = blockIdx.x; i < count; i += gridDim.x) {{
    u64 {"da" if operand.role == "a" else "db"} = all[i]; {number_type} d[{held}];
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    {text}
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int r = 0; r < {held}; r++) out[((size_t)i * 128 + t) * {held} + r] = (u16)d[r]; }}
}}"""


def read(module: Any, number: int, operand: Operand, words: list[int]) -> Any:
    """The address of each element that is read: by descriptor, row and column."""
    import cupy  # type: ignore[import-not-found]  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    kind, held = KINDS[operand.kind], (operand.columns or KINDS[operand.kind].columns) // 2
    function = module.get_function(f"k{number}")
    function.max_dynamic_shared_size_bytes = SHARED
    t, r = np.arange(128)[:, None], np.arange(held)[None, :]
    row, column = t // 32 * 16 + t % 32 // 4 + 8 * (r // 2 % 2), t % 4 * 2 + r % 2 + 8 * (r // 4)
    found = []
    for metadata in (0x44444444, 0xEEEEEEEE) if operand.sparse and operand.role == "b" else (0x44444444,):
        total = np.zeros((len(words), 64, 2 * held), np.uint32)
        for digit in range(kind.passes):
            out = cupy.zeros((len(words), 128, held), cupy.uint16)
            given = (
                cupy.asarray(np.array(words, np.uint64)),
                np.int32(len(words)),
                np.int32(digit),
                np.uint32(metadata),
            )
            function((len(words),), (128,), (*given, out), shared_mem=SHARED)
            total[:, row, column] |= out.get().astype(np.uint32) << np.uint32(kind.digit * digit)
        total *= np.uint32(kind.size)
        found.append(total if operand.role == "a" else total[:, : kind.columns].transpose(0, 2, 1))
    if len(found) == 1:
        return found[0]
    kept = 1 if operand.kind == "tf32" else 2  # columns of each group that one metadata names
    parts = [one.reshape(*one.shape[:2], kind.columns // kept, kept) for one in found]
    return np.concatenate(parts, -1).reshape(*found[0].shape[:2], 2 * kind.columns)


def line(value: int, table: Any) -> str:
    """A descriptor, a digest of all addresses, and those of (0,0), (1,0), (0,1) and the last row and column."""
    digest = hashlib.sha256(table.astype("<u4").tobytes()).hexdigest()[:12]
    some = (table[0, 0], table[1, 0], table[0, 1], table[-1, -1])
    return f"{value:016x} {digest} {' '.join(f'{int(address):x}' for address in some)}"


def main() -> None:
    """Measure and record."""
    module = built("#include <cuda_fp16.h>\n" + "".join(kernel(i, one) for i, one in enumerate(OPERANDS)))
    lines = []
    for number, operand in enumerate(OPERANDS):
        words = list(dict.fromkeys(descriptors(operand)))
        tables = read(module, number, operand, words)
        lines.append(f"{operand.name} {tables.shape[1]}x{tables.shape[2]}")
        lines += [line(value, table) for value, table in zip(words, tables, strict=True)]
    write(Path(__file__).with_name("descriptors.txt"), lines)


if __name__ == "__main__":
    main()
