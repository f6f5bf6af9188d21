"""Faults to plant between an operand, its memory, its tensor map and its launch: two texts that must agree and do not.

Beside those of planted.py, which break the order of operations; the same two kinds of operator. What is changed in many
places at once is one fault: a type that all uses spell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_CONSTANT = re.compile(r"(%[\w#-]+) = arith\.constant (-?\d+|true|false)(?: : i(\d+))?")


@dataclass(frozen=True)
class Fault:
    """A kernel with one such fault.

    Attributes:
        changed: the lines of its text that are not in the kernel, from 1; types that a fault changes are aliases.
    """

    operator: str
    changed: frozenset[int]
    text: str


@dataclass(frozen=True)
class Operand:
    """Another constant in place of an operand of an operation.

    Attributes:
        applies: a pattern of the line, whose group is the operand.
        change: the new value for the old one; None where that is no fault.
        followed: a pattern that must be in the line or the next two.
    """

    name: str
    applies: str
    change: Callable[[int], int | None]
    width: int = 32
    followed: str | None = None

    def plant(self, text: str) -> Iterator[Fault]:
        """Each kernel that has the fault once."""
        lines = text.split("\n")
        for at, line in enumerate(lines):
            behind = "\n".join(lines[at : at + 3])
            found = re.search(self.applies, line) if self.followed is None or re.search(self.followed, behind) else None
            value = None if found is None else _value(lines, at, found[1])
            new = None if value is None else self.change(value)
            if found is None or new is None:
                continue
            indent = line[: len(line) - len(line.lstrip())]
            constant = f"{indent}%planted = arith.constant {new} : i{self.width}"
            changed = line[: found.start(1)] + "%planted" + line[found.end(1) :]
            yield Fault(
                self.name, frozenset({at + 1, at + 2}), "\n".join([*lines[:at], constant, changed, *lines[at + 1 :]])
            )


@dataclass(frozen=True)
class Line:
    """An operation that is written otherwise: some lines for one."""

    name: str
    change: Callable[[str], str | None]

    def plant(self, text: str) -> Iterator[Fault]:
        """Each kernel that has the fault once."""
        lines = text.split("\n")
        for at, line in enumerate(lines):
            new = self.change(line)
            if new is not None and new != line:
                changed = range(at + 1, at + 2 + new.count("\n"))
                yield Fault(self.name, frozenset(changed), "\n".join([*lines[:at], new, *lines[at + 1 :]]))


@dataclass(frozen=True)
class Everywhere:
    """A piece of text that is written otherwise in all its places, for each different text that a pattern finds."""

    name: str
    pattern: str
    change: Callable[[re.Match[str]], str | None]

    def plant(self, text: str) -> Iterator[Fault]:
        """Each kernel that has the fault."""
        seen: set[str] = set()
        for found in re.finditer(self.pattern, text):
            new = self.change(found)
            if found[0] in seen or new is None or new == found[0]:
                continue
            seen.add(found[0])
            planted = text.replace(found[0], new)
            before, after = text.split("\n"), planted.split("\n")
            yield Fault(self.name, frozenset(i + 1 for i, line in enumerate(after) if line != before[i]), planted)


@dataclass(frozen=True)
class Box:
    """Another extent of the box of a tensor map, where the host stores it: 0 is the innermost."""

    name: str
    dimension: int
    change: Callable[[int], int | None]

    def plant(self, text: str) -> Iterator[Fault]:
        """Each kernel that has the fault once."""
        lines = text.split("\n")
        for at, line in enumerate(lines):
            box = re.search(r"tensor_map_encode_tiled .*box_dim = (%[\w]+)", line)
            if box is None:
                continue
            first = _last(lines, at, rf"\s*{box[1]} = llvm\.alloca ")
            pointer = box[1]
            if self.dimension:
                moved = rf"\s*(%\w+) = llvm\.getelementptr {box[1]}\[{self.dimension}\]"
                place = next((i for i in range(first, at) if re.match(moved, lines[i])), None)
                if place is None:
                    continue
                found = re.match(moved, lines[place])
                assert found is not None
                pointer = found[1]
            store = next((i for i in range(first, at) if re.search(rf"llvm\.store %\w+, {pointer} ", lines[i])), None)
            if store is None:
                continue
            one = "\n".join(lines[: store + 1])
            for fault in Operand(self.name, r"llvm\.store (%\w+), ", self.change).plant(one):
                if store + 1 in fault.changed:
                    yield Fault(self.name, fault.changed, "\n".join([fault.text, *lines[store + 1 :]]))


def _last(lines: list[str], at: int, pattern: str) -> int:
    return next((i for i in range(at, -1, -1) if re.match(pattern, lines[i])), 0)


def _value(lines: list[str], at: int, name: str) -> int | None:
    """The value of a constant that is defined above a line in the same function."""
    for line in reversed(lines[:at]):
        found = _CONSTANT.search(line)
        if found is not None and found[1] == name:
            return {"true": 1, "false": 0}.get(found[2]) if found[2] in ("true", "false") else int(found[2])
        if re.search(r"\b(cuda\.kernel|func\.func) ", line):
            return None
    return None


def _instruction(low: int, high: int, change: Callable[[int], int | None]) -> Callable[[int], int | None]:
    """Change some bits of an instruction descriptor."""

    def function(word: int) -> int | None:
        mask = (1 << high - low + 1) - 1
        new = change(word >> low & mask)
        return None if new is None or new & ~mask else (word & ~(mask << low)) | new << low

    return function


def _other(*values: int) -> Callable[[int], int | None]:
    """The value after one of them in a circle; no fault where it is none of them."""
    return lambda value: values[(values.index(value) + 1) % len(values)] if value in values else None


_DESCRIPTOR = r"tcgen05_mma_smem_desc_v2\((?:%[\w-]+, ){N}(%[\w-]+)[,)]"
_ADVANCE, _WIDENED = r"arith\.addi %\w+, (%c[246]_i32) : i32$", r"arith\.extui %\w+ : i32 to i64"
_MMA = r"nvvm\.tcgen05\.mma %[\w#-]+, %[\w#-]+, %[\w#-]+, (%[\w-]+),"


def _descriptor(place: int) -> str:
    return _DESCRIPTOR.replace("N", str(place))


def _misplaced(line: str) -> str | None:
    """A bulk tensor copy that begins 16 bytes further."""
    found = re.search(r"cp\.async\.bulk\.tensor\.shared\.cluster\.global (%\w+), .* : (!llvm\.ptr<[37]>)", line)
    if found is None:
        return None
    indent = line[: len(line) - len(line.lstrip())]
    moved = f"{indent}%planted = llvm.getelementptr {found[1]}[16] : ({found[2]}) -> {found[2]}, i8\n"
    return moved + line.replace(found[1], "%planted", 1)


def _later_column(line: str) -> str | None:
    """D of an MMA 512 columns further than allocated."""
    found = re.search(r"nvvm\.tcgen05\.mma(?:\.\w+)* (%[\w#-]+), ", line)
    if found is None:
        return None
    indent = line[: len(line) - len(line.lstrip())]
    steps = [
        f"%planted_d = llvm.ptrtoint {found[1]} : !llvm.ptr<6> to i32",
        "%planted_by = arith.constant 496 : i32",
        "%planted_at = arith.addi %planted_d, %planted_by : i32",
        "%planted = llvm.inttoptr %planted_at : i32 to !llvm.ptr<6>",
    ]
    return "\n".join(indent + step for step in steps) + "\n" + line.replace(found[1], "%planted", 1)


def _next_k(line: str) -> str | None:
    """B of a tiled MMA one step further along K, where the step comes from a loop."""
    found = re.search(r'cute\.slice\(%frg_B\w*, (%\w+)\) : .*, (!cute\.coord<"\(_,_,(\d),(\d+)\)">)$', line)
    if found is None:
        return None
    indent = line[: len(line) - len(line.lstrip())]
    other = found[2].replace(f"_,{found[3]},", f"_,{(int(found[3]) + 1) % 2},")
    coordinate = f"{indent}%planted = cute.make_coord() : () -> {other}\n"
    return coordinate + line.replace(found[1], "%planted").replace(found[2], other)


def _group(line: str) -> str | None:
    """An allocation of tensor memory by the other number of CTAs."""
    if "tcgen05.alloc " in line or "tcgen05.relinquish_alloc_permit" in line:
        if "cta_2" in line:
            return line.replace("cta_2", "cta_1")
        return line.replace(" : !llvm", " {group = #nvvm.cta_group<cta_2>} : !llvm") if " : !llvm" in line else None
    if "alloc_tmem(" in line and "dealloc" not in line:
        return line.replace("[ cta_1]", "[cta_2]") if "[ cta_1]" in line else line.replace("[cta_2]", "[ cta_1]")
    return None


OPERATORS: tuple[Operand | Line | Everywhere | Box, ...] = (
    # Tensor maps of the driver.
    Operand("map-swizzle-other", r"tensor_map_encode_tiled .* swizzle = (%[\w-]+)", _other(3, 2, 1)),
    Operand("map-swizzle-none", r"tensor_map_encode_tiled .* swizzle = (%[\w-]+)", lambda n: 0 if n else None),
    Operand("map-type-other", r"tensor_map_encode_tiled data_type = (%[\w-]+)", _other(6, 9)),
    Operand("map-type-wider", r"tensor_map_encode_tiled data_type = (%[\w-]+)", {0: 1, 6: 7, 9: 7}.get),
    Box("map-box-rows-halved", 1, lambda n: n // 2 if n > 8 else None),
    Box("map-box-width-halved", 0, lambda n: n // 2 if n > 8 else None),
    Box("map-box-width-doubled", 0, lambda n: n * 2),
    # Descriptors that the kernel assembles.
    Operand("descriptor-swizzle-other", _descriptor(7), _other(2, 4, 6), 8),
    Operand("descriptor-stride-doubled", _descriptor(2), lambda n: n * 2),
    Operand("descriptor-stride-halved", _descriptor(2), lambda n: n // 2),
    Operand("descriptor-leading-doubled", _descriptor(1), lambda n: n * 2 if n > 1 else None),
    Operand("descriptor-advance-by-one", _ADVANCE, lambda n: n + 1, followed=_WIDENED),
    Operand("descriptor-advance-doubled", _ADVANCE, lambda n: n * 2, followed=_WIDENED),
    # Instruction descriptors.
    Operand("instruction-n-halved", _MMA, _instruction(17, 22, lambda n: n // 2 if n > 2 else None)),
    Operand("instruction-n-doubled", _MMA, _instruction(17, 22, lambda n: n * 2)),
    Operand("instruction-m-halved", _MMA, _instruction(24, 28, lambda n: n // 2)),
    Operand("instruction-a-type", _MMA, _instruction(7, 9, _other(0, 1))),
    Operand("instruction-b-type", _MMA, _instruction(10, 12, _other(0, 1))),
    Operand("instruction-a-major", _MMA, _instruction(15, 15, lambda n: 1 - n)),
    Operand("instruction-b-major", _MMA, _instruction(16, 16, lambda n: 1 - n)),
    # Tensor memory.
    Line("d-behind-its-columns", _later_column),
    Operand(
        "columns-too-few", r"(?:tcgen05\.alloc %[\w#-]+, |[^e]alloc_tmem\()(%[\w-]+)", lambda n: 32 if n > 64 else None
    ),
    Line("allocation-of-other-group", _group),
    # Multicast masks, places and sizes of copies.
    Operand("mask-outside-cluster", r"(?:multicast_mask = |mcast_mask>\(%[\w#]+, )(%c\w+)", lambda n: n | 1 << 14, 16),
    Operand("bulk-size-odd", r"cp\.async\.bulk\.(?:shared|global)\.[\w.]+ .*, (%c\d+_i32) : ", lambda n: n + 8),
    Line("copy-misplaced", _misplaced),
    # Types that all uses spell.
    Everywhere("mma-element-other", r"elem_type = \((?:f16, f16|bf16, bf16)", lambda m: _swapped(m[0])),
    Everywhere(
        "view-element-other", r"memref<(?:f16|bf16), smem(?=[^>]*>[^>]*>?, \"\(\(\d+,16\))", lambda m: _swapped(m[0])
    ),
    Everywhere(
        "basis-rows-halved",
        r'tma_gbasis = <"\((\d+),(\d+)',
        lambda m: f'tma_gbasis = <"({m[1]},{int(m[2]) // 2}' if int(m[2]) > 8 else None,
    ),
    Everywhere("map-format-other", r"tma_format = (?:BF16_RN|F16_RN)", lambda m: _swapped(m[0])),
    Everywhere(
        "host-swizzle-other",
        r'composed_layout<"S<3,4,3>|(?<=!cute\.swizzle<")S<3,4,3>',
        lambda m: m[0].replace("S<3,4,3>", "S<2,4,3>") if m[0].startswith("comp") else None,
    ),
    Everywhere("kernel-swizzle-other", r"smem, align<1024>, S<3,4,3>", lambda m: m[0].replace("3,4,3", "2,4,3")),
    Everywhere("memory-too-large", r'memref<i8, smem, align<1024>, "2\d{5}:1"', lambda m: m[0].replace('"2', '"4')),
    Line("k-block-of-b-shifted", _next_k),
)


def _swapped(text: str) -> str:
    """f16 for bf16, and the other way."""
    names = {"f16": "bf16", "bf16": "f16", "F16_RN": "BF16_RN", "BF16_RN": "F16_RN"}
    return re.sub(r"\b(?:bf16|f16|BF16_RN|F16_RN)\b", lambda m: names[m[0]], text)


# What is found at another place than where it was planted: a type that all uses spell is an alias far from them.
ELSEWHERE = {"mma-element-other", "kernel-swizzle-other", "host-swizzle-other", "memory-too-large", "basis-rows-halved"}
# What no join sees: maps of the output, whose memory threads write, have no second text that says their type.
UNSEEN = {"map-type-other", "map-type-wider", "map-box-width-halved"}
