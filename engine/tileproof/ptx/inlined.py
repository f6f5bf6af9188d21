"""The places in sources that ``.loc`` directives name, and the calls that they were inlined at.

A directive says of an inlined place only where the call stands, as file, line and column; where that call was inlined
itself, its own directive says. One place stands for as many calls as the function around it was inlined times. LLVM
names the call, with what it is inlined at, just before the first place that is inlined there, and not again: what
scheduling mixes in later is told apart by the function around the call, as it was then.
"""

from __future__ import annotations

from tileproof.base.records import dataclass, field


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a source that PTX was compiled from, as ``.loc`` says it.

    Attributes:
        file: the number of a ``.file`` directive.
        function: the one that was inlined, of which it is a part, as the text names it; empty where it was not.
        inlined: file, line and column of the call that this was inlined at; None where it was not.
        caller: which place of the module that call is; negative where none is known.
    """

    file: int
    line: int
    column: int
    function: str
    inlined: tuple[int, int, int] | None
    caller: int


@dataclass(slots=True)
class Calls:
    """Finds the call of each place, as they come in the text.

    Attributes:
        places: those that were named; each new one is added.
        latest: the last of them at a place, by the function that it is a part of, and under None that of any.
        around: the function around a call, by the function that was inlined there and the place of the call; of several
            the one that was named last just before.
    """

    places: list[Place]
    latest: dict[tuple[int, int, int], dict[str | None, int]] = field(default_factory=dict)
    around: dict[tuple[str, tuple[int, int, int]], str] = field(default_factory=dict)

    def add(self, file: int, line: int, column: int, function: str, inlined: tuple[int, int, int] | None) -> int:
        """Add a place; its index."""
        caller = -1
        if inlined is not None and inlined in self.latest:
            near, called = self.latest[inlined], (function, inlined)
            if near[None] == len(self.places) - 1 or called not in self.around:
                self.around[called] = self.places[near[None]].function
            caller = near.get(self.around[called], near[None])
        here = self.latest.setdefault((file, line, column), {})
        here[function] = here[None] = len(self.places)
        self.places.append(Place(file, line, column, function, inlined, caller))
        return len(self.places) - 1


__all__ = ["Calls", "Place"]
