"""Where the time of `check` goes, by stage, in milliseconds of CPU: `python tests/benchmarks/stages.py FILE...`.

A stage is the functions that its row of ``STAGES`` names: their time without that of the stages they call. ``start and
rest`` is the interpreter, the modules and the options; modules that are loaded only where they are needed count to the
stage that needs them. Each file is checked in a process of its own, `--rounds` times; the
least of each stage counts.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

STAGES = {
    "read rules": ["tileproof.cli.checking:load_rules"],
    "tokenise": ["tileproof.mlir.scanner:tokenise", "tileproof.mlir.scanner:match_brackets"],
    "scan": ["tileproof.checking.mlir:scan", "tileproof.checking.ptx:read_module"],
    "types": ["tileproof.checking.mlir:_Check.read_types"],
    "infer": ["tileproof.checking.mlir:_Check.judge_types"],
    "facts": ["tileproof.checking.file:_ir", "tileproof.checking.file:_ptx"],
    "rules": ["tileproof.evaluate.python:Judge.violated"],
    "paths": ["tileproof.checking.ptx:check_threads"],
    "protocol": ["tileproof.checking.mlir:_Check.judge_protocol", "tileproof.checking.ptx:_followed"],
    "report": ["tileproof.cli.checking:write"],
}
OTHER = "start and rest"


class Clock:
    """CPU time by stage: it goes to the stage that was entered last and is not left."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys([OTHER, *STAGES], 0.0)
        self.entered = [OTHER]
        self.since = 0.0  # of this process, whose start counts

    def turn(self) -> None:
        """Book what was spent since the last turn."""
        now = time.process_time()
        self.spent[self.entered[-1]] += now - self.since
        self.since = now

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(*given: Any, **named: Any) -> Any:
            self.turn()
            self.entered.append(stage)
            try:
                return function(*given, **named)
            finally:
                self.turn()
                self.entered.pop()

        return run


def measure(file: str) -> dict[str, float]:
    """Check a file in this process; the time of each stage."""
    clock = Clock()
    ptx = file.endswith(".ptx")
    for stage, places in STAGES.items():
        for place in places:
            module, _, path = place.partition(":")
            if (("checking.mlir" in module or ".mlir." in module) and ptx) or ("checking.ptx" in module and not ptx):
                continue  # it would not be loaded
            owner: Any = import_module(module)
            *outer, name = path.split(".")
            for one in outer:
                owner = getattr(owner, one)
            setattr(owner, name, clock.timed(stage, getattr(owner, name)))
    main = import_module("tileproof.cli").main
    sys.stdout = io.StringIO()
    with suppress(SystemExit):
        main(["check", "--no-cache", file], standalone_mode=False)
    clock.turn()
    return clock.spent


def measured(file: str, rounds: int) -> dict[str, float]:
    """The least time of each stage over several processes."""
    runs = []
    for _ in range(rounds):
        command = [sys.executable, __file__, "--inside", file]
        runs.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stderr))
    return {stage: min(run[stage] for run in runs) for stage in runs[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        print(json.dumps(measure(given.files[0])), file=sys.stderr)
        return
    columns = [measured(file, given.rounds) for file in given.files]
    print("| stage |", " | ".join(Path(file).name for file in given.files), "|")
    print("| --- |", " | ".join("---:" for _ in columns), "|")
    for stage in columns[0]:
        print(f"| {stage} |", " | ".join(f"{1000 * column[stage]:.0f}" for column in columns), "|")
    print("| all |", " | ".join(f"{1000 * sum(column.values()):.0f}" for column in columns), "|")


if __name__ == "__main__":
    main()
