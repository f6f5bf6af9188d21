"""The expression in a placeholder of a message; the parser of rules is imported only where there is one to read."""

from __future__ import annotations

from functools import lru_cache

from tileproof.rulebase.expression import Expression


@lru_cache(maxsize=4096)
def parsed(text: str) -> Expression:
    """An expression in a placeholder; many messages show the same facts.

    Raises:
        SyntaxFault: the text is not in grammar/rule_expression.lark.
    """
    from tileproof.rulebase.parser import rules  # noqa: PLC0415  see above

    return rules.expression(text)
