"""The dialect's published tests, replayed on the algebra: the same results, and refusals in the same words.

They are read from ``../shared`` beside the project, never copied. Divisors of dynamic leaves are left out of the
comparison: the published generation prints none, the wheel, which we follow, does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tileproof import layout as cute
from tileproof.calculate.evaluate import check_value
from tileproof.layout import ComposedLayout, Layout, LayoutError, show_value
from tileproof.syntax import layouts as syntax

FOLDER = Path(__file__).parents[3] / "shared/cute_ir_tests/Dialect/Cute"
CHAPTERS = (
    "LayoutAlgebra",
    "TilingPartitioningProducts",
    "SizeIndex",
    "Arithmetic",
    "AdvancedConstructors",
    "Accessors",
)
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the published tests are not beside the project")

OPERATIONS = {
    **{
        name: getattr(cute, name)
        for name in (
            "coalesce", "complement", "composition", "right_inverse", "left_inverse", "flatten", "slice", "dice",
            "logical_divide", "zipped_divide", "tiled_divide", "flat_divide", "logical_product", "zipped_product",
            "tiled_product", "flat_product", "blocked_product", "raked_product", "ceil_div", "shape_div",
            "crd2idx", "idx2crd", "increment_coord", "make_layout_like", "make_identity_layout", "elem_less",
        )
    },
    "layout_eval": cute.crd2idx,
    "tuple_add": cute.add,
    "tuple_product": cute.product,
    "tuple_product_each": cute.product_each,
    "group_modes": cute.group_modes,
    "append_to_rank": lambda value, element, rank: cute.append_to_rank(value, rank, element),
    "prepend_to_rank": lambda value, element, rank: cute.prepend_to_rank(value, rank, element),
    "recast_layout": cute.recast_layout,
    "get": lambda value, *mode: cute.get(value, mode),
    "get_stride": cute.stride_of,
    "composed_get_offset": lambda value: value.offset,
}  # fmt: skip

# The published generation and the wheel differ, and we follow the wheel:
FOLLOW_THE_WHEEL = {
    # a block with scaled-basis strides leaves its first mode open, not its last;
    r"_product\(.*@",
    # a dynamic layout is divided by the coalesced tiler;
    r"_divide\(\(\?,\?\):\(\?,\?\), \(3,4\):\(1,3\)\)",
    # a swizzle that its slice decides is resolved with the divisor of each stride (compared without divisors),
    # and complement reads scaled-basis strides mode by mode.
    r"complement\(\(2,3\):\(1@0,1@1\)",
}
# What only the verifier of whole operations can say: kinds of operands and declared results.
OF_OPERATIONS = re.compile(
    r"operand #|result #|failed to infer|same kind|must be|incompatible|to be layout|dynamic operand|without"
)

_TYPE = re.compile(r'!cute\.(?:\w+)<(?:"([^"]*)"|(S<[^>]*>))>')
_OPERATION = re.compile(
    r'"?cute\.(\w+)"?\s*(?:<([^>%]*)>)?\s*\([^:]*?\)(?:\s*<\{.*?\}>)?\s*:\s*(.*?)(?=\breturn|%\w+ =|$)'
)
_EXPECTED = re.compile(r"expected-error[^{]*\{\{(.*?)\}\}\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Published:
    name: str
    operation: str
    operands: tuple[object, ...]
    result: str | None
    errors: tuple[str, ...]


def texts(signature: str) -> list[str]:
    """The texts inside the types of a signature."""
    return [quoted or swizzle for quoted, swizzle in _TYPE.findall(signature)]


def read(chapter: str):
    for file in sorted((FOLDER / chapter).glob("*.mlir")):
        for number, chunk in enumerate(file.read_text().split("// -----")):
            code = re.sub(r"\s+", " ", re.sub(r"^\s*//.*$", "", chunk, flags=re.MULTILINE))
            body = code[code.find(") {") if ") {" in code else code.rfind(" {") :]
            found = list(_OPERATION.finditer(body))
            if len(found) != 1 or found[0][1] not in OPERATIONS:
                continue
            operation, attributes, signature = found[0].groups()
            inputs, _, outputs = signature.partition("->")
            returned = re.search(r"return %\w+ : (\S.*?) }", body)
            results = texts(outputs or (returned[1] if returned else ""))
            operands = [syntax.layout(text) for text in texts(inputs)]
            numbers = [int(number) for number in re.findall(r"-?\d+", attributes or "")]
            name = f"{file.stem}-{number}"
            errors = tuple(_EXPECTED.findall(chunk))
            yield Published(name, operation, (*operands, *numbers), results[0] if results else None, errors)


CASES = [case for chapter in CHAPTERS for case in read(chapter)] if FOLDER.is_dir() else []
POSITIVE = [case for case in CASES if not case.errors and case.result is not None]
NEGATIVE = [case for case in CASES if case.errors and not any(map(OF_OPERATIONS.search, case.errors[:1]))]


def described(case: Published) -> str:
    return f"{case.operation}({', '.join(map(show_value, case.operands))})"


def follows_the_wheel(case: Published) -> bool:
    return any(re.search(pattern, described(case)) for pattern in FOLLOW_THE_WHEEL)


def settled(text: str) -> object:
    """The value without divisors, and with stride zero where the extent is one.

    The published generation keeps the stride that a mode of extent one would have had, the wheel often drops it.
    """
    value = syntax.layout(re.sub(r"\{.*?\}", "", text))
    if isinstance(value, ComposedLayout):
        return replace(value, outer=still(value.outer))
    return still(value) if isinstance(value, Layout) else value


def still(layout: Layout) -> Layout:
    def strides(shape, stride):
        if isinstance(shape, tuple):
            return tuple(map(strides, shape, stride))
        return 0 if shape == 1 else stride

    return replace(layout, stride=strides(layout.shape, layout.stride))


def test_the_published_cases_are_found_LAY08():
    assert len(POSITIVE) > 250
    assert len(NEGATIVE) > 30


@pytest.mark.parametrize("case", POSITIVE, ids=lambda case: case.name)
def test_published_result_LAY08(case):
    if follows_the_wheel(case):
        pytest.skip("the wheel gives another result, and we follow the wheel")
    result = OPERATIONS[case.operation](*map(check_value, case.operands))
    assert settled(show_value(result)) == settled(case.result), described(case)


@pytest.mark.parametrize("case", NEGATIVE, ids=lambda case: case.name)
def test_published_refusal_LAY08(case):
    if follows_the_wheel(case):
        pytest.skip("the wheel accepts it, and we follow the wheel")
    with pytest.raises(LayoutError) as refusal:
        OPERATIONS[case.operation](*map(check_value, case.operands))
    # A tuple does not know whether it is a shape or a coordinate, so our words end where the operand's type begins.
    wording = refusal.value.wording
    stem = wording.split(", but got")[0]
    assert any(words in wording or stem in words for words in case.errors), wording
