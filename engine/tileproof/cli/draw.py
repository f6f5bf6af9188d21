"""``tileproof draw``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tileproof.cli.options import fail, launch_options, launches_said, load_rules, rule_options

if TYPE_CHECKING:
    from tileproof.dialects.values import Atom
    from tileproof.drawing.grids import Line
    from tileproof.drawing.kernels import Kernel
    from tileproof.drawing.palette import Palette
    from tileproof.drawing.picture import Picture

Made = TypeVar("Made")
FORMATS = ("svg", "text", "html")


@click.group()
def draw() -> None:
    """Pictures of layouts, of who holds what, of swizzles, descriptors, memory and protocols.

    Exit status: 0 drawn, 2 there is nothing to draw; one line says why.
    """


def _output(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every picture has."""
    command = click.option(
        "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to a file, not standard output."
    )(command)
    return click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        help="svg, text for a terminal, or html, one page that needs no network. [default: by the name of the output"
        " file, else text]",
    )(command)


@draw.command(context_settings={"ignore_unknown_options": True})
@click.argument("expression", metavar="EXPR")
@click.option("--element", metavar="TYPE", help="The type of an element, such as f16: bytes and banks are shown.")
@click.option(
    "--colour",
    type=click.Choice(["offset", "bank", "none"]),
    help="What colours mean. [default: bank with --element, else offset]",
)
@_output
@rule_options
def layout(
    expression: str,
    element: str | None,
    colour: str | None,
    form: str | None,
    output: Path | None,
    folders: tuple[Path, ...],
) -> None:
    """The offset of each coordinate of a layout: of any expression of `tileproof layout` whose value is one.

    Modes after the second are panels; large layouts are cut, and a note says so.
    """
    from tileproof.drawing.layouts import picture_of  # noqa: PLC0415

    def made() -> Picture:
        value = _value(expression)
        bits, banks = _element(element, folders) if element is not None else (None, None)
        return picture_of(value, colour or ("bank" if bits else "offset"), bits, banks, _named(expression))

    _write(_made(made), form, output)


@draw.command()
@click.argument("expression", metavar="EXPR")
@click.option("--element", default="f16", show_default=True, metavar="TYPE", help="The type of an element.")
@click.option(
    "--vector", type=click.IntRange(1, 128), metavar="N", help="Elements that a lane moves. [default: 16 bytes]"
)
@_output
@rule_options
def swizzle(
    expression: str,
    element: str,
    vector: int | None,
    form: str | None,
    output: Path | None,
    folders: tuple[Path, ...],
) -> None:
    """The banks of shared memory before and after a swizzle, and the bank conflicts of a warp.

    EXPR is a swizzle of byte addresses, `S<3,4,3>`, or a layout with a swizzle of elements, `S<3,3,3> o 0 o
    (8,64):(64,1)`, or any expression of `tileproof layout` with such a value.
    """
    from tileproof.drawing.swizzles import picture_of  # noqa: PLC0415

    def made() -> Picture:
        value = _value(expression)
        bits, banks = _element(element, folders)
        return picture_of(value, bits, banks, vector, _named(expression))

    _write(_made(made), form, output)


def _of_kernels(command: Callable[..., Any]) -> Callable[..., Any]:
    """What a picture of the kernels of a file takes."""
    for option in (
        rule_options,
        launch_options,
        _output,
        click.option(
            "--kernel", metavar="NAME", help="Which of several kernels: its name or its number. [default: all]"
        ),
        click.argument("file"),
    ):
        command = option(command)
    return command


@draw.command()
@_of_kernels
def protocol(
    file: str,
    kernel: str | None,
    form: str | None,
    output: Path | None,
    folders: tuple[Path, ...],
    **launch: str | None,
) -> None:
    """What each role of a kernel does and what comes to its barriers, with what `tileproof check` finds in it.

    FILE is IR or PTX, or - for standard input.
    """
    from tileproof.drawing.protocols import picture_of  # noqa: PLC0415

    _kernels(file, kernel, "that uses a protocol and can be followed", picture_of, form, output, folders, launch)


@draw.command()
@_of_kernels
def smem(
    file: str,
    kernel: str | None,
    form: str | None,
    output: Path | None,
    folders: tuple[Path, ...],
    **launch: str | None,
) -> None:
    """The shared memory of a kernel: what lies where, and from which line to which it is used.

    FILE is IR or PTX, or - for standard input.
    """
    _memory("smem", file, kernel, form, output, folders, launch)


@draw.command()
@_of_kernels
def tmem(
    file: str,
    kernel: str | None,
    form: str | None,
    output: Path | None,
    folders: tuple[Path, ...],
    **launch: str | None,
) -> None:
    """The columns of tensor memory that a kernel uses, over the steps of a run.

    FILE is IR or PTX, or - for standard input.
    """
    _memory("tmem", file, kernel, form, output, folders, launch)


def _memory(
    space: str,
    file: str,
    kernel: str | None,
    form: str | None,
    output: Path | None,
    folders: tuple[Path, ...],
    launch: Mapping[str, str | None],
) -> None:
    """The memory of the kernels of a file."""
    from tileproof.drawing.memory_maps import picture_of  # noqa: PLC0415

    what = f"of which the use of {'shared' if space == 'smem' else 'tensor'} memory can be followed"
    _kernels(file, kernel, what, lambda one: picture_of(one, space), form, output, folders, launch)


def _kernels(
    file: str,
    wanted: str | None,
    what: str,
    picture_of: Callable[[Kernel], Picture | None],
    form: str | None,
    output: Path | None,
    folders: tuple[Path, ...],
    launch: Mapping[str, str | None],
) -> None:
    """A picture of each kernel of a file that there is one of; exits with one line where there is none."""
    from tileproof.checking.reading import read  # noqa: PLC0415
    from tileproof.cli.options import inputs  # noqa: PLC0415
    from tileproof.drawing.kernels import kernels_of  # noqa: PLC0415
    from tileproof.drawing.picture import NoPicture  # noqa: PLC0415
    from tileproof.report.values import Unread  # noqa: PLC0415

    book, _ = load_rules(folders)
    items = inputs(file)
    if len(items) != 1:
        fail(f"{file}: {len(items)} files; draw one")
    source = read(items[0])
    if isinstance(source, Unread):
        fail(f"{source.name}: {source.reason}")

    launches = launches_said(book, launch["block"], launch["cluster"])

    def made() -> list[Picture]:
        kernels = kernels_of(book, source, wanted, launches=launches)
        found = [drawn for one in kernels if (drawn := picture_of(one)) is not None]
        if not found:
            named = f"kernel '{wanted}'" if wanted is not None else "kernel"
            raise NoPicture(f"{source.name}: no {named} {what}")
        return found

    _write_all(_made(made), form, output)


@draw.command()
@click.argument("atom")
@click.option("--operand", default="C", show_default=True, metavar="NAME", help="A, B, C of an MMA; S, D, R of a copy.")
@_output
@rule_options
def tv(atom: str, operand: str, form: str | None, output: Path | None, folders: tuple[Path, ...]) -> None:
    """Who holds what of an atom's operand: element to thread and value.

    ATOM is its type as the IR writes it, `!cute_nvgpu.sm80.mma<16x8x16, elem_type = (f16, f16, f32)>`.
    """
    from tileproof.dialects.fragments import fragments  # noqa: PLC0415
    from tileproof.drawing.holders import picture_of  # noqa: PLC0415
    from tileproof.drawing.picture import NoPicture  # noqa: PLC0415

    def made() -> Picture:
        book, _ = load_rules(folders)
        known = _atom(atom)
        found = fragments(known.node, book)
        if found is None:
            raise NoPicture(f"who holds the operands of {known.node.text.lstrip('!')} is not known")
        return picture_of(found, operand.upper(), known.text.removeprefix("!"))

    _write(_made(made), form, output)


@draw.command()
@click.argument("atom")
@click.option("--operand", type=click.Choice(["A", "B"], case_sensitive=False), default="A", show_default=True)
@click.option("--element", metavar="TYPE", help="The type in shared memory, such as f16. [default: that of a memref]")
@click.option(
    "--swizzle", metavar="S", help="128, 64, 32 or none; with --layout S<3,4,3> on bytes. [default: the widest]"
)
@click.option("--layout", "laid_out", metavar="LAYOUT", help="As the kernel lays the operand out. [default: canonical]")
@_output
@rule_options
def descriptor(
    atom: str,
    operand: str,
    element: str | None,
    swizzle: str | None,
    laid_out: str | None,
    form: str | None,
    output: Path | None,
    folders: tuple[Path, ...],
) -> None:
    """The memory that an MMA reads through a shared-memory descriptor, with LBO and SBO.

    ATOM is an MMA's type as the IR writes it, `!cute_nvgpu.sm90.mma<64x128x16, ab_major = (k, k), ...>`.
    """
    from tileproof.drawing.banks import shared_banks  # noqa: PLC0415
    from tileproof.drawing.descriptors import picture_of  # noqa: PLC0415
    from tileproof.drawing.operands import read_operand  # noqa: PLC0415

    def made() -> Picture:
        book, _ = load_rules(folders)
        found, bits, extents = read_operand(book, _atom(atom).text, operand, element, swizzle, laid_out)
        return picture_of(book, found, bits, extents, shared_banks(book))

    _write(_made(made), form, output)


def _atom(text: str) -> Atom:
    """An atom by its type, or by the type of a tiled one.

    Raises:
        NoPicture: it is no atom.
    """
    from tileproof.dialects.values import Atom, read_type  # noqa: PLC0415
    from tileproof.drawing.picture import NoPicture  # noqa: PLC0415

    found: Any = read_type(f"!{text.strip().removeprefix('!')}")
    found = getattr(found, "atom", found)
    if not isinstance(found, Atom):
        raise NoPicture(f"'{text}' is not the type of an atom as IR writes it")
    return found


def _made(make: Callable[[], Made]) -> Made:
    """What is drawn; exits with one line where there is none."""
    from tileproof.calculate.text import ExpressionError  # noqa: PLC0415
    from tileproof.drawing.picture import NoPicture  # noqa: PLC0415
    from tileproof.layout import LayoutError  # noqa: PLC0415

    try:
        return make()
    except (ExpressionError, LayoutError, NoPicture) as error:
        fail(str(error))


def _named(expression: str) -> str:
    """An expression that calls a function, for the title beside its value; nothing for a value itself."""
    return expression if re.match(r"\s*[a-z]\w*\s*\(", expression) else ""


def _value(expression: str) -> Any:
    """The value of an expression of the layout algebra.

    Raises:
        ExpressionError: it has none.
    """
    from tileproof.calculate.text import evaluated  # noqa: PLC0415

    return evaluated(expression)


def _element(name: str, folders: tuple[Path, ...]) -> Any:
    """The bits of an element type, and the banks of shared memory."""
    from tileproof.drawing.banks import shared_banks  # noqa: PLC0415
    from tileproof.layout import LayoutError  # noqa: PLC0415
    from tileproof.prove.hardware import element_bits  # noqa: PLC0415

    book, _ = load_rules(folders)
    try:
        return element_bits(name), shared_banks(book)
    except LayoutError as error:
        fail(str(error))


def _write(shown: Picture, form: str | None, output: Path | None) -> None:
    """Write a picture where it is wanted, in the form that is."""
    _write_all([shown], form, output)


def _write_all(pictures: list[Picture], form: str | None, output: Path | None) -> None:
    """Write pictures; an SVG document has one only."""
    from tileproof.base.files import replace_file  # noqa: PLC0415
    from tileproof.drawing.grids import to_svg, to_text  # noqa: PLC0415
    from tileproof.drawing.page import page  # noqa: PLC0415

    if form is None:
        named = "" if output is None else output.suffix.lower().removeprefix(".").replace("htm", "html")[:4]
        form = named if named in FORMATS else "text"
    if form == "svg" and len(pictures) > 1:
        fail(f"{len(pictures)} pictures, and an SVG file has one: use --kernel, or --format html")
    if form == "text":
        drawn = [list(to_text(one)) for one in pictures]
        if output is None and sys.stdout.isatty() and "NO_COLOR" not in os.environ:
            for lines, one in zip(drawn, pictures, strict=True):
                _print_coloured(lines, one.palette)
            return
        texts = ["".join("".join(span.text for span in line).rstrip() + "\n" for line in lines) for lines in drawn]
        written = "\n".join(texts)
    elif form == "html":
        written = page(pictures[0].title, [to_svg(one, i) for i, one in enumerate(pictures)])
    else:
        written = to_svg(pictures[0]) + "\n"
    if output is None:
        click.echo(written, nl=False)
        return
    try:
        replace_file(output, written)
    except OSError as error:
        fail(f"{output}: {error.strerror or error}")


def _print_coloured(lines: Iterable[Line], palette: Palette) -> None:
    """Print to a terminal, in colours."""
    from rich.console import Console  # noqa: PLC0415
    from rich.style import Style  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        shown = Text()
        for span in line:
            background = None if span.hue is None else palette.light[span.hue]
            ink = None if span.hue is None else "#1f2328"
            shown.append(span.text, Style(color=ink, bgcolor=background, bold=span.strong))
        console.print(shown)
