"""ptxas as an oracle: which instructions of a batch it rejects. It needs no GPU and comes with the extra ``oracle``."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest


@cache
def find() -> Path | None:
    """The ptxas of the PyPI package nvidia-cuda-nvcc, or None."""
    spec = find_spec("nvidia")
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        if found := sorted(Path(folder).glob("*/bin/ptxas")):
            return found[-1]
    return None


_installed = pytest.mark.skipif(find() is None, reason="ptxas is not installed (pip install 'tileproof[oracle]')")


def needs_ptxas(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that asks ptxas: one of the oracle's, skipped where ptxas is missing."""
    return pytest.mark.oracle(_installed(test))


_TARGET = re.compile(r"^\.target (\w+)", re.MULTILINE)


def assembled(text: str, folder: Path, *, whole: bool = False) -> subprocess.CompletedProcess[str]:
    """What ptxas says of a module, for the target that it names.

    Args:
        folder: for its files.
        whole: whether nothing is linked to it afterwards, so that all that it calls must be there.
    """
    source, target = folder / "module.ptx", _TARGET.search(text)
    assert target is not None
    source.write_text(text, encoding="utf-8")
    command = [
        str(find()),
        *(() if whole else ("-c",)),
        "-arch",
        target[1],
        str(source),
        "-o",
        str(folder / "out.cubin"),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


BATCH = 1000
CRASHED = "ptxas failed"  # an internal error, which says nothing of the instruction
_HEADER = ".version {ptx}\n.target {target}\n.address_size 64\n.shared .align 1024 .b8 smem[4096];\n"
# Registers as `tileproof legal` names them, and as the DSL does.
_REGISTERS = "".join(
    f".reg .{kind} {letter}<{count}>; .reg .{kind} %{letter}<{count}>; "
    for letter, kind, count in (
        ("r", "b32", 300),
        ("f", "f32", 300),
        ("d", "f64", 300),
        ("l", "b64", 300),
        ("h", "b16", 300),
        ("p", "pred", 300),
    )
)
_WIDE = ".reg .b128 q<40>; .reg .b128 %q<40>; "  # since PTX 8.3


# On a predicate where a tensor copy has an address, ptxas 13.5 does not end.
_ENDLESS = re.compile(r"cp\.\S*\.tensor\S*[^;]*(\[\s*!?%?p\d+\s*,\s*\{|[\s,]!?%?p\d+\s*(,|;))", re.ASCII)


def rejected(instructions: list[str], target: str, ptx: str) -> list[bool]:
    """For each instruction, whether ptxas reports an error for it."""
    return [reason is not None for reason in reasons(instructions, target, ptx)]


def reasons(instructions: list[str], target: str, ptx: str) -> list[str | None]:
    """For each instruction the error that ptxas reports, or None.

    Each instruction stands in an entry of its own, and what was not complained of is asked again until all of it
    assembles: ptxas stops at a syntax error and after a hundred others, and an error of one phase hides the next phase.
    """
    found: list[str | None] = []
    for i in range(0, len(instructions), BATCH):
        found += _batch(instructions[i : i + BATCH], target, ptx)
    return found


def _batch(instructions: list[str], target: str, ptx: str) -> list[str | None]:
    found: list[str | None] = [None] * len(instructions)
    live = [i for i, text in enumerate(instructions) if not _ENDLESS.search(text)]
    for i in set(range(len(instructions))) - set(live):
        found[i] = "ptxas does not end"
    while live:
        errors = _assemble([instructions[i] for i in live], target, ptx)
        if errors is None:
            break
        # After some errors ptxas blames the modifiers of one instruction on another, which it then calls brkpt.
        errors = {at: reason for at, reason in errors.items() if "brkpt" not in reason}
        if not errors:  # it failed without a place: halve the batch
            if len(live) == 1:
                found[live[0]] = CRASHED
                break
            half = len(live) // 2
            for part in (live[:half], live[half:]):
                for i, reason in zip(part, _batch([instructions[i] for i in part], target, ptx), strict=True):
                    found[i] = reason
            break
        for at, reason in errors.items():
            found[live[at]] = reason
        live = [i for at, i in enumerate(live) if at not in errors]
    return found


def _assemble(instructions: list[str], target: str, ptx: str) -> dict[int, str] | None:
    """Errors by instruction; empty where they cannot be told apart, None where all assembles."""
    ptxas = find()
    assert ptxas is not None
    major, minor = map(int, ptx.split("."))
    registers = _REGISTERS + (_WIDE if (major, minor) >= (8, 3) else "")
    header = _HEADER.format(ptx=ptx, target=target)
    entries = [f".visible .entry k{i}() {{ {registers}\n{text}\nret; }}" for i, text in enumerate(instructions)]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "batch.ptx"
        source.write_text(header + "\n".join(entries) + "\n", encoding="ascii")
        command = [str(ptxas), "-arch", target, str(source), "-o", str(Path(folder) / "out.cubin")]
        run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    output = run.stderr + run.stdout
    first = header.count("\n") + 1
    # A 32-bit generic address is fatal, but ptxas says so of the program: a 16-bit one elsewhere would save it.
    addresses = re.findall(r"Program uses (32-bit address) on line '(\d+)'", output)
    errors = {(int(line) - first) // 3: reason for reason, line in addresses}
    if run.returncode == 0 and not errors:
        return None
    for line, reason in re.findall(r"batch\.ptx, line (\d+); (?:error|fatal)\s*: (.*)", output):
        at = (int(line) - first) // 3
        if 0 <= at < len(instructions):
            errors.setdefault(at, reason)
        else:
            raise RuntimeError(f"ptxas complains of the header: {reason}")
    for number, reason in re.findall(r"(?:error|fatal)\s*:.*[Ff]unction '?k(\d+)\b(.*)", output):
        errors.setdefault(int(number), reason)
    return errors
