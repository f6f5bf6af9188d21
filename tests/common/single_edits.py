"""Every instruction that one edit makes of another: what the least repair of an illegal one is held against.

An edit replaces, drops or adds one modifier or one operand. Nothing here knows what is legal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tileproof.ptx.opcode import ptx_spellings
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import EnumOrigin, FlagOrigin
from tileproof.suggesting.nearest import distance

_NUMBERS = (4, 8, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 224, 256)
_OPERAND = re.compile(r"\s*(\{[^{}]*\}|\[(?:[^\[\]{}]|\{[^{}]*\})*\]|[^,{}\[\]]+)\s*(?:,|$)")
_TUPLES = (1, 2, 4, 8)


def pieces(text: str) -> tuple[str, list[str], list[str]]:
    """Guard with name of the instruction, modifiers and operands of an instruction."""
    guard = re.match(r"\s*(@\s*!?\s*[%\w]+\s+)?", text)
    assert guard is not None
    rest = text[guard.end() :].rstrip().rstrip(";")
    opcode, _, body = rest.strip().partition(" ")
    words = opcode.split(".")
    return (guard[1] or "") + words[0], words[1:], [one.strip() for one in _OPERAND.findall(body.strip())]


def edits(before: str, after: str) -> int:
    """How many modifiers and operands one instruction differs in from another."""
    name, modifiers, operands = pieces(before)
    name2, modifiers2, operands2 = pieces(after)
    return int(name != name2) + distance(modifiers, modifiers2) + distance(operands, operands2)


def _joined(name: str, modifiers: Sequence[str], operands: Sequence[str]) -> str:
    opcode = ".".join([name, *modifiers])
    return f"{opcode} {','.join(operands)};" if operands else f"{opcode};"


def vocabulary(book: Rulebook, text: str) -> list[str]:
    """The modifiers of all declarations whose names an opcode begins with, without shapes."""
    words = []
    opcode = text.split()[1 if text.lstrip().startswith("@") else 0].rstrip(";")
    for name, declarations in book.instructions.items():
        if opcode == name or opcode.startswith(name + "."):
            for one in declarations:
                words += [flag.modifier[1:] for flag in one.always] + [selector[1:] for selector in one.selectors]
                for clause in one.modifiers:
                    if isinstance(clause.origin, EnumOrigin):
                        words += [spelled[1:] for spelled in ptx_spellings(book, clause.origin.enum)]
                    elif isinstance(clause.origin, FlagOrigin):
                        words.append(clause.origin.modifier[1:])
    return list(dict.fromkeys(words))


def single_edits(book: Rulebook, text: str) -> Iterator[str]:
    """The instructions that differ from one in one modifier or one operand."""
    name, modifiers, operands = pieces(text)
    known = vocabulary(book, text)
    for i, word in enumerate(modifiers):
        yield _joined(name, modifiers[:i] + modifiers[i + 1 :], operands)
        others = list(known)
        numbers = list(re.finditer(r"\d+", word)) if re.fullmatch(r"m\d+n\d+k\d+", word) else []
        others += [word[: n.start()] + str(value) + word[n.end() :] for n in numbers for value in _NUMBERS]
        for other in others:
            if other != word:
                yield _joined(name, [*modifiers[:i], other, *modifiers[i + 1 :]], operands)
    for i in range(len(modifiers) + 1):
        for other in known:
            yield _joined(name, [*modifiers[:i], other, *modifiers[i:]], operands)
    letters = "rfdlhp"
    plain = (
        [f"{letter}250" for letter in letters]
        + [f"[{letter}250]" for letter in "rl"]
        + [str(n) for n in (0, 1, 2, 4, 8, 16)]
    )
    plain += ["{" + ",".join(f"{letter}{250 + k}" for k in range(count)) + "}" for letter in "rfd" for count in _TUPLES]
    for i, operand in enumerate(operands):
        yield _joined(name, modifiers, operands[:i] + operands[i + 1 :])
        others = list(plain)
        if operand.startswith("{"):
            members = [one.strip() for one in operand.strip("{}").split(",")]
            others += ["{" + ",".join(members[:count]) + "}" for count in range(1, len(members))]
            letter = next((one[0] for one in members if one[0] in letters), "r")
            others += [
                "{" + ",".join([*members, *(f"{letter}{250 + k}" for k in range(more))]) + "}"
                for more in (1, 2, 4, 8, 16)
            ]
        for other in others:
            yield _joined(name, modifiers, [*operands[:i], other, *operands[i + 1 :]])
    for i in range(len(operands) + 1):
        for other in plain:
            yield _joined(name, modifiers, [*operands[:i], other, *operands[i:]])
