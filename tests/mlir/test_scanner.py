"""The scanner on small texts: every construct of MLIR that kernels use, and what happens where the text is broken."""

from __future__ import annotations

import pytest

import tileproof
from tileproof.mlir.ir import Operation, print_module
from tileproof.mlir.scanner import Scan
from tileproof.syntax.modules import outlines


def clean(text: str) -> Scan:
    scan = tileproof.parse(text)
    assert scan.faults == ()
    return scan


def only(text: str) -> Operation:
    (operation,) = clean(text).module.operations
    return operation


def types(uses: tuple) -> list[str]:
    return [use.text for use in uses]


def test_a_custom_operation():
    op = only('%sz = cute.size(%t) <{mode = [0, 1]}> : (!cute.shape<"(4,(2,?))">) -> !cute.int_tuple<"?{div=8}">')
    assert (op.name, op.operands, op.generic) == ("cute.size", ("%t",), False)
    assert op.results[0].name == "%sz"
    assert op.attributes[0].name == "mode"
    assert op.attributes[0].text == "[0, 1]"
    assert types(op.inputs) == ['!cute.shape<"(4,(2,?))">']
    assert types(op.outputs) == ['!cute.int_tuple<"?{div=8}">']


def test_a_generic_operation_with_properties_regions_attributes_and_successors():
    op = only(
        '%0:2 = "test.op"(%a, %b#1) [^bb1, ^bb2] <{kind = 3 : i32}> ({\n'
        "^bb0(%x: i32):\n"
        '  "test.end"(%x) : (i32) -> ()\n'
        '}, {\n}) {unit, name = "a \\" } // b"} : (i32, f32) -> (i1, !llvm.ptr<3>)'
    )
    assert op.name == "test.op"
    assert op.generic
    assert op.results[0].count == 2
    assert op.operands == ("%a", "%b#1")
    assert op.successors == ("^bb1", "^bb2")
    assert {a.name: a.text for a in op.attributes} == {"kind": "3 : i32", "unit": "", "name": '"a \\" } // b"'}
    assert len(op.regions) == 2
    assert op.regions[0].blocks[0].arguments[0].name == "%x"
    assert types(op.inputs) == ["i32", "f32"]
    assert types(op.outputs) == ["i1", "!llvm.ptr<3>"]


def test_properties_without_commas():
    op = only("%x = a.b(%y) <{kind = <sm_90> num_multicast = 1 : i32 flag = #c.d<e>}> : (i32) -> i32")
    assert {a.name: a.text for a in op.attributes} == {
        "kind": "<sm_90>",
        "num_multicast": "1 : i32",
        "flag": "#c.d<e>",
    }


def test_structured_control_flow_defines_loop_arguments_and_uses_their_initial_values():
    op = only(
        "%r:2 = scf.for %i = %lo to %hi step %st iter_args(%a = %x, %b = %y) -> (i32, !t.u)  : i32 {\n"
        "  scf.yield %a, %b : i32, !t.u\n"
        "} {loop_annotation = #loop}"
    )
    assert op.operands == ("%lo", "%hi", "%st", "%x", "%y")
    (block,) = op.regions[0].blocks
    assert [argument.name for argument in block.arguments] == ["%i", "%a", "%b"]
    assert types(op.outputs) == ["i32", "!t.u"]
    assert op.attribute("loop_annotation") is not None


def test_if_else_and_while_do():
    text = (
        "func.func @f(%c: i1) {\n"
        "  %0 = scf.if %c -> (i32) {\n    scf.yield %a : i32\n  } else {\n    scf.yield %b : i32\n  }\n"
        "  %1 = scf.while (%x = %0) : (i32) -> i32 {\n    scf.condition(%c) %x : i32\n"
        "  } do {\n  ^bb0(%y: i32):\n    scf.yield %y : i32\n  }\n"
        "  return\n}"
    )
    function = only(text)
    names = [op.name for op in function.walk()]
    assert names == [
        "func.func", "scf.if", "scf.yield", "scf.yield", "scf.while", "scf.condition", "scf.yield", "func.return",
    ]  # fmt: skip
    assert function.regions[0].blocks[0].arguments[0].name == "%c"


def test_blocks_and_branches():
    function = only("llvm.func @f() {\n  llvm.br ^bb1(%a : i32)\n^bb1(%x: i32, %y: f32):\n  llvm.return\n}")
    first, second = function.regions[0].blocks
    assert first.operations[0].successors == ("^bb1",)
    assert (second.label, [argument.name for argument in second.arguments]) == ("^bb1", ["%x", "%y"])


def test_aliases_comments_and_symbols():
    scan = clean(
        "// a comment\n"
        '!m = !cute.memref<f16, smem, align<16>, S<3,4,3>, "(8,64):(64,1)"> // another\n'
        "#map = affine_map<(d0) -> (d0)>\n"
        'func.func @k() {\n  call @a::@"b c"() : () -> ()\n}\n'
    )
    assert list(scan.module.aliases) == ["!m", "#map"]
    assert [text for _, text in scan.comments] == ["// a comment", "// another"]
    assert [op.name for op in scan.module.walk()] == ["func.func", "func.call"]


def test_strings_hold_anything():
    asm = '"{ .reg .pred %p; @%p bra L; }\\0A // x", "r,~{memory}"'
    op = only(f"llvm.inline_asm has_side_effects {asm} %a : (i32) -> ()")
    assert op.operands == ("%a",)


def test_types_nest_and_hold_arrows():
    text = "!lir.stage<<2, SM90_TMA_LOAD -> SM100_MMA, cta>>"
    op = only(f"%0 = lir.get(%1) : {text}")
    assert types(op.inputs) == [text]


def test_an_operation_may_run_over_several_lines():
    op = only("%0 = cute.copy(%a,\n           %b)\n    {x = 1}\n    : (i32,\n       i32) -> i32")
    assert op.operands == ("%a", "%b")
    assert types(op.outputs) == ["i32"]


def test_regions_and_attributes_are_told_apart():
    module = only(
        "module attributes {a.b = 1 : i32} {\n  gpu.module @k {\n  }\n  scf.if %c {\n    nvvm.barrier\n  }\n"
        "  cute.x {cute.unit} : i32\n}"
    )
    inner = module.regions[0].blocks[0].operations
    assert module.attributes[0].name == "a.b"
    assert [len(op.regions) for op in inner] == [1, 1, 0]
    assert inner[1].regions[0].blocks[0].operations[0].name == "nvvm.barrier"


def test_bracketed_operand_lists_stay_groups():
    op = only("cute.gemm(%t, %d, [%a, %s], %b, %d) : (!t.t, !t.d, [!t.a, !t.s], !t.b, !t.d)")
    assert op.groups == (1, 1, 2, 1, 1)
    assert [use.text for use in op.input_groups[2]] == ["!t.a", "!t.s"]


def test_locations_are_carried():
    op = only('"a.b"() : () -> i32 loc("x.py":1:2)')
    assert types(op.outputs) == ["i32"]
    assert "loc(" in op.pieces[-1]


BROKEN = [
    ("func.func @f( {\n  return\n}\n", "'(' is never closed"),
    ("func.func @f() {\n  return\n", "'{' is never closed"),
    ("func.func @f() {\n  return\n}}\n", "unmatched '}'"),
    ('"a.b"(%x : () -> ()\n', "'(' is never closed"),
    ('"a.b"(%x)\n', "expected ':' and the type of the operation"),
    ('"a.b"(%x) : i32\n', "expected a function type"),
    ("%x = \n", "expected an operation"),
    ("%x, = a.b : i32\n", "expected an operation, found '='"),
    ("%x a.b : i32\n", "expected '=' and an operation"),
    ("%x:99999999 = a.b : i32\n", "is not a number of results"),
    ("%x = 3 : i32\n", "expected an operation, found '3'"),
    ("a.b {x = } : i32\n", "attribute 'x' has no value"),
    ('a.b "open\n', "a string is not closed on its line"),
    ("a.b \\ : i32\n", "unexpected character '\\\\'"),
    ("!m =\n", "an alias needs a right-hand side"),
    ("hello world\n", "'hello' is not an operation"),
    ("a.b " + "%" * 50, "unexpected character '%'"),
    ("a.b (" * 500, "'(' is never closed, nor are 499 around it"),
    ("a.b )\n" * 500, "more faults from here on"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_a_fault_is_named_and_located(text: str, message: str):
    scan = tileproof.parse(text)
    assert any(message in fault.message for fault in scan.faults), scan.faults
    assert all(0 <= fault.span.start <= fault.span.end <= len(text) for fault in scan.faults)


@pytest.mark.parametrize("broken", ["%1 = ", '"x.y"(%a : () -> ()', "a.b {x = }", "%2 = 7", "x.y(%a, [%b) : i32"])
def test_what_follows_a_broken_statement_is_still_read(broken: str):
    text = f"func.func @f() {{\n  %0 = a.first : i32\n  {broken}\n  %9 = a.last : i32\n  return\n}}\n"
    scan = tileproof.parse(text)
    names = [op.name for op in scan.module.walk()]
    assert scan.faults
    assert all(fault.span.start >= text.index(broken[0], 30) for fault in scan.faults)
    assert names[0] == "func.func"
    assert {"a.first", "a.last", "func.return"} <= set(names)


def test_regions_nest_no_deeper_than_the_limit():
    depth = 5000
    scan = tileproof.parse("scf.if %c {\n" * depth + "}\n" * depth)
    assert any("nest deeper" in fault.message for fault in scan.faults)


@pytest.mark.parametrize("text", ["", "\n", "// nothing\n"])
def test_a_text_without_ir_has_no_items(text: str):
    assert clean(text).module.items == ()


def test_a_changed_module_prints_canonically():
    scan = clean("module {\n\n    a.b   :   i32 // why\n  }\n")
    assert str(scan.module) == "module {\n\n    a.b   :   i32 // why\n  }\n"
    changed = scan.module.with_items(scan.module.items)
    assert str(changed) == print_module(scan.module) == "module {\n  a.b   :   i32\n}\n"


def test_the_grammar_reads_the_same_outline_from_awkward_text():
    text = (
        '// head\n!a = !cute.x<"1">\nmodule attributes {a = 1} {\n  %0:2, %1 = "a.b"(%x) <{p = [1, 2]}> ({\n'
        "  ^bb0(%y: i32):\n    %2 = c.d %y {u} : i32 -> i32\n    c.e\n  }, {\n  }) : (i32) -> (i32, i32)\n"
        "  scf.if %c {\n    c.f\n  } else {\n    c.g {k = <v>, w}\n  }\n}\n"
    )
    scan = clean(text)
    names = [(op.name.removeprefix("builtin."), len(op.results)) for op in scan.module.walk()]
    assert names == [(line.name, len(line.results)) for line in outlines(text)]
