"""``tileproof run``: a program, and what CuTe DSL dumped while it ran."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from conftest import EXAMPLES, tileproof
from tileproof.base.resources import PACKAGE
from tileproof.checking.run import PREFIXES, environment, requests_of
from tileproof.rulebase.load import default_files, load

GOOD = EXAMPLES / "hopper_gemm.mlir"
BROKEN = EXAMPLES / "hopper_gemm_broken.mlir"
SUMMARY = (
    "0 errors in 1 file; 1 kernel verified: 30 of 30 protocol steps, 4 MMAs;"
    " target sm_90a (named in the IR); contract ptx\n"
)
BOOK = load(default_files())

# What CuTe DSL does with a compiled module, without CuTe DSL: it writes a file of its own and moves it into place.
FAKE = """
import os, pathlib, sys, time

assert "ir-debug" in os.environ["CUTE_DSL_KEEP"].split(",")
assert os.environ["CUTE_DSL_LINEINFO"] == "1"
folder = pathlib.Path(os.environ["CUTE_DSL_DUMP_DIR"])
assert folder.is_absolute()
status, *kernels = sys.argv[1:]
for kernel in kernels:
    name, _, source = kernel.partition("=")
    temporary = folder / "tmp.mlir.part"
    temporary.write_bytes(pathlib.Path(source).read_bytes())
    os.replace(temporary, folder / f"cute_dsl_{name}.mlir")
    time.sleep(0.3)  # compile
print("the kernel ran", flush=True)
print("and warned", file=sys.stderr)
sys.exit(int(status))
"""


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    """A command that exits with its first argument and dumps the files that the others name: ``NAME=FILE``."""
    path = tmp_path / "kernel.py"
    path.write_text(FAKE)
    return [sys.executable, str(path)]


def run(*arguments: str, **more) -> subprocess.CompletedProcess[str]:
    return tileproof("run", *arguments, **more)


@pytest.mark.parametrize(
    ("child", "dumped", "status"),
    [
        pytest.param(0, GOOD, 0, id="both-fine", marks=pytest.mark.sweep),
        pytest.param(0, BROKEN, 1, id="the-kernel-is-wrong"),
        pytest.param(3, GOOD, 3, id="the-program-fails", marks=pytest.mark.sweep),
        pytest.param(3, BROKEN, 3, id="both-fail"),
    ],
)
def test_the_exit_status_is_the_worse_of_program_and_check(program, child: int, dumped: Path, status: int):
    assert run("--", *program, str(child), f"gemm_clean={dumped}").returncode == status


RELEASE = r"tileproof: the IR is of nvidia-cutlass-dsl (of an unknown release|[\d.]+)\n"


def test_standard_output_has_the_report_alone(program):
    done = run("--", *program, "0", f"gemm_clean={BROKEN}")
    assert done.stdout.startswith("cute_dsl_gemm_clean.mlir:19:70: error: Invalid N = 100")
    assert re.fullmatch(f"the kernel ran\nand warned\n{RELEASE}", done.stderr)


def test_the_report_goes_to_a_file_and_the_output_of_the_program_stays(program, tmp_path: Path):
    done = run("--format", "json", "--output-file", "r.json", "--", *program, "0", f"gemm={BROKEN}", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "the kernel ran\n")
    assert json.loads((tmp_path / "r.json").read_text())["summary"]["errors"] == 1


def test_a_report_that_cannot_be_written_is_one_line(program, tmp_path: Path):
    done = run("--output-file", str(tmp_path), "--", *program, "0", f"gemm={GOOD}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "is a directory" in done.stderr


def test_the_options_of_check_are_those_of_run(program):
    kernel = f"gemm={BROKEN}"
    assert run("--ignore", "WG", "--statistics", "--contract", "ptx", "--", *program, "0", kernel).returncode == 0
    assert run("--fail-on", "note", "--select", "PR190", "-j", "1", "--", *program, "0", kernel).returncode == 0
    done = run("--no-such-option", "--", *program, "0", kernel)
    assert (done.returncode, done.stdout) == (2, "")
    assert "No such option" in done.stderr


def test_the_edits_that_repair_the_ir_are_shown_and_no_program_is_edited(program, tmp_path: Path):
    wrong = tmp_path / "wrong.mlir"
    wrong.write_text(re.sub(r"(?m)^.*wgmma\.fence.*\n", "", GOOD.read_text()))
    done = run("--diff", "--", *program, "0", f"gemm={wrong}")
    assert done.returncode == 1
    assert done.stdout.startswith("--- cute_dsl_gemm.mlir\n+++ cute_dsl_gemm.mlir\n@@ ")
    assert "\n+        nvvm.wgmma.fence.aligned\n" in done.stdout
    done = run("--fix", "--", *program, "0", f"gemm={wrong}")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "run --fix cannot edit the program" in done.stderr


def test_without_dashes_what_follows_the_command_is_its_own():
    done = run(sys.executable, "-c", "import sys; print(sys.argv[1:])", "--format", "json", "-x")
    assert done.stderr.startswith("['--format', 'json', '-x']\n")


def test_arguments_after_the_dashes_are_the_programs_own():
    done = run("--", sys.executable, "-c", "import sys; print(sys.argv[1:])", "--format", "json", "-x")
    assert done.stderr.startswith("['--format', 'json', '-x']\n")


def test_a_program_that_compiles_nothing_is_told_so():
    done = run("--", sys.executable, "-c", "")
    said = "tileproof: the command compiled no CuTe DSL or Triton kernel: nothing was checked (nvidia-"
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1
    assert (done.returncode, done.stdout) == (2, "")


def test_a_command_that_does_not_exist_is_one_line_and_status_2():
    done = run("--", "no-such-program-anywhere")
    assert done.stderr == "tileproof: no-such-program-anywhere: No such file or directory\n"
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_what_an_interrupted_program_compiled_is_checked(program, tmp_path: Path):
    """The interrupt comes to tileproof alone, as that of `kill`: the program gets it after a while."""
    path = Path(program[1])
    path.write_text(FAKE.replace("flush=True)", "flush=True)\ntime.sleep(50)"))
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    process = subprocess.Popen(
        [sys.executable, "-m", "tileproof.cli", "run", "--", *program, "0", f"gemm={BROKEN}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
        start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  a shell ignores it in the background
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "the kernel ran\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Invalid N = 100" in out
    assert "tileproof: the IR is of" in err


def test_a_program_ended_by_a_signal_counts_as_in_a_shell():
    assert run("--", sys.executable, "-c", "import os; os.kill(os.getpid(), 9)").returncode == 137


def test_a_bad_target_is_found_before_the_program_runs(program):
    done = run("--target", "sm_91", "--", *program, "0")
    assert done.stderr.startswith("tileproof: unknown target 'sm_91'; use sm_")
    assert (done.returncode, done.stdout) == (2, "")


def test_the_private_folder_goes_away(program):
    where = "import os; print(os.environ['CUTE_DSL_DUMP_DIR'])"
    folder = Path(run("--", sys.executable, "-c", where).stderr.splitlines()[0])
    assert folder.is_absolute()
    assert not folder.exists()


def test_keep_keeps_the_ir_and_the_report_names_it(program, tmp_path: Path):
    done = run("--format", "json", "--keep", "dumps", "--", *program, "0", f"gemm_clean={BROKEN}", cwd=tmp_path)
    report = json.loads(done.stdout)
    [diagnostic] = report["diagnostics"]
    assert diagnostic["file"] == str(Path("dumps", "cute_dsl_gemm_clean.mlir"))
    assert (tmp_path / diagnostic["file"]).read_bytes() == BROKEN.read_bytes()


def test_a_dump_folder_that_the_user_chose_is_used(program, tmp_path: Path):
    run("--", *program, "0", f"gemm_clean={GOOD}", CUTE_DSL_DUMP_DIR=str(tmp_path / "mine"))
    assert (tmp_path / "mine" / "cute_dsl_gemm_clean.mlir").exists()


def test_what_lay_in_the_folder_before_is_not_checked_and_what_is_dumped_again_is(program, tmp_path: Path):
    for name in ("other", "gemm_clean"):
        (tmp_path / f"cute_dsl_{name}.mlir").write_bytes(BROKEN.read_bytes())
    done = run("--keep", str(tmp_path), "--", *program, "0", f"gemm_clean={GOOD}")
    assert (done.returncode, done.stdout) == (
        0,
        SUMMARY,
    )


def test_a_kernel_whose_dump_the_next_one_replaces_is_checked(program):
    """CuTe DSL names dumps after functions and argument types: a second tile size overwrites the first dump."""
    done = run("--format", "json", "--", *program, "0", f"gemm_clean={BROKEN}", f"gemm_clean={GOOD}")
    report = json.loads(done.stdout)
    assert report["summary"]["files"] == 2
    assert [diagnostic["file"] for diagnostic in report["diagnostics"]] == ["cute_dsl_gemm_clean~1.mlir"]


def test_a_kernel_compiled_twice_is_checked_once(program):
    done = run("--", *program, "0", f"gemm_clean={GOOD}", f"gemm_clean={GOOD}")
    assert "0 errors in 1 file;" in done.stdout


def test_clean_ir_beside_that_with_locations_is_not_checked_again(program):
    done = run("--", *program, "0", f"gemm={BROKEN}", f"gemm_clean={BROKEN}")
    assert "1 error in 1 file;" in done.stdout


@pytest.mark.parametrize(
    ("before", "after"),
    [("", "ir-debug"), ("ptx", "ir-debug,ptx"), ("ir-debug", "ir-debug"), (" ir , cubin,", "cubin,ir,ir-debug")],
)
def test_what_the_user_asks_of_cute_dsl_is_kept(before: str, after: str, tmp_path: Path):
    asked = environment({"CUTE_DSL_KEEP": before, "HOME": "/"}, tmp_path, requests_of(BOOK, "4.8.1"))
    assert asked["CUTE_DSL_KEEP"] == after
    assert asked["CUTE_EXPERIMENTAL_DSL_KEEP"] == "ir-debug"
    assert asked["CUTE_DSL_LINEINFO"] == "1"
    assert asked["CUTE_DSL_DUMP_DIR"] == asked["CUTE_EXPERIMENTAL_DSL_DUMP_DIR"] == str(tmp_path)
    assert asked["HOME"] == "/"


@pytest.mark.parametrize(
    ("release", "variables"),
    [
        ("4.2.1", {"KEEP_IR": "1"}),
        ("4.3.5", {"KEEP_IR": "1"}),
        ("4.4.2", {"KEEP_IR": "1"}),
        ("4.5.0", {"KEEP": "ir-debug", "LINEINFO": "1"}),
        ("4.8.1", {"KEEP": "ir-debug", "LINEINFO": "1"}),
        ("4.9.0.dev1", {"KEEP": "ir-debug", "LINEINFO": "1"}),
        ("5.0", {"KEEP": "ir-debug", "LINEINFO": "1"}),
        ("3.9", {"KEEP_IR": "1"}),
        (None, {"KEEP_IR": "1", "KEEP": "ir-debug", "LINEINFO": "1"}),
    ],
)
def test_each_release_is_asked_in_its_own_way(release: str | None, variables: dict[str, str], tmp_path: Path):
    asked = environment({}, tmp_path, requests_of(BOOK, release))
    expected = {f"{prefix}_{name}": value for prefix in PREFIXES for name, value in variables.items()}
    folders = {f"{prefix}_DUMP_DIR": str(tmp_path) for prefix in PREFIXES}
    assert asked == expected | folders | {"TRITON_CACHE_DIR": str(tmp_path / "triton")}


# A release that knows no folder, as 4.2 is: its IR goes to the working directory.
OLD = """
import os, pathlib, sys

assert os.environ["CUTE_DSL_KEEP_IR"] == "1"
pathlib.Path("cute_dsl_gemm.mlir").write_bytes(pathlib.Path(sys.argv[1]).read_bytes())
"""


def old_release(folder: Path) -> dict[str, str]:
    """Variables with which Python believes that it has 4.2.1."""
    metadata = folder / "site" / "nvidia_cutlass_dsl-4.2.1.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: nvidia-cutlass-dsl\nVersion: 4.2.1\n")
    (folder / "old.py").write_text(OLD)
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder / "site"), os.environ.get("PYTHONPATH", ""))))}


def test_ir_in_the_working_directory_is_found_and_does_not_stay(tmp_path: Path):
    variables = old_release(tmp_path)
    done = run("--", sys.executable, "old.py", str(BROKEN), cwd=tmp_path, **variables)
    assert "tileproof: the IR is of nvidia-cutlass-dsl 4.2.1\n" in done.stderr
    assert done.stdout.startswith("cute_dsl_gemm.mlir:19:70: error: Invalid N = 100")
    assert not (tmp_path / "cute_dsl_gemm.mlir").exists()


def test_ir_in_the_working_directory_is_kept_where_the_user_says(tmp_path: Path):
    variables = old_release(tmp_path)
    (tmp_path / "cute_dsl_gemm.mlir").write_text("an earlier dump, of the user")
    done = run("--keep", "dumps", "--", sys.executable, "old.py", str(GOOD), cwd=tmp_path, **variables)
    assert (done.returncode, (tmp_path / "dumps" / "cute_dsl_gemm.mlir").read_bytes()) == (0, GOOD.read_bytes())
    assert (tmp_path / "cute_dsl_gemm.mlir").exists(), "it was there before"


# What Triton does with a compiled kernel, without Triton.
FAKE_TRITON = """
import os, pathlib, sys

folder = pathlib.Path(os.environ["TRITON_CACHE_DIR"]) / "ABCDEF"
kernel = folder / "mm.ptx"
if not kernel.exists() or os.environ.get("TRITON_ALWAYS_COMPILE") == "1":
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / "tmp"
    temporary.write_bytes(sys.stdin.buffer.read())
    os.replace(temporary, kernel)
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


def test_the_ptx_of_triton_is_checked(tmp_path: Path):
    command = ("--select", "WG", "--", sys.executable, "-c", FAKE_TRITON)
    done = run(*command, cwd=tmp_path, stdin=PTX.encode())
    shown = Path("triton", "ABCDEF", "mm.ptx")
    assert done.stdout.startswith(f"{shown}:7:29: error: Invalid N = 12"), done.stdout
    assert (done.returncode, list(tmp_path.iterdir())) == (1, [])
    assert "nvidia-cutlass-dsl" not in done.stderr, "there is no IR"


def test_the_ptx_of_triton_stays_where_the_user_says(tmp_path: Path):
    command = ("--select", "WG", "--keep", "kept", "--", sys.executable, "-c", FAKE_TRITON)
    done = run(*command, cwd=tmp_path, stdin=PTX.encode())
    kept = Path("kept", "triton", "ABCDEF", "mm.ptx")
    assert f"{kept}:7:29: error: " in done.stdout
    assert (tmp_path / kept).read_text() == PTX


def test_a_cache_that_the_user_named_is_filled_anew(tmp_path: Path):
    named = {"TRITON_CACHE_DIR": str(tmp_path / "mine")}
    for _ in range(2):
        done = run("--select", "WG", "--", sys.executable, "-c", FAKE_TRITON, stdin=PTX.encode(), **named)
        assert (done.returncode, done.stdout.count("Invalid N")) == (1, 1)
    done = run("--", sys.executable, "-c", "", **named)
    assert (done.returncode, done.stdout) == (2, ""), "what is not compiled anew is not checked"


def test_ptx_that_nvcc_keeps_or_that_appears_here_is_checked_where_asked(tmp_path: Path):
    program = (
        "import os, pathlib, shlex; flags = shlex.split(os.environ['NVCC_APPEND_FLAGS']); assert '-lineinfo' in flags;"
        "folder = pathlib.Path(flags[flags.index('--keep-dir') + 1]); text = open(0).read();"
        "(folder / 'a.ptx').write_text(text); pathlib.Path('b').mkdir(); pathlib.Path('b/b.ptx').write_text(text)"
    )
    (tmp_path / "old.ptx").write_text(PTX)
    command = ("--select", "WG", "--ptx", "--", sys.executable, "-c", program)
    done = run(*command, cwd=tmp_path, stdin=PTX.encode(), NVCC_APPEND_FLAGS="-lineinfo")
    found = [line.partition(":")[0] for line in done.stdout.splitlines() if ": error: " in line]
    assert found == [str(Path("nvcc", "a.ptx")), str(Path("b", "b.ptx"))], done.stdout + done.stderr


TINY = """
import cutlass
from cutlass import cute

@cute.kernel
def kernel(n: cutlass.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    if tidx < n:
        cute.printf("%d", tidx)

@cute.jit
def tiny(n: cutlass.Int32):
    kernel(n).launch(grid=(1, 1, 1), block=(32, 1, 1))

cute.compile(tiny, cutlass.Int32(4))
"""
# Packages of a release, and the folder in them that holds the module `cutlass`.
RELEASES = {
    "4.2.1": (("nvidia-cutlass-dsl",), "python_packages"),
    "4.3.5": (("nvidia-cutlass-dsl",), "python_packages"),
    "4.5.3": (("nvidia-cutlass-dsl", "nvidia-cutlass-dsl-libs-base"), "python_packages"),
}


@pytest.mark.oracle
@pytest.mark.sweep
@pytest.mark.parametrize("release", RELEASES)
def test_real_releases_are_run_and_named(release: str, tmp_path: Path):
    packages, inside = RELEASES[release]
    pins = [f"{name}=={release}" for name in packages]
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tmp_path / "site"), *pins]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"nvidia-cutlass-dsl {release} cannot be installed here: {done.stderr.strip()[-200:]}")
    site = (tmp_path / "site", tmp_path / "site" / "nvidia_cutlass_dsl" / inside, os.environ.get("PYTHONPATH", ""))
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, map(str, site))), "CUTE_DSL_ARCH": "sm_90a"}
    tried = [sys.executable, "-c", "import cutlass.cute"]
    if subprocess.run(tried, env={**os.environ, **variables}, capture_output=True, check=False).returncode:
        pytest.skip(f"nvidia-cutlass-dsl {release} cannot be imported here")
    (tmp_path / "tiny.py").write_text(TINY)
    ran = run("--keep", "dumps", "--", sys.executable, "tiny.py", cwd=tmp_path, **variables)
    assert f"tileproof: the IR is of nvidia-cutlass-dsl {release}\n" in ran.stderr
    assert "0 errors in 1 file;" in ran.stdout
    [dumped] = (tmp_path / "dumps").glob("*.mlir")
    assert "cuda.kernel @kernel" in dumped.read_text() or "@kernel_cutlass_kernel" in dumped.read_text()
    assert list(tmp_path.glob("*.mlir")) == []


def wheel(test):
    missing = importlib.util.find_spec("cutlass") is None
    return pytest.mark.oracle(pytest.mark.skipif(missing, reason="nvidia-cutlass-dsl is not installed")(test))


@wheel
def test_the_real_dsl_compiles_the_example_and_dumps_the_ir_that_we_ship(tmp_path: Path):
    command = (sys.executable, str(EXAMPLES / "hopper_gemm.py"))
    done = run("--keep", str(tmp_path), "--", *command, CUTE_DSL_ARCH="sm_90a")
    assert (done.returncode, done.stdout) == (0, SUMMARY), done.stderr
    [dumped] = tmp_path.glob("*.mlir")
    assert f'"{EXAMPLES / "hopper_gemm.py"}":' in dumped.read_text()


@wheel
def test_the_real_dsl_compiles_the_example_for_fp8_and_bf16():
    command = (sys.executable, str(EXAMPLES / "hopper_gemm.py"), "--type", "f8", "--type", "bf16")
    done = run("--", *command, CUTE_DSL_ARCH="sm_90a")
    assert done.stdout.startswith("0 errors in 2 files;"), done.stderr


@wheel
def test_the_real_dsl_overwrites_a_dump_and_both_kernels_are_checked(tmp_path: Path):
    """One function, two tiles, one file name: the fact behind the way that dumps are collected."""
    (tmp_path / "tiles.py").write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(EXAMPLES)!r})\n"
        "import hopper_gemm as h\n"
        "f16 = h.cutlass.Float16\n"
        "for n in 128, 64:\n"
        "    h.TILE = (128, n, 64)\n"
        "    h.cute.compile(h.gemm, h.tensor(f16, 512, 512), h.tensor(f16, 512, 512), h.tensor(f16, 512, 512))\n"
    )
    folder = tmp_path / "dumps"
    done = run("--keep", str(folder), "--", sys.executable, str(tmp_path / "tiles.py"), CUTE_DSL_ARCH="sm_90a")
    assert "0 errors in 2 files;" in done.stdout, done.stderr
    texts = {"~1" in path.stem: path.read_text() for path in folder.glob("*.mlir")}
    assert "sm90.mma<64x128x16" in texts[True]
    assert "sm90.mma<64x64x16" in texts[False]


@wheel
def test_a_finding_names_the_line_of_python_first(tmp_path: Path):
    """A kernel that is wrong, compiled by the real DSL: its own line with a caret, and the IR below."""
    kernel = (EXAMPLES / "hopper_gemm.py").read_text()
    fence = next(line for line in kernel.splitlines() if "warpgroup.fence()" in line)
    (tmp_path / "gemm.py").write_text(kernel.replace(fence, fence.replace("warpgroup.fence()", "pass")))
    done = run("--", sys.executable, "gemm.py", cwd=tmp_path, CUTE_DSL_ARCH="sm_90a")
    shown = done.stdout.splitlines()
    number = next(i for i, line in enumerate(kernel.splitlines(), 1) if "cute.gemm(" in line)
    line = kernel.splitlines()[number - 1]
    column = line.index("cute.gemm(")
    assert shown[0].startswith(f"gemm.py:{number}:{column + 1}: error: ")
    assert shown[1:3] == [f"{number:5} | {line}", "      | " + " " * column + "^"]
    assert re.fullmatch(r"      = in: cute_dsl_\w+\.mlir:\d+:\d+", shown[3])
    assert done.returncode == 1
