"""The verbs of the command line as functions: text or paths in, values out."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tileproof.base.patterns import regex
from tileproof.base.source import Source
from tileproof.checking.implemented import load_implemented
from tileproof.checking.reading import IR_SUFFIXES, check_one, kernels_named, read
from tileproof.checking.user_sources import unused
from tileproof.judge.launches import check_launches, stated_launches
from tileproof.judge.outcome import FileReport, Options
from tileproof.report.values import Report, Unread
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.load import default_files, rule_files

if TYPE_CHECKING:
    from tileproof.checking.instruction import Verdict
    from tileproof.descriptors.canonical import OperandDescriptor
    from tileproof.memory.listing import Listed
    from tileproof.mlir.scanner import Scan
    from tileproof.scheduling.synthesis import Scheduled
    from tileproof.suggesting.configurations import Suggestion
    from tileproof.suggesting.repair import Repair

EMITTED_FORMS = ("ptx", "inline-asm", "nvvm", "llvm")


def parse(text: str, name: str = "<text>") -> Scan:
    """Read MLIR text: the module, the faults and the comments. Never raises on bad text."""
    from tileproof.mlir.scanner import scan  # noqa: PLC0415  what PTX does not need

    return scan(Source(name, text))


def load_rules(folders: Iterable[Path] = ()) -> Rulebook:
    """Our rules and those in more folders.

    Raises:
        RuleError: a rule file is wrong; every fault is listed with its place.
        OSError: a file cannot be read.
    """
    files = default_files()
    for folder in folders:
        files += rule_files(folder)
    return load_implemented(files)


def check(
    *inputs: str | Path,
    text: str | Sequence[str] = (),
    contract: str = "ptx",
    target: str | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    rules: Iterable[Path] = (),
    explain_path: bool = False,
    thorough: bool = False,
    block: int | Sequence[int] | None = None,
    cluster: int | Sequence[int] | None = None,
) -> Report:
    """Check IR and PTX.

    Args:
        inputs: paths: files, or directories searched for ``*.mlir`` and ``*.ptx``. A string that no path can be, since
            it has a line break, a quotation mark, braces or angle brackets, is text.
        text: a text of IR or PTX, or several; they come after the paths.
        contract: ``ptx``, rules of the hardware and ptxas, or ``tileiras``, rules of the reference pages.
        target: such as ``sm_90a``; without it that of the IR, else the lowest target that supports its atoms.
        select, ignore: codes, prefixes of codes or names of rules to report, or not to.
        rules: folders with more rule files.
        explain_path: whether findings of the protocol show, as ``related`` places, their execution path.
        thorough: whether to take the larger budget for loops of unknown length and decisions that the text leaves open.
        block, cluster: threads in a CTA and CTAs in a cluster, along x, or x and y, or x, y and z, of kernels whose
            text does not say it.

    Raises:
        FileNotFoundError: no such file.
        RuleError: a rule file is wrong.
        ValueError: no such contract or target; no launch has such a block or cluster.
    """
    book = load_rules(rules)
    options = Options(
        *(contract, target, tuple(select), tuple(ignore)),
        explain_path=explain_path,
        thorough=thorough,
        launches=stated_launches(block, cluster),
    )
    validate(book, options)
    jobs: list[str | Source] = []
    for item in inputs:
        if isinstance(item, str) and _NO_PATH.search(item):
            jobs.append(Source("<text>", item))
        else:
            jobs += expand(_existing(item))
    jobs += [Source("<text>", one) for one in ([text] if isinstance(text, str) else text)]
    return check_all(book, jobs, options)


def descriptor(
    layout: str,
    atom: str,
    operand: str,
    element: str | None = None,
    swizzle: str | None = None,
    contract: str = "ptx",
    rules: Iterable[Path] = (),
) -> OperandDescriptor:
    """The shared-memory descriptor with which an MMA reads an operand as a kernel laid it out.

    Args:
        layout: of the operand in shared memory: ``(128,64):(64,1)``, or already divided by the atom,
            ``((64,16),2,4):((64,1),4096,16)``, or a memory reference of the IR. Offsets count elements; a swizzle in
            front acts on them, ``S<3,3,3> o 0 o ...``.
        atom: an MMA atom as the IR writes it, ``!cute_nvgpu.sm90.mma<64x128x16, ab_major = (k, k), ...>``.
        operand: ``A`` or ``B``.
        element: the type in shared memory, such as ``f16``; a memory reference has its own.
        swizzle: of byte addresses, ``S<3,4,3>``, where the layout has none in front.

    Returns:
        LBO and SBO in bytes, the swizzle, the major and the 64 bits at address 0.

    Raises:
        NoDescriptor: no descriptor describes the layout; ``attempts`` has the mismatch of each canonical form.
        Undecided: the layout has dynamic strides.
        ValueError: an argument means nothing.
        SyntaxFault: the layout is none.
    """
    from tileproof.descriptors.acting import descriptors  # noqa: PLC0415  what `check` alone does not need
    from tileproof.prove.descriptor import atom_operand, question  # noqa: PLC0415

    book = load_rules(rules)
    asked = question(book, atom, operand, layout, element, swizzle)
    word, major, extents = atom_operand(book, asked)
    given = asked.layout, asked.bits, extents, asked.of_bytes
    return descriptors(book.under(contract), word, *given, (major,))[1][0]


def legal(
    instruction: str,
    target: str,
    ptx: tuple[int, int] | None = None,
    contract: str = "ptx",
    rules: Iterable[Path] = (),
) -> Verdict:
    """Whether a target supports a PTX instruction, such as ``ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r0},[r1];``.

    Args:
        instruction: one instruction with its semicolon; registers are named by class (``r0`` .b32, ``f0`` .f32,
            ``d0`` .f64, ``l0`` .b64, ``h0`` .b16, ``p0`` .pred).
        ptx: the PTX version, such as (8, 7); None for the latest that supports the target.

    Raises:
        BadRequest: no such target or version.
        RuleError: a rule file is wrong.
    """
    from tileproof.checking.instruction import context, legal  # noqa: PLC0415  what `check` alone does not need

    book = load_rules(rules)
    return legal(book.under(contract), instruction, context(book, target, ptx))


def legal_many(
    schema: str,
    facts: Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Any]],
    target: str | None = None,
    ptx: tuple[int, int] | None = None,
    contract: str = "ptx",
    rules: Iterable[Path] = (),
) -> list[bool]:
    """Which of many configurations are legal, for autotuners.

    Args:
        schema: whose facts they are, such as ``wgmma.mma_async``; ``tileproof rules list`` names them.
        facts: rows (one mapping a configuration, all with the same facts) or columns (lists or numpy arrays by fact).
            A member of an enum is written ``.f16`` or ``f16``. Facts that are left out are unknown: rules that read
            them are silent.
        target, ptx: the same for all rows, where the schema is an instruction's and no column gives them.

    Raises:
        ValueError: no such schema, fact, value or target, or rows that differ in their facts.
    """
    from tileproof.checking.instruction import context  # noqa: PLC0415
    from tileproof.evaluate.batch import legal_many, transposed  # noqa: PLC0415
    from tileproof.evaluate.python import judge_for  # noqa: PLC0415  what `check` does not need

    book = load_rules(rules)
    if schema not in book.schemas:
        raise ValueError(f"unknown schema '{schema}'; use {', '.join(book.schemas)}")
    columns = dict(facts) if isinstance(facts, Mapping) else transposed(facts)
    if target is not None and columns:
        first = next(iter(columns.values()))
        rows = len(first) if isinstance(first, Sized) else 0  # what has no length is refused below
        for name, value in context(book, target, ptx).items():
            if name in book.schemas[schema].fields:
                columns.setdefault(name, [value] * rows)
    return legal_many(judge_for(book.under(contract), schema), columns)


def suggest(
    target: str,
    ptx: tuple[int, int] | None = None,
    contract: str = "ptx",
    tile: tuple[int, int, int] | None = None,
    facts: Mapping[str, Sequence[int | str]] | None = None,
    rules: Iterable[Path] = (),
    sparsity: str = "any",
    warps: int | None = None,
) -> list[Suggestion]:
    """Legal MMA configurations for a partial description, the best first (``suggesting.configurations`` says how).

    Args:
        tile: M, N and K in elements; atoms must divide it.
        facts: values that are wanted, by fact, such as ``{"a.type": [".e4m3", ".e5m2"], "a.major": [".k"]}``.
        sparsity: ``any``, ``dense`` or ``sparse``; warps: how many share the tile, four to a warpgroup.

    Raises:
        BadRequest: no such target or version.
    """
    from tileproof.checking.instruction import context  # noqa: PLC0415
    from tileproof.suggesting.configurations import Query, suggest  # noqa: PLC0415  what `check` does not need

    book = load_rules(rules)
    wanted = {fact: tuple(values) for fact, values in (facts or {}).items()}
    return suggest(book, Query(contract, context(book, target, ptx), wanted, tile, sparsity, warps))


def suggest_columns(
    target: str,
    ptx: tuple[int, int] | None = None,
    contract: str = "ptx",
    tile: tuple[int, int, int] | None = None,
    facts: Mapping[str, Sequence[int | str]] | None = None,
    rules: Iterable[Path] = (),
    sparsity: str = "any",
    warps: int | None = None,
) -> dict[str, dict[str, Any]]:
    """The configurations of ``suggest`` as numpy columns, for autotuners: by family, such as ``umma``, and by fact.

    They are not ranked. Where only some instructions of a family say a fact, it is empty for the others.

    Args, Raises:
        As of ``suggest``; ModuleNotFoundError: numpy is not installed.
    """
    from tileproof.checking.instruction import context  # noqa: PLC0415
    from tileproof.suggesting.configurations import Query, legal_columns_of  # noqa: PLC0415

    book = load_rules(rules)
    wanted = {fact: tuple(values) for fact, values in (facts or {}).items()}
    return legal_columns_of(book, Query(contract, context(book, target, ptx), wanted, tile, sparsity, warps))


def repair(
    text: str,
    target: str | None = None,
    ptx: tuple[int, int] | None = None,
    contract: str = "ptx",
    seconds: float = 10.0,
    rules: Iterable[Path] = (),
    allow_target: bool = False,
) -> Repair:
    """The nearest legal form of an illegal instruction or atom type, and the rules in conflict.

    Args:
        target: without one the first that has the instruction; an atom is then legal on some target.
        allow_target: whether the target and the PTX version may change where nothing else helps.

    Raises:
        BadQuery: the text is neither; BadRequest: no such target or version.
    """
    from tileproof.checking.instruction import context  # noqa: PLC0415  what `check` does not need
    from tileproof.suggesting.text import repaired  # noqa: PLC0415

    book = load_rules(rules)
    where = context(book, target, ptx) if target is not None else None
    return repaired(book.under(contract), text, where, seconds, allow_target)


def emit(
    item: str | Path | None = None,
    target: str | None = None,
    *,
    text: str | None = None,
    atom: str | None = None,
    ptx: tuple[int, int] | None = None,
    form: str = "ptx",
    contract: str = "ptx",
    rules: Iterable[Path] = (),
) -> str:
    """The PTX of a module of IR, or of one atom: text that ptxas assembles.

    Args:
        item: a file of IR; a string that no path can be is text.
        text: instead of ``item``, IR as text.
        target: such as ``sm_90a``; without it that of the IR, else the lowest target that supports its atoms. An atom
            needs one.
        atom: instead of ``item``, an atom's type, ``!cute_nvgpu.sm90.mma<64x128x16, ...>``, or a PTX opcode or
            instruction, ``wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16``.
        ptx: of an atom, the PTX version, such as (8, 7); None for the latest that supports the target.
        form: of an atom, ``ptx``, ``inline-asm``, ``nvvm`` or ``llvm``.
        contract: of an atom, ``ptx``, or ``tileiras`` for the form of the reference pages.

    Raises:
        Refused: the IR has errors, or the atom is not legal on the target; ``report`` says what is wrong.
        NotLegal: an opcode without operands, and none would make it legal.
        FileNotFoundError: no such file.
        BadAtom: the text is none of these, cannot be read, or there is nothing to emit.
        BadRequest: no such target or version.
        ValueError: arguments that do not go together.
    """
    from tileproof.checking.instruction import context  # noqa: PLC0415
    from tileproof.emitting.atom import BadAtom, emit_atom  # noqa: PLC0415  what `check` alone does not need
    from tileproof.emitting.file import emit_file  # noqa: PLC0415

    book = load_rules(rules)
    if (item is not None) + (text is not None) + (atom is not None) != 1:
        raise ValueError("emit requires IR or an atom")
    if form not in EMITTED_FORMS:
        raise ValueError(f"unknown form '{form}'; use {', '.join(EMITTED_FORMS)}")
    if atom is not None:
        validate(book, Options(contract, target))
        if target is None:
            raise ValueError("emitting an atom requires a target")
        return emit_atom(book.under(contract), atom, context(book, target, ptx), form.replace("-", "_"))
    if (form, contract, ptx) != ("ptx", "ptx", None):
        raise ValueError("form, contract and ptx require an atom")
    if target is not None:
        context(book, target)
    source = _source(item, text)
    if isinstance(source, Unread):
        raise BadAtom(f"{source.name}: {source.reason}")
    return emit_file(book, source, target)


# Some of these are legal in a file name; none is in one that is given as an input.
_NO_PATH = regex(r'[\n\r"<>{}\0]')


def _existing(item: str | Path) -> str:
    """The name of a file or directory that there is.

    Raises:
        FileNotFoundError: there is none.
    """
    name = str(item)
    if not os.path.lexists(name):  # Path.exists() raises where a name is too long
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return name


def _source(item: str | Path | None, text: str | None) -> Source | Unread:
    """A text, or the text of a file; a string that no path can be is a text."""
    if text is None and isinstance(item, str) and _NO_PATH.search(item):
        text = item
    return read(Source("<text>", text) if text is not None else _existing(item or ""))


def listed_descriptors(
    item: str | Path | None = None,
    contract: str = "ptx",
    rules: Iterable[Path] = (),
    *,
    text: str | None = None,
) -> list[Listed]:
    """The shared-memory descriptors that kernels in IR make, or that the MMAs of PTX use, in textual order.

    Args:
        item: a file; a string that no path can be is text.
        text: instead of ``item``, IR or PTX as text.

    Raises:
        FileNotFoundError: no such file.
        ValueError: the file cannot be read, holds no IR or is malformed PTX; no such contract; both a file and a text,
            or neither.
    """
    from tileproof.checking.descriptors import descriptors  # noqa: PLC0415  what `check` alone does not need

    if (item is None) == (text is None):
        raise ValueError("listed_descriptors requires a file or a text")
    book = load_rules(rules)
    validate(book, Options(contract))
    source = _source(item, text)
    found = source if isinstance(source, Unread) else descriptors(book, source, contract)
    if isinstance(found, Unread):
        raise ValueError(f"{found.name}: {found.reason}")
    return found


def schedule(
    item: str | Path | None = None,
    rules: Iterable[Path] = (),
    *,
    text: str | None = None,
    block: object = None,
    cluster: object = None,
) -> Scheduled:
    """IR or PTX with the fences, commits and waits that its protocol lacks; all other bytes are as they were.

    Args:
        item: a file; a string that no path can be is text.
        text: instead of ``item``, IR or PTX as text.
        block, cluster: as of ``check``.

    Raises:
        FileNotFoundError: no such file.
        NotScheduled: the file cannot be read, holds no IR or PTX, or is malformed.
        ValueError: both a file and a text, or neither; no launch has such a block or cluster.
    """
    from tileproof.scheduling.text import NotScheduled, schedule  # noqa: PLC0415

    if (item is None) == (text is None):
        raise ValueError("schedule requires a file or a text")
    source = _source(item, text)
    if isinstance(source, Unread):
        raise NotScheduled(f"{source.name}: {source.reason}")
    book, launches = load_rules(rules), stated_launches(block, cluster)
    check_launches(book, launches)
    return schedule(book, source, launches=launches)


def validate(book: Rulebook, options: Options) -> None:
    """Raise ValueError, with the alternatives, for an unknown contract, target or rule."""
    if options.contract not in ("ptx", "tileiras"):
        raise ValueError(f"unknown contract '{options.contract}'; use ptx or tileiras")
    targets = [member[1:] for member in book.enums["target"].members]
    if options.target is not None and options.target not in targets:
        raise ValueError(f"unknown target '{options.target}'; use {', '.join(targets)}")
    for item in options.named:
        if item not in book.by_name and not any(code.startswith(item) for code in book.documented()):
            raise ValueError(f"unknown rule '{item}'; `tileproof rules list` shows all")
    check_launches(book, options.launches)


def expand(name: str) -> list[str]:
    """The name of a file, exactly as given; of a directory the names of the IR files below it, sorted."""
    if not os.path.isdir(name):  # noqa: PTH112  False where the name is too long for a path; Path.is_dir() raises
        return [name]
    folder = Path(name)
    found = sorted(path for suffix in IR_SUFFIXES for path in folder.rglob(f"*{suffix}") if not path.is_dir())
    return [os.path.join(name, path.relative_to(folder)) for path in found] or [name]  # noqa: PTH118  "./x" stays


def check_all(
    book: Rulebook,
    items: Sequence[str | Source | Unread],
    options: Options,
    jobs: int = 1,
    files: tuple[Source, ...] = (),
    progress: Callable[[], None] = lambda: None,
    more: Callable[[int], None] = lambda steps: None,
) -> Report:
    """Check files and texts, in their order.

    Args:
        jobs: processes to use; more than one needs ``files``, the rule files, and names of files only.
        progress: called after each item, and after each of the kernels that are studied by themselves.
        more: told how many kernels of a file those are.
    """
    names = [item for item in items if isinstance(item, str)]
    if jobs > 1 and len(names) == len(items):
        if len(names) < jobs:
            jobs = min(jobs, sum(map(kernels_named, names)))
    else:
        jobs = 1
    if jobs > 1:
        from tileproof.checking.processes import check_in_processes  # noqa: PLC0415  where it is used only: 15 ms

        outcomes = check_in_processes(jobs, names, files, options, progress, more)
    else:
        outcomes = []
        for item in items:
            outcomes.append(check_one(book, item, options))
            progress()
    reports = tuple(outcome for outcome in outcomes if isinstance(outcome, FileReport))
    unread = tuple(outcome for outcome in outcomes if isinstance(outcome, Unread))
    return Report(reports, unread, options, book, tuple(unused(book, options.current(book), reports)))
