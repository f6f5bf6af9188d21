"""Modules of Python as trees, each read once: several tests look through all of the engine."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Every node of a module, the outer ones first."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
