"""Fixtures that several tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, settings

from tileproof.base.resources import PACKAGE
from tileproof.cli import main

# CI repeats the same examples in every run; a developer's runs look for new ones, and `--hypothesis-profile=many` for
# many. An example has no deadline, and the time to find one is no fault, since a machine may do something else:
# speed is in tests/benchmarks.
_SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much]
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=40, suppress_health_check=_SLOW)
settings.register_profile("developer", deadline=None, max_examples=40, suppress_health_check=_SLOW)
settings.register_profile("many", deadline=None, max_examples=1000, suppress_health_check=_SLOW)
settings.load_profile("ci" if os.environ.get("CI") else "developer")

os.environ["TILEPROOF_NO_CACHE"] = "1"  # a test that changes the engine must not get what another one found

ROOT = Path(__file__).resolve().parents[1]

if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):  # hundreds of tests start a process, which would compile all modules
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / ".pytest_cache" / "bytecode"))

SHARED = ROOT.parent / "shared"
EXAMPLES = ROOT / "examples"
SMALL = 70_000  # bytes of a real file that the plain run reads


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regenerate", action="store_true", help="write the expected reports of tests/report anew")


def corpus_files(pattern: str = "corpus/*/*.mlir") -> list[Path]:
    """Real kernels that lie beside the checkout on a developer's machine; none elsewhere."""
    return sorted(SHARED.glob(pattern))


def corpus(pattern: str = "corpus/*/*.mlir", every: int = 3) -> pytest.MarkDecorator:
    """Parametrise a test over real files by ``path``; it is skipped, with the reason, where there are none.

    The plain run takes the smaller files, the sweep every third of the others, or so many of them; the rest is
    ``long``. PTX runs on the machine, which takes seconds a file: of it the two take every third file.
    """
    files = corpus_files(pattern)
    if not files:
        return pytest.mark.parametrize(
            "path", [pytest.param(None, marks=pytest.mark.skip(reason="no ../shared beside this checkout"))]
        )
    return pytest.mark.parametrize(
        "path",
        [pytest.param(path, marks=_often(path, i, every)) for i, path in enumerate(files)],
        ids=lambda path: f"{path.parent.name}/{path.name}",
    )


def _often(path: Path, number: int, every: int) -> pytest.MarkDecorator | tuple[()]:
    large = path.stat().st_size > SMALL
    if path.suffix != ".ptx":
        return () if not large else pytest.mark.long if number % every else pytest.mark.sweep
    return pytest.mark.long if number % every else pytest.mark.sweep if large or number % 4 else ()


def tileproof(*arguments: str, stdin: bytes = b"", cwd: Path | None = None, **environment: str):
    """The command line in a process of its own; the package need not be installed."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CUTE_DSL_")}
    path = os.pathsep.join(filter(None, (str(PACKAGE.parent), inherited.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-m", "tileproof.cli", *arguments],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env={**inherited, "PYTHONPATH": path, **environment},
        timeout=60,
        check=False,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def command(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    """The command line in this process: half a second sooner than ``tileproof``, for what says nothing of processes."""
    done = CliRunner().invoke(main, arguments, input=stdin, catch_exceptions=False)
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)


def some(cases: Iterable[object], every: int = 3) -> list[object]:
    """Cases of which the plain run takes every third, or so, and the sweep the others."""
    return [case if i % every == 0 else _swept(case) for i, case in enumerate(cases)]


def _swept(case: object) -> object:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.sweep)


@pytest.fixture(scope="session")
def hopper_gemm() -> str:
    """A Hopper GEMM that CuTe DSL wrote, shipped with the project."""
    return (EXAMPLES / "hopper_gemm.mlir").read_text(encoding="utf-8")
