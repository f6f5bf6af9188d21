"""The cheapest choice among insertions that the verifier takes, by an implicit hitting set.

Which choices are enough only the verifier knows, and it is asked about one at a time. What it says of one that is not
enough holds for many: operations only add order, so no choice that is as weak everywhere is enough either. Z3 keeps
these clauses and proposes the cheapest choice that none of them rules out. The first one that the verifier takes is
therefore as cheap as any can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import z3

_SECONDS = 2.0  # for one proposal
_PROPOSALS = 400


def cheapest(
    strongest: Sequence[int], heavy: Sequence[bool], enough: Callable[[tuple[int, ...]], bool]
) -> tuple[int, ...] | None:
    """The strength of each operation: the fewest operations first, then the weakest.

    Args:
        strongest: the strength that each may have at most; 0 is that it is not there.
        heavy: whether its strength counts beyond its being there.
        enough: whether a choice is enough; of a choice that is, every stronger one is too.

    Returns:
        None where the budget did not suffice, or no choice is enough.
    """
    optimiser = z3.Optimize()
    optimiser.set("timeout", int(1000 * _SECONDS))
    strengths = [z3.Int(f"strength{i}") for i in range(len(strongest))]
    for one, most in zip(strengths, strongest, strict=True):
        optimiser.add(one >= 0, one <= most)
    optimiser.minimize(_sum(z3.If(one > 0, 1, 0) for one in strengths))
    optimiser.minimize(_sum(one for one, counts in zip(strengths, heavy, strict=True) if counts))
    for _ in range(_PROPOSALS):
        if optimiser.check() != z3.sat:
            return None
        model = optimiser.model()
        proposal = tuple(model.eval(one, model_completion=True).as_long() for one in strengths)
        if enough(proposal):
            return proposal
        optimiser.add(z3.Or([one > held for one, held in zip(strengths, proposal, strict=True)]))
    return None


def _sum(terms: Iterable[z3.ArithRef]) -> z3.ArithRef:
    return z3.Sum([z3.IntVal(0), *terms])
