"""The command line keeps the code of its modules, and nobody sees it but the clock."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tileproof.base.resources import PACKAGE

STATED = 'fail("layout requires an expression, --jsonl or --functions")'  # of cli/layout.py, which a run comes to


class Copy:
    """The package in a folder of its own, with a cache of its own, where no byte code lies beside the sources."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "tileproof"
        self.cache = folder / "cache"
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__"))

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        known = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        known |= {"PYTHONPATH": str(self.package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        known |= {"TILEPROOF_CACHE_DIR": str(self.cache), **environment}
        return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=known, check=False)

    def said(self, **environment: str) -> str:
        """What the command prints that lacks its argument."""
        done = self.run("-m", "tileproof.cli", "layout", **environment)
        assert done.stdout == ""
        return done.stderr

    @property
    def kept(self) -> Path:
        [path] = self.cache.glob("code-*.kept")
        return path

    def change(self, new: str, unseen: bool = False) -> None:
        """Replace what is stated; ``unseen``: the time and size of the file stay."""
        path = self.package / "cli" / "layout.py"
        status, text = path.stat(), path.read_text(encoding="utf-8")
        assert STATED in text
        path.write_text(text.replace(STATED, new), encoding="utf-8")
        if unseen:
            assert len(new) == len(STATED)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


SAID = "tileproof: layout requires an expression, --jsonl or --functions\n"
SHOUTED = STATED.replace("layout", "LAYOUT")


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_a_module_is_loaded_from_what_is_kept(copy: Copy):
    """A change that neither time nor size shows is not seen: the source was not read. Nothing lies beside it."""
    assert copy.said() == SAID
    copy.change(SHOUTED, unseen=True)
    assert copy.said() == SAID
    assert not list(copy.package.rglob("*.pyc"))
    copy.kept.unlink()
    assert copy.said() == SAID.replace("layout", "LAYOUT")


def test_a_source_that_changed_is_compiled_and_kept(copy: Copy):
    assert copy.said() == SAID
    copy.change(SHOUTED)
    assert copy.said() == SAID.replace("layout", "LAYOUT")
    changed = copy.kept.stat().st_ino
    assert copy.said() == SAID.replace("layout", "LAYOUT")
    assert copy.kept.stat().st_ino == changed


def test_a_module_that_is_gone_is_not_found(copy: Copy):
    assert copy.said() == SAID
    (copy.package / "cli" / "layout.py").unlink()
    assert "No module named 'tileproof.cli.layout'" in copy.said()


def test_a_damaged_file_is_made_anew(copy: Copy):
    assert copy.said() == SAID
    whole = copy.kept.read_bytes()
    middle = len(whole) // 2
    for content in (whole[:middle] + bytes(1000) + whole[middle + 1000 :], whole[:middle], b"", b"text"):
        copy.kept.write_bytes(content)
        assert copy.said() == SAID
        assert len(copy.kept.read_bytes()) == len(whole)


def test_where_nothing_can_be_written_the_command_runs(copy: Copy):
    """A folder of the file's name: not even the superuser can write there."""
    assert copy.said() == SAID
    path = copy.kept
    path.unlink()
    path.mkdir()
    assert copy.said() == SAID
    copy.cache.chmod(0o500)
    assert copy.said() == SAID
    assert copy.said(TILEPROOF_CACHE_DIR=os.devnull) == SAID


def test_without_a_cache_nothing_is_kept(copy: Copy):
    assert copy.said(TILEPROOF_CACHE_DIR="") == SAID
    assert not copy.cache.exists()
    copy.change(SHOUTED, unseen=True)
    assert copy.said(TILEPROOF_CACHE_DIR="") == SAID.replace("layout", "LAYOUT")


def test_a_traceback_shows_the_line_of_the_source(copy: Copy):
    copy.change("raise KeyError(len(functions), 'here')")
    first, second = copy.said(), copy.said()
    assert f'File "{copy.package}/cli/layout.py", line ' in first
    assert "    raise KeyError(len(functions), 'here')\n" in first
    assert second == first


CODE = """
import importlib, inspect, pickle, sys
from importlib import resources
from tileproof.cli.kept_modules import install
install()
from tileproof.layout import tuples
from tileproof import layout
from tileproof.base.source import Span
assert pickle.loads(pickle.dumps(Span(1, 2))) == Span(1, 2)
assert importlib.reload(tuples) is tuples
assert sys.modules["tileproof.layout.tuples"] is tuples
spec = tuples.__spec__
print(tuples.__file__, spec.origin, spec.has_location, tuples.__package__, spec.parent)
print(layout.__file__, layout.__path__, layout.__spec__.submodule_search_locations)
print(resources.files("tileproof.layout").joinpath("tuples.py").is_file(), tuples.__loader__.is_package(spec.name))
print(inspect.getsource(tuples) == open(tuples.__file__).read(), inspect.getsourcefile(tuples.__loader__.get_code))
print(type(tuples.__loader__).__mro__[1].__name__)
"""


def test_a_module_says_of_itself_what_it_would_say_otherwise(copy: Copy):
    first, second = copy.run("-c", CODE), copy.run("-c", CODE)
    assert (first.stderr, second.stderr) == ("", "")
    assert second.stdout == first.stdout
    file = f"{copy.package}/layout/tuples.py"
    assert first.stdout.startswith(f"{file} {file} True tileproof.layout tileproof.layout\n")
    assert "True False\nTrue " in first.stdout


def test_who_imports_the_package_keeps_nothing(copy: Copy):
    done = copy.run("-c", "import sys, tileproof.layout.tuples; print(*map(type, sys.meta_path))")
    assert "tileproof" not in done.stdout
    assert not copy.cache.exists()
