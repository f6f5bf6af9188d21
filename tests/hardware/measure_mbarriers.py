"""What an mbarrier does: lists of operations by one thread, and what test_wait says in between: writes mbarriers.txt.

An operation that traps ends the context of its process: each list has a process of its own.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from on_gpu import compiled, write

Step = tuple[str, int]

OPERATIONS = (  # behind the last three, which copy, the kernel waits until the copies are surely over
    *("init", "arrive", "expect", "complete", "arrive_expect", "parity", "drop", "inval"),
    *("copy", "copy_noinc", "bulk"),
)
RUNNING = 1 << 40  # what is recorded of an operation that did not return

_SOURCE = """
extern "C" __global__ void steps(const int* all, int count, const u8* from, volatile u64* results) {
  u32 bar = shared_address(smem);
  for (int i = 0; i < count; i++) {
    int what = all[2 * i], n = all[2 * i + 1]; u32 p = 0; u64 state; bool wait = what >= 8;
    if (what == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(bar), "r"(n) : "memory");
    if (what == 1) asm volatile("mbarrier.arrive.shared.b64 %0, [%1], %2;" : "=l"(state) : "r"(bar), "r"(n) : "memory");
    if (what == 2) asm volatile("mbarrier.expect_tx.relaxed.cta.shared.b64 [%0], %1;" :: "r"(bar), "r"(n) : "memory");
    if (what == 3) asm volatile("mbarrier.complete_tx.relaxed.cta.shared.b64 [%0], %1;" :: "r"(bar), "r"(n) : "memory");
    if (what == 4) asm volatile("mbarrier.arrive.expect_tx.shared.b64 %0, [%1], %2;" : "=l"(state) : "r"(bar), "r"(n) : "memory");
    if (what == 5) asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(p) : "r"(bar), "r"(n) : "memory");
    if (what == 6) asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1], %2;" : "=l"(state) : "r"(bar), "r"(n) : "memory");
    if (what == 7) asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(bar) : "memory");
    if (what == 8 || what == 9) for (int k = 0; k < n; k++) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(bar + 1024 + 16 * k), "l"(from + 4096 * k) : "memory");
    if (what == 8) asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" :: "r"(bar) : "memory");
    if (what == 9) asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(bar) : "memory");
    if (what == 10) { async_proxy_fence(); asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(bar + 1024), "l"(from), "r"(n), "r"(bar) : "memory"); }
    for (long long start = clock64(); wait && clock64() - start < 50000;);
    results[i] = p; __threadfence_system();
  }
}
"""  # noqa: E501

NAMED: dict[str, str] = {
    "fresh": "init 2, parity 0, parity 1",
    "three phases": "init 1, arrive 1, parity 0, parity 1, arrive 1, parity 0, parity 1, arrive 1, parity 0, parity 1",
    "complete before expect": "init 1, complete 32, parity 0, expect 32, parity 0, arrive 1, parity 0, parity 1",
    "complete, arrive, expect": "init 1, complete 32, parity 0, arrive 1, parity 0, expect 32, parity 0, parity 1",
    "expect, arrive, complete": "init 1, expect 32, arrive 1, parity 0, complete 16, parity 0, complete 16, parity 0",
    "arrive_expect": "init 1, arrive_expect 64, parity 0, complete 64, parity 0, parity 1",
    "expect behind the arrival": "init 1, arrive 1, expect 32, parity 0, arrive 1, parity 1, complete 32, parity 1",
    "complete without expect": "init 1, complete 32, arrive 1, parity 0, parity 1",
    "one more arrival waits for bytes": "init 1, expect 32, arrive 1, parity 0, arrive 1, parity 0",
    "too many bytes": "init 1, arrive_expect 32, complete 48, parity 0, expect 16, parity 0, parity 1",
    "too many bytes early": "init 2, arrive_expect 32, complete 48, parity 0, arrive 1, parity 0, expect 16, parity 0",
    "arrive by a count": "init 4, arrive 3, parity 0, arrive 1, parity 0, parity 1",
    "arrive by more than is pending": "init 2, arrive 3, parity 0",
    "init again": "init 2, arrive 1, init 3, parity 0, arrive 3, parity 0, parity 1",
    "init again in phase 1": "init 1, arrive 1, parity 0, init 1, parity 0, parity 1",
    "inval and init": "init 1, arrive 1, inval 0, init 2, parity 0, parity 1, arrive 2, parity 0, parity 1",
    "drop": "init 2, drop 1, parity 0, arrive 1, parity 0, arrive 1, parity 0, parity 1",
    "arrive at a barrier that all left": "init 1, drop 1, parity 0, arrive 1, parity 0",
    "cp.async arrives": "init 1, copy 4, parity 0, arrive 1, parity 0, parity 1",
    "cp.async arrives twice": "init 2, copy 4, copy 4, parity 0, arrive 2, parity 0",
    "cp.async arrives without a copy": "init 1, copy 0, parity 0, arrive 1, parity 0",
    "cp.async arrives noinc": "init 1, copy_noinc 4, parity 0, parity 1",
    "cp.async arrives noinc twice": "init 2, copy_noinc 4, parity 0, copy_noinc 4, parity 0, parity 1",
    "bulk": "init 1, arrive_expect 1024, bulk 1024, parity 0, parity 1",
    "bulk before expect": "init 1, bulk 1024, parity 0, arrive_expect 1024, parity 0, parity 1",
    "bulk, arrive, expect": "init 1, bulk 1024, parity 0, arrive 1, parity 0, expect 1024, parity 0, parity 1",
    "bulk in the next phase": "init 1, arrive 1, parity 0, bulk 1024, parity 1, arrive_expect 1024, parity 1, parity 0",
    "largest tx-count": "init 1, expect 1048575, complete 1048575, arrive 1, parity 0",
    "tx-count too large": "init 1, expect 1048575, expect 16, parity 0",
    "largest count": "init 1048575, arrive 1048574, parity 0, arrive 1, parity 0",
}


def chance() -> dict[str, str]:
    """Random lists that never arrive beyond the pending count; bytes come before and after they are expected."""
    rng = random.Random(3)
    found = {}
    for number in range(60):
        count = rng.randrange(1, 4)
        steps, pending, bytes_left = [f"init {count}"], count, 0
        for _ in range(12):
            only = "complete" if bytes_left > 0 else "expect"  # where nobody is to arrive
            what = rng.choice(("arrive", "expect", "complete")) if pending else only
            size = rng.randrange(1, pending + 1) if what == "arrive" else 16 * rng.randrange(1, 3)
            size = size if pending else abs(bytes_left)
            steps += [f"{what} {size}", f"parity {rng.randrange(2)}"]
            pending -= size if what == "arrive" else 0
            bytes_left += {"arrive": 0, "expect": size, "complete": -size}[what]
            pending = count if not pending and not bytes_left else pending
        found[f"random {number}"] = ", ".join([*steps, "parity 0", "parity 1"])
    return found


def read(text: str) -> list[Step]:
    """The steps of a list."""
    return [(name, int(number)) for name, number in re.findall(r"(\w+) (\d+)", text)]


def run(binary: str, lists: Sequence[Sequence[Step]]) -> None:
    """Execute lists and print what each says, one number for each step."""
    import cupy  # type: ignore[import-not-found]  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    function, memory = cupy.RawModule(path=binary).get_function("steps"), cupy.zeros(1 << 18, cupy.uint8)
    for steps in lists:
        pinned = cupy.cuda.alloc_pinned_memory(8 * len(steps))  # is readable when the context has ended
        results = np.frombuffer(pinned, np.uint64, len(steps))
        results[:] = RUNNING
        codes = cupy.asarray(np.array([(OPERATIONS.index(name), number) for name, number in steps], np.int32))
        function((1,), (1,), (codes, np.int32(len(steps)), memory, np.uint64(pinned.ptr)), shared_mem=16384)
        try:
            cupy.cuda.Device().synchronize()
        finally:
            print(*results.tolist(), flush=True)


def line(name: str, steps: Sequence[Step], said: Sequence[str]) -> str:
    """A list with the answers, up to the step that did not return."""
    shown = []
    for (step, number), answer in zip(steps, said, strict=True):
        traps = answer == str(RUNNING)
        shown.append(f"{step} {number}" + (" = trap" if traps else f" = {answer}" if step == "parity" else ""))
        if traps:
            break
    return f"{name}: {', '.join(shown)}"


def main() -> None:
    """Measure and record."""
    if sys.argv[1:]:
        run(sys.argv[1], [read(text) for text in sys.argv[2:]])
        return
    groups = [{name: text} for name, text in NAMED.items()] + [chance()]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(4) as pool:
        binary = str(compiled(_SOURCE, folder))

        def asked(group: dict[str, str]) -> list[str]:
            command = [sys.executable, __file__, binary, *group.values()]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            said = [text.split() for text in done.stdout.splitlines()[: len(group)]]
            assert len(said) == len(group), done.stderr
            return [line(name, read(text), one) for (name, text), one in zip(group.items(), said, strict=True)]

        lines = [text for found in pool.map(asked, groups) for text in found]
    write(Path(__file__).with_name("mbarriers.txt"), lines)


if __name__ == "__main__":
    main()
