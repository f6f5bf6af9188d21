"""What rule files say, written down a second time: a changed constant shows as a changed line of a record.

A record is not evidence that a rule is right. That is for what states it independently: the examples in the rules, the
cases of tests/checking, ptxas, NVIDIA's dialect. A record notices that the meaning of a rule file changed, in a form in
which a reader sees what changed, and asks him for a reason.

- Of a rule: its verdicts on a sample of configurations that reaches every row of the tables it reads and both sides of
  every number in it; as a digest, and for each fact the values that the rule allows beside the examples.
- Of a word: the bits of its fields and their codes. Of any other declaration: its constants, as a digest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import product
from random import Random

from rule_mutants import constants, declarations

from tileproof.base.source import Source
from tileproof.evaluate.python import Check, function
from tileproof.rulebase.bitfield import Word
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import CONTRACTS, HARDWARE, Rule, Table
from tileproof.rulebase.expression import Expression, Fact, Lookup, Number, Range, Scalar, facts_of, walk

POINTS = 900  # configurations of a rule at most, beside those next to its examples
MIXED = 200  # and so many with three facts changed
SHOWN = 12  # runs of values that a line of a record shows
LONG = 1500  # values of an integer that are all tried
MARK = {True: "1", False: "0", None: "-"}

Facts = dict[str, Scalar]


def records(book: Rulebook, files: Sequence[Source]) -> dict[str, str]:
    """The record of each file, by its name."""
    lines: dict[str, list[str]] = {file.name: [] for file in files}
    for rule in book.rules.values():
        if rule.place.source.name in lines:
            lines[rule.place.source.name] += of_rule(book, rule)
    for word in dict.fromkeys(word for same in book.words.values() for word in same):
        if word.place.source.name in lines:
            lines[word.place.source.name] += of_word(book, word)
    for file in files:
        lines[file.name] += of_text(file)
    return {name: "\n".join(found) + "\n" for name, found in lines.items()}


def of_rule(book: Rulebook, rule: Rule, sampled: Rulebook | None = None) -> Iterator[str]:
    """The lines of a rule, once for all contracts in which its verdicts are the same.

    Args:
        sampled: the book whose numbers say which configurations are tried, where that is another one.
    """
    told: dict[str, str] = {}
    for contract in CONTRACTS if rule.contract is None else (rule.contract,):
        check = Check(book.under(contract), rule)
        pattern = (sampled or book).rules[rule.code]
        points = list(sample(sampled or book, pattern, contract))
        verdicts = "".join(MARK[check(facts)] for facts in points)
        kept, violated = verdicts.count("1"), verdicts.count("0")
        near = sorted(set(numbers(sampled or book, texts_of(pattern), contract)))
        told[contract] = f"{len(points)} tried, {kept} kept, {violated} violated, {digest(f'{near} {verdicts}')}"
    alike = len(set(told.values())) == 1
    for contract, line in told.items():
        yield f"rule {rule.code} {'' if alike else f'in {contract} '}{line}"
        yield from allowed(book, rule, contract)
        if alike:
            return


def allowed(book: Rulebook, rule: Rule, contract: str) -> Iterator[str]:
    """For each fact of a rule the values that it allows beside the legal instance and the examples."""
    check = Check(book.under(contract), rule)
    seen = set()
    for base in bases(book, rule):
        for name in sorted(rule.facts):
            domain = book.domain(rule.schema, name)
            if len(domain) > LONG:
                continue
            good = [value for value in domain if check({**base, name: value}) is not False]
            if not 0 < len(good) < len(domain):
                continue
            if isinstance(domain, range):
                runs = compact([value for value in good if isinstance(value, int)])
                line = f"  {name} {', '.join(runs)}"
            else:
                bad = [value for value in domain if value not in good]
                runs = [str(value) for value in (good if len(good) <= len(bad) else bad)]
                line = f"  {name} {'' if len(good) <= len(bad) else 'not '}{' '.join(runs)}"
            if len(runs) <= SHOWN and line not in seen:
                seen.add(line)
                yield line


def compact(values: Sequence[int]) -> list[str]:
    """Integers in order as runs: ``8..256 step 8``."""
    found: list[str] = []
    i = 0
    while i < len(values):
        step = values[i + 1] - values[i] if i + 1 < len(values) else 1
        j = i
        while j + 1 < len(values) and values[j + 1] - values[j] == step:
            j += 1
        if j - i >= 2:
            found.append(f"{values[i]}..{values[j]}" + (f" step {step}" if step != 1 else ""))
            i = j + 1
        else:
            found.append(str(values[i]))
            i += 1
    return found


def texts_of(rule: Rule) -> list[Expression]:
    """The expressions of a rule."""
    return [rule.require, *([rule.when] if rule.when is not None else [])]


def bases(book: Rulebook, rule: Rule) -> list[Facts]:
    """The legal instance of the schema, and the examples."""
    instance = book.schemas[rule.schema].instance
    return [dict(instance), *({**instance, **one.facts} for one in (*rule.passing, *rule.failing))]


def sample(book: Rulebook, rule: Rule, contract: str) -> Iterator[Facts]:
    """Configurations that tell a rule from one with another constant."""
    texts = texts_of(rule)
    chance = Random(rule.code)
    names = sorted(rule.facts)
    marks = set(numbers(book, texts, contract))
    values = {name: tried(book, rule.schema, name, marks) for name in names}
    starts = bases(book, rule)
    for base in starts:  # one fact changed
        for name in names:
            for value in values[name]:
                yield {**base, name: value}
    found = [*keyed(book, rule, texts, contract, values), *paired(starts, values)]
    if len(found) > POINTS:
        found = chance.sample(found, POINTS)
    yield from found
    for _ in range(MIXED if len(names) > 2 else 0):  # three facts changed
        yield {**chance.choice(starts), **{name: chance.choice(values[name]) for name in chance.sample(names, 3)}}


def keyed(
    book: Rulebook, rule: Rule, texts: Sequence[Expression], contract: str, values: Mapping[str, Sequence[Scalar]]
) -> Iterator[Facts]:
    """For each row of each table that is read by facts: each value of each other fact, beside each example."""
    starts = bases(book, rule)
    lookups = {
        tuple(one.name for one in part.arguments if isinstance(one, Fact)): book.tables[part.table, contract]
        for text in texts
        for part in walk(text)
        if isinstance(part, Lookup) and all(isinstance(one, Fact) for one in part.arguments)
    }
    for facts, table in lookups.items():
        for row in table.rows:
            row_facts = dict(zip(facts, row, strict=True))
            for name in [one for one in values if one not in row_facts]:
                for value in values[name]:
                    for base in starts[:2]:
                        yield {**base, **row_facts, name: value}


def paired(starts: Sequence[Facts], values: Mapping[str, Sequence[Scalar]]) -> Iterator[Facts]:
    """Two facts changed beside each example."""
    names = list(values)
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            for one, other in product(values[first], values[second]):
                for base in starts[:3]:
                    yield {**base, first: one, second: other}


def tried(book: Rulebook, schema: str, name: str, marks: set[int]) -> list[Scalar]:
    """The values of a fact that are tried: all members of an enum; of an integer the ends and those near a number."""
    domain = book.domain(schema, name)
    if not isinstance(domain, range):
        return list(domain)
    near = {number + step for number in marks for step in (-1, 0, 1)}
    return sorted({domain[0], domain[-1]} | {value for value in near if value in domain})


def numbers(book: Rulebook, texts: Sequence[Expression], contract: str) -> Iterator[int]:
    """The numbers that expressions name, and those of the columns that they read."""
    for text in texts:
        for part in walk(text):
            if isinstance(part, Number):
                yield part.value
            elif isinstance(part, Range):
                yield from (part.first, part.last, part.first + part.step, part.last - part.step)
            elif isinstance(part, Lookup):
                yield from cells(book.tables[part.table, contract], part.column)


def cells(table: Table, column: str | None) -> Iterator[int]:
    """The integers in a column: themselves, and the ends of ranges."""
    at = table.column(column)
    for row in table.rows.values():
        cell = row[at] if at is not None else None
        if isinstance(cell, int):
            yield cell
        elif isinstance(cell, range) and cell:
            yield from (cell[0], cell[-1])
        elif isinstance(cell, frozenset):
            yield from (one for one in cell if isinstance(one, int))


def of_word(book: Rulebook, word: Word) -> Iterator[str]:
    """The fields of a word, each with its bits and a digest of its codes."""
    contract = word.contract or HARDWARE
    ruleset = book.under(contract)
    yield f"bits {word.name} {word.width} in {word.contract or 'both'}"
    for field in word.fields:
        code = function(ruleset, field.value)
        names = sorted(facts_of(field.value))
        values = []
        for name in names:
            domain = book.domain(word.schema, name)
            values.append(domain if not isinstance(domain, range) else domain[: LONG // 10])
        told = []
        for chosen in product(*values):
            try:
                told.append(str(code(dict(zip(names, chosen, strict=True)))))
            except KeyError:
                told.append("-")
        yield f"  {field.name} {field.low}..{field.high} {digest(' '.join(told))}"


def of_text(file: Source) -> Iterator[str]:
    """The constants of the declarations that are not rules: how many, and a digest."""
    for pieces in declarations(file):
        at = 1 if pieces[0].text == "extend" else 0
        keyword = pieces[at].text
        if keyword in ("rule", "ladder", "reference", "finding", "contradiction"):
            continue
        found = [pieces[i].text for i in constants(pieces)]
        if found:
            yield f"{keyword} {pieces[at + 1].text} {len(found)} constants, {digest(' '.join(found))}"


def digest(text: str) -> str:
    """Eight digits that tell texts apart."""
    return blake2b(text.encode(), digest_size=4).hexdigest()
