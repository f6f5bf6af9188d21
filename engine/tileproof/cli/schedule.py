"""``tileproof schedule``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tileproof.cli.options import (
    fail,
    inputs,
    launch_options,
    launches_said,
    load_rules,
    no_garbage_collection,
    progress,
    rule_options,
)


@click.command()
@click.argument("file", metavar="FILE")
@click.option("-o", "--output", metavar="FILE", help="Output file. Default: standard output.")
@click.option(
    "--graph", "drawing", metavar="FILE", help="Write the asynchronous graph of the result as *.dot or *.json."
)
@launch_options
@rule_options
def schedule(
    file: str,
    output: str | None,
    drawing: str | None,
    block: str | None,
    cluster: str | None,
    folders: tuple[Path, ...],
) -> None:
    """Insert the fences, commits and waits that a kernel in IR or PTX lacks; everything else stays byte for byte.

    What is inserted is listed on standard error, with the lines of the result.

    Exit status: 0 the result verifies, 1 the kernel cannot be followed, or an error is left that no insertion repairs,
    and the text stays as it is, 2 bad arguments, or neither IR nor PTX.
    """
    from tileproof.base.files import replace_file  # noqa: PLC0415
    from tileproof.base.source import Source  # noqa: PLC0415
    from tileproof.checking.reading import read  # noqa: PLC0415
    from tileproof.scheduling import text as verb  # noqa: PLC0415

    if drawing is not None and not drawing.endswith((".dot", ".json")):
        fail(f"--graph must be *.dot or *.json, not '{drawing}'")
    book, _ = load_rules(folders)
    launches = launches_said(book, block, cluster)
    (item, *more) = inputs(file)
    source = read(item)
    if more or not isinstance(source, Source):
        fail(f"{file}: schedule requires exactly one kernel file" if more else f"{source.name}: {source.reason}")  # type: ignore[union-attr]
    try:
        with progress(None, "scheduling") as step, no_garbage_collection():
            found = verb.schedule(book, source, step, launches)
    except verb.NotScheduled as error:
        fail(str(error))
    for line, text in found.inserted:
        click.echo(f"{source.name}:{line}: inserted {text}", err=True)
    if found.inserted and found.minimal:
        click.echo(f"{source.name}: the insertions are minimal (Z3)", err=True)
    if found.inserted and not found.complete:
        click.echo(f"{source.name}: the search ended at its budget; what it inserted verifies", err=True)
    for text in verb.remaining(book, found):
        click.echo(text, err=True)
    try:
        if output is not None:
            replace_file(Path(output), found.source.text)
        else:
            sys.stdout.buffer.write(found.source.text.encode())
        if drawing is not None:
            from tileproof.scheduling import graph  # noqa: PLC0415  networkx takes a tenth of a second

            drawn = graph.graph(book, found.source, launches)
            form = graph.as_json if drawing.endswith(".json") else graph.as_dot
            replace_file(Path(drawing), form(drawn))
    except OSError as error:
        fail(f"{error.filename or output or 'standard output'}: {error.strerror or error}")
    if not found.verified:
        click.echo(f"{source.name}: left as it is: no insertion repairs what is named above", err=True)
    sys.exit(int(not found.verified))
