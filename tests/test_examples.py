"""The kernels shipped in examples/ show what they are there to show."""

from __future__ import annotations

import re

import pytest

import tileproof
from conftest import EXAMPLES

DUMPS = ["hopper_gemm.mlir", "hopper_gemm_broken.mlir"]


def test_the_hopper_gemm_is_clean():
    report = tileproof.check(EXAMPLES / "hopper_gemm.mlir")
    assert (report.exit_status(), report.diagnostics) == (0, ())


def test_the_broken_hopper_gemm_has_exactly_one_error_at_its_atom():
    report = tileproof.check(EXAMPLES / "hopper_gemm_broken.mlir")
    [diagnostic] = report.diagnostics
    assert report.exit_status() == 1
    assert diagnostic.code == "WG101"
    rule_says, _, repaired = diagnostic.hint.partition("; the nearest legal atom is ")
    assert rule_says == "Nearest valid: N = 96 or 104"
    assert repaired.startswith("!cute_nvgpu.sm90.mma<64x96x16, ")
    assert diagnostic.source.text[: diagnostic.span.start].endswith("!cute_nvgpu.sm90.mma<64x")


def test_the_broken_one_differs_in_the_width_of_its_atom_only(hopper_gemm: str):
    broken = (EXAMPLES / "hopper_gemm_broken.mlir").read_text(encoding="utf-8")
    assert broken == hopper_gemm.replace("sm90.mma<64x128x16,", "sm90.mma<64x100x16,")


@pytest.mark.parametrize("name", DUMPS)
def test_dumps_name_no_place_on_the_machine_that_made_them(name: str):
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    assert re.search(r'loc\(|"([A-Za-z]:\\\\|/)|/(home|root|tmp|usr|opt|work)/', text) is None
