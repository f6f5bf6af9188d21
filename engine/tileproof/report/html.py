"""Reports as one HTML page that needs nothing else: for people who were not there when it was made.

The page is dark where the reader's system is. Severities are filtered by mouse, or by the keys 1, 2 and 3; j and k, or
the arrows, go from finding to finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from tileproof.base.diagnostic import Diagnostic, Severity
from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.base.source import Source, Span
from tileproof.judge.coverage import KernelCoverage
from tileproof.report.origins import line_of, place_of
from tileproof.report.text import plural, summary, window
from tileproof.report.values import Report

_CONTROL = regex("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST = 100  # characters of a related line that are shown
_STATUS = {"followed": "followed", "partly": "verified in part", "unfollowed": "not verified"}
_STYLE = """
.tileproof-report{--ink:#1f2328;--quiet:#59636e;--paper:#fff;--plain:#f6f8fa;--rule:#d1d9e0;--link:#0969da;
--error:#cf222e;--warning:#9a6700;--note:#0969da;--mark:#ffd8b5;
color:var(--ink);background:var(--paper);font:15px/1.45 system-ui,-apple-system,'Segoe UI',sans-serif}
@media (prefers-color-scheme:dark){.tileproof-report{--ink:#e6edf3;--quiet:#9198a1;--paper:#0d1117;--plain:#151b23;
--rule:#3d444d;--link:#58a6ff;--error:#ff7b72;--warning:#e3b341;--note:#79c0ff;--mark:#6e3b12}}
.tileproof-report a{color:var(--link)}
.tileproof-report code,.tileproof-report pre,.tileproof-report .place{
font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}
.tileproof-report pre{margin:.4rem 0;padding:.5rem .8rem;background:var(--plain);border-radius:6px;overflow-x:auto}
.tileproof-report pre i{color:var(--quiet);font-style:normal;user-select:none}
.tileproof-report mark{background:var(--mark);color:inherit;border-radius:2px}
.tileproof-report article{border:1px solid var(--rule);border-left:4px solid var(--hue);border-radius:8px;
padding:.7rem 1rem;margin:.8rem 0}
.tileproof-report article:focus{outline:2px solid var(--link)}
.tileproof-report .error{--hue:var(--error)}
.tileproof-report .warning{--hue:var(--warning)}
.tileproof-report .note{--hue:var(--note)}
.tileproof-report h2,.tileproof-report h3{font-size:1rem;margin:0 0 .3rem;overflow-wrap:anywhere}
.tileproof-report b.tag{color:var(--hue)}
.tileproof-report .quiet,.tileproof-report .place{color:var(--quiet)}
.tileproof-report .place{overflow-wrap:anywhere}
.tileproof-report details{margin:.5rem 0 0}
.tileproof-report summary{color:var(--link);cursor:pointer;overflow-wrap:anywhere}
.tileproof-report details div{overflow-x:auto;margin:.4rem 0 0}
.tileproof-report svg{display:block}
.tileproof-report dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem .8rem;margin:.5rem 0 0}
.tileproof-report dt{color:var(--quiet)}
.tileproof-report dd{margin:0;overflow-wrap:anywhere}
.tileproof-report table{border-collapse:collapse;margin:.6rem 0;width:100%}
.tileproof-report th,.tileproof-report td{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;
border-bottom:1px solid var(--rule);white-space:nowrap}
.tileproof-report td:first-child,.tileproof-report td:last-child{white-space:normal;overflow-wrap:anywhere}
"""
_PAGE_STYLE = """
body{margin:0}
main{max-width:70rem;margin:auto;padding:1rem 1.2rem 4rem}
h1{font-size:1.35rem;margin:.4rem 0}
nav{position:sticky;top:0;background:var(--paper);padding:.5rem 0;border-bottom:1px solid var(--rule)}
button{font:inherit;color:var(--ink);background:var(--plain);border:1px solid var(--rule);border-radius:1rem;
padding:.15rem .8rem;margin-right:.5rem;cursor:pointer}
button[aria-pressed=true]{border-color:var(--hue);box-shadow:inset 0 0 0 1px var(--hue)}
button[aria-pressed=false]{opacity:.55}
"""
_SCRIPT = """
"use strict";
const buttons = [...document.querySelectorAll("nav button")];
const findings = [...document.querySelectorAll("article")];
function toggle(button) {
  const on = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", on);
  for (const one of findings) if (one.classList.contains(button.dataset.severity)) one.hidden = !on;
}
buttons.forEach((button) => button.addEventListener("click", () => toggle(button)));
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const button = buttons[Number(event.key) - 1];
  if (button) { toggle(button); return; }
  const step = {j: 1, ArrowDown: 1, k: -1, ArrowUp: -1}[event.key];
  const shown = findings.filter((one) => !one.hidden);
  if (!step || !shown.length) return;
  event.preventDefault();
  const at = shown.indexOf(document.activeElement);
  shown[at < 0 ? 0 : Math.min(Math.max(at + step, 0), shown.length - 1)].focus();
});
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class Pictures:
    """Pictures of findings, by the place of the finding in the report: titles with SVG documents, taken as they are.

    Attributes:
        left_out: findings whose pictures a page has no room for.
    """

    by_finding: Mapping[int, Sequence[tuple[str, str]]]
    left_out: int = 0


def render(report: Report, pictures: Pictures | None = None) -> str:
    """The report as a page."""
    drawn = pictures or Pictures({})
    counts = [(severity.value, report.count(severity)) for severity in Severity]
    buttons = "".join(
        f'<button class="{name}" data-severity="{name}" aria-pressed="true">{plural(count, name)}</button>'
        for name, count in counts
    )
    title = escape(", ".join(plural(count, name) for name, count in counts if count) or "no finding")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>tileproof: {title}</title>\n<style>{_packed(_STYLE)}{_packed(_PAGE_STYLE)}</style>\n</head>\n"
        f'<body class="tileproof-report">\n<main>\n<h1>tileproof check</h1>\n<p>{_said(summary(report))}</p>\n'
        f'{_unread(report)}{_kernels(report)}<nav aria-label="severities">{buttons}'
        '<span class="quiet">keys: 1 2 3 filter, j k next and previous</span></nav>\n'
        + "".join(f"{one}\n" for one in _articles(report, drawn))
        + _left_out(drawn.left_out)
        + f"</main>\n<script>{_SCRIPT}</script>\n</body>\n</html>"
    )


def fragment(value: Report | Diagnostic) -> str:
    """A report or one finding, for a notebook."""
    if isinstance(value, Report):
        inside = (
            f"<p>{_said(summary(value))}</p>{_unread(value)}{_kernels(value)}{''.join(_articles(value, Pictures({})))}"
        )
    else:
        inside = _article(value, {})
    return f'<div class="tileproof-report"><style>{_packed(_STYLE)}</style>{inside}</div>'


def _said(text: str) -> str:
    """Text as HTML holds it; characters that a browser would act on, or not show, become U+FFFD."""
    return escape(_CONTROL.sub("\ufffd", text))


def _packed(style: str) -> str:
    return style.replace("\n", "")


def _unread(report: Report) -> str:
    return "".join(
        f'<p class="error"><b class="tag">not checked</b> {_said(one.name)}: {_said(one.reason)}</p>\n'
        for one in report.unread
    )


def _kernels(report: Report) -> str:
    """What was verified of each kernel; nothing where none uses a protocol."""
    rows = [_kernel(file.source, kernel, not file.sound) for file in report.files for kernel in file.kernels]
    if not rows:
        return ""
    heads = "".join(
        f"<th>{name}</th>" for name in ("kernel", "protocol", "steps", "MMAs", "iterations", "not verified")
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>\n"


def _kernel(source: Source, kernel: KernelCoverage, wrong: bool) -> str:
    line = source.position(kernel.span.start).line
    status = "verified" if kernel.status == "followed" and not wrong else _STATUS[kernel.status]
    reasons = "<br>".join(_said(one.message) for one in kernel.reasons) or "-"
    cells = (
        f'{_said(kernel.name)}<br><span class="place">{_said(source.name)}:{line}</span>',
        status,
        f"{kernel.executed} of {kernel.steps}",
        str(kernel.multiplies),
        str(kernel.iterations) if isinstance(kernel.iterations, str) else f"up to {kernel.iterations}",
        reasons,
    )
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _left_out(count: int) -> str:
    said = f"{plural(count, 'finding')} without a picture: `tileproof draw` draws any"
    return f'<p class="quiet">{_said(said)}</p>\n' if count else ""


def _articles(report: Report, pictures: Pictures) -> Iterator[str]:
    for i, one in enumerate(report.diagnostics):
        cited = report.book.named(one.code)
        urls = dict(zip(cited.sources, cited.urls, strict=True)) if cited else {}
        yield _article(one, urls, pictures.by_finding.get(i, ()))


def _article(diagnostic: Diagnostic, urls: Mapping[str, str], pictures: Sequence[tuple[str, str]] = ()) -> str:
    """One finding: the user's line first, then the text that was checked, and its pictures."""
    source, span, severity = diagnostic.source, diagnostic.span, diagnostic.severity.value
    line, column = source.position(span.start)
    parts = [
        f'<h3><b class="tag">{severity}</b> {_said(diagnostic.message)}'
        f" <code>{_said(diagnostic.code)} {_said(diagnostic.name)}</code></h3>"
    ]
    for i, origin in enumerate(diagnostic.origins):
        parts.append(f'<div class="place">{"by " if i else ""}{_said(place_of(origin))}</div>')
        if not i and (written := line_of(origin)).strip():
            at = max(origin.column - 1, len(written) - len(written.lstrip()))
            parts.append(_code(written, origin.line, at, 1))
    where = "in " if diagnostic.origins else ""
    parts.append(f'<div class="place">{where}{_said(source.name)}:{line}:{column}</div>')
    text = source.line(line)
    parts.append(_code(text, line, column - 1, min(span.end - span.start, len(text) - column + 1)))
    rows = [("hint", _said(diagnostic.hint))] if diagnostic.hint else []
    rows += [("source", _source(one, urls.get(one, ""))) for one in diagnostic.sources]
    rows += [("see", _place(source, one.span, one.message)) for one in diagnostic.related]
    listed = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows)
    parts.append(f"<dl>{listed}</dl>" if listed else "")
    parts += (f"<details><summary>{_said(title)}</summary><div>{svg}</div></details>" for title, svg in pictures)
    return f'<article class="{severity}" tabindex="0">{"".join(parts)}</article>'


def _code(text: str, line: int, at: int, length: int) -> str:
    """A line of a source, in which a piece is marked."""
    shown, at = window(text, at, max(length, 1))
    end = min(at + max(length, 1), len(shown))
    marked = f"{_said(shown[:at])}<mark>{_said(shown[at:end]) or ' '}</mark>{_said(shown[end:])}"
    return f"<pre><i>{line:5} | </i>{marked}</pre>"


def _source(text: str, url: str) -> str:
    """A source, as a link where it has an address of the web."""
    if url.startswith(("https://", "http://")):
        return f'<a href="{_said(url)}" rel="noreferrer">{_said(text)}</a>'
    return _said(text)


def _place(source: Source, span: Span, message: str) -> str:
    line, column = source.position(span.start)
    text = source.line(line).strip()[:_LONGEST]
    return f'<span class="place">{line}:{column}</span> {_said(message)} <code>{_said(text)}</code>'
