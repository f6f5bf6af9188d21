"""``tileproof builtin``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from tileproof.cli.options import fail, load_rules, no_garbage_collection, rule_options


@click.command()
@click.argument("name", required=False, metavar="NAME|ID")
@click.argument("arguments", nargs=-1, metavar="[ARGUMENT=VALUE]...")
@click.option("--list", "listing", is_flag=True, help="All builtins, groups of the WGMMA range and intrinsics.")
@click.option("--target", metavar="SM", help="A target, such as sm_80: whether the gate and the rules let it pass.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@rule_options
def builtin(
    name: str | None,
    arguments: tuple[str, ...],
    listing: bool,
    target: str | None,
    form: str,
    folders: tuple[Path, ...],
) -> None:
    """A tensor core builtin or LLVM intrinsic of the reference pages, by its name or its id.

    `tileproof builtin __hmma_m16n16k16_ld_a --target sm_72` shows its id, its gate, its PTX and what the legality rules
    say of that. `tileproof builtin __wgmma_mma_async_f16 N=64 element=float` selects an intrinsic, `tileproof builtin
    10759` says which one an id is.

    Exit status: 0 it means one thing, 1 it means nothing or several things, or breaks a check of the page, 2 bad
    arguments.
    """
    from tileproof.checking.instruction import BadRequest  # noqa: PLC0415
    from tileproof.reference import facts, shown  # noqa: PLC0415
    from tileproof.reference.selection import NoMeaning  # noqa: PLC0415

    if listing == (name is not None):
        fail("builtin requires a name or an id, or --list" if name is None else "--list takes no name")
    numeric = name is not None and (name.lstrip("-").isdecimal() or name.lower().startswith("0x"))
    if arguments and (name is None or numeric):
        fail(f"unexpected argument '{arguments[0]}': arguments belong to the name of a WGMMA builtin")
    book, _ = load_rules(folders, whole=True)
    with no_garbage_collection():
        try:
            if name is None:
                answer = shown.everything(book)
            elif numeric:
                answer = shown.of_id(book, _id(name), target)
            else:
                answer = shown.of_name(book, name, facts.arguments(arguments), target)
        except NoMeaning as error:
            click.echo(f"tileproof: {error}", err=True)
            sys.exit(1)
        except (facts.BadQuery, BadRequest) as error:
            fail(str(error))
    click.echo(json.dumps(answer.as_json, indent=2) if form == "json" else "\n".join(answer.lines))
    sys.exit(answer.status)


def _id(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        return fail(f"'{text}' is not an id")
