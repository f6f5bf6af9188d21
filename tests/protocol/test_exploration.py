"""What the text does not decide is taken both ways; what cannot be followed is in doubt, and nothing else."""

from __future__ import annotations

import itertools

import pytest

import tileproof
from protocol.rings import ARRIVAL, ring
from tileproof.base.source import Source
from tileproof.mlir.scanner import scan
from tileproof.protocol.explore import guards_of
from tileproof.protocol.program import compile_kernel
from tileproof.protocol.runs import Outcome
from tileproof.protocol.steps import effects
from tileproof.protocol.verify import kernels, verify

BOOK = tileproof.load_rules()


def outcome(text: str, thorough: bool = False) -> Outcome:
    (found,) = verify(BOOK, scan(Source("ring.mlir", text)).module.operations, {}, thorough=thorough)
    return found


def codes(text: str) -> set[str]:
    return {fault.code for fault in outcome(text).faults}


WGMMA = "%a = llvm.load %data : !llvm.ptr<1> -> i32\n%on = arith.cmpi CONDITION\nscf.if %on {\nBODY\n} else {\nOTHER\n}"
UNCOMMITTED = "nvvm.wgmma.fence.aligned\nnvvm.wgmma.wait.group.sync.aligned 0"


def branching(condition: str, body: str = "", other: str = "") -> str:
    text = WGMMA.replace("CONDITION", condition).replace("BODY", body).replace("OTHER", other)
    return ring(2, after=text)


@pytest.mark.parametrize("condition", ["slt, %n, %c0 : i32", "sgt, %a, %c0 : i32", "eq, %n, %stages : i32"])
def test_both_sides_of_an_unknown_branch_are_executed(condition):
    found = outcome(branching(condition, "nvvm.wgmma.fence.aligned", "nvvm.wgmma.commit.group.sync.aligned"))
    assert len(found.executed) == len(found.steps)
    assert not found.doubts


def known(text: str) -> str:
    """The same with a branch that no thread takes, by bits that the machine computes and no formula has."""
    return text.replace("%a = llvm.load", "%none = arith.xori %tid, %tid : i32\n%a = llvm.load", 1)


def test_a_known_branch_is_not_taken_the_other_way():
    found = outcome(
        known(branching("sgt, %none, %c0 : i32", "nvvm.wgmma.fence.aligned", "nvvm.wgmma.commit.group.sync.aligned"))
    )
    missing = [step.name for step in found.steps if id(step) not in found.executed]
    assert missing == ["nvvm.wgmma.fence.aligned"]


def test_dead_code_has_no_steps():
    found = outcome(
        branching("slt, %c1, %c0 : i32", "nvvm.wgmma.fence.aligned", "nvvm.wgmma.commit.group.sync.aligned")
    )
    assert [step.name for step in found.steps if "wgmma" in step.name] == ["nvvm.wgmma.commit.group.sync.aligned"]
    assert not found.doubts


def test_a_loop_from_a_constant_to_itself_is_dead_code():
    """Its results are what it begins with."""
    loop = (
        "%held = scf.for %z = %c1 to %c1 step %c1 iter_args(%y = %c32) -> (i32) : i32 {\n"
        "nvvm.wgmma.fence.aligned\nscf.yield %c0 : i32\n}\n"
        "%same = arith.cmpi eq, %held, %c32 : i32\nscf.if %same {\nnvvm.wgmma.commit.group.sync.aligned\n}"
    )
    found = outcome(ring(2, after=loop))
    assert [step.name for step in found.steps if "wgmma" in step.name] == ["nvvm.wgmma.commit.group.sync.aligned"]
    assert len(found.executed) == len(found.steps)
    once = outcome(ring(2, after=loop.replace("%c1 to %c1", "%c0 to %c1")))  # it leaves 0
    assert [step.name for step in once.steps if "wgmma" in step.name] == ["nvvm.wgmma.fence.aligned"]
    assert len(once.executed) == len(once.steps)


def test_a_step_that_only_short_loops_come_near_is_sought_in_a_short_loop():
    few = "%few = arith.cmpi slt, %n, %c3 : i32\nscf.if %few {\nINNER\n}"
    inner = (
        "%real = llvm.load %data : !llvm.ptr<1> -> i32\n%less = arith.cmpi slt, %real, %c0 : i32\n"
        "scf.if %less {\nnvvm.wgmma.fence.aligned\n} else {\nnvvm.wgmma.commit.group.sync.aligned\n}"
    )
    found = outcome(ring(2, after="%c3 = arith.addi %stages, %c1 : i32\n" + few.replace("INNER", inner)))
    assert len(found.executed) == len(found.steps)
    assert not found.doubts


SEQUENCES = '!cute.memref<i32, gmem, align<4>, "(?):(1)">'
LENGTH = f"""
    %zeroth = cute.make_coord() : () -> !cute.coord<"0">
    %next = cute.make_coord(%c1) : (i32) -> !cute.coord<"?">
    %begin = cute.memref.load(%data, %zeroth) : ({SEQUENCES}, !cute.coord<"0">) -> i32
    %end = cute.memref.load(%data, %next) : ({SEQUENCES}, !cute.coord<"?">) -> i32
    %length = arith.subi %end, %begin : i32
"""


def test_the_length_of_a_sequence_is_no_difference_of_equal_numbers():
    """Where tensors in global memory hold the offsets of sequences, loops over one of them go around."""
    text = ring(2).replace("%data: !llvm.ptr<1>", f"%data: {SEQUENCES}").replace("to %n step", "to %length step")
    text = text.replace("    scf.if %fills {", f"{LENGTH}    scf.if %fills {{", 1)
    assert not outcome(text).faults
    assert not outcome(text).doubts
    assert codes(text.replace(ARRIVAL, "", 1)) & {"PR125", "PR126"}


@pytest.mark.parametrize("side", [0, 1])
def test_a_fault_on_either_side_is_found(side):
    sides = ["", ""]
    sides[side] = "nvvm.barrier id = %stages number_of_threads = %stages"
    assert "PR131" in codes(branching("sgt, %n, %c32 : i32", *sides))


MORE = "%{0} = llvm.getelementptr %full[60] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64\n"
SOMETIMES = """%odd{0} = arith.remsi %n, %stages : i32
%on{0} = arith.cmpi eq, %odd{0}, %c32 : i32
scf.if %on{0} {{
{1}
}}
"""


def test_a_condition_that_is_computed_alike_is_decided_alike():
    """One role arrives, and the other waits, under the same condition of the same argument."""
    wait = "nvvm.mbarrier.try_wait.parity.shared %more, %c0, %c32 : !llvm.ptr<3>, i32, i32"
    arrival = "%y = nvvm.mbarrier.arrive.shared %other, %c1 : !llvm.ptr<3>, i32 -> i64"
    init = f"    scf.if %first {{\n{MORE.format('x')}nvvm.mbarrier.init %x, %c32 : !llvm.ptr<3>, i32\n}}\n"
    text = ring(2, before=MORE.format("more") + SOMETIMES.format(1, wait))
    arrives = MORE.format("other") + SOMETIMES.format(2, arrival)
    text = text.replace("    scf.if %fills {\n", f"    scf.if %fills {{\n{arrives}", 1)
    text = text.replace("    nvvm.fence.mbarrier.init\n", f"{init}    nvvm.fence.mbarrier.init\n", 1)
    found = outcome(text)
    assert not found.faults
    assert not found.doubts
    assert len(found.executed) == len(found.steps)


def test_forty_independent_branches_stay_within_the_budget():
    parts = []
    for i in range(40):
        parts.append(
            f"%v{i} = arith.constant {i} : i32\n%b{i} = arith.cmpi eq, %n, %v{i} : i32\n"
            f"scf.if %b{i} {{\nnvvm.wgmma.fence.aligned\n}} else {{\nnvvm.barrier\n}}"
        )
    text = ring(2, after="\n".join(parts)).replace("nvvm.barrier\n}", "nvvm.wgmma.commit.group.sync.aligned\n}")
    found = outcome(text)
    assert len(found.executed) == len(found.steps)
    nested = "nvvm.wgmma.fence.aligned"
    for i in reversed(range(40)):
        nested = (
            f"%n{i} = arith.constant {i} : i32\n%d{i} = arith.cmpi eq, %n, %n{i} : i32\nscf.if %d{i} {{\n{nested}\n}}"
        )
    deep = outcome(ring(2, after=nested))
    assert len(deep.executed) in (len(deep.steps), len(deep.steps) - 1)  # where the budget ends PR190 names the step
    assert not deep.faults


UNKNOWN = {
    "the count of a barrier": ("nvvm.mbarrier.init %at2, %a : !llvm.ptr<3>, i32", "barrier_count"),
    "the bytes of a copy": ("nvvm.mbarrier.expect_tx %at2, %a : !llvm.ptr<3>, i32", "expected_bytes"),
    "a parity": ("nvvm.mbarrier.try_wait.parity.shared %at2, %a, %c32 : !llvm.ptr<3>, i32, i32", "parity"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_operand_that_only_data_know_is_a_doubt_of_its_own(name):
    """The other barriers are verified all the same: a missing arrival there is found."""
    operation, case = UNKNOWN[name]
    before = (
        "%q = llvm.load %data : !llvm.ptr<1> -> f32\n%a = arith.fptosi %q : f32 to i32\n"
        f"%at2 = llvm.getelementptr %full[60] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64\n{operation}"
    )
    clean = outcome(ring(2, before=before))
    assert not clean.faults
    assert [doubt.case for doubt in clean.doubts] == [case]
    broken = outcome(ring(2, fill="", before=before))
    assert {fault.code for fault in broken.faults} & {"PR125", "PR126"}


def test_a_hang_that_every_run_shows_is_an_error():
    assert codes(ring(2, drain="")) & {"PR125", "PR126"}
    assert not codes(ring(2))


def test_a_report_names_what_was_not_executed():
    text = known(branching("sgt, %none, %c0 : i32", "nvvm.wgmma.fence.aligned"))
    report = tileproof.check(text=text)
    (note,) = [d for d in report.diagnostics if d.code == "PR190"]
    assert "1 of" in note.message
    assert f"line {text.splitlines().index('nvvm.wgmma.fence.aligned') + 1}" in note.message


def test_guards_are_the_innermost_branches_around_a_place():
    """Against a walk of the flat program: every place inside the range of a branch or loop, and no other."""
    text = branching("sgt, %n, %c0 : i32", UNCOMMITTED, ARRIVAL.replace("%to", "%full"))
    (kernel,) = kernels(scan(Source("ring.mlir", text)).module.operations)
    code = compile_kernel(kernel, {}, effects(BOOK, {}), BOOK).code
    guards = guards_of(code)
    for place, guard in enumerate(guards):
        around = [i for i, one in enumerate(code) if one.kind in ("branch", "test", "check") and i < place < one.target]
        assert guard == max(around, default=-1)
    assert any(a != b for a, b in itertools.pairwise(guards))


# -- numbers of turns

# Two roles: one goes round as often as the text says, the other as often as an argument says.
TILES = """    %four = arith.constant 4 : i32
    %c128 = arith.constant 128 : i32
    %tiles = arith.divsi %n, %c128 : i32
    %tid ="""


def counting(filled: str, drained: str) -> str:
    fills, drains, rest = ring(2).split("to %n step")
    return f"{fills}to {filled} step{drains}to {drained} step{rest}".replace("    %tid =", TILES, 1)


@pytest.mark.parametrize("roles", [("%four", "%tiles"), ("%tiles", "%four"), ("%four", "%four")])
def test_an_argument_may_count_the_elements_of_as_many_tiles_as_the_text_says(roles: tuple[str, str]):
    found = outcome(counting(*roles))
    assert not found.faults
    assert len(found.executed) == len(found.steps)


def test_roles_that_agree_for_no_argument_wait_for_ever():
    assert codes(counting("%four", "%c128")) == {"PR126"}
    assert codes(counting("%four", "%tiles").replace(ARRIVAL, "", 1)) == {"PR126"}


# A loop whose step is data, 0 or 1: with 0 it would have no turn, for its bounds are computed alike.
STEPS = """
    scf.if %first {
      nvvm.mbarrier.init %extra, %c1 : !llvm.ptr<3>, i32
    }
    nvvm.fence.mbarrier.init
"""
STEPPED = """
    %token2 = nvvm.mbarrier.arrive.shared %extra, %c1 : !llvm.ptr<3>, i32 -> i64
    %word = llvm.load %data : !llvm.ptr<1> -> i32
    %odd = arith.cmpi ne, %word, %c0 : i32
    %step = arith.extui %odd : i1 to i32
    scf.for %x = %c0 to END step %step : i32 {
      nvvm.mbarrier.try_wait.parity.shared %extra, %x, %c32 : !llvm.ptr<3>, i32, i32
    }
"""


@pytest.mark.parametrize(("end", "found"), [("%c1", set()), ("%stages", {"PR126"})])
def test_a_loop_goes_round_by_a_step_that_is_data(end: str, found: set[str]):
    extra = "    %extra = llvm.getelementptr %full[8] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64\n"
    initialised = extra + STEPS.replace("%c1 :", "%c32 :")
    text = ring(2, after=STEPPED.replace("END", end)).replace("    nvvm.fence.mbarrier.init\n", initialised, 1)
    assert codes(text) == found
