"""Findings by their causes: one mistake is one finding, at the operation to change, with a hint that repairs it."""

# checklist: PRO01 PRO02 PRO05 PRO06 PRO08

from __future__ import annotations

import random
import re
import sys
from types import SimpleNamespace

import pytest

import tileproof
from conftest import SHARED, corpus_files, some
from protocol.planted import OPERATORS, Mutant, harmless, mutants
from protocol.rings import ARRIVAL, ring
from tileproof.base.diagnostic import Diagnostic, Severity
from tileproof.checking import kept_outcomes
from tileproof.mlir.ir import Operation
from tileproof.protocol.diagnosis.search import Ended, Search
from tileproof.protocol.program import Program

PLAIN = Operation("llvm.func", (), (), (), (), (), (), (), False, ("llvm.func",))
_NEAR = 3  # lines: where an operation was deleted, what stands around it is its place

KERNELS = ["sm_90a/dense_gemm__default", "sm_100a/prim_tcgen05_2cta_mma_basic__default"]
MORE = [
    "sm_90a/dense_gemm_persistent__default",
    "sm_100a/dense_gemm__default",
    "sm_100a/dense_gemm__e4m3_e4m3_f32_2cta",
    "sm_100a/tut_fp16_gemm_3_1__default",
    "sm_120a/dense_gemm__default",
    "sm_80/tensorop_gemm__default",
]
few_or_more = pytest.mark.parametrize(
    "kernels",
    [pytest.param(KERNELS, marks=pytest.mark.sweep), pytest.param(KERNELS + MORE, marks=pytest.mark.long)],
    ids=["few", "more"],
)
needs_corpus = pytest.mark.skipif(not corpus_files(), reason="no ../shared beside this checkout")


def errors(text: str) -> list[Diagnostic]:
    return [one for one in tileproof.check(text).diagnostics if one.severity is Severity.ERROR]


def line(diagnostic: Diagnostic, offset: int) -> int:
    return diagnostic.source.position(offset).line


def only(text: str) -> Diagnostic:
    (found,) = errors(text)
    return found


# --------------------------------------------------------------------------------------------------------- one ring


def at(text: str, words: str, which: int = 0) -> int:
    """The line that has these words, counted from 0 where several have."""
    return [i for i, one in enumerate(text.split("\n"), 1) if words in one][which]


def test_a_lost_arrival_is_one_finding_where_it_is_missing():
    text = ring(3, drain="")
    found = only(text)
    assert found.code == "PR126"
    assert line(found, found.span.start) == at(text, "try_wait", 1)  # the wait after which the stage is to be released
    assert "insert nvvm.mbarrier.arrive at barrier empty[0]" in found.hint
    assert any("waiting here for barrier empty[0]" in place.message for place in found.related)


def test_an_arrival_at_the_next_stage_is_found_at_the_arrival():
    other = "        %off = llvm.getelementptr %to[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64\n"
    text = ring(3, drain=other + ARRIVAL.replace("%to,", "%off,"))
    found = only(text)
    assert line(found, found.span.start) == at(text, "arrive.shared %off")


@pytest.mark.parametrize(("which", "name"), [(0, "%f, %c32"), (1, "%e, %c32")])
def test_a_wrong_count_is_found_at_the_initialisation(which, name):
    text = ring(3).replace(f"nvvm.mbarrier.init {name}", f"nvvm.mbarrier.init {name.replace('%c32', '%c1')}")
    found = only(text)
    assert line(found, found.span.start) == at(text, "mbarrier.init", which)
    assert "with 32" in found.hint


def test_a_parity_that_never_changes_is_found_where_it_is_computed():
    text = ring(3)
    place = text.rfind("arith.xori")
    text = text[:place] + text[place:].replace("arith.xori", "arith.ori", 1)
    found = only(text)
    assert line(found, found.span.start) == at(text, "arith.ori")


def test_a_second_arrival_is_found_where_it_stands():
    text = ring(3, drain=f"{ARRIVAL}\n{ARRIVAL.replace('%token', '%again')}")
    found = only(text)
    assert line(found, found.span.start) == at(text, "%again")
    assert found.hint.startswith("delete line ")


def test_a_barrier_that_is_not_initialised_is_found_beside_the_others():
    text = ring(3).replace("nvvm.mbarrier.init %f,", "nvvm.mbarrier.init %e,")
    assert {found.code for found in errors(text)} >= {"PR120"}
    assert any("initialise barrier" in found.hint for found in errors(text))


def test_neighbours_of_which_none_is_initialised_are_a_finding_each():
    """A trial that initialises one of them has no initialisation that the other could be made like."""
    text = """.version 8.3
.target sm_90a
.address_size 64
.visible .entry none() .reqntid 32, 1, 1
{
  .reg .b64 %rd<2>;
  .shared .align 8 .b64 full[2];
  bar.sync 0;
  mbarrier.arrive.shared::cta.b64 %rd0, [full];
  mbarrier.arrive.shared::cta.b64 %rd0, [full];
  mbarrier.arrive.shared::cta.b64 %rd1, [full+8];
  mbarrier.arrive.shared::cta.b64 %rd1, [full+8];
  ret;
}
"""
    found = errors(text)
    assert [(one.code, line(one, one.span.start)) for one in found] == [("PR120", 8), ("PR120", 11), ("PR120", 12)]


@pytest.mark.skipif(sys.flags.dev_mode, reason="in development mode an error of the search ends the check")
def test_an_error_of_the_search_for_causes_loses_no_finding(monkeypatch: pytest.MonkeyPatch):
    def fails(*_: object) -> None:
        raise IndexError

    monkeypatch.setattr(Search, "repairs", fails)
    kept_outcomes.memory.cache_clear()
    found = only(ring(3, drain=""))
    kept_outcomes.memory.cache_clear()
    assert (found.code, "its cause was not" in found.hint) == ("PR126", True), found.hint


def test_names_are_those_of_rings_and_roles():
    found = only(ring(4, drain=""))
    assert "(4 stages)" in found.message
    assert any(place.message.startswith(("warp 0:", "warp 1:")) for place in found.related)


# ---------------------------------------------------------------------------------------------------- real kernels


def planted(kernels: list[str], seed: int, share: float) -> list[tuple[str, Mutant]]:
    """Some kernels with one fault each that is at one place."""
    found = []
    for name in kernels:
        text = (SHARED / "corpus" / f"{name}.mlir").read_text()
        for operator in OPERATORS:
            rng = random.Random(f"{seed} {name} {operator.name}")
            for mutant in mutants(text, operator, rng, 1):
                chosen = rng.random() < share and not operator.name.endswith("-everywhere")
                if chosen and not harmless(operator.name, name, mutant.line):
                    found.append((name, mutant))
    return found


def around(text: str, mutant: Mutant) -> range:
    """The lines of a mutant that were changed, and those near."""
    old, new = text.split("\n"), mutant.text.split("\n")
    first = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
    last = next((i for i, (a, b) in enumerate(zip(old[::-1], new[::-1], strict=False)) if a != b), 0)
    return range(first + 1 - _NEAR, max(len(new) - last, first + 1) + _NEAR + 1)


def measure(faults: list[tuple[str, Mutant, list[Diagnostic]]]) -> dict[str, float]:
    """Of faults that are found: those with the change as the place, among all places; those with one error."""
    place = named = one = two = 0
    for name, mutant, found in faults:
        changed = around((SHARED / "corpus" / f"{name}.mlir").read_text(), mutant)
        places = [line(error, error.span.start) for error in found]
        others = [line(error, other.span.start) for error in found for other in error.related]
        place += any(at in changed for at in places)
        named += any(at in changed for at in (*places, *others))
        one += len(found) == 1
        two += len(found) <= 2
    return {name: n / len(faults) for name, n in (("place", place), ("named", named), ("one", one), ("two", two))}


@needs_corpus
@pytest.mark.parametrize(
    "kernel",
    ["sm_100a/dense_gemm__default", pytest.param("sm_100a/tut_fp16_gemm_3_1__default", marks=pytest.mark.sweep)],
)
@pytest.mark.parametrize("words", some(["mbarrier.arrive.expect_tx", "nvvm.mbarrier.init", "nvvm.tcgen05.commit"]))
def test_what_is_missing_is_found_where_the_address_of_its_barrier_stands_unused(kernel, words):
    lines = (SHARED / "corpus" / f"{kernel}.mlir").read_text().split("\n")
    dropped = [i for i, one in enumerate(lines) if words in one][-1 if "commit" in words else 0]
    found = only("\n".join(lines[:dropped] + lines[dropped + 1 :]))
    assert abs(line(found, found.span.start) - (dropped + 1)) <= _NEAR
    assert "insert" in found.hint or "initialise" in found.hint


@needs_corpus
@pytest.mark.parametrize("mask", [1, 2])
def test_a_mask_of_too_few_ctas_is_found_at_the_copy(mask):
    lines = (SHARED / "corpus" / "sm_100a" / "prim_tma_tma_multicast__default.mlir").read_text().split("\n")
    copy = next(i for i, one in enumerate(lines) if "multicast_mask = " in one)
    given = re.search(r"multicast_mask = (%[\w#]+)", lines[copy])
    assert given is not None
    lines[copy] = f"%planted = arith.constant {mask} : i16\n" + lines[copy].replace(given[1], "%planted")
    found = only("\n".join(lines))
    assert line(found, found.span.start) == copy + 2
    assert "let it reach CTAs 0, 1, by its multicast mask" in found.hint


_INSERT = re.compile(r"insert (nvvm\.[^%]*?) (after|before) line (\d+)")
_DELETE = re.compile(r"delete line (\d+)")


def applied(text: str, hint: str) -> str | None:
    """The text with what a hint says that needs no operand; None where a person has to write it."""
    lines = text.split("\n")
    if (found := _DELETE.match(hint)) is not None:
        return "\n".join(one for i, one in enumerate(lines, 1) if i != int(found[1]))
    found = _INSERT.match(hint)
    if found is None or " at barrier " in hint or " to barrier " in hint:
        return None
    where = int(found[3]) - (found[2] == "before")
    indent = re.match(r"\s*", lines[int(found[3]) - 1])
    assert indent is not None
    return "\n".join([*lines[:where], f"{indent[0]}{found[1]}", *lines[where:]])


@pytest.mark.skipif(not (SHARED / "field").exists(), reason="no ../shared/field beside this checkout")
def test_a_count_one_too_small_in_a_multicast_cluster_is_found_at_the_initialisation():
    """Three commits come to the barrier, from CTAs of a row and of a column, in two phases then."""
    text = (SHARED / "field" / "sm_100a" / "ct_prim_tcgen05_mcast_clusterMxN_1cta_mma.mlir").read_text()
    found = only(re.sub(r"(mbarrier\.init %26, )%c3_i32", r"\1%c2_i32", text))
    assert line(found, found.span.start) == at(text, "mbarrier.init %26")
    assert "with 3" in found.hint


@needs_corpus
@few_or_more
def test_most_faults_are_one_finding_at_the_operation_that_was_changed_and_hints_repair_them(kernels):
    faults = [(name, mutant, errors(mutant.text)) for name, mutant in planted(kernels, seed=3, share=0.3)]
    share = measure([fault for fault in faults if fault[2]])
    assert share["place"] >= 0.6, share
    assert share["named"] >= 0.8, share
    assert share["one"] >= 0.7, share
    assert share["two"] >= 0.9, share
    tried = 0
    for name, mutant, found in faults:
        for error in found:
            repaired = applied(mutant.text, error.hint)
            if repaired is not None:
                tried += 1
                after = errors(repaired)
                assert len(after) < len(found), (name, mutant.operator, error.hint)
                assert {one.code for one in after} <= {one.code for one in found}, (name, mutant.operator, error.hint)
    assert tried >= 3


def test_a_run_that_does_not_repeat_the_findings_has_no_repair():
    def rerun(*_: object) -> Ended:
        raise AssertionError("nothing is tried")

    search = Search(tileproof.load_rules(), rerun, rerun, Program([], 0, (), PLAIN), lambda operation: 0, False, 1, 1)
    assert search.repairs(SimpleNamespace(faults=(), demoted=set()), search.program) == ([], set())


# ------------------------------------------------------------------------------------------------- the right numbers


@needs_corpus
@pytest.mark.sweep
@pytest.mark.parametrize("factor", ["%c16384_i32", "%c65536_i32", "%c32752_i32"])
def test_the_bytes_that_are_announced_and_delivered_are_those_of_the_types(factor):
    """A stage of this kernel is 128x64 of A and 128x64 of B, in f16."""
    text = (SHARED / "corpus" / "sm_90a" / "dense_gemm__default.mlir").read_text()
    stage = 2 * 128 * 64 * 16 // 8
    value = int(factor.strip("%c_i32"))
    lines = [
        f"%wrong{i} = arith.constant {value} : i32\n{one.replace('%c32768_i32', f'%wrong{i}')}"
        if "arrive.expect_tx" in one
        else one
        for i, one in enumerate(text.split("\n"))
    ]
    found = errors("\n".join(lines))
    said = [one for one in found if one.code == "PR124"]
    assert said, found
    assert f"{value} bytes, the copies of this phase deliver {stage}" in said[0].message
    assert f"expect {stage} bytes" in said[0].hint
    assert any(f"delivers {stage // 2} bytes" in place.message for place in said[0].related)
