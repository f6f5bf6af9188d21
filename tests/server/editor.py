"""An editor for tests: pygls's client, which starts the real server and speaks to it over its standard streams."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tileproof.base.resources import PACKAGE

pytest.importorskip("pygls", reason="pygls is not installed (the extra `lsp`)")

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

SECONDS = 90  # for any answer: machines that run tests are busy


class Editor:
    """The client, the texts that it has open, and what the server said."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.published: list[lsp.PublishDiagnosticsParams] = []
        self.messages: list[str] = []
        self.news = asyncio.Condition()

        @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        async def published(params: lsp.PublishDiagnosticsParams) -> None:
            self.published.append(params)
            await self.announce()

        @client.feature(lsp.WINDOW_SHOW_MESSAGE)
        async def message(params: lsp.ShowMessageParams) -> None:
            self.messages.append(params.message)
            await self.announce()

        @client.feature(lsp.WINDOW_LOG_MESSAGE)
        async def log(params: lsp.LogMessageParams) -> None:
            pass

    async def announce(self) -> None:
        async with self.news:
            self.news.notify_all()

    async def until(self, holds: Callable[[], bool]) -> None:
        async with self.news:
            await asyncio.wait_for(self.news.wait_for(holds), SECONDS)

    def open(self, path: Path, text: str | None = None) -> str:
        """Open a file, with another text than it has where one is given; its address."""
        uri = path.as_uri()
        self.texts[uri] = path.read_text(encoding="utf-8") if text is None else text
        self.versions[uri] = 1
        item = lsp.TextDocumentItem(uri, path.suffix[1:], 1, self.texts[uri])
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return uri

    def edit(self, uri: str, *edits: lsp.TextEdit) -> int:
        """Apply edits, the last place first, as one change; the new version."""
        text = self.texts[uri]
        ordered = sorted(edits, key=lambda one: (one.range.start.line, one.range.start.character), reverse=True)
        for one in ordered:
            start, end = offset(text, one.range.start), offset(text, one.range.end)
            text = text[:start] + one.new_text + text[end:]
        changes = [lsp.TextDocumentContentChangePartial(range=one.range, text=one.new_text) for one in ordered]
        return self.send(uri, text, changes)

    def send(self, uri: str, text: str, changes: list[lsp.TextDocumentContentChangeEvent]) -> int:
        self.texts[uri] = text
        self.versions[uri] += 1
        item = lsp.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(item, changes))
        return self.versions[uri]

    def replace(self, uri: str, old: str, new: str) -> int:
        """Replace a piece of text wherever it is, as one change."""
        text = self.texts[uri]
        spans = [found.span() for found in re.finditer(re.escape(old), text)]
        assert spans
        where = [lsp.Range(place(text, start), place(text, end)) for start, end in spans]
        return self.edit(uri, *(lsp.TextEdit(one, new) for one in where))

    async def findings(self, uri: str, version: int | None = None) -> list[lsp.Diagnostic]:
        """What is published of a version, by default of the newest; not the notes on what was not verified."""
        wanted = self.versions[uri] if version is None else version

        def there() -> bool:
            return any(one.uri == uri and one.version == wanted for one in self.published)

        await self.until(there)
        found = [one for one in self.published if one.uri == uri and one.version == wanted][-1]
        return [one for one in found.diagnostics if one.code != "PR190"]

    async def hover(self, uri: str, needle: str, within: int = 0) -> lsp.Hover | None:
        at = place(self.texts[uri], self.texts[uri].index(needle) + within)
        return await self.client.text_document_hover_async(lsp.HoverParams(lsp.TextDocumentIdentifier(uri), at))

    async def actions(self, uri: str, where: lsp.Range) -> list[lsp.CodeAction]:
        context = lsp.CodeActionContext(diagnostics=[])
        parameters = lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), where, context)
        return list(await self.client.text_document_code_action_async(parameters) or [])


def place(text: str, at: int) -> lsp.Position:
    """An offset as the protocol counts: by UTF-16, lines end with a line feed in these tests."""
    start = text.rfind("\n", 0, at) + 1
    return lsp.Position(text.count("\n", 0, at), len(text[start:at].encode("utf-16-le")) // 2)


def offset(text: str, at: lsp.Position) -> int:
    line = text.split("\n")[at.line]
    start = sum(len(one) + 1 for one in text.split("\n")[: at.line])
    return start + len(line.encode("utf-16-le")[: 2 * at.character].decode("utf-16-le"))


@asynccontextmanager
async def editing(folder: Path, *encodings: lsp.PositionEncodingKind) -> AsyncIterator[Editor]:
    """A server for a folder, ended as editors do. ``encodings``: those that the editor knows, the best first."""
    client = LanguageClient("tests", "1")
    editor = Editor(client)
    path = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path}
    await client.start_io(sys.executable, "-m", "tileproof.cli", "lsp", env=environment, cwd=folder)
    general = lsp.GeneralClientCapabilities(position_encodings=list(encodings)) if encodings else None
    parameters = lsp.InitializeParams(lsp.ClientCapabilities(general=general), root_uri=folder.as_uri())
    await asyncio.wait_for(client.initialize_async(parameters), SECONDS)
    client.initialized(lsp.InitializedParams())
    try:
        yield editor
    finally:
        await asyncio.wait_for(client.shutdown_async(None), SECONDS)
        client.exit(None)
        await asyncio.wait_for(client.stop(), SECONDS)
