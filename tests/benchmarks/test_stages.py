"""The table of stages: its functions are still there, and each stage of a file is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.stages import OTHER, STAGES, measured
from conftest import EXAMPLES


@pytest.mark.sweep
def test_every_stage_of_a_kernel_has_its_time():
    spent = measured(str(EXAMPLES / "hopper_gemm.mlir"), 1)
    assert list(spent) == [OTHER, *STAGES]
    assert {stage for stage, seconds in spent.items() if seconds == 0} <= {"paths"}  # of PTX alone


@pytest.mark.sweep
def test_every_stage_of_ptx_has_its_time(tmp_path: Path):
    path = tmp_path / "k.ptx"
    path.write_text(".version 8.0\n.target sm_90a\n.address_size 64\n.entry k() { ret; }\n", encoding="utf-8")
    spent = measured(str(path), 1)
    assert all(spent[stage] > 0 for stage in (OTHER, "read rules", "scan", "facts", "paths", "report"))
