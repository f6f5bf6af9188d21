"""The HTML report: all that was found, escaped, and usable by keyboard."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import chromium
import pytest

import tileproof
from tileproof.base.diagnostic import Diagnostic, Related, Severity
from tileproof.base.source import Source, Span
from tileproof.judge.outcome import FileReport, Options
from tileproof.report import html
from tileproof.report.values import Report, Unread
from tileproof.rulebase.load import default_files, load

BOOK = load(default_files())
DATA = Path(__file__).parent / "data"
HOSTILE = "</pre></script><script>alert('x')</script>\"&amp;\x1b[31m\u202e<img src=x onerror=alert(1)>"
VOID = {"meta", "br"}


class Outline(HTMLParser):
    """The elements and the text of a page; fails on an element that is not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.started: list[tuple[str, dict]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.started.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def hostile() -> Report:
    source = Source(HOSTILE, f"one\n{HOSTILE}\n")
    found = [
        Diagnostic(
            source,
            Span(4, 20),
            "XX1",
            HOSTILE,
            one,
            HOSTILE,
            HOSTILE,
            (HOSTILE,),
            related=(Related(Span(0, 1), HOSTILE),),
        )
        for one in Severity
    ]
    return Report((FileReport(source, tuple(found), None),), (Unread(HOSTILE, HOSTILE),), Options("ptx"), BOOK)


def test_all_that_was_found_is_there():
    report = tileproof.check(DATA / "broken.mlir", DATA / "partly.mlir")
    outline = Outline(html.render(report))
    articles = [attributes for tag, attributes in outline.started if tag == "article"]
    assert [one["class"] for one in articles] == [one.severity.value for one in report.diagnostics]
    for one in report.diagnostics:
        line, column = one.source.position(one.span.start)
        for said in (one.message, one.hint, one.code, *one.sources, f"{one.source.name}:{line}:{column}"):
            assert said in outline.text
    for kernel in report.files[1].kernels:
        assert kernel.name in outline.text
        assert all(reason.message in outline.text for reason in kernel.reasons)


def test_sources_are_links_where_they_have_an_address():
    outline = Outline(html.render(tileproof.check(DATA / "broken.mlir")))
    links = [attributes["href"] for tag, attributes in outline.started if tag == "a"]
    assert links
    assert all(link.startswith("https://") for link in links)


def test_the_page_loads_nothing():
    page = html.render(hostile())
    outline = Outline(page)
    assert not {tag for tag, _ in outline.started} & {"img", "link", "iframe", "object"}
    assert not any("src" in attributes for _, attributes in outline.started)
    assert "url(" not in page
    assert "default-src 'none'" in page


def test_hostile_text_is_text():
    outline = Outline(html.render(hostile()))
    assert [tag for tag, _ in outline.started].count("script") == 1
    assert "\x1b" not in outline.text
    assert "</pre></script><script>alert('x')</script>" in outline.text


def test_notebooks_show_reports_and_findings():
    report = tileproof.check(DATA / "broken.mlir")
    assert len(repr(report)) < 200
    assert repr(report).startswith("Report(files=1, unread=0, errors=")
    assert len(repr(report.diagnostics[0])) < 500
    shown = Outline(report._repr_html_())
    assert [tag for tag, _ in shown.started].count("article") == len(report.diagnostics)
    assert [tag for tag, _ in Outline(report.diagnostics[0]._repr_html_()).started].count("article") == 1
    assert "<script" not in report._repr_html_()


@chromium.needed
@pytest.mark.parametrize(
    ("keys", "hidden"), [((), 0), (("3",), 1), (("1", "2"), 2), (("1", "2", "3"), 3), (("3", "3"), 0)]
)
def test_severities_are_filtered_by_keyboard(keys: tuple[str, ...], hidden: int, tmp_path: Path):
    shown = chromium.dom(html.render(hostile()), tmp_path, chromium.press(*keys))
    assert "SCRIPT ERROR" not in shown
    assert len(re.findall(r"<article[^>]* hidden", shown)) == hidden
    assert "<img" not in shown


@chromium.needed
def test_findings_are_walked_by_keyboard_and_filtered_by_mouse(tmp_path: Path):
    script = "document.querySelector('nav button').click();" + chromium.press("j", "j", "j", "k")
    script += "document.title=document.activeElement.className"
    shown = chromium.dom(html.render(hostile()), tmp_path, script)
    assert "<title>warning</title>" in shown
