"""Rings whose turns are products, roles that go by what they load, and waits behind tests."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

import tileproof
from protocol.rings import ARRIVAL, ring
from tileproof.protocol import judging
from tileproof.protocol.explore import Exploration, in_empty_loops


def found(text: str) -> set[str]:
    return {one.code for one in tileproof.check(text).diagnostics if one.severity.value == "error"}


def followed(text: str) -> bool:
    return all(one.status == "followed" for one in tileproof.check(text).files[0].kernels)


# ------------------------------------------------------------------------------------------- turns that are products

# The tiles of several heads, of which the warp that drains takes the first one before its loop. Where the other warp
# writes what it reads behind the loop there is a hazard, and no run is without findings.
PEELED = """
      nvvm.mbarrier.try_wait.parity.shared %full, %c0, %c32 : !llvm.ptr<3>, i32, i32
      %token_0 = nvvm.mbarrier.arrive.shared %empty, %c1 : !llvm.ptr<3>, i32 -> i64
"""
BEHIND = """
      %word = llvm.getelementptr %full[32] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
      %held = llvm.load %word : !llvm.ptr<3> -> i32
"""
WRITE = """
      %other = llvm.getelementptr %full[32] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
      llvm.store %tid, %other : i32, !llvm.ptr<3>
"""


def counted_down(text: str, turns: str) -> str:
    """The first loop as one that counts down to zero, as ``while`` of Python becomes."""
    head = re.search(r":2 = scf.for .*iter_args\(%stage = (\S+), %parity = (\S+)\).*\{", text)
    assert head is not None
    new = f""":3 = scf.while (%a = {turns}, %b = {head[1]}, %c = {head[2]}) : (i32, i32, i32) -> (i32, i32, i32) {{
        %goes = arith.cmpi sgt, %a, %c0 : i32
        scf.condition(%goes) %a, %b, %c : i32, i32, i32
      }} do {{
      ^bb0(%left: i32, %stage: i32, %parity: i32):"""
    rest = text[head.end() :].replace(
        "scf.yield %index, %phase : i32, i32",
        "%fewer = arith.subi %left, %c1 : i32\n        scf.yield %fewer, %index, %phase : i32, i32, i32",
        1,
    )
    return text[: head.start()] + new + rest


def product(stages: int) -> str:
    text = ring(stages, before=PEELED, after=BEHIND).replace("@ring(%n: i32,", "@ring(%n: i32, %heads: i32,")
    text = text.replace("%stage = %c0, %parity = %c0", "%stage = %begin, %parity = %turned")
    text = counted_down(counted_down(text, "%all"), "%rest")
    first = f"""
    %all = arith.muli %n, %heads : i32
    %rest = arith.subi %all, %c1 : i32
    %some = arith.cmpi sgt, %all, %c0 : i32
    %begin = arith.constant {1 % stages} : i32
    %turned = arith.constant {int(stages == 1)} : i32
    scf.if %some {{
"""
    return text.replace("    scf.if %fills", first + "    scf.if %fills").replace(
        "    cuda.return", "    }\n    cuda.return"
    )


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_role_that_peels_off_a_turn_is_in_step_however_many_turns_a_product_has(stages: int):
    assert found(product(stages)) == set()
    raced = product(stages).replace("    } else {", WRITE + "    } else {", 1)
    assert found(raced) == {"PR116"}
    assert "PR126" in found(raced.replace("%rest, %b", "%all, %b").replace("= %rest,", "= %all,"))


# ------------------------------------------------------------------------------------------------ waits behind tests

WAIT = "nvvm.mbarrier.try_wait.parity.shared %at, %parity, %c32 : !llvm.ptr<3>, i32, i32"
TESTED = """%ok = nvvm.mbarrier.wait.parity %at, %parity {kind = #nvvm.mbar_wait<test>,
            order = #nvvm.mem_order<acquire>, scope = #nvvm.mbar_scope<cta>} : !llvm.ptr<3>, i32 -> i1
        %late = arith.cmpi eq, %ok, %false : i1
        scf.if %late {
          nvvm.mbarrier.try_wait.parity.shared %at, %parity, %c32 : !llvm.ptr<3>, i32, i32
        }"""


def test_a_wait_behind_a_test_that_failed_is_followed():
    text = ring(2).replace(WAIT, TESTED).replace("    %c1 =", "    %false = arith.constant false\n    %c1 =")
    assert followed(text)
    assert found(text) == set()
    assert "PR126" in found(text[::-1].replace(ARRIVAL[::-1], "", 1)[::-1])


# --------------------------------------------------------------------------------------------- what was loaded before

# Each turn is for a block that may be beyond the end; what all blocks share is handed over in the first that is not.
ONCE = """
      %{who} = scf.for %k = %c0 to %n step %c1 iter_args(%done = %false) -> (i1) : i32 {{
        %at = llvm.getelementptr %data[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
        %block = llvm.load %at : !llvm.ptr<1> -> f32
        %inside = arith.cmpf ogt, %block, %zero : f32
        %after = arith.select %inside, %true, %done : i1
        scf.if %inside {{
          %missing = arith.cmpi eq, %done, %false : i1
          scf.if %missing {{
            {what}
          }}
        }}
        scf.yield %after : i1
      }}
"""
HAND = "%token = nvvm.mbarrier.arrive.shared %full, %c1 : !llvm.ptr<3>, i32 -> i64"
TAKE = "nvvm.mbarrier.try_wait.parity.shared %full, %c0, %c32 : !llvm.ptr<3>, i32, i32"


def once() -> str:
    text = ring(1).replace(
        "    %c1 =",
        "    %false = arith.constant false\n    %true = arith.constant true\n"
        "    %zero = arith.constant 0.0 : f32\n    %c1 =",
    )
    start, middle, end = (
        text.index("      %filled:2"),
        text.index("    } else {"),
        text.rindex("    }\n    cuda.return"),
    )
    fill, drain = ONCE.format(who="filled", what=HAND), ONCE.format(who="drained", what=TAKE)
    return text[:start] + fill + text[middle : text.index("{", middle) + 1] + drain + text[end:]


def test_a_truth_that_is_selected_goes_as_the_branch_beside_it():
    assert found(once()) == set()
    assert followed(once())


# -------------------------------------------------------------------------------------------- roles that never differ

# Each warp has loaded a number that says which ring it uses; nobody empties the second one. Whether they ever differ
# the text does not say.
COPY = """
        %elected = nvvm.elect.sync -> i1
        scf.if %elected {
          %bytes = nvvm.mbarrier.arrive.expect_tx.shared %to, %size : !llvm.ptr<3>, i32 -> i64
          nvvm.cp.async.bulk.shared.cluster.global %tile, %data, %to, %size : !llvm.ptr<3>, !llvm.ptr<1>
        }"""
PLACES = """
    %tile = llvm.getelementptr %full[32] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %full_2 = llvm.getelementptr %full[2] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %empty_2 = llvm.getelementptr %full[3] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %tile_2 = llvm.getelementptr %full[1056] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %zero = arith.constant 0.0 : f32
    %size = arith.constant 1024 : i32
    %here = llvm.load %data : !llvm.ptr<1> -> f32
    %there_at = llvm.getelementptr %data[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %there = llvm.load %there_at : !llvm.ptr<1> -> f32
    %one = arith.cmpf ogt, %here, %zero : f32
    %other = arith.cmpf ogt, %there, %zero : f32
"""
SECOND = """
    scf.if %first {
      nvvm.mbarrier.init %full_2, %c1 : !llvm.ptr<3>, i32
      nvvm.mbarrier.init %empty_2, %c32 : !llvm.ptr<3>, i32
    }
"""


def test_hazards_behind_a_wait_that_was_left_say_nothing():
    read = f"        %held = llvm.load %tile : !llvm.ptr<3> -> i32\n{ARRIVAL}"
    text = ring(1, fill=COPY, drain=read).replace("nvvm.mbarrier.init %f, %c32", "nvvm.mbarrier.init %f, %c1")
    text = text.replace("    %first =", f"{PLACES}    %first =").replace(
        "    nvvm.fence.mb", f"{SECOND}    nvvm.fence.mb"
    )
    start, middle = text.index("      %filled:2"), text.index("    } else {\n")
    fill, end = text[start:middle], text.rindex("    }\n    cuda.return")
    second = fill.replace("%full[", "%full_2[").replace("%empty[", "%empty_2[").replace("%tile", "%tile_2")
    drain = text[middle + len("    } else {\n") : end]
    both = f"scf.if %one {{\n{fill}}} else {{\n{second}}}\n    }} else {{\nscf.if %other {{\n{drain}}}\n"
    text = text[:start] + both + text[end:]
    (kernel,) = tileproof.check(text).files[0].kernels
    assert found(text) == set()
    assert {one.case for one in kernel.reasons} == {"guessed_steps"}
    assert (
        found(text.replace("%parity, %c32 : !llvm.ptr<3>, i32, i32", "%c0, %c32 : !llvm.ptr<3>, i32, i32", 1)) != set()
    )


def test_a_loop_that_goes_to_the_least_of_nothing_and_something_is_none():
    """Full tiles in front of a mask that begins at once: the text has the loop, no thread goes around it."""
    start = "    scf.if %fills"
    never = """    %none = arith.minsi %n, %c0 : i32
    scf.for %k_ = %c0 to %none step %c1 : i32 {
      nvvm.mbarrier.try_wait.parity.shared %full, %c1, %c32 : !llvm.ptr<3>, i32, i32
      %token_ = nvvm.mbarrier.arrive.shared %full, %c32 : !llvm.ptr<3>, i32 -> i64
    }
"""
    text = ring(2).replace(start, never + start)
    assert followed(text)
    assert found(text) == set()
    assert not followed(text.replace("minsi %n, %c0", "minsi %n, %n")) or found(
        text.replace("minsi %n, %c0", "minsi %n, %n")
    )


BODY = """
      nvvm.mbarrier.try_wait.parity.shared %full, %c1, %c32 : !llvm.ptr<3>, i32, i32
      %token_ = nvvm.mbarrier.arrive.shared %full, %c32 : !llvm.ptr<3>, i32 -> i64"""
# What a kernel is compiled without leaves loops that no thread goes around: the count before is used up, or is none.
DOWN = """    %left{0} = scf.while (%more{0} = {1}) : (i32) -> i32 {{
      %some{0} = arith.cmpi sgt, %more{0}, %c0 : i32
      scf.condition(%some{0}) %more{0} : i32
    }} do {{
    ^bb0(%more{0}: i32):{2}
      %fewer{0} = arith.subi %more{0}, %c1 : i32
      scf.yield %fewer{0} : i32
    }}
"""
NONE = {
    "from a number to itself": f"    scf.for %k_ = %n to %n step %c1 : i32 {{{BODY}\n    }}\n",
    "as long as the loop before it": "    %c2 = arith.constant 2 : i32\n    %few = arith.minsi %n, %c2 : i32\n"
    + DOWN.format("_a", "%few", "\n      nvvm.barrier")
    + DOWN.format("_b", "%left_a", BODY),
}


@pytest.mark.parametrize("how", NONE)
def test_a_loop_that_has_no_turn_whatever_is_supposed_has_no_steps(how: str):
    start = "    scf.if %fills"
    text = ring(2).replace(start, NONE[how] + start)
    assert followed(text)
    assert found(text) == set()
    (kernel,) = tileproof.check(text).files[0].kernels
    (plain,) = tileproof.check(text.replace(BODY, "")).files[0].kernels
    assert kernel.steps == plain.steps
    entered = text.replace("%n to %n", "%c0 to %n").replace("%more_b = %left_a", "%more_b = %n")
    assert entered != text
    assert not followed(entered) or found(entered)


def test_only_what_runs_of_several_lengths_never_enter_has_no_steps():
    """A loop that begins where another one happens to end has turns where that is longer."""
    step = SimpleNamespace(effect=SimpleNamespace(pure=False), operation=object())
    code = [SimpleNamespace(target=2, effect=None), step]
    never = {id(step.operation)}
    assert in_empty_loops(code, Exploration(empty={0: {2, 7}})) == never
    assert in_empty_loops(code, Exploration(empty={0: {7}})) == set()
    assert in_empty_loops(code, Exploration(empty={0: {2, 7}}, entered={0})) == set()
    assert in_empty_loops(code, Exploration(empty={0: {2, 7}}, executed=never)) == set()


# ------------------------------------------------------------------------------------------- tiles that are counted out

# A counter in global memory hands out the tiles; two warps take them in turns, until each is told that there are none.
TELL = """
      %told:3 = scf.while (%stage = %c0, %parity = %c1, %listen = %stages) : (i32, i32, i32) -> (i32, i32, i32) {
        %at = llvm.getelementptr %empty[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        nvvm.mbarrier.try_wait.parity.shared %at, %parity, %c32 : !llvm.ptr<3>, i32, i32
        %tile = nvvm.atomicrmw add %data, %c1 : !llvm.ptr<1>, i32
        %more = arith.cmpi slt, %tile, %n : i32
        %word = arith.extui %more : i1 to i32
        %place = llvm.getelementptr %words[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
        scf.if %first {
          llvm.store %word, %place : i32, !llvm.ptr<3>
        }
        %to = llvm.getelementptr %full[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %token = nvvm.mbarrier.arrive.shared %to, %c1 : !llvm.ptr<3>, i32 -> i64
        %other = arith.xori %stage, %c1 : i32
        %wraps = arith.xori %other, %c1 : i32
        %phase = arith.xori %parity, %wraps : i32
        %fewer = arith.subi %listen, %c1 : i32
        %left = arith.select %more, %listen, %fewer : i32
        %goes = arith.cmpi sgt, %left, %c0 : i32
        scf.condition(%goes) %other, %phase, %left : i32, i32, i32
      } do {
      ^bb0(%a: i32, %b: i32, %c: i32):
        scf.yield %a, %b, %c : i32, i32, i32
      }
"""
TAKE_TURNS = """
      %mine = arith.subi %warp, %c1 : i32
      %from = llvm.getelementptr %full[%mine] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %back = llvm.getelementptr %empty[%mine] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %place_2 = llvm.getelementptr %words[%mine] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      %taken = scf.while (%parity = %c0) : (i32) -> i32 {
        nvvm.mbarrier.try_wait.parity.shared %from, %parity, %c32 : !llvm.ptr<3>, i32, i32
        %held = llvm.load %place_2 : !llvm.ptr<3> -> i32
        %token = nvvm.mbarrier.arrive.shared %back, %c1 : !llvm.ptr<3>, i32 -> i64
        %flipped = arith.xori %parity, %c1 : i32
        %goes = arith.cmpi ne, %held, %c0 : i32
        scf.condition(%goes) %flipped : i32
      } do {
      ^bb0(%d: i32):
        scf.yield %d : i32
      }
"""


def counted_out() -> str:
    text = ring(2).replace("array<i32: 64, 1, 1>", "array<i32: 96, 1, 1>", 1)
    text = text.replace(
        "    %tid =", "    %words = llvm.getelementptr %full[8] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64\n    %tid ="
    )
    start = text.index("      %filled:2")
    return text[:start] + TELL + "    } else {\n" + TAKE_TURNS + text[text.rindex("    }\n    cuda.return") :]


def test_a_counter_in_global_memory_hands_out_as_many_tiles_as_a_run_has_turns():
    assert found(counted_out()) == set()
    assert followed(counted_out())
    assert "PR126" in found(counted_out().replace("%listen = %stages", "%listen = %c1"))


# ------------------------------------------------------------------------------------------- integers that are elements

# A window of two whole tiles and a part of one: only then the masked tiles at both of its ends are there.
WINDOW = """
    %two = arith.constant 2 : i32
    %tile = arith.constant 128 : i32
    %whole = arith.divsi %window, %tile : i32
    %part = arith.remsi %window, %tile : i32
    %long = arith.cmpi sge, %whole, %two : i32
    %more = arith.cmpi ne, %part, %c0 : i32
    %both = arith.andi %long, %more : i1
    scf.if %both {
      nvvm.wgmma.fence.aligned
    }
"""


def test_what_only_integers_that_count_elements_lead_to_is_followed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(judging, "_seek_steps", lambda *_: set())  # which comes there in a kernel as small as this one
    text = ring(2, after=WINDOW).replace("@ring(%n: i32,", "@ring(%n: i32, %window: i32,")
    assert found(text) == set()
    assert followed(text)
    assert not followed(text.replace("%two = arith.constant 2 ", "%two = arith.constant 900 "))
