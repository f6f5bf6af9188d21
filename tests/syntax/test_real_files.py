"""Real IR: everything parses, prints, parses again to the same, and both readers of its shape agree."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from terminators import with_terminators

import tileproof
from conftest import corpus, corpus_files
from tileproof.mlir.ir import Module, Operation, print_module
from tileproof.mlir.types import Kind
from tileproof.syntax.layouts import layout
from tileproof.syntax.modules import Outline, outlines
from tileproof.syntax.types import type_tree

KERNELS = "corpus/*/*.mlir"
SNIPPETS = "cute_ir_tests/**/*.mlir"


def read(path: Path) -> Module:
    scan = tileproof.parse(path.read_text(encoding="utf-8"), str(path))
    assert scan.faults == ()
    return scan.module


@corpus(KERNELS)
def test_a_kernel_prints_and_reparses_to_an_equal_module(path: Path):
    module = read(path)
    canonical = print_module(module)
    again = tileproof.parse(canonical)
    assert again.faults == ()
    assert again.module == module
    assert print_module(again.module) == canonical


@corpus(SNIPPETS)
def test_a_snippet_prints_and_reparses_to_an_equal_module(path: Path):
    module = read(path)
    assert tileproof.parse(print_module(module)).module == module


@corpus(KERNELS)
def test_an_untouched_file_is_reprinted_byte_for_byte(path: Path):
    assert str(read(path)) == path.read_text(encoding="utf-8")


def outline_of(module: Module) -> list[Outline]:
    def walk(operation: Operation, depth: int) -> list[Outline]:
        found = [Outline(operation.name, tuple(result.name for result in operation.results), depth)]
        for region in operation.regions:
            for block in region.blocks:
                for inner in block.operations:
                    found += walk(inner, depth + 1)
        return found

    return [line for operation in module.operations for line in walk(operation, 0)]


@pytest.mark.parametrize(
    ("pattern", "largest"),
    [
        pytest.param(KERNELS, 60_000, id="kernels"),
        pytest.param(KERNELS, None, id="all-kernels", marks=pytest.mark.long),
        pytest.param(SNIPPETS, None, id="snippets"),
    ],
)
def test_scanner_and_grammar_see_the_same_operations(pattern: str, largest: int | None):
    """``largest``: bytes of a file; the grammar takes a second for 100 KB."""
    files = [path for path in corpus_files(pattern) if largest is None or path.stat().st_size <= largest]
    if not files:
        pytest.skip("no ../shared beside this checkout")
    for path in files:
        text = path.read_text(encoding="utf-8")
        by_hand, by_grammar = outline_of(read(path)), outlines(text)
        assert len(by_hand) == len(by_grammar), path
        for one, other in zip(by_hand, by_grammar, strict=True):
            assert (one.results, one.depth) == (other.results, other.depth), path
            # The scanner completes a name whose dialect is left out: `return` is `func.return`.
            assert one.name == other.name or one.name.endswith(f".{other.name}"), path


@corpus(KERNELS)
def test_every_dialect_type_and_every_layout_in_it_parses(path: Path):
    for text in read(path).types:
        if text.startswith(("!cute.", "!cute_nvgpu.")):
            for node in type_tree(text).walk():
                if node.kind is Kind.TEXT:
                    assert str(layout(node.text)) == node.text or node.text.startswith("(")


def atoms_and_layouts(module: Module) -> tuple[set[str], set[str]]:
    atoms, layouts = set(), set()
    for text in module.types:
        if text.startswith(("!cute.", "!cute_nvgpu.")):
            for node in type_tree(text).walk():
                if node.kind is Kind.TYPE and node.text.startswith(("!cute_nvgpu.sm", "!cute_nvgpu.SM")):
                    atoms.add(text[node.start : node.end])
                elif node.kind is Kind.TEXT:
                    layouts.add(node.text)
    return atoms, layouts


@corpus("corpus/*/*.generic.mlir")
def test_custom_and_generic_form_agree(path: Path):
    generic, custom = read(path), read(path.with_name(path.name.replace(".generic", "")))
    spelled = Counter(operation.name for operation in generic.walk())
    assert Counter(operation.name for operation in with_terminators(custom).walk()) == spelled
    generic_atoms, generic_layouts = atoms_and_layouts(generic)
    custom_atoms, custom_layouts = atoms_and_layouts(custom)
    assert custom_atoms == generic_atoms
    # The generic form writes the types of intermediate values too, which the custom form leaves to inference.
    assert custom_layouts <= generic_layouts
    uses = Counter((operation.name, len(operation.operands)) for operation in generic.walk())
    assert Counter((operation.name, len(operation.operands)) for operation in with_terminators(custom).walk()) == uses
