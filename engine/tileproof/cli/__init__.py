"""The command line: one module a command, loaded when it is named, because start-up time is a feature.

What commands share is in ``options``, a project's own settings in ``config``.
"""

from __future__ import annotations

import atexit
import gc
from importlib import import_module

import click

from tileproof import __version__

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
    "prove",
    "rules",
    "run",
    "schedule",
    "suggest",
)

atexit.register(gc.freeze)  # the interpreter collects cycles once more at exit, which is not needed


class _Commands(click.Group):
    """A group whose commands are found by name: ``tileproof.cli.NAME.NAME``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"tileproof.cli.{cmd_name}"), cmd_name)
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", message="tileproof %(version)s")
def main() -> None:
    """Verify NVIDIA tensor-core code: CuTe DSL IR and PTX against rules that are data."""
