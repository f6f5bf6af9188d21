"""Partitions by tiled MMAs and tiled copies, and fragments: against their laws and against the wheel."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from partition_cases import Case, cases
from wheel import disagreements, ours

import tileproof
from tileproof.dialects.fragments import fragments
from tileproof.dialects.infer import infer
from tileproof.dialects.infer.partition import mma_operand
from tileproof.dialects.values import Tensor, TiledMma, read_type
from tileproof.layout import Layout, crd2idx, size
from tileproof.layout.tiled import divided_among_threads
from tileproof.syntax.types import type_tree

MMA = (
    "!cute.tiled_mma<!cute_nvgpu.sm80.mma<16x8x16, elem_type = (f16, f16, f32) >, "
    'atom_layout_MNK = <"(2,2,1):(1,2,0)">, permutation_MNK = <"[32:1;32:1;16:1]">>'
)


def test_the_threads_of_a_tiled_mma_hold_all_of_the_accumulator_once():
    mma = read_type(MMA)
    assert isinstance(mma, TiledMma)
    divided = divided_among_threads(Layout((64, 32), (1, 64)), mma_operand(mma, "C"))
    assert isinstance(divided, Layout)
    offsets = [crd2idx(index, divided) for index in range(size(divided))]  # type: ignore[arg-type]
    assert sorted(offsets) == list(range(64 * 32))  # type: ignore[type-var]


def test_a_slice_of_a_partition_starts_at_a_multiple_of_its_divisor():
    tensor = '!cute.coord_tensor<"(0,0)", "(64,32):(1@0,1@1)">'
    parameters = (("operand_id", "2 : i32"),)
    (dynamic,) = infer("cute.tiled.mma.partition", (MMA, tensor, '!cute.coord<"?">'), parameters, ())  # type: ignore[misc]
    assert isinstance(dynamic, Tensor)
    for thread in range(128):
        (one,) = infer("cute.tiled.mma.partition", (MMA, tensor, f'!cute.coord<"{thread}">'), parameters, ())  # type: ignore[misc]
        assert isinstance(one, Tensor)
        assert one.layout == dynamic.layout
        starts = zip(dynamic.iterator.start, one.iterator.start, strict=True)  # type: ignore[union-attr,arg-type]
        assert all(static % known.div == 0 for known, static in starts)  # type: ignore[union-attr,operator]


def test_no_random_partition_ends_in_an_exception():
    verdicts = Counter(type(ours(case)).__name__ for case in cases(seed=7, count=1500))
    assert verdicts["tuple"] > 900


def changed(random_cases: list[Case]) -> Iterator[Case]:
    """The same with one number or word in an operand replaced."""
    for index, case in enumerate(random_cases):
        operands = list(case.operands)
        chosen = index % len(operands)
        pieces = list(re.finditer(r"\d+|_|\?|ss|rs|f16", operands[chosen]))
        if pieces:
            piece = pieces[index % len(pieces)]
            new = ("0", "1", "3", "-1", "?", "_", "()", "(1,2)", "1@0", "9999999999", "nonsense")[index % 11]
            text = operands[chosen]
            operands[chosen] = text[: piece.start()] + new + text[piece.end() :]
        yield Case(case.name, tuple(operands), case.attributes, case.result)


@pytest.mark.parametrize("count", [300, pytest.param(1500, marks=pytest.mark.sweep)])
def test_no_changed_partition_ends_in_an_exception(count):
    verdicts = Counter(type(ours(case)).__name__ for case in changed(cases(seed=11, count=count)))
    assert min(verdicts["tuple"], verdicts["Refusal"], verdicts["NoneType"]) > count / 50, verdicts


def test_an_atom_that_no_rule_file_knows_has_no_fragments():
    assert fragments(type_tree("!cute_nvgpu.sm999.mma<1x1x1>")) is None
    assert fragments(type_tree("!cute_nvgpu.sm80.mma<1x1>")) is None


HOUSE = """
reference "the house" {}
fragment cute_nvgpu.atom.house_copy {
  bits : bits from 0;
  source "the house"
  threads 1:0;
  S (1,8):(0,1);
  D S;
  R S;
}
"""
HOUSE_USE = """
func.func @f(%c: TILED, %t: !cute.memref<f16, gmem, align<16>, "(128,8):(8,1)">, %i: !cute.coord<"?">) {
  %r = "cute.tiled.copy.partition_S"(%c, %t, %i) : (TILED, !cute.memref<f16, gmem, align<16>, "(128,8):(8,1)">,
    !cute.coord<"?">) -> !cute.memref<f16, gmem, align<16>, "((8,1),1,1):((2,0),0,0)">
  return
}
""".replace(
    "TILED",
    '!cute.tiled_copy<!cute_nvgpu.atom.house_copy<f16>, layout_copy_tv = <"(128,8):(1,128)">, '
    'tiler_mn = <"[128:1;8:1]">>',
)


def test_fragments_of_house_rules_count_in_a_check(tmp_path):
    folder = tmp_path / "house"
    folder.mkdir()
    (folder / "house.rule").write_text(HOUSE, encoding="utf-8")
    path = tmp_path / "kernel.mlir"
    path.write_text(HOUSE_USE, encoding="utf-8")
    assert [d.code for d in tileproof.check(str(path)).diagnostics if d.code == "IR020"] == []
    found = tileproof.check(str(path), rules=[folder]).diagnostics
    (message,) = [d.message for d in found if d.code == "IR020"]
    assert '"((8,1),1,1):((1,0),0,0)"' in message.partition("incompatible")[0]


# ---------------------------------------------------------------------------------------------------------- the wheel


@pytest.mark.oracle
def test_the_wheel_infers_the_same_of_random_partitions():
    verdicts = disagreements(cases(seed=3, count=600))
    assert verdicts["equal"] > 400


@pytest.mark.long
@pytest.mark.oracle
def test_the_wheel_infers_the_same_of_many_random_partitions():
    verdicts = disagreements(cases(seed=5, count=10_000))
    assert verdicts["equal"] > 7_000
