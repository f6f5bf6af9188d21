"""The four-op sequence of nvvm.wgmma: what the reference pages want of it, and what the hardware does with it."""

# checklist: PRO02 PRO03 PRO04 PRO07

from __future__ import annotations

import pytest

import tileproof

FIELDS = (
    "shape = #nvvm.shape<m = 64, n = 8, k = 16>, typeA = #nvvm.wgmma_type<f16>, typeB = #nvvm.wgmma_type<f16>, "
    "typeC = #nvvm.wgmma_type<f32>, scaleOut = #nvvm.wgmma_scale_out<one>, layoutA = #nvvm.mma_layout<row>, "
    "layoutB = #nvvm.mma_layout<col>"
)
REGISTERS = "!llvm.struct<(f32, f32, f32, f32)>"
ECHO = "wgmma_type = #nvvm.wgmma_type<f16>, wgmma_layout = [#nvvm.mma_layout<row>, #nvvm.mma_layout<col>]"
KERNEL = f"""llvm.func @kernel(%a: i64, %b: i64, %d: {REGISTERS}, %p: i1) {{
  "nvvm.wgmma.fence.aligned"() : () -> ()
  %r = "nvvm.wgmma.mma_async"(%a, %b, %d) <{{{FIELDS}}}> : (i64, i64, {REGISTERS}) -> {REGISTERS}
  "nvvm.wgmma.commit.group.sync.aligned"() <{{{ECHO}}}> : () -> ()
  %n = "llvm.mlir.constant"() <{{value = 0 : i32}}> : () -> i32
  "nvvm.wgmma.wait.group.sync.aligned"(%n) <{{{ECHO}}}> : (i32) -> ()
  "llvm.return"() : () -> ()
}}
"""
COMMIT, WAIT = '"nvvm.wgmma.commit.group.sync.aligned"()', '"nvvm.wgmma.wait.group.sync.aligned"(%n)'
TYPES = f"(i64, i64, {REGISTERS}) -> {REGISTERS}"


def codes(text: str, contract: str) -> list[str]:
    return sorted(diagnostic.code for diagnostic in tileproof.check(text, contract=contract).diagnostics)


@pytest.mark.parametrize("contract", ["ptx", "tileiras"])
def test_sequence_of_the_pages_is_legal(contract):
    assert codes(KERNEL, contract) == []


def replaced(old: str, new: str) -> str:
    assert old in KERNEL
    return KERNEL.replace(old, new)


def typed(a: str, b: str) -> str:
    """The sequence with operands of other types."""
    text = replaced("%a: i64, %b: i64", f"%a: {a}, %b: {b}")
    return text.replace(TYPES, TYPES.replace("i64, i64", f"{a}, {b}"))


FRAGMENT = "!llvm.struct<(i32, i32, i32, i32)>"
WIDER, NARROWER = "!llvm.struct<(f32, f32, f32, f32, f32)>", "!llvm.struct<(f32, f32)>"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        # PRO02: the depth of a wait
        pytest.param(replaced("value = 0", "value = 64"), "WP208", id="PRO02-depth-of-seven-bits"),
        pytest.param(replaced("value = 0", "value = -1"), "WP208", id="PRO02-negative-depth"),
        # PRO03: commit and wait carry type and layout
        pytest.param(replaced(f"{COMMIT} <{{{ECHO}}}>", f"{COMMIT} <{{{ECHO.replace('f16', 'bf16')}}}>"), "WP206",
                     id="PRO03-commit-of-another-type"),
        pytest.param(replaced(f"{WAIT} <{{{ECHO}}}>", f"{WAIT} <{{{ECHO.replace('f16', 'bf16')}}}>"), "WP206",
                     id="PRO03-wait-of-another-type"),
        pytest.param(replaced(f"{WAIT} <{{{ECHO}}}>", f"{WAIT} <{{{ECHO.replace('row', 'col')}}}>"), "WP207",
                     id="PRO03-wait-of-another-layout"),
        pytest.param(replaced(f"{COMMIT} <{{{ECHO}}}>", f"{COMMIT} <{{{ECHO.partition(',')[0]}}}>"), "WP207",
                     id="PRO03-commit-without-layout"),
        # PRO04: operands
        pytest.param(typed("i64", "i32"), "WP203", id="PRO04-descriptor-b-of-32-bits"),
        pytest.param(typed("i64", FRAGMENT), "WP203", id="PRO04-b-in-registers"),
        pytest.param(typed("i32", "i64"), "WP202", id="PRO04-descriptor-a-of-32-bits"),
        pytest.param(KERNEL.replace(REGISTERS, WIDER), "WP204", id="PRO04-struct-too-wide"),
        pytest.param(KERNEL.replace(REGISTERS, NARROWER), "WP204", id="PRO04-struct-too-narrow"),
        # PRO07: operand tables
        pytest.param(replaced("(%a, %b, %d)", "(%b, %d)").replace("(i64, i64,", "(i64,"), "WP201",
                     id="PRO07-mma-without-descriptor"),
        pytest.param(replaced(f"{COMMIT} <{{{ECHO}}}> : ()", f"{COMMIT[:-2]}(%p) <{{{ECHO}}}> : (i1)"), "WP201",
                     id="PRO07-commit-with-operand"),
    ],
)  # fmt: skip
def test_what_the_pages_reject(text, code):
    assert code in codes(text, "tileiras")
    assert not [one for one in codes(text, "ptx") if one.startswith("WP2")]


def test_scale_out_of_run_time_is_rejected():
    """PRO04"""
    text = replaced("(%a, %b, %d)", "(%a, %b, %d, %p)").replace(
        TYPES, TYPES.replace(f"{REGISTERS})", f"{REGISTERS}, i1)")
    )
    assert "WP205" in codes(text, "tileiras")


def test_registers_of_a_are_legal():
    """PRO04"""
    assert codes(typed(FRAGMENT, "i64"), "tileiras") == []


@pytest.mark.parametrize("wait", [0, 1])
def test_depth_keeps_the_youngest_groups(wait):
    """PRO02: the hardware keeps the N youngest groups in flight, so a last wait of depth 1 leaves one (PR104)."""
    assert codes(KERNEL.replace("value = 0", f"value = {wait}"), "ptx") == ["PR104"] * wait


@pytest.mark.parametrize(("gone", "code"), [("fence", "PR102"), ("commit", "PR101"), ("wait", "PR104")])
def test_operation_of_the_sequence_is_missing(gone, code):
    """PRO07"""
    text = "\n".join(line for line in KERNEL.split("\n") if f"nvvm.wgmma.{gone}" not in line)
    assert code in codes(text, "ptx")
