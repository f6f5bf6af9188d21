"""The rule base as pages of Markdown: one for each rule and finding, and an index by chapter.

A chapter is a rule file, whose opening comment says what it is about. Everything on a page is what ``explain`` says, in
the same words, with links to the rules that are read together with this one. Pages are values, path to text: who builds
a site of them writes them where it likes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.checking.explain import content
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import Finding, Rule

INDEX = "index.md"
_SPECIAL = regex(r"([\\`*_{}\[\]<>#|~$&])")
_OPENING = regex(r"(?:#[^\n]*\n)*")
_SENTENCE = regex(r"[.:](?=\s|$)")


@dataclass(frozen=True)
class Chapter:
    """The rules of one file.

    Attributes:
        file: its path, such as ``rules/mma/sm90.rule``.
        title, about: the first sentence of its opening comment, without the full stop, and all of it.
    """

    file: str
    title: str
    about: str
    items: tuple[Rule | Finding, ...]


def chapters(book: Rulebook) -> tuple[Chapter, ...]:
    """The files with documented rules, in the order of their paths; the rules of each by code."""
    of_file: dict[str, list[Rule | Finding]] = defaultdict(list)
    for item in book.documented().values():
        of_file[item.place.source.name].append(item)
    return tuple(_chapter(file, of_file[file]) for file in sorted(of_file))


def pages(book: Rulebook) -> dict[str, str]:
    """All pages by path: ``index.md``, and ``CODE.md`` for each code."""
    found = chapters(book)
    made = {INDEX: _index(found)}
    related = _Related(book)
    for chapter in found:
        made |= {f"{item.code}.md": _page(book, item, chapter, related) for item in chapter.items}
    return made


def _chapter(file: str, items: list[Rule | Finding]) -> Chapter:
    opening = _OPENING.match(items[0].place.source.text)
    about = " ".join(line.removeprefix("#").strip() for line in opening[0].splitlines()) if opening else ""
    title = _SENTENCE.split(about, maxsplit=1)[0].strip() or file
    return Chapter(file, title, about, tuple(items))


def _index(found: tuple[Chapter, ...]) -> str:
    count = sum(len(chapter.items) for chapter in found)
    lines = ["# All rules", ""]
    lines += [
        f"{count} rules and findings, by the rule file that has them. `tileproof explain CODE` shows the same.",
        "",
    ]
    for chapter in found:
        lines += [f"## {_plain(chapter.title)}", "", _plain(chapter.about), "", f"`{chapter.file}`", ""]
        lines += ["| code | name | severity |", "|---|---|---|"]
        lines += [f"| {_link(item.code)} | {item.name} | {item.severity.value} |" for item in chapter.items]
        lines.append("")
    return "\n".join(lines)


def _page(book: Rulebook, item: Rule | Finding, chapter: Chapter, related: _Related) -> str:
    said = content(book, item)
    lines = [f"# {item.code} {item.name}", ""]
    lines += [
        f"{item.severity.value.capitalize()}, {_contract(said['contract'])}. [{_plain(chapter.title)}]({INDEX}).",
        "",
    ]
    lines += ["## What", "", *_fenced(said["message"], "text")]
    lines += [f"**Hint.** {_plain(said['hint'])}", ""] if said["hint"] else []
    lines += ["## Why", "", _plain(item.why), ""] if item.why else []
    if isinstance(item, Rule):
        schema = book.schemas[item.schema]
        lines += ["## Condition", "", f"On `{item.schema}`: {_plain(schema.title)}.", ""]
        condition = [f"{word} {said[word]}" for word in ("when", "require") if said[word]]
        lines += _fenced("\n".join(condition), "text")
    for word in ("wrong", "right"):
        if example := said[word]:
            lines += [f"## {word.capitalize()}", "", *_example(example)]
    lines += ["## Sources", ""]
    lines += [f"- {_plain(one['text'])}{_url(one['url'])}" for one in said["sources"]]
    lines += ["", *related.shown(item)]
    lines += ["## Silence", "", "At the line in Python, Triton or CUDA C++, in IR or PTX:", ""]
    lines += _fenced(f"// tileproof: ignore[{item.code}] reason", "text")
    return "\n".join(lines)


class _Related:
    """Which rules are read together: those of one schema, and those that are silent for one another."""

    def __init__(self, book: Rulebook) -> None:
        self.book = book
        self.peers: dict[str, list[str]] = defaultdict(list)
        self.refined: dict[str, list[str]] = defaultdict(list)
        self.replaced: dict[str, list[str]] = defaultdict(list)
        for item in book.documented().values():
            if isinstance(item, Rule):
                self.peers[item.schema].append(item.code)
                for code in item.refines:
                    self.refined[code].append(item.code)
                for code in item.replaces:
                    self.replaced[code].append(item.code)

    def shown(self, item: Rule | Finding) -> list[str]:
        """The section of a page; nothing where no rule is related."""
        lists: list[tuple[str, Iterable[str]]] = [
            ("Silent where one of these reports", item.refines if isinstance(item, Rule) else ()),
            ("Where it reports, these are silent", self.refined[item.code]),
            ("Applies instead of", item.replaces if isinstance(item, Rule) else ()),
            ("Replaced in a use of its own by", self.replaced[item.code]),
        ]
        if isinstance(item, Rule):
            named = {code for _, codes in lists for code in codes} | {item.code}
            lists.append((f"On `{item.schema}` too", [code for code in self.peers[item.schema] if code not in named]))
        lines = [f"- {title}: {', '.join(self._links(codes))}" for title, codes in lists if codes]
        return ["## Related", "", *lines, ""] if lines else []

    def _links(self, codes: Iterable[str]) -> Iterator[str]:
        documented = self.book.documented()
        return (f"{_link(code)} {documented[code].name}" for code in codes)


def _example(example: dict[str, object]) -> list[str]:
    if example["text"]:
        return [f"On {_plain(str(example['where']))}:", "", *_fenced(str(example["text"]), "text")]
    facts = example["facts"]
    assert isinstance(facts, dict)
    return _fenced("\n".join(f"{name} = {value}" for name, value in facts.items()), "text")


def _contract(name: str | None) -> str:
    return f"contract `{name}`" if name else "both contracts"


def _fenced(text: str, language: str) -> list[str]:
    return [f"```{language}", *text.splitlines(), "```", ""]


def _link(code: str) -> str:
    return f"[{code}]({code}.md)"


def _url(url: str | None) -> str:
    return f" ([read]({url.replace(' ', '%20').replace(')', '%29').replace('(', '%28')}))" if url else ""


def _plain(text: str) -> str:
    """A text that means nothing in Markdown."""
    return _SPECIAL.sub(r"\\\1", text)
