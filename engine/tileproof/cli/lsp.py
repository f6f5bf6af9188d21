"""``tileproof lsp``."""

from __future__ import annotations

import click

from tileproof.cli.options import fail


@click.command()
@click.option("--stdio", is_flag=True, help="Speak over standard input and output, which is what it does anyway.")
def lsp(stdio: bool) -> None:
    """Serve an editor: findings, pages and fixes while you type. Editors start it; docs/editors.md says how."""
    try:
        from tileproof.server.serving import serve  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        fail("the language server needs pygls: pip install 'tileproof[lsp]'")
    serve()
