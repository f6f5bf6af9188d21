"""``run``: a program, with the IR and the PTX that it compiles written where we can check them.

CuTe DSL writes the IR of each function that it compiles as soon as the function is traced, before it asks its caches or
starts a compiler. Which variable enables that and where the IR goes differs by release: the table ``dsl_release``
(rules/versions.rule) has it, and the Python that runs the command says which release it has. So nothing else of the
program's environment has to change, and a program that stops at the first launch for want of a GPU is checked all the
same.

Triton leaves the PTX of each kernel in its cache. It gets an empty one; where the user has named a cache, it is told
to compile again what is there. nvcc, which TileLang and build systems call, keeps its PTX where it is told so.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.base.source import Source
from tileproof.rulebase.book import Rulebook

DISTRIBUTION = "nvidia-cutlass-dsl"
PREFIXES = ("CUTE_DSL", "CUTE_EXPERIMENTAL_DSL")
_TRITON_CACHE = "TRITON_CACHE_DIR"
_TRITON_ANEW = "TRITON_ALWAYS_COMPILE"
_NVCC_FLAGS = "NVCC_APPEND_FLAGS"
_GRACE = 1.5  # seconds in which a program ends that was interrupted
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
        lines: the switch, after the prefix, with which the IR names lines of Python; empty for none.
    """

    variable: str
    value: str
    in_working_directory: bool
    lines: str


@dataclass(frozen=True, slots=True)
class Dump:
    """What a command left.

    Attributes:
        status: its exit status, as a shell counts it.
        release: of CuTe DSL, as ``4.8.1``; None where that cannot be said.
        ir, ptx: sorted by name: files where they stay, else texts with the names of the files below their folder.
    """

    status: int
    release: str | None
    ir: list[str | Source]
    ptx: list[str | Source]


@contextmanager
def dump(
    book: Rulebook, command: Sequence[str], keep: Path | None = None, every_ptx: bool = False, output: int | None = None
) -> Iterator[Dump]:
    """Run a command with CuTe DSL's dump of IR, and with a cache of its own for Triton.

    Args:
        keep: a folder for the dump; without one the folder of ``CUTE_DSL_DUMP_DIR``, and without that one that goes
            away when the context ends.
        every_ptx: whether to take also the PTX that nvcc makes and that appears below the working directory.
        output: the file descriptor that is the command's standard output; None for ours.

    Raises:
        CannotRun: there is no such program, or no such folder can be made.
    """
    release = installed_release(command, os.environ)
    requests = requests_of(book, release)
    with ExitStack() as stack:
        asked = keep or os.environ.get("CUTE_DSL_DUMP_DIR")
        folder = Path(asked or stack.enter_context(TemporaryDirectory(prefix="tileproof-")))
        kept_by_nvcc = folder / "nvcc"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            dumps = _Dumps(folder, "*.mlir")
            if every_ptx:
                kept_by_nvcc.mkdir(exist_ok=True)
        except OSError as error:
            raise CannotRun(f"{folder}: {error.strerror or error}") from None
        watched = [dumps, *([_Dumps(kept_by_nvcc, "*.ptx")] if every_ptx else [])]
        strays = _Dumps(Path.cwd(), "*.mlir") if any(one.in_working_directory for one in requests) else None
        if strays is not None and strays.folder != folder.absolute():
            watched.append(strays)
        variables = environment(os.environ, folder.absolute(), requests)
        if every_ptx:
            kept = f"--keep --keep-dir {shlex.quote(str(kept_by_nvcc.absolute()))}"
            variables[_NVCC_FLAGS] = " ".join(filter(None, (variables.get(_NVCC_FLAGS), kept)))
        places = [Path(variables[_TRITON_CACHE]), *([Path()] if every_ptx else [])]
        before = [_stamps(place) for place in places]
        try:
            process = subprocess.Popen(list(command), env=variables, stdout=output)
        except OSError as error:
            raise CannotRun(f"{command[0]}: {error.strerror or error}") from None
        with process:
            _follow(process, watched)
        for one in reversed(watched):
            one.look()
            if one is strays:
                one.move(folder, dumps)
        ptx = [path for one in watched[1:] if one is not strays for path in one.files()]
        for place, earlier in zip(places, before, strict=True):
            ptx += [path for path, stamp in _stamps(place).items() if earlier.get(path) != stamp]
        # A process that a signal ended counts as a shell counts it.
        status = process.returncode if process.returncode >= 0 else 128 - process.returncode
        stays = asked is not None
        yield Dump(
            status,
            release,
            [_input(path, folder, stays) for path in dumps.files()],
            [_input(path, folder, stays) for path in dict.fromkeys(ptx)],
        )


def _follow(process: subprocess.Popen[bytes], watched: Sequence[_Dumps]) -> None:
    """Look at what appears until a program ends.

    An interrupt ends the program, not what was asked of us: what it compiled until then is there to be checked. Both
    get the interrupt of a terminal; a program that got none, or goes on, gets one after a while. A second one ends us.
    """
    interrupted: float | None = None
    while process.poll() is None:
        try:
            for one in watched:
                one.look()
            if interrupted is not None and monotonic() > interrupted + _GRACE:
                interrupted = monotonic()
                process.send_signal(signal.SIGINT)
            process.wait(LOOK_EVERY)
        except subprocess.TimeoutExpired:
            continue
        except KeyboardInterrupt:
            if interrupted is not None:
                process.kill()
                raise
            interrupted = monotonic()


def _input(path: Path, folder: Path, stays: bool) -> str | Source:
    """A file to check: its name where it stays, else its text by the name that it has in the folder that goes away."""
    inside = path.absolute().is_relative_to(folder.absolute())
    if stays or not inside:
        return str(path)
    text = path.read_text(encoding="utf-8", errors="replace")
    return Source(str(path.absolute().relative_to(folder.absolute())), text)


def _stamps(folder: Path) -> dict[Path, tuple[int, int]]:
    """When each PTX file below a folder was written; what begins with a dot is not looked into."""
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in sorted(names):
            if name.endswith(".ptx"):
                path = Path(place, name)
                try:
                    stat = path.stat()
                except OSError:
                    continue
                found[path] = (stat.st_mtime_ns, stat.st_ino)
    return found


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


_INTERPRETER = regex(rb"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(\S*python[\d.]*)\b")


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
    found = [
        Request(str(variable), str(value), place == ".working_directory", str(lines))
        for variable, value, place, lines in chosen
    ]
    return list(dict.fromkeys(found))


def environment(variables: Mapping[str, str], folder: Path, requests: Sequence[Request]) -> dict[str, str]:
    """A program's environment, with CuTe DSL's dump of IR into a folder and Triton's cache, beside its own settings."""
    asked = dict(variables)
    for prefix in PREFIXES:
        for request in requests:
            name = f"{prefix}_{request.variable}"
            listed = not request.value.isdigit()  # a switch is on or off, a list has what the user asks for as well
            kept = {token.strip() for token in asked.get(name, "").split(",")} - {""} if listed else set()
            asked[name] = ",".join(sorted({*kept, request.value}))
            if request.lines:
                asked[f"{prefix}_{request.lines}"] = "1"
        asked[f"{prefix}_DUMP_DIR"] = str(folder)
    if asked.setdefault(_TRITON_CACHE, str(folder / "triton")) == variables.get(_TRITON_CACHE):
        asked[_TRITON_ANEW] = "1"
    return asked


class _Dumps:
    """The files of a kind that appear in a folder.

    A dump is named after its function and the types of the arguments, so a function compiled a second time, with
    another tile say, replaces the dump of the first. Hence the folder is polled while the program runs.
    """

    def __init__(self, folder: Path, pattern: str) -> None:
        self.folder = folder
        self.pattern = pattern
        self.stamps: dict[Path, tuple[int, int, int]] = {}
        self.texts: dict[Path, list[bytes]] = {}
        self.look()
        self.texts.clear()  # earlier files are not ours
        self.before = frozenset(self.stamps)

    def look(self) -> None:
        """Read what is new."""
        for path in self.folder.glob(self.pattern):
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
            # Where the user asks for it, the same module is there a second time, canonicalised and without locations.
            if path.stem.endswith("_clean") and path.with_stem(path.stem.removesuffix("_clean")) in self.texts:
                continue
            files.append(path)
            for number, text in enumerate(dict.fromkeys(text for text in texts if text != texts[-1]), 1):
                earlier = path.with_stem(f"{path.stem}~{number}")
                earlier.write_bytes(text)
                files.append(earlier)
        return sorted(files)
