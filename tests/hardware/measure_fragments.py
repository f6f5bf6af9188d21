"""What MMAs compute of registers that hold known numbers, and what the matrix loads and stores move: fragments.txt.

The B of wgmma lies in shared memory in core matrices without a swizzle, K-major.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fragment_inputs import BITS, Mma, code, mmas
from on_gpu import built, registers, write

MATRICES = tuple((count, transposed) for count in (1, 2, 4) for transposed in ("", ".trans"))
ROW = 48  # bytes from one row to the next that a lane names


def _held(mma: Mma) -> tuple[int, int, int]:
    """The registers of A, B and D of a thread."""
    m, n, k = mma.shape
    sizes = ((m * mma.kept, mma.a), (n * k, mma.b), (m * n, mma.d))
    counts = [max(1, count * BITS[kind] // 32 // mma.threads) // (2 if kind == "f64" else 1) for count, kind in sizes]
    return counts[0], counts[1], counts[2]


def _types(mma: Mma) -> tuple[str, str, str, str]:
    """The type of A and B in C++ and its constraint, the same of D."""
    wide = mma.a == "f64"
    given = ("double", "d") if wide else ("u32", "r")
    return (*given, *(("float", "f") if mma.d == "f32" else given))


def kernel(number: int, mma: Mma) -> str:
    """The kernel of one instruction."""
    a, b, d = _held(mma)
    kind, letter, result, mark = _types(mma)
    sparse = mma.selector is not None
    metadata = f", %{{}}, {mma.selector}" if sparse else ""
    given = [f'"{letter}"(x[{i}])' for i in range(a)]
    outs = ", ".join(f'"={mark}"(r[{i}])' for i in range(d))
    _, n, k = mma.shape
    if mma.threads == 32:
        given += [f'"{letter}"(y[{i}])' for i in range(b)] + [f'"{mark}"(z[{i}])' for i in range(d)]
        text = f"{mma.opcode} {registers(d)}, {registers(a, d)}, {registers(b, d + a)}, {registers(d, d + a + b)}"
        text += metadata.format(d + a + b + d) + ";"
        fill = f"{kind} y[{b}]; for (int i = 0; i < {b}; i++) y[i] = (({kind}*)B)[t * {b} + i];"
        around = ("", "")
    else:
        given += ['"l"(db)']
        tail = ", no" + ("" if mma.d == "s32" else ", 1, 1") + (", 0" if mma.a in ("f16", "bf16") else "")
        text = f"{mma.opcode} {registers(d)}, {registers(a, d)}, %{d + a}{metadata.format(d + a + 1)}{tail};"
        text = f"{{ .reg .pred no; setp.ne.b32 no, 0, 0; {text} }}"
        fill = f"""for (int i = t; i < {n * k * BITS[mma.b] // 8}; i += 128) smem[i] = B[i];
  async_proxy_fence(); __syncthreads();
  u64 db = shared_address(smem) >> 4 | (u64){n} << 16 | (u64)8 << 32;"""
        wait = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        around = ('asm volatile("wgmma.fence.sync.aligned;" ::: "memory");', f'asm volatile("{wait}" ::: "memory");')
    given += ['"r"(M[t])'] * sparse
    return f"""
extern "C" __global__ void __launch_bounds__({mma.threads})
k{number}(const {kind}* A, const u8* B, const u32* M, {result}* D) {{
  int t = threadIdx.x; {kind} x[{a}]; {result} r[{d}], z[{d}] = {{}};
  for (int i = 0; i < {a}; i++) x[i] = A[t * {a} + i];
  {fill}
  {around[0]} asm volatile("{text}" : {outs} : {", ".join(given)} : "memory"); {around[1]}
  for (int i = 0; i < {d}; i++) D[t * {d} + i] = r[i];
}}"""


def _matrix(count: int, transposed: str) -> str:
    """Kernels of ldmatrix and stmatrix: 16-bit elements say where they are, lane i names the row at ``ROW`` i."""
    name = f"{count}{transposed[1:]}"
    outs = ", ".join(f'"=r"(r[{i}])' for i in range(count))
    ins = ", ".join(f'"r"(r[{i}])' for i in range(count))
    opcode = f"sync.aligned.m8n8.x{count}{transposed}.shared.b16"
    return f"""
extern "C" __global__ void load{name}(u32* D) {{
  int t = threadIdx.x; u32 r[{count}]; for (int i = t; i < 2048; i += 32) ((u16*)smem)[i] = i; __syncwarp();
  asm volatile("ldmatrix.{opcode} {registers(count)}, [%{count}];"
               : {outs} : "r"(shared_address(smem) + {ROW} * t) : "memory");
  for (int i = 0; i < {count}; i++) D[t * {count} + i] = r[i];
}}
extern "C" __global__ void store{name}(u32* D) {{
  int t = threadIdx.x; u32 r[{count}]; for (int i = t; i < 2048; i += 32) ((u16*)smem)[i] = 0xFFFF; __syncwarp();
  for (int i = 0; i < {count}; i++) r[i] = 2 * (t * {count} + i) | (2 * (t * {count} + i) + 1) << 16;
  asm volatile("stmatrix.{opcode} [%0], {registers(count, 1)};"
               :: "r"(shared_address(smem) + {ROW} * t), {ins} : "memory");
  __syncwarp(); for (int i = t; i < 1024; i += 32) D[i] = ((u32*)smem)[i];
}}"""


def _in_memory(mma: Mma) -> bytes:
    """B as core matrices: eight rows of 16 bytes, all rows before the next 16 bytes of K."""
    _, n, k = mma.shape
    size = BITS[mma.b] // 8
    per, values, found = 16 // size, mma.values("b"), bytearray(n * k * size)
    for row in range(n):
        for column in range(k):
            at = row // 8 * 128 + column // per * n * 16 + row % 8 * 16 + column % per * size
            found[at : at + size] = code(mma.b, values[row * k + column]).to_bytes(size, "little")
    return bytes(found)


def line(name: str, words: Sequence[int]) -> str:
    """A digest of the 32-bit words of the result, and the first four of them."""
    digest = hashlib.sha256(b"".join(word.to_bytes(4, "little") for word in words)).hexdigest()[:12]
    return f"{name}: {digest} {' '.join(f'{word:x}' for word in words[:4])}"


def measured(module: Any) -> Iterator[str]:
    """The lines of all instructions."""
    import cupy  # type: ignore[import-not-found]  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    def on_card(words: Sequence[int]) -> Any:
        return cupy.asarray(np.array(words, np.uint32))

    for number, mma in enumerate(mmas()):
        m, n, _ = mma.shape
        a = on_card([word for thread in mma.words("a") for word in thread])
        if mma.threads == 32:
            b = on_card([word for thread in mma.words("b") for word in thread])
        else:
            b = cupy.asarray(np.frombuffer(_in_memory(mma), np.uint8))
        metadata = on_card(mma.metadata() if mma.selector is not None else [0] * mma.threads)
        d = cupy.zeros(m * n * BITS[mma.d] // 32, cupy.uint32)
        module.get_function(f"k{number}")((1,), (mma.threads,), (a, b, metadata, d), shared_mem=32768)
        yield line(mma.name, d.get().tolist())
    for count, transposed in MATRICES:
        for opcode, kernel_name, size in (("ldmatrix", "load", 32 * count), ("stmatrix", "store", 1024)):
            d = cupy.zeros(size, cupy.uint32)
            module.get_function(f"{kernel_name}{count}{transposed[1:]}")((1,), (32,), (d,), shared_mem=4096)
            yield line(f"{opcode}.sync.aligned.m8n8.x{count}{transposed}.shared.b16", d.get().tolist())


def source() -> str:
    """All kernels."""
    return "".join(kernel(i, mma) for i, mma in enumerate(mmas())) + "".join(_matrix(*one) for one in MATRICES)


def main() -> None:
    """Measure and record."""
    write(Path(__file__).with_name("fragments.txt"), list(measured(built(source()))))


if __name__ == "__main__":
    main()
