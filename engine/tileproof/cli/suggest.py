"""``tileproof suggest``, of configurations and of layouts."""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path

import click

from tileproof.cli.options import fail, listed, load_rules, rule_options


class _ConfigurationsByDefault(click.Group):
    """`suggest` is about configurations; only where another subject is named, about that."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args and args[0] in self.commands else ["configurations", *args])


@click.group(cls=_ConfigurationsByDefault)
def suggest() -> None:
    """Legal MMA atoms and instructions for a partial description; `suggest layout`: layouts of an operand."""


@suggest.command("layout")
@click.option("--operand", "role", type=click.Choice(["A", "B"]), required=True)
@click.option("--atom", required=True, metavar="TYPE", help="The type of an MMA atom, or wgmma or tcgen05.")
@click.option("--element", required=True, metavar="TYPE", help="Element type in shared memory, such as f16 or e4m3.")
@click.option("--shape", required=True, metavar="MNxK", help="Rows (M of A, N of B) and columns of the operand.")
@click.option("--major", type=click.Choice(["k", "mn"]), help="Default: that of the atom.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@rule_options
def suggest_layout(
    role: str, atom: str, element: str, shape: str, major: str | None, form: str, folders: tuple[Path, ...]
) -> None:
    """Legal layouts of an operand in shared memory, free of bank conflicts first, the widest swizzle first.

    `tileproof suggest layout --operand A --atom wgmma --element f16 --shape 64x64 --major k`

    Exit status: 0 something was found, 1 no canonical layout fits, 2 bad arguments.
    """
    from tileproof.suggesting import layouts as verb  # noqa: PLC0415

    book, _ = load_rules(folders)
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


@suggest.command("configurations")
@click.argument("illegal", required=False)
@click.option("--target", metavar="SM", default="sm_90a", show_default=True)
@click.option(
    "--ptx", metavar="VERSION", help="PTX ISA version, such as 8.7. Default: the latest that supports the target."
)
@click.option("--contract", type=click.Choice(["ptx", "tileiras"]), default="ptx", show_default=True)
@click.option("--a", "a_type", metavar="TYPE", help="Element type of A, such as f16 or e4m3; several comma-separated.")
@click.option("--b", "b_type", metavar="TYPE", help="Element type of B.")
@click.option("--acc", "d_type", metavar="TYPE", help="Element type of the accumulator.")
@click.option(
    "--set", "facts", multiple=True, metavar="FACT=VALUE", help="Any other fact, such as a.major=k; repeatable."
)
@click.option("--scale", "scale_type", metavar="TYPE", help="Element type of the scale factors, such as ue8m0.")
@click.option("--sparsity", type=click.Choice(["any", "dense", "sparse"]), default="any", show_default=True)
@click.option(
    "--warps", type=click.IntRange(1), help="Number of warps that share the tile; instructions are counted per warp."
)
@click.option(
    "--warpgroups", type=click.IntRange(1), help="Number of warpgroups (four warps each) that share the tile."
)
@click.option("--tile", metavar="MxNxK", help="The tile in elements; atoms must divide it.")
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True)
@click.option("--all", "everything", is_flag=True, help="All legal configurations, unusual ones too.")
@click.option("--repair", is_flag=True, help="ILLEGAL is an instruction or an atom type: its nearest legal form.")
@click.option("--allow-target", is_flag=True, help="A repair may change the target and the PTX version.")
@click.option("--timeout", default=10.0, show_default=True, help="Time limit for a repair, in seconds.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@rule_options
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
    allow_target: bool,
    timeout: float,
    form: str,
    folders: tuple[Path, ...],
) -> None:
    """Legal MMA atoms and instructions for a partial description, the best first.

    What the description leaves open is as usual: A dense, no scale factors, B of A's type, the usual accumulator.
    Ranked by the number of instructions for the tile, then by the bytes of A and B as they are stored in shared memory.
    --all shows also what is not usual, behind the rest.

    `tileproof suggest --target sm_100a --a e4m3 --acc f32 --tile 128x256x128`

    `tileproof suggest layout` lists layouts of an operand in shared memory instead.

    `tileproof suggest --repair 'wgmma.mma_async.sync.aligned.m64n100k16...;'` gives the nearest legal form of an
    instruction or an atom type, and the rules in conflict.

    Exit status: 0 something was found, 1 nothing is legal, 2 bad arguments.
    """
    from tileproof.checking.instruction import context, version  # noqa: PLC0415
    from tileproof.suggesting import text as verb  # noqa: PLC0415
    from tileproof.suggesting.configurations import as_asked, suggest  # noqa: PLC0415

    book, _ = load_rules(folders)
    named = (("a.type", a_type), ("b.type", b_type), ("d.type", d_type), ("scale.type", scale_type))
    wanted = {name: text for name, text in named if text}
    if warps is not None and warpgroups is not None:
        fail("--warps and --warpgroups are alternatives: use one of them")
    for given in facts:
        name, equals, value = given.partition("=")
        if not equals:
            fail(f"--set requires FACT=VALUE, not '{given}'")
        wanted[name] = value
    try:
        where = context(book, target, version(ptx) if ptx else None)
        if repair:
            if illegal is None:
                fail("suggest --repair requires an instruction or an atom type")
            mended = verb.repaired(book.under(contract), illegal, where, timeout, allow_target)
            click.echo(verb.repair_as_json(mended) if form == "json" else "\n".join(verb.repair_as_text(mended)))
            sys.exit(0 if mended.text else 1)
        if illegal is not None:
            fail(f"unexpected argument '{illegal}'; use --repair for an illegal instruction")
        shared = 4 * warpgroups if warpgroups is not None else warps
        items = {name: listed([text]) for name, text in wanted.items()}
        query = verb.query(book.under(contract), where, items, tile, sparsity, shared)
    except ValueError as error:
        fail(str(error))
    found = suggest(book, query) if everything else as_asked(book, query)
    most = None if everything else limit
    lines = verb.as_json(found, most) if form == "json" else verb.as_text(found, most)
    while chunk := list(islice(lines, 1000)):
        click.echo("\n".join(chunk))
    if not found:
        click.echo(verb.nothing(book, query), err=form == "json")
    sys.exit(0 if found else 1)
