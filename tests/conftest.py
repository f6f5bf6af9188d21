"""Fixtures that several tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
EXAMPLES = ROOT / "examples"


def corpus_files(pattern: str = "corpus/*/*.mlir") -> list[Path]:
    """Real kernels that lie beside the checkout on a developer's machine; none elsewhere."""
    return sorted(SHARED.glob(pattern))


def corpus(pattern: str = "corpus/*/*.mlir") -> pytest.MarkDecorator:
    """Parametrise a test over real files by ``path``; it is skipped, with the reason, where there are none."""
    files = corpus_files(pattern)
    if not files:
        return pytest.mark.parametrize(
            "path", [pytest.param(None, marks=pytest.mark.skip(reason="no ../shared beside this checkout"))]
        )
    return pytest.mark.parametrize("path", files, ids=lambda path: f"{path.parent.name}/{path.name}")


@pytest.fixture(scope="session")
def hopper_gemm() -> str:
    """A Hopper GEMM that CuTe DSL wrote, shipped with the project."""
    return (EXAMPLES / "hopper_gemm.mlir").read_text(encoding="utf-8")
