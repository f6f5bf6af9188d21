"""The command line. Each command imports what it needs when it runs: start-up time is a feature."""

from __future__ import annotations

import atexit
import gc
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from tileproof import __version__

if TYPE_CHECKING:
    from tileproof.report.values import Report, Unread
    from tileproof.rule import Finding, Rule, Rulebook
    from tileproof.source import Source

FORMATS = ("text", "json", "sarif", "github")
FEW_RULES = 20  # that one process checks as fast as several
PARALLEL_BYTES = 2_000_000  # from here on a second process pays for its start

atexit.register(gc.freeze)  # the interpreter looks for cycles once more when it ends; nobody needs the memory then


def fail(message: str) -> NoReturn:
    """One clear line, and exit status 2."""
    click.echo(f"tileproof: {message}", err=True)
    sys.exit(2)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", message="tileproof %(version)s")
def main() -> None:
    """Verify NVIDIA tensor-core code: CuTe DSL IR and PTX against rules that are data."""


def _rule_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--rules",
        "folders",
        multiple=True,
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="A folder with more rule files (*.rule); repeatable.",
    )(command)


def _load(folders: Iterable[Path]) -> tuple[Rulebook, tuple[Source, ...]]:
    """The rulebook with the project's own rules; exits with status 2 and the faults where it cannot be used."""
    from tileproof import config  # noqa: PLC0415
    from tileproof.rulebook import RuleError, default_files, load, rule_files  # noqa: PLC0415

    files = default_files()
    try:
        for folder in (*config.find(Path.cwd()).rules, *folders):
            if not folder.is_dir():
                fail(f"{folder}: no such folder of rules")
            files += rule_files(folder)
        with _no_garbage_collection():
            return load(files), files
    except RuleError as error:
        for fault in error.faults:
            click.echo(f"{fault.place}: error: {fault.message}", err=True)
        sys.exit(2)
    except (config.ConfigError, OSError) as error:
        fail(str(error))


@main.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--target", metavar="SM", help="The target, such as sm_90a. Default: what the IR names, else the least.")
@click.option(
    "--contract",
    type=click.Choice(["ptx", "tileiras"]),
    help="What the hardware and ptxas accept (ptx, the default), or what the reference pages say.",
)
@click.option("--select", multiple=True, metavar="RULES", help="Only these rules: codes, prefixes or names, by commas.")
@click.option("--ignore", multiple=True, metavar="RULES", help="Not these rules.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "note"]),
    help="The least severity that makes the exit status 1.  [default: error]",
)
@click.option("--split-input-file", "split", is_flag=True, help="Check the texts between lines `// -----` one by one.")
@click.option(
    "--verify-diagnostics",
    "verify",
    is_flag=True,
    help="Report only what differs from comments `expected-error@+1 {{text}}`, as in MLIR.",
)
@click.option("--explain-path", is_flag=True, help="Show what the threads did on the way to a finding of the protocol.")
@click.option("--jobs", "-j", type=click.IntRange(0), help="Processes to use; 0 is one a core. Default: as it pays.")
@click.option("--no-colour", "--no-color", "colourless", is_flag=True, help="No colour on a terminal.")
@_rule_options
def check(
    files: tuple[str, ...],
    form: str,
    target: str | None,
    contract: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str | None,
    split: bool,
    verify: bool,
    explain_path: bool,
    jobs: int | None,
    colourless: bool,
    folders: tuple[Path, ...],
) -> None:
    """Check IR and PTX files, directories (*.mlir, *.ptx), globs, or - for standard input.

    Exit status: 0 nothing found that fails the run, 1 an error was found (see --fail-on), 2 an input cannot be read or
    holds no IR, or bad arguments.

    A line is silenced by the comment `// tileproof: ignore[CODE] reason` on it or above it.
    """
    from tileproof import api, config  # noqa: PLC0415
    from tileproof.diagnostic import Severity  # noqa: PLC0415
    from tileproof.verbs.outcome import Options  # noqa: PLC0415

    book, rules = _load(folders)
    settings = config.find(Path.cwd())
    options = Options(
        contract or settings.contract or "ptx",
        target or settings.target,
        _listed(select) or settings.select,
        _listed(ignore) or settings.ignore,
        split,
        verify,
        explain_path,
    )
    threshold = fail_on or settings.fail_on or "error"
    if threshold not in ("error", "warning", "note"):
        fail(f"[tool.tileproof] fail-on is error, warning or note, not '{threshold}'")
    try:
        api.validate(book, options)
    except ValueError as error:
        fail(str(error))
    items = [item for name in files for item in _inputs(name)]
    with _progress(len(items)) as step, _no_garbage_collection():
        report = api.check_all(book, items, options, _processes(jobs, items), rules, step)
    _write(report, form, colourless)
    sys.exit(report.exit_status(Severity(threshold)))


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Reading IR and rules makes many small values and no cycles: to look for cycles takes a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _listed(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(item for value in values for item in value.replace(",", " ").split())


def _inputs(name: str) -> list[str | Source | Unread]:
    """What an argument stands for: standard input, a file, the IR below a directory, or the matches of a glob."""
    from tileproof import api  # noqa: PLC0415
    from tileproof.report.values import Unread  # noqa: PLC0415
    from tileproof.source import Source  # noqa: PLC0415

    if name == "-":
        try:
            return [Source("-", sys.stdin.buffer.read().decode("utf-8"))]
        except UnicodeDecodeError:
            return [Unread("-", "not UTF-8 text")]
    if any(mark in name for mark in "*?[") and not os.path.lexists(name):
        from glob import glob  # noqa: PLC0415

        if matches := sorted(glob(name, recursive=True)):  # noqa: PTH207  Path.glob() raises on some patterns
            return [item for match in matches for item in api.expand(match)]
    return list(api.expand(name))


def _processes(jobs: int | None, items: list[str | Source | Unread]) -> int:
    cores = os.cpu_count() or 1
    if jobs is not None:
        return jobs or cores
    names = [item for item in items if isinstance(item, str)]
    size = sum(os.stat(name).st_size for name in names if os.path.isfile(name))  # noqa: PTH113, PTH116  as given
    return cores if size > PARALLEL_BYTES else 1


class _progress:  # noqa: N801  reads as a function
    """A progress bar on a terminal for runs of many steps, or of nobody knows how many (None); nothing in a pipe."""

    def __init__(self, total: int | None, what: str = "checking") -> None:
        self.total = total
        self.what = what
        self.bar: Any = None

    def __enter__(self) -> Callable[[], None]:
        if (self.total is not None and self.total < 8) or not sys.stderr.isatty():
            return lambda: None
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import Progress  # noqa: PLC0415

        self.bar = Progress(console=Console(stderr=True), transient=True)
        self.bar.start()
        task = self.bar.add_task(self.what, total=self.total)
        return lambda: self.bar.advance(task)

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()


def _write(report: Report, form: str, colourless: bool) -> None:
    from importlib import import_module  # noqa: PLC0415

    module = import_module(f"tileproof.report.{form}")
    if form == "text":
        colour = sys.stdout.isatty() and not colourless and "NO_COLOR" not in os.environ
        lines: Iterable[str] = module.render(report, module.coloured if colour else module.plain)
    else:
        rendered = module.render(report)
        lines = [rendered] if isinstance(rendered, str) else rendered
    for line in lines:
        click.echo(line)
    for unread in report.unread:
        click.echo(f"tileproof: {unread.name}: {unread.reason}", err=True)


@main.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--contract", type=click.Choice(["ptx", "tileiras"]), default="ptx", show_default=True)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_rule_options
def descriptors(files: tuple[str, ...], contract: str, form: str, folders: tuple[Path, ...]) -> None:
    """The 64-bit shared-memory descriptors (at address 0) that kernels make for their MMA operands.

    Exit status: 0 all were listed, 1 an operand has no descriptor, 2 a file that cannot be read or holds no IR.
    """
    from tileproof import api  # noqa: PLC0415
    from tileproof.report.values import Unread  # noqa: PLC0415
    from tileproof.source import Source  # noqa: PLC0415
    from tileproof.verbs import descriptors as verb  # noqa: PLC0415

    book, _ = _load(folders)
    listed: list[verb.Listed] = []
    status = 0
    for item in (item for name in files for item in _inputs(name)):
        source = api.read(item)
        found = verb.descriptors(book, source, contract) if isinstance(source, Source) else None
        if found is None:
            reason = source.reason if isinstance(source, Unread) else "holds no IR"
            click.echo(f"tileproof: {source.name}: {reason}", err=True)
            status = 2
        listed += found or ()
    if form == "json":
        click.echo(json.dumps({"descriptors": [one.as_json() for one in listed]}, indent=2))
    else:
        for one in listed:
            click.echo(str(one))
    sys.exit(max(status, int(any(one.swizzle is None for one in listed))))


@main.command()
@click.argument("file", metavar="FILE")
@click.option("-o", "--output", metavar="FILE", help="Where the result goes. Default: standard output.")
@click.option(
    "--graph", "drawing", metavar="FILE", help="Write the asynchronous graph of the result as *.dot or *.json."
)
@_rule_options
def schedule(file: str, output: str | None, drawing: str | None, folders: tuple[Path, ...]) -> None:
    """Insert the fences, commits and waits that a kernel lacks; everything else stays byte for byte.

    What is inserted is listed on standard error, with the lines of the result.

    Exit status: 0 the result verifies, 1 an error is left that no insertion repairs, 2 bad arguments or no IR.
    """
    from tileproof import api  # noqa: PLC0415
    from tileproof.source import Source  # noqa: PLC0415
    from tileproof.verbs import schedule as verb  # noqa: PLC0415

    if drawing is not None and not drawing.endswith((".dot", ".json")):
        fail(f"--graph writes *.dot or *.json, not '{drawing}'")
    book, _ = _load(folders)
    (item, *more) = _inputs(file)
    source = api.read(item)
    if more or not isinstance(source, Source):
        fail(f"{file}: one file is scheduled at a time" if more else f"{source.name}: {source.reason}")  # type: ignore[union-attr]
    try:
        with _progress(None, "scheduling") as step, _no_garbage_collection():
            found = verb.schedule(book, source, step)
    except verb.NotScheduled as error:
        fail(str(error))
    for line, text in found.inserted:
        click.echo(f"{source.name}:{line}: inserted {text}", err=True)
    if found.inserted and found.minimal:
        click.echo(f"{source.name}: no fewer and no weaker ones are enough (Z3)", err=True)
    for text in verb.remaining(book, found):
        click.echo(text, err=True)
    try:
        if output is not None:
            Path(output).write_bytes(found.source.text.encode())
        else:
            sys.stdout.buffer.write(found.source.text.encode())
        if drawing is not None:
            from tileproof.scheduling import graph  # noqa: PLC0415  networkx takes a tenth of a second

            drawn = graph.graph(book, found.source)
            form = graph.as_json if drawing.endswith(".json") else graph.as_dot
            Path(drawing).write_text(form(drawn), encoding="utf-8")
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
    sys.exit(int(not found.verified))


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--target", metavar="SM", help="The target, such as sm_90a. Default: what the IR names, else the least.")
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), help="Keep the dumped IR in this folder.")
def run(command: tuple[str, ...], form: str, target: str | None, keep: Path | None) -> None:
    """Run a CuTe DSL program and check the IR that it compiles.

    The command runs with CuTe DSL's dump variables set to a private folder; what it dumped is then checked. The exit
    status is the worse of the two, and 2 where nothing was compiled.
    """
    from tileproof import api  # noqa: PLC0415
    from tileproof.verbs.outcome import Options  # noqa: PLC0415
    from tileproof.verbs.run import CannotRun, dump  # noqa: PLC0415

    book, rules = _load(())
    options = Options(target=target)
    try:
        api.validate(book, options)
        with dump(command, keep) as (status, files):
            if not files:
                click.echo("tileproof: the command compiled no CuTe DSL kernel, so nothing was checked", err=True)
                sys.exit(max(status, 2))
            report = api.check_all(book, files, options, 1, rules)
            _write(report, form, colourless=False)
            sys.exit(max(status, report.exit_status()))
    except (CannotRun, ValueError) as error:
        fail(str(error))


@main.command()
@click.argument("instructions", nargs=-1, metavar="INSTRUCTION...")
@click.option("--target", metavar="SM", default="sm_90a", show_default=True)
@click.option("--ptx", metavar="VERSION", help="PTX version, such as 8.7. Default: the newest that knows the target.")
@click.option("--contract", type=click.Choice(["ptx", "tileiras"]), default="ptx", show_default=True)
@click.option("--jsonl", is_flag=True, help='Read {"target": ..., "instr": ...} lines from standard input.')
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_rule_options
def legal(
    instructions: tuple[str, ...],
    target: str,
    ptx: str | None,
    contract: str,
    jsonl: bool,
    form: str,
    folders: tuple[Path, ...],
) -> None:
    """Is a PTX instruction or an atom's type legal on a target? `tileproof legal --target sm_80 'ldmatrix.sync...;'`

    Registers are named by class: r0 .b32, f0 .f32, d0 .f64, l0 .b64, h0 .b16, p0 .pred, q0 .b128.

    Exit status: 0 all are legal, 1 one is not, 2 bad arguments. With --jsonl 0: each line has its answer.
    """
    from tileproof.verbs import legal as verb  # noqa: PLC0415

    book, _ = _load(folders)
    if jsonl:
        with _no_garbage_collection():
            for answer in verb.answers(book, contract, sys.stdin):
                sys.stdout.write(answer + "\n")
        return
    if not instructions:
        fail("legal needs an instruction or --jsonl")
    try:
        where = verb.context(book, target, verb.version(ptx) if ptx else None)
    except ValueError as error:
        fail(str(error))
    report = verb.report(book, contract, instructions, where)
    if form == "json":
        for instruction in instructions:
            click.echo(verb.as_json(verb.legal(book, contract, instruction, where)))
    else:
        _write(report, "text", colourless=False)
    sys.exit(report.exit_status())


class _ConfigurationsByDefault(click.Group):
    """`suggest` is about configurations; only where another subject is named, about that."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args and args[0] in self.commands else ["configurations", *args])


@main.group("suggest", cls=_ConfigurationsByDefault)
def suggest_group() -> None:
    """Legal MMA atoms and instructions for a partial description; `suggest layout`: where an operand may lie."""


@suggest_group.command("layout")
@click.option("--operand", "role", type=click.Choice(["A", "B"]), required=True)
@click.option("--atom", required=True, metavar="TYPE", help="The type of an MMA atom, or wgmma or tcgen05.")
@click.option("--element", required=True, metavar="TYPE", help="As it lies in shared memory, such as f16 or e4m3.")
@click.option("--shape", required=True, metavar="MNxK", help="Rows (M of A, N of B) and columns of the operand.")
@click.option("--major", type=click.Choice(["k", "mn"]), help="Default: as the atom's type says.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_rule_options
def suggest_layout(
    role: str, atom: str, element: str, shape: str, major: str | None, form: str, folders: tuple[Path, ...]
) -> None:
    """Where an operand may lie in shared memory: legal layouts, free of bank conflicts first, the widest swizzle first.

    `tileproof suggest layout --operand A --atom wgmma --element f16 --shape 64x64 --major k`

    Exit status: 0 something was found, 1 no canonical layout fits, 2 bad arguments.
    """
    from tileproof import placements as verb  # noqa: PLC0415

    book, _ = _load(folders)
    try:
        found = verb.placements(book, atom, role, element, verb.read_shape(shape), major)
    except verb.BadOperand as error:
        fail(str(error))
    if form == "json":
        click.echo(json.dumps({"layouts": [verb.as_json(one) for one in found]}, indent=2))
    else:
        for one in found:
            click.echo(verb.as_text(one))
        if not found:
            click.echo(f"no canonical layout of {shape} elements of {element} fits")
    sys.exit(0 if found else 1)


@suggest_group.command("configurations")
@click.argument("illegal", required=False)
@click.option("--target", metavar="SM", default="sm_90a", show_default=True)
@click.option("--ptx", metavar="VERSION", help="PTX version, such as 8.7. Default: the newest that knows the target.")
@click.option("--contract", type=click.Choice(["ptx", "tileiras"]), default="ptx", show_default=True)
@click.option("--a", "a_type", metavar="TYPE", help="Element type of A, such as f16 or e4m3; several by commas.")
@click.option("--b", "b_type", metavar="TYPE", help="Element type of B.")
@click.option("--acc", "d_type", metavar="TYPE", help="Element type of the accumulator.")
@click.option(
    "--set", "facts", multiple=True, metavar="FACT=VALUE", help="Any other fact, such as a.major=k; repeatable."
)
@click.option("--scale", "scale_type", metavar="TYPE", help="Element type of the scale factors, such as ue8m0.")
@click.option("--sparsity", type=click.Choice(["any", "dense", "sparse"]), default="any", show_default=True)
@click.option(
    "--warps", type=click.IntRange(1), help="How many warps share the tile: instructions are counted of each."
)
@click.option("--warpgroups", type=click.IntRange(1), help="The same in warpgroups of four warps.")
@click.option("--tile", metavar="MxNxK", help="The tile in elements; atoms must divide it.")
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True)
@click.option("--all", "everything", is_flag=True, help="All legal configurations.")
@click.option("--repair", is_flag=True, help="ILLEGAL is an instruction or an atom type: its nearest legal form.")
@click.option("--timeout", default=10.0, show_default=True, help="Seconds that Z3 may spend on a repair.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_rule_options
def suggest_(
    illegal: str | None,
    target: str,
    ptx: str | None,
    contract: str,
    a_type: str | None,
    b_type: str | None,
    d_type: str | None,
    facts: tuple[str, ...],
    scale_type: str | None,
    sparsity: str,
    warps: int | None,
    warpgroups: int | None,
    tile: str | None,
    limit: int,
    everything: bool,
    repair: bool,
    timeout: float,
    form: str,
    folders: tuple[Path, ...],
) -> None:
    """Legal MMA atoms and instructions for a partial description, the best first.

    Dense before sparse; ranked by the instructions that the tile takes, then by the bytes of A and B that these read.

    `tileproof suggest --target sm_100a --a e4m3 --acc f32 --tile 128x256x128`

    `tileproof suggest layout` is about operands instead: where one may lie in shared memory.

    `tileproof suggest --repair 'wgmma.mma_async.sync.aligned.m64n100k16...;'` gives the nearest legal form of an
    instruction or an atom type, and the rules in conflict.

    Exit status: 0 something was found, 1 nothing is legal, 2 bad arguments.
    """
    from tileproof.candidates import suggest  # noqa: PLC0415
    from tileproof.verbs import suggest as verb  # noqa: PLC0415
    from tileproof.verbs.legal import context, version  # noqa: PLC0415

    book, _ = _load(folders)
    named = (("a.type", a_type), ("b.type", b_type), ("d.type", d_type), ("scale.type", scale_type))
    wanted = {name: text for name, text in named if text}
    if warps is not None and warpgroups is not None:
        fail("--warps and --warpgroups say the same: give one of them")
    for given in facts:
        name, equals, value = given.partition("=")
        if not equals:
            fail(f"--set takes FACT=VALUE, not '{given}'")
        wanted[name] = value
    try:
        where = context(book, target, version(ptx) if ptx else None)
        if repair:
            if illegal is None:
                fail("suggest --repair needs an instruction or an atom type")
            mended = verb.repaired(book, contract, illegal, where, timeout)
            click.echo(verb.repair_as_json(mended) if form == "json" else "\n".join(verb.repair_as_text(mended)))
            sys.exit(0 if mended.text else 1)
        if illegal is not None:
            fail(f"what is '{illegal}'? An illegal instruction goes with --repair")
        shared = 4 * warpgroups if warpgroups is not None else warps
        listed = {name: _listed([text]) for name, text in wanted.items()}
        query = verb.query(book, contract, where, listed, tile, sparsity, shared)
    except ValueError as error:
        fail(str(error))
    found = suggest(book, query)
    most = None if everything else limit
    lines = [verb.as_json(found, most)] if form == "json" else list(verb.as_text(found, most))
    click.echo("\n".join(lines) or "nothing that is legal fits")
    sys.exit(0 if found else 1)


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("expression", required=False)
@click.option("--jsonl", is_flag=True, help='Read {"expr": ...} lines from standard input, answer each with a line.')
@click.option("--functions", is_flag=True, help="List the functions of the expression language.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def layout(expression: str | None, jsonl: bool, functions: bool, form: str) -> None:
    """Compute with CuTe layouts: `tileproof layout 'composition((20):(2), (5,4):(4,1))'` prints `(5,4):(8,2)`.

    Exit status: 0 a value, 1 the expression has none (one sentence says why), 2 bad arguments. With --jsonl, 0.
    """
    from tileproof.verbs import layout as verb  # noqa: PLC0415

    if functions:
        click.echo("\n".join(verb.functions()))
    elif jsonl:
        for answer in verb.answers(sys.stdin):
            click.echo(answer)
    elif expression is None:
        fail("layout needs an expression, --jsonl or --functions")
    else:
        _show_value(verb, expression, form)


def _show_value(verb: Any, expression: str, form: str) -> None:
    try:
        value = verb.value_of(expression)
    except verb.ExpressionError as error:
        if form == "json":
            click.echo(json.dumps({"error": str(error)}))
        else:
            click.echo(f"tileproof: {error}", err=True)
        sys.exit(1)
    click.echo(json.dumps({"result": value}) if form == "json" else value)


@main.group()
def prove() -> None:
    """Prove a claim about layouts for all coordinates and all values of dynamic leaves, or show where it fails.

    A layout is written as CuTe prints it, `S<3,3,3> o 0 o (64,64):(64,1)` (a swizzle of element indices), or as a
    memory reference of the IR, `!cute.memref<f16, smem, align<1024>, S<3,4,3>, "(64,64):(64,1)">` (one of byte
    addresses). A dynamic leaf `?{div=16}` may have a name, `?m{div=16}`, of which `--assume` speaks.

    Exit status: 0 proved, 1 refuted or unknown, 2 bad arguments.
    """


def _prove_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What every question about layouts takes besides its own."""
    for option in (
        click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True),
        click.option(
            "--smt2", type=click.Path(dir_okay=False, path_type=Path), help="Write the question as SMT-LIB 2."
        ),
        click.option(
            "--timeout",
            type=click.FloatRange(0, min_open=True),
            default=10.0,
            show_default=True,
            help="Seconds that Z3 may spend.",
        ),
        click.option(
            "--assume", multiple=True, metavar="RELATION", help="Such as 'ld >= m' or 'd % 32 == 1'; repeatable."
        ),
        click.option("--element", metavar="TYPE", help="The element type, such as f16 or f8E4M3FN."),
    ):
        command = option(command)
    return command


def _memory_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What questions about addresses take as well."""
    for option in (
        click.option(
            "--align", type=click.IntRange(1), metavar="BYTES", help="Of the base. Default: all that is needed."
        ),
        click.option("--swizzle", metavar="S<B,M,S>", help="A swizzle of byte addresses."),
        click.option("--mode", type=click.IntRange(0), help="The mode that runs. Default: that of stride 1."),
    ):
        command = option(command)
    return command


def _prove(kind: str, *arguments: Any, timeout: float, smt2: Path | None, form: str) -> NoReturn:
    from tileproof.prove import questions  # noqa: PLC0415
    from tileproof.verbs import prove as verb  # noqa: PLC0415

    try:
        statement, verdict = verb.ask(getattr(questions, kind), *arguments, seconds=timeout, smt2=smt2)
    except verb.BadQuestion as error:
        fail(str(error))
    for line in [verb.as_json(statement, verdict)] if form == "json" else verb.as_text(statement, verdict):
        click.echo(line)
    sys.exit(verb.status(verdict))


@prove.command("equivalent")
@click.argument("first", metavar="LAYOUT")
@click.argument("second", metavar="LAYOUT")
@_prove_options
def prove_equivalent(first: str, second: str, element: str | None, assume: tuple[str, ...], **settings: Any) -> None:
    """Do two layouts lead to one value at each index?

    `tileproof prove equivalent '(4,8):(8,1)' '(4,(2,4)):(8,(1,2))'`

    Compared are element offsets (or coordinates), and byte addresses where one is a memory reference with a swizzle.
    Of the two, dynamic leaves without a name are the same in the order in which they are written.
    """
    _prove("equivalent", first, second, element, assume, **settings)


@prove.command("descriptor")
@click.option("--atom", required=True, metavar="TYPE", help="The MMA atom, as the IR writes it.")
@click.option("--operand", "operand_name", required=True, metavar="A|B")
@click.option("--layout", "layout_", required=True, metavar="LAYOUT", help="Of the operand in shared memory.")
@click.option("--element", metavar="TYPE", help="The element type in shared memory, such as f16.")
@click.option("--swizzle", metavar="S<B,M,S>", help="A swizzle of byte addresses, beside the layout.")
@click.option("--value", metavar="HEX", help="A descriptor; any start address.")
@click.option("--solve", is_flag=True, help="Any major, and any swizzle where the layout has none.")
@click.option("--contract", type=click.Choice(["ptx", "tileiras"]), default="ptx", show_default=True)
@click.option("--smt2", type=click.Path(dir_okay=False, path_type=Path), help="Write the question as SMT-LIB 2.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=10.0, help="No solver is needed here.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_rule_options
def prove_descriptor(
    atom: str,
    operand_name: str,
    layout_: str,
    element: str | None,
    swizzle: str | None,
    value: str | None,
    solve: bool,
    contract: str,
    smt2: Path | None,
    timeout: float,
    form: str,
    folders: tuple[Path, ...],
) -> None:
    """Does a descriptor describe an operand in shared memory as the tensor core reads it?

    Without --value the descriptor is found: LBO, SBO and the swizzle. With it the given one is compared. The layout is
    that of the whole operand, `(128,64):(64,1)`, or already divided, `((64,16),2,4):((64,1),4096,16)`, or a memory
    reference of the IR.
    """
    from tileproof.syntax import SyntaxFault  # noqa: PLC0415
    from tileproof.verbs import prove as verb  # noqa: PLC0415
    from tileproof.verbs import prove_descriptor as descriptor  # noqa: PLC0415

    del timeout
    book, _ = _load(folders)
    try:
        asked = descriptor.question(book, atom, operand_name, layout_, element, swizzle, value, solve)
        answer = descriptor.prove(book, contract, asked)
        if smt2 is not None:
            descriptor.write_smt2(smt2, answer)
    except (verb.BadQuestion, SyntaxFault) as error:
        fail(str(error))
    show = verb.as_json if form == "json" else verb.as_text
    shown = show(answer.statement, answer.verdict)
    for line in [shown] if isinstance(shown, str) else shown:
        click.echo(line)
    sys.exit(verb.status(answer.verdict))


@prove.command("injective")
@click.argument("layout_", metavar="LAYOUT")
@_prove_options
def prove_injective(layout_: str, element: str | None, assume: tuple[str, ...], **settings: Any) -> None:
    """Do no two coordinates lead to one value?

    `tileproof prove injective '(?m,?n):(1,?ld)' --assume 'ld >= m'`
    """
    _prove("injective", layout_, element, assume, **settings)


@prove.command("bijective")
@click.argument("layout_", metavar="LAYOUT")
@_prove_options
def prove_bijective(layout_: str, element: str | None, assume: tuple[str, ...], **settings: Any) -> None:
    """Are the offsets 0 to size - 1, each once?

    `tileproof prove bijective 'S<3,3,3> o 0 o (8,64):(64,1)'`
    """
    _prove("bijective", layout_, element, assume, **settings)


@prove.command("covers")
@click.argument("layout_", metavar="LAYOUT")
@click.argument("tile")
@click.option("--at-least-once", is_flag=True, help="An element may be reached several times.")
@_prove_options
def prove_covers(
    layout_: str, tile: str, at_least_once: bool, element: str | None, assume: tuple[str, ...], **settings: Any
) -> None:
    """Does a layout reach each element of a tile exactly once, and nothing else?

    `tileproof prove covers '((4,8),(2,2)):((2@1,1@0),(1@1,8@0))' '(16,8)'`: offsets count through the tile, coordinates
    (scaled bases) name its elements.
    """
    _prove("covers", layout_, tile, at_least_once, element, assume, **settings)


@prove.command("aligned")
@click.argument("layout_", metavar="LAYOUT")
@click.option("--vector", type=click.IntRange(1), required=True, help="Elements of one access.")
@click.option("--bytes", "size", type=click.IntRange(1), help="The alignment. Default: the bytes of an access.")
@_memory_options
@_prove_options
def prove_aligned(
    layout_: str,
    vector: int,
    size: int | None,
    mode: int | None,
    swizzle: str | None,
    align: int | None,
    element: str | None,
    assume: tuple[str, ...],
    **settings: Any,
) -> None:
    """Is every access of so many elements along a mode contiguous and aligned, also under the swizzle?

    `tileproof prove aligned '(64,16):(16,1)' --swizzle 'S<1,3,3>' --vector 8 --element bf16` shows where a row that
    ldmatrix reads is torn.
    """
    _prove("aligned", layout_, vector, element, size, mode, swizzle, align, assume, **settings)


@prove.command("conflict-free")
@click.argument("layout_", metavar="LAYOUT")
@click.option("--access", required=True, help="ldmatrix.x4, stmatrix.x2, ld.shared.b32, st.shared.v4.b32, ...")
@click.option("--tv", metavar="LAYOUT", help="The thread-value layout, where LAYOUT is that of the memory.")
@_memory_options
@_prove_options
def prove_conflict_free(
    layout_: str,
    access: str,
    tv: str | None,
    mode: int | None,
    swizzle: str | None,
    align: int | None,
    element: str | None,
    assume: tuple[str, ...],
    **settings: Any,
) -> None:
    """Does a warp's access to shared memory meet no bank conflict?

    Of ldmatrix and stmatrix LAYOUT is that of a tile of rows and columns, in which every 8x8 matrix is asked about. Of
    ld.shared and st.shared it is a thread-value layout that leads to offsets, or with --tv the layout of the memory.

    `tileproof prove conflict-free 'S<3,3,3> o 0 o (64,64):(64,1)' --element f16 --access ldmatrix.x4`
    """
    _prove("conflict_free", layout_, access, element, tv, mode, swizzle, align, assume, **settings)


@prove.command("fragment")
@click.option("--atom", required=True, help="A type of the IR, a PTX opcode, or a fragment's name in the rule files.")
@click.option(
    "--operand", "role", default="A", show_default=True, help="A, B, C, E (metadata), SFA, SFB, T (TMEM), S, D."
)
@click.option("--layout", "own", metavar="TV", help="A thread-value layout to compare with the true one.")
@click.option("--copy", metavar="INSTR", help="An ldmatrix or stmatrix that should fill or drain the operand.")
@click.option("--major", type=click.Choice(["k", "mn"]), default="k", show_default=True, help="For --copy.")
@click.option("--set", "facts", multiple=True, metavar="FACT=VALUE", help="What the opcode does not say; repeatable.")
@click.option("--contract", type=click.Choice(["ptx", "tileiras"]), default="ptx", show_default=True)
@click.option("--smt2", type=click.Path(dir_okay=False, path_type=Path), help="Write the question as SMT-LIB 2.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_rule_options
def prove_fragment(
    atom: str,
    role: str,
    own: str | None,
    copy: str | None,
    major: str,
    facts: tuple[str, ...],
    contract: str,
    smt2: Path | None,
    form: str,
    folders: tuple[Path, ...],
) -> None:
    """Which thread holds which element of an operand, and that every element has its holder.

    `tileproof prove fragment --atom mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --operand A`

    With --layout: is this layout the true one? With --copy: does the instruction feed or drain the operand? In contract
    tileiras: is what reference page P0 says of the operand true? Of a tiled MMA or copy: is its tile covered once?
    """
    from tileproof.verbs import prove_fragments as verb  # noqa: PLC0415
    from tileproof.verbs.prove import BadQuestion  # noqa: PLC0415

    book, _ = _load(folders)
    try:
        answer = verb.fragment(book, atom, role, contract=contract, given=facts, layout=own, copy=copy, major=major)
        if smt2 is not None:
            if copy is not None or contract != "ptx":
                fail("--smt2 does not go with --copy and --contract tileiras: no single question decides those")
            smt2.write_text(verb.question(book, atom, role, given=facts, layout=own), encoding="utf-8")
    except BadQuestion as error:
        fail(str(error))
    except OSError as error:
        fail(f"{smt2}: {error.strerror or error}")
    click.echo(verb.as_json(answer) if form == "json" else "\n".join(verb.as_text(answer)))
    sys.exit(verb.status(answer))


@prove.command("gemm")
@click.argument("layouts", nargs=-1, metavar="[A B D]")
@click.option("--atom", help="A type of the IR or a PTX opcode, instead of three layouts.")
@click.option("--set", "facts", multiple=True, metavar="FACT=VALUE", help="What the opcode does not say; repeatable.")
@click.option("--smt2", type=click.Path(dir_okay=False, path_type=Path), help="Write the question as SMT-LIB 2.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_rule_options
def prove_gemm(
    layouts: tuple[str, ...],
    atom: str | None,
    facts: tuple[str, ...],
    smt2: Path | None,
    form: str,
    folders: tuple[Path, ...],
) -> None:
    """Do A, B and D form an (M, N, K): three layouts (V,M,K), (V,N,K) and (V,M,N), or the operands of an atom?"""
    from tileproof.verbs import prove_fragments as verb  # noqa: PLC0415
    from tileproof.verbs.prove import BadQuestion  # noqa: PLC0415

    if (atom is None) == (not layouts) or len(layouts) not in (0, 3):
        fail("prove gemm takes three layouts, A B D, or --atom")
    book, _ = _load(folders)
    try:
        answer = verb.gemm_of_layouts(*layouts) if atom is None else verb.gemm(book, atom, facts)
        if smt2 is not None:
            asked = verb.gemm_of_layouts_question(*layouts) if atom is None else verb.gemm_question(book, atom, facts)
            smt2.write_text(asked, encoding="utf-8")
    except BadQuestion as error:
        fail(str(error))
    except OSError as error:
        fail(f"{smt2}: {error.strerror or error}")
    click.echo(verb.as_json(answer) if form == "json" else "\n".join(verb.as_text(answer)))
    sys.exit(verb.status(answer))


@main.command()
@click.argument("files", nargs=-1, metavar="[FILE]")
@click.option("--atom", metavar="ATOM", help="One atom's type or one PTX opcode, instead of files.")
@click.option("--target", metavar="SM", help="The target, such as sm_90a.")
@click.option(
    "--ptx", metavar="VERSION", help="The PTX version, such as 8.7. Default: the newest that knows the target."
)
@click.option("--form", type=click.Choice(["ptx", "inline-asm", "nvvm", "llvm"]), default="ptx", show_default=True)
@click.option("--contract", type=click.Choice(["ptx", "tileiras"]), default="ptx", show_default=True)
@click.option("--witness", is_flag=True, help="A whole kernel for the atom: fill shared memory, multiply, store.")
@click.option("--layout-a", metavar="LAYOUT", help="Of A in the witness's shared memory. Default: the best.")
@click.option("--layout-b", metavar="LAYOUT", help="Of B.")
@_rule_options
def emit(
    files: tuple[str, ...],
    atom: str | None,
    target: str | None,
    ptx: str | None,
    form: str,
    contract: str,
    witness: bool,
    layout_a: str | None,
    layout_b: str | None,
    folders: tuple[Path, ...],
) -> None:
    """Emit PTX: an entry for each MMA and copy of a file of IR that has no errors and one for what its kernel orders by
    itself, or the sequence of one atom.

    `tileproof emit --atom wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 --target sm_90a`

    Exit status: 1 where it is not legal (nothing is emitted then), 2 where there is nothing to emit.
    """
    from tileproof.verbs import emit as verb  # noqa: PLC0415
    from tileproof.verbs.legal import BadRequest, context, version  # noqa: PLC0415

    if (atom is None) == (not files) or len(files) > 1:
        fail("emit takes one file or --atom")
    book, _ = _load(folders)
    try:
        if atom is None:
            if (form, contract, ptx, witness) != ("ptx", "ptx", None, False):
                fail("--form, --contract, --ptx and --witness go with --atom")
            text = _emit_file(book, files[0], target)
        elif witness:
            from tileproof.witness import witness as make  # noqa: PLC0415

            layouts = {name: text for name, text in (("a", layout_a), ("b", layout_b)) if text is not None}
            text = make(book, atom, target or "sm_90a", layouts).text
        else:
            where = context(book, target or "sm_90a", version(ptx) if ptx else None)
            text = verb.emit_atom(book, contract, atom, where, form.replace("-", "_"))
    except verb.Refused as refused:
        _write(refused.report, "text", colourless=False)
        sys.exit(1)
    except verb.NotLegal as error:
        click.echo(f"tileproof: {error}", err=True)
        sys.exit(1)
    except (BadRequest, verb.BadAtom) as error:
        fail(str(error))
    click.echo(text, nl=False)


def _emit_file(book: Rulebook, name: str, target: str | None) -> str:
    from tileproof import api  # noqa: PLC0415
    from tileproof.report.values import Unread  # noqa: PLC0415
    from tileproof.verbs.emit_file import emit_file  # noqa: PLC0415
    from tileproof.verbs.legal import context  # noqa: PLC0415

    if target is not None:
        context(book, target)
    items = _inputs(name)
    source = api.read(items[0]) if len(items) == 1 else Unread(name, "emit takes one file")
    if isinstance(source, Unread):
        fail(f"{source.name}: {source.reason}")
    return emit_file(book, source, target)


@main.group()
def rules() -> None:
    """The rule base: list, show, check and compare rules."""


@rules.command("list")
@click.option("--contract", type=click.Choice(["ptx", "tileiras"]), help="Only the rules of one contract.")
@click.option("--deviations", is_flag=True, help="Only where we knowingly differ from ptxas or from the PTX ISA.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_rule_options
def list_rules(contract: str | None, deviations: bool, form: str, folders: tuple[Path, ...]) -> None:
    """List all rules, one a line."""
    from tileproof.documentation import as_json, contract_of, is_deviation, listing  # noqa: PLC0415

    book, _ = _load(folders)
    documented = book.documented().values()
    chosen = [item for item in documented if contract is None or contract_of(item) in (None, contract)]
    if deviations:
        chosen = [item for item in chosen if is_deviation(item)]
    click.echo(as_json(chosen) if form == "json" else listing(chosen))


@rules.command("show")
@click.argument("code")
@_rule_options
def show_rule(code: str, folders: tuple[Path, ...]) -> None:
    """Show the text of a rule as it stands in its file."""
    from tileproof.documentation import text_of  # noqa: PLC0415

    book, _ = _load(folders)
    click.echo(text_of(_find(book, code)))


@rules.command("check")
@click.option("--timeout", default=10.0, show_default=True, help="Seconds that Z3 may spend on one question.")
@click.option("--jobs", "-j", type=click.IntRange(0), default=0, help="Processes to use. Default: one a core.")
@_rule_options
def check_rules(timeout: float, jobs: int, folders: tuple[Path, ...]) -> None:
    """Check the rule base itself.

    Each rule can hold and can fail, is not implied by the others, has a source and examples that behave as they say,
    and its two readings, the Python function and the Z3 formula, agree on every configuration.
    """
    from tileproof.rulecheck import check_book, check_files  # noqa: PLC0415

    book, files = _load(folders)
    processes = jobs or os.cpu_count() or 1
    with _progress(len(book.rules)) as step:
        if processes == 1 or len(book.rules) < FEW_RULES:
            outcome = check_book(book, timeout, step)
        else:
            outcome = check_files(files, timeout, processes, step)
    for fault in outcome.faults:
        click.echo(f"{fault.place}: error: {fault.message}")
    for fault in outcome.unknown:
        click.echo(f"{fault.place}: warning: {fault.message}")
    click.echo(
        f"{len(book.rules)} rules in {len(book.schemas)} schemas: {outcome.questions} questions to Z3,"
        f" {outcome.configurations} configurations compared, {len(outcome.faults)} errors,"
        f" {len(outcome.unknown)} unknown"
    )
    sys.exit(bool(outcome.faults))


@rules.command("diff")
@click.argument("left", type=click.Choice(["ptx", "tileiras"]))
@click.argument("right", type=click.Choice(["ptx", "tileiras"]))
@click.option("--timeout", default=10.0, show_default=True, help="Seconds that Z3 may spend on one question.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_rule_options
def diff_rules(left: str, right: str, timeout: float, form: str, folders: tuple[Path, ...]) -> None:
    """Where two contracts differ: what LEFT accepts and RIGHT rejects, then the reverse.

    Each region is told by the rule that rejects it, the values its facts take there, one witness, and both sources.
    """
    from tileproof.contracts import as_json, as_text, differences  # noqa: PLC0415

    book, _ = _load(folders)
    pairs = ((left, right), (right, left))
    regions = (region for a, b in pairs for region in differences(book, a, b, timeout))
    if form == "json":
        click.echo(as_json(regions))
    else:
        for line in as_text(regions):
            click.echo(line)


@main.command()
@click.argument("code")
@_rule_options
def explain(code: str, folders: tuple[Path, ...]) -> None:
    """Explain a rule by its code or name: what it demands, why, where that is written, and examples.

    A mnemonic such as atom.tma_load is explained by its contract, a concept of CUTLASS such as cute::TiledMMA by its
    form in the IR.
    """
    from tileproof import registry  # noqa: PLC0415
    from tileproof.documentation import explanation  # noqa: PLC0415

    book, _ = _load(folders)
    if (atom := registry.contract_of(book, code)) is not None:
        click.echo(registry.as_text(atom))
    elif (form := registry.porting(book).get(code)) is not None:
        click.echo(f"{code}: {form[0]}\n{form[1]}")
    else:
        click.echo(explanation(book, _find(book, code)))


def _find(book: Rulebook, code: str) -> Rule | Finding:
    documented = book.documented()
    for item in documented.values():
        if code.upper() == item.code or code == item.name:
            return item
    from difflib import get_close_matches  # noqa: PLC0415

    near = get_close_matches(code, [*documented, *(item.name for item in documented.values())], 3)
    fail(f"no rule has the code or name '{code}'" + (f"; did you mean {' or '.join(near)}?" if near else ""))


if __name__ == "__main__":
    main()
