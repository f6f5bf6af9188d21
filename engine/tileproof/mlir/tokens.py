"""MLIR text to tokens, brackets paired and the beginnings of statements marked.

One regular expression cuts the tokens; a dialect type with all its parameters is one of them. Where a statement of the
custom form ends is a question that only the operation's own parser can answer in MLIR. Here the line break decides: a
new statement starts at a line whose first token can start one, unless the line before ends in a token that must go on
(a comma, a colon, an arrow). MLIR's printer writes one operation a line.
"""

from __future__ import annotations

import re

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field
from tileproof.base.source import Span

_STRING = r'"(?>[^"\\\n]|\\.)*+"'
_ANGLE = r"<(?>[^<>\"\-]++|->|-|" + _STRING + r")*+>"
for _ in range(5):
    _ANGLE = r"<(?>[^<>\"\-]++|->|-|" + _STRING + r"|" + _ANGLE + r")*+>"

VALUE, WORD, TYPE, ATTRIBUTE, STRING, NUMBER, SYMBOL, LABEL, ARROW, OPEN, CLOSE, PUNCTUATION = range(1, 13)
_COMMENT, _NEWLINE, _BAD = 13, 14, 15

_TOKEN = regex(
    r"[ \t\r\f\v]*+(?:"
    r"(%(?>[A-Za-z_$.][\w$.\-]*+|\d++)(?:\#\d++)?)"
    rf"|([A-Za-z_][\w$.]*+(?:{_ANGLE})?+)"
    rf"|(![A-Za-z_][\w$.]*+(?:{_ANGLE})?+)"
    rf"|(\#[A-Za-z_][\w$.\-]*+(?:{_ANGLE})?+)"
    rf"|({_STRING})"
    r"|(-?\d++(?:\.\d*+(?:[eE][-+]?\d++)?)?\w*+)"
    rf"|(@(?:{_STRING}|[\w$.\-]++))"
    r"|(\^[\w$.\-]++)"
    r"|(->)"
    r"|([(\[{<])"
    r"|([)\]}>])"
    r"|(::|\.\.\.|[,=:*+?|&~!\-]|/(?!/))"
    r"|(//[^\n]*+|\{-\#(?s:.)*?\#-\})"
    r"|(\n\s*+)"
    r"|(\S)"
    r")",
    re.ASCII,
)
_CLOSES = {"(": ")", "[": "]", "{": "}", "<": ">"}
_GOES_ON = {",", ":", "=", "->", "(", "[", "<", "to", "into"}
_CONTINUES = {"to", "into", "attributes", "step", "iter_args", "from", "in", "do", "else", "loc", "outs", "ins"}


@dataclass(frozen=True, slots=True)
class Fault:
    """A place where the text is not MLIR."""

    message: str
    span: Span


@dataclass(slots=True)
class Tokens:
    """The tokens of a text as parallel lists.

    Attributes:
        leads: whether a token is the first on its line.
        match: from an opening bracket to its closing one; a bracket without partner is not there.
        types: each distinct dialect type, with the offset of its first occurrence.
    """

    text: str
    kinds: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    leads: list[bool] = field(default_factory=list)
    match: dict[int, int] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)
    comments: list[tuple[int, str]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def tokenise(text: str) -> Tokens:
    """Split a text into tokens. Text that is not a token of MLIR becomes a fault."""
    tokens = Tokens(text)
    kinds, starts, ends, words, leads = tokens.kinds, tokens.starts, tokens.ends, tokens.words, tokens.leads
    types = tokens.types
    lead = True
    for found in _TOKEN.finditer(text):
        kind = found.lastindex
        if kind is None or kind >= _COMMENT:
            if kind == _NEWLINE:
                lead = True
            elif kind == _COMMENT:
                tokens.comments.append((found.start(kind), found[kind]))
            elif kind == _BAD:
                bad = found.span(kind)
                if tokens.faults and tokens.faults[-1].span.end == bad[0]:  # one fault for a run of them
                    tokens.faults[-1] = Fault(tokens.faults[-1].message, Span(tokens.faults[-1].span.start, bad[1]))
                else:
                    tokens.faults.append(Fault(_bad_character(found[kind]), Span(*bad)))
            continue
        start, end = found.span(kind)
        word = found[kind]
        kinds.append(kind)
        starts.append(start)
        ends.append(end)
        words.append(word)
        leads.append(lead)
        lead = False
        if (kind == TYPE or (kind == ATTRIBUTE and word.startswith("#cute."))) and word not in types:
            types[word] = start
    return tokens


def _bad_character(character: str) -> str:
    if character == '"':
        return "a string is not closed on its line"
    return f"unexpected character {character!r}"


def match_brackets(tokens: Tokens) -> None:
    """Pair brackets, and report unmatched ones. A line that starts a statement closes what was left open."""
    stack: list[int] = []
    kinds, words, leads, match = tokens.kinds, tokens.words, tokens.leads, tokens.match

    def unclosed(token: int) -> None:
        span = Span(tokens.starts[token], tokens.ends[token])
        tokens.faults.append(Fault(f"'{words[token]}' is never closed", span))

    for i, kind in enumerate(kinds):
        if leads[i] and stack and words[stack[-1]] != "{" and starts_statement(tokens, i, inside=True):
            while stack and words[stack[-1]] != "{":
                unclosed(stack.pop())
        if kind == OPEN:
            stack.append(i)
        elif kind == CLOSE:
            if words[i] == "}":
                while stack and words[stack[-1]] != "{":
                    unclosed(stack.pop())
            if stack and _CLOSES[words[stack[-1]]] == words[i]:
                match[stack.pop()] = i
            else:
                span = Span(tokens.starts[i], tokens.ends[i])
                tokens.faults.append(Fault(f"unmatched '{words[i]}'", span))
    if stack:  # one cause: the text ends too early
        around = f", nor are {len(stack) - 1} around it" if len(stack) > 1 else ""
        span = Span(tokens.starts[stack[-1]], tokens.ends[stack[-1]])
        tokens.faults.append(Fault(f"'{words[stack[-1]]}' is never closed{around}", span))


def starts_statement(tokens: Tokens, i: int, inside: bool = False, after_fault: bool = False) -> bool:
    """Whether token ``i``, the first of its line, starts a statement.

    Args:
        inside: within brackets, where less is sure.
        after_fault: after a broken statement, whose last token does not determine the next one.
    """
    kinds, words = tokens.kinds, tokens.words
    if i and words[i - 1] in _GOES_ON and not after_fault:
        return False
    kind, count = kinds[i], len(kinds)
    if kind == VALUE:
        j = i + 1
        while j < count:
            if words[j] == "=":
                return True
            if (words[j], kinds[min(j + 1, count - 1)]) not in ((":", NUMBER), (",", VALUE)):
                return False
            j += 2
        return False
    following = words[i + 1] if i + 1 < count else ""
    if kind == STRING:
        return following == "("
    if kind == WORD:
        word = words[i]
        if inside:
            return "." in word and following != "="
        return word not in _CONTINUES and (following != "=" or "." in word)
    if kind in (TYPE, ATTRIBUTE):
        return following == "=" and not inside
    return kind == LABEL and not inside
