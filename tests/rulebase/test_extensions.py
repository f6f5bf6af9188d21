"""What a project adds in rule files alone: a generation with an MMA, and operations of the protocol.

Leaving out any declaration of the hypothetical MMA is a fault that says where, and what to write.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

import tileproof
from tileproof.base.source import Source
from tileproof.checking.implemented import load_implemented
from tileproof.cli import main
from tileproof.rulebase.load import RuleError, default_files, load

FOLDER = Path(__file__).parent / "extensions"
MMA, STEP, WITHOUT_ACTION = FOLDER / "mma", FOLDER / "step", FOLDER / "step_without_action"
TEXT = (MMA / "sm999.rule").read_text(encoding="utf-8")
DECLARATIONS = [part for part in re.split(r"\n(?=[a-z])", TEXT) if not part.startswith("#")]
# The atom is complete without an instruction and its target rule: these only add what `legal` accepts.
OPTIONAL = ("instruction outer.sync", "rule FU102")

RIGHT, WRONG = (f"!cute_nvgpu.sm999.mma<{shape}, elem_type = f32>" for shape in ("32x64x1", "48x64x1"))


def codes(text: str, **options: object) -> list[str]:
    return [found.code for found in tileproof.check(text, **options).diagnostics]  # type: ignore[arg-type]


@cache
def faults_of(text: str) -> list[str]:
    with pytest.raises(RuleError) as error:
        load_implemented((*default_files(), Source("own.rule", text)))
    return [str(fault) for fault in error.value.faults]


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, arguments)
    return result.exit_code, result.output


def test_the_mma_is_judged_in_ir() -> None:
    use = '"use"() : () -> {}\n'
    assert codes(use.format(RIGHT), rules=[MMA]) == []
    assert codes(use.format(WRONG), rules=[MMA]) == ["FU101"]
    assert codes(use.format(RIGHT), rules=[MMA], target="sm_90a") == ["TG101"]
    assert codes(use.format(RIGHT)) == ["AT001"]


@pytest.mark.parametrize(
    ("target", "shape", "status", "code"),
    [("sm_999a", "m32n64k1", 0, ""), ("sm_999a", "m48n64k1", 1, "FU101"), ("sm_90a", "m32n64k1", 1, "FU102")],
)
def test_the_instruction_is_legal_or_not(target: str, shape: str, status: int, code: str) -> None:
    instruction = f"outer.sync.aligned.{shape}.f32 {{r0}},{{r1}},{{r2}};"
    exit_code, output = run("legal", "--target", target, "--rules", str(MMA), instruction)
    assert exit_code == status, output
    assert code in output


def test_the_mma_is_explained() -> None:
    exit_code, output = run("explain", "sm999.mma", "--rules", str(MMA))
    assert exit_code == 0
    assert "targets: sm_999a" in output


@pytest.mark.parametrize("left_out", DECLARATIONS, ids=lambda part: part.partition("{")[0].strip())
def test_a_missing_piece_is_a_fault(left_out: str) -> None:
    text = TEXT.replace(left_out, "")
    if left_out.startswith(OPTIONAL):
        load((*default_files(), Source("own.rule", text)))
        return
    faults = faults_of(text)
    assert all(re.match(r"(own\.rule|rules/[\w/]+\.rule):\d+:\d+: ", fault) for fault in faults)
    assert any(fault.startswith("own.rule:") for fault in faults)


@pytest.mark.parametrize(
    ("left_out", "fault"),
    [
        (
            "extend table mma_operands",
            "own.rule:13:20: table 'mma_operands' is total and has no row for .sm999_mma: write",
        ),
        ("extend table conditional", "table 'conditional' is total and has no row for .sm999_future .a: write"),
        (
            "extend table registry",
            "table 'registry' is total and has no row for .sm999_mma: write `extend table registry",
        ),
        (
            "atom cute_nvgpu",
            "the atom cute_nvgpu.sm999.mma has no declaration, and no rule judges .sm999_mma: write `atom",
        ),
        ("extend enum atom", "'cute_nvgpu.sm999.mma' spells no member of the enum 'atom': write `extend enum atom"),
        ("extend enum tier", "'.sm999_future' in column 'tier' of table 'target' is no tier"),
        ("extend enum feature", "'.outer_product' in column 'features' of table 'conditional' is no feature"),
        ("rule FU101", "no rule on 'sm999.mma' judges cute_nvgpu.sm999.mma: write `rule CODE name on sm999.mma"),
        ("fragment cute_nvgpu", "no fragment says which thread holds what of cute_nvgpu.sm999.mma: write `fragment"),
        ("schema sm999.mma ", "'sm999.mma' is not a schema that can be extended"),
    ],
)
def test_the_fault_says_what_to_write(left_out: str, fault: str) -> None:
    text = TEXT.replace(next(part for part in DECLARATIONS if part.startswith(left_out)), "")
    assert any(fault in found for found in faults_of(text)), faults_of(text)


def test_a_synchronising_operation_is_followed() -> None:
    kernel = (STEP / "kernel.mlir").read_text(encoding="utf-8")
    assert codes(kernel, rules=[STEP]) == []
    without = "".join(line for line in kernel.splitlines(keepends=True) if "vendor.cta_barrier" not in line)
    assert codes(without, rules=[STEP]) == ["PR111"]
    assert codes(kernel) == ["PR111"]  # an operation that nobody knows orders nothing


def test_a_step_without_an_action_is_a_fault() -> None:
    exit_code, output = run("check", str(STEP / "kernel.mlir"), "--rules", str(WITHOUT_ACTION))
    assert exit_code != 0
    assert re.search(r"step\.rule:3:29: error: the step '\.teleport' has no action; known actions: \.\w+, ", output)
    exit_code, output = run("rules", "check", "--rules", str(WITHOUT_ACTION))
    assert exit_code != 0
    assert "the step '.teleport' has no action" in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            'extend enum protocol_copy { .beam "vendor.beam"; }',
            "own.rule:1:29: the copy '.beam' has no action; known actions: .async, ",
        ),
        (
            'extend enum assembly_opcode { .beam "beam.sync"; } extend table assembly { .beam "vendor.beam" "0"; }',
            "'vendor.beam' in column 'operation' of table 'assembly' is no protocol_operation",
        ),
        ("extend enum schedule_role { .beam; }", "own.rule:1:29: the role '.beam' has no meaning; known meanings: "),
        (
            'extend enum protocol_operation { .beam "vendor.beam"; }extend table protocol { .beam .nothing 0 0 0; }',
            "'.nothing' in column 'step' of table 'protocol' is no protocol_step",
        ),
        (
            'extend enum protocol_operation { .beam "vendor.beam"; } extend table protocol { .beam .arrive 0 0 0; }',
            "a kernel is not followed for the sake of 'vendor.beam': write `extend enum protocol_word",
        ),
        (
            'extend enum protocol_operation { .beam "vendor.wgmma"; }',
            "table 'protocol' is total and has no row for .beam",
        ),
    ],
)
def test_what_the_engine_cannot_do_is_a_fault(text: str, fault: str) -> None:
    found = faults_of(text)
    assert any(fault in one for one in found), found


def test_all_that_our_rules_name_is_implemented() -> None:
    assert load_implemented(default_files()) is load(default_files())
