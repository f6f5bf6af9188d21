"""``explain``: what a rule demands and why, in words and by example, and where that is written down."""

from __future__ import annotations

import json
from typing import Any

from tileproof.base.patterns import regex
from tileproof.base.source import Span
from tileproof.base.spelling import get_close_matches
from tileproof.checking.examples import Written, written
from tileproof.dialects.configuration import Facts
from tileproof.evaluate.python import judge_for
from tileproof.judge.messages import render
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import HARDWARE, Example, Finding, Rule
from tileproof.rulebase.explain import contract_of
from tileproof.rulebase.expression import Expression
from tileproof.rulebase.resolve import MESSAGE_FUNCTIONS, PLACEHOLDER

_COMMENT = regex(r"#[^\n]*")


def find(book: Rulebook, name: str) -> Rule | Finding | None:
    """What has this code or name, now or before, in any case of letters."""
    return book.named(name.upper()) or book.named(name.lower())


def nearest(book: Rulebook, name: str) -> tuple[str, ...]:
    """The codes and names that are most like a text, at most four."""
    documented = book.documented()
    if near := get_close_matches(name.upper(), documented, 4, 0.6):
        return tuple(near)
    return tuple(get_close_matches(name.lower(), [item.name for item in documented.values()], 4, 0.3))


def as_text(book: Rulebook, item: Rule | Finding) -> str:
    """The explanation of a rule or finding, for people."""
    said = content(book, item)
    lines = [f"{item.code} {item.name} ({item.severity.value})", "", said["message"]]
    lines += [f"Hint: {said['hint']}"] if said["hint"] else []
    lines += ["", f"Why: {item.why}"] if item.why else []
    if isinstance(item, Rule):
        lines += ["", f"  On {item.schema}, {'contract ' + item.contract if item.contract else 'both contracts'}"]
        if item.replaces:
            lines.append(f"  On '{item.schema}' instead of {', '.join(item.replaces)}")
        if item.refines:
            lines.append(f"  Silent where one of {', '.join(item.refines)} reports")
        lines += [f"  {word.capitalize()}: {said[word]}" for word in ("when", "require") if said[word]]
        lines.append("")
        lines += _shown("Wrong", said["wrong"]) + _shown("Right", said["right"])
    lines.append("")
    for source in said["sources"]:
        lines += [f"Source: {source['text']}"] + [f"  {source['url']}"] * bool(source["url"])
    lines += ["", f"Silence one line with  // tileproof: ignore[{item.code}] reason"]
    return "\n".join(lines)


def as_json(book: Rulebook, item: Rule | Finding) -> str:
    """The explanation as a JSON object: ``when``, ``require`` and the examples are null for findings."""
    return json.dumps(content(book, item), indent=2)


def condition(rule: Rule, expression: Expression) -> str:
    """An expression of a rule as its file has it, on one line and without comments."""
    start, end = expression.span
    return " ".join(_COMMENT.sub("", rule.place.source.text[start:end]).split())


def content(book: Rulebook, item: Rule | Finding) -> dict[str, Any]:
    """The explanation as values, those of ``as_json``."""
    rule = item if isinstance(item, Rule) else None
    wrong, right = written(book, rule) if rule else (None, None)
    return {
        "code": item.code,
        "name": item.name,
        "severity": item.severity.value,
        "contract": contract_of(item),
        "schema": rule.schema if rule else None,
        "message": _filled(book, item, item.message),
        "hint": _filled(book, item, item.hint),
        "why": item.why,
        "when": condition(rule, rule.when) if rule and rule.when is not None else None,
        "require": condition(rule, rule.require) if rule else None,
        "replaces": list(rule.replaces) if rule else [],
        "refines": list(rule.refines) if rule else [],
        "wrong": _example(book, rule, rule.failing, wrong) if rule else None,
        "right": _example(book, rule, rule.passing, right) if rule else None,
        "sources": [{"text": one.text, "url": one.url or None} for one in item.citations],
    }


def _filled(book: Rulebook, item: Rule | Finding, text: str) -> str:
    """A message or a hint with the values of a failing example; where there are none, with the names of the facts."""
    if isinstance(item, Rule) and text:
        judge = judge_for(book.under(item.contract or HARDWARE), item.schema)
        for example in item.failing[:2]:
            values = {**book.schemas[item.schema].instance, **example.facts}
            if shown := render(judge, item, text, Facts(item.schema, values, {}, {}, Span(0, 0))):
                return shown
    return PLACEHOLDER.sub(lambda match: _in_words(match[1]), text)


def _in_words(placeholder: str) -> str:
    """``nearest(N)`` as ``a legal N``, ``version(ptx)`` as ``ptx``, a finding's ``threads`` as ``<threads>``."""
    function, _, argument = placeholder.rstrip(")").partition("(")
    return f"a legal {argument}" if function in MESSAGE_FUNCTIONS else f"<{argument or placeholder}>"


def _example(book: Rulebook, rule: Rule, examples: tuple[Example, ...], shown: Written | None) -> dict[str, Any] | None:
    """An example as text, or as facts where the rule is about neither instructions nor atoms."""
    if not examples:
        return None
    if shown is None:
        return {"text": None, "where": None, "facts": _facts(book, rule, examples[0])}
    return {"text": shown.text, "where": shown.where, "facts": None}


def _facts(book: Rulebook, rule: Rule, example: Example) -> dict[str, int | str]:
    """The facts that decide the rule, those of the example first."""
    instance = book.schemas[rule.schema].instance
    facts = {**example.facts, **{name: instance[name] for name in sorted(rule.facts) if name not in example.facts}}
    return {name: value.removeprefix(".") if isinstance(value, str) else value for name, value in facts.items()}


def _shown(word: str, example: dict[str, Any] | None) -> list[str]:
    if example is None:
        return []
    if example["text"]:
        return [f"  {word}, on {example['where']}:", f"    {example['text']}"]
    return [f"  {word}: " + ", ".join(f"{name} = {value}" for name, value in example["facts"].items())]
