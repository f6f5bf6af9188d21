"""Random uses of operations that stand alone: filters, products of tuples, coordinates, partitions by a layout."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from random import Random

from partition_cases import Case

Leaf = Callable[[], str]


class _Values:
    """Random shapes and layouts as text."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def extent(self) -> str:
        return self.random.choice(["1", "2", "3", "4", "8", "5", "?", "?{div=4}", "?{i64}", "?{i64 div=8}"])

    def small(self) -> str:
        return self.random.choice(["1", "2", "4", "8"])

    def even(self) -> str:
        return self.random.choice(["8", "16", "?", "?{div=16}"])

    def step(self) -> str:
        return self.random.choice(["0", "1", "2", "8", "64", "?", "?{i64}", "?{div=8}", "6"])

    def shape(self, leaf: Leaf, depth: int = 2, rank: int | None = None) -> str:
        if rank is None and (depth == 0 or self.random.random() < 0.5):
            return leaf()
        count = rank or self.random.choice([1, 2, 3])
        return "(" + ",".join(self.shape(leaf, depth - 1) for _ in range(count)) + ")"

    def layout(self, leaf: Leaf, rank: int | None = None) -> str:
        shape = self.shape(leaf, rank=rank)
        return f"{shape}:{alike(shape, self.step)}"


def alike(shape: str, leaf: Leaf) -> str:
    """A tuple of the same profile."""
    return re.sub(r"[^(),]+", lambda _: leaf(), shape)


def _case(random: Random) -> Case:
    make = _Values(random)
    layout = f'!cute.layout<"{make.layout(random.choice([make.extent, make.small]))}">'
    kind = random.choice(["shape", "int_tuple"])
    match random.choice(
        ["product", "product_each", "coord", "partition", "partition", "like", "filter", "index", "stencil", "reduce"]
    ):
        case "product" | "product_each" as name:
            operand = f'!cute.{kind}<"{make.shape(make.extent)}">'
            return Case(f"cute.tuple.{name}", (operand,), "", f'!cute.{kind}<"97">')
        case "reduce":
            shape = make.shape(make.small, rank=2)
            count = prod(map(int, re.findall(r"\d+", shape))) * random.choice([1, 1, 1, 2])
            element = random.choice(["f32", "f16", "i32"])
            profile = random.choice([None, "_", "(_,1)", "(1,_)", "(0,0)", "((_,1),_)", "(_,_,1)", "(1,(1,_))"])
            operands = (f"vector<{count}x{element}>", f'!cute.shape<"{shape}">', random.choice([element, "f32"]))
            about = "reduction_op = #cute.reduction_op<ADD>"
            if profile is not None:
                about += f', reduction_profile = #cute.coord<"{profile}">'
            return Case("cute.reduce", operands, f"{about}, operandSegmentSizes = array<i32: 1, 1, 1, 0>", "i7")
        case "coord":
            index = random.choice(["i32", "i64"])
            return Case("cute.get_integral_coord", (index, layout), "", '!cute.coord<"97">')
        case "partition":
            rank = random.choice([1, 2, 3])
            tiler = make.shape(make.small, 1, rank)
            steps = alike(tiler, lambda: random.choice(["0", "1", "2", "4", "8", "16"]))
            tensor = f'!cute.memref<f16, smem, align<64>, "{make.layout(make.even, rank)}">'
            index = random.choice(["i32", "i32", "i64", "!cute.i32<divby 4>"])
            operands = (tensor, f'!cute.layout<"{tiler}:{steps}">', index)
            return Case("cute.local_partition", operands, "", '!cute.memref<f16, smem, "99:77">')
        case "like":
            return Case("cute.make_fragment_like", (layout,), "", '!cute.layout<"99:77">')
        case "filter":
            return Case("cute.filter", (layout,), "", '!cute.layout<"99:77">')
        case "stencil":
            rank = random.choice([1, 2, 3])
            shape = make.shape(make.extent, 1, rank)
            tile = ";".join(f"{make.small()}:{random.choice([1, 2, 3])}" for _ in range(rank))
            operands = (f'!cute.layout<"{shape}:{alike(shape, make.step)}">', f'!cute.tile<"[{tile}]">')
            segments = "operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>"
            return Case("cute.stencil_divide", operands, segments, '!cute.layout<"99:77">')
    element = random.choice(["f16", "i8", "f4E2M1FN", "f32"])
    index = random.choice(["?", "4", "?{div=4}"])
    operands = (
        f"!cute.ptr<{element}, gmem, align<64>>",
        "!cute.ptr<i32, gmem>",
        f'!cute.int_tuple<"{index}">',
        f'!cute.int_tuple<"{make.extent()}">',
    )
    return Case("cute.load_scaled_index", operands, "", "!cute.ptr<i1, gmem>")


def operation_cases(seed: int, count: int) -> list[Case]:
    """Some random cases, always the same for one seed."""
    random = Random(seed)
    return [_case(random) for _ in range(count)]
