"""A process that reads and judges texts for the server: requests come in, replies go out, one after the other.

Messages are pickled, each with its length in front. Standard output carries them, so whatever else is printed goes to
standard error.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
import traceback
from collections.abc import Callable
from typing import BinaryIO

from tileproof.server.replies import Document, Reply, Request, Unusable

LENGTH = 8  # bytes in front of a message


def packed(message: Request | Reply) -> bytes:
    """A message as it is sent."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return len(data).to_bytes(LENGTH, "big") + data


def main() -> None:
    """Answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while (request := _read(sys.stdin.buffer)) is not None:
        answers.write(packed(_answer(request)))
        answers.flush()


def _read(stream: BinaryIO) -> Request | None:
    size = stream.read(LENGTH)
    data = stream.read(int.from_bytes(size, "big")) if len(size) == LENGTH else b""
    request = pickle.loads(data) if data else None
    return request if isinstance(request, Request) else None


def _answer(request: Request) -> Reply:
    """The reply to a request; whatever goes wrong is one."""
    gc.disable()  # reading texts makes many small values and no cycles
    try:
        return Reply(VERBS[request.verb](request.document, *request.arguments))
    except Unusable as reason:
        return Reply(problem=str(reason))
    except (Exception, RecursionError, MemoryError) as error:
        traceback.print_exc()
        return Reply(problem=f"{request.document.file}: internal error ({type(error).__name__}: {error})")
    finally:
        gc.enable()


def _checked(document: Document, keep: bool = False) -> object:
    from tileproof.server.findings import checked  # noqa: PLC0415  each process imports what it is asked for

    return checked(document, keep)


def _page(document: Document, offset: int) -> object:
    from tileproof.server.hover import page  # noqa: PLC0415

    return page(document, offset)


def _actions(document: Document, findings: object) -> object:
    from tileproof.server.actions import actions  # noqa: PLC0415

    return actions(document, findings)  # type: ignore[arg-type]


def _labels(document: Document) -> object:
    from tileproof.server.labels import labels  # noqa: PLC0415

    return labels(document)


VERBS: dict[str, Callable[..., object]] = {
    "check": _checked,
    "page": _page,
    "actions": _actions,
    "labels": _labels,
}

if __name__ == "__main__":
    main()
