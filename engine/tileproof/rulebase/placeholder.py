"""The expression in a placeholder of a message; the parser of rules is imported only where there is one to read."""

from __future__ import annotations

from tileproof.rulebase.expression import Expression


def parsed(text: str) -> Expression:
    """An expression in a placeholder.

    Raises:
        SyntaxFault: the text is not in grammar/rule_expression.lark.
    """
    from tileproof.rulebase.parser import rules  # noqa: PLC0415  see above

    return rules.expression(text)
