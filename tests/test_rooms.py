"""The house: ARCHITECTURE.md has the rooms in their order, and every import of the package points to an earlier one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx
from trees import nodes

from conftest import ROOT

PACKAGE = ROOT / "engine" / "tileproof"
NO_ROOMS = {"benchmarks", "common", "conformance", "hardware"}  # folders of tests/ that test no single room


def rooms() -> dict[str, set[str]]:
    """Each room of the table in ARCHITECTURE.md and the rooms that it may import, in order."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    found: dict[str, set[str]] = {}
    for name, allowed in re.findall(r"^\| `(\w+)/` \|[^|]*\| ([^|]*) \|$", text, re.M):
        names = set(re.findall(r"\w+", allowed))
        if upto := re.search(r"all up to (\w+)", allowed):
            names = names & set(found) | set(list(found)[: list(found).index(upto[1]) + 1])
        found[name] = names - {"none"}
    return found


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def import_nodes(module: str) -> list[ast.Import | ast.ImportFrom]:
    """The imports of a module, at the top, in a function or for types only."""
    return [node for node in nodes(MODULES[module]) if isinstance(node, (ast.Import, ast.ImportFrom))]


def imports(module: str) -> Iterator[tuple[int, str]]:
    """The modules of the package that a module imports, with the line."""
    for node in import_nodes(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("tileproof."):
                    yield node.lineno, alias.name.removeprefix("tileproof.")
        else:
            assert node.level == 0, f"{module}:{node.lineno} imports relatively"
            name = node.module or ""
            if name == "tileproof" or name.startswith("tileproof."):
                inside = name.removeprefix("tileproof").removeprefix(".")
                for alias in node.names:
                    full = f"{inside}.{alias.name}".removeprefix(".")
                    yield node.lineno, full if full in MODULES else inside


def room_of(module: str) -> str:
    return module.partition(".")[0]


def test_each_room_is_in_the_table_and_has_its_tests():
    packages = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert packages == set(rooms())
    tests = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and any(path.rglob("test_*.py"))}
    assert tests - NO_ROOMS == packages
    for package in packages:
        assert ast.get_docstring(ast.parse((PACKAGE / package / "__init__.py").read_text(encoding="utf-8")))


def test_a_room_imports_only_what_the_table_allows():
    order = rooms()
    for room, allowed in order.items():
        earlier = set(list(order)[: list(order).index(room)])
        assert allowed <= earlier, f"the table lets {room} import {allowed - earlier}, which come later"
    wrong = [
        f"{module}:{line} imports {imported}"
        for module in MODULES
        if (room := room_of(module)) in order
        for line, imported in imports(module)
        if room_of(imported) not in ({room, ""} | order[room] | ({"api"} if room in ("cli", "server") else set()))
    ]
    assert wrong == []


def test_no_module_imports_itself_by_way_of_others():
    graph = networkx.DiGraph()
    for module in MODULES:
        graph.add_edges_from((module, imported) for _, imported in imports(module) if imported and imported != module)
    assert [sorted(circle) for circle in networkx.strongly_connected_components(graph) if len(circle) > 1] == []


OWNERS = {
    "z3": {"evaluate"},
    "networkx": {"scheduling"},
    "rich": {"cli"},
    "lark": {"syntax", "rulebase", "calculate"},
    "pygls": {"server"},
    "lsprotocol": {"server"},
}


def test_slow_libraries_are_imported_by_few():
    """Start-up time is a feature: who imports these is imported itself only where it is used."""
    wrong = [
        f"{module}:{node.lineno} imports {library}"
        for module in MODULES
        for node in import_nodes(module)
        for name in ([a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""])
        if (library := name.partition(".")[0]) in OWNERS and room_of(module) not in OWNERS[library]
    ]
    assert wrong == []
