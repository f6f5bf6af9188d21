"""Steps that a CTA comes to where it goes from one problem of a group to another: a run has more of them, all small."""

from __future__ import annotations

import tileproof
from protocol.test_units import study
from tileproof.protocol.faults import ProtocolFault
from tileproof.protocol.lengths import grouped_run, missing

# Two warps take turns at the tiles of a grouped GEMM; the second one fences where the problem is another one.
GROUPED = """\
.version 8.7
.target sm_90a
.address_size 64
.visible .entry grouped(.param .u32 groups, .param .u64 sizes)
.reqntid 64, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<24>; .reg .b64 %rd<4>;
  .shared .align 8 .b8 barriers[16];
  ld.param.u32 %r1, [groups];
  ld.param.u64 %rd1, [sizes];
  mov.u32 %r2, %tid.x;
  mov.b32 %r3, barriers;
  setp.ne.s32 %p1, %r2, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%r3], 32;
  mbarrier.init.shared::cta.b64 [%r3+8], 32;
INITIALISED:
  bar.sync 0;
  mov.u32 %r4, %ctaid.x;
  mov.b32 %r6, 0;
  mov.b32 %r7, 0;
  mov.b32 %r8, 0;
  mov.b32 %r9, 0;
  setp.ge.u32 %p2, %r2, 32;
  mov.b32 %r6, -1;
TILE:
  setp.lt.s32 %p4, %r4, %r7;
  @%p4 bra FOUND;
SEARCH:
  add.s32 %r6, %r6, 1;
  setp.ge.s32 %p3, %r6, %r1;
  @%p3 bra END;
  mul.wide.s32 %rd2, %r6, 8;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.b32 %r10, [%rd3];
  ld.global.b32 %r16, [%rd3+4];
  add.s32 %r11, %r10, 127;
  shr.u32 %r12, %r11, 7;
  add.s32 %r17, %r16, 127;
  shr.u32 %r18, %r17, 7;
  mul.lo.s32 %r13, %r12, %r18;
  add.s32 %r7, %r7, %r13;
  setp.ge.s32 %p8, %r4, %r7;
  @%p8 bra SEARCH;
FOUND:
  @%p2 bra CONSUME;
  xor.b32 %r15, %r8, 1;
FREE:
  mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r3+8], %r15;
  @!%p5 bra FREE;
  mbarrier.arrive.shared::cta.b64 _, [%r3];
  bra NEXT;
CONSUME:
FULL:
  mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r3], %r8;
  @!%p6 bra FULL;
  setp.eq.s32 %p7, %r6, %r9;
  @%p7 bra SAME;
  fence.proxy.async.shared::cta;
  mov.b32 %r9, %r6;
SAME:
  mbarrier.arrive.shared::cta.b64 _, [%r3+8];
NEXT:
  xor.b32 %r8, %r8, 1;
  add.s32 %r4, %r4, 2;
  bra TILE;
END:
  ret;
}
"""
FENCE = "nvvm.fence.proxy"


def without_fence(text: str) -> tuple[bool, bool]:
    """Whether the run executes the fence, in a study that has not come to it; and whether it says of a finding."""
    one = study(text)
    fence = next(step.operation for step in one.compiled.code if step.operation.name.startswith(FENCE))
    one.reached.executed.discard(id(fence))
    assert missing(one) == {id(fence)}
    assert one.judged is not None
    faults: list[ProtocolFault] = []
    grouped_run(one, one.judged, faults)
    return not missing(one), bool(faults)


def test_it_goes_from_one_problem_to_another():
    assert without_fence(GROUPED) == (True, False)


def test_a_run_with_a_finding_of_its_own_says_nothing():
    """Where the phase is waited for that is over, in the second problem alone."""
    wrong = GROUPED.replace("fence.proxy.async.shared::cta;", "fence.proxy.async.shared::cta;\n  xor.b32 %r8, %r8, 1;")
    assert wrong != GROUPED
    assert without_fence(wrong) == (False, False)


def test_the_kernel_is_followed():
    (kernel,) = tileproof.check(GROUPED).files[0].kernels
    assert (kernel.status, kernel.executed) == ("followed", kernel.steps)
