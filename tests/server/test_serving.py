"""The server as an editor meets it: a real client, over standard streams."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from conftest import EXAMPLES, tileproof

if find_spec("pygls") is None:
    pytest.skip("pygls is not installed (the extra `lsp`)", allow_module_level=True)

from lsprotocol import types as lsp

from server.editor import Editor, editing, place

BROKEN = (EXAMPLES / "hopper_gemm_broken.mlir").read_text(encoding="utf-8")
GOOD = (EXAMPLES / "hopper_gemm.mlir").read_text(encoding="utf-8")
UNFENCED = "".join(line for line in GOOD.splitlines(keepends=True) if "wgmma.fence" not in line)


@pytest.fixture
def session(tmp_path: Path) -> Callable[[Callable[[Editor], Awaitable[None]]], None]:
    """Runs what an author does, in a server for a folder of its own."""

    def run(author: Callable[[Editor], Awaitable[None]]) -> None:
        async def whole() -> None:
            async with editing(tmp_path) as editor:
                await author(editor)

        asyncio.run(whole())

    return run


def codes(found: list[lsp.Diagnostic]) -> list[object]:
    return [one.code for one in found]


def test_a_finding_comes_when_a_broken_kernel_is_opened_and_goes_when_it_is_edited_right(tmp_path: Path, session):
    path = tmp_path / "a kernel.mlir"
    path.write_text(BROKEN)

    async def author(editor: Editor) -> None:
        uri = editor.open(path)
        (found,) = await editor.findings(uri)
        start = BROKEN.index("100x16")
        assert (found.code, found.severity, found.source) == ("WG101", lsp.DiagnosticSeverity.Error, "tileproof")
        assert found.range == lsp.Range(place(BROKEN, start), place(BROKEN, start + 3))
        assert found.code_description is not None
        assert found.code_description.href.startswith("https://docs.nvidia.com/")
        editor.replace(uri, "64x100x16", "64x128x16")
        assert await editor.findings(uri) == []
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        await editor.until(lambda: editor.published[-1].version is None)
        assert not editor.published[-1].diagnostics

    session(author)


def test_columns_are_utf_16(tmp_path: Path, session):
    """Characters outside the basic plane are two units; a form feed ends no line."""
    clef = "\N{MUSICAL SYMBOL G CLEF}"
    text = f"// {clef} and a form feed \f here\n" + BROKEN

    async def author(editor: Editor) -> None:
        uri = editor.open(tmp_path / "new.mlir", text)
        (found,) = await editor.findings(uri)
        assert found.range.start == place(text, text.index("100x16"))
        # An edit behind such characters, on their line, and one that removes half of the comment.
        behind = place(text, text.index(" and a form"))
        assert behind.character == 5
        editor.edit(uri, lsp.TextEdit(lsp.Range(behind, behind), f"{clef}!"))
        editor.replace(uri, f"{clef}! and", clef)
        editor.replace(uri, "64x100x16", "64x128x16")
        assert await editor.findings(uri) == []
        editor.replace(uri, f"// {clef}", f"// tileproof: ignore[IR010] {clef}")
        (unused,) = await editor.findings(uri)
        assert (unused.code, list(unused.tags)) == ("IR010", [lsp.DiagnosticTag.Unnecessary])

    session(author)


@pytest.mark.parametrize(
    ("kinds", "encoding", "width"),
    [
        ([], "utf-16-le", 2),
        (["utf-8", "utf-16"], "utf-8", 1),
        pytest.param(["utf-32"], "utf-32-le", 4, marks=pytest.mark.sweep),
        pytest.param(["utf-7"], "utf-16-le", 2, marks=pytest.mark.sweep),
    ],
)
def test_columns_behind_any_character_are_in_the_encoding_that_was_agreed_on(
    tmp_path: Path, kinds: list[str], encoding: str, width: int
):
    line = '  %0 = "x.y"() {a = "\N{MUSICAL SYMBOL G CLEF}\N{GREEK SMALL LETTER PI}"} : () -> !cute_nvgpu.sm90.mma<64x'
    rest = "100x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>"

    async def whole() -> None:
        async with editing(tmp_path, *kinds) as editor:
            uri = editor.open(tmp_path / "k.mlir", f"module {{\n{line}{rest}\n}}\n")
            (found,) = await editor.findings(uri)
            assert found.code == "WG101"
            assert found.range.start == lsp.Position(1, len(line.encode(encoding)) // width)

    asyncio.run(whole())


def test_a_comment_that_is_applied_silences(tmp_path: Path, session):
    async def author(editor: Editor) -> None:
        uri = editor.open(tmp_path / "k.mlir", BROKEN)
        (found,) = await editor.findings(uri)
        (action,) = await editor.actions(uri, found.range)
        assert (action.title, action.kind) == ("Silence WG101 in this line", lsp.CodeActionKind.QuickFix)
        assert action.edit is not None
        assert action.edit.changes is not None
        editor.edit(uri, *action.edit.changes[uri])
        assert await editor.findings(uri) == []
        assert await editor.actions(uri, found.range) == []

    session(author)


TUPLES = """func.func @f(%a: !cute.int_tuple<"4">, %b: !cute.int_tuple<"2">) {
  %0 = cute.tuple_add(%a, %b) : (!cute.int_tuple<"4">, !cute.int_tuple<"2">) -> !cute.int_tuple<"7">
  return
}
"""
ATOM = "!cute_nvgpu.sm90.mma<64x100x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>"
ATOMS = f"""!mma = !cute.tiled_mma<{ATOM}>
module {{
  %0 = "x.y"() : () -> {ATOM}
  %1 = "x.y"() : () -> !mma
}}
"""


@pytest.mark.parametrize(("text", "code"), [(TUPLES, "IR020"), (ATOMS, "WG101")], ids=["result type", "nearest atom"])
def test_a_repair_that_is_applied_leaves_nothing(tmp_path: Path, session, text: str, code: str):
    async def author(editor: Editor) -> None:
        uri = editor.open(tmp_path / "k.mlir", text)
        (found,) = await editor.findings(uri)
        assert found.code == code
        repair, comment = await editor.actions(uri, found.range)
        assert (repair.is_preferred, comment.is_preferred) == (True, None)
        editor.edit(uri, *repair.edit.changes[uri])
        assert await editor.findings(uri) == []

    session(author)


@pytest.mark.sweep
def test_a_repair_that_would_make_something_else_wrong_is_not_offered(tmp_path: Path, session):
    """Another N than 128 does not fit the operands of this kernel."""

    async def author(editor: Editor) -> None:
        uri = editor.open(tmp_path / "k.mlir", BROKEN)
        (found,) = await editor.findings(uri)
        assert "nearest legal atom" in found.message
        assert [one.is_preferred for one in await editor.actions(uri, found.range)] == [None]

    session(author)


def test_the_authors_own_source_is_related_and_can_be_silenced(tmp_path: Path, session):
    kernel = tmp_path / "kernel.py"
    kernel.write_text("def kernel(a, b, c):\n    mma(a, b, c)  # \N{MUSICAL SYMBOL G CLEF}\n")
    place_of = f' loc("{kernel}":2:4)'
    text = "".join(
        line.rstrip("\n") + place_of + "\n" if line.lstrip().startswith("cute.gemm") else line
        for line in UNFENCED.splitlines(keepends=True)
    )

    async def author(editor: Editor) -> None:
        uri = editor.open(tmp_path / "k.mlir", text)
        (found,) = await editor.findings(uri)
        assert found.code == "PR102"
        (mine, *_) = found.related_information
        assert mine.location.uri == kernel.as_uri()
        assert mine.location.range.start == lsp.Position(1, 4)
        at = lsp.DefinitionParams(lsp.TextDocumentIdentifier(uri), found.range.start)
        places = await editor.client.text_document_definition_async(at)
        assert [one.uri for one in places][:1] == [kernel.as_uri()]
        where = lsp.ReferenceParams(lsp.ReferenceContext(True), lsp.TextDocumentIdentifier(uri), found.range.start)
        assert lsp.Location(uri, found.range) in await editor.client.text_document_references_async(where)
        action = (await editor.actions(uri, found.range))[0]
        assert action.title == "Silence PR102 in kernel.py, line 2"
        (edit,) = action.edit.changes[kernel.as_uri()]
        lines = kernel.read_text().splitlines()
        assert edit.range.start == edit.range.end == lsp.Position(1, len(lines[1].encode("utf-16-le")) // 2)
        kernel.write_text(f"{lines[0]}\n{lines[1]}{edit.new_text}\n")
        editor.client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        await editor.until(lambda: len(editor.published) == 2)
        assert await editor.findings(uri) == []

    session(author)


def test_pages_over_types_layouts_operations_and_codes(tmp_path: Path, session):
    text = (
        BROKEN.replace("func.func", "// tileproof: ignore[WG101] later\nfunc.func", 1) + "// tileproof: ignore[PR102]\n"
    )

    async def shown(editor: Editor, uri: str, needle: str, within: int = 0) -> str:
        hover = await editor.hover(uri, needle, within)
        return "" if hover is None else hover.contents.value

    async def author(editor: Editor) -> None:
        uri = editor.open(tmp_path / "k.mlir", text)
        assert "M = 64, N = 100, K = 16" in await shown(editor, uri, "64x100x16")
        assert "WG101" in await shown(editor, uri, "64x100x16")
        layout = await shown(editor, uri, '"(1024,1024):(1024,1)', 3)
        assert "cosize `1048576`" in layout
        assert "3072 3073" in layout
        assert "cosize" in await shown(editor, uri, "!memref_smem", 4)
        assert "empty[3] of ring" in await shown(editor, uri, "nvvm.mbarrier.arrive %", 6)
        assert "`mbarrier.init`" in await shown(editor, uri, "nvvm.mbarrier.init", 2)
        assert "**PR102**" in await shown(editor, uri, "ignore[PR102]", 8)
        assert await shown(editor, uri, "ignore[PR102]", 1) == ""

    session(author)


@pytest.mark.sweep
def test_pages_over_instructions(tmp_path: Path, session):
    ptx = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k() {
  wgmma.commit_group.sync.aligned;
  add.s32 %r1, %r1, 1;
  ret;
}
"""

    async def author(editor: Editor) -> None:
        uri = editor.open(tmp_path / "k.ptx", ptx)
        hover = await editor.hover(uri, "commit_group")
        assert "wgmma.commit_group" in hover.contents.value
        assert "On sm_90a: legal" in hover.contents.value
        assert hover.range.start == place(ptx, ptx.index("wgmma"))
        assert await editor.hover(uri, "%r1") is None

    session(author)


@pytest.mark.sweep
def test_labels_are_the_descriptors_of_the_command(tmp_path: Path, session):
    async def author(editor: Editor) -> None:
        uri = editor.open(tmp_path / "k.mlir", GOOD)
        everything = lsp.Range(lsp.Position(0, 0), lsp.Position(10_000, 0))
        parameters = lsp.InlayHintParams(lsp.TextDocumentIdentifier(uri), everything)
        hints = await editor.client.text_document_inlay_hint_async(parameters)
        said = tileproof("descriptors", str(EXAMPLES / "hopper_gemm.mlir")).stdout.splitlines()
        assert len(said) == len(hints) > 0
        for line, hint in zip(said, hints, strict=True):
            assert hint.label.split() == line.split(": ", 1)[1].replace("lbo", "LBO").replace("sbo", "SBO").split()
            assert line.split(":")[1] == str(hint.position.line + 1)
            assert hint.position.character == len(GOOD.splitlines()[hint.position.line])

    session(author)


def test_settings_of_the_folder_hold(tmp_path: Path, session):
    settings = tmp_path / "tileproof.toml"
    settings.write_text('severity = { WG101 = "warning" }\nexclude = ["left/*"]\n')
    (tmp_path / "left").mkdir()

    async def author(editor: Editor) -> None:
        uri = editor.open(tmp_path / "k.mlir", BROKEN)
        other = editor.open(tmp_path / "left" / "k.mlir", BROKEN)
        (found,) = await editor.findings(uri)
        assert found.severity is lsp.DiagnosticSeverity.Warning
        assert await editor.findings(other) == []
        assert len(editor.published) == 2
        settings.write_text('ignore = ["WG101"]\n')
        change = lsp.FileEvent(settings.as_uri(), lsp.FileChangeType.Changed)
        editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([change]))
        await editor.until(lambda: len(editor.published) == 4)
        assert await editor.findings(uri) == []
        assert await editor.findings(other) == []

    session(author)


@pytest.mark.sweep
def test_a_known_finding_is_not_shown(tmp_path: Path, session):
    path = tmp_path / "k.mlir"
    path.write_text(BROKEN)
    tileproof("check", "k.mlir", "--write-baseline", "known.json", cwd=tmp_path)
    (tmp_path / "tileproof.toml").write_text('baseline = "known.json"\n')

    async def author(editor: Editor) -> None:
        uri = editor.open(path)
        assert await editor.findings(uri) == []
        editor.replace(uri, "64x100x16", "64x101x16")
        assert codes(await editor.findings(uri)) == ["WG101"]

    session(author)


@pytest.mark.sweep
def test_settings_that_cannot_be_used_are_said_once_and_the_server_lives_on(tmp_path: Path, session):
    settings = tmp_path / "tileproof.toml"
    cases = {
        "ignroe = []\n": "unknown setting 'ignroe'",
        'rules = ["house"]\n': "no such rules folder",
        'ignore = ["XX999"]\n': "unknown rule 'XX999'",
        'baseline = "known.json"\n': "known.json",
    }

    async def author(editor: Editor) -> None:
        settings.write_text("ignroe = []\n")
        uri = editor.open(tmp_path / "k.mlir", BROKEN)
        for i, (content, said) in enumerate(cases.items(), 1):
            settings.write_text(content)
            for _ in range(2):
                editor.replace(uri, "64x100x16", "64x100x16")
                (unchecked,) = await editor.findings(uri)
                assert unchecked.message.startswith("not checked: ")
            assert len(editor.messages) == i
            assert said in editor.messages[-1]
        settings.unlink()
        editor.replace(uri, "64x100x16", "64x102x16")
        assert codes(await editor.findings(uri)) == ["WG101"]

    session(author)


@pytest.mark.sweep
def test_a_fault_in_the_projects_own_rules_is_said_with_its_place(tmp_path: Path, session):
    (tmp_path / "house").mkdir()
    rule = tmp_path / "house" / "mine.rule"
    rule.write_text("rule XX1 {\n")
    (tmp_path / "tileproof.toml").write_text('rules = ["house"]\n')

    async def author(editor: Editor) -> None:
        uri = editor.open(tmp_path / "k.mlir", BROKEN)
        (unchecked,) = await editor.findings(uri)
        assert unchecked.message.startswith("not checked: ")
        assert f"{rule}:1" in editor.messages[0]
        assert await editor.hover(uri, "64x100x16") is None
        rule.write_text("")
        editor.replace(uri, "64x100x16", "64x102x16")
        assert codes(await editor.findings(uri)) == ["WG101"]

    session(author)


GARBAGE = {
    "empty": "",
    "control": "\0\x01\x02",
    "brackets": "(((((" * 20_000,
    "replacement": "\ufffd\ufeff" * 3,
    "marks": "!" * 5000,
    "unclosed": "module {\n" * 3000,
    "line ends": "\r\r\n\u2028\x85\f" * 50,
    "backwards": GOOD[::-1],
    "long": 'module { %0 = "a"() : () -> i32 }\n' * 5_000,
}


def test_garbage_is_survived(tmp_path: Path, session):
    async def author(editor: Editor) -> None:
        uri = editor.open(tmp_path / "k.mlir", BROKEN)
        for text in GARBAGE.values():
            editor.send(uri, text, [lsp.TextDocumentContentChangeWholeDocument(text)])
            await editor.findings(uri)
            beyond = lsp.Position(2**31 - 1, 2**31 - 1)
            await editor.client.text_document_hover_async(lsp.HoverParams(lsp.TextDocumentIdentifier(uri), beyond))
            away = lsp.Range(lsp.Position(10**6, 9), lsp.Position(10**6, 7))
            editor.send(uri, text, [lsp.TextDocumentContentChangePartial(range=away, text="")])
        unknown = lsp.VersionedTextDocumentIdentifier(uri="file:///no/such.mlir", version=1)
        change = lsp.TextDocumentContentChangeWholeDocument("x")
        editor.client.text_document_did_change(lsp.DidChangeTextDocumentParams(unknown, [change]))
        editor.send(uri, BROKEN, [lsp.TextDocumentContentChangeWholeDocument(BROKEN)])
        assert codes(await editor.findings(uri)) == ["WG101"]
        assert editor.messages == []

    session(author)


@pytest.mark.sweep
def test_a_file_that_is_deleted_is_still_checked_as_it_is_in_the_editor(tmp_path: Path, session):
    folder = tmp_path / "gone"
    folder.mkdir()
    path = folder / "k.mlir"
    path.write_text(BROKEN)

    async def author(editor: Editor) -> None:
        uri = editor.open(path)
        await editor.findings(uri)
        shutil.rmtree(folder)
        editor.replace(uri, "64x100x16", "64x101x16")
        assert codes(await editor.findings(uri)) == ["WG101"]

    session(author)


def test_only_the_newest_of_many_edits_is_shown(tmp_path: Path, session):
    async def author(editor: Editor) -> None:
        uri = editor.open(tmp_path / "k.mlir", BROKEN)
        for i in range(20):
            editor.replace(uri, f"64x{100 + 2 * i}x16", f"64x{102 + 2 * i}x16")
        assert "N = 140" in (await editor.findings(uri))[0].message
        versions = [one.version for one in editor.published]
        assert versions[-1] == editor.versions[uri]
        assert versions == sorted(versions)
        assert len(versions) < 10

    session(author)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds the worker in /proc")
@pytest.mark.sweep
def test_a_check_that_dies_is_said_and_the_next_one_works(tmp_path: Path, session):
    def workers() -> list[int]:
        found = []
        for one in Path("/proc").glob("[0-9]*"):
            try:
                words = (one / "cmdline").read_bytes().split(b"\0")
                mine = (one / "cwd").readlink() == tmp_path
            except OSError:
                continue
            if mine and b"tileproof.server.worker" in words:
                found.append(int(one.name))
        return found

    async def author(editor: Editor) -> None:
        uri = editor.open(tmp_path / "k.mlir", BROKEN)
        await editor.findings(uri)
        (worker,) = workers()
        os.kill(worker, signal.SIGSTOP)
        version = editor.replace(uri, "64x100x16", "64x102x16")
        await asyncio.sleep(0.5)
        os.kill(worker, signal.SIGKILL)
        (unchecked,) = await editor.findings(uri, version)
        assert unchecked.message.startswith("not checked: ")
        assert "has ended" in editor.messages[0]
        editor.replace(uri, "64x102x16", "64x104x100")
        assert await editor.findings(uri) != []

    session(author)


def test_without_pygls_one_line_says_what_to_install(tmp_path: Path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nfrom importlib.abc import MetaPathFinder\n"
        "class No(MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name.partition('.')[0] == 'pygls':\n            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, No())\n"
    )
    done = tileproof("lsp", PYTHONPATH=os.pathsep.join([str(tmp_path), str(EXAMPLES.parent / "engine")]))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "tileproof: the language server needs pygls: pip install 'tileproof[lsp]'\n"
