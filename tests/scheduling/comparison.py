"""Kernels of others against what `schedule` makes of them once all that it inserts is taken out of them.

    export PYTHONPATH=tests:tests/common
    python -m scheduling.comparison                        # all of ../shared, an hour; kernels over 1 MB last
    python -m scheduling.comparison ../shared/corpus/sm_90a/*.mlir

prints a line a kernel: the seconds of the processor that the verifier takes for the kernel as it was and those that
`schedule` takes, and where the result is worse than the original (``scheduling.flights``): by a queue whose operations
are shorter in flight, a fence that is executed more often, a finding that the original does not have, or because it is
refused. Then a line for each of corpus, field and versions. What is worse and has no reason in exceptions.toml, or is
not worse as it says there, is said at the end, and the exit status is 1.
"""

from __future__ import annotations

import re
import sys
import time
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tileproof
from conftest import SHARED, corpus_files
from scheduling.flights import of_text
from tileproof.base.source import Source
from tileproof.mlir.scanner import scan
from tileproof.protocol.verify import verify
from tileproof.rulebase.book import Rulebook
from tileproof.scheduling.synthesis import schedule

STRIPPED = {
    "wgmma": r"nvvm\.wgmma\.(fence|commit|wait)",
    "proxy": r"nvvm\.fence\.proxy",
    "init": r"nvvm\.fence\.mbarrier\.init",
    "async": r"nvvm\.cp\.async\.(commit|wait)\.group",
    "bulk": r"nvvm\.cp\.async\.bulk\.(commit\.group|wait_group)",
    "tcgen05": r"nvvm\.tcgen05\.(wait|fence)",
}
STRIPPED["all"] = "|".join(pattern for what, pattern in STRIPPED.items() if what != "init")
BUCKETS = ("corpus", "field", "versions")
_TIMES, _SECONDS = 10, 30  # what `schedule` may take: so many times what the verifier takes, and at most so long


def taken_out(text: str, what: str) -> tuple[str, list[str]]:
    """A text without some operations, and these."""
    lines = text.splitlines(keepends=True)
    gone = [line.strip() for line in lines if re.search(STRIPPED[what], line)]
    return "".join(line for line in lines if not re.search(STRIPPED[what], line)), gone


def faults(book: Rulebook, source: Source) -> list[str]:
    """The findings of the machine, by their codes."""
    module = scan(source).module
    return sorted(one.code for outcome in verify(book, module.operations, module.aliases) for one in outcome.faults)


@dataclass(frozen=True)
class Compared:
    """A kernel and what came back of it.

    Attributes:
        worse: by what the result is worse: queues and steps by their names, ``new CODE`` of findings, ``refused CODE``.
        checked, scheduled: seconds.
    """

    name: str
    gone: int
    inserted: int
    worse: tuple[str, ...]
    checked: float
    scheduled: float

    @property
    def ratio(self) -> float:
        return self.scheduled / max(self.checked, 0.001)

    def __str__(self) -> str:
        times = f"{self.checked:6.2f} s {self.scheduled:6.2f} s {self.ratio:5.1f}"
        return f"{times}  {self.gone:3} out {self.inserted:3} in  {self.name}  {', '.join(self.worse)}".rstrip()


def name_of(path: Path) -> str:
    """A file as the exceptions name it."""
    return "/".join(path.parts[-3:])


def compared(book: Rulebook, path: Path) -> Compared | None:
    """A kernel against what `schedule` makes of it; None where it has nothing that is taken out."""
    text = path.read_text(encoding="utf-8", errors="replace")
    stripped, gone = taken_out(text, "all")
    if not gone:
        return None
    original = Source("original.mlir", text)
    begin = time.process_time()
    before = faults(book, original)
    checked = time.process_time()
    found = schedule(book, Source("kernel.mlir", stripped))
    end = time.process_time()
    worse: list[str] = []
    if found.verified:
        worse += of_text(book, found.source).worse(of_text(book, original))
        worse += [f"new {code}" for code in sorted(set(faults(book, found.source)) - set(before))]
        worse += [] if found.complete else ["incomplete"]
    else:
        worse += [f"refused {code}" for code in sorted({one.code for one in found.left})]
    return Compared(name_of(path), len(gone), len(found.inserted), tuple(worse), checked - begin, end - checked)


def exceptions() -> dict[str, tuple[str, ...]]:
    """By what kernels are worse for a known reason."""
    table = tomllib.loads(Path(__file__).with_name("exceptions.toml").read_text(encoding="utf-8"))
    return {file: tuple(one["worse"]) for one in table["exception"] for file in one["files"]}


def kernels() -> list[Path]:
    """All kernels in IR, the smallest first."""
    found = [path for bucket in BUCKETS for path in corpus_files(f"{bucket}/*/*.mlir")]
    return sorted(found, key=lambda path: (path.stat().st_size, path))


def summary(bucket: str, results: Iterable[Compared]) -> str:
    """How many of a bucket are as good, and what that took."""
    mine = [one for one in results if one.name.startswith(f"{bucket}/")]
    if not mine:
        return f"{bucket}: none"
    good, longest = sum(not one.worse for one in mine), max(mine, key=lambda one: one.scheduled)
    slow = sum(one.ratio > _TIMES for one in mine)
    return (
        f"{bucket}: {good} of {len(mine)} at least as good; {slow} over {_TIMES} times the verifier, "
        f"{sum(one.scheduled > _SECONDS for one in mine)} over {_SECONDS} s; the longest {longest.scheduled:.1f} s"
    )


def main(arguments: Sequence[str]) -> int:
    book, known, results = tileproof.load_rules(), exceptions(), []
    for path in [Path(one).resolve() for one in arguments] or kernels():
        one = compared(book, path)
        if one is not None:
            results.append(one)
            print(one, flush=True)
    for bucket in BUCKETS:
        print(summary(bucket, results))
    other = [one for one in results if one.worse != known.get(one.name, ())]
    for one in other:
        print(f"{one.name}: {', '.join(one.worse) or 'as good'}; exceptions.toml: {known.get(one.name, 'nothing')}")
    return int(bool(other))


if __name__ == "__main__":
    if not SHARED.is_dir():
        sys.exit("no ../shared beside this checkout")
    sys.exit(main(sys.argv[1:]))
