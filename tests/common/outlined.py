"""A kernel in PTX whose whole body is moved to a device function that it calls; no line changes its number."""

from __future__ import annotations

import re

_ENTRY = re.compile(r"\.visible \.entry (\w+)\((.*?)\)([^{}]*)\{\n", re.S)
_SCALAR = re.compile(r"\.param \.\w(\d+) (\w+)\Z")
_ARRAY = re.compile(r"\.param \.align \d+ \.b8 (\w+)\[\d+\]\Z")


def outlined(text: str) -> str:
    """The module with its only kernel as a device function, and a kernel of the same launch behind it that calls it.

    A scalar parameter is handed on, of an array its address. Of what else depends on where a body stands there is
    nothing: a line that reads a parameter reads that of the function.
    """
    found = _ENTRY.search(text)
    assert found is not None
    name, listed, launch = found.groups()
    formals, lines, actuals = [], ["  .reg .b32 %h<9>;", "  .reg .b64 %hd<9>;"], []
    body = text[found.end() :]
    for i, one in enumerate(part.strip() for part in listed.split(",") if part.strip()):
        scalar, array = _SCALAR.match(one), _ARRAY.match(one)
        assert scalar is not None or array is not None, one
        formal = scalar[2] if scalar is not None else array[1]  # type: ignore[index]
        kind, register = ("b32", f"%h{i}") if scalar is not None and scalar[1] == "32" else ("b64", f"%hd{i}")
        formals.append(f".param .{kind} {formal}")
        actuals.append(f"passed_{i}")
        if array is not None:
            lines += [f"  mov.b64 {register}, kernel_{formal};", f"  cvta.param.u64 {register}, {register};"]
            body, changed = re.subn(rf"mov\.[bu]64 (%\w+), {formal};", rf"ld.param.b64 \1, [{formal}];", body)
            assert changed
        else:
            lines.append(f"  ld.param.{kind} {register}, [kernel_{formal}];")
        lines.insert(2, f"  .param .{kind} passed_{i};")
        lines.append(f"  st.param.{kind} [passed_{i}], {register};")
    renamed = re.sub(r"(\w+)(\[\d+\])?(?=,|\Z)", lambda one: f"kernel_{one[1]}{one[2] or ''}", listed)
    head = f".func {name}_body({', '.join(formals)})" + "\n" * launch.count("\n") + "{\n"
    call = f"  call.uni {name}_body, ({', '.join(actuals)});"
    kernel = ["", f".visible .entry {name}({renamed}){launch.rstrip()}", "{", *lines, call, "  ret;", "}", ""]
    return text[: found.start()] + head + body + "\n".join(kernel)


__all__ = ["outlined"]
