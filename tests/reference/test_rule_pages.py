"""The rule base as pages: one for every code, nothing left to fill in, every link to a page that there is."""

from __future__ import annotations

import re

import pytest

from tileproof.checking.implemented import load_implemented
from tileproof.reference.pages import INDEX, chapters, pages
from tileproof.rulebase.declarations import Rule
from tileproof.rulebase.load import shipped_files
from tileproof.rulebase.resolve import PLACEHOLDER

BOOK = load_implemented(shipped_files())
FENCE = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)]*)\)")


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return pages(BOOK)


def section(page: str, title: str) -> str:
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_documented_code_has_a_page_and_a_line_of_the_index(made):
    assert set(made) == {INDEX, *(f"{code}.md" for code in BOOK.documented())}
    linked = LINK.findall(made[INDEX])
    assert sorted(linked) == sorted(name for name in made if name != INDEX)


def test_a_chapter_is_a_rule_file_with_its_opening_comment():
    found = {chapter.file: chapter for chapter in chapters(BOOK)}
    assert found["rules/mma/sm90.rule"].title == "Hopper's warpgroup MMA"
    assert all(chapter.title and chapter.title != chapter.file for chapter in found.values())
    assert sum(len(chapter.items) for chapter in found.values()) == len(BOOK.documented())


def test_nothing_is_left_to_fill_in(made):
    for name, page in made.items():
        message = FENCE.search(section(page, "What"))
        shown = [FENCE.sub("", page), message[1] if message else ""]
        assert not [text for text in shown if PLACEHOLDER.search(text.replace("\\{", ""))], name


def test_a_page_has_what_there_is_to_say(made):
    for code, item in BOOK.documented().items():
        page = made[f"{code}.md"]
        assert page.startswith(f"# {code} {item.name}\n")
        assert bool(section(page, "Why")) == bool(item.why)
        assert section(page, "Sources").count("\n- ") == len(item.citations), code
        if isinstance(item, Rule):
            for title in ("Condition", "Wrong", "Right"):
                assert FENCE.search(section(page, title)), f"{code} {title}"


def test_relations_go_both_ways(made):
    for code, item in BOOK.rules.items():
        for title, codes in (("Silent where", item.refines), ("Applies instead", item.replaces)):
            line = [line for line in made[f"{code}.md"].splitlines() if line.startswith(f"- {title}")]
            assert len(line) == bool(codes), code
            for other in codes:
                assert f"[{other}]({other}.md)" in line[0]
                assert f"[{code}]({code}.md)" in section(made[f"{other}.md"], "Related")


def test_links_are_pages_or_addresses(made):
    for name, page in made.items():
        for link in LINK.findall(FENCE.sub("", page)):
            assert link in made or re.fullmatch(r"https://[^\s()]+", link), f"{name}: {link}"
