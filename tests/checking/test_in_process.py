"""Kernels checked in the program that compiles them: hooks, TILEPROOF=1, the pytest plugin."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import EXAMPLES
from tileproof.base.resources import PACKAGE

# A framework that builds and compiles modules as CuTe DSL does, and one that tells a listener as Triton does.
FAKE_DSL = """
class Operation:
    def __init__(self, text):
        self.text = text
    def get_asm(self, enable_debug_info):
        assert enable_debug_info
        return self.text

class Module:
    def __init__(self, path):
        self.operation = Operation(open(path).read())

class BaseDSL:
    def build_module(self, module, function_name):
        self.built = module
        return module
    def generate(self, funcBody, path):
        return self.build_module(Module(path), "mangled_" + funcBody.__name__)
"""
FAKE_TRITON = """
class compilation:
    listener = None

def compile(name, path):
    if compilation.listener:
        compilation.listener(src=None, metadata={}, metadata_group={name + ".ptx": path, name + ".json": "x"},
                             times=None, cache_hit=False)
"""
PTX = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry mm()
{
.reg .f32 f<9>; .reg .b64 l<9>;
wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {f1, f2, f3, f4}, l1, l2, 1, 1, 1, 0, 0;
ret;
}
"""
USE = """
import sys
from cutlass.base_dsl.dsl import BaseDSL
def gemm(): pass
def build(path):
    return BaseDSL().generate(gemm, path)
"""
GOOD, BROKEN = str(EXAMPLES / "hopper_gemm.mlir"), str(EXAMPLES / "hopper_gemm_broken.mlir")


@pytest.fixture
def program(tmp_path: Path):
    """Runs a program that has the two frameworks."""
    (tmp_path / "cutlass" / "base_dsl").mkdir(parents=True)
    for package in ("cutlass", "cutlass/base_dsl"):
        (tmp_path / package / "__init__.py").write_text("")
    (tmp_path / "cutlass" / "base_dsl" / "dsl.py").write_text(FAKE_DSL)
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text("")
    (tmp_path / "triton" / "knobs.py").write_text(FAKE_TRITON)
    (tmp_path / "use.py").write_text(USE)
    (tmp_path / "mm.ptx").write_text(PTX)

    def run(text: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return python("-c", text, *arguments, cwd=tmp_path, path=tmp_path, **variables)

    return run


def python(*arguments: str, cwd: Path, path: Path | None = None, **variables: str):
    search = os.pathsep.join(filter(None, (str(path or ""), str(PACKAGE.parent), os.environ.get("PYTHONPATH", ""))))
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": search, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_wrong_kernel_raises_with_the_name_of_its_function(program):
    done = program(
        "import use, tileproof\ntileproof.cute_dsl.enable()\n"
        f"use.build({GOOD!r})\n"
        f"try:\n    use.build({BROKEN!r})\n"
        "except tileproof.KernelError as error:\n"
        "    print(error); print(len(error.report.diagnostics) > 0)\n"
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "kernel gemm:", done.stderr
    assert lines[1].startswith("gemm.mlir:19:70: error: Invalid N = 100")
    assert lines[-1] == "True"


def test_a_wrong_kernel_warns_where_that_is_asked(program):
    done = program(
        "import warnings, use, tileproof\ntileproof.cute_dsl.enable('warn')\n"
        "with warnings.catch_warnings(record=True) as said:\n"
        f"    warnings.simplefilter('always'); use.build({BROKEN!r})\n"
        "print(sum(one.category is tileproof.KernelWarning for one in said))\n"
    )
    assert done.stdout == "1\n", done.stderr


def test_reports_are_collected_and_the_hook_goes_away(program):
    done = program(
        "import use, tileproof\nfrom cutlass.base_dsl.dsl import BaseDSL\nbefore = BaseDSL.build_module\n"
        "with tileproof.cute_dsl.enable('collect') as outer:\n"
        "    with tileproof.cute_dsl.enable('collect', ignore=['WG', 'PR']) as inner:\n"
        f"        use.build({BROKEN!r})\n"
        f"    use.build({GOOD!r})\n"
        "outer.disable()\n"
        "print(BaseDSL.build_module is before)\n"
        "print([one.wrong for one in outer.kernels], [one.wrong for one in inner.kernels])\n"
    )
    assert done.stdout == "True\n[True, False] [False]\n", done.stderr


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("'explode'", "unknown action 'explode'; use raise, warn, collect"),
        ("rulez=[]", "unknown options rulez; use those of tileproof.check"),
        ("select=['XX9']", "unknown rule 'XX9'"),
        ("target='sm_1'", "unknown target 'sm_1'"),
    ],
)
def test_bad_arguments_are_named(program, call: str, problem: str):
    enable = f"tileproof.cute_dsl.enable({call})"
    done = program(f"import tileproof\ntry:\n    {enable}\nexcept ValueError as error:\n    print(error)")
    assert done.stdout.startswith(problem), done.stderr


def test_the_ptx_of_triton_is_checked_and_an_earlier_listener_hears_all(program):
    done = program(
        "import tileproof, triton.knobs as k\nheard = []\n"
        "k.compilation.listener = lambda **all: heard.append(sorted(all['metadata_group']))\n"
        "before = k.compilation.listener\n"
        "watch = tileproof.triton.enable(select=['WG'])\n"
        "try:\n    k.compile('mm', 'mm.ptx')\nexcept tileproof.KernelError as error:\n    print(str(error)[:36])\n"
        "watch.disable()\nk.compile('mm', 'mm.ptx')\n"
        "print(heard, k.compilation.listener is before)\n"
    )
    expected = "kernel mm:\nmm.ptx:7:29: error: Inval\n[['mm.json', 'mm.ptx'], ['mm.json', 'mm.ptx']] True\n"
    assert done.stdout == expected, done.stderr


@pytest.mark.parametrize("order", ["import tileproof, use", "import use, tileproof"])
@pytest.mark.parametrize(("value", "status"), [("1", 1), ("warn", 0), ("0", 0), ("", 0)])
def test_a_variable_of_the_environment_enables_the_hooks(program, order: str, value: str, status: int):
    done = program(f"{order}\nuse.build({BROKEN!r})\n", TILEPROOF=value)
    assert done.returncode == status, done.stderr
    assert ("Invalid N = 100" in done.stderr) == (value in ("1", "warn"))


# -- the plugin of pytest

TESTS = f"""
import use

def test_good():
    use.build({GOOD!r})

def test_broken():
    use.build({BROKEN!r})

def test_that_judges_itself(tileproof_kernels):
    use.build({BROKEN!r})
    [kernel] = tileproof_kernels
    assert kernel.name == "gemm" and kernel.wrong
"""


def suite(folder: Path, *arguments: str):
    plugin = ("-p", "tileproof.pytest_plugin", "-p", "no:cacheprovider")
    arguments = ("-m", "pytest", *plugin, "-q", "--rootdir", ".", *arguments)
    return python(*arguments, cwd=folder, path=folder, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")


def test_the_plugin_fails_tests_that_compile_wrong_kernels(program, tmp_path: Path):
    (tmp_path / "test_kernels.py").write_text(TESTS)
    done = suite(tmp_path, "--tileproof", "test_kernels.py")
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "FAILED test_kernels.py::test_broken" in done.stdout
    assert "gemm.mlir:19:70: error: Invalid N = 100" in done.stdout
    assert "3 passed" in suite(tmp_path, "test_kernels.py").stdout, "without the option it does nothing"


def test_the_plugin_is_an_entry_point():
    text = (EXAMPLES.parent / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\ntileproof = "tileproof.pytest_plugin"\n' in text


# -- the real ones

REAL = """
import sys
import tileproof
sys.path.insert(0, {examples!r})
tileproof.cute_dsl.enable()
import hopper_gemm as h
f16 = h.cutlass.Float16
{change}
h.cute.compile(h.gemm, h.tensor(f16, 512, 512), h.tensor(f16, 512, 512), h.tensor(f16, 512, 512))
print("compiled")
"""


@pytest.mark.oracle
@pytest.mark.skipif(importlib.util.find_spec("cutlass") is None, reason="nvidia-cutlass-dsl is not installed")
def test_the_real_dsl_stops_at_a_wrong_kernel(tmp_path: Path):
    good = REAL.format(examples=str(EXAMPLES), change="")
    done = python("-c", good, cwd=tmp_path, CUTE_DSL_ARCH="sm_90a")
    assert (done.returncode, done.stdout) == (0, "compiled\n"), done.stderr
    wrong = REAL.format(examples=str(EXAMPLES), change="h.warpgroup.fence = lambda: None")
    done = python("-c", wrong, cwd=tmp_path, CUTE_DSL_ARCH="sm_90a", CUTE_DSL_LINEINFO="1")
    assert done.returncode != 0
    assert "kernel gemm:" in done.stderr, done.stderr
    assert "hopper_gemm.py:" in done.stderr
    assert "no wgmma.fence precedes the first wgmma" in done.stderr


@pytest.mark.oracle
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_the_real_triton_hands_its_ptx_over(tmp_path: Path):
    (tmp_path / "kernel.py").write_text(
        "import triton, triton.language as tl, tileproof\n"
        "from triton.backends.compiler import GPUTarget\nfrom triton.compiler import ASTSource\n\n\n"
        "@triton.jit\ndef copy(a, b):\n    i = tl.arange(0, 128)\n    tl.store(b + i, tl.load(a + i))\n\n\n"
        "with tileproof.triton.enable('collect') as watch:\n"
        "    source = ASTSource(fn=copy, signature={'a': '*fp16', 'b': '*fp16'})\n"
        "    triton.compile(source, target=GPUTarget('cuda', 90, 32))\n"
        "print([(one.name, one.wrong) for one in watch.kernels])\n"
    )
    done = python("kernel.py", cwd=tmp_path, TRITON_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout == "[('copy', False)]\n", done.stderr
