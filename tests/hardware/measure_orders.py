"""Whether the async proxy reads what threads wrote before, by the fence in between: writes orders.txt."""

from __future__ import annotations

import tempfile
from itertools import product
from pathlib import Path

from on_gpu import write
from order_kernels import FENCES, READERS, THREADS, TILE, kernel

BLOCKS, LOOPS = 264, {"wgmma": 20000, "bulk store": 2000}


def wrong(reader: str, fence: str) -> int:
    """How often a thread found another value."""
    import cupy  # type: ignore[import-not-found]  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "order.ptx")
        text.write_text(kernel(reader, fence), encoding="utf-8")
        function = cupy.RawModule(path=str(text)).get_function("order")
    memory, count = cupy.zeros(BLOCKS * TILE, cupy.uint8), cupy.zeros(1, cupy.uint64)
    function((BLOCKS,), (THREADS,), (np.int32(LOOPS[reader]), memory, count))
    return int(count.get()[0])


def main() -> None:
    """Measure and record."""
    lines = []
    for reader, fence in product(READERS, FENCES):
        lines.append(f"{reader}, {fence}: {wrong(reader, fence)} of {BLOCKS * THREADS * LOOPS[reader]}")
    write(Path(__file__).with_name("orders.txt"), lines)


if __name__ == "__main__":
    main()
