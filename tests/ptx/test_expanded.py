"""Kernels with the bodies of the functions that they call in place of the calls."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import tileproof
from tileproof.base.source import Source
from tileproof.ptx.expanded import expanded
from tileproof.ptx.graph import Graphs
from tileproof.ptx.module import Module, Statement, read_module

BOOK = tileproof.load_rules()
HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"
REGISTERS = "  .reg .pred %p<3>; .reg .b16 %rs<5>; .reg .b32 %r<5>; .reg .b64 %rd<5>;\n"
KERNEL = ".visible .entry kernel(.param .b32 n)\n{{\n" + REGISTERS + "{}\n  ret;\n}}\n"
MOST = 1000


def expand(functions: str, body: str) -> tuple[Module | None, Module]:
    module = read_module(BOOK, Source("k.ptx", HEAD + functions + KERNEL.format(body)))
    assert module.faults == []
    return expanded(BOOK, module, module.functions[-1], MOST), module


def shown(module: Module | None) -> list[str]:
    """Guards, opcodes and operands, blanks aside."""
    assert module is not None

    def line(one: Statement) -> str:
        guard = f"@{'!' if one.negated else ''}{one.guard} " if one.guard else ""
        return f"{guard}{one.opcode} {module.operands(one).strip()}".strip()

    return [line(one) for one in module.instructions]


ADD = """.func (.param .b32 sum) add(.param .b32 a, .param .b32 b)
{
  .reg .pred %p<3>; .reg .b32 %r<5>;
  ld.param.b32 %r1, [a];
  ld.param.b32 %r2, [b];
  add.s32 %r3, %r1, %r2;
  st.param.b32 [sum+0], %r3;
  setp.eq.s32 %p1, %r3, 0;
  @%p1 ret;
  bar.sync 0;
  ret;
}
"""
CALL = """  .param .b32 x; .param .b32 y; .param .b32 z;
  st.param.b32 [x], 1;
  st.param.b32 [y+0], %r1;
  call.uni (z), add, (x, y);
  ld.param.b32 %r2, [z];"""
CALLED = [
    "mov.b32 %parameter_0, 1",
    "mov.b32 %parameter_1, %r1",
    "mov.b32 %r1, %parameter_0",
    "mov.b32 %r2, %parameter_1",
    "add.s32 %r3, %r1, %r2",
    "mov.b32 %parameter_2, %r3",
    "setp.eq.s32 %p1, %r3, 0",
    "@%p1 bra $end_of_call_1",
    "bar.sync 0",
    "bra $end_of_call_1",
    "mov.b32 %r2, %parameter_2",
    "ret",
]


def test_a_call_is_what_the_function_does():
    found, module = expand(ADD, CALL)
    assert shown(found) == CALLED
    assert found is not None and [one.name for one in found.functions] == ["kernel"]
    assert found.text.startswith(module.text) and found.plain[len(module.plain) :] == found.text[len(module.text) :]


def test_an_instruction_that_is_written_anew_stands_for_one_of_the_file():
    found, module = expand(ADD, CALL)
    assert found is not None
    written = [found.written(one) for one in found.instructions]
    assert [one.opcode for one in written[:3]] == ["st.param.b32", "st.param.b32", "ld.param.b32"]
    assert {one.start for one in written} <= {one.start for one in module.instructions}
    own = [one for one in found.instructions if one not in found.originals]
    assert all(found.text[one.start : one.end] == module.text[one.start : one.end] for one in own)


def test_registers_and_labels_of_each_call_are_its_own():
    found, _ = expand(ADD, f"{{\n{CALL}\n}}\n{{\n{CALL}\n}}")
    assert found is not None
    adds = [one for one in found.instructions if one.opcode == "add.s32"]
    first, second = (one.scope.register("%r3") for one in adds)
    assert first is not None and second is not None and first[1] is not second[1]
    returns = [name for name in shown(found) if "$end_of_call" in name]
    assert returns == [f"{guard}bra $end_of_call_{i}" for i in (1, 2) for guard in ("@%p1 ", "")]
    (kernel,) = found.functions
    assert [(one.name, one.statement) for one in kernel.labels] == [("$end_of_call_1", 10), ("$end_of_call_2", 21)]


def test_a_guarded_call_goes_around_the_function():
    found, _ = expand(ADD, CALL.replace("  call.uni", "  @!%p2 call"))
    assert shown(found) == [*CALLED[:2], "@%p2 bra $end_of_call_1", *CALLED[2:]]


def test_arguments_need_not_be_in_memory():
    """A register, a number or `_` may stand for a parameter."""
    found, _ = expand(ADD, "  call.uni (%r4), add, (%r1, 7);\n  call.uni (_), add, (%r1, 7);")
    assert shown(found)[:2] == ["mov.b32 %parameter_0, %r1", "mov.b32 %parameter_1, 7"]
    assert shown(found)[10] == "mov.b32 %r4, %parameter_2"
    assert not [one for one in shown(found) if "_," in one]


def test_bytes_and_vectors_of_a_parameter():
    function = """.func take(.param .align 8 .b8 all[24])
{
  .reg .b16 %rs<5>; .reg .b32 %r<5>; .reg .b64 %rd<5>;
  ld.param.v2.b32 {%r1, %r2}, [all+8];
  ld.param.s8 %rs1, [all+16];
  ld.param.u16 %r3, [all+18];
  ld.param.b64 %rd1, [all+8];
  ld.param.b64 %rd2, [all];
  mov.b64 %rd3, all;
}
"""
    body = """  .param .align 8 .b8 p[24];
  st.param.b64 [p], %rd1;
  st.param.v2.b32 [p+8], {%r1, 3};
  st.param.b8 [p+16], %rs1;
  st.param.b16 [p+18], %rs2;
  call take, (p);"""
    found, _ = expand(function, body)
    assert shown(found) == [
        "mov.b64 %parameter_0, %rd1",
        "mov.b32 %parameter_1, %r1",
        "mov.b32 %parameter_2, 3",
        "and.b16 %parameter_3, %rs1, 255",
        "mov.b16 %parameter_4, %rs2",
        "mov.b32 %r1, %parameter_1",
        "mov.b32 %r2, %parameter_2",
        "cvt.s32.s8 %rs1, %parameter_3",
        "cvt.u32.u16 %r3, %parameter_4",
        "mov.b64 %rd1, %parameter_5",  # two halves, of which nothing is known together
        "mov.b64 %rd2, %parameter_0",
        "mov.b64 %rd3, all",
        "ret",
    ]
    assert found is not None
    address = next(one for one in found.instructions if found.operands(one).strip() == "%rd3, all")
    variable = address.scope.variable("all")
    assert variable is not None and variable.space == "call"  # not what the kernel gets


def test_the_parameters_of_the_kernel_stay():
    found, _ = expand(ADD, "  ld.param.b32 %r1, [n];\n" + CALL)
    assert shown(found) == ["ld.param.b32 %r1, [n]", *CALLED]


def test_functions_that_call_functions():
    outer = ADD + ".func outer()\n{\n  .reg .b32 %r<5>;\n" + CALL + "\n}\n"
    found, _ = expand(outer, "  call outer;\n  call outer, ();")
    alike = [re.sub(r"(call|parameter)_\d+", r"\1", one) for one in CALLED[:-1]]
    assert [re.sub(r"(call|parameter)_\d+", r"\1", one) for one in shown(found)] == [*alike, *alike, "ret"]
    assert len({one for one in shown(found) if one.startswith("bra")}) == 2


def test_what_cannot_be_expanded_is_left_as_it_is():
    recursive = ".func again()\n{\n  call again;\n  ret;\n}\n"
    assert expand(recursive, "  call again;")[0] is None
    assert expand(ADD, "  call.uni add, ();")[0] is None  # not its parameters
    assert expand(ADD, "  call (%r1), %rd1, (%r2), add;")[0] is None  # through a pointer


def test_a_function_without_a_body_stays_a_call():
    assert shown(expand(".extern .func other();\n", "  call other;")[0]) == ["call other", "ret"]


def test_long_and_deep_calls_are_refused_in_linear_time():
    names = [f"f{i}" for i in range(400)]
    twice = ".func {1}()\n{{\n  call {0};\n  call {0};\n}}\n"
    deep = ".func f0()\n{\n  bar.sync 0;\n}\n" + "".join(twice.format(*pair) for pair in pairwise(names))
    start = time.process_time()
    assert expand(deep, "  call f399;")[0] is None
    assert expand(deep, "  call f20;")[0] is None
    assert shown(expand(deep, "  call f2;")[0]) == ["bar.sync 0"] * 4 + ["ret"]
    assert time.process_time() - start < 5


def test_the_graph_of_a_kernel_has_its_parts():
    unused = ".func unused()\n{\n  ret;\n}\n"
    copying = ADD.replace("bar.sync 0;", "cp.async.wait_all;")
    module = read_module(BOOK, Source("k.ptx", HEAD + copying + unused + KERNEL.format(CALL)))
    graphs = Graphs(BOOK, module)
    add, unused_, kernel = module.functions
    assert graphs.parts(kernel) == [add, kernel] and graphs.parts(unused_) == [unused_]
    assert graphs.whole(kernel) is graphs.whole(kernel) is not graphs.of(kernel)
    assert graphs.whole(unused_) is graphs.of(unused_)


def test_what_only_computes_stays_a_call():
    """Thousands of kernels call the same slow path of a sine: their texts are not written out for nothing."""
    module = read_module(BOOK, Source("k.ptx", HEAD + ADD + KERNEL.format(CALL)))
    graphs = Graphs(BOOK, module)
    _, kernel = module.functions
    assert graphs.whole(kernel) is graphs.of(kernel) and graphs.parts(kernel) == [kernel]
