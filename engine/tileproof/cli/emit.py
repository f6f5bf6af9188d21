"""``tileproof emit``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tileproof.cli.options import fail, inputs, load_rules, rule_options, write

if TYPE_CHECKING:
    from tileproof.rulebase.book import Rulebook


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]")
@click.option("--atom", metavar="ATOM", help="One atom's type or one PTX opcode, instead of files.")
@click.option("--target", metavar="SM", help="The target, such as sm_90a.")
@click.option(
    "--ptx",
    metavar="VERSION",
    help="The PTX ISA version, such as 8.7. Default: the latest that supports the target; for --witness the oldest.",
)
@click.option("--form", type=click.Choice(["ptx", "inline-asm", "nvvm", "llvm"]), default="ptx", show_default=True)
@click.option("--contract", type=click.Choice(["ptx", "tileiras"]), default="ptx", show_default=True)
@click.option("--witness", is_flag=True, help="A whole kernel for the atom: fill shared memory, multiply, store.")
@click.option("--layout-a", metavar="LAYOUT", help="Layout of A in shared memory of the witness. Default: the best.")
@click.option("--layout-b", metavar="LAYOUT", help="Of B.")
@rule_options
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
    """Emit PTX: an entry for each MMA and copy of an IR file without errors and one for its synchronisation, or the
    sequence of one atom.

    `tileproof emit --atom wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 --target sm_90a`

    Exit status: 0 emitted, 1 not legal (nothing is emitted), 2 nothing to emit or bad arguments.
    """
    from tileproof.checking.instruction import BadRequest, context, version  # noqa: PLC0415
    from tileproof.emitting import atom as verb  # noqa: PLC0415

    if (atom is None) == (not files) or len(files) > 1:
        fail("emit requires one file or --atom")
    book, _ = load_rules(folders)
    try:
        if atom is None:
            if (form, contract, ptx, witness) != ("ptx", "ptx", None, False):
                fail("--form, --contract, --ptx and --witness require --atom")
            text = _emit_file(book, files[0], target)
        elif witness:
            from tileproof.emitting.witness import witness as make  # noqa: PLC0415

            layouts = {name: text for name, text in (("a", layout_a), ("b", layout_b)) if text is not None}
            text = make(book, atom, target or "sm_90a", layouts, version(ptx) if ptx else None).text
        else:
            where = context(book, target or "sm_90a", version(ptx) if ptx else None)
            text = verb.emit_atom(book.under(contract), atom, where, form.replace("-", "_"))
    except verb.Refused as refused:
        write(refused.report, "text", colourless=False)
        sys.exit(1)
    except verb.NotLegal as error:
        click.echo(f"tileproof: {error}", err=True)
        sys.exit(1)
    except (BadRequest, verb.BadAtom) as error:
        fail(str(error))
    click.echo(text, nl=False)


def _emit_file(book: Rulebook, name: str, target: str | None) -> str:
    from tileproof.checking.instruction import context  # noqa: PLC0415
    from tileproof.checking.reading import read  # noqa: PLC0415
    from tileproof.emitting.file import emit_file  # noqa: PLC0415
    from tileproof.report.values import Unread  # noqa: PLC0415

    if target is not None:
        context(book, target)
    items = inputs(name)
    source = read(items[0]) if len(items) == 1 else Unread(name, "emit requires one file")
    if isinstance(source, Unread):
        fail(f"{source.name}: {source.reason}")
    return emit_file(book, source, target)
