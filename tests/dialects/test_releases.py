"""What older releases of CuTe DSL, raw dumps and the published generation write: right only where they write it."""

from __future__ import annotations

import pytest

import tileproof
from conftest import corpus
from tileproof.dialects.operations import Operations
from tileproof.dialects.releases import Releases, releases_of
from tileproof.rulebase.load import default_files, load

BOOK = load(default_files())

MODULE = """
func.func @f({arguments}) {{
  {body}
  return
}}
"""
UP_TO_4_5 = '"test.word"() {word = "nvvm.tcgen05.commit.arrive"} : () -> ()'
FROM_4_6 = '"test.word"() {word = "nvvm.tcgen05.commit"} : () -> ()'
UP_TO_4_3 = '"test.word"() {internal_val_type} : () -> ()'
FROM_4_4 = '"test.word"() {tma_format} : () -> ()'


def codes(body: str, arguments: str = "") -> list[str]:
    found = tileproof.check(MODULE.format(arguments=arguments, body=body), target="sm_100a").diagnostics
    return [one.code for one in found if one.code[:2] == "IR"]


# ------------------------------------------------------------------------------------------- raw dumps, constants


def test_the_type_of_an_allocation_is_its_results():
    body = """%m = cute.memref.alloca(%l) : !cute.memref<f32, rmem, align<32>, "8:1">
  %v = cute.memref.load_vec %m : (!cute.memref<f32, rmem, align<32>, "8:1">) -> vector<8xf32>"""
    assert codes(body, '%l: !cute.layout<"8:1">') == []
    assert codes(body, '%l: !cute.layout<"4:1">') == ["IR022"]


@pytest.mark.parametrize(
    ("operation", "constant", "layout", "coord", "wrong"),
    [
        ("get_hier_coord", "0 : i32", "(2,4):(1,2)", "(0,0)", "(?,?)"),
        ("get_hier_coord", "5 : i64", "((2,2),4):((1,2),4)", "((1,0),1)", "((1,0),0)"),
        ("get_hier_coord", "5 : i32", "(2,?):(1,2)", "(1,?)", "(?,?)"),
        ("get_hier_coord", "-1 : i32", "(2,4):(1,2)", "(-1,0)", "(0,0)"),
        ("get_flat_coord", "5 : i32", "((2,2),4):((1,2),4)", "(1,1)", "(5,1)"),
        ("get_integral_coord", "5 : i32", "(2,4):(4,1)", "3", "5"),
    ],
)
def test_a_constant_index_gives_a_constant_coordinate(operation, constant, layout, coord, wrong):
    type_ = constant.partition(" : ")[2]
    body = f"""%c = arith.constant {constant}
  %r = cute.{operation}(%c, %l) : ({type_}, !cute.layout<"{layout}">) -> !cute.coord<"{{}}">"""
    assert codes(body.format(coord), f'%l: !cute.layout<"{layout}">') == []
    assert codes(body.format(wrong), f'%l: !cute.layout<"{layout}">') == ["IR020"]


def test_an_index_of_another_scope_is_no_constant():
    body = """scf.if %p {
    %c = arith.constant 5 : i32
  }
  %c = arith.addi %i, %i : i32
  %r = cute.get_hier_coord(%c, %l) : (i32, !cute.layout<"(2,4):(1,2)">) -> !cute.coord<"(?,?)">"""
    assert codes(body, '%p: i1, %i: i32, %l: !cute.layout<"(2,4):(1,2)">') == []


# ----------------------------------------------------------------------------------------------------- releases


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("", 402, 408),
        ("nvvm.mbarrier.init.shared", 402, 405),
        ("nvvm.mbarrier.init ", 406, 408),
        ('"nvvm.tcgen05.commit"(', 406, 408),
        ("nvvm.tcgen05.commit.arrive internal_val_type", 402, 403),
        ("nvvm.mbarrier.txn tma_format", 404, 405),
        ("nvvm.mbarrier.txn nvvm.tcgen05.commit ", 402, 408),  # of no release: nothing is known
    ],
)
def test_words_say_which_releases_may_have_written_a_text(text: str, first: int, last: int):
    assert releases_of(BOOK, text) == Releases(first, last)


ITERATOR = """%i = cute.get_iter(%t) : !cute.coord_tensor<"(0,0)", "(4,8):(1@0,1@1)">
  %v = cute.make_view(%i, %l) : (!cute.int_tuple<"(0,0)">, !cute.layout<"(4,8):(1@0,1@1)">)
    -> !cute.coord_tensor<"(0,0)", "(4,8):(1@0,1@1)">"""
COORDINATES = '%t: !cute.coord_tensor<"(0,0)", "(4,8):(1@0,1@1)">, %l: !cute.layout<"(4,8):(1@0,1@1)">'


def test_up_to_4_3_a_coordinate_tensor_starts_at_a_tuple():
    assert codes(f"{UP_TO_4_3}\n  {ITERATOR}", COORDINATES) == []
    assert codes(f"{FROM_4_4}\n  {ITERATOR}", COORDINATES) == ["IR021"]
    assert codes(ITERATOR.replace('int_tuple<"(0,0)">', 'int_tuple<"(0,1)">'), COORDINATES) == ["IR021"]


FRAGMENT = """%f = cute.mma.make_fragment A (%m, %t) : (!cute.tiled_mma<!cute_nvgpu.sm100.mma<128x128x16, num_cta = 1,
    ab_major = (k, mn), elem_type = (f16, f16, f32), frag_kind = ts, c_scale_exp = 0>,
    atom_layout_MNK = <"(1,1,1):(0,0,0)">{permutation}>,
    !cute.memref<f16, tmem, align<1>, "((128,16),1,4):((65536,1),0,16)">)
    -> !cute.memref<f16, tmem, align<1>, "((128,16),1,4):(({lanes},1),0,16)">"""


@pytest.mark.parametrize("permutation", ["", ', permutation_MNK = <"[_;_;_]">'])
@pytest.mark.parametrize(
    ("word", "lanes", "expected"),
    [(UP_TO_4_5, 65536, []), (FROM_4_6, 131072, []), (FROM_4_6, 65536, ["IR020"]), (UP_TO_4_5, 32768, ["IR020"])],
)
def test_lanes_of_a_in_tensor_memory_are_as_far_apart_as_the_release_has_them(word, lanes, expected, permutation):
    fragment = FRAGMENT.format(lanes=lanes, permutation=permutation).replace("\n   ", "")
    mma = fragment.partition(" : (")[2].partition(", !cute.memref")[0]
    arguments = f'%b: !llvm.ptr<3>, %m: {mma}, %t: !cute.memref<f16, tmem, align<1>, "((128,16),1,4):((65536,1),0,16)">'
    assert codes(f"{word}\n  {fragment}", arguments) == expected


# --------------------------------------------------------------------------------------------- former operations


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("nvvm.mbarrier.txn %b, %c {kind = #nvvm.mbar_txn_kind<arrive>} : !llvm.ptr<3>, i32", "arrive"),
        (
            "nvvm.mbarrier.txn %b, %c {kind = #nvvm.mbar_txn_kind<arrive_expect_tx>} : !llvm.ptr<3>, i32",
            "arrive_expect",
        ),
        ('"nvvm.mbarrier.txn"(%b, %c) <{kind = #nvvm.mbar_txn_kind<expect_tx>}> : (!llvm.ptr<3>, i32) -> ()', "expect"),
        ("nvvm.mbarrier.txn %b, %c {kind = #nvvm.mbar_txn_kind<complete_tx>} : !llvm.ptr<3>, i32", "complete"),
        ("nvvm.tcgen05.commit.arrive %b : !llvm.ptr<3>", "mma_commit"),
        ("%p = nvvm.mapa.shared.cluster %b, %c : !llvm.ptr<3>, i32 -> <3>", "peer"),
        ("nvvm.clusterlaunchcontrol.try_cancel.multicast %b, %b : !llvm.ptr<3>, !llvm.ptr<3>", "cancel"),
    ],
)
def test_former_operations_are_the_steps_that_they_are(text: str, step: str | None):
    module = tileproof.parse(MODULE.format(arguments="%b: !llvm.ptr<3>, %c: i32", body=text), "-").module
    [operation] = [one for one in module.walk() if one.name.startswith("nvvm.")]
    found = Operations.of(BOOK).step_of(operation)
    assert (None if found is None else found.step) == step


# ------------------------------------------------------------------------------------------ published generation


def test_types_of_other_dialects_do_not_end_the_published_generation():
    text = """module {
  llvm.func @printf(!llvm.ptr, ...) -> i32
  func.func @f(%l: !cute.layout<"(1,1):(1,1)">, %b: !cute.layout<"(2,3):(1@0,1@1)">) {
    %0 = cute.coalesce(%l) : !cute.layout<"(1,1):(1,1)"> -> !cute.layout<"1:1">
    return
  }
}"""
    assert [one.code for one in tileproof.check(text).diagnostics] == []
    in_the_wheel = text.replace("(%l:", "(%p: !cute.ptr<f32, gmem>, %l:")
    assert [one.code for one in tileproof.check(in_the_wheel).diagnostics] == ["IR020"]


# --------------------------------------------------------------------------------------------------------- corpora


@corpus("versions/*/*.mlir", every=9)
def test_no_release_gives_a_false_alarm_but_of_the_protocol(path):
    found = tileproof.check(path.read_text(encoding="utf-8"), ignore=("PR",)).diagnostics
    assert [(one.code, one.message) for one in found if one.severity.value == "error"] == []
