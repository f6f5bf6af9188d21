"""The process behind the server: answers, and what happens where there is none."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from conftest import EXAMPLES
from tileproof.server.process import GRACE, Worker
from tileproof.server.replies import Checked, Document, Reply, Request

BROKEN = (EXAMPLES / "hopper_gemm_broken.mlir").read_text(encoding="utf-8")


def request(folder: Path, text: str = BROKEN) -> Request:
    return Request("check", Document(str(folder / "k.mlir"), text))


def codes(reply: Reply) -> list[str]:
    assert isinstance(reply.value, Checked)
    return [one.code for one in reply.value.findings]


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no process can be stopped here")
def test_a_process_that_stays_busy_with_what_nobody_wants_is_replaced(tmp_path: Path):
    async def whole() -> None:
        worker = Worker()
        assert codes(await worker.ask(request(tmp_path))) == ["WG101"]
        first = worker.pid
        assert first is not None
        os.kill(first, signal.SIGSTOP)
        superseded = asyncio.ensure_future(worker.ask(request(tmp_path, "")))
        await asyncio.sleep(0)
        begun = asyncio.get_running_loop().time()
        superseded.cancel()
        assert codes(await worker.ask(request(tmp_path))) == ["WG101"]
        assert asyncio.get_running_loop().time() - begun >= GRACE
        assert worker.pid != first
        await worker.close()

    asyncio.run(whole())


def test_an_answer_that_nobody_wants_is_not_given_to_the_next_who_asks(tmp_path: Path):
    async def whole() -> None:
        worker = Worker()
        await worker.ask(request(tmp_path))
        first = worker.pid
        for _ in range(3):
            superseded = asyncio.ensure_future(worker.ask(request(tmp_path, "module {\n}\n")))
            await asyncio.sleep(0)
            superseded.cancel()
        assert codes(await worker.ask(request(tmp_path))) == ["WG101"]
        assert worker.pid == first or sys.platform == "win32"
        await worker.close()
        assert worker.pid is None

    asyncio.run(whole())


def test_an_unforeseen_error_is_a_problem_of_its_request_alone(tmp_path: Path):
    async def whole() -> None:
        worker = Worker()
        reply = await worker.ask(Request("page", Document(str(tmp_path / "k.mlir"), BROKEN), ("nowhere",)))
        assert "internal error (TypeError" in reply.problem
        assert codes(await worker.ask(request(tmp_path))) == ["WG101"]
        await worker.close()

    asyncio.run(whole())


def test_what_a_check_prints_does_not_disturb_its_answer(tmp_path: Path):
    """A project's code may print; the answers have a stream of their own."""
    (tmp_path / "sitecustomize.py").write_text("print('hello')\nimport os\nos.write(1, b'hello')\n")

    async def whole() -> None:
        worker = Worker()
        assert codes(await worker.ask(request(tmp_path))) == ["WG101"]
        await worker.close()

    asyncio.run(whole())
