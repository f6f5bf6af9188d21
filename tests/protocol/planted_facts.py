"""Faults of what operations need beside the order of accesses, to plant into real kernels; beside ``planted``.

Memory that nobody wrote, warps and CTAs that are missing, lanes of another warp, CTAs that end too early.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from protocol.planted import Operator, Reorder


@dataclass(frozen=True)
class Rewrite:
    """A change that needs other lines than the one that it is named by.

    Attributes:
        rewrite: the text with the fault from the lines and the place of one; None where there is no place for it.
    """

    name: str
    applies: Callable[[str], bool]
    rewrite: Callable[[list[str], int], list[str] | None]
    looped: bool = False

    def plant(self, lines: list[str], at: int) -> list[str] | None:
        """The text with the fault; None where there is no place for it."""
        return self.rewrite(lines, at)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _accumulates(line: str) -> str:
    indent = _indent(line)
    return f"{indent}%planted = arith.constant true\n" + re.sub(r"(accum_c>\(%\w+, )%\w+", r"\1%planted", line)


def _raw_accumulates(line: str) -> str:
    indent = _indent(line)
    found = re.sub(r"(nvvm\.tcgen05\.mma(?:\.block_scale)? (?:%[\w#]+, ){4})%[\w#]+", r"\1%planted", line)
    return f"{indent}%planted = arith.constant true\n{found}"


def _by_one_warp(line: str) -> str:
    """An operation that only the first warp of each warpgroup executes."""
    indent = _indent(line)
    return "\n".join(
        (
            f"{indent}%planted_tid = nvvm.read.ptx.sreg.tid.x : i32",
            f"{indent}%planted_128 = arith.constant 128 : i32",
            f"{indent}%planted_32 = arith.constant 32 : i32",
            f"{indent}%planted_rank = arith.remsi %planted_tid, %planted_128 : i32",
            f"{indent}%planted_first = arith.cmpi slt, %planted_rank, %planted_32 : i32",
            f"{indent}scf.if %planted_first {{",
            f"  {line}",
            f"{indent}}}",
        )
    )


def _next_thread_coordinate(lines: list[str], at: int) -> list[str] | None:
    """A tensor-memory copy is partitioned for the threads of the next warp."""
    found = re.search(r"partition_[SD]\(%\w+, %\w+, (%\w+)\)", lines[at])
    if found is None:
        return None
    for before in range(at - 1, -1, -1):
        made = re.match(rf"(\s*){re.escape(found[1])} = cute\.make_coord\((%\w+)\)", lines[before])
        if made is not None:
            break
    else:
        return None
    indent, thread = made.groups()
    planted = [
        f"{indent}%planted_32 = arith.constant 32 : i32",
        f"{indent}%planted_96 = arith.constant 128 : i32",
        f"{indent}%planted_next = arith.addi {thread}, %planted_32 : i32",
        f"{indent}%planted_thread = arith.remsi %planted_next, %planted_96 : i32",
        lines[before].replace(f"({thread})", "(%planted_thread)", 1).replace(found[1], "%planted_coord", 1),
    ]
    changed = lines[at].replace(f"{found[1]})", "%planted_coord)", 1)
    return [*lines[: before + 1], *planted, *lines[before + 1 : at], changed, *lines[at + 1 :]]


def _next_lanes(line: str) -> str:
    """The lanes of an address of tensor memory begin 32 further."""
    indent = _indent(line)
    found = re.search(r"arith\.shli (%[\w#]+), %c16_i32", line)
    assert found is not None
    one = (
        f"{indent}%planted_32 = arith.constant 32 : i32\n{indent}%planted = arith.addi {found[1]}, %planted_32 : i32\n"
    )
    return one + line.replace(found[1] + ",", "%planted,", 1)


def _longer_ring(lines: list[str], at: int) -> list[str] | None:
    """A ring of stages goes round one stage too late."""
    found = re.search(r"(%\w+) = arith\.cmpi eq, (%\w+), %c(\d+)_i32", lines[at])
    if found is None or int(found[3]) < 2:
        return None
    wrapped = re.compile(rf"arith\.select {re.escape(found[1])}, %c0_i32, {re.escape(found[2])} ")
    if not any(wrapped.search(line) for line in lines[at + 1 : at + 4]):
        return None
    indent = _indent(lines[at])
    changed = lines[at].replace(f"%c{found[3]}_i32", "%planted", 1)
    return [*lines[:at], f"{indent}%planted = arith.constant {int(found[3]) + 1} : i32", changed, *lines[at + 1 :]]


def _unfilled(lines: list[str], at: int) -> list[str] | None:
    """The threads do not fill an accumulator in registers."""
    found = re.search(r"store_vec\(%\w+, (%\w+)\)", lines[at])
    used = found is not None and f", {found[1]}, " in "".join(line for line in lines if "cute.gemm(" in line)
    return [*lines[:at], *lines[at + 1 :]] if used else None


def _last(pattern: str) -> Callable[[list[str], int], list[str] | None]:
    """The last operations of the kernel that hold a pattern are dropped, if there is only their partner behind it."""

    def rewrite(lines: list[str], at: int) -> list[str] | None:
        rest = [i for i in range(at, len(lines)) if re.search(pattern, lines[i])]
        if len(rest) != 2 or not re.search(r"mapa|multicast|cta_2", "\n".join(lines[:at])):
            return None
        return [line for i, line in enumerate(lines) if i not in rest]

    return rewrite


def _at_the_end(lines: list[str], at: int) -> list[str] | None:
    """An operation comes behind all others of its kernel."""
    end = next((i for i in range(at, len(lines)) if lines[i].strip() == "return"), None)
    return None if end is None else [*lines[:at], *lines[at + 1 : end], lines[at], *lines[end:]]


def _behind_barrier(lines: list[str], at: int) -> list[str] | None:
    """Registers are given back behind a barrier of all threads, and the others ask for theirs before it.

    A fault only where they ask for more than a CTA of so many threads can have had from the beginning.
    """
    asks = next((i for i, line in enumerate(lines) if "setmaxregister increase" in line), None)
    threads = re.search(r"reqntid = array<i32: (\d+), 1, 1>", "\n".join(lines))
    if asks is None or threads is None or int(lines[asks].split()[-1]) <= 65536 // int(threads[1]):
        return None
    barrier = [f"{_indent(lines[i])}nvvm.barrier" for i in (at, asks)]
    changed = {at: [barrier[0], lines[at]], asks: [lines[asks], barrier[1]]}
    return [one for i, line in enumerate(lines) for one in changed.get(i, [line])]


def _other_group(line: str) -> str:
    for one, other in (("cta_1", "cta_2"), ("cta_2", "cta_1")):
        if one in line:
            return line.replace(one, other)
    return line


def _narrow_scope(line: str) -> str:
    return line.replace("mem_scope<cluster>", "mem_scope<cta>").replace("release.cluster.", "release.cta.")


FACTS: tuple[Operator | Reorder | Rewrite, ...] = (
    Operator(
        "accumulates-from-the-first", lambda line: re.search(r"accum_c>\(%\w+, %false", line) is not None, _accumulates
    ),
    Operator(
        "accumulates-always-everywhere",
        lambda line: "set_value<accum_c>" in line and re.search(r"accum_c>\(%\w+, %true", line) is None,
        _accumulates,
    ),
    Operator(
        "primitive-accumulates-always-everywhere",
        lambda line: re.search(r"nvvm\.tcgen05\.mma(\.block_scale)? %", line) is not None,
        _raw_accumulates,
    ),
    Rewrite("zeros-dropped", lambda line: "cute.memref.store_vec(%cst" in line, _unfilled),
    Operator(
        "scale-copies-dropped-everywhere",
        lambda line: (
            re.search(r"cute\.copy\(.*: \(!(copy_utccp|cute_nvgpu\.atom\.s2t)|nvvm\.tcgen05\.cp ", line) is not None
        ),
        lambda line: None,
    ),
    Operator(
        "tmem-stores-dropped-everywhere", lambda line: "(!copy_sttm" in line and "cute.copy(" in line, lambda line: None
    ),
    Rewrite(
        "lanes-of-the-next-warp",
        lambda line: (
            re.search(r"tiled\.copy\.partition_[SD]\(.*\(!copy_(ldtm|sttm)", line) is not None
            and "coord_tensor" not in line  # coordinates in global memory
        ),
        _next_thread_coordinate,
    ),
    Operator(
        "primitive-lanes-of-the-next-warp",
        lambda line: re.search(r"arith\.shli %[\w#]+, %c16_i32", line) is not None,
        _next_lanes,
    ),
    Operator("registers-of-one-warp", lambda line: "nvvm.setmaxregister" in line, _by_one_warp),
    Operator(
        "registers-never-given-back-everywhere", lambda line: "setmaxregister decrease" in line, lambda line: None
    ),
    Operator(
        "tmem-by-another-group",
        lambda line: re.search(r"(alloc_tmem|relinquish_tmem|dealloc_tmem).*cta_[12]", line) is not None,
        _other_group,
    ),
    Reorder("tmem-address-before-the-barrier", lambda line: "retrieve_tmem_ptr" in line, r"nvvm\.barrier", up=True),
    Rewrite(
        "last-cluster-barrier-dropped",
        lambda line: re.search(r"nvvm\.cluster\.arrive", line) is not None,
        _last(r"nvvm\.cluster\.(arrive|wait)"),
    ),
    Operator(
        "remote-arrival-of-cta-scope",
        lambda line: "mem_scope<cluster>" in line or "release.cluster." in line,
        _narrow_scope,
    ),
    Rewrite("ring-one-stage-too-long", lambda line: "arith.cmpi eq" in line, _longer_ring),
    Operator(
        "grid-waits-dropped-everywhere",
        lambda line: re.search(r"griddepcontrol[ .]wait", line) is not None,
        lambda line: None,
    ),
    Rewrite("grid-wait-at-the-end", lambda line: re.search(r"griddepcontrol[ .]wait", line) is not None, _at_the_end),
    Rewrite("registers-given-back-late", lambda line: "setmaxregister decrease" in line, _behind_barrier),
    Operator("bulk-commit-dropped", lambda line: "nvvm.cp.async.bulk.commit.group" in line, lambda line: None),
    Operator("tmem-store-wait-dropped", lambda line: "nvvm.tcgen05.wait <store>" in line, lambda line: None),
)


# Where an operator plants no fault, by the operator, the reason and the kernel: the lines. Each was read by hand.
HARMLESS: dict[str, dict[str, dict[str, tuple[int, ...]]]] = {
    "accumulates-from-the-first": {
        "the flag is computed anew for each MMA": {
            "corpus/sm_100a/dense_blockscaled__nvf4_t256x128_c2x1": (696,),
        },
    },
    "ring-one-stage-too-long": {
        "the loop makes too few turns to come to the end of the ring": {
            "corpus/sm_90a/dense_gemm_persistent__default": (328,),
            "corpus/sm_100a/dense_gemm__e4m3_e4m3_f32_2cta": (304,),
        },
    },
}
