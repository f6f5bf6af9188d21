"""What is taken out of a kernel in PTX comes back, at its place; all else stays as it is.

kernels/*.ptx and the example are the golden outputs; their first line says what is taken out.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from ptxas import assembled, needs_ptxas

import tileproof
from conftest import EXAMPLES, corpus_files
from tileproof.base.source import Source
from tileproof.cli import main
from tileproof.mlir.ir import Operation
from tileproof.ptx.module import read_module
from tileproof.scheduling.forms import SLOT
from tileproof.scheduling.ptx_form import PtxForm
from tileproof.scheduling.synthesis import Scheduled
from tileproof.scheduling.text import schedule

BOOK = tileproof.load_rules()
FILES = [*sorted(Path(__file__).with_name("kernels").glob("*.ptx")), EXAMPLES / "hopper_multiply.ptx"]
KERNELS = {path.stem: path.read_text() for path in FILES}
INSERTED = r"(wgmma\.(fence|commit_group|wait_group)|cp\.async\.(bulk\.)?(commit|wait)_group|fence\.proxy\.async)\b"
PRIMITIVES = corpus_files("corpus/sm_100a/prim_cp_async*.ptx")


def bare(text: str, what: str = "") -> str:
    """A kernel without some lines: those that its first line says."""
    if not what:
        first = re.match(r"// without: (.*)\n", text)
        assert first is not None
        what = first[1]
    return "".join(line for line in text.splitlines(True) if line.startswith("//") or not re.search(what, line))


def scheduled(text: str) -> Scheduled:
    return schedule(BOOK, Source("kernel.ptx", text))


def without(found: Scheduled) -> str:
    """The result without the lines that it says it has inserted."""
    gone = {number for number, _ in found.inserted}
    lines = found.source.text.splitlines(keepends=True)
    assert all(lines[number - 1].strip() == line for number, line in found.inserted)
    return "".join(line for number, line in enumerate(lines, 1) if number not in gone)


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_comes_back_as_it_was(name: str):
    text = KERNELS[name]
    assert bare(text) != text
    found = scheduled(bare(text))
    assert found.source.text == text
    assert found.verified
    assert found.complete


@pytest.mark.parametrize("name", ["bulk_stores", "hopper_multiply"])
def test_what_is_there_stays(name: str):
    text = KERNELS[name]
    found = scheduled(text)
    assert (found.source.text, found.inserted, found.verified) == (text, (), True)


def test_a_single_operation_comes_back():
    """Each of its own, among those that are left."""
    text = KERNELS["hopper_multiply"]
    for number, line in enumerate(text.splitlines(keepends=True)):
        if line.startswith("\t") and re.match(rf"\s*{INSERTED}", line):
            lines = text.splitlines(keepends=True)
            del lines[number]
            found = scheduled("".join(lines))
            assert found.verified, line
            assert without(found) == "".join(lines)
            assert line.strip() in [inserted for _, inserted in found.inserted]


def test_line_ends_stay():
    text = bare(KERNELS["cp_async_ring"]).replace("\n", "\r\n")
    found = scheduled(text)
    assert found.verified
    assert found.source.text == KERNELS["cp_async_ring"].replace("\n", "\r\n")


def test_the_result_is_clean_by_check():
    for text in (KERNELS["hopper_multiply"], KERNELS["bulk_stores"]):
        assert list(tileproof.check(bare(text)).diagnostics)
        assert not list(tileproof.check(scheduled(bare(text)).source.text).diagnostics)


@needs_ptxas
def test_ptxas_assembles_the_results(tmp_path: Path):
    for text in KERNELS.values():
        done = assembled(text, tmp_path)
        assert (done.returncode, "C75" in done.stderr) == (0, False), done.stderr


@pytest.mark.parametrize("name", KERNELS)
def test_a_place_is_between_statements(name: str):
    """A line at each place at once: the statements stay what they are, each operation of a block behind its place."""
    text = KERNELS[name]
    form = PtxForm(BOOK, Source("kernel.ptx", text))

    def places(operation: Operation):
        for region in operation.regions:
            for block in region.blocks:
                yield from (form.points.gap(block, index) for index in range(len(block.operations) + 1))
                for inner in block.operations:
                    yield from places(inner)

    gaps = {gap.offset: gap for gap in places(form.operations[0]) if gap is not None}
    assert len(gaps) > len(re.findall(INSERTED, text))
    slotted = form.slotted([gaps[offset] for offset in sorted(gaps)])
    before = [one.opcode for one in read_module(BOOK, Source("", text)).instructions]
    module = read_module(BOOK, Source("", slotted.edited.text))
    assert [one.opcode for one in module.instructions if one.opcode != SLOT] == before
    assert len(slotted.slots) == len(gaps)
    assert not module.faults


def invoke(path: Path, *more: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, ["schedule", str(path), *more])
    return done.exit_code, done.stdout, done.stderr


def test_the_command(tmp_path: Path):
    path, drawn = tmp_path / "kernel.ptx", tmp_path / "graph.json"
    path.write_text(bare(KERNELS["hopper_multiply"]))
    code, out, said = invoke(path, "--graph", str(drawn))
    assert (code, out) == (0, KERNELS["hopper_multiply"])
    assert said.startswith(f"{path}:20: inserted fence.proxy.async.shared::cta;\n")
    graph = json.loads(drawn.read_text())
    names = {node["id"]: node["name"].partition(".sync")[0] for node in graph["nodes"]}
    edges = {(names[one["source"]], names[one["target"]], one["kind"]) for one in graph["edges"]}
    assert ("wgmma.mma_async", "wgmma.commit_group", "issue") in edges
    assert ("wgmma.mma_async", "wgmma.wait_group", "wait") in edges


UNKNOWN = ("add.s32 \t%r10, %r6, %r8;", "ld.global.u32 \t%r10, [%rd2];")
UNFOLLOWED = [
    ((UNKNOWN,), 29, "not followed: where this accesses memory is not known"),
    ((("bar.sync \t0;", "mbarrier.arrive.shared.b64 _, [%r29];"),), 27, "the address of the barrier is not known"),
    (((".visible .entry ring(.param .u64 from, .param .u64 to)\n.reqntid 128, 1, 1", ".func ring()"),), 5, "PR190"),
]


@pytest.mark.parametrize(("changes", "line", "reason"), UNFOLLOWED, ids=["address", "barrier", "device function"])
def test_a_kernel_that_cannot_be_followed_is_left_untouched(changes, line: int, reason: str, tmp_path: Path):
    text = bare(KERNELS["cp_async_ring"])
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    if ".func" in text:
        text = re.sub(r"ld\.param\.u64 \t(%rd\d), \[\w+\];", r"mov.b64 \t\1, 0;", text)
    path = tmp_path / "kernel.ptx"
    path.write_text(text)
    code, out, said = invoke(path)
    assert (code, out) == (1, text), said
    assert "inserted" not in said
    assert re.search(rf"kernel.ptx:{line}:\d+: .*{re.escape(reason)}", said), said
    assert said.endswith(f"{path}: left as it is: no insertion repairs what is named above\n")


def test_a_kernel_of_which_nothing_is_reached_is_not_called_verified(tmp_path: Path):
    path = tmp_path / "kernel.ptx"
    path.write_text(re.sub(r"(?m)^(\.reqntid.*\n\{)", r"\1\n  ret;", KERNELS["hopper_multiply"]))
    code, _, said = invoke(path)
    assert code == 1
    assert "PR190" in said


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (".version 8.7\n", "kernel.ptx: holds no function"),
        (KERNELS["bulk_stores"].replace("\tret;", "\tret"), "kernel.ptx:38:2: "),
        (KERNELS["bulk_stores"].replace("%rd1, [to]", "%rd99, [to]"), "kernel.ptx:13:16: "),
        (KERNELS["bulk_stores"].replace("bra \t$L__BB0_3", "bra \t$L__BB0_9"), "kernel.ptx:26:12: "),
        ("\0\1\2", "kernel.ptx"),
        ("", "kernel.ptx"),
    ],
    ids=["empty module", "semicolon", "register", "label", "binary", "empty"],
)
def test_bad_input(text: str, reason: str, tmp_path: Path):
    path = tmp_path / "kernel.ptx"
    path.write_text(text)
    code, out, said = invoke(path)
    assert (code, out) == (2, ""), said
    assert reason in said
    assert said.count("\n") == 1


@pytest.mark.skipif(not PRIMITIVES, reason="no ../shared beside this checkout")
@pytest.mark.parametrize("path", PRIMITIVES, ids=lambda path: path.stem)
def test_a_primitive_of_the_corpus_comes_back(path: Path):
    text = path.read_text()
    found = scheduled(bare(text, INSERTED))
    assert found.verified
    assert without(found) == bare(text, INSERTED)
    assert [line for _, line in found.inserted] == [
        re.sub(r"\s+", " ", line.strip()) for line in text.splitlines() if re.search(INSERTED, line)
    ]
