"""Pictures as one HTML page that needs nothing else: dark where the reader's system is, and usable by keyboard."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tileproof.drawing.svg import INKS, escape

_STYLE = """
:root{color-scheme:light dark;LIGHT}
@media (prefers-color-scheme:dark){:root{DARK}}
body{margin:0;padding:0 0 4.5rem;background:var(--paper);color:var(--ink);
font:15px system-ui,-apple-system,'Segoe UI',sans-serif}
main{overflow-x:auto;padding:.5rem}
svg{display:block}
.cell{cursor:crosshair}
.cell:focus-visible{outline:none}
footer{position:fixed;bottom:0;left:0;right:0;background:var(--plain);border-top:1px solid var(--rule);
padding:.55rem 1.1rem;display:flex;gap:1.5rem;align-items:baseline;justify-content:space-between}
output{font:600 14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;overflow-wrap:anywhere}
footer span{color:var(--quiet);font-size:12px;white-space:nowrap}
kbd{border:1px solid var(--rule);border-radius:3px;padding:0 .3em;font:inherit}
"""

_SCRIPT = """
"use strict";
const cells = [...document.querySelectorAll(".cell")];
const out = document.querySelector("output");
const where = new Map();
cells.forEach((cell, index) => {
  cell.tabIndex = 0;
  const at = (cell.dataset.at || "0,0," + index).split(",").map(Number);
  cell.at = at;
  where.set(at.join(), cell);
  const title = cell.querySelector("title");
  cell.setAttribute("role", "img");
  cell.setAttribute("aria-label", title.textContent);
  const show = () => { out.textContent = title.textContent; };
  cell.addEventListener("focus", show);
  cell.addEventListener("mouseenter", show);
  cell.addEventListener("click", () => cell.focus());
});
const steps = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
document.addEventListener("keydown", (event) => {
  const here = document.activeElement;
  if (event.key === "Home" || event.key === "End") {
    const to = event.key === "Home" ? cells[0] : cells[cells.length - 1];
    if (to) { to.focus(); event.preventDefault(); }
    return;
  }
  const step = steps[event.key];
  if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  if (!here || !here.at) { if (cells[0]) cells[0].focus(); return; }
  const [panel, row, column] = here.at;
  const near = where.get([panel, row + step[0], column + step[1]].join());
  if (near) { near.focus(); return; }
  const sign = step[0] || step[1], axis = step[0] ? 1 : 2;
  const score = (one) => Math.abs(one.at[axis] - here.at[axis]) + 1000 * Math.abs(one.at[3 - axis] - here.at[3 - axis]);
  const ahead = cells.filter((one) => one.at[0] === panel && (one.at[axis] - here.at[axis]) * sign > 0);
  const other = cells.filter((one) => one.at[0] === panel + sign);
  const to = ahead.length ? ahead.reduce((a, b) => (score(b) < score(a) ? b : a)) : other[0];
  if (to) to.focus();
});
"""


def page(title: str, pictures: Sequence[str]) -> str:
    """A page with pictures.

    Args:
        pictures: SVG documents, which come as they are.
    """
    light = ";".join(f"--{name}:{one}" for name, (one, _) in INKS.items())
    dark = ";".join(f"--{name}:{one}" for name, (_, one) in INKS.items())
    style = re.sub(r"\n", "", _STYLE).replace("LIGHT", light).replace("DARK", dark)
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; ',
            "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n",
            '<meta name="viewport" content="width=device-width">\n',
            f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n",
            *(f"{picture}\n" for picture in pictures),
            '</main>\n<footer><output aria-live="polite">Move over a cell, or press an arrow key.</output>',
            "<span><kbd>arrows</kbd> <kbd>Tab</kbd> move, <kbd>Home</kbd> <kbd>End</kbd> ends</span></footer>\n",
            f"<script>{_SCRIPT}</script>\n</body>\n</html>\n",
        )
    )
