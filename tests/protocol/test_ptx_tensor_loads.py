"""Loads of tensor memory in PTX that no wait completes: the first use of their registers does, on each path."""

from __future__ import annotations

from pathlib import Path

import pytest

import tileproof
from protocol.test_ptx_practices import edited, verified

RING = (Path(__file__).parent / "ptx" / "accumulator_ring.ptx").read_text(encoding="utf-8")
LOAD = "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r14}, [%r12];\n"
WAIT = "  tcgen05.wait::ld.sync.aligned;\n"
RELEASE = "  mbarrier.arrive.shared::cta.b64 _, [%r4+16];\n"
STORE = "  st.global.b32 [%rd3], %r14;\n"
USE = "  add.s32 %r15, %r14, 1;\n"
SECOND = LOAD.replace("%r14", "%r16").replace("[%r12]", "[%r12+1]")
UNWAITED = edited(RING, (WAIT, ""))
# In some threads alone, which a branch decides.
SOME = "  setp.lt.u32 %p9, %r1, 64;\n  @%p9 bra OVER;\n{}OVER:\n"


def released(text: str) -> list[str]:
    """The loads that are not complete where their columns are released, in order; there is nothing else to say."""
    found = tileproof.check(text).diagnostics
    assert {(one.code, one.severity.value) for one in found} <= {("PR118", "warning")}
    return [text[text.rindex("\n", 0, one.span.start) + 1 : text.index("\n", one.span.start) + 1] for one in found]


def test_the_ring_is_right_as_it_is():
    verified(RING)


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [(STORE, SOME.format(STORE))],
        [(STORE, ""), ("TURN:\n", f"TURN:\n{STORE}")],
        [(LOAD, f"{LOAD}  bra.uni NEXT;\nNEXT:\n")],
        [(STORE, f"{WAIT}{STORE}")],
    ],
    ids=["later", "some", "next turn", "another block", "waited later"],
)
def test_columns_that_are_released_before_the_registers_are_used(changes: list[tuple[str, str]]):
    assert released(edited(UNWAITED, *changes)) == [LOAD]


@pytest.mark.parametrize(
    "changes",
    [
        [(LOAD, f"{LOAD}{USE}")],
        [(LOAD, f"{LOAD}{SOME.format(USE)}")],
        [(STORE, ""), ("TURN:\n", f"TURN:\n{SOME.format(STORE)}")],
        [(LOAD, f"{LOAD}  mov.b32 %r14, 0;\n")],
        [(STORE, "")],
        [(STORE, f"  mov.b32 %r14, 0;\n{STORE}")],
        [(RELEASE, ""), (STORE, f"{STORE}{RELEASE}")],
    ],
    ids=[
        "used",
        "used by some",
        "by some in the next turn",
        "overwritten",
        "never",
        "never that value",
        "released later",
    ],
)
def test_registers_that_are_used_before_or_not_at_all(changes: list[tuple[str, str]]):
    """Where the slice has no branch, what some threads use is complete for all."""
    assert released(edited(UNWAITED, *changes)) == []


def test_each_load_is_complete_where_its_own_registers_are_used():
    two = edited(UNWAITED, (LOAD, f"{LOAD}{SECOND}{USE}"), (STORE, f"{STORE}  st.global.b32 [%rd3+512], %r16;\n"))
    assert released(two) == [SECOND]
    assert released(edited(two, (RELEASE, f"  add.s32 %r17, %r16, 1;\n{RELEASE}"))) == []


REDUCED = "  tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {%r14, %r16}, %r15, [%r12];\n"


@pytest.mark.parametrize("register", ["%r14", "%r15", "%r16"])
def test_a_load_that_reduces_is_complete_with_any_of_its_registers(register: str):
    waited = edited(RING.replace("sm_100a", "sm_103a").replace("version 8.7", "version 9.0"), (LOAD, REDUCED))
    later = edited(waited, (STORE, STORE.replace("%r14", register)))
    verified(later)
    assert released(edited(later, (WAIT, ""))) == [REDUCED]
    assert released(edited(later, (WAIT, f"  add.s32 %r17, {register}, 1;\n"))) == []


def test_a_load_that_no_thread_comes_to_is_used_by_none():
    """Its registers are, behind the branch that always leads past it."""
    never = f"  mov.b32 %r17, 1;\n  setp.eq.s32 %p9, %r17, 1;\n  @%p9 bra OVER;\n{SECOND}OVER:\n"
    text = edited(UNWAITED, ("TURN:\n", f"TURN:\n{never}"), (STORE, f"{STORE}  st.global.b32 [%rd3+512], %r16;\n"))
    assert released(text) == [LOAD]


def test_a_wait_completes_all():
    two = edited(RING, (LOAD, f"{LOAD}{SECOND}"), (STORE, f"{STORE}  st.global.b32 [%rd3+512], %r16;\n"))
    assert released(two) == []
