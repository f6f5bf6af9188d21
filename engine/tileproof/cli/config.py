"""``tileproof config``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from tileproof.cli.options import fail


@click.command()
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def config(form: str) -> None:
    """Show the settings that hold here, and the file that has them.

    The nearest tileproof.toml or pyproject.toml ([tool.tileproof]) at or above this folder holds alone.
    """
    from tileproof.checking import settings  # noqa: PLC0415

    try:
        found = settings.find(Path.cwd())
    except settings.ConfigError as error:
        fail(str(error))
    values: dict[str, Any] = {key: _plain(getattr(found, key.replace("-", "_"))) for key in settings.KEYS}
    values |= {key: dict(values[key]) for key in settings.TABLES}
    if form == "json":
        click.echo(json.dumps({"file": str(found.path) if found.path else None, "settings": values}, indent=2))
        return
    click.echo(f"# {found.path}" if found.path else "# no tileproof.toml, and no [tool.tileproof] in a pyproject.toml")
    for key, value in values.items():
        click.echo(f"# {key}" if value in (None, [], {}) else f"{key} = {_toml(value)}")


def _toml(value: Any) -> str:
    """A setting as TOML has it, in a line."""
    if not isinstance(value, dict):
        return json.dumps(value)
    return f"{{ {', '.join(f'{json.dumps(name)} = {_toml(one)}' for name, one in value.items())} }}"


def _plain(value: Any) -> Any:
    """A setting as JSON has it."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value
