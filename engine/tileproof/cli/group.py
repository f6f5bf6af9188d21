"""The group of all commands: each is a module of this room, found by its name."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from tileproof import __version__
from tileproof.cli.options import errors_in_a_line

COMMANDS = (
    "builtin",
    "check",
    "config",
    "decode",
    "descriptors",
    "draw",
    "emit",
    "encode",
    "explain",
    "layout",
    "legal",
    "lsp",
    "prove",
    "rules",
    "run",
    "schedule",
    "suggest",
)


class _Commands(click.Group):
    """A group whose commands are found by name: ``tileproof.cli.NAME.NAME``."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what it cannot write is one line."""
        with errors_in_a_line():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"tileproof.cli.{cmd_name}"), cmd_name)
        return command


def _version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if not asked or context.resilient_parsing:
        return
    click.echo(f"tileproof {__version__}")
    if "--verbose" in sys.argv:
        from tileproof.cli.about import about  # noqa: PLC0415

        for line in about():
            click.echo(line)
    context.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and exit.",
)
@click.option(
    "--verbose", is_flag=True, is_eager=True, expose_value=False, help="With --version: also what it runs on."
)
def main() -> None:
    """Verify NVIDIA tensor-core code: CuTe DSL IR and PTX against rules that are data."""
