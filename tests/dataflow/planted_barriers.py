"""Faults of barriers, bytes, proxies and addresses, planted into the text of real PTX: only the abstract machine, which
knows what other threads do, can find them.

Each operator says where what it makes is a fault; where it may as well change nothing, it plants nothing:

- A fence or a barrier that another one may stand in for is dropped with all of its kind, or where threads write to
  shared memory right before.
- An address moves by 8 bytes, the size of an mbarrier, so that the operation meets the neighbour or no barrier at all.
- A number moves only where the text says it: as a literal, or in a register that always holds one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from planted_ptx import Kernel, Planted, some, values_of

_EXPECT = ("mbarrier.arrive.expect_tx", "mbarrier.expect_tx")
_TRIES = ("mbarrier.try_wait.parity", "mbarrier.test_wait.parity", "mbarrier.try_wait", "mbarrier.test_wait")
_BARS = ("bar", "barrier")
_COPIES = ("cp.async.bulk", "cp.async.bulk.tensor")
_CONSUMES = ("wgmma.mma", "tcgen05.mma", "tcgen05.ld", "ldmatrix", "ld.shared")
_CLUSTER = ("barrier.cluster.arrive", "barrier.cluster.wait")


def _all(kernel: Kernel, names: Iterable[str], has: str = "") -> list[int]:
    """The instructions of some names, in textual order, in whose text something is."""
    found = sorted(one for name in names for one in kernel.at.get(name, ()))
    return [one for one in found if has in kernel.written(one)]


def _last_number(kernel: Kernel, number: int) -> tuple[re.Match[str], int] | None:
    """The last operand of an instruction, where it is a number that the text says, and its value."""
    found = re.search(r",\s*([%\w]+)\s*;", kernel.written(number))
    if found is None:
        return None
    if found[1].isdigit():
        return found, int(found[1])
    places = kernel.module.operands(kernel.module.instructions[number]).count(",")
    value = values_of(kernel, number).operand(number, places, 32).value if found[1][0] == "%" else None
    return None if value is None else (found, value)


def _other_number(kernel: Kernel, number: int, step: int, least: int) -> str | None:
    """The whole text with a last operand that is larger by so much; None where that is not known, or too small."""
    found = _last_number(kernel, number)
    if found is None or found[1] + step < least:
        return None
    text = kernel.written(number)
    return kernel.replaced({number: f"{text[: found[0].start(1)]}{found[1] + step};"})


def _used(kernel: Kernel, number: int) -> bool:
    """Whether the address that an mbarrier is initialised at is computed for anything else."""
    found = re.search(r"\[\s*(%\w+)", kernel.written(number))
    return found is None or len(re.findall(rf"{found[1]}\b", kernel.text)) > 2


def _count(step: int) -> Callable[[Kernel], Planted]:
    """One arrival more or less in a phase than the kernel makes."""

    def plant(kernel: Kernel) -> Planted:
        said = "initialise with a count too " + ("high" if step > 0 else "low")
        for number in some([one for one in kernel.at.get("mbarrier.init", []) if _used(kernel, one)]):
            text = _other_number(kernel, number, step, 1)
            if text is not None:
                yield said, text

    return plant


def _bytes(step: int, said: str) -> Callable[[Kernel], Planted]:
    """Other bytes than the copies of a phase deliver; no bulk copy delivers a number that 16 does not divide."""

    def plant(kernel: Kernel) -> Planted:
        if step % 16 and kernel.at.get("st.async"):
            return
        for number in some(_all(kernel, _EXPECT)):
            text = _other_number(kernel, number, step, 1)
            if text is not None:
                yield said, text

    return plant


def _half(kernel: Kernel) -> Planted:
    """Half of the bytes that the copies of a phase deliver."""
    for number in some(_all(kernel, _EXPECT)):
        found = _last_number(kernel, number)
        text = _other_number(kernel, number, -(found[1] // 2), 16) if found and found[1] % 32 == 0 else None
        if text is not None:
            yield "expect half of the bytes", text


def _parity(kernel: Kernel) -> Planted:
    """A wait for the other phase."""
    for number in some(_all(kernel, _TRIES)):
        text = kernel.written(number)
        found = re.search(r"\],\s*([01])\s*[;,]", text)
        if found is not None:
            other = f"{text[: found.start(1)]}{1 - int(found[1])}{text[found.end(1) :]}"
            yield "wait for the other parity", kernel.replaced({number: other})


def _passed(kernel: Kernel, number: int) -> str | None:
    """A wait for an mbarrier as a test that always holds."""
    text = kernel.written(number)
    found = re.search(r"mbarrier\.\w+_wait[\w.:]*\s+([%\w$]+)\s*,", text)
    return None if found is None else f"{text[: found.start()]}setp.eq.u32 {found[1]}, 0, 0;"


def _wait(kernel: Kernel) -> Planted:
    """No thread waits for any phase."""
    waits = _all(kernel, _TRIES)
    changes = {one: text for one in waits if (text := _passed(kernel, one)) is not None}
    if changes and len(changes) == len(waits):
        yield "wait for no mbarrier", kernel.replaced(changes)


def _drop(
    names: tuple[str, ...], said: str, every: bool = False, has: str = "", last: bool = True, where: str = ""
) -> Callable[[Kernel], Planted]:
    """Instructions that are dropped, each alone or all.

    Args:
        has: what their text has.
        last: whether the last of them does something.
        where: what a kernel must have for this to be a fault.
    """

    def plant(kernel: Kernel) -> Planted:
        found = _all(kernel, names, has) if not where or kernel.at.get(where) else []
        found = found if last else found[:-1]
        if every and found:
            yield f"drop every {said}", kernel.dropped(*found)
        for number in () if every else some(found):
            yield f"drop {said}", kernel.dropped(number)

    return plant


def _fills(kernel: Kernel, number: int) -> bool:
    """Whether a wait is one for data, which are used right behind it, and not for a place to fill: it may be free."""
    statements = kernel.module.instructions
    behind = (one.opcode for one in statements[number + 1 :])
    near = next((one for one in behind if one.startswith((*_CONSUMES, "mbarrier.", "cp.async.bulk"))), "")
    return near.startswith(_CONSUMES)


def _next_barrier(
    names: tuple[str, ...], said: str, wanted: Callable[[Kernel, int], bool] = lambda kernel, number: True
) -> Callable[[Kernel], Planted]:
    """An operation on the barrier behind the one that is meant."""

    def plant(kernel: Kernel) -> Planted:
        for number in some([one for one in _all(kernel, names, "[") if wanted(kernel, one)]):
            text = kernel.written(number)
            at = [*re.finditer(r"\[\s*(%\w+|\w+)\s*(?:\+\s*(\d+)\s*)?\]", text)]
            if not at or (names == _COPIES and (len(at) < 2 or "complete_tx" not in text)):
                continue
            moved = int(at[-1][2] or 0) + 8
            yield (
                said,
                kernel.replaced({number: f"{text[: at[-1].start()]}[{at[-1][1]}+{moved}]{text[at[-1].end() :]}"}),
            )

    return plant


def _threads(step: int) -> Callable[[Kernel], Planted]:
    """A barrier of threads for one warp more or less than come."""

    def plant(kernel: Kernel) -> Planted:
        for number in some(_all(kernel, _BARS, ",")):
            text = _other_number(kernel, number, step, 64)
            if text is not None:
                yield f"bar.sync of one warp {'more' if step > 0 else 'less'}", text

    return plant


def _number(kernel: Kernel) -> Planted:
    """Threads that arrive at another barrier than those that wait."""
    for number in some(_all(kernel, ("bar.arrive", "barrier.arrive"))):
        text = kernel.written(number)
        found = re.search(r"arrive\S*\s+(%?\w+)\s*,", text)
        if found is not None:
            yield "bar.arrive elsewhere", kernel.replaced({number: f"{text[: found.start(1)]}15{text[found.end(1) :]}"})


_PASSED = ("bar", "mbarrier.", "fence.", "cp.async.bulk.", "tcgen05.mma", "wgmma.")


def _behind_writes(kernel: Kernel, number: int) -> bool:
    """Whether threads write to shared memory right before an instruction: a fence elsewhere may do nothing."""
    statements = kernel.module.instructions
    before = (statements[i].opcode for i in range(number - 1, max(number - 100, -1), -1))
    near = next((one for one in before if one.startswith(("st.shared", "stmatrix", *_PASSED))), "")
    return near.startswith("st")


def _fences(kernel: Kernel) -> list[int]:
    """The fences without which the async proxy may not see what threads wrote."""
    fences = [one for one in kernel.at.get("fence.proxy", []) if ".async" in kernel.written(one)]
    return [one for one in fences if _behind_writes(kernel, one)]


def _fence(kernel: Kernel) -> Planted:
    for number in some(_fences(kernel)):
        yield "drop fence.proxy", kernel.dropped(number)


def _weak_fence(kernel: Kernel) -> Planted:
    for number in some(_fences(kernel)):
        guard = kernel.written(number).partition("fence")[0]
        yield "fence.proxy as fence.acq_rel", kernel.replaced({number: f"{guard}fence.acq_rel.cta;"})


def _early_free(kernel: Kernel) -> Planted:
    """Tensor memory is freed before it is read for the last time."""
    for number in kernel.at.get("tcgen05.dealloc", [])[-1:]:
        load = kernel.next(number, "tcgen05.ld", -1)
        frees = kernel.at["tcgen05.dealloc"]
        registers = re.findall(r"%\w+", kernel.written(number))
        if load is None or len(frees) > 1 or not all(one in kernel.before(load) for one in registers):
            continue
        moved = {number: "", load: f"{kernel.written(number)} {kernel.written(load)}"}
        yield "dealloc before tcgen05.ld", kernel.replaced(moved)


def _body(kernel: Kernel, number: int) -> int:
    return kernel.module.instructions[number].body


def _late_init(kernel: Kernel) -> Planted:
    """An mbarrier is initialised behind the last barrier of threads before the first wait for any mbarrier."""
    inits = [one for one in kernel.at.get("mbarrier.init", []) if kernel.written(one).split()[-1][:-1].isdigit()]
    for number in inits[-1:]:
        body = _body(kernel, number)
        uses = [one for one in _all(kernel, _TRIES) if one > number and _body(kernel, one) == body]
        bars = _all(kernel, (*_BARS, _CLUSTER[1]))
        behind = [one for one in bars if uses and number < one < uses[0]]
        if behind:
            moved = {number: "", behind[-1]: f"{kernel.written(behind[-1])} {kernel.written(number)}"}
            yield "initialise after the barrier", kernel.replaced(moved)


# Faults that only the abstract machine can find: they are about addresses, or about what other threads do.
BARRIERS: tuple[Callable[[Kernel], Planted], ...] = (
    _count(1),
    _count(-1),
    _bytes(16, "expect 16 bytes more"),
    _bytes(-16, "expect 16 bytes fewer"),
    _bytes(4, "expect 4 bytes more"),
    _half,
    _parity,
    _wait,
    *(_drop((name,), name) for name in ("mbarrier.init", "mbarrier.arrive", *_EXPECT)),
    _drop(_COPIES, "copy that completes on an mbarrier", every=True, has="complete_tx"),
    _drop(("tcgen05.wait::st",), "tcgen05.wait::st", every=True),  # who uses what tcgen05.ld loads waits for it anyway
    _drop(("tcgen05.commit",), "tcgen05.commit"),
    _drop((*_BARS, *_CLUSTER), "barrier of threads", every=True, where="mbarrier.init"),
    _drop(_CLUSTER[:1], _CLUSTER[0]),
    _drop(_CLUSTER[1:], _CLUSTER[1], last=False),  # behind the last one a CTA may exit
    _next_barrier(("mbarrier.init",), "initialise the next mbarrier"),
    _next_barrier(("mbarrier.arrive",), "arrive at the next mbarrier"),
    _next_barrier(_EXPECT, "expect bytes at the next mbarrier"),
    _next_barrier(("tcgen05.commit",), "tcgen05.commit to the next mbarrier"),
    _next_barrier(_COPIES, "copy to the next mbarrier"),
    _next_barrier(_TRIES, "wait for the next mbarrier", _fills),
    _threads(32),
    _threads(-32),
    _number,
    _fence,
    _weak_fence,
    _early_free,
    _late_init,
)
