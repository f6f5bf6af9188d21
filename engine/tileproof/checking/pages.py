"""Rules, atoms, operations and instructions explained in Markdown: what an editor shows over the text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from tileproof.base.diagnostic import Severity
from tileproof.checking import explain
from tileproof.checking.instruction import check_atom, context
from tileproof.dialects.facts import MalformedAtom, atom_facts
from tileproof.dialects.operations import Operations
from tileproof.evaluate.python import Judge
from tileproof.judge import registry
from tileproof.mlir.types import Node
from tileproof.protocol.counterparts import counterpart
from tileproof.ptx.vocabulary import word_of
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import Finding, Rule

_MOST_RULES = 12  # that a page lists


def rule_page(book: Rulebook, item: Rule | Finding) -> str:
    """A rule or a finding: what is wrong, why, by example, and where it is written down."""
    content = json.loads(explain.as_json(book, item))
    blocks = [f"**{item.code}** {item.name} ({item.severity.value})", content["message"]]
    blocks += [f"*Hint:* {content['hint']}"] if content["hint"] else []
    blocks += [f"*Why:* {item.why}"] if item.why else []
    for word in ("wrong", "right"):
        example = content[word]
        if example and example["text"]:
            blocks.append(f"{word.capitalize()}, on {example['where']}:\n```text\n{example['text']}\n```")
    sources = [f"[{one['text']}]({one['url']})" if one["url"] else one["text"] for one in content["sources"]]
    return "\n\n".join([*blocks, *(f"- {one}" for one in sources)])


def instruction_page(ruleset: Ruleset, opcode: str, said: str) -> str | None:
    """An instruction of PTX: what is known of it, and the rules that judge it; None where nothing is known.

    Args:
        said: what the rules say of it here.
    """
    book = ruleset.book
    word = word_of(book, opcode)
    declarations = book.instructions.get(word.name, ())
    if not word.known or not word.name:
        return None
    blocks = [f"**{word.name}**" + ("" if declarations else ": known, and judged by no rule")]
    blocks += [said] if said else []
    same = counterpart(book, opcode)
    if same is not None and not same.computes:
        names = [one.partition(" ")[0] for one in same.operations]
        blocks.append("In the protocol as " + ", then ".join(f"`{name}`" for name in names) + _step(book, names[0]))
    schemas = dict.fromkeys(one.schema for one in declarations)
    blocks += [f"*{book.schemas[schema].title}*" for schema in schemas if book.schemas[schema].title]
    blocks += _rules(ruleset, schemas)
    return "\n\n".join(blocks)


def operation_page(ruleset: Ruleset, name: str) -> str | None:
    """An operation of the IR: what the tables of the rules say of it; None where they have nothing."""
    book = ruleset.book
    blocks = []
    known = Operations.of(book)
    if (aliasing := known.aliasing.get(name)) is not None:
        blocks.append(f"Its result lies where operand {aliasing.operand} does ({aliasing.moves.replace('_', ' ')}).")
    if known.step(name):
        blocks.append(f"Step of the asynchronous protocol{_step(book, name)}.")
    for beginning, member in sorted(book.enums["operation"].by_spelling.items(), key=lambda item: -len(item[0])):
        if name.startswith(beginning):
            needs = str(ruleset.table("operation").rows[member,][0])
            instance = book.schemas["operation"].instance
            legal = set(Judge(ruleset, "operation").legal({**instance, "needs": needs}, "target"))
            targets = [target[1:] for target in book.enums["target"].members if target in legal]
            blocks.append(f"Targets: {', '.join(targets) or 'none'}")
            break
    opcodes = list(_opcodes(book, name))
    blocks += [f"In PTX: {', '.join(f'`{one}`' for one in opcodes)}"] if opcodes else []
    schemas = dict.fromkeys(
        declaration.schema for one in opcodes for declaration in book.instructions.get(word_of(book, one).name, ())
    )
    blocks += _rules(ruleset, schemas)
    return "\n\n".join([f"**{name}**", *blocks]) if blocks else None


def atom_page(ruleset: Ruleset, node: Node, text: str, target: str) -> str:
    """An atom type: its contract, the facts that its parameters state, and what the rules say of it on a target.

    Args:
        text: of the type in which the node is.
        target: such as ``sm_90a``.
    """
    book = ruleset.book
    name = node.text.removeprefix("!")
    atom = registry.contract_of(book, name, ruleset.contract)
    shown, *lines = registry.as_text(atom).split("\n") if atom is not None else [name]
    blocks = [f"**{name}**", shown.partition(": ")[2], "\n".join(f"- {line.strip()}" for line in lines)]
    declaration = book.atoms.get(name)
    if declaration is not None:
        try:
            facts = atom_facts(book, declaration, node, 0)
        except MalformedAtom as fault:
            blocks.append(str(fault))
        else:
            blocks.append(", ".join(f"{fact} = {value}" for fact, value in facts.spelled.items()))
    report = check_atom(ruleset, text[node.start : node.end], context(book, target), any_type=True)
    verdicts = [f"- {one.code}: {one.message}" for one in report.diagnostics if one.severity is not Severity.NOTE]
    blocks.append(
        "\n".join([f"Not as the rules want it on {target}:", *verdicts]) if verdicts else f"Legal on {target}"
    )
    return "\n\n".join(filter(None, blocks))


def _step(book: Rulebook, name: str) -> str:
    step = Operations.of(book).step(name)
    return f": {step.replace('_', ' ')}" if step else ""


def _opcodes(book: Rulebook, name: str) -> Iterator[str]:
    """The opcodes that are the same as an operation, by the table ``assembly``."""
    rows = book.shared_table("assembly").rows
    for spelling, member in book.enums["assembly_opcode"].by_spelling.items():
        if name == str(rows[member,][0]).partition(" ")[0].rstrip(";"):
            yield spelling


def _rules(ruleset: Ruleset, schemas: Iterable[str]) -> list[str]:
    """A list of the rules on schemas, each with the address of its source, those on the schemas themselves first."""
    own = [rule for schema in schemas for rule in ruleset.rules_on(schema)]
    found = list(dict.fromkeys([*own, *(rule for one in schemas for rule in ruleset.rules_on(one, inherited=True))]))
    lines = []
    for rule in found[:_MOST_RULES]:
        url = next(filter(None, rule.urls), "")
        lines.append(f"- {f'[{rule.code}]({url})' if url else rule.code} {rule.name.replace('-', ' ')}")
    lines += [f"- and {len(found) - _MOST_RULES} more"] * (len(found) > _MOST_RULES)
    return ["Rules:\n" + "\n".join(lines)] if lines else []
