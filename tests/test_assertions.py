"""Each test can fail: it asserts something, itself or in a helper of the tests that it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from conftest import ROOT

TESTS = ROOT / "tests"
FILES = sorted(TESTS.rglob("*.py"))
EXPECTING = {"raises", "warns", "fail", "deprecated_call"}  # of pytest
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def functions(path: Path) -> dict[str, Function]:
    """The functions of a file by their names; the methods of its classes too."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name: node for node in ast.walk(tree) if isinstance(node, Function)}


@cache
def imported(path: Path) -> dict[str, Path]:
    """The names that a file takes from other files of the tests."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            name = f"{node.module.replace('.', '/')}.py"
            for home in (TESTS / name, TESTS / "common" / name, path.parent / name):
                if home.is_file():
                    found.update({alias.asname or alias.name: home for alias in node.names})
    return found


def called(node: ast.AST) -> Iterator[str]:
    """The names of what a function calls."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            yield inner.func.attr if isinstance(inner.func, ast.Attribute) else getattr(inner.func, "id", "")


def asserts(path: Path, name: str, seen: frozenset[tuple[Path, str]] = frozenset()) -> bool:
    """Whether a function of a file asserts something, itself or through what it calls."""
    node = functions(path).get(name)
    if node is None or (path, name) in seen:
        return False
    seen |= {(path, name)}
    calls = set(called(node))
    if calls & EXPECTING or any(isinstance(inner, ast.Assert) for inner in ast.walk(node)):
        return True
    return any(asserts(imported(path).get(one, path), one, seen) for one in sorted(calls))


def without(path: Path) -> list[str]:
    """The tests of a file that assert nothing."""
    return [name for name in functions(path) if name.startswith("test_") and not asserts(path, name)]


def test_each_test_asserts_something():
    assert {path.relative_to(TESTS).as_posix(): names for path in FILES if (names := without(path))} == {}


def test_a_test_that_only_runs_something_is_found(tmp_path: Path):
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "def helper(x):\n    assert x\n"
        "def again(x):\n    helper(x)\n    again(x)\n"
        "def idle(x):\n    idle(x)\n    print(x)\n"
        "def test_itself():\n    assert 1\n"
        "def test_by_helpers():\n    again(1)\n"
        "def test_of_exceptions():\n    with pytest.raises(ValueError):\n        int('x')\n"
        "def test_nothing():\n    idle(1)\n"
    )
    assert without(tmp_path / "test_it.py") == ["test_nothing"]
