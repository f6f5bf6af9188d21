"""SVG as text: elements, escaping, and the style that all pictures share.

Colours are variables of CSS, so that a dark page gets dark pictures, with the light ones as they are for viewers that
know no variables. All rules are below the class ``tileproof``: a picture inside a notebook changes nothing around it.
"""

from __future__ import annotations

from collections.abc import Iterable

from tileproof.base.xml import writable
from tileproof.drawing.palette import Palette

CLASS = "tileproof"
CHARACTER = 6.65  # the width of one of the monospaced font, in units of the picture
INKS = {  # light, dark
    "ink": ("#1f2328", "#e6edf3"),
    "quiet": ("#59636e", "#9198a1"),
    "paper": ("#ffffff", "#0d1117"),
    "plain": ("#f3f5f7", "#1c2128"),
    "rule": ("#d1d9e0", "#3d444d"),
    "mark": ("#cf222e", "#ff7b72"),
    "link": ("#0969da", "#58a6ff"),
}
_RULES = (
    ("text", "font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"),
    ("text", "fill:ink"),
    (".name", "font:600 15px system-ui,-apple-system,'Segoe UI',sans-serif"),
    (".note", "font:12px system-ui,-apple-system,'Segoe UI',sans-serif;fill:quiet"),
    (".head", "font-weight:600"),
    (".axis", "font-size:10px;fill:quiet"),
    (".mid", "text-anchor:middle"),
    (".end", "text-anchor:end"),
    (".paper", "fill:paper"),
    (".plain", "fill:plain"),
    (".rule", "stroke:rule;fill:none"),
    (".link", "stroke:link;stroke-width:1.6;fill:none"),
    (".tip", "fill:link"),
    (".said", "fill:link;font-weight:600"),
    (".bad", "stroke:mark;stroke-width:2"),
    (".wrong", "fill:mark;font-weight:600"),
    (".cell:focus", "outline:none"),
    (".cell:focus rect", "stroke:ink;stroke-width:2.5"),
)
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


def escape(text: str) -> str:
    """Text as XML and HTML may hold it, in an attribute too; characters that XML has not become U+FFFD."""
    return writable(text).translate(_ESCAPES)


def number(value: float) -> str:
    """A length with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def element(name: str, *inside: str, **attributes: str | float) -> str:
    """An element around text that is escaped already; ``class_`` is ``class``, and ``a_b`` ``a-b``."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value) if isinstance(value, str) else number(value)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{given}>{''.join(inside)}</{name}>" if inside else f"<{name}{given}/>"


def text(x: float, y: float, said: str, class_: str = "") -> str:
    """A line of text whose baseline is at ``y``."""
    return element("text", escape(said), x=x, y=y, **({"class_": class_} if class_ else {}))


def arrow(points: Iterable[tuple[float, float]], kind: str = "link") -> str:
    """A line through points with a head at its end."""
    path = list(points)
    (x, y), (to_x, to_y) = path[-2:]
    length = max(((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5, 1e-6)
    along = (to_x - x) / length, (to_y - y) / length
    back = to_x - 7 * along[0], to_y - 7 * along[1]
    sides = [(back[0] - 3.5 * along[1], back[1] + 3.5 * along[0]), (back[0] + 3.5 * along[1], back[1] - 3.5 * along[0])]
    line = _points([*path[:-1], back])
    return element("polyline", points=line, class_=kind) + element(
        "polygon", points=_points([(to_x, to_y), *sides]), class_="tip"
    )


def _points(path: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{number(x)},{number(y)}" for x, y in path)


def style(palette: Palette, used: Iterable[int]) -> str:
    """The style sheet of a picture that uses some colours of a palette; ``.h7`` is the seventh."""
    hues = sorted(set(used))
    light = [f"--{name}:{one}" for name, (one, _) in INKS.items()]
    dark = [f"--{name}:{one}" for name, (_, one) in INKS.items()]
    light_hues = [f"--h{i}:{palette.light[i]}" for i in hues]
    dark_hues = [f"--h{i}:{palette.dark[i]}" for i in hues]
    own = f".{CLASS}.{palette.name}"
    rules = [f".{CLASS} {where}{{{_declared(what)}}}" for where, what in _RULES]
    rules += [f"{own} .h{i}{{fill:{palette.light[i]};fill:var(--h{i})}}" for i in hues]
    return "".join(
        (
            f".{CLASS}{{{';'.join(light)}}}{own}{{{';'.join(light_hues)}}}@media (prefers-color-scheme:dark){{",
            f".{CLASS}{{{';'.join(dark)}}}{own}{{{';'.join(dark_hues)}}}}}",
            *rules,
        )
    )


def _declared(what: str) -> str:
    """A declaration; a colour that is named by its ink is written twice, as it is and as a variable."""
    found = []
    for one in what.split(";"):
        name, _, value = one.partition(":")
        found.append(f"{name}:{INKS[value][0]};{name}:var(--{value})" if value in INKS else one)
    return ";".join(found)


def document(title: str, width: float, height: float, palette: Palette, used: Iterable[int], inside: str) -> str:
    """A whole picture; ``title`` says in words what it shows."""
    return element(
        "svg",
        element("title", escape(title)),
        element("style", style(palette, used)),
        element("rect", class_="paper", width=width, height=height),
        inside,
        xmlns="http://www.w3.org/2000/svg",
        class_=f"{CLASS} {palette.name}",
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
        role="img",
    )
