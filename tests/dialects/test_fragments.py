"""Who holds what: rules/fragments against the laws of fragments and against the wheel's own thread-value layouts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product

import pytest
from fragment_answers import KEPT, Answer, kept, telling

from tileproof.base.source import Source
from tileproof.dialects.fragments import fragments
from tileproof.layout import Layout, crd2idx, size
from tileproof.rulebase.fragment import COPY_ROLES, MMA_ROLES
from tileproof.rulebase.load import RuleError, default_files, load
from tileproof.syntax.types import type_tree

ELEMENTS = [
    "f16", "bf16", "tf32", "f32", "f64", "si8", "ui8", "i8", "i4", "i128", "f8E4M3FN", "f8E5M2", "f6E2M3FN", "f4E2M1FN",
]  # fmt: skip


def mma_atoms() -> Iterator[str]:
    """MMA atoms of all kinds, with shapes legal and not."""
    for shape, element, tier in product(
        ("16x8x4", "16x8x8", "16x8x16", "16x8x32", "8x8x4", "8x8x16"), ELEMENTS, ("sm80", "sm89")
    ):
        yield f"!cute_nvgpu.{tier}.mma<{shape}, elem_type = ({element}, {element}, f32) >"
    for n, (k, element), kind in product(
        (8, 16, 24, 40, 128, 256), ((16, "f16"), (8, "tf32"), (32, "f8E5M2"), (32, "si8")), ("ss", "rs")
    ):
        types = f"elem_type = ({element}, {element}, f32), frag_kind = {kind}"
        yield f"!cute_nvgpu.sm90.mma<64x{n}x{k}, ab_major = (k, k), {types}>"
    for m, n, cta, kind in product((64, 128, 256), (16, 64, 192, 256), (1, 2), ("ss", "ts")):
        some = f"num_cta = {cta}, ab_major = (k, k), elem_type"
        yield f"!cute_nvgpu.sm100.mma<{m}x{n}x16, {some} = (f16, f16, f32), frag_kind = {kind}, c_scale_exp = 0>"
        types = f"(f4E2M1FN, f4E2M1FN, f32), sf_type = f8E4M3FN, frag_kind = {kind}, vec_size = 16"
        yield f"!cute_nvgpu.sm100.mma_bs<{m}x{n}x64, {some} = {types}>"
    for k, flag in product((32, 64), ("false", "true")):
        types = f"elem_type = (f8E4M3FN, f8E4M3FN, f32), sf_type = f8E8M0FNU, use_sf_layout_TV = {flag}"
        yield f"!cute_nvgpu.SM120.mma_bs<16x8x{k}, vec_size = 32, {types}>"
    yield "!cute_nvgpu.atom.universal_fma<1x1x1, (f32, f32) -> f32 >"


def copy_atoms() -> Iterator[str]:
    """Copy atoms of all kinds, in combinations legal and not."""
    for element in ELEMENTS:
        for width in ("", ", 8 b", ", 32 b", ", 128 b", ", 256 b"):
            yield f"!cute_nvgpu.atom.universal_copy<{element}{width}>"
        for width in (32, 64, 128):
            yield f"!cute_nvgpu.atom.simt_async_copy<{element}, cache = always, {width} b>"
        modes = (
            ("(8,8)", "u16"),
            ("(16,16)", "u8"),
            ("(16,8)", "u8"),
            ("(8,16)", "u4x16p64to8"),
            ("(8,16)", "u6x16p32to8"),
        )
        for (mode, pattern), count, order in product(modes, (1, 2, 4), "nt"):
            about = f'mode = <"{mode}">'
            matrices = f"num_matrices = {count}, {order}"
            yield f"!cute_nvgpu.atom.ldsm<val_type = {element}, {about}, sz_pattern = {pattern}, {matrices}>"
            yield f"!cute_nvgpu.atom.stsm<{element}, {about}, {matrices}>"
        shapes = (16, 32), (16, 64), (16, 128), (16, 256), (32, 32)
        for name, (dp, width), times in product(("tmem_load", "tmem_store"), shapes, (1, 2, 4, 32, 128)):
            yield f"!cute_nvgpu.atom.{name}<{element}, {dp} DP, {width} bit, x{times}>"
        shapes = (32, 128), (64, 128), (128, 128), (128, 256)
        for (dp, width), cta, broadcast in product(shapes, (1, 2), ("", ", x4", ", lw_0213", ", lw_0123")):
            yield f"!cute_nvgpu.atom.s2t_copy<{element}, {dp} DP, {width} bit, {cta} cta{broadcast}>"
        box = 'tma_gbasis = <"(64,128,1):(1@1,1@0,1@2)">, tma_format = F16_RN'
        for kind in ("sm_90", "sm_90_multicast", "sm_100_2sm", "sm_100_2sm_multicast"):
            yield f"!cute_nvgpu.atom.non_exec_tiled_tma_load<{kind}, {element}, copy_bits = 131072, {box}>"
        yield f"!cute_nvgpu.atom.non_exec_tiled_tma_store<{element}, copy_bits = 131072, {box}>"


def images(layout: Layout) -> list[int]:
    return [crd2idx(index, layout) for index in range(size(layout))]  # type: ignore[misc,arg-type]


@pytest.mark.parametrize("role", ["A", "B", "C"])
def test_a_tile_in_registers_is_held_once_and_completely(role: str):
    seen = 0
    for text in mma_atoms():
        found = fragments(type_tree(text))
        assert found is not None, text
        if role not in found.layouts or "use_sf_layout_TV = true" in text or "frag_kind" in text:
            continue
        m, n, k = found.shape()
        elements = {"A": m * k, "B": n * k, "C": m * n}[role]
        assert sorted(images(found.layouts[role])) == list(range(elements)), text
        seen += 1
    assert seen > 8


@pytest.mark.parametrize(
    "widths", [(8, 40, 128, 256), pytest.param(range(8, 257, 8), marks=pytest.mark.sweep)], ids=["some", "all"]
)
def test_a_wgmma_accumulator_is_held_once_and_completely(widths):
    for n in widths:
        text = f"!cute_nvgpu.sm90.mma<64x{n}x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = rs>"
        found = fragments(type_tree(text))
        assert found is not None
        assert sorted(images(found.layouts["C"])) == list(range(64 * n))
        assert sorted(images(found.layouts["A"])) == list(range(64 * 16))


@pytest.mark.parametrize("each", [2, pytest.param(6, marks=pytest.mark.sweep)])
def test_a_copy_writes_all_that_it_reads(each):
    seen: Counter[str] = Counter()
    for text in copy_atoms():
        found = fragments(type_tree(text))
        if found is None or not {"S", "D"} <= found.layouts.keys() or found.facts.get("bits") in (64, 128):
            continue
        kind = text.partition("<")[0]
        if seen[kind] < each:
            source, destination = (set(images(found.layouts[role])) for role in "SD")
            assert source <= destination, text
            assert source == destination or "s2t_copy" in text, text  # that one can write its rows several times
        seen[kind] += 1
    assert len(seen) > 8


# ------------------------------------------------------------------------------------------------------- the language

ENUM = 'enum flag { .no "n"; } schema one "a schema" { n : 0..4 = 1; } reference "a manual" {} '
ATOM = "fragment a.b {{ M, K : integer from 0; k : flag from kind else .no; {} threads 32:1; {} }}"
SOURCE = 'source "a manual"'


@pytest.mark.parametrize(
    ("source", "rows", "complaint"),
    [
        ("", "A (4,8):(1,4);", "needs a source"),
        (SOURCE, "X (4,8):(1,4);", "unknown operand 'X'"),
        (SOURCE, "A D;", "has no operand 'D'"),
        (SOURCE, "A (4,8):(1,P);", "has no fact 'P'"),
        (SOURCE, "A (4,8):(1,k);", "expected integer"),
        (SOURCE, "A (4,8):(1,4) when M + 1;", "expected truth value"),
        (SOURCE, "A (4,8):(1,4) when k == .yes;", "expected flag, found '.yes'"),
        (SOURCE, "A (4,8):(1,4/K);", "a divisor must be positive"),
        (SOURCE, "A (4,8):(1,4%2);", "a product or a quotient"),
        (SOURCE, "A (4,8):(1,4,2);", "different profiles"),
        (SOURCE, "A (4,8):(1,4) in bytes;", "not in 'bytes'"),
        (SOURCE, "A (4,8):(1,4) onto (M,P);", "has no fact 'P'"),
        (f"on nowhere; {SOURCE}", "A (4,8):(1,4);", "unknown schema 'nowhere'"),
        (f"on one with P = n; {SOURCE}", "A (4,8):(1,4);", "this fragment has no fact 'P'"),
        (f"on one with M = colour; {SOURCE}", "A (4,8):(1,4);", "has no fact 'colour'"),
        (f"on one with k = n; {SOURCE}", "A (4,8):(1,4);", "expected flag"),
        (f"on one when n; {SOURCE}", "A (4,8):(1,4);", "expected truth value"),
    ],
)
def test_a_fragment_that_means_nothing_is_refused(source: str, rows: str, complaint: str):
    with pytest.raises(RuleError, match=complaint.replace("+", r"\+")):
        load((Source("f.rule", ENUM + ATOM.format(source, rows)),))


def test_a_fact_that_nothing_says_is_refused():
    text = 'reference "a manual" {} fragment a.b { M : integer; source "a manual" threads 32:1; A (4,8):(1,4); }'
    with pytest.raises(RuleError, match="'M' has no value"):
        load((Source("f.rule", text),))


def test_every_fragment_names_operands_of_one_kind():
    for fragment in load(default_files()).fragments.values():
        roles = {row.role for row in fragment.rows}
        assert roles <= set(MMA_ROLES) or roles <= set(COPY_ROLES)
        assert "threads" in roles


# ---------------------------------------------------------------------------------------------------------- the wheel

WHEEL = """
import json, sys
from cutlass._mlir import ir
for line in sys.stdin:
    with ir.Context():
        try:
            found = ir.Type.parse(json.loads(line))
            names = ["thr_id"] + [n for n in ("layout_a_tv", "layout_b_tv", "layout_c_tv") if hasattr(found, n)]
            names += [n for n in ("layout_src_tv", "layout_dst_tv") if hasattr(found, n)]
            print(json.dumps([str(getattr(found, name)) for name in names]))
        except Exception:
            print("null")
"""


def answers() -> list[Answer]:
    """What the wheel says of the atoms above; without those that it does not have."""
    atoms = [*mma_atoms(), *copy_atoms()]
    asked = "".join(json.dumps(text) + "\n" for text in atoms)
    answer = subprocess.run([sys.executable, "-c", WHEEL], input=asked, capture_output=True, text=True, check=True)
    found = []
    for text, line in zip(atoms, answer.stdout.splitlines(), strict=True):
        theirs = json.loads(line)
        if theirs is not None:
            layouts = tuple(one.removeprefix('!cute.layout<"').removesuffix('">') for one in theirs)
            found.append(Answer(text, layouts))
    return found


@pytest.mark.oracle
def test_the_wheel_has_the_same_fragments(request: pytest.FixtureRequest):
    pytest.importorskip("cutlass", reason="nvidia-cutlass-dsl is not installed")
    found = answers()
    if request.config.getoption("--regenerate"):
        KEPT.write_text("".join(f"{one.line}\n" for one in telling(found)), encoding="utf-8")
        kept.cache_clear()
    assert [one for one in found if not one.as_rules_say()] == []
    assert {one for several in kept().values() for one in several} <= {*found}
    compared = Counter(one.name for one in found)
    assert compared.total() > 1_000
    assert len(compared) > 12


def test_fragments_are_as_the_wheel_said():
    assert [one for several in kept().values() for one in several if not one.as_rules_say()] == []
    assert len(kept()) > 12
