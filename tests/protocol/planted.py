"""Faults to plant into the protocol of a real kernel: each operator changes one operation of its text, or moves it.

An operator is a name, which operations it applies to, and what becomes of the line; None deletes it. Kernels are in the
custom form, one operation a line.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Change = Callable[[str], str | None]


@dataclass(frozen=True)
class Operator:
    """One way to break a protocol.

    Attributes:
        applies: whether the fault can be planted into a line.
        change: the line with the fault; None where the operation is dropped.
        looped: whether it is a fault in loops only: a producer that waits behind its last copy could as well not.
    """

    name: str
    applies: Callable[[str], bool]
    change: Change
    looped: bool = False

    def plant(self, lines: list[str], at: int) -> list[str] | None:
        """The text with the fault; None where there is no place for it."""
        new = self.change(lines[at])
        return None if new == lines[at] else _with(lines, {at: new})


@dataclass(frozen=True)
class Reorder:
    """An operation that moves within its block over the next one, or the one before, that holds something.

    Attributes:
        over: a pattern that is in the text of what it moves over, regions included.
        up: whether it moves to the front.
    """

    name: str
    applies: Callable[[str], bool]
    over: str
    up: bool = False
    looped: bool = False

    def plant(self, lines: list[str], at: int) -> list[str] | None:
        """The text with the fault; None where there is no place for it."""
        for first, end in _neighbours(lines, at, self.up):
            passed = "\n".join(lines[first:end])
            if self.up and _results(lines[first]) & _operands(lines[at]):
                return None
            if not self.up and _results(lines[at]) & _operands(passed):
                return None
            if re.search(self.over, passed):
                rest = lines[:at] + lines[at + 1 :]
                to = first if self.up else end - 1
                return [*rest[:to], lines[at], *rest[to:]]
        return None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _neighbours(lines: list[str], at: int, up: bool) -> Iterator[tuple[int, int]]:
    """The operations of the same block behind a line, or before it, with their regions: the first line and the end."""
    home = _indent(lines[at])
    step, i = (-1, at - 1) if up else (1, at + 1)
    begin = i
    while 0 <= i < len(lines) and _indent(lines[i]) >= home:
        inside = _indent(lines[i]) > home or lines[i].lstrip()[:1] in "}^"
        if up and not inside:
            yield i, begin + 1
            begin = i - 1
        after = lines[i + 1] if i + 1 < len(lines) else ""
        if not up and not (_indent(after) > home or (_indent(after) == home and after.lstrip()[:1] in "}^")):
            yield begin, i + 1
            begin = i + 1
        i += step


def _results(line: str) -> set[str]:
    return set(re.findall(r"%\w+", line.partition(" = ")[0])) if " = " in line else set()


def _operands(text: str) -> set[str]:
    return set(re.findall(r"%\w+", text))


def _has(*pieces: str) -> Callable[[str], bool]:
    return lambda line: any(re.search(rf"\b{piece}(?![\w.])", line) for piece in pieces)


def _drop(line: str) -> None:
    return None


def _twice(line: str) -> str:
    return line + "\n" + re.sub(r"^(\s*)%[\w:#]+ = ", r"\1%again = ", line)


def _number(change: Callable[[int], int]) -> Change:
    """Change the number at the end of an operation: the pending groups."""

    def function(line: str) -> str:
        return re.sub(r"(\d+)(\s*(?:\{read\})?\s*)$", lambda m: f"{change(int(m[1]))}{m[2]}", line)

    return function


def _constant(place: int, change: Callable[[int], int]) -> Change:
    """Replace the operand ``%cN_i32`` at a place by another constant, defined before the operation."""

    def function(line: str) -> str | None:
        found = list(re.finditer(r"%c(\d+)_i32\w*", line))
        if not found:
            return line
        one = found[min(place, len(found) - 1)]
        value = change(int(one[1]))
        indent = line[: len(line) - len(line.lstrip())]
        changed = line[: one.start()] + "%planted" + line[one.end() :]
        return f"{indent}%planted = arith.constant {value} : i32\n{changed}"

    return function


def _flip_parity(line: str) -> str:
    found = re.search(r"(try_wait\.parity(?:\.timelimit)? %[\w#]+, )(%[\w#]+)", line)
    assert found is not None
    indent = line[: len(line) - len(line.lstrip())]
    one = (
        f"{indent}%planted_one = arith.constant 1 : i32\n{indent}%planted = arith.xori {found[2]}, %planted_one : i32\n"
    )
    return one + line.replace(found[0], f"{found[1]}%planted")


def _move_address(line: str) -> str:
    """The next barrier of the ring."""
    found = re.search(r"(nvvm\.\S+ )(%\w+)", line)
    assert found is not None
    indent = line[: len(line) - len(line.lstrip())]
    moved = f"{indent}%planted = llvm.getelementptr {found[2]}[8] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8\n"
    return moved + line.replace(found[0], f"{found[1]}%planted")


def _other_barrier(line: str) -> str:
    """A copy completes on the barrier behind its own."""
    found = re.search(r"tma_bar>\(%\w+, (%\w+)\) : .*, (!cute\.ptr<i64, smem[^>]*>*)\)", line)
    if found is None:
        return line
    barrier, kind = found.groups()
    indent = line[: _indent(line)]
    one = f'{indent}%planted_one = cute.make_int_tuple() : () -> !cute.int_tuple<"1">\n'
    moved = f'{indent}%planted = cute.add_offset({barrier}, %planted_one) : ({kind}, !cute.int_tuple<"1">) -> {kind}\n'
    return one + moved + line.replace(barrier, "%planted")


def _relaxed(line: str) -> str:
    return line.replace(" : ", " {relaxed = true} : ", 1)


def _with_constant(*pieces: str) -> Callable[[str], bool]:
    has = _has(*pieces)
    return lambda line: has(line) and re.search(r"%c\d+_i32", line) is not None


_WAIT = ("nvvm.mbarrier.try_wait.parity", "nvvm.mbarrier.try_wait.parity.timelimit")

_COPIES = r"cute\.copy|cp\.async\.shared|store_vec"
_MMA = r"cute\.gemm|mma_async"

OPERATORS: tuple[Operator | Reorder, ...] = (
    Operator("wgmma-fence-dropped-everywhere", _has("nvvm.wgmma.fence.aligned"), _drop),
    Operator("wgmma-commit-dropped", _has("nvvm.wgmma.commit.group.sync.aligned"), _drop),
    Operator("wgmma-commits-dropped-everywhere", _has("nvvm.wgmma.commit.group.sync.aligned"), _drop),
    Operator("wgmma-wait-dropped", _has("nvvm.wgmma.wait.group.sync.aligned"), _drop),
    Operator("wgmma-waits-dropped-everywhere", _has("nvvm.wgmma.wait.group.sync.aligned"), _drop),
    Operator("wgmma-wait-weaker-by-one", _has("nvvm.wgmma.wait.group.sync.aligned"), _number(lambda n: n + 1)),
    Operator("wgmma-wait-weaker-by-seven", _has("nvvm.wgmma.wait.group.sync.aligned"), _number(lambda n: n + 7)),
    Operator("proxy-fence-dropped", _has("nvvm.fence.proxy"), _drop),
    Operator("proxy-fences-dropped-everywhere", _has("nvvm.fence.proxy"), _drop),
    Operator("init-dropped", _has("nvvm.mbarrier.init"), _drop),
    Operator("init-fence-dropped-everywhere", _has("nvvm.fence.mbarrier.init"), _drop),
    Operator("init-count-one-more", _with_constant("nvvm.mbarrier.init"), _constant(0, lambda n: n + 1)),
    Operator("init-count-doubled", _with_constant("nvvm.mbarrier.init"), _constant(0, lambda n: 2 * n)),
    Operator(
        "init-count-one-less",
        lambda line: _with_constant("nvvm.mbarrier.init")(line) and "%c1_i32" not in line,
        _constant(0, lambda n: n - 1),
    ),
    Operator("arrive-dropped", _has("nvvm.mbarrier.arrive"), _drop),
    Operator("arrive-twice", _has("nvvm.mbarrier.arrive"), _twice),
    Operator("arrive-misaddressed", _has("nvvm.mbarrier.arrive"), _move_address),
    Operator("expect-dropped", _has("nvvm.mbarrier.arrive.expect_tx"), _drop),
    Operator("expect-twice", _has("nvvm.mbarrier.arrive.expect_tx"), _twice),
    Operator("expect-misaddressed", _has("nvvm.mbarrier.arrive.expect_tx"), _move_address),
    Operator("bytes-doubled", _with_constant("nvvm.mbarrier.arrive.expect_tx"), _constant(0, lambda n: 2 * n)),
    Operator("bytes-halved", _with_constant("nvvm.mbarrier.arrive.expect_tx"), _constant(0, lambda n: n // 2)),
    Operator("bytes-sixteen-less", _with_constant("nvvm.mbarrier.arrive.expect_tx"), _constant(0, lambda n: n - 16)),
    Operator(
        "wait-dropped", _has(*_WAIT), lambda line: None if "=" not in line.split("nvvm")[0] else line, looped=True
    ),
    Operator("wait-parity-flipped", _has(*_WAIT), _flip_parity, looped=True),
    Operator("wait-misaddressed", _has(*_WAIT), _move_address, looped=True),
    Operator("commit-dropped", _has("nvvm.tcgen05.commit"), _drop),
    Operator("commit-misaddressed", _has("nvvm.tcgen05.commit"), _move_address),
    Operator("commit-twice", _has("nvvm.tcgen05.commit"), _twice),
    Operator(
        "commit-of-two-ctas",
        lambda line: "nvvm.tcgen05.commit" in line and "cta_2" not in line,
        lambda line: line.replace(" : !llvm", " {group = #nvvm.cta_group<cta_2>} : !llvm"),
    ),
    Operator("cta-barrier-dropped", _has("nvvm.barrier", "nvvm.barrier.cta.sync"), _drop),
    Operator(
        "cta-barrier-counts-more",
        lambda line: "number_of_threads" in line,
        _constant(1, lambda n: n + 32),
    ),
    Operator("bulk-commit-dropped", _has("nvvm.cp.async.bulk.commit.group"), _drop),
    Operator("bulk-commits-dropped-everywhere", _has("nvvm.cp.async.bulk.commit.group"), _drop),
    Operator("bulk-waits-dropped-everywhere", _has("nvvm.cp.async.bulk.wait_group"), _drop),
    Operator("bulk-waits-weaker-everywhere", _has("nvvm.cp.async.bulk.wait_group"), _number(lambda n: n + 4)),
    Operator("async-commits-dropped-everywhere", _has("nvvm.cp.async.commit.group"), _drop),
    Operator("async-waits-dropped-everywhere", _has("nvvm.cp.async.wait.group"), _drop),
    Operator("async-waits-weaker-everywhere", _has("nvvm.cp.async.wait.group"), _number(lambda n: n + 3)),
    Operator("tmem-alloc-dropped", lambda line: "alloc_tmem" in line and "dealloc" not in line, _drop),
    Operator("tmem-dealloc-dropped", _has("cute_nvgpu.arch.sm100.dealloc_tmem", "nvvm.tcgen05.dealloc"), _drop),
    Operator(
        "tmem-columns-not-a-power",
        lambda line: "alloc_tmem(%c" in line and "dealloc" not in line,
        _constant(0, lambda n: n - 16),
    ),
    Operator(
        "tmem-dealloc-other-columns",
        lambda line: "dealloc_tmem" in line and "%c" in line,
        _constant(0, lambda n: n // 2),
    ),
    Operator("tmem-store-wait-dropped", lambda line: "nvvm.tcgen05.wait <store>" in line, _drop),
    Operator(
        "phase-never-flips",
        lambda line: "arith.xori" in line and "%c1_i32" in line,
        lambda line: line.replace("xori", "ori"),
        looped=True,
    ),
    Operator("cluster-wait-dropped", _has("nvvm.cluster.wait"), _drop),
    Operator("cluster-arrive-dropped", _has("nvvm.cluster.arrive", "nvvm.cluster.arrive.relaxed"), _drop),
    Operator("init-twice", _has("nvvm.mbarrier.init"), _twice),
    Operator("init-count-zero", _with_constant("nvvm.mbarrier.init"), _constant(0, lambda n: 0)),
    Operator("arrive-relaxed", _has("nvvm.mbarrier.arrive"), _relaxed),
    Operator(
        "proxy-fence-of-global-memory",
        lambda line: "async.shared" in line,
        lambda line: re.sub(r"async\.shared>, space = [^>]*>", "async.global>", line),
    ),
    Operator(
        "cta-barrier-counts-less",
        lambda line: "number_of_threads = %c" in line,
        _constant(1, lambda n: n // 2),
    ),
    Operator("registers-not-a-multiple", _has("nvvm.setmaxregister"), _number(lambda n: n + 4)),
    Operator("registers-too-many", _has("nvvm.setmaxregister"), _number(lambda n: n + 224)),
    Operator("tmem-alloc-twice", lambda line: "alloc_tmem" in line and "dealloc" not in line, _twice),
    Operator("tmem-dealloc-twice", lambda line: "dealloc_tmem" in line, _twice),
    Operator(
        "tmem-permit-given-up-first",
        lambda line: "alloc_tmem" in line and "dealloc" not in line,
        lambda line: f"{line[: _indent(line)]}cute_nvgpu.arch.sm100.relinquish_tmem_alloc_permit [ cta_1]\n{line}",
    ),
    Operator("copy-completes-elsewhere", lambda line: "set_value<tma_bar>" in line, _other_barrier),
    Reorder("wgmma-fence-behind-mma", _has("nvvm.wgmma.fence.aligned"), _MMA),
    Reorder("wgmma-commit-before-mma", _has("nvvm.wgmma.commit.group.sync.aligned"), _MMA, up=True),
    Reorder("wgmma-wait-behind-release", _has("nvvm.wgmma.wait.group.sync.aligned"), r"mbarrier\.arrive|memref\.load"),
    Reorder("proxy-fence-before-writes", _has("nvvm.fence.proxy"), _COPIES, up=True),
    Reorder("bulk-commit-before-store", _has("nvvm.cp.async.bulk.commit.group"), _COPIES, up=True),
    Reorder("async-commit-before-copies", _has("nvvm.cp.async.commit.group"), _COPIES, up=True),
    Reorder("async-wait-behind-barrier", _has("nvvm.cp.async.wait.group"), r"nvvm\.barrier"),
    Reorder("cta-barrier-before-writes", _has("nvvm.barrier"), _COPIES, up=True),
    Reorder("wait-behind-use", _has(*_WAIT), rf"{_COPIES}|{_MMA}", looped=True),
)


# Where an operator plants no fault, by the operator, the reason and the kernel: the lines. Each was read by hand, those
# of phases by following the value to the waits. What is missed and does not stand here is a fault that is not found.
HARMLESS: dict[str, dict[str, dict[str, tuple[int, ...]]]] = {
    "phase-never-flips": {
        "no wait has this phase: it is that of releases": {
            "sm_90a/dense_gemm__default": (380,),
            "sm_90a/dense_gemm__e4m3_e5m2_f16_f32": (388,),
            "sm_90a/dense_gemm__f16_t128x256_c2x1": (390,),
            "sm_90a/dense_gemm_fp8_2xacc__default": (586, 627),
            "sm_90a/dense_gemm_persistent__default": (518, 548),
            "sm_90a/dense_gemm_fp8_gelu_persistent__default": (523, 553),
            "sm_90a/grouped_gemm__default": (1096, 1126),
        },
        "the loop makes too few turns to come to the end of the ring": {
            "sm_90a/dense_gemm_fp8_2xacc__default": (523,),
            "sm_90a/dense_gemm_persistent__default": (477,),
            "sm_90a/dense_gemm_fp8_gelu_persistent__default": (482,),
            "sm_90a/grouped_gemm__default": (1055,),
            "sm_90a/fmha__default": (725,),
            "sm_100a/dense_gemm__default": (224,),
            "sm_100a/dense_gemm__f16_mnn": (230,),
            "sm_100a/dense_gemm__e4m3_e4m3_f32_2cta": (307,),
        },
    },
    "cta-barrier-dropped": {
        "the stage that is written behind it was not stored yet": {
            "sm_90a/dense_gemm__default": (569, 661, 753),
            "sm_90a/dense_gemm__e4m3_e5m2_f16_f32": (577, 669, 761),
            "sm_90a/dense_gemm__f16_t128x256_c2x1": (583, 675, 767),
            "sm_90a/grouped_gemm__default": (1230, 1322, 1414),
            "sm_90a/fmha__default": (4058,),
            "sm_100a/dense_gemm__e4m3_e4m3_f32_2cta": (613,),
        },
        "nothing comes behind it that it could order": {
            "sm_90a/dense_gemm__default": (1185,),
            "sm_90a/dense_gemm__e4m3_e5m2_f16_f32": (1193,),
            "sm_90a/dense_gemm__f16_t128x256_c2x1": (1199,),
            "sm_90a/fmha__default": (4320,),
            "sm_100a/tut_tma_v2__default": (379,),
            "sm_80/sgemm__default": (407,),
        },
        "another barrier of the same threads comes before anything that it orders": {
            "sm_90a/grouped_gemm__default": (202,),
            "sm_100a/dense_gemm__default": (194,),
            "sm_100a/dense_gemm__f16_mnn": (200,),
            "sm_100a/tut_fp16_gemm_0__default": (132, 151, 173),
            "sm_100a/prim_tcgen05_1cta_mma_basic__default": (89,),
            "sm_100a/efc_activation_custom_epilogue_dense_gemm__default": (179, 206, 234, 270),
            "sm_120a/dense_gemm__default": (139, 172),
        },
        "the last barrier of the loop before it orders the same": {
            "sm_100a/dense_gemm__f16_mnn": (524,),
            "sm_100a/dense_gemm__e4m3_e4m3_f32_2cta": (616,),
            "sm_100a/dense_blockscaled__nvf4_t256x128_c2x1": (1005,),
            "sm_100a/efc_activation_custom_epilogue_dense_gemm__default": (902,),
        },
        "each warp waits for the commit itself": {"sm_100a/prim_tcgen05_1cta_mma_basic__default": (193,)},
        "each thread copies over the zeros that it wrote itself": {
            "sm_80/tensorop_gemm__default": (640,),
            "sm_89/tensorop_gemm__f16_kk": (643,),
        },
    },
    "wait-dropped": {
        "the first turns of the ring do not wait: its stages are free": {
            "sm_100a/dense_gemm__default": (212,),
            "sm_100a/dense_gemm__f16_mnn": (218,),
            "sm_100a/dense_gemm__e4m3_e4m3_f32_2cta": (293,),
            "sm_90a/dense_gemm__e4m3_e5m2_f16_f32": (247,),
            "sm_90a/dense_gemm__f16_t128x256_c2x1": (246,),
        },
    },
    "wait-misaddressed": {
        "the first turns of the ring do not wait: its stages are free": {
            "sm_100a/dense_gemm__f16_mnn": (218,),
            "sm_100a/dense_gemm__e4m3_e4m3_f32_2cta": (293,),
        },
    },
    "init-dropped": {
        "nobody uses the barrier": {"sm_100a/prim_tcgen05_1cta_mma_basic__default": (85,)},
    },
    "init-count-one-more": {
        "nobody uses the barrier": {"sm_100a/prim_tcgen05_1cta_mma_basic__default": (85,)},
    },
    "init-count-doubled": {
        "nobody uses the barrier": {"sm_100a/prim_tcgen05_1cta_mma_basic__default": (85,)},
    },
    "init-count-one-less": {
        "nobody uses the barrier": {
            "sm_100a/dense_gemm__default": (155,),
            "sm_100a/dense_gemm__f16_mnn": (156,),
            "sm_100a/dense_gemm__e4m3_e4m3_f32_2cta": (221,),
        },
    },
    "arrive-dropped": {"nobody waits any more": {"sm_100a/tut_fp16_gemm_0__default": (344,)}},
    "arrive-relaxed": {
        "nobody waits any more": {"sm_100a/tut_fp16_gemm_0__default": (344,)},
        "it hands nothing on: each CTA of the pair frees its own tensor memory": {
            "sm_100a/dense_gemm__e4m3_e4m3_f32_2cta": (621,),
            "sm_100a/dense_blockscaled__nvf4_t256x128_c2x1": (1010,),
        },
    },
    "init-count-zero": {
        "nobody uses the barrier": {"sm_100a/prim_tcgen05_1cta_mma_basic__default": (85,)},
    },
    "arrive-twice": {"nobody waits any more": {"sm_100a/tut_fp16_gemm_0__default": (344,)}},
    "arrive-misaddressed": {"the loop is never entered": {"sm_90a/fmha__default": (3537,)}},
    "wgmma-commit-dropped": {"the loop is never entered": {"sm_90a/fmha__default": (2637,)}},
    "wgmma-wait-dropped": {
        "the loop is never entered": {"sm_90a/fmha__default": (2642, 3533)},
        "all groups were waited for": {"sm_90a/dense_gemm_fp8_2xacc__default": (603,)},
    },
    "wgmma-wait-weaker-by-one": {
        "a wait for all groups follows": {"sm_90a/dense_gemm_fp8_2xacc__default": (556,)},
        "all groups were waited for": {"sm_90a/fmha__default": (3544,)},
        "the loop is never entered": {"sm_90a/fmha__default": (2642,)},
    },
    "wgmma-wait-weaker-by-seven": {
        "a wait for all groups follows": {"sm_90a/dense_gemm_fp8_2xacc__default": (556,)},
        "all groups were waited for": {"sm_90a/fmha__default": (3544,)},
        "the loop is never entered": {"sm_90a/fmha__default": (2642,)},
    },
    "wgmma-fence-behind-mma": {
        "no thread touched the accumulator since the fence before": {
            "sm_90a/dense_gemm__default": (350,),
            "sm_90a/dense_gemm__e4m3_e5m2_f16_f32": (358,),
            "sm_90a/dense_gemm__f16_t128x256_c2x1": (359,),
        },
        "the loop is never entered": {"sm_90a/fmha__default": (2625,)},
    },
    "wgmma-commit-before-mma": {"the loop is never entered": {"sm_90a/fmha__default": (2637,)}},
    "wgmma-wait-behind-release": {
        "the loop is never entered": {"sm_90a/fmha__default": (2642,)},
        "a wait for all groups follows": {"sm_90a/dense_gemm_fp8_2xacc__default": (556,)},
    },
    "bulk-commit-before-store": {
        "no later store takes its stage": {
            "sm_90a/dense_gemm__default": (927,),
            "sm_90a/dense_gemm__e4m3_e5m2_f16_f32": (935,),
            "sm_90a/dense_gemm__f16_t128x256_c2x1": (941,),
            "sm_90a/fmha__default": (4232,),
        },
    },
    "async-wait-behind-barrier": {
        "the last groups are empty": {
            "sm_80/tensorop_gemm__default": (926,),
            "sm_80/sgemm__default": (406,),
            "sm_89/tensorop_gemm__f16_kk": (922,),
        },
    },
    "cta-barrier-before-writes": {
        "the stage that is written behind it was not stored yet": {
            "sm_90a/grouped_gemm__default": (1230,),
            "sm_90a/fmha__default": (4058,),
            "sm_100a/dense_gemm__e4m3_e4m3_f32_2cta": (613,),
        },
        "nothing comes behind it that it could order": {"sm_80/sgemm__default": (407,)},
        "it moves over stores to global memory": {"sm_100a/dense_gemm__default": (478,)},
        "each thread copies over the zeros that it wrote itself": {
            "sm_80/tensorop_gemm__default": (640,),
            "sm_89/tensorop_gemm__f16_kk": (643,),
        },
    },
    "wait-behind-use": {
        "the first turns of the ring do not wait: its stages are free": {
            "sm_90a/dense_gemm__default": (239,),
            "sm_90a/dense_gemm__e4m3_e5m2_f16_f32": (247,),
            "sm_90a/dense_gemm__f16_t128x256_c2x1": (246,),
            "sm_100a/dense_gemm__default": (212,),
            "sm_100a/dense_gemm__f16_mnn": (218,),
            "sm_100a/dense_gemm__e4m3_e4m3_f32_2cta": (293,),
        },
    },
}


def harmless(operator: str, kernel: str, line: int) -> bool:
    """Whether it is known that an operator plants no fault there."""
    return any(line in kernels.get(kernel, ()) for kernels in HARMLESS.get(operator, {}).values())


@dataclass(frozen=True)
class Mutant:
    """A kernel with one fault."""

    operator: str
    line: int
    text: str


def mutants(text: str, operator: Operator | Reorder, rng: random.Random, most: int) -> Iterator[Mutant]:
    """Some kernels with one fault each; an operator that is meant everywhere gives one with all of them."""
    lines = text.split("\n")
    inside = _in_loops(lines) if operator.looped else set(range(len(lines)))
    places = [i for i, line in enumerate(lines) if i in inside and operator.applies(line)]
    if isinstance(operator, Operator) and operator.name.endswith("-everywhere"):
        if places:
            changed = {i: operator.change(lines[i]) for i in places}
            yield Mutant(operator.name, places[0] + 1, "\n".join(_with(lines, changed)))
        return
    for i in sorted(rng.sample(places, min(most, len(places)))):
        planted = operator.plant(lines, i)
        if planted is not None:
            yield Mutant(operator.name, i + 1, "\n".join(planted))


def _in_loops(lines: list[str]) -> set[int]:
    """The lines inside loops, by indentation."""
    found = set()
    loops: list[int] = []
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        while loops and line.strip() and indent <= loops[-1] and not line.lstrip().startswith("} do"):
            loops.pop()
        if loops:
            found.add(i)
        if re.search(r"\bscf\.(for|while)\b", line):
            loops.append(indent)
    return found


def _with(lines: list[str], changed: dict[int, str | None]) -> list[str]:
    return [new for i, line in enumerate(lines) if (new := changed.get(i, line)) is not None]
