"""Hardware numbers come from rules/: what is read, that it is read, and that no module names a generation of atoms."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from trees import nodes

import tileproof
from tileproof.evaluate.hardware import Field, descriptor_unit, field, limit, swizzle_period

BOOK = tileproof.load_rules()
ENGINE = Path(tileproof.__file__).parent


@pytest.mark.parametrize(
    ("name", "expected", "reach"),
    [
        ("start", Field(0, 14, 16), 1 << 18),
        ("lbo", Field(16, 14, 16), 1 << 18),
        ("sbo", Field(32, 14, 16), 1 << 18),
        ("version", Field(46, 3, 1), 8),
        ("base_offset", Field(49, 3, 1), 8),
        ("lbo_mode", Field(52, 1, 1), 2),
        ("swizzle", Field(61, 3, 1), 8),
    ],
)
def test_fields_of_the_tcgen05_descriptor(name: str, expected: Field, reach: int) -> None:
    """PTX ISA, tcgen05, Shared memory descriptor."""
    assert field(BOOK, "tcgen05.descriptor", name) == expected
    assert expected.reach == reach


def test_descriptors_of_wgmma_have_the_units_and_strides_of_tcgen05() -> None:
    for name in ("start", "lbo", "sbo"):
        assert field(BOOK, "wgmma.descriptor", name) == field(BOOK, "tcgen05.descriptor", name)


def test_units_and_periods() -> None:
    assert descriptor_unit(BOOK) == 16
    assert swizzle_period(BOOK) == 1024


def _strings(path: Path) -> Iterator[tuple[int, str]]:
    """The string constants of a module that are no docstrings."""
    tree = nodes(path)
    documents = {id(node.value) for node in tree if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    for node in tree:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.lineno, node.value


def test_every_limit_is_read() -> None:
    limits = {member[1:] for member in BOOK.enums["hardware"].members}
    named = [path for path in ENGINE.rglob("*.py") if limits & {*re.findall(r'"(\w+)"', path.read_text("utf-8"))}]
    read = {text for path in named for _, text in _strings(path)}
    assert limits <= read, f"nothing reads {sorted(limits - read)}"
    assert all(limit(BOOK, name) > 0 for name in limits)


# The element that mma.sync takes in a register; and operations, not atoms: type inference has one function for each.
KNOWN = {
    "dialects/infer/fragment.py": {"!cute_nvgpu.sm80.mma"},
    "dialects/infer/tma.py": {
        "sm103.make_umma_smem_desc_circular",
        "sm107.make_umma_smem_desc",
        "sm107.make_umma_smem_desc_circular",
    },
}


def test_no_module_tells_generations_apart_by_the_names_of_atoms() -> None:
    found = {
        f"{path.relative_to(ENGINE)}:{line}": text
        for path in sorted(ENGINE.rglob("*.py"))
        for line, text in _strings(path)
        if re.search(r"\b(?:sm|SM)\d+\.", text) and text not in KNOWN.get(str(path.relative_to(ENGINE)), ())
    }
    assert not found, f"what atoms of a generation do is in rules/mma and rules/atoms.rule: {found}"
