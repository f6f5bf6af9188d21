"""How a claim is decided: by algebra or enumeration, then by a counterexample among small values, then by Z3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tileproof.base.records import replace
from tileproof.base.verdict import Known, Proved, Refuted, Unknown, Verdict
from tileproof.prove.maps import TooLarge
from tileproof.prove.script import Script, values_of
from tileproof.prove.symbols import LeafFacts, Number, Values, at

SMALL = 1 << 14
"""The largest instance that is searched for a counterexample before Z3 is asked."""
LARGE = 1 << 20
"""The largest instance to which a counterexample of Z3 is made smaller."""
SHRUNK, SHRINKING = 120, 4
"""How many smaller instances are tried for that, and how often each leaf in turn."""
INSTANCES = 1500
WORK = 1 << 22
"""Coordinates that are enumerated over all values of dynamic leaves together, where these are all there are."""
SEARCH = 1 << 17
"""Coordinates that are enumerated in search of a counterexample."""
SOON = 0.1
"""Seconds that Z3 has to prove a claim before a counterexample near the least values is sought."""
BOUNDS = (8, 64, 1024)
"""How far from the least values Z3 seeks a counterexample before it may be anywhere."""


class Claim(Protocol):
    """A statement about layouts whose dynamic leaves have any values that the facts admit."""

    @property
    def facts(self) -> LeafFacts: ...

    @property
    def statement(self) -> str:
        """What is claimed, in one sentence without a full stop."""

    @property
    def size(self) -> Number:
        """The number of coordinates."""

    def settled(self) -> Verdict | None:
        """The verdict of algebra or enumeration; None where they leave it open. May raise ``TooLarge``."""

    def at(self, values: Values) -> Claim:
        """The claim where the dynamic leaves have these values: a static one."""

    def script(self) -> Script:
        """A question that is satisfiable exactly where the claim is false."""

    def replayed(self, model: Mapping[str, int]) -> Refuted | None:
        """The counterexample of a solver, worked out on plain integers; None where it is none. Static claims only."""


def decide(claim: Claim, seconds: float) -> Verdict:
    """The verdict, within the time that Z3 may spend."""
    facts = claim.facts
    if (fault := facts.fault()) is not None:
        return Unknown(f"there is nothing to prove: {fault}")
    try:
        verdict = claim.settled()
    except TooLarge:
        verdict = None
    if verdict is None and facts.symbols:
        verdict = _by_values(claim)
    if verdict is None:
        return _by_solver(claim, seconds)
    if isinstance(verdict, Proved) and facts.assumptions and next(facts.some(1), None) is None:
        return _not_vacuous(facts, seconds) or verdict
    return verdict


def for_all(facts: LeafFacts) -> str:
    """``for all ?m % 16 == 0, ?n with ?n >= ?m``, with a space before; empty where nothing is dynamic."""
    if not facts.symbols:
        return ""
    given = f" with {', '.join(facts.texts)}" if facts.texts else ""
    return f" for all {', '.join(str(one) for one in facts.symbols if not one.hidden)}{given}"


def _by_values(claim: Claim) -> Verdict | None:
    """A counterexample among small values; or a proof, where all values there are can be tried."""
    facts = claim.facts
    everything = facts.everything()
    work = tried = 0
    for values in everything if everything is not None else facts.some(INSTANCES):
        size = at(claim.size, values)
        work += size
        if work > (SEARCH if everything is None else WORK):
            return None
        if everything is None and size > SMALL:
            work -= size
            continue
        try:
            verdict = claim.at(values).settled()
        except TooLarge:
            verdict = None
        if isinstance(verdict, Refuted):
            return replace(verdict, counterexample={**facts.shown(values), **verdict.counterexample})
        if everything is not None and not isinstance(verdict, Proved):
            return None
        tried += 1
    if everything is None:
        return None
    if tried == 0:
        return Unknown("there is nothing to prove: no values satisfy the assumptions")
    return Proved("enumeration", claim.statement + for_all(facts), {"values tried": tried})


def _by_solver(claim: Claim, seconds: float) -> Verdict:
    from tileproof.evaluate.solver import Answer, solve  # noqa: PLC0415 - most questions need no solver

    script = claim.script()
    model: Mapping[str, int] | None = None
    if claim.facts.symbols:
        # Most of what comes here is true and soon proved: then there is nothing near to seek.
        if solve(script.text(), (), min(SOON, seconds / 4))[0] is Answer.UNSATISFIABLE:
            return _by_z3(claim, seconds)
        model = _near(script, seconds / 2)
    if model is None:
        left = seconds / 2 if claim.facts.symbols else seconds
        answer, model, reason = solve(script.text(), script.variables, left)
        if answer is Answer.UNKNOWN:
            return Unknown(f"Z3 gave no answer within {seconds:g} s ({reason}); increase --timeout")
        if answer is Answer.UNSATISFIABLE:
            return _by_z3(claim, seconds)
    values = values_of(model, claim.facts)
    refuted = claim.at(values).replayed(model)
    if refuted is None:
        return Unknown("the counterexample of Z3 does not hold on integers: please report this")
    smaller = shrunk(claim, values) if claim.facts.symbols else None
    if smaller is not None:
        return replace(smaller, by="z3")
    return replace(refuted, by="z3", counterexample={**claim.facts.shown(values), **refuted.counterexample})


def _by_z3(claim: Claim, seconds: float) -> Verdict:
    """The verdict where Z3 says that nothing contradicts the claim."""
    vacuous = _not_vacuous(claim.facts, seconds) if claim.facts.assumptions else None
    return vacuous or Proved("z3", claim.statement + for_all(claim.facts), {})


def _near(script: Script, seconds: float) -> Mapping[str, int] | None:
    """A counterexample among small values of the dynamic leaves, if Z3 finds one in time."""
    from tileproof.evaluate.solver import Answer, solve  # noqa: PLC0415

    for bound in BOUNDS:
        answer, model, _ = solve(script.text(script.around(bound)), script.variables, seconds / len(BOUNDS))
        if answer is Answer.SATISFIABLE:
            return model
        if answer is Answer.UNKNOWN:
            return None
    return None


def shrunk(claim: Claim, values: Values) -> Refuted | None:
    """A counterexample with smaller values of the dynamic leaves than these, one leaf after the other.

    Returns:
        None where no smaller ones were found, as where so many coordinates cannot be enumerated.
    """
    facts, best, found, tried = claim.facts, dict(values), None, 0
    for _ in range(SHRINKING):
        before = dict(best)
        for name in facts.free:
            low, high = facts.least(name) - 1, best[name]
            while high - low > 1 and tried < SHRUNK:
                middle = (low + high) // 2
                tried += 1
                other = facts.with_value(best, name, middle)
                verdict = None if other is None else _instance(claim, other, LARGE)
                if other is not None and verdict is not None:
                    best, found, high = other, verdict, middle
                else:
                    low = middle
        if best == before:
            break
    return found


def _instance(claim: Claim, values: Values, largest: int) -> Refuted | None:
    """The refutation of the claim at some values, told with them; None where it holds there or is too large."""
    if at(claim.size, values) > largest:
        return None
    try:
        verdict = claim.at(values).settled()
    except TooLarge:
        return None
    if not isinstance(verdict, Refuted):
        return None
    return replace(verdict, counterexample={**claim.facts.shown(values), **verdict.counterexample})


def _not_vacuous(facts: LeafFacts, seconds: float) -> Unknown | None:
    """Why a proof would be empty, where no values satisfy the assumptions."""
    if next(facts.some(1), None) is not None:
        return None
    from tileproof.evaluate.solver import Answer, solve  # noqa: PLC0415

    script = Script(facts, ())
    answer, _, reason = solve(script.text(), script.variables, seconds)
    if answer is Answer.SATISFIABLE:
        return None
    if answer is Answer.UNSATISFIABLE:
        return Unknown("there is nothing to prove: the assumptions contradict each other")
    return Unknown(f"Z3 found no values that satisfy the assumptions in {seconds:g} s ({reason})")


Told = dict[str, Known]
