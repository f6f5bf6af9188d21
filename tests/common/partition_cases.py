"""Random partitions: tiled MMAs and tiled copies of many atoms, over tensors of many layouts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Case:
    """One operation.

    Attributes:
        result: a type of the right kind that it does not have, so that the wheel says which one it has.
    """

    name: str
    operands: tuple[str, ...]
    attributes: str
    result: str

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        pairs = (text.partition(" = ") for text in _separate(self.attributes))
        return tuple((name.strip(), value.strip()) for name, _, value in pairs)

    def module(self) -> str:
        arguments = ", ".join(f"%{i}: {text}" for i, text in enumerate(self.operands))
        names = ", ".join(f"%{i}" for i in range(len(self.operands)))
        attributes = f" <{{{self.attributes}}}>" if self.attributes else ""
        use = f'"{self.name}"({names}){attributes} : ({", ".join(self.operands)}) -> ({self.result})'
        count = len(_separate(self.result))
        results = f"%r{f':{count}' if count > 1 else ''} = " if count else ""
        return f"func.func @f({arguments}) {{ {results}{use}\n return }}"


def _separate(text: str) -> list[str]:
    """The parts between commas that stand in no brackets; an arrow closes none."""
    parts, depth = [""], 0
    for mark in text.replace("->", "  "):
        depth += (mark in "<([") - (mark in ">)]")
        if mark == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += mark
    return parts if text else []


WARP = [
    ("sm80", 16, 8, 16, "f16"), ("sm80", 16, 8, 8, "bf16"), ("sm80", 16, 8, 8, "tf32"), ("sm80", 16, 8, 4, "tf32"),
    ("sm80", 16, 8, 32, "si8"), ("sm80", 16, 8, 16, "ui8"), ("sm80", 8, 8, 4, "f64"), ("sm89", 16, 8, 32, "f8E4M3FN"),
]  # fmt: skip
ATOMS = [
    "(1,1,1):(0,0,0)",
    "(2,2,1):(1,2,0)",
    "(4,1,1):(1,0,0)",
    "(1,2,2):(0,1,2)",
    "(2,1,1):(1,0,0)",
    "(2,4,1):(4,1,0)",
]
MEMORY_OF_F32 = '!cute.memref<f32, rmem, "77:5">'
SPACES = ["smem", "gmem", "rmem"]


def _mma(random: Random) -> tuple[str, tuple[int, int, int], str]:
    """A tiled MMA, the extents of its tile, and the element type."""
    kind = random.randrange(4)
    atoms = random.choice(ATOMS)
    if kind == 0:
        tier, m, n, k, element = random.choice(WARP)
        atom = f"!cute_nvgpu.{tier}.mma<{m}x{n}x{k}, elem_type = ({element}, {element}, f32) >"
    elif kind == 1:
        m, n = 64, random.choice([8, 16, 64, 96, 128, 256])
        k, element = random.choice([(16, "f16"), (8, "tf32"), (32, "f8E5M2")])
        types = f"elem_type = ({element}, {element}, f32), frag_kind = {random.choice(['ss', 'rs'])}"
        atom = f"!cute_nvgpu.sm90.mma<64x{n}x{k}, ab_major = (k, k), {types}>"
        atoms = random.choice(["(1,1,1):(0,0,0)", "(2,1,1):(1,0,0)"])
    elif kind == 2:
        cta = random.choice([1, 2])
        m, n, (k, element) = (
            128 * cta,
            random.choice([32, 64, 128, 256]),
            random.choice([(16, "f16"), (32, "f8E4M3FN")]),
        )
        types = f"elem_type = ({element}, {element}, f32), frag_kind = {random.choice(['ss', 'ts'])}, c_scale_exp = 0"
        atom = f"!cute_nvgpu.sm100.mma<{m}x{n}x{k}, num_cta = {cta}, ab_major = (k, k), {types}>"
        atoms = "(1,1,1):(0,0,0)"
    else:
        m, n, k, element = 1, 1, 1, "f32"
        atom = "!cute_nvgpu.atom.universal_fma<1x1x1, (f32, f32) -> f32 >"
        atoms = random.choice(["(16,16,1):(16,1,0)", "(8,4,1):(1,8,0)", "(1,1,1):(0,0,0)"])
    shape = [int(extent) for extent in atoms.partition(":")[0].strip("()").split(",")]
    extents = (m * shape[0], n * shape[1], k * shape[2])
    permutation = "[_;_;_]"
    if random.random() < 0.4:
        times = random.choice([1, 2])
        middle = f"{extents[1] * times}:1"
        if extents[1] % 8 == 0 and random.random() < 0.5:
            middle = f"({n},{shape[1]},{2}):(1,{2 * n},{n})"
            times = 2
        permutation = f"[{extents[0]}:1;{middle};{extents[2]}:1]"
        extents = (extents[0], extents[1] * times, extents[2])
    tiled = f'!cute.tiled_mma<{atom}, atom_layout_MNK = <"{atoms}">, permutation_MNK = <"{permutation}">>'
    return tiled, extents, element


def _tensor(random: Random, rows: int, columns: int, element: str) -> str:
    """A tensor of about these extents: plain, dynamic, swizzled, of coordinates; with modes behind the first two."""
    m, k = rows * random.choice([1, 1, 2, 3]), columns * random.choice([1, 2, 4])
    major = random.choice([0, 1])
    kind = random.randrange(6)
    shape, stride = f"{m},{k}", f"1,{m}" if major else f"{k},1"
    if kind == 1:
        wide = random.choice(["?", "?{div=8}", "?{i64 div=16}", "?{i64}"])
        stride = f"1,{wide}" if major else f"{wide},1"
    if kind == 2 and m % 8 == 0:
        shape, stride = f"(8,{m // 8}),{k}", f"({k},{8 * k}),1"
    if kind == 3 and k % 8 == 0:
        shape, stride = f"{m},(8,{k // 8})", f"8,(1,{8 * m})"
    if random.random() < 0.4:
        last = random.choice(["?", "3", "(1,4)"])
        shape += f",{last}"
        stride += {"?": ",?{div=4}", "3": f",{m * k}", "(1,4)": f",(0,{m * k})"}[last]
    if kind == 4:
        start = random.choice(["(0,0)", "(?,0)", "(?{div=16},?{div=4})"])
        tail = shape.count(",") - 1
        if tail == 0:
            return f'!cute.coord_tensor<"{start}", "({m},{k}):(1@0,1@1)">'
        return f'!cute.coord_tensor<"{start}", "({m},{k},?):(1@1,1@0,{k}@0)">'
    swizzle = f", {random.choice(['S<3,4,3>', 'S<2,4,3>', 'S<3,3,3>'])}" if random.random() < 0.3 else ""
    composed = f"{random.choice(['S<3,3,3>', 'S<2,3,3>'])} o 0 o " if kind == 5 and not swizzle else ""
    align = random.choice([16, 128, 1024])
    space = "smem" if swizzle or composed else random.choice(SPACES)
    return f'!cute.memref<{element}, {space}, align<{align}>{swizzle}, "{composed}({shape}):({stride})">'


THREADS = ["?", "?", "0", "?{div=32}", "?{div=128}", "5"]


def _mma_cases(random: Random) -> Iterator[Case]:
    tiled, extents, element = _mma(random)
    role = random.randrange(3)
    rows, columns = [(extents[0], extents[2]), (extents[1], extents[2]), (extents[0], extents[1])][role]
    thread = random.choice(["?", "0", "1", "?{div=2}"]) if "sm100" in tiled else random.choice(THREADS)
    tensor = _tensor(random, rows, columns, element if role < 2 else random.choice([element, "f32"]))
    result = '!cute.coord_tensor<"(0,0)", "9:7@0">' if "coord_tensor" in tensor else '!cute.memref<f32, smem, "9:7">'
    about = f"operand_id = {role} : i32"
    yield Case("cute.tiled.mma.partition", (tiled, tensor, f'!cute.coord<"{thread}">'), about, result)


COPIES = [
    ("!cute_nvgpu.atom.universal_copy<f16, 128 b>", "(128,8):(8,1)", "[128:1;8:1]", 128, 8, "f16"),
    ("!cute_nvgpu.atom.universal_copy<f16>", "((16,8),8):((64,1),8)", "[8:1;128:1]", 8, 128, "f16"),
    ("!cute_nvgpu.atom.universal_copy<f32>", "((32,4),(32,1)):((4,1),(128,0))", "[(4,32):(32,1);32:1]", 128, 32, "f32"),
    ("!cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>", "((4,32),8):((256,1),32)", "[32:1;32:1]", 32, 32,
     "bf16"),
    ("!cute_nvgpu.atom.simt_async_copy<f32, cache = always, 32 b>", "((16,8),(1,4)):((8,1),(0,128))", "[8:1;64:1]", 8,
     64, "f32"),
    ('!cute_nvgpu.atom.ldsm<val_type = f16, mode = <"(8,8)">, sz_pattern = u16, num_matrices = 4, n>',
     "((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))", "[32:1;16:1]", 32, 16, "f16"),
    ('!cute_nvgpu.atom.ldsm<val_type = f16, mode = <"(8,8)">, sz_pattern = u16, num_matrices = 4, t>',
     "((4,8,2,2),((2,2),(2,1))):((64,1,0,8),((32,256),(16,0)))", "[32:1;16:1]", 32, 16, "f16"),
    ('!cute_nvgpu.atom.stsm<f16, mode = <"(8,8)">, num_matrices = 4, n>',
     "((4,32),((2,2,2),1)):((64,1),((256,32,512),0))", "[(8,4,2):(1,16,8);(4,2,2):(2,1,8)]", 64, 16, "f16"),
    ('!cute_nvgpu.atom.stsm<f16, mode = <"(8,8)">, num_matrices = 2, t>',
     "((4,32),((2,2,2),1)):((64,1),((256,32,512),0))", "[64:1;16:1]", 64, 16, "f16"),
    ("!cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x32>", "((32,4),(32,32)):((0,1),(128,4))", "[(4,32):(32,1);32:1]",
     128, 32, "f32"),
    ("!cute_nvgpu.atom.tmem_load<f32, 16 DP, 256 bit, x4>", "((32,4),(32,16)):((0,1),(64,4))", "[(4,16):(32,1);32:1]",
     128, 32, "f32"),
    ("!cute_nvgpu.atom.tmem_store<f32, 32 DP, 32 bit, x16>", "((32,4),(16,32)):((0,1),(128,4))", "[(4,32):(32,1);16:1]",
     128, 16, "f32"),
]  # fmt: skip


def _copy_cases(random: Random) -> Iterator[Case]:
    atom, thread_values, tiler, rows, columns, element = random.choice(COPIES)
    tiled = f'!cute.tiled_copy<{atom}, layout_copy_tv = <"{thread_values}">, tiler_mn = <"{tiler}">>'
    tensor = _tensor(random, rows, columns, element)
    result = '!cute.coord_tensor<"(0,0)", "9:7@0">' if "coord_tensor" in tensor else '!cute.memref<f32, smem, "9:7">'
    thread = f'!cute.coord<"{random.choice(THREADS)}">'
    yield Case(f"cute.tiled.copy.partition_{random.choice('SD')}", (tiled, tensor, thread), "", result)
    values = random.choice([8, 16, 32])
    held = random.choice(
        [f"(({values},1),2,{random.choice([1, 4])}):((1,0),{values},{4 * values})",
         f"((2,2,{values // 4}),2,2):((1,2,4),{values},{2 * values})",
         f"((2,{values // 2}),(2,2),3):(({values // 2},1),({values},{2 * values}),{4 * values})"]
    )  # fmt: skip
    memory = f'!cute.memref<{element}, rmem, align<32>, "{held}">'
    yield Case("cute.tiled.copy.retile", (tiled, memory), "", '!cute.memref<f32, rmem, "9:7">')


def _fragment_cases(random: Random) -> Iterator[Case]:
    tiled, _, element = _mma(random)
    role = random.randrange(3)
    value = random.choice(["(2,2)", "(2,2,2)", "8", "(4,2)", "(64,16)", "(128,16)", "(128,64)"])
    along = f"{random.choice([1, 2, 3])},{random.choice(['1', '4', '(2,2)'])}"
    about = f"operand_id = {role} : i32"
    result = '!cute.memref<f32, tmem, "9:7">'
    if ("sm90" in tiled or "sm100" in tiled) and (role == 1 or (role == 0 and "= ss" in tiled)):
        result = '!cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "9:7">'
    if random.random() < 0.4:
        yield Case("cute.mma.make_fragment", (tiled, f'!cute.shape<"({value},{along})">'), about, result)
        return
    steps = {"1": "0", "4": "16", "(2,2)": "(16,2048)"}
    first = value.replace("2,2,2", "64,8,512").replace("2,2", "1,64").replace("4,2", "1,8").replace("64,16", "64,1")
    first = first.replace("128,16", "64,1").replace("128,64", "1,128") if first != "8" else "1"
    second = random.choice(["4096", "?", "8"])
    layout = f"({value},{along}):({first},{second},{steps[along.partition(',')[2]]})"
    tensor = f'!cute.memref<{element}, {random.choice(SPACES)}, align<128>, "{layout}">'
    yield Case("cute.mma.make_fragment", (tiled, tensor), about, result)


def _bulk_cases(random: Random) -> Iterator[Case]:
    """``tma_partition``: a box of shared memory, K-major or MN-major, and the same box of a coordinate tensor."""
    rows, columns = random.choice([8, 64, 128, 256]), random.choice([32, 64, 128])
    element, wide = random.choice([("f16", 16), ("f8E4M3FN", 8), ("f32", 32)])
    inner = random.choice([columns, columns, min(columns, 1024 // wide)])
    values = inner * rows * random.choice([1, 1, 1, 2])
    kind = random.choice(["sm_90", "sm_90_multicast", "sm_100_2sm", "sm_100_2sm_multicast"])
    box = f'tma_gbasis = <"({inner},{rows},1):(1@1,1@0,1@2)">, tma_format = F16_RN'
    atom = f"!cute_nvgpu.atom.non_exec_tiled_tma_load<{kind}, {element}, copy_bits = {values * wide}, {box}>"
    if random.random() < 0.3:
        atom = f"!cute_nvgpu.atom.non_exec_tiled_tma_store<{element}, copy_bits = {values * wide}, {box}>"
    tile = random.choice(
        [(f"((8,{rows // 8}),({inner},{columns // inner}))", f"(({inner},{8 * inner}),(1,{rows * inner}))"),
         (f"(({rows},16),1,{columns // 16})", f"(({inner},1),0,16)"),
         (f"({rows},{columns})", f"(1,{rows})"),
         (f"({rows},{columns})", f"({columns},1)")]
    )  # fmt: skip
    beyond = {0: "(1@1,1@0)", 1: "((1@1,1@0),0,16@0)"}[int(",1," in tile[0])]
    shape = f"({rows},{columns})" if ",1," not in tile[0] else tile[0]
    stages = random.choice(["(1,6)", "4", "(1,(2,3))"])
    strides = {"(1,6)": f"(0,{rows * columns})", "4": f"{rows * columns}", "(1,(2,3))": f"(0,({rows * columns},0))"}
    swizzle = random.choice(["", ", S<3,4,3>"])
    shared = (
        f'!cute.memref<{element}, smem, align<1024>{swizzle}, "({tile[0]},{stages}):({tile[1]},{strides[stages]})">'
    )
    start = random.choice(["(0,0,0)", "(?{div=64},0,?)", "(0,?{div=128},0)"])
    remote = f'!cute.coord_tensor<"{start}", "({shape},?,?,?):({beyond},{rows}@1,{columns}@0,1@2)">'
    ctas, cta = random.choice([("(1):(0)", "0"), ("1:0", "0"), ("(2):(1)", "?"), ("(4):(1)", "?"), ("(2):(1)", "1")])
    operands = (atom, f'!cute.coord<"{cta}">', f'!cute.layout<"{ctas}">', shared, remote)
    yield Case(
        "cute_nvgpu.atom.tma_partition",
        operands,
        "",
        '!cute.memref<f32, smem, "9:7">, !cute.coord_tensor<"0", "9:7@0">',
    )


def _tensor_memory_cases(random: Random) -> Iterator[Case]:
    """``make_tmem_copy``: atoms that cover all, some, or more than all of a tensor in tensor memory."""
    element, lane = random.choice([("f32", 1 << 16), ("f16", 1 << 17), ("i8", 1 << 18)])
    dp, width = random.choice([(32, 32), (16, 64), (16, 128), (16, 256), (16, 32)])
    name = random.choice(["tmem_load", "tmem_store"])
    atom = f"!cute_nvgpu.atom.{name}<{element}, {dp} DP, {width} bit, x{random.choice([1, 2, 8, 32])}>"
    layout = random.choice(
        [f"(128,64):({lane},1)", f"(128,256):({lane},1)", f"((128,64),2,2):(({lane},1),64,128)", f"(64,64):({lane},1)",
         f"((16,4),64):(({lane},{32 * lane}),1)", f"(128,(32,2)):({lane},(1,64))"]
    )  # fmt: skip
    memory = f'!cute.memref<{element}, tmem, align<16>, "{layout}">'
    result = f'!cute.tiled_copy<{atom}, layout_copy_tv = <"9:7">, tiler_mn = <"[7:1]">>'
    yield Case("cute_nvgpu.atom.make_tmem_copy", (atom, memory), "", result)


def _shape_cases(random: Random) -> Iterator[Case]:
    """``tiled.mma.partition_shape``: tiles that the atoms divide, or that divide them, or neither."""
    mma, extents, _ = _mma(random)
    role = random.randrange(3)
    along = [extents[i] for i in ((0, 2), (1, 2), (0, 1))[role]]
    tile = [
        random.choice(
            [str(2 * extent), str(extent), str(3 * extent), f"({extent},2)", "?", "?{i64 div=16}", "8", "100"]
        )
        for extent in along
    ]
    tile += random.choice([[], [], ["3"], ["?"], ["(4,2)", "5"]])
    shape = f'!cute.shape<"({",".join(tile)})">'
    yield Case("cute.tiled.mma.partition_shape", (mma, shape), f"operand_id = {role} : i32", '!cute.shape<"77">')


def _descriptor_cases(random: Random) -> Iterator[Case]:
    """``make_s2t_copy`` and the descriptors of what it takes from shared memory."""
    element, bits = random.choice([("f8E4M3FN", 8), ("f8E8M0FNU", 8), ("f16", 16), ("f32", 32), ("f4E2M1FN", 4)])
    lane = 65536 * 32 // bits
    form = random.choice(
        ["128 DP, 256 bit", "128 DP, 128 bit", "4 DP, 256 bit", "64 DP, 128 bit, lw_0213", "64 DP, 128 bit, lw_0123",
         "32 DP, 128 bit, x4"]
    ).split(", ")  # fmt: skip
    form.insert(2, f"{random.choice([1, 2])} cta")
    atom = f"!cute_nvgpu.atom.s2t_copy<{element}, {', '.join(form)}>"
    each = 32 // bits
    layout = random.choice(
        [f"(128,64):({lane},1)", f"((32,4),64):(({lane},{32 * lane}),1)", f"(128,(2,32)):({lane},(32,1))",
         f"((((32,4),4),({each},4)),1,1):(((({lane},{each}),{32 * lane}),(1,0)),0,0)", f"(64,64):({lane},1)",
         f"((((32,{2 * each}),4),(1,{each})),1,1):(((({lane},{each}),{32 * lane}),(0,1)),0,0)"]
    )  # fmt: skip
    memory = f'!cute.memref<{element}, tmem, align<16>, "{layout}">'
    yield Case(
        "cute_nvgpu.atom.make_s2t_copy",
        (atom, memory),
        "",
        f'!cute.tiled_copy<{atom}, layout_copy_tv = <"9:7">, tiler_mn = <"[7:1]">>',
    )
    copy = f'!cute.tiled_copy<{atom}, layout_copy_tv = <"(1,8):(0,1)">, tiler_mn = <"[8:1]">>'
    row = 128 // bits
    view = random.choice(
        [f"((((32,4,{each}),4),1),2):((((16,{each},1),0),0),512)", f"((128,1),3):(({row},0),{128 * row})",
         f"((({row},64),1),1,?):(((1,{row}),0),0,{64 * row})", f"((64,2),3):(({row},{64 * row}),{128 * row})",
         f"S<1,4,3> o 0 o ((128,1),3):(({row},0),{128 * row})"]
    )  # fmt: skip
    yield Case(
        "cute_nvgpu.atom.get_copy_s2t_smem_desc_view",
        (copy, f'!cute.memref<{random.choice([element, element, "i8"])}, smem, align<128>, "{view}">'),
        "",
        '!cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "77:5">',
    )


def _fragment_of_copy(random: Random) -> Iterator[Case]:
    """``copy.make_fragment``."""
    atom = f"!cute_nvgpu.atom.universal_copy<{random.choice(['f16', 'f32'])}>"
    copy = f'!cute.tiled_copy<{atom}, layout_copy_tv = <"(128,8):(1,128)">, tiler_mn = <"[128:1;8:1]">>'
    layout = random.choice(["((8,1),2,3):((1,0),16,8)", "((8,1),?,3):((2,0),?{div=4},80)"])
    memory = f'!cute.memref<f16, {random.choice(SPACES)}, align<16>, "{layout}">'
    operand_id = f"operand_id = {random.choice([0, 1])} : i32"
    yield Case("cute.copy.make_fragment", (random.choice([copy, copy, atom]), memory), operand_id, MEMORY_OF_F32)


FAMILIES = (
    _mma_cases,
    _copy_cases,
    _fragment_cases,
    _bulk_cases,
    _tensor_memory_cases,
    _shape_cases,
    _descriptor_cases,
    _fragment_of_copy,
)


def cases(seed: int, count: int) -> list[Case]:
    """Some random cases, always the same for one seed."""
    random = Random(seed)
    found: list[Case] = []
    while len(found) < count:
        for make in FAMILIES:
            found += make(random)
    return found[:count]
