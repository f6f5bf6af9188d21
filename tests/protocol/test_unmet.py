"""A hang is one of the kernel where it comes to its end once the barrier is completed for it; else it is in doubt."""

from __future__ import annotations

import pytest
from test_ptx_kernels import RING

import tileproof
from tileproof.protocol.runs import Run
from tileproof.protocol.study import Study

# What the consumer stores is decided by data: another role might decide otherwise by the same.
CHOSEN = """CONSUMER:
  ld.param.u64 %rd5, [flags];
  ld.global.f32 %f1, [%rd5];
  ex2.approx.f32 %f1, %f1;
  setp.gt.f32 %p7, %f1, 0f00000000;
  mov.b32 %r29, 1;
  @%p7 bra CHOSEN;
  mov.b32 %r29, 2;
CHOSEN:
  st.shared.b32 [%r2+16384], %r29;
ROUND:
  bar.sync 1, 32;
"""
ROLES = (
    RING.replace("bra CONSUMER;\nEND", "bra ROUND;\nEND")
    .replace("bra.uni END;\nCONSUMER:\n", f"bra.uni END;\n{CHOSEN}")
    .replace(".param .u32 tiles)", ".param .u32 tiles, .param .u64 flags)")
    .replace(".reg .b64 %rd<9>;", ".reg .b64 %rd<9>; .reg .f32 %f<3>;")
)
RELEASE = "mbarrier.arrive.shared::cta.b64 _, [%r21+16];"
COPY = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r14], [%rd2, {%r5, %r5}], [%r11];"
FULL, EMPTY = "barrier full[0] of ring 'smem'", "barrier empty[0] of ring 'smem'"


def test_the_kernel_is_right():
    result = tileproof.check(ROLES)
    assert [one.message for one in result.diagnostics] == []
    assert result.files[0].kernels[0].reasons == ()


@pytest.mark.parametrize(
    ("right", "wrong", "code", "barrier"),
    [
        (RELEASE, "", "PR126", EMPTY),
        ("[%r3+16], 32", "[%r3+16], 33", "PR125", EMPTY),
        ("[%r3], 1;", "[%r3], 2;", "PR125", FULL),
        ("[%r11], 4096", "[%r11], 4100", "PR124", FULL),
        (COPY, "", "PR124", FULL),
        ("bar.sync 1, 32;", "bar.sync 1, 64;", "PR130", "barrier 1 expects 64"),
    ],
)
def test_a_barrier_that_is_never_complete_by_itself_is_found_and_named(right: str, wrong: str, code: str, barrier: str):
    assert right in ROLES
    errors = [one for one in tileproof.check(ROLES.replace(right, wrong)).diagnostics if one.severity.value == "error"]
    assert [one.code for one in errors] == [code]
    assert barrier in errors[0].message


def test_it_is_found_at_several_stages_together():
    """Each barrier of the ring lacks an arrival, and only with all of them complete do the roles come to their end."""
    text = ROLES.replace("[%r3], 1;", "[%r3], 2;").replace("[%r3+8], 1;", "[%r3+8], 2;")
    assert "PR125" in {one.code for one in tileproof.check(text).diagnostics}


# One of the roles loads how far it goes: the runs suppose another number than that of the other.
LOADED = ROLES.replace("ld.global.f32 %f1,", "ld.global.u32 %r4, [%rd5+4];\n  ld.global.f32 %f1,")
# And what data decide is a value that decides on a step.
STEP = "  setp.ne.s32 %p8, %r29, 1;\n  @!%p8 bra ROUND;\n  bar.sync 2, 32;\n"
DISAGREEING = LOADED.replace("ROUND:\n", f"{STEP}ROUND:\n", 1)


@pytest.mark.parametrize("count", [32, 33])
def test_roles_that_disagree_in_all_runs_leave_a_hang_in_doubt(count: int):
    result = tileproof.check(DISAGREEING.replace("[%r3+16], 32", f"[%r3+16], {count}"))
    assert {one.severity.value for one in result.diagnostics} == {"note"}
    assert [one.case for one in result.files[0].kernels[0].reasons] == ["loop_turns"]


@pytest.mark.parametrize(("count", "codes"), [(32, ["PR190"]), (33, ["PR125"])])
def test_a_value_that_data_decide_matters_where_it_decides_on_a_step(count: int, codes: list[str]):
    """Else a barrier that lacks an arrival in all runs is wrong, whatever roles load."""
    result = tileproof.check(LOADED.replace("[%r3+16], 32", f"[%r3+16], {count}"))
    assert [one.code for one in result.diagnostics] == codes


@pytest.mark.parametrize(
    ("right", "wrong", "codes"),
    [
        ("[%r11+16], %r12;\n  @done bra OVER;\n  bra AGAIN;", "[%r11+16], %r12;\n  bra OVER;", {"PR122"}),
        ("setp.eq.s32 %p4, %r15, 2;", "setp.eq.s32 %p4, %r15, 3;", {"PR120", "PR122"}),
        ("[%r11], 4096;", "[%r11], 4096;\n  mbarrier.arrive.shared::cta.b64 _, [%r11];", {"PR122"}),
    ],
)
def test_what_threads_come_to_before_any_leaves_its_loop_is_wrong_however_long_that_is(
    right: str, wrong: str, codes: set[str]
):
    assert right in DISAGREEING
    found = tileproof.check(DISAGREEING.replace(right, wrong)).diagnostics
    assert {one.code for one in found if one.severity.value == "error"} == codes


@pytest.mark.parametrize(("as_well", "codes"), [(True, {"PR122"}), (False, set())])
def test_it_must_be_in_other_launches_as_well_where_they_may_be_meant(
    as_well: bool, codes: set[str], monkeypatch: pytest.MonkeyPatch
):
    """In place of the same kernel in another cluster, where something else goes wrong, the kernel as it should be."""
    studies: list[Study] = []
    around = Study.around

    def launched(study: Study) -> Run:
        studies.append(study)
        study.elsewhere = lambda: [study if as_well else studies[0]]
        return around(study)

    monkeypatch.setattr(Study, "around", launched)
    kept = f".reqntid 64, 1, 1\n.maxnreg {120 + 8 * as_well}\n"  # not what another test kept
    right = DISAGREEING.replace(".reqntid 64, 1, 1\n", kept)
    wait = "[%r11+16], %r12;\n  @done bra OVER;\n  bra AGAIN;"
    wrong = right.replace(wait, "[%r11+16], %r12;\n  bra OVER;")
    assert right != wrong
    tileproof.check(right)
    report = tileproof.check(wrong)
    assert {one.code for one in report.diagnostics if one.severity.value == "error"} == codes
    assert as_well or [one.case for one in report.files[0].kernels[0].reasons] == ["loop_turns"]
