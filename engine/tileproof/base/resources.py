"""The data folders of the product: ``rules/`` and ``grammar/``.

Inside an installed wheel both folders are in the package; in a checkout they are at its top, two levels above.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


@cache
def folder(name: str) -> Path:
    """The folder ``rules`` or ``grammar``.

    Raises:
        FileNotFoundError: the installation is incomplete.
    """
    for parent in (PACKAGE, PACKAGE.parents[1]):
        if (parent / name).is_dir():
            return parent / name
    raise FileNotFoundError(f"tileproof is installed without its {name}/ folder")


def tests() -> Path | None:
    """The folder of tests; None in an installation, which has none."""
    path = PACKAGE.parents[1] / "tests"
    return path if path.is_dir() and (PACKAGE.parents[1] / "rules").is_dir() else None


def grammar(name: str) -> str:
    """The text of ``grammar/NAME.lark``."""
    return (folder("grammar") / f"{name}.lark").read_text(encoding="utf-8")
