"""Random bulk tensor copies: atoms that are made for tensors of many layouts, over tiles of many shapes."""

from __future__ import annotations

from random import Random

from partition_cases import Case

ELEMENTS = [
    *("f16", "f16", "bf16", "f32", "tf32", "f64", "i8", "si8", "i4", "i32", "si32"),
    *("f8E4M3FN", "f6E3M2FN", "f4E2M1FN"),
]
FORMATS = [""] * 20 + ["U8", "U16", "U32", "S32", "U64", "F16_RN", "BF16_RN", "F32_RN", "U4", "TF32_FTZ_RN"]
EXTENTS = [1, 2, 3, 4, 8, 16, 64, 128, 256, 300, 512]
KINDS = ["sm_90", "sm_90_multicast", "sm_100_2sm"]


def _tuple(parts: list[object]) -> str:
    return f"({','.join(map(str, parts))})"


def _remote(random: Random, extents: list[int], major: int) -> str:
    """A tensor that the tile is part of: compact and static, or with dynamic extents and strides."""
    if random.random() < 0.3:
        shape = [extent * random.choice([1, 1, 2]) for extent in extents]
        order = random.sample(range(len(shape)), len(shape))
        strides, running = [0] * len(shape), 1
        for mode in order:
            strides[mode], running = running, running * shape[mode]
        return f"{_tuple([*shape])}:{_tuple([*strides])}"
    sizes = [random.choice(["?", "?", "?{div=8}", str(extent * random.choice([1, 2, 3]))]) for extent in extents]
    steps = [
        random.choice(["?", "?{i64}", "?{div=8}", "?{i64 div=16}", "0", "2", "4", "64", "128", "512"]) for _ in extents
    ]
    steps[major] = "1"
    return f"{_tuple([*sizes])}:{_tuple([*steps])}"


def _shared(random: Random, extents: list[int], first: int | None) -> str:
    """The tile in shared memory, compact but for a gap now and then, in an order of modes."""
    order = random.sample(range(len(extents)), len(extents))
    if first is not None and random.random() < 0.8:
        order.remove(first)
        order.insert(0, first)
    strides, running = [0] * len(extents), 1
    for mode in order:
        strides[mode] = running
        running *= extents[mode] * random.choice([1] * 12 + [2])
    shape: list[object] = [*extents]
    stride: list[object] = [*strides]
    split = random.randrange(len(extents))
    if random.random() < 0.3 and extents[split] % 8 == 0 and extents[split] > 8:
        outer = 8 * strides[split] if random.random() < 0.5 else running
        shape[split], stride[split] = f"(8,{extents[split] // 8})", f"({strides[split]},{outer})"
    return f"{_tuple(shape)}:{_tuple(stride)}"


def _case(random: Random) -> Case:
    extents = [random.choice(EXTENTS) for _ in range(random.choice([1, 2, 2, 2, 3, 3, 4, 5, 6]))]
    major = random.randrange(len(extents))
    count = random.choice([len(extents), len(extents), max(1, len(extents) - 1)])
    along = random.sample(range(len(extents)), count) if random.random() < 0.3 else list(range(count))
    tile = [extents[mode] for mode in along]
    shared = _shared(random, tile, along.index(major) if major in along else None)
    kind = "layout"
    if random.random() < 0.3:
        kind, shared = "composed_layout", f"{random.choice(['S<3,4,3>', 'S<2,4,3>'])} o 0 o {shared}"
    if random.random() < 0.02:
        tile[0] += 1
    element, what = random.choice(ELEMENTS), random.choice(["load", "load", "store", "reduce"])
    kinds, ctas = random.choice(KINDS), random.choice([1, 2])
    attributes = {
        "load": f"kind = #cute_nvgpu.tiled_tma_load<{kinds}>, num_multicast = {ctas} : i32",
        "reduce": f"kind = #cute_nvgpu.tma_reduce_kind<{random.choice(['ADD', 'MIN', 'XOR'])}>",
        "store": "",
    }[what]
    if format_ := random.choice(FORMATS):
        attributes += f"{', ' if attributes else ''}tma_format = #cute_nvgpu.tma_data_format<{format_}>"
    operands = (
        f'!cute.memref<{element}, gmem, align<128>, "{_remote(random, extents, major)}">',
        f'!cute.{kind}<"{shared}">',
        f'!cute.layout<"{_tuple([*tile])}:{_tuple([f"1@{mode}" for mode in along])}">',
    )
    about = 'copy_bits = 4800, tma_gbasis = <"(64,128,1):(1@1,1@0,1@2)">, tma_format = F16_RN'
    first = {"load": "sm_90, ", "reduce": "ADD, ", "store": ""}[what]
    result = f"!cute_nvgpu.atom.non_exec_tiled_tma_{what}<{first}f16, {about}>"
    return Case(
        f"cute_nvgpu.atom.make_non_exec_tiled_tma_{what}",
        operands,
        attributes,
        f'{result}, !cute.coord_tensor<"(0,0,0)", "(?,?,?):(1@1,1@0,7@2)">',
    )


def tensormap_cases(seed: int, count: int) -> list[Case]:
    """Some random cases, always the same for one seed."""
    random = Random(seed)
    return [_case(random) for _ in range(count)]
