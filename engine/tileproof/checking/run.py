"""``run``: a CuTe DSL program with its IR dumped where we can check it.

CuTe DSL writes the IR of each function that it compiles as soon as the function is traced, before it asks its caches or
starts a compiler: ``PREFIX_KEEP=ir`` enables it and ``PREFIX_DUMP_DIR`` is the folder. So nothing else of the program's
environment has to change, and a program that stops at the first launch for want of a GPU is checked all the same.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tileproof.base.source import Source

PREFIXES = ("CUTE_DSL", "CUTE_EXPERIMENTAL_DSL")
LOOK_EVERY = 0.02  # seconds; to trace and compile a function takes longer


class CannotRun(ValueError):
    """The command could not be started."""


@contextmanager
def dump(command: Sequence[str], keep: Path | None = None) -> Iterator[tuple[int, list[str | Source]]]:
    """Run a command and give its exit status and the IR that CuTe DSL dumped, sorted by name.

    The IR is files where they stay, and texts with the bare names of the files where they go away.

    Args:
        keep: a folder for the dump; without one the folder of ``CUTE_DSL_DUMP_DIR``, and without that one that goes
            away when the context ends.

    Raises:
        CannotRun: there is no such program, or no such folder can be made.
    """
    with ExitStack() as stack:
        asked = keep or os.environ.get("CUTE_DSL_DUMP_DIR")
        folder = Path(asked or stack.enter_context(TemporaryDirectory(prefix="tileproof-")))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            dumps = _Dumps(folder)
        except OSError as error:
            raise CannotRun(f"{folder}: {error.strerror or error}") from None
        try:
            process = subprocess.Popen(list(command), env=environment(os.environ, folder.absolute()))
        except OSError as error:
            raise CannotRun(f"{command[0]}: {error.strerror or error}") from None
        with process:
            while process.poll() is None:
                dumps.look()
                try:
                    process.wait(LOOK_EVERY)
                except subprocess.TimeoutExpired:
                    continue
        dumps.look()
        # A process that a signal ended counts as a shell counts it.
        status = process.returncode if process.returncode >= 0 else 128 - process.returncode
        files = dumps.files()
        yield status, [str(path) if asked else Source(path.name, path.read_text(encoding="utf-8")) for path in files]


def environment(variables: Mapping[str, str], folder: Path) -> dict[str, str]:
    """A program's environment, with CuTe DSL's dump of IR into a folder in addition to its own settings."""
    asked = dict(variables)
    for prefix in PREFIXES:
        kept = {token.strip() for token in asked.get(f"{prefix}_KEEP", "").split(",")} - {""}
        asked[f"{prefix}_KEEP"] = ",".join(sorted({*kept, "ir"}))
        asked[f"{prefix}_DUMP_DIR"] = str(folder)
    return asked


class _Dumps:
    """The IR files that appear in a folder.

    A dump is named after its function and the types of the arguments, so a function compiled a second time, with
    another tile say, replaces the dump of the first. Hence the folder is polled while the program runs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stamps: dict[Path, tuple[int, int, int]] = {}
        self.texts: dict[Path, list[bytes]] = {}
        self.look()
        self.texts.clear()  # earlier files are not ours

    def look(self) -> None:
        """Read what is new."""
        for path in self.folder.glob("*.mlir"):
            try:
                stat = path.stat()
                stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
                before = self.stamps.get(path)
                if stamp == before:
                    continue
                text = path.read_bytes()
            except OSError:  # replaced at this moment, and seen the next time
                continue
            self.stamps[path] = stamp
            texts = self.texts.setdefault(path, [])
            if texts and before is not None and before[0] == stamp[0]:
                texts[-1] = text  # the same file, written further
            else:
                texts.append(text)

    def files(self) -> list[Path]:
        """The files, those that were replaced written again under names of their own: ``NAME~1.mlir``."""
        files = []
        for path, texts in self.texts.items():
            # With ir-debug, the same module is there a second time, before clean-up.
            if path.with_name(f"{path.stem}_clean.mlir") in self.texts:
                continue
            files.append(path)
            for number, text in enumerate(dict.fromkeys(text for text in texts if text != texts[-1]), 1):
                earlier = path.with_name(f"{path.stem}~{number}.mlir")
                earlier.write_bytes(text)
                files.append(earlier)
        return sorted(files)
