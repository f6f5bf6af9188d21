"""What a kernel does in a loop is judged, in whatever units its arguments count the turns."""

from __future__ import annotations

from pathlib import Path

import tileproof
from tileproof.dialects.values import read_type
from tileproof.protocol.folding import _parts, leaves_of_coordinate

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


def test_what_is_not_known_of_a_coordinate_is_no_extent():
    """An extent that only the caller knows stands for how much there is to do; a coordinate says where."""
    text = '!cute.int_tuple<"(?,0)">'
    of_coordinate, of_shape = leaves_of_coordinate(read_type(text), 2), _parts(2, [read_type(text)], [None, None], 7)
    assert (of_coordinate(None), of_shape(None)) == ((None, 0), (7, 0))
    assert of_coordinate((3, 0)) == of_shape((3, 0)) == (3, 0)
