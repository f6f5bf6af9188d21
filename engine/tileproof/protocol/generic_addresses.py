"""Loads, stores and atomic operations that name no state space, by whether their address can only be in shared memory.

A compiler writes ``ld.shared`` where it knows the space, and ``ld`` where it does not, such as behind a pointer in a
struct: what is read there is the same. An address is in shared memory where each definition that reaches it comes from
``cvta.shared``, or from ``mapa``, which gives an address in another CTA of the cluster. One that may as well be
elsewhere is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tileproof.base.records import replace
from tileproof.protocol.assembly import Statement
from tileproof.protocol.counterparts import counterpart
from tileproof.ptx.text import Operand
from tileproof.ptx.values import Definition, Values

_SPACES = {"global", "shared", "local", "param", "const", "async", "bulk"}
_ACCESSES = ("ld.", "st.", "atom.", "red.")
_SUMS = {"add", "mad", "and", "or", "xor"}  # of an address and a number the address, perhaps aligned or swizzled
_ELSEWHERE = frozenset({""})

Spaces = frozenset[str]
"""The state spaces that an address may be in: ``shared``, ``shared::cluster``, or the empty text for all others."""


def anywhere(opcode: str) -> bool:
    """Whether an instruction accesses memory through a generic address."""
    return opcode.startswith(_ACCESSES) and _SPACES.isdisjoint(one.partition("::")[0] for one in opcode.split("."))


class GenericAddresses:
    """The generic addresses of a function."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.known: dict[Definition, Spaces] = {}

    def in_shared(self, one: Statement) -> Statement:
        """The access as one of shared memory, where it can be no other; else as it is."""
        if not anywhere(one.opcode):
            return one
        address = next((operand for operand in one.operands or () if operand.address), None)
        found = self.of_operand(one.number, address) if address is not None else _ELSEWHERE
        if "" in found:
            return one
        space = "shared" if found == {"shared"} else "shared::cluster"
        name, _, modifiers = one.opcode.partition(".")
        opcode = f"{name}.{space}.{modifiers}"
        return replace(one, opcode=opcode, same=counterpart(self.values.book, opcode))

    def of_operand(self, number: int, operand: Operand) -> Spaces:
        """The state spaces of what an instruction of a number reads."""
        names = operand.parts[0].names if operand.parts and not operand.parts[0].registers else ()
        if len(names) != 1:
            return _ELSEWHERE
        reaching = self.reaching(number, names[0])
        for definition in reaching:
            if definition not in self.known:
                self.solve(definition)
        return self._joined(reaching, self.known) if reaching else _ELSEWHERE

    def reaching(self, number: int, name: str) -> Sequence[Definition]:
        return sorted(self.values.reaching(number, name, self.values.module.instructions[number].scope))

    def solve(self, root: Definition) -> None:
        """The least solution for a definition and all that it depends on: a register of a loop is where it begins."""
        operands: dict[Definition, list[Sequence[Definition]]] = {}
        users: dict[Definition, list[Definition]] = {}
        todo = [root]
        while todo:
            one = todo.pop()
            if one in operands or one in self.known:
                continue
            operands[one] = [self.reaching(one[0], name) for name in self.sources(one)]
            for other in (other for each in operands[one] for other in each):
                users.setdefault(other, []).append(one)
                todo.append(other)
        found = dict.fromkeys(operands, frozenset[str]())
        waiting = dict.fromkeys(reversed(operands))
        while waiting:
            one = next(iter(waiting))
            del waiting[one]
            held = [self._joined(each, found) if each else _ELSEWHERE for each in operands[one]]
            new = found[one] | self.given(one, held)
            if new != found[one]:
                found[one] = new
                waiting.update(dict.fromkeys(users.get(one, ())))
        self.known |= {one: spaces or _ELSEWHERE for one, spaces in found.items()}

    def _joined(self, definitions: Sequence[Definition], found: Mapping[Definition, Spaces]) -> Spaces:
        return frozenset[str]().union(*(found[one] if one in found else self.known[one] for one in definitions))

    def sources(self, one: Definition) -> list[str]:
        """The registers that an address may come from."""
        opcode = self.values.module.instructions[one[0]].opcode
        name = opcode.partition(".")[0]
        if name not in _SUMS and name not in ("mov", "sub", "selp"):
            return []
        read = self.values.operands(one[0])[1:]
        read = read[:2] if name == "selp" else read
        return [part.names[0] for operand in read for part in operand.parts if len(part.names) == 1]

    def given(self, one: Definition, held: Sequence[Spaces]) -> Spaces:
        """The state spaces of what an instruction writes, from those of its operands so far."""
        opcode = self.values.module.instructions[one[0]].opcode
        name = opcode.partition(".")[0]
        if opcode.startswith("cvta.shared"):
            return frozenset({opcode.split(".")[1].replace("::cta", "")})
        if opcode.startswith("mapa.") and not opcode.startswith("mapa.shared"):
            return frozenset({"shared::cluster"})
        if name in ("mov", "selp") and held:
            return frozenset().union(*held)
        if name == "sub" and len(held) == 2:
            if not held[1]:
                return held[1]  # not known so far
            return held[0] if "" in held[1] else _ELSEWHERE  # the difference of two addresses is a number
        inside = [each for each in held if "" not in each]
        if name in _SUMS and inside:
            return frozenset().union(*inside)
        return _ELSEWHERE


__all__ = ["GenericAddresses", "anywhere"]
