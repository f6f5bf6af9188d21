"""Faults planted into the text of real PTX: an instruction is dropped, weakened, moved, or a word has other bits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import tileproof
from tileproof.base.source import Source
from tileproof.ptx.graph import Graph
from tileproof.ptx.module import Module, read_module
from tileproof.ptx.values import Values
from tileproof.ptx.vocabulary import word_of

BOOK = tileproof.load_rules()
Planted = Iterator[tuple[str, str]]


class Kernel:
    """A real file, ready to be spoilt."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.module: Module = read_module(BOOK, Source("real.ptx", text))
        self.at: dict[str, list[int]] = {}
        for number, statement in enumerate(self.module.instructions):
            self.at.setdefault(word_of(BOOK, statement.opcode).name, []).append(number)

    def written(self, number: int) -> str:
        statement = self.module.instructions[number]
        return self.text[statement.start : statement.end]

    def before(self, number: int) -> str:
        """The text before an instruction."""
        return self.text[: self.module.instructions[number].start]

    def replaced(self, changes: dict[int, str]) -> str:
        """The text with other instructions at some places."""
        pieces, end = [], 0
        for number, text in sorted(changes.items()):
            statement = self.module.instructions[number]
            pieces += [self.text[end : statement.start], text]
            end = statement.end
        return "".join([*pieces, self.text[end:]])

    def dropped(self, *numbers: int) -> str:
        return self.replaced(dict.fromkeys(numbers, ""))

    def next(self, number: int, name: str, step: int = 1) -> int | None:
        """The nearest instruction of a name behind another, or before it, in the same function."""
        body = self.module.instructions[number].body
        found = [one for one in self.at.get(name, ()) if self.module.instructions[one].body == body]
        found = [one for one in found if (one > number) == (step > 0) and one != number]
        return (min(found) if step > 0 else max(found)) if found else None


def some(numbers: list[int]) -> list[int]:
    """The first, the middle and the last of several."""
    return sorted({numbers[0], numbers[len(numbers) // 2], numbers[-1]}) if numbers else []


_RELEASES = ("mbarrier.arrive", "cp.async", "st.shared", "stmatrix", "st.async")


def _depth(kernel: Kernel, wait: int) -> int:
    """How many groups a wait leaves in flight."""
    return int(kernel.written(wait).split()[-1].rstrip(";"))


def _needed(kernel: Kernel, number: int) -> bool:
    """Whether anything is released or overwritten between a wait for wgmma and the next: else that one will do."""
    if not kernel.module.instructions[number].opcode.startswith("wgmma.wait_group"):
        return True
    behind = kernel.next(number, "wgmma.wait_group")
    if behind is None or _depth(kernel, behind) > _depth(kernel, number):
        return True
    return any(one.opcode.startswith(_RELEASES) for one in kernel.module.instructions[number:behind])


def _drop_each(name: str) -> Callable[[Kernel], Planted]:
    def plant(kernel: Kernel) -> Planted:
        for number in some([one for one in kernel.at.get(name, []) if _needed(kernel, one)]):
            yield f"drop {name}", kernel.dropped(number)

    return plant


def _drop_all(name: str) -> Callable[[Kernel], Planted]:
    def plant(kernel: Kernel) -> Planted:
        if kernel.at.get(name):
            yield f"drop every {name}", kernel.dropped(*kernel.at[name])

    return plant


def _drop_commits(kernel: Kernel) -> Planted:
    """No group of cp.async; cp.async.wait_all needs none."""
    if "cp.async.wait_all" not in kernel.at:
        yield from _drop_all("cp.async.commit_group")(kernel)


def _weaken(name: str, to: int | None = None) -> Callable[[Kernel], Planted]:
    """A wait that leaves one group more in flight, or so many."""

    def plant(kernel: Kernel) -> Planted:
        every = kernel.at.get(name, [])
        chosen = every if to is not None else some([one for one in every if _needed(kernel, one)])
        changes = {}
        for number in chosen:
            text = kernel.written(number)
            found = re.search(r"(\d+)\s*;", text)
            if found is None:
                continue
            more = int(found[1]) + 1 if to is None else to
            changes[number] = f"{text[: found.start(1)]}{more}{text[found.end(1) :]}"
        if to is not None and changes:
            yield f"let every {name} leave {to}", kernel.replaced(changes)
        if to is None:
            for number, text in changes.items():
                yield f"weaken {name}", kernel.replaced({number: text})

    return plant


def _swap(name: str, other: str, step: int) -> Callable[[Kernel], Planted]:
    """An instruction on the other side of its neighbour."""

    def plant(kernel: Kernel) -> Planted:
        for number in some(kernel.at.get(name, [])):
            near = kernel.next(number, other, step)
            if near is None:
                continue
            texts = {near: kernel.written(number), number: kernel.written(near)}
            if kernel.module.instructions[near].scope is kernel.module.instructions[number].scope:
                yield f"swap {name} and {other}", kernel.replaced(texts)

    return plant


def _columns(kernel: Kernel) -> Planted:
    for number in some(kernel.at.get("tcgen05.dealloc", [])):
        text = kernel.written(number)
        found = re.search(r",\s*(32|64|128|256|512)\s*;", text)
        if found is not None:
            other = 64 if found[1] == "32" else int(found[1]) // 2
            yield "free other columns", kernel.replaced({number: f"{text[: found.start(1)]}{other};"})


def _bad_columns(kernel: Kernel) -> Planted:
    for number in kernel.at.get("tcgen05.alloc", [])[:1]:
        text = kernel.written(number)
        found = re.search(r",\s*(32|64|128|256|512)\s*;", text)
        if found is not None:
            yield "allocate 96 columns", kernel.replaced({number: f"{text[: found.start(1)]}96;"})


def _group(kernel: Kernel) -> Planted:
    names = ("tcgen05.mma", "tcgen05.commit", "tcgen05.dealloc", "tcgen05.cp")
    for name in names:
        for number in kernel.at.get(name, [])[-1:]:
            text = kernel.written(number)
            other = (
                text.replace("::1", "::2", 1)
                if "cta_group::1" in text
                else text.replace("cta_group::2", "cta_group::1")
            )
            if other != text:
                yield f"other cta_group of {name}", kernel.replaced({number: other})


def _registers(kernel: Kernel) -> Planted:
    for number in [*kernel.at.get("setmaxnreg.inc", []), *kernel.at.get("setmaxnreg.dec", [])][:1]:
        yield "setmaxnreg 100", kernel.replaced({number: re.sub(r"\d+\s*;", "100;", kernel.written(number))})


_WORDS = {
    "tcgen05.mma": (
        ("swizzle without a meaning", 61, 3, 3),
        ("swizzle 64", 61, 3, 4),
        ("swizzle 32", 61, 3, 6),
        ("version 0", 46, 3, 0),
        ("a reserved bit", 53, 1, 1),
        ("half the SBO", 32, 14, -1),
        ("twice the SBO", 32, 14, -2),
    ),
    "wgmma.mma_async": (
        ("swizzle 64", 62, 2, 2),
        ("swizzle 32", 62, 2, 3),
        ("a reserved bit", 53, 1, 1),
        ("half the SBO", 32, 14, -1),
        ("twice the SBO", 32, 14, -2),
    ),
}
# The SBO that the swizzle asks for, in bytes, and the bits of the swizzle, of wgmma and of tcgen05 alike.
_SBO = {1024: 2, 512: 4, 256: 6}
_INSTRUCTION = (
    ("N = 0", 17, 6, 0),
    ("M = 0", 24, 5, 0),
    ("M = 48", 24, 5, 3),
    ("input type 7", 7, 3, 7),
    ("accumulator type 3", 4, 2, 3),
    ("a reserved bit of the instruction descriptor", 6, 1, 1),
)
_UNSCALED = ("accumulator type 3",)  # where factors scale the operands, these bits say which factor of B it is


def values_of(kernel: Kernel, number: int) -> Values:
    body = kernel.module.instructions[number].body
    function = next(one for one in kernel.module.functions if one.body is not None and one.number == body)
    return Values(BOOK, Graph(BOOK, kernel.module, function))


def _literal(kernel: Kernel, values: tuple[int, ...]) -> tuple[int, re.Match[str], int] | None:
    """The first instruction that has one of these integers among its operands, the place, and which it is."""
    for number, statement in enumerate(kernel.module.instructions):
        text = kernel.written(number)
        for found in re.finditer(r"(?<![\w.$%])-?\d+(?![\w.])", text[statement.opcode_start - statement.start :]):
            for i, value in enumerate(values):
                if value and int(found[0]) % (1 << 64) == value and len(found[0]) > 4:
                    return number, found, i
    return None


def _changed(word: int, low: int, width: int, to: int) -> int:
    mask = ((1 << width) - 1) << low
    field = (word & mask) >> low
    code = {-1: field // 2, -2: field * 2}.get(to, to)
    return word & ~mask | code << low


def _descriptors(kernel: Kernel) -> Planted:
    for name, changes in _WORDS.items():
        for number in kernel.at.get(name, [])[:1]:
            value = values_of(kernel, number).operand(number, 2, 64)
            high = value.ones >> 32 << 32
            constants = sorted(
                {value.ones, high, value.ones & ~0x3FFF, high | value.ones & 0x3FFF0000} - {0}, reverse=True
            )
            found = _literal(kernel, (*constants, high >> 32))
            if found is None:
                continue
            at, place, which = found
            shift = 0 if which < len(constants) else 32
            for said, low, width, to in changes:
                word = int(place[0]) % (1 << 64) << shift
                other = _changed(word, low, width, to) >> shift
                if to < 0 and _SBO.get((word >> 32 & 0x3FFF) * 16) != word >> 61:
                    continue  # a stride of the tile, which may have any number of bytes
                if other << shift != word:
                    yield f"{name}: {said}", _with(kernel, at, place, other)


def _with(kernel: Kernel, number: int, place: re.Match[str], value: int) -> str:
    statement = kernel.module.instructions[number]
    text, offset = kernel.written(number), statement.opcode_start - statement.start
    return kernel.replaced({number: f"{text[: offset + place.start()]}{value}{text[offset + place.end() :]}"})


def _instruction(kernel: Kernel) -> Planted:
    for number in kernel.at.get("tcgen05.mma", [])[:1]:
        scaled = "block_scale" in kernel.written(number)
        word = values_of(kernel, number).operand(number, 3, 32).value
        found = _literal(kernel, (word,)) if word else None
        if found is None or word is None:
            continue
        for said, low, width, to in _INSTRUCTION:
            other = _changed(word, low, width, to)
            if scaled and said in _UNSCALED:
                continue
            if other != word:
                yield f"instruction descriptor: {said}", _with(kernel, found[0], found[1], other)


OPERATORS: tuple[Callable[[Kernel], Planted], ...] = (
    *(_drop_each(name) for name in ("wgmma.fence", "wgmma.commit_group", "wgmma.wait_group")),
    *(_drop_all(name) for name in ("wgmma.fence", "wgmma.commit_group", "wgmma.wait_group")),
    _weaken("wgmma.wait_group"),
    _weaken("wgmma.wait_group", 7),
    _swap("wgmma.fence", "wgmma.mma_async", 1),
    _swap("wgmma.commit_group", "wgmma.mma_async", -1),
    _swap("wgmma.wait_group", "wgmma.commit_group", -1),
    *(_drop_all(name) for name in ("cp.async.wait_group", "cp.async.wait_all")),
    _drop_commits,
    _weaken("cp.async.wait_group", 15),
    *(_drop_all(name) for name in ("cp.async.bulk.commit_group", "cp.async.bulk.wait_group")),
    *(_drop_all(name) for name in ("tcgen05.commit", "tcgen05.alloc", "tcgen05.dealloc")),
    _swap("tcgen05.alloc", "tcgen05.relinquish_alloc_permit", 1),
    _columns,
    _bad_columns,
    _group,
    _registers,
    _descriptors,
    _instruction,
)


def planted(text: str, operators: tuple[Callable[[Kernel], Planted], ...] = OPERATORS) -> Planted:
    """Each fault with its name."""
    kernel = Kernel(text)
    for operator in operators:
        yield from operator(kernel)
