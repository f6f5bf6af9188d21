"""Suggestions are legal and complete, repairs are legal and least."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

import pytest
import z3

import tileproof
from conftest import command
from tileproof.base.diagnostic import Severity
from tileproof.evaluate.enumerate import legal_configurations
from tileproof.evaluate.python import judge_for
from tileproof.evaluate.solver import Answer, Question
from tileproof.evaluate.z3 import Encoder
from tileproof.rulebase.expression import Scalar
from tileproof.suggesting.configurations import families

BOOK = tileproof.load_rules()
ILLEGAL_ATOM = "cute_nvgpu.sm90.mma<64x100x8, ab_major = (k, mn), elem_type = (f8E4M3FN, f16, f32), frag_kind = rs>"


# Sub-lattices small enough to go through one by one: schema and the facts that are held.
LATTICES: list[tuple[str, dict[str, Sequence[Scalar]]]] = [
    (
        "wgmma.mma_async",
        {"M": [64, 128], "N": range(0, 72, 4), "K": [8, 16, 32], "b.major": [".k"], "d.type": [".f32", ".s32"]},
    ),
    ("wgmma.mma_async", {"M": [64], "N": [8], "K": [256, 32], "a.source": [".smem_desc"], "b.source": [".smem_desc"]}),
    ("mma.sync", {"M": [8, 16], "N": [8], "K": [4, 8, 16, 32], "a.type": [".f16", ".s8", ".tf32"]}),
    ("mma.sp", {"M": [16], "N": [8, 16], "K": [8, 16, 32, 64], "a.type": [".f16", ".s8", ".e4m3"]}),
    (
        "mma.block_scale",
        {
            **{"M": [16], "N": [8, 16], "K": [32, 64, 128], "a.type": [".e2m1", ".e4m3"], "b.type": [".e2m1", ".e4m3"]},
            **{"d.type": [".f32", ".f16"], "vec_size": [16, 32], "scale.type": [".ue8m0", ".ue4m3"]},
        },
    ),
    (
        "umma",
        {
            **{
                "M": [64, 128, 256],
                "N": [8, 16, 64, 256],
                "K": [16, 32],
                "a.type": [".f16", ".s8"],
                "c_scale": [0],
            },
            **{"b.type": [".f16", ".s8"], "d.type": [".f32", ".f16", ".s32"], "b.major": [".k"]},
        },
    ),
    (
        "umma.scaled",
        {
            **{"M": [128, 256], "N": [8, 16, 256], "K": [32, 64, 128], "a.type": [".e2m1", ".e4m3"]},
            **{
                "b.type": [".e2m1"],
                "d.type": [".f32"],
                "b.major": [".k"],
                "vec_size": [16, 32],
                "a.source": [".smem_desc"],
            },
        },
    ),
    (
        "umma.sm107",
        {
            **{
                "M": [64, 128, 256],
                "N": [8, 16, 64, 256],
                "K": [16, 32, 64],
                "a.type": [".f16", ".e4m3", ".s8"],
                "c_scale": [0],
            },
            **{"b.type": [".f16", ".e4m3", ".s8"], "d.type": [".f32", ".f16", ".s32"], "b.major": [".k"]},
        },
    ),
    (
        "umma.scaled.sm107",
        {
            **{"M": [128, 256], "N": [8, 16, 256], "K": [32, 64, 96, 128], "a.type": [".e2m1", ".e4m3"]},
            **{
                "b.type": [".e2m1"],
                "d.type": [".f32"],
                "b.major": [".k"],
                "vec_size": [16, 32],
                "a.source": [".smem_desc"],
            },
        },
    ),
    (
        "wgmma.sparse",
        {
            **{
                "M": [64],
                "N": range(4, 28, 4),
                "sparse.K": [16, 32, 64],
                "a.type": [".f16", ".s8"],
                "b.type": [".f16", ".s8"],
            },
            **{"d.type": [".f32", ".f16", ".s32"], "a.major": [".k"]},
        },
    ),
    (
        "wmma.mma",
        {
            **{"M": [8, 16], "N": [8, 16, 32], "K": [4, 8, 16], "a.type": [".f16", ".s8"], "b.type": [".f16", ".s8"]},
            **{"d.type": [".f16", ".f32", ".s32"], "c.type": [".f16", ".f32", ".s32"]},
        },
    ),
]


def test_every_family_has_a_lattice():
    assert {family.schema for family in families(BOOK)} == {schema for schema, _ in LATTICES}


WIDE = ("wgmma.mma_async", "umma.sm107")  # five seconds each


@pytest.mark.parametrize(
    ("schema", "held"), [pytest.param(*one, marks=pytest.mark.sweep if one[0] in WIDE else ()) for one in LATTICES]
)
def test_search_finds_what_brute_force_and_z3_find(schema: str, held: dict[str, Sequence[Scalar]]):
    judge = judge_for(BOOK.under("ptx"), schema)
    fields = next(family.fields for family in families(BOOK) if family.schema == schema)
    options = {fact: held.get(fact, tuple(BOOK.domain(schema, fact))) for fact in fields}
    found = list(legal_configurations(judge, options))
    one_by_one = []
    for values in itertools.product(*options.values()):
        facts = dict(zip(options, values, strict=True))
        if all(check(facts) is not False for check in judge.checks if check.rule.severity is Severity.ERROR):
            one_by_one.append(facts)
    key = lambda facts: sorted(facts.items())  # noqa: E731
    assert sorted(map(key, found)) == sorted(map(key, one_by_one))
    assert found
    # The other reading: Z3 knows no legal configuration that is not among them.
    encoder = Encoder(BOOK.under("ptx"), schema)
    kept = [
        encoder.reading(r).kept for r in BOOK.rules_on(schema, "ptx", inherited=True) if r.severity is Severity.ERROR
    ]
    within = [
        z3.Or([encoder.variables[fact] == encoder.number(value) for value in values])
        for fact, values in options.items()
    ]
    elsewhere = [z3.Not(encoder.assigned(facts)) for facts in found]
    assert Question(encoder, 60).ask(*kept, *within, *elsewhere).answer is Answer.UNSATISFIABLE


SLOW = ("umma", "umma.scaled", "mma.block_scale")  # many facts: ten seconds and more each
# No document says how the instruction descriptor tells their K, so no lowering leads to an instruction.
JUDGED_ONLY = ("umma.sm107", "umma.scaled.sm107")


@pytest.mark.parametrize(
    "family",
    [
        pytest.param(one.schema, marks=pytest.mark.long if one.schema in SLOW else ())
        for one in families(BOOK)
        if one.schema not in JUDGED_ONLY
    ],
)
def test_every_family_suggests_something_on_its_own_target(family: str):
    schema = BOOK.schemas[family]
    facts = {name: (value,) for name, value in schema.instance.items() if name.endswith(".type")}
    targets = [f".{member[1:]}" for member in BOOK.enums["target"].members]
    for target in targets:
        found = [s for s in tileproof.suggest(target[1:], facts=facts) if s.family == family]
        if found:
            break
    else:
        pytest.fail(f"{family} is legal nowhere")
    for suggestion in found[:3]:
        assert suggestion.ptx or suggestion.atom
        if suggestion.ptx:
            assert tileproof.legal(suggestion.ptx, target[1:]).legal, suggestion.ptx


def test_sparse_ones_stand_behind_dense_ones_and_can_be_asked_for():
    facts = {"a.type": [".f16"], "d.type": [".f32"]}
    both = tileproof.suggest("sm_90a", facts=facts)
    assert [s.sparse for s in both] == sorted(s.sparse for s in both)
    assert {s.family for s in both if s.sparse} == {"mma.sp", "wgmma.sparse"}
    only = tileproof.suggest("sm_90a", facts=facts, sparsity="sparse")
    assert [s.ptx for s in only if s.ptx] == [s.ptx for s in both if s.sparse and s.ptx]
    assert not any(s.sparse for s in tileproof.suggest("sm_90a", facts=facts, sparsity="dense"))
    for s in both:
        if s.family == "wgmma.sparse":
            assert tileproof.legal(s.ptx, "sm_90a").legal
            assert f"k{s.facts['sparse.K']}" in s.ptx


def test_warps_share_the_tile():
    facts = {"a.type": [".f16"], "d.type": [".f32"]}
    alone = tileproof.suggest("sm_90a", tile=(128, 128, 64), facts=facts, sparsity="dense")
    shared = tileproof.suggest("sm_90a", tile=(128, 128, 64), facts=facts, sparsity="dense", warps=8)
    count = {(*sorted(s.facts.items()), s.family): s.instructions for s in alone}
    for s in shared:
        sharers = 2 if s.family == "wgmma.mma_async" else 8
        assert s.instructions == -(-count[(*sorted(s.facts.items()), s.family)] // sharers)
    # Two warps are no warpgroup.
    few = tileproof.suggest("sm_90a", tile=(128, 128, 64), facts=facts, warps=2)
    assert few
    assert not {s.family for s in few} & {"wgmma.mma_async", "wgmma.sparse"}


def test_the_scale_format_has_one_name():
    for target, family in (("sm_120a", "mma.block_scale"), ("sm_100a", "umma.scaled")):
        found = tileproof.suggest(
            target, tile=(128, 64, 128), facts={"a.type": [".e2m1"], "b.type": [".e2m1"], "scale.type": [".ue4m3"]}
        )
        assert {s.family for s in found} == {family}


def test_suggestions_are_ranked_by_instructions_then_traffic_and_say_why():
    found = tileproof.suggest("sm_90a", tile=(128, 192, 64), facts={"a.type": [".f16"], "d.type": [".f32"]})
    costs = [(s.sparse, s.family == "wmma.mma", s.instructions, s.traffic) for s in found]
    assert costs == sorted(costs)
    assert found[0].facts["N"] == 192
    assert (
        found[0].why
        == f"{found[0].instructions} instructions for 128x192x64, reading {found[0].traffic} bytes of A and B"
    )
    for suggestion in found:
        assert 192 % suggestion.facts["N"] == 0  # type: ignore[operator]


def test_a_repair_is_legal_and_keeps_what_it_can():
    repair = tileproof.repair(ILLEGAL_ATOM, "sm_90a")
    assert repair.answer is Answer.SATISFIABLE
    assert tileproof.check(f'%0 = "test.use"() : () -> {repair.text}\n', target="sm_90a").diagnostics == ()
    changed = {change.fact for change in repair.changes}
    assert len(changed) == 3
    # No two changes suffice: whatever other fact keeps its value, some rule is violated.
    judge = judge_for(BOOK.under("ptx"), "wgmma.mma_async")
    present = {"M": 64, "N": 100, "K": 8, "a.type": ".e4m3", "b.type": ".f16", "d.type": ".f32"}
    present |= {"a.major": ".k", "b.major": ".mn", "a.source": ".rmem"}
    for pair in itertools.combinations(sorted(present), 2):
        options = {f: tuple(BOOK.domain("wgmma.mma_async", f)) if f in pair else (v,) for f, v in present.items()}
        assert next(legal_configurations(judge, options), None) is None, pair


@pytest.mark.parametrize(
    ("arguments", "status", "shown"),
    [
        (("--a", "f16", "--acc", "f32", "--tile", "64x64x16"), 0, "1 instruction for 64x64x16"),
        (("--a", "f16", "--acc", "f32", "--tile", "64x64x16", "--limit", "1"), 0, "more; --all shows them"),
        (("--a", "f16", "--acc", "s32"), 1, "a.type = f16 and d.type = s32 contradict each other on sm_90a"),
        (
            ("--a", "f16", "--acc", "s32", "--set", "a.major=mn"),
            1,
            "a.type = f16 and d.type = s32 contradict each other",
        ),
        (("--target", "sm_80", "--a", "e2m1"), 1, "none on sm_80 fits a.type = e2m1"),
        (("--a", "f16", "--tile", "60x64x16"), 1, "none on sm_90a fits a tile of 60x64x16"),
        (("--target", "sm_100a", "--a", "e4m3", "--limit", "1"), 0, "elem_type = (f8E4M3FN, f8E4M3FN, f32)"),
        (
            ("--target", "sm_120a", "--a", "e4m3", "--b", "e3m2", "--limit", "1"),
            0,
            "row.col.kind::f8f6f4.f32.e4m3.e3m2.f32",
        ),
        (("--a", "f161"), 2, "did you mean f16?"),
        (("--set", "a.mjor=k"), 2, "did you mean a.major?"),
        (("--set", "a.major=q"), 2, "it is one of k, mn"),
        (("--set", "N=many"), 2, "it is an integer"),
        (("--target", "sm_100a", "--ptx", "8.0"), 1, "sm_100a and PTX ISA 8.0 contradict each other: it requires 8.6"),
        (("--target", "sm_80", "--a", "f16", "--limit", "1"), 0, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        (("--target", "sm_120a", "--a", "s8", "--limit", "1"), 0, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"),
        (("--a", "f16", "--acc", "f32", "--sparsity", "sparse", "--limit", "1"), 0, "with a sparse A"),
        (("--warps", "4", "--warpgroups", "1"), 2, "use one of them"),
        (("--target", "sm_120a", "--a", "e2m1", "--scale", "ue8m1"), 2, "did you mean ue8m0?"),
        (("--set", "a.major"), 2, "FACT=VALUE"),
        (("--tile", "64x64"), 2, "not a tile such as"),
        (("--target", "sm_91"), 2, "did you mean sm_90"),
        (("--repair", ILLEGAL_ATOM), 0, "N: 100 -> 96"),
        (("--repair", "what is this"), 2, "not a PTX instruction"),
        (("--repair", "cute_nvgpu.sm90.mmma<>"), 2, "did you mean cute_nvgpu.sm90.mma?"),
        (("--repair",), 2, "requires an instruction"),
        (("mma.sync",), 2, "use --repair for"),
    ],
)
def test_the_command_line(arguments: tuple[str, ...], status: int, shown: str):
    done = command("suggest", *arguments)
    assert done.returncode == status, done.stderr
    assert shown in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_json_has_all_that_the_text_has():
    done = command("suggest", "--a", "f16", "--tile", "64x64x16", "--limit", "2", "--format", "json")
    found = json.loads(done.stdout)
    assert found["total"] > 2
    assert [row["rank"] for row in found["suggestions"]] == [1, 2]
    assert found["suggestions"][0]["facts"]["N"] == 64
    repaired = json.loads(command("suggest", "--repair", ILLEGAL_ATOM, "--format", "json").stdout)
    assert repaired["answer"] == "repaired"
    assert {change["fact"] for change in repaired["changes"]} >= {"N", "K"}
    assert repaired["conflict"]["rules"]
