"""Where a tensor copy puts a box, and which tensor maps the driver makes: writes boxes.txt and maps.txt.

Global memory holds the digits of its own addresses, in three passes of a byte each, and shared memory a byte that no
address has: what is copied says where it comes from.
"""

from __future__ import annotations

import ctypes
import hashlib
import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from on_gpu import built, write

TYPES = ["u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz"]
BYTES = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4)
SWIZZLES = ("none", "b32", "b64", "b128")
SPANS = (0, 32, 64, 128)
GLOBAL, FIRST, UNTOUCHED = 1 << 20, 0x10000, 0xEEEEEE
DATA = 2048  # the address of the first byte that may be a box's

_BOX = """
struct alignas(64) Map { u64 word[16]; };
template <int R> __device__ void load(const Map* m, u32 to, u32 bar, const int* c) {
  if constexpr (R == 1) asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" :: "r"(to), "l"(m), "r"(bar), "r"(c[0]) : "memory");
  if constexpr (R == 2) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" :: "r"(to), "l"(m), "r"(bar), "r"(c[0]), "r"(c[1]) : "memory");
  if constexpr (R == 3) asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" :: "r"(to), "l"(m), "r"(bar), "r"(c[0]), "r"(c[1]), "r"(c[2]) : "memory");
}
template <int R> __device__ void box(const Map* m, const int* c, u32 to, u32 expected, u32 size, u8* out, u32* done) {
  u32 bar = shared_address(smem), complete = 0;
  for (u32 i = threadIdx.x; i < size; i += blockDim.x) smem[1024 + i] = 0xEE;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.mbarrier_init.release.cluster;" :: "r"(bar) : "memory");
  async_proxy_fence(); __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(bar), "r"(expected) : "memory");
    load<R>(m, to, bar, c);
    for (long long start = clock64(); !complete && clock64() - start < 1000000;)
      asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(complete) : "r"(bar) : "memory");
    *done = complete;
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i < size; i += blockDim.x) out[i] = ((volatile u8*)smem)[1024 + i];
}
#define RANK(R) extern "C" __global__ void box##R(const __grid_constant__ Map m, int c0, int c1, int c2, u32 to, u32 expected, u32 size, u8* out, u32* done) { int c[3] = {c0, c1, c2}; box<R>(&m, c, to, expected, size, out, done); }
RANK(1) RANK(2) RANK(3)
"""  # noqa: E501


class Box(NamedTuple):
    """A tensor of a type (an index of TYPES) with strides in bytes, a box of it, and where it is copied to."""

    kind: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    at: tuple[int, ...]
    to: int  # bytes after DATA

    @property
    def bytes(self) -> int:
        """The bytes of the box."""
        total = BYTES[self.kind]
        for extent in self.box:
            total *= extent
        return total


def boxes() -> Iterator[Box]:
    """Boxes as wide as their swizzle and narrower ones, in one to three dimensions; some reach out of the tensor."""
    for kind, swizzle, to in product((0, 1, 2, 4), range(4), (0, 128, 640)):
        size = BYTES[kind]
        for inner in (16, 48, 128) if not swizzle else {SPANS[swizzle], max(16, SPANS[swizzle] - 48)}:
            yield Box(kind, (256 // size, 64), (512,), (inner // size, 16), swizzle, (0, 3), to)
    for swizzle, at in product(range(4), ((-16, 0), (0, -5), (56, 60), (96, 90), (-40, 2))):
        yield Box(1, (64, 64), (256,), ((SPANS[swizzle] or 64) // 2, 16), swizzle, at, 0)
    rng = random.Random(11)
    for _ in range(120):
        kind, rank, swizzle = rng.choice((0, 1, 2, 4)), rng.randrange(1, 4), rng.randrange(4)
        size = BYTES[kind]
        inner = 16 * rng.randrange(1, (SPANS[swizzle] or 128) // 16 + 1)
        box = (inner // size, *(rng.choice((1, 2, 3, 7, 8, 16)) for _ in range(rank - 1)))
        dims = (rng.randrange(1, 300), *(rng.randrange(1, 24) for _ in range(rank - 1)))
        strides, whole = [], dims[0] * size
        for extent in dims[1:]:
            strides.append((whole + 15) // 16 * 16 + 16 * rng.randrange(3))
            whole = strides[-1] * extent
        first = rng.randrange(-2, dims[0] * size // 16 + 2) * 16 // size
        place = (first, *(rng.randrange(-3, extent + 2) for extent in dims[1:]))
        yield Box(kind, dims, tuple(strides), box, swizzle, place, 128 * rng.randrange(9))


class Encoder:
    """cuTensorMapEncodeTiled of the driver."""

    def __init__(self) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._raw = ctypes.create_string_buffer(256)

    def encode(
        self,
        kind: int,
        address: int,
        dims: tuple[int, ...],
        strides: tuple[int, ...],
        box: tuple[int, ...],
        swizzle: int,
    ) -> bytes | None:
        """The tensor map, or None where the driver refuses to make it."""
        at = ctypes.addressof(self._raw) + 63 & ~63
        wide, narrow = ctypes.c_uint64 * 5, ctypes.c_uint32 * 5
        code = self._driver.cuTensorMapEncodeTiled(
            *(ctypes.c_void_p(at), kind, len(dims), ctypes.c_void_p(address), wide(*dims), wide(*strides)),
            *(narrow(*box), narrow(1, 1, 1, 1, 1), 0, swizzle, 0, 0),
        )
        return None if code else ctypes.string_at(at, 128)


def copied(module: Any, encoder: Encoder, one: Box) -> tuple[bool, Any]:
    """Whether exactly the bytes of the box are counted, and where each byte of shared memory comes from."""
    import cupy  # type: ignore[import-not-found]  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    function = module.get_function(f"box{len(one.dims)}")
    size = 1 << 15
    total, all_done = np.zeros(size, np.uint32), True
    addresses = cupy.arange(GLOBAL, dtype=cupy.uint32) + FIRST
    for digit in range(3):
        memory = (addresses >> (8 * digit) & 255).astype(cupy.uint8)
        raw = encoder.encode(one.kind, memory.data.ptr + GLOBAL // 4, one.dims, one.strides, one.box, one.swizzle)
        assert raw is not None, one
        out, done = cupy.zeros(size, cupy.uint8), cupy.zeros(1, cupy.uint32)
        at = [ctypes.c_int(value) for value in (*one.at, 0, 0)[:3]]
        numbers = [ctypes.c_uint32(value) for value in (DATA + one.to, one.bytes, size)]
        given = [
            ctypes.create_string_buffer(raw, 128),
            *at,
            *numbers,
            *map(ctypes.c_uint64, (out.data.ptr, done.data.ptr)),
        ]
        pointers = (ctypes.c_void_p * len(given))(*map(ctypes.addressof, given))
        shape = (1, 1, 1, 128, 1, 1, size + 1024)
        code = ctypes.CDLL("libcuda.so.1").cuLaunchKernel(
            ctypes.c_void_p(function.kernel.ptr), *shape, None, pointers, None
        )
        assert code == 0, code
        total |= out.get().astype(np.uint32) << np.uint32(8 * digit)
        all_done &= bool(done.get()[0])
    return all_done, total


def line(one: Box, counted: bool, sources: Any) -> str:
    """A box; how many bytes of zeros were written, and a digest of the shared addresses that got bytes of the tensor.

    These are in the order of the global addresses that they come from; the first and the last are given as well.
    """
    import numpy as np  # noqa: PLC0415

    zeros = int((sources == 0).sum())
    (places,) = np.nonzero((sources != 0) & (sources != UNTOUCHED))
    places = places[np.argsort(sources[places], kind="stable")].astype("<u4") + DATA
    digest = hashlib.sha256(places.tobytes()).hexdigest()[:12]
    ends = f"{int(places[0]):x} {int(places[-1]):x}" if len(places) else "- -"
    parts = (one.dims, one.strides, one.box, one.at)
    numbers = " ".join(",".join(map(str, part)) or "-" for part in parts)
    what = f"{TYPES[one.kind]} {SWIZZLES[one.swizzle]} {numbers} {one.to}"
    return f"{what} {'counted' if counted else 'other'} {one.bytes} {zeros} {len(places)} {digest} {ends}"


def accepted(encoder: Encoder, address: int) -> Iterator[str]:
    """By type and swizzle the innermost extents of which a map is made; and by an outer extent whether it is."""
    extents = [*range(1, 34), 48, 56, 63, 64, 65, 72, 96, 112, 127, 128, 129, 144, 192, 255, 256, 257, 272, 512]
    for kind, swizzle in product(range(len(TYPES)), range(4)):
        made = [
            inner
            for inner in extents
            if encoder.encode(kind, address, (1024, 64), (8192,), (inner, 4), swizzle) is not None
        ]
        yield f"inner {TYPES[kind]} {SWIZZLES[swizzle]} {','.join(map(str, made))}"
    outer = [
        n for n in (0, 1, 2, 3, 100, 255, 256, 257, 512) if encoder.encode(6, address, (64, 64), (128,), (8, n), 0)
    ]
    yield f"outer f16 none {','.join(map(str, outer))}"
    yield f"asked - - {','.join(map(str, extents))}"


def main() -> None:
    """Measure and record."""
    import cupy  # noqa: PLC0415

    module, encoder, here = built(_BOX), Encoder(), Path(__file__)
    memory = cupy.zeros(1 << 20, cupy.uint8)
    write(here.with_name("maps.txt"), list(accepted(encoder, memory.data.ptr)))
    write(here.with_name("boxes.txt"), [line(one, *copied(module, encoder, one)) for one in boxes()])


if __name__ == "__main__":
    main()
