"""Two contracts compared on one schema by Z3: what one accepts and a rule of the other rejects."""

from __future__ import annotations

from tileproof.base.diagnostic import Severity
from tileproof.evaluate.solver import Answer, Question
from tileproof.evaluate.z3 import Encoder, Formula
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar


class Comparison:
    """One schema in two contracts: which configurations one accepts that a rule of the other rejects."""

    def __init__(self, book: Rulebook, schema: str, accepting: str, rejecting: str, seconds: float) -> None:
        self.encoder = Encoder(book.under(rejecting), schema)
        other = Encoder(book.under(accepting), schema)
        self.accepted = [
            other.reading(rule).kept
            for rule in book.rules_on(schema, accepting, inherited=True)
            if rule.severity is Severity.ERROR
        ]
        self.question = Question(self.encoder, seconds)

    def plainest(self, wanted: list[Formula]) -> dict[str, Scalar]:
        """A solution that differs from the schema's instance in as few facts as a greedy search finds; those facts."""
        kept: dict[str, Scalar] = {}
        for name, value in self.encoder.schema.instance.items():
            trial = {**kept, name: value}
            if self.question.ask(*wanted, self.encoder.assigned(trial)).answer is Answer.SATISFIABLE:
                kept = trial
        model = self.question.ask(*wanted, self.encoder.assigned(kept)).model
        return {name: value for name, value in model.items() if name not in kept}


def shown_facts(facts: dict[str, Scalar]) -> str:
    """Facts as a rule file writes them."""
    return "{" + ", ".join(f"{name} = {value}" for name, value in facts.items()) + "}"
