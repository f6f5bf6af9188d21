"""``run``: a CuTe DSL program with its IR dumped where we can check it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tileproof.source import Source


class CannotRun(ValueError):
    """The command could not be started."""


@contextmanager
def dump(command: Sequence[str], keep: Path | None = None) -> Iterator[tuple[int, list[Path | Source]]]:
    """Run a command and give its exit status and the IR files that CuTe DSL dumped, sorted.

    Args:
        keep: a folder for the dump; without one it goes away when the context ends.

    Raises:
        CannotRun: there is no such program.
    """
    with ExitStack() as stack:
        folder = keep if keep is not None else Path(stack.enter_context(TemporaryDirectory(prefix="tileproof-")))
        folder.mkdir(parents=True, exist_ok=True)
        before = set(folder.rglob("*.mlir"))
        environment = dict(os.environ)
        kept = {"ir", *filter(None, environment.get("CUTE_DSL_KEEP", "").split(","))}
        environment["CUTE_DSL_KEEP"] = ",".join(sorted(kept))
        environment["CUTE_DSL_DUMP_DIR"] = str(folder)
        # A kernel that comes out of the cache is not compiled, hence not dumped.
        environment["CUTE_DSL_DISABLE_FILE_CACHING"] = "1"
        try:
            status = subprocess.run(list(command), env=environment, check=False).returncode
        except OSError as error:
            raise CannotRun(f"{command[0]}: {error.strerror or error}") from None
        # A process that a signal ended counts as a shell counts it.
        status = 128 - status if status < 0 else status
        found: list[Path | Source] = []
        found += sorted(set(folder.rglob("*.mlir")) - before)
        yield status, found
