"""``tileproof prove``, one command a claim."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click

from tileproof.cli.options import fail, load_rules, rule_options


@click.group()
def prove() -> None:
    """Prove a claim about layouts for all coordinates and all values of dynamic leaves, or show where it fails.

    A layout is written as CuTe prints it, `S<3,3,3> o 0 o (64,64):(64,1)` (a swizzle of element indices), or as a
    memory reference of the IR, `!cute.memref<f16, smem, align<1024>, S<3,4,3>, "(64,64):(64,1)">` (one of byte
    addresses). A dynamic leaf `?{div=16}` may have a name, `?m{div=16}`, of which `--assume` speaks.

    Exit status: 0 proved, 1 refuted or unknown, 2 bad arguments.
    """


def _prove_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The common options of questions about layouts."""
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
            help="Time limit of Z3 in seconds.",
        ),
        click.option(
            "--assume", multiple=True, metavar="RELATION", help="Such as 'ld >= m' or 'd % 32 == 1'; repeatable."
        ),
        click.option("--element", metavar="TYPE", help="The element type, such as f16 or f8E4M3FN."),
    ):
        command = option(command)
    return command


def _memory_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The further options of questions about addresses."""
    for option in (
        click.option(
            "--align",
            type=click.IntRange(1),
            metavar="BYTES",
            help="Alignment of the base address. Default: as required.",
        ),
        click.option("--swizzle", metavar="S<B,M,S>", help="A swizzle of byte addresses."),
        click.option("--mode", type=click.IntRange(0), help="The contiguous mode. Default: that of stride 1."),
    ):
        command = option(command)
    return command


def _prove(kind: str, *arguments: Any, timeout: float, smt2: Path | None, form: str) -> NoReturn:
    from tileproof.prove import ask as verb  # noqa: PLC0415
    from tileproof.prove import questions  # noqa: PLC0415

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
    """Whether two layouts have the same value at each index.

    `tileproof prove equivalent '(4,8):(8,1)' '(4,(2,4)):(8,(1,2))'`

    Compared are element offsets (or coordinates), and byte addresses where one is a memory reference with a swizzle.
    Of the two, dynamic leaves without a name are the same in the order in which they are written.
    """
    _prove("equivalent", first, second, element, assume, **settings)


@prove.command("descriptor")
@click.option("--atom", required=True, metavar="TYPE", help="The MMA atom, as in the IR.")
@click.option("--operand", "operand_name", required=True, metavar="A|B")
@click.option("--layout", "layout_", required=True, metavar="LAYOUT", help="Layout of the operand in shared memory.")
@click.option("--element", metavar="TYPE", help="The element type in shared memory, such as f16.")
@click.option("--swizzle", metavar="S<B,M,S>", help="A swizzle of byte addresses, in addition to the layout.")
@click.option("--value", metavar="HEX", help="A 64-bit descriptor to compare; the start address is ignored.")
@click.option("--solve", is_flag=True, help="Try both majors, and all swizzles if the layout has none.")
@click.option("--contract", type=click.Choice(["ptx", "tileiras"]), default="ptx", show_default=True)
@click.option("--smt2", type=click.Path(dir_okay=False, path_type=Path), help="Write the question as SMT-LIB 2.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=10.0, help="Not used here.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@rule_options
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
    """Whether a descriptor describes an operand in shared memory as the tensor core reads it.

    Without --value the descriptor is computed: LBO, SBO and swizzle. With it the given one is compared. The layout is
    that of the whole operand, `(128,64):(64,1)`, or already divided, `((64,16),2,4):((64,1),4096,16)`, or a memory
    reference of the IR.
    """
    from tileproof.prove import ask as verb  # noqa: PLC0415
    from tileproof.prove import descriptor  # noqa: PLC0415
    from tileproof.syntax import SyntaxFault  # noqa: PLC0415

    del timeout
    book, _ = load_rules(folders)
    try:
        asked = descriptor.question(book, atom, operand_name, layout_, element, swizzle, value, solve)
        answer = descriptor.prove(book.under(contract), asked)
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
    """Whether no two coordinates have the same value.

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
    """Whether a layout reaches each element of a tile exactly once, and nothing else.

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
    """Whether every access of a number of elements along a mode is contiguous and aligned, also under the swizzle.

    `tileproof prove aligned '(64,16):(16,1)' --swizzle 'S<1,3,3>' --vector 8 --element bf16` shows where a row of
    ldmatrix is not contiguous.
    """
    _prove("aligned", layout_, vector, element, size, mode, swizzle, align, assume, **settings)


@prove.command("conflict-free")
@click.argument("layout_", metavar="LAYOUT")
@click.option("--access", required=True, help="ldmatrix.x4, stmatrix.x2, ld.shared.b32, st.shared.v4.b32, ...")
@click.option("--tv", metavar="LAYOUT", help="The TV layout; LAYOUT is then that of the memory.")
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
    """Whether a warp's access to shared memory is free of bank conflicts.

    For ldmatrix and stmatrix LAYOUT is that of a tile of rows and columns, of which every 8x8 matrix is checked. For
    ld.shared and st.shared it is a TV layout that maps to offsets, or with --tv the layout of the memory.

    `tileproof prove conflict-free 'S<3,3,3> o 0 o (64,64):(64,1)' --element f16 --access ldmatrix.x4`
    """
    _prove("conflict_free", layout_, access, element, tv, mode, swizzle, align, assume, **settings)


@prove.command("fragment")
@click.option("--atom", required=True, help="A type of the IR, a PTX opcode, or a fragment's name in the rule files.")
@click.option(
    "--operand", "role", default="A", show_default=True, help="A, B, C, E (metadata), SFA, SFB, T (TMEM), S, D."
)
@click.option("--layout", "own", metavar="TV", help="A TV layout to compare with that of the hardware.")
@click.option("--copy", metavar="INSTR", help="An ldmatrix or stmatrix to load or store the operand.")
@click.option("--major", type=click.Choice(["k", "mn"]), default="k", show_default=True, help="For --copy.")
@click.option(
    "--set", "facts", multiple=True, metavar="FACT=VALUE", help="A fact that is not in the opcode; repeatable."
)
@click.option("--contract", type=click.Choice(["ptx", "tileiras"]), default="ptx", show_default=True)
@click.option("--smt2", type=click.Path(dir_okay=False, path_type=Path), help="Write the question as SMT-LIB 2.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@rule_options
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
    """The TV layout of an operand, and a proof that it covers every element.

    `tileproof prove fragment --atom mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --operand A`

    --layout compares a TV layout, --copy an ldmatrix or stmatrix with it. In contract tileiras the layout of
    the page MMA Atoms SM70-SM120 is compared. For a tiled MMA or copy: whether its tile is covered once.
    """
    from tileproof.prove import fragment_questions as verb  # noqa: PLC0415
    from tileproof.prove.ask import BadQuestion  # noqa: PLC0415

    book, _ = load_rules(folders)
    try:
        answer = verb.fragment(book, atom, role, contract=contract, given=facts, layout=own, copy=copy, major=major)
        if smt2 is not None:
            if copy is not None or contract != "ptx":
                fail("--smt2 cannot be combined with --copy and --contract tileiras: they are several questions")
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
@click.option(
    "--set", "facts", multiple=True, metavar="FACT=VALUE", help="A fact that is not in the opcode; repeatable."
)
@click.option("--smt2", type=click.Path(dir_okay=False, path_type=Path), help="Write the question as SMT-LIB 2.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@rule_options
def prove_gemm(
    layouts: tuple[str, ...],
    atom: str | None,
    facts: tuple[str, ...],
    smt2: Path | None,
    form: str,
    folders: tuple[Path, ...],
) -> None:
    """Whether A, B and D form an (M, N, K): three layouts (V,M,K), (V,N,K) and (V,M,N), or the operands of an atom?"""
    from tileproof.prove import fragment_questions as verb  # noqa: PLC0415
    from tileproof.prove.ask import BadQuestion  # noqa: PLC0415

    if (atom is None) == (not layouts) or len(layouts) not in (0, 3):
        fail("prove gemm requires three layouts, A B D, or --atom")
    book, _ = load_rules(folders)
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
