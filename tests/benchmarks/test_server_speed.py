"""How long an author waits: from an edit of the largest kernel to its findings, and for a page meanwhile.

The debounce of the server is part of it. Run with `pytest tests/benchmarks --benchmark-enable -o addopts=`.
"""

from __future__ import annotations

import asyncio
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from conftest import SHARED

if find_spec("pygls") is None:
    pytest.skip("pygls is not installed (the extra `lsp`)", allow_module_level=True)

from lsprotocol import types as lsp

from server.editor import editing

FMHA = SHARED / "corpus/sm_100a/fmha__default.mlir"
PTX = SHARED / "ptx/cutlass__48__sm_90a.ptx"
ROUNDS = 5


@pytest.mark.skipif(not FMHA.exists(), reason="no ../shared beside this checkout")
@pytest.mark.benchmark(group="an edit in a 1 MB file to its findings")
@pytest.mark.parametrize("path", [FMHA, PTX], ids=["ir", "ptx"])
def test_an_edit_to_its_findings(benchmark, path: Path, tmp_path: Path):
    """Each round adds a line in front; while the check runs, a page over the text is asked for."""
    pages: list[float] = []
    loop = asyncio.new_event_loop()
    session = editing(tmp_path)
    editor = loop.run_until_complete(session.__aenter__())
    uri = (tmp_path / path.name).as_uri()

    async def edited() -> None:
        start = lsp.Position(0, 0)
        version = editor.edit(uri, lsp.TextEdit(lsp.Range(start, start), "// edited\n"))
        await asyncio.sleep(0.25)
        begun = time.perf_counter()
        await editor.hover(uri, "mbarrier", 1)
        pages.append(time.perf_counter() - begun)
        await editor.findings(uri, version)

    try:
        editor.open(tmp_path / path.name, path.read_text(encoding="utf-8"))
        loop.run_until_complete(editor.findings(uri))
        benchmark.pedantic(lambda: loop.run_until_complete(edited()), rounds=ROUNDS, warmup_rounds=1)
    finally:
        loop.run_until_complete(session.__aexit__(None, None, None))
        loop.close()
    assert len(pages) > 1, "the first round warms up"
    benchmark.extra_info["slowest page in s"] = round(max(pages[1:]), 3)
