"""Operations of the wheel, mutated one at a time: what we refuse, NVIDIA's verifier refuses as well."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice

import pytest
from wheel import WORKER

import tileproof
from conftest import corpus_files
from tileproof.dialects.forms import Forms
from tileproof.dialects.operands import resolve
from tileproof.dialects.type_flow import conflicts
from tileproof.dialects.versions import is_published
from tileproof.mlir.ir import Module, Operation
from tileproof.rulebase.load import default_files, load

GENERIC = "corpus/*/*.generic.mlir"
TYPES = ("i32", "i64", "f32", "index", "vector<4xf32>", "!llvm.ptr", '!cute.layout<"4:1">', "none")
REFUSED = 0.85  # of what NVIDIA's verifier refuses; 0.9 was measured
ELSEWHERE = {"lir"}  # dialects that these tables leave out

BASE = "as it is"
Mutant = tuple[str, str]


def text_of(module: Module, operation: Operation, operands: list[str], attributes: str) -> str:
    """A module in which the operation is alone: each operand is cast out of nothing."""
    aliases = "".join(f"{alias.name} = {alias.text}\n" for alias in module.aliases.values())
    sources = "".join(
        f'  %a{i} = "builtin.unrealized_conversion_cast"() : () -> {type_}\n' for i, type_ in enumerate(operands)
    )
    results = [use.text for use in operation.outputs]
    left = f"%r:{len(results)} = " if results else ""
    names = ", ".join(f"%a{i}" for i in range(len(operands)))
    signature = f"({', '.join(operands)}) -> ({', '.join(results)})"
    body = f'{sources}  {left}"{operation.name}"({names}){attributes} : {signature}'
    return f'{aliases}"builtin.module"() ({{\n{body}\n}}) : () -> ()\n'


def attributes_of(operation: Operation) -> str | None:
    """What is between the operands and the signature of a generic form; None where it cannot be cut out."""
    rest = operation.pieces[0].partition(f'"{operation.name}"(')[2].partition(")")[2]
    inputs = ", ".join(use.text for use in operation.inputs)
    at = rest.rfind(f" : ({inputs}) ->")
    return rest[:at] if at >= 0 else None


def mutants(module: Module, operation: Operation) -> Iterator[Mutant]:
    """The operation as it is, and with one change."""
    attributes = attributes_of(operation)
    if attributes is None:
        return
    types = [use.text for use in operation.inputs]
    yield BASE, text_of(module, operation, types, attributes)
    if types:
        yield "an operand less", text_of(module, operation, types[:-1], attributes)
        yield "an operand more", text_of(module, operation, [*types, types[-1]], attributes)
    for index in range(len(types)):
        for other in TYPES:
            changed = [*types[:index], other, *types[index + 1 :]]
            yield f"operand {index} is {other}", text_of(module, operation, changed, attributes)
    for name in re.findall(r"(\w+) = ", attributes):
        without = re.sub(rf"\b{name} = (?:\[[^\]]*\]|<[^>]*>|[^,<>{{}}]|<[^<>]*>)*(?:, )?", "", attributes, count=1)
        if without.count("<") == without.count(">"):
            yield f"without {name}", text_of(module, operation, types, without)


def samples() -> Iterator[Mutant]:
    """Mutants of one operation of each name and number of operands in the real kernels in generic form."""
    seen: set[tuple[str, int]] = set()
    for path in corpus_files(GENERIC):
        module = tileproof.parse(path.read_text(encoding="utf-8"), path.name).module
        for operation in module.walk():
            key = (operation.name, len(operation.operands))
            if operation.generic and not operation.regions and not operation.successors and key not in seen:
                seen.add(key)
                if operation.name.partition(".")[0] not in ELSEWHERE:
                    yield from mutants(module, operation)


def verdicts(texts: list[str]) -> list[bool | None]:
    """Whether NVIDIA's parser refuses each text; None where it died."""
    found: list[bool | None] = []
    while len(found) < len(texts):
        rest = "".join(json.dumps(text) + "\n" for text in texts[len(found) :])
        done = subprocess.run([sys.executable, "-c", WORKER], input=rest, capture_output=True, text=True, check=False)
        found += [json.loads(line) is not None for line in done.stdout.splitlines()]
        if len(found) < len(texts):
            found.append(None)
    return found


def refusals(text: str) -> list[str]:
    return [found.stated.message for found in conflicts(tileproof.parse(text, "-").module)]


@pytest.mark.oracle
@pytest.mark.skipif(not corpus_files(GENERIC), reason="no ../shared beside this checkout")
def test_what_we_refuse_nvidia_refuses():
    pytest.importorskip("cutlass", reason="nvidia-cutlass-dsl is not installed")
    asked = [(what, text) for what, text in samples() if not is_published(tileproof.parse(text, "-").module)]
    both = theirs = 0
    valid = False
    for (what, text), refused in zip(asked, verdicts([text for _, text in asked]), strict=True):
        ours = refusals(text)
        if what == BASE:
            valid = refused is False  # a terminator or a callee cannot be alone
        if refused is False:
            assert ours == [], (what, text)
        elif refused and valid:
            theirs += 1
            both += bool(ours)
    assert theirs > 500
    assert both >= REFUSED * theirs, (both, theirs)


@pytest.mark.skipif(not corpus_files(GENERIC), reason="no ../shared beside this checkout")
def test_real_operations_have_the_form_of_their_name():
    """Not one that the tables know is refused, and they know most of them."""
    forms = Forms.of(load(default_files()))
    judged = count = 0
    for path in islice(corpus_files(GENERIC), 4):
        module = tileproof.parse(path.read_text(encoding="utf-8"), path.name).module
        for operation in module.walk():
            types = tuple(resolve(use.text, module.aliases) for use in operation.inputs)
            results = tuple(resolve(use.text, module.aliases) for use in operation.outputs)
            count += 1
            if operation.generic and len(types) == len(operation.operands):
                assert forms.fault(operation, types, results, published=False) is None, operation
                judged += operation.name in forms.wheel
    assert judged > 0.9 * count > 1000


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        ('%r = "arith.addi"(%a, %b) : (i32, i64) -> i32', "requires the same type for all operands and results"),
        ("%r = arith.cmpi slt, %a, %b : i32", "requires all operands to have the same type"),
        ("%r = arith.addi %a, %b : i32", "use of value '%b' expects different type"),
        ("nvvm.mbarrier.init %p : !llvm.ptr<3>", "expected 2 to 3 operands, but found 1"),
        ('"nvvm.mbarrier.init"(%p, %b) : (!llvm.ptr<3>, i64) -> ()', "operand #1 must be 32-bit signless integer"),
        ('%r = "arith.cmpi"(%a, %a) : (i32, i32) -> i1', "requires attribute 'predicate'"),
        ('%r = "arith.addf"(%a, %a) : (i32, i32) -> i32', "operand #0 must be floating-point-like, but got 'i32'"),
        ("%r = arith.addii %a, %a : i32", "custom op 'arith.addii' is unknown"),
    ],
)
def test_malformed_operations(operation: str, said: str):
    text = f'func.func @f(%a: i32, %b: i64, %p: !llvm.ptr<3>, %m: !cute.memref<f32, gmem, "4:1">) {{\n  {operation}\n}}'
    assert any(said in message for message in refusals(text)), refusals(text)


@pytest.mark.parametrize(
    "operation",
    [
        "%r = arith.addi %a, %a : i32",
        "%r = other.addi %a, %b : i32",
        "nvvm.mbarrier.init %p, %a : !llvm.ptr<3>, i32",
        "%r = llvm.load %p : !llvm.ptr<3> -> vector<4xf32>",
    ],
)
def test_well_formed_operations(operation: str):
    assert refusals(f"func.func @f(%a: i32, %b: i64, %p: !llvm.ptr<3>) {{\n  {operation}\n}}") == []


def test_unknown_names_are_notes_with_the_nearest_name():
    text = 'func.func @f(%a: !cute.layuot<"4:1">) {\n  %r = cute.get_shap(%a) : (i32) -> i32\n}'
    found = {item.code: item for item in tileproof.check(text).diagnostics}
    assert (found["IR024"].severity.name, found["IR024"].hint) == ("NOTE", "did you mean 'cute.get_shape'?")
    assert (found["IR025"].severity.name, found["IR025"].hint) == ("NOTE", "did you mean '!cute.layout'?")


@pytest.mark.skipif(not corpus_files(), reason="no ../shared beside this checkout")
def test_every_operation_of_real_kernels_has_a_known_name():
    """Of the newest release and of older ones: a note on an unknown name is about a misspelling."""
    forms = Forms.of(load(default_files()))
    texts = corpus_files("corpus/*/*.mlir") + corpus_files("field/*/*.mlir") + corpus_files("versions/**/*.mlir")
    names = {name for path in texts for name in OPERATION.findall(path.read_text(encoding="utf-8"))}
    assert len(names) > 200
    assert [name for name in sorted(names) if forms.unknown_operation(name) is not None] == []


OPERATION = re.compile(r'^\s*(?:%[^=]*= )?"?([a-z_]+\.[\w.]+)', re.M)


def test_operands_are_of_the_kind_that_the_release_wrote():
    """4.3 has a plain tuple where the newest release has an iterator, of which there are no leaves."""
    text = """func.func @f(%t: !cute.coord_tensor<"(0,0)", "(4,8):(1@0,1@1)">) {{
  %i = cute.get_iter(%t) : !cute.coord_tensor<"(0,0)", "(4,8):(1@0,1@1)">
  %a, %b = cute.get_leaves(%i) : !cute.{kind}<"(0,0)">
  nvvm.mbarrier.txn {{word = "internal_val_type"}}
}}"""
    assert not [one for one in refusals(text.format(kind="int_tuple")) if "XTuple-like" in one]
    assert [one for one in refusals(text.format(kind="arith_tuple_iter")) if "XTuple-like" in one]
