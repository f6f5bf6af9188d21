"""The server's side of a worker: a process that is started when it is needed, and again when it has died."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from asyncio.subprocess import PIPE, Process

from tileproof.base.resources import PACKAGE
from tileproof.server.replies import Reply, Request
from tileproof.server.worker import LENGTH, packed

GRACE = 0.5  # seconds that an answer nobody wants may still take: starting a new process takes as long
LIMIT = 120.0  # seconds that an answer may take


class Worker:
    """A process that answers one request after the other.

    Who no longer wants an answer cancels ``ask``. The process is ended where it stays busy with it and another request
    waits.
    """

    def __init__(self) -> None:
        self._process: Process | None = None
        self._turn = asyncio.Lock()
        self._running: asyncio.Task[Reply] | None = None

    @property
    def pid(self) -> int | None:
        """The number of the process; None where none runs."""
        return None if self._process is None else self._process.pid

    async def ask(self, request: Request) -> Reply:
        """The reply; where the process dies, that is a problem."""
        async with self._turn:
            await self._free()
            self._running = asyncio.ensure_future(self._exchange(request))
            return await asyncio.shield(self._running)

    async def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()

    async def _free(self) -> None:
        """Wait until an answer that nobody wants is there, or end the process."""
        if self._running is not None and not self._running.done():
            await asyncio.wait([self._running], timeout=GRACE)
            if not self._running.done():
                await self.close()
                await asyncio.wait([self._running])

    async def _exchange(self, request: Request) -> Reply:
        file = request.document.file
        try:
            process = self._process or await self._start()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(packed(request))
            await process.stdin.drain()
            size = await asyncio.wait_for(process.stdout.readexactly(LENGTH), LIMIT)
            reply = pickle.loads(await process.stdout.readexactly(int.from_bytes(size, "big")))
        except TimeoutError:
            await self.close()
            return Reply(problem=f"{file}: not answered within {LIMIT:.0f} seconds")
        except (OSError, EOFError, pickle.UnpicklingError) as error:  # IncompleteReadError is an EOFError
            await self.close()
            return Reply(problem=f"{file}: the process that reads it has ended ({type(error).__name__})")
        assert isinstance(reply, Reply)
        return reply

    async def _start(self) -> Process:
        paths = (str(PACKAGE.parent), os.environ.get("PYTHONPATH", ""))
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "tileproof.server.worker"),
            stdin=PIPE,
            stdout=PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )
        return self._process
