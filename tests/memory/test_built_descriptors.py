"""Descriptors that kernels assemble by arithmetic: folded, decoded, and held against the tensor map behind them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tileproof
from conftest import SHARED
from tileproof.base.source import Source
from tileproof.dialects.operations import Operations
from tileproof.evaluate.bitfields import pack
from tileproof.memory.known_bits import fold
from tileproof.memory.pointers import Places
from tileproof.mlir.scanner import scan
from tileproof.mlir.scopes import walk

BOOK = tileproof.load_rules()

# A kernel of one MMA on operands that TMA writes, with what the cases change.
KERNEL = """\
module {{
  gpu.module @kernels {{
    cuda.kernel @kernel(%arg0: !cuda.tensor_map, %arg1: !cuda.tensor_map) attributes {{gpu.kernel}} {{
      %c4_i32 = arith.constant 4 : i32
      %c32_i64 = arith.constant 32 : i64
      %lbo = arith.constant {lbo} : i32
      %sbo = arith.constant {sbo} : i32
      %version = arith.constant {version} : i8
      %swizzle = arith.constant {swizzle} : i8
      %c0_i8 = arith.constant 0 : i8
      %false = arith.constant false
      %c0_i32 = arith.constant 0 : i32
      %idesc = arith.constant {idesc} : i32
      %a = cute.memref.alloca() : !cute.memref<i8, smem, align<1024>, "16384:1">
      %a_iter = cute.get_iter(%a) : !cute.memref<i8, smem, align<1024>, "16384:1">
      %a_ptr = builtin.unrealized_conversion_cast %a_iter : !cute.ptr<i8, smem, align<1024>> to !llvm.ptr<3>
      %b = cute.memref.alloca() : !cute.memref<i8, smem, align<1024>, "16384:1">
      %b_iter = cute.get_iter(%b) : !cute.memref<i8, smem, align<1024>, "16384:1">
      %b_ptr = builtin.unrealized_conversion_cast %b_iter : !cute.ptr<i8, smem, align<1024>> to !llvm.ptr<3>
      %bar = "test.barrier"() : () -> !llvm.ptr<3>
      %d = "test.tmem"() : () -> !llvm.ptr<6>
      %map_a = cast %arg0 : !cuda.tensor_map -> !llvm.ptr
      %map_b = cast %arg1 : !cuda.tensor_map -> !llvm.ptr
      nvvm.cp.async.bulk.tensor.shared.cluster.global %a_ptr, %map_a, %bar, box[%c0_i32, %c0_i32] : !llvm.ptr<3>, !llvm.ptr
      nvvm.cp.async.bulk.tensor.shared.cluster.global %b_ptr, %map_b, %bar, box[%c0_i32, %c0_i32] : !llvm.ptr<3>, !llvm.ptr
      %0 = llvm.ptrtoint %a_ptr : !llvm.ptr<3> to i32
      %1 = arith.shrsi %0, %c4_i32 : i32
      %2 = nvvm.tcgen05_mma_smem_desc_v2(%1, %lbo, %sbo, %version, %c0_i8, %false, %false, %swizzle) : (i32, i32, i32, i8, i8, i1, i1, i8) -> i64
      %3 = llvm.ptrtoint %b_ptr : !llvm.ptr<3> to i32
      %4 = arith.shrsi %3, %c4_i32 : i32
      %5 = nvvm.tcgen05_mma_smem_desc_v2(%4, %lbo, %sbo, %version, %c0_i8, %false, %false, %swizzle) : (i32, i32, i32, i8, i8, i1, i1, i8) -> i64
{mmas}
      return
    }}
  }}
  func.func @host(%base: !ptr.ptr<#ptr.generic_space>, %sizes: !llvm.ptr) {{
    %type = arith.constant 6 : i32
    %rank = arith.constant 2 : i32
    %zero = arith.constant 0 : i32
    %mode = arith.constant {map_swizzle} : i32
    %inner = arith.constant {inner} : i32
    %outer = arith.constant {outer} : i32
    %box = llvm.alloca %rank x i32 {{alignment = 4 : i64}} : (i32) -> !llvm.ptr
    llvm.store %inner, %box {{alignment = 4 : i64}} : i32, !llvm.ptr
    %next = llvm.getelementptr %box[1] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %outer, %next {{alignment = 4 : i64}} : i32, !llvm.ptr
    %done, %map = cuda.tensor_map_encode_tiled data_type = %type, rank = %rank, global_address = %base, global_dim = %sizes, global_strides = %sizes, box_dim = %box, element_strides = %sizes, interleave = %zero, swizzle = %mode, l2_promotion = %zero, oob_fill = %zero : <#ptr.generic_space> -> !cuda.result, !cuda.tensor_map
    %cfg = "test.config"() : () -> !cuda.launch_cfg<max_attrs = 17>
    %result = cuda.launch_ex @kernels::@kernel<%cfg> (%map, %map) : !cuda.launch_cfg<max_attrs = 17>, (!cuda.tensor_map, !cuda.tensor_map) -> !cuda.result
    return
  }}
}}
"""  # noqa: E501
SOUND = {
    "lbo": 1,
    "sbo": 64,
    "version": 1,
    "swizzle": 2,
    "idesc": 0x8200010,
    "kind": "f16",
    "map_swizzle": 3,
    "inner": 64,
    "outer": 128,
}


def mmas(steps: int, advance: int, kind: str, of_b: int | None = None, moved: int | None = None) -> str:
    """MMAs that take one step along K after the other.

    Args:
        advance: units by which the descriptor of A moves in each step, and ``of_b`` that of B, if it is another one.
        moved: units by which the descriptor of A is moved in the second step, if that is something else.
    """
    lines = []
    for k in range(steps):
        by_a = k * advance if moved is None or k != 1 else moved
        for name, base, by in (("a", "%2", by_a), ("b", "%5", k * (advance if of_b is None else of_b))):
            lines.append(f"      %by_{name}{k} = arith.constant {by} : i64")
            lines.append(f"      %{name}{k} = arith.addi {base}, %by_{name}{k} : i64")
        lines.append(
            f"      nvvm.tcgen05.mma %d, %a{k}, %b{k}, %idesc, %false {{ctaGroup = #nvvm.cta_group<cta_1>,"
            f" kind = #nvvm.tcgen05_mma_kind<{kind}>}} : (!llvm.ptr<6>, i64, i64, i32, i1)"
        )
    return "\n".join(lines)


def kernel(**changed: int | str) -> str:
    """The kernel; as many MMAs as its box has steps along K, unless the case gives them."""
    given = {**SOUND, **changed}
    steps = {"mmas": mmas(int(given["inner"]) // 16, 2, str(given["kind"]))}
    return KERNEL.format(**{**steps, **given})


def found(**changed: int | str) -> list[tuple[str, str]]:
    report = tileproof.check(kernel(**changed), target="sm_100a", ignore=("PR",))
    return [(d.code, d.message) for d in report.diagnostics]


def test_the_sound_kernel_is_clean():
    assert found() == []
    assert found(map_swizzle=2, inner=32, swizzle=4, sbo=32) == []
    assert found(map_swizzle=1, inner=16, swizzle=6, sbo=16) == []
    # K-major with a swizzle: nothing reads LBO.
    assert found(lbo=77) == []


def test_the_contract_of_the_pages_has_no_table_of_kinds_and_judges_the_rest():
    report = tileproof.check(kernel(swizzle=4), target="sm_100a", contract="tileiras")
    assert "DS140" in {d.code for d in report.diagnostics}


@pytest.mark.parametrize(
    ("changed", "code", "message"),
    [
        ({"sbo": 1024}, "DS142", "'sbo' is 16384 bytes, a box of 64x128 elements with the swizzle 128 needs 1024"),
        ({"swizzle": 4}, "DS140", "the tensor map of this memory has 128, the descriptor of A 64"),
        ({"swizzle": 0}, "DS140", "the descriptor of A none"),
        ({"map_swizzle": 2}, "DS160", "is 128 bytes wide: more than the 64 bytes of its swizzle"),
        ({"map_swizzle": 2, "inner": 32}, "DS140", "the tensor map of this memory has 64, the descriptor of A 128"),
        ({"map_swizzle": 0}, "DS140", "the tensor map of this memory has none, the descriptor of A 128"),
        ({"swizzle": 3}, "DS141", "3 in bits 61-63 is not a valid"),
        ({"version": 0}, "DS141", "0 in bits 46-48 is not a valid"),
        ({"idesc": 0x8200020}, "UM112", "Invalid accumulator type i32"),
        ({"idesc": 0x8200190}, "DS143", "3 in bits 7-9 is not a valid"),
        ({"idesc": 0x8000010}, "UM102", ""),
        ({"idesc": 0x10200010}, "UM101", "M = 256"),
        ({"kind": "tf32"}, "DS143", "0 in bits 7-9 is not a valid"),
    ],
)
def test_what_is_refuted(changed, code, message):
    """BUGS 1 (SBO of another tile), 6 and 7 (the swizzles of writer and reader), and words that say nothing."""
    diagnostics = found(**changed)
    assert any(c == code and message in m for c, m in diagnostics), diagnostics


LOW_WORD = """%low = arith.trunci %2 : i64 to i32
      %by32 = arith.trunci %by_a1 : i64 to i32
      %next = arith.addi %low, %by32 : i32
      %c32 = arith.constant 32 : i64
      %high = arith.shrui %2, %c32 : i64
      %top = arith.shli %high, %c32 : i64
      %bottom = arith.extui %next : i32 to i64
      %a1 = arith.ori %top, %bottom : i64"""
WHOLE_WORD = "%a1 = arith.addi %2, %by_a1 : i64"


@pytest.mark.parametrize("step", [WHOLE_WORD, LOW_WORD])
def test_steps_along_k_begin_where_tiles_do(step):
    """BUGS 9: the K-advance is 32 bytes, 2 in the units of a descriptor; the swizzled words keep their fields."""

    def advanced(by: int) -> list[tuple[str, str]]:
        return found(mmas=mmas(4, 2, "f16", moved=by).replace(WHOLE_WORD, step))

    assert advanced(2) == []
    for units in (0, 4, 6):
        ((code, message),) = advanced(units)
        assert code == "DS166"
        assert f"it reads A from k = {units * 8} and B from k = 16 of their tiles" in message
    assert advanced(1) == [
        (
            "DS142",
            "The matrix descriptor of A does not describe the layout that TMA writes: it begins at byte 16 of the"
            " allocation, tiles of 128x16 begin at 0, 32, 64, 96",
        )
    ]
    assert [code for code, _ in advanced(64)] == ["DS142"]


def test_a_descriptor_that_ignores_where_its_part_begins():
    """BUGS 8: TMA fills the second half of the allocation, the descriptor is that of its start."""
    text = kernel().replace('"16384:1"', '"32768:1"')
    moved = "      %half = llvm.getelementptr %a_ptr[8192] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16\n"
    copy = "      nvvm.cp.async.bulk.tensor.shared.cluster.global %a_ptr,"
    text = text.replace(copy, moved + copy.replace("%a_ptr", "%half"))
    messages = [d.message for d in tileproof.check(text, target="sm_100a", ignore=("PR",)).diagnostics]
    assert len(messages) == 1
    assert "it begins at byte 0 of the allocation, tiles of 128x16 begin at 16384, 16416, 16448, 16480" in messages[0]
    repaired = text.replace("llvm.ptrtoint %a_ptr", "llvm.ptrtoint %half")
    assert not tileproof.check(repaired, target="sm_100a", ignore=("PR",)).diagnostics


def mn_major(lbo: int, second: int = 4096) -> list[str]:
    """MN-major operands of two boxes of 64 rows each: LBO leads from one to the other."""
    steps = mmas(4, 128, "f16")
    text = kernel(lbo=lbo, inner=64, outer=64, idesc=0x8200010 | 0x18000, mmas=steps)
    for name in ("a", "b"):
        copy = f"      nvvm.cp.async.bulk.tensor.shared.cluster.global %{name}_ptr,"
        moved = f"      %{name}_next = llvm.getelementptr %{name}_ptr[{second}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16\n"
        line = next(line for line in text.splitlines(keepends=True) if line.startswith(copy))
        behind = line.replace(f"%{name}_ptr", f"%{name}_next").replace("box[%c0_i32", "box[%c4_i32")
        text = text.replace(line, line + moved + behind)
    return [d.message for d in tileproof.check(text, target="sm_100a", ignore=("PR",)).diagnostics]


def test_mn_major_operands_of_several_boxes():
    """BUGS 10, 12: LBO of MN-major operands is the distance of the boxes."""
    assert mn_major(512) == []
    assert mn_major(1024, second=8192) == []
    wrong = mn_major(64)
    assert len(wrong) == 2
    assert "'lbo' is 1024 bytes, a box of 64x64 elements with the swizzle 128 needs 8192" in wrong[0]


def scaled(kind: str = "mxf4nvf4", block: str = "block16", **facts: int | str) -> list[str]:
    """The codes for a block-scaled MMA whose instruction descriptor says these facts."""
    known = {"kind": f".{kind}", "M": 128, "N": 128, "a.type": ".e2m1", "b.type": ".e2m1", "sf.type": ".ue4m3"}
    known |= {"sparse": ".no", "a.negate": ".no", "b.negate": ".no", "k96": ".no", "sfa_id": 0, "sfb_id": 0}
    known |= {"a.major": ".k", "b.major": ".k", "sparsity_version": ".no"}
    word = pack(tileproof.load_rules().under("ptx"), "tcgen05.instruction_descriptor", {**known, **facts})
    text = kernel(idesc=word, kind=kind)
    text = re.sub(
        r"nvvm.tcgen05.mma (%d, %a\d, %b\d, %idesc, %false) {", r"nvvm.tcgen05.mma.block_scale \1, %d, %d {", text
    )
    text = text.replace(
        "(!llvm.ptr<6>, i64, i64, i32, i1)", "(!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>)"
    )
    if block:
        text = text.replace(
            "{ctaGroup = #nvvm.cta", f"{{blockScale = #nvvm.tcgen05_mma_block_scale<{block}>, ctaGroup = #nvvm.cta"
        )
    judged = {d.code for d in tileproof.check(text, target="sm_100a", ignore=("PR",)).diagnostics}
    return sorted(code for code in judged if code[:4] in ("UM14", "UM15", "DS13"))  # of the word alone


FP8 = {"a.type": ".e4m3", "b.type": ".e5m2", "sf.type": ".ue8m0"}


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ({}, []),
        ({"sf.type": ".ue8m0", "block": "block32"}, []),
        ({"kind": "mxf4", "block": "", "sf.type": ".ue8m0", "sfa_id": 2}, []),
        ({"kind": "mxf8f6f4", "block": "", **FP8}, []),
        ({"kind": "mxf8f6f4", "block": "", **FP8, "sfa_id": 3}, []),
        ({"k96": ".yes"}, []),
        ({"sparsity_version": ".yes"}, []),  # as CuTe DSL's own struct has it; nothing to a dense MMA
        # BUGS 31: a scale factor's type, block and place that the kind does not have.
        ({"kind": "mxf8f6f4", "block": "", **FP8, "sf.type": ".ue4m3"}, ["UM151"]),
        ({"block": "block32"}, ["UM147"]),
        ({"sfb_id": 1}, ["DS136"]),
        ({"N": 0}, ["UM141"]),
        ({"M": 256}, ["UM140"]),
        ({"kind": "mxf8f6f4", "block": "", **FP8, "a.type": ".e2m3", "a.major": ".mn"}, ["UM148"]),
    ],
)
def test_block_scaled_instruction_descriptors(given, codes):
    assert scaled(**given) == codes


def test_a_map_that_nobody_launches_is_not_known():
    text = kernel(map_swizzle=2, inner=32).replace("@kernels::@kernel<", "@kernels::@other<")
    assert [d.code for d in tileproof.check(text, target="sm_100a", ignore=("PR",)).diagnostics] == []


def test_two_launches_that_disagree_are_not_known():
    text = kernel(map_swizzle=2, inner=32)
    launch = re.search(r"    %result = .*\n", text)
    assert launch is not None
    other = text.replace(launch[0], "")
    sound = kernel()
    host = re.search(r"  func\.func @host.*?\n  }\n", sound, re.DOTALL)
    assert host is not None
    both = text[: text.rindex("}")] + host[0].replace("@host", "@second") + "}\n"
    assert [d.code for d in tileproof.check(both, target="sm_100a", ignore=("PR",)).diagnostics] == []
    assert [d.code for d in tileproof.check(other, target="sm_100a", ignore=("PR",)).diagnostics] == []


@pytest.mark.skipif(not (SHARED / "corpus").is_dir(), reason="no ../shared beside this checkout")
@pytest.mark.parametrize("name", ["1cta_mma_basic", "1cta_mma_mn_major", "2cta_mma_basic", "1cta_mma_a_from_tmem"])
def test_folded_words_stand_in_the_ptx(name):
    path = SHARED / "corpus" / "sm_100a" / f"prim_tcgen05_{name}__default.mlir"
    source = Source(path.name, path.read_text())
    module = scan(source).module
    places = Places(Operations.of(BOOK), module.aliases)
    constants = {int(n) % 2**64 for n in re.findall(r"-?\d+", path.with_suffix(".ptx").read_text())}
    seen = 0
    for operation, scope in walk(module.operations):
        if operation.name != "nvvm.tcgen05.mma":
            continue
        instruction = fold(BOOK, operation.operands[3], scope).value
        assert instruction in constants
        descriptor = fold(BOOK, operation.operands[2], scope, places)
        assert descriptor.memory is not None
        assert descriptor.start is not None
        assert descriptor.unknown == 0x3FFF
        assert descriptor.bits(32, 63) is not None
        # The PTX has the constant part of the word, or its high half where the rest is computed.
        high = descriptor.ones >> 32
        assert high in constants or any(c & ~descriptor.unknown == descriptor.ones for c in constants if c >> 32)
        seen += 1
    assert seen == 4


OPERATIONS = {
    "arith.addi": lambda a, b: a + b,
    "arith.ori": lambda a, b: a | b,
    "arith.andi": lambda a, b: a & b,
    "arith.muli": lambda a, b: a * b,
    "arith.shli": lambda a, b: a << b,
    "arith.shrui": lambda a, b: a >> b,
}
STEPS = st.lists(
    st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 2**31 - 1), st.integers(0, 3)), max_size=6
)


@given(start=st.integers(0, 2**32 - 1), known=st.booleans(), steps=STEPS)
def test_folding_is_sound(start, known, steps):
    """What is said to be known is so, for an unknown start as for a known one."""
    lines = [f"%v0 = arith.constant {start} : i32" if known else '%v0 = "test.any"() : () -> i32']
    values = [start]
    for number, (name, constant, which) in enumerate(steps, 1):
        other = constant % 32 if name in ("arith.shli", "arith.shrui") else constant
        earlier = which % len(values)
        lines.append(f"%c{number} = arith.constant {other} : i32")
        lines.append(f"%v{number} = {name} %v{earlier}, %c{number} : i32")
        values.append(OPERATIONS[name](values[earlier], other) % 2**32)
    lines.append(f'"test.end"(%v{len(steps)}) : (i32) -> ()')
    module = scan(Source("", "\n".join(lines) + "\n")).module
    folded = next(fold(BOOK, op.operands[0], scope) for op, scope in walk(module.operations) if op.name == "test.end")
    assert folded.ones == values[-1] & ~folded.unknown & 0xFFFFFFFF
    assert not known or folded.value == values[-1]


@pytest.mark.parametrize("operands", ["", "%c", "%c, %c, %c"])
@pytest.mark.parametrize("name", [*sorted(OPERATIONS), "llvm.ptrtoint", "nvvm.tcgen05_mma_smem_desc_v2"])
def test_nothing_is_known_of_a_malformed_operation(name, operands):
    """The number of operands is for the checks of well-formedness to report; who follows values only stops there."""
    text = f'%c = arith.constant 4 : i32\n%v = {name} {operands} : i32\n"test.end"(%v) : (i32) -> ()\n'
    module = scan(Source("", text)).module
    folded = next(fold(BOOK, op.operands[0], scope) for op, scope in walk(module.operations) if op.name == "test.end")
    assert folded.value is None


def test_an_offset_from_nothing_stores_nowhere():
    """The host's box has an address without a base: the tensor map has no extents then, and nothing is refuted."""
    text = kernel().replace("llvm.getelementptr %box[1]", "llvm.getelementptr [1]")
    codes = {one.code for one in tileproof.check(text, target="sm_100a", ignore=("PR",)).diagnostics}
    assert not any(code.startswith("DS") for code in codes), codes
