"""NVIDIA's own ``cute`` dialect as an oracle: what nvidia-cutlass-dsl infers for an operation on given types.

The dialect's verifier infers the result type of an operation and, where the declared type differs, prints the inferred
one. So every question declares a result that no operation gives and reads the answer out of the complaint. The
native library dies (SIGFPE, abort, endless loop) on some inputs: it lives in a worker process that is started again.

    with Oracle() as oracle:
        oracle.ask(Query("composition", ("layout (20):(2)", "layout (5,4):(4,1)")))   # Answer("layout", "(5,4):(8,2)")
"""

from __future__ import annotations

import importlib.util
import json
import re
import select
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

AVAILABLE = (
    importlib.util.find_spec("nvidia_cutlass_dsl") is not None or importlib.util.find_spec("cutlass") is not None
)
WHY_NOT = "nvidia-cutlass-dsl is not installed (extra `oracle`)"

IMPOSSIBLE = {
    "layout": '!cute.layout<"99:77">',
    "composed_layout": '!cute.composed_layout<"S<0,9,9> o 0 o 99:77">',
    "int_tuple": '!cute.int_tuple<"(97,(98,99))">',
    "shape": '!cute.shape<"(97,(98,99))">',
    "coord": '!cute.coord<"(97,(98,99))">',
    "stride": '!cute.stride<"(97,(98,99))">',
    "tile": '!cute.tile<"[99:77]">',
    "swizzle": '!cute.swizzle<"S<0,9,9>">',
    "coord_tensor": '!cute.coord_tensor<"(97,98)", "(97,98):(77@0,78@1)">',
}
# Which kinds of result to try first; the verifier's "result #0 must be" sends us on to the next one.
ORDER = tuple(IMPOSSIBLE)

_INFERRED = re.compile(r"inferred type\(s\) '!cute\.(\w+)<(.*?)>' are incompatible")
_WRONG_KIND = re.compile(r"result #0 must be|are the same kind")
_NOISE = re.compile(r'^(error: "-":\d+:\d+: |Unable to parse module assembly:\s*)|\'cute\.[\w.]+\' op |!cute\.')


@dataclass(frozen=True)
class Query:
    """An operation, its operands as ``kind text`` (``layout 4:1``), and its attributes as MLIR writes them."""

    op: str
    operands: tuple[str, ...]
    attributes: str = ""
    result: str | None = None  # the kind to try first, or ``kind text`` to declare exactly that

    def modules(self) -> Iterator[str]:
        """MLIR text, one for each kind of result that the operation may have."""
        types = [_mlir_type(operand) for operand in self.operands]
        names = [f"%a{i}" for i in range(len(types))]
        arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, types, strict=True))
        attributes = f" <{{{self.attributes}}}>" if self.attributes else ""
        if self.result and self.result not in IMPOSSIBLE:
            declared = [_mlir_type(self.result)]
        else:
            declared = [IMPOSSIBLE[kind] for kind in dict.fromkeys((self.result, *ORDER)) if kind]
        for result in declared:
            yield (
                f'func.func @f({arguments}) {{ %r = "cute.{self.op}"({", ".join(names)}){attributes} : '
                f"({', '.join(types)}) -> {result}\n return }}"
            )


@dataclass(frozen=True)
class Answer:
    """What the library said: a kind and the text of the inferred value, or ``error``/``crash`` and its words."""

    kind: str
    text: str

    @property
    def refused(self) -> bool:
        return self.kind == "error"

    @property
    def crashed(self) -> bool:
        return self.kind == "crash"


def _mlir_type(operand: str) -> str:
    kind, _, text = operand.partition(" ")
    if kind == "coord_tensor":
        return f"!cute.coord_tensor<{text}>"
    return f'!cute.{kind}<"{text}">' if text else kind


class Oracle:
    """A worker process with the library in it. Use as a context manager."""

    def __init__(self, patience: float = 20.0) -> None:
        self.patience = patience
        self.crashes = 0
        self._worker: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _start(self) -> subprocess.Popen[bytes]:
        worker = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._worker = worker
        return worker

    def _stop(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker.communicate()
            self._worker = None

    def ask(self, query: Query) -> Answer:
        """The library's answer to one question."""
        worker = self._worker or self._start()
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            worker.stdin.write((json.dumps(list(query.modules())) + "\n").encode())
            worker.stdin.flush()
            ready, _, _ = select.select([worker.stdout], [], [], self.patience)
            line = worker.stdout.readline() if ready else b""
        except BrokenPipeError:
            line = b""
        if not line:
            self.crashes += 1
            self._stop()
            return Answer("crash", "the native library died or hung")
        return Answer(**json.loads(line))

    def ask_all(self, queries: Iterable[Query]) -> list[Answer]:
        return [self.ask(query) for query in queries]


def _judge(modules: list[str]) -> dict[str, str]:
    """Inside the worker: parse until the kind of result is right, and read the inferred type from the complaint."""
    from cutlass._mlir import ir  # noqa: PLC0415 - only the worker may load the native library

    complaint = ""
    for text in modules:
        try:
            ir.Module.parse(text)
            return {"kind": "accepted", "text": ""}
        except ir.MLIRError as error:
            complaint = str(error)
            if found := _INFERRED.search(complaint):
                return {"kind": found[1], "text": found[2].strip('"')}
            if not _WRONG_KIND.search(complaint):
                break
    lines = [_NOISE.sub("", line.strip()) for line in complaint.splitlines() if line.startswith("error")]
    return {"kind": "error", "text": " | ".join(_NOISE.sub("", line) for line in lines) or complaint}


def _serve() -> None:
    from cutlass._mlir import ir  # noqa: PLC0415 - only the worker may load the native library

    with ir.Context():
        for line in sys.stdin:
            print(json.dumps(_judge(json.loads(line))), flush=True)


if __name__ == "__main__":
    _serve()
