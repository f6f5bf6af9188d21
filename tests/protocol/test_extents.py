"""What a kernel does in a loop is judged, in whatever units its arguments count the turns."""

from __future__ import annotations

from pathlib import Path

import tileproof

PARTS = (
    (Path(__file__).parent / "bugs" / "18_released_before_wait.mlir").read_text(encoding="utf-8").split("// -----\n")
)
ARGUMENT = "%k_tiles: i32)"


def codes(text: str) -> set[str]:
    return {diagnostic.code for diagnostic in tileproof.check(text, ignore=("IR",)).diagnostics}


def in_elements(text: str) -> str:
    """The kernel with an argument that counts elements, 64 a turn."""
    assert ARGUMENT in text
    head, rest = text.split(ARGUMENT, 1)
    line, body = rest.split("\n", 1)
    divided = "    %c64 = arith.constant 64 : i32\n    %k_tiles = arith.divsi %k_elements, %c64 : i32\n"
    return f"{head}%k_elements: i32){line}\n{divided}{body}"


def test_a_kernel_that_divides_its_argument_is_judged_like_one_that_does_not():
    found = [codes(part) for part in PARTS]
    assert [codes(in_elements(part)) for part in PARTS] == found
    assert any(found)
    assert not all(found)
