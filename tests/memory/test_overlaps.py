"""Who shares shared memory: fields, operands of one MMA, writers and readers. BUGS.md numbers stand beside them."""

from __future__ import annotations

import pytest

import tileproof
from conftest import corpus
from tileproof.base.source import Source
from tileproof.layout import crd2idx, size
from tileproof.memory.listing import descriptors
from tileproof.memory.overlaps import sharing
from tileproof.memory.pointers import first_collision
from tileproof.memory.tensor_maps import kernel_arguments
from tileproof.mlir.scanner import scan
from tileproof.syntax.layouts import layout

BOOK = tileproof.load_rules()

# An MMA on two operands in one allocation, which the kernel itself writes.
KERNEL = """\
!mma = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x64x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
!smem = !cute.memref<i8, smem, align<1024>, "{bytes}:1">
!a = !cute.memref<f16, smem, align<1024>, {read}"{a}">
!b = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "{b}">
!wa = !cute.memref<f16, smem, align<1024>, {written}"{a}">
!acc = !cute.memref<f32, rmem, align<32>, "((2,2,8),1,1):((1,2,4),0,0)">
func.func @kernel(%mma: !mma, %vec_a: vector<2048xf16>, %vec_b: vector<1024xf16>, %acc: !acc, %la: !cute.layout<"{a}">, %lb: !cute.layout<"{b}">) {{
  %smem = cute.memref.alloca() {{smem.partition_id = 1 : i32, smem.struct_fields = ["bar:16:0", "sA:{a_bytes}:1024", "sB:{b_bytes}:{b_start}"]}} : !smem
  %iter = cute.get_iter(%smem) : !smem
  %step_a = cute.make_int_tuple() : () -> !cute.int_tuple<"1024">
  %at_a = cute.add_offset(%iter, %step_a) : (!cute.ptr<i8, smem, align<1024>>, !cute.int_tuple<"1024">) -> !cute.ptr<i8, smem, align<1024>>
  %step_b = cute.make_int_tuple() : () -> !cute.int_tuple<"{b_at}">
  %at_b = cute.add_offset(%iter, %step_b) : (!cute.ptr<i8, smem, align<1024>>, !cute.int_tuple<"{b_at}">) -> !cute.ptr<i8, smem, align<1024>>
  %iter_a = cute.recast_iter(%at_a) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>{read_type}>
  %sA = cute.make_view(%iter_a, %la) : !a
  %iter_b = cute.recast_iter(%at_b) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
  %sB = cute.make_view(%iter_b, %lb) : !b
  %iter_w = cute.recast_iter(%at_a) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>{written_type}>
  %sW = cute.make_view(%iter_w, %la) : !wa
  {copies}
  %fA = cute.mma.make_fragment A (%mma, %sA) : (!mma, !a) -> !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,1,2):(0,0,0,{stage})">
  %fB = cute.mma.make_fragment B (%mma, %sB) : (!mma, !b) -> !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,1):(0,0,0)">
  %at = cute.make_coord() : () -> !cute.coord<"(_,_,0,0)">
  %gA = cute.slice(%fA, %at) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,1,2):(0,0,0,{stage})">, !cute.coord<"(_,_,0,0)">
  %at_b0 = cute.make_coord() : () -> !cute.coord<"(_,_,0)">
  %gB = cute.slice(%fB, %at_b0) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,1):(0,0,0)">, !cute.coord<"(_,_,0)">
  cute.gemm(%mma, %acc, %gA, %gB, %acc) : (!mma, !acc, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !acc)
  return
}}
"""  # noqa: E501
COPY_A = "cute.memref.store_vec(%vec_a, %sW) : (vector<2048xf16>, !wa)"
COPY_B = "cute.memref.store_vec(%vec_b, %sB) : (vector<1024xf16>, !b)"
SOUND = {
    "bytes": 32768,
    "a": "((64,16),1,1,2):((64,1),0,0,4096)",
    "stage": 512,
    "b": "((64,16),1,1):((64,1),0,0)",
    "a_bytes": 16384,
    "b_bytes": 8192,
    "b_start": 17408,
    "b_at": 17408,
    "read": "S<3,4,3>",
    "written": "S<3,4,3>",
    "copies": f"{COPY_A}\n  {COPY_B}",
}


def found(kernel: str = KERNEL, **changed: int | str) -> list[tuple[str, str]]:
    given = {**SOUND, **changed}
    for name in ("read", "written"):
        swizzle = given[name]
        given[name], given[f"{name}_type"] = (f"{swizzle}, ", f", {swizzle}") if swizzle else ("", "")
    report = tileproof.check(kernel.format(**given), target="sm_90a", ignore=("PR",))
    return [(d.code, d.message) for d in report.diagnostics]


def test_the_sound_kernel_is_clean():
    assert found() == []
    # A union: two fields that begin together, of which one operand is in the larger one.
    assert found(b_start=1024) == []
    # One matrix times itself, written once.
    assert found(b_at=1024, copies=COPY_A) == []
    # Nobody is seen to write: nothing is known.
    assert found(written="S<2,4,3>", copies="") == []


@pytest.mark.parametrize(
    ("changed", "code", "message"),
    [
        ({"b_start": 17000, "b_bytes": 8600}, "DS150", "'sB' begins at byte 17000, 408 bytes before 'sA' ends"),
        ({"bytes": 20480}, "DS151", "'sB' ends at byte 25600 of 20480"),
        ({"a_bytes": 8192}, "DS152", "its layout ends at byte 17312, 'sA' ends at byte 9216"),
        ({"b_at": 20480}, "DS152", "'sB' ends at byte 25600"),
        (
            {"a": "((64,16),1,1,2):((64,1),0,0,2048)", "stage": 256},
            "DS153",
            "((32,0),0,0,0) and ((0,0),0,0,1) have one offset",
        ),
        (
            {"a": "((64,16),1,1,2):((64,1),0,0,0)", "stage": 0},
            "DS153",
            "((0,0),0,0,0) and ((0,0),0,0,1) have one offset",
        ),
        ({"b_at": 9216}, "DS154", "A has bytes 1024 to 17311 and B bytes 9216 to 17311 of one allocation"),
        ({"b_at": 1024}, "DS154", "A has bytes 1024 to 17311 and B bytes 1024 to 9119 of one allocation"),
        (
            {"written": "S<2,4,3>"},
            "DS155",
            "A is read with S<3,4,3>, and the kernel writes it with S<2,4,3>",
        ),
        ({"written": ""}, "DS155", "A is read with S<3,4,3>, and the kernel writes it without a swizzle"),
    ],
)
def test_what_is_refuted(changed, code, message):
    """BUGS 6 (another swizzle), 7 (none); overlapping fields, operands and stages."""
    diagnostics = found(**changed)
    assert [c for c, _ in diagnostics] == [code], diagnostics
    assert message in diagnostics[0][1]


@pytest.mark.parametrize("changed", [{"b_at": 9216}, {"b_at": 20480}, {"written": "S<2,4,3>"}, {}])
def test_blocks_are_judged_as_one(changed):
    """What the entry block made is what later blocks read: each is in the other's block where its block dominates."""
    lines = KERNEL.splitlines()
    places = [
        at for at, line in enumerate(lines) if line.startswith(("  %at_b =", "  {copies}", "  %fA", "  cute.gemm"))
    ]
    assert len(places) == 4
    for number, at in reversed(list(enumerate(places))):
        lines[at:at] = [f"  cf.br ^block{number}(%iter : {POINTER})", f"^block{number}(%given{number}: {POINTER}):"]
    assert found("\n".join(lines), **changed) == found(**changed)


POINTER = "!cute.ptr<i8, smem, align<1024>>"


def test_an_argument_of_a_later_block_is_none_of_the_kernel():
    """Two jumps may hand other memory to it, so nothing is said of what lies there."""
    text = KERNEL.replace(
        "  %step_b = cute.make_int_tuple",
        f"  cf.br ^next(%at_a : {POINTER})\n^next(%handed: {POINTER}):\n  %step_b = cute.make_int_tuple",
    ).replace("cute.add_offset(%iter, %step_b)", "cute.add_offset(%handed, %step_b)")
    assert text.count("%handed") == 2
    assert found(text, b_at=1024) == []
    assert [code for code, _ in found(b_at=1024)] == ["DS154"]


def test_memory_that_is_used_twice_is_not_refuted():
    """An epilogue lays the output out where an operand was: somebody writes each as it is read."""
    other = COPY_A.replace("%sW", "%sA").replace("!wa", "!a")
    assert found(written="S<2,4,3>", copies=f"{other}\n  {COPY_A}\n  {COPY_B}") == []


def test_a_write_by_somebody_unknown_is_not_refuted():
    cast = "%raw = builtin.unrealized_conversion_cast %at_a : !cute.ptr<i8, smem, align<1024>> to !llvm.ptr<3>"
    store = 'llvm.inline_asm "st.shared.b32 [$0], 0;", "r" %raw : (!llvm.ptr<3>) -> ()'
    assert found(written="", copies=f"{COPY_A}\n  {COPY_B}\n  {cast}\n  {store}") == []


@pytest.mark.parametrize(
    "text", ["(8,4):(4,1)", "(8,4):(3,1)", "(8,4):(1,7)", "(4,4):(0,1)", "((2,2),3):((1,5),2)", "(1,3):(0,2)"]
)
def test_collisions_are_those_of_enumeration(text):
    value = layout(text)
    seen: dict[int, int] = {}
    expected = None
    for index in range(size(value)):
        if (before := seen.setdefault(crd2idx(index, value), index)) != index:
            expected = before, index
            break
    assert first_collision(value) == expected


@corpus()
def test_real_kernels_are_judged_and_clean(path):
    """Each operand of a real kernel is judged: no write stays unknown where a fragment is made."""
    source = Source(path.name, path.read_text())
    module = scan(source).module
    arguments = kernel_arguments(BOOK, module.operations, module.aliases)
    judged = list(sharing(BOOK, module.operations, module.aliases, arguments))
    fragments = sum(
        "smem" in use.text for op in module.walk() if op.name == "cute.mma.make_fragment" for use in op.inputs
    )
    assert sum(facts.schema == "shared_operand" for facts in judged) >= (1 if fragments else 0)
    assert not fragments or any(facts.schema == "shared_handover" for facts in judged)
    assert all(".no" not in facts.values.values() for facts in judged)


# A descriptor of one tile at a pointer says neither which operand it is of nor the atom: the MMA that reads it does.
AT_POINTER = """\
!mma = !cute.tiled_mma<!cute_nvgpu.sm100.mma_bs<128x256x96, num_cta = 1, ab_major = (k, k), elem_type = (f4E2M1FN, f4E2M1FN, f32), sf_type = f8E4M3FN, frag_kind = ss, vec_size = 16, arch_promote = sm_103>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
!desc = !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "1:0">
!acc = !cute.memref<f32, tmem, align<16>, "((128,256)):((65536,1))">
func.func @kernel(%mma: !mma, %acc: !acc, %a: !cute.ptr<i8, smem, align<1024>, S<3,4,3>>, %b: !cute.ptr<i8, smem, align<1024>, S<3,4,3>>, %one: !cute.layout<"1:0">, %sf: !cute.ptr<f8E4M3FN, tmem, align<16>>) {{
  %mma_a = cute_nvgpu.atom.set_value<sf_a>(%mma, %sf) : (!mma, !cute.ptr<f8E4M3FN, tmem, align<16>>)
  %mma_b = cute_nvgpu.atom.set_value<sf_b>(%mma_a, %sf) : (!mma, !cute.ptr<f8E4M3FN, tmem, align<16>>)
  %da = cute_nvgpu.make_umma_smem_desc(%a : !cute.ptr<i8, smem, align<1024>, S<3,4,3>>, %a : !cute.ptr<i8, smem, align<1024>, S<3,4,3>>) layout = <"(({rows},{columns})):((128,1))">, major = <{major}> -> !cute_nvgpu.smem_desc
  %db = cute_nvgpu.make_umma_smem_desc(%b : !cute.ptr<i8, smem, align<1024>, S<3,4,3>>, %b : !cute.ptr<i8, smem, align<1024>, S<3,4,3>>) layout = <"((256,16)):((128,1))">, major = <k> -> !cute_nvgpu.smem_desc
  %va = cute.make_view(%da, %one) : !desc
  %vb = cute.make_view(%db, %one) : !desc
  cute.mma_atom_call(%mma_b, %acc, {operands}, %acc) : (!mma, !acc, !desc, !desc, !acc) -> ()
  return
}}
"""  # noqa: E501
READ_SO = {"rows": 128, "columns": 16, "major": "k", "operands": "%va, %vb"}


def test_the_mma_says_which_operand_a_descriptor_is_of():
    text = AT_POINTER.format(**READ_SO)
    assert [one.operand for one in descriptors(BOOK, Source("", text), "ptx") or ()] == ["A", "B"]
    assert [d.code for d in tileproof.check(text, target="sm_103a", ignore=("PR",)).diagnostics] == []


@pytest.mark.parametrize(
    ("changed", "messages"),
    [
        (
            {"operands": "%vb, %va"},
            [
                "does not match operand B of the atom: the atom reads 256 rows of B, the descriptor has 128",
                "does not match operand A of the atom: the atom reads 128 rows of A, the descriptor has 256",
            ],
        ),
        (
            {"rows": 64},
            ["does not match operand A of the atom: the atom reads 128 rows of A, the descriptor has 64"],
        ),
        ({"columns": 32}, ["48 bytes of K, which is not a multiple of the descriptor's 32"]),
        ({"major": "mn"}, ["the atom reads A K-major, the descriptor is MN-major"]),
    ],
)
def test_descriptors_of_another_operand(changed, messages):
    report = tileproof.check(AT_POINTER.format(**{**READ_SO, **changed}), target="sm_103a", ignore=("PR",))
    assert [d.code for d in report.diagnostics] == ["DS127"] * len(messages)
    assert all(part in d.message for part, d in zip(messages, report.diagnostics, strict=True))
