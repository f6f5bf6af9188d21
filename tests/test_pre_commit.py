"""The hook of .pre-commit-hooks.yaml, in a scratch repository.

pre-commit would clone this project and install it into an environment of its own, from the network. So the scratch
repository uses our hook as a ``repo: local`` one in which two things differ: ``language: system``, and ``tileproof``
in the entry is the interpreter and the package that these tests run with. Entry, files, types and the rest of what
is tested are those of .pre-commit-hooks.yaml.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from conftest import EXAMPLES, ROOT
from tileproof.base.resources import PACKAGE

pytest.importorskip("pre_commit", reason="pre-commit is not installed")
yaml = pytest.importorskip("yaml")

MANIFEST = ROOT / ".pre-commit-hooks.yaml"
PRE_COMMIT = (sys.executable, "-m", "pre_commit")


class Repository:
    """A git repository with our hook installed, untouched by the settings of whoever runs the tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "repository"
        self.folder.mkdir()
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self.environment |= {
            "PRE_COMMIT_HOME": str(folder / "pre-commit"),
            "PYTHONPATH": str(PACKAGE.parent),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        [hook] = yaml.safe_load(MANIFEST.read_text())
        program, _, arguments = hook["entry"].partition(" ")
        assert program == "tileproof"
        hook |= {"language": "system", "entry": f'"{sys.executable}" -m tileproof.cli {arguments}'}
        config = {"repos": [{"repo": "local", "hooks": [hook]}]}
        (self.folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
        self.run("git", "init", "-q")
        self.run("git", "config", "user.name", "A. Tester")
        self.run("git", "config", "user.email", "tester@example.org")
        assert self.run(*PRE_COMMIT, "install").returncode == 0

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=60, check=False
        )

    def commit(self, files: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Commit files, each a copy of an example."""
        for name, example in files.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text((EXAMPLES / example).read_text())
        self.run("git", "add", "-A")
        return self.run("git", "commit", "-m", "kernels")

    def commits(self) -> int:
        return len(self.run("git", "log", "--oneline").stdout.splitlines())


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_a_good_kernel_is_committed(repository: Repository):
    done = repository.commit({"gemm.mlir": "hopper_gemm.mlir"})
    assert "tileproof check" in done.stderr
    assert "Passed" in done.stderr
    assert (done.returncode, repository.commits()) == (0, 1)


def test_a_broken_kernel_blocks_the_commit_and_says_why(repository: Repository):
    done = repository.commit({"gemm.mlir": "hopper_gemm.mlir", "kernels/broken.mlir": "hopper_gemm_broken.mlir"})
    assert "kernels/broken.mlir:19:70: error: Invalid N = 100 for wgmma.mma_async" in done.stderr
    assert "\n1 error in 2 files;" in done.stderr
    assert (done.returncode, repository.commits()) == (1, 0)


def test_files_that_are_not_mlir_are_left_alone(repository: Repository):
    done = repository.commit({"gemm.mlir.txt": "hopper_gemm_broken.mlir"})
    assert "(no files to check)Skipped" in done.stderr
    assert (done.returncode, repository.commits()) == (0, 1)


def test_the_manifest_is_one_that_pre_commit_accepts():
    done = subprocess.run(
        [*PRE_COMMIT, "validate-manifest", str(MANIFEST)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_entry_is_a_script_that_the_package_installs():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    [hook] = yaml.safe_load(MANIFEST.read_text())
    assert hook["id"] == "tileproof-check"
    assert hook["language"] == "python"
    assert hook["entry"].split()[0] in scripts
