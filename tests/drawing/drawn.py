"""Pictures made by the command line, and what is in them."""

from __future__ import annotations

from xml.etree import ElementTree

from conftest import command

SVG = "{http://www.w3.org/2000/svg}"


def draw(*arguments: str) -> str:
    done = command("draw", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def cells(drawn: str) -> list[ElementTree.Element]:
    """The cells of a picture."""
    root = ElementTree.fromstring(drawn)
    return [one for one in root.iter(f"{SVG}g") if one.get("class") == "cell"]


def says(drawn: str) -> list[str]:
    """What the cells of a picture say."""
    return [one.findtext(f"{SVG}title") or "" for one in cells(drawn)]
