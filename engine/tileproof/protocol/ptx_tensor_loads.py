"""Where the registers of tcgen05.ld in PTX are first used: there the load is complete, without a wait.

As in the IR (``tmem_liveness``) a kernel waits for its loads (``tcgen05.wait::ld``), or it uses what was loaded: the
registers order the use after the load. Where nothing uses the registers any more it does not matter what they are: on a
path without a use a load counts as complete where that begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import takewhile

from tileproof.base.records import dataclass
from tileproof.ptx.flow import states
from tileproof.ptx.graph import Graph
from tileproof.ptx.names import names_in
from tileproof.ptx.text import operands_of
from tileproof.ptx.values import written

LOAD, _WAIT = "tcgen05.ld.", "tcgen05.wait::ld."
_NONE: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Use:
    """A place from which on a load is complete.

    Attributes:
        block: where it is.
        place: the number of the instruction that comes next; that behind the last one for the end of the block.
        load: the number of the load.
    """

    block: int
    place: int
    load: int


def first_uses(graph: Graph) -> list[Use]:
    """Where loads are complete without a wait, in textual order."""
    instructions, function = graph.module.instructions, graph.function
    if not any(instructions[i].opcode.startswith(LOAD) for i in range(function.first, function.last)):
        return []
    return sorted(_Loads(graph).uses(), key=lambda use: (use.block, use.place, use.load))


def where_kept(
    graph: Graph, uses: Sequence[Use], edges: Mapping[int, Sequence[int]], kept: Set[int]
) -> dict[int, list[Use]]:
    """The same by the blocks of a slice, in their order. What is in no such block, or in a loop of one block, which may
    be a wait, is at the end of the last one that all paths to there go through.

    Args:
        edges: the blocks that are left, with their successors.
        kept: the numbers of the instructions that are: no thread comes to another load.
    """
    uses = [use for use in uses if use.load in kept]
    if not uses:
        return {}
    homes = {i: block.number for block in graph.blocks for i in range(block.first, block.last)}
    found: dict[int, dict[Use, None]] = {}
    for use in uses:
        block, home = use.block, homes[use.load]
        while (block not in edges or block in edges[block]) and block != graph.dominators[block]:
            block = graph.dominators[block]
        place = use.place
        if block != use.block:
            behind = graph.dominates(home, block)
            block, place = (block, graph.blocks[block].last) if behind else (home, use.load + 1)
        found.setdefault(block, {})[Use(block, place, use.load)] = None
    return {block: sorted(mine, key=lambda use: use.place) for block, mine in found.items()}


@dataclass(frozen=True, slots=True)
class _Event:
    """What an instruction means to the loads before it; registers are bits.

    Attributes:
        completes: the loads that are not in flight behind it.
        uses: those of them whose registers it reads.
        load: its number, where it is one.
    """

    number: int
    completes: frozenset[int]
    uses: frozenset[int] = _NONE
    reads: int = 0
    writes: int = 0
    load: int | None = None

    def after(self, flying: frozenset[int]) -> frozenset[int]:
        """What is in flight behind it."""
        return flying - self.completes | ({self.load} if self.load is not None else _NONE)


class _Loads:
    """The loads of a function, and what may be in flight.

    Attributes:
        bits: of each register that a load writes.
        owners: the loads that write a register.
        targets, registers: of each load what it writes: the names, and their bits.
        events: of each block the loads, the waits, and the instructions that name registers of loads.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.bits: dict[str, int] = {}
        self.owners: dict[str, frozenset[int]] = {}
        self.targets: dict[int, tuple[str, ...]] = {}
        module, function = graph.module, graph.function
        for number in range(function.first, function.last):
            one = module.instructions[number]
            if one.opcode.startswith(LOAD):
                before = takewhile(lambda operand: not operand.address, operands_of(module.operands(one).strip()) or ())
                names = tuple(name for operand in before for part in operand.parts for name in part.names)
                self.targets[number] = names
                for name in names:
                    self.bits.setdefault(name, 1 << len(self.bits))
                    self.owners[name] = self.owners.get(name, _NONE) | {number}
        self.registers = {number: self.mask(names) for number, names in self.targets.items()}
        self.events = [list(self.of_block(block.first, block.last)) for block in graph.blocks]

    def of_block(self, first: int, last: int) -> Iterator[_Event]:
        module, every = self.graph.module, frozenset(self.targets)
        for number in range(first, last):
            one = module.instructions[number]
            if one.opcode.startswith(_WAIT):
                yield _Event(number, every)
            elif number in self.graph.hidden:
                yield _Event(number, every, every)
            elif not self.bits.keys().isdisjoint(names := names_in(body := module.operands(one))):
                targets = self.targets.get(number) or written(self.graph.book, body, one.opcode)
                read = names[len(targets) :]
                writes = 0 if one.guard else self.mask(targets)
                load = number if number in self.targets else None
                yield _Event(number, self.owning(names), self.owning(read), self.mask(read), writes, load)

    def mask(self, names: Iterable[str]) -> int:
        found = 0
        for name in names:
            found |= self.bits.get(name, 0)
        return found

    def owning(self, names: Iterable[str]) -> frozenset[int]:
        return _NONE.union(*(self.owners[name] for name in names if name in self.owners))

    @cached_property
    def live(self) -> dict[int, list[int]]:
        """Of each block the registers that may be read, before each of its events and after the last one."""
        found = {block: [0] * (len(self.events[block]) + 1) for block in self.graph.order}
        changed = True
        while changed:
            changed = False
            for block in reversed(self.graph.order):
                mine = [0]
                for after in self.graph.blocks[block].successors:
                    mine[0] |= found[after][0]
                for event in reversed(self.events[block]):
                    mine.append(mine[-1] & ~event.writes | event.reads)
                changed |= mine[::-1] != found[block]
                found[block] = mine[::-1]
        return found

    def dead(self, flying: Iterable[int], live: int) -> frozenset[int]:
        """Those loads no register of which may be read."""
        return frozenset(one for one in flying if not self.registers[one] & live)

    def move(self, block: int, flying: frozenset[int]) -> frozenset[int]:
        """What is in flight after a block, of what may still be used where it begins."""
        flying -= self.dead(flying, self.live[block][0])
        for event in self.events[block]:
            flying = event.after(flying)
        return flying

    def uses(self) -> Iterator[Use]:
        """The uses that may be the first of a load, in any order, and where paths begin on which there is none."""
        for block, before in states(self.graph, _NONE, self.move, frozenset.union).items():
            live, begin = self.live[block], self.graph.blocks[block].first
            dead = self.dead(before, live[0])
            yield from (Use(block, begin, one) for one in dead)
            flying = before - dead
            for event, after in zip(self.events[block], live[1:], strict=True):
                if event.load is not None and not self.registers[event.load] & after:
                    yield Use(block, event.number + 1, event.load)
                yield from (Use(block, event.number, one) for one in flying & event.uses)
                flying = event.after(flying)


__all__ = ["LOAD", "Use", "first_uses", "where_kept"]
