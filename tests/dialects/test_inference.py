"""Result types of cute operations: against what real IR declares, what the wheel infers, and what must be refused."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

import tileproof
from conftest import SHARED, corpus, corpus_files
from tileproof.dialects.infer import Refusal, infer, operations
from tileproof.dialects.infer.memory import advance
from tileproof.dialects.operands import resolve
from tileproof.dialects.type_flow import TypeConflict, conflicts
from tileproof.dialects.values import Other, Pointer, element_bits, read_type
from tileproof.layout.values import Dynamic
from tileproof.mlir.ir import Module, Operation
from tileproof.mlir.signature import parameters, signature

GENERIC = "corpus/*/*.generic.mlir"
INVALID = "nb_cute_layout_algebra__nb.5.mlir"


def read(text: str, name: str = "-") -> Module:
    scan = tileproof.parse(text, name)
    assert scan.faults == ()
    return scan.module


def found(text: str) -> list[TypeConflict]:
    return list(conflicts(read(text)))


# ------------------------------------------------------------------------------------------------------ real files


def inferences(module: Module) -> Iterator[tuple[Operation, tuple[str, ...], tuple[str, ...]]]:
    """Operations in generic form that have an inference function: operation, operand types, result types."""
    known, aliases = set(operations()), module.aliases
    for operation in module.walk():
        if operation.generic and operation.name in known:
            inputs, outputs = (
                (resolve(t.text, aliases) for t in uses) for uses in (operation.inputs, operation.outputs)
            )
            yield operation, tuple(inputs), tuple(outputs)


def compare(module: Module) -> Counter[str]:
    """How often each operation's inferred results equal the declared ones; they never differ."""
    compared: Counter[str] = Counter()
    for operation, operands, declared in inferences(module):
        outcome = infer(operation.name, operands, parameters(operation), declared)
        if outcome is not None:
            assert not isinstance(outcome, Refusal), (operation.name, operands, outcome)
            assert tuple(map(str, outcome)) == declared, (operation.name, operands)
            compared[operation.name] += 1
    return compared


@pytest.mark.skipif(not corpus_files(GENERIC), reason="no ../shared beside this checkout")
def test_every_result_in_generic_form_is_the_one_inferred():
    compared: Counter[str] = Counter()
    for path in corpus_files(GENERIC):
        compared += compare(read(path.read_text(encoding="utf-8")))
    assert compared.total() > 5_000
    assert len(compared) > 40


@corpus()
def test_no_types_of_a_real_kernel_contradict_each_other(path: Path):
    conflict = found(path.read_text(encoding="utf-8"))
    if path.name == INVALID:
        assert [c.stated.code for c in conflict] == ["IR022"]
        assert "expects same profile for `src` and `dst`" in conflict[0].stated.message
    else:
        assert conflict == []


@corpus("cute_ir_tests/**/*.mlir")
def test_no_types_of_a_published_snippet_contradict_each_other(path: Path):
    text = path.read_text(encoding="utf-8")
    if "expected-" in text:
        pytest.skip("the snippet is meant to be wrong")
    assert found(text) == []


@corpus()
def test_every_type_of_a_real_kernel_prints_as_it_was_read(path: Path):
    for text in read(path.read_text(encoding="utf-8")).types:
        assert str(read_type(text)) == text


DECLARED = {
    *(f"cute.{name}" for name in ("derefine", "recast_iter", "static", "assume", "inttoptr", "memref.alloca")),
    *(f"cute.make_{kind}" for kind in ("atom", "tiled_mma", "tiled_copy")),
    *(f"cute.make_{kind}" for kind in ("shape", "stride", "coord", "int_tuple", "tile")),
}
"""Operations whose static parts nothing but the declared result says."""


def faults_of(declared: str) -> Iterator[str]:
    """Other types, near to a declared one: the first number, the last and a divisor changed."""
    numbers = [n for n in re.finditer(r"(?<![\w@])\d+(?!\w)", declared) if n.start() > declared.find('"')]
    for number in numbers[:1] + numbers[-1:]:
        yield declared[: number.start()] + str(int(number[0]) + 1) + declared[number.end() :]
    if "{div=" in declared:
        yield re.sub(r"\{div=(\d+)\}", lambda m: f"{{div={2 * int(m[1])}}}", declared, count=1)


@pytest.mark.skipif(not corpus_files(GENERIC), reason="no ../shared beside this checkout")
def test_a_changed_result_type_is_caught():
    planted = 0
    for path in corpus_files(GENERIC):
        module = read(path.read_text(encoding="utf-8"))
        for operation, operands, declared in set(inferences(module)):
            if len(declared) != 1 or operation.name in DECLARED:
                continue
            for fault in faults_of(declared[0]):
                changed = infer(operation.name, operands, parameters(operation), (fault,))
                if changed is None or isinstance(read_type(fault), Other):
                    continue
                planted += 1
                assert isinstance(changed, Refusal) or tuple(map(str, changed)) != (fault,), (operation, fault)
    assert planted > 1_000


# ------------------------------------------------------------------------------------------------------ small texts

LAYOUTS = """
func.func @f(%a: !cute.layout<"(4,1):(1,0)">, %n: i32, %c: i1) {
  %b = "cute.get_shape"(%a) : (!cute.layout<"(4,1):(1,0)">) -> !cute.shape<"(4,1)">
  %d = cute.make_layout(%b) : !cute.layout<"(4,1):(1,0)">
  %e = cute.slice(%d, %k) : !cute.layout<"(4,1):(1,0)">, !cute.coord<"(_,0)">
  return
}
"""


def test_a_text_without_contradiction_has_none():
    assert found(LAYOUTS) == []


def only(text: str) -> TypeConflict:
    (conflict,) = found(text)
    return conflict


def marked(text: str, conflict: TypeConflict) -> str:
    return text[conflict.span.start : conflict.span.end]


def test_another_result_is_reported_at_its_type():
    text = LAYOUTS.replace('-> !cute.shape<"(4,1)">', '-> !cute.shape<"(4,2)">')
    conflict = only(text)
    assert conflict.stated.code == "IR020"
    assert marked(text, conflict) == '!cute.shape<"(4,2)">'
    assert conflict.stated.message == (
        "'cute.get_shape' op inferred type(s) '!cute.shape<\"(4,1)\">' "
        "are incompatible with return type(s) of operation '!cute.shape<\"(4,2)\">'"
    )


def test_a_result_that_is_equal_only_as_a_function_is_reported_as_that():
    made = 'make_layout(%b) : !cute.layout<"(4,1):'
    conflict = only(LAYOUTS.replace(made + "(1,0)", made + "(1,4)"))
    assert conflict.stated.code == "IR020"
    assert conflict.stated.hint == "as functions the two are the same, as types they are not"


def test_a_use_of_another_type_is_reported_at_the_use():
    text = LAYOUTS.replace('%k) : !cute.layout<"(4,1):(1,0)">', '%k) : !cute.layout<"(4,2):(1,0)">')
    conflict = only(text)
    assert conflict.stated.code == "IR021"
    assert marked(text, conflict) == '!cute.layout<"(4,2):(1,0)">'
    assert "'%d'" in conflict.stated.message


def test_an_operation_without_result_says_why():
    text = LAYOUTS.replace('!cute.coord<"(_,0)">', '!cute.coord<"(_,0,0)">')
    conflict = only(text)
    assert conflict.stated.code == "IR022"
    assert conflict.stated.message.startswith("'cute.slice' op expects coord to be weakly congruent")


def test_a_store_of_another_type_than_the_element_is_refused():
    text = '"cute.memref.store"(%m, %c, %v) : (!cute.memref<f32, rmem, "4:1">, !cute.coord<"0">, f16) -> ()\n'
    conflict = only(text)
    assert conflict.stated.code == "IR022"
    assert "Store value type must match the memref element type" in conflict.stated.message
    assert found(text.replace("f16", "f32")) == []


def test_what_is_not_known_is_no_fault():
    assert found('%r = cute.get_shape(%x) : (!cute.layout<"4:1">) -> !cute.shape<"4">') == []
    assert found("%r = cute.get_layout(%x)\n%s = cute.size(%r)") == []
    assert found('%r = "of_tomorrow.get"(%x) : (i32) -> !cute.layout<"4:1">') == []
    assert [c.stated.code for c in found('%r = "cute.of_tomorrow"(%x) : (i32) -> !cute.layout<"4:1">')] == ["IR024"]


@pytest.mark.parametrize(
    "text",
    [
        # a block argument
        "^bb0(%x: i32):\n",
        # an argument of a function
        "func.func @f(%x: i32) {\n",
        # a loop-carried value, its type written behind the arrow
        "%l = scf.for %i = %a to %b step %s iter_args(%x = %n) -> (i32) : i32 {\n",
        # the second result of several
        "%r, %x = of_tomorrow.pair(%p, %q) : (i32, i32) -> (i64, i32)\n",
        # an inferred result that no text gives
        '%x = cute.get_iter(%m) : !cute.memref<f32, gmem, "4:1">\n',
    ],
    ids=["block", "function", "loop", "second", "inferred"],
)
def test_the_type_of_a_value_follows_it(text):
    use = '%u = "cute.make_coord"(%x) : (i64) -> !cute.coord<"?{i64}">\n'
    close = "}\n" if text.endswith("{\n") else ""
    if text.startswith("^"):
        text, close = '"any.op"() ({\n' + text, "}) : () -> ()\n"
    conflict = only(text + use + close)
    assert conflict.stated.code == "IR021"
    assert "'i64' vs" in conflict.stated.message


def test_a_name_ends_with_its_region():
    text = "scf.if %c {\n%x = arith.constant 1 : i32\n}\nscf.if %c {\n%y = arith.addi %x, %x : i64\n}\n"
    assert found(text) == []
    again = '"a.b"() ({\n%x = "c.d"() : () -> i32\n}, {\n%x = "c.d"() : () -> i64\n"e.f"(%x) : (i64) -> ()\n})'
    assert found(again + " : () -> ()\n") == []


def test_check_reports_them_by_line_and_column(tmp_path):
    path = tmp_path / "wrong.mlir"
    path.write_text(LAYOUTS.replace('-> !cute.shape<"(4,1)">', '-> !cute.shape<"(4,2)">'), encoding="utf-8")
    diagnostics = tileproof.check(str(path)).diagnostics
    first = diagnostics[0]
    place = first.source.position(first.span.start)
    assert (first.code, place.line, place.column) == ("IR020", 3, 64)


# ------------------------------------------------------------------------------------------------ forms and numbers


@pytest.mark.parametrize(
    ("text", "operands", "results", "expected"),
    [
        ("%r = cute.group_modes(%x) <0, 3> : (i32) -> i64", ["i32"], ["i64"], {"begin": "0", "end": "3"}),
        ("%r = cute.append_to_rank<3>(%x, %y) : i32, i64", ["i32", "i64"], None, {"rank": "3"}),
        ("%r = cute.get<[1, 0]>(%x) : i32 -> i64", ["i32"], ["i64"], {"mode": "[1, 0]"}),
        ("%r = cute.size(%x) <{mode = [3]}> : (i32) -> i64", ["i32"], ["i64"], {"mode": "[3]"}),
        ('%r = cute.dice(%x, "(1,_)") : (i32) -> i64', ["i32"], ["i64"], {"coord": '"(1,_)"'}),
        ("%r = cute.make_layout(%x, %y) : i64", None, ["i64"], {}),
        ("%r = cute.get_iter(%x) : i32", ["i32"], None, {}),
        ("%r = cute.static : i64", None, ["i64"], {}),
        ("%r = arith.addi %x, %y : i32", ["i32", "i32"], ["i32"], {}),
    ],
)
def test_a_custom_form_says_which_types_are_whose(text, operands, results, expected):
    (operation,) = read(text).operations
    said = signature(operation)
    assert (said.operands and [use.text for use in said.operands]) == operands
    assert (said.results and [use.text for use in said.results]) == results
    assert dict(parameters(operation)) == expected


def test_the_alignment_of_a_moved_pointer_holds_for_every_offset():
    elements, alignments, divisors = ["f4E2M1FN", "i1", "f16", "f32"], [1, 2, 16, 128], [1, 2, 3, 8, 24]
    for element, alignment, div in product(elements, alignments, divisors):
        bits = element_bits(element)
        pointer = Pointer(element, "smem", max(8 * alignment, bits))
        moved = advance(pointer, Dynamic(32, div))
        assert isinstance(moved, Pointer)
        for base, step in product(range(4), range(-4, 5)):
            address = base * pointer.alignment + step * div * bits
            assert address % moved.alignment == 0


# --------------------------------------------------------------------------------------------------------- the wheel

WHEEL = """
import json, sys
from cutlass._mlir import ir
for line in sys.stdin:
    text = json.loads(line)
    with ir.Context():
        try:
            print(json.dumps([True, ir.Module.parse(text).operation.get_asm(print_generic_op_form=True)]), flush=True)
        except Exception as error:
            print(json.dumps([False, str(error)]), flush=True)
"""


def wheel(texts: list[str]) -> list[tuple[bool, str]]:
    """What NVIDIA's parser and verifier say of each text, in a process of its own: the library may die."""
    pytest.importorskip("cutlass", reason="nvidia-cutlass-dsl is not installed")
    asked = "".join(json.dumps(text) + "\n" for text in texts)
    answer = subprocess.run([sys.executable, "-c", WHEEL], input=asked, capture_output=True, text=True, check=True)
    return [tuple(json.loads(line)) for line in answer.stdout.splitlines()]


@pytest.mark.oracle
@pytest.mark.skipif(not SHARED.exists(), reason="no ../shared beside this checkout")
def test_every_result_of_the_other_kernels_is_the_one_inferred():
    paths = [path for path in corpus_files() if not path.name.endswith(".generic.mlir") and path.name != INVALID]
    compared: Counter[str] = Counter()
    for path, (accepted, text) in zip(paths, wheel([p.read_text(encoding="utf-8") for p in paths]), strict=True):
        assert accepted, path
        compared += compare(read(text, str(path)))
    assert compared.total() > 30_000
    assert len(compared) > 45


POINTERS = [
    "f16, smem",
    "f4E2M1FN, gmem, align<8>",
    "i1, smem, align<16>",
    "f6E3M2FN, smem, align<4>",
    "f32, tmem, align<16>",
]
OFFSETS = ["0", "1", "3", "8", "96", "-4", "?", "?{div=6}", "?{i64 div=16}"]
COORDS = ["(_,0)", "(_,?)", "(3,_)", "(?{div=4},_)", "(_,(1,_))", "(_,(_,?{div=2}))", "(_,_)"]


def questions() -> Iterator[tuple[str, tuple[str, str]]]:
    """Operations with operand types of which no kernel of the corpus has an example."""
    for pointer, offset in product(POINTERS, OFFSETS):
        yield "cute.add_offset", (f"!cute.ptr<{pointer}>", f'!cute.int_tuple<"{offset}">')
    for pointer, coord in product(POINTERS, COORDS):
        yield "cute.slice", (f'!cute.memref<{pointer}, "(8,(4,?)):(?,(8,64))">', f'!cute.coord<"{coord}">')
    for a, b, op in product(OFFSETS, OFFSETS, ["add", "sub", "mul", "div", "mod"]):
        yield f"cute.tuple_{op}", (f'!cute.int_tuple<"({a},1)">', f'!cute.int_tuple<"({b},2)">')


@pytest.mark.oracle
def test_the_wheel_infers_the_same():
    asked = [(name, operands, infer(name, operands, (), ())) for name, operands in questions()]
    texts = []
    for name, operands, outcome in asked:
        declared = "i32" if not isinstance(outcome, tuple) else str(outcome[0])
        arguments = ", ".join(f"%{i}: {text}" for i, text in enumerate(operands))
        use = f'"{name}"(%0, %1) : ({", ".join(operands)}) -> {declared}'
        texts.append(f"func.func @f({arguments}) {{ %r = {use}\n return }}")
    verdicts = Counter()
    for (name, operands, outcome), (accepted, said) in zip(asked, wheel(texts), strict=True):
        assert accepted == isinstance(outcome, tuple), (name, operands, outcome, said)
        verdicts[accepted] += 1
    assert verdicts[True] > 300
    assert verdicts[False] > 10
