"""``run``: a CuTe DSL program with its IR dumped where we can check it.

CuTe DSL writes the IR of each function that it compiles as soon as the function is traced, before it asks its caches or
starts a compiler. Which variable enables that and where the IR goes differs by release: the table ``dsl_release``
(rules/versions.rule) has it, and the Python that runs the command says which release it has. So nothing else of the
program's environment has to change, and a program that stops at the first launch for want of a GPU is checked all the
same.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tileproof.base.records import dataclass
from tileproof.base.source import Source
from tileproof.rulebase.book import Rulebook

DISTRIBUTION = "nvidia-cutlass-dsl"
PREFIXES = ("CUTE_DSL", "CUTE_EXPERIMENTAL_DSL")
LOOK_EVERY = 0.02  # seconds; to trace and compile a function takes longer


class CannotRun(ValueError):
    """The command could not be started."""


@dataclass(frozen=True, slots=True)
class Request:
    """How a release is asked for its IR.

    Attributes:
        variable: after the prefix of the DSL.
        value: the variable's, or the item to add to its list.
        in_working_directory: whether the IR goes there, and not to the folder of ``DUMP_DIR``.
    """

    variable: str
    value: str
    in_working_directory: bool


@dataclass(frozen=True, slots=True)
class Dump:
    """What a command left.

    Attributes:
        status: its exit status, as a shell counts it.
        release: of CuTe DSL, as ``4.8.1``; None where that cannot be said.
        files: the IR, sorted by name: files where they stay, else texts with the bare names of the files.
    """

    status: int
    release: str | None
    files: list[str | Source]


@contextmanager
def dump(book: Rulebook, command: Sequence[str], keep: Path | None = None) -> Iterator[Dump]:
    """Run a command with CuTe DSL's dump of IR.

    Args:
        keep: a folder for the dump; without one the folder of ``CUTE_DSL_DUMP_DIR``, and without that one that goes
            away when the context ends.

    Raises:
        CannotRun: there is no such program, or no such folder can be made.
    """
    release = installed_release(command, os.environ)
    requests = requests_of(book, release)
    with ExitStack() as stack:
        asked = keep or os.environ.get("CUTE_DSL_DUMP_DIR")
        folder = Path(asked or stack.enter_context(TemporaryDirectory(prefix="tileproof-")))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            dumps = _Dumps(folder)
        except OSError as error:
            raise CannotRun(f"{folder}: {error.strerror or error}") from None
        strays = _Dumps(Path.cwd()) if any(one.in_working_directory for one in requests) else None
        if strays is not None and strays.folder == folder.absolute():
            strays = None
        try:
            process = subprocess.Popen(list(command), env=environment(os.environ, folder.absolute(), requests))
        except OSError as error:
            raise CannotRun(f"{command[0]}: {error.strerror or error}") from None
        with process:
            while process.poll() is None:
                dumps.look()
                if strays is not None:
                    strays.look()
                try:
                    process.wait(LOOK_EVERY)
                except subprocess.TimeoutExpired:
                    continue
        if strays is not None:
            strays.look()
            strays.move(folder, dumps)
        dumps.look()
        # A process that a signal ended counts as a shell counts it.
        status = process.returncode if process.returncode >= 0 else 128 - process.returncode
        files = dumps.files()
        yield Dump(
            status,
            release,
            [str(path) if asked else Source(path.name, path.read_text(encoding="utf-8")) for path in files],
        )


_ASK = f"import importlib.metadata as m; print(m.version({DISTRIBUTION!r}))"
_PATIENCE = 30  # seconds


def installed_release(command: Sequence[str], variables: Mapping[str, str]) -> str | None:
    """The release of CuTe DSL that the Python of a command has; None for a command without Python or without it."""
    python = _python(command[0]) if command else None
    if python is None:
        return None
    try:
        asked = subprocess.run(
            [python, "-c", _ASK], capture_output=True, text=True, check=False, env=dict(variables), timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.fullmatch(r"\d+(?:\.\w+)+", asked.stdout.strip())
    return None if found is None or asked.returncode else found[0]


_INTERPRETER = re.compile(rb"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(\S*python[\d.]*)\b")


def _python(program: str) -> str | None:
    """The interpreter that a program is, or that the first line of a script names."""
    path = shutil.which(program)
    if path is None:
        return None
    if Path(path).name.startswith(("python", "pypy")):
        return path
    try:
        with Path(path).open("rb") as file:
            found = _INTERPRETER.match(file.readline(512))
    except OSError:
        return None
    return None if found is None else shutil.which(os.fsdecode(found[1]))


def requests_of(book: Rulebook, release: str | None) -> list[Request]:
    """How a release is asked: a later one as the last that the rules know; of an unknown one every way."""
    spelled = book.enums["dsl_release"].by_spelling
    rows = {
        tuple(map(int, name.split("."))): book.shared_table("dsl_release").rows[member,]
        for name, member in spelled.items()
    }
    chosen = list(rows.values())
    if release is not None and (number := re.match(r"(\d+)\.(\d+)", release)) is not None:
        known = [one for one in sorted(rows) if one <= (int(number[1]), int(number[2]))]
        chosen = [rows[known[-1] if known else min(rows)]]
    found = [Request(str(variable), str(value), place == ".working_directory") for variable, value, place in chosen]
    return list(dict.fromkeys(found))


def environment(variables: Mapping[str, str], folder: Path, requests: Sequence[Request]) -> dict[str, str]:
    """A program's environment, with CuTe DSL's dump of IR into a folder in addition to its own settings."""
    asked = dict(variables)
    for prefix in PREFIXES:
        for request in requests:
            name = f"{prefix}_{request.variable}"
            listed = not request.value.isdigit()  # a switch is on or off, a list has what the user asks for as well
            kept = {token.strip() for token in asked.get(name, "").split(",")} - {""} if listed else set()
            asked[name] = ",".join(sorted({*kept, request.value}))
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
        self.before = frozenset(self.stamps)

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

    def move(self, folder: Path, others: _Dumps) -> None:
        """Give what appeared here, and was not here before, to another folder: a release may know no other place."""
        for path, texts in self.texts.items():
            target = folder / path.name
            target.write_bytes(texts[-1])
            stat = target.stat()
            others.stamps[target] = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            others.texts[target] = [*texts]
            if path not in self.before:
                path.unlink(missing_ok=True)

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
