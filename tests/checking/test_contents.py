"""What a text is: broken IR gets its diagnostics, what is neither IR nor PTX one line and exit status 2."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import EXAMPLES, ROOT, corpus_files, tileproof
from tileproof.base.resources import PACKAGE
from tileproof.base.source import Source
from tileproof.checking import contents

PYTHON = "import cutlass.cute as cute\n\n@cute.jit\ndef kernel(a):\n    cute.copy(a, a)\n"
CPP = "#include <cute/tensor.hpp>\n\nint main() {\n  auto x = cute::make_layout(8);\n  x.run(3);\n  return 0;\n}\n"
NEITHER = {
    "notes.md": '# Notes\n\nThe kernel is checked:\n\n```\n%0 = cute.make_layout() : !cute.layout<"8:1">\n```\n\n'
    "It has one layout.\nNothing else is in it.\nSo it is fine.\n",
    "data.json": '{\n  "name": "x",\n  "files": ["a.b", "c.d"]\n}\n',
    "kernel.cu": CPP,
    "empty.mlir": "",
    "config.toml": "[tool.x]\nname = 1\n",
}
BROKEN = {
    "cut.mlir": "module {\n  func.func @f() {\n    %0 = arith.constant 0 : i32\n",
    "line.mlir": '%0 = cute.make_layout( : !cute.layout<"8:1">\n',
    "prose.mlir": "module {\n  what is this\n  %0 = arith.constant\n}\n",
}


@pytest.mark.parametrize("name", NEITHER)
def test_what_is_neither_is_one_line(name, tmp_path):
    (tmp_path / name).write_text(NEITHER[name], encoding="utf-8")
    done = tileproof("check", name, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"tileproof: {name}: holds no IR\n")


@pytest.mark.parametrize("name", BROKEN)
def test_broken_ir_gets_its_diagnostics(name, tmp_path):
    (tmp_path / name).write_text(BROKEN[name], encoding="utf-8")
    done = tileproof("check", name, cwd=tmp_path)
    assert done.returncode == 1
    assert "[IR001 syntax-error]" in done.stdout


def test_python_source_is_answered_with_the_command_that_runs_it(tmp_path):
    (tmp_path / "kernel.py").write_text(PYTHON, encoding="utf-8")
    done = tileproof("check", "kernel.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"tileproof: kernel.py: {contents.PYTHON}\n")
    assert contents.refusal(Source("-", PYTHON)) == contents.PYTHON


@pytest.mark.parametrize("path", [*sorted(EXAMPLES.glob("*.mlir")), *corpus_files(), *corpus_files("corpus/*/*.ptx")])
def test_real_files_are_what_they_are(path):
    assert contents.refusal(Source("x", path.read_text(encoding="utf-8"))) is None


def test_our_own_pages_are_no_ir():
    for path in (ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))):
        assert contents.refusal(Source(path.name, path.read_text(encoding="utf-8"))) == contents.NOTHING


def test_bytecode_that_nothing_reads_is_one_line(tmp_path):
    (tmp_path / "kernel.mlirbc").write_bytes(contents.BYTECODE + b"\0broken")
    done = tileproof("check", "kernel.mlirbc", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"tileproof: kernel.mlirbc: {contents.UNCONVERTED}\n")


def test_an_operation_without_a_dialect_is_ir():
    assert contents.refusal(Source("x.mlir", '"use"() : () -> !cute.layout<"8:1">\n')) is None


@pytest.mark.oracle
def test_bytecode_is_printed_by_the_dialect(tmp_path):
    pytest.importorskip("cutlass", reason="nvidia-cutlass-dsl is not installed")
    target = tmp_path / "kernel.mlirbc"
    write = (
        "import sys\nfrom cutlass._mlir import ir\nwith ir.Context():\n"
        "    module = ir.Module.parse(open(sys.argv[1]).read())\n"
        "    module.operation.write_bytecode(open(sys.argv[2], 'wb'))\n"
    )
    subprocess.run([sys.executable, "-c", write, str(EXAMPLES / "hopper_gemm.mlir"), str(target)], check=True)
    assert target.read_bytes().startswith(contents.BYTECODE)
    done = tileproof("check", str(target))
    assert (done.returncode, done.stderr) == (0, "")


def children(pid: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    text = (EXAMPLES / "hopper_gemm.mlir").read_bytes()
    for k in range(80):
        (tmp_path / f"{k}.mlir").write_bytes(text)
    command = [sys.executable, "-m", "tileproof.cli", "check", "--jobs", "2", str(tmp_path)]
    path = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))
    parent = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": path})
    workers: list[int] = []
    try:
        until = time.monotonic() + 40
        while len(workers) < 2 and time.monotonic() < until and parent.poll() is None:
            time.sleep(0.05)
            workers = children(parent.pid)
        time.sleep(0.5)  # they are at work
        assert len(workers) == 2
        assert parent.poll() is None
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    until = time.monotonic() + 20
    while any(running(one) for one in workers) and time.monotonic() < until:
        time.sleep(0.05)
    left = [one for one in workers if running(one)]
    for one in left:
        os.kill(one, signal.SIGKILL)
    assert left == []


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
