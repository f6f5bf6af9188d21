"""Claims about fragments as questions for a solver: ``--smt2`` of ``prove fragment`` and ``prove gemm``."""

from __future__ import annotations

from math import prod

from tileproof.evaluate.fragments import FragmentOperand, Fragments
from tileproof.layout import Layout, size
from tileproof.layout.basics import flat_modes, modes
from tileproof.prove import questions, reach
from tileproof.prove.parse import read
from tileproof.prove.reach import How, Reaches
from tileproof.prove.script import Script, any_of, differs, literal
from tileproof.prove.symbols import LeafFacts


def covering(operand: FragmentOperand) -> Reaches:
    """That every element of the tile is held once apart from the stated broadcast; of a part of it, none twice."""
    whole = operand.layout if operand.tile else operand.flat
    moving = [(extent, stride) for extent, stride in flat_modes(whole) if stride != 0]
    extents, steps = zip(*moving, strict=True) if moving else ((1,), (0,))
    held = Layout(extents, steps)
    tile = operand.tile or (size(held),)
    how = How.AT_MOST_ONCE if operand.partial else How.ONCE
    return reach.covers(read(held), tile, f"{operand.role}, {' x '.join(map(str, tile))}", how)


def agreeing(own: Layout, operand: FragmentOperand) -> Script:
    """That a layout of one's own, to the numbers of elements, is the operand's."""
    return questions.equivalent(own, operand.flat).script()


def multiplying(found: Fragments) -> Script:
    """That A, B and C of an MMA form a GEMM, as ``prove.fragments.gemm`` has it.

    Raises:
        KeyError: the fragment of A, B or C is not known.
        Missing: this is not an MMA with known M, N and K.
    """
    m, n, k = found.shape()
    a, b, c = (found.operands[role] for role in "ABC")
    kept = a.tile[1] if len(a.tile) > 1 else 0
    script = Script(LeafFacts(), (f"A, B and C are a gemm of {m} x {n} x {k}", "satisfiable: they are not"))
    products = k // 2 if "E" in found.operands and kept != k else k
    wanted = ((a, (m, products)), (b, (n, k)), (c, (m, n)))
    faults = [
        _unlike(script, have, want) for held, both in wanted for have, want in zip(_plane(held), both, strict=True)
    ]
    faults += [_unlike(script, prod(a.tile[2:]), prod(held.tile[2:])) for held in (b, c)]
    for role in ("A", "B", "C", "E", "SFA", "SFB"):
        if role in found.operands:
            faults.append(covering(found.operands[role]).fails(script, f"{role.lower()}_"))
    script.require(any_of(faults))
    return script


def composing(a: Layout, b: Layout, d: Layout) -> Script:
    """That three layouts form a GEMM, as ``prove.fragments.composes`` has it.

    Raises:
        ValueError: extents are dynamic, and not the same.
    """
    script = Script(LeafFacts(), (f"A: {a}, B: {b} and D: {d} are a gemm", "satisfiable: they are not"))
    ranks = [len(modes(layout)) for layout in (a, b, d)]
    if ranks[0] != ranks[1] or not {*ranks} <= {2, 3}:
        script.require("true")
        return script
    (m, k), (n, other_k), (d_m, d_n) = ([size(mode) for mode in modes(layout)[-2:]] for layout in (a, b, d))
    faults = []
    for one, other in ((m, d_m), (n, d_n), (k, other_k)):
        if isinstance(one, int) and isinstance(other, int):
            faults.append(_unlike(script, one, other))
        elif one != other:
            raise ValueError("the extents are dynamic and differ: no query to write")
    script.require(any_of(faults))
    return script


def _plane(operand: FragmentOperand) -> tuple[int, ...]:
    """Rows and columns; 0 for a missing one."""
    return (*operand.tile, 0, 0)[:2]


def _unlike(script: Script, one: int, other: int) -> str:
    return differs(script.seen(literal(one)), script.seen(literal(other)))
