"""The server itself: the protocol of editors on one side, workers on the other.

Edits of one text come faster than checks end. Each edit starts a check a little later, and ends the one that it makes
useless; findings are shown for the version that they are of, and for no other. Checks have a worker of their own, so
that a page over the text does not wait for them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method
from pygls.uris import from_fs_path, to_fs_path

from tileproof import __version__
from tileproof.base.diagnostic import Edit
from tileproof.base.records import dataclass
from tileproof.server.process import Worker
from tileproof.server.replies import Action, Away, Checked, Document, Found, Label, LineEdit, Mark, Page, Reply, Request
from tileproof.server.texts import Text, units

DELAY = 0.2  # seconds after the last edit
SUFFIXES = (".mlir", ".ptx")
LANGUAGES = ("mlir", "ptx")
_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}
_END = 2**31 - 1  # a column behind every line


@dataclass(frozen=True, slots=True)
class Opened:
    """A text that is open in the editor. ``file``: its path, or its address where it has none."""

    uri: str
    file: str
    version: int
    text: Text

    @property
    def document(self) -> Document:
        """The text as workers get it."""
        return Document(self.file, self.text.content)

    def range(self, start: int, end: int) -> lsp.Range:
        """A place as the editor counts."""
        return lsp.Range(lsp.Position(*self.text.place(start)), lsp.Position(*self.text.place(end)))

    def offset(self, position: lsp.Position) -> int:
        """A place as the text counts."""
        return self.text.offset(position.line, position.character)


@dataclass(frozen=True, slots=True)
class Shown:
    """The findings that the editor has, and the text that they are of."""

    opened: Opened
    findings: tuple[Found, ...]


class _Protocol(LanguageServerProtocol):
    """Leaves texts to ``Server``: the library's own count a form feed as the end of a line, editors do not."""

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> Iterator[Any]:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> Iterator[Any]:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> Iterator[Any]:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CLOSE], (params,), None


class Server(LanguageServer):
    """What is open, what is shown, and what runs."""

    def __init__(self) -> None:
        super().__init__(
            "tileproof", __version__, protocol_cls=_Protocol, converter_factory=default_converter, max_workers=2
        )
        self.opened: dict[str, Opened] = {}
        self.shown: dict[str, Shown] = {}
        self.checks: dict[str, asyncio.Task[None]] = {}
        self.said: set[str] = set()
        self.checker = Worker()
        self.answerer = Worker()

    # -- texts

    def open(self, item: lsp.TextDocumentItem) -> None:
        """Keep a text, and check it if it may be IR or PTX."""
        file = to_fs_path(item.uri) if item.uri.startswith("file:") else None
        if not (file or item.uri).endswith(SUFFIXES) and item.language_id not in LANGUAGES:
            return
        encoding = self.workspace.position_encoding
        text = Text(item.text, str(getattr(encoding, "value", encoding)))
        self.opened[item.uri] = Opened(item.uri, file or item.uri, item.version, text)
        self.check(item.uri, 0)

    def change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """Edit a text, and check it a little later."""
        held = self.opened.get(params.text_document.uri)
        if held is None:
            return
        text = held.text
        for one in params.content_changes:
            if isinstance(one, lsp.TextDocumentContentChangePartial):
                start, end = one.range.start, one.range.end
                text = text.with_change((start.line, start.character), (end.line, end.character), one.text)
            else:
                text = Text(one.text, text.encoding)
        self.opened[held.uri] = Opened(held.uri, held.file, params.text_document.version, text)
        self.check(held.uri, DELAY)

    def close(self, uri: str) -> None:
        """Forget a text and what is shown of it."""
        if (check := self.checks.pop(uri, None)) is not None:
            check.cancel()
        self.shown.pop(uri, None)
        if self.opened.pop(uri, None) is not None:
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    # -- checks

    def warm_up(self) -> None:
        """Let the worker load the rules before the first text is opened."""
        self.checks[""] = asyncio.ensure_future(self._warm_up())

    async def _warm_up(self) -> None:
        await self.checker.ask(Request("check", Document("", "")))

    def check(self, uri: str, delay: float) -> None:
        """Check a text after a delay in seconds, instead of the check that runs; without one its result is kept."""
        if (running := self.checks.get(uri)) is not None:
            running.cancel()
        self.checks[uri] = asyncio.ensure_future(self._check(uri, delay))

    def check_all(self) -> None:
        """Check what is open again: settings or rules may have changed."""
        self.said.clear()
        for uri in self.opened:
            self.check(uri, DELAY)

    async def _check(self, uri: str, delay: float) -> None:
        await asyncio.sleep(delay)
        opened = self.opened[uri]
        reply = await self.reply(self.checker, Request("check", opened.document, (delay == 0,)))
        if self.opened.get(uri) is not opened:
            return
        found = reply.value
        findings = found.findings if isinstance(found, Checked) else ()
        if isinstance(found, Checked) and found.refused:
            self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Info, f"{opened.file}: {found.refused}"))
        self.shown[uri] = Shown(opened, findings)
        diagnostics = [_diagnostic(opened, one) for one in findings]
        if reply.problem:
            diagnostics = [_unchecked(reply.problem)]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics, opened.version))

    async def ask(self, worker: Worker, request: Request) -> object:
        """The answer of a worker; None where there is a problem, which is shown."""
        return (await self.reply(worker, request)).value

    async def reply(self, worker: Worker, request: Request) -> Reply:
        """What a worker says; a problem is shown, once as long as it stays the same."""
        reply = await worker.ask(request)
        if not reply.problem:
            if worker is self.checker:
                self.said.clear()
        elif reply.problem not in self.said:
            self.said.add(reply.problem)
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, f"tileproof: {reply.problem}"))
        return reply

    # -- what is shown

    def at(self, uri: str, where: lsp.Range) -> list[Found]:
        """The findings that are shown at a place, if the text is still the one that they are of."""
        shown = self.shown.get(uri)
        if shown is None or self.opened.get(uri) is not shown.opened:
            return []
        start, end = shown.opened.offset(where.start), shown.opened.offset(where.end)
        return [one for one in shown.findings if one.start <= end and start <= one.end]

    async def hover(self, params: lsp.HoverParams) -> lsp.Hover | None:
        opened = self.opened.get(params.text_document.uri)
        if opened is None:
            return None
        request = Request("page", opened.document, (opened.offset(params.position),))
        page = await self.ask(self.answerer, request)
        if not isinstance(page, Page):
            return None
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, page.markdown)
        return lsp.Hover(content, opened.range(page.start, page.end))

    async def actions(self, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        findings, opened = self.at(uri, params.range), self.opened.get(uri)
        only = params.context.only
        fix = lsp.CodeActionKind.QuickFix.value
        wanted = only is None or any(f"{fix}.".startswith(f"{getattr(one, 'value', one)}.") for one in only)
        if not findings or opened is None or not wanted:
            return []
        answer = await self.ask(self.answerer, Request("actions", opened.document, (findings,)))
        return [_action(opened, findings, one) for one in answer] if isinstance(answer, list) else []

    async def labels(self, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        opened = self.opened.get(params.text_document.uri)
        answer = None if opened is None else await self.ask(self.answerer, Request("labels", opened.document))
        if opened is None or not isinstance(answer, list):
            return []
        first, last = params.range.start.line, params.range.end.line
        return [_hint(opened, one) for one in answer if first <= one.line - 1 <= last]

    def related(self, uri: str, position: lsp.Position) -> list[lsp.Location]:
        """The places that the findings at a place are about."""
        shown = self.shown.get(uri)
        found = self.at(uri, lsp.Range(position, position))
        return [] if shown is None else _once(_location(shown.opened, place) for one in found for place in one.related)

    def references(self, uri: str, position: lsp.Position) -> list[lsp.Location]:
        """The findings that are about a place, and the other places that they are about."""
        shown = self.shown.get(uri)
        if shown is None or self.opened.get(uri) is not shown.opened:
            return []
        at = shown.opened.offset(position)
        found = self.at(uri, lsp.Range(position, position))
        found += [
            one
            for one in shown.findings
            if any(isinstance(place, Mark) and place.start <= at <= place.end for place in one.related)
        ]
        own = [lsp.Location(uri, shown.opened.range(one.start, one.end)) for one in found]
        return _once([*own, *(_location(shown.opened, place) for one in found for place in one.related)])


def _once(places: Any) -> list[lsp.Location]:
    """Places, each once, in their order."""
    found: list[lsp.Location] = []
    for place in places:
        if place not in found:
            found.append(place)
    return found


def _unchecked(problem: str) -> lsp.Diagnostic:
    """At the first line, that a text was not checked: an empty list would say that nothing is wrong."""
    where = lsp.Range(lsp.Position(0, 0), lsp.Position(0, _END))
    message = f"not checked: {problem}"
    return lsp.Diagnostic(where, message, lsp.DiagnosticSeverity.Error, source="tileproof")


def _diagnostic(opened: Opened, one: Found) -> lsp.Diagnostic:
    return lsp.Diagnostic(
        range=opened.range(one.start, one.end),
        message=f"{one.message}\nhint: {one.hint}" if one.hint else one.message,
        severity=_SEVERITIES[one.severity],
        code=one.code,
        code_description=lsp.CodeDescription(one.href) if one.href else None,
        source="tileproof",
        tags=[lsp.DiagnosticTag.Unnecessary] if one.unused else None,
        related_information=[
            lsp.DiagnosticRelatedInformation(_location(opened, place), place.message) for place in one.related
        ]
        or None,
    )


def _location(opened: Opened, place: Mark | Away) -> lsp.Location:
    if isinstance(place, Mark):
        return lsp.Location(opened.uri, opened.range(place.start, place.end))
    line, column = max(place.line - 1, 0), max(place.column - 1, 0)
    end = lsp.Position(line, column if place.column else _END)
    return lsp.Location(_uri(place.file), lsp.Range(lsp.Position(line, column), end))


def _uri(file: str) -> str:
    return from_fs_path(file) or Path(file).as_uri()


def _action(opened: Opened, findings: list[Found], one: Action) -> lsp.CodeAction:
    changes: dict[str, list[lsp.TextEdit]] = {}
    for edit in one.edits:
        uri, changed = _edit(opened, edit)
        changes.setdefault(uri, []).append(changed)
    return lsp.CodeAction(
        title=one.title,
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=[_diagnostic(opened, findings[one.finding])],
        is_preferred=one.repairs or None,
        edit=lsp.WorkspaceEdit(changes=changes),
    )


def _edit(opened: Opened, edit: Edit | LineEdit) -> tuple[str, lsp.TextEdit]:
    if isinstance(edit, Edit):
        return opened.uri, lsp.TextEdit(opened.range(edit.span.start, edit.span.end), edit.text)
    encoding = opened.text.encoding
    start, line = units(edit.before, encoding), edit.line - 1
    place = lsp.Range(lsp.Position(line, start), lsp.Position(line, start + units(edit.removed, encoding)))
    return _uri(edit.file), lsp.TextEdit(place, edit.text)


def _hint(opened: Opened, one: Label) -> lsp.InlayHint:
    return lsp.InlayHint(lsp.Position(*opened.text.end_of(one.line - 1)), one.text, padding_left=True)


def server() -> Server:
    """A server with its features."""
    made = Server()

    @made.feature(lsp.INITIALIZED)
    def initialized(_: lsp.InitializedParams) -> None:
        made.warm_up()

    @made.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        made.open(params.text_document)

    @made.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        made.change(params)

    @made.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        if params.text_document.uri in made.opened:
            made.check(params.text_document.uri, 0)

    @made.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        made.close(params.text_document.uri)

    @made.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched(_: lsp.DidChangeWatchedFilesParams) -> None:
        made.check_all()

    @made.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        return await made.hover(params)

    @made.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]))
    async def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return await made.actions(params)

    @made.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    async def labels(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        return await made.labels(params)

    @made.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> list[lsp.Location]:
        return made.related(params.text_document.uri, params.position)

    @made.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        return made.references(params.text_document.uri, params.position)

    @made.feature(lsp.SHUTDOWN)
    async def shutdown(*_: object) -> None:
        for check in made.checks.values():
            check.cancel()
        await made.checker.close()
        await made.answerer.close()

    return made


def serve() -> None:
    """Serve one editor over standard input and output, until it ends."""
    logging.basicConfig(level=logging.ERROR)  # to standard error, which editors show as the server's log
    server().start_io()
