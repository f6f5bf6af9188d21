"""Who holds what by the formulas of the PTX ISA, chapter "Matrix fragments": written by hand, one rule for all shapes.

With lane l, group g = l / 4 and t = l % 4, and e elements in a register (one of 64 bits), element i of register r is

- of A: row g + 8 (r % 2) of 16 rows, else g; column e t + i + 4 e (r / 2), with 8 rows e t + i + 4 e r;
- of B: row e t + i + 4 e r of K, column g;
- of C: row g + 8 (r / 2 % 2), column 2 t + r % 2 + 8 (r / 4), with 8 rows row g.

A sparse A has K / 2 columns. A warpgroup's warp w has rows 16 w to 16 w + 15 of A and C.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.base.records import dataclass
from tileproof.layout import crd2idx
from tileproof.prove import fragment_questions
from tileproof.rulebase.book import Rulebook

_DENSE = (
    *("m16n8k4.f32.tf32.tf32.f32", "m16n8k8.f32.tf32.tf32.f32", "m16n8k8.f32.f16.f16.f32"),
    *("m16n8k16.f32.bf16.bf16.f32", "m16n8k16.s32.s8.s8.s32", "m16n8k32.s32.u8.u8.s32", "m16n8k32.f32.e4m3.e5m2.f32"),
    *("m16n8k32.s32.s4.s4.s32", "m16n8k64.s32.u4.u4.s32", "m8n8k16.s32.s8.s8.s32", "m8n8k32.s32.s4.s4.s32"),
    *("m8n8k4.f64.f64.f64.f64", "m16n8k4.f64.f64.f64.f64", "m16n8k8.f64.f64.f64.f64", "m16n8k16.f64.f64.f64.f64"),
)
_SINGLE_BIT = ("m8n8k128", "m16n8k128", "m16n8k256")
_SPARSE = (
    *("m16n8k8.f32.tf32.tf32.f32", "m16n8k16.f32.tf32.tf32.f32", "m16n8k16.f32.f16.f16.f32"),
    *("m16n8k32.f32.bf16.bf16.f32", "m16n8k32.s32.s8.s8.s32", "m16n8k64.s32.u8.u8.s32", "m16n8k64.s32.s4.s4.s32"),
    "m16n8k128.s32.u4.u4.s32",
)
_WARPGROUP = ("m64n8k16.f32.f16.f16", "m64n24k16.f16.f16.f16", "m64n8k8.f32.tf32.tf32", "m64n16k32.s32.s8.s8")
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "s4": 4, "u4": 4, "b1": 1}


@dataclass(frozen=True)
class Held:
    """An operand of an instruction.

    Attributes:
        bits: of an element of A and B; rows: of A.
    """

    opcode: str
    role: str
    bits: int
    rows: int

    def as_rules_say(self, book: Rulebook) -> bool:
        """Whether the rules have each element where the formulas have it."""
        operand = fragment_questions.find(book, self.opcode, "ptx", {}).fragments.operands[self.role]
        threads = 128 if self.rows == 64 else 32
        height, count = operand.tile[0], operand.tile[0] * operand.tile[1] // threads
        for lane in (
            0,
            *(1 << bit for bit in range(threads.bit_length() - 1)),
            threads - 1,
        ):  # a layout adds its digits
            for value in range(count):
                number = crd2idx((lane, value), operand.flat)
                if not isinstance(number, int) or (number % height, number // height) != self.place(lane, value):
                    return False
        return True

    def place(self, lane: int, value: int) -> tuple[int, int]:
        """Row and column of an element of A and C; of B its column first."""
        warp, g, t = lane // 32, lane % 32 // 4, lane % 4
        e = max(1, 32 // self.bits)
        r, i = divmod(value, e)
        if self.role == "C":
            both = self.rows > 8
            return g + 16 * warp + (8 * (value // 2 % 2) if both else 0), 2 * t + value % 2 + 8 * (value // 4)
        if self.role == "B" or self.rows == 8:
            return g, e * t + i + 4 * e * r
        return g + 16 * warp + 8 * (r % 2), e * t + i + 4 * e * (r // 2)


def held() -> Iterator[Held]:
    for name, texts in (("mma.sync.aligned", _DENSE), ("mma.sp::ordered_metadata.sync.aligned", _SPARSE)):
        for shape, types in (text.split(".", 1) for text in texts):
            yield from _operands(f"{name}.{shape}.row.col.{types}", shape, types.split(".")[1], "ABC")
    for shape in _SINGLE_BIT:
        opcode = f"mma.sync.aligned.{shape}.row.col.s32.b1.b1.s32.and.popc"
        yield from _operands(opcode, shape, "b1", "ABC")
    for text in _WARPGROUP:
        shape, _, a, _ = text.split(".")
        yield from _operands(f"wgmma.mma_async.sync.aligned.{text}", shape, a, "AC")


def _operands(opcode: str, shape: str, element: str, roles: str) -> Iterator[Held]:
    rows = int(shape[1:].partition("n")[0])
    for role in roles:
        yield Held(opcode, role, _BITS.get(element, 8), rows)
