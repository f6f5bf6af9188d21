"""Operations of the NVVM dialect written as inline assembly: what both say of a kernel is to be the same."""

from __future__ import annotations

import re

_X = r"(%[\w#-]+)"
_BARRIER = r" : !llvm\.ptr<[37]>"

# An operation in the custom form, by its operands; the PTX, whose constraints follow the operands; types of operands.
# `=` stands for a result, whose type follows the arrow.
TWINS: list[tuple[str, str, str]] = [
    (rf"nvvm\.mbarrier\.init {_X}, {_X}{_BARRIER}, i32", "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r"),
    (rf"nvvm\.mbarrier\.inval {_X}{_BARRIER}", "mbarrier.inval.shared::cta.b64 [$0];", "r"),
    (r"nvvm\.fence\.mbarrier\.init$", "fence.mbarrier_init.release.cluster;", ""),
    (r"nvvm\.fence\.proxy \{kind = #nvvm\.proxy_kind<async\.shared>.*", "fence.proxy.async.shared::cta;", ""),
    (rf"nvvm\.barrier id = {_X} number_of_threads = {_X}$", "bar.sync $0, $1;", "r,r"),
    (rf"nvvm\.barrier id = {_X}$", "barrier.sync $0;", "r"),
    (r"nvvm\.barrier$", "bar.sync 0;", ""),
    (rf"nvvm\.barrier\.cta\.arrive {_X}, {_X} : i32, i32", "bar.arrive $0, $1;", "r,r"),
    (r"nvvm\.cluster\.arrive$", "barrier.cluster.arrive.release.aligned;", ""),
    (r"nvvm\.cluster\.arrive\.relaxed$", "barrier.cluster.arrive.relaxed.aligned;", ""),
    (r"nvvm\.cluster\.wait$", "barrier.cluster.wait.acquire.aligned;", ""),
    (
        rf"nvvm\.mbarrier\.try_wait\.parity {_X}, {_X}, {_X}{_BARRIER}, i32, i32",
        "{ .reg .pred P1; LAB_WAIT: mbarrier.try_wait.parity.shared::cta.b64 P1, [$0], $1, $2;"
        " @P1 bra DONE; bra LAB_WAIT; DONE: }",
        "r,r,r",
    ),
    (
        rf"= nvvm\.mbarrier\.try_wait\.parity\.timelimit {_X}, {_X}, {_X}{_BARRIER}, i32, i32 -> i1",
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [$1], $2, $3; selp.b32 $0, 1, 0, p; }",
        "=r,r,r,r",
    ),
    (
        rf"= nvvm\.mbarrier\.arrive\.expect_tx {_X}, {_X}{_BARRIER}, i32 -> i64",
        "mbarrier.arrive.expect_tx.shared::cta.b64 $0, [$1], $2;",
        "=l,r,r",
    ),
    (
        rf"= nvvm\.mbarrier\.arrive {_X}, {_X}{_BARRIER} -> i64",
        "mbarrier.arrive.shared::cta.b64 $0, [$1], $2;",
        "=l,r,r",
    ),
    (rf"= nvvm\.mbarrier\.arrive {_X}{_BARRIER} -> i64", "mbarrier.arrive.shared::cta.b64 $0, [$1];", "=l,r"),
    (rf"nvvm\.mbarrier\.arrive {_X}, {_X}{_BARRIER}$", "mbarrier.arrive.shared::cluster.b64 _, [$0], $1;", "r,r"),
    (r"= nvvm\.elect\.sync -> i1", "{ elect.sync _|$0, 0xffffffff; }", "=b"),
    (r"nvvm\.wgmma\.fence\.aligned$", "wgmma.fence.sync.aligned;", ""),
    (r"nvvm\.wgmma\.commit\.group\.sync\.aligned$", "wgmma.commit_group.sync.aligned;", ""),
    (r"nvvm\.wgmma\.wait\.group\.sync\.aligned (\d+)$", "wgmma.wait_group.sync.aligned $0;", "n"),
    (r"nvvm\.cp\.async\.bulk\.commit\.group$", "cp.async.bulk.commit_group;", ""),
    (r"nvvm\.cp\.async\.bulk\.wait_group (\d+)(?: \{read\})?$", "cp.async.bulk.wait_group.read $0;", "n"),
    (r"nvvm\.cp\.async\.commit\.group$", "cp.async.commit_group;", ""),
    (r"nvvm\.cp\.async\.wait\.group (\d+)$", "cp.async.wait_group $0;", "n"),
    (
        rf"nvvm\.cp\.async\.mbarrier\.arrive {_X} \{{noinc = true\}}{_BARRIER}",
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];",
        "r",
    ),
    (
        rf"nvvm\.tcgen05\.commit {_X}{_BARRIER}",
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [$0];",
        "r",
    ),
    (
        rf"nvvm\.tcgen05\.commit {_X}, multicast_mask = {_X} \{{group = #nvvm\.cta_group<cta_2>\}}{_BARRIER}, i16",
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [$0], $1;",
        "r,h",
    ),
    (r"nvvm\.tcgen05\.wait <load>$", "tcgen05.wait::ld.sync.aligned;", ""),
    (r"nvvm\.tcgen05\.wait <store>$", "tcgen05.wait::st.sync.aligned;", ""),
    (r"nvvm\.tcgen05\.fence <before>$", "tcgen05.fence::before_thread_sync;", ""),
    (r"nvvm\.tcgen05\.fence <after>$", "tcgen05.fence::after_thread_sync;", ""),
    (r"nvvm\.tcgen05\.relinquish_alloc_permit$", "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;", ""),
    (
        rf"nvvm\.tcgen05\.alloc {_X}, {_X} : !llvm\.ptr<3>, i32",
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [$0], $1;",
        "r,r",
    ),
    (
        rf"nvvm\.tcgen05\.dealloc {_X}, {_X} : !llvm\.ptr<6>, i32",
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 $0, $1;",
        "r,r",
    ),
    (
        rf"nvvm\.tcgen05\.mma {_X}, {_X}, {_X}, {_X}, {_X} \{{ctaGroup = #nvvm\.cta_group<cta_(\d)>.*",
        "{ .reg .pred p; setp.ne.b32 p, $4, 0; tcgen05.mma.cta_group::CTAS.kind::f16 [$0], $1, $2, $3, p; }",
        "r,l,l,r,r",
    ),
    (r"nvvm\.setmaxregister decrease (\d+)$", "setmaxnreg.dec.sync.aligned.u32 $0;", "n"),
    (r"nvvm\.setmaxregister increase (\d+)$", "setmaxnreg.inc.sync.aligned.u32 $0;", "n"),
]
_COMPILED = [(re.compile(pattern), ptx, constraints) for pattern, ptx, constraints in TWINS]
_LINE = re.compile(r"^(\s*)(%[\w:]+ )?(.*)$")


def _twin(line: str, number: int) -> str | None:
    """A line of IR with inline assembly for its operation; None where it has no twin.

    Args:
        number: of the line, in the names of constants.
    """
    found = _LINE.match(line)
    assert found is not None
    indent, result, rest = found[1], found[2] or "", found[3]
    for pattern, ptx, constraints in _COMPILED:
        one = pattern.match(rest)
        if one is None:
            continue
        operands = list(one.groups())
        if "CTAS" in ptx:
            ptx = ptx.replace("CTAS", operands.pop())  # noqa: PLW2901
        first = ""
        for i, value in enumerate(operands):
            if value.isdecimal():
                first += f"{indent}%immediate{number} = arith.constant {value} : i32\n"
                operands[i] = f"%immediate{number}"
        arrow = rest.rpartition("-> ")[2] if rest.startswith("= ") else "()"
        types = ", ".join(["i32"] * len(operands))
        assembly = f'llvm.inline_asm has_side_effects asm_dialect = att "{ptx}", "{constraints}"'
        equal = "= " if rest.startswith("= ") else ""
        return f"{first}{indent}{result}{equal}{assembly} {', '.join(operands)} : ({types}) -> {arrow}"
    return None


def assembled(text: str) -> tuple[str, int]:
    """A text with all operations that have a twin in assembly, on one line each, and how many they are."""
    lines, count = [], 0
    for number, line in enumerate(text.split("\n")):
        twin = _twin(line, number) if "nvvm." in line else None
        count += twin is not None
        lines.append(line if twin is None else twin)
    return "\n".join(lines), count
