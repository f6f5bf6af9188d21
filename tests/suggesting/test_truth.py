"""What `suggest` lists is what the hardware has: for `legal`, for `emit`, for ptxas and by the tables of the PTX ISA.

ptxas judges what an instruction says. Of tcgen05.mma it sees neither shapes nor types: there the judge is a copy of the
ISA's tables, written here by hand.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import chain, islice, product

import mma_grammar as grammar
import pytest
from ptxas import needs_ptxas, reasons

import tileproof
from tileproof.checking.instruction import context, legal
from tileproof.emitting.atom import read
from tileproof.rulebase.expression import Scalar
from tileproof.suggesting.configurations import Query, Suggestion, as_asked, suggest

BOOK = tileproof.load_rules()
PTX = BOOK.under("ptx")
# One of each generation, and those whose features differ within it.
TARGETS = [
    *(pytest.param(one, marks=pytest.mark.sweep) for one in ("sm_80", "sm_90a", "sm_100a", "sm_120a")),
    *(
        pytest.param(one, marks=pytest.mark.long)
        for one in ("sm_75", "sm_89", "sm_90", "sm_103f", "sm_110a", "sm_120f")
    ),
]


@cache
def listed(target: str) -> list[Suggestion]:
    return suggest(BOOK, Query("ptx", context(BOOK, target), {}))


def of_warps(target: str) -> list[Suggestion]:
    return [one for one in listed(target) if not one.family.startswith("umma")]


def newest(target: str) -> str:
    version = context(BOOK, target)["ptx"]
    assert isinstance(version, int)
    return f"{version // 100}.{version % 100}"


def some(target: str, count: int) -> list[Suggestion]:
    return random.Random(target).sample(listed(target), min(count, len(listed(target))))


@pytest.mark.parametrize("target", ["sm_75", "sm_90a", "sm_120a"])
def test_some_of_what_is_listed_is_legal_and_emitted(target: str):
    judge(target, some(target, 40))


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_listed_is_legal_and_emitted(target: str):
    judge(target, of_warps(target))
    judge(target, some(target, 400))


def judge(target: str, found: list[Suggestion]) -> None:
    """Instruction and atom are legal, and the atom is lowered to that instruction."""
    where = context(BOOK, target)
    for one in found:
        assert one.ptx, one.facts
        assert legal(PTX, one.ptx, where).legal, one.ptx
        if one.atom:
            assert legal(PTX, one.atom, where).legal, one.atom
            lowered = read(PTX, one.atom, where).lowered
            assert lowered is not None, one.atom
            assert lowered.text == one.ptx, one.atom


@needs_ptxas
@pytest.mark.parametrize("target", TARGETS)
def test_ptxas_takes_what_is_listed_and_no_other_mma(target: str):
    compare(target, of_warps(target), candidates(target))


@needs_ptxas
def test_ptxas_takes_some_of_what_is_listed_and_no_other_mma():
    """One instruction in twenty of the grammar, and of Hopper a few widths."""
    warps = islice(chain(grammar.warp(), grammar.wmma(), grammar.scaled()), 0, None, 20)
    compare("sm_120a", random.Random(7).sample(of_warps("sm_120a"), 150), warps, complete=False)


def candidates(target: str) -> Iterator[str]:
    every = [grammar.warp(), grammar.wmma(), grammar.scaled()]
    return chain(*every, grammar.wgmma() if target.startswith("sm_90") else ())


def compare(target: str, found: list[Suggestion], written: Iterator[str], complete: bool = True) -> None:
    texts = list(dict.fromkeys(one.ptx for one in found))
    wrong = [text for text, reason in zip(texts, reasons(texts, target, newest(target)), strict=True) if reason]
    assert not wrong, wrong[:3]
    keys = {grammar.key(one.ptx) for one in (found if complete else of_warps(target))}
    absent = [text for text in written if grammar.key(text) not in keys]
    answers = reasons(absent, target, newest(target))
    omitted = [text for text, reason in zip(absent, answers, strict=True) if reason is None]
    assert not omitted, omitted[:3]


# ------------------------------------------------------------------------- tcgen05.mma by the tables of the PTX ISA

FP = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
# Kind: pairs of A and B, types of D, K of the dense instruction.
KINDS = {
    "f16": ([*product(("f16", "bf16"), repeat=2)], {"f16": ("f16", "f32")}, 16),
    "tf32": ([("tf32", "tf32")], {}, 8),
    "f8f6f4": ([*product(FP, repeat=2)], dict.fromkeys(FP, ("f16", "f32")), 32),
    "i8": ([*product(("s8", "u8"), repeat=2)], {}, 32),
}


def widths(kind: str, ctas: int) -> list[int]:
    if kind == "i8":
        return [8, 16, 24, 32, *range(48, 257, 16)] if ctas == 1 else list(range(32, 257, 32))
    return list(range(8, 257, 8)) if ctas == 1 else list(range(16, 257, 16))


def majors(a: str, b: str, source: str) -> Iterator[tuple[str, str]]:
    """Only 8 bits and more may be MN-major, and A in tensor memory is K-major."""
    wide = ("f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8")
    for pair in product(("k", "mn"), repeat=2):
        if (pair[0] == "k" or (a in wide and source == "smem_desc")) and (pair[1] == "k" or b in wide):
            yield pair


def plain(target: str) -> Iterator[tuple[Scalar, ...]]:
    for kind, (pairs, accumulators, k) in KINDS.items():
        if kind == "i8" and target not in ("sm_100a", "sm_110a"):
            continue
        for (a, b), sparse, source in product(pairs, (False, True), ("smem_desc", "tmem")):
            both = set(accumulators.get(a, ("f32",))) & set(accumulators.get(b, ("f32",)))
            for d in ("s32",) if kind == "i8" else sorted(both):
                shapes = [(1, m, n, ws) for ws in (False,) for m in (64, 128) for n in widths(kind, 1)]
                shapes += [(2, m, n, False) for m in (128, 256) for n in widths(kind, 2)]
                shapes += [(1, m, n, True) for m in (32, 64, 128) for n in ((64, 128) if sparse else (64, 128, 256))]
                for (ctas, m, n, ws), (am, bm) in product(shapes, list(majors(a, b, source))):
                    yield a, b, d, ctas, m, n, k * (2 if sparse else 1), am, bm, source, sparse, ws


def scaled(target: str) -> Iterator[tuple[Scalar, ...]]:
    long = (96,) if target.startswith("sm_103") else ()
    for (a, b), sparse, source in product(product(FP, repeat=2), (False, True), ("smem_desc", "tmem")):
        forms: list[tuple[int, int, str]] = [(64 if sparse else 32, 32, "ue8m0")]
        if a == b == "e2m1":
            for k in (128,) if sparse else (64, *long):
                if not sparse or target.endswith("a"):
                    forms += [(k, 32, "ue8m0"), (k, 16, "ue8m0"), (k, 16, "e4m3")]
        for k, vector, scale in forms:
            shapes = [(1, 128, n) for n in range(8, 257, 8)] + [(2, 256, n) for n in range(16, 257, 16)]
            shapes += [(2, 128, n) for n in range(16, 257, 16) if not sparse and k != 96]
            for (ctas, m, n), (am, bm) in product(shapes, list(majors(a, b, source))):
                yield a, b, ctas, m, n, k, am, bm, source, sparse, vector, scale


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("sm_100a", marks=pytest.mark.sweep),
        *(pytest.param(one, marks=pytest.mark.long) for one in ("sm_100f", "sm_103a", "sm_110a")),
    ],
)
def test_tcgen05_is_listed_as_the_tables_have_it(target: str):
    found: dict[str, list[tuple[Scalar, ...]]] = {"umma": [], "umma.scaled": []}
    for one in listed(target):
        facts = one.facts
        word = {name: str(value).removeprefix(".") for name, value in facts.items()}
        sparse = facts.get("sparse") == ".yes"
        shape = (facts["M"], facts["N"], facts.get("K"), word.get("a.major"), word.get("b.major"), word.get("a.source"))
        types = (word["a.type"], word["b.type"])
        if one.family == "umma" and facts["c_scale"] == 0:
            row = (*types, word["d.type"], facts["ctas"], *shape, sparse, facts["ws"] == ".yes")
            found["umma"].append(row)
        elif one.family == "umma.scaled":
            row = (*types, facts["ctas"], *shape, sparse, facts["vec_size"], word["sf.type"])
            found["umma.scaled"].append(row)
    for family, rows in (("umma", plain(target)), ("umma.scaled", scaled(target))):
        expected = set(rows)
        assert len(found[family]) == len(set(found[family])), "listed twice"
        assert set(found[family]) - expected == set(), sorted(set(found[family]) - expected, key=str)[:3]
        assert expected - set(found[family]) == set(), sorted(expected - set(found[family]), key=str)[:3]


# -------------------------------------------------------------------------------------------- answered as asked


@pytest.mark.parametrize(
    ("target", "facts"),
    [
        ("sm_100a", {"a.type": (".e4m3",)}),
        ("sm_100a", {}),
        ("sm_120a", {"a.type": (".e2m1",)}),
        ("sm_90a", {"a.type": (".s8",)}),
        ("sm_80", {"a.type": (".f16",)}),
    ],
)
def test_what_is_left_open_is_as_usual(target: str, facts: dict[str, tuple[Scalar, ...]]):
    found = as_asked(BOOK, Query("ptx", context(BOOK, target), facts))
    assert found
    usual = BOOK.shared_table("usual").rows
    for one in found:
        assert not one.unusual and not one.sparse and "scale" not in one.why
        assert one.facts["b.type"] == one.facts["a.type"]
        assert one.facts["d.type"] == usual[str(one.facts["a.type"]),][0]
    if facts:
        costs = [(one.family == "wmma.mma", one.instructions, one.traffic) for one in found]
        assert costs == sorted(costs)


def test_only_what_is_unusual_fits_and_says_so():
    where = context(BOOK, "sm_120a")
    found = as_asked(BOOK, Query("ptx", where, {"a.type": (".e4m3",), "b.type": (".e2m1",)}))
    assert found[0].unusual == ()
    scaled_only = as_asked(
        BOOK, Query("ptx", where, {"a.type": (".e2m1",), "K": (64,), "N": (8,), "d.type": (".f32",)})
    )
    assert {one.family for one in scaled_only} == {"mma.sp", "mma.block_scale"}
    assert all(one.unusual and "behind what is usual" in one.why for one in scaled_only)


def test_narrow_types_count_as_they_are_stored():
    """FP6 and FP4 fill a byte of shared memory in the kinds that mix them with FP8, not in mxf4."""
    where = context(BOOK, "sm_100a")
    mixed = as_asked(BOOK, Query("ptx", where, {"a.type": (".e2m1",)}, (128, 256, 128)))[0]
    packed = Query("ptx", where, {"a.type": (".e2m1",), "vec_size": (32,), "K": (64,)}, (128, 256, 128))
    assert mixed.traffic == (128 + 256) * 128
    assert as_asked(BOOK, packed)[0].traffic == (128 + 256) * 128 // 2
